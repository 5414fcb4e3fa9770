"""Files over HTTP: headers, ranges, conditions, redirects, parallel readers, files that change."""

import hashlib
import os
import shutil
import subprocess
import threading
from urllib.parse import quote

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gristmill.hub.server import serve_in_thread
from gristmill.hub.server.hashing import blob_id
from gristmill.hub.server.resolve import ByteRange, parse_range
from tests.hub.server.conftest import FILES, TRICKY, Wire, write

BASE = "/datasets/org/tiny/resolve/main"
BIG = "data/train-00000-of-00002.parquet"
BYTES = FILES[BIG]


def commit(wire):
    return wire.get("/api/datasets/org/tiny").json["sha"]


def test_a_regular_file(wire):
    answer = wire.get(f"{BASE}/notes.txt")
    assert (answer.status, answer.body) == (200, b"0123456789")
    assert answer.headers["ETag"] == f'"{blob_id(b"0123456789")}"'
    assert answer.headers["X-Repo-Commit"] == commit(wire)
    assert answer.headers["Accept-Ranges"] == "bytes"
    assert "X-Linked-ETag" not in answer.headers
    assert "Content-Encoding" not in answer.headers


def test_an_lfs_file(wire):
    answer = wire.head(f"{BASE}/{BIG}", Accept_Encoding="gzip")
    sha256 = hashlib.sha256(BYTES).hexdigest()
    assert (answer.status, answer.body) == (200, b"")
    assert answer.headers["ETag"] == answer.headers["X-Linked-ETag"] == f'"{sha256}"'
    assert answer.headers["Content-Length"] == answer.headers["X-Linked-Size"] == str(len(BYTES))
    pointer = wire.get(f"/datasets/org/tiny/raw/main/{BIG}").body
    assert (
        pointer
        == f"version https://git-lfs.github.com/spec/v1\noid sha256:{sha256}\nsize {len(BYTES)}\n".encode()
    )
    assert wire.get("/datasets/org/tiny/raw/main/notes.txt").body == b"0123456789"


@pytest.mark.parametrize("path", FILES)
def test_every_file_under_every_name_of_the_revision(wire, path):
    sha = commit(wire)
    for revision in ("main", "HEAD", sha, sha[:7], "refs%2Fheads%2Fmain", "refs/heads/main"):
        for name in (quote(path), quote(path, safe="")):
            answer = wire.get(f"/datasets/org/tiny/resolve/{revision}/{name}?download=true")
            assert (answer.status, answer.body) == (200, FILES[path])


def test_models_have_no_prefix(wire):
    assert wire.get("/org/model/resolve/main/config.json").body == b"{}"
    assert wire.get("/models/org/model/resolve/main/config.json").body == b"{}"


@pytest.mark.parametrize(
    ("header", "expected"),
    [
        ("bytes=0-0", slice(0, 1)),
        ("bytes=10-19", slice(10, 20)),
        ("bytes=100-", slice(100, None)),
        ("bytes=-8", slice(-8, None)),
        (f"bytes=-{10**12}", slice(0, None)),
        (f"bytes=5-{10**40}", slice(5, None)),
        (f"bytes={len(BYTES) - 1}-", slice(-1, None)),
    ],
)
def test_ranges(wire, header, expected):
    answer = wire.get(f"{BASE}/{BIG}", Range=header)
    assert (answer.status, answer.body) == (206, BYTES[expected])
    start, stop, _ = expected.indices(len(BYTES))
    assert answer.headers["Content-Range"] == f"bytes {start}-{stop - 1}/{len(BYTES)}"
    assert answer.headers["X-Repo-Commit"] == commit(wire)
    assert answer.headers["ETag"] == f'"{hashlib.sha256(BYTES).hexdigest()}"'


@pytest.mark.parametrize("header", [f"bytes={len(BYTES)}-", f"bytes={10**40}-", "bytes=-0"])
def test_ranges_outside(wire, header):
    answer = wire.get(f"{BASE}/{BIG}", Range=header)
    assert answer.status == 416
    assert answer.headers["Content-Range"] == f"bytes */{len(BYTES)}"
    assert answer.headers["X-Repo-Commit"] == commit(wire)


@pytest.mark.parametrize("header", ["bytes=0-1,4-5", "lines=1-2", "bytes=5-2", "bytes=-", "bytes=a-b", ""])
def test_ranges_that_may_be_ignored_give_the_whole(wire, header):
    answer = wire.get(f"{BASE}/notes.txt", Range=header)
    assert (answer.status, answer.body) == (200, b"0123456789")


def test_an_empty_file(wire):
    assert wire.get(f"{BASE}/empty.txt").headers["Content-Length"] == "0"
    assert wire.get(f"{BASE}/empty.txt", Range="bytes=0-").status == 416
    assert wire.get(f"{BASE}/empty.txt", Range="bytes=-5").headers["Content-Range"] == "bytes */0"


@given(size=st.integers(0, 60), first=st.none() | st.integers(0, 80), last=st.none() | st.integers(0, 80))
def test_a_range_is_the_slice_it_says(size, first, last):
    header = f"bytes={'' if first is None else first}-{'' if last is None else last}"
    data = list(range(size))
    if first is None and last is not None:
        expected = data[-last:] if last else []
    else:
        expected = data[first : None if last is None else last + 1]
    got = parse_range(header, size)
    if got == "whole":
        assert (first is None and last is None) or (first is not None and last is not None and last < first)
    elif got == "unsatisfiable":
        assert expected == []
    else:
        assert isinstance(got, ByteRange)
        assert data[got.start : got.start + got.length] == expected != []


def test_conditions(wire):
    etag = wire.head(f"{BASE}/notes.txt").headers["ETag"]
    for value in (etag, f"W/{etag}", f'"other", {etag}', "*"):
        answer = wire.get(f"{BASE}/notes.txt", If_None_Match=value)
        assert (answer.status, answer.body, answer.headers["ETag"]) == (304, b"", etag)
    assert wire.get(f"{BASE}/notes.txt", If_None_Match='"other"').status == 200
    assert wire.get(f"{BASE}/notes.txt", Range="bytes=1-2", If_Range=etag).body == b"12"
    assert wire.get(f"{BASE}/notes.txt", Range="bytes=1-2", If_Range='"other"').body == b"0123456789"


@pytest.mark.parametrize(
    ("target", "status", "code"),
    [
        (f"{BASE}/nothing.txt", 404, "EntryNotFound"),
        (f"{BASE}/data", 404, "EntryNotFound"),
        ("/datasets/org/tiny/resolve/nope/notes.txt", 404, "RevisionNotFound"),
        (f"/datasets/org/tiny/resolve/{'0' * 40}/notes.txt", 404, "RevisionNotFound"),
        ("/datasets/org/missing/resolve/main/notes.txt", 401, "RepoNotFound"),
        ("/org/tiny/resolve/main/notes.txt", 401, "RepoNotFound"),
    ],
)
def test_what_is_not_there(wire, target, status, code):
    for answer in (wire.get(target), wire.head(target)):
        assert (answer.status, answer.code) == (status, code)
        assert len(answer.headers["X-Request-Id"]) == 16
        assert (answer.headers["X-Repo-Commit"] == commit(wire)) == (code == "EntryNotFound")
    assert wire.get(target).json["error"] == wire.get(target).headers["X-Error-Message"]


def test_large_files_are_redirected_if_asked(folder):
    with serve_in_thread(folder, redirect_large=1000) as endpoint:
        wire = Wire(endpoint)
        first = wire.head(f"{BASE}/{BIG}")
        assert (first.status, first.headers["X-Repo-Commit"]) == (307, commit(wire))
        assert first.headers["X-Linked-Size"] == str(len(BYTES))
        target = first.headers["Location"]
        assert target.startswith("/api/resolve-cache/datasets/org/tiny/")
        second = wire.get(target, Range="bytes=4-7")
        assert (second.status, second.body) == (206, BYTES[4:8])
        assert second.headers["X-Repo-Commit"] == commit(wire)
        assert second.headers["ETag"] == first.headers["ETag"]
        assert wire.get(f"{BASE}/{quote(TRICKY)}").status == 200


def test_many_readers_at_once(wire, repo):
    content = os.urandom(3_000_000)
    write(repo, {"big.bin": content})
    wrong = []

    def read(number):
        for turn in range(6):
            start = (number * 179_001 + turn * 31_337) % 2_000_000
            answer = wire.get(f"{BASE}/big.bin", Range=f"bytes={start}-{start + 900_000}")
            if answer.status != 206 or answer.body != content[start : start + 900_001]:
                wrong.append((number, turn, answer.status))

    threads = [threading.Thread(target=read, args=(number,)) for number in range(20)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert wrong == []


def test_a_changed_file_is_a_new_commit_and_never_old_headers_on_new_bytes(wire, repo):
    before = commit(wire)
    for number in range(30):
        content = b"%010d" % number  # the same size every time, within one tick of the file system's clock
        (repo / "notes.txt").write_bytes(content)
        answer = wire.get(f"{BASE}/notes.txt")
        assert answer.headers["ETag"] == f'"{blob_id(answer.body)}"'
        assert answer.body == content
        assert answer.headers["X-Repo-Commit"] != before
    assert wire.get(f"/datasets/org/tiny/resolve/{before}/notes.txt").code == "RevisionNotFound"


def test_github_mirror(wire):
    target = "/github/owner/repo/v1/data/a.csv"
    answer = wire.get(target)
    assert (answer.status, answer.body) == (200, b"a,b\n1,2\n")
    assert answer.headers["ETag"] == f'"{blob_id(answer.body)}"'
    assert wire.head(target).headers["Content-Length"] == "8"
    assert wire.get(target, Range="bytes=4-4").body == b"1"
    for missing in (
        "/github/owner/repo/v1/no.csv",
        "/github/owner/repo/v1",
        "/github/owner",
        "/github/owner/repo/v1/data",
    ):
        assert wire.get(missing).code == "EntryNotFound"


@pytest.mark.skipif(shutil.which("curl") is None, reason="curl is not installed")
@pytest.mark.parametrize(
    ("option", "expected"), [("0-3", BYTES[:4]), ("-4", BYTES[-4:]), ("100-", BYTES[100:])]
)
def test_curl_ranges(endpoint, option, expected):
    done = subprocess.run(
        ["curl", "-sS", "--fail", "--noproxy", "*", "-r", option, f"{endpoint}{BASE}/{BIG}"],
        capture_output=True,
        check=True,
        timeout=60,
    )
    assert done.stdout == expected
