"""Xet uploads: the formats by their laws, and what the server does with parts that are missing, wrong or hostile."""

import contextlib
import hashlib
import struct
import tracemalloc

import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from gristmill.hub.server import xet_store
from gristmill.hub.server.errors import Refusal
from gristmill.hub.server.hashing import blob_id
from gristmill.hub.server.xet_format import (
    GROUPED_LZ4,
    LARGEST_CHUNK,
    LARGEST_CONTENT,
    LZ4,
    MOST_CHUNKS,
    PLAIN,
    Term,
    decode_chunks,
    hash_bytes,
    hash_text,
    index_xorb,
    parse_shard,
    ungroup,
)
from tests.hub.server.conftest import Writer, file

CHUNKS = st.lists(st.binary(min_size=1, max_size=300), min_size=1, max_size=6)
SCHEMES = st.lists(st.sampled_from([PLAIN, LZ4, GROUPED_LZ4]), min_size=6, max_size=6)


def lz4(data):
    return pa.compress(data, codec="lz4", asbytes=True)


def chunk(data, scheme=PLAIN):
    packed = data
    if scheme == LZ4:
        packed = lz4(data)
    elif scheme == GROUPED_LZ4:
        packed = lz4(b"".join(data[group::4] for group in range(4)))
    header = b"\0" + len(packed).to_bytes(3, "little") + bytes([scheme]) + len(data).to_bytes(3, "little")
    return header + packed


def xorb(chunks, schemes=(PLAIN,) * 6):
    return b"".join(chunk(data, scheme) for data, scheme in zip(chunks, schemes, strict=False))


def shard(files, verification=False):
    """Writes (sha256 or None, [(xorb hash, start, end, length)]) as a shard."""
    out = bytearray(b"HFRepoMetaData\0".ljust(32, b"\x55") + struct.pack("<QQ", 2, 0))
    for sha256, terms in files:
        flags = (1 << 30) * (sha256 is not None) | (1 << 31) * verification
        out += bytes(32) + struct.pack("<IIQ", flags, len(terms), 0)
        for hash, start, end, length in terms:
            out += hash_bytes(hash) + struct.pack("<IIII", 0, length, start, end)
        out += bytes(48) * len(terms) * verification
        if sha256 is not None:
            out += hash_bytes(sha256) + bytes(16)
    return bytes(out + b"\xff" * 32 + bytes(16))


@given(st.binary(min_size=32, max_size=32))
def test_hashes(raw):
    assert hash_bytes(hash_text(raw)) == raw


@given(st.binary(max_size=50))
def test_ungroup(data):
    assert ungroup(b"".join(data[group::4] for group in range(4))) == data


@settings(max_examples=60)
@given(CHUNKS, SCHEMES, st.binary(max_size=20))
def test_chunks(chunks, schemes, footer):
    content = xorb(chunks, schemes)
    for whole in (content, content + b"XETBLOB" + footer):
        offsets = index_xorb(whole)
        assert list(decode_chunks(whole, offsets, 0, len(chunks))) == chunks
        assert offsets[-1] == len(content)


@settings(max_examples=150)
@given(CHUNKS, SCHEMES, st.data())
def test_damaged_xorbs_are_refused_or_other_bytes(chunks, schemes, data):
    content = bytearray(xorb(chunks, schemes))
    content[data.draw(st.integers(0, len(content) - 1))] ^= data.draw(st.integers(1, 255))
    damaged = bytes(content[: data.draw(st.integers(0, len(content)))])
    with contextlib.suppress(Refusal):
        offsets = index_xorb(damaged)
        for decoded in decode_chunks(damaged, offsets, 0, len(offsets) - 1):
            assert 0 < len(decoded) <= LARGEST_CHUNK


def test_a_frame_that_holds_less_or_more_than_it_says():
    for told in (3, 7, LARGEST_CHUNK, LARGEST_CHUNK + 1):
        packed = lz4(b"12345")
        content = b"\0" + len(packed).to_bytes(3, "little") + b"\1" + told.to_bytes(3, "little") + packed
        with pytest.raises(Refusal):
            list(decode_chunks(content, index_xorb(content), 0, 1))


HASHES = st.binary(min_size=32, max_size=32).map(hash_text).filter(lambda text: text != "f" * 64)
NUMBERS = st.integers(0, 2**32 - 1)
TERMS = st.lists(st.tuples(HASHES, NUMBERS, NUMBERS, NUMBERS), max_size=3)


@settings(max_examples=60)
@given(st.lists(st.tuples(st.none() | HASHES, TERMS), max_size=3), st.booleans(), st.data())
def test_shards(files, verification, data):
    content = shard(files, verification)
    told = [(f.sha256, [(t.xorb, t.start, t.end, t.length) for t in f.terms]) for f in parse_shard(content)]
    assert told == files
    cut = content[: data.draw(st.integers(0, len(content) - 17))]
    with pytest.raises(Refusal):
        list(parse_shard(cut))


def test_a_shard_that_promises_more_terms_than_it_has():
    content = bytearray(shard([(None, [])]))
    struct.pack_into("<I", content, 48 + 36, 2**32 - 1)
    with pytest.raises(Refusal):
        list(parse_shard(bytes(content)))


class Xet:
    """A small client of the upload protocol."""

    def __init__(self, writer: Writer, repo: str = "org/new") -> None:
        self.writer = writer
        told = writer.get(f"/api/datasets/{repo}/xet-write-token/main")
        assert told.headers["X-Xet-Cas-Url"] == told.json["casUrl"]
        assert told.json["casUrl"].startswith(f"{writer.endpoint}/api/xet/")
        self.cas = told.json["casUrl"].removeprefix(writer.endpoint)
        self.headers = {"Authorization": f"Bearer {told.json['accessToken']}"}

    def xorb(self, hash, content):
        return self.writer.ask("POST", f"{self.cas}/v1/xorbs/default/{hash}", content, **self.headers)

    def shard(self, content):
        return self.writer.ask("POST", f"{self.cas}/v1/shards", content, **self.headers)


A, B = "a" * 64, "b" * 64


def test_an_upload(writer, folder):
    xet, chunks = Xet(writer), [b"0123456789" * 50, b"abc" * 100, b"\0" * 999]
    assert xet.xorb(A, xorb(chunks, (PLAIN, LZ4, GROUPED_LZ4))).json == {"was_inserted": True}
    whole = b"".join([chunks[1], chunks[2], chunks[0], chunks[1]])
    sha256 = hashlib.sha256(whole).hexdigest()
    terms = [(A, 1, 3, 1299), (A, 0, 2, 800)]
    assert xet.shard(shard([(sha256, terms)], verification=True)).json == {"result": 1}
    assert xet.shard(shard([(sha256, terms)])).json == {"result": 0}
    operation = ("lfsFile", {"path": "x.bin", "algo": "sha256", "oid": sha256, "size": len(whole)})
    assert writer.commit(operation).status == 200
    assert writer.get("/datasets/org/new/resolve/main/x.bin").body == whole
    told = writer.get("/api/datasets/org/new/tree/main").json
    assert "xetHash" not in told[-1]


def test_what_is_asked_on_the_way_is_not_there(writer):
    for method, path in [
        ("GET", "v1/chunks/default/" + A),
        ("POST", "v1/xorb-grants/default/" + A),
        ("POST", "v2/shards"),
    ]:
        assert writer.ask(method, f"{Xet(writer).cas}/{path}", b"").status == 404


def test_refused(writer, folder):
    xet = Xet(writer)
    content = xorb([b"12345", b"678"])
    assert xet.xorb(A, content).status == 200
    good = hashlib.sha256(b"12345").hexdigest()
    for wrong in [
        [("0" * 64, [(A, 0, 1, 5)])],  # another sha256
        [(good, [(A, 0, 1, 6)])],  # another length
        [(good, [(A, 0, 3, 8)])],  # more chunks than there are
        [(good, [(A, 1, 1, 0)])],  # none
        [(good, [(B, 0, 1, 5)])],  # no such xorb
        [(None, [(A, 0, 1, 5)])],  # no sha256
    ]:
        assert xet.shard(shard(wrong)).status == 400
    for bad in (b"", b"nonsense", content[:-1], b"\1" + content[1:]):
        assert xet.xorb(B, bad).status == 400
        assert xet.shard(bad).status == 400
    assert xet.xorb("..%2F..%2Fx", content).status == 400
    for headers in ({}, {"Authorization": "Bearer nonsense"}):
        assert writer.ask("POST", f"{xet.cas}/v1/xorbs/default/{A}", content, **headers).status == 401
        assert writer.ask("POST", f"{xet.cas}/v1/shards", b"", **headers).status == 401
    assert writer.commit(("lfsFile", {"path": "x", "oid": good})).status == 400
    assert [p.name for p in folder.glob("datasets/org/new/.gristmill/xet/*/*")] == [A]
    assert list(folder.glob("datasets/org/new/.gristmill/tmp/*")) == []
    # A xorb that was wrong under this name does not stay in the way of the right one.
    assert xet.xorb(A, xorb([b"other"])).status == 200
    assert xet.shard(shard([(hashlib.sha256(b"other").hexdigest(), [(A, 0, 1, 5)])])).status == 200


def test_stores_go_when_nothing_refers_to_them(writer, folder, monkeypatch):
    first = Xet(writer)
    first.xorb(A, xorb([b"12345"]))
    assert Xet(writer).cas == first.cas  # an upload that begins soon after need not send it again
    assert [p.name for p in folder.glob("datasets/org/new/.gristmill/xet/*/*")] == [A]
    monkeypatch.setattr("gristmill.hub.server.xet_store.GIVEN_OUT_SECONDS", -10.0)
    second = Xet(writer)
    # Under another address, the client knows that it has to send everything. Uploads that run go on.
    assert second.cas != first.cas
    good = hashlib.sha256(b"12345").hexdigest()
    assert second.shard(shard([(good, [(A, 0, 1, 5)])])).status == 400
    assert first.shard(shard([(good, [(A, 0, 1, 5)])])).status == 200
    monkeypatch.setattr("gristmill.hub.server.xet_store.KEEP_SECONDS", -10.0)
    third = Xet(writer)
    assert first.xorb(A, xorb([b"12345"])).status == 404
    assert [p.name for p in folder.glob("datasets/org/new/.gristmill/xet/*")] == [third.cas.split("/")[-1]]


def test_nothing_of_another_repository_is_reached(writer, folder):
    assert writer.create("org/other").status == 200
    mine, other = Xet(writer), Xet(writer, "org/other")
    assert mine.cas != other.cas
    assert mine.xorb(A, xorb([b"12345"])).status == 200
    wanted = shard([(hashlib.sha256(b"12345").hexdigest(), [(A, 0, 1, 5)])])
    # Neither by the hash in a store of one's own, nor with one's own token at the address of the other store.
    assert other.shard(wanted).status == 400
    address, other.cas = other.cas, mine.cas
    assert other.shard(wanted).status == 404
    for odd in ("..", "../xet", "%2e%2e", "0" * 10, "0000000000-0123456789abcdef%00"):
        other.cas = f"/api/xet/{odd}"
        assert other.shard(wanted).status in (400, 404)
    assert mine.shard(wanted).status == 200
    # A repository that is deleted and made again does not have what was sent to the one before.
    assert writer.post("/api/repos/delete", {"name": "org/new", "type": "dataset"}, "DELETE").status == 200
    assert mine.shard(wanted).status == 404
    assert writer.create("org/new").status == 200
    assert mine.shard(wanted).status == 404
    assert Xet(writer).cas not in (mine.cas, address)


def test_what_no_commit_came_for_goes_after_a_day(writer, folder, monkeypatch):
    xet = Xet(writer)
    assert xet.xorb(A, xorb([b"wanted", b"other"])).status == 200
    wanted, other = hashlib.sha256(b"wanted").hexdigest(), hashlib.sha256(b"other").hexdigest()
    assert xet.shard(shard([(wanted, [(A, 0, 1, 6)]), (other, [(A, 1, 2, 5)])])).status == 200
    assert writer.commit(("lfsFile", {"path": "x.bin", "oid": wanted})).status == 200
    late = writer.send_lfs(b"by lfs")
    stale = writer.commit(file("a.txt", b"stale"), parent="0" * 40)
    assert stale.status == 412

    def kept():
        return {p.name for p in folder.glob("datasets/org/new/.gristmill/objects/*/*")}

    Xet(writer)
    assert kept() >= {wanted, other, late}
    monkeypatch.setattr("gristmill.hub.server.pending.KEEP_SECONDS", -10.0)
    before = kept()
    Xet(writer)
    assert before - kept() == {other, late, blob_id(b"stale")}
    assert writer.get("/datasets/org/new/resolve/main/x.bin").body == b"wanted"
    assert not list(folder.glob("datasets/org/new/.gristmill/pending/*"))
    # What is noted although a commit refers to it stays.
    (folder / "datasets/org/new/.gristmill/pending" / wanted).touch()
    Xet(writer)
    assert writer.get("/datasets/org/new/resolve/main/x.bin").body == b"wanted"


def test_tokens_hold_for_a_time(writer, monkeypatch):
    monkeypatch.setattr("gristmill.hub.server.xet_api._HOLDS", -1)
    assert Xet(writer).xorb(A, xorb([b"1"])).status == 401


def test_a_shard_of_very_many_terms_takes_no_memory():
    count = 20_000
    content = bytearray(shard([(A, [(B, 0, 1, 7)])]))
    term = content[96:144]
    struct.pack_into("<I", content, 48 + 36, count)
    content[96:144] = term * count
    tracemalloc.start()
    try:
        [found] = parse_shard(bytes(content))
        assert (found.sha256, found.size, len(found.terms)) == (A, 7 * count, count)
        assert sum(each == Term(B, 0, 1, 7) for each in found.terms) == count
        _, most = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert most < len(content) + 20_000  # the copy that this test makes, and no list


@pytest.mark.parametrize(
    "bad",
    [
        xorb([b"x"]) * (MOST_CHUNKS + 1),
        chunk(bytes(LARGEST_CHUNK), LZ4) * (LARGEST_CONTENT // LARGEST_CHUNK + 1),
    ],
    ids=["chunks", "bytes"],
)
def test_xorbs_of_more_than_any_client_makes_are_refused(writer, folder, bad):
    answer = Xet(writer).xorb(A, bad)
    assert answer.status == 400
    assert "when unpacked at most" in answer.json["error"]
    assert not list(folder.glob("datasets/org/new/.gristmill/xet/*/*"))
    assert not list(folder.glob("datasets/org/new/.gristmill/tmp/*"))


def test_a_term_that_says_less_than_its_chunks_hold_writes_no_more_than_it_says(writer, folder, monkeypatch):
    xet = Xet(writer)
    assert xet.xorb(A, chunk(bytes(LARGEST_CHUNK), LZ4) * 1000).status == 200
    written = []
    keep = xet_store.XorbStore._write

    def counted(self, file, target):
        try:
            return keep(self, file, target)
        finally:
            written.append(target.tell())

    monkeypatch.setattr(xet_store.XorbStore, "_write", counted)
    assert xet.shard(shard([("0" * 64, [(A, 0, 1000, 5)])])).status == 400
    assert written == [0]
    assert not list(folder.glob("datasets/org/new/.gristmill/tmp/*"))


def test_a_file_that_no_disk_holds_is_refused_before_it_is_made(writer, folder):
    xet = Xet(writer)
    assert xet.xorb(A, chunk(bytes(LARGEST_CHUNK), LZ4)).status == 200
    huge = [(A, 0, 1, 2**32 - 1)] * 100_000  # 400 TB
    answer = xet.shard(shard([("0" * 64, huge)]))
    assert (answer.status, "no room" in answer.json["error"]) == (507, True)
    assert not list(folder.glob("datasets/org/new/.gristmill/tmp/*"))


def test_a_file_of_parts_of_many_xorbs_in_any_order(writer, monkeypatch):
    xet = Xet(writer)
    parts = {f"{number:064x}": [b"%d" % number * 9, b"-%d" % number] for number in range(20)}
    for hash, chunks in parts.items():
        assert xet.xorb(hash, xorb(chunks)).status == 200
    order = [(hash, first) for _ in range(5) for first in (0, 1) for hash in parts]
    whole = b"".join(parts[hash][first] for hash, first in order)
    sha256 = hashlib.sha256(whole).hexdigest()
    terms = [(hash, first, first + 1, len(parts[hash][first])) for hash, first in order]
    # Where the chunks are was noted when the xorbs came; looking for them anew each time would take for ever.
    monkeypatch.setattr(xet_store, "index_xorb", None)
    assert xet.shard(shard([(sha256, terms)])).json == {"result": 1}
    assert writer.commit(("lfsFile", {"path": "x.bin", "oid": sha256})).status == 200
    assert writer.get("/datasets/org/new/resolve/main/x.bin").body == whole


def test_xorbs_that_an_older_version_received_are_still_read(writer, folder):
    xet = Xet(writer)
    assert xet.xorb(A, xorb([b"12345", b"678"])).status == 200
    [path] = folder.glob("datasets/org/new/.gristmill/xet/*/*")
    path.write_bytes(xorb([b"12345", b"678"]))
    sha256 = hashlib.sha256(b"12345678").hexdigest()
    assert xet.shard(shard([(sha256, [(A, 0, 2, 8)])])).json == {"result": 1}


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.data())
def test_hostile_containers_are_refused(writer, data):
    """Cut off, with numbers and bytes that lie, in any place: a clear answer, and the next upload works."""
    xet = Xet(writer)
    good_xorb = bytearray(xorb([b"hello", b"world" * 20], (PLAIN, LZ4)))
    sha256 = hashlib.sha256(b"hello").hexdigest()
    good_shard = bytearray(shard([(sha256, [(A, 0, 1, 5)]), (A, [(A, 1, 2, 100)])], verification=True))
    for content in (good_xorb, good_shard):
        for _ in range(data.draw(st.integers(0, 4))):
            at = data.draw(st.integers(0, len(content) - 4))
            content[at : at + 4] = data.draw(
                st.sampled_from([b"\xff" * 4, bytes(4), b"\0\0\0\x80"]) | st.binary(min_size=4, max_size=4)
            )
        del content[data.draw(st.just(len(content)) | st.integers(0, len(content))) :]
    answers = [xet.xorb(A, bytes(good_xorb)), xet.shard(bytes(good_shard))]
    for answer in answers:
        assert answer.status in (200, 400, 507), answer.body
    assert xet.xorb(B, xorb([b"next"])).status == 200
    fine = hashlib.sha256(b"next").hexdigest()
    assert xet.shard(shard([(fine, [(B, 0, 1, 4)])])).status == 200
