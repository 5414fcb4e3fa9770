"""The whole job: pin each source, look at its licence, read, finalize, write; then the manifest and the licences."""

from __future__ import annotations

import contextlib
import dataclasses
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from gristmill._version import __version__
from gristmill.corpus.decisions.finalize import Limits, Tally, finalize
from gristmill.corpus.decisions.manifest import Entry, read_manifest, write_manifest
from gristmill.corpus.decisions.reader import HubReader, read_card
from gristmill.corpus.decisions.sources import Source, choose_sources
from gristmill.corpus.decisions.writer import write_records
from gristmill.corpus.licences import Licence, licence_of
from gristmill.errors import GatedRepoError, GristmillError, InvalidArgumentError
from gristmill.files.atomic import sweep
from gristmill.files.borders import writing
from gristmill.files.lock import lock
from gristmill.hub.client import HubClient
from gristmill.logging import get_logger
from gristmill.progress import track

COLUMNS = ("source", "raw", "invalid", "duplicate", "capped", "train", "val", "test")

_log = get_logger(__name__)


@dataclass(frozen=True)
class SourceResult:
    """What became of one source.

    Attributes:
        source: Its name.
        repo: Its Hub repository.
        status: ``"written"``, ``"skipped"`` (its licence or its gate forbid it) or ``"failed"``.
        commit: The commit read; empty if none was reached.
        licence: Its licence, as far as it was read.
        reason: Why it was skipped or failed.
        tally: What became of its decisions.
        outside: Files read from outside the repository -> their SHA-256.
    """

    source: str
    repo: str
    status: str
    commit: str = ""
    licence: Licence = field(default_factory=Licence)
    reason: str = ""
    tally: Tally = field(default_factory=Tally)
    outside: Mapping[str, str] = field(default_factory=dict)

    def to_dict(self) -> dict[str, Any]:
        """Plain values."""
        return {
            "source": self.source,
            "repo": self.repo,
            "status": self.status,
            "commit": self.commit,
            "licence": self.licence.text,
            "reason": self.reason,
            **self.tally.to_dict(),
        }


@dataclass(frozen=True)
class FetchResult:
    """What `fetch_decisions` did.

    Attributes:
        out: The folder written to.
        sources: One entry a source, in the sources' order.
    """

    out: Path
    sources: tuple[SourceResult, ...]

    @property
    def failed(self) -> tuple[SourceResult, ...]:
        """The sources that could not be had."""
        return tuple(result for result in self.sources if result.status == "failed")

    @property
    def skipped(self) -> tuple[SourceResult, ...]:
        """The sources left out for their licence or their gate."""
        return tuple(result for result in self.sources if result.status == "skipped")

    def table(self) -> list[tuple[Any, ...]]:
        """One row a source, under `COLUMNS`; a source that was not written has empty cells."""
        rows: list[tuple[Any, ...]] = []
        for result in self.sources:
            counts = result.tally.to_dict() if result.status == "written" else {}
            rows.append((result.source, *(counts.get(name) for name in COLUMNS[1:])))
        return rows

    def to_dict(self) -> dict[str, Any]:
        """Plain values, for ``--json``."""
        return {"out": str(self.out), "sources": [result.to_dict() for result in self.sources]}


def fetch_decisions(
    out: str | Path = "data/decisions",
    *,
    only: Iterable[str] | None = None,
    own: Sequence[Source] = (),
    limits: Limits | None = None,
    revisions: Mapping[str, str] | None = None,
    allow_unlicensed: bool = False,
    client: HubClient | None = None,
) -> FetchResult:
    """Turns Hub datasets into typed decision records: JSONL per source, a manifest and a table of licences.

    A source that can't be had is reported and does not stop the others. Running again with the same arguments over
    the same commits gives the same bytes, whatever happened to the run before.

    Args:
        out: Folder for ``<source>.jsonl``, ``sources.json`` and ``DATA_LICENSES.md``; made if needed.
        only: Names of built-in sources to run; None runs all, or only `own` if there are any.
        own: Sources of the user's (`read_source`).
        limits: Cap, validation share and seed; the defaults if left out.
        revisions: Source name -> branch, tag or commit to read instead of ``main``.
        allow_unlicensed: Also read repositories that declare no licence. Gated ones are always left out.
        client: The Hub to read from; the configured one if left out.

    Returns:
        What became of each source.

    Raises:
        InvalidArgumentError: A source or limit can't be used.
        FileError: The folder can't be written.
    """
    limits = limits or Limits()
    sources = _at_revisions(choose_sources(only, own), revisions or {})
    folder = Path(out)
    with contextlib.ExitStack() as stack:
        hub = client or HubClient()
        if client is None:
            stack.callback(hub.session.close)
        stack.enter_context(lock(folder / ".fetch-decisions.lock"))
        sweep(folder)
        shown = track(sources, "decision records", unit="sources")
        results = [_run_source(hub, source, folder, limits, allow_unlicensed) for source in shown]
        _record_results(folder, results, limits)
        sweep(folder)
    return FetchResult(folder, tuple(results))


def _at_revisions(sources: Sequence[Source], revisions: Mapping[str, str]) -> list[Source]:
    names = [source.name for source in sources]
    for name in revisions:
        if name not in names:
            raise InvalidArgumentError.from_choice("revision", name, names)
    return [dataclasses.replace(s, revision=revisions.get(s.name, s.revision)) for s in sources]


def _run_source(
    hub: HubClient, source: Source, folder: Path, limits: Limits, allow_unlicensed: bool
) -> SourceResult:
    result = SourceResult(source.name, source.repo, "failed")
    try:
        pinned = hub.pin(source.repo, source.revision)
        result = dataclasses.replace(result, commit=pinned.commit, licence=licence_of(pinned.card_data))
        if pinned.gated:
            return _skip(result, folder, "gated: its owner wants to be asked for access first")
        card = read_card(pinned)
        result = dataclasses.replace(result, licence=licence_of(card.metadata))
        if not result.licence.declared and not allow_unlicensed:
            return _skip(result, folder, "declares no licence (--allow-unlicensed reads it all the same)")
        reader = HubReader(hub, source, pinned, card, limits.seed)
        records, tally = finalize(source.load(reader), limits, test_only=source.test_only)
        write_records(folder / f"{source.name}.jsonl", records)
    except GatedRepoError as error:
        return _skip(result, folder, f"gated: {error}")
    except GristmillError as error:
        _log.debug("the source %s failed", source.name, exc_info=True)
        return dataclasses.replace(result, reason=str(error))
    return dataclasses.replace(result, status="written", tally=tally, outside=dict(reader.outside))


def _skip(result: SourceResult, folder: Path, reason: str) -> SourceResult:
    # A file of an earlier, more permissive run must not stay beside a table that says the source was left out.
    path = folder / f"{result.source}.jsonl"
    with writing(path):
        path.unlink(missing_ok=True)
    return dataclasses.replace(result, status="skipped", reason=reason)


def _record_results(folder: Path, results: Sequence[SourceResult], limits: Limits) -> None:
    entries = read_manifest(folder)
    for result in results:
        if result.status == "failed":
            # What an earlier run wrote is still there, whole; its entry stays true.
            continue
        entries[result.source] = Entry(
            source=result.source,
            repo=result.repo,
            commit=result.commit,
            licence=result.licence,
            skipped=result.reason,
            counts=result.tally.to_dict(),
            outside=result.outside,
            settings={
                "seed": limits.seed,
                "cap": limits.cap,
                "val_frac": limits.val_frac,
                "gristmill": __version__,
            },
        )
    write_manifest(folder, entries)
