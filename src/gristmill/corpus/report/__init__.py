"""What came out of a corpus run: STATS.md for reading in a terminal, report.html for looking at.

`write_report` counts a folder of decision records and writes both beside them.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from gristmill.corpus.report.markdown import stats_markdown
from gristmill.corpus.report.page import report_html
from gristmill.corpus.report.stats import COLUMNS, CorpusStats, read_stats
from gristmill.files.atomic import atomic_file, sweep
from gristmill.files.borders import writing

__all__ = ["COLUMNS", "CorpusStats", "Report", "read_stats", "write_report"]


@dataclass(frozen=True)
class Report:
    """What `write_report` made.

    Attributes:
        stats: The counts.
        markdown: Path of STATS.md.
        page: Path of report.html.
    """

    stats: CorpusStats
    markdown: Path
    page: Path


def write_report(folder: str | Path = "data/decisions") -> Report:
    """Counts a folder of decision records and writes STATS.md and report.html into it.

    Args:
        folder: A folder that `fetch_decisions` wrote to.

    Returns:
        The counts and where the report is.

    Raises:
        FileMissingError: There is no folder, or no records are in it.
        FileFormatError: A file in it is damaged; the message names file and line.
        FileError: The report can't be written.
    """
    top = Path(folder)
    stats = read_stats(top)
    report = Report(stats, top / "STATS.md", top / "report.html")
    with writing(top):
        sweep(top)
        for path, text in ((report.markdown, stats_markdown(stats)), (report.page, report_html(stats))):
            with atomic_file(path, "w") as file:
                file.write(text)
    return report
