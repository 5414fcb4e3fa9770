"""What a folder of decision records holds and where it came from: ``sources.json`` and ``DATA_LICENSES.md``.

Both are written from the same entries. Entries of sources that a run did not touch stay as long as their file is there.
"""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from gristmill.corpus.decisions.sources import SOURCES
from gristmill.corpus.licences import Licence, LicenceRow, licences_markdown
from gristmill.errors import FileFormatError
from gristmill.files.atomic import atomic_file, write_json
from gristmill.files.borders import reading, writing

MANIFEST = "sources.json"
LICENCES = "DATA_LICENSES.md"


@dataclass(frozen=True)
class Entry:
    """One source of a folder.

    Attributes:
        source: Its name; its records are in ``<source>.jsonl``.
        repo: Its Hub repository.
        commit: The commit read.
        licence: Its licence at that commit.
        skipped: Why it was left out; empty if it was not.
        counts: raw, invalid, invalid_kinds, duplicate, capped, train, val, test.
        outside: Files read from outside the repository -> their SHA-256.
        settings: seed, cap, val_frac and version that made it.
    """

    source: str
    repo: str
    commit: str
    licence: Licence
    skipped: str = ""
    counts: Mapping[str, Any] = field(default_factory=dict)
    outside: Mapping[str, str] = field(default_factory=dict)
    settings: Mapping[str, Any] = field(default_factory=dict)

    @property
    def rows(self) -> int:
        """Records written."""
        return sum(int(self.counts.get(split, 0)) for split in ("train", "val", "test"))


def read_manifest(folder: Path) -> dict[str, Entry]:
    """Reads the entries of a folder.

    Args:
        folder: A folder that `fetch_decisions` wrote to, or any other.

    Returns:
        Source name -> entry, for those sources whose file is there (or which were left out); empty without a manifest.

    Raises:
        FileFormatError: The manifest is damaged.
    """
    path = folder / MANIFEST
    if not path.exists():
        return {}
    with reading(path, "JSON"):
        text = path.read_text(encoding="utf-8")
    try:
        entries = [_entry(value) for value in json.loads(text)["sources"]]
    except (ValueError, KeyError, TypeError, RecursionError) as error:
        raise FileFormatError.at(
            f"not a manifest of decision records ({error!r})",
            file=path,
            remedy="Delete it and run `gristmill fetch-decisions` again.",
        ) from error
    return {e.source: e for e in entries if e.skipped or (folder / f"{e.source}.jsonl").is_file()}


def _entry(value: Mapping[str, Any]) -> Entry:
    licence = dict(value["licence"])
    licence["names"] = tuple(licence["names"])
    return Entry(**{**value, "licence": Licence(**licence)})


def write_manifest(folder: Path, entries: Mapping[str, Entry]) -> None:
    """Writes ``sources.json`` and ``DATA_LICENSES.md``; no time of day in either, so the same run gives the same bytes.

    Args:
        folder: Where the records are.
        entries: Source name -> entry.

    Raises:
        FileError: A file can't be written.
    """
    order = [source.name for source in SOURCES]
    names = [n for n in order if n in entries] + sorted(set(entries) - set(order))
    chosen = [entries[name] for name in names]
    with writing(folder):
        write_json(folder / MANIFEST, {"sources": [dataclasses.asdict(entry) for entry in chosen]})
        rows = [
            LicenceRow(e.source, e.repo, e.commit, e.licence, e.rows, e.skipped, e.outside) for e in chosen
        ]
        with atomic_file(folder / LICENCES, "w") as file:
            file.write(licences_markdown(rows))
