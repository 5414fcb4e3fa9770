"""The schema: Parquet's flat list of elements as a tree, with the levels of every leaf."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from gristmill.errors import ColumnNotFoundError
from gristmill.parquet.names import CONVERTED, REPETITIONS, TYPES, name_of
from gristmill.parquet.records import LogicalType, SchemaElement, TimeType

_DEEPEST = 100
_BYTES = {"BYTE_ARRAY"}
# Which physical types may carry which meaning; a group has none.
_CARRIERS: dict[str, set[str]] = {
    "UTF8": _BYTES | {"FIXED_LEN_BYTE_ARRAY"}, "STRING": _BYTES | {"FIXED_LEN_BYTE_ARRAY"},
    "ENUM": _BYTES, "JSON": _BYTES, "BSON": _BYTES,
    "GEOMETRY": _BYTES, "GEOGRAPHY": _BYTES, "DATE": {"INT32"}, "TIME_MILLIS": {"INT32"}, "TIME_MICROS": {"INT64"},
    "TIMESTAMP_MILLIS": {"INT64"}, "TIMESTAMP_MICROS": {"INT64"}, "TIMESTAMP": {"INT64"},
    "UINT_8": {"INT32"}, "UINT_16": {"INT32"}, "UINT_32": {"INT32"}, "UINT_64": {"INT64"},
    "INT_8": {"INT32"}, "INT_16": {"INT32"}, "INT_32": {"INT32"}, "INT_64": {"INT64"},
    "DECIMAL": {"INT32", "INT64", "BYTE_ARRAY", "FIXED_LEN_BYTE_ARRAY"}, "INTERVAL": {"FIXED_LEN_BYTE_ARRAY"},
    "UUID": {"FIXED_LEN_BYTE_ARRAY"}, "FLOAT16": {"FIXED_LEN_BYTE_ARRAY"},
}  # fmt: skip
_LENGTHS = {"INTERVAL": 12, "UUID": 16, "FLOAT16": 2}


@dataclass(frozen=True)
class SchemaNode:
    """A node of the schema tree.

    Attributes:
        name: Its own name.
        path: Names from the top to it, the root left out.
        repetition: ``"REQUIRED"``, ``"OPTIONAL"`` or ``"REPEATED"``.
        physical: Physical type of a leaf, such as ``"BYTE_ARRAY"``; None for a group.
        length: Bytes of a FIXED_LEN_BYTE_ARRAY.
        logical: What it means, worded, such as ``"STRING"`` or ``"TIMESTAMP(MICROS, UTC)"``; ``""`` if nothing is said.
        element: The element in the footer.
        max_definition: Number of optional and repeated nodes on the path: a value that is there has this level.
        max_repetition: Number of repeated nodes on the path.
        children: Nodes below, in order.
    """

    name: str
    path: tuple[str, ...]
    repetition: str
    physical: str | None
    length: int | None
    logical: str
    element: SchemaElement
    max_definition: int
    max_repetition: int
    children: tuple[SchemaNode, ...] = ()

    @property
    def dotted(self) -> str:
        """The path with dots, as it is typed."""
        return ".".join(self.path)

    def leaves(self) -> Iterator[SchemaNode]:
        """Gives the leaves below (itself, if it is one), in the order of the column chunks."""
        if self.physical is not None:
            yield self
        for child in self.children:
            yield from child.leaves()


def build_schema(elements: Sequence[SchemaElement]) -> SchemaNode:
    """Makes the tree.

    Args:
        elements: The footer's list, depth first.

    Returns:
        The root.

    Raises:
        ValueError: The list is no tree, or a type can't be.

    Example:
        >>> root = build_schema(
        ...     [SchemaElement(name="schema", num_children=1), SchemaElement(name="a", type=1)]
        ... )
        >>> [leaf.physical for leaf in root.leaves()]
        ['INT32']
    """
    if not elements:
        raise ValueError("the schema is empty")
    if (elements[0].num_children is None) and len(elements) > 1:
        raise ValueError("the schema's first element has no children")
    root, used = _node(elements, 0, (), 0, 0)
    if used != len(elements):
        raise ValueError(f"the schema has {len(elements):,} elements, of which {used:,} hang together")
    return root


def _node(
    elements: Sequence[SchemaElement], index: int, above: tuple[str, ...], definition: int, repetition: int
) -> tuple[SchemaNode, int]:
    """Makes the node at an index; gives it and the index behind its subtree."""
    if index >= len(elements):
        raise ValueError("the schema ends before its groups are full")
    if len(above) > _DEEPEST:
        raise ValueError(f"the schema is nested more than {_DEEPEST} deep")
    element = elements[index]
    path = (*above, element.name) if index else ()
    # The root's repetition means nothing, whatever is written there.
    kind = (element.repetition_type or 0) if index else 0
    if not 0 <= kind < len(REPETITIONS):
        raise ValueError(f"column {'.'.join(path)} has a repetition that is {name_of(REPETITIONS, kind)}")
    definition += kind > 0
    repetition += kind == REPETITIONS.index("REPEATED")
    count = element.num_children or 0
    if not 0 <= count < len(elements) - index:
        raise ValueError(f"group {'.'.join(path) or 'root'} has {count:,} children, which the schema has not")
    leaf = element.type is not None and not count and index > 0
    if index and element.type is None and element.num_children is None:
        raise ValueError(f"column {'.'.join(path)} has neither a type nor children")
    physical = name_of(TYPES, element.type) if leaf and element.type is not None else None
    _check(element, path, physical)
    children = []
    index += 1
    for _ in range(count):
        child, index = _node(elements, index, path, definition, repetition)
        children.append(child)
    node = SchemaNode(
        element.name, path, REPETITIONS[kind], physical, element.type_length if leaf else None,
        describe(element), element, definition, repetition, tuple(children),
    )  # fmt: skip
    return node, index


def _check(element: SchemaElement, path: tuple[str, ...], physical: str | None) -> None:
    where = f"column {'.'.join(path)}"
    if physical is None:
        return
    if physical not in TYPES:
        raise ValueError(f"{where} has a type that is {physical}")
    if physical == "FIXED_LEN_BYTE_ARRAY" and not 0 <= (element.type_length or 0) < 1 << 30:
        raise ValueError(f"{where} has values of {element.type_length} bytes")
    kind, parameters = _kind(element)
    if kind in ("LIST", "MAP", "MAP_KEY_VALUE", "VARIANT"):
        raise ValueError(f"{where} is a {kind}, which only a group can be")
    carriers = _CARRIERS.get(kind)
    if kind in ("TIME", "INTEGER"):
        carriers = {_carrier(kind, parameters)}
    if carriers is not None and physical not in carriers:
        raise ValueError(f"{where} is a {kind} and its type {physical}, which does not go together")
    if kind in _LENGTHS and element.type_length != _LENGTHS[kind]:
        raise ValueError(f"{where} is a {kind} of {element.type_length} bytes, not {_LENGTHS[kind]}")
    if kind == "DECIMAL":
        precision, scale = _decimal(element)
        if precision < 1 or not 0 <= scale <= precision:
            raise ValueError(f"{where} is a DECIMAL of {precision} digits, {scale} behind the point")


def _kind(element: SchemaElement) -> tuple[str, object]:
    """Gives the name and parameters of what a column means; the newer annotation counts where both are there."""
    logical = element.logicalType
    if logical is not None:
        for name in LogicalType.__dataclass_fields__:
            value = getattr(logical, name)
            if value is not None:
                return name, value
    if element.converted_type is not None:
        return name_of(CONVERTED, element.converted_type), None
    return "", None


def _carrier(kind: str, parameters: object) -> str:
    if kind == "TIME":
        return "INT32" if _unit(parameters) == "MILLIS" else "INT64"
    bits = getattr(parameters, "bitWidth", 0)
    if bits not in (8, 16, 32, 64):
        return f"an integer of {bits} bits"
    return "INT64" if bits == 64 else "INT32"


def _unit(parameters: object) -> str:
    units = parameters.unit if isinstance(parameters, TimeType) else None
    return next(
        (name for name in ("MILLIS", "MICROS", "NANOS") if getattr(units, name, None) is not None), "unknown"
    )


def _decimal(element: SchemaElement) -> tuple[int, int]:
    if element.logicalType is not None and element.logicalType.DECIMAL is not None:
        return element.logicalType.DECIMAL.precision, element.logicalType.DECIMAL.scale
    return element.precision or 0, element.scale or 0


def describe(element: SchemaElement) -> str:
    """Words what a column means.

    Args:
        element: The schema's element.

    Example:
        >>> describe(SchemaElement(name="n", type=1, converted_type=5, precision=9, scale=2))
        'DECIMAL(9, 2)'
    """
    kind, parameters = _kind(element)
    if kind == "DECIMAL":
        return "DECIMAL({}, {})".format(*_decimal(element))
    if isinstance(parameters, TimeType):
        return f"{kind}({_unit(parameters)}, {'UTC' if parameters.isAdjustedToUTC else 'local'})"
    if kind == "INTEGER":
        return f"{'INT' if getattr(parameters, 'isSigned', True) else 'UINT'}({getattr(parameters, 'bitWidth', '?')})"
    if element.logicalType is not None and not kind:
        return "unknown"
    known = getattr(parameters, "crs", None)
    return f"{kind}({known})" if known else kind


def find_leaf(root: SchemaNode, column: str) -> tuple[int, SchemaNode]:
    """Finds a leaf by its dotted path.

    Args:
        root: The schema.
        column: The path; a prefix that only one leaf has is enough (``"text"``, ``"messages.list.element.content"``).

    Returns:
        Its index among the leaves, which is that of its column chunks, and the leaf.

    Raises:
        ColumnNotFoundError: There is none, or there are several.
    """
    leaves = list(root.leaves())
    whole = [(index, leaf) for index, leaf in enumerate(leaves) if leaf.dotted == column]
    below = [(index, leaf) for index, leaf in enumerate(leaves) if leaf.dotted.startswith(column + ".")]
    found = whole or below
    if len(found) != 1:
        raise ColumnNotFoundError.from_name(
            column, [leaf.dotted for _, leaf in found] or [leaf.dotted for leaf in leaves]
        )
    return found[0]
