"""Parquet files of many writers, good, bad and encrypted: equal to what pyarrow reads in every way, or refused by name."""

import csv
import json
import subprocess
import sys
from pathlib import Path

import pytest

from tests.shared import SHARED

REAL = SHARED / "parquet"
SMALL = Path(__file__).parent.parent / "data" / "parquet"
PARTS = 4

# Good files that pyarrow does not read either, and why.
NOT_READ = {
    "bigdecimal.parquet": "Arrow has no decimals of 77 digits",
    "all_nulls_no_booleans.parquet": "fixed-length values of no length",
    "incorrect_map_schema.parquet": "maps with optional keys",
}
# Two gigabytes from four kilobytes.
LEFT_OUT = "large_string_map"


def listed(kind: str) -> list[str]:
    with (REAL / kind / "index.tsv").open() as lines:
        found = [row["path"] for row in csv.DictReader(lines, delimiter="\t", quoting=csv.QUOTE_NONE)]
    return [str(REAL / path) for path in found if not path.endswith(".csv") and LEFT_OUT not in path]


def look_at(mode: str, paths: list[str]) -> dict[str, bool]:
    """Gives for each file whether rows came; fails on whatever is wrong with any."""
    done = subprocess.run(
        [sys.executable, "-m", "tests.formats.real_files", mode],
        input="\n".join(paths),
        capture_output=True,
        text=True,
        timeout=170,
        check=False,
        cwd=Path(__file__).parents[2],
    )
    answers = [json.loads(line) for line in done.stdout.splitlines()]
    wrong = {path: problems for path, _, problems in answers if problems}
    assert wrong == {}
    # One that ended the process has no answer, nor those after it.
    assert [path for path, _, _ in answers] == paths, done.stderr[-2000:]
    return {Path(path).name: loaded for path, loaded, _ in answers}


@pytest.mark.parametrize("mode", ["same", "trips"])
def test_files_kept_here(mode):
    assert all(look_at(mode, sorted(map(str, (SMALL / "good").iterdir()))).values())


def test_bad_files_kept_here():
    assert not any(look_at("bad", sorted(map(str, (SMALL / "bad").iterdir()))).values())


@pytest.mark.slow
@pytest.mark.skipif(not REAL.exists(), reason="the collection of real files is not here")
@pytest.mark.parametrize("part", range(PARTS))
@pytest.mark.parametrize("mode", ["same", "trips"])
def test_good_files(mode, part):
    answers = look_at(mode, listed("good")[part::PARTS])
    assert {name for name, loaded in answers.items() if not loaded} == answers.keys() & NOT_READ.keys()


@pytest.mark.slow
@pytest.mark.skipif(not REAL.exists(), reason="the collection of real files is not here")
@pytest.mark.parametrize("kind", ["bad", "encrypted"])
def test_bad_files(kind):
    answers = look_at("bad", listed(kind))
    with (REAL / kind / "index.tsv").open() as lines:
        rows = csv.DictReader(lines, delimiter="\t", quoting=csv.QUOTE_NONE)
        read = {Path(row["path"]).name for row in rows if row["read"] == "ok"}
    # What pyarrow gives as fewer rows than the footer says is refused.
    assert read - {name for name, loaded in answers.items() if loaded} <= {
        "parquet-arrow-fuzz-5697144926502912.fuzz"
    }
    assert {name for name, loaded in answers.items() if loaded} <= read
