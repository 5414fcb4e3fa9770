"""`Json`: a column whose rows hold values of any type, each stored as JSON text.

The Arrow type is Arrow's own ``arrow.json`` extension over text, so that other programs read the column as JSON.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np
import pyarrow as pa
import pyarrow.types as pt

from gristmill.errors import CastError, shorten
from gristmill.features.cast import Misfit, cast_to, plain_array
from gristmill.features.convert import feature_of_type, to_arrow_type
from gristmill.features.encode import decoded_values, needs_encoding
from gristmill.features.infer import JSON
from gristmill.features.serialize import register_kind, to_plain, with_id
from gristmill.features.value_types import stands_for_none

__all__ = ["Json", "json_texts"]


@dataclass(repr=False)
class Json:
    """A column of values of any type: numbers, text, lists, dicts with keys of their own.

    Values come out as they went in: a key that a dict lacks stays absent, integers of any size are exact, and text
    stays text. Only what JSON has can be stored; tuples and arrays become lists, and keys of dicts text.

    Args:
        decode: Give the values; False gives the JSON text that is stored.
        id: A name of your own; kept, not interpreted.

    Example:
        >>> from gristmill import Dataset, Features
        >>> mixed = Dataset.from_dict({"v": [1, "a", {"k": [None]}]}, features=Features({"v": Json()}))
        >>> mixed["v"][:]
        [1, 'a', {'k': [None]}]
    """

    decode: bool = True
    id: str | None = field(default=None, repr=False)
    pa_type: ClassVar[Any] = JSON
    _type: ClassVar[str] = "Json"

    def __call__(self) -> pa.DataType:
        """Gives the Arrow type of the column."""
        return self.pa_type

    def __repr__(self) -> str:
        return "Json()" if self.decode else "Json(decode=False)"

    def encode_example(self, example_data: Any) -> str | None:
        """Turns a value into the JSON text that is stored.

        Args:
            example_data: A value that JSON has; None stays None.

        Raises:
            CastError: JSON has no such value, for example a date or bytes.

        Example:
            >>> Json().encode_example({"a": [1, None]})
            '{"a":[1,null]}'
        """
        if example_data is None or stands_for_none(type(example_data)):
            return None
        try:
            text = _encode(example_data)
        except (TypeError, ValueError, RecursionError) as error:
            raise CastError.at(f"{shorten(example_data)} can't be stored as JSON ({error})") from error
        try:
            text.encode()
        except UnicodeEncodeError:  # half a surrogate pair: not text, but JSON can say it
            return json.dumps(json.loads(text), separators=(",", ":"))
        return text

    def decode_example(self, example_data: Any, token_per_repo_id: Any = None) -> Any:  # documented
        """Turns stored JSON text into the value.

        Args:
            example_data: The text; None stays None.
            token_per_repo_id: Not used.

        Raises:
            CastError: The text is no JSON, which only a file made elsewhere can hold.

        Example:
            >>> Json().decode_example("[1, 12345678901234567890123]")
            [1, 12345678901234567890123]
        """
        if example_data is None:
            return None
        try:
            return json.loads(example_data)
        except (ValueError, TypeError, RecursionError) as error:
            raise CastError.at(f"{shorten(example_data)} is no JSON text ({error})") from error

    def cast_storage(self, storage: pa.Array) -> pa.Array:
        """Brings a column to this type.

        Text is taken as JSON if every value is JSON, and as plain text otherwise; values of any other type become
        their JSON text.

        Args:
            storage: A column of any type.

        Raises:
            CastError: JSON has no such value.
        """
        array = plain_array(storage)
        if pt.is_null(array.type):
            return pa.nulls(len(array), JSON)
        if pt.is_string(array.type) or pt.is_large_string(array.type) or pt.is_string_view(array.type):
            texts = array.to_pylist()
            if all(text is None or _is_json(text) for text in texts):
                return pa.ExtensionArray.from_storage(JSON, array.cast(pa.string()))
        return pa.ExtensionArray.from_storage(JSON, pa.array(json_texts(storage), pa.string()))


def json_texts(array: pa.Array) -> list[str | None]:
    """Gives each value of a column as JSON text; text is a value like any other.

    Args:
        array: A column of any type; JSON inside it stays what it says.

    Raises:
        CastError: JSON has no such value.
    """
    return list(map(Json().encode_example, decoded_values(array)))


def _plain(value: Any) -> Any:
    if stands_for_none(type(value)):
        return None
    if isinstance(value, np.generic):
        return value.item()
    if isinstance(value, Mapping):
        return dict(value)
    if hasattr(value, "__array__"):
        return np.asarray(value).tolist()
    raise TypeError(f"JSON has no {type(value).__name__}")


_encode = json.JSONEncoder(ensure_ascii=False, separators=(",", ":"), default=_plain).encode


def _is_json(text: str) -> bool:
    try:
        json.loads(text)
    except (ValueError, RecursionError):
        return False
    return True


@to_arrow_type.register
def _(feature: Json) -> pa.DataType:
    return feature.pa_type


@needs_encoding.register
def _(feature: Json) -> bool:
    return True


@feature_of_type.register
def _(type_: pa.JsonType) -> Json:
    return Json()


@cast_to.register
def _(feature: Json, array: Any) -> Any:
    if array.type == JSON:
        return array
    try:
        return feature.cast_storage(array)
    except CastError as error:
        index = next((i for i in range(len(array)) if not _takes(feature, array.slice(i, 1))), None)
        raise Misfit(index, str(error)) from error


def _takes(feature: Json, array: Any) -> bool:
    try:
        feature.cast_storage(array)
    except CastError:
        return False
    return True


@to_plain.register
def _(feature: Json) -> dict[str, Any]:
    return with_id({} if feature.decode else {"decode": False}, feature)


register_kind("Json", lambda entries: Json(decode=entries.get("decode", True), id=entries.get("id")))
