"""Corpus preparation: many sources in, clean training rows with splits, licences and a report out.

`gristmill.corpus.decisions` turns Hub datasets into typed decision records; `gristmill.corpus.report` draws the
tables and the page about what came out; `gristmill.corpus.licences` says under which terms.
"""
