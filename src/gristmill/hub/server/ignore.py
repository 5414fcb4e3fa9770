"""Which files a ``.gitignore`` leaves out. Pure."""

from __future__ import annotations

from gristmill.hub.server.hashing import compile_glob

_MOST_LINES = 10_000


def ignored(text: str, paths: list[str]) -> set[str]:
    r"""Picks the paths that a ``.gitignore`` at the top of the repository leaves out.

    Args:
        text: Its content.
        paths: Paths of files.

    Example:
        >>> sorted(
        ...     ignored("*.tmp\n/build/\n!keep.tmp", ["a/x.tmp", "keep.tmp", "build/out", "src/build/out"])
        ... )
        ['a/x.tmp', 'build/out']
    """
    rules = []
    for line in text.splitlines()[:_MOST_LINES]:
        pattern = line.rstrip()
        wanted = not pattern.startswith("!")
        pattern = pattern.removeprefix("!").removeprefix("\\")
        if not pattern or (pattern.startswith("#") and not line.startswith("\\")):
            continue
        bare = pattern.rstrip("/")
        rules.append((compile_glob(bare), pattern.endswith("/"), wanted))

    def left_out(path: str) -> bool:
        parts = path.split("/")
        # As in git: what is below a folder that is left out is left out, whatever later rules say of the file.
        for depth in range(1, len(parts) + 1):
            name, is_folder = "/".join(parts[:depth]), depth < len(parts)
            verdicts = [
                wanted
                for rule, only_folders, wanted in rules
                if (is_folder or not only_folders) and rule.fullmatch(name)
            ]
            if verdicts and verdicts[-1]:
                return True
        return False

    return {path for path in paths if left_out(path)} if rules else set()
