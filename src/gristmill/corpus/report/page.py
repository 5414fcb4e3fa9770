"""report.html: one page that needs nothing else, with what a person wants to know before training on the records."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape

from gristmill._version import __version__
from gristmill.corpus.decisions.record import KINDS, SPLITS, TYPES
from gristmill.corpus.report.bins import bin_lengths
from gristmill.corpus.report.plots import Segment, balance, bar_rows, histogram, legend
from gristmill.corpus.report.stats import COLUMNS, CorpusStats
from gristmill.corpus.report.style import STYLE

MOST_DRAWN = 12
"""Options beyond which a plot of the answer's position would be too fine to read; the tables have them all."""

_TYPE_WORDS = {"noul": "noul (is it true?)", "choice": "choice (which one?)", "score": "score (how much?)"}


def report_html(stats: CorpusStats) -> str:
    """Writes the page.

    Args:
        stats: The counts.

    Returns:
        HTML without any reference to another file, the same for the same counts.
    """
    cards = "".join(
        [
            _sources(stats),
            _types(stats),
            _option_counts(stats),
            _balance(stats),
            _lengths(stats, "instructions", "Length of instructions", "What is asked, in characters."),
            _lengths(stats, "states", "Length of states", "What it is asked about, in characters."),
            _left_out(stats),
            _table(stats),
            _licences(stats),
        ]
    )
    return (
        '<!doctype html>\n<html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width,initial-scale=1">'
        f"<title>Decision records: {stats.records:,} from {len(stats.sources)} sources</title>"
        f"<style>{STYLE}</style></head>\n<body><main>"
        "<h1>Decision records</h1>"
        '<p class="lede">Typed questions with the probability of each answer, ready for training.</p>'
        f'{_figures(stats)}<div class="cards">{cards}</div>'
        f"<footer>Gristmill {escape(__version__)}. Same seed, same sources: same records, same page.</footer>"
        "</main></body></html>\n"
    )


def _figures(stats: CorpusStats) -> str:
    splits = stats.splits()
    soft = sum(source.soft for source in stats.sources)
    figures = [
        (f"{stats.records:,}", "records"),
        (f"{len(stats.sources)}", "sources"),
        *((f"{splits[split]:,}", split) for split in SPLITS),
        (f"{soft / stats.records:.0%}" if stats.records else "0%", "with soft targets"),
    ]
    cells = "".join(f"<div><b>{value}</b><span>{escape(name)}</span></div>" for value, name in figures)
    return f'<div class="figures">{cells}</div>'


def _card(title: str, why: str, body: str, wide: bool = False) -> str:
    kind = ' class="wide"' if wide else ""
    return f'<section{kind}><h2>{escape(title)}</h2><p class="why">{escape(why)}</p>{body}</section>'


def _sources(stats: CorpusStats) -> str:
    rows = [
        (source.source, [Segment(split, source.splits[split], split) for split in SPLITS])
        for source in stats.sources
    ]
    why = "A whole group (a passage, a case, a state) is on one side of train and val. Test is never trained on."
    return _card(
        "Sources and splits", why, legend([(split, split) for split in SPLITS]) + bar_rows(rows), wide=True
    )


def _types(stats: CorpusStats) -> str:
    types = stats.types()
    total = max(stats.records, 1)
    rows = [(_TYPE_WORDS[type], [Segment("records", types[type], type)]) for type in TYPES]
    note = {_TYPE_WORDS[type]: f"{types[type]:,} · {types[type] / total:.0%}" for type in TYPES}
    body = f'<div class="noted">{bar_rows(rows, note)}</div>'
    return _card("Types of question", "What a model has to be able to answer.", body)


def _option_counts(stats: CorpusStats) -> str:
    counts: dict[int, dict[str, int]] = {}
    for (type, options, _), count in stats.strata().items():
        of = counts.setdefault(options, dict.fromkeys(TYPES, 0))
        of[type] += count
    rows = [
        (str(options), [Segment(type, of[type], type) for type in TYPES])
        for options, of in sorted(counts.items())
    ]
    body = f'{legend([(type, type) for type in TYPES])}<div class="narrow">{bar_rows(rows)}</div>'
    return _card("Number of options", "How many answers there are to choose from.", body)


def _balance(stats: CorpusStats) -> str:
    strata = stats.strata()
    plots = []
    for type in TYPES:
        for options in sorted({n for kind, n, _ in strata if kind == type and n <= MOST_DRAWN}):
            counts = [strata[type, options, place] for place in range(options)]
            names = ["false", "true"] if type == "noul" else _position_names(type, options)
            label = f"{type} of {options}"
            plots.append(
                f"<div><h3>{label} <span>{sum(counts):,}</span></h3>{balance(counts, label, type, names)}</div>"
            )
    why = (
        "How often each position is the most likely answer. The dashed line is where all would be equal; "
        "a model can gain from guessing wherever bars leave it."
    )
    return _card("Balance of answers", why, f'<div class="multiples">{"".join(plots)}</div>', wide=True)


def _position_names(type: str, options: int) -> list[str]:
    return [str(place if type == "score" else place + 1) for place in range(options)]


def _lengths(stats: CorpusStats, of: str, title: str, why: str) -> str:
    bins = bin_lengths(stats.lengths(of))
    body = (
        f"{legend([(type, type) for type in TYPES])}{histogram(bins, {type: type for type in TYPES})}"
        '<p class="axis">characters, from</p>'
    )
    return _card(title, why, body)


def _left_out(stats: CorpusStats) -> str:
    entries = [entry for entry in stats.entries.values() if not entry.skipped]
    if not entries:
        return ""
    columns = ("source", "raw", "invalid", "duplicate", "capped", "written")
    rows = [
        (entry.source, *(int(entry.counts.get(name, 0)) for name in columns[1:-1]), entry.rows)
        for entry in entries
    ]
    body = html_table(columns, rows)
    totals: dict[str, int] = {}
    for kinds in stats.invalid_kinds().values():
        for kind, count in kinds.items():
            totals[kind] = totals.get(kind, 0) + count
    ranked = sorted(totals.items(), key=lambda item: (-item[1], item[0]))
    if ranked:
        bars = [(kind, [Segment("decisions", count, "bad")]) for kind, count in ranked]
        words = "".join(
            f"<li><code>{escape(kind)}</code> {escape(KINDS.get(kind, ''))}</li>" for kind, _ in ranked
        )
        body += f'<h3 class="sub">Invalid, by kind</h3>{bar_rows(bars)}<ul class="kinds">{words}</ul>'
    why = "Every decision a source gave is written, or counted here with the reason why not."
    return _card("What was left out", why, body, wide=True)


def _table(stats: CorpusStats) -> str:
    return _card("In numbers", "Lengths are in characters.", html_table(COLUMNS, stats.table()), wide=True)


def _licences(stats: CorpusStats) -> str:
    if not stats.entries:
        return ""
    rows = []
    for entry in stats.entries.values():
        tags = ['<span class="tag">share-alike</span>'] if entry.licence.share_alike else []
        tags += ['<span class="tag">see the card</span>'] if entry.licence.see_card else []
        tags += [f'<span class="tag">left out</span> {escape(entry.skipped)}'] if entry.skipped else []
        terms = escape(", ".join(entry.licence.names) or "none declared")
        address = f"https://huggingface.co/datasets/{entry.repo}"
        rows.append(
            f"<tr><td>{escape(entry.source)}</td>"
            f'<td><a href="{escape(address)}" rel="noreferrer">{escape(entry.repo)}</a></td>'
            f"<td><code>{escape(entry.commit[:12])}</code></td><td>{terms} {' '.join(tags)}</td></tr>"
        )
    head = "".join(f"<th>{name}</th>" for name in ("source", "repository", "commit", "licence"))
    body = f'<div class="scroll"><table><thead><tr>{head}</tr></thead><tbody>{"".join(rows)}</tbody></table></div>'
    why = (
        "What each dataset's card declared at the commit that was read. DATA_LICENSES.md goes with the data."
    )
    return _card("Licences", why, body, wide=True)


def html_table(columns: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    """Writes an HTML table; numbers are aligned to the right.

    Args:
        columns: Headings.
        rows: One sequence of cells a row.
    """
    rows = [tuple(row) for row in rows]
    numeric = [all(isinstance(row[place], int) for row in rows) for place in range(len(columns))]
    head = "".join(_heading(name, right) for name, right in zip(columns, numeric, strict=True))
    body = "".join(f"<tr>{''.join(map(_cell, row))}</tr>" for row in rows)
    return f'<div class="scroll"><table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table></div>'


def _heading(name: str, right: bool) -> str:
    return f'<th class="n">{escape(name)}</th>' if right else f"<th>{escape(name)}</th>"


def _cell(value: object) -> str:
    if isinstance(value, int):
        return f'<td class="n">{value:,}</td>'
    return f"<td>{escape(str(value))}</td>"
