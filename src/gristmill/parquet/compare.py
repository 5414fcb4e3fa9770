"""`compare_schemas`: where the columns of two files differ."""

from __future__ import annotations

import os
from dataclasses import dataclass

from gristmill.parquet.footer import open_parquet
from gristmill.parquet.schema import SchemaNode


@dataclass(frozen=True)
class SchemaDifference:
    """One difference between the schemas of two files.

    Attributes:
        column: Dotted path of the column; ``""`` for the order of all.
        what: ``"missing"``, ``"order"``, ``"repetition"``, ``"type"`` or ``"meaning"``.
        first: How it is in the first file; None if it is not there.
        second: How it is in the second.
    """

    column: str
    what: str
    first: str | None
    second: str | None


def compare_schemas(first: str | os.PathLike[str], second: str | os.PathLike[str]) -> list[SchemaDifference]:
    """Compares the schemas of two Parquet files; only their footers are read.

    Args:
        first: A path, an http(s) URL, or ``hf://datasets/namespace/name[@revision]/path``.
        second: Another.

    Returns:
        The differences, in the order of the first file's columns; none if the schemas are alike.

    Raises:
        FileFormatError: One is no Parquet file, is damaged, or its footer is encrypted.
        FileMissingError: No such file.
        HubError: A server refuses, can't be reached, or does not answer ranges.

    Example:
        >>> import tempfile, pyarrow as pa, pyarrow.parquet as pq
        >>> folder = tempfile.TemporaryDirectory()
        >>> pq.write_table(pa.table({"n": pa.array([1], pa.int32())}), f"{folder.name}/first.parquet")
        >>> pq.write_table(pa.table({"n": pa.array([1], pa.int64())}), f"{folder.name}/second.parquet")
        >>> compare_schemas(f"{folder.name}/first.parquet", f"{folder.name}/second.parquet")
        [SchemaDifference(column='n', what='type', first='INT32', second='INT64')]
        >>> folder.cleanup()
    """
    with open_parquet(first) as one, open_parquet(second) as other:
        ours, theirs = _columns(one.schema), _columns(other.schema)
    found: list[SchemaDifference] = []
    for path, node in ours.items():
        if path in theirs:
            found += _differences(path, node, theirs[path])
        elif path.rpartition(".")[0] not in ours or path.rpartition(".")[0] in theirs:
            found.append(SchemaDifference(path, "missing", _type(node), None))
    for path, node in theirs.items():
        if path not in ours and (path.rpartition(".")[0] not in theirs or path.rpartition(".")[0] in ours):
            found.append(SchemaDifference(path, "missing", None, _type(node)))
    common = [path for path in ours if path in theirs]
    order = [path for path in theirs if path in ours]
    if common != order:
        tops = [", ".join(path for path in paths if "." not in path) for paths in (common, order)]
        found.append(SchemaDifference("", "order", *tops))
    return found


def _columns(root: SchemaNode) -> dict[str, SchemaNode]:
    found: dict[str, SchemaNode] = {}
    waiting = list(root.children)[::-1]
    while waiting:
        node = waiting.pop()
        found[node.dotted] = node
        waiting += node.children[::-1]
    return found


def _differences(path: str, one: SchemaNode, other: SchemaNode) -> list[SchemaDifference]:
    pairs = (
        ("repetition", one.repetition, other.repetition),
        ("type", _type(one), _type(other)),
        ("meaning", one.logical or "none", other.logical or "none"),
    )
    return [SchemaDifference(path, what, first, second) for what, first, second in pairs if first != second]


def _type(node: SchemaNode) -> str:
    if node.physical == "FIXED_LEN_BYTE_ARRAY":
        return f"{node.physical}({node.length})"
    return node.physical or "group"
