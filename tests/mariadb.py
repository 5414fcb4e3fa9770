"""A MariaDB of our own for tests: in a folder, on a socket in it, gone afterwards."""

import contextlib
import importlib.util
import os
import shutil
import subprocess
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from gristmill.optional import installed


def _program(name: str) -> str | None:
    # Where Debian puts servers is on the path of nobody but root.
    return shutil.which(name) or shutil.which(name, path="/usr/sbin:/usr/local/sbin")


@contextlib.contextmanager
def mariadb() -> Iterator[str]:
    """Gives the URI of a running server; skips the test, saying why, where there is none."""
    server = _program("mariadbd")
    if server is None:
        pytest.skip("MariaDB is not installed")
    if not installed("sqlalchemy") or importlib.util.find_spec("pymysql") is None:
        pytest.skip("sqlalchemy or pymysql is not installed")
    # The name of a socket may have about 100 bytes.
    folder = Path(tempfile.mkdtemp(prefix="maria-"))
    socket = folder / "socket"
    user = ["--user=root"] if os.getuid() == 0 else []
    try:
        (folder / "db").mkdir()
        # Without tables of its own: nobody needs rights on a socket that nobody else sees.
        command = [
            server, "--no-defaults", *user, f"--datadir={folder}/db", f"--socket={socket}", "--skip-networking",
            "--skip-grant-tables", f"--pid-file={folder}/pid", "--innodb-flush-log-at-trx-commit=0",
            "--character-set-server=utf8mb4",
        ]  # fmt: skip
        with (folder / "log").open("wb") as log:
            process = subprocess.Popen(command, stdout=log, stderr=log)
        try:
            for _ in range(1000):
                if "ready for connections" in (folder / "log").read_text(errors="replace"):
                    break
                assert process.poll() is None, (folder / "log").read_text(errors="replace")
                time.sleep(0.02)
            import sqlalchemy

            engine = sqlalchemy.create_engine(f"mysql+pymysql://root@/?unix_socket={socket}")
            with engine.begin() as connection:
                connection.exec_driver_sql("CREATE DATABASE test")
            engine.dispose()
            yield f"mysql+pymysql://root@/test?unix_socket={socket}&charset=utf8mb4"
        finally:
            process.terminate()
            process.wait(60)
    finally:
        shutil.rmtree(folder, ignore_errors=True)
