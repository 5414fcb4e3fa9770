"""Remote archives in streams: what of them is fetched, and that the rows are those of the prepared split."""

import io
import itertools
import json
import pickle
import random
import re
import tarfile
import zipfile

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from gristmill import config, load_dataset
from gristmill.errors import (
    DataError,
    DataFilesNotFoundError,
    FileFormatError,
    FileMissingError,
    GristmillError,
    HubResponseError,
    UnsafePathError,
)
from gristmill.files import retry
from gristmill.prepared import archive_parts
from tests.files.test_archives import ESCAPES, add
from tests.files.test_compression import COMPRESS
from tests.hub.faulty import REPO, FaultyHub, drop

MEMBER = 1_000_000


@pytest.fixture
def hub(tmp_path, monkeypatch):
    monkeypatch.setattr(retry.RetryPolicy, "delay", lambda self, attempt, retry_after=None: 0.0)
    archive_parts._listed.cache_clear()
    with (
        FaultyHub({"README.md": b""}) as faulty,
        config.override(
            HF_ENDPOINT=faulty.url,
            HF_HUB_CACHE=tmp_path / "hub",
            HF_DATASETS_CACHE=tmp_path / "datasets",
            DOWNLOADED_DATASETS_PATH=tmp_path / "downloads",
            EXTRACTED_DATASETS_PATH=tmp_path / "extracted",
        ),
    ):
        yield faulty


def tar(files, format=tarfile.PAX_FORMAT, links=()):
    target = io.BytesIO()
    with tarfile.open(fileobj=target, mode="w", format=format) as archive:
        for name, data in files.items():
            add(archive, name, data)
        for name, to in links:
            add(archive, name, type=tarfile.SYMTYPE, linkname=to)
    return target.getvalue()


def lines(first, size):
    found = bytearray()
    for i in itertools.count(first * 100_000):
        if len(found) >= size:
            return bytes(found)
        found += b'{"i": %d, "t": "%s"}\n' % (i, b"x" * (i % 1000))
    raise AssertionError


def fetched(hub, before=0):
    """Counts the bytes of the plain files that were asked for."""
    total = 0
    for seen in hub.seen[before:]:
        if seen.path.startswith("/plain/"):
            match = re.fullmatch(r"bytes=(\d*)-(\d+)", seen.headers.get("range", ""))
            if match is None:
                total += len(hub.files[seen.path[1:]])
            else:
                total += int(match[2]) + 1 - int(match[1]) if match[1] else int(match[2])
    return total


def stream(url, format="json", **options):
    return load_dataset(format, data_files=url, split="train", streaming=True, **options)


@pytest.fixture(scope="module")
def large():
    """20 MB: in another order than that of the names, which is the order of the rows."""
    numbers = [7, 3, *range(20)]
    return tar({f"data/{number}.jsonl": lines(number, MEMBER) for number in dict.fromkeys(numbers)})


@pytest.fixture
def url(hub, large):
    hub.files["plain/a.tar"] = large
    return f"{hub.url}/plain/a.tar"


@pytest.fixture(scope="module")
def small():
    return tar({f"data/{number}.jsonl": lines(number, 400_000) for number in (5, 10, 2, 7, 1)})


@pytest.fixture
def small_url(hub, small):
    hub.files["plain/a.tar"] = small
    return f"{hub.url}/plain/a.tar"


def test_the_first_row_of_a_tar_costs_little_of_it(hub, url, tmp_path):
    assert next(iter(stream(url))) == {"i": 0, "t": ""}
    assert fetched(hub) < 2_000_000
    assert not (tmp_path / "extracted").exists()
    assert not list(tmp_path.glob("downloads/*[0-9a-f]"))


def test_rows_are_those_of_the_prepared_split_and_of_the_local_file(hub, small_url, small, tmp_path):
    data = stream(small_url)
    assert data.num_shards == 5
    rows = list(data)
    assert fetched(hub) < 1.3 * len(small)
    assert [row["i"] // 100_000 for row in rows] == sorted(row["i"] // 100_000 for row in rows)
    assert rows == list(load_dataset("json", data_files=small_url, split="train"))
    (tmp_path / "a.tar").write_bytes(small)
    assert rows == list(stream(str(tmp_path / "a.tar")))


def test_it_goes_on_in_the_member_where_it_was(hub, url, large):
    whole = list(stream(url))
    data = stream(url)
    walk = iter(data)
    at = len(whole) * 9 // 10
    seen = list(itertools.islice(walk, at))
    state = json.loads(json.dumps(data.state_dict()))
    walk.close()
    archive_parts._listed.cache_clear()
    before = len(hub.seen)
    again = stream(url)
    again.load_state_dict(state)
    assert seen + list(again) == whole
    assert fetched(hub, before) < 0.2 * len(large)


def test_dropped_connections_go_on_in_the_middle_of_a_member(hub, small_url, small):
    whole = list(stream(small_url))
    sent, drops = [], []

    def cut(truth, seen):
        sent.append(min(len(truth.body), 70_000))
        if len(truth.body) <= 70_000:
            return truth
        drops.append(seen)
        return drop(70_000)(truth, seen)

    archive_parts._listed.cache_clear()
    hub.script("plain/", *[cut] * 200)
    assert list(stream(small_url)) == whole
    assert len(drops) >= 8
    # What had come is not asked for again.
    assert sum(sent) < 1.3 * len(small)


def test_shards_are_the_members(small_url):
    whole = [row["i"] for row in stream(small_url)]
    parts = [[row["i"] for row in stream(small_url).shard(4, index)] for index in range(4)]
    assert sorted(itertools.chain(*parts)) == sorted(whole)
    assert list(map(bool, parts)) == [True] * 4


def parquet(first):
    sink = pa.BufferOutputStream()
    pq.write_table(pa.table({"i": range(first, first + 50_000)}), sink, row_group_size=10_000)
    return sink.getvalue().to_pybytes()


@pytest.mark.parametrize(
    ("format", "make"),
    [
        ("csv", lambda first: b"i\n" + b"".join(b"%d\n" % i for i in range(first, first + 50_000))),
        ("text", lambda first: b"".join(b"row %d\n" % i for i in range(first, first + 50_000))),
        ("parquet", parquet),
    ],
)
def test_members_of_any_format_come_by_ranges(hub, format, make, tmp_path):
    suffix = {"text": "txt"}.get(format, format)
    files = {f"data/{i}.{suffix}": make(i) for i in (2, 10, 1)}
    content = tar(
        {"README.md": b"notes", ".hidden.csv": b"junk", **files, "b.csv.gz": COMPRESS["gzip"](b"i\n5\n")}
    )
    hub.files["plain/a.tar"] = content
    url = f"{hub.url}/plain/a.tar"
    rows = list(stream(url, format))
    assert not (tmp_path / "extracted").exists()
    assert rows == list(load_dataset(format, data_files=url, split="train"))


def test_a_process_that_gets_the_stream_does_not_list_again(hub, small_url):
    data = pickle.loads(pickle.dumps(stream(small_url)))
    archive_parts._listed.cache_clear()
    before = len(hub.seen)
    assert next(iter(data))["i"] == 100_000
    # A list begins with the header at the first byte.
    assert all(not seen.headers["range"].startswith("bytes=0-") for seen in hub.seen[before:])


def test_chains_name_members_that_are_read_where_they_lie(hub, url, tmp_path):
    rows = list(stream(f"tar://data/3.jsonl::{url}").take(3))
    assert [row["i"] for row in rows] == [300_000, 300_001, 300_002]
    assert fetched(hub) < 2_000_000
    before = len(hub.seen)
    matched = stream(f"tar://data/1*.jsonl::{url}")
    assert matched.num_shards == 11
    assert next(iter(matched))["i"] == 100_000
    assert fetched(hub, before) < 2_000_000
    assert not (tmp_path / "extracted").exists()
    with pytest.raises(FileMissingError, match=r'no file "data/99\.jsonl" in the archive'):
        list(stream(f"tar://data/99.jsonl::{url}"))


def test_a_tar_in_a_tar_is_read_where_it_lies(hub, large, tmp_path):
    hub.files["plain/outer.tar"] = tar({"other": b"x" * 300_000, "inner.tar": large})
    data = stream(f"tar://data/*.jsonl::tar://inner.tar::{hub.url}/plain/outer.tar")
    assert next(iter(data))["i"] == 0
    assert fetched(hub) < 2_000_000
    assert not (tmp_path / "extracted").exists()


def test_tars_of_repositories_too(hub, large, tmp_path):
    hub.files["data/train.tar"] = large
    for data in (
        stream(f"hf://datasets/{REPO}/data/train.tar"),
        load_dataset(REPO, split="train", streaming=True),  # the headers say the format, too
    ):
        assert next(iter(data))["i"] == 0
    assert not (tmp_path / "extracted").exists()


def test_what_comes_later_and_links_mean_what_they_mean_when_extracted(hub):
    target = io.BytesIO()
    with tarfile.open(fileobj=target, mode="w") as archive:
        add(archive, "b.txt", b"old\n")
        add(archive, "a.txt", type=tarfile.SYMTYPE, linkname="b.txt")
        add(archive, "c.txt", type=tarfile.SYMTYPE, linkname="nothing")
        add(archive, "b.txt", b"new\n")
    hub.files["plain/a.tar"] = target.getvalue()
    url = f"{hub.url}/plain/a.tar"
    assert [row["text"] for row in stream(url, "text")] == ["new", "new"]
    assert load_dataset("text", data_files=url, split="train")["text"][:] == ["new", "new"]


@pytest.mark.parametrize("kind", ["many", "gzip"])
def test_others_are_fetched_whole_with_the_same_rows(hub, kind, tmp_path):
    """To list a thousand small files costs more than all of them."""
    files = {f"{i}.txt": b"%d\n" % i + b"x" * 20_000 + b"\n" for i in range(300)}
    content = tar(files) if kind == "many" else COMPRESS[kind](tar(files))
    name = "a.tar" if kind == "many" else "a.tar.gz"
    hub.files[f"plain/{name}"] = content
    url = f"{hub.url}/plain/{name}"
    assert [row["text"] for row in stream(url, "text")][::2] == [str(i) for i in range(300)]
    assert fetched(hub) < 1.3 * len(content) + 200_000
    assert (tmp_path / "extracted").exists()
    assert next(iter(stream(f"tar://7.txt::{url}", "text"))) == {"text": "7"}


def packed(files, compression=zipfile.ZIP_DEFLATED):
    target = io.BytesIO()
    with zipfile.ZipFile(target, "w", compression) as archive:
        for name, data in files.items():
            archive.writestr(name, data)
    return target.getvalue()


def numbers(first, rows=150_000):
    return b"".join(
        b'{"i": %d, "t": "%x"}\n' % (i, i * 0x9E3779B97F4A7C15 % (1 << 64))
        for i in range(first, first + rows)
    )


@pytest.fixture(scope="module")
def zipped():
    return packed({f"data/{i}.jsonl": numbers(i * 1_000_000) for i in (3, 10, 1)})


@pytest.fixture
def zip_url(hub, zipped):
    hub.files["plain/a.zip"] = zipped
    return f"{hub.url}/plain/a.zip"


def test_files_in_a_zip_are_unpacked_as_they_come(hub, zip_url, zipped, tmp_path):
    assert next(iter(stream(zip_url)))["i"] == 1_000_000
    assert fetched(hub) < 0.4 * len(zipped)  # nothing of the other two
    before = len(hub.seen)
    data = stream(zip_url)
    assert data.num_shards == 3
    rows = list(data)
    assert fetched(hub, before) < 1.3 * len(zipped)
    assert not (tmp_path / "extracted").exists()
    assert rows == list(load_dataset("json", data_files=zip_url, split="train"))
    walk = iter(data)
    seen = list(itertools.islice(walk, 400_000))
    again = stream(zip_url)
    again.load_state_dict(json.loads(json.dumps(data.state_dict())))
    walk.close()
    before = len(hub.seen)
    assert seen + list(again) == rows
    # From the beginning of the member it was in, which is the last of three.
    assert fetched(hub, before) < 0.5 * len(zipped)


def test_chains_into_zips(hub, zip_url, zipped, tmp_path):
    assert next(iter(stream(f"zip://data/3.jsonl::{zip_url}")))["i"] == 3_000_000
    assert next(iter(stream(f"zip://data/1*.jsonl::{zip_url}")))["i"] == 1_000_000
    assert fetched(hub) < 0.8 * len(zipped)
    hub.files["plain/b.zip"] = packed({"inner.tar": tar({"a.txt": b"1\n"}), "x": zipped}, zipfile.ZIP_STORED)
    inner = f"{hub.url}/plain/b.zip"
    assert list(stream(f"tar://a.txt::zip://inner.tar::{inner}", "text")) == [{"text": "1"}]
    assert next(iter(stream(f"zip://data/10.jsonl::zip://x::{inner}")))["i"] == 10_000_000
    assert not (tmp_path / "extracted").exists()


@pytest.mark.parametrize("kind", ["gzip", "zstd"])
def test_a_file_named_in_a_compressed_tar_comes_as_it_is_read(hub, kind, tmp_path):
    files = {
        "a.jsonl": numbers(0, 1_000),
        "data/b.jsonl": numbers(0, 200_000),
        "c": random.Random(1).randbytes(4_000_000),
    }
    content = COMPRESS[kind](tar(files))
    hub.files["plain/a.tgz"] = content
    url = f"tar://data/b.jsonl::{hub.url}/plain/a.tgz"
    with config.override(GRISTMILL_READ_AHEAD=0):
        assert next(iter(stream(url, "text")))["text"].startswith('{"i": 0,')
    assert fetched(hub) < 0.6 * len(content)
    hub.script("plain/", *[drop(70_000)] * 5)
    data = stream(url)
    walk = iter(data)
    seen = list(itertools.islice(walk, 90_000))
    again = stream(url)
    again.load_state_dict(json.loads(json.dumps(data.state_dict())))
    walk.close()
    rows = seen + list(again)
    assert not (tmp_path / "extracted").exists()
    assert rows == list(load_dataset("json", data_files=url, split="train"))


def test_a_compressed_tar_that_is_damaged_or_hostile_ends_in_our_errors(hub):
    whole = COMPRESS["gzip"](tar({"a.txt": numbers(0, 9000), "b.txt": b"1"}))
    twice = io.BytesIO()
    with tarfile.open(fileobj=twice, mode="w:gz") as archive:
        add(archive, "a.txt", b"old")
        add(archive, "a.txt", b"new")
    cases = [
        (FileFormatError, "gzip data is damaged", whole[: len(whole) // 2]),
        (FileFormatError, "gzip data is damaged", whole[:-8] + bytes(4) + whole[-4:]),
        (FileFormatError, "twice", twice.getvalue()),
        (FileMissingError, r"no file \"a\.txt\"", COMPRESS["gzip"](tar({"b.txt": b"1"}))),
        (UnsafePathError, "evil", COMPRESS["gzip"](tar({"../evil": b"1", "a.txt": b"1"}))),
        (FileFormatError, "is no zip, tar or 7z archive", COMPRESS["gzip"](b"no tar" * 1000)),
    ]
    for number, (error, said, content) in enumerate(cases):
        hub.files[f"plain/{number}.tgz"] = content
        with pytest.raises(error, match=said):
            list(stream(f"tar://a.txt::{hub.url}/plain/{number}.tgz", "text"))


@pytest.mark.parametrize("compression", [zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED])
def test_formats_that_are_not_read_forward_are_extracted_from_packed_zips(hub, compression, tmp_path):
    hub.files["plain/a.zip"] = packed({"2.parquet": parquet(5), "1.parquet": parquet(0)}, compression)
    url = f"{hub.url}/plain/a.zip"
    rows = list(stream(url, "parquet"))
    assert (tmp_path / "extracted").exists() == (compression == zipfile.ZIP_DEFLATED)
    assert rows == list(load_dataset("parquet", data_files=url, split="train"))


def test_hostile_and_damaged_zips_end_in_our_errors(hub, monkeypatch):
    whole = packed({"a.txt": numbers(0, 1000)})
    for name in ESCAPES:
        hub.files["plain/e.zip"] = packed({"good.txt": b"1", name: b"evil"})
        with pytest.raises(UnsafePathError):
            list(stream(f"{hub.url}/plain/e.zip", "text"))
    damaged = bytearray(whole)
    damaged[len(whole) // 2] ^= 255
    headless = b"PK\x05\x06" + bytes(26) + whole[30:]
    for number, content in enumerate([bytes(damaged), whole[:-40], whole[:1000], headless]):
        hub.files[f"plain/{number}.zip"] = content
        with pytest.raises(FileFormatError, match="damaged or cut off"):
            list(stream(f"{hub.url}/plain/{number}.zip", "text"))
    monkeypatch.setattr("gristmill.files.compression._HARMLESS", 1_000_000)
    hub.files["plain/bomb.zip"] = packed({"a.txt": b"\n" * 5_000_000})
    with config.override(GRISTMILL_MAX_COMPRESSION_RATIO=10), pytest.raises(DataError, match="grows to more"):
        list(stream(f"{hub.url}/plain/bomb.zip", "text"))


@pytest.mark.parametrize("name", ESCAPES)
def test_names_that_leave_the_folder_are_refused(hub, name):
    hub.files["plain/a.tar"] = tar({"good.txt": b"1", name: b"evil"})
    for chain in ("", "tar://good.txt::", "tar://*.txt::"):
        with pytest.raises(UnsafePathError):
            list(stream(f"{chain}{hub.url}/plain/a.tar", "text"))


def test_hostile_and_damaged_tars_end_in_our_errors(hub):
    long = tarfile.TarInfo("long")
    long.type, long.size = tarfile.XHDTYPE, 1 << 40
    whole = tar({"a.txt": b"x" * 100_000, "b.txt": b"y"})
    second = bytearray(whole)
    second[100_864 + 10] ^= 1
    cases = {
        "points out of its folder": (
            UnsafePathError,
            tar({"a.txt": b"1"}, links=[("l", "../../etc/passwd")]),
        ),
        "collides": (UnsafePathError, tar({"a": b"1", "a/b": b"2"})),
        "a name or extension of": (FileFormatError, long.tobuf(tarfile.GNU_FORMAT) + bytes(1024)),
        "checksum of a header": (FileFormatError, bytes(second)),
        "middle of a member": (FileFormatError, whole[:50_000]),
        "holds no data files": (DataFilesNotFoundError, tar({".a": b"1"})),
        "is no zip, tar or 7z archive": (FileFormatError, bytes(10_240)),
    }
    for number, (said, (error, content)) in enumerate(cases.items()):
        hub.files[f"plain/{number}.tar"] = content
        with pytest.raises(error, match=said):
            list(stream(f"{hub.url}/plain/{number}.tar", "text"))
    hub.files["plain/many.tar"] = tar({f"{i}.txt": b"1" for i in range(20)})
    with (
        config.override(GRISTMILL_MAX_ARCHIVE_MEMBERS=10),
        pytest.raises(DataError, match="has more than 10 members"),
    ):
        list(stream(f"{hub.url}/plain/many.tar", "text"))


def test_a_compressed_bomb_in_a_tar_is_refused(hub, monkeypatch):
    monkeypatch.setattr("gristmill.files.compression._HARMLESS", 1_000_000)
    hub.files["plain/a.tar"] = tar({"a.txt.gz": COMPRESS["gzip"](b"\n" * 5_000_000), "b.txt": b"1"})
    with (
        config.override(GRISTMILL_MAX_COMPRESSION_RATIO=10),
        pytest.raises(GristmillError, match="times its compressed size"),
    ):
        list(stream(f"{hub.url}/plain/a.tar", "text"))


def test_an_archive_that_changes_never_mixes(hub, small_url, small):
    data = stream(small_url)
    hub.files["plain/a.tar"] = small.replace(b'"t"', b'"u"')
    with pytest.raises(HubResponseError, match=r"changed|something else was answered"):
        list(data)
