"""What a folder of decision records holds and where it came from: ``sources.json`` and ``DATA_LICENSES.md``.

Both are written from the same entries. Entries of sources that a run did not touch stay as long as their file is there.
"""

from __future__ import annotations

import dataclasses
import json
import re
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
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,63}")


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
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        raise FileFormatError.at(
            f"not a manifest of decision records ({error!r})",
            file=path,
            remedy="Delete it and run `gristmill fetch-decisions` again.",
        ) from error
    return {e.source: e for e in entries if e.skipped or (folder / f"{e.source}.jsonl").is_file()}


def _entry(value: Mapping[str, Any]) -> Entry:
    licence = {**value["licence"], "names": tuple(value["licence"]["names"])}
    entry = Entry(**{**value, "licence": Licence(**licence)})
    _check(entry)
    return entry


def _check(entry: Entry) -> None:
    """Refuses facts of another kind than a run writes, and names that could lead out of the folder."""
    named, licence = entry.source, entry.licence
    texts = (named, entry.repo, entry.commit, entry.skipped, licence.link, *licence.names)
    flags = (licence.declared, licence.share_alike, licence.see_card)
    maps = (entry.counts, entry.outside, entry.settings)
    if not all(isinstance(text, str) for text in texts):
        raise TypeError("a text is none")
    "".join(texts).encode()  # what no file can hold can't be written again
    if not all(isinstance(flag, bool) for flag in flags) or not all(isinstance(m, dict) for m in maps):
        raise TypeError("a switch or a mapping is none")
    if not all(isinstance(digest, str) for digest in entry.outside.values()):
        raise TypeError("a hash is none")
    kinds = entry.counts.get("invalid_kinds", {})
    numbers = [*kinds.values(), *(n for name, n in entry.counts.items() if name != "invalid_kinds")]
    if not all(type(number) is int and 0 <= number < 1 << 63 for number in numbers):
        raise TypeError("a count is none")
    if not _NAME.fullmatch(named):
        raise ValueError(f"{named[:80]!r} names no source")


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
