import re
import xml.etree.ElementTree as ET
from html.parser import HTMLParser
from pathlib import Path

import pytest

from gristmill.corpus.decisions.manifest import Entry, write_manifest
from gristmill.corpus.decisions.record import Option, Record, one_hot
from gristmill.corpus.decisions.writer import write_records
from gristmill.corpus.licences import Licence
from gristmill.corpus.report import write_report
from gristmill.corpus.report.bins import bin_lengths
from gristmill.corpus.report.plots import Segment, balance, histogram, short, stacked_bar
from tests.corpus.report.test_stats import records

HOSTILE = "<script>alert(1)</script>\"'| `x`"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    write_records(tmp_path / "boolq.jsonl", records())
    wide = tuple(Option(f"o{i}") for i in range(20))
    write_records(
        tmp_path / "mine.jsonl", [Record("choice", "?", wide, HOSTILE, one_hot(20, 7), "mine", "g", "train")]
    )
    licence = Licence(("cc-by-sa-3.0",), declared=True, share_alike=True)
    counts = {"raw": 9, "invalid": 3, "invalid_kinds": {"target_sum": 2, "unlabelled": 1}, "duplicate": 1,
              "capped": 0, "train": 3, "val": 1, "test": 1}  # fmt: skip
    write_manifest(
        tmp_path,
        {
            "boolq": Entry("boolq", "google/boolq", "a" * 40, licence, counts=counts),
            "mine": Entry("mine", f"o/{HOSTILE}", "b" * 40, Licence((HOSTILE,), declared=True)),
            "gone": Entry("gone", "o/gone", "c" * 40, Licence(), skipped=f"gated {HOSTILE}"),
        },
    )
    return tmp_path


class Tags(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.seen: list[tuple[str, dict[str, str | None]]] = []

    def handle_starttag(self, tag, attrs):
        self.seen.append((tag, dict(attrs)))
        if tag not in ("meta", "br"):
            self.open.append(tag)

    def handle_startendtag(self, tag, attrs):
        self.seen.append((tag, dict(attrs)))

    def handle_endtag(self, tag):
        assert self.open.pop() == tag


def test_the_page_is_well_formed_and_needs_nothing_else(folder):
    page = write_report(folder).page.read_text()
    tags = Tags()
    tags.feed(page)
    assert tags.open == []
    assert not {tag for tag, _ in tags.seen} & {"script", "link", "img", "iframe", "object"}
    assert not re.search(r"url\(|@import|src=", page)
    for svg in re.findall(r"<svg.*?</svg>", page, re.DOTALL):
        ET.fromstring(svg)
    assert HOSTILE not in page
    assert "<script>" not in page


def test_the_page_shows_every_topic(folder):
    page = write_report(folder).page.read_text()
    for words in (
        "boolq: 3 train", "boolq: 1 val", "Types of question", "noul of 2", "target_sum: 2 decisions",
        "share-alike", "left out", "Length of states", "score of 2, answer 0: 1 (100.0%)",
    ):  # fmt: skip
        assert words in page, words
    # Twenty bars would be too fine to read; the numbers are in STATS.md.
    assert "choice of 20" not in page


def test_the_markdown_has_the_same_numbers(folder):
    text = write_report(folder).markdown.read_text()
    assert "| boolq | 5 | 3 | 1 | 1 | 3 | 1 | 1 | 4 | 2 | 5 | 5 | 10 |" in text
    assert "| **all** | 6 | 4 | 1 | 1 | 3 | 2 | 1 | 5 | 2 |" in text
    assert "| boolq | 9 | 3 | 1 | 0 |" in text
    assert "| boolq | target_sum | the probabilities do not sum to 1 | 2 |" in text
    assert "| choice | 20 | 8 | 1 | 100.0% |" in text
    assert "<script>" not in text


def test_the_same_records_give_the_same_report(folder):
    first = write_report(folder)
    before = first.page.read_bytes(), first.markdown.read_bytes()
    second = write_report(folder)
    assert (second.page.read_bytes(), second.markdown.read_bytes()) == before
    assert not list(folder.glob(".*"))


def test_a_folder_without_a_manifest_or_records_is_reported_too(tmp_path):
    write_records(tmp_path / "mine.jsonl", [])
    report = write_report(tmp_path)
    assert report.stats.records == 0
    assert "Licences" not in report.page.read_text()


def test_a_bar_is_as_long_as_its_parts():
    svg = ET.fromstring(
        stacked_bar([Segment("a", 1, "x"), Segment("b", 0, "y"), Segment("c", 3, "z")], 8, "L")
    )
    assert [(r.get("x"), r.get("width")) for r in svg] == [("0.00", "125.00"), ("125.00", "375.00")]
    assert [title.text for r in svg for title in r] == ["L: 1 a", "L: 3 c"]
    assert svg.get("aria-label") == "L: 1 a, 3 c"


def test_histogram_columns_stack_to_their_total():
    bins = bin_lengths({"a": {4: 3, 8: 1}, "b": {4: 1}})
    page = histogram(bins, {"a": "x", "b": "y"})
    svg = ET.fromstring(re.findall(r"<svg.*</svg>", page)[0])
    heights = [float(r.get("height") or 0) for r in svg if r.tag == "rect"]
    assert heights == [75.0, 25.0, 25.0]


def test_the_line_of_equal_shares():
    page = balance([1, 3], "noul of 2", "noul", ["false", "true"])
    assert "noul of 2, answer true: 3 (75.0%)" in page
    assert "equal: 50.0%" in page


@pytest.mark.parametrize(
    ("number", "text"), [(0, "0"), (999, "999"), (1000, "1k"), (9940, "9.9k"), (9960, "10k")]
)
def test_short_numbers(number, text):
    assert short(number) == text
