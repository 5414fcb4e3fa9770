"""What measurements come to: medians, ratios, and a table of them."""

from __future__ import annotations

import math
import statistics
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

Answer = dict[str, Any]
"""What one process measured, or why it did not."""

HEADER = (
    "| workload | gristmill s | cpu | MB | datasets s | cpu | MB | limit s | cpu | faster | faster, cpu "
    "| times the limit, cpu | same |\n|---|--:|--:|--:|--:|--:|--:|--:|--:|--:|--:|--:|---|"
)


def table_line(name: str, answers: Mapping[str, Sequence[Answer]]) -> str:
    """Formats one workload."""
    cells = [name, *figures(answers, "gristmill", memory=True), *figures(answers, "datasets", memory=True)]
    cells += figures(answers, "limit", memory=False)
    cells += [
        shown(ratio(answers, "datasets", "gristmill", "seconds")),
        shown(ratio(answers, "datasets", "gristmill", "cpu")),
        shown(ratio(answers, "gristmill", "limit", "cpu")),
        same(answers),
    ]
    return "| " + " | ".join(cells) + " |"


def figures(answers: Mapping[str, Sequence[Answer]], side: str, *, memory: bool) -> list[str]:
    """Medians of one side; what is missing says so in its first cell."""
    found = [answer for answer in answers.get(side, ()) if "seconds" in answer]
    if not found:
        why = next(
            (word for word in ("missing", "failed") if answers.get(side) and word in answers[side][0]), ""
        )
        return [why, "", ""] if memory else [why, ""]
    middle = {key: statistics.median(answer[key] for answer in found) for key in ("seconds", "cpu", "peak")}
    cells = [f"{middle['seconds']:.3g}", f"{middle['cpu']:.3g}"]
    return [*cells, f"{middle['peak'] / 1e6:.0f}"] if memory else cells


def ratio(answers: Mapping[str, Sequence[Answer]], above: str, below: str, key: str) -> float | None:
    """Median over the rounds of the ratio of two sides."""
    pairs = zip(answers.get(above, ()), answers.get(below, ()), strict=False)
    ratios = [a[key] / max(b[key], 1e-6) for a, b in pairs if key in a and key in b]
    return statistics.median(ratios) if ratios else None


def same(answers: Mapping[str, Sequence[Answer]]) -> str:
    """Says whether all sides gave equal values, and if not, which one stands apart."""
    digests = {side: {a.get("digest") for a in found if "digest" in a} for side, found in answers.items()}
    seen = set().union(*digests.values())
    if len(seen) <= 1:
        return "yes" if seen else ""
    libraries = digests.get("gristmill", set()) | digests.get("datasets", set())
    if len(libraries) == 1:
        return "limit differs"
    return "datasets differs" if digests.get("gristmill") == digests.get("limit") else "no"


def shown(value: float | None) -> str:
    """Formats a ratio."""
    return "" if value is None else f"{value:.0f}" if value >= 20 else f"{value:.2g}"


def summary(results: Mapping[str, Mapping[str, Sequence[Answer]]]) -> Iterator[str]:
    """Yields the geometric means, what is slower than `datasets`, what failed."""
    for key in ("seconds", "cpu"):
        for above, below in (("datasets", "gristmill"), ("gristmill", "limit")):
            found = {name: ratio(a, above, below, key) for name, a in results.items()}
            ratios = {name: value for name, value in found.items() if value is not None}
            if ratios:
                mean = math.exp(statistics.fmean(map(math.log, ratios.values())))
                slower = [name for name, value in ratios.items() if value < 1] if above == "datasets" else []
                yield f"\n{above} / {below}, {key}: geometric mean {mean:.2f} over {len(ratios)}." + (
                    f" Slower: {', '.join(slower)}." if slower else ""
                )
    for name, answers in results.items():
        for side, given in answers.items():
            for answer in given[:1]:
                why = answer.get("failed") or answer.get("missing")
                if why and why != "no limit":
                    yield f"{name}, {side}: {why}"
