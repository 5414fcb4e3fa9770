from collections.abc import Iterator, Sequence
from typing import Any

import pytest

from gristmill.corpus.decisions.own_source import parse_source, read_source
from gristmill.corpus.decisions.question import Outcome
from gristmill.corpus.decisions.record import Option, Record
from gristmill.corpus.hashing import short_hash
from gristmill.errors import CardError, FileMissingError, InvalidArgumentError, RecordError
from tests.corpus.demo_reader import DemoReader

CHOICE = """
name: shop_reviews
repo: my-org/shop-reviews
config: en
split: [train, validation]
revision: v1.0
fields:
  text: review.text
  stars: rating
  shop: shop_id
template:
  type: choice
  instructions: How does the customer feel about {shop}?
  state: "{text} {{kept}}"
  options:
    happy: They would come back to {shop}.
    unhappy:
  label: "{stars}"
  group: "{shop}"
labels: {1: unhappy, 5: happy}
"""


class Rows(DemoReader):
    """A reader that has the rows it was given."""

    def __init__(self, *rows: dict[str, Any]) -> None:
        self.given = rows
        self.columns: tuple[str, ...] = ()

    def rows(self, *columns: str, optional: Sequence[str] = ()) -> Iterator[dict[str, Any]]:
        self.columns = columns
        yield from self.given


def outcomes(text: str, *rows: dict[str, Any]) -> list[Outcome]:
    return list(parse_source(text).load(Rows(*rows)))


def records(text: str, *rows: dict[str, Any]) -> list[Record]:
    return [outcome for outcome in outcomes(text, *rows) if isinstance(outcome, Record)]


def test_what_the_file_says_is_what_is_read():
    source = parse_source(CHOICE)
    assert (source.name, source.repo, source.revision) == ("shop_reviews", "my-org/shop-reviews", "v1.0")
    assert (source.configs, source.splits, source.test_only) == (("en",), ("train", "validation"), False)
    reader = Rows()
    list(source.load(reader))
    assert reader.columns == ("review", "rating", "shop_id")


def test_a_row_through_the_template():
    row = {"review": {"text": "Nice {place}."}, "rating": 5, "shop_id": "s1"}
    [record] = records(CHOICE, row)
    assert record == Record(
        "choice",
        "How does the customer feel about s1?",
        (Option("happy", "They would come back to s1."), Option("unhappy")),
        "Nice {place}. {kept}",
        (1.0, 0.0),
        "shop_reviews",
        "s1",
    )


@pytest.mark.parametrize(
    ("kind", "row"),
    [
        ("malformed_label", {"review": {"text": "x"}, "rating": 3, "shop_id": "s"}),
        ("unlabelled", {"review": {"text": "x"}, "rating": None, "shop_id": "s"}),
        ("malformed_row", {"review": None, "rating": 5, "shop_id": "s"}),
        ("malformed_row", {"rating": 5, "shop_id": "s"}),
    ],
)
def test_rows_that_give_no_record(kind, row):
    [error] = outcomes(CHOICE, row)
    assert isinstance(error, RecordError)
    assert error.kind == kind


NOUL = """
name: happy
repo: o/r
fields: {text: text, p: p}
template: {type: noul, instructions: They are happy., state: "{text}", label: "{p}", options: {true: Yes., false: No.}}
"""
SCORE = """
name: stars
repo: o/r
fields: {text: text, n: n}
template: {type: score, instructions: How good?, state: "{text}", label: "{n}", options: [bad, middling, good]}
"""


def test_a_noul_takes_booleans_and_probabilities():
    hard, soft = records(NOUL, {"text": "a", "p": True}, {"text": "b", "p": {"noul": 0.25}})
    assert (hard.target, soft.target) == ((0.0, 1.0), (0.75, 0.25))
    assert hard.options == (Option("false", "No."), Option("true", "Yes."))
    assert hard.group != soft.group


def test_a_long_group_is_named_by_its_hash():
    [record] = records(CHOICE, {"review": {"text": "x"}, "rating": 5, "shop_id": "s" * 65})
    assert record.group == short_hash("s" * 65)


def test_a_score_takes_a_level_as_number_or_text():
    first, second = records(SCORE, {"text": "a", "n": 2}, {"text": "b", "n": "0"})
    assert (first.target, second.target) == ((0.0, 0.0, 1.0), (1.0, 0.0, 0.0))


def swapped(old: str, new: str) -> str:
    assert old in CHOICE
    return CHOICE.replace(old, new)


@pytest.mark.parametrize(
    ("key", "text"),
    [
        ('the key "repo" is missing', swapped("repo: my-org/shop-reviews\n", "")),
        ('the key "template" is missing', CHOICE[: CHOICE.index("template")]),
        (
            'the key "fields" is missing',
            CHOICE[: CHOICE.index("fields")] + CHOICE[CHOICE.index("template") :],
        ),
        ('the key "splits" is not known. Did you mean "split"', swapped("split:", "splits:")),
        ('the key "template.instruction" is not known', swapped("  instructions:", "  instruction:")),
        ('the key "template.label" is missing', swapped('  label: "{stars}"\n', "")),
        ("repo='nowhere'", swapped("my-org/shop-reviews", "nowhere")),
        ("name='../up'", swapped("name: shop_reviews", "name: ../up")),
        ("template.type='rank'", swapped("type: choice", "type: rank")),
        ("split=3", swapped("split: [train, validation]", "split: 3")),
        ("test_only='maybe'", CHOICE + "test_only: maybe\n"),
        (
            "fields='text'",
            swapped("fields:\n  text: review.text\n  stars: rating\n  shop: shop_id", "fields: text"),
        ),
        ("fields.a b", swapped("  stars: rating", "  stars: rating\n  a b: c")),
        ("template.options", swapped("    unhappy:\n", "")),
        ("quotes", swapped("    unhappy:", "    no:")),
        ("labels='all'", CHOICE[: CHOICE.index("labels")] + "labels: all\n"),
    ],
)
def test_errors_name_the_key(key, text):
    with pytest.raises(InvalidArgumentError) as caught:
        parse_source(text, "my.yaml")
    assert key in str(caught.value)
    assert str(caught.value).startswith("my.yaml: ")


@pytest.mark.parametrize(
    "placeholder",
    [
        "{text.__class__}", "{text[0]}", "{text!r}", "{text:>10}", "{text:{shop}}", "{0}", "{}", "{other}",
        "{text.__class__.__mro__[1].__subclasses__}", "{", "}",
    ],
)  # fmt: skip
@pytest.mark.parametrize(
    "where", ['state: "{text} {{kept}}"', 'label: "{stars}"', "happy: They would come back to {shop}."]
)
def test_nothing_but_plain_names_is_filled_in(placeholder, where):
    key = where.partition(":")[0]
    with pytest.raises(InvalidArgumentError, match="template"):
        parse_source(swapped(where, f'{key}: "{placeholder}"'))


@pytest.mark.parametrize("text", ["a: }", "- a", "!!python/object/apply:os.system ['true']"])
def test_what_is_no_plain_yaml_is_refused(text):
    with pytest.raises(CardError, match=r"my\.yaml"):
        parse_source(text, "my.yaml")


def test_a_file_that_is_not_there_is_said(tmp_path):
    with pytest.raises(FileMissingError, match=r"my\.yaml"):
        read_source(tmp_path / "my.yaml")


def test_the_example_in_the_module_works():
    import gristmill.corpus.decisions.own_source as module

    example = (module.__doc__ or "").split("::\n", 1)[1].split("\n\nPlaceholders")[0]
    source = parse_source("\n".join(line.removeprefix("    ") for line in example.splitlines()))
    assert source.name == "shop_reviews"


@pytest.mark.parametrize(
    ("key", "lines"),
    [("labels", "labels: {!!binary aGk=: true}"), ("options", "  options: {a: !!binary aGk=}")],
)
def test_values_of_the_file_that_are_no_text(key, lines):
    text = f"""
name: mine
repo: org/mine
fields: {{text: text}}
template:
  type: {"noul" if key == "labels" else "choice"}
  instructions: It rains.
  state: "{{text}}"
  label: "{{text}}"
{lines}
"""
    with pytest.raises(
        InvalidArgumentError, match=f"x.yaml: .*{key} can't be used: .*of type bytes has no text"
    ):
        parse_source(text, "x.yaml")


def test_the_message_names_the_key_and_the_file_at_fault():
    text = """
name: mine
repo: my-org/reviews
fields: {text: text}
template: {type: noul, instructions: "", state: "{text}", label: "{text}"}
"""
    with pytest.raises(InvalidArgumentError, match=r"a\.yaml: template\.instructions can't be used: .*empty"):
        parse_source(text, "a.yaml")
    with pytest.raises(CardError, match=r"a\.yaml, line 4: not valid YAML: .* Correct the file\.$"):
        parse_source(text.replace("{text: text}", "[text: text}"), "a.yaml")
