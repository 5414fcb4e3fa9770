"""LFS uploads in parts: each part is a file of its own, and the object is made of them when all are there.

::

    .gristmill/parts/UPLOAD/00001-HEX     the first part, by its sha256, once all of it is there

Not one file for all parts: a request that lingers could still write to it when it has become the object.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import re
import secrets
import shutil
import time
from dataclasses import dataclass
from pathlib import Path

from gristmill.files.atomic import temporary_name
from gristmill.hub.server import pending
from gristmill.hub.server.errors import Refusal, bad_request
from gristmill.hub.server.history import History

PART = 128 * 1024 * 1024
"""Least bytes of a part; larger for objects of more than a thousand parts."""
_MOST_PARTS = 1000
KEEP_SECONDS = 24 * 3600.0
"""How long an upload waits for its next part."""
_FOLDER = "parts"
_NAME = re.compile(r"[0-9a-f]{32}")
_DIGEST = re.compile(r"[0-9a-f]{64}")
_BLOCK = 1024 * 1024


def part_size(size: int) -> int:
    """Gives the bytes of all parts of an object but the last.

    Example:
        >>> part_size(10**9), part_size(2**40)
        (134217728, 1099511628)
    """
    return max(PART, -(-size // _MOST_PARTS))


@dataclass(frozen=True)
class PartsUpload:
    """An upload in parts.

    Attributes:
        history: Of the repository.
        name: Of the upload.
        oid: The object's sha256.
        size: Its bytes.
        part: Bytes of all parts but the last.
    """

    history: History
    name: str
    oid: str
    size: int
    part: int

    @property
    def folder(self) -> Path:
        """Where its parts are."""
        assert _NAME.fullmatch(self.name)
        return self.history.folder / _FOLDER / self.name

    @property
    def count(self) -> int:
        """How many parts it has."""
        return -(-self.size // self.part)

    def length(self, number: int) -> int:
        """Gives the bytes of a part; the first is number 1."""
        return min(self.part, self.size - (number - 1) * self.part)

    def temporary(self) -> Path:
        """Makes a name for a part that is being received.

        Raises:
            Refusal: The upload is over (404), or the disk has no room (507).
        """
        try:
            if shutil.disk_usage(self.folder).free < self.part:
                raise Refusal(507, "The server's disk has no room for a part of the upload.")
        except FileNotFoundError as error:
            raise Refusal(404, "This upload is over; begin anew.") from error
        return temporary_name(self.folder / "part")

    def adopt(self, number: int, digest: str, temporary: Path) -> None:
        """Takes in a part that was received whole.

        Raises:
            Refusal: The upload is over (404).
        """
        try:
            temporary.replace(self._path(number, digest))
        except FileNotFoundError as error:
            raise Refusal(404, "This upload is over; begin anew.") from error

    def complete(self, told: dict[int, str]) -> None:
        """Makes the object of the parts.

        Args:
            told: The ``ETag`` that was given for each part.

        Raises:
            Refusal: A part is missing or another one than was told (400), the object is not what its sha256 says (400;
                the parts are removed then), or the upload is over (404).
        """
        if self.history.has(self.oid, self.size):
            return
        if not self.folder.is_dir():
            raise Refusal(404, "This upload is over; begin anew.")
        paths = [self._path(number, told.get(number, "")) for number in range(1, self.count + 1)]
        wrong = [number for number, path in enumerate(paths, 1) if not path.is_file()]
        if wrong or len(told) != self.count:
            raise bad_request(
                f"Parts are missing, or not those that were sent: {wrong[:20] or sorted(told)[:20]}."
            )
        if shutil.disk_usage(self.folder).free < self.size:
            raise Refusal(507, "The server's disk has no room for the object.")
        temporary = self.history.temporary()
        try:
            digest, size = hashlib.sha256(), 0
            with temporary.open("xb") as target:
                for path in paths:
                    with path.open("rb") as file:
                        while block := file.read(_BLOCK):
                            digest.update(block)
                            size += target.write(block)
                target.flush()
                os.fsync(target.fileno())
            if (size, digest.hexdigest()) != (self.size, self.oid):
                self.abort()
                raise bad_request(
                    f"{size} bytes with sha256 {digest.hexdigest()} came, not {self.size} with {self.oid}."
                )
            pending.note(self.history, self.oid)
            self.history.adopt(temporary, self.oid)
        finally:
            temporary.unlink(missing_ok=True)
        self.abort()

    def abort(self) -> None:
        """Removes what was sent."""
        shutil.rmtree(self.folder, ignore_errors=True)

    def _path(self, number: int, digest: str) -> Path:
        return self.folder / (f"{number:05d}-{digest}" if _DIGEST.fullmatch(digest) else "none")


def begin(history: History, oid: str, size: int) -> PartsUpload:
    """Begins an upload in parts, and removes those that nobody went on with."""
    sweep(history)
    upload = PartsUpload(history, secrets.token_hex(16), oid, size, part_size(size))
    history.inside(_FOLDER, upload.name)
    return upload


def sweep(history: History) -> None:
    """Removes uploads whose last part came long ago."""
    oldest = time.time() - KEEP_SECONDS
    with contextlib.suppress(FileNotFoundError):
        for folder in (history.folder / _FOLDER).iterdir():
            with contextlib.suppress(FileNotFoundError):
                if folder.stat().st_mtime < oldest:
                    shutil.rmtree(folder, ignore_errors=True)
