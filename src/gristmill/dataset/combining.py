"""Datasets put together: one after another, side by side, in turns. Nothing is copied where types agree."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pyarrow as pa

from gristmill.arguments import MOST_ROWS, mixing_chances, stopping_strategy, whole_number
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

_DRAWN_AT_ONCE = 1000
_MOST_TURNS = 1_000_000_000
_TURNS_A_ROW = 1000
_RARE = 1e-4


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
    aligned = views if _of_one_table(views, schema) else [_align(view, features, schema) for view in views]
    rows = sum(view.num_rows for view in views)
    origins = _concat_origins(views)
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
    if times * view.num_rows <= _DRAWN_AT_ONCE * _DRAWN_AT_ONCE:
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


# ---------------------------------------------------------------- in turns


def interleaved_rows(
    lengths: Sequence[int], probabilities: Sequence[float] | None, seed: int | None, strategy: str
) -> IndexVector:
    """Finds the order of `interleave_datasets`.

    Args:
        lengths: Rows of each dataset.
        probabilities: How likely each is drawn; in turns if None.
        seed: For the drawing.
        strategy: When to stop, as documented for `interleave_datasets`.

    Returns:
        Row numbers counted over all datasets one after another.

    Raises:
        InvalidArgumentError: The strategy is not known, the probabilities can't be used, or a dataset is drawn so rarely
            that it would take for ever until it is exhausted.

    Example:
        >>> interleaved_rows([2, 3], None, None, "first_exhausted").tolist()
        [0, 2, 1, 3]
    """
    strategy = stopping_strategy(strategy)
    chances = mixing_chances(probabilities, len(lengths))
    sizes = np.asarray(lengths, np.int64)
    can_be_drawn = np.ones(len(sizes), np.bool_) if chances is None else np.asarray(chances) > 0
    if strategy != "first_exhausted":
        can_be_drawn &= sizes > 0  # an empty dataset is exhausted before it begins
    elif chances is not None and not sizes[can_be_drawn].all():
        empty = np.flatnonzero(can_be_drawn & (sizes == 0)).tolist()
        raise InvalidArgumentError(
            f"The datasets at {empty} have no rows and can't be drawn from; leave them out, or give them the "
            "probability 0."
        )
    if not can_be_drawn.any():
        return np.empty(0, np.int64)
    if chances is not None and strategy == "all_exhausted":
        _check_turns(sizes, can_be_drawn, chances)
    turns = _turns(sizes, can_be_drawn, chances, seed, strategy)
    rank = _ranks(turns)
    allowed = can_be_drawn[turns]
    last_needed = allowed & (rank == sizes[turns] - 1)
    if strategy == "first_exhausted":
        # Whoever gives its last row first ends it; an empty dataset does so before its first turn.
        ends = np.flatnonzero(last_needed)
        stop = int(ends[0]) + 1 if len(ends) else 0
        if chances is None:
            stop = int(sizes.min()) * len(sizes)
        turns, rank, allowed = turns[:stop], rank[:stop], allowed[:stop]
    elif strategy == "all_exhausted":
        stop = int(np.flatnonzero(last_needed)[-1]) + 1
        if chances is None:
            stop = int(sizes.max()) * int(can_be_drawn.sum())
        turns, rank, allowed = turns[:stop], rank[:stop], allowed[:stop]
    else:
        allowed = allowed & (rank < sizes[turns])
    turns, rank = turns[allowed], rank[allowed]
    starts = np.cumsum(np.concatenate([[0], sizes[:-1]]))
    rows: IndexVector = rank % sizes[turns] + starts[turns]
    return rows


def _check_turns(sizes: IndexVector, can_be_drawn: Any, chances: Sequence[float]) -> None:
    """Refuses what would fill the memory with turns of other datasets before a rare one has had all of its own."""
    expected = np.where(can_be_drawn, sizes / np.where(can_be_drawn, chances, 1.0), 0.0)
    if expected.max() > max(_MOST_TURNS, _TURNS_A_ROW * int(sizes.sum())):
        rare = int(expected.argmax())
        raise InvalidArgumentError(
            f"The dataset at {rare} has {sizes[rare]} rows and the probability {chances[rare]}: it would take about "
            f"{expected[rare]:.0e} turns until all of them were there. Raise it, or pass another stopping_strategy."
        )


def _turns(
    sizes: IndexVector,
    can_be_drawn: Any,
    chances: Sequence[float] | None,
    seed: int | None,
    strategy: str,
) -> IndexVector:
    """Says which dataset is next, at least as often as is needed."""
    if chances is None:
        sources = np.flatnonzero(can_be_drawn).astype(np.int64)
        longest = sizes.min() if strategy == "first_exhausted" else sizes.max()
        return np.tile(sources, int(longest))
    generator = np.random.default_rng(seed)
    counts, drawn, enough = np.zeros(len(sizes), np.int64), [], False
    size = _DRAWN_AT_ONCE
    shares = np.asarray(chances, np.float64)
    while not enough:
        block = generator.choice(len(sizes), size=size, p=shares)
        drawn.append(block.astype(np.int64, copy=False))
        counts += np.bincount(block, minlength=len(sizes))
        done = counts[can_be_drawn] >= sizes[can_be_drawn]
        enough = bool(done.any() if strategy == "first_exhausted" else done.all())
        if strategy == "all_exhausted_without_replacement" and not enough:
            # Turns of datasets without rows left count for nothing: where hardly any others come, only they are drawn.
            left = np.where(can_be_drawn & (counts < sizes), chances, 0.0)
            shares = left / left.sum() if left.sum() < _RARE else shares
        size = min(size * 2, 1_000_000)
    return np.concatenate(drawn)


def _ranks(turns: IndexVector) -> IndexVector:
    """Counts for each turn how often the same dataset had one before."""
    # Few sources fit into 16 bits, and numpy sorts those in linear time.
    small = turns.astype(np.int16) if len(turns) and int(turns.max()) < 1 << 15 else turns
    order = np.argsort(small, kind="stable")
    sorted_turns = small[order]
    firsts = np.searchsorted(sorted_turns, sorted_turns, side="left")
    ranks = np.empty(len(turns), np.int64)
    ranks[order] = np.arange(len(turns)) - firsts
    return ranks


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
