"""What changes about a repository with a history: its refs, its settings, its pull requests. One immutable value."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any, Literal

from gristmill.errors import FileFormatError
from gristmill.hub.server.access import Gated

MAIN = "main"
Kind = Literal["heads", "tags"]
_COMMIT = re.compile(r"[0-9a-f]{40}")


Status = Literal["draft", "open", "closed", "merged"]


@dataclass(frozen=True, slots=True)
class Pull:
    """A pull request, or a discussion about the repository.

    Attributes:
        commit: The commit it is at; None for a discussion, which has no files.
        base: The branch it is for.
        base_commit: The commit it began from.
        title: What it is called.
        description: What its author says about it.
        author: Name of the user.
        time: When it began, in seconds since 1970.
        status: How far it is.
        merge_commit: The commit that brought it into its branch.
    """

    commit: str | None
    base: str
    base_commit: str
    title: str
    description: str
    author: str
    time: float
    status: Status = "open"
    merge_commit: str | None = None


@dataclass(frozen=True, slots=True)
class RepoState:
    """Refs and settings of a repository.

    Attributes:
        heads: Commits of the branches by name.
        tags: Commits of the tags by name.
        pulls: Pull requests and discussions by number.
        created: When the repository began, in seconds since 1970.
        private: Whether only those with a right to it may know of it.
        gated: Whether its files are for members only; None leaves that to the card.
    """

    heads: Mapping[str, str]
    tags: Mapping[str, str] = field(default_factory=dict)
    pulls: Mapping[int, Pull] = field(default_factory=dict)
    created: float = 0.0
    private: bool = False
    gated: Gated | None = None

    def refs(self) -> dict[str, str]:
        """Lists the commits by full ref."""
        return {
            **{f"refs/heads/{name}": commit for name, commit in self.heads.items()},
            **{f"refs/tags/{name}": commit for name, commit in self.tags.items()},
            **{f"refs/pr/{number}": pull.commit for number, pull in self.pulls.items() if pull.commit},
        }

    def branch(self, revision: str) -> str | None:
        """Gives the full ref of what a revision names, if commits can be added there; else None."""
        if revision == "HEAD":
            return f"refs/heads/{MAIN}"
        name = revision.removeprefix("refs/heads/")
        if name in self.heads:
            return f"refs/heads/{name}"
        return revision if revision in self.refs() and revision.startswith("refs/pr/") else None

    def named(self, revision: str) -> str | None:
        """Gives the commit that a branch, tag or full ref stands for."""
        refs = self.refs()
        full = self.branch(revision) or revision
        return refs.get(full) or refs.get(f"refs/tags/{revision}")

    def names(self, kind: Kind) -> Mapping[str, str]:
        """Gives the commits of the branches or tags by name."""
        return self.heads if kind == "heads" else self.tags

    def with_names(self, kind: Kind, names: Mapping[str, str]) -> RepoState:
        """Gives the same state with other branches or tags."""
        return replace(self, heads=names) if kind == "heads" else replace(self, tags=names)

    def to_json(self) -> dict[str, Any]:
        """Writes it as JSON values."""
        return {
            "version": 1,
            "heads": dict(self.heads),
            "tags": dict(self.tags),
            "pulls": {str(number): asdict(pull) for number, pull in self.pulls.items()},
            "created": self.created,
            "private": self.private,
            "gated": self.gated,
        }

    @classmethod
    def from_json(cls, value: Mapping[str, Any], file: Path) -> RepoState:
        """Reads what `to_json` wrote.

        Raises:
            FileFormatError: It is something else.
        """
        try:
            if value["version"] != 1:
                raise ValueError(f"version {value['version']} is unknown")
            pulls = {int(number): Pull(**pull) for number, pull in value["pulls"].items()}
            state = cls(
                dict(value["heads"]),
                dict(value["tags"]),
                pulls,
                value["created"],
                value["private"],
                value["gated"],
            )
            if (
                not all(_COMMIT.fullmatch(commit) for commit in state.refs().values())
                or MAIN not in state.heads
            ):
                raise ValueError("a ref is no commit")
        except (KeyError, TypeError, ValueError, AttributeError) as error:
            raise FileFormatError.at(f"is no state of a repository: {error}", file=file) from error
        return state
