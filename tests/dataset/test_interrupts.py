"""Work that is broken off, by Ctrl-C, by an error or by the system: nothing half-written, and nobody works on."""

import os
import signal
import subprocess
import sys
import textwrap
import time
from pathlib import Path

import pyarrow as pa
import pytest

from gristmill import Dataset
from gristmill.errors import TransformError, WorkerDiedError
from gristmill.table.arrow_file import open_arrow, write_arrow

SCRIPT = """
    import sys, time
    from pathlib import Path
    from gristmill import Dataset
    file, mark, method, workers, target = sys.argv[1:]

    def work(row):
        if row["a"] == 15 and not Path(mark).exists():
            import os
            Path(mark + ".part").write_text(str(os.getpid()))
            Path(mark + ".part").rename(mark)
            time.sleep(600)
        return {"b": row["a"] * 2} if method == "map" else row["a"] % 2

    ds = Dataset.from_file(file)
    made = getattr(ds, method)(work, num_proc=int(workers), cache_file_name=target or None)
    print(made[:])
"""


def is_alive(pid):
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    # A child that nobody waited for is no process that works on.
    return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"


@pytest.mark.parametrize(
    ("method", "workers", "named", "to"),
    [
        ("map", 1, True, "everybody"),
        ("map", 2, True, "everybody"),
        ("map", 2, False, "the caller"),
        ("filter", 2, False, "everybody"),
    ],
)
def test_ctrl_c(tmp_path, method, workers, named, to):
    file, mark = tmp_path / "d" / "data.arrow", tmp_path / "mark"
    target = tmp_path / "out" / "r.arrow" if named else None
    write_arrow(file, pa.table({"a": range(20)}))
    (tmp_path / "tmp").mkdir()
    environment = {
        **os.environ,
        "PYTHONPATH": os.pathsep.join(filter(None, sys.path)),
        "TMPDIR": str(tmp_path / "tmp"),
    }
    command = [sys.executable, "-c", textwrap.dedent(SCRIPT)]
    command += [str(file), str(mark), method, str(workers), str(target or "")]
    with subprocess.Popen(
        command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True
    ) as process:  # fmt: skip
        while not mark.exists():
            assert process.poll() is None, process.communicate()
            time.sleep(0.01)
        if to == "everybody":  # as a terminal does it
            os.killpg(process.pid, signal.SIGINT)
        else:
            process.send_signal(signal.SIGINT)
        _, said = process.communicate(timeout=60)
    assert process.returncode == -signal.SIGINT
    assert said.rstrip().endswith("KeyboardInterrupt")
    assert not is_alive(int(mark.read_text()))
    assert list((tmp_path / "tmp").iterdir()) == []
    assert target is None or not target.exists()
    folder = file.parent if target is None else target.parent
    for left in folder.iterdir() if folder.exists() else ():
        open_arrow(left)  # each file is a whole one, of rows that were finished
    again = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=60, check=True)
    expected = (
        {"a": list(range(20)), "b": list(range(0, 40, 2))}
        if method == "map"
        else {"a": list(range(1, 20, 2))}
    )
    assert again.stdout.strip() == str(expected)


@pytest.fixture
def stored(tmp_path):
    write_arrow(tmp_path / "d" / "data.arrow", pa.table({"a": range(20)}))
    return Dataset.from_file(str(tmp_path / "d" / "data.arrow"))


@pytest.mark.parametrize("method", ["map", "filter"])
def test_a_function_that_fails_leaves_no_result(stored, tmp_path, method):
    def fails(row):
        return {"b": 1 / (row["a"] - 13)}

    for num_proc in (None, 2):
        for target in (None, tmp_path / "d" / "r.arrow"):
            with pytest.raises(TransformError, match=r"fails failed on row 13: ZeroDivisionError") as caught:
                getattr(stored, method)(
                    fails, num_proc=num_proc, cache_file_name=None if target is None else str(target)
                )
            if num_proc:
                assert 'return {"b": 1 / (row["a"] - 13)}' in str(caught.value)
            left = {path.name for path in (tmp_path / "d").iterdir()} - {"data.arrow"}
            # What is left are pieces of finished rows, for the run after; no list of pieces and no file of all rows.
            assert "r.arrow" not in left
            assert not [name for name in left if name.endswith(".json")]
            for name in left:
                open_arrow(tmp_path / "d" / name)


@pytest.mark.parametrize("method", ["map", "filter"])
def test_a_worker_that_the_system_kills_is_named_with_its_rows(stored, tmp_path, method):
    """As the system does it to the largest process when memory runs out."""

    def killed(row):
        if row["a"] == 19:
            os.kill(os.getpid(), signal.SIGKILL)
        return {"b": 1}

    with pytest.raises(WorkerDiedError, match=r"rows \d+ to 19.*SIGKILL.*memory"):
        getattr(stored, method)(killed, num_proc=2)
    assert not list((tmp_path / "d").glob("*.json"))
