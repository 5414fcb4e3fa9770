import subprocess
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gristmill.corpus.hashing import hash64, hash_values, short_hash


@pytest.mark.parametrize(
    ("data", "seed", "expected"),
    [(b"", 0, 0xEF46DB3751D8E999), (b"a", 0, 0xD24EC4F1A98C6E5B), (b"abc", 0, 0x44BC2CF5AD770999)],
)
def test_it_is_xxh64(data, seed, expected):
    """The published values of XXH64: the algorithm is part of the format, splits depend on it."""
    assert hash64(data, seed) == expected
    assert hash64(data.decode(), seed) == expected


@given(st.lists(st.text()), st.lists(st.text()))
def test_lists_of_texts_share_a_hash_only_when_equal(a, b):
    assert (hash_values(*a) == hash_values(*b)) == (a == b)


def test_the_seed_changes_everything():
    assert hash64("a", 1) != hash64("a", 2)
    assert hash64("a", -1) == hash64("a", 2**64 - 1)


def test_another_hash_seed_of_python_changes_nothing():
    code = "from gristmill.corpus.hashing import short_hash; print(short_hash('passage'))"
    outputs = {
        subprocess.run(
            [sys.executable, "-c", code],
            env={"PYTHONHASHSEED": seed},
            capture_output=True,
            text=True,
            check=True,
        ).stdout.strip()
        for seed in ("1", "2")
    }
    assert outputs == {short_hash("passage")}
