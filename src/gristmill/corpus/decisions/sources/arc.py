"""allenai/ai2_arc: science questions, both configs, as a choice over A, B, C, ..."""

from __future__ import annotations

from collections.abc import Iterator

from gristmill.corpus.decisions.question import Outcome
from gristmill.corpus.decisions.sources.base import Source, SourceReader, attempt
from gristmill.corpus.decisions.sources.choices import multiple_choice

NAME = "arc"


def load(reader: SourceReader) -> Iterator[Outcome]:
    """Yields a record a row."""
    for row in reader.rows("question", "choices", "answerKey"):
        yield attempt(multiple_choice, NAME, row)


SOURCE = Source(
    NAME,
    "allenai/ai2_arc",
    load,
    configs=("ARC-Challenge", "ARC-Easy"),
    splits=("train", "validation", "test"),
)
