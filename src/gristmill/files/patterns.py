"""Glob patterns over a listing of paths: ``*`` and ``?`` within a folder, ``**`` across, ``[abc]``, ``{a,b}``.

Everything here works on a list of relative paths that somebody else fetched once (a repository's tree, a folder walk),
so resolving many patterns costs no further requests. Three rules differ from a shell's:

- A path, or a leading folder, that exists as written is literal, whatever characters are in it.
- Names that begin with ``.`` or ``__`` are found only by a pattern that spells that beginning out.
- Results come in natural order: ``part-2`` before ``part-10``.

Patterns may come from a stranger's dataset card, so matching is linear in (parts of the pattern x parts of the path).
"""

from __future__ import annotations

import bisect
import fnmatch
import functools
import re
from collections.abc import Callable, Iterable, Sequence

from gristmill.errors import InvalidArgumentError, UnsafePathError

_MAGIC = re.compile(r"[*?\[{]")
_DIGITS = re.compile(r"([0-9]+)")
# One way to match only: a row of commas without an end must not be tried from each of them.
_BRACES = re.compile(r"(\{[^{},]*(?:,[^{},]*)+\})")
_MOST_ALTERNATIVES = 1000
# No name of a file is longer than 255; reading what is between brackets takes time by the square of this.
_LONGEST_PART = 1000


def natural_key(path: str) -> tuple[object, ...]:
    """Makes the sort key under which numbers inside names count as numbers.

    Example:
        >>> sorted(["part-10", "part-2", "part-02"], key=natural_key)
        ['part-02', 'part-2', 'part-10']
    """
    pieces = _DIGITS.split(path)
    # Digits compare by length without leading zeros, then as text: the same as by value, for any length.
    numbers = [(len(digits.lstrip("0")), digits.lstrip("0")) for digits in pieces[1::2]]
    key: list[object] = [pieces[0]]
    for number, text in zip(numbers, pieces[2::2], strict=True):
        key += [number, text]
    return (tuple(key), path)


def has_magic(pattern: str) -> bool:
    """Says whether a pattern has characters that may stand for others.

    Example:
        >>> has_magic("data/train-*"), has_magic("data/train.csv")
        (True, False)
    """
    return _MAGIC.search(pattern) is not None


def expand_braces(pattern: str) -> list[str]:
    """Writes out the alternatives of ``{a,b}``.

    Args:
        pattern: A pattern; braces do not nest, and a brace without a comma or an end is an ordinary character.

    Raises:
        InvalidArgumentError: There are more than 1,000 alternatives.

    Example:
        >>> expand_braces("{train,test}/*.csv")
        ['train/*.csv', 'test/*.csv']
    """
    done = [""]
    for piece in _BRACES.split(pattern):
        choices = piece[1:-1].split(",") if piece.startswith("{") and piece.endswith("}") else [piece]
        if len(done) * len(choices) > _MOST_ALTERNATIVES:
            expected = f"at most {_MOST_ALTERNATIVES} alternatives in braces"
            raise InvalidArgumentError.from_value("pattern", pattern, expected)
        done = [start + choice for start in done for choice in choices]
    return done


def normal_parts(pattern: str) -> list[str]:
    """Splits a relative pattern at its slashes; ``./``, doubled and closing slashes are dropped.

    Raises:
        UnsafePathError: The pattern is absolute or climbs out with ``..``.

    Example:
        >>> normal_parts("./data//train-*")
        ['data', 'train-*']
    """
    parts = [part for part in pattern.split("/") if part not in ("", ".")]
    if pattern.startswith("/") or ".." in parts or "\0" in pattern:
        raise UnsafePathError.from_path(pattern, "it is looked up in")
    return parts


def is_hidden(name: str) -> bool:
    """Says whether a file's or folder's name is one that searches pass over.

    Example:
        >>> is_hidden(".git"), is_hidden("__pycache__"), is_hidden("_a")
        (True, True, False)
    """
    return name.startswith((".", "__"))


@functools.lru_cache(maxsize=4096)
def _name_matcher(pattern: str) -> Callable[[str], object]:
    # fnmatch spells negation "!" only; shells and fsspec know "^" as well. Its regexes do not backtrack.
    return re.compile(fnmatch.translate(pattern.replace("[^", "[!").replace("**", "*"))).match


def _name_matches(pattern: str, name: str) -> bool:
    if is_hidden(name) and pattern[:1] != name[0]:
        return False
    return _name_matcher(pattern)(name) is not None


def _without_repeats(parts: Sequence[str]) -> list[str]:
    """Drops each ``**`` that follows another: it means nothing more, and there may be a hundred thousand."""
    return [part for at, part in enumerate(parts) if part != "**" or at == 0 or parts[at - 1] != "**"]


def _matches(pattern: Sequence[str], parts: Sequence[str]) -> bool:
    """Follows all ways through the pattern at once; a state is the number of pattern parts used up."""
    if len(pattern) > 2 * len(parts) + 1:
        return False  # every second part, at least, takes up one of the path's
    states = _with_skips({0}, pattern)
    for part in parts:
        following = set()
        for state in states:
            if state == len(pattern):
                continue
            if pattern[state] == "**":
                if not is_hidden(part):
                    following.add(state)
            elif _name_matches(pattern[state], part):
                following.add(state + 1)
        states = _with_skips(following, pattern)
        if not states:
            return False
    return len(pattern) in states


def _with_skips(states: set[int], pattern: Sequence[str]) -> set[int]:
    closed = set(states)
    for state in states:
        position = state
        while position < len(pattern) and pattern[position] == "**":
            position += 1
            closed.add(position)
    return closed


class PathIndex:
    """A listing of relative file paths, ready for many patterns.

    Args:
        paths: Relative paths with ``/`` between their parts.

    Example:
        >>> index = PathIndex(["data/train-1.csv", "data/train-0.csv", "x/[1].csv", ".git/a.csv"])
        >>> index.match("data/train-*")
        ('data/train-0.csv', 'data/train-1.csv')
        >>> index.match("x/[1].csv"), index.match("**/a.csv")
        (('x/[1].csv',), ())
    """

    def __init__(self, paths: Iterable[str]) -> None:
        self.paths: tuple[str, ...] = tuple(sorted(set(paths)))
        self._files = frozenset(self.paths)
        self.folders: frozenset[str] = frozenset(
            path[:end] for path in self.paths for end in range(len(path)) if path[end] == "/"
        )

    def below(self, folder: str) -> tuple[str, ...]:
        """Lists the paths inside a folder (all for ``""``), in alphabetical order."""
        if not folder:
            return self.paths
        start = bisect.bisect_left(self.paths, folder + "/")
        return self.paths[start : bisect.bisect_left(self.paths, folder + "0")]  # "0" follows "/"

    def match(self, pattern: str) -> tuple[str, ...]:
        """Lists the files a pattern means, in natural order; a folder means the files anywhere inside it.

        Args:
            pattern: A relative path or pattern.

        Raises:
            UnsafePathError: The pattern is absolute or climbs out with ``..``.
            InvalidArgumentError: Its braces have too many alternatives, or a part of it is too long.
        """
        literal = "/".join(normal_parts(pattern))
        if literal in self._files:
            return (literal,)
        found: dict[str, None] = {}
        for alternative in [literal] if literal in self.folders else expand_braces(literal):
            found.update(dict.fromkeys(self._match_one(alternative)))
        return tuple(sorted(found, key=natural_key))

    def _match_one(self, pattern: str) -> Iterable[str]:
        if pattern in self._files:
            return [pattern]
        parts = normal_parts(pattern)
        folder = ""
        while parts and (deeper := f"{folder}/{parts[0]}" if folder else parts[0]) in self.folders:
            folder = deeper
            del parts[0]
        if any(len(part) > _LONGEST_PART for part in parts):
            expected = f"at most {_LONGEST_PART} characters between two slashes"
            raise InvalidArgumentError.from_value("pattern", pattern, expected)
        wanted = _without_repeats(parts) or ["**"]
        offset = len(folder) + 1 if folder else 0
        return [path for path in self.below(folder) if _matches(wanted, path[offset:].split("/"))]
