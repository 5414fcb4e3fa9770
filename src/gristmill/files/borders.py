"""Foreign errors stop here: pyarrow's and the operating system's become `gristmill.errors`, with their cause kept."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator

from gristmill.errors import (
    DataError,
    FileError,
    FileFormatError,
    FileMissingError,
    GristmillError,
)


@contextlib.contextmanager
def reading(path: object, format: str) -> Iterator[None]:
    """Turns what goes wrong while a data file is read into an error that names the file and its format.

    Args:
        path: The file, for the message.
        format: What the file should be, for example ``"Parquet"``.

    Raises:
        FileMissingError: The file does not exist.
        FileFormatError: The content is not what `format` says (pyarrow's errors, bad text encodings).
        FileError: The operating system could not read it.
    """
    import pyarrow as pa

    try:
        yield
    except GristmillError:
        raise
    except FileNotFoundError as error:
        raise FileMissingError.from_path(path) from error
    except UnicodeDecodeError as error:
        raise FileFormatError.at(
            f"not valid {error.encoding} text at byte {error.start} ({error.reason})",
            file=path,
            remedy="Pass encoding= with the encoding the file was written in, or encoding_errors=.",
        ) from error
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError, pa.ArrowTypeError, pa.ArrowIndexError) as error:
        raise FileFormatError.at(f"can't be read as {format}: {_first_line(error)}", file=path) from error
    except pa.ArrowMemoryError as error:
        raise DataError.at(f"needs more memory than there is: {_first_line(error)}", file=path) from error
    except OSError as error:
        # pyarrow reports damaged content as a bare OSError without an errno; the system's own errors have one.
        if error.errno is None:
            raise FileFormatError.at(f"can't be read as {format}: {_first_line(error)}", file=path) from error
        raise FileError.from_os_error("read", path, error) from error


@contextlib.contextmanager
def writing(path: object) -> Iterator[None]:
    """Turns what goes wrong while a file is written into an error that names the file.

    Args:
        path: The file, for the message.

    Raises:
        DiskFullError: There is no room left.
        FileError: The operating system could not write it.
    """
    try:
        yield
    except GristmillError:
        raise
    except OSError as error:
        raise FileError.from_os_error("write", path, error) from error


def _first_line(error: Exception) -> str:
    text = str(error).strip()
    return text.splitlines()[0] if text else type(error).__name__
