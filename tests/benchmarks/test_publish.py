"""What was measured becomes the page and the picture."""

import importlib
import json
import sys
import xml.etree.ElementTree as ET

import pytest

from tests.benchmarks.test_compare import BENCHMARKS, answer

pytestmark = pytest.mark.skipif(not BENCHMARKS.exists(), reason="an sdist has no benchmarks")

MEASURED = {
    "sort": {"gristmill": [answer(1.0)], "datasets": [answer(8.0)], "limit": [answer(0.5)]},
    "to_csv": {"gristmill": [answer(2.0)], "datasets": [answer(1.0)]},
}


@pytest.fixture
def publish(monkeypatch):
    monkeypatch.syspath_prepend(str(BENCHMARKS))
    return importlib.import_module("publish")


def run(publish, monkeypatch, tmp_path, *measured):
    files = []
    for number, results in enumerate(measured):
        files.append(tmp_path / f"{number}.json")
        files[-1].write_text(json.dumps(results))
    monkeypatch.setattr(sys, "argv", ["publish.py", *map(str, files), "--docs", str(tmp_path)])
    return publish.main()


def test_the_page_holds_the_table_and_what_misses(publish, monkeypatch, tmp_path):
    page = tmp_path / "performance.md"
    page.write_text(f"before\n{publish.BEGIN}\nold\n{publish.END}\nafter\n")
    assert run(publish, monkeypatch, tmp_path, MEASURED) == 0
    text = page.read_text()
    assert text.startswith(f"before\n{publish.BEGIN}\n| workload |")
    assert text.endswith(f"{publish.END}\nafter\n")
    assert "old" not in text
    assert "| sort | 1 | 1 | 1 | 8 | 8 | 1 | 0.5 | 0.5 | 8 | 8 | 2 | yes |" in text
    assert (
        "Gristmill is 2.0 times as fast as `datasets` in seconds and 2.0 times in `cpu` (over 2 workloads)"
        in text
    )
    assert "Slower than `datasets`: `to_csv` (0.50) in seconds; `to_csv` (0.50) in cpu." in text
    assert "More than 1.5 times the limit, `cpu`: `sort` (2.00)." in text


def test_the_last_measurement_counts(publish, monkeypatch, tmp_path):
    page = tmp_path / "performance.md"
    page.write_text(f"{publish.BEGIN}{publish.END}")
    again = {"to_csv": {"gristmill": [answer(1.0)], "datasets": [answer(3.0)]}}
    run(publish, monkeypatch, tmp_path, MEASURED, again)
    assert "Slower than `datasets`: none in seconds; none in cpu." in page.read_text()


def test_a_page_without_a_place_is_left_alone(publish, monkeypatch, tmp_path):
    page = tmp_path / "performance.md"
    page.write_text("no markers")
    with pytest.raises(SystemExit, match="no place for the table"):
        run(publish, monkeypatch, tmp_path, MEASURED)
    assert page.read_text() == "no markers"
    assert not (tmp_path / "performance.svg").exists()


def test_the_picture_shows_each_workload_on_one_scale(publish):
    drawn = ET.fromstring(publish.draw(publish.bars(MEASURED), "Title"))
    space = "{http://www.w3.org/2000/svg}"
    rects = {rect[0].text: rect for rect in drawn.iter(f"{space}rect")}
    assert set(rects) == {"sort: 8 times as fast", "to_csv: 0.5 times as fast"}
    fast, slow = (rect.attrib for rect in rects.values())
    assert float(fast["width"]) == pytest.approx(3 * float(slow["width"]), rel=0.01)
    assert slow["class"] == "bar slower"
    assert float(slow["x"]) + float(slow["width"]) == pytest.approx(float(fast["x"]), abs=0.2)
    assert sum(text.text in ("sort", "to_csv") for text in drawn.iter(f"{space}text")) == 2
