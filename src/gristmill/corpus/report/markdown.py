"""STATS.md: the report's numbers as tables."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from gristmill.corpus.decisions.record import KINDS, TYPES
from gristmill.corpus.licences import cell
from gristmill.corpus.report.bins import bin_lengths
from gristmill.corpus.report.stats import COLUMNS, CorpusStats


def table(columns: Sequence[str], rows: Iterable[Sequence[Any]]) -> list[str]:
    r"""Writes a Markdown table; columns of numbers are aligned to the right.

    Example:
        >>> print("\n".join(table(["name", "n"], [("a", 1200)])))
        | name | n |
        | --- | ---: |
        | a | 1,200 |
    """
    rows = [tuple(row) for row in rows]
    numeric = [
        all(isinstance(row[place], int | float) or row[place] == "" for row in rows)
        for place in range(len(columns))
    ]
    lines = [
        "| " + " | ".join(columns) + " |",
        "| " + " | ".join("---:" if right else "---" for right in numeric) + " |",
    ]
    return lines + ["| " + " | ".join(_shown(value) for value in row) + " |" for row in rows]


def _shown(value: Any) -> str:
    if isinstance(value, float):
        return f"{value:.1%}"
    return f"{value:,}" if isinstance(value, int) else cell(str(value))


def stats_markdown(stats: CorpusStats) -> str:
    """Writes the text of STATS.md.

    Args:
        stats: The counts.

    Returns:
        Markdown with one table a topic.
    """
    rows = stats.table()
    total = ("**all**", *(sum(column) for column in list(zip(*rows, strict=True))[1:-3]), "", "", "")
    lines = ["# Decision records", "", "Written by `gristmill stats`. Lengths are in characters.", ""]
    lines += ["## Sources", "", *table(COLUMNS, [*rows, total])]
    lines += ["", "## What was left out", "", *table(*_left_out(stats))]
    kinds = stats.invalid_kinds()
    if kinds:
        broken = [
            (name, kind, KINDS.get(kind, ""), n) for name, c in kinds.items() for kind, n in sorted(c.items())
        ]
        lines += ["", "## Invalid decisions", "", *table(("source", "kind", "meaning", "decisions"), broken)]
    lines += ["", "## Balance of answers", "", *table(*_balance(stats))]
    for title, of in (("Length of instructions", "instructions"), ("Length of states", "states")):
        bins = bin_lengths(stats.lengths(of))
        counted = [
            (bins.label(place), *(bins.counts[type][place] for type in TYPES), total)
            for place, total in enumerate(bins.totals)
        ]
        lines += ["", f"## {title}", "", *table(("characters", *TYPES, "all"), counted)]
    licences = [
        (e.source, e.repo, e.commit, e.licence.text, e.skipped or "used") for e in stats.entries.values()
    ]
    if licences:
        lines += ["", "## Licences", "", *table(("source", "repository", "commit", "licence", ""), licences)]
    return "\n".join(lines) + "\n"


def _left_out(stats: CorpusStats) -> tuple[Sequence[str], list[tuple[Any, ...]]]:
    columns = ("raw", "invalid", "duplicate", "capped")
    return ("source", *columns), [
        (entry.source, *(int(entry.counts.get(name, 0)) for name in columns))
        for entry in stats.entries.values()
        if not entry.skipped
    ]


def _balance(stats: CorpusStats) -> tuple[Sequence[str], list[tuple[Any, ...]]]:
    strata = stats.strata()
    totals: dict[tuple[str, int], int] = {}
    for (type, options, _), count in strata.items():
        totals[type, options] = totals.get((type, options), 0) + count
    rows = [
        (type, options, answer + 1, count, count / totals[type, options])
        for (type, options, answer), count in sorted(strata.items())
    ]
    return ("type", "options", "answer is number", "records", "share"), rows
