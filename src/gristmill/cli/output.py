"""How every command speaks: results on stdout as a table or as JSON, words for people on stderr, or not at all."""

from __future__ import annotations

import io
import json
import sys
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Output:
    """Where a command's results go.

    Attributes:
        as_json: Results are one JSON document on stdout.
        quiet: No words, no tables; the exit status is the answer (JSON, if asked for, is still printed).
    """

    as_json: bool = False
    quiet: bool = False

    def say(self, text: str) -> None:
        """Tells the person at the terminal something that is not the result."""
        if not self.quiet and not self.as_json:
            print(text, file=sys.stderr, flush=True)  # this object is where printing happens

    def error(self, text: str) -> None:
        """Tells what failed, also when quiet."""
        print(f"gristmill: {text}", file=sys.stderr, flush=True)

    def result(self, value: Any) -> None:
        """Prints a result that is not a table: JSON as it is, or one line a key."""
        if self.as_json:
            self._json(value)
        elif not self.quiet:
            lines = (
                [f"{key}: {item}" for key, item in value.items()]
                if isinstance(value, Mapping)
                else [str(value)]
            )
            print("\n".join(lines))

    def record(self, value: Any) -> None:
        """Prints one of many results, a line each: compact JSON, or text."""
        if self.as_json:
            print(json.dumps(value, ensure_ascii=False, default=str))
        elif not self.quiet:
            print(value)

    def table(
        self, title: str, columns: Sequence[str], rows: Iterable[Sequence[Any]], json_value: Any = None
    ) -> None:
        """Prints a table, or its rows as JSON objects.

        Args:
            title: Printed above the table.
            columns: Column headings; numbers are aligned to the right.
            rows: One sequence of cells a row, as long as `columns`; None is shown as an empty cell.
            json_value: What ``--json`` prints instead of the rows, if that says more.
        """
        rows = [tuple(row) for row in rows]
        if self.as_json:
            records = [dict(zip(columns, row, strict=True)) for row in rows]
            self._json(records if json_value is None else json_value)
            return
        if self.quiet:
            return
        from rich.console import Console
        from rich.table import Table
        from rich.text import Text

        table = Table(title=title, title_justify="left", title_style="bold", header_style="bold")
        for position, name in enumerate(columns):
            numeric = all(isinstance(row[position], int | float | None) for row in rows)
            table.add_column(name, justify="right" if rows and numeric else "left", overflow="fold")
        for row in rows:
            table.add_row(*(Text(_cell(cell)) for cell in row))
        # Piped output keeps whole cells: 80 columns would cut them where no terminal asks for it.
        # Drawn first and printed by us: on a closed pipe rich would end the process with status 1.
        terminal = sys.stdout.isatty()
        drawn = io.StringIO()
        console = Console(file=drawn, force_terminal=terminal, width=None if terminal else 200)
        if console.measure(table, options=console.options.update(max_width=10_000)).minimum > console.width:
            table.padding = 0  # rather no air than words that are cut in two
        console.print(table)
        print(drawn.getvalue(), end="")

    def _json(self, value: Any) -> None:
        print(json.dumps(value, ensure_ascii=False, indent=2, default=str))


def _cell(value: Any) -> str:
    if value is None:
        return ""
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, int):
        return f"{value:,}"
    return f"{value:,.3f}" if isinstance(value, float) else str(value)
