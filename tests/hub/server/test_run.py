"""Starting and stopping: in a thread, and as the command with its signals."""

import http.client
import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import threading
import time
import urllib.request
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from gristmill.cli.main import main
from gristmill.errors import FileError, FileFormatError, InvalidArgumentError
from gristmill.hub.server import serve_in_thread
from tests.hub.server.conftest import Wire, write


def test_it_stops_quickly_also_with_open_connections(folder, repo):
    write(repo, {"big.bin": bytes(30_000_000)})
    before = set(threading.enumerate())
    with serve_in_thread(folder) as endpoint:
        address = Wire(endpoint).address
        idle = http.client.HTTPConnection(*address, timeout=120)
        idle.request("GET", "/api/datasets")
        idle.getresponse().read()
        stalled = http.client.HTTPConnection(*address, timeout=120)
        stalled.request("GET", "/datasets/org/tiny/resolve/main/big.bin")
        stalled.getresponse().read(10)
        start = time.monotonic()
    # Clients would wait two minutes; the bound is far from both, as the machine may be busy.
    assert time.monotonic() - start < 60
    idle.close()
    stalled.close()
    assert "gristmill-hub-server" not in {thread.name for thread in set(threading.enumerate()) - before}
    with pytest.raises(OSError, match="refused"):
        socket.create_connection(address, timeout=2).close()


def test_two_servers_side_by_side(folder, tmp_path):
    write(tmp_path / "two/datasets/org/second", {"a.txt": b"a"})
    with serve_in_thread(folder) as first, serve_in_thread(tmp_path / "two") as second:
        assert [item["id"] for item in Wire(first).get("/api/datasets").json] == ["org/tiny"]
        assert [item["id"] for item in Wire(second).get("/api/datasets").json] == ["org/second"]


def test_an_address_in_use(folder):
    with serve_in_thread(folder) as endpoint, pytest.raises(InvalidArgumentError, match="in use"):
        with serve_in_thread(folder, port=urlsplit(endpoint).port or 0):
            pass


@pytest.mark.parametrize("host", ["a" * 300, "..a"])
def test_a_host_that_no_host_can_be_called(folder, host):
    with pytest.raises(InvalidArgumentError, match="Can't listen on"):
        with serve_in_thread(folder, host=host):
            pass


@pytest.mark.parametrize("name", ["access.json", "revisions.json"])
@pytest.mark.parametrize("text", ["[" * 100_000, "[]", "{", "\0", None])
def test_settings_that_can_not_be_read_do_not_mean_nothing_is_set(folder, name, text):
    (folder / name).unlink(missing_ok=True)
    (folder / name).mkdir() if text is None else (folder / name).write_text(text)
    with pytest.raises(FileError if text is None else FileFormatError, match=name):
        with serve_in_thread(folder):
            pass


def test_a_host_that_does_not_exist(folder):
    with pytest.raises(InvalidArgumentError, match=r"Can't listen on no\.such\.host\.invalid:0"):
        with serve_in_thread(folder, host="no.such.host.invalid"):
            pass


def test_a_reader_that_leaves_frees_the_file(folder, repo):
    write(repo, {"big.bin": bytes(50_000_000)})

    def open_files():
        return sum(os.path.realpath(each).endswith("big.bin") for each in Path("/proc/self/fd").iterdir())

    with serve_in_thread(folder) as endpoint:
        address = Wire(endpoint).address
        for _ in range(5):
            connection = http.client.HTTPConnection(*address, timeout=10)
            connection.request("GET", "/datasets/org/tiny/resolve/main/big.bin")
            connection.getresponse().read(10)
            connection.close()
        deadline = time.monotonic() + 10
        while open_files() and time.monotonic() < deadline:
            time.sleep(0.02)
        assert open_files() == 0


@pytest.mark.skipif(shutil.which("curl") is None, reason="curl is not installed")
def test_curl_keeps_the_connection(endpoint):
    url = f"{endpoint}/datasets/org/tiny/resolve/main/notes.txt"
    done = subprocess.run(
        [
            "curl",
            "-sS",
            "--noproxy",
            "*",
            "-w",
            "%{num_connects} ",
            "-o",
            "/dev/null",
            url,
            "-o",
            "/dev/null",
            url,
        ],
        capture_output=True,
        check=True,
        timeout=60,
    )
    assert done.stdout.split() == [b"1", b"0"]


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_the_command(folder, number):
    command = [
        sys.executable,
        "-W",
        "error",
        "-m",
        "gristmill",
        "hub",
        "serve",
        str(folder),
        "--port",
        "0",
        "--json",
    ]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        told = json.loads("".join(process.stdout.readline() for _ in range(4)))
        with urllib.request.urlopen(f"{told['endpoint']}/api/datasets/org/tiny", timeout=20) as answer:
            assert json.load(answer)["id"] == "org/tiny"
        process.send_signal(number)
        out, errors = process.communicate(timeout=20)
    assert (process.returncode, out, errors) == (0, "", "")


def test_the_command_says_what_to_export(folder):
    command = [sys.executable, "-m", "gristmill", "hub", "serve", str(folder), "--port", "0"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        first, second = process.stdout.readline(), process.stdout.readline()
        endpoint = second.removeprefix("export HF_ENDPOINT=").strip()
        assert first == f"Serving {folder} at {endpoint} (Ctrl-C stops)\n"
        process.terminate()
        assert process.communicate(timeout=20) == ("", "The server has stopped.\n")
    assert process.returncode == 0


def test_the_command_serves_the_hub_of_the_demo():
    command = [sys.executable, "-m", "gristmill", "hub", "serve", "--demo", "--port", "0"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        process.stdout.readline()
        endpoint = process.stdout.readline().removeprefix("export HF_ENDPOINT=").strip()
        with urllib.request.urlopen(f"{endpoint}/api/datasets/google/boolq", timeout=20) as answer:
            assert json.load(answer)["id"] == "google/boolq"
        process.terminate()
        assert process.communicate(timeout=20) == ("", "The server has stopped.\n")


def test_the_command_says_that_a_folder_holds_no_repository(tmp_path):
    (tmp_path / "org" / "name").mkdir(parents=True)  # one folder too deep is what people name
    command = [sys.executable, "-m", "gristmill", "hub", "serve", str(tmp_path), "--port", "0"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        assert process.stderr is not None
        assert "There is no repository in" in process.stderr.readline()
        process.terminate()


@pytest.mark.parametrize("words", [[], ["--demo", "."], ["--demo", "--allow-write"]])
def test_the_command_wants_one_folder(words, capsys):
    assert main(["hub", "serve", *words]) == 2
    assert "--demo" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (["--mirror", "--mirror-max", "big"], "Invalid value for '--mirror-max': 'big' is no size"),
        (["--mirror", "--mirror-max", "0"], "Invalid value for '--mirror-max': "),
        (["--convert-max", "-1GB"], "Invalid value for '--convert-max': '-1GB' is no size"),
    ],
)
def test_a_size_that_is_none_is_told_by_the_name_of_its_option(words, says, tmp_path, capsys):
    assert main(["hub", "serve", str(tmp_path), *words]) == 2
    assert says in capsys.readouterr().err
