"""The fingerprint of a dataset, computed when someone asks: most datasets in memory never need theirs."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

import pyarrow as pa

from gristmill.files.stamps import change_stamp
from gristmill.fingerprint import Hasher, combine


class Identity:
    """A fingerprint that is known, or can be computed from a table, or from another one and a step.

    Args:
        value: The fingerprint, if known.
        make: Computes it otherwise.
        parent: The identity a step started from.
        step: What the step was.

    Example:
        >>> base = Identity(value="abc")
        >>> base.after("select", "1").value == base.after("select", "1").value != base.after(
        ...     "select", "2"
        ... ).value
        True
    """

    __slots__ = ("_make", "_parent", "_step", "_value")

    def __init__(
        self,
        value: str | None = None,
        make: Callable[[], str] | None = None,
        parent: Identity | None = None,
        step: tuple[str, str] = ("", ""),
    ) -> None:
        self._value = value
        self._make = make
        self._parent = parent
        self._step = step

    @classmethod
    def of_table(cls, table: pa.Table) -> Identity:
        """Makes the identity of a table: equal rows, equal fingerprint."""
        return cls(make=lambda: Hasher.hash(table))

    @classmethod
    def of_files(cls, files: Sequence[Path]) -> Identity:
        """Makes the identity of a dataset in files: their names, sizes and times, so that nothing has to be read."""

        def make() -> str:
            return Hasher.hash([(str(file.resolve()), *change_stamp(file.stat())) for file in files])

        return cls(make=make)

    def after(self, name: str, digest: str) -> Identity:
        """Makes the identity of what a step gives.

        Args:
            name: The step.
            digest: The hash of its arguments.
        """
        return Identity(parent=self, step=(name, digest))

    @property
    def value(self) -> str:
        """The fingerprint: 16 hexadecimal digits, or what the user gave."""
        # By a loop, since a dataset may be the result of thousands of steps.
        chain: list[Identity] = []
        node = self
        while node._value is None and node._parent is not None:
            chain.append(node)
            node = node._parent
        if node._value is None:
            assert node._make is not None
            node._value, node._make = node._make(), None
        for later in reversed(chain):
            assert later._parent is not None
            assert later._parent._value is not None
            later._value = combine(later._parent._value, *later._step)
            later._parent = None
        assert self._value is not None
        return self._value
