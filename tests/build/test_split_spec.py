import pytest
from hypothesis import given
from hypothesis import strategies as st

from gristmill.build.split_spec import parse_split, wanted_parts
from gristmill.errors import InvalidArgumentError, SplitNotFoundError


@pytest.mark.parametrize(
    ("text", "rows"),
    [
        ("train", range(200)),
        ("train[:10%]", range(20)),
        ("train[10%:20%]", range(20, 40)),
        ("train[-2:]", range(198, 200)),
        ("train[-10%:]", range(180, 200)),
        ("train[50:60]", range(50, 60)),
        ("train[150:1000]", range(150, 200)),
        ("train[:]", range(200)),
        ("train[10:5]", range(10, 10)),
        ("train[:10%](pct1_dropremainder)", range(20)),
    ],
)
def test_slices(text, rows):
    [part] = parse_split(text)
    assert part.split == "train"
    assert part.rows(200) == rows


@pytest.mark.parametrize(
    ("percent", "of", "row"), [(10, 5, 0), (10, 15, 2), (50, 5, 2), (25, 10, 2), (33, 100, 33)]
)
def test_percentages_round_as_documented(percent, of, row):
    [part] = parse_split(f"x[:{percent}%]")
    assert part.rows(of).stop == row


def test_parts_are_joined():
    assert [part.text for part in parse_split("train[:5]+test")] == ["train[:5]", "test"]


@pytest.mark.parametrize(
    "text",
    ["train[5]", "train[:50.5%]", "train[:101%]", "", "+", "a b", "train[%:]", "train[:9" + "9" * 30 + "]"],
)
def test_what_is_no_slice(text):
    with pytest.raises(InvalidArgumentError, match="split="):
        parse_split(text)


def test_dropping_the_remainder_needs_a_hundred_rows():
    with pytest.raises(InvalidArgumentError, match="100 rows"):
        parse_split("train[:1%](pct1_dropremainder)")[0].rows(99)


def test_wanted_parts():
    known = ["train", "test", "a+b"]
    assert [p.split for p in wanted_parts("all", known)[0]] == known
    assert wanted_parts("a+b", known)[0][0].whole
    assert [len(parts) for parts in wanted_parts(["train", "train[:1]+test"], known)] == [1, 2]
    with pytest.raises(
        SplitNotFoundError, match=r'org/name: there is no split "trian"\. Did you mean "train"'
    ):
        wanted_parts("trian[:5]", known, "org/name")
    with pytest.raises(InvalidArgumentError):
        wanted_parts(3, known)


@given(st.integers(0, 1000), st.integers(0, 100))
def test_two_slices_at_one_percentage_cover_everything_once(rows, percent):
    [head] = parse_split(f"train[:{percent}%]")
    [tail] = parse_split(f"train[{percent}%:]")
    assert [*head.rows(rows), *tail.rows(rows)] == list(range(rows))
