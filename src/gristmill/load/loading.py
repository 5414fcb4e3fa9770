"""`load_dataset`: arguments in, the dataset a name means out."""

from __future__ import annotations

import contextlib
import inspect
from collections.abc import Mapping
from functools import cache
from typing import TYPE_CHECKING, Any, Literal, overload

from gristmill.arguments import skips_errors
from gristmill.builder.shaping import shape, split_names
from gristmill.dataset import Dataset
from gristmill.dataset_dict import DatasetDict
from gristmill.download import DownloadMode, VerificationMode
from gristmill.download.modes import parse_choice
from gristmill.engine.tasks import check_num_proc
from gristmill.features import Features
from gristmill.load.arguments import (
    DataFilesArgument,
    make_request,
    parse_cache_dir,
    parse_download_mode,
    parse_path,
    parse_revision,
)
from gristmill.load.finding import Settings, find_dataset
from gristmill.load.verification import check_files, check_splits
from gristmill.prepared.combine import info_of, splits_besides
from gristmill.splits import ReadInstruction, SplitBase

if TYPE_CHECKING:
    from gristmill.iterable import IterableDataset

__all__ = ["load_dataset"]

OneSplit = str | SplitBase | ReadInstruction
SeveralSplits = list[Any] | tuple[Any, ...]


# What comes back depends on `split=` and `streaming=`; these say so to type checkers and editors.
@overload
def load_dataset(
    path: str,
    name: str | None = ...,
    data_dir: str | None = ...,
    data_files: DataFilesArgument | None = ...,
    *,
    streaming: Literal[True],
    split: OneSplit,
    **options: Any,
) -> IterableDataset: ...
@overload
def load_dataset(
    path: str,
    name: str | None = ...,
    data_dir: str | None = ...,
    data_files: DataFilesArgument | None = ...,
    *,
    streaming: Literal[True],
    split: SeveralSplits | Mapping[str, Any] | None = ...,
    **options: Any,
) -> Any: ...
@overload
def load_dataset(
    path: str,
    name: str | None = ...,
    data_dir: str | None = ...,
    data_files: DataFilesArgument | None = ...,
    *,
    split: OneSplit,
    **options: Any,
) -> Dataset: ...
@overload
def load_dataset(
    path: str,
    name: str | None = ...,
    data_dir: str | None = ...,
    data_files: DataFilesArgument | None = ...,
    *,
    split: list[str] | list[OneSplit],
    **options: Any,
) -> list[Dataset]: ...
@overload
def load_dataset(
    path: str,
    name: str | None = ...,
    data_dir: str | None = ...,
    data_files: DataFilesArgument | None = ...,
    *,
    split: Mapping[str, Any] | None = ...,
    **options: Any,
) -> DatasetDict: ...
@overload
def load_dataset(
    path: str,
    name: str | None = ...,
    data_dir: str | None = ...,
    data_files: DataFilesArgument | None = ...,
    split: OneSplit | SeveralSplits | Mapping[str, Any] | None = ...,
    **options: Any,
) -> Any: ...
def load_dataset(
    path: str,
    name: str | None = None,
    data_dir: str | None = None,
    data_files: DataFilesArgument | None = None,
    split: OneSplit | SeveralSplits | Mapping[str, Any] | None = None,
    cache_dir: str | None = None,
    features: Features | None = None,
    download_config: Any = None,
    download_mode: DownloadMode | str | None = None,
    verification_mode: VerificationMode | str | None = None,
    keep_in_memory: bool | None = None,
    save_infos: bool = False,
    revision: str | None = None,
    token: bool | str | None = None,
    streaming: bool = False,
    num_proc: int | None = None,
    storage_options: dict[str, Any] | None = None,
    **config_kwargs: Any,
) -> Any:
    r"""Loads a dataset: from the Hub, from a folder or file, or from files of a named format.

    Only the files of the splits asked for are fetched and read. What was prepared once is opened from the cache in
    milliseconds as long as nothing that decides its rows has changed. `Dataset.origins` tells for each row which file
    of which commit it is from.

    Args:
        path: A Hub name (``"nyu-mll/glue"``), a bucket (``"buckets/me/data/folder"``), a folder, a data file or
            its URL, or a format (``"csv"``, with `data_files`).
        name: The config, where the dataset has several.
        data_dir: A folder inside the dataset; with a format, the folder to look for files in.
        data_files: Paths, patterns or URLs (``https://``, ``hf://``, any that fsspec knows, ``zip://inside::outside``):
            one, a list, or a mapping of split to either.
        split: ``"train"``, a slice such as ``"train[:10%]"``, parts joined by ``+``, a `ReadInstruction`, or a list,
            tuple or dict of these; all splits if left out.
        cache_dir: Where prepared data goes; `config.HF_DATASETS_CACHE` if left out.
        features: What the columns shall be; each value is checked.
        download_config: How to download, see `DownloadConfig`; what has no effect here is told by a warning.
        download_mode: ``"reuse_cache_if_exists"`` prepares again what is prepared, ``"force_redownload"`` fetches the data
            files again as well.
        verification_mode: ``"basic_checks"`` (if left out) compares splits and their rows with the card,
            ``"all_checks"`` also hashes the data files, ``"no_checks"`` takes what comes. Files are always checked as
            they come in from the Hub.
        keep_in_memory: Read the rows into memory instead of mapping the prepared files.
        save_infos: The same as ``verification_mode="all_checks"``; what is known is always saved beside the rows.
        revision: Branch, tag or commit on the Hub; ``"main"`` if left out.
        token: A Hub token; False for none; that of the environment or of the login if left out.
        streaming: Give streams (`IterableDataset`) that read the files when rows are asked for; nothing is prepared.
        num_proc: How many groups of files are worked on at a time while a split is prepared; as many as there are
            processors, up to four, if left out. What comes out does not depend on it.
        storage_options: Options of the file systems that URLs in `data_files` name, for fsspec.
        **config_kwargs: Options of the format's reader (``sep=``, ``field=`` ...), `columns` and `filters`; with
            `streaming`, also ``on_error="skip"``, which leaves out rows that can't be read.

    Returns:
        A dataset if `split` is one, a list or tuple of datasets if it is a list or tuple, otherwise a `DatasetDict`. With
        `streaming`, streams in the same shape.

    Raises:
        DatasetNotFoundError: The name means nothing; the message lists what was tried, in order.
        DataFilesNotFoundError: The place holds no data files, or a pattern matches none.
        ConfigNotFoundError: There is no such config, or several and none was named.
        SplitNotFoundError: There is no such split.
        SplitsVerificationError: The splits are not those of the card; ``verification_mode="no_checks"`` takes them.
        DatasetGenerationError: A file can't be read or does not fit; the cause says which, and where.
        HubError: The Hub refuses (401: log in or set HF_TOKEN; 403: ask for access at the page named).

    Example:
        >>> import tempfile
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     with open(f"{folder}/train.csv", "w") as file:
        ...         _ = file.write("a,b\n1,x\n2,y\n")
        ...     load_dataset(folder, split="train", cache_dir=folder + "/cache")["a"][:]
        [1, 2]
    """
    mode = parse_download_mode(download_mode)
    skips = skips_errors(config_kwargs.pop("on_error", "raise")) if streaming else False
    checks = parse_choice(
        "verification_mode", verification_mode, VerificationMode, VerificationMode.BASIC_CHECKS
    )
    checks = VerificationMode.ALL_CHECKS if save_infos else checks
    check_num_proc(num_proc)
    if path == "sql":
        from gristmill.dataset.sql import query_file

        # The rows go to an Arrow file named by what is in it, which is used where it is.
        folder = parse_cache_dir(cache_dir) / "sql"
        path, data_files = (
            "arrow",
            str(query_file(folder=folder, **{"sql": None, "con": None, **config_kwargs})),
        )
        config_kwargs = {}
    request = make_request(
        config_kwargs,
        _arguments(),
        name=name,
        data_dir=data_dir,
        data_files=data_files,
        features=features,
        token=token,
        download_config=download_config,
        download_mode=mode,
        storage_options=storage_options,
        streaming=streaming,
    )
    settings = Settings(
        cache=parse_cache_dir(cache_dir),
        force=mode is not DownloadMode.REUSE_DATASET_IF_EXISTS,
        keep_in_memory=keep_in_memory,
        num_proc=None if num_proc is None else max(1, num_proc),
        checksums=checks is VerificationMode.ALL_CHECKS,
    )
    with contextlib.closing(request):
        found = find_dataset(parse_path(path), parse_revision(revision), request, settings)
        if streaming:
            from gristmill.load.streaming import stream_found

            return stream_found(found, split, skips)
        wanted: Any = {name: name for name in found.known} if split is None else split
        opened = found.open(split_names(wanted, found.known, found.where))
        if checks is VerificationMode.ALL_CHECKS:
            check_files([found.sources[name] for name in opened if name in found.sources])
    # Filters and options of the reader may leave rows out.
    is_whole = request.filters is None and not request.options
    if checks is not VerificationMode.NO_CHECKS and is_whole:
        check_splits(found.info.splits, found.known, opened)
    info = found.info
    if opened:
        said = found.info.splits if is_whole else None
        besides = [name for name in found.known if name not in opened]
        others = splits_besides(besides, found.sources, settings.cache, said)
        ordered = {name: others.get(name) or opened[name].split for name in found.known}
        info = info_of(list(opened.values()), ordered)
    return shape(opened, info, wanted, found.known, found.where)


@cache
def _arguments() -> list[str]:
    """Names the documented arguments of `load_dataset`."""
    return list(inspect.signature(load_dataset).parameters)[:-1]
