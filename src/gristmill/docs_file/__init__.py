"""``.docs`` files: plain documents in one memory-mapped file, read, checked, and extracted from Parquet."""

from __future__ import annotations

from gristmill.docs_file.checking import check_docs
from gristmill.docs_file.extracting import Extracted, extract
from gristmill.docs_file.file import DocsFile

__all__ = ["DocsFile", "Extracted", "check_docs", "extract"]
