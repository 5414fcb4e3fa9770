"""Single values as what a feature stores, without a loss: numbers, truth, and text that can be written."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

__all__ = ["exact_bool", "exact_float", "exact_int", "is_text"]


def exact_int(value: Any) -> int:
    """Gives a value as an integer.

    Raises:
        TypeError, ValueError, OverflowError: It is no number, or would lose its fraction.

    Example:
        >>> exact_int("3"), exact_int(3.0)
        (3, 3)
    """
    number = int(value)
    if not isinstance(value, str) and number != value:
        raise ValueError("it has a fraction")
    return number


def exact_float(value: Any, bits: int) -> float:
    """Gives a value as a float of so many bits.

    Raises:
        TypeError, ValueError, OverflowError: It is no number, an integer that no float is equal to, or too large.

    Example:
        >>> exact_float(2, 32)
        2.0
    """
    number = float(value)
    if isinstance(value, int) and number != value:
        raise ValueError("no float is equal to it")
    if bits < 64 and math.isfinite(number):
        with np.errstate(over="ignore"):
            if np.isinf(np.array(number).astype(f"f{bits // 8}")):
                raise OverflowError("it would become infinite")
    return number


def exact_bool(value: Any) -> bool:
    """Gives a value that is equal to True or False as that.

    Raises:
        ValueError: It is equal to neither.

    Example:
        >>> exact_bool(1.0)
        True
    """
    truth = bool(value)
    if truth != value:
        raise ValueError("it is neither 0 nor 1")
    return truth


def is_text(name: Any) -> bool:
    """Says whether something is text that can be written: no half of a surrogate pair in it."""
    return isinstance(name, str) and (
        name.isascii() or not any("\ud800" <= character <= "\udfff" for character in name)
    )
