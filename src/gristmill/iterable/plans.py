"""The arguments of a stream's methods, checked when they are given, as the nodes they ask for."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from gristmill.arguments import (
    check_columns,
    check_renaming,
    column_list,
    mixing_chances,
    skips_errors,
    stopping_strategy,
    whole_number,
)
from gristmill.calling.caller import Call
from gristmill.errors import InvalidArgumentError
from gristmill.features import Features
from gristmill.features.mixed import features_for_empty
from gristmill.features.picking import check_features
from gristmill.formatting import FormatSpec
from gristmill.iterable.batching import Batch
from gristmill.iterable.block import join
from gristmill.iterable.columns import Cast, CastColumn, Describe, Remove, Rename, Select, with_decoding
from gristmill.iterable.joining import Concat, SideBySide, aligned
from gristmill.iterable.limiting import Repeat, Skip, Take, stepped
from gristmill.iterable.mapping import Filter, Map
from gristmill.iterable.mixing import Interleave
from gristmill.iterable.node import Node
from gristmill.iterable.order import part_of
from gristmill.iterable.shuffling import Shuffle
from gristmill.table.grouping import grouping_columns

_LOOKED_AT = 100


def _call(
    node: Node,
    function: Callable[..., Any] | None,
    with_indices: bool,
    input_columns: str | Sequence[str] | None,
    batched: bool,
    fn_kwargs: Mapping[str, Any] | None,
) -> Call:
    if function is None:
        function = _itself
    if not callable(function):
        raise InvalidArgumentError.from_value("function", function, "something that can be called")
    inputs = None if input_columns is None else _columns(input_columns, node)
    return Call(function, bool(batched), bool(with_indices), False, inputs, dict(fn_kwargs or {}))


def _itself(row: Any, *_: Any) -> Any:
    return row


def _columns(names: str | Sequence[str], node: Node) -> list[str]:
    """Checks column names as far as the columns are known."""
    return column_list(names) if node.features is None else check_columns(names, list(node.features))


def _batch_size(size: int | None) -> int | None:
    number = None if size is None else whole_number("batch_size", size)
    return None if number is None or number <= 0 else number


def plan_map(
    node: Node,
    spec: FormatSpec,
    function: Callable[..., Any] | None,
    *,
    with_indices: bool,
    input_columns: str | Sequence[str] | None,
    batched: bool,
    batch_size: int | None,
    drop_last_batch: bool,
    remove_columns: str | Sequence[str] | None,
    features: Features | None,
    fn_kwargs: Mapping[str, Any] | None,
    on_error: str,
) -> Node:
    """Plans `map`; the arguments are those of `IterableDataset.map`."""
    call = _call(node, function, with_indices, input_columns, batched, fn_kwargs)
    removed = () if remove_columns is None else tuple(_columns(remove_columns, node))
    wanted = None if features is None else Features(features)
    size, skips = _batch_size(batch_size), skips_errors(on_error)
    return Map(node, call, spec, size, bool(drop_last_batch), skips, removed, wanted)


def plan_filter(
    node: Node,
    spec: FormatSpec,
    function: Callable[..., Any] | None,
    *,
    with_indices: bool,
    input_columns: str | Sequence[str] | None,
    batched: bool,
    batch_size: int | None,
    fn_kwargs: Mapping[str, Any] | None,
    on_error: str,
) -> Node:
    """Plans `filter`; the arguments are those of `IterableDataset.filter`."""
    call = _call(node, function, with_indices, input_columns, batched, fn_kwargs)
    return Filter(node, call, spec, _batch_size(batch_size), False, skips_errors(on_error))


def plan_shuffle(
    node: Node, seed: int | None, generator: Any, buffer_size: int, max_buffer_input_shards: int | None
) -> Node:
    """Plans `shuffle`; the arguments are those of `IterableDataset.shuffle`."""
    size = whole_number("buffer_size", buffer_size, 1)
    inputs = (
        1
        if max_buffer_input_shards is None
        else whole_number("max_buffer_input_shards", max_buffer_input_shards, 1)
    )
    number = draw_seed(seed, generator)
    shuffled = node.shuffle_shards(number)
    return shuffled if size == 1 else Shuffle(shuffled, number, size, inputs)


def draw_seed(seed: int | None, generator: Any = None) -> int:
    """Gives the seed asked for, or a new one.

    Args:
        seed: The seed, if there is one.
        generator: Where a seed is drawn from otherwise; it stays as it was.

    Raises:
        InvalidArgumentError: They are none.
    """
    if generator is not None:
        if not isinstance(generator, np.random.Generator):
            raise InvalidArgumentError.from_value("generator", generator, "a numpy.random.Generator")
        if seed is not None:
            raise InvalidArgumentError("Pass either seed= or generator=, not both.")
        copied = np.random.Generator(type(generator.bit_generator)())
        copied.bit_generator.state = generator.bit_generator.state
        return int(copied.integers(1 << 62))
    if seed is None:
        return int(np.random.default_rng().integers(1 << 62))
    return whole_number("seed", seed, 0)


def plan_batch(
    node: Node, batch_size: int | None, by_column: str | Sequence[str] | None, drop_last_batch: bool
) -> Node:
    """Plans `batch`; the arguments are those of `IterableDataset.batch`."""
    if by_column is not None:
        names = grouping_columns(by_column, None if node.features is None else list(node.features))
        return Batch(node, 1, tuple(names), False)
    if batch_size is None:
        raise InvalidArgumentError.from_value("batch_size", None, "rows a batch, unless by_column is given")
    return Batch(node, whole_number("batch_size", batch_size, 1), (), bool(drop_last_batch))


def plan_skip(node: Node, n: int) -> Node:
    """Plans `skip`: without reading what is skipped where the numbers of rows are known."""
    rows = whole_number("n", n, 0)
    return node.cut(rows, None) or Skip(node, rows)


def plan_take(node: Node, n: int) -> Node:
    """Plans `take`."""
    rows = whole_number("n", n, 0)
    return node.cut(0, rows) or Take(node, rows)


def plan_repeat(node: Node, num_times: int | None) -> Node:
    """Plans `repeat`."""
    return Repeat(node, None if num_times is None else whole_number("num_times", num_times, 0))


def plan_shard(node: Node, num_shards: int, index: int, contiguous: bool) -> Node:
    """Plans `shard`."""
    parts = whole_number("num_shards", num_shards, 1)
    return node.pick(part_of(node.num_shards, parts, whole_number("index", index), contiguous))


def plan_node(node: Node, rank: int, world_size: int, strategy: str) -> Node:
    """Plans the part of one of several machines; the arguments are those of `split_dataset_by_node`."""
    world = whole_number("world_size", world_size, 1)
    mine = whole_number("rank", rank)
    if not 0 <= mine < world:
        raise InvalidArgumentError.from_value(
            "rank", rank, f"a number from 0 to {world - 1} (world_size - 1)"
        )
    if strategy not in ("auto", "shards", "examples"):
        raise InvalidArgumentError.from_choice("strategy", str(strategy), ["auto", "shards", "examples"])
    shards = node.num_shards
    if strategy == "shards" and shards < world:
        raise InvalidArgumentError(
            f'strategy="shards" needs a shard for each of the {world} ranks, and there are {shards}; reshard() may make '
            'more, and strategy="examples" needs none.'
        )
    if strategy == "shards" or (strategy == "auto" and shards % world == 0):
        return node.pick(range(mine, shards, world))
    return stepped(node, world, mine)


def plan_rename(node: Node, mapping: Mapping[str, str]) -> Node:
    """Plans `rename_columns`."""
    # Where the columns are not known, at least two new names must not be one.
    existing = list(mapping) if node.features is None else list(node.features)
    return Rename(node, check_renaming(mapping, existing))


def plan_remove(node: Node, names: str | Sequence[str]) -> Node:
    """Plans `remove_columns`."""
    return Remove(node, tuple(_columns(names, node)))


def plan_select(node: Node, names: str | Sequence[str]) -> Node:
    """Plans `select_columns`: without reading the other columns where that can be done."""
    chosen = tuple(_columns(names, node))
    return node.choose(chosen) or Select(node, chosen)


def plan_cast(node: Node, features: Mapping[str, Any]) -> Node:
    """Plans `cast`."""
    known = node.features
    return Cast(node, check_features(features, features if known is None else known))


def plan_cast_column(node: Node, column: str, feature: Any) -> Node:
    """Plans `cast_column`."""
    [name] = _columns([column], node)
    if node.features is None:
        return CastColumn(node, name, Features({name: feature})[name])
    return Cast(node, Features({**node.features, name: feature}))


def plan_decode(node: Node, enable: bool) -> Node:
    """Plans `decode`."""
    if node.features is None:
        raise InvalidArgumentError(
            "decode() needs to know the columns, and after map() they are not known: pass features= to map, or call "
            "decode() before it."
        )
    return Describe(node, with_decoding(node.features, bool(enable)))


def plan_concatenation(nodes: Sequence[Node], axis: int) -> Node:
    """Plans `concatenate_datasets`."""
    if axis == 1:
        return SideBySide.of_nodes(nodes)
    if axis != 0:
        raise InvalidArgumentError.from_value("axis", axis, "0 (rows) or 1 (columns)")
    return Concat(*aligned(nodes))


def plan_interleaving(
    nodes: Sequence[Node], probabilities: Sequence[float] | None, seed: int | None, strategy: str
) -> Node:
    """Plans `interleave_datasets`."""
    strategy = stopping_strategy(strategy)
    chances = mixing_chances(probabilities, len(nodes))
    parts, features = aligned(nodes)
    return Interleave(parts, features, chances, draw_seed(seed), strategy)


def look_ahead(node: Node, epoch: int) -> Features:
    """Finds the columns of a stream by its first rows."""
    stream = Take(node, _LOOKED_AT).open(epoch)
    try:
        blocks = []
        while (block := stream.next()) is not None:
            blocks.append(block)
    finally:
        stream.close()
    return features_for_empty(join(blocks).table()[1]) if blocks else Features()
