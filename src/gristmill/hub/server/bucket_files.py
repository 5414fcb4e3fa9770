"""Buckets of a served folder: ``buckets/ORG/NAME/…``, files as they are, without history.

::

    buckets/ORG/NAME/PATH           a file; what is put there by hand is served as well
    buckets/ORG/NAME/.gristmill/    bucket.json (settings), hashes.jsonl, uploads/ (files nobody has named yet), xet/, tmp/

A file comes under its name by a rename, so it is the old one or the new one, whole, at any moment.
"""

from __future__ import annotations

import contextlib
import errno
import os
import shutil
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from gristmill.errors import FileFormatError, GristmillError
from gristmill.files.atomic import atomic_folder, sweep, sync_folder, temporary_name, write_json
from gristmill.files.lock import lock
from gristmill.hub.server.bucket_hashes import EMPTY, KnownHashes, xet_hash
from gristmill.hub.server.errors import Refusal, bad_request, unreadable
from gristmill.hub.server.hashing import ChangedWhileRead
from gristmill.hub.server.history import FOLDER
from gristmill.hub.server.settings import read_settings
from gristmill.hub.server.walk import HIDDEN_FOLDERS, Found, Stamp, inside, walk
from gristmill.hub.server.xet_format import ShardFile

TYPE = "buckets"
_KEEP_UPLOADS = 24 * 3600.0
# As for plain repositories: at most a tenth of the time goes into looking whether files have changed.
_WALK_SHARE = 10
_LONGEST_TRUST = 5.0
_SMALL = 200


@dataclass(frozen=True, slots=True)
class BucketSettings:
    """When a bucket was made, in seconds since 1970, and whether only those with a right to it may know of it."""

    created: float
    private: bool = False


class Bucket:
    """One bucket. Safe to use from many threads.

    Args:
        root: The served folder.
        id: ``ORG/NAME``.
    """

    def __init__(self, root: Path, id: str) -> None:
        self.root = root
        self.id = id
        self.folder = root / TYPE / id
        self._own = self.folder / FOLDER
        self.hashes = KnownHashes(self._own / "hashes.jsonl")
        self._found: dict[str, Found] = {}
        self._trusted_until = 0.0

    # -- what there is

    def settings(self) -> BucketSettings:
        """Reads its settings; a folder put there by hand is public.

        Raises:
            FileNotFoundError: The bucket is gone.
            FileFormatError: The settings are damaged.
        """
        path = self._own / "bucket.json"
        told = read_settings(path)
        if told is None:
            return BucketSettings(self.folder.stat().st_mtime)
        created, private = told.get("created"), told.get("private")
        if not isinstance(created, int | float) or not isinstance(private, bool):
            raise FileFormatError.at("are no settings of a bucket", file=path)
        return BucketSettings(float(created), private)

    def files(self) -> dict[str, Found]:
        """Lists the files as they are now, sorted by path, without opening any.

        Raises:
            FileNotFoundError: The bucket is gone.
            Refusal: A folder can't be listed.
        """
        start = time.monotonic()
        if start >= self._trusted_until:
            try:
                self._found = walk(self.folder, self.root)
            except FileNotFoundError:
                raise
            except OSError as error:
                raise unreadable(f"a folder of {self.id}", error) from error
            end = time.monotonic()
            trust = min((end - start) * _WALK_SHARE, _LONGEST_TRUST) if len(self._found) > _SMALL else 0.0
            self._trusted_until = end + trust
        return self._found

    def distrust(self) -> None:
        """Makes the next look at the folder a fresh one."""
        self._trusted_until = 0.0

    def find(self, path: str) -> Found | None:
        """Finds one file as it is now; None if there is none.

        Args:
            path: A checked path.

        Raises:
            Refusal: It can't be looked at.
        """
        file = self.folder / path
        if HIDDEN_FOLDERS & set(path.split("/")) or not inside(file, self.root):
            return None
        try:
            return Found(path, file, Stamp.of(file.stat())) if file.is_file() else None
        except (FileNotFoundError, NotADirectoryError):
            return None
        except OSError as error:
            if error.errno in (errno.ENAMETOOLONG, errno.ELOOP):
                return None  # no file can have such a name
            raise unreadable(path, error) from error

    def with_hash(self, hash: str) -> Found | None:
        """Finds a file of the bucket that has this content."""
        for path in self.hashes.paths(hash):
            found = self.find(path)
            if found is not None and self.hashes.get(found) == hash:
                return found
        return None

    def hash_all(self) -> None:
        """Hashes the files whose hashes are not known; those that change meanwhile are left for later."""
        for found in self.files().values():
            with contextlib.suppress(ChangedWhileRead):
                self.hashes.compute(found)

    # -- what is received

    def inside(self, *names: str) -> Path:
        """Gives a folder for what is being received, made if needed; never the bucket's own, which may be gone."""
        path = self._own
        path.mkdir(exist_ok=True)
        for name in names:
            path /= name
            path.mkdir(exist_ok=True)
        return path

    def temporary(self) -> Path:
        """Makes a name for something that is being received; what dead processes left there is removed."""
        folder = self.inside("tmp")
        sweep(folder)
        return temporary_name(folder / "file")

    def uploaded(self, hash: str) -> Path:
        """Gives where a file is, or would be, that was uploaded and that no batch has named yet."""
        return self._own / "uploads" / hash

    def wants(self, file: ShardFile) -> bool:
        """Says whether a file is not here yet."""
        if file.hash == EMPTY:
            return False
        with contextlib.suppress(FileNotFoundError):
            os.utime(self.uploaded(file.hash))
            return False
        return self.with_hash(file.hash) is None

    def keep(self, file: ShardFile, temporary: Path, sha256: str) -> None:
        """Checks a file that was made, and keeps it until a batch names it; see `Depot.keep`."""
        if file.sha256 not in (None, sha256):
            raise bad_request(f"The chunks of a file make {sha256}, not {file.sha256}.")
        made = xet_hash(temporary)
        if made is None:
            raise Refusal(501, "This server can't take files into buckets: hf_xet is not installed there.")
        if made != file.hash:
            raise bad_request(f"The chunks of a file make the xet hash {made}, not {file.hash}.")
        folder = self.inside("uploads")
        temporary.replace(folder / file.hash)
        sync_folder(folder)

    def sweep_uploads(self) -> None:
        """Removes uploaded files that no batch named for a day."""
        oldest = time.time() - _KEEP_UPLOADS
        with contextlib.suppress(FileNotFoundError):
            for file in (self._own / "uploads").iterdir():
                with contextlib.suppress(FileNotFoundError):
                    if file.stat().st_mtime < oldest:
                        file.unlink()
        with self.writing():
            self.hashes.compact()

    # -- changes

    @contextlib.contextmanager
    def writing(self) -> Iterator[None]:
        """Holds the right to change files, against other threads and processes.

        Raises:
            FileNotFoundError: There is no such bucket (any more).
        """
        with lock(self.inside() / "lock", poll=0.01, make_folder=False):
            try:
                yield
            finally:
                self.distrust()

    def place(self, path: str, content: Path, hash: str, modified_ns: int) -> None:
        """Puts a file under its name; the content is moved there. Only while `writing`.

        Raises:
            Refusal: The path is, or leads through, a folder or file that is in the way.
        """
        target = self.folder / path
        if not Path(os.path.realpath(target.parent)).is_relative_to(os.path.realpath(self.folder)):
            raise bad_request("the path leads out of the bucket")
        try:
            target.parent.mkdir(parents=True, exist_ok=True)
            os.utime(content, ns=(modified_ns, modified_ns))
            content.replace(target)
        except (NotADirectoryError, FileExistsError, IsADirectoryError) as error:
            raise bad_request("the path would be both a file and a folder") from error
        sync_folder(target.parent)
        self.hashes.note([(path, Stamp.of(target.stat()), hash)])

    def remove(self, path: str) -> None:
        """Deletes a file, if there is one, and the folders that are empty then. Only while `writing`."""
        found = self.find(path)
        if found is None:
            return
        found.file.unlink(missing_ok=True)
        self.hashes.drop(path)
        for parent in found.file.parents:
            if parent == self.folder:
                return
            try:
                parent.rmdir()
            except OSError:
                return


def copy_found(found: Found, target: Path) -> None:
    """Copies a file to a new one, sharing its blocks where the file system can.

    Raises:
        ChangedWhileRead: The file is not the one that was found any more.
    """
    try:
        with found.file.open("rb", buffering=0) as source, target.open("xb", buffering=0) as made:
            if not found.same(os.fstat(source.fileno())):
                raise ChangedWhileRead(found.path)
            try:
                while os.copy_file_range(source.fileno(), made.fileno(), 1 << 30):
                    pass
            except (OSError, AttributeError):  # across file systems, or where there is no such call
                source.seek(0)
                made.seek(0)
                made.truncate()
                shutil.copyfileobj(source, made, 1024 * 1024)
            os.fsync(made.fileno())
            if not found.same(os.fstat(source.fileno())):
                raise ChangedWhileRead(found.path)
    except FileNotFoundError as error:
        raise ChangedWhileRead(found.path) from error


class Buckets:
    """The buckets of a served folder. Safe to use from many threads.

    Args:
        root: The served folder, resolved.
    """

    def __init__(self, root: Path) -> None:
        self._root = root
        self._known: dict[str, Bucket] = {}

    def find(self, id: str) -> Bucket | None:
        """Finds a bucket by its id, a valid one; None if there is none."""
        folder = self._root / TYPE / id
        if not folder.is_dir() or not inside(folder, self._root):
            self._known.pop(id, None)
            return None
        return self._known.setdefault(id, Bucket(self._root, id))

    def create(self, id: str, private: bool) -> Bucket:
        """Makes an empty bucket.

        Raises:
            Refusal: There is one (409).
        """
        folder = self._root / TYPE / id
        sweep(folder.parent)
        with _naming(folder), atomic_folder(folder) as made:
            if os.path.lexists(folder):
                raise Refusal(409, f"There is a bucket {id} already.")
            (made / FOLDER).mkdir()
            write_json(
                made / FOLDER / "bucket.json", {"version": 1, "created": time.time(), "private": private}
            )
        return self._known.setdefault(id, Bucket(self._root, id))

    def set_private(self, bucket: Bucket, private: bool) -> None:
        """Makes a bucket private or public."""
        with bucket.writing():
            created = bucket.settings().created
            write_json(
                bucket.inside() / "bucket.json", {"version": 1, "created": created, "private": private}
            )

    def delete(self, bucket: Bucket) -> None:
        """Deletes a bucket: gone at once for everybody who asks from now on; downloads that run go on.

        Raises:
            FileNotFoundError: It is gone already.
        """
        aside = temporary_name(bucket.folder)
        with bucket.writing():
            bucket.folder.replace(aside)
        self._known.pop(bucket.id, None)
        if aside.is_symlink():
            aside.unlink()
        else:
            shutil.rmtree(aside, ignore_errors=True)

    def move(self, bucket: Bucket, id: str) -> None:
        """Gives a bucket another id, a valid one.

        Raises:
            FileNotFoundError: The bucket is gone.
            Refusal: The id is taken (409).
        """
        target = self._root / TYPE / id
        with bucket.writing(), _naming(target):
            if os.path.lexists(target):
                raise Refusal(409, f"There is a bucket {id} already.")
            bucket.folder.rename(target)
        self._known.pop(bucket.id, None)

    def look_after(self) -> None:
        """Hashes files that were put there by hand, and removes uploads that no batch named."""
        with contextlib.suppress(Refusal):
            for id in self.ids():
                bucket = self.find(id)
                with contextlib.suppress(OSError, GristmillError, Refusal):
                    if bucket is not None and bucket.inside().is_dir():
                        bucket.sweep_uploads()
                        bucket.hash_all()

    def ids(self) -> Iterator[str]:
        """Lists the ids, sorted."""
        for organisation in _folders(self._root / TYPE):
            for name in _folders(self._root / TYPE / organisation):
                yield f"{organisation}/{name}"


@contextlib.contextmanager
def _naming(folder: Path) -> Iterator[None]:
    with lock(folder.with_name(f".{folder.name}.lock")):
        yield


def _folders(folder: Path) -> list[str]:
    try:
        return sorted(item.name for item in folder.iterdir() if item.is_dir() and item.name[0] != ".")
    except FileNotFoundError:
        return []
    except OSError as error:
        raise unreadable(f"the folder {folder.name}", error) from error
