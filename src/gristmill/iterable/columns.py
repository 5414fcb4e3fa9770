"""Columns chosen, renamed, brought to other types: each block by itself."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from gristmill.features import Features
from gristmill.features.picking import pick_features, rename_features
from gristmill.iterable.block import Block, Columns, gathered, parts_of
from gristmill.iterable.node import BlockStream, CountingStream, Node, OneToOne, State, Stream
from gristmill.iterable.origin import locating


@dataclass(frozen=True)
class _EachBlock(OneToOne):
    """A node that changes the columns of each block."""

    def change(self, block: Block) -> Block:
        """Gives what becomes of a block."""
        raise NotImplementedError

    def open(self, epoch: int, state: State = None) -> Stream:
        """Starts reading."""
        return BlockStream(self.child.open(epoch, state), self.change)


@dataclass(frozen=True)
class Select(_EachBlock):
    """Some columns.

    Attributes:
        names: Which, in the order wanted.
    """

    names: tuple[str, ...]

    @property
    def features(self) -> Features | None:  # type: ignore[override]  # a field elsewhere
        """Those of the columns chosen."""
        below = self.child.features
        return None if below is None else pick_features(below, self.names)

    def change(self, block: Block) -> Block:
        """Keeps the columns."""
        return block.choose(self.names)


@dataclass(frozen=True)
class Remove(_EachBlock):
    """All columns but some.

    Attributes:
        names: Those that are left out.
    """

    names: tuple[str, ...]

    @property
    def features(self) -> Features | None:  # type: ignore[override]
        """Those of the columns that stay."""
        below = self.child.features
        return None if below is None else pick_features(below, [n for n in below if n not in self.names])

    def change(self, block: Block) -> Block:
        """Drops the columns."""
        return block.without(self.names)


@dataclass(frozen=True)
class Rename(_EachBlock):
    """Columns under other names.

    Attributes:
        mapping: New name by old name.
    """

    mapping: Mapping[str, str]

    @property
    def features(self) -> Features | None:  # type: ignore[override]
        """The same under the new names."""
        below = self.child.features
        return None if below is None else rename_features(below, self.mapping)

    def change(self, block: Block) -> Block:
        """Renames the columns."""
        return block.rename(self.mapping)


@dataclass(frozen=True)
class Cast(_EachBlock):
    """Columns brought to features, each value checked.

    Attributes:
        features: All columns, in the order wanted.
    """

    features: Features

    def change(self, block: Block) -> Block:
        """Casts the columns."""
        table, features = block.table(self.features)
        return Columns.of_table(table, features, block.origin)

    def open(self, epoch: int, state: State = None) -> Stream:
        """Starts reading."""
        return CountingStream(self.child, epoch, state, self.change)


@dataclass(frozen=True)
class CastColumn(_EachBlock):
    """One column of a stream whose other columns are not known, brought to a feature.

    Attributes:
        name: The column.
        feature: What it becomes.
    """

    name: str
    feature: Any

    @property
    def features(self) -> None:  # type: ignore[override]
        """Unknown, as below."""
        return

    def seen(self, far: bool) -> Node:
        """Gives the column its feature among those that a look finds."""
        below = self.child.seen(far)
        known = below.features
        return self if known is None else Cast(below, Features({**known, self.name: self.feature}))

    def change(self, block: Block) -> Block:
        """Casts the column."""
        parts = [
            (rows, self._cast(part) if part is block else locating(self._cast, part.origin, part))
            for rows, part in parts_of(block)
        ]
        return gathered(parts, block.num_rows)

    def open(self, epoch: int, state: State = None) -> Stream:
        """Starts reading."""
        return CountingStream(self.child, epoch, state, self.change)

    def _cast(self, block: Columns) -> Columns:
        table, features = block.choose([self.name]).table(Features({self.name: self.feature}))
        columns = {**block.columns, self.name: table.column(0)}
        return Columns(columns, block.num_rows, {**block.features, **features}, block.origin)


@dataclass(frozen=True)
class Describe(_EachBlock):
    """The same columns under features that are stored alike, for example decoded or not.

    Attributes:
        features: The features.
    """

    features: Features

    def change(self, block: Block) -> Block:
        """Puts the features in place of those there were."""
        if isinstance(block, Columns):
            return Columns(block.columns, block.num_rows, self.features, block.origin)
        return block


def with_decoding(features: Features, enable: bool) -> Features:
    """Gives the same features, told to decode or not to.

    Args:
        features: The features; only those of media files have a say in it.
        enable: Whether values are decoded.
    """
    return Features({name: _told(feature, enable) for name, feature in features.items()})


def _told(feature: Any, enable: bool) -> Any:
    if isinstance(feature, Mapping):
        return {name: _told(inner, enable) for name, inner in feature.items()}
    if hasattr(feature, "decode") and hasattr(feature, "decode_example"):
        return replace(feature, decode=enable)
    if hasattr(feature, "feature"):
        return replace(feature, feature=_told(feature.feature, enable))
    return feature
