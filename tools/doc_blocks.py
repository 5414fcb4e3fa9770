"""Finds the code blocks of the documentation, for the tests that run them.

A block is fenced by three backquotes and names its language. One that cannot run has a comment right above it that
says why::

    <!-- not run: needs a GPU -->
"""

from __future__ import annotations

import re
from dataclasses import dataclass

_FENCE = re.compile(r"^(?P<indent> *)```(?P<language>[\w-]*)")
_REASON = re.compile(r"^\s*<!-- not run: (?P<reason>.+?) -->\s*$")


@dataclass(frozen=True)
class Block:
    """A code block of a page.

    Attributes:
        language: The word after the opening fence, possibly empty.
        text: The code, without the fences and their indentation.
        line: Line of the first line of code, counted from 1.
        reason: Why it is not run; empty if it is.
    """

    language: str
    text: str
    line: int
    reason: str = ""


def code_blocks(page: str) -> list[Block]:
    """Lists the code blocks of a page of Markdown.

    Raises:
        ValueError: A block is not closed, or a reason stands above no block.

    Example:
        >>> code_blocks("Text.\\n<!-- not run: slow -->\\n```python\\nf()\\n```\\n")
        [Block(language='python', text='f()\\n', line=4, reason='slow')]
    """
    blocks: list[Block] = []
    lines = page.splitlines()
    number, reason = 0, ""
    while number < len(lines):
        line = lines[number]
        number += 1
        if opening := _FENCE.match(line):
            start, indent = number, opening["indent"]
            while number < len(lines) and lines[number].strip() != "```":
                number += 1
            if number == len(lines):
                raise ValueError(f"line {start}: this block is not closed")
            text = "".join(code.removeprefix(indent) + "\n" for code in lines[start:number])
            blocks.append(Block(opening["language"], text, start + 1, reason))
            number += 1
            reason = ""
        elif said := _REASON.match(line):
            reason = said["reason"]
        elif reason:
            raise ValueError(f"line {number}: a reason not to run stands above no code block")
    return blocks


@dataclass(frozen=True)
class Command:
    """A command of a console block and the output shown below it, possibly cut with ``...`` or left out."""

    line: str
    output: str


def console_commands(text: str) -> list[Command]:
    """Splits a console block into commands (lines that begin with ``$``; a backslash goes on) and their output.

    Example:
        >>> console_commands("$ gristmill hub \\\\\\n    list\\nboolq\\n$ ls\\n")
        [Command(line='gristmill hub list', output='boolq\\n'), Command(line='ls', output='')]
    """
    commands: list[Command] = []
    for part in re.split(r"^\$ ", text, flags=re.MULTILINE)[1:]:
        joined = re.sub(r"\\\n\s*", "", part)
        line, _, output = joined.partition("\n")
        commands.append(Command(line.strip(), output))
    return commands
