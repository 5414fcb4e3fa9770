"""The formats by name: what `set_format` accepts, and what makes rows and batches of each."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Protocol

import pyarrow as pa

from gristmill.errors import InvalidArgumentError
from gristmill.formatting.as_numpy import NumpyFormatter
from gristmill.formatting.as_polars import PolarsFormatter
from gristmill.formatting.as_tables import ArrowFormatter, PandasFormatter
from gristmill.formatting.python_rows import PythonFormatter


class Formatter(Protocol):
    """What turns Arrow data into what the user sees."""

    def column(self, name: str, values: pa.ChunkedArray) -> Any:
        """Converts one column."""

    def batch(self, table: pa.Table) -> Any:
        """Converts some rows at once."""

    def rows(self, table: pa.Table) -> list[Any]:
        """Converts some rows one by one."""


Maker = Callable[..., Formatter]
"""Makes a formatter of the features of each column and the options of the format."""


def _torch(features: Mapping[str, Any], **options: Any) -> Formatter:
    from gristmill.formatting.as_tensors import TensorFormatter
    from gristmill.formatting.as_torch import Torch

    return TensorFormatter(features, Torch(**options))


def _jax(features: Mapping[str, Any], **options: Any) -> Formatter:
    from gristmill.formatting.as_jax import Jax
    from gristmill.formatting.as_tensors import TensorFormatter

    return TensorFormatter(features, Jax(**options))


def _tensorflow(features: Mapping[str, Any], **options: Any) -> Formatter:
    from gristmill.formatting.as_tensorflow import TensorFlow
    from gristmill.formatting.as_tensors import TensorFormatter

    return TensorFormatter(features, TensorFlow(**options))


# The name we use (None: Python values) -> what makes its formatter. The rows of a transform are Python values first.
_MAKERS: dict[str | None, Maker] = {
    None: lambda features, **_: PythonFormatter(features),
    "custom": lambda features, **_: PythonFormatter(features),
    "arrow": lambda features, **_: ArrowFormatter(features),
    "numpy": NumpyFormatter,
    "pandas": lambda features, **_: PandasFormatter(features),
    "polars": lambda _features, **_: PolarsFormatter(),
    "torch": _torch,
    "jax": _jax,
    "tensorflow": _tensorflow,
}

# Every documented spelling, and the one name we use for it.
_ALIASES: dict[str | None, str | None] = {
    **{name: name for name in _MAKERS},
    "python": None,
    "pa": "arrow",
    "pyarrow": "arrow",
    "np": "numpy",
    "pd": "pandas",
    "pl": "polars",
    "pt": "torch",
    "pytorch": "torch",
    "tf": "tensorflow",
}

FRAMES = frozenset({"arrow", "pandas", "polars"})
"""Formats whose batches are one object, to which no column of another kind can be added."""


def format_name(type: str | None) -> str | None:
    """Gives the one name of a format.

    Args:
        type: Any spelling.

    Raises:
        InvalidArgumentError: There is no such format; lists those that exist.

    Example:
        >>> format_name("pt")
        'torch'
    """
    named: object = type
    if not isinstance(named, str | None) or named not in _ALIASES:
        # One name a format: with their other spellings the list would be too long to be shown.
        raise InvalidArgumentError.from_choice("type", str(type), ["python", *filter(None, _MAKERS)])
    return _ALIASES[type]


def register(name: str | None, make: Maker, aliases: list[str] | None = None) -> None:
    """Adds a format, or replaces one.

    Args:
        name: Its name.
        make: Takes the features of each column, and the options given to `set_format` by keyword.
        aliases: Other names.

    Example:
        >>> register("shout", lambda features: PythonFormatter(features), ["loud"])
        >>> format_name("loud")
        'shout'
    """
    _MAKERS[name] = make
    _ALIASES.update(dict.fromkeys([name, *(aliases or [])], name))


def make_formatter(type: str | None, options: Mapping[str, Any], features: Mapping[str, Any]) -> Formatter:
    """Makes the formatter of a format.

    Args:
        type: The one name of the format, see `format_name`.
        options: Given to `set_format` by keyword.
        features: The feature of each column.

    Raises:
        MissingDependencyError: The format's library is not installed.
        InvalidArgumentError: The format has no such option.
    """
    make = _MAKERS[type]
    try:
        return make(features, **options)
    except TypeError as error:
        if "unexpected keyword argument" not in str(error):
            raise
        option = str(error).rpartition(" argument ")[2]
        raise InvalidArgumentError(f'The format "{type}" has no option {option}.') from error
