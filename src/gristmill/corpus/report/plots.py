"""Plots as inline SVG: bars stretch with the page, words stay HTML, so a phone shows them at reading size.

Every mark has a ``<title>`` with its numbers, which browsers show on hover and screen readers read.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from html import escape

from gristmill.corpus.report.bins import Bins


@dataclass(frozen=True)
class Segment:
    """One coloured part of a bar.

    Attributes:
        name: What it is; the legend's word.
        value: Its size.
        colour: Name of a CSS colour class.
    """

    name: str
    value: int
    colour: str


def short(number: float) -> str:
    """Shows a count in few characters.

    Example:
        >>> [short(n) for n in (7, 1200, 51019, 2_400_000)]
        ['7', '1.2k', '51k', '2.4M']
    """
    for size, unit in ((1e6, "M"), (1e3, "k")):
        if number >= size:
            text = f"{number / size:.1f}" if number < 9.95 * size else f"{number / size:.0f}"
            return text.removesuffix(".0") + unit
    return f"{number:g}"


def legend(entries: Sequence[tuple[str, str]]) -> str:
    """Shows which colour means what.

    Args:
        entries: (name, colour class) in order.
    """
    items = "".join(f'<li><i class="dot {colour}"></i>{escape(name)}</li>' for name, colour in entries)
    return f'<ul class="legend">{items}</ul>'


def stacked_bar(segments: Sequence[Segment], longest: int, label: str) -> str:
    """Draws one horizontal bar of coloured parts.

    Args:
        segments: Its parts, from left to right.
        longest: The value that fills the whole width.
        label: What the bar stands for, for the tooltips.
    """
    scale = 1000 / max(longest, 1)
    parts = []
    at = 0.0
    for segment in segments:
        width = segment.value * scale
        if segment.value:
            title = f"{label}: {segment.value:,} {segment.name}"
            parts.append(
                f'<rect class="{segment.colour}" x="{at:.2f}" y="0" width="{width:.2f}" height="20">'
                f"<title>{escape(title)}</title></rect>"
            )
        at += width
    words = ", ".join(f"{segment.value:,} {segment.name}" for segment in segments if segment.value)
    return (
        f'<svg class="bar" viewBox="0 0 1000 20" preserveAspectRatio="none" role="img" '
        f'aria-label="{escape(f"{label}: {words}")}">{"".join(parts)}</svg>'
    )


def bar_rows(rows: Sequence[tuple[str, Sequence[Segment]]], note: Mapping[str, str] | None = None) -> str:
    """Draws labelled horizontal bars on a common scale, with their totals aligned at the right.

    Args:
        rows: (label, parts) from top to bottom.
        note: Label -> what stands at the right instead of the total.
    """
    longest = max((sum(segment.value for segment in segments) for _, segments in rows), default=0)
    lines = []
    for label, segments in rows:
        total = sum(segment.value for segment in segments)
        shown = (note or {}).get(label, f"{total:,}")
        lines.append(
            f'<div class="row"><span class="name">{escape(label)}</span>'
            f'{stacked_bar(segments, longest, label)}<span class="num">{escape(shown)}</span></div>'
        )
    return f'<div class="bars">{"".join(lines)}</div>'


def histogram(bins: Bins, colours: Mapping[str, str]) -> str:
    """Draws stacked columns, one a class of lengths.

    Args:
        bins: The classes with their counts.
        colours: Series -> CSS colour class, in the order they are stacked from the bottom.
    """
    totals = bins.totals
    highest = max(totals, default=0) or 1
    marks = []
    for place, total in enumerate(totals):
        top = 100.0
        for name, colour in colours.items():
            count = bins.counts[name][place]
            if not count:
                continue
            height = 100 * count / highest
            top -= height
            title = f"{bins.label(place)} characters: {count:,} {name} of {total:,}"
            marks.append(
                f'<rect class="{colour}" x="{place * 100 + 8}" y="{top:.2f}" width="84" height="{height:.2f}">'
                f"<title>{escape(title)}</title></rect>"
            )
    grid = "".join(f'<line class="grid" x1="0" x2="{len(totals) * 100}" y1="{y}" y2="{y}"/>' for y in (0, 50))
    columns = f'style="grid-template-columns:repeat({len(totals)},1fr)"'
    counts = "".join(f"<span>{short(total) if total else ''}</span>" for total in totals)
    edges = "".join(f"<span>{short_edge(edge)}</span>" for edge in bins.edges)
    return (
        f'<div class="hist"><div class="ticks counts" {columns}>{counts}</div>'
        f'<svg viewBox="0 0 {len(totals) * 100} 100" preserveAspectRatio="none" role="img" '
        f'aria-label="histogram">{grid}{"".join(marks)}</svg>'
        f'<div class="ticks" {columns}>{edges}</div></div>'
    )


def short_edge(edge: int) -> str:
    """Names the first length of a class, powers of two as people write them.

    Example:
        >>> [short_edge(n) for n in (64, 1024, 16384)]
        ['64', '1k', '16k']
    """
    return f"{edge // 1024}k" if edge >= 1024 else str(edge)


def balance(counts: Sequence[int], label: str, colour: str, names: Sequence[str]) -> str:
    """Draws how often each position is the answer, with a line where all would be equal.

    Args:
        counts: One count a position.
        label: What the plot stands for, for the tooltips.
        colour: CSS colour class.
        names: One short name a position.
    """
    total = sum(counts) or 1
    equal = 1 / len(counts)
    highest = max(max(counts) / total, equal) * 1.08
    width = 100 / len(counts)
    marks = []
    for place, count in enumerate(counts):
        height = 60 * count / total / highest
        title = f"{label}, answer {names[place]}: {count:,} ({count / total:.1%})"
        marks.append(
            f'<rect class="{colour}" x="{place * width + width * 0.1:.2f}" y="{60 - height:.2f}" '
            f'width="{width * 0.8:.2f}" height="{height:.2f}"><title>{escape(title)}</title></rect>'
        )
    y = 60 - 60 * equal / highest
    line = f'<line class="equal" x1="0" x2="100" y1="{y:.2f}" y2="{y:.2f}"><title>equal: {equal:.1%}</title></line>'
    ticks = "".join(f"<span>{escape(name)}</span>" for name in names)
    columns = f'style="grid-template-columns:repeat({len(counts)},1fr)"'
    return (
        f'<svg viewBox="0 0 100 60" preserveAspectRatio="none" role="img" aria-label="{escape(label)}">'
        f'{"".join(marks)}{line}</svg><div class="ticks" {columns}>{ticks}</div>'
    )
