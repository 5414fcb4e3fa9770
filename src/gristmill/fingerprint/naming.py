"""The names of results: fingerprints, and what goes into them."""

from __future__ import annotations

import inspect
import secrets
from collections.abc import Callable, Mapping
from typing import Any

from gristmill.errors import InvalidArgumentError
from gristmill.fingerprint.hashing import Hasher

_LONGEST = 64


def generate_random_fingerprint(nbits: int = 64) -> str:
    """Makes a fingerprint that equals no other.

    Args:
        nbits: Its length in bits; one hexadecimal digit holds four.

    Example:
        >>> len(generate_random_fingerprint())
        16
    """
    return f"{secrets.randbits(nbits):0{nbits // 4}x}"


def validate_fingerprint(fingerprint: object, max_length: int = _LONGEST) -> None:
    """Refuses a fingerprint that could not be part of a file name.

    Args:
        fingerprint: What the user gave.
        max_length: Longest one accepted, in characters.

    Raises:
        InvalidArgumentError: It is empty, too long, or has a character that file names can't hold.
    """
    if not isinstance(fingerprint, str) or not fingerprint:
        raise InvalidArgumentError.from_value("fingerprint", fingerprint, "a non-empty string")
    if any(character in '<>:/\\|?*"\0' for character in fingerprint) or fingerprint.startswith("."):
        raise InvalidArgumentError.from_value(
            "fingerprint", fingerprint, 'a name without any of <>:/\\|?*" (it becomes part of a file name)'
        )
    if len(fingerprint) > max_length:
        raise InvalidArgumentError.from_value(
            "fingerprint", fingerprint, f"at most {max_length} characters (it becomes part of a file name)"
        )


def combine(previous: str, transform_name: str, args: object) -> str:
    """Names the result of one transform: the same data, transform and arguments give the same name.

    Args:
        previous: Fingerprint of what the transform starts from.
        transform_name: For example ``"map"``.
        args: Whatever else decides the result.

    Returns:
        16 hexadecimal digits.

    Example:
        >>> combine("a", "select", [1]) == combine("a", "select", [1]) != combine("a", "select", [2])
        True
    """
    return Hasher.hash((previous, transform_name, args))


def update_fingerprint(fingerprint: str, transform: object, transform_args: Mapping[str, Any]) -> str:
    """Names the result of a transform given as a function with its arguments by name.

    Args:
        fingerprint: Fingerprint of what the transform starts from.
        transform: The function, or its name.
        transform_args: Its arguments.
    """
    return Hasher.hash((fingerprint, transform, sorted(transform_args.items())))


def format_transform_for_fingerprint(func: Callable[..., Any], version: str | None = None) -> str:
    """Names a transform for `update_fingerprint`.

    Args:
        func: The function or method.
        version: Its version; a new one gives its results new names.

    Example:
        >>> format_transform_for_fingerprint(len, "2.0.0")
        'builtins.len@2.0.0'
    """
    name = f"{func.__module__}.{func.__qualname__}"
    return name if version is None else f"{name}@{version}"


def format_kwargs_for_fingerprint(
    func: Callable[..., Any],
    args: tuple[Any, ...],
    kwargs: Mapping[str, Any],
    use_kwargs: list[str] | None = None,
    ignore_kwargs: list[str] | None = None,
    randomized_function: bool = False,
) -> dict[str, Any]:
    """Collects by name what decides the result of a transform, for `update_fingerprint`.

    Args:
        func: A function whose first parameter is the dataset.
        args: The positional arguments of a call, the dataset among them.
        kwargs: Its other arguments.
        use_kwargs: Only these count, if given.
        ignore_kwargs: These don't.
        randomized_function: It has parameters ``seed`` and ``generator``; if both are None, numpy's global state
            decides, and so counts.

    Returns:
        The arguments but the dataset, those that are what they are by default left out.

    Example:
        >>> def cut(dataset, start, stop=None): ...
        >>> format_kwargs_for_fingerprint(cut, ("the dataset", 3), {"stop": None})
        {'start': 3}
    """
    parameters = inspect.signature(func).parameters
    names = list(parameters)
    given = {**kwargs, **dict(zip(names, args, strict=False))}
    given.pop(names[0], None)
    if use_kwargs:
        given = {name: value for name, value in given.items() if name in use_kwargs}
    given = {name: value for name, value in given.items() if name not in (ignore_kwargs or ())}
    if randomized_function and given.get("seed") is None and given.get("generator") is None:
        given["generator"] = _state_of_numpy()
    return {
        name: value
        for name, value in given.items()
        if name not in parameters or not _is_default(value, parameters[name].default)
    }


def _is_default(value: Any, default: Any) -> bool:
    if default is inspect.Parameter.empty:
        return False
    if value is default:
        return True
    try:
        return type(value) is type(default) and bool(value == default)
    except Exception:  # noqa: BLE001  # arrays and their like have no one answer
        return False


def _state_of_numpy() -> Any:
    import numpy as np

    state: Any = np.random.get_state()
    keys, position = state[1], state[2]
    return np.random.default_rng(keys[position] if position < len(keys) else keys[0])
