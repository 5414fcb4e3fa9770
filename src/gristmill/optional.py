"""Libraries that only some features need: imported on first use, or refused with the command that installs them."""

from __future__ import annotations

import importlib
import importlib.util
from types import ModuleType

from gristmill.errors import MissingDependencyError

# package as imported -> (name on PyPI, extra of gristmill that brings it)
_PACKAGES = {
    "pandas": ("pandas", "pandas"),
    "polars": ("polars", "polars"),
    "torch": ("torch", "torch"),
    "jax": ("jax", "jax"),
    "tensorflow": ("tensorflow", "tensorflow"),
    "starlette": ("starlette", "server"),
    "uvicorn": ("uvicorn", "server"),
    "tokenizers": ("tokenizers", "tokenizers"),
    "faiss": ("faiss-cpu", "faiss"),
    "elasticsearch": ("elasticsearch", "elasticsearch"),
    "sqlalchemy": ("sqlalchemy", "sql"),
    "py7zr": ("py7zr", "archives"),
}


def require(module: str, feature: str, extra: str | None = None) -> ModuleType:
    """Imports an optional library, or says how to get it.

    Args:
        module: Dotted name to import, for example ``"uvicorn"``.
        feature: What needs it, as the subject of a sentence: ``"`gristmill hub serve`"``.
        extra: The extra to name, where another one than the library's own brings all that the feature needs.

    Returns:
        The imported module.

    Raises:
        MissingDependencyError: The library is not installed.

    Example:
        >>> require("json", "This example").dumps([1])
        '[1]'
    """
    package = module.partition(".")[0]
    try:
        return importlib.import_module(module)
    except ModuleNotFoundError as error:
        # A library that is there and itself lacks something is another fault; its own message says more.
        if error.name is None or error.name.partition(".")[0] != package:
            raise
        name, own = _PACKAGES.get(package, (package, None))
        raise MissingDependencyError.from_feature(feature, name, extra or own) from error


def installed(module: str) -> bool:
    """Says whether a library could be imported, without importing it.

    Example:
        >>> installed("json")
        True
    """
    return importlib.util.find_spec(module) is not None
