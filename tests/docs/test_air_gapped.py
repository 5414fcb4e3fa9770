"""The page on air-gapped clusters, followed as written: its files, its commands in one shell, its output."""

import doctest
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
from pathlib import Path

import pytest

from gristmill.hub.server import serve_in_thread
from tools.doc_blocks import code_blocks, console_commands

ROOT = Path(__file__).parent.parent.parent
PAGE = ROOT / "docs" / "guide" / "air-gapped.md"
DEMO = ROOT / "src" / "gristmill" / "demo" / "hub"
_FILE = re.compile(
    r"<!-- file: (?P<name>\S+) -->\n(?:<!-- not run[^\n]*\n)?```\w+\n(?P<text>.*?)```", re.DOTALL
)
OPTIONS = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE


def steps():
    """The commands with their output, and the files with their text, in the order of the page."""
    page = PAGE.read_text(encoding="utf-8")
    found = [
        (page[: match.start()].count("\n"), match["name"], match["text"]) for match in _FILE.finditer(page)
    ]
    for block in code_blocks(page):
        if block.language == "console":
            found += [(block.line, "", command) for command in console_commands(block.text)]
    return [(name, what) for _, name, what in sorted(found, key=lambda step: step[0])]


class Shell:
    """A bash that gets one command at a time, and tells its output and status."""

    def __init__(self, folder, environment):
        self.process = subprocess.Popen(
            ["bash", "--noprofile", "--norc"],
            cwd=folder,
            env=environment,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            start_new_session=True,
        )

    def run(self, line):
        assert self.process.stdin is not None
        self.process.stdin.write(f'{line}\necho "[status $?]"\n')
        self.process.stdin.flush()
        return self._read_until(r"\[status (\d+)\]\n")

    def wait_for(self, pattern):
        return self._read_until(pattern)[0]

    def _read_until(self, pattern):
        shown = ""
        assert self.process.stdout is not None
        for line in self.process.stdout:
            match = re.fullmatch(pattern, line)
            if match:
                return shown + (line if not match.groups() else ""), int(match[1]) if match.groups() else 0
            shown += line
        raise AssertionError(f"the shell ended: {shown}")

    def close(self):
        os.killpg(self.process.pid, signal.SIGTERM)
        self.process.communicate(timeout=30)


@pytest.fixture
def shell(tmp_path):
    tools = Path(sys.executable).parent
    assert shutil.which("gristmill", path=tools)
    environment = {
        "PATH": f"{tools}:{os.environ['PATH']}",
        "HOME": str(tmp_path / "home"),
        "LANG": "C.UTF-8",
        "PYTHONIOENCODING": "utf-8",
    }
    (tmp_path / "work").mkdir()
    shell = Shell(tmp_path / "work", environment)
    yield shell
    shell.close()


def test_the_page_as_written(shell, tmp_path):
    assert sum(isinstance(what, str) for _, what in steps()) == 2
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = str(free.getsockname()[1])
    with serve_in_thread(DEMO) as real:
        assert shell.run(f"export HF_ENDPOINT={real}") == ("", 0)
        outside = True
        for name, what in steps():
            if name:
                (tmp_path / "work" / name).write_text(what)
                continue
            line, expected = what.line.replace("8000", port), what.output.replace("8000", port)
            if line.startswith("tar -xf"):
                # Inside: another machine, on which the real Hub can't be reached and nothing was cached.
                shell.run(
                    "unset HF_ENDPOINT; mkdir ../inside; mv hub.tar ../inside; cd ../inside; rm -rf ~/.cache"
                )
                outside = False
            if line.startswith("python"):
                shutil.copy(tmp_path / "work" / "train.py", tmp_path / "inside")
            shown, status = shell.run(line)
            if line.endswith("&"):
                shown += shell.wait_for(r"export HF_ENDPOINT=.*\n")
                shown = re.sub(r"(?m)^\[\d+\] \d+\n", "", shown)
            assert status == 0, f"$ {line}\n{shown}"
            if expected.strip() and expected.strip() != "...":
                same = doctest.OutputChecker().check_output(expected, shown, OPTIONS)
                assert same, f"$ {line}\nthe page shows:\n{expected}\nprinted:\n{shown}"
    assert not outside
    assert (tmp_path / "inside/hub/datasets/ann/boolq-small/.gristmill").is_dir()
    assert (tmp_path / "inside/hub/datasets/ann/notes/.gristmill").is_dir()
