"""The dataset card: a README whose YAML head says licence, configs and features. Pure: text in, facts out.

The head comes from strangers: its size is bounded, nothing in it can name a Python object, and aliases that would
grow into something huge are counted before anything is built.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from gristmill.errors import CardError

LARGEST_HEAD = 1_000_000
"""Longest YAML head that is read, in characters."""

_MOST_VALUES = 1_000_000
# A million digits in base 60 take minutes to read, and Python will not write a number of 4,300 digits out again.
_LONGEST_NUMBER = 100
_NUMBERS = ("tag:yaml.org,2002:int", "tag:yaml.org,2002:float")
HEAD = re.compile(
    r"\A\ufeff?\s*---[ \t]*\r?\n(?P<yaml>.*?)(?:^)---[ \t]*(?:\r?\n|\Z)", re.DOTALL | re.MULTILINE
)


@dataclass(frozen=True)
class DatasetCard:
    """What a dataset card says.

    Attributes:
        metadata: The YAML head as plain Python values, merged with a ``.huggingface.yaml`` if there was one.
        configs: The entries of ``configs``: ``config_name``, ``data_files``, ``data_dir``, ``default``, reader options.
        licenses: The licence identifiers as the card spells them; ``other`` stays ``other``.
        body: The text below the head.
    """

    metadata: dict[str, Any] = field(default_factory=dict)
    configs: list[dict[str, Any]] = field(default_factory=list)
    licenses: list[str] = field(default_factory=list)
    body: str = ""

    @property
    def license_name(self) -> str | None:
        """The name that goes with the licence ``other``, if the card gives one."""
        name = self.metadata.get("license_name")
        return None if name is None else str(name)

    def dataset_info(self, config: str | None) -> dict[str, Any] | None:
        r"""Gives the card's ``dataset_info`` (features, sizes of splits) for one config.

        Args:
            config: The config's name; None or ``"default"`` means an entry without a name.

        Returns:
            The entry, or None if the card says nothing about that config.

        Example:
            >>> card = parse_card("---\ndataset_info: {config_name: en, features: []}\n---\n")
            >>> card.dataset_info("en"), card.dataset_info("fr")
            ({'config_name': 'en', 'features': []}, None)
        """
        return self._infos.get(config or "default")

    @cached_property
    def _infos(self) -> dict[str, dict[str, Any]]:
        said = self.metadata.get("dataset_info")
        infos = [info for info in (said if isinstance(said, list) else [said]) if isinstance(info, dict)]
        # Of several for one config, the first counts.
        return {str(info.get("config_name", "default")): info for info in reversed(infos)}


def parse_card(text: str, where: str = "README.md", standalone: str = "") -> DatasetCard:
    r"""Reads a dataset card.

    Args:
        text: The whole README; one without a YAML head is a card that says nothing.
        where: What to call it in errors, for example ``org/name/README.md``.
        standalone: The text of the repository's ``.huggingface.yaml``; what it says wins over the README.

    Returns:
        The card.

    Raises:
        CardError: The head is no valid YAML, too large, or not as documented; the message names the line.

    Example:
        >>> card = parse_card("---\nlicense: [mit, cc0-1.0]\n---\n# Hello\n")
        >>> card.licenses, card.body
        (['mit', 'cc0-1.0'], '# Hello\n')
    """
    match = HEAD.match(text[: LARGEST_HEAD + 1000])
    if match is None and len(text) > LARGEST_HEAD and text.lstrip("\ufeff \t\r\n").startswith("---"):
        raise CardError.at(f"the YAML head does not end within {LARGEST_HEAD:,} characters", file=where)
    metadata: dict[str, Any] = {}
    if match is not None:
        first_line = text.count("\n", 0, match.start("yaml")) + 1
        metadata.update(parse_yaml(match["yaml"], where, first_line))
    if standalone:
        metadata.update(parse_yaml(standalone, f"{where.rpartition('/')[0]}/.huggingface.yaml".lstrip("/")))
    body = text[match.end() :] if match is not None else text
    return DatasetCard(metadata, _configs(metadata, where), _licenses(metadata), body)


def with_metadata(text: str, metadata: Mapping[str, Any]) -> str:
    r"""Puts another YAML head on a dataset card; what is below it stays.

    Args:
        text: The whole README, with or without a head.
        metadata: What the head shall say.

    Example:
        >>> with_metadata("---\nlicense: mit\n---\n# Hello\n", {"license": "bsd"})
        '---\nlicense: bsd\n---\n# Hello\n'
    """
    match = HEAD.match(text)
    head = dump_yaml(metadata) if metadata else ""
    return f"---\n{head}---\n{text[match.end() :] if match is not None else text}"


def dump_yaml(values: Mapping[str, Any]) -> str:
    r"""Writes the head of a card, or some keys of it, in their order.

    Example:
        >>> dump_yaml({"a": [1]})
        'a:\n- 1\n'
    """
    import yaml

    class Dumper(yaml.SafeDumper):
        """Writes what is in two places twice, not as an alias that people would have to look up."""

        def ignore_aliases(self, data: Any) -> bool:
            return True

    text: str = yaml.dump(dict(values), Dumper=Dumper, sort_keys=False, allow_unicode=True)
    return text


_MEND_CARD = "Correct the head of the card, or pass data_files= to load without it."


def parse_yaml(text: str, where: str, first_line: int = 1, *, remedy: str = _MEND_CARD) -> dict[str, Any]:
    """Reads a YAML mapping from outside: bounded in size and in what its aliases grow to.

    Args:
        text: The YAML text.
        where: What to call it in errors.
        first_line: The line of the file that `text` begins on.
        remedy: What to do about text that is not YAML; what helps with a dataset card if left out.

    Returns:
        The mapping, empty for an empty text.

    Raises:
        CardError: The text can't be used; the message names the line.

    Example:
        >>> parse_yaml("a: 1", "x.yaml")
        {'a': 1}
        >>> parse_yaml("a: }", "x.yaml")
        Traceback (most recent call last):
        ...
        gristmill.errors.CardError: x.yaml, line 1: not valid YAML: ...
    """
    import yaml

    if len(text) > LARGEST_HEAD:
        raise CardError.at(f"the YAML is longer than {LARGEST_HEAD:,} characters", file=where)
    loader: Any = None
    try:
        # libyaml is ten times faster where it is there; a card with thousands of configs takes seconds without it.
        loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)(text)
        node = loader.get_single_node()
        if node is None:
            return {}
        if _grown_size(node, where, first_line) > _MOST_VALUES:
            raise CardError.at("its YAML aliases grow into more than a million values", file=where)
        value = loader.construct_document(node)
    except CardError:
        raise
    except RecursionError as error:
        raise CardError.at("the YAML is nested too deeply", file=where) from error
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        problem = getattr(error, "problem", None) or str(error).partition("\n")[0]
        raise CardError.at(
            f"not valid YAML: {problem}",
            file=where,
            line=None if mark is None else mark.line + first_line,
            remedy=remedy,
        ) from error
    except (ValueError, ArithmeticError, TypeError, LookupError, AttributeError) as error:
        # The parser's own stumbles over a tag whose text does not fit, such as `!!bool maybe`.
        raise CardError.at(f"not valid YAML: {error}", file=where, line=first_line) from error
    finally:
        if loader is not None:
            loader.dispose()
    if not isinstance(value, dict):
        raise CardError.at("the YAML is not a mapping of names to values", file=where, line=first_line)
    return {str(key): item for key, item in value.items()}


def _grown_size(root: Any, where: str, first_line: int) -> int:
    """Counts the values a node would have if each alias were written out, without writing them out."""
    import yaml

    sizes: dict[int, int] = {}
    open_nodes: set[int] = set()

    def size(node: Any) -> int:
        key = id(node)
        if key in open_nodes:
            line = node.start_mark.line + first_line
            raise CardError.at("a YAML alias that contains itself", file=where, line=line)
        if node.tag in _NUMBERS and len(node.value) > _LONGEST_NUMBER:
            line = node.start_mark.line + first_line
            raise CardError.at(
                f"a number of {len(node.value):,} characters; put it in quotes", file=where, line=line
            )
        if key not in sizes:
            open_nodes.add(key)
            children = node.value if isinstance(node, yaml.CollectionNode) else []
            if isinstance(node, yaml.MappingNode):
                children = [part for pair in children for part in pair]
            sizes[key] = 1 + sum(map(size, children))
            open_nodes.discard(key)
        return sizes[key]

    return size(root)


def _configs(metadata: Mapping[str, Any], where: str) -> list[dict[str, Any]]:
    configs = metadata.get("configs") or []
    entries = [configs] if isinstance(configs, dict) else configs
    if not isinstance(entries, list) or not all(isinstance(entry, dict) for entry in entries):
        raise CardError.at("configs must be a list of mappings with config_name and data_files", file=where)
    return [{str(key): value for key, value in entry.items()} for entry in entries]


def _licenses(metadata: Mapping[str, Any]) -> list[str]:
    value = metadata.get("license", metadata.get("licenses"))
    values = value if isinstance(value, list) else [value]
    return [str(item).strip() for item in values if item is not None and str(item).strip()]
