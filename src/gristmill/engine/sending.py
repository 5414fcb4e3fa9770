"""Functions sent to other processes keep the names of the files they are written in, so that tracebacks show them."""

from __future__ import annotations

import io
import linecache
from collections import ChainMap
from collections.abc import Callable
from pathlib import Path
from types import CodeType, FunctionType
from typing import Any, ClassVar

import cloudpickle


def dumps(value: object, modules: set[str] | None = None) -> bytes:
    """Pickles a value with the functions in it, wherever they are defined.

    Args:
        value: Anything cloudpickle can send.
        modules: Is given the names of the modules that its classes and functions are of.

    Returns:
        What `pickle.loads` reads.

    Raises:
        Exception: Whatever the value's own reduction raises if it can't be sent.

    Example:
        >>> import pickle
        >>> pickle.loads(dumps(lambda x: x + 1))(2)
        3
    """
    with io.BytesIO() as file:
        pickler = _Pickler(file)
        pickler.dump(value)
        if modules is not None:
            modules |= pickler.modules
        return file.getvalue()


def _reduce_code(code: CodeType) -> tuple[Any, ...]:
    make, arguments = cloudpickle.Pickler.dispatch_table[CodeType](code)
    # The other process reads the lines of a file itself. Those of a notebook or a prompt are only known here.
    lines = None if Path(code.co_filename).exists() else linecache.getlines(code.co_filename)
    return _make_code, (make, arguments, code.co_filename, lines)


def _make_code(
    make: Callable[..., CodeType], arguments: tuple[Any, ...], filename: str, lines: list[str] | None
) -> CodeType:
    if lines:
        linecache.cache[filename] = (sum(map(len, lines)), None, lines, filename)
    return make(*arguments).replace(co_filename=filename)


class _Pickler(cloudpickle.Pickler):  # type: ignore[misc]  # cloudpickle has no types
    dispatch_table: ClassVar[Any] = ChainMap({CodeType: _reduce_code}, cloudpickle.Pickler.dispatch_table)

    def __init__(self, file: io.BytesIO) -> None:
        super().__init__(file)
        self.modules: set[str] = set()

    def reducer_override(self, obj: object) -> Any:
        """Notes where classes and functions are from; they are pickled as ever."""
        if isinstance(obj, type | FunctionType) and isinstance(obj.__module__, str):
            self.modules.add(obj.__module__)
        return super().reducer_override(obj)
