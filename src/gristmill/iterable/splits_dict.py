"""`IterableDatasetDict`: streams by split name, with the transforms of `IterableDataset` for all of them at once."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from gristmill.iterable.core import IterableDataset
from gristmill.splits.by_split import BySplit, WithSplit

if TYPE_CHECKING:
    from gristmill.hub.writing import CommitInfo


class IterableDatasetDict(BySplit[IterableDataset]):
    """Streams by split name: a dict, with the transforms of `IterableDataset` that apply to every split.

    Example:
        >>> parts = IterableDatasetDict({"train": IterableDataset.from_dict({"a": [1, 2]})})
        >>> list(parts.map(lambda row: {"a": row["a"] + 1})["train"])
        [{'a': 2}, {'a': 3}]
    """

    kind = "IterableDataset"
    other = ("Dataset", "Make a stream of it with to_iterable_dataset(), or put datasets into a DatasetDict.")

    def map(
        self,
        function: Callable[..., Any] | None = None,
        with_indices: bool = False,
        with_split: bool = False,
        input_columns: str | list[str] | None = None,
        batched: bool = False,
        batch_size: int = 1000,
        drop_last_batch: bool = False,
        remove_columns: str | list[str] | None = None,
        fn_kwargs: dict[str, Any] | None = None,
    ) -> IterableDatasetDict:
        """Calls a function on the rows of every split; the arguments are those of `IterableDataset.map`.

        Args:
            function: As there.
            with_indices: As there.
            with_split: Also pass the split's name, as the last argument.
            input_columns: As there.
            batched: As there.
            batch_size: As there.
            drop_last_batch: As there.
            remove_columns: As there.
            fn_kwargs: As there.
        """
        return self._each(
            lambda name, part: part.map(
                WithSplit(function, name) if with_split and function is not None else function,
                with_indices=with_indices,
                input_columns=input_columns,
                batched=batched,
                batch_size=batch_size,
                drop_last_batch=drop_last_batch,
                remove_columns=remove_columns,
                fn_kwargs=fn_kwargs,
            )
        )

    def filter(
        self,
        function: Callable[..., Any] | None = None,
        with_indices: bool = False,
        input_columns: str | list[str] | None = None,
        batched: bool = False,
        batch_size: int | None = 1000,
        fn_kwargs: dict[str, Any] | None = None,
    ) -> IterableDatasetDict:
        """Keeps the rows of every split that a function says yes to; see `IterableDataset.filter`.

        Args:
            function: As there.
            with_indices: As there.
            input_columns: As there.
            batched: As there.
            batch_size: As there.
            fn_kwargs: As there.
        """
        return self._each(
            lambda _, part: part.filter(function, with_indices, input_columns, batched, batch_size, fn_kwargs)
        )

    def shuffle(
        self,
        seed: int | None = None,
        generator: Any = None,
        buffer_size: int = 1000,
        max_buffer_input_shards: int | None = 10,
    ) -> IterableDatasetDict:
        """Shuffles every split; see `IterableDataset.shuffle`.

        Args:
            seed: As there.
            generator: As there.
            buffer_size: As there.
            max_buffer_input_shards: As there.
        """
        return self._each(lambda _, part: part.shuffle(seed, generator, buffer_size, max_buffer_input_shards))

    def with_format(self, type: str | None = None, **format_kwargs: Any) -> IterableDatasetDict:
        """Gives the rows of every split in a format; see `IterableDataset.with_format`."""
        return self._each(lambda _, part: part.with_format(type, **format_kwargs))

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
        """Publishes all splits on a Hub as one config; see `IterableDataset.push_to_hub`.

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
            num_proc: Accepted for compatibility.

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
            str(name): part._shards(max_shard_size, counts[name], num_proc, embed_external_files)
            for name, part in self._checked().items()
        }
        return push_splits(sources, options)
