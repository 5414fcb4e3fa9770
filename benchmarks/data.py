"""The data the workloads run on: made up, the same in every run, as Parquet, Arrow, CSV, JSON lines and text."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

_VERSION = "2"
WORDS = [
    "the",
    "of",
    "and",
    "to",
    "in",
    "is",
    "that",
    "it",
    "was",
    "for",
    "on",
    "are",
    "as",
    "with",
    "his",
    "they",
    "at",
    "be",
    "this",
    "from",
    "have",
    "or",
    "by",
    "one",
    "had",
    "not",
    "but",
    "what",
    "all",
    "were",
    "when",
    "we",
    "there",
    "can",
    "an",
    "your",
    "which",
    "their",
    "said",
    "if",
    "do",
    "will",
    "each",
    "about",
    "how",
    "up",
    "out",
    "them",
    "then",
    "she",
    "many",
    "some",
    "so",
    "these",
    "would",
    "other",
    "into",
    "has",
    "more",
    "her",
    "two",
    "like",
    "him",
    "see",
    "time",
    "could",
    "no",
    "make",
    "than",
    "first",
    "been",
    "its",
    "who",
    "now",
    "people",
    "my",
    "made",
    "over",
    "did",
    "down",
    "only",
    "way",
    "find",
    "use",
    "may",
    "water",
    "long",
    "little",
    "very",
    "after",
    "words",
    "called",
    "just",
    "where",
    "most",
    "know",
]


def make_data(folder: Path, scale: float) -> Path:
    """Makes the data once, or finds it.

    Args:
        folder: Where it goes; one subfolder a scale.
        scale: Factor of all row numbers.

    Returns:
        The folder of this scale.
    """
    target = folder / f"v{_VERSION}-{scale:g}"
    done = target / "done"
    if done.exists():
        return target
    target.mkdir(parents=True, exist_ok=True)
    rows = _rows(max(10, int(100_000 * scale)), 12)
    _write(target, "rows", rows)
    _write_text(target, "rows", rows)
    _write(target, "big", _rows(max(10, int(300_000 * scale)), 60))
    _write_shards(target / "shards", max(10, int(15_000 * scale)))
    _write(target, "nested", _nested(max(10, int(20_000 * scale))))
    done.touch()
    return target


def _rows(count: int, words: int) -> Any:
    import numpy as np
    import pyarrow as pa

    random = np.random.default_rng(count)
    chosen = np.array(WORDS)[random.integers(0, len(WORDS), (count, words))]
    text = [" ".join(row) + ("" if i % 50 else ', "é" \\ 日本') for i, row in enumerate(chosen.tolist())]
    return pa.table(
        {
            "id": np.arange(count),
            "text": pa.array(text),
            "score": random.random(count),
            "label": random.integers(0, 10, count),
            "tag": pa.array([f"tag {i}" for i in random.integers(0, 50, count)]),
        }
    )


def _write_shards(folder: Path, count: int) -> None:
    """Writes twenty files of each format, with so many rows each."""
    folder.mkdir(exist_ok=True)
    for number in range(20):
        rows = _rows(count + number, 30)
        _write(folder, f"{number:02}", rows)
        _write_text(folder, f"{number:02}", rows)


def _nested(count: int) -> Any:
    import numpy as np
    import pyarrow as pa

    random = np.random.default_rng(7)
    tokens = random.integers(0, 50_000, (count, 40))
    meta = [{"name": f"n{i}", "parts": ["a", "bc"][: i % 3], "score": float(i)} for i in range(count)]
    return pa.table({"id": np.arange(count), "tokens": pa.array(tokens.tolist()), "meta": pa.array(meta)})


def _write(folder: Path, name: str, table: Any) -> None:
    import pyarrow as pa
    import pyarrow.parquet as pq

    pq.write_table(table, folder / f"{name}.parquet", row_group_size=50_000)
    with pa.ipc.new_stream(str(folder / f"{name}.arrow"), table.schema) as stream:
        stream.write_table(table, max_chunksize=100_000)


def _write_text(folder: Path, name: str, table: Any) -> None:
    import pyarrow.csv

    pyarrow.csv.write_csv(table, folder / f"{name}.csv")
    with (folder / f"{name}.jsonl").open("w", encoding="utf-8") as file:
        file.writelines(json.dumps(row, ensure_ascii=False) + "\n" for row in table.to_pylist())
    (folder / f"{name}.txt").write_text("\n".join(table.column("text").to_pylist()) + "\n", encoding="utf-8")
