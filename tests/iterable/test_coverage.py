"""No node is left out: each class of node in the package stands in the lists that the two proofs go through."""

import importlib
import inspect
import pkgutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import gristmill
from gristmill.iterable.node import Node
from tests.iterable.test_nodes import FILES, NODES, OWN_WAY, files

__all__ = ["files"]  # the fixture

# Steps of one machine's share, which come up in every proof of sharing; and tables of users' builders, which are
# proved where builders are.
ELSEWHERE = {"Step", "_GeneratedTables"}


def _classes() -> set[type[Node]]:
    for module in pkgutil.walk_packages(gristmill.__path__, "gristmill."):
        if module.name.startswith(("gristmill.iterable.", "gristmill.builder.", "gristmill.load.")):
            importlib.import_module(module.name)

    def below(kind: Any) -> Iterator[type[Node]]:
        for one in kind.__subclasses__():
            yield one
            yield from below(one)

    return {kind for kind in below(Node) if kind.__module__.startswith("gristmill.") and not _is_base(kind)}


def _is_base(kind: type[Node]) -> bool:
    inner = bool(kind.__subclasses__()) and (kind.__name__.startswith("_") or "open" not in vars(kind))
    return inspect.isabstract(kind) or inner


def _inside(node: Node) -> Iterator[type[Node]]:
    yield type(node)
    for child in node.children:
        yield from _inside(child)


@pytest.mark.parametrize("proof", ["resume", "sharing"])
def test_every_node_is_proved(proof: str, files: Path) -> None:
    made = {name: make() for name, make in NODES.items()} | {
        name: make(files) for name, make in FILES.items()
    }
    if proof == "sharing":
        # What stops early, or begins again, is shared in its own way; see `OWN_WAY`.
        made = {name: stream for name, stream in made.items() if OWN_WAY.get(name, "") in ("", "lists")}
    covered = {kind.__name__ for stream in made.values() for kind in _inside(stream._node)}
    missing = {kind.__name__ for kind in _classes()} - covered - ELSEWHERE
    assert not missing, f"add a stream with these to NODES in tests/iterable/test_nodes.py: {sorted(missing)}"
