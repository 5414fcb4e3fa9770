"""How worker processes come to be: in milliseconds, with what a fresh interpreter would have, and gone afterwards."""

import contextlib
import json
import multiprocessing
import os
import resource
import signal
import subprocess
import sys
import textwrap
import threading
import time
from pathlib import Path

import pytest

from gristmill.engine import CONVERTING, Task, run_tasks, server, starting
from gristmill.errors import TransformError, WorkerDiedError

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="elsewhere workers are fresh interpreters")


def facts(argument, output, context):
    """What a worker sees, for the tests to compare."""
    tasks = [(task / "comm").read_text() for task in Path("/proc/self/task").iterdir()]
    umask = os.umask(0)
    os.umask(umask)
    output.write_text(
        json.dumps({
            "pid": os.getpid(),
            "parent": os.getppid(),
            "threads": [name for name in tasks if "jemalloc" not in name],
            "folder": str(Path.cwd()),
            "umask": umask,
            "files": resource.getrlimit(resource.RLIMIT_NOFILE)[0],
            "environ": {name: value for name, value in os.environ.items() if name.startswith("MINE_")},
            "pandas": "pandas" in sys.modules,
            "path": sys.path,
            "plain": signal.getsignal(signal.SIGCHLD) == signal.SIG_DFL,
        })
    )  # fmt: skip


def ask(folder, function=facts, count=2, **options):
    paths = run_tasks(
        function,
        [Task(f"number {i}", folder / f"{i}", i) for i in range(count)],
        num_proc=count,
        reuse=False,
        **options,
    )
    return [json.loads(path.read_text()) for path in paths]


def is_alive(pid):
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except FileNotFoundError:
        return False


def wait_until(condition):
    deadline = time.monotonic() + 60
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.02)


@pytest.fixture
def own_server(monkeypatch):
    """A server for this test alone."""
    servers = starting._Servers()
    monkeypatch.setattr(starting, "_servers", servers)
    yield servers
    servers.end()


@pytest.fixture
def program(monkeypatch, own_server):
    """Has the server begin with some code of the test's."""

    def begin(code):
        monkeypatch.setattr(server, "_PROGRAM", code + "\n" + server._PROGRAM)

    return begin


def run_script(folder, script, *arguments, check=True, **options):
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    return subprocess.run(
        [sys.executable, "-c", textwrap.dedent(script), *map(str, arguments)],
        cwd=folder,
        env=environment,
        capture_output=True,
        text=True,
        timeout=100,
        check=check,
        **options,
    )


def test_workers_of_all_calls_are_forks_of_one_process_without_threads(tmp_path):
    first, second = ask(tmp_path), ask(tmp_path)
    assert {one["parent"] for one in first} == {one["parent"] for one in second}
    assert first[0]["parent"] != os.getpid()
    assert {one["pid"] for one in first}.isdisjoint(one["pid"] for one in second)
    assert all(len(one["threads"]) == 1 for one in [*first, *second])
    assert not any(is_alive(one["pid"]) for one in [*first, *second])
    assert all(one["plain"] for one in first)


def test_what_a_worker_has_is_what_the_process_has_at_the_call(tmp_path, monkeypatch):
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    before = ask(tmp_path)[0]
    (tmp_path / "here").mkdir()
    (tmp_path / "modules").mkdir()
    monkeypatch.chdir(tmp_path / "here")
    assert ask(tmp_path)[0]["folder"] == str(tmp_path / "here")
    monkeypatch.setenv("MINE_A", "1")
    monkeypatch.syspath_prepend(str(tmp_path / "modules"))
    umask = os.umask(0o027)
    try:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft - 1, hard))
        after = ask(tmp_path)[0]
    finally:
        os.umask(umask)
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
    assert before["folder"] != after["folder"] == str(tmp_path / "here")
    assert (before["environ"], after["environ"]) == ({}, {"MINE_A": "1"})
    assert (before["umask"], after["umask"]) == (umask, 0o027)
    assert (before["files"], after["files"]) == (soft, soft - 1)
    assert after["path"] == sys.path != before["path"]
    monkeypatch.delenv("MINE_A")
    assert ask(tmp_path)[0]["environ"] == {}


def test_a_folder_that_was_deleted(tmp_path, monkeypatch):
    (tmp_path / "gone").mkdir()
    monkeypatch.chdir(tmp_path / "gone")
    (tmp_path / "gone").rmdir()

    def write(argument, output, context):
        output.write_text("1")

    assert ask(tmp_path, write) == [1, 1]


def test_settings_come_from_the_environment_of_the_call(tmp_path, monkeypatch):
    def read(argument, output, context):
        from gristmill import config

        output.write_text(json.dumps(str(config.HF_DATASETS_CACHE)))

    for name in "ab":
        monkeypatch.setenv("HF_DATASETS_CACHE", str(tmp_path / name))
        assert ask(tmp_path, read) == [str(tmp_path / name)] * 2


def test_modules_of_the_user_are_as_they_are_on_disk(tmp_path, monkeypatch):
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    monkeypatch.setenv("PYTHONDONTWRITEBYTECODE", "1")
    module = tmp_path / "mine_that_changes.py"
    source = "def run(argument, output, context):\n    output.write_text(str({}))\n"
    module.write_text(source.format(1))
    import mine_that_changes  # type: ignore[import-not-found]

    try:
        assert ask(tmp_path, mine_that_changes.run) == [1, 1]
        module.write_text(source.format(2))
        assert ask(tmp_path, mine_that_changes.run) == [2, 2]
    finally:
        del sys.modules["mine_that_changes"]


def test_output_goes_where_it_goes_at_the_call(tmp_path):
    script = """
        import atexit, os, sys, threading, time
        from pathlib import Path
        from gristmill.engine import Task, run_tasks

        def say(argument, output, context):
            print("said", argument)
            print("warned", argument, file=sys.stderr)
            atexit.register(print, "at the end", argument)
            threading.Thread(target=lambda: (time.sleep(0.2), print("from a thread", argument))).start()
            output.write_text("")

        def call():
            tasks = [Task(str(i), Path(f"o{i}"), i) for i in range(2)]
            run_tasks(say, tasks, num_proc=2, reuse=False)

        for name in ("one", "two"):
            for number in (1, 2):
                file = os.open(f"{name}{number}", os.O_WRONLY | os.O_CREAT)
                os.dup2(file, number)
                os.close(file)
            call()
        os.close(1)
        call()
    """
    run_script(tmp_path, script)
    for name in ("one", "two"):
        lines = (tmp_path / f"{name}1").read_text().splitlines()
        assert sorted(lines) == sorted(
            f"{text} {i}" for text in ("said", "at the end", "from a thread") for i in range(2)
        )
    assert sorted((tmp_path / "one2").read_text().splitlines()) == ["warned 0", "warned 1"]
    assert len((tmp_path / "two2").read_text().splitlines()) == 4  # of the call without standard output too


@pytest.mark.parametrize("closed", ["<&-", ">&-", "2>&-", "<&- >&- 2>&-", "later"])
def test_output_of_a_process_without_standard_streams_goes_nowhere(tmp_path, closed):
    script = """
        import os, sys
        from pathlib import Path
        from gristmill.engine import Task, run_tasks

        def say(argument, output, context):
            for number in (1, 2):
                try:
                    os.write(number, b"x" * 1000)
                except OSError:  # nobody reads it
                    pass
            output.write_text(str(argument))

        if sys.argv[1] == "later":
            for number in range(3):
                os.close(number)
        for _ in range(2):
            run_tasks(say, [Task(str(i), Path(f"o{i}"), i) for i in range(6)], num_proc=2, reuse=False)
        Path("done").write_text("".join(Path(f"o{i}").read_text() for i in range(6)))
    """
    (tmp_path / "script.py").write_text(textwrap.dedent(script))
    shell = 'exec "$0" script.py later' if closed == "later" else f'exec "$0" script.py now {closed}'
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    subprocess.run(
        ["sh", "-c", shell, sys.executable],
        cwd=tmp_path,
        env=environment,
        capture_output=True,
        timeout=100,
        check=False,  # closed streams make Python fail at its end
    )
    assert (tmp_path / "done").read_text() == "012345"


def test_random_numbers_differ(tmp_path):
    def draw(argument, output, context):
        import random

        import numpy as np

        output.write_text(json.dumps([random.random(), float(np.random.rand())]))

    ours, theirs = ask(tmp_path, draw, imports=["numpy.random"])
    assert ours[0] != theirs[0]
    assert ours[1] != theirs[1]


def test_modules_that_all_tasks_import_are_there(tmp_path, own_server):
    assert not ask(tmp_path)[0]["pandas"]
    assert ask(tmp_path, imports=CONVERTING)[0]["pandas"]


def test_modules_of_libraries_that_had_to_be_imported_are_there_the_next_time(tmp_path, own_server):
    def load(argument, output, context):
        loaded = [name for name in ("pyarrow.parquet", "wave") if name in sys.modules]
        import wave

        import pyarrow.parquet

        assert wave
        assert pyarrow.parquet
        output.write_text(json.dumps([os.getppid(), loaded]))

    [first, _] = ask(tmp_path, load)
    [second, _] = ask(tmp_path, load)
    assert first[1] == []
    assert second == [first[0], ["pyarrow.parquet"]]


def test_threads_may_call_at_the_same_time(tmp_path, own_server):
    made = {}

    def call(name):
        (tmp_path / name).mkdir()
        made[name] = ask(tmp_path / name)

    threads = [threading.Thread(target=call, args=[name]) for name in "abcd"]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert sorted(made) == list("abcd")
    assert len({one["parent"] for both in made.values() for one in both}) == 1


def call_in(folder):
    Path(folder).mkdir(exist_ok=True)
    assert len(ask(Path(folder))) == 2


def test_a_fork_of_the_process_calls_too(tmp_path):
    parent = ask(tmp_path)[0]["parent"]
    pid = os.fork()
    if pid == 0:
        status = 1
        with contextlib.suppress(BaseException):
            (tmp_path / "child").mkdir()
            status = 0 if ask(tmp_path / "child")[0]["parent"] != parent else 2
            starting._servers.end()
        os._exit(status)
    assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 0
    assert ask(tmp_path)[0]["parent"] == parent


@pytest.mark.parametrize("method", ["fork", "spawn"])
def test_daemons_of_multiprocessing_call_too(tmp_path, method):
    process = multiprocessing.get_context(method).Process(
        target=call_in, args=[str(tmp_path / "d")], daemon=True
    )
    process.start()
    process.join(90)
    assert process.exitcode == 0
    wait_until(lambda: not is_alive(json.loads((tmp_path / "d" / "0").read_text())["parent"]))


def test_from_standard_input_and_nothing_is_left_when_the_program_ends(tmp_path):
    script = """
        from pathlib import Path
        from gristmill.engine import Task, run_tasks

        def write(argument, output, context):
            output.write_text(str(argument))

        print([p.read_text() for p in run_tasks(write, [Task(c, Path(c), c) for c in "ab"], num_proc=2)])
    """
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    with subprocess.Popen(
        [sys.executable, "-"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
        cwd=tmp_path, env=environment, start_new_session=True,
    ) as process:  # fmt: skip
        said, _ = process.communicate(textwrap.dedent(script), timeout=100)
    assert said == "['a', 'b']\n"
    with pytest.raises(ProcessLookupError):
        os.killpg(process.pid, 0)


HANGS = """
    import os, sys, time
    from pathlib import Path
    from gristmill.engine import Task, run_tasks
    from gristmill.files.atomic import atomic_file

    def hang(argument, output, context):
        with atomic_file(output) as file:
            file.write(b"half")
            file.flush()
            Path(f"pid{argument}.part").write_text(f"{os.getpid()} {os.getppid()}")
            Path(f"pid{argument}.part").rename(f"pid{argument}")
            time.sleep(600)

    run_tasks(hang, [Task(str(i), Path("made") / str(i), i) for i in range(2)], num_proc=2)
"""


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM, signal.SIGINT])
def test_workers_and_server_end_with_the_process_and_take_away_what_is_half_written(tmp_path, number):
    (tmp_path / "made").mkdir()
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    with subprocess.Popen(
        [sys.executable, "-c", textwrap.dedent(HANGS)], cwd=tmp_path, env=environment,
        stderr=subprocess.DEVNULL, start_new_session=True,
    ) as process:  # fmt: skip
        wait_until(lambda: (tmp_path / "pid0").exists() and (tmp_path / "pid1").exists())
        pids = {int(pid) for i in range(2) for pid in (tmp_path / f"pid{i}").read_text().split()}
        assert len(pids) == 3
        assert all(map(is_alive, pids))
        assert len(list((tmp_path / "made").iterdir())) == 2
        process.send_signal(number)
    assert process.returncode == -number
    wait_until(lambda: not any(map(is_alive, pids)))
    assert list((tmp_path / "made").iterdir()) == []


def test_a_failure_ends_the_other_workers_and_takes_away_what_they_were_writing(tmp_path):
    def work(argument, output, context):
        from gristmill.files.atomic import atomic_file

        mark = output.parent.parent / "mark"
        if argument == 0:
            while not mark.exists():
                time.sleep(0.01)
            raise ValueError("no more")
        with atomic_file(output) as file:
            file.write(b"half")
            mark.touch()
            time.sleep(600)

    (tmp_path / "made").mkdir()
    with pytest.raises(TransformError, match="no more"):
        ask(tmp_path / "made", work)
    assert list((tmp_path / "made").iterdir()) == []


def test_a_worker_that_somebody_ends_is_named_with_its_signal(tmp_path):
    def work(argument, output, context):
        os.kill(os.getpid(), signal.SIGTERM)
        time.sleep(600)

    with pytest.raises(WorkerDiedError, match=r"working on number \d: it was ended by SIGTERM"):
        ask(tmp_path, work)


def test_processes_that_a_function_forks_end_at_a_signal(tmp_path):
    def work(argument, output, context):
        if (pid := os.fork()) == 0:
            time.sleep(600)
            os._exit(0)
        os.kill(pid, signal.SIGTERM)
        output.write_text(str(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])))
        # And the worker itself has its signals as before.
        assert signal.pthread_sigmask(signal.SIG_BLOCK, ()) == set()

    for _ in range(3):  # the signal may come at any time after the fork
        assert ask(tmp_path, work) == [-signal.SIGTERM] * 2


def test_a_server_that_is_killed_takes_its_workers_along_and_the_next_call_has_another(tmp_path, own_server):
    def work(argument, output, context):
        (output.parent / "pids").mkdir(exist_ok=True)
        (output.parent / "pids" / str(os.getpid())).touch()
        while len(list((output.parent / "pids").iterdir())) < 2:
            time.sleep(0.01)
        os.kill(os.getppid(), signal.SIGKILL)
        time.sleep(600)

    with pytest.raises(WorkerDiedError, match="it was ended with the process that had started it"):
        ask(tmp_path, work)
    wait_until(lambda: not any(is_alive(int(path.name)) for path in (tmp_path / "pids").iterdir()))
    before = ask(tmp_path)[0]["parent"]
    os.kill(before, signal.SIGKILL)
    assert ask(tmp_path)[0]["parent"] != before


def test_a_server_without_work_ends_and_the_next_call_has_another(tmp_path, program):
    program("import gristmill.engine.fork_server as module; module._IDLE = 0.1; module._TICK = 0.1")
    before = ask(tmp_path)[0]["parent"]
    wait_until(lambda: not is_alive(before))
    assert ask(tmp_path)[0]["parent"] != before


@pytest.mark.parametrize(
    "code",
    [
        "import threading; threading.Thread(target=threading.Event().wait, daemon=True).start()",
        "import sys; sys.exit(3)",
        "import os; os.kill(os.getpid(), 9)",
    ],
    ids=["it has threads", "it ends", "it is killed"],
)
def test_where_the_server_is_of_no_use_workers_are_fresh_interpreters(tmp_path, program, code):
    program(code)
    for _ in range(2):
        assert {one["parent"] for one in ask(tmp_path)} == {os.getpid()}


def test_fresh_interpreters_keep_the_same_promises(tmp_path, monkeypatch):
    monkeypatch.setattr(starting, "_can_fork", lambda: False)
    assert {one["parent"] for one in ask(tmp_path)} == {os.getpid()}

    def ended(argument, output, context):
        os.kill(os.getpid(), signal.SIGTERM)
        time.sleep(600)

    with pytest.raises(WorkerDiedError, match="SIGTERM"):
        ask(tmp_path, ended)
