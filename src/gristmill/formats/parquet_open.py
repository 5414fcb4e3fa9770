"""Parquet files opened: with the options of a scan, and with errors that name the file."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from gristmill.errors import FileFormatError, InvalidArgumentError
from gristmill.files.borders import reading
from gristmill.files.packed_names import other_content
from gristmill.formats.source import SourceFile

__all__ = ["arrow_schema", "opened", "scan_arguments", "source_of", "translated"]


def source_of(file: SourceFile) -> Any:
    """Opens the bytes of a file, to be read at any place by any number of threads.

    Args:
        file: The file.

    Raises:
        OSError: It can't be opened; `translated` makes it one of ours.
    """
    return pa.OSFile(str(file.path), "rb")


@contextlib.contextmanager
def opened(file: SourceFile, scan_options: Any = None, source: Any = None) -> Iterator[pq.ParquetFile]:
    """Opens a Parquet file; whatever pyarrow raises inside the block names the file.

    Args:
        file: The file; its footer is not read again where it is known.
        scan_options: See `scan_arguments`.
        source: Its bytes, if they are open already, see `source_of`.

    Raises:
        FileFormatError: It is no Parquet file, or damaged.
        FileMissingError: It does not exist.
    """
    arguments = scan_arguments(scan_options)
    # Only what needs no key is known before.
    footer = file.footer if scan_options is None else None
    where = file.path if source is None else source
    with translated(file), pq.ParquetFile(where, metadata=footer, **arguments) as parquet:
        yield parquet


def scan_arguments(options: Any) -> dict[str, Any]:
    """Gives the arguments of `pyarrow.parquet.ParquetFile` that scan options mean.

    Args:
        options: A `pyarrow.dataset.ParquetFragmentScanOptions`. None reads column chunks through small buffers, so that
            memory does not follow the size of row groups, and checks page checksums where a file has them.

    Raises:
        InvalidArgumentError: It is something else.

    Example:
        >>> scan_arguments(None)["page_checksum_verification"]
        True
    """
    if options is None:
        return {"buffer_size": 1 << 20, "pre_buffer": False, "page_checksum_verification": True}
    import pyarrow.dataset as ds

    if not isinstance(options, ds.ParquetFragmentScanOptions):
        raise InvalidArgumentError.from_value(
            "fragment_scan_options", options, "a pyarrow.dataset.ParquetFragmentScanOptions"
        )
    arguments = {name: getattr(options, name) for name in _SCAN_ARGUMENTS if hasattr(options, name)}
    if not options.use_buffered_stream:
        del arguments["buffer_size"]
    return arguments


_SCAN_ARGUMENTS = (
    "buffer_size", "pre_buffer", "page_checksum_verification", "thrift_string_size_limit",
    "thrift_container_size_limit", "decryption_properties",
)  # fmt: skip


@contextlib.contextmanager
def translated(file: SourceFile) -> Iterator[None]:
    """Makes what pyarrow raises inside the block an error that names the file.

    Args:
        file: The file that is read.

    Raises:
        FileFormatError: Its content is not what Parquet says; or it is another format, which is named.
        FileMissingError: It does not exist.
    """
    try:
        with reading(file.name, "Parquet"):
            try:
                yield
            except pa.ArrowInvalid as error:
                if "magic bytes not found" in str(error) and file.path.is_file():
                    raise other_content(file.path, file.name, "Parquet", b"PAR1") from error
                raise
            except UnicodeDecodeError as error:
                raise FileFormatError.at(
                    "a name in the footer is not UTF-8; the file is damaged", file=file.name
                ) from error
    except (OverflowError, KeyError, IndexError, RecursionError) as error:
        raise FileFormatError.at(f"can't be read as Parquet ({error})", file=file.name) from error


def arrow_schema(parquet: pq.ParquetFile, file: SourceFile) -> pa.Schema:
    """Gives the columns of an open file.

    Args:
        parquet: The open file.
        file: What it is, for the error.

    Raises:
        FileFormatError: Two columns have one name.
    """
    schema = parquet.schema_arrow
    names = schema.names
    if len(set(names)) != len(names):
        twice = next(name for name in names if names.count(name) > 1)
        raise FileFormatError.at("two columns have this name", file=file.name, column=twice)
    return schema
