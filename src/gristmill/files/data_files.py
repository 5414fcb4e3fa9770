"""Which files make which split: the card's ``configs``, the user's ``data_files``, or the files' names. Pure: no I/O."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from os import PathLike
from typing import Any

from gristmill.errors import (
    CardError,
    ConfigNotFoundError,
    DataFilesNotFoundError,
    GristmillError,
    InvalidArgumentError,
    suggest,
)
from gristmill.files.patterns import PathIndex, has_magic, normal_parts
from gristmill.files.split_names import (
    KNOWN_SUFFIXES,
    format_of,
    infer_splits,
    is_archive_file,
    is_data_file,
    is_description,
    main_format,
)

DataFiles = str | PathLike[str] | Sequence[Any] | Mapping[str, Any]

_SETTINGS = {
    "config_name",
    "data_files",
    "data_dir",
    "default",
    "version",
    "description",
    "drop_labels",
    "drop_metadata",
}
_SPLIT_NAME = re.compile(r"\w[\w.-]*")


@dataclass(frozen=True)
class DataConfig:
    """One config of a dataset: its splits and how to read them.

    Attributes:
        name: The config's name; ``"default"`` where the dataset has no named ones.
        splits: Split name -> paths of its data files, in the order their rows come.
        default: It is the one to load when no name is given.
        options: Options for the reader (``sep`` and so on) that the card sets.
    """

    name: str
    splits: dict[str, tuple[str, ...]]
    default: bool = False
    options: dict[str, Any] = field(default_factory=dict)


def parse_data_files(
    data_files: DataFiles, error: Callable[[str], GristmillError] | None = None
) -> dict[str, list[str]]:
    """Brings every documented form of ``data_files`` to one: split -> patterns.

    Args:
        data_files: A pattern, a list of patterns (all are train), a list of ``{"split": ..., "path": ...}``, or a
            mapping of split to pattern or patterns.
        error: Makes the error for a form that can't be used, from what is wrong with it.

    Raises:
        InvalidArgumentError: The form can't be used (or what `error` makes).

    Example:
        >>> parse_data_files("a.csv")
        {'train': ['a.csv']}
        >>> parse_data_files([{"split": "test", "path": ["a.csv", "b.csv"]}])
        {'test': ['a.csv', 'b.csv']}
    """
    refuse = error or (lambda _: InvalidArgumentError.from_value("data_files", data_files, _FORMS))
    if isinstance(data_files, Mapping):
        pairs = list(data_files.items())
    elif isinstance(data_files, list | tuple) and any(isinstance(entry, Mapping) for entry in data_files):
        entries: list[Any] = list(data_files)
        if not all(isinstance(entry, Mapping) and {"split", "path"} <= set(entry) for entry in entries):
            raise refuse("each entry of data_files needs split and path")
        pairs = [(entry["split"], entry["path"]) for entry in entries]
    else:
        pairs = [("train", data_files)]
    parsed: dict[str, list[str]] = {}
    for split, value in pairs:
        name = str(split)
        if not _SPLIT_NAME.fullmatch(name):
            raise refuse(f'"{name}" can\'t be the name of a split: use letters, digits, "_", "." and "-"')
        patterns = [value] if isinstance(value, str) or hasattr(value, "__fspath__") else value
        if not isinstance(patterns, list | tuple) or not patterns:
            raise refuse(f'the files of the split "{name}" must be a path or a list of paths')
        if name in parsed:
            raise refuse(f'the split "{name}" is there twice')
        parsed[name] = [_text(pattern, refuse) for pattern in patterns]
    if not parsed:
        raise refuse("data_files is empty")
    return parsed


_FORMS = "a path or pattern, a list of them, or a mapping of split to either"


def _text(pattern: Any, refuse: Callable[[str], GristmillError]) -> str:
    path = pattern.__fspath__() if hasattr(pattern, "__fspath__") else pattern
    if not isinstance(path, str) or not path:
        raise refuse("a path in data_files must be text")
    return path


def resolve_configs(
    paths: Sequence[str] | PathIndex,
    metadata_configs: Sequence[Mapping[str, Any]] | None = None,
    *,
    data_files: DataFiles | None = None,
    data_dir: str | None = None,
    suffixes: Mapping[str, str] = KNOWN_SUFFIXES,
    only: str | None = None,
    where: str = "the folder",
) -> list[DataConfig]:
    """Works out which configs and splits a listing of files holds.

    Args:
        paths: All files of the repository or folder, relative, with ``/`` between the parts; or an index of them.
        metadata_configs: The ``configs`` of the dataset card, if it has any.
        data_files: The user's own files or patterns; they win over the card.
        data_dir: The user's own folder inside the listing; it wins over the card, and patterns start there.
        suffixes: Suffix -> format name, for finding data files where no pattern names them.
        only: Resolve this config alone (of many thousands); the others are not looked at.
        where: What to call the listing in errors, for example ``org/name at 1234567``.

    Returns:
        The configs in the card's order, or one named ``default``. A dataset without any data file has none.

    Raises:
        DataFilesNotFoundError: A pattern or folder matches nothing; the message names it and near names.
        ConfigNotFoundError: There is no config named `only`.
        CardError: The card's ``configs`` are not as documented.
        InvalidArgumentError: `data_files` is not as documented.

    Example:
        >>> [config] = resolve_configs(["data/test.csv", "data/train.csv"], data_dir="data")
        >>> config.splits
        {'train': ('data/train.csv',), 'test': ('data/test.csv',)}
    """
    index = paths if isinstance(paths, PathIndex) else PathIndex(paths)
    if data_files is not None or data_dir is not None or not metadata_configs:
        splits = _resolve_splits(index, data_files, data_dir, suffixes, where, None)
        return [DataConfig("default", splits, default=True)] if splits else []
    names = config_names(metadata_configs, where)
    if only is not None and only not in names:
        raise ConfigNotFoundError(f'{where} has no config "{only}". {suggest(only, names)}')
    default = default_config(metadata_configs, where)
    configs = []
    for name, settings in zip(names, metadata_configs, strict=True):
        if only is None or name == only:
            options = config_options(settings)
            files, folder = settings.get("data_files"), settings.get("data_dir")
            splits = _resolve_splits(index, files, folder, suffixes, f'config "{name}" of {where}', CardError)
            configs.append(DataConfig(name, splits, name == default, options))
    return configs


def config_options(settings: Mapping[str, Any]) -> dict[str, Any]:
    """Gives what an entry of a card's ``configs`` says besides which files there are: options for the reader.

    Example:
        >>> config_options({"config_name": "en", "data_files": "a.csv", "sep": ";"})
        {'sep': ';'}
    """
    return {str(key): value for key, value in settings.items() if key not in _SETTINGS}


def config_names(metadata_configs: Sequence[Mapping[str, Any]], where: str = "the card") -> list[str]:
    """Lists the config names a card declares.

    Raises:
        CardError: An entry is not a mapping, or a name is there twice.

    Example:
        >>> config_names([{"config_name": "en"}, {"config_name": "fr"}])
        ['en', 'fr']
    """
    names = []
    for settings in metadata_configs:
        if not isinstance(settings, Mapping):
            raise CardError.at(
                "an entry of configs is not a mapping with config_name and data_files", file=where
            )
        names.append(str(settings.get("config_name", "default")))
    for name, count in Counter(names).items():
        if count > 1:
            raise CardError.at(f'the config "{name}" is declared {count} times', file=where)
    return names


def default_config(metadata_configs: Sequence[Mapping[str, Any]], where: str = "the card") -> str | None:
    """Names the config that is loaded when none is asked for: marked, named ``default``, or the only one.

    Example:
        >>> default_config([{"config_name": "en"}, {"config_name": "fr", "default": True}])
        'fr'
    """
    names = config_names(metadata_configs, where)
    marked = [
        name for name, config in zip(names, metadata_configs, strict=True) if config.get("default") is True
    ]
    if len(marked) > 1:
        raise CardError.at(f"more than one config is marked as default: {', '.join(marked)}", file=where)
    if marked:
        return marked[0]
    if "default" in names:
        return "default"
    return names[0] if len(names) == 1 else None


def choose_config(configs: Sequence[DataConfig], name: str | None, where: str = "the dataset") -> DataConfig:
    """Picks the config to load.

    Raises:
        ConfigNotFoundError: There is none of that name, or several and none was named.

    Example:
        >>> choose_config([DataConfig("en", {})], None).name
        'en'
    """
    if name is not None:
        for config in configs:
            if config.name == name:
                return config
        raise ConfigNotFoundError(
            f'{where} has no config "{name}". {suggest(name, [c.name for c in configs])}'
        )
    for config in configs:
        if config.default or len(configs) == 1:
            return config
    raise ConfigNotFoundError(missing_name([config.name for config in configs], where))


def missing_name(names: Sequence[str], where: str) -> str:
    """Words the error for a dataset with several configs of which none was named.

    Example:
        >>> missing_name(["en", "fr"], "org/name")
        'org/name has several configs; name one, for example name="en" (--config en). There are: en, fr.'
    """
    example = f'name="{names[0]}" (--config {names[0]})'
    return f"{where} has several configs; name one, for example {example}. {suggest('', names)}"


def _resolve_splits(
    index: PathIndex,
    data_files: Any,
    data_dir: Any,
    suffixes: Mapping[str, str],
    where: str,
    error: type[CardError] | None,
) -> dict[str, tuple[str, ...]]:
    folder = "/".join(normal_parts(str(data_dir))) if data_dir else ""
    if folder and folder not in index.folders:
        raise DataFilesNotFoundError(f'{where} has no folder "{folder}". {suggest(folder, index.folders)}')
    if data_files is None:
        return _infer_below(index, folder, suffixes, where)
    refuse = (lambda problem: error.at(problem, file=where)) if error else None
    prefix = folder + "/" if folder else ""
    return {
        split: resolve_patterns(index, [prefix + pattern for pattern in patterns], where)
        for split, patterns in parse_data_files(data_files, refuse).items()
    }


def _infer_below(
    index: PathIndex, folder: str, suffixes: Mapping[str, str], where: str
) -> dict[str, tuple[str, ...]]:
    offset = len(folder) + 1 if folder else 0
    below = [path[offset:] for path in index.below(folder)]
    names = [name for name in below if is_data_file(name, suffixes)]
    wanted = main_format(names, suffixes)
    # Where there are data files, archives beside them hold something else (images, the same data once more).
    chosen = [n for n in names if format_of(n, suffixes) == wanted] or list(filter(is_archive_file, below))
    splits = infer_splits(chosen, where)
    return {
        split: tuple(f"{folder}/{name}" if folder else name for name in files)
        for split, files in splits.items()
    }


def resolve_patterns(index: PathIndex, patterns: Sequence[str], where: str) -> tuple[str, ...]:
    """Lists the files that patterns mean, pattern by pattern; a search adds no file that is there already.

    Args:
        index: The listing to look into.
        patterns: Relative paths and patterns.
        where: What to call the listing in the error.

    Raises:
        DataFilesNotFoundError: A pattern matches nothing.

    Example:
        >>> resolve_patterns(PathIndex(["b.csv", "a.csv"]), ["b.csv", "*.csv"], "here")
        ('b.csv', 'a.csv')
    """
    files: list[str] = []
    for pattern in patterns:
        found = index.match(pattern)
        if found == ("/".join(normal_parts(pattern)),):  # named outright: taken as it is, even twice
            files += found
            continue
        matched = [path for path in found if not is_description(path)]
        if not matched:
            what = "pattern" if has_magic(pattern) else "path"
            raise DataFilesNotFoundError(
                f'{where} has no data file for the {what} "{pattern}". {suggest(pattern, index.paths)}'
            )
        files += [path for path in matched if path not in files]
    return tuple(files)
