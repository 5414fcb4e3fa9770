"""Two hundred readers at once while somebody pushes: every byte right, no error, and memory that stays flat."""

import hashlib
import http.client
import os
import random
import re
import signal
import subprocess
import sys
import threading
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from tests.hub.server.conftest import Writer, file, write

SIZE, READERS, ROUNDS = 48_000_000, 200, 6
LARGEST = 700_000
PATH = "data/big.parquet"


@pytest.fixture
def served(tmp_path):
    content = random.Random(8).randbytes(SIZE)
    write(tmp_path / "hub/datasets/org/data", {PATH: content})
    command = [sys.executable, "-m", "gristmill", "hub", "serve", str(tmp_path / "hub"), "--port", "0"]
    server = subprocess.Popen([*command, "--allow-write"], stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    assert server.stdout is not None
    for line in server.stdout:
        found = re.search(rb"http://127\.0\.0\.1:\d+", line)
        if found is not None:
            break
    else:
        pytest.fail("the server did not start")
    try:
        yield found[0].decode(), content, server.pid
    finally:
        server.send_signal(signal.SIGTERM)
        server.communicate(timeout=60)


def most_memory(pid):
    return int(re.findall(r"VmHWM:\s+(\d+) kB", Path(f"/proc/{pid}/status").read_text())[0]) * 1024


@pytest.mark.skipif(not Path("/proc/self/status").is_file(), reason="needs /proc to see the memory")
def test_readers_and_a_push(served):
    endpoint, content, pid = served
    url = f"/datasets/org/data/resolve/main/{PATH}"
    address = (urlsplit(endpoint).hostname, urlsplit(endpoint).port)
    writer = Writer(endpoint)
    assert writer.head(url).headers["X-Linked-ETag"].strip('"') == hashlib.sha256(content).hexdigest()
    assert writer.create("org/new").status == 200
    start, stop = threading.Barrier(READERS + 1), threading.Event()
    failures: list[str] = []
    pushed: list[int] = []

    def read(number):
        draw = random.Random(number)
        connection = http.client.HTTPConnection(*address, timeout=120)
        try:
            start.wait()
            for _ in range(ROUNDS):
                length = draw.randint(1, LARGEST)
                first = draw.randrange(SIZE - length)
                connection.request("GET", url, headers={"Range": f"bytes={first}-{first + length - 1}"})
                answer = connection.getresponse()
                body = answer.read()
                wanted = content[first : first + length]
                if (answer.status, hashlib.sha256(body).digest()) != (206, hashlib.sha256(wanted).digest()):
                    failures.append(f"{answer.status}, {len(body)} bytes at {first}")
        except Exception as error:  # noqa: BLE001  # told by the main thread
            failures.append(repr(error))
        finally:
            connection.close()

    def push():
        start.wait()
        while not stop.is_set():
            oid = writer.send_lfs(os.urandom(3_000_000), "org/data")
            number = len(pushed)
            done = writer.commit(
                ("lfsFile", {"path": f"more/{number}.bin", "algo": "sha256", "oid": oid}),
                file(f"notes/{number}.txt", b"%d" % number),
                repo="org/data",
            )
            pushed.append(done.status)

    threads = [threading.Thread(target=read, args=(number,)) for number in range(READERS)]
    pushing = threading.Thread(target=push)
    before = most_memory(pid)
    for thread in (*threads, pushing):
        thread.start()
    for thread in threads:
        thread.join()
    stop.set()
    pushing.join()
    assert failures == []
    assert pushed
    assert set(pushed) == {200}
    # What is on its way to 200 readers at once would be 70 MB.
    assert most_memory(pid) - before < 40_000_000
