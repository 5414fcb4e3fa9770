"""Frameworks that are too large for everybody's environment: their tests say 'not installed', unless all are asked for."""

import importlib
import os
import sys
import warnings

import pytest

# Set by `./dev test --all`: nothing may be left out, but what has no build for this Python.
ALL = bool(os.environ.get("GRISTMILL_TEST_ALL"))
NO_BUILD = {"tensorflow": sys.version_info >= (3, 14) or sys.platform != "linux"}


def framework(name):
    """Imports a framework, or skips the test."""
    os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
    os.environ.setdefault("JAX_PLATFORMS", "cpu")
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # its own affair
            return importlib.import_module(name)
    except ModuleNotFoundError:
        if ALL and not NO_BUILD.get(name):
            raise
        pytest.skip(f"{name} is not installed")
