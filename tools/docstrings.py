"""Lets mkdocstrings read our docstrings: a griffe extension, named in mkdocs.yml.

Ours say ``Example:`` for one example and end a sentence before a literal block with two colons, as Sphinx readers and
pydocstyle do; griffe's reader of the Google style knows ``Examples:``, and Markdown has no such colons.
"""

from __future__ import annotations

import re
from typing import Any

import griffe

_EXAMPLE = re.compile(r"^( *)Example:$", re.MULTILINE)
_ALONE = re.compile(r"^ *::$", re.MULTILINE)
_COLONS = re.compile(r"(?<=\S)::$", re.MULTILINE)


def for_markdown(docstring: str) -> str:
    r"""Rewrites a docstring for a reader of Google style and Markdown.

    Example:
        >>> for_markdown("Does it::\n\n    f()\n\nExample:\n    >>> 1\n    1")
        'Does it:\n\n    f()\n\nExamples:\n    >>> 1\n    1'
    """
    return _COLONS.sub(":", _ALONE.sub("", _EXAMPLE.sub(r"\1Examples:", docstring)))


class Docstrings(griffe.Extension):
    """Rewrites each docstring as it is loaded."""

    def on_instance(self, *, obj: griffe.Object, **kwargs: Any) -> None:
        """Is called for every module, class, function and attribute."""
        if obj.docstring is not None:
            obj.docstring.value = for_markdown(obj.docstring.value)
