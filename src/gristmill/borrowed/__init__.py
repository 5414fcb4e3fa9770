"""Small functions that libraries built on `datasets` borrow from it; Gristmill itself uses none of them."""

from __future__ import annotations

import contextlib
import dataclasses
import functools
import types
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import numpy as np

from gristmill import config
from gristmill.download.nested import map_leaves
from gristmill.errors import InvalidArgumentError
from gristmill.files.http import user_agent as own_user_agent
from gristmill.hub.auth import find_token
from gristmill.hub.urls import resolve_url

__all__ = [
    "asdict",
    "copyfunc",
    "get_authentication_headers_for_url",
    "get_datasets_user_agent",
    "hf_dataset_url",
    "map_nested",
    "temp_seed",
    "zip_dict",
]


def asdict(obj: Any) -> Any:
    """Turns dataclasses, also inside lists and dicts, into dicts; what is None in a field without a need is kept.

    Args:
        obj: A dataclass or a dict.

    Raises:
        InvalidArgumentError: It is neither.

    Example:
        >>> from gristmill import SplitInfo
        >>> asdict({"a": SplitInfo("x", 1, 2)})["a"]["num_examples"]
        2
    """
    if not isinstance(obj, Mapping) and not dataclasses.is_dataclass(obj):
        raise InvalidArgumentError.from_value("obj", obj, "a dataclass or a dict")
    return _plain(obj)


def _plain(value: Any) -> Any:
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return {field.name: _plain(getattr(value, field.name)) for field in dataclasses.fields(value)}
    if isinstance(value, Mapping):
        return {key: _plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return type(value)(_plain(item) for item in value)
    return value


def copyfunc(func: Any) -> Any:
    """Makes a copy of a function, whose attributes can be changed without changing those of the original.

    Example:
        >>> def f():
        ...     return 1
        >>> g = copyfunc(f)
        >>> g(), g is f
        (1, False)
    """
    made = types.FunctionType(
        func.__code__, func.__globals__, func.__name__, func.__defaults__, func.__closure__
    )
    made.__kwdefaults__ = func.__kwdefaults__
    return functools.update_wrapper(made, func)


def map_nested(
    function: Callable[[Any], Any],
    data_struct: Any,
    dict_only: bool = False,
    map_list: bool = True,
    map_tuple: bool = False,
    map_numpy: bool = False,
    num_proc: int | None = None,
    parallel_min_length: int = 2,
    batched: bool = False,
    batch_size: int | None = 1000,
    types: Any = None,
    disable_tqdm: bool = True,
    desc: str | None = None,
) -> Any:
    """Applies a function to what is in dicts, and in lists and tuples if asked for, and gives the same shape.

    Args:
        function: Given one leaf; one array of numpy, if those are not gone into.
        data_struct: The leaves.
        dict_only: Go into dicts only.
        map_list: Go into lists.
        map_tuple: Go into tuples.
        map_numpy: Go into arrays.
        num_proc: Calls at a time, in threads.
        parallel_min_length: From how many leaves on there is more than one.
        batched: Not used: the function is given one leaf at a time.
        batch_size: Not used.
        types: Not used: follows from the arguments above.
        disable_tqdm: Not used: no bar is shown.
        desc: Not used.

    Raises:
        InvalidArgumentError: `batched` is asked for.

    Example:
        >>> map_nested(str, {"a": [1, 2], "b": (3,)})
        {'a': ['1', '2'], 'b': '(3,)'}
    """
    if batched:
        raise InvalidArgumentError.from_value(
            "batched", batched, "False: the function is given one leaf at a time"
        )
    kinds: tuple[type, ...] = (dict,)
    if not dict_only:
        kinds += (list,) * map_list + (tuple,) * map_tuple + (np.ndarray,) * map_numpy
    wrapped = _wrap(data_struct, kinds)
    return map_leaves(lambda leaf: function(leaf[0]), wrapped, max(1, num_proc or 1))


class _Leaf:
    """One value that is not gone into, whatever it is."""

    def __init__(self, value: Any) -> None:
        self._value = value

    def __getitem__(self, _: int) -> Any:
        return self._value


def _wrap(value: Any, kinds: tuple[type, ...]) -> Any:
    if not isinstance(value, kinds):
        return _Leaf(value)
    if isinstance(value, Mapping):
        return {key: _wrap(item, kinds) for key, item in value.items()}
    items = [_wrap(item, kinds) for item in value]  # type: ignore[attr-defined]  # the other kinds are sequences
    return tuple(items) if isinstance(value, tuple) else items


@contextlib.contextmanager
def temp_seed(seed: int, set_pytorch: bool = False, set_tensorflow: bool = False) -> Iterator[None]:
    """Seeds numpy's global generator, and puts it back where it was at the end.

    Args:
        seed: The seed.
        set_pytorch: Seed torch as well.
        set_tensorflow: Not supported.

    Raises:
        InvalidArgumentError: `set_tensorflow` is asked for.

    Example:
        >>> with temp_seed(1):
        ...     first = np.random.random()
        >>> with temp_seed(1):
        ...     print(np.random.random() == first)
        True
    """
    if set_tensorflow:
        raise InvalidArgumentError.from_value("set_tensorflow", True, "False")
    with contextlib.ExitStack() as stack:
        stack.callback(np.random.set_state, np.random.get_state())
        np.random.seed(seed)
        if set_pytorch:
            from gristmill.optional import require

            torch: Any = require("torch", "temp_seed(set_pytorch=True)")
            stack.callback(torch.random.set_rng_state, torch.random.get_rng_state())
            torch.manual_seed(seed)
        yield


def zip_dict(*dicts: Mapping[Any, Any]) -> Iterator[tuple[Any, tuple[Any, ...]]]:
    """Yields each key with its values in several dicts that all have it.

    Raises:
        KeyError: A dict lacks a key.

    Example:
        >>> list(zip_dict({"a": 1}, {"a": 2}))
        [('a', (1, 2))]
    """
    for key in dict.fromkeys(key for one in dicts for key in one):
        yield key, tuple(one[key] for one in dicts)


def get_datasets_user_agent(user_agent: str | Mapping[str, Any] | None = None) -> str:
    """Gives what Gristmill calls itself in requests, with what a caller adds.

    Example:
        >>> get_datasets_user_agent("mine/1").endswith("; mine/1")
        True
    """
    more = user_agent
    if isinstance(more, Mapping):
        more = "; ".join(f"{key}/{value}" for key, value in more.items())
    return f"{own_user_agent()}; {more}" if more else own_user_agent()


def get_authentication_headers_for_url(url: str, token: str | bool | None = None) -> dict[str, str]:
    """Gives the headers that go along with a request: the token, if the URL is of the Hub.

    Example:
        >>> get_authentication_headers_for_url("https://example.org/a", "secret")
        {}
    """
    if not url.startswith(config.HF_ENDPOINT + "/"):
        return {}
    found = find_token(None if token is True else token)
    return {} if found is None else {"authorization": f"Bearer {found}"}


def _url_of_dataset(repo_id: str, path: str, revision: str | None = None) -> str:
    """Gives the address of a file of a dataset on the Hub.

    Example:
        >>> _url_of_dataset("org/data", "a b.csv").endswith("/datasets/org/data/resolve/main/a%20b.csv")
        True
    """
    return resolve_url(config.HF_ENDPOINT, repo_id, revision or "main", path, "dataset")


hf_dataset_url = functools.partial(_url_of_dataset)  # as in `datasets`, where code looks at its arguments
