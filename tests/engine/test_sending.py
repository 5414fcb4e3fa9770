"""What is sent to workers: a failure there shows the user's lines, wherever they were written."""

import linecache
import os
import pickle
import subprocess
import sys
import textwrap
import traceback

import pytest

from gristmill.engine.sending import dumps

SCRIPT = """
    from gristmill import Dataset

    def outer():
        def fails(row):
            return {"b": [1 / number for number in (row["a"],)]}  # the line at fault
        return fails

    try:
        Dataset.from_dict({"a": [1, 0]}).map(outer(), num_proc=2)
    except ZeroDivisionError as error:
        print(error)
"""


def test_a_traceback_shows_file_and_line_of_a_script(tmp_path):
    script = tmp_path / "my_script.py"
    script.write_text(textwrap.dedent(SCRIPT))
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    run = subprocess.run(
        [sys.executable, str(script)],
        env=environment,
        capture_output=True,
        text=True,
        timeout=60,
        check=True,
    )
    assert f'File "{script}", line 6, in fails' in run.stdout
    assert "# the line at fault" in run.stdout
    assert "row 1: ZeroDivisionError" in run.stdout


def test_lines_of_a_notebook_go_along():
    name, source = "<cell 7>", "def f(x):\n    return 1 / x  # of the cell\n"
    linecache.cache[name] = (len(source), None, source.splitlines(keepends=True), name)
    names: dict[str, object] = {"__name__": "__main__"}
    exec(compile(source, name, "exec"), names)
    sent = dumps(names["f"])
    del linecache.cache[name]
    try:
        with pytest.raises(ZeroDivisionError) as caught:
            pickle.loads(sent)(0)
        text = "".join(traceback.format_exception(caught.value))
        assert 'File "<cell 7>", line 2, in f' in text
        assert "# of the cell" in text
    finally:
        linecache.cache.pop(name, None)


def test_functions_give_what_they_gave():
    n = 3

    def closure(x, *, by=2):
        return [x * by + n + y for y in range(2)]

    assert pickle.loads(dumps([closure, len]))[0](1) == closure(1) == [5, 6]
    assert pickle.loads(dumps([closure, len]))[1] is len
