"""Writes what `compare.py --json` measured into docs/performance.md: the table, the means, and a picture.

    python benchmarks/publish.py all.json again.json

Of a workload that several files hold, the last one counts.
"""

from __future__ import annotations

import argparse
import json
import math
import statistics
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

from chart import Bar, draw
from figures import HEADER, Answer, ratio, table_line

DOCS = Path(__file__).parent.parent / "docs"
BEGIN, END = "<!-- measured -->", "<!-- end of measured -->"
Results = dict[str, dict[str, list[Answer]]]


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("measured", nargs="+", type=Path, help="files of `compare.py --json`")
    parser.add_argument("--docs", type=Path, default=DOCS)
    args = parser.parse_args()
    results: Results = {}
    for file in args.measured:
        results.update(json.loads(file.read_text()))
    results = dict(sorted(results.items()))
    page = args.docs / "performance.md"
    before, _, rest = page.read_text().partition(BEGIN)
    _, found, after = rest.partition(END)
    if not found:
        sys.exit(f"{page} has no place for the table, between {BEGIN!r} and {END!r}")
    page.write_text(f"{before}{BEGIN}\n{table(results)}\n\n{means(results)}\n{END}{after}")
    title = "How many times as fast as datasets"
    (args.docs / "performance.svg").write_text(draw(bars(results), title))
    return 0


def table(results: Results) -> str:
    """Gives the table of all workloads."""
    return "\n".join([HEADER, *(table_line(name, answers) for name, answers in results.items())])


def means(results: Results) -> str:
    """Says in sentences what the geometric means are, and which workloads miss an aim."""
    seconds, cpu = (ratios(results, "datasets", "gristmill", key) for key in ("seconds", "cpu"))
    limit = ratios(results, "gristmill", "limit", "cpu")
    return (
        f"Gristmill is {mean(seconds):.1f} times as fast as `datasets` in seconds and {mean(cpu):.1f} times in `cpu` "
        f"(over {len(seconds)} workloads), and takes {mean(limit):.2f} times the `cpu` of the limit (over {len(limit)}).\n"
        f"Slower than `datasets`: {listed(seconds, 'seconds', above=False)}; {listed(cpu, 'cpu', above=False)}.\n"
        f"More than 1.5 times the limit, `cpu`: {listed(limit, '', above=True)}."
    )


def ratios(results: Results, above: str, below: str, key: str) -> dict[str, float]:
    """Gives the ratio of two sides for each workload that both have."""
    found = {name: ratio(answers, above, below, key) for name, answers in results.items()}
    return {name: value for name, value in found.items() if value is not None}


def mean(found: Mapping[str, float]) -> float:
    """Gives the geometric mean."""
    return math.exp(statistics.fmean(map(math.log, found.values()))) if found else math.nan


def listed(found: Mapping[str, float], unit: str, *, above: bool) -> str:
    """Names the workloads that miss an aim: below 1, or above 1.5 times the limit."""
    misses = {name: value for name, value in found.items() if (value > 1.5 if above else value < 1)}
    words = ", ".join(f"`{name}` ({value:.2f})" for name, value in misses.items()) or "none"
    return f"{words} in {unit}" if unit else words


def bars(results: Results) -> Sequence[Bar]:
    """Gives what the picture shows: seconds against `datasets`."""
    limits = ratios(results, "datasets", "limit", "seconds")
    faster = ratios(results, "datasets", "gristmill", "seconds")
    return [Bar(name, value, limits.get(name)) for name, value in faster.items()]


if __name__ == "__main__":
    sys.exit(main())
