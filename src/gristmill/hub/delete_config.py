"""`delete_from_hub`: takes one config out of a repository, its files and what the card says of it."""

from __future__ import annotations

import contextlib
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from gristmill.errors import DataFilesNotFoundError
from gristmill.files.data_files import choose_config, config_names, resolve_configs
from gristmill.files.patterns import PathIndex
from gristmill.files.retry import Transient
from gristmill.hub.card import parse_card
from gristmill.hub.card_edit import with_changes
from gristmill.hub.write_errors import Conflict
from gristmill.hub.writing import BranchWriter
from gristmill.logging import get_logger

if TYPE_CHECKING:
    from huggingface_hub import CommitInfo

__all__ = ["delete_from_hub"]

_log = get_logger(__name__)
_README = "README.md"


def delete_from_hub(
    repo_id: str, config_name: str, revision: str | None = None, token: bool | str | None = None
) -> CommitInfo:
    """Proposes to delete a config of a dataset: its data files, and what the card says of it, in one pull request.

    Files that another config reads as well stay. Nothing is gone before the pull request is merged.

    Args:
        repo_id: ``"namespace/name"``.
        config_name: The config.
        revision: The branch it is deleted from; ``main`` if left out.
        token: A token that may write; the one of ``HF_TOKEN`` or `hf auth login` if left out.

    Returns:
        What ``huggingface_hub`` says of the commit; ``pr_url`` is where the pull request is.

    Raises:
        ConfigNotFoundError: There is no such config; the message lists those there are.
        CardError: The README there can't be used as it is.
        HubError: The Hub refuses or can't be reached.

    Example:
        >>> delete_from_hub("me/numbers", "old").pr_url  # doctest: +SKIP
        'https://huggingface.co/datasets/me/numbers/discussions/1'
    """
    writer = BranchWriter(repo_id, revision, token, create_pr=True, make=False)
    head = writer.head()
    where = f"{writer.repo_id}/{_README}"
    text = head.read(_README).decode("utf-8", "replace") if _README in head.files else ""
    card = parse_card(text, where)
    gone = _files(PathIndex(head.files), card.configs, config_name, where)
    changed = with_changes(text, _without(card.metadata, config_name), where)
    texts = {} if changed == text else {_README: changed.encode()}
    try:
        message = f"Delete '{config_name}' config"
        info = writer.commit([], texts, gone, message, f"{message}.", head.commit)
    except (Conflict, Transient) as failure:
        raise failure.error from failure
    _log.info("the pull request that deletes the config %s is at %s", config_name, info.pr_url)
    return info


def _files(index: PathIndex, configs: Sequence[Mapping[str, Any]], name: str, where: str) -> list[str]:
    """Lists the files of a config that no other reads."""
    wanted = choose_config(
        resolve_configs(index, configs, only=name if configs else None, where=where), name, where
    )
    kept: set[str] = set()
    for other in config_names(configs, where):
        if other != name:
            with contextlib.suppress(DataFilesNotFoundError):
                [config] = resolve_configs(index, configs, only=other, where=where)
                kept.update(path for files in config.splits.values() for path in files)
    return list(dict.fromkeys(p for files in wanted.splits.values() for p in files if p not in kept))


def _without(metadata: Mapping[str, Any], name: str) -> dict[str, Any]:
    """Gives the keys of a card's head that name the config, as they are without it."""
    changes: dict[str, Any] = {}
    for key in ("configs", "dataset_info"):
        said = metadata.get(key)
        entries = said if isinstance(said, list) else [said]
        left = [e for e in entries if isinstance(e, dict) and str(e.get("config_name", "default")) != name]
        if said is not None:
            changes[key] = (left if isinstance(said, list) else left[0]) if left else None
    names = metadata.get("config_names")
    if isinstance(names, list) and name in names:
        changes["config_names"] = [other for other in names if other != name] or None
    return changes
