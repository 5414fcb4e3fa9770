import os
import signal
import subprocess
import sys
import time

import pytest

from gristmill.engine import Task, run_tasks
from gristmill.errors import InvalidArgumentError, TransformError, WorkerDiedError


def tasks_in(folder, arguments):
    return [Task(f"number {i}", folder / f"{i}.txt", argument) for i, argument in enumerate(arguments)]


def write(argument, output, context):
    if argument == "fail":
        raise ValueError("not this one")
    if argument == "kill":
        os.kill(os.getpid(), signal.SIGKILL)
    if argument == "exit":
        os._exit(3)
    output.write_text(f"{argument} {context.rank}")
    context.advance(1)


@pytest.mark.parametrize("num_proc", [None, 0, 1, 2, 3])
def test_every_task_becomes_its_file(tmp_path, num_proc):
    paths = run_tasks(write, tasks_in(tmp_path, "abcde"), num_proc=num_proc)
    assert [path.read_text()[0] for path in paths] == list("abcde")
    ranks = {path.read_text()[2:] for path in paths}
    assert ranks <= ({"None"} if not num_proc or num_proc == 1 else {"0", "1", "2"})


@pytest.mark.parametrize("num_proc", [None, 2])
def test_finished_tasks_are_not_done_again(tmp_path, num_proc):
    tasks = tasks_in(tmp_path, "abc")
    tasks[1].output.write_text("from an earlier run")
    paths = run_tasks(write, tasks, num_proc=num_proc)
    assert paths[1].read_text() == "from an earlier run"
    run_tasks(write, tasks, num_proc=num_proc, reuse=False)
    assert paths[1].read_text().startswith("b ")


def test_an_error_in_a_worker_comes_back_with_its_traceback(tmp_path):
    with pytest.raises(TransformError, match="not this one") as caught:
        run_tasks(write, tasks_in(tmp_path, ["a", "fail"]), num_proc=2)
    assert isinstance(caught.value.__cause__, ValueError)
    assert 'raise ValueError("not this one")' in str(caught.value)


def test_an_error_here_is_the_error_itself(tmp_path):
    with pytest.raises(ValueError, match="not this one"):
        run_tasks(write, tasks_in(tmp_path, ["fail"]))


@pytest.mark.parametrize(("how", "words"), [("kill", "SIGKILL.*memory"), ("exit", "status 3")])
def test_a_worker_that_dies_is_an_error_and_the_rest_is_kept(tmp_path, how, words):
    tasks = tasks_in(tmp_path, ["a", "b", "c", how])
    started = time.monotonic()
    with pytest.raises(WorkerDiedError, match=rf"number 3.*{words}"):
        run_tasks(write, tasks, num_proc=2)
    assert time.monotonic() - started < 30
    finished = [task for task in tasks if task.output.exists()]
    assert len(finished) >= 2


def test_a_worker_whose_child_outlives_it_is_noticed(tmp_path):
    def leave_child_behind(argument, output, context):
        if os.fork() == 0:
            time.sleep(20)
            os._exit(0)
        os.kill(os.getpid(), signal.SIGKILL)

    started = time.monotonic()
    with pytest.raises(WorkerDiedError):
        run_tasks(leave_child_behind, tasks_in(tmp_path, ["a", "b"]), num_proc=2)
    assert time.monotonic() - started < 15


def test_what_can_not_be_sent_says_so(tmp_path):
    lock = __import__("threading").Lock()

    def locked(argument, output, context):
        with lock:
            output.write_text("")

    with pytest.raises(InvalidArgumentError, match="can't be sent"):
        run_tasks(locked, tasks_in(tmp_path, "ab"), num_proc=2)


@pytest.mark.parametrize("bad", [-1, 1.5, "2", True])
def test_numbers_of_workers_that_make_no_sense(tmp_path, bad):
    with pytest.raises(InvalidArgumentError):
        run_tasks(write, tasks_in(tmp_path, "a"), num_proc=bad)


def test_workers_start_from_a_script_without_a_guard_and_from_an_import(tmp_path):
    (tmp_path / "prep.py").write_text(
        "from gristmill.dataset import Dataset\n"
        "def double(row):\n    return {'b': row['a'] * 2}\n"
        "rows = Dataset.from_dict({'a': list(range(8))}).map(double, num_proc=2)\n"
        "print('made')\n"
    )
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, [str(tmp_path), *sys.path]))}
    for command in (["prep.py"], ["-c", "import prep; print(prep.rows[7])"]):
        run = subprocess.run(
            [sys.executable, *command],
            cwd=tmp_path,
            env=environment,
            check=False,
            capture_output=True,
            text=True,
            timeout=60,
        )
        assert run.returncode == 0, run.stderr
        assert run.stdout.count("made") == 1


def test_functions_of_a_program_that_multiprocessing_spawned(tmp_path):
    (tmp_path / "program.py").write_text(
        "import multiprocessing\n"
        "from gristmill.dataset import Dataset\n"
        "FACTOR = 2\n"
        "def double(row):\n    return {'b': row['a'] * FACTOR}\n"
        "def work():\n"
        "    rows = Dataset.from_dict({'a': list(range(8))}).map(double, num_proc=2)\n"
        "    print(rows['b'][:])\n"
        "if __name__ == '__main__':\n"
        "    process = multiprocessing.get_context('spawn').Process(target=work)\n"
        "    process.start()\n"
        "    process.join()\n"
    )
    run = subprocess.run(
        [sys.executable, "program.py"],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))},
        check=False,
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert run.stdout == "[0, 2, 4, 6, 8, 10, 12, 14]\n", run.stderr
