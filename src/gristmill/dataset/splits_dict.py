"""`DatasetDict`: datasets by split name, with the transforms of `Dataset` for all of them at once."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from typing_extensions import Self

from gristmill import config
from gristmill.dataset import labels, saving, sharding, tidying
from gristmill.dataset.core import Dataset
from gristmill.errors import InvalidArgumentError
from gristmill.features import Features
from gristmill.files.atomic import write_json
from gristmill.files.borders import writing
from gristmill.files.paths import safe_join
from gristmill.splits.by_split import BySplit, WithSplit
from gristmill.table import Table

if TYPE_CHECKING:
    from gristmill.hub.writing import CommitInfo


class DatasetDict(BySplit[Dataset]):
    """Datasets by split name: a dict, with the transforms of `Dataset` that apply to every split.

    Example:
        >>> parts = DatasetDict({"train": Dataset.from_dict({"a": [1, 2]})})
        >>> parts.map(lambda row: {"a": row["a"] + 1})["train"]["a"][:]
        [2, 3]
        >>> parts
        DatasetDict({
            train: Dataset({
                features: ['a'],
                num_rows: 2
            })
        })
    """

    kind = "Dataset"
    other = ("IterableDataset", "Streams go into an IterableDatasetDict.")

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        return None

    @property
    def data(self) -> dict[str, Table]:
        """The table behind each split."""
        return {name: part.data for name, part in self._checked().items()}

    @property
    def cache_files(self) -> dict[str, list[dict[str, str]]]:
        """The Arrow files behind each split."""
        return {name: part.cache_files for name, part in self._checked().items()}

    @property
    def num_rows(self) -> dict[str, int]:
        """Rows of each split."""
        return {name: part.num_rows for name, part in self._checked().items()}

    @property
    def shape(self) -> dict[str, tuple[int, int]]:
        """Rows and columns of each split."""
        return {name: part.shape for name, part in self._checked().items()}

    def set_format(
        self,
        type: str | None = None,
        columns: list[str] | None = None,
        output_all_columns: bool = False,
        **format_kwargs: Any,
    ) -> None:
        """Sets how rows look, see `Dataset.set_format`."""
        for part in self._checked().values():
            part.set_format(type, columns, output_all_columns, **format_kwargs)

    def reset_format(self) -> None:
        """Gives all columns as Python values again."""
        for part in self._checked().values():
            part.reset_format()

    def with_format(
        self,
        type: str | None = None,
        columns: list[str] | None = None,
        output_all_columns: bool = False,
        **format_kwargs: Any,
    ) -> DatasetDict:
        """Gives the same splits in a format, see `Dataset.set_format`."""
        return self._each(
            lambda _, part: part.with_format(type, columns, output_all_columns, **format_kwargs)
        )

    @contextlib.contextmanager
    def formatted_as(
        self,
        type: str | None = None,
        columns: list[str] | None = None,
        output_all_columns: bool = False,
        **format_kwargs: Any,
    ) -> Iterator[None]:
        """Sets a format for the length of a ``with`` block, see `Dataset.set_format`."""
        with contextlib.ExitStack() as stack:
            for part in self._checked().values():
                stack.enter_context(part.formatted_as(type, columns, output_all_columns, **format_kwargs))
            yield

    def set_transform(
        self,
        transform: Callable[..., Any] | None,
        columns: list[str] | None = None,
        output_all_columns: bool = False,
    ) -> None:
        """Sets a transform, see `Dataset.set_transform`."""
        for part in self._checked().values():
            part.set_transform(transform, columns, output_all_columns)

    def with_transform(
        self,
        transform: Callable[..., Any] | None,
        columns: list[str] | None = None,
        output_all_columns: bool = False,
    ) -> DatasetDict:
        """Gives the same splits with a transform, see `Dataset.set_transform`."""
        return self._each(lambda _, part: part.with_transform(transform, columns, output_all_columns))

    def map(
        self,
        function: Callable[..., Any] | None = None,
        with_indices: bool = False,
        with_rank: bool = False,
        with_split: bool = False,
        input_columns: str | list[str] | None = None,
        batched: bool = False,
        batch_size: int | None = 1000,
        drop_last_batch: bool = False,
        remove_columns: str | list[str] | None = None,
        keep_in_memory: bool = False,
        load_from_cache_file: bool | None = None,
        cache_file_names: Mapping[str, str | None] | None = None,
        writer_batch_size: int | None = 1000,
        features: Features | None = None,
        disable_nullable: bool = False,
        fn_kwargs: dict[str, Any] | None = None,
        num_proc: int | None = None,
        desc: str | None = None,
        try_original_type: bool | None = True,
        on_mixed_types: str | None = None,
    ) -> DatasetDict:
        """Applies a function to every split, see `Dataset.map`.

        Args:
            function: As for `Dataset.map`.
            with_indices: As for `Dataset.map`.
            with_rank: As for `Dataset.map`.
            with_split: Also pass the split's name, after the row (or its number and rank).
            input_columns: As for `Dataset.map`.
            batched: As for `Dataset.map`.
            batch_size: As for `Dataset.map`.
            drop_last_batch: As for `Dataset.map`.
            remove_columns: As for `Dataset.map`.
            keep_in_memory: As for `Dataset.map`.
            load_from_cache_file: As for `Dataset.map`.
            cache_file_names: File for the result of each split.
            writer_batch_size: As for `Dataset.map`.
            features: As for `Dataset.map`.
            disable_nullable: As for `Dataset.map`.
            fn_kwargs: As for `Dataset.map`.
            num_proc: As for `Dataset.map`.
            desc: As for `Dataset.map`.
            try_original_type: As for `Dataset.map`.
            on_mixed_types: As for `Dataset.map`, but by default values that have no common type are an error.

        Raises:
            TransformError: The function failed; names the row.
            TransformOutputError: It returned something that can't become rows.
        """
        files = _by_split("cache_file_names", cache_file_names)
        return self._each(
            lambda name, part: part.map(
                WithSplit(function, name) if with_split and function is not None else function,
                with_indices=with_indices,
                with_rank=with_rank,
                input_columns=input_columns,
                batched=batched,
                batch_size=batch_size,
                drop_last_batch=drop_last_batch,
                remove_columns=remove_columns,
                keep_in_memory=keep_in_memory,
                load_from_cache_file=load_from_cache_file,
                cache_file_name=files.get(name),
                features=features,
                fn_kwargs=fn_kwargs,
                num_proc=num_proc,
                desc=desc,
                try_original_type=try_original_type,
                on_mixed_types=on_mixed_types,
            )
        )

    def filter(
        self,
        function: Callable[..., Any] | None = None,
        with_indices: bool = False,
        with_rank: bool = False,
        input_columns: str | list[str] | None = None,
        batched: bool = False,
        batch_size: int | None = 1000,
        keep_in_memory: bool = False,
        load_from_cache_file: bool | None = None,
        cache_file_names: Mapping[str, str | None] | None = None,
        writer_batch_size: int | None = 1000,
        fn_kwargs: dict[str, Any] | None = None,
        num_proc: int | None = None,
        desc: str | None = None,
    ) -> DatasetDict:
        """Keeps the rows of every split for which a function says yes, see `Dataset.filter`."""
        files = _by_split("cache_file_names", cache_file_names)
        return self._each(
            lambda name, part: part.filter(
                function,
                with_indices=with_indices,
                with_rank=with_rank,
                input_columns=input_columns,
                batched=batched,
                batch_size=batch_size,
                keep_in_memory=keep_in_memory,
                load_from_cache_file=load_from_cache_file,
                cache_file_name=files.get(name),
                fn_kwargs=fn_kwargs,
                num_proc=num_proc,
                desc=desc,
            )
        )

    def flatten_indices(
        self,
        keep_in_memory: bool = False,
        cache_file_names: Mapping[str, str | None] | None = None,
        writer_batch_size: int | None = 1000,
        features: Features | None = None,
        disable_nullable: bool = False,
        num_proc: int | None = None,
        new_fingerprint: str | None = None,
    ) -> DatasetDict:
        """Writes the rows of every split out in their order, see `Dataset.flatten_indices`."""
        files = _by_split("cache_file_names", cache_file_names)
        return self._each(
            lambda name, part: part.flatten_indices(
                keep_in_memory=keep_in_memory,
                cache_file_name=files.get(name),
                features=features,
                num_proc=num_proc,
                new_fingerprint=new_fingerprint,
            )
        )

    def shuffle(
        self,
        seeds: int | dict[str, int | None] | None = None,
        seed: int | None = None,
        generators: dict[str, np.random.Generator] | None = None,
        keep_in_memory: bool = False,
        load_from_cache_file: bool | None = None,
        indices_cache_file_names: Mapping[str, str | None] | None = None,
        writer_batch_size: int | None = 1000,
    ) -> DatasetDict:
        """Puts the rows of every split into a random order, see `Dataset.shuffle`.

        Args:
            seeds: A seed for each split, or one for all.
            seed: One for all.
            generators: A generator for each split.
            keep_in_memory: Accepted for compatibility.
            load_from_cache_file: As for `Dataset.shuffle`.
            indices_cache_file_names: A file for each split, as for `Dataset.shuffle`.
            writer_batch_size: Accepted for compatibility.

        Raises:
            InvalidArgumentError: Both `seed` and `seeds` are given.
        """
        if seed is not None and seeds is not None:
            raise InvalidArgumentError("Pass either seed= or seeds=, not both.")
        given = seed if seed is not None else seeds
        chosen = given if isinstance(given, dict) else dict.fromkeys(self, given)
        numbers = _by_split("generators", generators)
        files = _by_split("indices_cache_file_names", indices_cache_file_names)
        return self._each(
            lambda name, part: part.shuffle(
                seed=chosen.get(name),
                generator=numbers.get(name),
                load_from_cache_file=load_from_cache_file,
                indices_cache_file_name=files.get(name),
            )
        )

    def sort(
        self,
        column_names: str | Sequence[str],
        reverse: bool | Sequence[bool] = False,
        null_placement: str = "at_end",
        keep_in_memory: bool = False,
        load_from_cache_file: bool | None = None,
        indices_cache_file_names: Mapping[str, str | None] | None = None,
        writer_batch_size: int | None = 1000,
    ) -> DatasetDict:
        """Puts the rows of every split into the order of the values of columns, see `Dataset.sort`."""
        files = _by_split("indices_cache_file_names", indices_cache_file_names)
        return self._each(
            lambda name, part: part.sort(
                column_names,
                reverse,
                null_placement,
                keep_in_memory=keep_in_memory,
                load_from_cache_file=load_from_cache_file,
                indices_cache_file_name=files.get(name),
            )
        )

    def flatten(self, max_depth: int = 16) -> DatasetDict:
        """Gives each field of a struct a column of its own, see `Dataset.flatten`."""
        return self._each(lambda _, part: part.flatten(max_depth=max_depth))

    def class_encode_column(self, column: str, include_nulls: bool = False) -> DatasetDict:
        """Makes a `ClassLabel` of a column, with the same classes in every split, see `Dataset.class_encode_column`.

        A class that only one split has is a class of all.
        """
        found = [
            labels.find_classes(p._view, p.features, column, include_nulls) for p in self._checked().values()
        ]
        names = sorted({text for classes in found for text in classes.label.names})
        return self._each(lambda _, part: part._encode_classes(column, include_nulls, names))

    def align_labels_with_mapping(self, label2id: dict[str, int], label_column: str) -> DatasetDict:
        """Gives the classes of every split the ids that a model knows, see `Dataset.align_labels_with_mapping`."""
        return self._each(lambda _, part: part.align_labels_with_mapping(label2id, label_column))

    def unique(self, column: str) -> dict[str, list[Any]]:
        """Gives the distinct values of a column in each split, see `Dataset.unique`."""
        return {name: part.unique(column) for name, part in self._checked().items()}

    def cleanup_cache_files(self) -> dict[str, int]:
        """Deletes results of transforms that no split reads, see `Dataset.cleanup_cache_files`."""
        # Splits may share a folder: what one of them reads stays.
        used = [file for part in self._checked().values() for file in part._view.files]
        return {name: tidying.delete_unused(part._cache_dir, used) for name, part in self._checked().items()}

    @staticmethod
    def from_csv(
        path_or_paths: Mapping[str, Any],
        features: Features | None = None,
        cache_dir: str | None = None,
        keep_in_memory: bool = False,
        **kwargs: Any,
    ) -> DatasetDict:
        """Reads CSV files, see `Dataset.from_csv`.

        Args:
            path_or_paths: Split name to a path, pattern or URL, or several.
            features: As for `Dataset.from_csv`.
            cache_dir: As for `Dataset.from_csv`.
            keep_in_memory: As for `Dataset.from_csv`.
            **kwargs: Options of the CSV reader.

        Raises:
            DataFilesNotFoundError: A path means nothing.
            DatasetGenerationError: A file can't be read or does not fit; the cause says which and where.
        """
        return _of_files("csv", path_or_paths, features, cache_dir, keep_in_memory, options=kwargs)

    @staticmethod
    def from_json(
        path_or_paths: Mapping[str, Any],
        features: Features | None = None,
        cache_dir: str | None = None,
        keep_in_memory: bool = False,
        **kwargs: Any,
    ) -> DatasetDict:
        """Reads JSON files by split, see `from_csv` and `Dataset.from_json`."""
        return _of_files("json", path_or_paths, features, cache_dir, keep_in_memory, options=kwargs)

    @staticmethod
    def from_parquet(
        path_or_paths: Mapping[str, Any],
        features: Features | None = None,
        cache_dir: str | None = None,
        keep_in_memory: bool = False,
        columns: list[str] | None = None,
        **kwargs: Any,
    ) -> DatasetDict:
        """Reads Parquet files by split, see `from_csv` and `Dataset.from_parquet`."""
        options = dict(kwargs)
        how = {"columns": columns, "filters": options.pop("filters", None), "options": options}
        return _of_files("parquet", path_or_paths, features, cache_dir, keep_in_memory, **how)

    @staticmethod
    def from_text(
        path_or_paths: Mapping[str, Any],
        features: Features | None = None,
        cache_dir: str | None = None,
        keep_in_memory: bool = False,
        **kwargs: Any,
    ) -> DatasetDict:
        """Reads text files by split, see `from_csv` and `Dataset.from_text`."""
        return _of_files("text", path_or_paths, features, cache_dir, keep_in_memory, options=kwargs)

    def save_to_disk(
        self,
        dataset_dict_path: Any,
        max_shard_size: int | str | None = None,
        num_shards: dict[str, int] | None = None,
        num_proc: int | None = None,
        storage_options: dict[str, Any] | None = None,
    ) -> None:
        """Saves all splits as one folder that `load_from_disk` opens, see `Dataset.save_to_disk`.

        Args:
            dataset_dict_path: The folder, or its URL on another file system.
            max_shard_size: As for `Dataset.save_to_disk`.
            num_shards: Number of Arrow files for each split.
            num_proc: Worker processes.
            storage_options: Options of that file system.

        Raises:
            FileError: The folder can't be written.
            InvalidArgumentError: The sizes mean nothing, or a split's name can't be the name of a folder.
        """
        counts: object = dict.fromkeys(self) if num_shards is None else num_shards
        if not isinstance(counts, Mapping) or set(counts) != set(self):
            raise InvalidArgumentError.from_value(
                "num_shards", num_shards, "a number of files for each split"
            )
        plans = {
            name: sharding.Sharding.parse(max_shard_size, count, num_proc) for name, count in counts.items()
        }
        with saving.saving_to(dataset_dict_path, storage_options) as folder:
            for name, part in self._checked().items():
                inner = safe_join(folder, str(name))
                if inner.parent != folder or str(name) != name:
                    raise InvalidArgumentError.from_value("split", name, "a name that a folder can have")
                with writing(inner):
                    inner.mkdir()
                saving.write_saved(part._saved(), inner, plans[name])
            write_json(folder / config.DATASETDICT_JSON_FILENAME, {"splits": list(self)})

    @staticmethod
    def load_from_disk(
        dataset_dict_path: Any,
        keep_in_memory: bool | None = None,
        storage_options: dict[str, Any] | None = None,
    ) -> DatasetDict:
        """Opens what `save_to_disk` saved, here or with `datasets`; see `Dataset.load_from_disk`.

        Args:
            dataset_dict_path: The folder, or its URL on another file system.
            keep_in_memory: As for `Dataset.load_from_disk`.
            storage_options: Options of that file system.

        Raises:
            FileMissingError: It is no folder of a saved `DatasetDict`.
            FileFormatError: A file in it is damaged.
        """
        with saving.fetched(dataset_dict_path, storage_options) as folder:
            if not saving.is_saved_dict(folder):
                raise saving.not_saved(folder, "DatasetDict")
            return DatasetDict(
                {
                    name: Dataset.load_from_disk(safe_join(folder, name), keep_in_memory)
                    for name in saving.read_splits(folder)
                }
            )

    def push_to_hub(
        self,
        repo_id: str,
        config_name: str = "default",
        set_default: bool | None = None,
        data_dir: str | None = None,
        commit_message: str | None = None,
        commit_description: str | None = None,
        private: bool | None = None,
        token: str | None = None,
        revision: str | None = None,
        create_pr: bool | None = False,
        max_shard_size: int | str | None = None,
        num_shards: dict[str, int] | None = None,
        embed_external_files: bool = True,
        num_proc: int | None = None,
    ) -> CommitInfo:
        """Publishes all splits on a Hub as one config; see `Dataset.push_to_hub`.

        The config has these splits and no others afterwards.

        Args:
            repo_id: ``"namespace/name"``, or ``"name"`` for one of the token's account; made if it is not there.
            config_name: The config (the card's name for one of several datasets in a repository).
            set_default: Make it the config that is loaded when none is named.
            data_dir: Folder of the files in the repository; ``data`` for the config ``"default"``, else the config's name.
            commit_message: First line of the commit; "Upload dataset" if left out.
            commit_description: What else the commit says.
            private: Whether only some accounts see a repository that is made; None leaves that to the Hub.
            token: A token that may write; the one of ``HF_TOKEN`` or `hf auth login` if left out.
            revision: The branch, made if it is not there; ``main`` if left out.
            create_pr: Leave the branch alone and begin a pull request.
            max_shard_size: Size of a file as Arrow data, such as ``"500MB"``; that is what it is if left out.
            num_shards: Number of files of each split, instead of their size.
            embed_external_files: Put pictures, sounds and the like that columns only name into the files.
            num_proc: Worker processes that write files.

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

        counts = self._counts(num_shards)
        options = PushOptions(
            repo_id, config_name, set_default, data_dir, commit_message, commit_description, private, token,
            revision, create_pr, whole=True,
        )  # fmt: skip
        sources = {
            str(name): part._shards(
                sharding.Sharding.parse(max_shard_size, counts[name], num_proc), embed_external_files
            )
            for name, part in self._checked().items()
        }
        return push_splits(sources, options)


def _by_split(name: str, value: Any) -> Mapping[str, Any]:
    if value is not None and not isinstance(value, Mapping):
        raise InvalidArgumentError.from_value(name, value, "a dict by name of split")
    return value or {}


def _of_files(
    format: str,
    paths: Mapping[str, Any],
    features: Features | None,
    cache_dir: str | None,
    keep_in_memory: bool,
    **how: Any,
) -> DatasetDict:
    from gristmill.dataset.files import read_files

    found = read_files(
        format, paths, features=features, cache_dir=cache_dir, keep_in_memory=keep_in_memory, **how
    )
    return DatasetDict(
        {name: Dataset._from_parts(**vars(part.rows), info=part.info) for name, part in found.items()}
    )
