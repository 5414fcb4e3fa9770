"""kgrozdanovski/assistant-decisions: native records about a voice assistant's turns, with gold probabilities."""

from __future__ import annotations

from collections.abc import Iterator

from gristmill.corpus.decisions.question import Outcome, native_records
from gristmill.corpus.decisions.sources.base import Source, SourceReader

NAME = "assistant_decisions"


def load(reader: SourceReader) -> Iterator[Outcome]:
    """Yields a record a question."""
    for row in reader.rows("case_id", "state", "questions", "gold"):
        yield from native_records(NAME, row["state"], row["case_id"], row["questions"], (row["gold"],))


SOURCE = Source(NAME, "kgrozdanovski/assistant-decisions", load, splits=("train", "validation", "test"))
