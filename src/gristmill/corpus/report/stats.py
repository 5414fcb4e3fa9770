"""Counts over a folder of decision records: one pass, memory for distinct lengths and groups, not for records."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from gristmill.corpus.decisions.manifest import Entry, read_manifest
from gristmill.corpus.decisions.record import SPLITS, TYPES, Record, check_record
from gristmill.corpus.decisions.sources import SOURCES
from gristmill.corpus.decisions.writer import iter_records
from gristmill.corpus.hashing import hash64
from gristmill.errors import FileFormatError, FileMissingError, RecordError
from gristmill.progress import progress, track

COLUMNS = (
    "source",
    "records",
    *SPLITS,
    *TYPES,
    "groups",
    "soft targets",
    "instructions, median",
    "state, median",
    "state, longest",
)


@dataclass
class SourceStats:
    """What one source's file holds.

    Attributes:
        source: Its name.
        splits: Split -> records.
        types: Type -> records.
        strata: (type, number of options, position of the answer) -> records.
        soft: Records whose target is not certain.
        groups: Distinct groups.
        instructions: Type -> characters of the instructions -> records.
        states: Type -> characters of the state -> records.
    """

    source: str
    splits: Counter[str] = field(default_factory=Counter)
    types: Counter[str] = field(default_factory=Counter)
    strata: Counter[tuple[str, int, int]] = field(default_factory=Counter)
    soft: int = 0
    groups: int = 0
    instructions: dict[str, Counter[int]] = field(default_factory=dict)
    states: dict[str, Counter[int]] = field(default_factory=dict)

    @property
    def records(self) -> int:
        """All records."""
        return sum(self.splits.values())

    def add(self, record: Record) -> None:
        """Counts one record, all but its group."""
        self.splits[record.split] += 1
        self.types[record.type] += 1
        self.strata[record.stratum] += 1
        self.soft += max(record.target) < 1.0
        self.instructions.setdefault(record.type, Counter())[len(record.instructions)] += 1
        self.states.setdefault(record.type, Counter())[len(record.state)] += 1


@dataclass(frozen=True)
class CorpusStats:
    """What a folder of decision records holds.

    Attributes:
        sources: One entry a file, in the sources' order.
        entries: What the manifest says about each source, if there is one.
    """

    sources: tuple[SourceStats, ...]
    entries: Mapping[str, Entry] = field(default_factory=dict)

    @property
    def records(self) -> int:
        """All records of all sources."""
        return sum(source.records for source in self.sources)

    def splits(self) -> dict[str, int]:
        """Split -> records, over all sources."""
        return {split: sum(source.splits[split] for source in self.sources) for split in SPLITS}

    def types(self) -> dict[str, int]:
        """Type -> records, over all sources."""
        return {type: sum(source.types[type] for source in self.sources) for type in TYPES}

    def strata(self) -> Counter[tuple[str, int, int]]:
        """(type, number of options, position of the answer) -> records, over all sources."""
        return sum((source.strata for source in self.sources), Counter())

    def lengths(self, of: str) -> dict[str, Counter[int]]:
        """Type -> characters -> records, over all sources.

        Args:
            of: ``"instructions"`` or ``"states"``.
        """
        empty: Counter[int] = Counter()
        return {
            type: sum((getattr(source, of).get(type, empty) for source in self.sources), Counter())
            for type in TYPES
        }

    def invalid_kinds(self) -> dict[str, dict[str, int]]:
        """Source -> kind -> decisions rejected, for the sources of the manifest that had any."""
        kinds = {name: dict(entry.counts.get("invalid_kinds", {})) for name, entry in self.entries.items()}
        return {name: counts for name, counts in kinds.items() if counts}

    def table(self) -> list[tuple[Any, ...]]:
        """One row a source, under `COLUMNS`."""
        rows = []
        for source in self.sources:
            instructions = sum(source.instructions.values(), Counter())
            states = sum(source.states.values(), Counter())
            rows.append(
                (
                    source.source,
                    source.records,
                    *(source.splits[split] for split in SPLITS),
                    *(source.types[type] for type in TYPES),
                    source.groups,
                    source.soft,
                    quantile(instructions, 0.5),
                    quantile(states, 0.5),
                    quantile(states, 1.0),
                )
            )
        return rows


def quantile(counts: Mapping[int, int], share: float) -> int:
    """The smallest value that at least this share of the counted things do not exceed; 0 if nothing was counted.

    Example:
        >>> quantile({10: 1, 20: 2, 90: 1}, 0.5), quantile({}, 0.5)
        (20, 0)
    """
    wanted = share * sum(counts.values())
    seen = 0
    for value in sorted(counts):
        seen += counts[value]
        if seen >= wanted:
            return value
    return 0


def read_stats(folder: Path) -> CorpusStats:
    """Counts what a folder of decision records holds.

    Args:
        folder: A folder that `fetch_decisions` wrote to.

    Returns:
        The counts; a source without records has a row of zeros.

    Raises:
        FileMissingError: There is no folder, or no records are in it.
        FileFormatError: A line of a file is not a record; the message names it.
    """
    if not folder.is_dir():
        raise FileMissingError.from_path(folder, "Run `gristmill fetch-decisions` first, or name its --out.")
    entries = read_manifest(folder)
    order = [source.name for source in SOURCES]
    paths = sorted(
        (path for path in folder.glob("*.jsonl") if not path.name.startswith(".")),
        key=lambda path: (order.index(path.stem) if path.stem in order else len(order), path.stem),
    )
    if not paths:
        raise FileMissingError(
            f"There are no decision records in {folder}. Run `gristmill fetch-decisions` first, or name its --out."
        )
    sources = tuple(_read_source(path) for path in track(paths, "counting", unit="sources"))
    return CorpusStats(sources, entries)


def _read_source(path: Path) -> SourceStats:
    stats = SourceStats(path.stem)
    groups: set[int] = set()
    with progress(f"counting {path.name}") as bar:
        for number, record in enumerate(iter_records(path), 1):
            _check(record, path, number)
            stats.add(record)
            groups.add(hash64(record.group))
            bar.update(1)
    stats.groups = len(groups)
    return stats


def _check(record: Record, path: Path, line: int) -> None:
    # A file may have been written or changed by others; what breaks a rule can't be counted as anything.
    problem = "" if record.split in SPLITS else f"its split is {record.split[:40]!r}"
    try:
        check_record(record)
    except RecordError as error:
        problem = str(error)
    if problem:
        raise FileFormatError.at(f"not a decision record ({problem})", file=path, line=line)
