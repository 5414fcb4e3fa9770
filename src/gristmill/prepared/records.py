"""What earlier loads of a Hub dataset resolved to, so that it opens when the Hub can't be asked.

One small JSON file a request and commit, beside the prepared folders: ``{cache}/{namespace___name}/loads/``.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from gristmill.errors import FileError
from gristmill.files.atomic import write_json
from gristmill.fingerprint import Hasher
from gristmill.logging import get_logger
from gristmill.prepared.keys import safe_name

_log = get_logger(__name__)


@dataclass(frozen=True)
class LoadRecord:
    """What one load resolved to.

    Attributes:
        commit: The commit.
        revision: The revision as asked for.
        config: The config.
        known: All splits of the config, in order.
        splits: For each split prepared so far, its folder relative to the cache.
        when: Seconds since 1970.
    """

    commit: str
    revision: str
    config: str
    known: tuple[str, ...]
    splits: Mapping[str, str]
    when: float


def request_key(**request: Any) -> str:
    """Hashes what a load was asked for, the commit apart."""
    text = json.dumps(sorted((name, Hasher.hash(value)) for name, value in request.items()))
    return hashlib.sha256(text.encode()).hexdigest()[:20]


def _folder(cache: Path, place: str) -> Path:
    return cache / safe_name(place) / "loads"


def write_record(cache: Path, place: str, key: str, record: LoadRecord) -> None:
    """Keeps what a load resolved to; splits recorded for the same request and commit stay.

    Args:
        cache: The datasets cache.
        place: What the dataset is kept under.
        key: From `request_key`.
        record: What to keep.
    """
    path = _folder(cache, place) / f"{key}-{record.commit[:40]}.json"
    before = _read(path)
    if (
        before is not None
        and before.revision == record.revision
        and {*record.splits.items()} <= {*before.splits.items()}
    ):
        return
    splits = {**(before.splits if before is not None else {}), **record.splits}
    # The record only serves later offline loads: a read-only cache must not stop this one.
    with contextlib.suppress(FileError):
        write_json(path, {**vars(record), "splits": splits})


def read_records(cache: Path, place: str, key: str = "*") -> list[LoadRecord]:
    """Gives what earlier loads resolved to, the latest first.

    Args:
        cache: The datasets cache.
        place: What the dataset is kept under.
        key: The request, from `request_key`; any if left out.
    """
    folder = _folder(cache, place)
    records = [_read(path) for path in folder.glob(f"{key}-*.json")] if folder.is_dir() else []
    return sorted((record for record in records if record is not None), key=lambda record: -record.when)


def _read(path: Path) -> LoadRecord | None:
    try:
        value = json.loads(path.read_text(encoding="utf-8"))
        return LoadRecord(
            str(value["commit"]),
            str(value["revision"]),
            str(value["config"]),
            tuple(map(str, value["known"])),
            {str(split): str(folder) for split, folder in value["splits"].items()},
            float(value["when"]),
        )
    except FileNotFoundError:
        return None
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        _log.debug("the record %s can't be read and is ignored: %s", path, error)
        return None


def now() -> float:
    """The time to record."""
    return time.time()
