"""Batches as tables: Arrow as it is, or pandas."""

from __future__ import annotations

import contextlib
import sys
from collections import deque
from collections.abc import Mapping
from functools import lru_cache, partial
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from gristmill.features import Features
from gristmill.features.arrays import ArrayND
from gristmill.features.columnless import with_metadata
from gristmill.features.schema import schema_metadata
from gristmill.features.unheld import NO_PYTHON_VALUE, converted
from gristmill.formatting.python_rows import PythonFormatter
from gristmill.optional import require

if "pandas" in sys.modules:
    # Who has pandas at hand will want frames: what Arrow loads for them (3 ms) is then not part of the first one.
    with contextlib.suppress(ImportError):  # a pandas too old for Arrow; told when a frame is asked for
        pa.schema([]).empty_table().to_pandas()


class ArrowFormatter:
    """Batches and rows as Arrow tables, columns as Arrow arrays; the schema of a table says what the features are.

    Args:
        features: The feature of each column; all tables have the same ones of them.
    """

    def __init__(self, features: Mapping[str, Any]) -> None:
        self._features = features
        self._width = -1
        self._metadata: Any = None

    def column(self, name: str, values: pa.ChunkedArray) -> Any:
        """Gives one column as it is."""
        return values

    def batch(self, table: pa.Table) -> Any:
        """Gives a table as it is, with the features in the metadata of its schema."""
        if table.num_columns != self._width:  # to ask for the names takes as long as all else here
            names = table.column_names
            self._metadata = _metadata_of({n: self._features[n] for n in names if n in self._features})
            self._width = len(names)
        return with_metadata(table, self._metadata)

    def rows(self, table: pa.Table) -> list[Any]:
        """Gives tables of one row."""
        described = self.batch(table)
        return [described.slice(position, 1) for position in range(table.num_rows)]


_made: deque[tuple[dict[str, Any], Any]] = deque(maxlen=8)


def _metadata_of(features: dict[str, Any]) -> Any:
    """Words features for a schema; once for the blocks of a stream, each of which has a formatter of its own."""
    for known, metadata in tuple(_made):
        if known == features:
            return metadata
    # As Arrow holds it; a dict would be brought to that for each table.
    metadata = pa.KeyValueMetadata(schema_metadata(Features(features)))
    _made.append((features, metadata))
    return metadata


@lru_cache(maxsize=1024)
def _pandas_knows(kind: pa.DataType) -> bool:
    """Says whether Arrow can convert lists of this type for pandas; of some scalars it can't."""
    if not pa.types.is_nested(kind):
        return True
    try:
        pa.nulls(0, kind).to_pandas()
    except pa.ArrowNotImplementedError:
        return False
    except pa.ArrowInvalid:
        return True  # a zone that this machine does not know; told with the row when values are converted
    return True


_EXACT = 2**53


def _is_rounded(values: Any) -> bool:
    """Says whether Arrow would give integers beside missing ones to pandas as floats that have other values."""
    if pa.types.is_integer(values.type):
        if not values.null_count or values.type.bit_width < 64:
            return False
        limits = pc.min_max(values)
        low, high = limits["min"].as_py(), limits["max"].as_py()
        return low is not None and (low < -_EXACT or high > _EXACT)
    return pa.types.is_nested(values.type) and any(map(_has_rounded, values.chunks))


def _has_rounded(values: Any) -> bool:
    """Says whether `_is_rounded` is true of numbers somewhere in nested values."""
    kind = values.type
    if pa.types.is_struct(kind):
        inner = [values.field(position) for position in range(kind.num_fields)]
    elif pa.types.is_map(kind):
        inner = [values.keys, values.items]
    elif pa.types.is_fixed_size_list(kind):
        # Where a list is missing, nulls stand for its items, and Arrow converts those as well.
        inner = [values.values.slice(values.offset * kind.list_size, len(values) * kind.list_size)]
    elif hasattr(values, "flatten"):
        inner = [values.flatten()]
    else:  # unions, whose values are Python objects
        return False
    return any(_is_rounded(pa.chunked_array([part])) for part in inner)


def _series(name: str, values: pa.ChunkedArray) -> Any:
    return converted(values, _to_pandas, column=name, row=None, target="pandas").rename(name)


_BYTES_FOR_THREADS = 16 << 20
"""Columns are copied side by side from here on; of smaller tables, waking threads takes longer than they save."""


def _frame(table: pa.Table) -> Any:
    try:
        return table.to_pandas(use_threads=table.nbytes >= _BYTES_FOR_THREADS)
    except NO_PYTHON_VALUE:
        for name, values in zip(table.column_names, table.columns, strict=True):
            converted(values, partial(_one_column, name), column=name, row=None, target="pandas")
        raise


def _one_column(name: str, values: Any) -> Any:
    return pa.table({name: values}).to_pandas()


def _to_pandas(values: Any) -> Any:
    return values.to_pandas()


class PandasFormatter:
    """Batches and rows as data frames, columns as series.

    Args:
        features: The feature of each column.
    """

    def __init__(self, features: Mapping[str, Any]) -> None:
        require("pandas", "Rows as pandas frames")
        self._features = features
        self._python = PythonFormatter(features)

    def column(self, name: str, values: pa.ChunkedArray) -> Any:
        """Converts one column to a series."""
        objects = self._objects(name, values)
        return _series(name, values) if objects is None else objects

    def _objects(self, name: str, values: pa.ChunkedArray) -> Any:
        """Makes the series of a column whose values are not what is stored; None if they are."""
        feature = self._features.get(name)
        pandas = require("pandas", "Rows as pandas frames")
        if isinstance(feature, ArrayND):
            made: list[Any] = list(feature.to_numpy(values))
        elif name in self._python.decoded or not _pandas_knows(values.type):
            made = self._python.column(name, values)
        elif not _is_rounded(values):
            return None
        elif pa.types.is_integer(values.type):
            kinds = {pa.int64(): pandas.Int64Dtype(), pa.uint64(): pandas.UInt64Dtype()}
            return values.to_pandas(types_mapper=kinds.get).rename(name)
        else:
            made = self._python.column(name, values)
        series = pandas.Series([None] * len(made), dtype=object)
        for position, value in enumerate(made):
            series.iat[position] = value
        return series.rename(name)

    def batch(self, table: pa.Table) -> Any:
        """Converts a table to a frame."""
        objects = {
            position: series
            for position, name in enumerate(table.column_names)
            if (series := self._objects(name, table.column(position))) is not None
        }
        if not objects:
            return _frame(table)
        names = [name for position, name in enumerate(table.column_names) if position not in objects]
        frame = _frame(table.select(names)) if names else next(iter(objects.values())).to_frame().iloc[:, :0]
        for position, series in objects.items():
            frame.insert(position, table.column_names[position], series)
        return frame

    def rows(self, table: pa.Table) -> list[Any]:
        """Converts a table to frames of one row."""
        frame = self.batch(table)
        return [frame.iloc[position : position + 1].reset_index(drop=True) for position in range(len(frame))]
