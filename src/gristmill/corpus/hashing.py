"""The hash behind duplicates, splits and draws: fast, the same on every machine, in every process, for good."""

from __future__ import annotations

import json

import xxhash

# One encoder for all: `json.dumps` makes a new one a call when it is given separators.
_encode = json.JSONEncoder(separators=(",", ":")).encode


def hash64(data: bytes | str, seed: int = 0) -> int:
    """Hashes bytes or text to 64 bits with XXH64.

    Everything in a corpus that looks random (which group goes to validation, which distractors are drawn) comes from
    this, never from Python's own `hash` or from the order in which rows arrive.

    Args:
        data: Bytes, or text that is encoded as UTF-8.
        seed: A number that gives another, unrelated hash function; taken modulo 2**64.

    Returns:
        An integer from 0 to 2**64 - 1.

    Example:
        >>> f"{hash64('boolq/1'):016x}"
        'dc0e26c7f22fb9d7'
    """
    raw = data.encode("utf-8", "surrogatepass") if isinstance(data, str) else data
    return int(xxhash.xxh64_intdigest(raw, seed % 2**64))


def hash_values(*values: object, seed: int = 0) -> int:
    """Hashes plain values together, so that no two different lists of values share their bytes.

    Args:
        *values: Text, numbers, None, or lists of these.
        seed: As for `hash64`.

    Example:
        >>> hash_values("a", "bc") == hash_values("ab", "c")
        False
    """
    return hash64(_encode(values), seed)


def short_hash(text: str) -> str:
    """Names a text by its hash, for example a passage that groups the questions about it.

    Example:
        >>> short_hash("a passage") == short_hash("a passage"), len(short_hash("a passage"))
        (True, 16)
    """
    return f"{hash64(text):016x}"
