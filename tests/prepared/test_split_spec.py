from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gristmill.errors import InvalidArgumentError, SplitNotFoundError
from gristmill.prepared.split_spec import SplitPart, in_shape, parse_split, wanted_parts
from gristmill.splits import ReadInstruction, Split, percent
from gristmill.splits.slices import check_rows


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
        ("train[10:50%]", range(20, 100)),
        ("train[10%:-5]", range(20, 190)),
        ("train[:" + "9" * 5000 + "]", range(200)),
        ("train[-" + "9" * 30 + ":]", range(200)),
        ("train[" + "9" * 30 + ":]", range(200, 200)),
        ("train[:-999]", range(0)),
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
    [
        "train[5]",
        "train[:50.5%]",
        "train[:101%]",
        "",
        "+",
        "a b",
        "train[%:]",
        "train[999...:]",
        "train[:" + "9" * 30 + "%]",
    ],
)
def test_what_is_no_slice(text):
    with pytest.raises(InvalidArgumentError, match="split="):
        parse_split(text)


def test_what_is_no_slice_says_which_forms_there_are_and_which_splits():
    with pytest.raises(InvalidArgumentError) as caught:
        wanted_parts("train[999...:]", ["train", "test"])
    assert str(caught.value) == (
        "split='train[999...:]' can't be used: expected a split name, or slices by rows (\"train[100:200]\", "
        '"train[-5:]") or whole percents ("train[:10%]"), several joined by "+". The splits are: train, test.'
    )
    for text in ("train[:101%]", "train[-101%:]", "train[200%:]", "train[:" + "9" * 30 + "%]"):
        with pytest.raises(InvalidArgumentError, match=r"percentages from -100% to 100%\.$"):
            wanted_parts(text, ["train"])


@pytest.mark.parametrize(
    "text",
    ["train[10:]", "train[999:]", "train[4:4]", "train[:0]", "train[:-10]", "train[-3:7]", "train[:4%]"],
)
def test_a_slice_that_means_no_rows_says_how_many_there_are(text):
    with pytest.raises(InvalidArgumentError) as caught:
        check_rows(parse_split(text), {"train": 10})
    assert str(caught.value) == (
        f"split='{text}' can't be used: expected a slice that means at least one row; train has 10 rows."
    )
    check_rows(parse_split(f"{text}+train[:1]"), {"train": 10})
    check_rows(parse_split(f"{text}"), {"train": 0})
    both = parse_split("train[10:]+test[5:]")
    with pytest.raises(InvalidArgumentError, match=r"train has 10 rows, test has 1,200 rows\.$"):
        check_rows([both[0], replace(both[1], start=1200)], {"train": 10, "test": 1200})


@pytest.mark.parametrize(
    "text", ["train[7:3]", "train[-3:-5]", "train[-1:3]", "train[20:3]", "train[50%:20%]"]
)
def test_a_slice_that_ends_before_it_begins_has_no_rows(text):
    parts = parse_split(text)
    assert len(parts[0].rows(10)) == 0
    check_rows(parts, {"train": 10})


def test_dropping_the_remainder_needs_a_hundred_rows():
    with pytest.raises(InvalidArgumentError, match="100 rows"):
        parse_split("train[:1%](pct1_dropremainder)")[0].rows(99)


def test_wanted_parts():
    known = ["train", "test", "a+b"]
    assert [p.split for p in wanted_parts("all", known)] == known
    assert wanted_parts("a+b", known)[0].whole
    assert [part.spec for part in wanted_parts("train[:1]+test", known)] == ["train[:1]", "test"]
    assert wanted_parts("all", [*known, "all"]) == [SplitPart("all")]
    halves = [wanted_parts(half, known) for half in ("all[:50%]", Split.ALL.subsplit(percent[:50]))]
    assert halves[0] == halves[1] == [SplitPart(name, None, 50, True) for name in known]
    assert wanted_parts(ReadInstruction("train", to=3) + ReadInstruction("test"), known) == [
        SplitPart("train", stop=3),
        SplitPart("test"),
    ]
    assert wanted_parts(Split.TRAIN + Split.TEST, known) == [SplitPart("train"), SplitPart("test")]
    with pytest.raises(
        SplitNotFoundError, match=r'org/name: there is no split "trian"\. Did you mean "train"'
    ):
        wanted_parts("trian[:5]", known, "org/name")
    with pytest.raises(InvalidArgumentError):
        wanted_parts(3, known)


def test_shapes_are_kept():
    assert in_shape([["a"], ("b", {"x": "c"})], str.upper) == [["A"], ("B", {"x": "C"})]
    endless: list[object] = []
    endless.append(endless)
    for odd in (endless, {1: "a"}):
        with pytest.raises(InvalidArgumentError, match="split="):
            in_shape(odd, str)


@given(st.integers(0, 1000), st.integers(0, 100))
def test_two_slices_at_one_percentage_cover_everything_once(rows, percent):
    [head] = parse_split(f"train[:{percent}%]")
    [tail] = parse_split(f"train[{percent}%:]")
    assert [*head.rows(rows), *tail.rows(rows)] == list(range(rows))
