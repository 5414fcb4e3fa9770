"""Downloads over a Hub that goes wrong: what is survived, what is refused, how often and how fast it is tried."""

import contextlib
import os
import signal
import subprocess
import sys
import threading
import time
from datetime import datetime, timedelta, timezone
from email.utils import format_datetime
from pathlib import Path

import pytest

from gristmill.errors import (
    AccessError,
    DiskFullError,
    EntryNotFoundError,
    HubConnectionError,
    HubResponseError,
    IncompleteBodyError,
    RateLimitedError,
)
from gristmill.hub.client import HubClient
from gristmill.hub.transfer import run_parallel
from tests.hub.conftest import FILES, tree_of
from tests.hub.faulty import (
    COMMIT,
    REPO,
    FaultyHub,
    Reply,
    Seen,
    drop,
    etag_of,
    hang_up,
    longer,
    redirect,
    says,
    short,
    status,
    wrong,
)

NAME = "data/train-0.parquet"
CONTENT = FILES[NAME]
ETAG = etag_of(NAME, CONTENT)


def part_of(client: HubClient) -> Path:
    return client.cache_dir / f"datasets--org--data/blobs/{ETAG}.part"


def gets(hub: FaultyHub) -> list[Seen]:
    return hub.requests("/resolve/")


@pytest.mark.parametrize(
    ("faults", "waits"),
    [
        ([status(429)], [0.5]),
        ([status(429, Retry_After="7")], [7.0]),
        ([status(429, RateLimit='"resolvers";r=0;t=55', Retry_After="7")], [56.0]),
        ([status(429, RateLimit='"resolvers";r=3;t=55', Retry_After="7")], [7.0]),
        ([status(429, Retry_After="soon")], [0.5]),
        ([status(429, Retry_After="999999")], [300.0]),
        ([status(503, Retry_After="2")], [2.0]),
        ([status(500), status(502), status(504)], [0.5, 1.0, 2.0]),
        ([status(408)], [0.5]),
        ([hang_up, hang_up, hang_up], [0.5, 1.0, 2.0]),
        ([drop(0)], [0.5]),
        ([drop(1000), drop(100_000), drop(1)], [0.5, 1.0, 2.0]),
        ([short(1000)], [0.5]),
        ([short(0), short(0), short(0)], [0.5, 1.0, 2.0]),
        ([wrong, wrong, wrong], [0.5, 1.0, 2.0]),
        ([longer], [0.5]),
        ([status(416)], [0.5]),
        ([status(206)], [0.5]),
    ],
)
def test_survived(client, hub, sleeps, faults, waits):
    hub.script(NAME, *faults)
    assert client.pin(REPO).download(NAME).read_bytes() == CONTENT
    assert sleeps == waits
    assert len(gets(hub)) == len(faults) + 1
    assert not part_of(client).exists()


@pytest.mark.parametrize(
    ("fault", "error", "words"),
    [
        (status(429), RateLimitedError, r"slow down \(HTTP 429\).*token"),
        (status(500), HubResponseError, r"server failed \(HTTP 500\)"),
        (says({"error": "database is down"}, 503), HubResponseError, "'database is down' .HTTP 503"),
        (hang_up, HubConnectionError, "No usable answer.*HF_ENDPOINT"),
        (drop(0), HubConnectionError, "No usable answer"),
        (short(0), IncompleteBodyError, "ends after 0 of 256,000 bytes"),
        (wrong, IncompleteBodyError, f"has the hash [0-9a-f]{{64}}, not {ETAG}"),
        (longer, IncompleteBodyError, "More than the 256,000 bytes"),
        (status(206, CONTENT), HubResponseError, "not the part of the file"),
    ],
)
def test_refused_after_four_attempts(client, hub, sleeps, fault, error, words, tmp_path):
    hub.script(NAME, *[fault] * 4)
    repo = client.pin(REPO)
    with pytest.raises(error, match=words) as caught:
        repo.download(NAME)
    assert type(caught.value) is error
    assert caught.value.url == client.resolve_url(REPO, COMMIT, NAME)
    assert sleeps == [0.5, 1.0, 2.0]
    assert len(gets(hub)) == 4
    assert not (tmp_path / f"hub/datasets--org--data/blobs/{ETAG}").exists()
    assert not (tmp_path / f"hub/datasets--org--data/snapshots/{COMMIT}/{NAME}").exists()
    assert repo.download(NAME).read_bytes() == CONTENT, "the next run goes through"


def test_retry_after_as_a_date(client, hub, sleeps):
    when = format_datetime(datetime.now(timezone.utc) + timedelta(seconds=30), usegmt=True)
    hub.script(NAME, status(429, Retry_After=when), status(503, Retry_After="Mon, 01 Jan 2001 00:00:00 GMT"))
    assert client.pin(REPO).download(NAME).read_bytes() == CONTENT
    assert 25 < sleeps[0] <= 30
    assert sleeps[1] == 0


def test_a_refusal_is_not_tried_again(client, hub, sleeps):
    for fault, error in [
        (status(404, X_Error_Code="EntryNotFound"), EntryNotFoundError),
        (status(403), AccessError),
        (status(400), HubResponseError),
    ]:
        hub.script(NAME, fault)
        with pytest.raises(error):
            client.pin(REPO).download(NAME)
    assert sleeps == []


def test_metadata_requests_are_tried_again(client, hub, sleeps):
    hub.script("/revision/", hang_up)
    hub.script("/tree/", status(500), drop(3))
    assert len(client.pin(REPO).files()) == len(FILES)
    assert sleeps == [0.5, 0.5, 1.0]


def test_a_broken_download_goes_on_where_it_stopped(client, hub):
    hub.script(NAME, drop(100_000))
    client.pin(REPO).download(NAME)
    assert [seen.headers.get("range") for seen in gets(hub)] == [None, "bytes=100000-"]
    assert gets(hub)[1].headers["if-range"] == f'"{ETAG}"'
    assert all(seen.headers["accept-encoding"] == "identity" for seen in gets(hub))


def test_a_later_process_goes_on_as_well(client, hub):
    part_of(client).parent.mkdir(parents=True)
    part_of(client).write_bytes(CONTENT[:200_000])
    assert client.pin(REPO).download(NAME).read_bytes() == CONTENT
    assert [seen.headers.get("range") for seen in gets(hub)] == ["bytes=200000-"]


@pytest.mark.parametrize("left", [b"other bytes" * 100, CONTENT + b"too long", b"\0" * len(CONTENT)])
def test_a_left_over_that_does_not_fit_is_thrown_away(client, hub, left):
    part_of(client).parent.mkdir(parents=True)
    part_of(client).write_bytes(left)
    assert client.pin(REPO).download(NAME).read_bytes() == CONTENT


def test_a_whole_left_over_needs_no_request(client, hub):
    part_of(client).parent.mkdir(parents=True)
    part_of(client).write_bytes(CONTENT)
    assert client.pin(REPO).download(NAME).read_bytes() == CONTENT
    assert gets(hub) == []


@pytest.mark.parametrize(
    "fault",
    [
        lambda truth, seen: Reply(200, CONTENT),
        lambda truth, seen: Reply(
            206, CONTENT, {"Content-Range": f"bytes 0-{len(CONTENT) - 1}/{len(CONTENT)}"}
        ),
        lambda truth, seen: Reply(206, truth.body, {"Content-Range": truth.headers["Content-Range"] + "0"}),
        lambda truth, seen: Reply(206, truth.body, {"Content-Range": "lines 1-2/3"}),
        lambda truth, seen: Reply(206, truth.body),
        status(416, Content_Range="bytes */5"),
    ],
)
def test_a_server_that_gets_the_range_wrong(client, hub, fault):
    part_of(client).parent.mkdir(parents=True)
    part_of(client).write_bytes(CONTENT[:1000])
    hub.script(NAME, fault)
    assert client.pin(REPO).download(NAME).read_bytes() == CONTENT


def test_the_token_goes_to_the_endpoint_only(hub, tmp_path):
    with FaultyHub({"elsewhere": CONTENT}) as other:
        client = HubClient(hub.url, token="hf_secret", cache_dir=tmp_path, offline=False)
        hub.script(NAME, drop(1000), redirect(f"{other.url}/elsewhere"))
        other.script("elsewhere", redirect(f"{hub.url}/datasets/org/data/resolve/main/data/train-0.parquet"))
        assert client.pin(REPO).download(NAME).read_bytes() == CONTENT
        first, second, back = gets(hub)
        assert first.headers["authorization"] == second.headers["authorization"] == "Bearer hf_secret"
        assert second.headers["if-range"] == f'"{ETAG}"'
        assert back.headers["range"] == "bytes=1000-"
        for seen in [*other.seen, back]:
            assert "authorization" not in seen.headers
            assert "if-range" not in seen.headers, "another server names the content differently"
        other_file = client.download_url(f"{other.url}/elsewhere")
        assert other_file.read_bytes() == CONTENT
        assert "authorization" not in other.seen[-1].headers
        client.session.close()


def test_redirects_in_a_circle(client, hub, sleeps):
    hub.script(NAME, *[redirect(f"/datasets/{REPO}/resolve/{COMMIT}/{NAME}")] * 11)
    with pytest.raises(HubResponseError, match="circle"):
        client.pin(REPO).download(NAME)
    assert sleeps == []


@pytest.mark.parametrize("target", ["file:///etc/passwd", "ftp://127.0.0.1/x", "http://h:99999999/"])
def test_redirects_out_of_the_web(client, hub, target):
    hub.script(NAME, redirect(target))
    with pytest.raises(HubResponseError, match="no web address"):
        client.pin(REPO).download(NAME)


def test_compressed_answers_are_not_resumed_into(client, hub):
    import gzip

    hub.script(NAME, lambda truth, seen: Reply(200, gzip.compress(CONTENT), {"Content-Encoding": "gzip"}))
    assert client.pin(REPO).download(NAME).read_bytes() == CONTENT


def test_a_body_that_says_gzip_and_is_not(client, hub, sleeps):
    hub.script(NAME, lambda truth, seen: Reply(200, CONTENT, {"Content-Encoding": "gzip"}))
    assert client.pin(REPO).download(NAME).read_bytes() == CONTENT
    assert sleeps == [0.5]


def test_no_room(client, monkeypatch, tmp_path):
    import shutil

    usage = shutil.disk_usage(tmp_path)
    monkeypatch.setattr("shutil.disk_usage", lambda path: usage._replace(free=1000))
    with pytest.raises(DiskFullError, match=r"0\.3 MB and 0\.0 MB are free"):
        client.pin(REPO).download(NAME)


def test_one_failure_among_many_is_told_and_the_rest_can_go_on(client, hub):
    hub.script("notes", status(403))
    repo = client.pin(REPO)
    paths = [file.path for file in repo.files()]
    with pytest.raises(AccessError):
        repo.download_many(paths)
    assert [local.read_bytes() for local in repo.download_many(paths)] == [FILES[path] for path in paths]


def test_two_clients_at_once_fetch_once(client, hub):
    results = []

    def go():
        results.append(client.pin(REPO).download(NAME).read_bytes())

    threads = [threading.Thread(target=go) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert results == [CONTENT] * 4
    assert len(gets(hub)) == 1


def slowly(truth: Reply, seen: object) -> Reply:
    time.sleep(0.3)
    return Reply(truth.status, truth.body, truth.headers, drop_after=150_000)


def test_killed_at_any_moment_and_run_again(hub, tmp_path):
    """SIGKILL leaves a resumable .part and nothing that looks whole; the next run ends with the right bytes."""
    program = (
        "import sys; from gristmill.hub.client import HubClient\n"
        f"HubClient(sys.argv[1], False, sys.argv[2], False).pin('{REPO}').download('{NAME}')"
    )
    hub.script(NAME, *[slowly] * 4)
    process = subprocess.Popen([sys.executable, "-c", program, hub.url, str(tmp_path)])
    deadline = time.monotonic() + 60
    part = tmp_path / f"datasets--org--data/blobs/{ETAG}.part"
    while not (part.exists() and part.stat().st_size) and time.monotonic() < deadline:
        time.sleep(0.005)
    process.send_signal(signal.SIGKILL)
    process.wait()
    left = part.stat().st_size
    assert left > 0
    assert not any("snapshots" in path for path in tree_of(tmp_path))
    hub.scripts.clear()
    client = HubClient(hub.url, False, tmp_path, False)
    assert client.pin(REPO).download(NAME).read_bytes() == CONTENT
    assert gets(hub)[-1].headers["range"] == f"bytes={left}-", "what was there is not fetched again"
    assert {p for p in tree_of(tmp_path) if p.endswith((".part", ".lock", ".incomplete"))} == set()
    client.session.close()


def test_ctrl_c_ends_at_once_and_leaves_parts_only(tmp_path):
    names = {f"{n}.parquet": os.urandom(200_000) for n in range(6)}
    program = (
        "import sys; from gristmill.hub.client import HubClient\n"
        f"repo = HubClient(sys.argv[1], False, sys.argv[2], False).pin('{REPO}')\n"
        "print('go', flush=True)\n"
        "repo.download_many([file.path for file in repo.files()])"
    )

    released = threading.Event()

    def stalls(truth: Reply, seen: object) -> Reply:
        released.wait(150)
        return truth

    with FaultyHub(names) as hub, contextlib.ExitStack() as at_end:
        at_end.callback(released.set)
        hub.script("/resolve/", *[stalls] * 6)
        process = subprocess.Popen(
            [sys.executable, "-c", program, hub.url, str(tmp_path)],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )
        assert process.stdout is not None
        process.stdout.readline()
        deadline = time.monotonic() + 60
        while len(hub.requests("/resolve/")) < 6 and time.monotonic() < deadline:
            time.sleep(0.01)
        started = time.monotonic()
        process.send_signal(signal.SIGINT)
        _, errors = process.communicate(timeout=140)
        # The server is silent for 150 s; the bound leaves room for a busy machine.
        assert time.monotonic() - started < 75, "a silent server must not keep the process"
        assert b"KeyboardInterrupt" in errors
    left = {p for p in tree_of(tmp_path / "datasets--org--data") if p.startswith(("blobs", "snapshots"))}
    assert all(path.endswith(".part") for path in left)


def test_run_parallel_keeps_order_and_raises_the_first_failure():
    assert run_parallel(lambda item, stop: item * 2, list(range(50)), 8) == [2 * n for n in range(50)]
    assert run_parallel(lambda item, stop: item, [], 8) == []

    def fails(item, stop):
        if item == 3:
            raise ValueError("three")
        stop.wait(5)

    started = time.monotonic()
    with pytest.raises(ValueError, match="three"):
        run_parallel(fails, list(range(8)), 8)
    assert time.monotonic() - started < 4


def test_progress_counts_each_byte_once(client, hub, monkeypatch):
    import contextlib

    counts = []

    class Bar:
        def update(self, n: int = 1) -> None:
            counts.append(n)

    @contextlib.contextmanager
    def bar(description, total, unit, shown):
        assert shown
        counts.append(-total)
        yield Bar()

    monkeypatch.setattr("gristmill.hub.pinned.progress", bar)
    hub.script(NAME, drop(100_000), short(50), wrong, longer)
    hub.script("notes", short(2))
    client.session.policy = type(client.session.policy)(attempts=6, sleep=lambda seconds: None)
    client.pin(REPO).download_many([NAME, "notes/deep/a.txt"])
    assert sum(counts) == 0
