"""The benchmarks run, and their table says what was measured."""

import importlib
import json
import subprocess
import sys
from pathlib import Path

import pytest

BENCHMARKS = Path(__file__).parent.parent.parent / "benchmarks"


pytestmark = pytest.mark.skipif(not BENCHMARKS.exists(), reason="an sdist has no benchmarks")


@pytest.fixture
def compare(monkeypatch):
    monkeypatch.syspath_prepend(str(BENCHMARKS))
    return importlib.import_module("compare")


@pytest.fixture
def figures(compare):
    return importlib.import_module("figures")


def answer(seconds, digest="x"):
    return {"seconds": seconds, "cpu": seconds, "peak": 10**6, "digest": digest}


def test_ratios_are_medians_of_the_rounds(figures):
    answers = {
        "gristmill": [answer(1.0), answer(2.0), answer(1.0)],
        "datasets": [answer(5.0), answer(4.0), answer(9.0)],
    }
    assert figures.ratio(answers, "datasets", "gristmill", "seconds") == 5.0
    assert figures.ratio(answers, "gristmill", "limit", "seconds") is None


def test_results_that_differ_are_told(figures):
    one, other = [answer(1.0, "x")], [answer(1.0, "y")]
    assert figures.same({"gristmill": one, "datasets": one, "limit": one}) == "yes"
    assert figures.same({"gristmill": one, "datasets": one, "limit": other}) == "limit differs"
    assert figures.same({"gristmill": one, "datasets": other}) == "no"


def test_what_is_missing_has_no_figures(figures):
    answers = {"gristmill": [{"missing": "not there yet"}], "datasets": [answer(2.0)], "limit": [answer(1.0)]}
    line = figures.table_line("sort", answers)
    assert line.startswith("| sort | missing |  |  | 2 | 2 | 1 | 1 | 1 |")
    assert any("not there yet" in said for said in figures.summary({"sort": answers}))


def test_workloads_load_no_library(compare):
    """`import_only` and its limit are measured in a process that has listed the workloads."""
    heavy = ("numpy", "pyarrow", "pandas", "gristmill", "datasets")
    code = (
        f"import sys, case; case.load_workloads(); print([name for name in {heavy} if name in sys.modules])"
    )
    command = [sys.executable, "-c", code]
    done = subprocess.run(command, cwd=BENCHMARKS, capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"


@pytest.mark.slow
def test_a_small_run_measures_and_compares(tmp_path):
    command = [
        sys.executable, str(BENCHMARKS / "compare.py"), "--rounds", "1", "--scale", "0.0001",
        "--only", "iter_rows", "to_json", "get_c*", "--data", str(tmp_path), "--json", str(tmp_path / "out.json"),
    ]  # fmt: skip
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    rows = [
        line
        for line in done.stdout.splitlines()
        if line.startswith(("| iter_rows", "| to_json", "| get_column"))
    ]
    assert len(rows) == 3
    assert all(row.endswith("| yes |") for row in rows)
    found = json.loads((tmp_path / "out.json").read_text())
    assert all(found[name][side][0]["seconds"] > 0 for name in found for side in ("gristmill", "limit"))
