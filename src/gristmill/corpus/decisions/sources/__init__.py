"""The sources of decision records, in their order: one module each, gathered here."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from gristmill.corpus.decisions.sources import (
    arc,
    assistant_decisions,
    banking77,
    boolq,
    commonsense_qa,
    mnli,
    pngwn_typed,
    typed_decisions_bench,
    typed_synth,
)
from gristmill.corpus.decisions.sources.base import Source, SourceReader
from gristmill.errors import InvalidArgumentError

__all__ = ["SOURCES", "Source", "SourceReader", "choose_sources"]

SOURCES: tuple[Source, ...] = (
    typed_synth.SOURCE,
    assistant_decisions.SOURCE,
    pngwn_typed.SOURCE,
    boolq.SOURCE,
    mnli.SOURCE,
    arc.SOURCE,
    commonsense_qa.SOURCE,
    banking77.SOURCE,
    typed_decisions_bench.SOURCE,
)


def choose_sources(only: Iterable[str] | None = None, own: Sequence[Source] = ()) -> list[Source]:
    """Picks sources by name, in their fixed order whatever the order of the names.

    Args:
        only: Names to keep; None keeps all (but with `own` and no names, only those are meant).
        own: Sources of the user's, after the built-in ones.

    Raises:
        InvalidArgumentError: A name is not known, or two sources have the same one.

    Example:
        >>> [source.name for source in choose_sources(["mnli", "boolq"])]
        ['boolq', 'mnli']
    """
    known = [*SOURCES, *own]
    names = [source.name for source in known]
    for name in names:
        if names.count(name) > 1:
            raise InvalidArgumentError(f'Two sources are called "{name}"; give yours another name.')
    if only is None:
        return list(own) if own else list(SOURCES)
    wanted = set(only)
    if not wanted:
        raise InvalidArgumentError.from_value("only", "", f"one or more of {', '.join(names)}")
    for name in sorted(wanted - set(names)):
        raise InvalidArgumentError.from_choice("only", name, names)
    # A file named on the command line is always wanted; `only` picks among the built-in ones.
    return [source for source in known if source.name in wanted or source in own]
