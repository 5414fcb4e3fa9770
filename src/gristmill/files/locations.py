"""Names of files as users write them: paths, URLs, chains such as ``zip://a.csv::https://example.org/a.zip``. Pure."""

from __future__ import annotations

import re

__all__ = ["SCHEME", "has_scheme", "plain_name"]

SCHEME = re.compile(r"(?P<scheme>[a-z][a-z0-9+.-]+)(?:://|::)")
"""How a URL, or a hop of a chain, begins."""


def has_scheme(path: str) -> bool:
    """Says whether a path is a URL of any kind.

    Example:
        >>> has_scheme("https://example.org/a.csv"), has_scheme("C:/a.csv"), has_scheme("a/b.csv")
        (True, False, False)
    """
    return SCHEME.match(path) is not None


def plain_name(name: str) -> str:
    """Gives the part of a file's name that ends in its suffix: without a URL's query, and of a chain the innermost.

    Example:
        >>> (
        ...     plain_name("https://example.org/a.csv?x=1#y"),
        ...     plain_name("zip://b.csv::a.zip"),
        ...     plain_name("a?.csv"),
        ... )
        ('https://example.org/a.csv', 'zip://b.csv', 'a?.csv')
    """
    if not has_scheme(name):
        return name
    hops = [hop for hop in name.split("::") if hop.partition("://")[2]]
    first = hops[0] if hops else name
    return first.partition("?")[0].partition("#")[0] if first.startswith(("http://", "https://")) else first
