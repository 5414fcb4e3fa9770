"""Datasets put together: one after another, side by side, with one more row. Nothing is copied where types agree."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pyarrow as pa

from gristmill.arguments import MOST_ROWS, whole_number
from gristmill.errors import CastError, InvalidArgumentError, SchemaConflictError
from gristmill.features import Features, LargeList, List
from gristmill.features.align import is_null
from gristmill.features.build import array_from_values
from gristmill.features.cast import cast_array
from gristmill.features.columnless import without_columns
from gristmill.features.convert import from_arrow_type
from gristmill.features.encode import needs_encoding
from gristmill.features.mixed import array_of_mixed
from gristmill.table.origins import Origins
from gristmill.table.selection import IndexVector, Selection, as_vector, compact, resolve
from gristmill.table.view import Part, View

_REPEATED_BY_NUMBER = 1_000_000


def _has_null(feature: Any) -> bool:
    if isinstance(feature, Mapping):
        return any(map(_has_null, feature.values()))
    return _has_null(feature.feature) if isinstance(feature, List | LargeList) else is_null(feature)


def _completed(feature: Any, found: Any) -> Any:
    """Puts what a value turned out to be in place of the nulls of a feature."""
    if is_null(feature):
        return found
    if isinstance(feature, Mapping) and isinstance(found, Mapping):
        return {
            **found,
            **{name: _completed(inner, found.get(name, inner)) for name, inner in feature.items()},
        }
    if isinstance(feature, List | LargeList) and isinstance(found, List | LargeList):
        return replace(feature, feature=_completed(feature.feature, found.feature))
    return feature


# ---------------------------------------------------------------- one after another


def concat_views(views: Sequence[View], features: Features) -> View:
    """Puts the rows of several views one after another.

    Args:
        views: At least one.
        features: The columns of the result, from `align_features`: missing ones become nulls, narrower ones are cast.

    Returns:
        A view over the same tables; only columns whose type changes are written anew, in memory.

    Raises:
        CastError: A value does not fit the wider type; names row, column and value.
    """
    schema = pa.schema(list(features.type))  # without metadata, which takes longer to make than the rest
    rows = sum([view.num_rows for view in views])
    origins = _concat_origins(views)
    if _of_one_table(views, schema):
        aligned = views
        whole = _one_range([view.parts[0].selection for view in views])
        if whole is not None and schema.names:
            return View((replace(views[0].parts[0], selection=whole),), views[0].names, rows, origins)
    else:
        aligned = [_align(view, features, schema) for view in views]
    if not schema.names:
        return View((Part(without_columns(rows)),), (), rows, origins)
    columns = tuple(schema.names)
    if all(len(view.parts) == 1 and view.parts[0].names == columns for view in aligned):
        return View((_concat_parts([view.parts[0] for view in aligned]),), columns, rows, origins)
    parts = [
        _concat_parts([_part_with(view, names) for view in aligned]) for names in _groups(aligned, columns)
    ]
    return View(tuple(parts), columns, rows, origins)


def _of_one_table(views: Sequence[View], schema: pa.Schema) -> bool:
    """Says whether all are rows of one table that has this schema, as parts that were cut out of a dataset are."""
    names, table = views[0].names, views[0].parts[0].table if views[0].parts else None
    # One look at each view, where comparing schemas would make a hundred of them.
    alike = all(
        len(view.parts) == 1 and view.parts[0].table is table and view.names == names for view in views
    )
    return alike and views[0].schema.equals(schema)


def _align(view: View, features: Features, schema: pa.Schema) -> View:
    if view.schema.equals(schema):
        return view
    there = dict(zip(view.schema.names, view.schema.types, strict=True))
    new: dict[str, Any] = {}
    for field in schema:
        if field.name not in there:
            new[field.name] = pa.nulls(view.num_rows, field.type)
        elif there[field.name] != field.type:
            column = view.table([field.name]).column(0)
            new[field.name] = cast_array(column, features[field.name], column=field.name)
    if new:
        view = view.join(Part(pa.table(new))) if view.names else View.from_table(pa.table(new))
    return view.choose(schema.names)


def _groups(views: Sequence[View], names: Sequence[str]) -> list[list[str]]:
    """Groups columns that lie in the same part in each of the views."""
    places: dict[str, list[int]] = {name: [] for name in names}
    for view in views:
        for position, part in enumerate(view.parts):
            for name in part.names:
                places[name].append(position)
    groups: dict[tuple[int, ...], list[str]] = {}
    for name in names:
        groups.setdefault(tuple(places[name]), []).append(name)
    return list(groups.values())


def _part_with(view: View, names: list[str]) -> Part:
    [part] = [part for part in view.parts if names[0] in part.names]
    return part if list(part.names) == names else part.choose(names)


def _one_range(selections: Sequence[Selection]) -> range | None:
    """Gives selections as one range, if they follow each other: so it is with parts that were cut out of one."""
    stop: int | None = None
    for selection in selections:
        if type(selection) is not range or selection.step != 1 or selection.start > selection.stop:
            return None
        if stop is not None and selection.start != stop:
            return None
        stop = selection.stop
    first = selections[0]
    return range(first.start, stop) if type(first) is range and stop is not None else None


def _rejoined(parts: Sequence[Part]) -> list[Part]:
    joined: list[Part] = []
    first, selection = parts[0], parts[0].selection
    for part in parts[1:]:
        both = _one_range([selection, part.selection]) if part.table is first.table else None
        if both is None:
            joined.append(first if first.selection is selection else replace(first, selection=selection))
            first, selection = part, part.selection
        else:
            selection = both
    joined.append(first if first.selection is selection else replace(first, selection=selection))
    return joined


def _concat_parts(parts: Sequence[Part]) -> Part:
    table = parts[0].table
    whole = _one_range([part.selection for part in parts if part.table is table])
    if whole is not None and all(part.table is table for part in parts):
        return replace(parts[0], selection=whole)
    parts = _rejoined([part for part in parts if part.num_rows] or parts[:1])
    if len(parts) == 1:
        return parts[0]
    schema = parts[0].table.schema.remove_metadata()
    sliceable = all(
        part.selection is None or (isinstance(part.selection, range) and part.selection.step == 1)
        for part in parts
    )
    selection: range | IndexVector | None = None
    if sliceable:
        tables = [_rows_of(part) for part in parts]
    else:
        tables = [part.table for part in parts]
        starts = np.cumsum([0, *(table.num_rows for table in tables)])
        chosen = [as_vector(resolve(part.selection, 0, part.num_rows)) for part in parts]
        selection = np.concatenate([rows + start for rows, start in zip(chosen, starts, strict=False)])
        selection = compact(selection)
    table = pa.concat_tables([table.cast(schema) if table.schema != schema else table for table in tables])
    # Pickled as paths only if the rows are all of the files' rows; `Part` compares before it does so.
    same = all(part.files and part.file_columns == parts[0].file_columns for part in parts)
    files = [file for part in parts for file in part.files] if same else []
    if not files:
        return Part(table, selection)
    stamps = tuple(stamp for part in parts for stamp in part.stamps)
    return Part(table, selection, tuple(files), parts[0].file_columns, stamps)


def _rows_of(part: Part) -> pa.Table:
    if part.selection is None:
        return part.table
    assert isinstance(part.selection, range)
    return part.table.slice(part.selection.start, len(part.selection))


def _concat_origins(views: Sequence[View]) -> tuple[Origins, Selection] | None:
    if all(view.origins is None for view in views):
        return None
    if views[0].origins is not None:
        first = views[0].origins[0]
        selections = [view.origins[1] for view in views if view.origins and view.origins[0] is first]
        if len(selections) == len(views) and (whole := _one_range(selections)) is not None:
            return first, whole
    known: list[tuple[Origins, Selection]] = []
    for view in views:
        origins, selection = view.origins or (Origins.unknown(view.num_rows), None)
        both = _one_range([known[-1][1], selection]) if known and origins is known[-1][0] else None
        if both is None:
            known.append((origins, selection))
        else:
            known[-1] = origins, both
    if len(known) == 1:
        return known[0]
    # A selection may be longer than what it chooses from: rows can be repeated.
    lengths = [len(origins) if rows is None else len(rows) for origins, rows in known]
    chosen = [resolve(rows, 0, length) for (_, rows), length in zip(known, lengths, strict=True)]
    return Origins.concat(origins.take(c) for (origins, _), c in zip(known, chosen, strict=True)), None


def repeat_view(view: View, features: Features, times: int) -> View:
    """Puts the rows of a view after themselves.

    Args:
        view: The rows.
        features: Their features.
        times: How often they come; none for 0 or less.
    """
    times = whole_number("num_times", times)
    if times * view.num_rows > MOST_ROWS:
        raise InvalidArgumentError.from_value("num_times", times, f"no more than {MOST_ROWS} rows in all")
    if times <= 0 or not view.num_rows:
        return view.select(range(0))
    if times == 1:
        return view.select(range(view.num_rows))
    if times * view.num_rows <= _REPEATED_BY_NUMBER:
        return view.select(np.tile(np.arange(view.num_rows, dtype=np.int64), times))
    return concat_views([view] * times, features)


# ---------------------------------------------------------------- side by side


def join_views(views: Sequence[View]) -> View:
    """Puts the columns of several views beside each other.

    Args:
        views: At least one.

    Raises:
        InvalidArgumentError: They differ in their number of rows, or two have a column of the same name.
    """
    lengths = [view.num_rows for view in views]
    if len(set(lengths)) > 1:
        shown = ", ".join(map(str, lengths[:20]))
        raise InvalidArgumentError(f"With axis=1 all datasets must have as many rows; they have {shown}.")
    names = [name for view in views for name in view.names]
    if len(set(names)) < len(names):
        twice = ", ".join(sorted({name for name in names if names.count(name) > 1})[:20])
        raise InvalidArgumentError(
            f"With axis=1 no two datasets may have columns of the same name; these are there twice: {twice}. Rename or "
            "remove them first."
        )
    parts = [part for view in views for part in view.parts if part.table.num_columns]
    origins = next((view.origins for view in views if view.origins is not None), None)
    return View(tuple(parts or views[0].parts), tuple(names), lengths[0], origins)


# ---------------------------------------------------------------- one more row


def row_to_view(item: Mapping[str, Any], features: Features) -> tuple[View, Features]:
    """Makes a view of one row that shall stand below others.

    Args:
        item: Its values; a column that it lacks is None there.
        features: The features of the others.

    Returns:
        (the row, its features).

    Raises:
        CastError: A value does not fit the feature of its column.
        InvalidArgumentError: It is no dict.
    """
    if not isinstance(item, Mapping):
        raise InvalidArgumentError.from_value("item", item, "a dict of column name to value")
    described = Features()
    columns = {}
    for name, value in item.items():
        if not isinstance(name, str):
            raise InvalidArgumentError.from_value("item", item, "a dict of column name to value")
        feature = features.get(name)
        try:
            if feature is None or _has_null(feature):
                # Where there was nothing but None so far, the value says what it is.
                # What holds `Json` beside it may hold values without a common type.
                make = (
                    array_of_mixed if feature is not None and needs_encoding(feature) else array_from_values
                )
                found = from_arrow_type(make([value], column=name).type)
                feature = found if feature is None else _completed(feature, found)
            columns[name] = array_from_values([value], feature, column=name)
        except SchemaConflictError as error:
            raise CastError.at(f"the value can't be stored: {error}", column=name) from error
        described[name] = feature
    if not columns:
        return View((Part(without_columns(1)),), (), 1), described
    return View.from_table(pa.table(columns)), described
