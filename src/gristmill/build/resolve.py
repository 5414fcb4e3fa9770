"""From what was asked for to the splits it consists of, once it is known what the name means.

Three kinds of places: a format with files named by the user, a folder on this machine, a repository at a commit. Each
gives a `Resolved`: the config chosen and a `SplitSource` a split. Nothing is read here but listings and cards.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from functools import cached_property
from pathlib import Path
from typing import Any

from gristmill import config as settings
from gristmill.build.archives import format_of_members
from gristmill.build.local import list_folder, local_file
from gristmill.build.source import DataFile, SplitSource, fetch_each
from gristmill.build.user_files import files_of_repo, find_user_files, has_scheme
from gristmill.errors import (
    CardError,
    DataError,
    DataFilesNotFoundError,
    DatasetScriptError,
    InvalidArgumentError,
)
from gristmill.features import Features
from gristmill.files.borders import reading
from gristmill.files.data_files import (
    DataConfig,
    DataFiles,
    choose_config,
    config_names,
    default_config,
    parse_data_files,
    resolve_configs,
)
from gristmill.files.paths import expand_home
from gristmill.files.split_names import KNOWN_SUFFIXES, format_of, is_archive_file, main_format
from gristmill.formats.registry import get_format
from gristmill.hub.card import DatasetCard, parse_card
from gristmill.hub.client import HubClient, PinnedRepo
from gristmill.info import DatasetInfo
from gristmill.logging import get_logger

_log = get_logger(__name__)
_LARGEST_CARD = 20_000_000
_ARCHIVES_LOOKED_INTO = 10


@dataclass(frozen=True)
class Request:
    """What a call of `load_dataset` asks for, the place apart.

    Attributes:
        name: The config, if named.
        data_dir: A folder inside the place.
        data_files: Files or patterns.
        options: Reader options.
        columns: Only these columns.
        filters: Only the rows that pass.
        features: What the columns shall be.
        token: A Hub token, or False for none.
    """

    name: str | None = None
    data_dir: str | None = None
    data_files: DataFiles | None = None
    options: Mapping[str, Any] = field(default_factory=dict)
    columns: tuple[str, ...] | None = None
    filters: Any = None
    features: Features | None = None
    token: str | bool | None = None

    @cached_property
    def client(self) -> HubClient:
        """The Hub client, made when first needed."""
        offline = settings.HF_HUB_OFFLINE or settings.HF_DATASETS_OFFLINE
        return HubClient(token=self.token, offline=offline)

    def close(self) -> None:
        """Closes the connections of the client, if one was made."""
        client = self.__dict__.pop("client", None)
        if client is not None:
            client.session.close()


@dataclass(frozen=True)
class Resolved:
    """What a request means.

    Attributes:
        where: What to call the dataset in messages.
        splits: Split -> what it is made of, in order.
        config: The config's name.
    """

    where: str
    splits: dict[str, SplitSource]
    config: str


@dataclass(frozen=True)
class _Place:
    """Where a dataset is: what it is called and how its files are got at."""

    dataset: str
    key: str
    source: str
    where: str
    revision: str | None = None
    card: DatasetCard = field(default_factory=DatasetCard)
    fetch: Callable[[Sequence[DataFile]], list[Path]] | None = None


def from_format(format: str, request: Request) -> Resolved:
    """Resolves ``load_dataset("csv", data_files=...)``.

    Args:
        format: The format's name.
        request: What is asked for.

    Raises:
        InvalidArgumentError: Neither files nor a folder are named.
        DataFilesNotFoundError: A path or pattern means nothing.
    """
    base = None if request.data_dir is None else expand_home(request.data_dir)
    if request.data_files is not None:
        files = find_user_files(request.data_files, base, lambda: request.client)
    elif base is not None:
        suffixes = {suffix: name for suffix, name in KNOWN_SUFFIXES.items() if name == format}
        configs = resolve_configs(list_folder(base), suffixes=suffixes, where=str(base))
        if not configs:
            raise DataFilesNotFoundError(f"{base} holds no {format} files ({', '.join(suffixes)}).")
        files = {
            split: tuple(local_file(base / p) for p in paths) for split, paths in configs[0].splits.items()
        }
    else:
        expected = f'paths of {format} files, for example load_dataset("{format}", data_files="a.{format}")'
        raise InvalidArgumentError.from_value("data_files", None, expected)
    place = _Place(format, format, format, f"the {format} files")
    return _resolved(
        place, DataConfig(request.name or "default", {}), files, request, dict.fromkeys(files, format)
    )


def from_folder(folder: Path, request: Request) -> Resolved:
    """Resolves a folder on this machine, by its README where that declares configs.

    Args:
        folder: The folder.
        request: What is asked for.

    Raises:
        DatasetScriptError: The folder holds a dataset script.
        DataFilesNotFoundError: The folder holds no data files, or a pattern means nothing.
        ConfigNotFoundError: There is no such config, or several and none was named.
    """
    paths = list_folder(folder)
    name = folder.resolve().name
    _refuse_saved(folder, paths)
    _refuse_script(name, paths, str(folder))
    card = _read_card(
        lambda path: _read_text(folder / path) if (folder / path).is_file() else "", str(folder), request
    )
    place = _Place(name, name, str(folder.resolve()), str(folder), card=card)
    if request.data_files is not None:
        files = find_user_files(request.data_files, folder / (request.data_dir or ""), lambda: request.client)
        return _resolved(place, DataConfig(request.name or "default", {}), files, request)
    config = _choose(paths, card, request, str(folder))
    files = {s: tuple(local_file(folder / p, p) for p in members) for s, members in config.splits.items()}
    return _resolved(place, config, files, request)


def from_file(path: Path, request: Request) -> Resolved:
    """Resolves one data file on this machine.

    Args:
        path: The file.
        request: What is asked for.

    Raises:
        DataFilesNotFoundError: Its suffix is none of a known format.
    """
    place = _Place(path.stem, path.stem, str(path.resolve().parent), str(path))
    config = DataConfig(request.name or "default", {})
    return _resolved(place, config, {"train": (local_file(path, path.name),)}, request)


def from_repo(repo: PinnedRepo, request: Request) -> Resolved:
    """Resolves a repository at a commit, by its card where that declares configs.

    Args:
        repo: The repository.
        request: What is asked for.

    Raises:
        DatasetScriptError: The repository holds a dataset script.
        DataFilesNotFoundError: It holds no data files, or a pattern means nothing.
        ConfigNotFoundError: There is no such config, or several and none was named.
        HubError: The Hub refuses or can't be reached.
    """
    where = f"{repo.repo_id} at {repo.commit[:12]}"
    paths = [file.path for file in repo.files()]
    namespace, _, name = repo.repo_id.rpartition("/")
    _refuse_script(name, paths, repo.repo_id)
    there = set(paths)

    def read(path: str) -> str:
        return repo.read_bytes(path, _LARGEST_CARD).decode("utf-8", "replace") if path in there else ""

    card = _read_card(read, repo.repo_id, request)

    def fetch(files: Sequence[DataFile]) -> list[Path]:
        return repo.download_many([file.name for file in files])

    key = f"{namespace}___{name}" if namespace else name
    place = _Place(name, key, repo.repo_id, where, repo.commit, card, fetch)
    if request.data_files is not None and _has_urls(request.data_files):
        files = find_user_files(request.data_files, None, lambda: request.client)
        return _resolved(
            replace(place, fetch=None), DataConfig(request.name or "default", {}), files, request
        )
    config = _choose(paths, card, request, where)
    files = {split: tuple(files_of_repo(repo, members)) for split, members in config.splits.items()}
    return _resolved(place, config, files, request)


def _choose(paths: Sequence[str], card: DatasetCard, request: Request, where: str) -> DataConfig:
    own = request.data_files is not None or request.data_dir is not None
    name = request.name
    if card.configs and not own:
        name = name or default_config(card.configs, where)
        if name is None:
            return choose_config([DataConfig(n, {}) for n in config_names(card.configs, where)], None, where)
    configs = resolve_configs(
        paths,
        None if own else card.configs,
        data_files=request.data_files,
        data_dir=request.data_dir,
        only=name if card.configs and not own else None,
        where=where,
    )
    if not configs:
        raise DataFilesNotFoundError(_nothing_readable(paths, where))
    chosen = configs[0] if own else choose_config(configs, name, where)
    return replace(chosen, name=name) if own and name else chosen


def _nothing_readable(paths: Sequence[str], where: str) -> str:
    endings = sorted({"." + path.rpartition(".")[2] for path in paths if "." in path.rpartition("/")[2]})
    found = f"it has files ending in {', '.join(endings[:12])}" if endings else "it is empty"
    return f"{where} holds no data files that can be read: {found}; readable are {', '.join(KNOWN_SUFFIXES)}."


def _resolved(
    place: _Place,
    config: DataConfig,
    files: Mapping[str, Sequence[DataFile]],
    request: Request,
    formats: Mapping[str, str] | None = None,
) -> Resolved:
    chosen = formats or {split: _format_of_split(split, members, place) for split, members in files.items()}
    declared = _card_info(place.card, config, request)
    sources = {}
    for split, members in files.items():
        kept = [f for f in members if formats or _may_be(chosen[split], _plain(f.name))]
        if len(kept) < len(members):
            names = ", ".join(f.name for f in members if f not in kept)
            _log.warning(
                "%s: the split %s is read as %s; left out: %s", place.where, split, chosen[split], names
            )
        source = SplitSource(
            dataset=place.dataset,
            place=place.key,
            source=place.source,
            revision=place.revision,
            config=config.name,
            split=split,
            format=chosen[split],
            files=tuple(kept),
            options={**_known_options(config.options, chosen[split], place.where), **request.options},
            columns=request.columns,
            filters=request.filters,
            features=request.features,
            card_features=_only(declared.features, request.columns),
            info=DatasetInfo(license=declared.license),
        )
        sources[split] = source if place.fetch is None else replace(source, fetch=place.fetch)
    return Resolved(place.where, sources, config.name)


def _may_be(format: str, name: str) -> bool:
    return format_of(name) == format or is_archive_file(name)


def _format_of_split(split: str, files: Sequence[DataFile], place: _Place) -> str:
    where = place.where
    format = main_format([_plain(file.name) for file in files])
    archives = [file for file in files if is_archive_file(_plain(file.name))][:_ARCHIVES_LOOKED_INTO]
    while format is None and archives:
        [path] = (place.fetch or fetch_each)([archive := archives.pop(0)])
        format = format_of_members(archive, path)
    if format is None:
        raise DataFilesNotFoundError(
            f'The split "{split}" of {_nothing_readable([_plain(file.name) for file in files], where)} '
            'Name the format if the suffix does not say it: load_dataset("csv", data_files=...).'
        )
    return format


def _plain(name: str) -> str:
    """Cuts the query off a URL, so that its suffix can be seen."""
    return name.partition("?")[0].partition("#")[0] if has_scheme(name) else name


def _only(features: Features | None, columns: Sequence[str] | None) -> Features | None:
    if features is None or columns is None:
        return features
    return Features({name: features[name] for name in columns if name in features})


def _known_options(options: Mapping[str, Any], format: str, where: str) -> dict[str, Any]:
    known = [field.name for field in fields(get_format(format).options)]
    for name in options:
        if name not in known:
            _log.info(
                '%s: the card\'s setting "%s" means nothing to the format %s and is ignored',
                where,
                name,
                format,
            )
    return {name: value for name, value in options.items() if name in known}


def _card_info(card: DatasetCard, config: DataConfig, request: Request) -> DatasetInfo:
    info = DatasetInfo(license=", ".join(card.licenses))
    if request.data_files is not None or request.data_dir is not None:
        return info
    said = card.dataset_info(config.name) or (card.dataset_info(None) if config.default else None)
    if said is not None and said.get("features"):
        try:
            info.features = Features._from_yaml_list(said["features"])
        except (DataError, InvalidArgumentError, TypeError, KeyError, AttributeError) as error:
            _log.warning(
                "the features in the card can't be used and are read from the files instead: %s", error
            )
    return info


def _has_urls(data_files: DataFiles) -> bool:
    return any(
        has_scheme(pattern) for patterns in parse_data_files(data_files).values() for pattern in patterns
    )


def _refuse_script(name: str, paths: Sequence[str], where: str) -> None:
    if f"{name}.py" in paths:
        raise DatasetScriptError.from_script(f"{name}.py", where)


def _refuse_saved(folder: Path, paths: Sequence[str]) -> None:
    for mark in (settings.DATASET_STATE_JSON_FILENAME, settings.DATASETDICT_JSON_FILENAME):
        if mark in paths and (mark != "state.json" or settings.DATASET_INFO_FILENAME in paths):
            expected = (
                "a folder of data files; this one was made by save_to_disk: open it with load_from_disk"
            )
            raise InvalidArgumentError.from_value("path", str(folder), expected)


def _read_text(path: Path) -> str:
    with reading(path, "text"), path.open("rb") as file:
        return file.read(_LARGEST_CARD).decode("utf-8", "replace")


def _read_card(read: Callable[[str], str], where: str, request: Request) -> DatasetCard:
    try:
        text, more = read(settings.REPOCARD_FILENAME), read(settings.REPOYAML_FILENAME)
        return parse_card(text, f"{where}/{settings.REPOCARD_FILENAME}", more)
    except CardError as error:
        if request.data_files is None:
            raise
        _log.warning("the card is not used: %s", error)
        return DatasetCard()
