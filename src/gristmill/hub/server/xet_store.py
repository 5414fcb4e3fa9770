"""What a xet upload leaves on disk: xorbs for as long as shards may refer to them, and the files made of them."""

from __future__ import annotations

import contextlib
import hashlib
import mmap
import os
import shutil
import time
from array import array
from collections import OrderedDict
from collections.abc import Iterator
from pathlib import Path
from typing import IO

from gristmill.files.lock import lock
from gristmill.hub.server.errors import Refusal, bad_request
from gristmill.hub.server.history import History
from gristmill.hub.server.xet_format import ShardFile, decode_chunks, index_xorb, parse_shard

KEEP_SECONDS = 2 * 3600.0
"""How long a xorb may be referred to after it was last used."""
_MOST_OPEN = 2


class XorbStore:
    """The xorbs of a repository.

    Args:
        history: Where the repository keeps things.
    """

    def __init__(self, history: History) -> None:
        self.history = history
        self.folder = history.folder / "xet"

    def temporary(self) -> Path:
        """Makes a name for a xorb that is being received."""
        self.history.inside(self.folder.name)
        return self.history.temporary()

    def adopt(self, temporary: Path, hash: str) -> None:
        """Takes in a received xorb; one that is there is replaced, as nobody checked that it is what it is called.

        Raises:
            Refusal: It is no xorb (400); the file is removed.
        """
        try:
            with map_file(temporary) as content:
                index_xorb(content)
        except BaseException:
            temporary.unlink(missing_ok=True)
            raise
        temporary.replace(self.folder / hash)

    def sweep(self) -> None:
        """Removes what nothing can refer to any more."""
        oldest = time.time() - KEEP_SECONDS
        with contextlib.suppress(FileNotFoundError):
            for file in self.folder.iterdir():
                with contextlib.suppress(OSError):
                    if file.stat().st_mtime < oldest:
                        file.unlink()

    def build(self, shard: IO[bytes]) -> bool:
        """Makes the files of a shard, each checked by its sha256, and stores them as LFS objects.

        Returns:
            Whether there was any that was not stored already.

        Raises:
            Refusal: The shard can't be read, a xorb is not here, or a file is not what its sha256 says (400); the disk
                has no room (507).
        """
        made = False
        with map_file(shard) as content:
            for file in parse_shard(content):
                made |= self._build_file(file)
        return made

    def _build_file(self, file: ShardFile) -> bool:
        if file.sha256 is None:
            raise bad_request("The shard does not say the sha256 of a file.")
        # A client that lost patience sends the shard again while the first is being worked on.
        with lock(self.history.inside(self.folder.name) / f"{file.sha256}.lock", make_folder=False):
            if self.history.has(file.sha256, file.size):
                return False
            if shutil.disk_usage(self.folder).free < file.size:
                raise Refusal(507, "The server's disk has no room for a file of the shard.")
            temporary = self.history.temporary()
            try:
                with temporary.open("xb") as target:
                    digest = self._write(file, target)
                    target.flush()
                    os.fsync(target.fileno())
                if digest != file.sha256:
                    raise bad_request(f"The chunks of a file make {digest}, not {file.sha256}.")
                self.history.adopt(temporary, file.sha256)
            finally:
                temporary.unlink(missing_ok=True)
        return True

    def _write(self, file: ShardFile, target: IO[bytes]) -> str:
        digest = hashlib.sha256()
        with contextlib.closing(_OpenXorbs(self.folder)) as xorbs:
            for term in file.terms:
                content, offsets = xorbs.get(term.xorb)
                left = term.length
                for chunk in decode_chunks(content, offsets, term.start, term.end):
                    left -= len(chunk)
                    digest.update(chunk)
                    target.write(chunk)
                if left:
                    raise bad_request("A term of the shard has another length than its chunks.")
        return digest.hexdigest()


class _OpenXorbs:
    """A few xorbs, open for as long as their file is being made."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._open: OrderedDict[str, tuple[mmap.mmap, array[int]]] = OrderedDict()

    def close(self) -> None:
        """Closes them."""
        while self._open:
            self._open.popitem()[1][0].close()

    def get(self, hash: str) -> tuple[mmap.mmap, array[int]]:
        """Gives the content of a xorb and where its chunks are."""
        known = self._open.get(hash)
        if known is None:
            path = self._folder / hash
            try:
                os.utime(path)  # used, so kept for longer
                with path.open("rb") as stream:
                    content = mmap.mmap(stream.fileno(), 0, access=mmap.ACCESS_READ)
            except FileNotFoundError as error:
                raise bad_request(f"The xorb {hash} is not here (any more); upload it again.") from error
            known = (content, index_xorb(content))
            self._open[hash] = known
            if len(self._open) > _MOST_OPEN:
                self._open.popitem(last=False)[1][0].close()
        else:
            self._open.move_to_end(hash)
        return known


@contextlib.contextmanager
def map_file(file: Path | IO[bytes]) -> Iterator[mmap.mmap | bytes]:
    """Maps a file into memory for the length of a ``with`` block."""
    with file.open("rb") if isinstance(file, Path) else contextlib.nullcontext(file) as stream:
        if os.fstat(stream.fileno()).st_size == 0:
            yield b""
            return
        with mmap.mmap(stream.fileno(), 0, access=mmap.ACCESS_READ) as content:
            yield content
