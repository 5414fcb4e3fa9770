"""The columns of a split, settled over all its files before a row is written: declared ones first, then what is found.

Three kinds of declared columns: those of `features=` (the user's word: exactly these columns), those of the dataset
card (binding: files may lack some of them, and have no others), and those in a Parquet file's own metadata (they add meaning, such as the names
of a ClassLabel, to a column whose Arrow type fits). All other types widen until they hold the values of every file.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import pyarrow as pa

from gristmill.errors import CastError, SchemaConflictError
from gristmill.features import Features
from gristmill.features.convert import from_arrow_field, from_arrow_type, to_arrow_type
from gristmill.features.infer import Clash, refuse, to_json, unify_schemas
from gristmill.features.mixed import json_for_empty
from gristmill.features.schema import metadata_features
from gristmill.logging import get_logger

_log = get_logger(__name__)


class SplitColumns:
    """Collects the columns of one split, file by file.

    Args:
        declared: Columns whose features the card gives, if it does; files have no others, unless some were asked for.
        clash: What two types become that have no common type; see `unify_types`.
        order: The columns asked for, in their order; others that are taken in come after them.

    Example:
        >>> columns = SplitColumns()
        >>> columns.learn(pa.schema({"a": pa.null()}), "1.json")
        >>> columns.learn(pa.schema({"a": pa.int64(), "b": pa.string()}), "2.json")
        >>> columns.features()
        {'a': Value('int64'), 'b': Value('string')}
    """

    def __init__(
        self,
        declared: Mapping[str, Any] | None = None,
        clash: Clash = refuse,
        order: Sequence[str] | None = None,
    ) -> None:
        self._clash = clash
        self._order = tuple(order or ())
        self._declared = dict(declared or {})
        self._is_whole = bool(declared) and not order
        self._hints: dict[str, tuple[Any, str]] = {}
        self._schema = pa.schema([])
        self._files = 0

    def learn(self, schema: pa.Schema, file: str) -> None:
        """Takes in the columns of one file.

        Args:
            schema: The schema that holds all rows of the file.
            file: What to call it in errors.

        Raises:
            SchemaConflictError: A column's type here and in the files before have no common type, or its class names
                differ.
            CastError: There are columns that the card does not name.
        """
        extra = [name for name in schema.names if name not in self._declared] if self._is_whole else []
        if extra:
            raise CastError.from_columns(extra, self._declared, file)
        found = pa.schema([field for field in schema if field.name not in self._declared])
        self._take_hints(schema, file)
        before = self._schema
        self._schema = unify_schemas(before, found, file=file, clash=self._clash)
        if self._files:
            self._report(before, found, file)
        self._files += 1

    def _take_hints(self, schema: pa.Schema, file: str) -> None:
        for name, feature in metadata_features(schema).items():
            if name in self._declared or feature == from_arrow_type(to_arrow_type(feature)):
                continue
            known, where = self._hints.setdefault(name, (feature, file))
            if known != feature:
                # Two sets of class names for one column: the same number would mean two things.
                raise SchemaConflictError.from_types(name, f"{known} in {where}", feature, file=file)

    def _report(self, before: pa.Schema, found: pa.Schema, file: str) -> None:
        known = set(before.names)
        new = [name for name in found.names if name not in known]
        if new:
            _log.info("%s: has the columns %s, which files before it lack: None there", file, ", ".join(new))
        for name in before.names:
            was, now = before.field(name).type, self._schema.field(name).type
            if was not in (now, pa.null()):
                _log.info("%s: the type of column %s widens from %s to %s", file, name, was, now)

    def features(self) -> Features:
        """Gives the features of all columns taken in: declared ones first, then in order of appearance."""
        schema = json_for_empty(self._schema) if self._clash is to_json else self._schema
        found = {**self._declared, **{field.name: self._feature(field) for field in schema}}
        return Features({**{name: found[name] for name in self._order if name in found}, **found})

    def _feature(self, field: pa.Field) -> Any:
        hint = self._hints.get(field.name)
        if hint is not None and to_arrow_type(hint[0]) == field.type:
            return hint[0]
        return from_arrow_field(field)
