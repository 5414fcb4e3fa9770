"""Datasets as lists of plain Python rows: what each operation must give, in the plainest words."""

import functools
import math
import random
from typing import Any

import numpy as np

from tests.differential.play import keep, new_value, plain, weigh

Rows = list[dict[str, Any]]

NEW_KINDS = {
    "int": "int64",
    "text": "string",
    "list": ("list", "int64"),
    "dict": ("dict", (("u", "int64"), ("v", ("dict", (("w", "string"),))))),
}
CASTS = {
    "int64": ("string", "float64"),
    "int32": ("int64", "string"),
    "bool": ("int8",),
    "string": ("large_string",),
    ("list", "int64"): (("list", "float64"),),
    ("dict", (("x", "int64"), ("y", "string"))): (("dict", (("x", "float64"), ("y", "large_string"))),),
}
SORTABLE = {"int64", "int32", "float64", "bool", "string", "large_string", "date32", "decimal128(9, 2)"}
SORTABLE |= {"timestamp[us, tz=Europe/Paris]"}
ENCODABLE = {"int64", "int32", "string", "bool"}
UNIQUE = {*SORTABLE, "binary"} - {"bool"}


def cast(value: Any, kind: Any) -> Any:
    """Gives a value after a cast to another kind."""
    if value is None:
        return None
    if kind in ("string", "large_string"):
        return str(value)
    if kind == "float64":
        return float(value)
    if isinstance(kind, tuple) and kind[0] == "list":
        return [cast(item, kind[1]) for item in value]
    if isinstance(kind, tuple) and kind[0] == "dict":
        return {key: cast(value[key], inner) for key, inner in kind[1]}
    return int(value)


class Model:
    """Rows, and the kind of each column.

    Every method named like an operation does it; `options` turn three free numbers into one that fits the rows and
    columns there are now.
    """

    def __init__(self, kinds: dict[str, Any], rows: Rows) -> None:
        self.kinds = dict(kinds)
        self.rows = rows
        self.made = 0

    def told(self) -> tuple[str, list[str], Any]:
        return ("rows", list(self.kinds), plain([{c: row[c] for c in self.kinds} for row in self.rows]))

    def name(self) -> str:
        self.made += 1
        return f"new {self.made}"

    def pick(self, number: int, among: Any = None) -> Any:
        names = [c for c, kind in self.kinds.items() if among is None or kind in among]
        return names[number % len(names)] if names else None

    def some(self, number: int, most: int) -> list[int]:
        count = number % (most + 1)
        return random.Random(number).choices(range(len(self.rows)), k=count) if self.rows else []

    def options(self, name: str, x: int, y: int, z: int) -> dict[str, Any] | None:
        """Gives the options of an operation, or None if it can't be done now."""
        found: dict[str, Any] | None = getattr(self, f"_{name}")(x, y, z)
        return found

    def step(self, name: str, o: dict[str, Any]) -> None:
        getattr(self, name)(**o)

    # ---------------------------------------------------------------- rows

    def _select(self, x: int, y: int, z: int) -> dict[str, Any]:
        return {"indices": self.some(x, 9)}

    def select(self, indices: list[int]) -> None:
        self.rows = [self.rows[i] for i in indices]

    def _filter(self, x: int, y: int, z: int) -> dict[str, Any]:
        return {"column": self.pick(x), "k": y % 4, "batched": bool(z % 2)}

    def filter(self, column: str, k: int, batched: bool) -> None:
        self.rows = [row for row in self.rows if keep(weigh(row[column]), k)]

    def _shuffle(self, x: int, y: int, z: int) -> dict[str, Any]:
        return {"seed": x % 50}

    def shuffle(self, seed: int) -> None:
        self.select([int(i) for i in np.random.default_rng(seed).permutation(len(self.rows))])

    def _sort(self, x: int, y: int, z: int) -> dict[str, Any] | None:
        names = {self.pick(x, SORTABLE), self.pick(y, SORTABLE)} - {None}
        if not names:
            return None
        placement = "at_start" if z % 2 else "at_end"
        reverse = [bool((z >> position) & 2) for position in range(len(names))]
        return {"column_names": sorted(names), "reverse": reverse, "null_placement": placement}

    def sort(self, column_names: list[str], reverse: list[bool], null_placement: str) -> None:
        # Python's sort is stable: least significant key first.
        for column, down in reversed(list(zip(column_names, reverse, strict=True))):

            def place(value: Any) -> int:
                missing = 2 if value is None else int(isinstance(value, float) and math.isnan(value))
                return -missing if null_placement == "at_start" else missing

            def compare(one: Any, other: Any) -> int:
                a, b = one[column], other[column]  # noqa: B023
                if place(a) or place(b):
                    return place(a) - place(b)
                order = (a > b) - (a < b)
                return -order if down else order  # noqa: B023

            self.rows = sorted(self.rows, key=functools.cmp_to_key(compare))

    def _skip(self, x: int, y: int, z: int) -> dict[str, Any]:
        return {"n": x % 6}

    def skip(self, n: int) -> None:
        self.rows = self.rows[n:]

    def _take(self, x: int, y: int, z: int) -> dict[str, Any]:
        return {"n": x % 12}

    def take(self, n: int) -> None:
        self.rows = self.rows[:n]

    def _shard(self, x: int, y: int, z: int) -> dict[str, Any] | None:
        num_shards = x % 3 + 1
        return {"num_shards": num_shards, "index": y % num_shards, "contiguous": bool(z % 2)}

    def shard(self, num_shards: int, index: int, contiguous: bool) -> None:
        if not contiguous:
            self.rows = self.rows[index::num_shards]
            return
        small, large = divmod(len(self.rows), num_shards)
        sizes = [small + (position < large) for position in range(num_shards)]
        start = sum(sizes[:index])
        self.rows = self.rows[start : start + sizes[index]]

    def _split(self, x: int, y: int, z: int) -> dict[str, Any] | None:
        if len(self.rows) < 2:
            return None
        part = "test" if z % 3 == 0 else "train"
        return {"test": x % (len(self.rows) - 1) + 1, "seed": y % 50, "shuffle": bool(z % 2), "part": part}

    def split(self, test: int, seed: int, shuffle: bool, part: str) -> None:
        order = list(range(len(self.rows)))
        if shuffle:
            order = [int(i) for i in np.random.default_rng(seed).permutation(len(self.rows))]
            self.select(order[:test] if part == "test" else order[test:])
        else:
            self.select(order[-test:] if part == "test" else order[:-test])

    def _repeat(self, x: int, y: int, z: int) -> dict[str, Any] | None:
        return {"num_times": x % 3 + 1} if len(self.rows) < 20 else None

    def repeat(self, num_times: int) -> None:
        self.rows = self.rows * num_times

    def _concatenate(self, x: int, y: int, z: int) -> dict[str, Any]:
        return {"rows": self.some(x, 6)}

    def concatenate(self, rows: list[int]) -> None:
        self.rows = self.rows + [self.rows[i] for i in rows]

    def _interleave(self, x: int, y: int, z: int) -> dict[str, Any] | None:
        others = [rows for rows in (self.some(x, 5), self.some(y, 5)) if rows]
        if not self.rows or not others:
            return None
        strategy = ("first_exhausted", "all_exhausted", "all_exhausted_without_replacement")[z % 3]
        count = len(others) + 1
        weights = None if z % 2 else [0.5, *[0.5 / (count - 1)] * (count - 1)]
        return {"others": others, "probabilities": weights, "seed": y % 50, "strategy": strategy}

    def interleave(self, others: list[list[int]], probabilities: Any, seed: int, strategy: str) -> None:
        parts = [self.rows, *([self.rows[i] for i in rows] for rows in others)]
        generator = np.random.default_rng(seed)
        drawn = (
            None if probabilities is None else generator.choice(len(parts), 1000, p=probabilities).tolist()
        )
        given = [0] * len(parts)
        self.rows = []
        for turn in range(1000):
            number = turn % len(parts) if drawn is None else drawn[turn]
            done = [count >= len(part) for count, part in zip(given, parts, strict=True)]
            over = any(done) if strategy == "first_exhausted" else all(done)
            if over and (drawn is not None or number == 0 or strategy.endswith("replacement")):
                break
            if not done[number] or not strategy.endswith("replacement"):
                self.rows.append(parts[number][given[number] % len(parts[number])])
            given[number] += 1

    def _add_item(self, x: int, y: int, z: int) -> dict[str, Any] | None:
        if not self.rows:
            return None
        row = self.rows[x % len(self.rows)]
        return {"item": {c: row[c] for c in self.kinds}}

    def add_item(self, item: dict[str, Any]) -> None:
        self.rows = [*self.rows, item]

    def _batch(self, x: int, y: int, z: int) -> dict[str, Any] | None:
        deep = any(str(kind).count("list") > 1 or "json" in str(kind) for kind in self.kinds.values())
        return None if deep or x % 3 else {"batch_size": y % 4 + 1, "drop_last_batch": bool(z % 2)}

    def batch(self, batch_size: int, drop_last_batch: bool) -> None:
        starts = range(0, len(self.rows), batch_size)
        batches = [self.rows[start : start + batch_size] for start in starts]
        if drop_last_batch:
            batches = [rows for rows in batches if len(rows) == batch_size]
        self.rows = [{c: [row[c] for row in rows] for c in self.kinds} for rows in batches]
        self.kinds = {c: ("list", kind) for c, kind in self.kinds.items()}

    # ---------------------------------------------------------------- columns

    def _select_columns(self, x: int, y: int, z: int) -> dict[str, Any]:
        return {"column_names": list(dict.fromkeys([self.pick(x), self.pick(y), self.pick(z)]))}

    def select_columns(self, column_names: list[str]) -> None:
        self.kinds = {c: self.kinds[c] for c in column_names}

    def _remove_columns(self, x: int, y: int, z: int) -> dict[str, Any] | None:
        return {"column_names": [self.pick(x)]} if len(self.kinds) > 2 else None

    def remove_columns(self, column_names: list[str]) -> None:
        self.kinds = {c: kind for c, kind in self.kinds.items() if c not in column_names}

    def _rename_column(self, x: int, y: int, z: int) -> dict[str, Any]:
        return {"original_column_name": self.pick(x), "new_column_name": self.name()}

    def rename_column(self, original_column_name: str, new_column_name: str) -> None:
        self._rename({original_column_name: new_column_name})

    def _rename_columns(self, x: int, y: int, z: int) -> dict[str, Any]:
        one, other = self.pick(x), self.pick(y)
        swap = {one: other, other: one}
        return {"column_mapping": swap if one != other and z % 2 else {one: self.name()}}

    def rename_columns(self, column_mapping: dict[str, str]) -> None:
        self._rename(column_mapping)

    def _rename(self, new: dict[str, str]) -> None:
        self.kinds = {new.get(c, c): kind for c, kind in self.kinds.items()}
        self.rows = [{new.get(c, c): value for c, value in row.items()} for row in self.rows]

    def _put(self, name: str, kind: Any, values: list[Any]) -> None:
        self.rows = [{**row, name: value} for row, value in zip(self.rows, values, strict=True)]
        self.kinds[name] = kind

    def _add_column(self, x: int, y: int, z: int) -> dict[str, Any] | None:
        form = list(NEW_KINDS)[x % 4]
        values = [new_value(form, y + 7 * i + 1, z) for i in range(len(self.rows))]
        return {"name": self.name(), "values": values} if any(values) else None

    def add_column(self, name: str, values: list[Any]) -> None:
        example = next(value for value in values if value)
        form = {int: "int", str: "text", list: "list", dict: "dict"}[type(example)]
        self._put(name, NEW_KINDS[form], values)

    def _beside(self, x: int, y: int, z: int) -> dict[str, Any]:
        return {"column": self.pick(x), "name": self.name()}

    def beside(self, column: str, name: str) -> None:
        self._put(name, self.kinds[column], [row[column] for row in self.rows])

    def _cast_column(self, x: int, y: int, z: int) -> dict[str, Any] | None:
        column = self.pick(x, CASTS)
        kinds = CASTS[self.kinds[column]] if column else ()
        return {"column": column, "kind": kinds[y % len(kinds)]} if column else None

    def cast_column(self, column: str, kind: Any) -> None:
        self._put(column, kind, [cast(row[column], kind) for row in self.rows])

    def _class_encode_column(self, x: int, y: int, z: int) -> dict[str, Any] | None:
        column = self.pick(x, ENCODABLE)
        return {"column": column} if column and any(row[column] is not None for row in self.rows) else None

    def class_encode_column(self, column: str) -> None:
        values = [None if row[column] is None else str(row[column]) for row in self.rows]
        names = sorted({value for value in values if value is not None})
        self._put(
            column,
            ("class", tuple(names)),
            [None if value is None else names.index(value) for value in values],
        )

    def _flatten(self, x: int, y: int, z: int) -> dict[str, Any] | None:
        return {} if x % 2 else None

    def flatten(self) -> None:
        while any(kind[0] == "dict" for kind in self.kinds.values()):
            kinds: dict[str, Any] = {}
            for column, kind in self.kinds.items():
                if kind[0] != "dict":
                    kinds[column] = kind
                    continue
                for key, inner in kind[1]:
                    kinds[f"{column}.{key}"] = inner
                    self.rows = [
                        {**row, f"{column}.{key}": None if row[column] is None else row[column][key]}
                        for row in self.rows
                    ]
            self.kinds = kinds

    # ---------------------------------------------------------------- map, files, reading

    def _map(self, x: int, y: int, z: int) -> dict[str, Any] | None:
        how = ("row", "whole", "input", "replace", "columns", "double", "fewer")[x % 7]
        if how == "double" and len(self.rows) > 20:
            return None
        form = list(NEW_KINDS)[y % 4]
        name = (self.pick(z, {NEW_KINDS[form]}) if x % 3 == 0 else None) or self.name()
        o = {"how": how, "column": self.pick(y // 4), "k": z % 5, "form": form, "name": name}
        if how not in ("double", "fewer"):
            # All null says nothing of the type.
            values = self.mapped(**o)
            if not any(values):
                return None
        return o

    def mapped(self, how: str, column: str, k: int, form: str, name: str) -> list[Any]:
        shift = int(how == "input")
        return [new_value(form, weigh(row[column]) + i * shift, k) for i, row in enumerate(self.rows)]

    def map(self, how: str, column: str, k: int, form: str, name: str) -> None:
        size = k + 1
        if how == "double":
            starts = range(0, len(self.rows), size)
            self.rows = [row for start in starts for row in self.rows[start : start + size] * 2]
        elif how == "fewer":
            self.rows = [row for row in self.rows if keep(weigh(row[column]), k)]
        else:
            values = self.mapped(how, column, k, form, name)
            if how == "replace":
                self.kinds = {}
            self._put(name, NEW_KINDS[form], values)

    def _reload(self, x: int, y: int, z: int) -> dict[str, Any]:
        return {"how": ("pickle", "flatten_indices", "disk")[x % 3], "shards": y % 3 + 1}

    def reload(self, how: str, shards: int) -> None:
        return None

    def _look(self, x: int, y: int, z: int) -> dict[str, Any] | None:
        if not self.rows:
            return None
        n = len(self.rows)
        step = (1, 2, -1, -3)[z % 4]
        rows = [i - n if i % 2 else i for i in self.some(y, 5)]
        unique = self.pick(z, UNIQUE)
        return {
            "i": x % n, "a": None if step < 0 else x % n, "b": y % 7, "c": step, "rows": rows or [0], "column": self.pick(y),
            "unique": unique,
        }  # fmt: skip

    def look(self, i: int, a: int, b: int, c: int, rows: list[int], column: str, unique: str) -> Any:
        """Gives what `play.look` reads."""
        every = [{name: row[name] for name in self.kinds} for row in self.rows]

        def columns(some: Rows) -> dict[str, list[Any]]:
            return {name: [row[name] for row in some] for name in self.kinds}

        values = [row[column] for row in every]
        batches = [every[start : start + b + 1] for start in range(0, len(every), b + 1)]
        whole = [rows for rows in batches if len(rows) == b + 1]
        distinct = list({repr(plain(row[unique])): row[unique] for row in every}.values()) if unique else 0
        seen = [
            every[i], every[i], columns(every[a:b:c]), columns([every[j] for j in rows]), values[i], values[a:b:c], values,
            values, [columns(rows) for rows in batches], [columns(rows) for rows in whole], columns(every), every, every,
            [len(every), len(self.kinds)], list(self.kinds), distinct,
        ]  # fmt: skip
        return ("seen", plain(seen))


OPERATIONS = sorted(name[1:] for name in vars(Model) if name[0] == "_" and name[1:] in vars(Model))
