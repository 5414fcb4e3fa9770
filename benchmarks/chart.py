"""Draws the figures of `compare.py` as one picture: how many times as fast as `datasets`, and where the limit lies."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from html import escape

from figures import shown

ROW = 17
"""Height of a workload, in pixels."""
LEFT, WIDTH, TOP = 170, 560, 56
_LIMIT = "the limit: the same job straight on pyarrow and numpy"
_MARKS = (1, 2, 5, 10, 20, 50, 100, 200, 500, 1000)

_STYLE = """
  text { font: 12px system-ui, sans-serif; fill: #333 } .small { font-size: 11px; fill: #666 }
  .bar { fill: #8d6e63 } .slower { fill: #c62828 } .limit { stroke: #111; stroke-width: 2 }
  .grid { stroke: #ddd } .one { stroke: #888 }
  @media (prefers-color-scheme: dark) {
    text { fill: #ddd } .small { fill: #aaa } .bar { fill: #bc9a8e } .slower { fill: #ef9a9a }
    .limit { stroke: #fff } .grid { stroke: #444 } .one { stroke: #999 }
  }
"""


@dataclass(frozen=True)
class Bar:
    """One workload.

    Attributes:
        name: Its name.
        faster: How many times as fast as `datasets` Gristmill is.
        limit: How many times as fast as `datasets` the limit is, None where there is none.
    """

    name: str
    faster: float
    limit: float | None


def draw(bars: Sequence[Bar], title: str) -> str:
    """Draws horizontal bars on a logarithmic scale, the longest on top.

    Args:
        bars: The workloads, in any order.
        title: What stands above.

    Returns:
        An SVG document.
    """
    ordered = sorted(bars, key=lambda bar: -bar.faster)
    values = [bar.faster for bar in bars] + [bar.limit for bar in bars if bar.limit]
    least = min(0.8, *values)
    scale = WIDTH / math.log(max(2.0, *values) / least)

    def place(value: float) -> float:
        return LEFT + scale * math.log(value / least)

    bottom = TOP + ROW * len(ordered)
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {LEFT + WIDTH + 60} {bottom + 24}" role="img">',
        f"<title>{escape(title)}</title><style>{_STYLE}</style>",
        f'<text x="8" y="18">{escape(title)}</text>',
        '<line class="limit" x1="12" x2="12" y1="26" y2="38"/>',
        f'<text class="small" x="20" y="36">{_LIMIT}</text>',
    ]
    for mark in _MARKS:
        if mark <= max(values):
            x = place(mark)
            kind = "one" if mark == 1 else "grid"
            parts.append(f'<line class="{kind}" x1="{x:.1f}" x2="{x:.1f}" y1="{TOP - 6}" y2="{bottom}"/>')
            parts.append(
                f'<text class="small" x="{x:.1f}" y="{bottom + 14}" text-anchor="middle">{mark}x</text>'
            )
    for row, bar in enumerate(ordered):
        y = TOP + ROW * row
        start, end = sorted((place(1), place(bar.faster)))
        kind = "bar" if bar.faster >= 1 else "bar slower"
        parts.append(f'<text x="{LEFT - 12}" y="{y + 11}" text-anchor="end">{escape(bar.name)}</text>')
        parts.append(
            f'<rect class="{kind}" x="{start:.1f}" y="{y + 2}" width="{max(end - start, 1):.1f}" height="{ROW - 5}">'
            f"<title>{escape(bar.name)}: {shown(bar.faster)} times as fast</title></rect>"
        )
        if bar.limit:
            x = place(bar.limit)
            parts.append(
                f'<line class="limit" x1="{x:.1f}" x2="{x:.1f}" y1="{y}" y2="{y + ROW - 1}">'
                f"<title>the limit of {escape(bar.name)}: {shown(bar.limit)}</title></line>"
            )
        words = max(end, place(bar.limit) if bar.limit else end)
        parts.append(f'<text class="small" x="{words + 6:.1f}" y="{y + 11}">{shown(bar.faster)}</text>')
    return "\n".join([*parts, "</svg>\n"])
