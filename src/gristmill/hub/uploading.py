"""`upload_files`: a file or folder of this machine into a repository, in one commit; what is there is not sent again.

Text of a moderate size goes with the commit, as git has it; everything else goes to large-file storage by its hash first, so
that an upload that was cut off is gone on with.
"""

from __future__ import annotations

import contextlib
import fnmatch
import os
import random
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from gristmill.errors import (
    EntryNotFoundError,
    FileError,
    FileMissingError,
    HubResponseError,
    InvalidArgumentError,
)
from gristmill.files.paths import check_relative
from gristmill.files.retry import RetryPolicy, Transient
from gristmill.hub.transfer import new_hash
from gristmill.hub.tree import RepoFile
from gristmill.hub.urls import check_target
from gristmill.hub.write_errors import Conflict
from gristmill.hub.writing import BranchWriter, Uploaded
from gristmill.logging import get_logger
from gristmill.progress import progress

if TYPE_CHECKING:
    from huggingface_hub import CommitInfo

__all__ = ["UploadedFiles", "upload_files"]

_log = get_logger(__name__)
_LARGEST_TEXT = 5_000_000
_MOST_TEXT = 50_000_000
_AT_ONCE = 50
_BLOCK = 1 << 20
# What tools keep for themselves, and no repository is to hold.
_LEFT_OUT = frozenset({".git", ".cache", ".gristmill", "__pycache__", ".DS_Store", ".ipynb_checkpoints"})


@dataclass(frozen=True)
class UploadedFiles:
    """What came of an upload.

    Attributes:
        repo_id: The repository.
        commit: The commit that holds the files: a new one, or the one there was if it held them all.
        url: Its web page.
        pull_request: Web page of the pull request, if one was opened.
        files: Number of files that were chosen.
        size: Bytes of them.
        sent: Paths in the repository of those that it did not hold.
        sent_size: Bytes of them.
    """

    repo_id: str
    commit: str
    url: str
    pull_request: str | None
    files: int
    size: int
    sent: tuple[str, ...]
    sent_size: int


@dataclass(frozen=True)
class _Local:
    path: str
    file: Path
    size: int


def upload_files(
    repo_id: str,
    path: str | os.PathLike[str],
    path_in_repo: str | None = None,
    *,
    repo_type: str = "dataset",
    revision: str | None = None,
    create: bool = False,
    private: bool | None = None,
    create_pr: bool = False,
    include: Sequence[str] = (),
    exclude: Sequence[str] = (),
    commit_message: str | None = None,
    token: str | bool | None = None,
) -> UploadedFiles:
    """Uploads a file, or all files of a folder, in one commit; other files of the repository stay.

    Files that the repository holds already, by their hash, are not sent; after a failure, run it again, and what has
    arrived is not sent a second time. What the commit lists is compared with what was sent.

    Args:
        repo_id: ``"namespace/name"``, or ``"name"`` for one in the namespace of the token's account.
        path: A file or folder. Folders of tools (``.git``, ``.cache``, ``__pycache__``) are left out.
        path_in_repo: Where it goes: for a file its name there, for a folder the folder; the file's own name, or the top, if
            left out.
        repo_type: ``"dataset"`` or ``"model"``.
        revision: The branch; ``main`` if left out.
        create: Make the repository, or the branch, if it is not there.
        private: Whether a repository that is made is private; None leaves it to the Hub.
        create_pr: Leave the branch alone and open a pull request.
        include: Of a folder, only paths that fit one of these shell patterns; ``*`` also matches ``/``.
        exclude: Of those, what is left out.
        commit_message: First line of the commit.
        token: A token that may write; the one of ``HF_TOKEN`` or `hf auth login` if left out.

    Returns:
        The commit, and what was sent for it.

    Raises:
        FileMissingError: There is no such file or folder.
        EntryNotFoundError: The folder has no file to upload, or a pattern of `include` fits none.
        InvalidArgumentError: A name can't be right, or `private` is given where nothing is made.
        RepoNotFoundError: There is no such repository, and `create` is off.
        AccessError: A token is missing, unknown, or may not write.
        IncompleteBodyError: The commit does not hold what was sent.
        HubError: The Hub refuses or can't be reached.
        FileError: A file can't be read.

    Example:
        >>> upload_files("me/corpus", "shards/", "data", create=True).commit  # doctest: +SKIP
        '6ecb9e1…'
    """
    if private is not None and not create:
        raise InvalidArgumentError("private= is about a repository that is made; give create=True as well.")
    source = Path(path)
    if not source.exists():
        raise FileMissingError.from_path(path, "Name the file or folder to upload.")
    local = _choose(source, path_in_repo, include, exclude)
    writer = BranchWriter(
        repo_id, revision, token, private=private, create_pr=create_pr, make=create, repo_type=repo_type
    )
    message = commit_message or f"Upload {local[0].path if len(local) == 1 else f'{len(local):,} files'}"
    return _upload(writer, local, message)


def _choose(source: Path, target: str | None, include: Sequence[str], exclude: Sequence[str]) -> list[_Local]:
    if source.is_file():
        if include or exclude:
            raise InvalidArgumentError("include and exclude choose files of a folder, and this is a file.")
        name = source.name if not target else f"{target}{source.name}" if target.endswith("/") else target
        return [_Local(check_target(name), source, source.stat().st_size)]
    target = (target or "").strip("/")
    prefix = f"{check_target(target)}/" if target not in ("", ".") else ""
    paths = {file.relative_to(source).as_posix(): file for file in _walk(source)}
    chosen = dict.fromkeys(paths if not include else ())
    for pattern in include:
        fits = _matching(pattern, paths)
        if not fits:
            raise EntryNotFoundError(f'No file in {source} fits "{pattern}".')
        chosen.update(dict.fromkeys(fits))
    for pattern in exclude:
        for path in _matching(pattern, chosen):
            del chosen[path]
    if not chosen:
        raise EntryNotFoundError(f"There is no file to upload in {source}.")
    return [
        _Local(prefix + check_relative(path), paths[path], paths[path].stat().st_size)
        for path in sorted(chosen)
    ]


@contextlib.contextmanager
def _reading(path: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise FileError.from_os_error("read", path, error) from error


def _fail(error: OSError) -> None:
    raise error


def _walk(folder: Path) -> Iterator[Path]:
    with _reading(folder):
        for top, folders, names in os.walk(folder, onerror=_fail):
            folders[:] = [name for name in folders if name not in _LEFT_OUT]
            for name in names:
                file = Path(top, name)
                if name not in _LEFT_OUT and file.is_file():
                    yield file


def _matching(pattern: str, paths: Mapping[str, object]) -> list[str]:
    pattern = f"{pattern}*" if pattern.endswith("/") else pattern
    return [path for path in paths if path == pattern or fnmatch.fnmatchcase(path, pattern)]


def _upload(writer: BranchWriter, local: Sequence[_Local], message: str) -> UploadedFiles:
    texts: dict[str, bytes] = {}
    uploaded: list[Uploaded] = []
    head = writer.head()
    with progress(f"Uploading to {writer.repo_id}", sum(item.size for item in local), "B") as bar:
        todo = []
        for item in local:
            if _is_there(item, head.files.get(item.path)):
                bar.update(item.size)
            else:
                todo.append(item)
        large = []
        for item in todo:
            text = _text(item, _MOST_TEXT - sum(map(len, texts.values())))
            if text is None:
                large.append(item)
            else:
                texts[item.path] = text
                bar.update(item.size)
        for start in range(0, len(large), _AT_ONCE):
            part = large[start : start + _AT_ONCE]
            uploaded += writer.upload({item.path: item.file for item in part})
            bar.update(sum(item.size for item in part))
    info = _commit(writer, uploaded, texts, message, head.commit) if todo else None
    return UploadedFiles(
        writer.repo_id,
        info.oid if info is not None else head.commit,
        info.commit_url if info is not None else f"{writer.page}/commit/{head.commit}",
        info.pr_url if info is not None else None,
        len(local),
        sum(item.size for item in local),
        tuple(item.path for item in todo),
        sum(item.size for item in todo),
    )


def _is_there(item: _Local, known: RepoFile | None) -> bool:
    if known is None or known.size != item.size:
        return False
    state = new_hash(known)
    with _reading(item.file), item.file.open("rb") as file:
        while block := file.read(_BLOCK):
            state.update(block)
    return bool(state.hexdigest() == known.etag)


def _text(item: _Local, room: int) -> bytes | None:
    """Reads a file that is to go with the commit; None for what goes to large-file storage."""
    if item.size > min(_LARGEST_TEXT, room):
        return None
    with _reading(item.file):
        content = item.file.read_bytes()
    if len(content) != item.size:
        raise InvalidArgumentError(f"{item.file} is being changed; upload it when it is whole.")
    try:
        content.decode()
    except UnicodeDecodeError:
        return None
    return None if b"\0" in content else content


def _wait(seconds: float) -> None:
    # Those whose commits were in each other's way must not meet again.
    time.sleep(seconds * random.uniform(0.5, 1.5))  # no secret


def _commit(
    writer: BranchWriter,
    uploaded: Sequence[Uploaded],
    texts: Mapping[str, bytes],
    message: str,
    parent: str,
) -> CommitInfo:
    on = parent

    def attempt() -> CommitInfo:
        nonlocal on
        try:
            on = on or writer.head().commit
            return writer.commit(uploaded, texts, [], message, None, on)
        except Conflict as conflict:
            on = ""
            raise Transient(conflict.error) from conflict
        except Transient as unclear:
            if writer.create_pr:  # it may be there; trying again could make another
                raise unclear.error from unclear
            on = ""
            raise

    policy = RetryPolicy(attempts=12, first_delay=0.2, longest_delay=20.0, sleep=_wait)
    info = policy.run(attempt, f"commit to {writer.repo_id}")
    if not info.oid:
        raise HubResponseError.at_url("The answer to a commit names none", writer.endpoint)
    writer.check(info.oid, uploaded, texts)
    return info
