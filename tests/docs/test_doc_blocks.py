"""The finder of code blocks."""

import pytest

from tools.doc_blocks import Command, code_blocks, console_commands


def test_indented_blocks_lose_their_indentation():
    (block,) = code_blocks("!!! note\n\n    ```python\n    if x:\n        y()\n    ```\n")
    assert (block.text, block.line) == ("if x:\n    y()\n", 4)


def test_a_reason_counts_for_the_next_block_only():
    first, second = code_blocks("<!-- not run: why -->\n```sh\na\n```\n```sh\nb\n```\n")
    assert (first.reason, second.reason) == ("why", "")


@pytest.mark.parametrize("page", ["```python\nf()\n", "<!-- not run: why -->\n\n```sh\na\n```\n"])
def test_what_would_go_unnoticed_is_refused(page):
    with pytest.raises(ValueError, match="line"):
        code_blocks(page)


def test_commands_and_their_output():
    assert console_commands("$ gristmill a\n1\n2\n$ ls\n") == [
        Command("gristmill a", "1\n2\n"),
        Command("ls", ""),
    ]
