"""Bringing a pull request into its branch: what it changes, what stands against that, and the diff as a text. Pure."""

from __future__ import annotations

import difflib
from collections.abc import Callable, Iterator

from gristmill.hub.server.errors import Refusal
from gristmill.hub.server.hashing import pointer_text
from gristmill.hub.server.history import Stored, Tree
from gristmill.hub.server.operations import check_folders

_MOST_FILES = 300
_LARGEST = 64 * 1024


def changed_paths(before: Tree, after: Tree) -> list[str]:
    """Lists the paths that differ between two commits, sorted."""
    return sorted(path for path in before.keys() | after.keys() if _id(before, path) != _id(after, path))


def merge(base: Tree, ours: Tree, theirs: Tree) -> tuple[dict[str, Stored], list[str]]:
    """Applies to a branch what a pull request changed since it began.

    Args:
        base: The files where it began.
        ours: Those of the branch now.
        theirs: Those of the pull request.

    Returns:
        The files after, those that it changed without a commit; and the paths where both sides changed something else,
        in which case the files mean nothing.
    """
    files, conflicts = dict(ours), []
    for path in changed_paths(base, theirs):
        if _id(ours, path) == _id(theirs, path):
            continue
        if _id(ours, path) != _id(base, path):
            conflicts.append(path)
        elif path in theirs:
            stored = theirs[path]
            files[path] = Stored(stored.size, stored.blob_id, stored.sha256)
        else:
            del files[path]
    if not conflicts:
        try:
            check_folders(files)
        except Refusal:
            conflicts = changed_paths(base, theirs)
    return files, conflicts


def _id(tree: Tree, path: str) -> str | None:
    stored = tree.get(path)
    return None if stored is None else stored.object


def diff_text(before: Tree, after: Tree, read: Callable[[str], bytes]) -> str:
    """Writes what differs between two commits as git does; large files are told as different, and no more.

    Args:
        before: Files of the one.
        after: Files of the other.
        read: Gives the content of a regular file by its blob id.
    """
    paths = changed_paths(before, after)
    text = "".join(piece for path in paths[:_MOST_FILES] for piece in _diff(path, before, after, read))
    return text + (f"… and {len(paths) - _MOST_FILES} more files\n" if len(paths) > _MOST_FILES else "")


def _diff(path: str, before: Tree, after: Tree, read: Callable[[str], bytes]) -> Iterator[str]:
    yield f"diff --git a/{path} b/{path}\n"
    sides = [_lines(tree.get(path), read) for tree in (before, after)]
    names = [
        f"{side}/{path}" if path in tree else "/dev/null" for side, tree in (("a", before), ("b", after))
    ]
    if sides[0] is None or sides[1] is None:
        yield f"Binary files {names[0]} and {names[1]} differ\n"
        return
    for line in difflib.unified_diff(sides[0], sides[1], names[0], names[1]):
        yield line if line.endswith("\n") else f"{line}\n\\ No newline at end of file\n"


def _lines(stored: Stored | None, read: Callable[[str], bytes]) -> list[str] | None:
    """Gives the lines of a file as git has it; None if it is too large, or no text."""
    if stored is None:
        return []
    if stored.sha256 is None and stored.size > _LARGEST:
        return None
    content = pointer_text(stored.sha256, stored.size) if stored.sha256 else read(stored.blob_id)
    try:
        return None if b"\0" in content else content.decode().splitlines(keepends=True)
    except UnicodeDecodeError:
        return None
