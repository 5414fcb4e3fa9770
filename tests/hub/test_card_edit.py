import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from gristmill.errors import CardError
from gristmill.hub.card_edit import with_changes

CARD = """---
# About this card
license:   mit   # kept as it is
configs:
- config_name: en
  data_files: en.csv

# Languages, in order
language: [en, 'fr']
---
# Hello

--- not a head ---
"""


def test_a_key_is_replaced_where_it_stands():
    changed = with_changes(CARD, {"configs": [{"config_name": "fr", "data_files": "fr.csv"}]})
    assert changed == CARD.replace("config_name: en", "config_name: fr").replace("en.csv", "fr.csv")


def test_new_keys_come_last_and_old_ones_go():
    changed = with_changes(CARD, {"size": 3, "configs": None})
    assert changed == CARD.replace("configs:\n- config_name: en\n  data_files: en.csv\n", "").replace(
        "'fr']\n", "'fr']\nsize: 3\n"
    )


@pytest.mark.parametrize("changes", [{}, {"license": "mit"}, {"nothing": None}])
def test_what_is_said_already_changes_nothing(changes):
    assert with_changes(CARD, changes) is CARD


def test_without_a_head():
    assert with_changes("# Hello\n", {"a": 1}) == "---\na: 1\n---\n# Hello\n"
    assert with_changes("", {"a": 1, "b": None}) == "---\na: 1\n---\n"
    assert with_changes("# Hello\n", {"b": None}) == "# Hello\n"
    assert with_changes("---\n---\ntext", {"a": 1}) == "---\na: 1\n---\ntext"


def test_line_ends_and_byte_order_marks_stay():
    card = "\ufeff---\r\na: 1\r\nb: 2\r\n---\r\ntext\r\n"
    assert with_changes(card, {"a": [1, 2]}) == "\ufeff---\r\na:\r\n- 1\r\n- 2\r\nb: 2\r\n---\r\ntext\r\n"


def test_heads_that_lines_do_not_cut():
    assert with_changes("---\n{a: 1, b: 2}\n---\nx", {"b": 3}) == "---\na: 1\nb: 3\n---\nx"
    anchored = "---\nconfigs: &all [a]\nother: *all\n---\nx"
    assert with_changes(anchored, {"configs": None}) == "---\nother:\n- a\n---\nx"


def test_shared_values_are_written_out():
    shared = [1]
    assert with_changes("", {"a": shared, "b": shared}) == "---\na:\n- 1\nb:\n- 1\n---\n"


def test_heads_that_are_no_yaml():
    with pytest.raises(CardError, match="line 2"):
        with_changes("---\na: }\n---\n", {"a": 1})


KEYS = st.sampled_from(["license", "configs", "tags", "x y", "é", "no", "1"])
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(-9, 9) | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(KEYS, inner, max_size=2),
    max_leaves=4,
)


@settings(max_examples=60)
@given(st.dictionaries(KEYS, VALUES, max_size=4), st.dictionaries(KEYS, VALUES, max_size=3), st.booleans())
def test_the_head_says_the_old_and_the_new(before, changes, flow):
    head = yaml.safe_dump(before, allow_unicode=True, sort_keys=False, default_flow_style=flow)
    text = f"---\n{head}---\n# Body"
    changed = with_changes(text, changes)
    wanted = {k: v for k, v in {**before, **changes}.items() if v is not None or k not in changes}
    assert changed.endswith("# Body")
    assert yaml.safe_load(changed.rpartition("---\n# Body")[0][4:] or "{}") == wanted
