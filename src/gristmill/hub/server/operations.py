"""What a commit does to the files of a repository: operations as they come over HTTP, and their effect. Pure."""

from __future__ import annotations

import base64
import binascii
import re
from bisect import bisect_left
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from gristmill.errors import UnsafePathError, shorten
from gristmill.files.paths import check_relative
from gristmill.hub.server.errors import Refusal, bad_request
from gristmill.hub.server.hashing import blob_id, pointer_text
from gristmill.hub.server.history import Stored, Tree
from gristmill.hub.server.json_text import parse_json
from gristmill.hub.server.walk import HIDDEN_FOLDERS

_SHA256 = re.compile(r"[0-9a-f]{64}")
_COMMIT_PREFIX = re.compile(r"[0-9a-f]{7,40}")
_CONTROL = re.compile(r"[\x00-\x1f\x7f]")
_LONGEST_PATH = 1024
_LONGEST_NAME = 255
_LONGEST_TEXT = 64 * 1024
_LONGEST_FOLDERS = 64_000_000  # a million folders of usual names; one chain of 500 has 125,000


@dataclass(frozen=True, slots=True)
class Header:
    """The first line of a commit: its message, and the commit it builds on if that matters."""

    title: str
    message: str
    parent: str | None


@dataclass(frozen=True, slots=True)
class AddFile:
    """A regular file with its content."""

    path: str
    content: bytes


@dataclass(frozen=True, slots=True)
class AddStored:
    """A file whose content is stored already: `size` is None if that is to be looked up."""

    path: str
    sha256: str | None
    size: int | None
    blob_id: str = ""


@dataclass(frozen=True, slots=True)
class Delete:
    """A file, or with `folder` everything below a folder, is taken away."""

    path: str
    folder: bool = False


Operation = AddStored | Delete


def check_commit_path(path: Any) -> str:
    """Gives back a path that a commit may write to.

    Raises:
        Refusal: It is no plain relative path, too long, or inside a folder of tools (400).

    Example:
        >>> check_commit_path("data/train.parquet")
        'data/train.parquet'
    """
    if not isinstance(path, str):
        raise bad_request("A path must be a text.")
    try:
        check_relative(path)
    except UnsafePathError as error:
        raise bad_request(
            f"The path {shorten(path)} can't be used: it must be relative, without empty parts, '.', '..' and backslashes."
        ) from error
    parts = path.split("/")
    if any(part.lower() in HIDDEN_FOLDERS for part in parts):
        raise bad_request(f"The path {shorten(path)} can't be used: it is inside a folder of tools.")
    if len(path.encode()) > _LONGEST_PATH or any(len(part.encode()) > _LONGEST_NAME for part in parts):
        raise bad_request(f"The path {shorten(path)} is too long.")
    if _CONTROL.search(path):
        raise bad_request(f"The path {shorten(path)} has control characters in it.")
    return path


def parse_line(line: bytes) -> Header | AddFile | Operation:
    """Reads one line of a commit's body.

    Raises:
        Refusal: It is none (400).
    """
    try:
        told = parse_json(line)
        key, value = told["key"], told["value"]
        if not isinstance(value, dict):
            raise TypeError("no object")
        if key == "header":
            return _header(value)
        if key == "file":
            return parse_file(value)
        if key == "lfsFile":
            return _lfs_file(value)
        if key in ("deletedFile", "deletedFolder"):
            folder = key == "deletedFolder"
            path = value["path"]
            return Delete(check_commit_path(path.rstrip("/") if folder else path), folder)
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        raise bad_request("A line of the commit can't be read: expected JSON with key and value.") from error
    raise bad_request(f"A commit has no operation {shorten(str(key))}.")


def parse_file(value: Any) -> AddFile:
    """Reads a regular file with its content.

    Raises:
        Refusal: It can't be read, or has a path that no file may have (400).
    """
    try:
        return AddFile(check_commit_path(value["path"]), _content(value))
    except (KeyError, TypeError, AttributeError) as error:
        raise bad_request("A file can't be read: expected an object with path and content.") from error


def _header(value: Mapping[str, Any]) -> Header:
    title, message, parent = value.get("summary"), value.get("description") or "", value.get("parentCommit")
    if not isinstance(title, str) or not title.strip() or not isinstance(message, str):
        raise bad_request("A commit needs a summary.")
    if len(title) + len(message) > _LONGEST_TEXT:
        raise bad_request("The commit's message is too long.")
    if parent is not None and not (isinstance(parent, str) and _COMMIT_PREFIX.fullmatch(parent)):
        raise bad_request("parentCommit must be a commit id.")
    first, _, rest = title.strip().partition("\n")
    return Header(first.rstrip(), f"{rest.strip()}\n\n{message}".strip(), parent)


def _content(value: Mapping[str, Any]) -> bytes:
    content, encoding = value["content"], value.get("encoding", "utf-8")
    if encoding == "base64":
        try:
            return base64.b64decode(content, validate=True)
        except (binascii.Error, ValueError, TypeError) as error:
            raise bad_request(f"The content of {shorten(value['path'])} is no base64.") from error
    if encoding in ("utf-8", "utf8"):
        data: bytes = content.encode()
        return data
    raise bad_request(f"The encoding {shorten(str(encoding))} is unknown; use base64 or utf-8.")


def _lfs_file(value: Mapping[str, Any]) -> AddStored:
    path, oid, size = check_commit_path(value["path"]), value["oid"], value.get("size")
    if value.get("algo", "sha256") != "sha256" or not isinstance(oid, str) or not _SHA256.fullmatch(oid):
        raise bad_request(f"The oid of {shorten(path)} must be a sha256.")
    if size is not None and (isinstance(size, bool) or not isinstance(size, int) or size < 0):
        raise bad_request(f"The size of {shorten(path)} must be a number of bytes.")
    return AddStored(path, oid, size)


def apply(
    tree: Tree, operations: Iterable[Operation], size_of: Callable[[str], int | None], head: str
) -> dict[str, Stored]:
    """Gives the files after some operations, in their order.

    Args:
        tree: The files before.
        operations: What to do.
        size_of: Gives the bytes of a stored content by its id; None if it is not there.
        head: The commit that the files are of, to be named in errors.

    Returns:
        The files after; those that are new or changed have no commit yet.

    Raises:
        Refusal: A content is not there (400), what is to be deleted is not there (404), or a path would be both a file
            and a folder (400).
    """
    files, names = dict(tree), _Names()
    for operation in operations:
        path = operation.path
        if isinstance(operation, Delete):
            gone = names.take_below(path, files) if operation.folder else [path]
            if not gone or gone[0] not in files:
                message = f"A file with this name doesn't exist: {shorten(path)}"
                raise Refusal(404, message, "EntryNotFound", {"X-Repo-Commit": head})
            for name in gone:
                del files[name]
            continue
        stored = _stored(operation, size_of)
        before = tree.get(path)
        same = before is not None and before.object == stored.object
        files[path] = before if same and before is not None else stored
        names.add(path)
    check_folders(files)
    return dict(sorted(files.items()))


class _Names:
    """The paths of a tree in order, so that each of many folders is found without a look at every file."""

    _MOST_NEW = 1000

    def __init__(self) -> None:
        self._sorted: list[str] | None = None
        self._new: set[str] = set()

    def add(self, path: str) -> None:
        """Notes a path that is in the tree from now on."""
        if self._sorted is not None:
            self._new.add(path)

    def take_below(self, folder: str, files: Mapping[str, Stored]) -> list[str]:
        """Lists the paths below a folder, which are to be deleted now.

        Args:
            folder: The folder.
            files: All that is in the tree.
        """
        if self._sorted is None or len(self._new) > self._MOST_NEW:
            self._sorted, self._new = sorted(files), set()
        first = bisect_left(self._sorted, f"{folder}/")
        end = bisect_left(self._sorted, f"{folder}0", first)  # "0" comes after "/"
        found = {name for name in self._sorted[first:end] if name in files}
        del self._sorted[first:end]
        later = {name for name in self._new if name.startswith(f"{folder}/")}
        self._new -= later
        return sorted(found | {name for name in later if name in files})


def _stored(operation: AddStored, size_of: Callable[[str], int | None]) -> Stored:
    size = size_of(operation.sha256 or operation.blob_id)
    if size is None or operation.size not in (None, size):
        raise bad_request(
            f"The content of {shorten(operation.path)} was not uploaded, or is of another size."
        )
    if operation.sha256 is None:
        return Stored(size, operation.blob_id, None)
    return Stored(size, blob_id(pointer_text(operation.sha256, size)), operation.sha256)


def check_folders(files: Collection[str]) -> None:
    """Checks that no path is both a file and a folder, and that listing the folders takes no unbounded memory.

    Args:
        files: All paths of a tree; a set or mapping, as each folder is looked for in it.

    Raises:
        Refusal: One is both (400), or all folders' paths together are too long (413).
    """
    checked: set[str] = set()
    length = 0
    for path in files:
        folder = path.rpartition("/")[0]
        while folder and folder not in checked:
            if folder in files:
                raise bad_request(f"{shorten(folder)} would be both a file and a folder.")
            checked.add(folder)
            length += len(folder)
            if length > _LONGEST_FOLDERS:
                raise Refusal(
                    413,
                    f"The paths of all folders would have more than {_LONGEST_FOLDERS:,} characters: nest them less.",
                )
            folder = folder.rpartition("/")[0]
