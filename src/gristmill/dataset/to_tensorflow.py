"""`to_tf_dataset`: rows as batches of a `tf.data.Dataset`, collated here or in worker processes."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from gristmill.arguments import column_list, whole_number
from gristmill.engine.streaming import stream_from_workers
from gristmill.errors import InvalidArgumentError, TransformError, TransformOutputError
from gristmill.formatting import FormatSpec, Reader
from gristmill.optional import require
from gristmill.table.selection import IndexVector
from gristmill.table.view import View

Arrays = dict[str, Any]
"""Column name to a numpy array, or an object array of arrays of differing lengths."""

_SINGLE_ROWS = 256
_LABELS = ("label", "label_ids", "labels")


@dataclass(frozen=True)
class Loader:
    """Reads rows as a batch of arrays; it can be sent to other processes.

    Attributes:
        view: The rows.
        features: The feature of each column.
        spec: The format that examples have.
        collate: Makes a batch of a list of examples; None stacks the columns.
        options: Its further arguments.
    """

    view: View
    features: Mapping[str, Any]
    spec: FormatSpec
    collate: Callable[..., Any] | None
    options: Mapping[str, Any]

    def load(self, rows: IndexVector) -> Arrays:
        """Reads one batch.

        Raises:
            TransformError: The collate function failed; names the rows.
            TransformOutputError: It did not return a dict of arrays.
        """
        reader = Reader(self.view, self.features, self.spec)
        if self.collate is None:
            batch = reader.batch(rows)
        else:
            name = (
                f"the collate function {getattr(self.collate, '__qualname__', type(self.collate).__name__)}"
            )
            try:
                batch = self.collate(reader.rows_at(rows), **self.options)
            except Exception as error:
                raise TransformError.from_rows(
                    name, int(rows[0]), int(rows[-1]), f"{type(error).__name__}: {error}"
                ).also(error) from error
        if not isinstance(batch, Mapping):
            raise TransformOutputError(
                f"A batch has to be a dict of arrays, not {type(batch).__name__}; see collate_fn=."
            )
        return {str(name): _array(values) for name, values in batch.items()}


def _array(values: Any) -> Any:
    if isinstance(values, np.ndarray):
        return values
    if hasattr(values, "numpy") and not hasattr(values, "row_lengths"):  # a tensor of TensorFlow or PyTorch
        return np.asarray(values.numpy())
    pieces = list(values)
    try:
        return np.array([_array(piece) if isinstance(piece, list | tuple) else piece for piece in pieces])
    except ValueError:  # of differing lengths
        ragged = np.empty(len(pieces), object)
        for position, piece in enumerate(pieces):
            ragged[position] = np.asarray(piece)
        return ragged


@dataclass(frozen=True)
class _Column:
    """What all batches of one column are brought to."""

    kind: Any
    ragged: bool
    shape: tuple[int | None, ...]

    @classmethod
    def of(cls, name: str, arrays: Sequence[Any]) -> _Column:
        ragged = any(_is_ragged(array) for array in arrays)
        flat = [_flat(array) for array in arrays]
        kinds = {array.dtype.kind for array in flat if array.size}
        if kinds <= set("iub") and kinds:
            kind: Any = np.int64
        elif kinds <= set("iubf"):
            kind = np.float32
        elif kinds <= set("US") or (kinds <= set("USO") and all(map(_is_text, flat))):
            kind = np.str_
        else:
            raise InvalidArgumentError(
                f'The column "{name}" can\'t become a tensor: it has nested values, None, or values of several types. '
                "Leave it out with columns=, or pass a collate_fn."
            )
        if ragged:
            return cls(kind, True, (None, None))
        ranks = {array.ndim for array in arrays}
        if len(ranks) > 1:
            raise InvalidArgumentError(f'The column "{name}" has arrays of several ranks: {sorted(ranks)}.')
        sizes = zip(*(array.shape[1:] for array in arrays), strict=True)
        return cls(kind, False, (None, *(size[0] if len(set(size)) == 1 else None for size in sizes)))

    def bring(self, name: str, array: Any) -> Any:
        """Gives an array of the column's type, or an object array of them if it is ragged."""
        if _is_ragged(array) and not self.ragged:
            raise InvalidArgumentError(
                f'The lists of the column "{name}" differ in length in some batches only: pass a collate_fn that pads '
                "them, or more num_test_batches."
            )
        flat = _flat(array)
        if self.kind is np.int64 and flat.dtype.kind == "f" and np.isnan(flat).any():
            raise InvalidArgumentError(
                f'The column "{name}" has None among whole numbers in some batches only: fill or leave out such rows, '
                "or pass more num_test_batches."
            )
        if self.kind is np.str_:
            if not _is_text(flat):
                raise InvalidArgumentError(f'The column "{name}" has values that are no text.')
            return array if array.dtype.kind in "SO" else array.astype(object)
        if self.ragged:
            return array
        return array.astype(self.kind, copy=False)

    def spec(self, tf: Any, rows: int | None, single: bool) -> Any:
        dtype = {np.int64: tf.int64, np.float32: tf.float32, np.str_: tf.string}[self.kind]
        if not self.ragged:
            shape = self.shape[1:] if single else (rows, *self.shape[1:])
            return tf.TensorSpec(shape, dtype)
        if single:
            return tf.TensorSpec((None,), dtype)
        return tf.RaggedTensorSpec((rows, None), dtype, ragged_rank=1)

    def tensor(self, tf: Any, array: Any) -> Any:
        dtype = {np.int64: tf.int64, np.float32: tf.float32, np.str_: tf.string}[self.kind]
        if not self.ragged:
            return tf.constant(array, dtype)
        pieces = [np.asarray(piece) for piece in array]
        lengths = [len(piece) for piece in pieces]
        flat = np.concatenate(pieces) if sum(lengths) else np.empty(0)
        values = tf.constant(flat.tolist() if self.kind is np.str_ else flat.astype(self.kind), dtype)
        return tf.RaggedTensor.from_row_lengths(values, np.asarray(lengths, np.int64))


def _is_ragged(array: Any) -> bool:
    return array.dtype == np.object_ and any(isinstance(item, np.ndarray | list) for item in array.flat)


def _flat(array: Any) -> Any:
    if not _is_ragged(array):
        return array.reshape(-1)
    pieces = [np.asarray(item) for item in array.flat if item is not None]
    if any(piece.ndim != 1 for piece in pieces) or len(pieces) < array.size:
        return np.array([None, {}], object)  # what no kind of column takes
    return np.concatenate(pieces) if pieces else np.empty(0)


def _is_text(array: Any) -> bool:
    return array.dtype.kind in "US" or all(isinstance(item, str | bytes) for item in array)


def to_tf_dataset(
    view: View,
    features: Mapping[str, Any],
    spec: FormatSpec,
    *,
    batch_size: int | None,
    columns: str | Sequence[str] | None,
    shuffle: bool,
    collate_fn: Callable[..., Any] | None,
    drop_remainder: bool,
    collate_fn_args: Mapping[str, Any] | None,
    label_cols: str | Sequence[str] | None,
    prefetch: bool,
    num_workers: int,
    num_test_batches: int,
) -> Any:
    """Makes a `tf.data.Dataset`, see `Dataset.to_tf_dataset`.

    Args:
        view: The rows.
        features: The feature of each column.
        spec: The dataset's format; examples are numpy arrays unless it is a transform.
        batch_size: As documented.
        columns: As documented.
        shuffle: As documented.
        collate_fn: As documented.
        drop_remainder: As documented.
        collate_fn_args: As documented.
        label_cols: As documented.
        prefetch: As documented.
        num_workers: As documented.
        num_test_batches: As documented.

    Raises:
        MissingDependencyError: TensorFlow is not installed.
        InvalidArgumentError: The arguments exclude each other, there are no rows, or a column can't become a tensor.
        TransformError: The collate function failed; names the rows.
    """
    tf: Any = require("tensorflow", "to_tf_dataset")
    size = None if batch_size is None else whole_number("batch_size", batch_size, 1)
    workers = whole_number("num_workers", num_workers, 0)
    inputs = [] if columns is None else _distinct("columns", columns)
    labels = [] if label_cols is None else _distinct("label_cols", label_cols)
    if labels and not inputs:
        raise InvalidArgumentError("label_cols= needs columns= as well.")
    if collate_fn is not None and not callable(collate_fn):
        raise InvalidArgumentError.from_value("collate_fn", collate_fn, "a function")
    if size is None and workers:
        raise InvalidArgumentError("num_workers= needs batch_size=: single rows are not worth sending.")
    if not view.num_rows:
        raise InvalidArgumentError("The dataset has no rows, so the shapes of its tensors are not known.")
    # What a collate function makes of labels often has another name than they have.
    named = {*inputs, *labels, *_LABELS}
    # It sees what is asked for; all of a dataset that has no such columns, since it makes them of others.
    wanted = named if not set(view.names).isdisjoint(inputs) else set(view.names)
    kept = tuple(name for name in view.names if name in wanted)
    if spec.type != "custom":
        spec = FormatSpec("numpy", kept)
    loader = Loader(view, features, spec, collate_fn, dict(collate_fn_args or {}))
    described = _describe(loader, whole_number("num_test_batches", num_test_batches, 1), size)
    arranged = _Arrangement.plan(described, inputs, labels)
    batches = _Batches(loader, size, bool(shuffle), bool(drop_remainder), workers)
    rows = size if drop_remainder else None
    seed = int(tf.random.uniform((), maxval=np.iinfo(np.int64).max, dtype=tf.int64)) if shuffle else 0

    def generate() -> Iterator[Any]:
        for arrays in batches.epoch(seed):
            brought = {name: column.bring(name, _get(arrays, name)) for name, column in described.items()}
            if size is not None:
                yield arranged.of({name: described[name].tensor(tf, brought[name]) for name in described})
                continue
            for position in range(len(next(iter(brought.values())))):
                yield arranged.of({name: array[position] for name, array in brought.items()})

    signature = arranged.of({name: column.spec(tf, rows, size is None) for name, column in described.items()})
    made = tf.data.Dataset.from_generator(generate, output_signature=signature)
    if size is not None or collate_fn is None:
        made = made.apply(tf.data.experimental.assert_cardinality(batches.count()))
    return made.prefetch(tf.data.AUTOTUNE) if prefetch else made


def _distinct(name: str, names: str | Sequence[str]) -> list[str]:
    listed = column_list(names)
    if len(set(listed)) < len(listed):
        raise InvalidArgumentError.from_value(name, names, "each column once")
    return listed


def _get(arrays: Arrays, name: str) -> Any:
    if name not in arrays:
        raise TransformOutputError(f'The collate function left out the column "{name}" of some batches.')
    return arrays[name]


def _describe(loader: Loader, tests: int, size: int | None) -> dict[str, _Column]:
    """Finds types and shapes by loading batches of rows that lie all over the dataset."""
    rows = np.unique(np.linspace(0, loader.view.num_rows - 1, 2 * tests).astype(np.int64))
    together = 1 if size == 1 or (size is None and loader.collate is not None) else 2
    found = [loader.load(rows[start : start + together]) for start in range(0, len(rows), together)]
    return {name: _Column.of(name, [_get(batch, name) for batch in found]) for name in found[0]}


@dataclass(frozen=True)
class _Arrangement:
    """How a batch is given: a dict, one tensor, or a pair of inputs and labels."""

    inputs: tuple[str, ...]
    labels: tuple[str, ...]
    all: bool

    @classmethod
    def plan(cls, there: Mapping[str, Any], inputs: list[str], labels: list[str]) -> _Arrangement:
        renamed = [_renamed(names, there) for names in (inputs, labels)]
        for name in (*renamed[0], *renamed[1]):
            if name not in there:
                raise InvalidArgumentError(
                    f'There is no column "{name}" in the batches; they have {", ".join(there)}.'
                )
        return cls(tuple(renamed[0]), tuple(renamed[1]), not inputs)

    def of(self, batch: Mapping[str, Any]) -> Any:
        if self.all:
            return dict(batch)
        inputs = _bare({name: batch[name] for name in self.inputs})
        return (inputs, _bare({name: batch[name] for name in self.labels})) if self.labels else inputs


def _renamed(names: list[str], there: Mapping[str, Any]) -> list[str]:
    if "labels" not in there or "labels" in names:
        return names
    others = [name for name in names if name not in _LABELS]
    return [*others, "labels"] if len(others) < len(names) else names


def _bare(batch: dict[str, Any]) -> Any:
    return next(iter(batch.values())) if len(batch) == 1 else batch


class _Batches:
    """The batches of one epoch after another, each in an order of its own if they are shuffled."""

    def __init__(self, loader: Loader, size: int | None, shuffle: bool, drop: bool, workers: int) -> None:
        self._loader = loader
        self._single = size is None
        # Rows that are given one by one are read together all the same, unless a function wants them one by one.
        self._size = size or (_SINGLE_ROWS if loader.collate is None else 1)
        self._shuffle = shuffle
        self._drop = drop and not self._single
        self._workers = workers
        self._epoch = 0

    def count(self) -> int:
        """How many elements an epoch has."""
        rows = self._loader.view.num_rows
        if self._single:
            return rows
        return rows // self._size if self._drop else -(-rows // self._size)

    def epoch(self, seed: int) -> Iterator[Arrays]:
        """Loads the batches of the next epoch."""
        rows = self._loader.view.num_rows
        order = np.arange(rows, dtype=np.int64)
        if self._shuffle:
            order = np.random.default_rng([seed, self._epoch]).permutation(order)
        self._epoch += 1
        stop = rows - rows % self._size if self._drop else rows
        parts = (order[start : start + self._size] for start in range(0, stop, self._size))
        load = self._loader.load
        return stream_from_workers(load, parts, self._workers) if self._workers else map(load, parts)
