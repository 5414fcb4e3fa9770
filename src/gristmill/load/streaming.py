"""``load_dataset(..., streaming=True)``: the files of splits as streams; nothing is prepared."""

from __future__ import annotations

from typing import Any

from gristmill.errors import InvalidArgumentError
from gristmill.info import DatasetInfo
from gristmill.iterable import IterableDataset, IterableDatasetDict, plans
from gristmill.iterable.node import Node
from gristmill.iterable.opening import files_of_source
from gristmill.iterable.sources import Rows
from gristmill.load.finding import Found
from gristmill.prepared.split_spec import in_shape, wanted_parts
from gristmill.splits import NamedSplit
from gristmill.splits.slices import SplitPart, check_rows
from gristmill.table.making import describe
from gristmill.table.view import View


def stream_found(found: Found, split: Any, skips: bool = False) -> Any:
    """Makes streams of what a name means.

    Args:
        found: What it means.
        split: As for `load_dataset`.
        skips: Leave out rows that can't be read, and tell of them.

    Returns:
        A stream, several in the shape of `split`, or an `IterableDatasetDict` of all splits.

    Raises:
        SplitNotFoundError: There is no such split.
        InvalidArgumentError: A slice counts from the end or in percent, and nobody knows how many rows there are; or it means
            no rows.
    """

    def one(wanted: Any) -> IterableDataset:
        parts = wanted_parts(wanted, found.known, found.where)
        whole = [_node(found, part.split, skips) for part in parts]
        _check_rows(parts, whole)
        nodes = [_part(node, part) for node, part in zip(whole, parts, strict=True)]
        node = nodes[0] if len(nodes) == 1 else plans.plan_concatenation(nodes, 0)
        return IterableDataset(node, _info(found, parts), NamedSplit(parts[0].split))

    wanted: Any = {name: name for name in found.known} if split is None else split
    shaped = in_shape(wanted, one)
    return IterableDatasetDict(shaped) if isinstance(shaped, dict) else shaped


def _info(found: Found, parts: list[SplitPart]) -> DatasetInfo:
    source = found.sources.get(parts[0].split)
    return DatasetInfo() if source is None else source.named_info


def _node(found: Found, split: str, skips: bool) -> Node:
    if split in found.sources:
        return files_of_source(found.sources[split], skips)
    # The Hub can't be asked: what was prepared before is read instead.
    rows = found.open([split])[split].all_rows()
    table, features = describe(rows.table, None)
    return Rows.of_view(View.from_table(table, rows.cache_files), features)


def _check_rows(parts: list[SplitPart], nodes: list[Node]) -> None:
    if any(part.whole for part in parts):  # how many rows there are may take time to find out
        return
    sizes = {part.split: node.num_rows for part, node in zip(parts, nodes, strict=True)}
    known = {name: rows for name, rows in sizes.items() if rows is not None}
    if len(known) == len(sizes):
        check_rows(parts, known)
    elif all(part.is_nothing and not part.is_reversed for part in parts):
        expected = "a slice that means at least one row; it ends where it begins"
        raise InvalidArgumentError.from_value("split", "+".join(part.text for part in parts), expected)


def _part(node: Node, part: SplitPart) -> Node:
    if part.whole:
        return node
    if part.is_reversed:
        return plans.plan_take(node, 0)
    bounds = [bound for bound in (part.start, part.stop) if bound is not None]
    if not part.percent and min(bounds) >= 0:
        start, stop = part.start or 0, part.stop
    elif node.num_rows is not None:
        rows = part.rows(node.num_rows)
        start, stop = rows.start, rows.stop
    else:
        raise InvalidArgumentError.from_value(
            "split",
            part.text,
            "a slice by row numbers from the start: a stream of these files can't tell how many there are. Without streaming=True it can be used",
        )
    return plans.plan_skip(node if stop is None else plans.plan_take(node, max(start, stop)), start)
