"""`BuilderConfig`, and how a builder finds the one that is meant."""

from __future__ import annotations

import copy
import urllib.parse
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from gristmill.errors import ConfigNotFoundError, InvalidArgumentError, InvalidConfigName, suggest
from gristmill.features import Features
from gristmill.fingerprint import Hasher
from gristmill.naming import INVALID_WINDOWS_CHARACTERS_IN_PATH
from gristmill.version import Version

__all__ = ["BuilderConfig", "choose_config", "configs_by_name"]

_LONGEST_SUFFIX = 32


@dataclass
class BuilderConfig:
    """One way of building a dataset; derive from it to add parameters.

    Attributes:
        name: Its name, which is a folder's name in the cache.
        version: The version of what it builds.
        data_dir: Folder of files that were fetched by hand.
        data_files: Files by split.
        description: What it is, in words.

    Raises:
        InvalidConfigName: The name holds characters that no folder's name has on every system.

    Example:
        >>> BuilderConfig("small", version=Version("1.1.0")).version
        1.1.0
    """

    name: str = "default"
    version: Version | str | None = Version("0.0.0")  # noqa: RUF009  # versions are not changed
    data_dir: str | None = None
    data_files: Any = None
    description: str | None = None

    def __post_init__(self) -> None:
        found = sorted(set(INVALID_WINDOWS_CHARACTERS_IN_PATH) & set(str(self.name)))
        if found or self.name in (".", ".."):
            shown = " ".join(found) or self.name
            raise InvalidConfigName(
                f'The config name "{self.name}" holds {shown}, which no folder\'s name may hold on every system.'
            )

    def __eq__(self, other: object) -> bool:
        # What a class derived from this adds counts as well, also if that class is no dataclass.
        return type(self) is type(other) and vars(self) == vars(other)

    __hash__ = None  # type: ignore[assignment]  # configs can be changed

    def create_config_id(
        self, config_kwargs: Mapping[str, Any], custom_features: Features | None = None
    ) -> str:
        """Names this config with what was set beyond it; a folder's name in the cache.

        Args:
            config_kwargs: What was set when the builder was made.
            custom_features: Features asked for in place of the builder's own.

        Returns:
            The config's name, followed by short settings as text, and by a hash of long ones.

        Example:
            >>> BuilderConfig("en").create_config_id({"data_dir": "a b"})
            'en-data_dir=a+b'
        """
        extra = {key: value for key, value in config_kwargs.items() if key not in ("name", "version")}
        extra = {key: value for key, value in extra.items() if value is not None}
        suffix = ""
        if custom_features is None and all(isinstance(value, str | int | float) for value in extra.values()):
            pairs = [f"{key}={urllib.parse.quote_plus(str(value))}" for key, value in sorted(extra.items())]
            suffix = ",".join(pairs)
        if (extra or custom_features is not None) and not 0 < len(suffix) <= _LONGEST_SUFFIX:
            features = None if custom_features is None else list(custom_features.to_dict().items())
            suffix = Hasher.hash((sorted(extra.items(), key=lambda pair: pair[0]), features))
        return f"{self.name}-{suffix}" if suffix else str(self.name)


def configs_by_name(configs: Sequence[BuilderConfig]) -> dict[str, BuilderConfig]:
    """Gives a builder's predefined configs by name.

    Raises:
        InvalidArgumentError: Two have the same name.
    """
    found = {config.name: config for config in configs}
    if len(found) != len(configs):
        names = [config.name for config in configs]
        raise InvalidArgumentError.from_value("BUILDER_CONFIGS", names, "configs of different names")
    return found


def choose_config(
    predefined: Sequence[BuilderConfig],
    kind: type[BuilderConfig],
    default: str | None,
    version: Version | str | None,
    wanted: str | None,
    settings: Mapping[str, Any],
    where: str,
) -> BuilderConfig:
    """Finds the config that is meant, or makes one.

    Args:
        predefined: The builder's ``BUILDER_CONFIGS``.
        kind: Its ``BUILDER_CONFIG_CLASS``.
        default: Its ``DEFAULT_CONFIG_NAME``.
        version: Its ``VERSION``, for configs made here.
        wanted: The name asked for, if any.
        settings: What is to be set in it.
        where: What to call the dataset in errors.

    Raises:
        ConfigNotFoundError: There is no such config, or several and none was named.
        InvalidArgumentError: A setting means nothing to the config.
    """
    known = configs_by_name(predefined)
    name = wanted or default
    if not name and known and not settings:
        if len(known) > 1:
            raise ConfigNotFoundError(
                f'{where} has several configs; name one: {", ".join(known)}. For example: "{next(iter(known))}".'
            )
        name = next(iter(known))
    if name and known:
        if name not in known:
            raise ConfigNotFoundError(f'{where} has no config "{name}". {suggest(name, known)}')
        return _changed(known[name], settings, where)
    values = dict(settings)
    if name:
        values["name"] = name
    if version is not None:
        values.setdefault("version", version)
    try:
        return kind(**values)
    except TypeError as error:
        raise InvalidArgumentError(
            f"The config of {where} can't be made of {', '.join(values)}: {error}."
        ) from error


def _changed(config: BuilderConfig, settings: Mapping[str, Any], where: str) -> BuilderConfig:
    # Always a copy: what one builder sets in its config is not for the next.
    changed = copy.deepcopy(config)
    for key, value in settings.items():
        if not hasattr(changed, key):
            known = [name for name in vars(changed) if not name.startswith("_")]
            raise InvalidArgumentError(
                f'The config "{config.name}" of {where} has no setting "{key}". {suggest(key, known)}'
            )
        setattr(changed, key, value)
    changed.__post_init__()
    return changed
