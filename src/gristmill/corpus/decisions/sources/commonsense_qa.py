"""tau/commonsense_qa: everyday questions; the test split has no answers, as a choice over A, B, C, ..."""

from __future__ import annotations

from collections.abc import Iterator

from gristmill.corpus.decisions.question import Outcome
from gristmill.corpus.decisions.sources.base import Source, SourceReader, attempt
from gristmill.corpus.decisions.sources.choices import multiple_choice

NAME = "commonsense_qa"


def load(reader: SourceReader) -> Iterator[Outcome]:
    """Yields a record a row."""
    for row in reader.rows("question", "choices", "answerKey"):
        yield attempt(multiple_choice, NAME, row)


SOURCE = Source(NAME, "tau/commonsense_qa", load, splits=("train", "validation", "test"))
