"""Pushes splits: files are written and sent a few at a time, then one commit puts them in the place of the old ones.

Readers see the old data until that commit and the new from then on; who reads an older commit keeps its files. A
commit that comes too late, since somebody else's was faster, is made anew on top of that one.
"""

from __future__ import annotations

import random
import tempfile
import time
from collections.abc import Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from gristmill.errors import InvalidArgumentError
from gristmill.features import Features
from gristmill.files.patterns import PathIndex
from gristmill.files.retry import RetryPolicy, Transient
from gristmill.files.temporary import temporary_prefix
from gristmill.hub.bucket_writing import BucketWriter, check_bucket_options
from gristmill.hub.urls import check_target
from gristmill.hub.write_errors import Conflict
from gristmill.hub.writing import BranchWriter, Head, Uploaded, holds
from gristmill.logging import get_logger
from gristmill.naming import SPLIT_NAME
from gristmill.progress import progress
from gristmill.publishing.card import Pushed, config_patterns, merge_card, merge_legacy_infos, pin_card
from gristmill.publishing.replaced import older_patterns, replaced_files
from gristmill.publishing.source import ShardSource, WrittenShard
from gristmill.splits import SplitInfo

if TYPE_CHECKING:
    from gristmill.hub.writing import CommitInfo

__all__ = ["PushOptions", "push_splits"]

Writer = BranchWriter | BucketWriter
_log = get_logger(__name__)
_README, _OLD_INFOS = "README.md", "dataset_infos.json"
_MESSAGE = "Upload dataset"
MOST_IN_COMMIT = 10_000
"""Files that one commit adds at most; a Hub refuses many more, and takes long over them."""


def _wait(seconds: float) -> None:
    # Those whose commits were in each other's way must not meet again.
    time.sleep(seconds * random.uniform(0.5, 1.5))  # no secret


@dataclass(frozen=True)
class PushOptions:
    """The arguments of `Dataset.push_to_hub` that are not about how rows become files.

    Attributes:
        repo_id: As there.
        config_name: As there.
        set_default: As there.
        data_dir: As there.
        commit_message: As there.
        commit_description: As there.
        private: As there.
        token: As there.
        revision: As there.
        create_pr: As there.
        whole: The config has the splits that are pushed and no others.
    """

    repo_id: str
    config_name: str = "default"
    set_default: bool | None = None
    data_dir: str | None = None
    commit_message: str | None = None
    commit_description: str | None = None
    private: bool | None = None
    token: str | bool | None = None
    revision: str | None = None
    create_pr: bool | None = False
    whole: bool = False
    folder: str = field(init=False, default="data")

    def __post_init__(self) -> None:
        repo_id: Any = self.repo_id
        name: Any = self.config_name
        if not isinstance(repo_id, str) or not repo_id:
            raise InvalidArgumentError.from_value("repo_id", repo_id, 'a name such as "namespace/name"')
        if repo_id.startswith("buckets/"):
            check_bucket_options(repo_id, self.revision, self.create_pr)
        if not isinstance(name, str) or not name or set(name) & set('<>:/\\|?*"'):
            raise InvalidArgumentError.from_value("config_name", name, 'a name without any of <>:/\\|?*"')
        if name == "data":
            raise InvalidArgumentError.from_value(
                "config_name", name, 'another name: "data" is the folder of the config "default"'
            )
        folder = (self.data_dir or ("data" if name == "default" else name)).strip("/")
        object.__setattr__(self, "folder", check_target(folder))


@dataclass
class _Split:
    """One split as it was sent."""

    name: str
    features: Features
    uploaded: list[Uploaded] = field(default_factory=list)
    num_bytes: int = 0
    num_rows: int = 0

    @property
    def info(self) -> SplitInfo:
        return SplitInfo(self.name, self.num_bytes, self.num_rows)


def push_splits(sources: Mapping[str, ShardSource], options: PushOptions) -> CommitInfo:
    """Pushes splits of one config.

    Args:
        sources: The rows of each split.
        options: Where to and how.

    Returns:
        What huggingface_hub says of the commit.

    Raises:
        InvalidArgumentError: A name can't be right, or the columns of the splits differ.
        CardError: The README there can't be used as it is.
        HubError: The Hub refuses or can't be reached.
    """
    for split in sources:
        if not SPLIT_NAME.fullmatch(split):
            expected = "a name of letters, digits, _ and ."
            raise InvalidArgumentError.from_value("split", split, expected)
    if not sources:
        raise InvalidArgumentError("There is no split to push.")
    writer = _open(options)
    known = [_Split(name, source.features) for name, source in sources.items() if source.features is not None]
    if len(known) == len(sources):
        # What will not do is said before hours of sending, not after.
        _check_columns(known)
        _Plan.make(writer, writer.head(), known, options)
    with tempfile.TemporaryDirectory(prefix=temporary_prefix("push")) as folder:
        splits = [
            _send(writer, name, source, options.folder, Path(folder)) for name, source in sources.items()
        ]
    _check_columns(splits)
    return _commit(writer, splits, options)


def _open(options: PushOptions) -> Writer:
    if options.repo_id.startswith("buckets/"):
        return BucketWriter(options.repo_id, options.token, options.private)
    return BranchWriter(
        options.repo_id, options.revision, options.token, options.private, bool(options.create_pr)
    )


def _check_columns(splits: Sequence[_Split]) -> None:
    for other in splits[1:]:
        if other.features != splits[0].features:
            raise InvalidArgumentError(
                f'The columns of the splits "{splits[0].name}" and "{other.name}" differ: {splits[0].features} and '
                f"{other.features}. Splits of one config have the same columns."
            )


# ---------------------------------------------------------------- contents


def _send(writer: Writer, split: str, source: ShardSource, data_dir: str, top: Path) -> _Split:
    """Writes and sends the files of a split; two sets of them at most are on the disk at a time."""
    folder = Path(tempfile.mkdtemp(dir=top))
    uploaded: list[Uploaded] = []
    rows = size = 0
    with progress(f"Pushing {split}", None, "rows") as bar, ThreadPoolExecutor(1) as pool:
        sending: Future[list[Uploaded]] | None = None
        first = 0
        for shards in source.write(folder):
            if sending is not None:
                uploaded += sending.result()
            # The number of files may not be known yet; the names are settled at the end.
            paths = [f"{data_dir}/{split}-{first + number:05d}.parquet" for number in range(len(shards))]
            first += len(shards)
            rows, size = rows + sum(s.num_rows for s in shards), size + sum(s.num_bytes for s in shards)
            sending = pool.submit(_send_files, writer, dict(zip(paths, shards, strict=True)))
            if source.together:
                sending.exception()
            bar.update(sum(shard.num_rows for shard in shards))
        if sending is not None:
            uploaded += sending.result()
    for number, one in enumerate(uploaded):
        one.path = f"{data_dir}/{split}-{number:05d}-of-{len(uploaded):05d}.parquet"
    assert source.features is not None, "they are known at the end"
    return _Split(split, source.features, uploaded, size, rows)


def _send_files(writer: Writer, shards: Mapping[str, WrittenShard]) -> list[Uploaded]:
    uploaded = writer.upload({path: shard.file for path, shard in shards.items()})
    for shard in shards.values():
        shard.file.unlink()
    return uploaded


# ---------------------------------------------------------------- the commit


def _commit(writer: Writer, splits: Sequence[_Split], options: PushOptions) -> CommitInfo:
    """Commits on top of what the branch stands for, again if that changes in between."""

    def attempt() -> _Made:
        head = writer.head()
        try:
            return _commit_on(writer, head, splits, options)
        except Conflict as conflict:
            raise Transient(conflict.error) from conflict
        except Transient as unclear:
            if options.create_pr:  # it may be there; trying again could make another
                raise unclear.error from unclear
            raise

    policy = RetryPolicy(attempts=12, first_delay=0.2, longest_delay=20.0, sleep=_wait)
    made = policy.run(attempt, f"commit to {writer.repo_id}")
    uploaded = [one for split in splits for one in split.uploaded]
    writer.check(made.info.oid, uploaded, made.texts, made.gone)
    return made.info


@dataclass(frozen=True)
class _Made:
    """A commit, the small files that it changed, and what it took away.

    Where nothing was to change it is the last commit there is, which others may have made.
    """

    info: CommitInfo
    texts: Mapping[str, bytes]
    gone: Sequence[str]


@dataclass(frozen=True)
class _Plan:
    """What one commit on top of another does besides adding files.

    Attributes:
        texts: Contents of small files by path.
        gone: Files that the push puts others in the place of.
        pinned: The card with the old files named one by one, if it names any.
    """

    texts: Mapping[str, bytes]
    gone: Sequence[str]
    pinned: Mapping[str, bytes]

    @classmethod
    def make(cls, writer: Writer, head: Head, splits: Sequence[_Split], options: PushOptions) -> _Plan:
        where = f"{writer.repo_id}/{_README}"
        card = head.read(_README).decode("utf-8", "replace") if _README in head.files else ""
        before = _Before.read(card, head, options, where)
        found = _found(PathIndex(head.files), before.splits)
        pushed = Pushed(
            options.config_name,
            options.folder,
            [split.info for split in splits],
            splits[0].features,
            {split.name: sum(one.size for one in split.uploaded) for split in splits},
            {
                split.name: sum(head.files[path].size for path in found.get(split.name, ()))
                for split in splits
            },
            options.whole,
            bool(options.set_default),
        )
        merged = merge_card(card, pushed, before.unsaid, where)
        texts = {_README: merged.encode()}
        if _OLD_INFOS in head.files:
            infos = merge_legacy_infos(head.read(_OLD_INFOS), pushed, merged)
            if infos is not None:
                texts[_OLD_INFOS] = infos
        names = [split.name for split in splits]
        gone = replaced_files(
            list(head.files), options.folder, names, before.splits, before.others, options.whole
        )
        many = sum(len(split.uploaded) for split in splits) > MOST_IN_COMMIT
        pinned = pin_card(card, before.config, found, where) if many else None
        return cls(texts, gone, {} if pinned is None else {_README: pinned.encode()})


def _commit_on(writer: Writer, head: Head, splits: Sequence[_Split], options: PushOptions) -> _Made:
    plan = _Plan.make(writer, head, splits, options)
    uploaded = [one for split in splits for one in split.uploaded]
    kept = {one.path for one in uploaded}
    new = [one for one in uploaded if not one.matches(head.files.get(one.path))]
    parent = head.commit
    if len(new) > MOST_IN_COMMIT:
        new, parent = _commit_early(writer, new, head, plan.pinned, options)
    gone = [path for path in plan.gone if path not in kept]
    message = options.commit_message or _MESSAGE
    info = writer.commit(new, plan.texts, gone, message, options.commit_description, parent)
    changed = {path: text for path, text in plan.texts.items() if not holds(head.files.get(path), text)}
    return _Made(info, changed, gone)


@dataclass(frozen=True)
class _Before:
    """What the card said before the push: patterns by split of the config that is pushed, and those of others.

    `config` is its name, None if there was none; `unsaid` are the splits that a card without configs does not name.
    """

    config: str | None
    splits: Mapping[str, Sequence[str]]
    others: Sequence[Sequence[str]]
    unsaid: Mapping[str, Sequence[str]]

    @classmethod
    def read(cls, card: str, head: Head, options: PushOptions, where: str) -> _Before:
        name = options.config_name
        patterns = config_patterns(card, where)
        unsaid = {} if patterns else older_patterns(head.files)
        if unsaid:
            patterns = {"default": unsaid}
        others = [found for config in patterns if config != name for found in patterns[config].values()]
        return cls(name if name in patterns else None, patterns.get(name, {}), others, unsaid)


def _found(index: PathIndex, patterns: Mapping[str, Sequence[str]]) -> dict[str, list[str]]:
    found = {split: [path for one in ones for path in index.match(one)] for split, ones in patterns.items()}
    return {split: paths for split, paths in found.items() if paths}


def _commit_early(
    writer: Writer, new: Sequence[Uploaded], head: Head, card: Mapping[str, bytes], options: PushOptions
) -> tuple[list[Uploaded], str]:
    """Commits files that are too many for one commit, while the card goes on naming the old files one by one.

    Returns:
        What is left for the last commit, and the commit to make it on.
    """
    fresh = [one for one in new if one.path not in head.files]
    early = fresh[: max(0, len(new) - MOST_IN_COMMIT)]
    parent, texts = head.commit, card
    for number, first in enumerate(range(0, len(early), MOST_IN_COMMIT), 1):
        part = early[first : first + MOST_IN_COMMIT]
        message = f"{options.commit_message or _MESSAGE} (part {number})"
        info = writer.commit(part, texts, [], message, options.commit_description, parent)
        writer.follow(info)
        parent, texts = info.oid, {}
    sent = {one.path for one in early}
    return [one for one in new if one.path not in sent], parent
