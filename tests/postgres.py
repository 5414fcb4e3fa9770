"""A PostgreSQL of our own for tests: in a folder, on a socket in it, gone afterwards."""

import contextlib
import os
import shutil
import subprocess
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from gristmill.optional import installed

_NOBODY = 65534


def _program(name: str) -> str | None:
    places = sorted(Path("/usr/lib/postgresql").glob("*/bin"), reverse=True)
    return shutil.which(name) or next((str(p / name) for p in places if (p / name).exists()), None)


@contextlib.contextmanager
def postgres() -> Iterator[str]:
    """Gives the URI of a running server; skips the test, saying why, where there is none."""
    initdb, server = _program("initdb"), _program("postgres")
    if initdb is None or server is None:
        pytest.skip("PostgreSQL is not installed")
    if not installed("sqlalchemy") or not installed("psycopg"):
        pytest.skip("sqlalchemy or psycopg is not installed")
    # It refuses to run as root.
    user: list[str] = []
    if os.getuid() == 0:
        if shutil.which("setpriv") is None:
            pytest.skip("PostgreSQL does not run as root, and there is no setpriv to become somebody else")
        user = ["setpriv", f"--reuid={_NOBODY}", f"--regid={_NOBODY}", "--clear-groups"]
    # The name of a socket may have about 100 bytes.
    folder = Path(tempfile.mkdtemp(prefix="pg-"))
    try:
        if user:
            os.chown(folder, _NOBODY, _NOBODY)
        made = [
            *user,
            initdb,
            "-D",
            f"{folder}/db",
            "--no-sync",
            "-A",
            "trust",
            "-U",
            "tester",
            "-E",
            "UTF8",
            "--locale=C",
        ]
        subprocess.run(made, check=True, capture_output=True)
        command = [*user, server, "-D", f"{folder}/db", "-k", str(folder), "-c", "listen_addresses=", "-F"]
        with (folder / "log").open("wb") as log:
            process = subprocess.Popen(command, stdout=log, stderr=log)
        try:
            _wait(process, folder)
            yield f"postgresql+psycopg://tester@/postgres?host={folder}"
        finally:
            process.terminate()
            process.wait(20)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _wait(process: "subprocess.Popen[bytes]", folder: Path) -> None:
    for _ in range(500):
        if "ready to accept connections" in (folder / "log").read_text():
            return
        assert process.poll() is None, (folder / "log").read_text()
        time.sleep(0.02)
    raise AssertionError("PostgreSQL does not start")
