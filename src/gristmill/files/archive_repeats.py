"""Names that stand twice in an archive: which member counts, so that no rows are lost without a word."""

from __future__ import annotations

from gristmill.errors import FileFormatError
from gristmill.files.archive_members import Member
from gristmill.logging import get_logger

__all__ = ["Repeats"]

_log = get_logger(__name__)


class Repeats:
    """Watches the names of an archive's members.

    A tar is written by appending: what comes later stands for what came before, for every program that reads one; a
    warning tells. What a zip or 7z archive means by two members of a name is not said anywhere, and programs differ; the
    very same content twice means one file.

    Args:
        label: What to call the archive.
        last_counts: It is a tar.

    Example:
        >>> repeats = Repeats("a.zip", last_counts=False)
        >>> repeats.add(Member("a.csv", 5))
        >>> repeats.add(Member("a.csv", 6))
        Traceback (most recent call last):
        gristmill.errors.FileFormatError: a.zip: holds two files of the name "a.csv" ...
    """

    def __init__(self, label: object, *, last_counts: bool) -> None:
        self._label = label
        self._last_counts = last_counts
        self._seen: dict[str, Member] = {}
        self._names: set[str] = set()

    def add(self, member: Member) -> None:
        """Takes in the next member.

        Raises:
            FileFormatError: There is another one of this name, and nothing says which counts.
        """
        before = self._seen.setdefault(member.name, member)
        if before is member or _same(before, member):
            return
        if not self._last_counts:
            raise FileFormatError.at(
                f'holds two files of the name "{member.name}" with other content, and only one can have it',
                file=self._label,
                remedy="Make the archive anew, with a name of its own for each file.",
            )
        self._names.add(member.name)

    def tell(self) -> None:
        """Tells by one line of the log which names there were several of."""
        if self._names:
            _log.warning(
                "%s: several files have the same name (names: %d, such as %s); the last one counts, as in any tar",
                self._label,
                len(self._names),
                min(self._names),
            )


def _same(one: Member, other: Member) -> bool:
    """Says whether the archive's index gives two members the same content."""
    if one.link or other.link or one.size != other.size:
        return False
    return (one.crc is not None and one.crc == other.crc) or not one.size
