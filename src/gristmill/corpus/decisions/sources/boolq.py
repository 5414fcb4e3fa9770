"""google/boolq: each yes/no question becomes a statement to check against its passage."""

from __future__ import annotations

from collections.abc import Iterator

from gristmill.corpus.decisions.question import Outcome, Question
from gristmill.corpus.decisions.record import Record, broken, noul_options, one_hot
from gristmill.corpus.decisions.sources.base import Row, Source, SourceReader, attempt, text_of
from gristmill.corpus.hashing import short_hash

NAME = "boolq"


def statement_check(row: Row) -> Record:
    """Turns a row into a noul; questions about one passage share a group.

    Raises:
        RecordError: A text is missing, or there is no answer.

    Example:
        >>> statement_check({"question": "is ice cold", "passage": " Ice. ", "answer": True}).instructions
        'Based on the passage, the answer to "Is ice cold?" is yes.'
    """
    question = text_of(row, "question").strip().rstrip("?").rstrip()
    passage = text_of(row, "passage").strip()
    if not question:
        raise broken("empty_instructions", "the row has no question")
    if not isinstance(row.get("answer"), bool):
        raise broken("unlabelled")
    statement = f'Based on the passage, the answer to "{question[:1].upper()}{question[1:]}?" is yes.'
    typed = Question("noul", statement, noul_options())
    return typed.record(NAME, passage, one_hot(2, int(row["answer"])), short_hash(passage))


def load(reader: SourceReader) -> Iterator[Outcome]:
    """Yields a record a row."""
    for row in reader.rows("question", "passage", "answer"):
        yield attempt(statement_check, row)


SOURCE = Source(NAME, "google/boolq", load, splits=("train", "validation"))
