"""Plays a chain of operations on a library with the API of `datasets`, and tells plainly what comes out.

Gristmill plays it in the test's process; the reference plays it in an interpreter where Gristmill is not installed, so
this file imports nothing but Python's own modules and numpy.
"""

import datetime as dt
import decimal
import pickle
import tempfile
import zlib
from typing import Any

import numpy as np


def plain(value: Any) -> Any:
    """Gives a value in a form that is equal exactly when value and type are, NaN and time zones included."""
    if isinstance(value, np.ndarray):
        return plain(value.tolist())
    if isinstance(value, np.generic):
        return plain(value.item())
    if isinstance(value, dict):
        return ("dict", tuple((key, plain(item)) for key, item in value.items()))
    if isinstance(value, list | tuple):
        return ("list", tuple(plain(item) for item in value))
    if isinstance(value, dt.datetime):
        aware = value.tzinfo is not None
        return ("time", aware, (value.astimezone(dt.timezone.utc) if aware else value).isoformat())
    if isinstance(value, bool | int | float | dt.date | decimal.Decimal):
        return (type(value).__name__, repr(value))
    return value


def weigh(value: Any) -> int:
    """Gives a number that depends on the whole value."""
    return zlib.crc32(repr(plain(value)).encode("utf-8", "surrogatepass")) % 1000


def feature(lib: Any, kind: Any) -> Any:
    """Gives the feature for the description of a column."""
    if isinstance(kind, str):
        return lib.Json() if kind == "json" else lib.Value(kind)
    name, inner = kind
    if name == "class":
        return lib.ClassLabel(names=list(inner))
    if name == "list":
        return lib.List(feature(lib, inner))
    if name == "dict":
        return {key: feature(lib, item) for key, item in inner}
    return lib.Array2D(shape=inner, dtype="int32")


def make(lib: Any, kinds: dict[str, Any], columns: dict[str, list[Any]]) -> Any:
    features = lib.Features({name: feature(lib, kind) for name, kind in kinds.items()})
    return lib.Dataset.from_dict(columns, features=features)


def new_value(form: str, weight: int, k: int) -> Any:
    """Gives what `map` makes of a weight: values of several types, with nulls among them."""
    if weight % 5 == 0 and form != "list":
        return None
    if form == "int":
        return weight + k
    if form == "text":
        return f"{weight}é"
    if form == "list":
        return [weight] * (weight % 3)
    return {"u": weight, "v": {"w": str(k) if weight % 2 else None}}


def keep(weight: int, k: int) -> bool:
    return weight % (k + 2) != 0


def play_map(ds: Any, o: dict[str, Any]) -> Any:
    column, k, form, name = o["column"], o["k"], o["form"], o["name"]
    how = o["how"]
    if how == "row":
        return ds.map(lambda row: {name: new_value(form, weigh(row[column]), k)})
    if how == "whole":
        return ds.map(lambda row: {**row, name: new_value(form, weigh(row[column]), k)})
    if how == "input":
        return ds.map(
            lambda v, i: {name: new_value(form, weigh(v) + i, k)}, input_columns=[column], with_indices=True
        )
    if how == "replace":
        return ds.map(
            lambda row: {name: new_value(form, weigh(row[column]), k)}, remove_columns=ds.column_names
        )
    if how == "columns":
        return ds.map(
            lambda b: {name: [new_value(form, weigh(v), k) for v in b[column]]},
            batched=True,
            batch_size=k + 1,
        )
    if how == "double":
        return ds.map(lambda b: {c: [*v, *v] for c, v in b.items()}, batched=True, batch_size=k + 1)

    def fewer(batch: Any) -> Any:
        kept = [keep(weigh(v), k) for v in batch[column]]
        return {c: [x for x, yes in zip(v, kept, strict=True) if yes] for c, v in batch.items()}

    return ds.map(fewer, batched=True, batch_size=k + 1)


def play_filter(ds: Any, o: dict[str, Any]) -> Any:
    column, k = o["column"], o["k"]
    if o["batched"]:
        return ds.filter(lambda b: [keep(weigh(v), k) for v in b[column]], batched=True, batch_size=k + 1)
    return ds.filter(lambda row: keep(weigh(row[column]), k))


def play_interleave(lib: Any, ds: Any, o: dict[str, Any]) -> Any:
    parts = [ds, *(ds.select(rows) for rows in o["others"])]
    return lib.interleave_datasets(
        parts, probabilities=o["probabilities"], seed=o["seed"], stopping_strategy=o["strategy"]
    )


def play_reload(lib: Any, ds: Any, o: dict[str, Any]) -> Any:
    if o["how"] == "pickle":
        return pickle.loads(pickle.dumps(ds))
    if o["how"] == "flatten_indices":
        return ds.flatten_indices()
    folder = tempfile.mkdtemp(prefix="chain-")
    ds.save_to_disk(folder, num_shards=o["shards"])
    return lib.load_from_disk(folder)


def step(lib: Any, ds: Any, name: str, o: dict[str, Any]) -> Any:
    """Does one operation and gives the dataset after it."""
    if name == "map":
        return play_map(ds, o)
    if name == "filter":
        return play_filter(ds, o)
    if name == "interleave":
        return play_interleave(lib, ds, o)
    if name == "reload":
        return play_reload(lib, ds, o)
    if name == "concatenate":
        return lib.concatenate_datasets([ds, ds.select(o["rows"])])
    if name == "beside":
        other = ds.select_columns([o["column"]]).rename_column(o["column"], o["name"])
        return lib.concatenate_datasets([ds, other], axis=1)
    if name == "split":
        return ds.train_test_split(test_size=o["test"], seed=o["seed"], shuffle=o["shuffle"])[o["part"]]
    if name == "add_column":
        return ds.add_column(o["name"], o["values"])
    if name == "cast_column":
        return ds.cast_column(o["column"], feature(lib, o["kind"]))
    return getattr(ds, name)(**o)


def look(ds: Any, o: dict[str, Any]) -> Any:
    """Reads the dataset in several ways."""
    i, a, b, c, rows, column = o["i"], o["a"], o["b"], o["c"], o["rows"], o["column"]
    return [
        ds[i], ds[i - len(ds)], ds[a:b:c], ds[rows], ds[column][i], ds[column][a:b:c], ds[column][:], list(ds[column]),
        list(ds.iter(batch_size=b + 1)), list(ds.iter(batch_size=b + 1, drop_last_batch=True)),
        ds.to_dict(), ds.to_list(), list(ds), list(ds.shape), ds.column_names, ds.unique(o["unique"]) if o["unique"] else 0,
    ]  # fmt: skip


def play(lib: Any, kinds: dict[str, Any], columns: dict[str, list[Any]], chain: list[Any]) -> list[Any]:
    """Plays a chain.

    Returns:
        For each operation and the start: ("rows", column names, rows, features as a dict), ("seen", what was read), or
        ("error", names of the exception's classes, message), which ends it.
    """
    ds = make(lib, kinds, columns)
    told: list[Any] = [("rows", ds.column_names, plain(list(ds)), ds.features.to_dict())]
    for name, options in chain:
        try:
            if name == "look":
                told.append(("seen", plain(look(ds, options))))
                continue
            ds = step(lib, ds, name, options)
            told.append(("rows", ds.column_names, plain(list(ds)), ds.features.to_dict()))
        except Exception as error:  # noqa: BLE001  # what went wrong is what is compared
            told.append(("error", [cls.__name__ for cls in type(error).__mro__], str(error)))
            break
    return told
