"""A warm process that forks a child a job, for tests that kill jobs at many points: no import is paid for twice."""

import contextlib
import json
import os
import signal
import subprocess
import sys
import textwrap
from typing import Any

from typing_extensions import Self

_SERVER = """
import contextlib, importlib, json, os, sys, tempfile
{program}
def serve():
    for line in sys.stdin:
        with tempfile.TemporaryFile("w+") as imported:
            known = set(sys.modules)
            child = os.fork()
            if child == 0:
                try:
                    run(*json.loads(line))
                    imported.write(json.dumps([name for name in list(sys.modules) if name not in known]))
                    imported.flush()
                except BaseException as error:
                    print(json.dumps({{"error": repr(error)}}), flush=True)
                    os._exit(1)
                os._exit(0)
            print(json.dumps({{"pid": child}}), flush=True)
            _, status = os.waitpid(child, 0)
            # What a job had to import is there for the next.
            imported.seek(0)
            for name in json.loads(imported.read() or "[]"):
                with contextlib.suppress(ImportError):
                    importlib.import_module(name)
        print(json.dumps({{"status": os.waitstatus_to_exitcode(status)}}), flush=True)
serve()
"""


class Forks:
    """Runs ``run(*arguments)`` of a program in children of one process that has done the program's imports.

    Args:
        program: Python source that defines ``run``.
    """

    def __init__(self, program: str) -> None:
        source = _SERVER.format(program=textwrap.dedent(program))
        self._server = subprocess.Popen(
            [sys.executable, "-c", source], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        assert self._server.stdin is not None
        self._server.stdin.close()
        self._server.wait(30)
        assert self._server.stdout is not None
        self._server.stdout.close()

    def start(self, *arguments: object) -> int:
        """Starts one job and gives its process id."""
        assert self._server.stdin is not None
        self._server.stdin.write(json.dumps(list(map(str, arguments))) + "\n")
        self._server.stdin.flush()
        return int(self._answer()["pid"])

    def end(self) -> int:
        """Waits for the job: its exit status, negative if a signal ended it."""
        answer = self._answer()
        assert "error" not in answer, answer
        return int(answer["status"])

    def kill(self, pid: int) -> int:
        """Kills the job, if it still runs, and gives its exit status."""
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)
        return self.end()

    def _answer(self) -> dict[str, Any]:
        assert self._server.stdout is not None
        line = self._server.stdout.readline()
        assert line, "the process that forks is gone"
        answer: dict[str, Any] = json.loads(line)
        return answer
