"""`map`: the user's function over rows or batches; what it returns is put beside the columns that stay."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache, partial
from typing import Any, ClassVar

import pyarrow as pa

from gristmill.arguments import check_columns, whole_number
from gristmill.calling.caller import Caller
from gristmill.calling.gathering import Made, iter_row_tables
from gristmill.calling.outputs import Outputs
from gristmill.dataset.named_file import FACTS, Computed
from gristmill.dataset.pieces import CallingJob, compute
from gristmill.dataset.place import Place
from gristmill.engine import CONVERTING, GrowingTable
from gristmill.engine.growing import Fill, Final
from gristmill.errors import InvalidArgumentError, TransformOutputError
from gristmill.features import ClassLabel, Features
from gristmill.features.arrays import AnyArray
from gristmill.features.cast import cast_array
from gristmill.features.convert import from_arrow_type, to_arrow_type
from gristmill.features.encode import needs_encoding
from gristmill.features.infer import Clash, refuse, to_json
from gristmill.features.mixed import check_mixed_types, json_for_empty
from gristmill.features.picking import pick_features
from gristmill.table.view import Part, View


@dataclass(frozen=True)
class MapJob(CallingJob):
    """One call of `map`, ready to be computed for any range of rows.

    Attributes:
        kept: Columns that stay unless the function returns or deletes them.
        features: Features the user asked for.
        keep_types: Keep the type of a changed column if the new values fit.
        mixed: Values without a common type become `Json`.
    """

    kept: tuple[str, ...]
    features: Features | None
    keep_types: bool
    mixed: bool = False
    imports: ClassVar[Sequence[str]] = CONVERTING

    @classmethod
    def plan(
        cls,
        caller: Caller,
        *,
        batch_size: int | None,
        drop_last_batch: bool,
        remove_columns: str | list[str] | None,
        features: Features | None,
        keep_types: bool,
        on_mixed_types: str | None = None,
    ) -> MapJob:
        """Checks the arguments of `Dataset.map`.

        Args:
            caller: The function and how it is called.
            batch_size: As documented.
            drop_last_batch: As documented.
            remove_columns: As documented.
            features: As documented.
            keep_types: `try_original_type` as documented.
            on_mixed_types: As documented.

        Raises:
            ColumnNotFoundError: A column to remove does not exist.
        """
        view = caller.view
        removed = set(check_columns(remove_columns, view.names)) if remove_columns is not None else set()
        kept = tuple(name for name in view.names if name not in removed)
        unit = batch_unit(caller, batch_size)
        if drop_last_batch and caller.batched and view.num_rows % unit:
            caller = replace(caller, view=view.select(range(view.num_rows - view.num_rows % unit)))
        mixed = check_mixed_types(on_mixed_types)
        return cls(caller, unit, kept, None if features is None else Features(features), keep_types, mixed)

    @property
    def key(self) -> tuple[Any, ...]:
        """What decides the result, for the fingerprint."""
        features = None if self.features is None else self.features.to_dict()
        unit = self.unit if self.caller.batched else None
        return (*self.caller.key, unit, self.rows, self.kept, features, self.keep_types)

    @property
    def fill(self) -> Fill:
        """Gives the old values of columns that the function returned for some rows only."""
        return _Old(self.caller.view, frozenset(self.kept))

    @property
    def clash(self) -> Clash:
        """Says what two types of one column become."""
        return to_json if self.mixed else refuse

    @property
    def final(self) -> Final | None:
        """Gives the schema to end with: columns of which all values were empty dicts are `Json`, unless they were not before."""
        if self.features is not None or not self.mixed:
            return None
        return partial(json_for_empty, known=self.caller.view.schema if self.keep_types else None)

    def process(
        self, start: int, stop: int, growing: GrowingTable, rank: int | None, advance: Callable[[int], object]
    ) -> None:
        """Computes the rows from `start` to before `stop`.

        Args:
            start: First row.
            stop: Row to stop before.
            growing: Takes the columns that the function returned.
            rank: Number of the worker.
            advance: Told of progress.

        Raises:
            TransformError: The function failed.
            TransformOutputError: It returned something that can't become rows.
        """
        caller = self.caller
        schema = caller.view.schema
        types = {field.name: field.type for field in schema} if self.keep_types else {}
        kept = frozenset(self.kept if self.keep_types and self.features is None else ())
        outputs = Outputs(
            caller.name, self.features, types, self._labels(), self._classes(), self.mixed, kept
        )
        if caller.batched:
            made = self._tables_of_batches(outputs, start, stop, rank, advance)
        else:
            made = iter_row_tables(caller, outputs, start, stop, rank, advance)
        one_to_one = True
        for begin, rows, returned in made:
            if returned is not None:
                table = returned
                if table.num_rows != rows:
                    one_to_one = False
                    self._check_complete(table, outputs, begin, rows)
                else:
                    table = self._with_recast(table, outputs, begin)
                if (
                    growing.schema is None
                ):  # what most files end with is what they begin with, so that they are made once
                    growing.metadata = _facts(outputs, one_to_one)
                growing.write(table)
        growing.metadata = _facts(outputs, one_to_one)

    def _tables_of_batches(
        self, outputs: Outputs, start: int, stop: int, rank: int | None, advance: Callable[[int], object]
    ) -> Iterator[Made]:
        for begin, block in self.caller.blocks(start, stop, self.unit):
            table = outputs.of_batch(self.caller.call_batch(block, begin, rank), block, begin)
            yield begin, block.num_rows, table
            advance(block.num_rows)

    def check(self, facts: tuple[dict[str, Any], ...], ranges: tuple[tuple[int, int], ...]) -> None:
        """Refuses pieces of which some have answers and others None.

        Args:
            facts: What was noted about each piece.
            ranges: The rows of each.

        Raises:
            TransformOutputError: They can't be one result.
        """
        silent = [fact.get("nothing", False) for fact in facts]
        if any(silent) and not all(silent):
            raise TransformOutputError(
                f"{self.caller.name} returned None for row {ranges[silent.index(True)][0]} and dicts for other rows; "
                "return a dict for every row (an empty one changes nothing), or None for every row."
            )

    def _labels(self) -> dict[str, Any]:
        if not self.keep_types:
            return {}
        features = self.caller.features.items()
        return {
            name: item
            for name, item in features
            if isinstance(item, ClassLabel | AnyArray) or needs_encoding(item)
        }

    def _classes(self) -> dict[str, Any]:
        if not self.keep_types or self.features is not None:
            return {}  # those asked for are checked where values are stored
        return {name: item for name, item in self.caller.features.items() if _has_classes(item)}

    def _check_complete(self, table: pa.Table, outputs: Outputs, start: int, rows: int) -> None:
        if outputs.replaces:
            return
        left = [name for name in self.kept if name not in table.column_names and name not in outputs.removed]
        if left:
            raise TransformOutputError(
                f"{self.caller.name} returned {table.num_rows} values a column for the {rows} rows from row {start} "
                f"on, but not for the columns {', '.join(left[:10])}, which have {rows} values. Return all columns, or "
                f"pass remove_columns={left[:10]}."
            )

    def _with_recast(self, table: pa.Table, outputs: Outputs, start: int) -> pa.Table:
        """Adds the columns that the function left alone and the user wants in another type."""
        if self.features is None or outputs.replaces:
            return table
        view = self.caller.view
        for name in self.kept:
            feature = self.features.get(name)
            if name in table.column_names or name in outputs.removed or feature is None:
                continue
            if to_arrow_type(feature) != view.schema.field(name).type:
                old = view.take(range(start, start + table.num_rows), [name]).column(0)
                column = cast_array(old, feature, column=name)
                table = table.append_column(name, column) if table.num_columns else pa.table({name: column})
        return table


@dataclass(frozen=True)
class _Old:
    view: View
    names: frozenset[str]

    def __call__(self, name: str, start: int, stop: int) -> pa.ChunkedArray | None:
        if name not in self.names:
            return None
        return self.view.take(range(start, stop), [name]).column(0)


def batch_unit(caller: Caller, batch_size: int | None) -> int:
    """Gives the rows a batch: all of them for None or a number below 1, a single one for a function of rows."""
    if not caller.batched:
        return 1
    size = 0 if batch_size is None else whole_number("batch_size", batch_size)
    return size if size > 0 else max(1, caller.view.num_rows)


def _has_classes(feature: Any) -> bool:
    if isinstance(feature, Mapping):
        return any(map(_has_classes, feature.values()))
    items = getattr(feature, "feature", None)
    return isinstance(feature, ClassLabel) or (items is not None and _has_classes(items))


def _facts(outputs: Outputs, one_to_one: bool) -> dict[bytes, bytes]:
    return {FACTS: _worded(outputs.answered, outputs.replaces, tuple(sorted(outputs.removed)), one_to_one)}


@lru_cache(maxsize=64)
def _worded(answered: str | None, replaces: bool, removed: tuple[str, ...], one_to_one: bool) -> bytes:
    facts = {
        "nothing": answered == "nothing",
        "replaces": replaces,
        "removed": list(removed),
        "one_to_one": one_to_one,
    }
    return json.dumps(facts).encode()


@dataclass(frozen=True)
class MapResult:
    """What `map` gives: rows, features, and the names of the columns it wrote."""

    view: View
    features: Features
    added: tuple[str, ...]


def run_map(
    job: MapJob, place: Place, features: Features, num_proc: int | None, description: str
) -> MapResult:
    """Computes `map`, or finds what an earlier run computed.

    Args:
        job: The call.
        place: Where the result goes.
        features: The features of the columns before.
        num_proc: Worker processes.
        description: For the progress bar.

    Raises:
        TransformError: The function failed, or returned something that can't become rows.
        WorkerDiedError: A worker ended without an answer.
        InvalidArgumentError: The features asked for and the result have different columns.
    """
    if job.rows == 0:
        view = job.caller.view.choose(job.kept)
        return MapResult(view, pick_features(features, job.kept), ())
    computed = compute(job, place, num_proc, description)
    view = _assemble(job, computed)
    added = tuple(computed.table.column_names)
    if job.features is not None:
        if set(job.features) != set(view.names):
            odd = ", ".join(sorted(set(job.features) ^ set(view.names)))
            raise InvalidArgumentError(
                "features= must name all columns of the result of map, those that do not change too, and no others; "
                f"these are on one side only: {odd}."
            )
        return MapResult(view.choose(list(job.features)), job.features, added)
    return MapResult(view, _describe(view, features, set(added), job.keep_types), added)


def _assemble(job: MapJob, computed: Computed) -> View:
    facts, view = computed.facts, job.caller.view
    if any(fact.get("nothing", False) for fact in facts):
        return view.choose(job.kept)
    names = tuple(computed.table.column_names)
    one_to_one = all(fact.get("one_to_one", True) for fact in facts)
    if one_to_one and names and computed.table.num_rows != job.rows:
        raise InvalidArgumentError(
            f"The file {computed.files[0]} is there already and holds {computed.table.num_rows} rows of another result, "
            f"where {job.rows} are mapped: name another file as cache_file_name, or pass load_from_cache_file=False."
        )
    part = Part.from_files(computed.files, computed.table)
    replaces = any(fact.get("replaces", False) for fact in facts)
    if not one_to_one or replaces:
        if not replaces:  # columns keep their places, as they do where the number of rows stays
            names = tuple(dict.fromkeys([*(name for name in view.names if name in names), *names]))
        origins = view.origins if one_to_one else None
        return View((part,), names, computed.table.num_rows, origins)
    removed = {name for fact in facts for name in fact.get("removed", ())}
    stays = {name for name in job.kept if name not in removed} | set(names)
    base = view.choose([name for name in view.names if name in stays])
    return base.join(part) if names else base


def _describe(view: View, before: Mapping[str, Any], written: set[str], keep_types: bool) -> Features:
    described = Features()
    for field in view.schema:
        old = before.get(field.name)
        same = old is not None and to_arrow_type(old) == field.type
        if old is not None and (field.name not in written or (same and keep_types)):
            dict.__setitem__(described, field.name, old)
        else:
            described[field.name] = from_arrow_type(field.type)
    return described
