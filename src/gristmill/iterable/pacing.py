"""How many rows to work on at once: one at first, more as long as that takes no time worth waiting for."""

from __future__ import annotations

import time

LONGEST = 0.02
"""Seconds that the first row of a piece may wait for the others, about."""
MOST_ROWS = 1000


class Pace:
    """Finds out how many rows a slow step should do at a time.

    Example:
        >>> pace = Pace()
        >>> pace.rows
        1
    """

    def __init__(self) -> None:
        self.rows = 1
        self._started = 0.0

    def start(self) -> None:
        """Starts the clock for a piece."""
        self._started = time.perf_counter()

    @property
    def is_late(self) -> bool:
        """Whether the piece has taken long enough."""
        return time.perf_counter() - self._started > LONGEST

    def stop(self, rows: int) -> None:
        """Stops the clock.

        Args:
            rows: Rows that were done.
        """
        seconds = time.perf_counter() - self._started
        if seconds > LONGEST:
            self.rows = max(1, int(rows * LONGEST / seconds))
        elif rows >= self.rows:
            self.rows = min(MOST_ROWS, self.rows * 2)
