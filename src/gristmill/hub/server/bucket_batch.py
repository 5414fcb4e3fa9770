"""What a batch does to the files of a bucket: each operation by itself, in their order."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any, Literal

from gristmill.errors import shorten
from gristmill.hub.server.bucket_files import Bucket, copy_found
from gristmill.hub.server.bucket_hashes import EMPTY
from gristmill.hub.server.errors import Refusal, bad_request
from gristmill.hub.server.hashing import ChangedWhileRead
from gristmill.hub.server.json_text import parse_json
from gristmill.hub.server.operations import check_commit_path
from gristmill.hub.server.xet_format import check_hash

_LATEST_MS = 253402300799 * 1000  # the last second of the year 9999
MOST_OPERATIONS = 10_000


@dataclass(frozen=True, slots=True)
class BucketOperation:
    """One line of a batch.

    Attributes:
        kind: What to do.
        path: Of the file.
        hash: Xet hash of its content; empty to delete.
        modified_ms: Time of its last change, in milliseconds since 1970.
        source: Bucket that a copy comes from, and its type (``bucket``, ``dataset``, …).
    """

    kind: Literal["addFile", "copyFile", "deleteFile"]
    path: str
    hash: str = ""
    modified_ms: int = 0
    source: tuple[str, str] = ("", "")


def parse_batch(lines: Iterable[bytes]) -> list[BucketOperation]:
    """Reads a batch.

    Raises:
        Refusal: A line is none (400), or there are too many (413).
    """
    operations: list[BucketOperation] = []
    for line in lines:
        if line.strip():
            operations.append(_parse(line))
        if len(operations) > MOST_OPERATIONS:
            raise Refusal(413, f"A batch may have {MOST_OPERATIONS} operations at most.")
    return operations


def _parse(line: bytes) -> BucketOperation:
    try:
        told = parse_json(line)
        kind, path = told["type"], check_commit_path(told["path"])
        name = path.rpartition("/")[2]
        if name.startswith(".") and name.endswith(".incomplete"):
            raise bad_request(
                f"The path {shorten(path)} can't be used: such names are of files being written."
            )
        if kind == "deleteFile":
            return BucketOperation(kind, path)
        if kind in ("addFile", "copyFile"):
            source = str(told.get("sourceRepoType", "")), str(told.get("sourceRepoId", ""))
            return BucketOperation(kind, path, check_hash(told["xetHash"]), _time(told.get("mtime")), source)
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        raise bad_request("A line of the batch can't be read: expected JSON with type and path.") from error
    raise bad_request(f"A batch has no operation {shorten(str(kind))}.")


def _time(value: Any) -> int:
    if value is None:
        return int(time.time() * 1000)
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise bad_request("mtime must be a number of milliseconds.")
    return int(min(max(value, 0), _LATEST_MS))


def apply_batch(
    bucket: Bucket,
    operations: Iterable[BucketOperation],
    source_of: Callable[[BucketOperation], Bucket | None],
) -> list[dict[str, str]]:
    """Does what a batch says.

    Args:
        bucket: The bucket.
        operations: What to do.
        source_of: Gives the bucket that a copy comes from; None if there is none that the caller may read.

    Returns:
        Path and error of each operation that could not be done.

    Raises:
        FileNotFoundError: The bucket is gone.
        OSError: The disk can't be written.
    """
    errors = ((operation.path, _refusal(bucket, operation, source_of)) for operation in operations)
    return [{"path": path, "error": error} for path, error in errors if error is not None]


def _refusal(
    bucket: Bucket, operation: BucketOperation, source_of: Callable[[BucketOperation], Bucket | None]
) -> str | None:
    try:
        _apply(bucket, operation, source_of)
    except Refusal as refusal:
        return refusal.message
    return None


def _apply(
    bucket: Bucket, operation: BucketOperation, source_of: Callable[[BucketOperation], Bucket | None]
) -> None:
    if operation.kind == "deleteFile":
        with bucket.writing():
            bucket.remove(operation.path)
        return
    modified_ns = operation.modified_ms * 1_000_000
    if operation.kind == "addFile":
        with bucket.writing(), contextlib.suppress(FileNotFoundError):
            # Straight from where it was received: most files are added once, and need no copy.
            upload = bucket.uploaded(operation.hash)
            if upload.is_file():
                bucket.place(operation.path, upload, operation.hash, modified_ns)
                return
    source = bucket if operation.kind == "addFile" else source_of(operation)
    temporary = bucket.temporary()
    try:
        _fetch(source, operation, temporary)
        with bucket.writing():
            bucket.place(operation.path, temporary, operation.hash, modified_ns)
    finally:
        temporary.unlink(missing_ok=True)


def _fetch(source: Bucket | None, operation: BucketOperation, temporary: Any) -> None:
    if operation.hash == EMPTY:
        temporary.touch()
        return
    found = source.with_hash(operation.hash) if source is not None else None
    if found is None:
        what = "was not uploaded" if operation.kind == "addFile" else "is not at its source"
        raise bad_request(f"The content {operation.hash} {what} (any more).")
    try:
        copy_found(found, temporary)
    except ChangedWhileRead as error:
        raise bad_request(f"The content {operation.hash} was changed while it was being copied.") from error
