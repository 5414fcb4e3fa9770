"""Settings, read once from the documented environment variables; assign to a name here to change one at run time.

Everything that reads a setting looks it up here when it needs it, so that an assignment takes effect. Names are those
of `datasets.config`; what is Gristmill's own begins with ``GRISTMILL_``.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from gristmill.errors import InvalidArgumentError

_TRUE = {"1", "ON", "YES", "TRUE"}
_FALSE = {"0", "OFF", "NO", "FALSE", ""}


def _flag(name: str, default: bool | None = False) -> bool | None:
    value = os.environ.get(name)
    if value is None:
        return default
    if value.strip().upper() in _TRUE:
        return True
    if value.strip().upper() in _FALSE:
        return False
    # A typo in a switch must not silently mean "off".
    raise InvalidArgumentError.from_value(name, value, "1, ON, YES, TRUE, 0, OFF, NO or FALSE")


def _path(name: str, default: str | Path) -> Path:
    value = os.environ.get(name)
    try:
        return Path(os.path.expandvars(value or default)).expanduser()
    except RuntimeError as error:
        # Containers run programs as users that no password file knows.
        expected = "a folder whose ~ is a home folder that the system knows; name it in full"
        raise InvalidArgumentError.from_value(name, str(value or default), expected) from error


def _number(name: str, default: str = "0", what: str = "a number of bytes") -> int:
    value = os.environ.get(name) or default
    try:
        return int(float(value))
    except (ValueError, OverflowError) as error:
        raise InvalidArgumentError.from_value(name, value, what) from error


DEFAULT_HF_ENDPOINT = "https://huggingface.co"
HF_ENDPOINT: str = os.environ.get("HF_ENDPOINT", "").rstrip("/") or DEFAULT_HF_ENDPOINT

HF_CACHE_HOME: Path = _path("HF_HOME", Path(os.environ.get("XDG_CACHE_HOME") or "~/.cache") / "huggingface")
HF_HUB_CACHE: Path = _path("HF_HUB_CACHE", _path("HUGGINGFACE_HUB_CACHE", HF_CACHE_HOME / "hub"))
HF_DATASETS_CACHE: Path = _path("HF_DATASETS_CACHE", HF_CACHE_HOME / "datasets")
HF_MODULES_CACHE: Path = _path("HF_MODULES_CACHE", HF_CACHE_HOME / "modules")
DOWNLOADED_DATASETS_DIR = "downloads"
EXTRACTED_DATASETS_DIR = "extracted"
DEFAULT_DOWNLOADED_DATASETS_PATH: Path = HF_DATASETS_CACHE / DOWNLOADED_DATASETS_DIR
DEFAULT_EXTRACTED_DATASETS_PATH: Path = DEFAULT_DOWNLOADED_DATASETS_PATH / EXTRACTED_DATASETS_DIR
DOWNLOADED_DATASETS_PATH: Path = _path(
    "HF_DATASETS_DOWNLOADED_DATASETS_PATH", DEFAULT_DOWNLOADED_DATASETS_PATH
)
EXTRACTED_DATASETS_PATH: Path = _path(
    "HF_DATASETS_EXTRACTED_DATASETS_PATH", DOWNLOADED_DATASETS_PATH / EXTRACTED_DATASETS_DIR
)

HF_HUB_OFFLINE: bool = bool(_flag("HF_HUB_OFFLINE") or _flag("TRANSFORMERS_OFFLINE"))
HF_DATASETS_OFFLINE: bool = bool(_flag("HF_DATASETS_OFFLINE", HF_HUB_OFFLINE))

IN_MEMORY_MAX_SIZE: int = _number("HF_DATASETS_IN_MEMORY_MAX_SIZE")
DEFAULT_MAX_BATCH_SIZE = 1000
MAX_SHARD_SIZE = "500MB"

DATASET_ARROW_FILENAME = "dataset.arrow"
DATASET_INDICES_FILENAME = "indices.arrow"
DATASET_STATE_JSON_FILENAME = "state.json"
DATASET_INFO_FILENAME = "dataset_info.json"
DATASETDICT_INFOS_FILENAME = "dataset_infos.json"
DATASETDICT_JSON_FILENAME = "dataset_dict.json"
REPOCARD_FILENAME = "README.md"
REPOYAML_FILENAME = ".huggingface.yaml"

GRISTMILL_TIMEOUT: float = 600.0
"""Seconds without progress after which a request is given up (one attempt of several)."""

GRISTMILL_MAX_COMPRESSION_RATIO: int = _number("GRISTMILL_MAX_COMPRESSION_RATIO", "1000", "a number")
"""A compressed file or archive that grows to more than this many times its size (and beyond 256 MB) is refused."""

GRISTMILL_MAX_EXTRACTED_BYTES: int = _number("GRISTMILL_MAX_EXTRACTED_BYTES", "1e12")
"""Bytes that one archive may extract to."""

GRISTMILL_MAX_ARCHIVE_MEMBERS: int = _number("GRISTMILL_MAX_ARCHIVE_MEMBERS", "1e7", "a number")
"""Members that one archive may have."""

GRISTMILL_READ_AHEAD: int = _number("GRISTMILL_READ_AHEAD", "64e6")
"""Bytes of a remote file that are fetched before they are asked for, about; 0 fetches nothing ahead."""

GRISTMILL_GITHUB_RAW: str = os.environ.get("GRISTMILL_GITHUB_RAW", "").rstrip("/")
"""Base URL for files that live in GitHub repositories; empty means: the Hub's own /github mirror if the
endpoint is not huggingface.co and has the file, else https://raw.githubusercontent.com."""


@contextlib.contextmanager
def override(**settings: object) -> Iterator[None]:
    """Sets names of this module for the length of a ``with`` block.

    Args:
        **settings: Names of this module and the values they take inside the block.

    Raises:
        InvalidArgumentError: A name is not a setting.

    Example:
        >>> from gristmill import config
        >>> with config.override(HF_ENDPOINT="http://127.0.0.1:9"):
        ...     config.HF_ENDPOINT
        'http://127.0.0.1:9'
    """
    names = globals()
    for name in settings:
        if name not in names or not name.isupper():
            raise InvalidArgumentError.from_choice(
                "setting", name, [n for n in names if n.isupper() and n[0] != "_"]
            )
    before = {name: names[name] for name in settings}
    names.update(settings)
    try:
        yield
    finally:
        names.update(before)


# name in `datasets` -> (module, package)
_LIBRARIES = {
    "PYARROW": ("pyarrow", "pyarrow"),
    "PANDAS": ("pandas", "pandas"),
    "POLARS": ("polars", "polars"),
    "TORCH": ("torch", "torch"),
    "TF": ("tensorflow", "tensorflow"),
    "JAX": ("jax", "jax"),
    "HF_HUB": ("huggingface_hub", "huggingface_hub"),
    "FSSPEC": ("fsspec", "fsspec"),
    "SQLALCHEMY": ("sqlalchemy", "sqlalchemy"),
    "PY7ZR": ("py7zr", "py7zr"),
    "PIL": ("PIL", "pillow"),
    "TORCHCODEC": ("torchcodec", "torchcodec"),
    "TORCHVISION": ("torchvision", "torchvision"),
}


def __getattr__(name: str) -> Any:
    """Gives the names by which code asks what is installed: ``PY_VERSION``, ``TORCH_AVAILABLE``, ``HF_HUB_VERSION`` ..."""
    library, _, question = name.rpartition("_")
    if question not in ("VERSION", "AVAILABLE") or library not in ("PY", *_LIBRARIES):
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    module, package = _LIBRARIES.get(library, ("", ""))
    there = library == "PY" or find_spec(module) is not None
    if question == "AVAILABLE":
        return there
    if not there:
        return "N/A"
    # Not at the top: every program would wait for them.
    import importlib.metadata
    import platform

    from packaging.version import Version

    return Version(platform.python_version() if library == "PY" else importlib.metadata.version(package))
