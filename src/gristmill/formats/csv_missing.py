"""What CSV cells say that have no value; apart from the rest of reading, of which writing needs no more than this."""

from __future__ import annotations

__all__ = ["MISSING"]

# What counts as missing in an unquoted cell by default; the same list as in pandas, which users know.
MISSING = (
    "", "#N/A", "#N/A N/A", "#NA", "-1.#IND", "-1.#QNAN", "-NaN", "-nan", "1.#IND", "1.#QNAN",
    "<NA>", "N/A", "NA", "NULL", "NaN", "None", "n/a", "nan", "null",
)  # fmt: skip
