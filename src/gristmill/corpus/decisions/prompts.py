"""Prompts of the token-id format: their text layout, and which type of question their options make.

::

    ### State:                      ### State:
    {state}                         {state}

    ### Question:                   ### Questions:
    {question}                      1) {question} [A) yes, B) no]
                                    2) {question} [A) low, B) high]
    ### Options:
    A) yes                          ### Answer:
    B) no

    ### Answer:
"""

from __future__ import annotations

import itertools
import re
import string
from collections.abc import Sequence
from dataclasses import dataclass

from gristmill.corpus.decisions.question import Question, normalise
from gristmill.corpus.decisions.record import Option, broken, noul_options, score_options

LONGEST_QUESTION = 160
"""Characters of a question that still fit a model's question head; longer ones move into the state."""

GENERIC = "Answer the question at the end of the text."

_LETTERS = string.ascii_uppercase
_SINGLE = re.compile(
    r"### State:\n(?P<state>.*)\n\n### Question:\n(?P<question>.*)\n\n### Options:\n(?P<options>.*)\n\n### Answer:",
    re.DOTALL,
)
_MULTI = re.compile(
    r"### State:\n(?P<state>.*)\n\n### Questions:\n(?P<questions>.*)\n\n### Answer:", re.DOTALL
)
_ASKED = re.compile(r"(?P<question>.*) \[A\) (?P<options>.*)\]", re.DOTALL)
_WHOLE_NUMBER = re.compile(r"[+-]?[0-9]{1,9}")


@dataclass(frozen=True, slots=True)
class Asked:
    """One question of a prompt.

    Attributes:
        question: Its text.
        options: The texts of its options, in order.
    """

    question: str
    options: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Prompt:
    """A parsed prompt.

    Attributes:
        state: What it is about.
        asked: Its questions, in order.
    """

    state: str
    asked: tuple[Asked, ...]


def parse_prompt(text: str) -> Prompt:
    r"""Takes a prompt apart.

    Args:
        text: The decoded prompt.

    Raises:
        RecordError: It does not have the layout, for example because its beginning was cut off.

    Example:
        >>> parse_prompt("### State:\nSnow.\n\n### Questions:\n1) Cold? [A) yes, B) no]\n\n### Answer:").asked
        (Asked(question='Cold?', options=('yes', 'no')),)
    """
    if match := _SINGLE.fullmatch(text.strip()):
        options = _lettered(f"\n{match['options']}", "\n")
        return Prompt(match["state"], (Asked(match["question"].strip(), options),))
    if match := _MULTI.fullmatch(text.strip()):
        return Prompt(match["state"], tuple(_parse_asked(line) for line in _numbered(match["questions"])))
    raise broken("malformed_prompt", f"it begins {text[:40]!r}")


def _numbered(text: str) -> list[str]:
    lines = _split_marks(f"\n{text}", [f"\n{number}) " for number in range(1, text.count("\n") + 2)])
    if not lines:
        raise broken("malformed_prompt", "the questions are not numbered")
    return lines


def _lettered(text: str, separator: str) -> tuple[str, ...]:
    options = _split_marks(text, [f"{separator}{letter}) " for letter in _LETTERS])
    if not options:
        raise broken("malformed_prompt", "the options are not lettered")
    return tuple(options)


def _split_marks(text: str, marks: Sequence[str]) -> list[str]:
    """Splits text that begins with the first mark at each following mark, as long as they come in order."""
    if not text.startswith(marks[0]):
        return []
    parts: list[str] = []
    rest = text[len(marks[0]) :]
    for mark in marks[1:]:
        part, found, after = rest.partition(mark)
        if not found:
            break
        parts.append(part)
        rest = after
    return [*parts, rest]


def _parse_asked(line: str) -> Asked:
    match = _ASKED.fullmatch(line.strip())
    if match is None:
        raise broken("malformed_prompt", f"no options in {line[:40]!r}")
    return Asked(match["question"].strip(), _lettered(f", A) {match['options']}", ", "))


def typed_question(
    instructions: str, options: Sequence[str], target: Sequence[float]
) -> tuple[Question, tuple[float, ...]]:
    """Decides by its options what type a question is.

    Args:
        instructions: The question.
        options: The options' texts, in order.
        target: The probability of each.

    Returns:
        The question, and the target in the order of its options: yes and no make a noul, consecutive whole numbers a
        score, everything else a choice over A, B, C, ...

    Raises:
        RecordError: There are not as many probabilities as options, or they are no probabilities.

    Example:
        >>> typed_question("Is it cold?", ["Yes", "No"], [0.9, 0.1])[1]
        (0.1, 0.9)
        >>> [typed_question("?", names, [1, 0])[0].type for names in (["3", "4"], ["3", "5"])]
        ['score', 'choice']
    """
    if len(options) != len(target):
        raise broken("target_length", f"{len(target)} for {len(options)} options")
    lower = [option.strip().lower() for option in options]
    if sorted(lower) == ["no", "yes"]:
        yes = normalise("choice", target)[lower.index("yes")]
        return Question("noul", instructions, noul_options()), (round(1.0 - yes, 12), yes)
    if _consecutive(lower):
        levels = score_options([option.strip() for option in options])
        return Question("score", instructions, levels), normalise("score", target)
    lettered = tuple(Option(key, text) for key, text in zip(_LETTERS, options, strict=False))
    return Question("choice", instructions, lettered), normalise("choice", target)


def _consecutive(options: Sequence[str]) -> bool:
    if len(options) < 2 or not all(_WHOLE_NUMBER.fullmatch(option) for option in options):
        return False
    numbers = [int(option) for option in options]
    return all(after == before + 1 for before, after in itertools.pairwise(numbers))


def fit_question(question: str, state: str) -> tuple[str, str]:
    """Moves a question that is too long for instructions into the state.

    Returns:
        The instructions and the state.

    Example:
        >>> fit_question("Is it cold?", "Snow.")
        ('Is it cold?', 'Snow.')
        >>> fit_question("Why " * 50 + "?", "Snow.")[0]
        'Answer the question at the end of the text.'
    """
    if len(question) <= LONGEST_QUESTION:
        return question, state
    return GENERIC, f"{state}\n\n{question}" if state else question
