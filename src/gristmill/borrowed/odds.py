"""Odds and ends: decorators, marks on strings, extractors, threads and pickles under their names in `datasets`."""

from __future__ import annotations

import contextlib
import functools
import shutil
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, ClassVar

import cloudpickle

from gristmill.arguments import whole_number
from gristmill.errors import FileFormatError, InvalidArgumentError
from gristmill.files.archives import detect_archive, extract_archive
from gristmill.files.atomic import atomic_file
from gristmill.files.borders import writing
from gristmill.files.compression import HEAD_BYTES, detect_compression, open_decompressed

__all__ = [
    "Extractor",
    "Pickler",
    "ZstdExtractor",
    "add_end_docstrings",
    "add_start_docstrings",
    "experimental",
]


def experimental(fn: Callable[..., Any]) -> Callable[..., Any]:
    """Marks a function that may change: a call of it warns.

    Args:
        fn: The function.

    Example:
        >>> import warnings
        >>> with warnings.catch_warnings(record=True) as told:
        ...     warnings.simplefilter("always")
        ...     experimental(lambda: 5)()
        5
        >>> [warning.category.__name__ for warning in told]
        ['UserWarning']
    """

    @functools.wraps(fn)
    def warned(*args: Any, **kwargs: Any) -> Any:
        warnings.warn(f"{fn.__name__} is experimental: it may change or go.", UserWarning, stacklevel=2)
        return fn(*args, **kwargs)

    return warned


def add_start_docstrings(*docstr: str) -> Callable[[Any], Any]:
    """Makes a decorator that puts text before the docstring."""

    def decorate(fn: Any) -> Any:
        fn.__doc__ = "".join(docstr) + "\n\n" + (fn.__doc__ or "")
        return fn

    return decorate


def add_end_docstrings(*docstr: str) -> Callable[[Any], Any]:
    """Makes a decorator that puts text after the docstring."""

    def decorate(fn: Any) -> Any:
        fn.__doc__ = (fn.__doc__ or "") + "\n\n" + "".join(docstr)
        return fn

    return decorate


class tracked_str(str):  # noqa: N801, SLOT000  # its name in `datasets`; pickles need its dict
    """Text that knows where it came from.

    Example:
        >>> path = tracked_str("/cache/0a1b")
        >>> path.set_origin("https://example.org/a.csv")
        >>> path, path.get_origin()
        (/cache/0a1b (origin=https://example.org/a.csv), 'https://example.org/a.csv')
    """

    origins: ClassVar[dict[str, str]] = {}

    def set_origin(self, origin: str) -> None:
        """Notes where it came from; for a text already noted, the first origin stays."""
        self.origins.setdefault(super().__repr__(), origin)

    def get_origin(self) -> str:
        """Gives where it came from, or the text itself."""
        return self.origins.get(super().__repr__(), str(self))

    def __repr__(self) -> str:
        origin = self.get_origin()
        return super().__repr__() if origin == str(self) else f"{self!s} (origin={origin})"


class Extractor:
    """What is packed how, and what unpacks it; a class to derive from for formats of one's own.

    Attributes:
        extractors: Name of a format -> its class, which has `is_extractable` and `extract`.
    """

    extractors: ClassVar[dict[str, Any]] = {}
    kind: ClassVar[str | None] = None

    @classmethod
    def is_extractable(cls, path: str, *_: Any, **__: Any) -> bool:
        """Says whether a file is packed in this format; for the class itself, in any."""
        found = cls.infer_extractor_format(path)
        return found is not None if cls.kind is None else found == cls.kind

    @classmethod
    def infer_extractor_format(cls, path: str) -> str | None:
        """Gives the name of the format that the content of a file has, None if it is not packed."""
        if not Path(path).is_file():
            return None
        archive = detect_archive(Path(path))
        if archive is not None:
            return archive
        with Path(path).open("rb") as file:
            return detect_compression(file.read(HEAD_BYTES))

    @classmethod
    def extract(cls, input_path: str, output_path: str, extractor_format: str | None = None) -> None:
        """Unpacks a file.

        Args:
            input_path: The file.
            output_path: A folder for an archive, a file for a compressed file.
            extractor_format: Its format; found by its content if left out.

        Raises:
            FileFormatError: It is not packed in that format.
            DataError: It is damaged, grows out of all proportion, or names in it leave the folder.
        """
        found, wanted = Extractor.infer_extractor_format(input_path), extractor_format or cls.kind
        if found is None or wanted not in (None, found):
            raise FileFormatError(f"{input_path} is not packed{'' if wanted is None else f' as {wanted}'}.")
        source, target = Path(input_path), Path(output_path)
        with writing(target):
            target.parent.mkdir(parents=True, exist_ok=True)
        if detect_archive(source) is not None:
            extract_archive(source, target)
        else:
            with open_decompressed(source)[0] as stream, atomic_file(target) as out:
                shutil.copyfileobj(stream, out)


def _extractor(kind: str, name: str) -> type[Extractor]:
    made = type(
        f"{name}Extractor",
        (Extractor,),
        {"__doc__": f"Unpacks {kind}.", "__module__": __name__, "kind": kind},
    )
    Extractor.extractors[kind] = made
    return made


TarExtractor = _extractor("tar", "Tar")
ZipExtractor = _extractor("zip", "Zip")
SevenZipExtractor = _extractor("7z", "SevenZip")
GzipExtractor = _extractor("gzip", "Gzip")
Bzip2Extractor = _extractor("bz2", "Bzip2")
XzExtractor = _extractor("xz", "Xz")
ZstdExtractor = _extractor("zstd", "Zstd")
Lz4Extractor = _extractor("lz4", "Lz4")


class ParallelBackendConfig:
    """What `parallel_backend` has set."""

    backend_name: str | None = None


@contextlib.contextmanager
def parallel_backend(backend_name: str) -> Iterator[None]:
    """Names a backend of joblib for the length of a ``with`` block; Gristmill works with its own processes.

    Args:
        backend_name: Kept in `ParallelBackendConfig`; ``"spark"`` is refused.

    Raises:
        InvalidArgumentError: The backend sends work to other machines.
    """
    if backend_name == "spark":
        raise InvalidArgumentError.from_value("backend_name", backend_name, "a backend on this machine")
    before = ParallelBackendConfig.backend_name
    ParallelBackendConfig.backend_name = backend_name
    try:
        yield
    finally:
        ParallelBackendConfig.backend_name = before


class Pickler(cloudpickle.Pickler):  # type: ignore[misc]  # cloudpickle has no types
    """A pickler that takes functions and classes along by value, as that of dill does.

    Args:
        file: A binary file.
        *args: As for `pickle.Pickler`: the protocol.
        **kwds: Options of dill's (``recurse``, ``byref`` ...), which cloudpickle does not need.
    """

    def __init__(self, file: Any, *args: Any, **kwds: Any) -> None:
        super().__init__(file, *args[:1])


def dump(obj: Any, file: Any) -> None:
    """Pickles into a file."""
    Pickler(file).dump(obj)


def dumps(obj: Any) -> bytes:
    """Pickles to bytes.

    Example:
        >>> import pickle
        >>> pickle.loads(dumps(lambda: 3))()
        3
    """
    made: bytes = cloudpickle.dumps(obj)
    return made


def table_iter(table: Any, batch_size: int, drop_last_batch: bool = False) -> Iterator[Any]:
    """Cuts a table into tables of so many rows.

    Args:
        table: Of `gristmill.table` or of pyarrow.
        batch_size: Rows a table.
        drop_last_batch: Leave out a last one that is smaller.

    Raises:
        InvalidArgumentError: `batch_size` is below 1.

    Example:
        >>> from gristmill import Dataset
        >>> [part.num_rows for part in table_iter(Dataset.from_dict({"a": [1, 2, 3]}).data, 2)]
        [2, 1]
    """
    size = whole_number("batch_size", batch_size, 1)
    stop = table.num_rows - table.num_rows % size if drop_last_batch else table.num_rows
    for first in range(0, stop, size):
        yield table.slice(first, min(size, stop - first))
