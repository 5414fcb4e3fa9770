"""What a xet upload leaves on disk: xorbs for as long as shards may refer to them, and the files made of them.

hf_xet takes all that it ever sent to one address for known there, also in the next process, and sends only what is new.
So an address must stand for xorbs that are really here and that whoever is given the address may read: each repository
has stores of its own, with addresses of their own, and a store is given out only while its xorbs are kept. What is
known of one repository says nothing about another, and one that is deleted takes its stores with it.
"""

from __future__ import annotations

import contextlib
import hashlib
import mmap
import os
import re
import secrets
import shutil
import struct
import time
from array import array
from collections import OrderedDict
from collections.abc import Iterator
from pathlib import Path
from typing import IO, Protocol

from gristmill.files.lock import lock
from gristmill.hub.server import pending
from gristmill.hub.server.errors import Refusal, bad_request
from gristmill.hub.server.history import History
from gristmill.hub.server.xet_format import ShardFile, decode_chunks, index_xorb, parse_shard

GIVEN_OUT_SECONDS = 3600.0
"""How long uploads that begin are sent to the same store, and so need not repeat what others sent."""
KEEP_SECONDS = 2 * 3600.0
"""How long the xorbs of a store may be referred to after it was last used; longer than it is given out."""
_NAME = re.compile(r"([0-9]{10})-[0-9a-f]{16}")
_FOLDER = "xet"
_MOST_OPEN = 32  # of each of the few threads that write
_INDEX = struct.Struct("<Q8s")
_INDEX_TAG = b"gmchunks"


class Depot(Protocol):
    """Where the files of a xet upload are kept once they are made."""

    def inside(self, *names: str) -> Path:
        """Gives a folder for what is being received, made if needed."""

    def temporary(self) -> Path:
        """Makes a name for something that is being received."""

    def wants(self, file: ShardFile) -> bool:
        """Says whether a file is not here yet.

        Raises:
            Refusal: The shard does not say what is needed to keep it (400).
        """

    def keep(self, file: ShardFile, temporary: Path, sha256: str) -> None:
        """Checks a file that was made, and takes it in.

        Raises:
            Refusal: It is not what its hash says (400).
        """


class RepoDepot:
    """Keeps files as LFS objects of a repository, by their sha256."""

    def __init__(self, history: History) -> None:
        self._history = history
        self.inside = history.inside
        self.temporary = history.temporary

    def wants(self, file: ShardFile) -> bool:
        """See `Depot.wants`."""
        if file.sha256 is None:
            raise bad_request("The shard does not say the sha256 of a file.")
        pending.note(self._history, file.sha256)
        return not self._history.has(file.sha256, file.size)

    def keep(self, file: ShardFile, temporary: Path, sha256: str) -> None:
        """See `Depot.keep`."""
        if sha256 != file.sha256:
            raise bad_request(f"The chunks of a file make {sha256}, not {file.sha256}.")
        pending.note(self._history, sha256)
        self._history.adopt(temporary, sha256)


class XorbStore:
    """The xorbs of some uploads to a repository or bucket.

    Args:
        depot: Where the files made of them go.
        name: What `begin` gave.

    Raises:
        Refusal: There is no such store here (any more) (404).
    """

    def __init__(self, depot: Depot, name: str) -> None:
        self.depot = depot
        self.folder = depot.inside(_FOLDER) / name
        try:
            if not _NAME.fullmatch(name):
                raise FileNotFoundError(name)
            os.utime(self.folder)  # used, so kept for longer
        except FileNotFoundError as error:
            raise Refusal(404, "This address of xet holds no longer; ask for a new token.") from error

    def adopt(self, temporary: Path, hash: str) -> None:
        """Takes in a received xorb; one that is there is replaced, as nobody checked that it is what it is called.

        Raises:
            Refusal: It is no xorb (400); the file is removed.
        """
        try:
            with map_file(temporary) as content:
                offsets = index_xorb(content)
            # Behind it, so that the two are never of different uploads: a file may go back and forth between many xorbs.
            with temporary.open("ab") as file:
                file.write(offsets.tobytes() + _INDEX.pack(len(offsets), _INDEX_TAG))
        except BaseException:
            temporary.unlink(missing_ok=True)
            raise
        temporary.replace(self.folder / hash)

    def build(self, shard: IO[bytes]) -> bool:
        """Makes the files of a shard, each checked by its hash, and keeps them.

        Returns:
            Whether there was any that was not here already.

        Raises:
            Refusal: The shard can't be read, a xorb is not here, or a file is not what its hash says (400); the disk
                has no room (507).
        """
        made = False
        with map_file(shard) as content:
            for file in parse_shard(content):
                made |= self._build_file(file)
        return made

    def _build_file(self, file: ShardFile) -> bool:
        if not self.depot.wants(file):
            return False
        # A client that lost patience sends the shard again while the first is being worked on.
        with lock(self.folder / f"{file.hash}.lock", make_folder=False):
            if not self.depot.wants(file):
                return False
            if shutil.disk_usage(self.folder).free < file.size:
                raise Refusal(507, "The server's disk has no room for a file of the shard.")
            temporary = self.depot.temporary()
            try:
                with temporary.open("xb") as target:
                    digest = self._write(file, target)
                    target.flush()
                    os.fsync(target.fileno())
                self.depot.keep(file, temporary, digest)
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
                    if left < 0:
                        break  # nothing is written beyond what there is said to be
                    digest.update(chunk)
                    target.write(chunk)
                if left:
                    raise bad_request("A term of the shard has another length than its chunks.")
        return digest.hexdigest()


def begin(depot: Depot) -> str:
    """Gives the name of the store for an upload that begins now, and removes stores that nothing refers to any more."""
    folder, now = depot.inside(_FOLDER), time.time()
    names = []
    for path in folder.iterdir():
        match = _NAME.fullmatch(path.name)
        if match is None:
            continue
        if now - int(match[1]) < GIVEN_OUT_SECONDS:
            names.append(path.name)
        else:
            with contextlib.suppress(FileNotFoundError):
                if now - path.stat().st_mtime > KEEP_SECONDS:
                    shutil.rmtree(path, ignore_errors=True)
    if names:
        return max(names)
    name = f"{int(now):010d}-{secrets.token_hex(8)}"
    (folder / name).mkdir()
    return name


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
            try:
                with (self._folder / hash).open("rb") as stream:
                    content = mmap.mmap(stream.fileno(), 0, access=mmap.ACCESS_READ)
            except FileNotFoundError as error:
                raise bad_request(f"The xorb {hash} is not here (any more); upload it again.") from error
            known = (content, _index(content))
            self._open[hash] = known
            if len(self._open) > _MOST_OPEN:
                self._open.popitem(last=False)[1][0].close()
        else:
            self._open.move_to_end(hash)
        return known


def _index(content: mmap.mmap) -> array[int]:
    """Reads where the chunks of a xorb are, as `XorbStore.adopt` noted behind it."""
    end = len(content) - _INDEX.size
    count, tag = _INDEX.unpack_from(content, end) if end > 0 else (0, b"")
    offsets = array("q")
    if tag != _INDEX_TAG or count * offsets.itemsize > end:
        return index_xorb(content)  # received by an older version
    offsets.frombytes(content[end - count * offsets.itemsize : end])
    return offsets


@contextlib.contextmanager
def map_file(file: Path | IO[bytes]) -> Iterator[mmap.mmap | bytes]:
    """Maps a file into memory for the length of a ``with`` block."""
    with file.open("rb") if isinstance(file, Path) else contextlib.nullcontext(file) as stream:
        if os.fstat(stream.fileno()).st_size == 0:
            yield b""
            return
        with mmap.mmap(stream.fileno(), 0, access=mmap.ACCESS_READ) as content:
            yield content
