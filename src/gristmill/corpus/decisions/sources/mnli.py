"""nyu-mll/glue, mnli: what does the premise say about the hypothesis? A choice of three."""

from __future__ import annotations

from collections.abc import Iterator

from gristmill.corpus.decisions.question import Outcome, Question
from gristmill.corpus.decisions.record import Option, Record, broken, one_hot
from gristmill.corpus.decisions.sources.base import Row, Source, SourceReader, attempt, text_of
from gristmill.corpus.hashing import short_hash

NAME = "mnli"

# In the order of the dataset's label ids.
OPTIONS = (
    Option("entailment", "The statement follows from the text."),
    Option("neutral", "The statement may or may not be true, given the text."),
    Option("contradiction", "The statement can't be true, given the text."),
)


def inference(row: Row) -> Record:
    """Turns a row into a choice; the premise is the state, and statements about one premise share a group.

    Raises:
        RecordError: A text is missing, or there is no label (the hidden test sets have -1).

    Example:
        >>> inference({"premise": "It rains.", "hypothesis": "It is wet.", "label": 0}).instructions
        'How does the text relate to the statement "It is wet."?'
    """
    premise = text_of(row, "premise").strip()
    hypothesis = text_of(row, "hypothesis").strip()
    label = row.get("label")
    if not hypothesis:
        raise broken("empty_instructions", "the row has no hypothesis")
    if label is None or label == -1:
        raise broken("unlabelled")
    if label not in (0, 1, 2):
        raise broken("malformed_label", f"{label!r} is not 0, 1 or 2")
    question = Question("choice", f'How does the text relate to the statement "{hypothesis}"?', OPTIONS)
    return question.record(NAME, premise, one_hot(3, label), short_hash(premise))


def load(reader: SourceReader) -> Iterator[Outcome]:
    """Yields a record a row."""
    for row in reader.rows("premise", "hypothesis", "label"):
        yield attempt(inference, row)


# The two test splits have no labels.
SOURCE = Source(
    NAME,
    "nyu-mll/glue",
    load,
    configs=("mnli",),
    splits=("train", "validation_matched", "validation_mismatched"),
)
