"""`load_dataset`: arguments in, the dataset a name means out."""

from __future__ import annotations

import contextlib
import dataclasses
import difflib
import inspect
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, overload

from gristmill import config
from gristmill.build.combine import info_of
from gristmill.build.resolve import Request
from gristmill.builder.opening import shape, split_names
from gristmill.dataset import Dataset
from gristmill.dataset_dict import DatasetDict
from gristmill.download import DownloadMode, VerificationMode
from gristmill.download.modes import parse_choice
from gristmill.errors import InvalidArgumentError, NotThereYetError
from gristmill.features import Features
from gristmill.files.paths import expand_home
from gristmill.formats.registry import get_format, known_formats
from gristmill.load.finding import Settings, find_dataset
from gristmill.logging import get_logger
from gristmill.splits import NamedSplit

__all__ = ["load_dataset"]

_log = get_logger(__name__)

DataFilesArgument = str | Path | Sequence[Any] | Mapping[str, Any]


# What comes back depends on `split=` alone; these say so to type checkers and editors.
@overload
def load_dataset(
    path: str,
    name: str | None = ...,
    data_dir: str | None = ...,
    data_files: DataFilesArgument | None = ...,
    *,
    split: str,
    **options: Any,
) -> Dataset: ...
@overload
def load_dataset(
    path: str,
    name: str | None = ...,
    data_dir: str | None = ...,
    data_files: DataFilesArgument | None = ...,
    *,
    split: list[str] | list[NamedSplit],
    **options: Any,
) -> list[Dataset]: ...
@overload
def load_dataset(
    path: str,
    name: str | None = ...,
    data_dir: str | None = ...,
    data_files: DataFilesArgument | None = ...,
    *,
    split: None = ...,
    **options: Any,
) -> DatasetDict: ...
@overload
def load_dataset(
    path: str,
    name: str | None = ...,
    data_dir: str | None = ...,
    data_files: DataFilesArgument | None = ...,
    split: str | list[str] | list[NamedSplit] | None = ...,
    **options: Any,
) -> Dataset | DatasetDict | list[Dataset]: ...
def load_dataset(
    path: str,
    name: str | None = None,
    data_dir: str | None = None,
    data_files: DataFilesArgument | None = None,
    split: str | list[str] | list[NamedSplit] | None = None,
    cache_dir: str | None = None,
    features: Features | None = None,
    download_config: Any = None,
    download_mode: DownloadMode | str | None = None,
    verification_mode: VerificationMode | str | None = None,
    keep_in_memory: bool | None = None,
    save_infos: bool = False,  # documented; infos are always saved
    revision: str | None = None,
    token: bool | str | None = None,
    streaming: bool = False,
    num_proc: int | None = None,
    storage_options: dict[str, Any] | None = None,  # documented; no remote file system needs them yet
    **config_kwargs: Any,
) -> Dataset | DatasetDict | list[Dataset]:
    r"""Loads a dataset: from the Hub, from a folder or file, or from files of a named format.

    Only the files of the splits asked for are fetched and read. What was prepared once is opened from the cache in
    milliseconds as long as nothing that decides its rows has changed. `Dataset.origins` tells for each row which file
    of which commit it is from.

    Args:
        path: A Hub name (``"nyu-mll/glue"``), a folder or data file, or a format (``"csv"``, with `data_files`).
        name: The config, where the dataset has several.
        data_dir: A folder inside the dataset; with a format, the folder to look for files in.
        data_files: Paths, patterns or URLs: one, a list, or a mapping of split to either.
        split: ``"train"``, a slice such as ``"train[:10%]"``, parts joined by ``+``, or a list of these; all splits if
            left out.
        cache_dir: Where prepared data goes; `config.HF_DATASETS_CACHE` if left out.
        features: What the columns shall be; each value is checked.
        download_config: Only its ``token`` is used.
        download_mode: ``"force_redownload"`` prepares again what is there.
        verification_mode: Accepted; downloads are always verified.
        keep_in_memory: Read the rows into memory instead of mapping the prepared files.
        save_infos: Accepted; what is known is always saved beside the rows.
        revision: Branch, tag or commit on the Hub; ``"main"`` if left out.
        token: A Hub token; False for none; that of the environment or of the login if left out.
        streaming: Not there yet.
        num_proc: Accepted; files are fetched in parallel in any case.
        storage_options: Accepted for compatibility.
        **config_kwargs: Options of the format's reader (``sep=``, ``field=`` ...), `columns` and `filters`.

    Returns:
        A dataset if `split` is text, a list of datasets if it is a list, otherwise a `DatasetDict` of all splits.

    Raises:
        DatasetNotFoundError: The name means nothing; the message lists what was tried, in order.
        DataFilesNotFoundError: The place holds no data files, or a pattern matches none.
        ConfigNotFoundError: There is no such config, or several and none was named.
        SplitNotFoundError: There is no such split.
        DatasetGenerationError: A file can't be read or does not fit; the cause says which, and where.
        HubError: The Hub refuses (401: log in or set HF_TOKEN; 403: ask for access at the page named).

    Example:
        >>> import tempfile
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     _ = (Path(folder) / "train.csv").write_text("a,b\n1,x\n2,y\n")
        ...     load_dataset(folder, split="train", cache_dir=folder + "/cache")["a"][:]
        [1, 2]
    """
    if streaming:
        raise NotThereYetError.from_name("load_dataset(streaming=True)")
    request = _make_request(name, data_dir, data_files, features, token, download_config, config_kwargs)
    mode = parse_choice("download_mode", download_mode, DownloadMode, DownloadMode.REUSE_DATASET_IF_EXISTS)
    forced = mode is DownloadMode.FORCE_REDOWNLOAD
    parse_choice("verification_mode", verification_mode, VerificationMode, VerificationMode.BASIC_CHECKS)
    if num_proc is not None and num_proc < 1:
        raise InvalidArgumentError.from_value("num_proc", num_proc, "a number of processes, 1 or more")
    cache = expand_home(cache_dir or config.HF_DATASETS_CACHE)
    settings = Settings(cache, forced, keep_in_memory)
    with contextlib.closing(request):
        found = find_dataset(str(path), "main" if revision is None else str(revision), request, settings)
        wanted: Any = {name: name for name in found.known} if split is None else split
        opened = found.open(split_names(wanted, found.known, found.where))
    info = info_of(list(opened.values()))
    shaped: Dataset | DatasetDict | list[Dataset] = shape(opened, info, wanted, found.known, found.where)
    return shaped


def _make_request(
    name: str | None,
    data_dir: str | None,
    data_files: DataFilesArgument | None,
    features: Features | None,
    token: bool | str | None,
    download_config: Any,
    kwargs: dict[str, Any],
) -> Request:
    options = dict(kwargs)
    if options.pop("trust_remote_code", None) is not None:
        _log.info("trust_remote_code is ignored: code that comes with data is never run")
    old_token = options.pop("use_auth_token", None)
    for candidate in (old_token, getattr(download_config, "token", None)):
        token = candidate if token is None else token
    columns = options.pop("columns", None)
    _check_spelling(options)
    return Request(
        name=None if name is None else str(name),
        data_dir=None if data_dir is None else str(data_dir),
        data_files=data_files,
        options={key: value for key, value in options.items() if key != "filters"},
        columns=None if columns is None else tuple(columns),
        filters=options.get("filters"),
        features=None if features is None else Features(features),
        # True has always meant "the token of the login", which is what None means.
        token=None if token is True else token,
    )


def _check_spelling(options: Iterable[str]) -> None:
    """Refuses what looks like a misspelled argument of `load_dataset` and is no option of any format."""
    arguments = list(inspect.signature(load_dataset).parameters)[:-1]
    for name in options:
        if not difflib.get_close_matches(name, arguments, n=1, cutoff=0.8):
            continue
        formats = [get_format(format) for format in known_formats()]
        if not any(name in {field.name for field in dataclasses.fields(one.options)} for one in formats):
            raise InvalidArgumentError.from_choice("argument of load_dataset", name, arguments)
