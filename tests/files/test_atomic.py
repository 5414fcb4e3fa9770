"""Whole or absent, whatever happens in between, kill -9 included."""

import json
import os
import signal
import stat
import subprocess
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from gristmill.errors import FileError
from gristmill.files import atomic
from gristmill.files.atomic import (
    atomic_file,
    atomic_folder,
    exported_file,
    give_name,
    sweep,
    temporary_name,
    write_json,
)


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def start(program: str, *arguments: object) -> "subprocess.Popen[str]":
    """Starts a program and waits until it says that it is where the test wants it."""
    process = subprocess.Popen(
        [sys.executable, "-c", program, *map(str, arguments)], stdout=subprocess.PIPE, text=True
    )
    assert process.stdout is not None
    assert process.stdout.readline() == "ready\n"
    return process


def kill(process: "subprocess.Popen[str]") -> None:
    process.send_signal(signal.SIGKILL)
    process.communicate()


def test_appears_at_the_end_only(tmp_path):
    path = tmp_path / "new" / "a.bin"
    with atomic_file(path) as file:
        file.write(b"12")
        assert not path.exists()
    assert path.read_bytes() == b"12"
    with atomic_file(path, "w") as file:
        file.write("é\n")
        assert path.read_bytes() == b"12"
    assert path.read_bytes() == b"\xc3\xa9\n"
    assert names(path.parent) == ["a.bin"]


@pytest.mark.parametrize("error", [ValueError, KeyboardInterrupt, SystemExit])
def test_an_error_leaves_the_old_data(tmp_path, error):
    path = tmp_path / "a"
    path.write_text("old")
    (tmp_path / "d").mkdir()
    (tmp_path / "d/old").touch()

    def file_fails() -> None:
        with atomic_file(path, "w") as file:
            file.write("new")
            raise error

    def folder_fails() -> None:
        with atomic_folder(tmp_path / "d") as folder:
            (folder / "new").touch()
            raise error

    with pytest.raises(error):
        file_fails()
    with pytest.raises(error):
        folder_fails()
    assert path.read_text() == "old"
    assert names(tmp_path) == ["a", "d"]
    assert names(tmp_path / "d") == ["old"]


def test_modes_follow_the_umask(tmp_path):
    before = os.umask(0o027)
    try:
        write_json(tmp_path / "a.json", {})
    finally:
        os.umask(before)
    assert (tmp_path / "a.json").stat().st_mode & 0o777 == 0o640


def test_folder_is_replaced_whole(tmp_path):
    final = tmp_path / "d"
    for name in ("one", "two"):
        with atomic_folder(final) as folder:
            (folder / "sub").mkdir()
            (folder / "sub" / name).write_text(name)
        assert names(final / "sub") == [name]
    assert names(tmp_path) == ["d"]


def test_folder_takes_the_place_of_a_file(tmp_path):
    final = tmp_path / "d"
    final.write_text("a file")
    with atomic_folder(final) as folder:
        (folder / "x").touch()
    assert names(tmp_path) == ["d"]
    assert names(final) == ["x"]


def test_failures_of_the_system_are_file_errors(tmp_path):
    (tmp_path / "file").touch()
    with pytest.raises(FileError, match=r"Could not write .*file/a"):
        with atomic_file(tmp_path / "file" / "a"):
            pass
    with pytest.raises(FileError, match="Could not make the folder"):
        with atomic_folder(tmp_path / "file" / "d"):
            pass
    (tmp_path / "taken").mkdir()
    with pytest.raises(FileError, match=r"Could not write .*taken") as caught:
        with atomic_file(tmp_path / "taken") as file:
            file.write(b"x")
    assert isinstance(caught.value.__cause__, OSError)
    assert names(tmp_path) == ["file", "taken"]


def test_long_names(tmp_path):
    """A name the file system takes by itself must not become too long by being temporary."""
    path = tmp_path / ("n" * 250)
    write_json(path, 1)
    with atomic_folder(tmp_path / ("d" * 250)) as folder:
        (folder / "x").touch()
    assert json.loads(path.read_text()) == 1
    temporary_name(path).touch()
    temporary_name(tmp_path / ("é" * 125)).touch()


def test_write_json(tmp_path):
    write_json(tmp_path / "a.json", {"ü": [1, None]})
    assert (tmp_path / "a.json").read_bytes() == '{\n  "ü": [\n    1,\n    null\n  ]\n}\n'.encode()


WRITE_FILE = """
import sys, time
from gristmill.files.atomic import atomic_file
with atomic_file(sys.argv[1], "w") as file:
    file.write("half"); file.flush()
    print("ready", flush=True); time.sleep(60)
"""
WRITE_FOLDER = """
import sys, time
from gristmill.files.atomic import atomic_folder
with atomic_folder(sys.argv[1]) as folder:
    (folder / "half").write_text("half")
    print("ready", flush=True); time.sleep(60)
"""


def test_a_killed_writer_leaves_the_old_data_and_is_swept_up(tmp_path):
    (tmp_path / "a").write_text("old")
    (tmp_path / "d").mkdir()
    (tmp_path / "d" / "old").touch()
    writers = [start(WRITE_FILE, tmp_path / "a"), start(WRITE_FOLDER, tmp_path / "d")]
    assert sweep(tmp_path) == [], "living writers are left alone"
    for process in writers:
        kill(process)
    assert (tmp_path / "a").read_text() == "old"
    assert names(tmp_path / "d") == ["old"]
    assert len(names(tmp_path)) == 4
    assert len(sweep(tmp_path)) == 2
    assert names(tmp_path) == ["a", "d"]


REPLACE_FOLDER = """
import sys
from gristmill.files.atomic import atomic_folder
print("ready", flush=True)
number = 0
while True:
    number += 1
    with atomic_folder(sys.argv[1]) as folder:
        for name in "abc":
            (folder / name).write_text(str(number))
"""


def test_killed_while_replacing_a_folder_again_and_again(tmp_path):
    """Whatever the moment: one whole version is there, or can be had back by `sweep`, and never a mixture."""
    final = tmp_path / "d"
    with atomic_folder(final) as folder:
        for name in "abc":
            (folder / name).write_text("0")
    for round in range(12):
        process = start(REPLACE_FOLDER, final)
        time.sleep(0.01 + 0.003 * round)
        kill(process)
        sweep(tmp_path)
        assert names(tmp_path) == ["d"]
        assert names(final) == ["a", "b", "c"]
        assert len({(final / name).read_text() for name in "abc"}) == 1


def test_a_folder_moved_aside_by_a_killed_writer_comes_back(tmp_path):
    """The one moment without either: the old folder is aside, the new one not yet in its place."""
    program = """
import os, signal, sys
from pathlib import Path
from gristmill.files.atomic import atomic_folder
real = Path.replace
def replace(self, target):
    result = real(self, target)
    os.kill(os.getpid(), signal.SIGKILL)
Path.replace = replace
print("ready", flush=True)
with atomic_folder(sys.argv[1]) as folder:
    (folder / "x").write_text("new")
"""
    final = tmp_path / "d"
    with atomic_folder(final) as folder:
        (folder / "x").write_text("old")
    start(program, final).communicate()
    sweep(tmp_path)
    assert names(tmp_path) == ["d"]
    assert (final / "x").read_text() in ("old", "new")


def test_a_failing_rename_brings_the_old_folder_back(tmp_path, monkeypatch):
    final = tmp_path / "d"
    with atomic_folder(final) as folder:
        (folder / "x").write_text("old")
    real, calls = Path.replace, []

    def fails_once(self, target):
        calls.append(target)
        if len(calls) == 2:
            raise OSError(5, "broken disk")
        return real(self, target)

    monkeypatch.setattr(Path, "replace", fails_once)
    with pytest.raises(FileError, match="broken disk"):
        with atomic_folder(final) as folder:
            (folder / "x").write_text("new")
    assert names(tmp_path) == ["d"]
    assert (final / "x").read_text() == "old"


def test_sweep_removes_dead_leftovers_only(tmp_path, monkeypatch):
    dead = subprocess.Popen([sys.executable, "-c", ""])
    dead.wait()
    mine = temporary_name(tmp_path / "mine")
    mine.touch()
    host = atomic._host()
    other = "0" * 8 if host != "0" * 8 else "1" * 8
    kept = [
        f".far.{dead.pid}-{other}-00000000.incomplete",
        ".x.incomplete",
        "a.json",
        f"b.{dead.pid}.incomplete",
    ]
    for name in kept:
        (tmp_path / name).touch()
    gone = tmp_path / f".c.{dead.pid}-{host}-00000000.incomplete"
    gone.mkdir()
    (gone / "inside").touch()
    link = tmp_path / f".l.{dead.pid}-{host}-00000000.incomplete"
    (tmp_path / "target").mkdir()
    link.symlink_to("target")
    assert sorted(sweep(tmp_path)) == sorted([gone, link])
    assert names(tmp_path) == sorted([*kept, mine.name, "target"])
    assert sweep(tmp_path / "nowhere") == []


def test_many_writers_of_one_file(tmp_path):
    path = tmp_path / "a.json"
    threads = [threading.Thread(target=write_json, args=(path, [n] * 1000)) for n in range(16)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    value = json.loads(path.read_text())
    assert len(value) == 1000
    assert len(set(value)) == 1
    assert names(tmp_path) == ["a.json"]


def test_many_writers_of_one_folder(tmp_path):
    final = tmp_path / "d"
    errors = []

    def write(number):
        try:
            with atomic_folder(final) as folder:
                for name in "ab":
                    (folder / name).write_text(str(number))
        except FileError as error:
            errors.append(error)

    threads = [threading.Thread(target=write, args=(n,)) for n in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert errors == []
    assert names(tmp_path) == ["d"]
    assert (final / "a").read_text() == (final / "b").read_text()


def test_pipes_and_devices_are_written_to_and_never_replaced(tmp_path):
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    with ThreadPoolExecutor() as pool:
        read = pool.submit(pipe.read_bytes)
        with atomic_file(pipe) as file:
            file.write(b"through")
        assert read.result(10) == b"through"
    assert pipe.is_fifo()
    with pytest.raises(FileError, match="a device or a pipe"):
        temporary_name(pipe)
    with pytest.raises(FileError, match="a device or a pipe"), atomic_folder(pipe):
        pass
    assert pipe.is_fifo()
    assert list(tmp_path.iterdir()) == [pipe]


@pytest.fixture
def synced(monkeypatch):
    """Collects what is synced."""
    found = []

    def fsync(handle):
        found.append("folder" if stat.S_ISDIR(os.fstat(handle).st_mode) else "file")

    monkeypatch.setattr(os, "fsync", fsync)
    return found


def test_an_export_waits_for_the_disk_only_where_it_replaces_a_file(tmp_path, synced):
    for text in (b"new", b"newer"):
        assert not synced
        with exported_file(tmp_path / "a.csv") as file:
            file.write(text)
        assert (tmp_path / "a.csv").read_bytes() == text
    assert synced == ["file", "folder"]
    assert [path.name for path in tmp_path.iterdir()] == ["a.csv"]


def test_a_file_that_gets_its_name_is_synced_only_where_it_replaces_another(tmp_path, synced):
    for text in ("new", "newer"):
        assert not synced
        (tmp_path / "made").write_text(text)
        give_name(tmp_path / "made", tmp_path / "a.csv")
        assert (tmp_path / "a.csv").read_text() == text
    assert synced == ["file", "folder"]


def test_a_file_that_can_be_made_again_is_not_waited_for(tmp_path, synced):
    write_json(tmp_path / "a.json", [1], durable=False)
    write_json(tmp_path / "a.json", [2], durable=False)
    assert json.loads((tmp_path / "a.json").read_text()) == [2]
    assert not synced
    write_json(tmp_path / "a.json", [3])
    assert len(synced) == 2
