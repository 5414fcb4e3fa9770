import contextlib

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from gristmill.errors import CardError
from gristmill.hub.card import DatasetCard, parse_card, parse_yaml

HEAD = """---
license: other
license_name: per-task
configs:
- config_name: mnli
  data_files:
  - split: train
    path: mnli/train-*
dataset_info:
- config_name: mnli
  features: [{name: idx, dtype: int32}]
---
# GLUE
"""


def test_a_card():
    card = parse_card(HEAD)
    assert card.licenses == ["other"]
    assert card.license_name == "per-task"
    assert card.configs == [
        {"config_name": "mnli", "data_files": [{"split": "train", "path": "mnli/train-*"}]}
    ]
    assert card.body == "# GLUE\n"
    assert card.dataset_info("mnli") == {
        "config_name": "mnli",
        "features": [{"name": "idx", "dtype": "int32"}],
    }
    assert card.dataset_info(None) is None


@pytest.mark.parametrize("text", ["", "# Hello\n", "---\nno end", "a\n---\nb: 1\n---\n"])
def test_no_head_is_a_card_that_says_nothing(text):
    assert parse_card(text) == DatasetCard(body=text)


@pytest.mark.parametrize(
    "text", ["---\r\nlicense: mit\r\n---\r\nx", "\ufeff---\nlicense: mit\n---\nx", "--- \nlicense: mit\n---"]
)
def test_spellings_of_the_head(text):
    assert parse_card(text).licenses == ["mit"]


@pytest.mark.parametrize(
    ("said", "licenses"), [("license: [mit, x]", ["mit", "x"]), ("license:", []), ("a: 1", [])]
)
def test_licences(said, licenses):
    assert parse_card(f"---\n{said}\n---\n").licenses == licenses


def test_the_standalone_file_wins():
    card = parse_card("---\nlicense: mit\na: 1\n---\n", standalone="license: cc0-1.0")
    assert card.metadata == {"license": "cc0-1.0", "a": 1}


def test_errors_name_the_line_of_the_file():
    with pytest.raises(CardError, match=r"org/name/README.md, line 4: not valid YAML"):
        parse_card("---\na: 1\nb: 2\nc: ]\n---\n", "org/name/README.md")


BOMB = "a: &a [1,1,1,1,1,1,1,1,1]\n" + "\n".join(
    f"{chr(98 + i)}: &{chr(98 + i)} [{','.join(['*' + chr(97 + i)] * 9)}]" for i in range(12)
)
MERGE_BOMB = "a: &a {x: 1, y: 2}\n" + "\n".join(
    f"{chr(98 + i)}: &{chr(98 + i)} {{<<: [{','.join(['*' + chr(97 + i)] * 9)}]}}" for i in range(12)
)


@pytest.mark.parametrize("loader", [getattr(yaml, "CSafeLoader", yaml.SafeLoader), yaml.SafeLoader])
@pytest.mark.parametrize(
    "text",
    [BOMB, MERGE_BOMB, "a: &a [*a]", "a: " + "[" * 50_000, "- " * 5000, "a: !!python/object:os.system x", "- a", "a",
     "a: 2020-99-99", "a: \0", "a: " + "x" * 1_100_000, "a: {[1]: 2}"],
    ids=range(12),
)  # fmt: skip
def test_hostile_yaml_is_refused(text, loader, monkeypatch):
    monkeypatch.setattr(yaml, "CSafeLoader", loader, raising=False)
    with pytest.raises(CardError):
        parse_yaml(text, "x")


@pytest.mark.parametrize(
    ("value", "problem"),
    [
        ("1" + ":1" * 200_000, "a number of 400,001 characters"),
        ("0x" + "f" * 100_000, "a number of 100,002 characters"),
        ("1.5" + "0" * 100_000, "a number of 100,003 characters"),
        ("!!timestamp soon", "not valid YAML"),
        ("!!bool maybe", "not valid YAML"),
        ("!!int ''", "not valid YAML"),
        ("!!float ''", "not valid YAML"),
    ],
)
def test_values_that_no_parser_should_stumble_over(value, problem):
    with pytest.raises(CardError, match=f"^x.yaml, line [12]: {problem}"):
        parse_yaml(f"a: 1\nb: {value}", "x.yaml")


def test_a_head_without_end_is_not_read_for_ever():
    with pytest.raises(CardError, match="does not end"):
        parse_card("---\n" + "a: 1\n" * 300_000)


@pytest.mark.parametrize("configs", ["3", "[a]", "x"])
def test_configs_of_another_shape(configs):
    with pytest.raises(CardError, match="configs"):
        parse_card(f"---\nconfigs: {configs}\n---\n")


plain = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.text(st.characters(codec="ascii", exclude_categories=["Cc"])),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text("abc", min_size=1), inner, max_size=3)
    ),
    max_leaves=10,
)


@given(st.dictionaries(st.text("abc", min_size=1).filter(lambda s: s != "configs"), plain, max_size=4))
def test_what_yaml_writes_is_read(metadata):
    assert parse_card(f"---\n{yaml.safe_dump(metadata)}---\nbody").metadata == metadata


@given(st.text())
def test_any_text_is_read_or_refused(text):
    with contextlib.suppress(CardError):
        parse_card(f"---\n{text}\n---\n")
