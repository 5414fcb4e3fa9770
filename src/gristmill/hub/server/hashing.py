"""The ids of files: git blob ids and LFS hashes, computed in one streaming pass and kept until a file changes."""

from __future__ import annotations

import functools
import hashlib
import re
import threading
import time
from pathlib import Path

from gristmill.hub.server.walk import Found, Stamp

LFS_SIZE = 10 * 1024 * 1024
"""Files larger than this many bytes are LFS files whatever their name."""

_LFS_SUFFIXES = [
    "7z",
    "arrow",
    "avro",
    "bin",
    "bz2",
    "ckpt",
    "db",
    "duckdb",
    "feather",
    "flac",
    "ftz",
    "gif",
    "gz",
    "h5",
    "ico",
    "idx",
    "jpeg",
    "jpg",
    "joblib",
    "lz4",
    "m4a",
    "mlmodel",
    "mp3",
    "mp4",
    "model",
    "msgpack",
    "npy",
    "npz",
    "onnx",
    "ogg",
    "opus",
    "orc",
    "ot",
    "parquet",
    "pb",
    "pcm",
    "pdf",
    "pickle",
    "pkl",
    "png",
    "pt",
    "pth",
    "rar",
    "raw",
    "safetensors",
    "sam",
    "sqlite",
    "sqlite3",
    "tar",
    "tflite",
    "tgz",
    "tif",
    "tiff",
    "wasm",
    "wav",
    "webm",
    "webp",
    "xz",
    "zip",
    "zst",
]

# A file system's clock ticks coarsely: a file changed again within the tick it was hashed in keeps its stamp.
_TICK_NS = 50_000_000
_BLOCK = 1024 * 1024
# Each star multiplies the work of a match that fails; a repository must not be able to stall the server.
_MOST_STARS = 4


class ChangedWhileRead(Exception):
    """A file was changed or removed while it was being read."""


class Hasher:
    """Ids of files, remembered by path and stamp. Safe to use from many threads."""

    def __init__(self) -> None:
        self._known: dict[tuple[Path, bool], tuple[Stamp, int, str]] = {}
        self._lock = threading.Lock()

    def hash(self, found: Found, lfs: bool) -> str:
        """Gives the sha256 of an LFS file's content, or the git blob id (sha1) of a regular file.

        Args:
            found: The file.
            lfs: Which of the two.

        Raises:
            ChangedWhileRead: The file is not the one that was found any more.
            OSError: It can't be read.
        """
        key = (found.file, lfs)
        with self._lock:
            known = self._known.get(key)
        if known is not None and known[0] == found.stamp and settled(found.stamp, known[1]):
            return known[2]
        now = time.time_ns()
        digest = _read(found, lfs)
        with self._lock:
            self._known[key] = (found.stamp, now, digest)
        return digest


def settled(stamp: Stamp, seen_ns: int) -> bool:
    """Says whether a change after the moment `seen_ns` would have shown in the stamp.

    The time of the last change of the inode counts: unlike the other one, programs can't set it to a time to come.
    """
    return stamp.ctime_ns + _TICK_NS < seen_ns


def _read(found: Found, lfs: bool) -> str:
    digest = hashlib.sha256() if lfs else hashlib.sha1(b"blob %d\0" % found.stamp.size, usedforsecurity=False)
    read = 0
    try:
        with found.file.open("rb", buffering=0) as stream:
            while block := stream.read(_BLOCK):
                digest.update(block)
                read += len(block)
        after = Stamp.of(found.file.stat())
    except FileNotFoundError as error:
        raise ChangedWhileRead(found.path) from error
    if read != found.stamp.size or after != found.stamp:
        raise ChangedWhileRead(found.path)
    return digest.hexdigest()


def pointer_text(sha256: str, size: int) -> bytes:
    """Writes the small text that stands for an LFS file in git.

    Example:
        >>> len(pointer_text("0" * 64, 1234))
        129
    """
    return f"version https://git-lfs.github.com/spec/v1\noid sha256:{sha256}\nsize {size}\n".encode()


def blob_id(content: bytes) -> str:
    """Computes the git blob id of a content.

    Example:
        >>> blob_id(b"")
        'e69de29bb2d1d6434b8b29ae775ad8c2e48c5391'
    """
    return hashlib.sha1(b"blob %d\0%b" % (len(content), content), usedforsecurity=False).hexdigest()


def usual_attributes() -> str:
    """Writes the ``.gitattributes`` of a new repository: the usual list of LFS files."""
    return "".join(f"*.{suffix} filter=lfs diff=lfs merge=lfs -text\n" for suffix in _LFS_SUFFIXES)


class LfsRules:
    """Which files of a repository are LFS files: by its ``.gitattributes``, else by the usual list, or by size.

    Args:
        attributes: Text of the repository's ``.gitattributes``; None if it has none.

    Example:
        >>> LfsRules(None).matches("data/train.parquet", 100)
        True
        >>> LfsRules("*.csv filter=lfs diff=lfs merge=lfs -text").matches("a.parquet", 100)
        False
    """

    def __init__(self, attributes: str | None) -> None:
        self._rules = None if attributes is None else _parse_attributes(attributes)

    def matches(self, path: str, size: int) -> bool:
        """Says whether a file is an LFS file.

        Args:
            path: Path in the repository.
            size: Bytes of its content. Empty files are regular whatever the rules say.
        """
        if size == 0:
            return False
        if size > LFS_SIZE:
            return True
        if self._rules is None:
            return path.rpartition(".")[2].lower() in _LFS_SUFFIXES and "." in path.rpartition("/")[2]
        return next((lfs for pattern, lfs in reversed(self._rules) if pattern.fullmatch(path)), False)


def _parse_attributes(text: str) -> list[tuple[re.Pattern[str], bool]]:
    rules = []
    for line in text.splitlines()[:10_000]:
        pattern, *attributes = line.split() or [""]
        if not pattern or pattern.startswith("#"):
            continue
        if "filter=lfs" in attributes:
            rules.append((compile_glob(pattern), True))
        elif any(word.lstrip("-!").partition("=")[0] == "filter" for word in attributes):
            rules.append((compile_glob(pattern), False))
    return rules


@functools.lru_cache(maxsize=1024)
def compile_glob(pattern: str) -> re.Pattern[str]:
    """Compiles a git pattern: without a slash it is about the name in any folder; ``**/`` crosses folders."""
    anchored = "/" in pattern
    translated = ""
    tokens = re.findall(r"\*\*/|\*\*|\*|\?|.", pattern.lstrip("/"))
    if sum(token[0] == "*" for token in tokens) > _MOST_STARS:
        return re.compile(r"(?!)")
    for token in tokens:
        translated += {"**/": "(?:[^/]+/)*", "**": ".*", "*": "[^/]*", "?": "[^/]"}.get(
            token, re.escape(token)
        )
    return re.compile(translated if anchored else f"(?:.*/)?{translated}", re.DOTALL)
