"""From what a source gives to what is written: validate, drop repeats, cap evenly, split by group."""

from __future__ import annotations

import dataclasses
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from gristmill.corpus.decisions.question import Outcome
from gristmill.corpus.decisions.record import SPLITS, Record, check_record
from gristmill.corpus.hashing import hash64
from gristmill.errors import InvalidArgumentError, RecordError


@dataclass(frozen=True)
class Limits:
    """What decides which records are kept and where they go.

    Attributes:
        cap: Most records kept of one source.
        val_frac: Share of groups that go to validation, from 0 to 1.
        seed: Seed of the draw that the cap makes.

    Raises:
        InvalidArgumentError: A value is out of its range.
    """

    cap: int = 60_000
    val_frac: float = 0.05
    seed: int = 1234

    def __post_init__(self) -> None:
        if self.cap < 1:
            raise InvalidArgumentError.from_value("cap", self.cap, "a number of records, at least 1")
        if not 0.0 <= self.val_frac <= 1.0:
            raise InvalidArgumentError.from_value("val_frac", self.val_frac, "a share between 0 and 1")


@dataclass(frozen=True)
class Tally:
    """What became of a source's decisions; the parts always sum to `raw`.

    Attributes:
        raw: Decisions the source gave.
        invalid_kinds: How many broke which rule.
        duplicate: Exact repeats of an earlier record.
        capped: Valid records beyond the cap.
        splits: Records written, by split.
    """

    raw: int = 0
    invalid_kinds: Mapping[str, int] = field(default_factory=dict)
    duplicate: int = 0
    capped: int = 0
    splits: Mapping[str, int] = field(default_factory=lambda: dict.fromkeys(SPLITS, 0))

    @property
    def invalid(self) -> int:
        """How many broke a rule."""
        return sum(self.invalid_kinds.values())

    @property
    def written(self) -> int:
        """How many are written, over all splits."""
        return sum(self.splits.values())

    def to_dict(self) -> dict[str, object]:
        """Plain values, keys in a fixed order."""
        return {
            "raw": self.raw,
            "invalid": self.invalid,
            "invalid_kinds": dict(sorted(self.invalid_kinds.items())),
            "duplicate": self.duplicate,
            "capped": self.capped,
            **{split: self.splits[split] for split in SPLITS},
        }


def balanced_cap(records: Sequence[Record], cap: int, seed: int) -> list[Record]:
    """Keeps at most `cap` records, as evenly as can be over (type, number of options, answer).

    The strata take turns giving one record until the cap is reached, so a stratum is only smaller than another by
    more than one when it has no records left. Which records a stratum gives is drawn by hash: it depends on the seed
    and the records, not on the order in which they arrive.

    Args:
        records: Records without repeats.
        cap: Most records kept.
        seed: Seed of the draw.

    Returns:
        The records kept, in their order.

    Example:
        >>> from gristmill.corpus.decisions.record import noul_options, one_hot
        >>> many = [
        ...     Record("noul", str(i), noul_options(), "", one_hot(2, int(i < 3)), "s", "g") for i in range(9)
        ... ]
        >>> [record.answer for record in balanced_cap(many, 4, seed=1)].count(1)
        2
    """
    if len(records) <= cap:
        return list(records)
    strata: dict[tuple[str, int, int], list[tuple[int, int]]] = {}
    for position, record in enumerate(records):
        strata.setdefault(record.stratum, []).append((record.content_hash(seed), position))
    # Turn by turn, without looping over turns: a record's place in its stratum is the turn in which it would go.
    turns = [
        (turn, stratum, position)
        for stratum, drawn in strata.items()
        for turn, (_, position) in enumerate(sorted(drawn))
    ]
    return [records[position] for position in sorted(position for _, _, position in sorted(turns)[:cap])]


def split_of(source: str, group: str, val_frac: float, test_only: bool = False) -> str:
    """Decides the split of a whole group: the same answer for every record in it, on every machine.

    Args:
        source: Name of the source.
        group: The record's group.
        val_frac: Share of groups that go to validation.
        test_only: The source is a benchmark and never trained on.

    Example:
        >>> (
        ...     split_of("boolq", "g1", 0.0),
        ...     split_of("boolq", "g1", 1.0),
        ...     split_of("boolq", "g1", 0.5, test_only=True),
        ... )
        ('train', 'val', 'test')
    """
    if test_only:
        return "test"
    return "val" if hash64(f"{source}/{group}") % 1_000_000 / 1e6 < val_frac else "train"


def finalize(
    outcomes: Iterable[Outcome], limits: Limits, *, test_only: bool = False
) -> tuple[list[Record], Tally]:
    """Brings one source's decisions to the records that are written.

    Args:
        outcomes: Records, and errors for those decisions that give none.
        limits: Cap, validation share and seed.
        test_only: Everything goes to the test split.

    Returns:
        The records, in the source's order and with their split, and what became of the rest.
    """
    raw = duplicate = 0
    kinds: Counter[str] = Counter()
    seen: set[int] = set()
    kept: list[Record] = []
    for outcome in outcomes:
        raw += 1
        try:
            if isinstance(outcome, RecordError):
                raise outcome
            record = check_record(outcome)
        except RecordError as error:
            kinds[error.kind] += 1
            continue
        key = record.content_hash()
        if key in seen:
            duplicate += 1
            continue
        seen.add(key)
        kept.append(record)
    chosen = balanced_cap(kept, limits.cap, limits.seed)
    written = [
        dataclasses.replace(r, split=split_of(r.source, r.group, limits.val_frac, test_only)) for r in chosen
    ]
    counts = Counter(record.split for record in written)
    splits = {split: counts[split] for split in SPLITS}
    return written, Tally(raw, dict(kinds), duplicate, len(kept) - len(chosen), splits)
