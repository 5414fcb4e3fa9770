"""The demo: a Hub on a loopback port, a dataset from it, and decision records from all nine sources.

Everything happens in one folder and on this machine. The user's own caches, token and Hub are not touched, because the
demo's repositories carry the names of real ones and hold only some of their rows.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from gristmill import config
from gristmill.corpus.decisions import FetchResult, Limits, fetch_decisions
from gristmill.corpus.report import Report, write_report
from gristmill.demo import DEMO_HUB
from gristmill.hub.client import HubClient
from gristmill.hub.server import serve_in_thread
from gristmill.load import load_dataset
from gristmill.optional import require

SHOWN_DATASET = "google/boolq"
SHOWN_COLUMNS = ("question", "answer", "passage")


@dataclass(frozen=True)
class DemoResult:
    """What the demo did.

    Attributes:
        rows: Rows of each split of the dataset that was loaded.
        first_rows: Its first rows, as `SHOWN_COLUMNS`.
        decisions: What became of each source.
        report: The counts and where the report's page is.
        seconds: Wall-clock seconds of the whole demo.
    """

    rows: dict[str, int]
    first_rows: list[tuple[Any, ...]]
    decisions: FetchResult
    report: Report
    seconds: float = field(compare=False)

    def to_dict(self) -> dict[str, Any]:
        """Plain values, for ``--json``."""
        return {
            "dataset": SHOWN_DATASET,
            "rows": self.rows,
            "decisions": self.decisions.to_dict(),
            "report": str(self.report.page),
            "seconds": round(self.seconds, 1),
        }


def run_demo(folder: str | Path, seed: int = 1234, say: Callable[[str], None] = lambda _: None) -> DemoResult:
    """Runs the main job on the small Hub that ships with the package; needs no network.

    Args:
        folder: Where records, report and a cache of their own go; made if needed. A second run reuses the cache.
        seed: Seed of everything drawn at random.
        say: Told in a sentence what happens next.

    Returns:
        What was done, with the paths to look at.

    Raises:
        MissingDependencyError: The extra ``demo`` is not installed.
        FileError: The folder can't be written.
    """
    for library in ("starlette", "uvicorn", "tokenizers"):
        require(library, "`gristmill demo`", extra="demo")
    started = time.monotonic()
    top = Path(folder)
    with serve_in_thread(DEMO_HUB) as endpoint:
        say(f"A Hub runs on {endpoint} with the rows that ship inside the package.")
        with config.override(
            HF_ENDPOINT=endpoint,
            HF_HUB_CACHE=top / "cache" / "hub",
            HF_DATASETS_CACHE=top / "cache" / "datasets",
            DOWNLOADED_DATASETS_PATH=top / "cache" / "downloads",
            HF_HUB_OFFLINE=False,
            HF_DATASETS_OFFLINE=False,
            GRISTMILL_GITHUB_RAW="",
        ):
            say(f'load_dataset("{SHOWN_DATASET}")')
            splits = load_dataset(SHOWN_DATASET, token=False)
            first = splits["train"][:3]
            say("Decision records from nine sources: validated, deduplicated, capped, split by group.")
            decisions = fetch_decisions(
                top / "decisions", limits=Limits(seed=seed), client=HubClient(token=False)
            )
            report = write_report(top / "decisions")
    return DemoResult(
        rows={name: len(split) for name, split in splits.items()},
        first_rows=list(zip(*(first[name] for name in SHOWN_COLUMNS), strict=True)),
        decisions=decisions,
        report=report,
        seconds=time.monotonic() - started,
    )
