"""From System One questions and labels to options and targets: pure functions, nothing is read here."""

from __future__ import annotations

import datetime as dt
import json
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

from gristmill.corpus.decisions.record import (
    NOUL_KEYS,
    SUM_TOLERANCE,
    Option,
    Record,
    broken,
    check_question,
    check_target,
    noul_options,
    one_hot,
    score_options,
)
from gristmill.errors import RecordError

Outcome = Record | RecordError
"""What a source gives for one decision: the record, or why there is none."""

TEACHER_TOLERANCE = 0.05
"""How far from 1 the probabilities in a label may sum: ten options rounded to two decimals are off by up to 0.05."""


@dataclass(frozen=True, slots=True)
class Question:
    """A typed question without its answer.

    Attributes:
        type: ``"noul"``, ``"choice"`` or ``"score"``.
        instructions: The question or statement.
        options: The possible answers, in order.
    """

    type: str
    instructions: str
    options: tuple[Option, ...]

    def record(self, source: str, state: str, target: Sequence[float], group: str) -> Record:
        """Joins the question with a state and a target."""
        return Record(self.type, self.instructions, self.options, state, tuple(target), source, group)


def as_text(value: object) -> str:
    """Gives text as it is, times and decimals as they are written, and any other JSON value as compact JSON text.

    Raises:
        RecordError: The value is, or holds, something that has no text, such as bytes.

    Example:
        >>> as_text("as it is"), as_text({"b": 1, "a": None}), as_text(dt.date(2024, 1, 2))
        ('as it is', '{"b":1,"a":null}', '2024-01-02')
    """
    if isinstance(value, str):
        return value
    if isinstance(value, _WRITTEN):
        return _written(value)
    try:
        return json.dumps(value, ensure_ascii=False, separators=(",", ":"), default=_written)
    except RecordError:
        raise
    except (ValueError, TypeError, RecursionError) as error:
        # An integer of thousands of digits, a key that is no name, or values nested without end.
        raise broken("malformed_row", f"a value can't be written as text ({str(error)[:80]})") from error


_WRITTEN = (dt.date, dt.time, Decimal)


def _written(value: object) -> str:
    if isinstance(value, Decimal):
        return str(value)
    if isinstance(value, dt.date | dt.time):
        return value.isoformat()
    raise broken("malformed_row", f"a value of type {type(value).__name__} has no text")


def parse_json(text: object, field: str) -> Any:
    """Reads a field that holds JSON text (or the value itself, as some files have it).

    Args:
        text: The field's value.
        field: Its name, for the message.

    Raises:
        RecordError: It is missing or is not JSON.
    """
    if text is None:
        raise broken("malformed_row", f"no {field}")
    if not isinstance(text, str):
        return text
    try:
        return json.loads(text)
    except (ValueError, RecursionError) as error:
        raise broken("malformed_row", f"{field} is not JSON ({str(error)[:80]})") from error


def parse_question(value: object) -> Question:
    """Turns a System One question into options.

    Args:
        value: An object with ``type``, ``instructions`` and, by type, ``criteria``: for a noul nothing or an object
            with the keys ``true`` and ``false``; for a choice an object from key to description; for a score a list
            of level descriptions, lowest first.

    Raises:
        RecordError: The question breaks a rule; `.kind` says which.

    Example:
        >>> parse_question(
        ...     {"type": "score", "instructions": "How bad?", "criteria": ["Fine.", "Bad."]}
        ... ).options
        (Option(key='0', description='Fine.'), Option(key='1', description='Bad.'))
    """
    if not isinstance(value, Mapping):
        raise broken("malformed_question", "not an object")
    type = value.get("type")
    instructions = value.get("instructions")
    text = "" if instructions is None else as_text(instructions)
    question = Question(str(type), text, _options(type, value.get("criteria")))
    check_question(question.type, question.instructions, question.options)
    return question


def _options(type: object, criteria: object) -> tuple[Option, ...]:
    if type == "noul" and criteria is None:
        return noul_options()
    if type == "noul" and isinstance(criteria, Mapping):
        if not set(criteria) <= set(NOUL_KEYS):
            raise broken("malformed_noul", f"criteria for {sorted(map(str, criteria))[:5]}")
        return noul_options(*(_description(criteria.get(key)) for key in NOUL_KEYS))
    if type == "choice" and isinstance(criteria, Mapping):
        return tuple(Option(str(key), _description(text)) for key, text in criteria.items())
    if type == "score" and isinstance(criteria, Sequence) and not isinstance(criteria, str):
        return score_options([_description(text) for text in criteria])
    raise broken("malformed_question", f"type {type!r} with criteria of {criteria.__class__.__name__}")


def _description(value: object) -> str | None:
    return None if value is None else as_text(value)


def target_from(question: Question, label: object) -> tuple[float, ...]:
    """Turns a label into the probability of each option.

    Args:
        question: The question it answers.
        label: ``{"probabilities": {key: p}}`` (an option that is not named has 0), ``{"noul": p}`` with the
            probability of "true", or a hard label: true or false, an option's key, a level's index.

    Returns:
        One probability an option. Labels that sum to 1 within `TEACHER_TOLERANCE` are brought to 1; those exact to
        rounding are left as given.

    Raises:
        RecordError: The label does not fit the question; `.kind` says how.

    Example:
        >>> question = parse_question({"type": "noul", "instructions": "It rains."})
        >>> target_from(question, {"noul": 0.75}), target_from(question, False)
        ((0.25, 0.75), (1.0, 0.0))
    """
    if label is None:
        raise broken("unlabelled")
    if isinstance(label, Mapping):
        if isinstance(label.get("probabilities"), Mapping):
            return normalise(question.type, _by_key(question, label["probabilities"]))
        if "noul" in label and question.type == "noul":
            p = _number(label["noul"])
            return normalise("noul", (round(1.0 - p, 12), p))
        raise broken("malformed_label", f"an object with {sorted(map(str, label))[:5]}")
    return one_hot(len(question.options), _position(question, label))


def _by_key(question: Question, probabilities: Mapping[str, object]) -> tuple[float, ...]:
    keys = [option.key for option in question.options]
    unknown = set(probabilities) - set(keys)
    if unknown:
        raise broken("malformed_label", f"there is no option {min(map(repr, unknown))}")
    return tuple(_number(probabilities.get(key, 0.0)) for key in keys)


def _number(value: object) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise broken("malformed_label", f"{value!r} is not a probability")
    try:
        return float(value)
    except OverflowError as error:
        raise broken("target_not_finite", "a number beyond 1e308") from error


def _position(question: Question, label: object) -> int:
    keys = [option.key for option in question.options]
    key = label
    if isinstance(label, bool):
        key = str(label).lower() if question.type == "noul" else None
    elif isinstance(label, int) and question.type == "score":
        key = str(label)
    if isinstance(key, str) and key in keys:
        return keys.index(key)
    raise broken("malformed_label", f"{str(label)[:40]!r} is none of the options")


def normalise(type: str, target: Sequence[float], tolerance: float = TEACHER_TOLERANCE) -> tuple[float, ...]:
    """Brings probabilities that almost sum to 1 to exactly 1.

    Args:
        type: The question's type, for the rules that depend on it.
        target: One probability an option.
        tolerance: How far from 1 the sum may be.

    Raises:
        RecordError: A probability is not a finite number of at least 0, or the sum is further off.

    Example:
        >>> normalise("choice", (0.5, 0.48))
        (0.510204081633, 0.489795918367)
    """
    check_target(type, target, len(target), tolerance)
    total = math.fsum(target)
    # Numbers that are right are left as their authors wrote them.
    if abs(total - 1.0) <= SUM_TOLERANCE / 10:
        return tuple(target)
    return tuple(round(p / total, 12) for p in target)


def native_records(
    source: str, state: object, group: object, questions: object, labels: Sequence[object]
) -> Iterator[Outcome]:
    """Yields one record a question of a row in the System One shape.

    Args:
        source: Name of the source.
        state: What the questions are about; JSON that is not text becomes text.
        group: What keeps them together: an identifier.
        questions: Question name -> question, as JSON text or an object.
        labels: Where to look for a question's label, in order: question name -> label, as JSON text or an object,
            or None. The first that has the question counts, even if it turns out to be wrong.

    Yields:
        A record, or the error that says why a question gives none.
    """
    try:
        if state is None or group is None:
            raise broken("malformed_row", "no state" if state is None else "no identifier")
        about, together = as_text(state), as_text(group)
        parsed = parse_json(questions, "questions")
        if not isinstance(parsed, Mapping):
            raise broken("malformed_row", "questions is not an object")
        answers = [parse_json(label, "label") for label in labels if label is not None]
        if not all(isinstance(answer, Mapping) for answer in answers):
            raise broken("malformed_row", "a label field is not an object")
    except RecordError as error:
        yield error
        return
    for name, value in parsed.items():
        label = next((a[name] for a in answers if a.get(name) is not None), None)
        try:
            question = parse_question(value)
            yield question.record(source, about, target_from(question, label), together)
        except RecordError as error:
            yield error
