import pytest

from gristmill.corpus.licences import Licence, LicenceRow, licence_of, licences_markdown
from gristmill.hub.card import parse_card


def licence(head: str) -> Licence:
    return licence_of(parse_card(f"---\n{head}\n---\n").metadata)


@pytest.mark.parametrize(
    ("head", "text", "share_alike"),
    [
        ("license: mit", "mit", False),
        ("license: [mit, apache-2.0]", "mit, apache-2.0", False),
        ("license: cc-by-sa-4.0", "cc-by-sa-4.0 (share-alike)", True),
        ("license: cc-by-nc-sa-4.0", "cc-by-nc-sa-4.0 (share-alike)", True),
        ("license: CC-BY-SA-3.0", "CC-BY-SA-3.0 (share-alike)", True),
        ("license: [mit, gpl-3.0]", "mit, gpl-3.0 (share-alike)", True),
        ("license: odbl", "odbl (share-alike)", True),
        ("license: other\nlicense_name: per-task", "other: per-task (see the card)", False),
        ("license: other\nlicense_link: https://x.y/z", "other (see the card)", False),
    ],
)
def test_declared_licences(head, text, share_alike):
    found = licence(head)
    assert found.declared
    assert found.text == text
    assert found.share_alike == share_alike


@pytest.mark.parametrize(
    "head", ["a: b", "license:", "license: []", "license: unknown", "license: other", "license: ''"]
)
def test_cards_that_declare_nothing(head):
    found = licence(head)
    assert not found.declared
    assert found.text == "none declared"


def test_the_table_lists_what_was_used_and_what_was_left_out():
    rows = [
        LicenceRow("boolq", "google/boolq", "a" * 40, licence("license: cc-by-sa-3.0"), 1234),
        LicenceRow("mine", "o/r", "b" * 40, Licence(), 0, "gated: ask | the owner"),
    ]
    text = licences_markdown(rows)
    assert (
        f"| boolq | [google/boolq](https://huggingface.co/datasets/google/boolq) | `{'a' * 40}` "
        "| cc-by-sa-3.0 (share-alike) | 1,234 |"
    ) in text
    assert "| mine | o/r | none declared | gated: ask \\| the owner |" in text
    assert "*Share-alike*" in text
    assert text.endswith("|\n")


def test_share_alike_is_only_explained_where_it_applies():
    text = licences_markdown([LicenceRow("m", "o/r", "c" * 40, licence("license: mit"), 1)])
    assert "Share-alike" not in text
    assert "Left out" not in text
