"""Levels derived from values: rows go down the schema and leave (repetition, definition, value) at each leaf."""

from typing import Any


def stripe(root, rows):
    """Gives dotted path -> entries, for rows as Arrow's `to_pylist` gives them."""
    out: dict[str, list[Any]] = {leaf.dotted: [] for leaf in root.leaves()}
    for row in rows:
        for child in root.children:
            _visit(child, row[child.name], 0, 0, out)
    return out


def _visit(node, value, repetition, definition, out):
    if node.repetition == "REPEATED":
        for place, item in enumerate(value or ()):
            _content(node, item, repetition if place == 0 else node.max_repetition, definition + 1, out)
        if not value:
            _absent(node, repetition, definition, out)
    elif node.repetition == "OPTIONAL" and value is None:
        _absent(node, repetition, definition, out)
    else:
        _content(node, value, repetition, definition + (node.repetition == "OPTIONAL"), out)


def _content(node, value, repetition, definition, out):
    if node.physical is not None:
        # A null where the type has none: the column's type is Arrow's null type.
        out[node.dotted].append((repetition, definition, value))
        return
    kind = node.logical.partition("(")[0]
    only = node.children[0] if len(node.children) == 1 else None
    if kind in ("LIST", "MAP", "MAP_KEY_VALUE") and only is not None and only.repetition == "REPEATED":
        value = {only.name: [_item(node, only, item) for item in value]}
    for child in node.children:
        _visit(child, value[child.name], repetition, definition, out)


def _item(above, repeated, item):
    if repeated.physical is not None:
        return item
    names = [child.name for child in repeated.children]
    if isinstance(item, tuple):
        return dict(zip(names, item, strict=True))
    legacy = repeated.name == "array" or repeated.name == f"{above.name}_tuple"
    if len(names) == 1 and not legacy:
        return {names[0]: item}
    return item


def _absent(node, repetition, definition, out):
    for leaf in node.leaves():
        out[leaf.dotted].append((repetition, definition, None))
