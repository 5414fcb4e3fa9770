"""Everything that knows the Hub: client, writer, dataset card, server."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from gristmill.hub.delete_config import delete_from_hub
    from gristmill.hub.uploading import upload_files

__all__ = ["delete_from_hub", "upload_files"]


def __getattr__(name: str) -> Any:
    # Most programs only read; what writes is loaded when it is asked for.
    if name == "delete_from_hub":
        from gristmill.hub.delete_config import delete_from_hub

        return delete_from_hub
    if name == "upload_files":
        from gristmill.hub.uploading import upload_files

        return upload_files
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
