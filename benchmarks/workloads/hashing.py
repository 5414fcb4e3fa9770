"""Fingerprints of functions that hold much."""

import importlib
from typing import Any

from case import Case, workload


@workload
def hash_array(case: Case) -> Any:
    """A function that closes over 100 MB, five times."""
    import numpy as np

    hasher = importlib.import_module(f"{case.side}.fingerprint").Hasher
    array = np.arange(case.count(12_500_000), dtype=np.float64)

    def function(row: Any) -> Any:
        return {"x": array[row["id"]]}

    with case.timed():
        answers = {hasher.hash(function) for _ in range(5)}
    return len(answers)


@hash_array.limited
def _(case: Case) -> Any:
    import numpy as np
    import xxhash

    array = np.arange(case.count(12_500_000), dtype=np.float64)
    with case.timed():
        answers = {xxhash.xxh3_128_hexdigest(array) for _ in range(5)}
    return len(answers)


@workload
def hash_vocab(case: Case) -> Any:
    hasher = importlib.import_module(f"{case.side}.fingerprint").Hasher
    vocabulary = {f"token{i}": i for i in range(case.count(200_000))}

    def function(row: Any) -> Any:
        return {"x": vocabulary[row["text"]]}

    with case.timed():
        answers = {hasher.hash(function) for _ in range(2)}
    return len(answers)
