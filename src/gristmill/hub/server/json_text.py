"""JSON as clients send it: only what can be written down again, as JSON and in UTF-8."""

from __future__ import annotations

import json
import re
from typing import Any, NoReturn

_HALF = re.compile(rb"\\u[dD][89abAB]|\\u[dD][c-fC-F]")


def parse_json(data: bytes) -> Any:
    r"""Reads JSON of a request.

    Python's own reader also takes halves of characters (``"\ud800"``), NaN and infinity, which then can't be told to
    anybody, nor kept in a file.

    Args:
        data: The text, in UTF-8.

    Raises:
        ValueError: It is no JSON, or holds such a text or number.
        RecursionError: It is nested too deeply.

    Example:
        >>> parse_json(b'{"title": "\\ud83d\\ude00"}')
        {'title': '😀'}
        >>> parse_json(b'"\\ud83d"')
        Traceback (most recent call last):
        ...
        UnicodeEncodeError: 'utf-8' codec can't encode character '\ud83d' in position 1: surrogates not allowed
    """
    value = json.loads(data.decode(), parse_constant=_refuse, parse_float=_number)
    if _HALF.search(data):
        json.dumps(value, ensure_ascii=False).encode()
    return value


def _refuse(name: str) -> NoReturn:
    raise ValueError(f"{name} is no number of JSON")


def _number(text: str) -> float:
    number = float(text)
    if number in (float("inf"), float("-inf")):
        raise ValueError(f"the number {text[:40]} is too large")
    return number
