"""The settings files at the top of a served folder, as JSON values."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from gristmill.errors import FileError, FileFormatError


def read_settings(path: Path) -> dict[str, Any] | None:
    """Reads a settings file; None if there is none.

    Args:
        path: ``access.json`` or ``revisions.json``.

    Raises:
        FileFormatError: It is no JSON object.
        FileError: It is there and can't be read, which must not mean "nothing is set".
    """
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        return None
    except OSError as error:
        raise FileError.from_os_error("read", path, error) from error
    except (ValueError, RecursionError) as error:
        raise FileFormatError.at(f"can't be read as JSON: {error}", file=path) from error
    if not isinstance(content, dict):
        raise FileFormatError.at("must be an object of repository ids", file=path)
    return content
