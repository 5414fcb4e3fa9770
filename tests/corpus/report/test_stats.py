import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gristmill.corpus.decisions.record import Option, Record, noul_options, score_options
from gristmill.corpus.decisions.writer import write_records
from gristmill.corpus.report.stats import COLUMNS, quantile, read_stats
from gristmill.errors import FileFormatError, FileMissingError


def records() -> list[Record]:
    def noul(text: str, group: str, split: str, p: float) -> Record:
        return Record("noul", text, noul_options(), "state", (1 - p, p), "boolq", group, split)

    options = (Option("a"), Option("b"), Option("c"))
    return [
        noul("One.", "g1", "train", 1.0),
        noul("Two..", "g1", "train", 0.25),
        noul("Three.", "g2", "val", 0.75),
        Record("choice", "Which?", options, "", (0.0, 0.0, 1.0), "boolq", "g3", "train"),
        Record("score", "How?", score_options(["x", "y"]), "long state", (1.0, 0.0), "boolq", "g4", "test"),
    ]


def write(folder: Path, **sources: list[Record]) -> None:
    for name, some in sources.items():
        write_records(folder / f"{name}.jsonl", some)


def test_every_number_of_a_row(tmp_path):
    write(tmp_path, boolq=records())
    [source] = read_stats(tmp_path).sources
    row: dict[str, Any] = dict(zip(COLUMNS, read_stats(tmp_path).table()[0], strict=True))
    assert row == {
        "source": "boolq",
        "records": 5,
        "train": 3,
        "val": 1,
        "test": 1,
        "noul": 3,
        "choice": 1,
        "score": 1,
        "groups": 4,
        "soft targets": 2,
        "instructions, median": 5,
        "state, median": 5,
        "state, longest": 10,
    }
    assert source.strata == {("noul", 2, 1): 2, ("noul", 2, 0): 1, ("choice", 3, 2): 1, ("score", 2, 0): 1}


def test_totals_over_sources_and_their_order(tmp_path):
    write(tmp_path, zeta=records(), arc=records()[:2], boolq=[], alpha=records())
    stats = read_stats(tmp_path)
    assert [source.source for source in stats.sources] == ["boolq", "arc", "alpha", "zeta"]
    assert stats.records == 12
    assert stats.splits() == {"train": 8, "val": 2, "test": 2}
    assert stats.types() == {"noul": 8, "choice": 2, "score": 2}
    assert stats.strata()["noul", 2, 1] == 5
    assert stats.lengths("states")["score"] == {10: 2}
    assert stats.table()[0][1:] == (0,) * (len(COLUMNS) - 1)


@given(st.dictionaries(st.integers(0, 50), st.integers(1, 5), min_size=1), st.floats(0.01, 1))
def test_quantile_of_counts_is_that_of_the_values(counts, share):
    values = sorted(value for value, n in counts.items() for _ in range(n))
    found = quantile(counts, share)
    assert (
        sum(value <= found for value in values)
        >= share * len(values)
        > sum(value < found for value in values)
    )


def test_what_is_not_there_is_said(tmp_path):
    with pytest.raises(FileMissingError, match="fetch-decisions"):
        read_stats(tmp_path / "nowhere")
    with pytest.raises(FileMissingError, match=r"no decision records in .*fetch-decisions"):
        read_stats(tmp_path)


def test_a_damaged_file_is_named(tmp_path):
    write(tmp_path, boolq=records())
    with (tmp_path / "boolq.jsonl").open("a") as file:
        file.write('{"type": "no')
    with pytest.raises(FileFormatError, match=r"boolq\.jsonl, line 6"):
        read_stats(tmp_path)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("type", "<script>"),
        ("options", []),
        ("target", []),
        ("target", [1.0]),
        ("target", [10**400, 0]),
        ("split", "x"),
    ],
)
def test_a_record_that_breaks_a_rule_is_named(tmp_path, name, value):
    write(tmp_path, boolq=records()[:1])
    broken = {**records()[0].to_dict(), name: value}
    with (tmp_path / "boolq.jsonl").open("a") as file:
        file.write(json.dumps(broken) + "\n")
    with pytest.raises(FileFormatError, match=r"boolq\.jsonl, line 2: not a decision record"):
        read_stats(tmp_path)
