"""CSV read cell by cell: what the user's own functions may do to it."""

import pytest

from gristmill.errors import CastError, InvalidArgumentError
from gristmill.formats import SourceFile, get_format


def _fails(_):
    raise KeyError("mine")


@pytest.mark.parametrize(
    ("text", "options", "error", "words"),
    [
        ("a,b\n1,2,3\n", {"on_bad_lines": _fails}, CastError, "f, line 2: on_bad_lines fails on it: KeyError: 'mine'"),
        ("a,b\n1,2,3\n", {"on_bad_lines": lambda _: 7}, CastError, "f, line 2: on_bad_lines gives 7, neither a list"),
        ("a,b\n1,2,3\n", {"on_bad_lines": lambda _: "xy"}, CastError, "gives 'xy', neither a list"),
        ("a,b\n1,2\n3\n", {"on_bad_lines": lambda _: ["x"]}, CastError, "f, line 3: on_bad_lines gives 1 cells where"),
        ("a,b\n1,2\n", {"skiprows": _fails}, InvalidArgumentError, "it fails on 0 .KeyError: 'mine'"),
        ("a,b\n1,2\n", {"usecols": _fails}, InvalidArgumentError, "it fails .KeyError: 'mine'"),
    ],
)  # fmt: skip
def test_functions_of_the_user_that_fail(tmp_path, text, options, error, words):
    path = tmp_path / "f.csv"
    path.write_text(text)
    with pytest.raises(error, match=words):
        list(get_format("csv").read(SourceFile(path, "f"), options=options))
