"""LocalLLaMA/typed-decisions: the external benchmark. Only its test split is read, and it is never trained on."""

from __future__ import annotations

from collections.abc import Iterator

from gristmill.corpus.decisions.question import Outcome, native_records
from gristmill.corpus.decisions.sources.base import Source, SourceReader

NAME = "typed_decisions_bench"


def load(reader: SourceReader) -> Iterator[Outcome]:
    """Yields a record a question."""
    for row in reader.rows("id", "state", "questions", "gold"):
        yield from native_records(NAME, row["state"], row["id"], row["questions"], (row["gold"],))


SOURCE = Source(NAME, "LocalLLaMA/typed-decisions", load, configs=("all",), splits=("test",), test_only=True)
