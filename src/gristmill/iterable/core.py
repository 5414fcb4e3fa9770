"""The class `IterableDataset`: its methods in one place, each handing the work to a module of its topic."""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from gristmill.arguments import row_count, skips_errors, whole_number
from gristmill.engine.tasks import check_num_proc
from gristmill.errors import GristmillError, InvalidArgumentError
from gristmill.features import Features
from gristmill.formatting import FormatSpec
from gristmill.info import DatasetInfo, InfoMixin, wanted_features
from gristmill.iterable import export, opening, plans, walking
from gristmill.iterable.column import IterableColumn
from gristmill.iterable.epoch import Epoch
from gristmill.iterable.foreign import FormattingConfig, _BaseExamplesIterable, node_of_examples
from gristmill.iterable.looking import features_at_sight
from gristmill.iterable.node import Node
from gristmill.iterable.sources import Generated, Rows
from gristmill.iterable.workers import become_torch_dataset, worker_part
from gristmill.not_there_yet import MissingMethod
from gristmill.splits import NamedSplit, Split
from gristmill.table import making
from gristmill.table.arrow_file import open_arrow
from gristmill.table.view import View
from gristmill.version import Version

if TYPE_CHECKING:
    from gristmill.hub.writing import CommitInfo
    from gristmill.iterable.publishing import StreamSource

_PREVIEW_ROWS = 10


class IterableDataset(InfoMixin):
    """Rows that are read one after another, and nothing before it is needed.

    Each method gives a new stream; nothing is read or computed before rows are asked for. The same calls with the same
    seeds give the same rows in the same order. `state_dict` says where the reading is, and a stream made by the same
    calls goes on from there with `load_state_dict`, also in another process.

    Args:
        ex_iterable: The plan of the stream; methods make it. Or rows of a library's own, see `iterable_dataset`.
        info: What is known about the dataset.
        split: Name of the split.
        formatting: The format of rows and batches.
        distributed: Not used; `distributed.split_dataset_by_node` is part of the plan.
        token_per_repo_id: Not used.

    Example:
        >>> stream = IterableDataset.from_dict({"a": [1, 2, 3]})
        >>> [row["b"] for row in stream.map(lambda row: {"b": row["a"] * 2})]
        [2, 4, 6]
    """

    from_spark = MissingMethod()

    def __init__(
        self,
        ex_iterable: Node | _BaseExamplesIterable,
        info: DatasetInfo | None = None,
        split: NamedSplit | None = None,
        formatting: FormatSpec | FormattingConfig | None = None,
        distributed: Any = None,
        token_per_repo_id: Mapping[str, Any] | None = None,
    ) -> None:
        if isinstance(ex_iterable, _BaseExamplesIterable):
            ex_iterable = node_of_examples(ex_iterable)
        if not isinstance(ex_iterable, Node):
            raise InvalidArgumentError.from_value(
                "ex_iterable",
                ex_iterable,
                "the plan of a stream; use from_generator for a function that yields rows",
            )
        self._node = ex_iterable
        self._info = copy.copy(info) if info is not None else DatasetInfo()
        self._info.features = ex_iterable.features
        self._split = None if split is None else NamedSplit(split)
        if isinstance(formatting, FormattingConfig):
            formatting = FormatSpec.parse(formatting.format_type, None, False, {}, [])
        self._spec = formatting if formatting is not None else FormatSpec()
        self._epoch = Epoch()
        self._walk: walking.Walk | None = None
        self._start: dict[str, Any] | None = None
        become_torch_dataset(IterableDataset)

    @property  # type: ignore[misc]
    def __class__(self) -> type:
        # `DataLoader` asks whether this is one of torch's datasets; torch may have come after this object was made.
        become_torch_dataset(IterableDataset)
        return type(self)

    def __getstate__(self) -> dict[str, Any]:
        # Where this process is reading is its own affair; where to go on from is not.
        return {**vars(self), "_walk": None}

    def __setstate__(self, state: dict[str, Any]) -> None:
        vars(self).update(state)
        become_torch_dataset(IterableDataset)

    def __repr__(self) -> str:
        names = self._names_at_hand()
        return f"IterableDataset({{\n    features: {names},\n    num_shards: {self.num_shards}\n}})"

    def _names_at_hand(self) -> list[str] | str:
        """Names of the columns for a reader; who only prints a stream asks no server, and meets no error."""
        try:
            features = features_at_sight(self._node, far=False)
        except (GristmillError, OSError):
            return "Unknown"
        return "Unknown" if features is None else list(features)

    def _derive(self, node: Node, spec: FormatSpec | None = None) -> IterableDataset:
        made = IterableDataset(node, self._info, self._split, self._spec if spec is None else spec)
        made._epoch.value = self._epoch.value
        return made

    @classmethod
    def _combined(
        cls, several: Sequence[IterableDataset], node: Node, info: DatasetInfo | None, split: Any
    ) -> IterableDataset:
        """Makes a stream of the plan that joins several; rows are given in their format if it is the same."""
        wanted_features(None, info)  # refuses what is no info
        joined = DatasetInfo.from_merge([one._info for one in several]) if info is None else info
        specs = [one._spec for one in several]
        return cls(node, joined, split, specs[0] if all(spec == specs[0] for spec in specs) else None)

    # ---------------------------------------------------------------- making streams

    @staticmethod
    def from_generator(
        generator: Callable[..., Iterable[Mapping[str, Any]]],
        features: Features | None = None,
        gen_kwargs: dict[str, Any] | None = None,
        split: NamedSplit = Split.TRAIN,
    ) -> IterableDataset:
        """Makes a stream of a function that yields rows.

        Args:
            generator: Yields rows as dicts. It is called once a shard, each time anew.
            features: What the columns are; each value is checked. Unknown if left out.
            gen_kwargs: Its arguments. The items of lists are shards: for each, the function is called with a list of
                that item. All lists have the same length.
            split: Name of the split.

        Raises:
            InvalidArgumentError: `generator` can't be called, or lists differ in length.

        Example:
            >>> def rows(starts):
            ...     for start in starts:
            ...         yield {"n": start}
            >>> IterableDataset.from_generator(rows, gen_kwargs={"starts": [1, 5]}).num_shards
            2
        """
        wanted = None if features is None else Features(features)
        node = Generated.of_function(generator, wanted, gen_kwargs)
        info = DatasetInfo(
            builder_name="generator",
            dataset_name="generator",
            config_name="default",
            version=Version("0.0.0"),
        )
        return IterableDataset(node, info, split)

    @staticmethod
    def from_file(filename: str) -> IterableDataset:
        """Makes a stream of an Arrow file, which is mapped.

        Args:
            filename: Path of the file.

        Raises:
            FileMissingError: There is no such file.
            FileFormatError: It is no Arrow file.
        """
        table, features = making.describe(open_arrow(filename, check="offsets"), None)
        return IterableDataset(Rows.of_view(View.from_table(table), features))

    @classmethod
    def _of_table(
        cls, table: Any, info: DatasetInfo | None, split: NamedSplit | None, num_shards: int
    ) -> IterableDataset:
        described, features = making.describe(table, None if info is None else info.features)
        return cls._of_view(View.from_table(described), features, info, split, num_shards)

    @classmethod
    def _of_view(
        cls,
        view: View,
        features: Features,
        info: DatasetInfo | None,
        split: NamedSplit | None,
        num_shards: int,
        spec: FormatSpec | None = None,
    ) -> IterableDataset:
        count = whole_number("num_shards", num_shards, 1)
        if count > max(1, view.num_rows):
            raise InvalidArgumentError.from_value(
                "num_shards", num_shards, f"at most the {view.num_rows} rows"
            )
        return cls(Rows.of_view(view, features, count), info, split, spec)

    @classmethod
    def from_dict(
        cls,
        mapping: Mapping[str, Any],
        features: Features | None = None,
        info: DatasetInfo | None = None,
        split: NamedSplit | None = None,
        num_shards: int = 1,
    ) -> IterableDataset:
        """Makes a stream of columns of values.

        Args:
            mapping: The values by column.
            features: What the columns are; inferred if left out.
            info: What is known about the dataset.
            split: Name of the split.
            num_shards: How many parts that can be read apart.

        Raises:
            SchemaConflictError: Values of a column have no common type.
            CastError: A value does not fit its feature.
        """
        table = making.columns_to_table(mapping, wanted_features(features, info))
        return cls._of_table(table, info, split, num_shards)

    @classmethod
    def from_list(
        cls,
        mapping: list[dict[str, Any]],
        features: Features | None = None,
        info: DatasetInfo | None = None,
        split: NamedSplit | None = None,
        num_shards: int = 1,
    ) -> IterableDataset:
        """Makes a stream of rows; see `from_dict`.

        Args:
            mapping: The rows; a key that a row lacks is None there.
            features: What the columns are; inferred if left out.
            info: What is known about the dataset.
            split: Name of the split.
            num_shards: How many parts that can be read apart.
        """
        table = making.rows_to_table(mapping, wanted_features(features, info))
        return cls._of_table(table, info, split, num_shards)

    @classmethod
    def from_pandas(
        cls,
        df: Any,
        features: Features | None = None,
        info: DatasetInfo | None = None,
        split: NamedSplit | None = None,
        preserve_index: bool | None = None,
        num_shards: int = 1,
    ) -> IterableDataset:
        """Makes a stream of a pandas frame; see `Dataset.from_pandas`.

        Args:
            df: The frame.
            features: What the columns are.
            info: What is known about the dataset.
            split: Name of the split.
            preserve_index: Whether the frame's index becomes a column; None keeps it unless it only counts rows.
            num_shards: How many parts that can be read apart.

        Raises:
            CastError: A value does not fit.
        """
        table = making.frame_to_table(df, wanted_features(features, info), preserve_index)
        return cls._of_table(table, info, split, num_shards)

    @classmethod
    def from_polars(
        cls,
        df: Any,
        features: Features | None = None,
        info: DatasetInfo | None = None,
        split: NamedSplit | None = None,
    ) -> IterableDataset:
        """Makes a stream of a polars frame, whose memory is shared where the types are Arrow's own.

        Args:
            df: The frame; a lazy one is computed.
            features: What the columns are.
            info: What is known about the dataset.
            split: Name of the split.

        Raises:
            InvalidArgumentError: It is none.
            CastError: A value does not fit.
        """
        return cls._of_table(making.polars_to_table(df, wanted_features(features, info)), info, split, 1)

    @staticmethod
    def from_csv(
        path_or_paths: Any,
        split: NamedSplit | None = None,
        features: Features | None = None,
        keep_in_memory: bool = False,  # noqa: ARG004  # documented; a stream keeps nothing
        *,
        on_error: str = "raise",
        **kwargs: Any,
    ) -> Any:
        """Makes a stream of CSV files.

        Args:
            path_or_paths: A path, pattern or URL, several, or a mapping of split to either.
            split: Name of the split.
            features: What the columns are. If left out, the first 10,000 rows of each file decide, so that the first row
                comes at once; a cell further down that does not fit is a float beside integers, else text.
            keep_in_memory: Accepted; a stream keeps nothing.
            on_error: ``"skip"`` leaves out rows that can't be read or do not fit `features`; the log names file and row of
                the first few, and says at the end of a file how many they were.
            **kwargs: Options of the reader, for example ``sep``.

        Returns:
            The stream; an `IterableDatasetDict` for a mapping without `split`.

        Raises:
            DataFilesNotFoundError: A path means nothing.
            InvalidArgumentError: An option is not known.
        """
        return _from_files("csv", path_or_paths, split, features, kwargs, on_error=on_error)

    @staticmethod
    def from_json(
        path_or_paths: Any,
        split: NamedSplit | None = None,
        features: Features | None = None,
        keep_in_memory: bool = False,  # noqa: ARG004  # documented
        field: str | None = None,
        *,
        on_error: str = "raise",
        **kwargs: Any,
    ) -> Any:
        """Makes a stream of JSON files; see `from_csv`.

        Args:
            path_or_paths: As for `from_csv`.
            split: Name of the split.
            features: What the columns are.
            keep_in_memory: Accepted.
            field: The field that holds the rows, in a file that is one object.
            on_error: As for `from_csv`.
            **kwargs: Further options of the reader.
        """
        return _from_files(
            "json", path_or_paths, split, features, {"field": field, **kwargs}, on_error=on_error
        )

    @staticmethod
    def from_parquet(
        path_or_paths: Any,
        split: NamedSplit | None = None,
        features: Features | None = None,
        keep_in_memory: bool = False,  # noqa: ARG004  # documented
        columns: list[str] | None = None,
        filters: Any = None,
        fragment_scan_options: Any = None,  # noqa: ARG004  # documented; reading is tuned by itself
        on_bad_files: str = "error",
        *,
        on_error: str = "raise",
        **kwargs: Any,
    ) -> Any:
        """Makes a stream of Parquet files; see `from_csv`.

        Args:
            path_or_paths: As for `from_csv`.
            split: Name of the split.
            features: What the columns are.
            keep_in_memory: Accepted.
            columns: Only these columns are read.
            filters: Only rows that pass are read: an expression, or a list such as ``[("column", ">", 1)]``.
            fragment_scan_options: Accepted.
            on_bad_files: ``"error"``, ``"warn"`` or ``"skip"``, for a file that can't be read.
            on_error: As for `from_csv`.
            **kwargs: Further options of the reader.
        """
        options = {"on_bad_files": on_bad_files, **kwargs}
        return _from_files("parquet", path_or_paths, split, features, options, columns, filters, on_error)

    @staticmethod
    def from_text(
        path_or_paths: Any,
        split: NamedSplit | None = None,
        features: Features | None = None,
        keep_in_memory: bool = False,  # noqa: ARG004  # documented
        keep_linebreaks: bool = False,
        sample_by: str = "line",
        *,
        on_error: str = "raise",
        **kwargs: Any,
    ) -> Any:
        """Makes a stream of text files; see `from_csv`.

        Args:
            path_or_paths: As for `from_csv`.
            split: Name of the split.
            features: What the columns are.
            keep_in_memory: Accepted.
            keep_linebreaks: Keep the line ends.
            sample_by: A row is a ``"line"``, a ``"paragraph"`` or a ``"document"``.
            on_error: As for `from_csv`.
            **kwargs: Further options of the reader.
        """
        options = {"keep_linebreaks": keep_linebreaks, "sample_by": sample_by, **kwargs}
        return _from_files("text", path_or_paths, split, features, options, on_error=on_error)

    # ---------------------------------------------------------------- what is known

    @property
    def features(self) -> Features | None:
        """The columns and what they mean, as a copy; None if they show only when rows are read, as after `map`.

        Where nothing else says what the columns of Parquet, Arrow and JSON files are, the first file with rows is looked
        at, once: the schema in it, or its first rows. A file further on may have other types; it is read with them.

        Raises:
            FileFormatError: The file looked at is damaged.
            HubError: It can't be fetched.
            OfflineError: Offline mode is on.
        """
        features = features_at_sight(self._node)
        if features is None:
            return None
        self._info.features = features
        return features.copy()

    @property
    def column_names(self) -> list[str] | None:
        """Names of the columns, in order; None if they are not known, see `features`."""
        features = features_at_sight(self._node)
        return None if features is None else list(features)

    @property
    def num_columns(self) -> int | None:
        """How many columns; None if that is not known, see `features`."""
        features = features_at_sight(self._node)
        return None if features is None else len(features)

    @property
    def num_shards(self) -> int:
        """How many parts can be read apart from each other."""
        return self._node.num_shards

    @property
    def n_shards(self) -> int:
        """The old name of `num_shards`."""
        return self.num_shards

    @property
    def epoch(self) -> int:
        """The epoch, see `set_epoch`."""
        return self._epoch.value

    @property
    def _ex_iterable(self) -> Node:
        """The plan, under the name that libraries read."""
        return self._node

    @property
    def _formatting(self) -> FormattingConfig | None:
        """The format, under the name that libraries read."""
        return None if self._spec.type is None else FormattingConfig(self._spec.type)

    def _resolve_features(self) -> IterableDataset:
        """Gives the same stream with known columns: if they are not known, the first rows are looked at."""
        if self._node.features is not None:
            return self
        return self._derive(plans.plan_cast(self._node, plans.look_ahead(self._node, self.epoch)))

    # ---------------------------------------------------------------- reading

    def __iter__(self) -> Iterator[Any]:
        return self._begin().rows(self._spec)

    def iter(self, batch_size: int, drop_last_batch: bool = False) -> Iterator[Any]:
        """Reads the stream in batches.

        Args:
            batch_size: Rows a batch.
            drop_last_batch: Leave out a last batch that is smaller.

        Raises:
            InvalidArgumentError: `batch_size` is below 1.

        Example:
            >>> list(IterableDataset.from_dict({"a": [1, 2, 3]}).iter(2))
            [{'a': [1, 2]}, {'a': [3]}]
        """
        size = whole_number("batch_size", batch_size, 1)
        return self._begin().batches(self._spec, size, drop_last_batch)

    def __getitem__(self, column_name: str) -> IterableColumn:
        return IterableColumn(self, column_name)

    def _begin(self) -> walking.Walk:
        """Begins a reading: where a state that was loaded says, once; else at the start."""
        start, self._start = self._start, None
        self._walk = walking.Walk(worker_part(self._node), self.epoch, start)
        return self._walk

    def state_dict(self) -> dict[str, Any]:
        """Says where the reading begun last is: a small dict that JSON can hold.

        A stream made by the same calls goes on from there after `load_state_dict`, with exactly the rows that an
        uninterrupted reading would have given, also out of shuffle buffers.

        Example:
            >>> stream = IterableDataset.from_dict({"a": [1, 2, 3]}).shuffle(seed=1)
            >>> rows = iter(stream)
            >>> first, state = next(rows), stream.state_dict()
            >>> stream.load_state_dict(state)
            >>> list(rows) == list(stream)
            True
        """
        if self._start is not None:
            return copy.deepcopy(self._start)
        if self._walk is None:
            return walking.make_state(worker_part(self._node), self.epoch, None)
        return copy.deepcopy(self._walk.state())

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Lets the next reading begin where `state_dict` was called; those after it begin at the start.

        Args:
            state_dict: What `state_dict` gave. The epoch becomes the one it was made in.

        Raises:
            InvalidArgumentError: It is the state of another stream.
        """
        walking.check_state(state_dict, worker_part(self._node))
        self._start = copy.deepcopy(state_dict)
        self._epoch.value = state_dict["epoch"]

    def set_epoch(self, epoch: int) -> None:
        """Sets the number that, with the seeds, decides the order of shuffled streams.

        It reaches all parts of the stream, and the workers of a `DataLoader` that are already running.

        Args:
            epoch: 0 or more.

        Raises:
            InvalidArgumentError: It is no such number.
        """
        number = whole_number("epoch", epoch, 0)
        if number >= 1 << 63:
            raise InvalidArgumentError.from_value("epoch", epoch, "a number below 2**63")
        if self._start is not None and self._start["epoch"] != number:
            self._start = None  # a place in one epoch means nothing in another
        self._epoch.value = number

    # ---------------------------------------------------------------- all rows

    def to_dict(self, batch_size: int | None = None, batched: bool = False) -> Any:
        """Gives all rows as a dict of columns of Python objects.

        Args:
            batch_size: Rows a batch, with `batched`.
            batched: Give an iterator of batches.

        Example:
            >>> IterableDataset.from_dict({"a": [1, 2]}).to_dict()
            {'a': [1, 2]}
        """
        return self._all("python", batch_size, batched)

    def to_list(self) -> list[dict[str, Any]]:
        """Gives all rows as a list of dicts of Python objects."""
        return list(self._begin().rows(FormatSpec()))

    def to_pandas(self, batch_size: int | None = None, batched: bool = False) -> Any:
        """Gives all rows as a pandas frame.

        Args:
            batch_size: Rows a batch, with `batched`.
            batched: Give an iterator of frames.

        Raises:
            MissingDependencyError: pandas is not installed.
        """
        return self._all("pandas", batch_size, batched)

    def _all(self, type: str, batch_size: int | None, batched: bool) -> Any:
        size = row_count("batch_size", batch_size) or 1000
        spec = FormatSpec.parse(type, None, False, {}, [])
        if batched:
            return self._begin().batches(spec, size, False)
        return export.read_as(self._begin(), spec.type)

    def to_polars(
        self,
        batch_size: int | None = None,
        batched: bool = False,
        schema_overrides: dict[str, Any] | None = None,
        rechunk: bool = True,
    ) -> Any:
        """Gives all rows as a polars frame.

        Args:
            batch_size: Rows a batch, with `batched`.
            batched: Give an iterator of frames.
            schema_overrides: Types of columns in polars.
            rechunk: Join the pieces of each column in memory.

        Raises:
            MissingDependencyError: polars is not installed.
        """
        size = row_count("batch_size", batch_size) or 1000
        if batched:
            return export.iter_polars(self._begin(), size, schema_overrides, rechunk)
        return export.to_polars(export.read_whole(self._begin()), schema_overrides, rechunk)

    def to_csv(
        self,
        path_or_buf: Any,
        batch_size: int | None = None,
        storage_options: dict[str, Any] | None = None,
        **to_csv_kwargs: Any,
    ) -> int:
        """Writes all rows to a CSV file as they are read; the file appears when it is whole.

        Where the columns are not known, as after `map`, the rows go to a temporary file first, since the last one may
        still change their types.

        Args:
            path_or_buf: Path, URL of another file system, or an open binary file.
            batch_size: Rows written at once.
            storage_options: Options of another file system.
            **to_csv_kwargs: Options of the writer, see `Dataset.to_csv`.

        Returns:
            Bytes written.

        Raises:
            FileError: The file can't be written.
            InvalidArgumentError: An option is not known.
        """
        return self._write("csv", path_or_buf, batch_size, storage_options, to_csv_kwargs)

    def to_json(
        self,
        path_or_buf: Any,
        batch_size: int | None = None,
        storage_options: dict[str, Any] | None = None,
        **to_json_kwargs: Any,
    ) -> int:
        """Writes all rows to a JSON file, an object a line; see `to_csv`.

        Args:
            path_or_buf: As there.
            batch_size: As there.
            storage_options: As there.
            **to_json_kwargs: Options of the writer, see `Dataset.to_json`.

        Returns:
            Bytes written.
        """
        return self._write("json", path_or_buf, batch_size, storage_options, to_json_kwargs)

    def to_parquet(
        self,
        path_or_buf: Any,
        batch_size: int | None = None,
        storage_options: dict[str, Any] | None = None,
        **parquet_writer_kwargs: Any,
    ) -> int:
        """Writes all rows to a Parquet file; see `to_csv`.

        Args:
            path_or_buf: As there.
            batch_size: As there.
            storage_options: As there.
            **parquet_writer_kwargs: Options of the writer, see `Dataset.to_parquet`.

        Returns:
            Bytes written.
        """
        return self._write("parquet", path_or_buf, batch_size, storage_options, parquet_writer_kwargs)

    def _write(
        self, format: str, target: Any, batch_size: int | None, storage: Any, options: Mapping[str, Any]
    ) -> int:
        size = row_count("batch_size", batch_size)
        return export.write_stream(self._begin(), format, target, size, storage, options)

    def to_sql(self, name: str, con: Any, batch_size: int | None = None, **sql_writer_kwargs: Any) -> int:
        """Writes all rows to a table of a database; see `Dataset.to_sql`.

        Args:
            name: The table.
            con: A URI, or an open connection.
            batch_size: Rows sent at once.
            **sql_writer_kwargs: As there.

        Returns:
            The number of rows written.

        Raises:
            InvalidArgumentError: A column is nested, or the table exists.
            DatabaseError: The database refuses.
        """
        size = row_count("batch_size", batch_size)
        return export.write_database(self._begin(), name, con, size, sql_writer_kwargs)

    def push_to_hub(
        self,
        repo_id: str,
        config_name: str = "default",
        set_default: bool | None = None,
        split: str | None = None,
        data_dir: str | None = None,
        commit_message: str | None = None,
        commit_description: str | None = None,
        private: bool | None = None,
        token: str | None = None,
        revision: str | None = None,
        create_pr: bool | None = False,
        max_shard_size: int | str | None = None,
        num_shards: int | None = None,
        embed_external_files: bool = True,
        num_proc: int | None = None,
    ) -> CommitInfo:
        """Publishes the rows on a Hub as Parquet files, read once and sent as they come; see `Dataset.push_to_hub`.

        Args:
            repo_id: ``"namespace/name"``, or ``"name"`` for one of the token's account; made if it is not there.
            config_name: The config (the card's name for one of several datasets in a repository).
            set_default: Make it the config that is loaded when none is named.
            split: The split; that of this stream, or ``"train"``, if left out.
            data_dir: Folder of the files in the repository; ``data`` for the config ``"default"``, else the config's name.
            commit_message: First line of the commit; "Upload dataset" if left out.
            commit_description: What else the commit says.
            private: Whether only some accounts see a repository that is made; None leaves that to the Hub.
            token: A token that may write; the one of ``HF_TOKEN`` or `hf auth login` if left out.
            revision: The branch, made if it is not there; ``main`` if left out.
            create_pr: Leave the branch alone and begin a pull request.
            max_shard_size: Size of a file as Arrow data, such as ``"500MB"``; that is what it is if left out.
            num_shards: Number of files, instead of their size: each has some of the stream's shards, or, where there are fewer of
                those or the columns are not known, as many rows as the others (then the rows go to a file here first).
            embed_external_files: Put pictures, sounds and the like that columns only name into the files.
            num_proc: Accepted for compatibility; rows are read by this process.

        Returns:
            What ``huggingface_hub`` says of the commit.

        Raises:
            InvalidArgumentError: A name or number can't be right, or the columns are not those of the config's other splits.
            CardError: The README there can't be used as it is.
            AccessError: A token is missing, unknown, or may not write; or there is no room left there.
            HubError: The Hub refuses or can't be reached.
            OfflineError: Offline mode is on.
        """
        from gristmill.publishing import PushOptions, push_splits

        options = PushOptions(
            repo_id, config_name, set_default, data_dir, commit_message, commit_description, private, token,
            revision, create_pr,
        )  # fmt: skip
        name = str(self._split or "train") if split is None else str(split)
        return push_splits(
            {name: self._shards(max_shard_size, num_shards, num_proc, embed_external_files)}, options
        )

    def _shards(self, size: Any, count: Any, num_proc: Any, embed: bool) -> StreamSource:
        from gristmill.iterable.publishing import StreamSource

        check_num_proc(num_proc)
        return StreamSource.plan(worker_part(self._node), self.epoch, size, count, embed)

    # ---------------------------------------------------------------- changing rows

    def map(
        self,
        function: Callable[..., Any] | None = None,
        with_indices: bool = False,
        input_columns: str | list[str] | None = None,
        batched: bool = False,
        batch_size: int | None = 1000,
        drop_last_batch: bool = False,
        remove_columns: str | list[str] | None = None,
        features: Features | None = None,
        fn_kwargs: dict[str, Any] | None = None,
        *,
        on_error: str = "raise",
    ) -> IterableDataset:
        """Calls a function on rows or batches when they are read; what it returns is put beside what was there.

        Args:
            function: Takes a row as a dict (with `batched`, a dict of columns; in the format of `with_format`) and
                returns a dict of the columns to add or replace. Coroutine functions run together.
            with_indices: Also pass row numbers, counted in what this process reads.
            input_columns: Pass these columns as arguments instead of the row.
            batched: Call it with batches; it may return another number of rows.
            batch_size: Rows a batch; all of them for None or a number below 1.
            drop_last_batch: Leave out a last batch that is smaller.
            remove_columns: Columns that go unless the function returns them.
            features: What the columns are afterwards, all of them; unknown if left out.
            fn_kwargs: Further arguments of the function.
            on_error: ``"skip"`` leaves out rows (batches) that the function fails on, and says how many at the end.

        Raises:
            InvalidArgumentError: An argument can't be used.
            ColumnNotFoundError: There is no such column.

        Example:
            >>> stream = IterableDataset.from_dict({"a": [1, 2]})
            >>> list(stream.map(lambda batch: {"b": [n + 1 for n in batch["a"]]}, batched=True))
            [{'a': 1, 'b': 2}, {'a': 2, 'b': 3}]
        """
        node = plans.plan_map(
            self._node,
            self._spec,
            function,
            with_indices=with_indices,
            input_columns=input_columns,
            batched=batched,
            batch_size=batch_size,
            drop_last_batch=drop_last_batch,
            remove_columns=remove_columns,
            features=features,
            fn_kwargs=fn_kwargs,
            on_error=on_error,
        )
        return self._derive(node)

    def filter(
        self,
        function: Callable[..., Any] | None = None,
        with_indices: bool = False,
        input_columns: str | list[str] | None = None,
        batched: bool = False,
        batch_size: int | None = 1000,
        fn_kwargs: dict[str, Any] | None = None,
        *,
        on_error: str = "raise",
    ) -> IterableDataset:
        """Keeps the rows that a function says yes to.

        Args:
            function: Takes a row and returns true or false; with `batched`, takes a batch and returns a list of them.
            with_indices: As for `map`.
            input_columns: As for `map`.
            batched: As for `map`.
            batch_size: As for `map`.
            fn_kwargs: As for `map`.
            on_error: As for `map`.

        Raises:
            InvalidArgumentError: An argument can't be used.
            ColumnNotFoundError: There is no such column.
        """
        node = plans.plan_filter(
            self._node,
            self._spec,
            function,
            with_indices=with_indices,
            input_columns=input_columns,
            batched=batched,
            batch_size=batch_size,
            fn_kwargs=fn_kwargs,
            on_error=on_error,
        )
        return self._derive(node)

    def shuffle(
        self,
        seed: int | None = None,
        generator: Any = None,
        buffer_size: int = 1000,
        max_buffer_input_shards: int | None = 10,
    ) -> IterableDataset:
        """Reads shards in another order, and mixes rows in a buffer; both are others in each epoch.

        Args:
            seed: The same seed gives the same order in the same epoch.
            generator: A `numpy.random.Generator` to draw the seed from; it stays as it was.
            buffer_size: Rows mixed at a time.
            max_buffer_input_shards: The buffer is filled from up to this many shards at once.

        Raises:
            InvalidArgumentError: A number is too small.
        """
        return self._derive(
            plans.plan_shuffle(self._node, seed, generator, buffer_size, max_buffer_input_shards)
        )

    def batch(
        self,
        batch_size: int | None = None,
        by_column: str | Sequence[str] | None = None,
        drop_last_batch: bool = False,
    ) -> IterableDataset:
        """Joins rows that follow each other into one row of lists.

        Args:
            batch_size: Rows a batch.
            by_column: A batch ends where the value of this column, or of one of these, changes; `batch_size` is not
                looked at then.
            drop_last_batch: Leave out a last batch that is smaller than `batch_size`.

        Raises:
            InvalidArgumentError: `batch_size` is below 1, or neither is given.
            ColumnNotFoundError: There is no such column.

        Example:
            >>> list(IterableDataset.from_dict({"a": [1, 2, 3]}).batch(2))
            [{'a': [1, 2]}, {'a': [3]}]
        """
        return self._derive(plans.plan_batch(self._node, batch_size, by_column, drop_last_batch))

    # ---------------------------------------------------------------- choosing rows

    def skip(self, n: int) -> IterableDataset:
        """Leaves out the first rows; the order of shards stays as it is from here on.

        Args:
            n: How many.

        Raises:
            InvalidArgumentError: `n` is negative.
        """
        return self._derive(plans.plan_skip(self._node, n))

    def take(self, n: int) -> IterableDataset:
        """Keeps the first rows; the order of shards stays as it is from here on.

        Args:
            n: How many.

        Raises:
            InvalidArgumentError: `n` is negative.

        Example:
            >>> list(IterableDataset.from_dict({"a": [1, 2, 3]}).take(1))
            [{'a': 1}]
        """
        return self._derive(plans.plan_take(self._node, n))

    def repeat(self, num_times: int | None) -> IterableDataset:
        """Reads all rows several times, each time in the same order.

        Args:
            num_times: How often; None for ever.

        Raises:
            InvalidArgumentError: It is negative.
        """
        return self._derive(plans.plan_repeat(self._node, num_times))

    def shard(self, num_shards: int, index: int, contiguous: bool = True) -> IterableDataset:
        """Keeps one of several parts, which together are all shards.

        Args:
            num_shards: How many parts; at most as many as there are shards.
            index: Which part, from 0.
            contiguous: Parts are shards that follow each other, else each `num_shards`-th.

        Raises:
            InvalidArgumentError: There are not so many shards, or there is no such part.
        """
        return self._derive(plans.plan_shard(self._node, num_shards, index, contiguous))

    def reshard(self) -> IterableDataset:
        """Cuts shards into smaller ones where that can be done: Parquet files at their row groups, tables at rows.

        Example:
            >>> IterableDataset.from_dict({"a": range(5000)}).reshard().num_shards
            5
        """
        return self._derive(self._node.reshard())

    def _split_by_node(self, rank: int, world_size: int, strategy: str) -> IterableDataset:
        return self._derive(plans.plan_node(self._node, rank, world_size, strategy))

    # ---------------------------------------------------------------- columns

    def add_column(self, name: str, column: Any) -> IterableDataset:
        """Puts a column of values beside the others.

        Args:
            name: Its name.
            column: One value a row.

        Raises:
            InvalidArgumentError: The name exists.
        """
        table, features = making.describe(making.columns_to_table({name: column}, None), None)
        values = Rows.of_view(View.from_table(table), features)
        return self._derive(plans.plan_concatenation([self._node, values], 1))

    def rename_column(self, original_column_name: str, new_column_name: str) -> IterableDataset:
        """Renames a column.

        Args:
            original_column_name: Its name.
            new_column_name: The name wanted.

        Raises:
            ColumnNotFoundError: There is no such column.
            InvalidArgumentError: The new name is taken.
        """
        return self.rename_columns({original_column_name: new_column_name})

    def rename_columns(self, column_mapping: dict[str, str]) -> IterableDataset:
        """Renames columns.

        Args:
            column_mapping: New name by old name.

        Raises:
            ColumnNotFoundError: There is no such column.
            InvalidArgumentError: A new name is taken.
        """
        return self._derive(plans.plan_rename(self._node, column_mapping))

    def remove_columns(self, column_names: str | list[str]) -> IterableDataset:
        """Leaves out columns.

        Args:
            column_names: One name or several.

        Raises:
            ColumnNotFoundError: There is no such column.
        """
        return self._derive(plans.plan_remove(self._node, column_names))

    def select_columns(self, column_names: str | list[str]) -> IterableDataset:
        """Keeps some columns, in the order given.

        Args:
            column_names: One name or several.

        Raises:
            ColumnNotFoundError: There is no such column.
        """
        return self._derive(plans.plan_select(self._node, column_names))

    def cast_column(self, column: str, feature: Any) -> IterableDataset:
        """Brings a column to a feature; each value is checked when it is read.

        Args:
            column: The column.
            feature: Its new feature.

        Raises:
            ColumnNotFoundError: There is no such column.
        """
        return self._derive(plans.plan_cast_column(self._node, column, feature))

    def cast(self, features: Features) -> IterableDataset:
        """Brings all columns to features; each value is checked when it is read.

        Args:
            features: One a column, in the order wanted.

        Raises:
            InvalidArgumentError: The features are not those of the columns.
        """
        return self._derive(plans.plan_cast(self._node, features))

    def decode(self, enable: bool = True, num_threads: int | None = None) -> IterableDataset:
        """Says whether media files are decoded when rows are read; without columns of media it changes nothing.

        Args:
            enable: False gives the path and bytes of each file.
            num_threads: Accepted and checked; it has no effect.

        Raises:
            InvalidArgumentError: The columns are not known, or `num_threads` is below 1.
        """
        if num_threads is not None:
            whole_number("num_threads", num_threads, 1)
        return self._derive(plans.plan_decode(self._node, enable))

    def with_format(self, type: str | None = None, **format_kwargs: Any) -> IterableDataset:
        """Gives rows and batches in a format; functions given to `map` and `filter` from here on see it too.

        Args:
            type: ``"numpy"``, ``"torch"``, ``"arrow"``, ``"pandas"``, ``"polars"``, ``"jax"``, ``"tensorflow"``, or
                None for Python objects.
            **format_kwargs: Options of the format, as `Dataset.set_format` takes them; ``dtype="keep"`` leaves numbers
                in the type of their column.

        Raises:
            InvalidArgumentError: There is no such format.

        Example:
            >>> from gristmill import Dataset, Features, Value
            >>> small = Dataset.from_dict({"a": [1]}, Features({"a": Value("uint8")})).to_iterable_dataset()
            >>> next(iter(small.with_format("numpy", dtype="keep")))["a"].dtype
            dtype('uint8')
        """
        return self._derive(self._node, FormatSpec.parse(type, None, False, format_kwargs, []))


def _from_files(
    format: str,
    paths: Any,
    split: NamedSplit | None,
    features: Features | None,
    options: Mapping[str, Any],
    columns: Sequence[str] | None = None,
    filters: Any = None,
    on_error: str = "raise",
) -> Any:
    skips = skips_errors(on_error)
    name = None if split is None else str(split)
    opened = opening.open_files(
        format,
        paths,
        split=name,
        features=features,
        columns=columns,
        filters=filters,
        options=options,
        skips=skips,
    )
    streams = {
        name: IterableDataset(one.node, one.source.named_info, NamedSplit(name))
        for name, one in opened.items()
    }
    if isinstance(paths, Mapping) and split is None:
        from gristmill.iterable.splits_dict import IterableDatasetDict

        return IterableDatasetDict(streams)
    return next(iter(streams.values()))
