"""A reader over a plain folder laid out like a Hub: what sources need, without a client or a server."""

import csv
import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq

import gristmill
from gristmill.corpus.decisions.sources import Source

DEMO = Path(gristmill.__file__).parent / "demo" / "hub"


class DemoReader:
    def __init__(self, source: Source, seed: int = 1234, hub: Path = DEMO) -> None:
        self.source, self.seed, self.hub = source, seed, hub
        self.repo = hub / "datasets" / source.repo

    def rows(self, *columns: str, optional: Sequence[str] = ()) -> Iterator[dict[str, Any]]:
        for config in self.source.configs or ("",):
            for split in self.source.splits:
                folder = self.repo / config
                paths = [
                    *folder.glob(f"{split}-*"),
                    *folder.glob(f"data/{split}-*"),
                    *folder.glob(f"{split}.jsonl"),
                ]
                assert paths, f"{folder} has no {split}"
                for path in sorted(paths):
                    yield from self.file_rows(str(path.relative_to(self.repo)), *columns, *optional)

    def file(self, path: str) -> Path:
        return self.repo / path

    def file_rows(self, path: str, *columns: str) -> Iterator[dict[str, Any]]:
        return _rows(self.repo / path, columns)

    def github_rows(self, repo: str, revision: str, path: str, *columns: str) -> Iterator[dict[str, Any]]:
        return _rows(self.hub / "github" / repo / revision / path, columns)

    def tokenizer_file(self, repo: str) -> Path:
        return self.hub / "models" / repo / "tokenizer.json"


def _rows(path: Path, columns: tuple[str, ...]) -> Iterator[dict[str, Any]]:
    if path.suffix == ".parquet":
        yield from pq.read_table(path, columns=list(columns)).to_pylist()
        return
    with path.open(encoding="utf-8", newline="") as file:
        rows = csv.DictReader(file) if path.suffix == ".csv" else map(json.loads, file)
        for row in rows:
            yield {name: row.get(name) for name in columns}
