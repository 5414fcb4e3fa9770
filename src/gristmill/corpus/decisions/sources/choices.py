"""Multiple-choice rows as ARC and CommonsenseQA have them: texts with labels, and the label of the right one."""

from __future__ import annotations

import string
from collections.abc import Mapping, Sequence

from gristmill.corpus.decisions.question import Question
from gristmill.corpus.decisions.record import Option, Record, broken, one_hot
from gristmill.corpus.decisions.sources.base import Row, text_of
from gristmill.corpus.hashing import short_hash

INSTRUCTIONS = "Which option answers the question?"


def multiple_choice(source: str, row: Row) -> Record:
    """Turns a multiple-choice row into a choice over A, B, C, ...; the question is the state.

    Args:
        source: Name of the source.
        row: Has ``question``, ``choices`` (``text`` and ``label``, two lists) and ``answerKey``. Labels may be any
            (some ARC questions use 1 to 4); options are lettered anew by position.

    Raises:
        RecordError: The row has no answer, or one that is none of its labels.

    Example:
        >>> row = {"question": "2+2?", "choices": {"text": ["3", "4"], "label": ["1", "2"]}, "answerKey": "2"}
        >>> record = multiple_choice("arc", row)
        >>> record.options[1], record.target
        (Option(key='B', description='4'), (0.0, 1.0))
    """
    question = text_of(row, "question").strip()
    texts, labels = _lists(row.get("choices"))
    answer = row.get("answerKey")
    if not answer:
        raise broken("unlabelled")
    if labels.count(answer) != 1:
        raise broken("malformed_label", f"{answer!r} is not one of {labels[:10]}")
    options = tuple(Option(key, text) for key, text in zip(string.ascii_uppercase, texts, strict=False))
    target = one_hot(len(options), labels.index(answer))
    return Question("choice", INSTRUCTIONS, options).record(source, question, target, short_hash(question))


def _lists(choices: object) -> tuple[list[str], list[str]]:
    columns = [choices.get(name) for name in ("text", "label")] if isinstance(choices, Mapping) else []
    if not columns or not all(isinstance(column, Sequence) for column in columns):
        raise broken("malformed_row", "choices are not two lists, text and label")
    texts, labels = ([item for item in column or () if isinstance(item, str)] for column in columns)
    if len(texts) != len(labels) or len(texts) != len(columns[0] or ()) or len(texts) > 26:
        raise broken("malformed_row", f"{len(texts)} texts for {len(labels)} labels")
    return texts, labels
