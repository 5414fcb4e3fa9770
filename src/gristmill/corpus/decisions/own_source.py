"""A source of the user's own, described in a small YAML file instead of in code.

::

    name: shop_reviews                 # letters, digits, _ and -; names the output file
    repo: my-org/shop-reviews          # on the Hub
    config: default                    # optional
    split: [train, validation]         # optional, one or several; train if left out
    revision: main                     # optional; pinned to a commit at run time
    test_only: false                   # optional; true: every record goes to the test split
    fields:                            # placeholder -> column; a dot goes into a struct
      text: review.text
      stars: rating
      shop: shop_id
    template:
      type: choice                     # noul, choice or score
      instructions: How does the customer feel about {shop}?
      state: "{text}"
      options:                         # choice: key -> description or nothing; score: a list, lowest first;
        happy: The customer would come back.       # noul: nothing, or true: and false:
        unhappy:
      label: "{stars}"                 # an option's key, a level, true or false, or an object of probabilities
      group: "{shop}"                  # optional; the state if left out. Long ones are hashed
    labels: {1: unhappy, 5: happy}     # optional: what a label's value means

Placeholders are plain names in braces. Nothing in the file is executed: a name with a dot, an index, a conversion or
a format is refused.
"""

from __future__ import annotations

import re
import string
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from gristmill.corpus.decisions.question import Outcome, Question, as_text, parse_question, target_from
from gristmill.corpus.decisions.record import TYPES, Option, Record, broken
from gristmill.corpus.decisions.sources.base import Row, Source, SourceReader, attempt
from gristmill.corpus.hashing import short_hash
from gristmill.errors import InvalidArgumentError, RecordError, suggest
from gristmill.files.borders import reading
from gristmill.hub.card import parse_yaml

_TOP = {"name", "repo", "config", "split", "revision", "test_only", "fields", "template", "labels"}
_TEMPLATE = {"type", "instructions", "state", "options", "label", "group"}
LONGEST_GROUP = 64
"""Characters beyond which a group is named by its hash: a passage need not be written twice in each record."""

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,63}")
_REPO = re.compile(r"[\w.-]+/[\w.-]+")


@dataclass(frozen=True)
class Template:
    """How a row becomes a record: texts with placeholders.

    Attributes:
        source: Name of the source.
        fields: Placeholder -> column, with dots into structs.
        question: The question, with placeholders in its texts.
        state: Text of the state.
        label: Text of the label; if it is one placeholder alone, the column's own value.
        group: Text of the group; empty means the state.
        labels: Label value, as text -> what `target_from` takes.
    """

    source: str
    fields: Mapping[str, tuple[str, ...]]
    question: Question
    state: str
    label: str
    group: str = ""
    labels: Mapping[str, Any] = field(default_factory=dict)

    def columns(self) -> list[str]:
        """The columns it needs, without repeats."""
        return list(dict.fromkeys(path[0] for path in self.fields.values()))

    def record(self, row: Row) -> Record:
        """Makes the record of one row.

        Raises:
            RecordError: A column is missing, or the label does not fit.
        """
        values = {name: _value(row, path) for name, path in self.fields.items()}
        texts = {name: "" if value is None else as_text(value) for name, value in values.items()}
        options = tuple(
            Option(o.key, None if o.description is None else o.description.format_map(texts))
            for o in self.question.options
        )
        question = Question(self.question.type, self.question.instructions.format_map(texts).strip(), options)
        label = self._label(values, texts)
        state = self.state.format_map(texts).strip()
        group = self.group.format_map(texts) if self.group else state
        group = group if len(group) <= LONGEST_GROUP else short_hash(group)
        return question.record(self.source, state, target_from(question, label), group)

    def _label(self, values: Mapping[str, Any], texts: Mapping[str, str]) -> Any:
        parts = list(string.Formatter().parse(self.label))
        whole = len(parts) == 1 and parts[0][1] is not None and not parts[0][0]
        value = values[str(parts[0][1])] if whole else self.label.format_map(texts)
        if not self.labels or value is None:
            return value
        key = as_text(value)
        if key not in self.labels:
            raise broken("malformed_label", f"{key[:40]!r} is not in labels")
        return self.labels[key]


def _value(row: Row, path: tuple[str, ...]) -> Any:
    value: Any = row
    for part in path:
        if not isinstance(value, Mapping) or part not in value:
            raise broken("malformed_row", f"no {'.'.join(path)}")
        value = value[part]
    return value


def read_source(path: Path) -> Source:
    """Reads a YAML file that describes a source.

    Args:
        path: The file.

    Returns:
        A source that goes the same way as the built-in ones.

    Raises:
        InvalidArgumentError: A key is unknown, missing or has a value that can't be used; the message names it.
        CardError: The file is not YAML.
        FileError: The file can't be read.
    """
    with reading(path, "YAML"):
        text = path.read_text(encoding="utf-8")
    return parse_source(text, str(path))


def parse_source(text: str, where: str = "the source file") -> Source:
    """Does what `read_source` does, from the text.

    Example:
        >>> source = parse_source('''
        ... name: mine
        ... repo: my-org/reviews
        ... fields: {text: text, stars: rating}
        ... template:
        ...   type: noul
        ...   instructions: The customer is happy.
        ...   state: "{text}"
        ...   label: "{stars}"
        ... labels: {1: false, 5: true}
        ... ''')
        >>> source.name, source.repo, source.splits
        ('mine', 'my-org/reviews', ('train',))
    """
    keys = _Keys(parse_yaml(text, where, remedy="Correct the file."), where)
    keys.only(_TOP)
    name = keys.text("name")
    if not _NAME.fullmatch(name):
        raise keys.error("name", name, "letters, digits, _ and -, at most 64")
    repo = keys.text("repo")
    if not _REPO.fullmatch(repo):
        raise keys.error("repo", repo, "owner/name")
    template = _template(name, keys)
    config = keys.text("config", "")
    test_only = keys.value.get("test_only", False)
    if not isinstance(test_only, bool):
        raise keys.error("test_only", test_only, "true or false")

    def load(reader: SourceReader) -> Iterator[Outcome]:
        for row in reader.rows(*template.columns()):
            yield attempt(template.record, row)

    return Source(
        name,
        repo,
        load,
        configs=(config,) if config else (),
        splits=keys.texts("split", ("train",)),
        revision=keys.text("revision", "main"),
        test_only=test_only,
    )


def _template(name: str, keys: _Keys) -> Template:
    inner = keys.inside("template")
    inner.only(_TEMPLATE)
    columns = keys.inside("fields").all_texts()
    for key in columns:
        if not key.isidentifier():
            raise keys.error(f"fields.{key}", key, "a plain name as placeholder")
    question = _question(inner)
    texts = {"state": inner.text("state"), "label": inner.text("label"), "group": inner.text("group", "")}
    descriptions = [("options", option.description or "") for option in question.options]
    for key, text in (*texts.items(), ("instructions", question.instructions), *descriptions):
        inner.check_placeholders(key, text, columns)
    labels = keys.inside("labels").value if keys.value.get("labels") is not None else {}
    return Template(
        name,
        {key: tuple(column.split(".")) for key, column in columns.items()},
        question,
        texts["state"],
        texts["label"],
        texts["group"],
        _text_keys(keys, "labels", labels),
    )


def _text_keys(keys: _Keys, key: str, value: Mapping[Any, Any]) -> dict[str, Any]:
    try:
        return {as_text(name): item for name, item in value.items()}
    except RecordError as error:
        raise InvalidArgumentError(f"{keys.where}: {keys.path}{key} can't be used: {error}") from error


def _question(inner: _Keys) -> Question:
    type = inner.text("type")
    if type not in TYPES:
        raise inner.error("type", type, f"one of {', '.join(TYPES)}")
    criteria = inner.value.get("options")
    if isinstance(criteria, Mapping):
        for key in criteria:
            # YAML reads a bare yes, no, on, off, true or false as a boolean: right for a noul, a trap for a choice.
            if isinstance(key, bool) and type != "noul":
                raise inner.error("options", key, "keys that are text; put yes, no, on and off in quotes")
        criteria = _text_keys(inner, "options", criteria)
    try:
        return parse_question(
            {"type": type, "instructions": inner.text("instructions"), "criteria": criteria}
        )
    except RecordError as error:
        key = "instructions" if error.kind == "empty_instructions" else "options"
        raise InvalidArgumentError(f"{inner.where}: {inner.path}{key} can't be used: {error}") from error


@dataclass(frozen=True)
class _Keys:
    """A mapping of the file, with errors that name file and key."""

    value: Mapping[str, Any]
    where: str
    path: str = ""

    def error(self, key: str, value: object, expected: str) -> InvalidArgumentError:
        error = InvalidArgumentError.from_value(f"{self.path}{key}", value, expected)
        return InvalidArgumentError(f"{self.where}: {error}")

    def only(self, known: set[str]) -> None:
        for key in self.value:
            if key not in known:
                raise InvalidArgumentError(
                    f'{self.where}: the key "{self.path}{key}" is not known. {suggest(str(key), known)}'
                )

    def text(self, key: str, default: str | None = None) -> str:
        value = self.value.get(key, default)
        if value is None:
            raise InvalidArgumentError(f'{self.where}: the key "{self.path}{key}" is missing.')
        if isinstance(value, bool | int | float):
            value = as_text(value)
        if not isinstance(value, str):
            raise self.error(key, value, "text")
        return value

    def texts(self, key: str, default: tuple[str, ...]) -> tuple[str, ...]:
        value = self.value.get(key, default)
        values = [value] if isinstance(value, str) else value
        if not isinstance(values, list | tuple) or not values or not all(isinstance(v, str) for v in values):
            raise self.error(key, value, "a name or a list of names")
        return tuple(values)

    def inside(self, key: str) -> _Keys:
        value = self.value.get(key)
        if value is None:
            raise InvalidArgumentError(f'{self.where}: the key "{self.path}{key}" is missing.')
        if not isinstance(value, Mapping):
            raise self.error(key, value, "a mapping")
        return _Keys(value, self.where, f"{self.path}{key}.")

    def all_texts(self) -> dict[str, str]:
        return {str(key): self.text(key) for key in self.value}

    def check_placeholders(self, key: str, text: str, fields: Mapping[str, object]) -> None:
        # `str.format` reaches into attributes and indices; only plain known names get past here.
        try:
            parts = list(string.Formatter().parse(text))
        except ValueError as error:
            raise self.error(key, text, f"text with {{name}} placeholders ({error})") from error
        for _, name, format_spec, conversion in parts:
            if name is None:
                continue
            if name not in fields or format_spec or conversion:
                raise InvalidArgumentError(
                    f'{self.where}: {self.path}{key} has the placeholder "{{{name}}}", '
                    f"which is not a plain name in fields. {suggest(name, fields)}"
                )
