"""What all tests and doctests share: caches and a working folder of their own, and a guard that both stay clean."""

from __future__ import annotations

import asyncio
import os
import shutil
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, settings

# How long an example takes says how busy the machine is, not whether a law holds.
settings.register_profile("gristmill", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("gristmill")

# Before anything reads them: the developer's caches, tokens and Hub are none of the tests' business. Processes that
# tests start inherit this.
_OWN = Path(tempfile.mkdtemp(prefix="gristmill-tests-")).resolve()
_HOME, _HERE = _OWN / "hf", _OWN / "here"
for _name in list(os.environ):
    if _name.startswith(("HF_", "HUGGINGFACE_", "HUGGING_FACE_")):
        del os.environ[_name]
os.environ["HF_HOME"] = str(_HOME)
os.environ["HF_XET_CACHE"] = str(_OWN / "xet")  # hf_xet writes logs whoever uses it, and however
# Programs that tests start find `tests` although they don't run in the checkout.
os.environ["PYTHONPATH"] = os.pathsep.join(
    [str(Path(__file__).resolve().parent), *filter(None, [os.environ.get("PYTHONPATH")])]
)
# Compiled code is kept, whatever the environment says: asserts are rewritten once, not in each run and worker, and
# the processes that tests start load the library instead of compiling it.
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
sys.dont_write_bytecode = False
for _folder in (_HOME, _HERE):
    _folder.mkdir()


def pytest_unconfigure() -> None:
    """Takes the folders away; a worker of pytest-xdist ends without what `atexit` knows."""
    shutil.rmtree(_OWN, ignore_errors=True)


@pytest.fixture(scope="session", autouse=True)
def folder_of_the_session() -> Iterator[None]:
    """Tests run in an empty folder of their own, so that a stray file is seen, and is no part of a checkout."""
    before = Path.cwd()
    os.chdir(_HERE)
    yield
    os.chdir(before)


class _ShortSleeps:
    """`asyncio`, with sleeps of a hundredth of a second at most."""

    def __getattr__(self, name: str) -> Any:
        return getattr(asyncio, name)

    @staticmethod
    async def sleep(seconds: float) -> None:
        await asyncio.sleep(min(seconds, 0.01))


@pytest.fixture(scope="session", autouse=True)
def servers_that_stop_at_once() -> None:
    """uvicorn looks ten times a second whether it shall stop, then whether it has; tests stop a thousand servers."""
    pytest.MonkeyPatch().setattr("uvicorn.server.asyncio", _ShortSleeps())


def _working_folder() -> str | None:
    try:
        return os.getcwd()  # noqa: PTH109  # a path would be made of it for each test
    except FileNotFoundError:  # it was deleted
        return None


@pytest.fixture(autouse=True)
def nothing_left_behind() -> Iterator[None]:
    """Fails a test that writes into the caches of whoever runs it, or into the working folder."""
    yield
    left: list[Path] = []
    for folder in (_HOME, _HERE):
        # Nearly always there is nothing, and making a folder anew after each test takes longer than most tests.
        if not folder.is_dir() or any(folder.iterdir()):
            left += sorted(path for path in folder.rglob("*") if not path.is_dir())
            shutil.rmtree(folder, ignore_errors=True)
            folder.mkdir()
    if _working_folder() != str(_HERE):
        os.chdir(_HERE)
    assert not left, f"left behind; tests write to tmp_path and to caches of their own: {left}"


@pytest.fixture(autouse=True)
def bars_as_they_were(monkeypatch: pytest.MonkeyPatch) -> None:
    """The switch of progress bars belongs to the process; commands with --quiet or --json turn it."""
    monkeypatch.setattr("gristmill.progress._disabled_by_code", False)


@pytest.fixture(autouse=True)
def empty_memory_file_system() -> Iterator[None]:
    """fsspec's ``memory://`` belongs to the process: a test finds there what it put there, and nothing else."""
    yield
    memory = sys.modules.get("fsspec.implementations.memory")
    if memory is not None:
        memory.MemoryFileSystem.store.clear()
        memory.MemoryFileSystem.pseudo_dirs[:] = [""]
