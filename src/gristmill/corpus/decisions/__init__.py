"""Typed decision records: questions with options, a state and how likely each option is, from many datasets.

    source (a small module each)  ->  records and errors  ->  finalize: validate, drop repeats, cap, split
                                                          ->  <source>.jsonl, sources.json, DATA_LICENSES.md

`fetch_decisions` is the whole job. `read_source` adds a source of your own from a YAML file.
"""

from __future__ import annotations

from gristmill.corpus.decisions.finalize import Limits, Tally, balanced_cap, finalize, split_of
from gristmill.corpus.decisions.own_source import read_source
from gristmill.corpus.decisions.record import KINDS, Option, Record, check_record
from gristmill.corpus.decisions.run import FetchResult, SourceResult, fetch_decisions
from gristmill.corpus.decisions.sources import SOURCES, Source
from gristmill.corpus.decisions.writer import iter_records, write_records

__all__ = [
    "KINDS",
    "SOURCES",
    "FetchResult",
    "Limits",
    "Option",
    "Record",
    "Source",
    "SourceResult",
    "Tally",
    "balanced_cap",
    "check_record",
    "fetch_decisions",
    "finalize",
    "iter_records",
    "read_source",
    "split_of",
    "write_records",
]
