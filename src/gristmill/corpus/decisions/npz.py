"""Token ids from ``.npz`` files: 2-D uint16 arrays, read with every size checked before memory is taken."""

from __future__ import annotations

import zipfile
import zlib
from pathlib import Path
from typing import IO, Any

import numpy as np
from numpy.typing import NDArray

from gristmill.errors import FileFormatError

LARGEST_ARRAY = 2 << 30
"""Bytes of one array beyond which a file is refused."""


def read_token_ids(path: Path, name: str, where: str) -> NDArray[np.uint16]:
    """Reads one 2-D uint16 array of an ``.npz`` file.

    Nothing in the file is executed (no pickles), and an array is only read if its header and its place in the archive
    agree on its size.

    Args:
        path: The local file.
        name: The array's name.
        where: What to call the file in errors.

    Returns:
        An array of shape (rows, tokens).

    Raises:
        FileFormatError: The file is damaged, has no such array, or the array has another shape or type.
    """
    try:
        with zipfile.ZipFile(path) as archive:
            member = f"{name}.npy"
            if member not in archive.namelist():
                names = ", ".join(archive.namelist()[:10])
                raise FileFormatError.at(f"there is no array {name!r}; there are: {names}", file=where)
            size = archive.getinfo(member).file_size
            with archive.open(member) as stream:
                return _read_array(stream, size, name, where)
    except (zipfile.BadZipFile, zlib.error, EOFError, ValueError, NotImplementedError, RuntimeError) as error:
        if isinstance(error, FileFormatError):
            raise
        raise FileFormatError.at(f"it is not a whole npz file ({error})", file=where) from error
    except OSError as error:
        raise FileFormatError.at(f"it can't be read ({error})", file=where) from error


def _read_array(stream: IO[bytes], size: int, name: str, where: str) -> NDArray[np.uint16]:
    shape, fortran, dtype = _read_header(stream, name, where)
    little = np.dtype("<u2")
    if len(shape) != 2 or dtype != little or fortran:
        found = f"{'x'.join(map(str, shape)) or 'a single'} {dtype}{' in Fortran order' if fortran else ''}"
        raise FileFormatError.at(f"the array {name!r} is not two-dimensional uint16 but {found}", file=where)
    wanted = shape[0] * shape[1] * 2
    if wanted != size - stream.tell() or wanted > LARGEST_ARRAY:
        raise FileFormatError.at(
            f"the array {name!r} says it has {wanted:,} bytes, the archive has {size - stream.tell():,}; "
            f"at most {LARGEST_ARRAY:,} are read",
            file=where,
        )
    data = stream.read(wanted)
    if len(data) != wanted:
        raise FileFormatError.at(f"the array {name!r} breaks off", file=where)
    return np.frombuffer(data, dtype=little).reshape(shape)


def _read_header(stream: IO[bytes], name: str, where: str) -> tuple[tuple[int, ...], bool, np.dtype[Any]]:
    try:
        if np.lib.format.read_magic(stream) == (1, 0):
            shape, fortran, dtype = np.lib.format.read_array_header_1_0(stream)
        else:
            shape, fortran, dtype = np.lib.format.read_array_header_2_0(stream)
        # A shape may hold booleans, which count as numbers everywhere but in `reshape`.
        return tuple(map(int, shape)), fortran, dtype
    except (zipfile.BadZipFile, zlib.error, EOFError, OSError):
        raise
    except (
        Exception
    ) as error:  # numpy parses the header as Python text, and lets out all that may go wrong there
        problem = (
            f"the header of the array {name!r} can't be read ({type(error).__name__}: {str(error)[:80]})"
        )
        raise FileFormatError.at(problem, file=where) from error
