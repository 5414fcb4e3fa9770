"""Names that other libraries use to fingerprint transforms of their own, and what they read and set."""

import functools
from pathlib import Path

import numpy as np
import pytest

import gristmill.fingerprint as fp
from gristmill import Dataset


def cut(dataset, start, stop=None, *, seed=None, generator=None, table=None, new_fingerprint=None, **more):
    return dataset


def test_arguments_by_name_without_the_dataset_and_defaults():
    call = fp.format_kwargs_for_fingerprint
    assert call(cut, ("ds", 3), {}) == {"start": 3}
    assert call(cut, (), {"dataset": "ds", "start": 3, "stop": 4}) == {"start": 3, "stop": 4}
    assert call(cut, ("ds", 3, None), {"seed": None, "other": 1}) == {"start": 3, "other": 1}
    assert call(cut, ("ds", 3, 4), {"seed": 5}, use_kwargs=["stop", "seed"], ignore_kwargs=["seed"]) == {
        "stop": 4
    }
    array = np.arange(3)
    found = call(cut, ("ds", 3), {"table": array})
    assert found["table"] is array


def test_false_is_not_the_default_zero():
    def f(dataset, n=0):
        return dataset

    assert fp.format_kwargs_for_fingerprint(f, ("ds",), {"n": False}) == {"n": False}
    assert fp.format_kwargs_for_fingerprint(f, ("ds",), {"n": 0}) == {}


def test_numpys_state_counts_where_it_decides():
    def name(**kwargs):
        given = fp.format_kwargs_for_fingerprint(cut, ("ds", 3), kwargs, randomized_function=True)
        return fp.update_fingerprint("start", "cut", given)

    np.random.seed(0)
    first = name()
    assert name() == first
    np.random.seed(1)
    assert name() != first
    assert name(seed=1) == name(seed=1) != name(seed=2)


def test_transforms_are_named_by_module_and_version():
    assert fp.format_transform_for_fingerprint(cut) == f"{cut.__module__}.cut"
    assert fp.format_transform_for_fingerprint(Dataset.map, "1.0") == "gristmill.dataset.core.Dataset.map@1.0"


def test_a_transform_of_another_library():
    """The pattern that libraries write around their own methods."""

    def transform(function):
        name = fp.format_transform_for_fingerprint(function)

        @functools.wraps(function)
        def wrapper(*args, **kwargs):
            given = fp.format_kwargs_for_fingerprint(function, args, kwargs)
            kwargs["new_fingerprint"] = fp.update_fingerprint(args[0]._fingerprint, name, given)
            return function(*args, **kwargs)

        return wrapper

    @transform
    def first(dataset, n, new_fingerprint=None):
        return dataset.select(range(n), new_fingerprint=new_fingerprint)

    ds = Dataset.from_dict({"a": [1, 2, 3]})
    assert first(ds, 2)._fingerprint == first(ds, n=2)._fingerprint != first(ds, 1)._fingerprint


def test_the_switch_is_read_and_set_as_an_attribute(monkeypatch):
    assert fp._CACHING_ENABLED
    fp.disable_caching()
    try:
        assert not vars(fp)["_CACHING_ENABLED"]
    finally:
        fp.enable_caching()
    monkeypatch.setattr(fp, "_CACHING_ENABLED", False)
    assert not fp.is_caching_enabled()


def test_the_temporary_folder_as_an_attribute(monkeypatch):
    monkeypatch.setattr(fp, "_TEMP_DIR_FOR_TEMP_CACHE_FILES", None)
    first = fp.get_temporary_cache_files_directory()
    held = fp._TEMP_DIR_FOR_TEMP_CACHE_FILES
    assert held is not None
    assert held.name == first
    held._cleanup()
    assert not Path(first).exists()
    assert fp.get_temporary_cache_files_directory() == first
    assert Path(first).is_dir()
    monkeypatch.setattr(fp, "_TEMP_DIR_FOR_TEMP_CACHE_FILES", None)
    assert fp.get_temporary_cache_files_directory() != first


def test_classes_may_say_how_they_are_hashed(monkeypatch):
    class Model:
        def __init__(self, path):
            self.path, self.loaded = path, object()

    monkeypatch.setitem(fp.Hasher.dispatch, Model, lambda hasher, value: hasher.hash(value.path))
    model = Model("a")
    before = fp.Hasher.hash(model)
    model.loaded = [1]
    assert fp.Hasher.hash(model) == before != fp.Hasher.hash(Model("b"))
    assert fp.Hasher.hash([model]) == fp.Hasher.hash([Model("a")])
    assert fp.Hasher.hash(lambda: model) != fp.Hasher.hash(lambda: Model("b"))


def test_what_was_warned_of_can_be_warned_of_again(caplog):
    class Odd:
        def __reduce_ex__(self, protocol):
            raise TypeError("no")

    name = f"an object of class {Odd.__qualname__}"
    fp.Hasher.hash(Odd())
    fp.Hasher.hash(Odd())
    assert fp.fingerprint_warnings[name]
    assert len(caplog.records) == 1
    del fp.fingerprint_warnings[name]
    fp.Hasher.hash(Odd())
    assert len(caplog.records) == 2
    del fp.fingerprint_warnings[name]
    with pytest.raises(KeyError):
        fp.fingerprint_warnings[name]
