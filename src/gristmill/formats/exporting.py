"""Where `to_csv` and its like write to: a path, a URL of another file system, an open file."""

from __future__ import annotations

import contextlib
import io
import os
from collections.abc import Iterator, Mapping
from typing import Any

from gristmill.arguments import file_path
from gristmill.errors import InvalidArgumentError
from gristmill.files.remote import local_path, uploaded_file


def check_target(target: Any) -> Any:
    """Gives a target as a path or an open binary file.

    Raises:
        InvalidArgumentError: It is neither.
    """
    if not hasattr(target, "write"):
        return file_path("path_or_buf", target)
    if isinstance(target, io.TextIOBase):
        raise InvalidArgumentError.from_value("path_or_buf", target, 'a file opened for bytes (mode "wb")')
    return target


@contextlib.contextmanager
def opened_target(target: Any, storage_options: Mapping[str, Any] | None) -> Iterator[Any]:
    """Gives what a format's writer can write to; what goes to another file system is sent at the end.

    Args:
        target: What `check_target` gave.
        storage_options: Options of another file system.

    Raises:
        FileError: It can't be sent.
    """
    local = local_path(target) if isinstance(target, str | os.PathLike) else target
    if local is not None:
        yield local
        return
    with uploaded_file(str(target), storage_options) as file:
        yield file
