"""The Hub's cache folder, shared with huggingface_hub: what either downloads, the other finds.

::

    $HF_HUB_CACHE/
      .locks/datasets--NS--NAME/ETAG.lock
      datasets--NS--NAME/
        blobs/ETAG                  the content, named by its git blob id or sha256; ETAG.part while it comes in
        refs/REVISION               the commit a branch or tag stood at when last used
        snapshots/COMMIT/PATH       relative link to the blob (a copy where there are no links)
        trees/COMMIT.json           the files of a commit, as huggingface_hub keeps them
        .no_exist/COMMIT/PATH       known not to exist
        gristmill/COMMIT.json       ours: what the Hub said about the repository (gated, private, card)
"""

from __future__ import annotations

import contextlib
import json
import os
import shutil
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from gristmill.errors import FileError, HubResponseError, UnsafePathError
from gristmill.files.atomic import atomic_file, sweep, temporary_name
from gristmill.files.borders import writing
from gristmill.files.paths import check_relative
from gristmill.hub.tree import RepoFile, is_commit, parse_file
from gristmill.logging import get_logger

_log = get_logger(__name__)
_TAG = "Signature: 8a477f597d28d172789f06886806bc55\n# This folder is a cache; it may be deleted, and need not be backed up.\n"


@dataclass(frozen=True)
class RepoCache:
    """One repository's part of the cache. Reading never fails for want of a file: it says None.

    Attributes:
        root: The cache folder, `config.HF_HUB_CACHE` as a rule.
        repo_type: ``"dataset"`` or ``"model"``.
        repo_id: ``"namespace/name"``, checked by the caller.

    Example:
        >>> RepoCache(Path("/cache"), "dataset", "org/name").folder.as_posix()
        '/cache/datasets--org--name'
    """

    root: Path
    repo_type: str
    repo_id: str

    @property
    def folder(self) -> Path:
        """The repository's folder."""
        return self.root / "--".join([f"{self.repo_type}s", *self.repo_id.split("/")])

    def blob(self, etag: str) -> Path:
        """Where the content with this identity is, or will be."""
        return self.folder / "blobs" / etag

    def part(self, etag: str) -> Path:
        """Where the content with this identity comes in."""
        return self.folder / "blobs" / f"{etag}.part"

    def lock(self, etag: str) -> Path:
        """The lock for writing this content; huggingface_hub takes the same one."""
        return self.root / ".locks" / self.folder.name / f"{etag}.lock"

    def snapshot(self, commit: str, path: str) -> Path:
        """The name under which a file is read.

        Raises:
            UnsafePathError: The path is not a plain relative one.
        """
        folder = self.folder / "snapshots" / commit
        return folder / check_relative(path, folder)

    def has_commit(self, commit: str) -> bool:
        """Says whether anything of this commit is here."""
        return (self.folder / "snapshots" / commit).is_dir() or self._tree(commit).is_file()

    def known_absent(self, commit: str, path: str) -> bool:
        """Says whether it is on record that the commit has no such file."""
        return os.path.isfile(self.folder / ".no_exist" / commit / check_relative(path))  # noqa: PTH113  # Path raises for names too long

    def read_ref(self, revision: str) -> str | None:
        """Gives the commit that a revision stood for when last used."""
        if is_commit(revision):
            return revision if self.has_commit(revision) else None
        with contextlib.suppress(OSError, UnicodeDecodeError):
            commit = (self.folder / "refs" / check_relative(revision)).read_text().strip()
            return commit if is_commit(commit) else None
        return None

    def write_ref(self, revision: str, commit: str) -> None:
        """Records the commit that a revision stands for now."""
        if revision != commit and self.read_ref(revision) != commit:
            self._write(self.folder / "refs" / check_relative(revision), commit)

    def _tree(self, commit: str) -> Path:
        return self.folder / "trees" / f"{commit}.json"

    def read_tree(self, commit: str) -> tuple[RepoFile, ...] | None:
        """Gives the list of a commit's files, if it was kept."""
        where = self._tree(commit)
        listing = _read_json(where)
        if not isinstance(listing, dict) or listing.get("format_version") != 1:
            return None
        try:
            return tuple(
                parse_file(
                    path,
                    facts.get("lfs_size", facts["size"]),
                    facts["blob_id"],
                    facts.get("lfs_sha256"),
                    str(where),
                )
                for path, facts in sorted(listing["files"].items())
            )
        except (HubResponseError, UnsafePathError, KeyError, TypeError, AttributeError) as error:
            _log.warning("the cached list of files %s is damaged (%r); it is fetched again", where, error)
            return None

    def write_tree(self, commit: str, files: tuple[RepoFile, ...]) -> None:
        """Keeps the list of a commit's files."""
        listing = {
            file.path: {"size": file.size, "blob_id": file.blob_id}
            | ({"lfs_sha256": file.sha256, "lfs_size": file.size} if file.sha256 else {})
            for file in files
        }
        text = json.dumps({"format_version": 1, "files": listing}, ensure_ascii=False, indent=1)
        self._write(self._tree(commit), text)

    def _info(self, commit: str) -> Path:
        return self.folder / "gristmill" / f"{commit}.json"

    def read_info(self, commit: str) -> dict[str, Any] | None:
        """Gives what the Hub said about the repository at this commit, if it was kept."""
        info = _read_json(self._info(commit))
        return info if isinstance(info, dict) else None

    def write_info(self, commit: str, info: dict[str, Any]) -> None:
        """Keeps what the Hub said about the repository at this commit."""
        if self.read_info(commit) == info:
            return
        try:
            # Escaped: a card may hold halves of characters, which no UTF-8 file can.
            text = json.dumps(info, sort_keys=True)
        except RecursionError:
            _log.info("%s is not kept: the card is nested too deeply", self._info(commit))
            return
        self._write(self._info(commit), text)

    def list_snapshot(self, commit: str) -> tuple[RepoFile, ...]:
        """Lists the files of a commit that are here, whole or not: all there is to go by without the Hub's list."""
        folder = self.folder / "snapshots" / commit
        files = []
        for file in sorted(folder.rglob("*")):
            if file.is_file():
                name = file.resolve().name
                sha256 = name if len(name) == 64 else None
                path = file.relative_to(folder).as_posix()
                # Names of blobs are hashes; a copy (no links on this disk) does not tell, and is not asked for again.
                blob_id = name if is_commit(name) else "0" * 40
                files.append(RepoFile(path, file.stat().st_size, blob_id, sha256))
        return tuple(files)

    def link(self, commit: str, file: RepoFile) -> Path:
        """Gives a blob its name in a snapshot.

        Args:
            commit: The snapshot.
            file: The file; its blob is there.

        Returns:
            The name under which the file is read.

        Raises:
            FileError: The name can't be made.
        """
        final, blob = self.snapshot(commit, file.path), self.blob(file.etag)
        temporary = temporary_name(final)
        with writing(final):
            final.parent.mkdir(parents=True, exist_ok=True)
            try:
                temporary.symlink_to(os.path.relpath(blob, final.parent))
            except OSError:
                _log.debug("no symbolic links at %s: the file is copied", final.parent)
                shutil.copyfile(blob, temporary)
            temporary.replace(final)
        return final

    def prepare(self) -> None:
        """Makes the folders that downloads need, and marks the root as a cache for backup programs."""
        with writing(self.folder):
            (self.folder / "blobs").mkdir(parents=True, exist_ok=True)
            tag = self.root / "CACHEDIR.TAG"
            if not tag.exists():
                tag.write_text(_TAG)

    def _write(self, path: Path, text: str) -> None:
        # What is only remembered for later must not stop work on a cache that can't be written.
        try:
            sweep(path.parent)
            with atomic_file(path, "w") as file:
                file.write(text)
        except (FileError, OSError) as error:
            _log.info("%s is not kept: %s", path, error)


def _read_json(path: Path) -> Any:
    try:
        return json.loads(path.read_bytes())
    except (OSError, ValueError, RecursionError):
        return None
