"""n4ze3m/typed-decisions-synth: native records with a teacher's probabilities, the gold label where there are none."""

from __future__ import annotations

from collections.abc import Iterator

from gristmill.corpus.decisions.question import Outcome, native_records
from gristmill.corpus.decisions.sources.base import Source, SourceReader

NAME = "typed_synth"


def load(reader: SourceReader) -> Iterator[Outcome]:
    """Yields a record a question; a state that is JSON text is kept as its author wrote it."""
    for row in reader.rows("state_id", "state", "questions", "gold", optional=("teacher",)):
        labels = (row.get("teacher"), row.get("gold"))
        yield from native_records(NAME, row["state"], row["state_id"], row["questions"], labels)


SOURCE = Source(NAME, "n4ze3m/typed-decisions-synth", load, splits=("train", "validation"))
