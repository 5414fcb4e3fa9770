"""`Features`: the columns of a dataset by name, as a dict that knows its Arrow schema."""

from __future__ import annotations

import copy
import json
from collections.abc import Iterable, Mapping
from typing import Any

import pyarrow as pa

from gristmill.arguments import whole_number
from gristmill.errors import ColumnNotFoundError, InvalidArgumentError
from gristmill.features.convert import check_name, from_arrow_field, normalise, to_arrow_type
from gristmill.features.encode import decode_value, encode_value
from gristmill.features.kinds import ClassLabel, FeatureType, LargeList, List, Value
from gristmill.features.serialize import (
    UnknownKindError,
    from_plain,
    from_yaml_list,
    to_plain,
    to_yaml_list,
)
from gristmill.features.storage import warn_once
from gristmill.logging import get_logger

__all__ = ["Features", "metadata_features", "schema_metadata"]

_log = get_logger(__name__)
_KEY = b"huggingface"


class Features(dict[str, FeatureType]):
    """Column names and the feature of each.

    A dict with the order of the columns; ``[x]`` is short for ``List(x)`` and a dict of features is a struct.

    Raises:
        InvalidArgumentError: A value is no feature.

    Example:
        >>> from gristmill.features import ClassLabel, Value
        >>> features = Features({"text": Value("string"), "label": ClassLabel(names=["neg", "pos"])})
        >>> features.type
        StructType(struct<text: string, label: int64>)
    """

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__()
        self.update(*args, **kwargs)

    def __setitem__(self, column: str, feature: FeatureType) -> None:
        super().__setitem__(check_name(column), normalise(feature, column))

    def update(self, *args: Any, **kwargs: Any) -> None:
        """Sets several columns, as `dict.update` does."""
        try:
            given = dict(*args, **kwargs)
        except (TypeError, ValueError) as error:
            raise InvalidArgumentError.from_value(
                "features", args[0] if args else kwargs, "Features, or a dict of features by column"
            ) from error
        for column, feature in given.items():
            self[column] = feature

    def setdefault(self, column: str, default: FeatureType = None) -> FeatureType:
        """Gives the feature of a column, after setting it to `default` if there is none."""
        if column not in self:
            self[column] = default
        return self[column]

    def __reduce__(self) -> Any:
        return (Features, (dict(self),))

    @property
    def type(self) -> pa.DataType:
        """All columns as one Arrow struct type."""
        return to_arrow_type(self)

    @property
    def arrow_schema(self) -> pa.Schema:
        """The Arrow schema, with the features in its ``huggingface`` metadata so that a file keeps them."""
        return pa.schema(list(self.type)).with_metadata(schema_metadata(self))

    @classmethod
    def from_arrow_schema(cls, pa_schema: pa.Schema) -> Features:
        """Makes features for the columns of an Arrow schema.

        Args:
            pa_schema: The schema. Where its ``huggingface`` metadata describes a column and fits the column's type,
                it says more (the names of classes); any other column is described by its type.

        Raises:
            CastError: A column has a type that no feature describes.

        Example:
            >>> import pyarrow as pa
            >>> Features.from_arrow_schema(pa.schema({"a": pa.int8()}))
            {'a': Value('int8')}
        """
        named = metadata_features(pa_schema)
        features = cls()
        for column in pa_schema:
            feature = named.get(column.name)
            if feature is None or to_arrow_type(feature) != column.type:
                feature = from_arrow_field(column)
            features[column.name] = feature
        return features

    @classmethod
    def from_dict(cls, dic: Mapping[str, Any]) -> Features:
        """Makes features from plain dicts, as `to_dict` gives them and ``dataset_info.json`` holds them.

        Args:
            dic: Column name to a dict with a ``_type``.

        Raises:
            InvalidArgumentError: An entry describes no feature.

        Example:
            >>> Features.from_dict({"a": {"dtype": "int8", "_type": "Value"}})
            {'a': Value('int8')}
        """
        if not isinstance(dic, Mapping):
            raise InvalidArgumentError.from_value("features", dic, "a dict of column names")
        return cls({name: from_plain(plain) for name, plain in dic.items()})

    def to_dict(self) -> dict[str, Any]:
        """Gives the features as plain dicts that JSON can hold."""
        return to_plain(self)

    def _to_yaml_list(self) -> list[dict[str, Any]]:
        return to_yaml_list(self)

    @classmethod
    def _from_yaml_list(cls, yaml_data: list[Any]) -> Features:
        return cls(from_yaml_list(yaml_data))

    def encode_example(self, example: Mapping[str, Any]) -> dict[str, Any]:
        """Turns one row of Python values into values that Arrow can store.

        Args:
            example: Values by column; a missing column counts as None.

        Raises:
            CastError: A value does not fit its feature; the message names the column.
        """
        encoded: dict[str, Any] = encode_value(self, example)
        return encoded

    def encode_column(self, column: list[Any], column_name: str) -> list[Any]:
        """Encodes the values of one column, see `encode_example`."""
        feature = self._of(column_name)
        return [encode_value(feature, value, column_name) for value in _values(column_name, column)]

    def encode_batch(self, batch: Mapping[str, list[Any]]) -> dict[str, list[Any]]:
        """Encodes columns of values, see `encode_example`.

        Raises:
            ColumnNotFoundError: `batch` has other columns than these features.
        """
        batch = _columns("batch", batch)
        for name in self:
            if name not in batch:
                raise ColumnNotFoundError.from_name(name, batch)
        return {name: self.encode_column(column, name) for name, column in batch.items()}

    def decode_example(
        self, example: Mapping[str, Any], token_per_repo_id: Mapping[str, Any] | None = None
    ) -> dict[str, Any]:
        """Turns one stored row into what the user sees.

        Args:
            example: Stored values by column; not all columns need to be there.
            token_per_repo_id: Tokens for media files in private repositories.
        """
        return {
            name: decode_value(self._of(name), value) for name, value in _columns("example", example).items()
        }

    def decode_column(
        self, column: list[Any], column_name: str, token_per_repo_id: Mapping[str, Any] | None = None
    ) -> list[Any]:
        """Decodes the stored values of one column, see `decode_example`."""
        feature = self._of(column_name)
        return [decode_value(feature, value) for value in _values(column_name, column)]

    def decode_batch(
        self, batch: Mapping[str, list[Any]], token_per_repo_id: Mapping[str, Any] | None = None
    ) -> dict[str, list[Any]]:
        """Decodes columns of stored values, see `decode_example`."""
        return {name: self.decode_column(column, name) for name, column in _columns("batch", batch).items()}

    def copy(self) -> Features:
        """Makes an independent copy.

        Example:
            >>> from gristmill.features import Value
            >>> features = Features({"a": Value("int8")})
            >>> features.copy() == features, features.copy()["a"] is features["a"]
            (True, False)
        """
        made = Features()
        # Not by `update`, which would check again what was checked before.
        dict.update(made, {name: _copied(feature) for name, feature in self.items()})
        return made

    def reorder_fields_as(self, other: Features) -> Features:
        """Gives the same features in the order that `other` has them, at every level.

        Args:
            other: Features with the same columns and struct fields.

        Raises:
            InvalidArgumentError: The two do not have the same fields.

        Example:
            >>> from gristmill.features import Value
            >>> a, b = Value("int8"), Value("string")
            >>> Features({"b": b, "a": a}).reorder_fields_as(Features({"a": a, "b": b}))
            {'a': Value('int8'), 'b': Value('string')}
        """
        return Features(_reorder(self, other, ""))

    def flatten(self, max_depth: int = 16) -> Features:
        """Gives each field of a struct a column of its own, named ``struct.field``.

        Args:
            max_depth: How many levels of structs are taken apart.

        Example:
            >>> from gristmill.features import Value
            >>> Features({"a": {"b": Value("int8")}}).flatten()
            {'a.b': Value('int8')}
        """
        features = self.copy()
        for _ in range(whole_number("max_depth", max_depth)):
            if not any(_fields(feature) for feature in features.values()):
                break
            features = _flatten_once(features)
        return features

    def _of(self, name: str) -> FeatureType:
        if name not in self:
            raise ColumnNotFoundError.from_name(name, self)
        return self[name]


def _copied(feature: FeatureType) -> FeatureType:
    """Copies a feature; `copy.deepcopy` takes ten times as long, and each load makes a copy."""
    kind: Any = type(feature)
    if kind is dict:
        return {name: _copied(inner) for name, inner in feature.items()}
    if kind not in (Value, ClassLabel, List, LargeList):
        return copy.deepcopy(feature)
    made = kind.__new__(kind)
    facts = vars(made)
    facts.update(vars(feature))
    if kind is ClassLabel:
        facts["names"], facts["_ids"] = list(feature.names), dict(feature._ids)
    elif kind is not Value:
        facts["feature"] = _copied(feature.feature)
    return made


def _columns(name: str, value: Any) -> Mapping[str, Any]:
    if not isinstance(value, Mapping):
        raise InvalidArgumentError.from_value(name, value, "a dict of values by column")
    return value


def _values(name: str, column: Any) -> Iterable[Any]:
    if isinstance(column, str | bytes | Mapping) or not isinstance(column, Iterable):
        raise InvalidArgumentError.from_value(f'column "{name}"', column, "a list with one value a row")
    return column


def _flatten_once(features: Features) -> Features:
    flat = Features()
    for name, feature in features.items():
        fields = _fields(feature)
        if fields is None:
            flat[name] = feature
        else:
            flat.update({f"{name}.{inner}": value for inner, value in fields.items()})
    return flat


def _fields(feature: FeatureType) -> Mapping[str, FeatureType] | None:
    """Gives the fields that a feature is taken apart into; None if it stays whole."""
    if not isinstance(feature, Mapping) and hasattr(feature, "flatten"):
        feature = feature.flatten()
    return feature if isinstance(feature, Mapping) else None


def _reorder(mine: FeatureType, other: FeatureType, where: str) -> FeatureType:
    if isinstance(mine, Mapping) and isinstance(other, Mapping):
        if set(mine) != set(other):
            odd = sorted(set(mine) ^ set(other))
            raise InvalidArgumentError(
                f"The fields{where and f' of {where}'} differ: {', '.join(odd)} are only on one side."
            )
        return {name: _reorder(mine[name], other[name], f"{where}.{name}".lstrip(".")) for name in other}
    if isinstance(mine, List) and isinstance(other, List):
        return List(_reorder(mine.feature, other.feature, where), length=mine.length, id=mine.id)
    if isinstance(mine, LargeList) and isinstance(other, LargeList):
        return LargeList(_reorder(mine.feature, other.feature, where), id=mine.id)
    if isinstance(mine, Mapping | List | LargeList) or isinstance(other, Mapping | List | LargeList):
        raise InvalidArgumentError(f"The features{where and f' of {where}'} are not nested alike.")
    return mine


def metadata_features(schema: pa.Schema) -> dict[str, FeatureType]:
    """Reads the features that a schema's ``huggingface`` metadata names, as far as they can be read.

    Args:
        schema: Any Arrow schema, also one from a file that nobody checked.

    Returns:
        Feature by column; columns whose entry is damaged or of an unknown kind are left out, with a warning.
    """
    text = (schema.metadata or {}).get(_KEY)
    if text is None:
        return {}
    try:
        plain = json.loads(text)["info"]["features"]
        items = list((plain or {}).items())
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        _log.warning("the schema's huggingface metadata can't be read and is not used: %s", error)
        return {}
    found = {name: _read_entry(name, entry) for name, entry in items}
    return {name: feature for name, feature in found.items() if feature is not None}


def _read_entry(column: str, entry: Any) -> FeatureType | None:
    try:
        return normalise(from_plain(entry), column)
    except UnknownKindError as error:
        warn_once(error.kind)
    except (InvalidArgumentError, RecursionError) as error:
        _log.warning('the metadata of column "%s" can\'t be read and is not used: %s', column, error)
    return None


def schema_metadata(features: Features) -> dict[bytes, bytes]:
    """Gives the schema metadata that lets a file keep its features."""
    return {_KEY: json.dumps({"info": {"features": features.to_dict()}}).encode()}
