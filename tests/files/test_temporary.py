import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from gristmill.files import temporary
from gristmill.files.atomic import _host
from gristmill.files.temporary import TemporaryFolder, sweep_temporary, temporary_prefix

ENVIRONMENT = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}


@pytest.mark.parametrize("how", [signal.SIGTERM, signal.SIGKILL])
def test_what_a_killed_process_left_is_swept_by_the_next_one(tmp_path, how):
    script = """
import time
from gristmill.fingerprint import get_temporary_cache_files_directory
print(get_temporary_cache_files_directory(), flush=True)
{rest}
"""
    environment = {**ENVIRONMENT, "TMPDIR": str(tmp_path)}

    def start(rest):
        return subprocess.Popen(
            [sys.executable, "-c", script.format(rest=rest)],
            env=environment,
            stdout=subprocess.PIPE,
            text=True,
        )

    with start("time.sleep(60)") as first:
        assert first.stdout is not None
        left = Path(first.stdout.readline().strip())
        (left / "a").touch()
        with start("") as second:
            second.wait(30)
        assert left.is_dir()  # its process lives
        first.send_signal(how)
        first.wait(30)
    assert left.is_dir()
    with start("") as third:
        third.wait(30)
    assert list(tmp_path.iterdir()) == []


def dead_process():
    process = subprocess.Popen([sys.executable, "-c", ""])
    process.wait(30)
    return process.pid


def test_only_what_is_of_dead_processes_of_this_machine_go(tmp_path):
    dead = dead_process()
    gone = [f"gristmill-rows-{dead}-{_host()}-abc", f"gristmill-7z-{dead}-{_host()}-abc_1"]
    kept = [
        f"gristmill-rows-{os.getpid()}-{_host()}-abc",
        f"gristmill-rows-{dead}-00000000-abc",
        f"other-{dead}-{_host()}-abc",
        f"gristmill-rows-x-{_host()}-abc",
        "gristmill-data",
    ]
    for name in gone + kept:
        (tmp_path / name / "inner").mkdir(parents=True)
    (tmp_path / f"gristmill-parquet-{dead}-{_host()}-abc.parquet").touch()
    gone.append(f"gristmill-parquet-{dead}-{_host()}-abc.parquet")
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    (tmp_path / f"gristmill-link-{dead}-{_host()}-abc").symlink_to(elsewhere)
    assert sorted(path.name for path in sweep_temporary(tmp_path)) == sorted(gone)
    assert all((tmp_path / name / "inner").is_dir() for name in kept)
    assert elsewhere.is_dir()
    assert sweep_temporary(tmp_path / "nothing") == []


def test_a_process_sweeps_once(monkeypatch):
    swept: list[Path] = []
    monkeypatch.setattr(temporary, "sweep_temporary", swept.append)
    monkeypatch.setattr(temporary, "_swept", False)
    temporary_prefix("one")
    temporary_prefix("two")
    assert len(swept) == 1


def test_a_folder_can_go_early():
    folder = TemporaryFolder("test")
    assert Path(folder.name).is_dir()
    folder.cleanup()
    folder.cleanup()
    assert not Path(folder.name).exists()
