"""From what was asked for to the splits it consists of, once it is known what the name means.

A format with files named by the user, a data file, or a place with files of its own (a folder, a repository at a commit,
a bucket) gives a `Resolved`: the config chosen and a `SplitSource` a split. Nothing is read here but listings and cards
(and, where only archives are there, what is in one).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from gristmill import config as settings
from gristmill.errors import (
    CardError,
    ColumnNotFoundError,
    ConfigNotFoundError,
    DataFilesNotFoundError,
    InvalidArgumentError,
    suggest,
)
from gristmill.features import Features
from gristmill.files.data_files import (
    DataConfig,
    DataFiles,
    choose_config,
    config_options,
    missing_name,
    parse_data_files,
    resolve_configs,
)
from gristmill.files.locations import has_scheme, plain_name
from gristmill.files.paths import expand_home
from gristmill.files.patterns import normal_parts
from gristmill.files.remote_files import remote_folder
from gristmill.files.split_names import KNOWN_SUFFIXES, format_of, is_archive_file, main_format
from gristmill.formats.registry import get_format
from gristmill.info import DatasetInfo
from gristmill.logging import get_logger
from gristmill.prepared.archives import format_of_members
from gristmill.prepared.declared import declared_info, features_of_yaml
from gristmill.prepared.local import list_folder, local_file, printable
from gristmill.prepared.places import Place
from gristmill.prepared.source import DataFile, SplitSource, fetch_each
from gristmill.prepared.user_files import find_user_files

if TYPE_CHECKING:
    from gristmill.hub.client import HubClient

__all__ = ["Request", "Resolved", "from_file", "from_format", "from_place", "from_url"]

T = TypeVar("T")
_log = get_logger(__name__)
_ARCHIVES_LOOKED_INTO = 10
# Where a stranger's card may send us: nowhere on this machine, and to no file system that the user has rights on.
_SCHEMES_OF_CARDS = ("http://", "https://", "hf://datasets/", "hf://buckets/")


class _Lazy(Mapping[str, T]):
    """Values made when they are first asked for: a URL may have to be fetched, or an archive looked into."""

    def __init__(self, names: Iterable[str], make: Callable[[str], T]) -> None:
        self._names = dict.fromkeys(names)
        self._make = make
        self._made: dict[str, T] = {}

    def __getitem__(self, name: str) -> T:
        if name not in self._names:
            raise KeyError(name)
        if name not in self._made:
            self._made[name] = self._make(name)
        return self._made[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._names)

    def __len__(self) -> int:
        return len(self._names)


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
        storage_options: Options of the file systems that URLs name.
        refetch: Fetch again what is downloaded.
        offline: Ask nobody over the network.
        streaming: Files are read as rows are asked for.
        connect: Makes the Hub client, if the user said how.
        downloads: Where copies from other file systems are kept, if the user said where.
    """

    name: str | None = None
    data_dir: str | None = None
    data_files: DataFiles | None = None
    options: Mapping[str, Any] = field(default_factory=dict)
    columns: tuple[str, ...] | None = None
    filters: Any = None
    features: Features | None = None
    token: str | bool | None = None
    storage_options: Mapping[str, Any] = field(default_factory=dict)
    refetch: bool = False
    offline: bool = False
    streaming: bool = False
    connect: Callable[[], HubClient] | None = None
    downloads: Path | None = None

    @cached_property
    def client(self) -> HubClient:
        """The Hub client, made when first needed."""
        if self.connect is not None:
            return self.connect()
        # What knows the Hub is loaded for what is there.
        from gristmill.hub.client import HubClient

        offline = self.offline or settings.HF_HUB_OFFLINE or settings.HF_DATASETS_OFFLINE
        return HubClient(token=self.token, offline=offline)

    @property
    def own_files(self) -> bool:
        """Whether the user names the files, so that the card's configs do not count."""
        return self.data_files is not None or self.data_dir is not None

    def find(self, data_files: DataFiles, base: Path | str | None) -> Mapping[str, Sequence[DataFile]]:
        """Finds files by name or pattern, as `find_user_files` does; what URLs mean is asked when it is needed.

        Args:
            data_files: Any documented form.
            base: Where relative paths start.
        """
        parsed = parse_data_files(data_files)

        def find(split: str) -> Sequence[DataFile]:
            found = find_user_files(
                {split: parsed[split]},
                base,
                lambda: self.client,
                self.storage_options,
                again=self.refetch,
                parts=self.streaming or self.columns is not None or self.filters is not None,
                downloads=self.downloads,
            )
            return found[split]

        files = _Lazy(parsed, find)
        for split, patterns in parsed.items():
            if not any(map(has_scheme, patterns)):
                _ = files[
                    split
                ]  # a misspelled path is told at once, also if it is another split that is wanted
        return files

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
        info: What is said of it in advance: columns, splits and their sizes.
        files: Split -> its data files.
        dataset: The dataset's short name.
        format: The format, as far as names of files tell.
    """

    where: str
    splits: Mapping[str, SplitSource]
    config: str
    info: DatasetInfo
    files: Mapping[str, Sequence[DataFile]]
    dataset: str
    format: str | None


def from_format(format: str, request: Request) -> Resolved:
    """Resolves ``load_dataset("csv", data_files=...)``.

    Args:
        format: The format's name.
        request: What is asked for.

    Raises:
        InvalidArgumentError: Neither files nor a folder are named.
        DataFilesNotFoundError: A path or pattern means nothing.
    """
    folder = request.data_dir
    base = None if folder is None else folder if has_scheme(folder) else expand_home(folder)
    files: Mapping[str, Sequence[DataFile]]
    if request.data_files is not None:
        files = request.find(request.data_files, base)
    elif isinstance(base, Path):
        splits = _splits_of_format(list_folder(base), format, str(base))
        folders: dict[str, str] = {}
        files = {
            split: tuple(local_file(base / path, folders=folders) for path in paths)
            for split, paths in splits.items()
        }
    elif base is not None:
        files = _files_of_remote_folder(base, format, request)
    else:
        expected = f'paths of {format} files, for example load_dataset("{format}", data_files="a.{format}")'
        raise InvalidArgumentError.from_value("data_files", None, expected)
    return _of_format(format, files, request)


def from_url(url: str, request: Request) -> Resolved:
    """Resolves ``load_dataset("https://example.org/a.csv")``, as if it were named in ``data_files=`` of its format.

    Args:
        url: Where the data file is.
        request: What else is asked for.

    Raises:
        InvalidArgumentError: Its suffix is none of a known format, or other files are named as well.
        HubError: The Hub refuses or can't be reached.
    """
    format = format_of(url.partition("?")[0])
    if format is None or request.own_files:
        expected = (
            "the URL of one data file, such as https://.../a.csv; what is on the Hub goes by its name alone, namespace/name, "
            'and other files by load_dataset("csv", data_files=URLS)'
        )
        raise InvalidArgumentError.from_value("path", url, expected)
    return _of_format(format, request.find(url, None), request)


def _of_format(format: str, files: Mapping[str, Sequence[DataFile]], request: Request) -> Resolved:
    place = Place(format, format, format, f"the {format} files")
    return _resolved(place, DataConfig(request.name or "default", {}), files, request, format=format)


def _splits_of_format(paths: Sequence[str], format: str, where: str) -> dict[str, tuple[str, ...]]:
    suffixes = {suffix: name for suffix, name in KNOWN_SUFFIXES.items() if name == format}
    configs = resolve_configs(paths, suffixes=suffixes, where=where)
    if not configs:
        raise DataFilesNotFoundError(f"{where} holds no {format} files ({', '.join(suffixes)}).")
    return configs[0].splits


def _files_of_remote_folder(url: str, format: str, request: Request) -> Mapping[str, Sequence[DataFile]]:
    found = request.find(url, None)["train"]
    root = url if url.startswith("hf://") else remote_folder(url, request.storage_options)
    start = found[0].name.find("/", len(root.rstrip("/"))) + 1 if url.startswith("hf://") else len(root)
    listed = {file.name[start:]: file for file in found}
    return {
        split: tuple(listed[path] for path in paths)
        for split, paths in _splits_of_format(list(listed), format, url).items()
    }


def from_file(path: Path, request: Request) -> Resolved:
    """Resolves one data file on this machine.

    Args:
        path: The file.
        request: What is asked for.

    Raises:
        DataFilesNotFoundError: Its suffix is none of a known format.
    """
    stem = printable(path.stem)
    place = Place(stem, stem, printable(str(path.resolve().parent)), str(path))
    config = DataConfig(request.name or "default", {})
    resolved = _resolved(place, config, {"train": (local_file(path, path.name),)}, request, [path.name])
    _ = resolved.splits["train"]  # whether it is a data file at all is known at once
    return resolved


def from_place(place: Place, request: Request, name: str | None = None) -> Resolved:
    """Resolves a place with files of its own, by its card where that declares configs.

    Args:
        place: Where the dataset is.
        request: What is asked for.
        name: The config, if it is another one than `request` names.

    Raises:
        DataFilesNotFoundError: It holds no data files, or a pattern means nothing.
        ConfigNotFoundError: There is no such config, or several and none was named.
        UnsafePathError: A path of the card leaves the place.
        CardError: The card's configs are not as documented.
        HubError: The Hub refuses or can't be reached.
    """
    if request.data_files is not None and (isinstance(place.base, Path) or _has_urls(request.data_files)):
        base = place.base
        if request.data_dir:
            base = base / request.data_dir if isinstance(base, Path) else f"{base}/{request.data_dir}"
        files = request.find(request.data_files, base)
        # Such files are called by their URLs, which the place knows nothing of.
        place = replace(place, fetch=None)
        config = DataConfig(name or request.name or "default", {})
        return _resolved(place, config, files, request, _flat(parse_data_files(request.data_files)))
    config, urls = _choose(place, request, name or request.name)
    if urls is not None:
        files = request.find(urls, place.base)
        return _resolved(replace(place, fetch=None), config, files, request, _flat(urls))
    members = {split: place.describe(paths) for split, paths in config.splits.items()}
    return _resolved(place, config, members, request, _flat(config.splits))


def _flat(names: Mapping[str, Sequence[str]]) -> list[str]:
    return [name for some in names.values() for name in some]


def _choose(
    place: Place, request: Request, name: str | None
) -> tuple[DataConfig, dict[str, list[str]] | None]:
    """Picks the config, with its files by pattern if some of them lie elsewhere."""
    where, own = place.where, request.own_files
    entry = None
    if place.card.configs and not own:
        name = name or place.default
        if name is None:
            raise ConfigNotFoundError(missing_name(place.names, where))
        if name not in place.entries:
            raise ConfigNotFoundError(f'{where} has no config "{name}". {suggest(name, place.names)}')
        entry = place.entries[name]
        urls = _urls_of_card(entry, name, where)
        if urls is not None:
            return DataConfig(name, {}, name == place.default, config_options(entry)), urls
    configs = resolve_configs(
        place.index,
        None if entry is None else [entry],
        data_files=request.data_files,
        data_dir=request.data_dir,
        where=where,
    )
    if not configs:
        raise DataFilesNotFoundError(_nothing_readable(place.paths, where))
    if entry is not None:
        return replace(configs[0], default=name == place.default), None
    chosen = configs[0] if own else choose_config(configs, name, where)
    return (replace(chosen, name=name) if own and name else chosen), None


def _urls_of_card(entry: Mapping[str, Any], name: str, where: str) -> dict[str, list[str]] | None:
    """Gives a config's files by pattern if the card sends us elsewhere for some, which only some URLs may do."""
    said = entry.get("data_files")
    if said is None:
        return None
    parsed = parse_data_files(said, lambda problem: CardError.at(problem, file=f'config "{name}" of {where}'))
    if not any(map(has_scheme, (pattern for patterns in parsed.values() for pattern in patterns))):
        return None
    folder = "/".join(normal_parts(str(entry["data_dir"]))) if entry.get("data_dir") else ""
    return {
        split: [_checked(pattern, folder, name, where) for pattern in patterns]
        for split, patterns in parsed.items()
    }


def _checked(pattern: str, folder: str, name: str, where: str) -> str:
    *hops, last = pattern.split("::")
    if last.startswith(_SCHEMES_OF_CARDS):
        return pattern
    if has_scheme(last):
        problem = f'the URL "{last}"; only {", ".join(_SCHEMES_OF_CARDS)} may stand in a card'
        raise CardError.at(problem, file=f'config "{name}" of {where}')
    # The dot keeps a leading ~ from meaning the home folder.
    return "::".join((*hops, "/".join((".", *filter(None, [folder]), *normal_parts(last)))))


def _nothing_readable(paths: Sequence[str], where: str) -> str:
    endings = sorted({"." + path.rpartition(".")[2] for path in paths if "." in path.rpartition("/")[2]})
    found = f"it has files ending in {', '.join(endings[:12])}" if endings else "it is empty"
    return f"{where} holds no data files that can be read: {found}; readable are {', '.join(KNOWN_SUFFIXES)}."


def _resolved(
    place: Place,
    config: DataConfig,
    files: Mapping[str, Sequence[DataFile]],
    request: Request,
    names: Sequence[str] = (),
    format: str | None = None,
) -> Resolved:
    options = dict(config.options)
    declared = DatasetInfo(license=", ".join(place.card.licenses))
    if not request.own_files:
        declared = declared_info(place, config.name, config.default)
        declared.features = features_of_yaml(options.pop("features", None), place.where) or declared.features

    def make(split: str) -> SplitSource:
        members = files[split]
        chosen = format or _format_of_split(split, members, place, request.streaming)
        kept = [f for f in members if format or _may_be(chosen, plain_name(f.name))]
        if len(kept) < len(members):
            names = ", ".join(f.name for f in members if f not in kept)
            _log.warning("%s: the split %s is read as %s; left out: %s", place.where, split, chosen, names)
        source = SplitSource(
            dataset=place.dataset,
            place=place.key,
            source=place.source,
            revision=place.revision,
            config=config.name,
            split=split,
            format=chosen,
            files=tuple(kept),
            options={**_known_options(options, chosen, place.where), **request.options},
            columns=None if request.columns is None else tuple(dict.fromkeys(request.columns)),
            filters=request.filters,
            features=_asked(request.features, request.columns),
            card_features=_only(declared.features, request.columns),
            info=DatasetInfo(license=declared.license),
        )
        return source if place.fetch is None else replace(source, fetch=place.fetch)

    hint = format or main_format([plain_name(name) for name in names])
    return Resolved(place.where, _Lazy(files, make), config.name, declared, files, place.dataset, hint)


def _may_be(format: str, name: str) -> bool:
    return format_of(name) == format or is_archive_file(name)


def _format_of_split(split: str, files: Sequence[DataFile], place: Place, parts: bool) -> str:
    names = [plain_name(file.name) for file in files]
    format = main_format(names)
    archives = [file for file in files if is_archive_file(plain_name(file.name))][:_ARCHIVES_LOOKED_INTO]
    while format is None and archives:
        format = format_of_members(archives.pop(0), place.fetch or fetch_each, parts)
    if format is None:
        raise DataFilesNotFoundError(
            f'The split "{split}" of {_nothing_readable(names, place.where)} '
            'Name the format if the suffix does not say it: load_dataset("csv", data_files=...).'
        )
    return format


def _asked(features: Features | None, columns: Sequence[str] | None) -> Features | None:
    """Gives what the user says of the columns that are read: nobody else says what one is that is not among them."""
    if features is not None:
        for name in columns or ():
            if name not in features:
                raise ColumnNotFoundError.from_name(name, features, "the features asked for")
    return _only(features, columns)


def _only(features: Features | None, columns: Sequence[str] | None) -> Features | None:
    if features is None or columns is None:
        return features
    return Features({name: features[name] for name in columns if name in features})


def _known_options(options: Mapping[str, Any], format: str, where: str) -> dict[str, Any]:
    # Without any, the format is not asked: what is prepared is opened without loading what reads it.
    if not options:
        return {}
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


def _has_urls(data_files: DataFiles) -> bool:
    return any(
        has_scheme(pattern) for patterns in parse_data_files(data_files).values() for pattern in patterns
    )
