"""`gristmill pqinfo`: what a Parquet file holds, and whether all of it is sound."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

import click

from gristmill.cli.app import Settings, app

if TYPE_CHECKING:
    from gristmill.parquet import Bound, ColumnChunkInfo, FileInfo

# More chunks than these are summed up by column, unless all are asked for.
_MOST_CHUNKS = 40
_MOST_TEXT = 30


@app.command("pqinfo")
@click.argument("file")
@click.option("--check", is_flag=True, help="Decode everything and compare all counts and sizes.")
@click.option(
    "--diff", "other", metavar="OTHER", help="Only say where the schema differs from that of OTHER."
)
@click.option("--chunks", is_flag=True, help="A line for every column chunk, however many there are.")
@click.option(
    "--pages/--no-pages",
    default=None,
    help="Count pages by reading their headers; by default of files on this machine.",
)
@click.pass_obj
def pqinfo(
    settings: Settings, file: str, check: bool, other: str | None, chunks: bool, pages: bool | None
) -> int:
    """Show what a Parquet FILE holds.

    FILE is a path, an http(s) URL, or hf://datasets/org/name[@revision]/path; of a remote file only the footer is
    fetched.

    Schema with physical and logical types and maximum levels, row groups, column chunks with codec, encodings, pages,
    sizes and statistics, key-value metadata, totals. --check ends with status 1 at the first fault and names file, row
    group, column and page. --diff ends with status 1 if the schemas differ.
    """
    if other is not None:
        return _diff(settings, file, other)
    if check:
        return _check(settings, file)
    from gristmill.parquet import inspect

    info = inspect(file, pages)
    if settings.output.as_json:
        settings.output.result(info.to_dict())
        return 0
    _show(settings, info, chunks)
    return 0


def _diff(settings: Settings, file: str, other: str) -> int:
    from gristmill.parquet import compare_schemas

    found = compare_schemas(file, other)
    if found or settings.output.as_json:
        settings.output.table(
            "Differences",
            ["column", "what", file, other],
            [(one.column, one.what, one.first, one.second) for one in found],
            json_value=[asdict(one) for one in found],
        )
    else:
        settings.output.result("The schemas are alike.")
    return int(bool(found))


def _check(settings: Settings, file: str) -> int:
    from gristmill.parquet import check

    report = check(file)
    if settings.output.as_json:
        settings.output.result(asdict(report))
        return 0
    settings.output.result(
        f"{report.file} is sound: {report.rows:,} rows in {report.row_groups:,} row groups, {report.chunks:,} column "
        f"chunks, {report.data_pages:,} data and {report.dictionary_pages:,} dictionary pages, "
        f"{report.checksums:,} with a checksum, {report.entries:,} level entries, {report.decompressed:,} bytes."
    )
    for remark in report.remarks:
        settings.output.say(f"note: {remark}")
    return 0


def _show(settings: Settings, info: FileInfo, chunks: bool) -> None:
    from gristmill.parquet import schema_lines

    output = settings.output
    output.result(
        {
            "file": info.name,
            "size": f"{info.size:,} bytes, footer {info.footer_size:,}",
            "fetched": f"{info.fetched:,} bytes",
            "writer": info.writer or "not said",
            "format version": info.version,
            "rows": f"{info.rows:,} in {len(info.row_groups):,} row groups",
        }
    )
    output.result("\n" + "\n".join(schema_lines(info.schema)) + "\n")
    output.table(
        "Row groups", ["group", "rows", "bytes", "uncompressed", "ratio", "sorted by"], _groups(info)
    )
    every = chunks or sum(len(group.columns) for group in info.row_groups) <= _MOST_CHUNKS
    columns = ["group"] if every else []
    columns += ["column", "codec", "encodings", "values", "pages", "bytes", "uncompressed", "ratio"]
    rows = _chunks(info) if every else _columns(info)
    output.table("Column chunks" if every else "Columns, all row groups", columns, rows)
    statistics = list(_statistics(info, every))
    if statistics:
        output.table("Statistics", ["group", "column", "nulls", "min", "max", "index", "Bloom"], statistics)
    if not every:
        output.say("every column chunk: --chunks, or --json")
    if info.features:
        output.table("Features (huggingface)", ["column", "feature"], info.features.items())
    rest = {
        key: _cut(value, 100)
        for key, value in info.metadata.items()
        if key != "huggingface" or not info.features
    }
    if rest:
        output.table("Metadata", ["key", "value"], rest.items())
    for remark in info.remarks:
        output.say(f"note: {remark}")


def _groups(info: FileInfo) -> Iterator[tuple[Any, ...]]:
    for number, group in enumerate(info.row_groups):
        ratio = _ratio(group.uncompressed, group.compressed)
        yield number, group.rows, group.compressed, group.uncompressed, ratio, ", ".join(group.sorted_by)
    if len(info.row_groups) > 1:
        sizes = [sum(g.compressed for g in info.row_groups), sum(g.uncompressed for g in info.row_groups)]
        yield "total", sum(g.rows for g in info.row_groups), *sizes, _ratio(sizes[1], sizes[0]), ""


def _chunks(info: FileInfo) -> Iterator[tuple[Any, ...]]:
    for number, group in enumerate(info.row_groups):
        for chunk in group.columns:
            yield number, *_line(chunk.path, [chunk])


def _columns(info: FileInfo) -> Iterator[tuple[Any, ...]]:
    for position in range(len(info.row_groups[0].columns)):
        chunks = [group.columns[position] for group in info.row_groups]
        yield _line(chunks[0].path, chunks)


def _line(path: str, chunks: list[ColumnChunkInfo]) -> tuple[Any, ...]:
    compressed, uncompressed = sum(c.compressed for c in chunks), sum(c.uncompressed for c in chunks)
    codecs = dict.fromkeys("encrypted" if c.encrypted else c.codec for c in chunks)
    encodings = dict.fromkeys(name for c in chunks for name in c.encodings)
    counts = [c.pages for c in chunks if c.pages is not None]
    dictionaries, data = sum(c.dictionary for c in counts), sum(c.data for c in counts)
    pages = f"{data:,} data" + (f", {dictionaries:,} dictionary" if dictionaries else "")
    return (
        path, " ".join(codecs), " ".join(encodings), sum(c.values for c in chunks),
        pages if len(counts) == len(chunks) else "not counted", compressed, uncompressed, _ratio(uncompressed, compressed),
    )  # fmt: skip


def _statistics(info: FileInfo, every: bool) -> Iterator[tuple[Any, ...]]:
    for number, group in enumerate(info.row_groups[: None if every else 1]):
        for chunk in group.columns:
            found, index = chunk.statistics, chunk.index
            if found is None and index is None and chunk.bloom_filter is None:
                continue
            parts = (
                []
                if index is None
                else ["offset"] * bool(index.offset_index) + ["column"] * bool(index.column_index)
            )
            bounds = (
                (found.null_count, _bound(found.min, "≥"), _bound(found.max, "≤"))
                if found
                else (None, "", "")
            )
            yield (
                number,
                chunk.path,
                *bounds,
                "+".join(parts),
                "yes" if chunk.bloom_filter is not None else "",
            )


def _bound(bound: Bound | None, sign: str) -> str:
    """Words a bound; only a value that surely occurs stands without a sign."""
    if bound is None:
        return ""
    text = _cut(str(bound.value), _MOST_TEXT)
    if bound.deprecated:
        return f"{text} (old field, order unsure)"
    return text if bound.exact and text == str(bound.value) else f"{sign} {text}"


def _ratio(uncompressed: int, compressed: int) -> float | None:
    return round(uncompressed / compressed, 2) if compressed else None


def _cut(text: str | None, limit: int) -> str:
    text = "" if text is None else text
    return text if len(text) <= limit else text[: limit - 1] + "…"
