"""A decision record: one question with its options, the state it is asked about, and how likely each option is.

Three types, as in the System One format:

- ``noul``: is a statement true? Two options with the keys ``false`` and ``true``, in that order.
- ``choice``: which of 2 to 255 options? The keys are names.
- ``score``: which of 2 to 10 levels, lowest first? The keys are ``"0"``, ``"1"``, ...

`check_record` holds the rules. Each has a short name, its *kind*, under which broken records are counted.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from gristmill.corpus.hashing import hash_values
from gristmill.errors import RecordError

TYPES = ("noul", "choice", "score")
SPLITS = ("train", "val", "test")
MOST_OPTIONS = {"noul": 2, "choice": 255, "score": 10}
NOUL_KEYS = ("false", "true")

SUM_TOLERANCE = 1e-6
"""How far a record's target may be from 1: rounding of numbers, nothing more."""

KINDS: Mapping[str, str] = {
    "malformed_row": "a row lacks a field or holds text that is not JSON",
    "malformed_question": "a question has no known type or its criteria have the wrong shape",
    "malformed_prompt": "a prompt does not have the layout it should have",
    "unlabelled": "there is no answer to the question",
    "malformed_label": "the answer names an option that is not there, or is no answer at all",
    "empty_instructions": "the instructions are empty",
    "few_options": "fewer than two options",
    "many_options": "more options than the type allows",
    "duplicate_options": "two options have the same key",
    "empty_option": "an option's key is empty",
    "malformed_noul": "a noul whose options are not false and true, or whose probability is not between 0 and 1",
    "score_levels": "a score whose keys are not 0, 1, 2, ... in order",
    "target_length": "as many probabilities as options are needed",
    "target_not_finite": "a probability is not a finite number",
    "target_negative": "a probability is negative",
    "target_sum": "the probabilities do not sum to 1",
    "bad_text": "a text can't be written as UTF-8",
}
"""Every kind of invalid record, with what it means."""


@dataclass(frozen=True, slots=True)
class Option:
    """One possible answer.

    Attributes:
        key: Its name; unique within the question.
        description: What it means, if that is said.
    """

    key: str
    description: str | None = None


@dataclass(frozen=True, slots=True)
class Record:
    """One typed decision.

    Attributes:
        type: ``"noul"``, ``"choice"`` or ``"score"``.
        instructions: The question or statement.
        options: The possible answers, in order.
        state: What the question is about, as text.
        target: The probability of each option, in the options' order; sums to 1.
        source: Name of the source it comes from.
        group: What it must stay together with when splits are made: the passage, the case, the state.
        split: ``"train"``, ``"val"``, ``"test"``, or empty before splits are made.

    Example:
        >>> record = Record("noul", "It rains.", noul_options(), "Wet streets.", (0.1, 0.9), "mine", "g1")
        >>> record.answer, check_record(record) is record
        (1, True)
    """

    type: str
    instructions: str
    options: tuple[Option, ...]
    state: str
    target: tuple[float, ...]
    source: str
    group: str
    split: str = ""

    @property
    def answer(self) -> int:
        """Position of the most likely option; the first of equals."""
        return max(range(len(self.target)), key=self.target.__getitem__)

    @property
    def stratum(self) -> tuple[str, int, int]:
        """(type, number of options, position of the answer): what `balanced_cap` keeps even."""
        return self.type, len(self.options), self.answer

    def content_hash(self, seed: int = 0) -> int:
        """64 bits over instructions, options and state: equal for exact repeats, case and all."""
        options = [[option.key, option.description] for option in self.options]
        return hash_values(self.instructions, options, self.state, seed=seed)

    def to_dict(self) -> dict[str, Any]:
        """The record as it is written: plain values, keys in their fixed order."""
        return {
            "type": self.type,
            "instructions": self.instructions,
            "options": [{"key": o.key, "description": o.description} for o in self.options],
            "state": self.state,
            "target": list(self.target),
            "source": self.source,
            "group": self.group,
            "split": self.split,
        }

    @classmethod
    def from_dict(cls, value: Mapping[str, Any]) -> Record:
        """Reads back what `to_dict` gave.

        Raises:
            RecordError: A field is missing or has the wrong type.
        """
        try:
            return cls(
                **{name: _text(value[name]) for name in ("type", "instructions", "state", "source", "group")},
                options=tuple(Option(_text(o["key"]), o["description"]) for o in value["options"]),
                target=tuple(float(p) for p in value["target"]),
                split=_text(value["split"]),
            )
        except KeyError as error:
            raise RecordError.from_rule("malformed_row", f"the field {error} is missing") from error
        except (TypeError, ValueError) as error:
            raise RecordError.from_rule("malformed_row", str(error)) from error


def _text(value: object) -> str:
    if not isinstance(value, str):
        raise TypeError(f"text expected, not {value!r}")
    return value


def noul_options(false: str | None = None, true: str | None = None) -> tuple[Option, ...]:
    """The two options of a noul, in their order.

    Args:
        false: What "no" means, if that is said.
        true: What "yes" means, if that is said.
    """
    return Option("false", false), Option("true", true)


def score_options(levels: Sequence[str | None]) -> tuple[Option, ...]:
    """The options of a score: keys "0", "1", ... with the levels' descriptions, lowest first."""
    return tuple(Option(str(position), level) for position, level in enumerate(levels))


def one_hot(size: int, position: int) -> tuple[float, ...]:
    """A target that is certain.

    Example:
        >>> one_hot(3, 1)
        (0.0, 1.0, 0.0)
    """
    return tuple(1.0 if place == position else 0.0 for place in range(size))


def broken(kind: str, problem: str = "") -> RecordError:
    """Makes the error for one broken rule, worded by its kind and, if given, the particulars."""
    return RecordError.from_rule(kind, f"{KINDS[kind]}{': ' if problem else ''}{problem}")


def check_question(type: str, instructions: str, options: Sequence[Option]) -> None:
    """Checks everything about a question but its answer.

    Args:
        type: The question's type.
        instructions: Its text.
        options: Its options, in order.

    Raises:
        RecordError: A rule is broken; `.kind` says which.
    """
    if type not in TYPES:
        raise broken("malformed_question", f"type {type!r}")
    if not instructions.strip():
        raise broken("empty_instructions")
    if len(options) < 2:
        raise broken("few_options", f"{len(options)}")
    keys = [option.key for option in options]
    if type == "noul" and tuple(keys) != NOUL_KEYS:
        raise broken("malformed_noul", f"options {keys[:5]}")
    if len(keys) > MOST_OPTIONS[type]:
        raise broken("many_options", f"{len(keys)} for a {type}")
    if type == "score" and keys != [str(level) for level in range(len(keys))]:
        raise broken("score_levels", f"{keys}")
    if not all(key.strip() for key in keys):
        raise broken("empty_option")
    if len(set(keys)) < len(keys):
        raise broken("duplicate_options", f"{keys[:10]}")


def check_target(type: str, target: Sequence[float], options: int, tolerance: float = SUM_TOLERANCE) -> None:
    """Checks a target against the number of options.

    Args:
        type: The question's type; a noul's probability has a rule of its own.
        target: The probabilities.
        options: How many options there are.
        tolerance: How far from 1 the sum may be.

    Raises:
        RecordError: A rule is broken; `.kind` says which.
    """
    if len(target) != options:
        raise broken("target_length", f"{len(target)} for {options} options")
    if not all(math.isfinite(p) for p in target):
        raise broken("target_not_finite")
    if type == "noul" and not 0.0 <= target[1] <= 1.0:
        raise broken("malformed_noul", f"probability {target[1]:g}")
    if min(target) < 0.0:
        raise broken("target_negative", f"{min(target):g}")
    total = math.fsum(target)
    if abs(total - 1.0) > tolerance:
        raise broken("target_sum", f"{total:.6g}")


def check_record(record: Record) -> Record:
    """Checks a record against every rule.

    Args:
        record: The record.

    Returns:
        The same record.

    Raises:
        RecordError: A rule is broken; `.kind` says which (see `KINDS`).
    """
    check_question(record.type, record.instructions, record.options)
    check_target(record.type, record.target, len(record.options))
    texts = [record.instructions, record.state, record.group, record.source]
    for option in record.options:
        texts += [option.key, option.description or ""]
    try:
        "".join(texts).encode()
    except UnicodeEncodeError as error:
        raise broken("bad_text", f"{error.object[error.start : error.end]!r}") from error
    return record
