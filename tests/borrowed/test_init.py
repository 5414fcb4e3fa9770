"""Functions that other libraries borrow."""

import numpy as np
import pytest

from gristmill import DatasetInfo, Features, SplitInfo, Value, borrowed, config
from gristmill.borrowed import asdict, copyfunc, map_nested, temp_seed, zip_dict
from gristmill.errors import InvalidArgumentError


def test_asdict():
    found = asdict([SplitInfo("a", 1, 2)][0])
    assert (found["name"], found["num_examples"]) == ("a", 2)
    assert asdict({"x": [SplitInfo("a")], "y": (1, "z")})["x"][0]["name"] == "a"
    assert asdict(DatasetInfo(features=Features({"a": Value("int8")})))["features"]["a"]["dtype"] == "int8"
    with pytest.raises(InvalidArgumentError):
        asdict(None)


def test_copyfunc():
    def add(a, *, b=1):
        return a + b

    copied = copyfunc(add)
    copied.mark = True
    assert (copied(1), copied(1, b=5), hasattr(add, "mark")) == (2, 6, False)


def test_map_nested():
    nested = {"a": [1, [2]], "b": (3, 4)}
    assert map_nested(str, nested) == {"a": ["1", ["2"]], "b": "(3, 4)"}
    assert map_nested(str, nested, map_tuple=True, num_proc=2) == {"a": ["1", ["2"]], "b": ("3", "4")}
    assert map_nested(len, {"a": [1, 2]}, dict_only=True) == {"a": 2}
    assert map_nested(str, 5) == "5"
    assert map_nested(len, [[1]], map_list=False) == 1
    assert map_nested(int, np.array([1.5, 2.5]), map_numpy=True) == [1, 2]
    with pytest.raises(InvalidArgumentError):
        map_nested(str, [1], batched=True)


def test_temp_seed_puts_the_generator_back():
    np.random.seed(7)  # the global generator is what it is about
    before = str(np.random.get_state())
    with temp_seed(3):
        inside = np.random.random()  # as above
    assert str(np.random.get_state()) == before
    with temp_seed(3):
        assert np.random.random() == inside  # as above
    with pytest.raises(InvalidArgumentError), temp_seed(1, set_tensorflow=True):
        pass


def test_zip_dict():
    assert list(zip_dict({"a": 1, "b": 2}, {"b": 3, "a": 4})) == [("a", (1, 4)), ("b", (2, 3))]
    with pytest.raises(KeyError):
        list(zip_dict({"a": 1}, {}))


def test_what_goes_along_with_requests():
    with config.override(HF_ENDPOINT="https://hub.example"):
        headers = borrowed.get_authentication_headers_for_url
        assert headers("https://hub.example/api", "secret") == {"authorization": "Bearer secret"}
        assert headers("https://hub.example.evil/api", "secret") == {}
        assert headers("https://hub.example/api", False) == {}
        url = borrowed.hf_dataset_url("org/data", "a b.csv", "v1")
        assert url == "https://hub.example/datasets/org/data/resolve/v1/a%20b.csv"
    assert borrowed.get_datasets_user_agent({"a": 1}).endswith("; a/1")
