"""Parquet files that the server makes of CSV and JSON files when somebody asks for them."""

import errno
import io
import json
import signal
import subprocess
import sys
import time
import urllib.request
from concurrent.futures import ThreadPoolExecutor

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from gristmill.errors import DataError, FileError
from gristmill.hub.server import conversion, converted, serve_in_thread
from gristmill.hub.server.conversion_job import outcome
from gristmill.hub.server.converted import Tries
from tests.hub.server.conftest import Wire, Writer, file, write

API = "/api/datasets/org/rows/parquet"
CSV = b"word,count\nhello,1\nmoin,2\n"


@pytest.fixture
def folder(tmp_path):
    write(
        tmp_path / "hub/datasets/org/rows",
        {
            "README.md": b"# Rows\n",
            "train.csv": CSV,
            "test-0.csv": b"word,count\na,1\n",
            "test-1.csv": b"word,count\nb,2.5\n",
        },
    )
    return tmp_path / "hub"


def put(folder, files, repo="org/rows"):
    import shutil

    shutil.rmtree(folder / "datasets" / repo)
    write(folder / "datasets" / repo, files)


def fetch(wire, url):
    with urllib.request.urlopen(url) as answer:
        return pq.read_table(io.BytesIO(answer.read()))


def ask(wire, path=API):
    """Asks again while it is told to, as clients do."""
    while (answer := wire.get(path)).status == 503:
        assert answer.headers["Retry-After"] == "5"
        time.sleep(0.1)
    return answer


def listing(wire, path=API):
    answer = ask(wire, path)
    assert answer.status == 200, answer.body
    return answer.json


def kept(folder, repo="org/rows"):
    found = (folder / "datasets" / repo / ".gristmill/convert").glob("*")
    return sorted(path.name for path in found)


def test_csv_files_are_listed_as_parquet(folder):
    with serve_in_thread(folder) as endpoint:
        wire = Wire(endpoint)
        told = listing(wire)
        assert {config: sorted(splits) for config, splits in told.items()} == {"default": ["test", "train"]}
        assert fetch(wire, told["default"]["train"][0]).to_pydict() == {
            "word": ["hello", "moin"],
            "count": [1, 2],
        }
        # Types are settled over all files of a split.
        assert fetch(wire, told["default"]["test"][0]).to_pydict() == {
            "word": ["a", "b"],
            "count": [1.0, 2.5],
        }
        assert listing(wire, f"{API}/default/train") == told["default"]["train"]
        assert listing(wire, f"{API}/default") == told["default"]
        for revision in ("refs%2Fconvert%2Fparquet", "refs/convert/parquet", "~parquet"):
            answer = wire.get(f"/datasets/org/rows/resolve/{revision}/default/train/0000.parquet")
            assert pq.read_table(io.BytesIO(answer.body)).num_rows == 2
        tree = wire.get("/api/datasets/org/rows/tree/~parquet?recursive=true").json
        assert {item["path"] for item in tree if item["type"] == "file"} == {
            "default/test/0000.parquet",
            "default/train/0000.parquet",
        }
        [ref] = wire.get("/api/datasets/org/rows/refs").json["converts"]
        assert ref["targetCommit"] == wire.get("/api/datasets/org/rows/revision/~parquet").json["sha"]
        # What is made is no part of the repository.
        assert "train.csv" in [item["path"] for item in wire.get("/api/datasets/org/rows/tree/main").json]
        assert len(wire.get("/api/datasets/org/rows/tree/main?recursive=true").json) == 4


def test_it_is_made_once_and_kept(folder, monkeypatch):
    runs = []
    before = conversion.Converter._in_process

    def counted(self, *rest):
        runs.append(1)
        return before(self, *rest)

    monkeypatch.setattr(conversion.Converter, "_in_process", counted)
    with serve_in_thread(folder) as endpoint, ThreadPoolExecutor(6) as pool:
        wire = Wire(endpoint)
        assert len({json.dumps(told) for told in pool.map(lambda _: listing(wire), range(6))}) == 1
    assert runs == [1]
    with serve_in_thread(folder) as endpoint:
        listing(Wire(endpoint))
    assert runs == [1]
    [commit] = kept(folder)
    assert len(commit) == 40


def test_a_change_is_converted_anew_and_old_ones_go(folder):
    with serve_in_thread(folder) as endpoint:
        wire = Wire(endpoint)
        for number in range(4):
            (folder / "datasets/org/rows/train.csv").write_text(f"word\n{number}\n")
            url = listing(wire, f"{API}/default/train")[0]
            assert fetch(wire, url).to_pydict() == {"word": [number]}
    assert len(kept(folder)) == 2


def test_jsonl_with_a_card_and_options(folder):
    card = {
        "configs": [
            {"config_name": "en", "data_files": [{"split": "train", "path": "en/*.csv"}], "sep": ";"},
            {"config_name": "fr", "data_files": "fr.jsonl"},
            {"config_name": "own", "data_files": "own.parquet"},
        ],
        "dataset_info": {"config_name": "fr", "features": [{"name": "n", "dtype": "float32"}]},
    }
    sink = io.BytesIO()
    pq.write_table(pa.table({"x": [1]}), sink)
    put(
        folder,
        {
            "README.md": f"---\n{json.dumps(card)}\n---\n".encode(),
            "en/a [1].csv": b"x;y\n1;2\n",
            "fr.jsonl": b'{"n": 1}\n{"n": 2}\n',
            "own.parquet": sink.getvalue(),
        },
    )
    with serve_in_thread(folder) as endpoint:
        wire = Wire(endpoint)
        told = listing(wire)
        assert set(told) == {"en", "fr", "own"}
        assert fetch(wire, told["en"]["train"][0]).to_pydict() == {"x": [1], "y": [2]}
        assert fetch(wire, told["fr"]["train"][0]).schema.field("n").type == pa.float32()
        own = wire.get("/datasets/org/rows/resolve/~parquet/own/train/0000.parquet")
        assert own.body == sink.getvalue()


def test_repositories_in_parquet_are_not_touched(folder):
    sink = io.BytesIO()
    pq.write_table(pa.table({"x": [1]}), sink)
    put(folder, {"train.parquet": sink.getvalue()})
    with serve_in_thread(folder) as endpoint:
        assert listing(Wire(endpoint))["default"]["train"]
    assert not (folder / "datasets/org/rows/.gristmill").exists()


def test_what_can_not_be_read_is_told(folder):
    put(folder, {"train.jsonl": b'{"a": 1}\n{"a": \n'})
    with serve_in_thread(folder) as endpoint:
        wire = Wire(endpoint)
        for path in (API, f"{API}/default", f"{API}/default/train"):
            answer = ask(wire, path)
            assert (answer.status, answer.code) == (422, "ConversionFailed")
            assert "train.jsonl, line 3, row 1: not valid JSON" in answer.json["error"]
            assert str(folder) not in answer.json["error"]
        assert wire.get("/datasets/org/rows/resolve/~parquet/default/train/0000.parquet").status == 422
        # The rest of the repository is as readable as it was.
        assert wire.get("/datasets/org/rows/resolve/main/train.jsonl").status == 200


def test_a_config_that_fails_hides_no_other(folder):
    card = {"configs": [{"config_name": name, "data_files": f"{name}.jsonl"} for name in ("good", "bad")]}
    put(
        folder,
        {
            "README.md": f"---\n{json.dumps(card)}\n---\n".encode(),
            "good.jsonl": b'{"a": 1}\n',
            "bad.jsonl": b"{{{\n",
        },
    )
    with serve_in_thread(folder) as endpoint:
        wire = Wire(endpoint)
        assert set(listing(wire)) == {"good"}
        assert "The config bad of org/rows" in wire.get(API).headers["X-HF-Warning"]
        assert wire.get(f"{API}/bad").status == 422
        assert wire.get(f"{API}/other").status == 404


def test_the_size_is_bounded(folder):
    with serve_in_thread(folder, convert_max=10) as endpoint:
        answer = ask(Wire(endpoint))
        assert answer.status == 422
        assert "converts up to 10" in answer.json["error"]
    # A larger limit tries again.
    with serve_in_thread(folder, convert_max=0) as endpoint:
        assert listing(Wire(endpoint)) == {}


def test_a_card_can_not_name_files_of_the_server(folder, tmp_path):
    (tmp_path / "secret.csv").write_text("word\nsecret\n")
    (tmp_path / "hub/datasets/org/private").mkdir()
    (tmp_path / "hub/datasets/org/private/train.csv").write_text("word\nsecret\n")
    for path in (
        str(tmp_path / "secret.csv"),
        "../../../../secret.csv",
        "../private/*.csv",
        "file:///etc/passwd",
    ):
        card = {"configs": [{"config_name": "default", "data_files": path}]}
        put(folder, {"README.md": f"---\n{json.dumps(card)}\n---\n".encode(), "train.csv": CSV})
        with serve_in_thread(folder) as endpoint:
            answer = ask(Wire(endpoint))
            assert b"secret" not in answer.body
            assert answer.json in ({}, {"error": answer.json.get("error")})


def test_who_may_not_read_can_not_have_it_made(folder):
    (folder / "access.json").write_text(json.dumps({"org/rows": {"gated": "auto", "tokens": {"hf_a": True}}}))
    with serve_in_thread(folder) as endpoint:
        wire = Wire(endpoint)
        assert wire.get(API).code == "GatedRepo"
        assert kept(folder) == []
        while (answer := wire.get(API, Authorization="Bearer hf_a")).status == 503:
            time.sleep(0.1)
        assert answer.json["default"]


def test_a_repository_with_a_history(tmp_path):
    (tmp_path / "hub").mkdir()
    with serve_in_thread(tmp_path / "hub", allow_write=True) as endpoint:
        writer = Writer(endpoint)
        writer.create("org/rows")
        writer.commit(file("train.csv", CSV), repo="org/rows")
        assert fetch(writer, listing(writer)["default"]["train"][0]).num_rows == 2
        writer.commit(file("train.csv", b"word\nx\n"), repo="org/rows")
        assert fetch(writer, listing(writer)["default"]["train"][0]).num_rows == 1


def test_a_copy_is_converted_after_its_files_are_fetched(folder, tmp_path):
    with serve_in_thread(folder, convert_max=0) as upstream:
        (tmp_path / "copy").mkdir()
        with serve_in_thread(tmp_path / "copy", mirror=upstream) as endpoint:
            wire = Wire(endpoint)
            assert fetch(wire, listing(wire)["default"]["train"][0]).num_rows == 2


def test_the_other_hubs_parquet_files_are_taken_where_it_has_some(folder, tmp_path):
    with serve_in_thread(folder) as upstream:
        listing(Wire(upstream))
        (tmp_path / "copy").mkdir()
        with serve_in_thread(tmp_path / "copy", mirror=upstream) as endpoint:
            told = listing(Wire(endpoint))
            assert fetch(Wire(endpoint), told["default"]["train"][0]).num_rows == 2
        assert kept(tmp_path / "copy") == []


def test_a_long_conversion_is_asked_for_again(folder, monkeypatch):
    monkeypatch.setattr(conversion, "_WAIT", 0.0)
    with serve_in_thread(folder) as endpoint:
        wire = Wire(endpoint)
        assert wire.get(API).status == 503
        assert ask(wire).status == 200


def test_a_process_that_is_ended_is_told_and_leaves_nothing(folder, monkeypatch):
    monkeypatch.setattr(conversion, "_LONGEST", 0.0)
    with serve_in_thread(folder) as endpoint:
        assert "took longer" in ask(Wire(endpoint)).json["error"]
    left = [path.name for path in (folder / "datasets/org/rows/.gristmill/convert").rglob("*")]
    assert not [name for name in left if "parquet" in name or "incomplete" in name]


def test_killed_in_the_middle(folder):
    code = (
        "import subprocess, time\nfrom gristmill.hub.server import conversion, serve\n"
        "before = conversion._made_files\n"
        "def slow(*a):\n    print('made', flush=True); time.sleep(60)\n"
        "conversion._made_files = slow\n"
        f"serve({str(folder)!r}, port=0, ready=lambda url: print(url, flush=True))"
    )
    process = subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    wire = Wire(process.stdout.readline().strip())
    with ThreadPoolExecutor(1) as pool:
        asked = pool.submit(wire.get, API)
        assert process.stdout.readline() == "made\n"
        process.send_signal(signal.SIGKILL)
        process.wait()
        assert asked.exception() is not None or asked.result().status == 503
    process.stdout.close()
    with serve_in_thread(folder) as endpoint:
        assert fetch(wire, listing(Wire(endpoint))["default"]["train"][0]).num_rows == 2
    [commit] = kept(folder)
    assert len(commit) == 40


def test_the_process_ends_with_the_server(tmp_path):
    code = "import time\nfrom gristmill.hub.server import conversion_job as j\n"
    process = subprocess.Popen(
        [sys.executable, "-c", f"{code}j.convert = lambda *a: time.sleep(60)\nj.main()"],
        stdin=subprocess.PIPE,
        text=True,
    )
    task = {"data": str(tmp_path), "config": "default", "out": str(tmp_path / "out"), "largest_file": 10**9}
    assert process.stdin is not None
    process.stdin.write(json.dumps(task) + "\n")
    process.stdin.flush()
    process.stdin.close()
    assert process.wait(30) == 1


def test_pandas_and_polars_read_the_addresses(folder):
    with serve_in_thread(folder) as endpoint:
        url = listing(Wire(endpoint))["default"]["train"][0]
        pandas = pytest.importorskip("pandas")
        assert list(pandas.read_parquet(url)["word"]) == ["hello", "moin"]
        polars = pytest.importorskip("polars")
        assert polars.read_parquet(url)["count"].to_list() == [1, 2]


def test_a_full_disk_does_not_stand_for_the_files(folder, monkeypatch):
    with serve_in_thread(folder) as endpoint, monkeypatch.context() as patch:
        wire = Wire(endpoint)
        told = 4, json.dumps({"errno": errno.ENOSPC})
        patch.setattr(conversion.Converter, "_in_process", lambda *args: told)
        answer = ask(wire)
        assert answer.status == 507
        assert str(folder) not in answer.body.decode()
        assert kept(folder) == []
    with serve_in_thread(folder) as endpoint:
        assert sorted(listing(Wire(endpoint))["default"]) == ["test", "train"]


def test_what_the_machine_failed_at_is_told_apart():
    full = FileError("x can't be written")
    full.__cause__ = OSError(errno.ENOSPC, "full")
    other = FileError("x is no CSV")
    other.__cause__ = OSError(errno.EFBIG, "large")
    assert outcome(full) == (4, {"errno": errno.ENOSPC})
    assert outcome(OSError(errno.EIO, "broken")) == (4, {"errno": errno.EIO})
    assert outcome(other) == (3, {"failed": "x is no CSV"})


def test_no_path_of_the_server_is_told(tmp_path):
    names = {"0/000000.csv": "train.csv"}
    text = f"Writing to {tmp_path}/out/x failed after {tmp_path}/data/0/000000.csv"
    assert (
        conversion._retold(text, tmp_path / "data", names, "a/b")
        == "Writing to a/b/out/x failed after train.csv"
    )


TOO_LARGE = {"large.jsonl": b'{"a": 1}\n', "small.jsonl": b'{"a": 2}\n'}


@pytest.fixture
def two(folder):
    """A dataset of two configs; reading the large one needs more memory than there is, for as long as `short` is not empty."""
    names = ("large", "small")
    card = {"configs": [{"config_name": name, "data_files": f"{name}.jsonl"} for name in names]}
    put(folder, {"README.md": f"---\n{json.dumps(card)}\n---\n".encode(), **TOO_LARGE})
    before, short, runs = conversion.Converter._in_process, ["large"], []

    def limited(self, job, task, work):
        runs.append(task["config"])
        return (-9, "") if task["config"] in short else before(self, job, task, work)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(conversion.Converter, "_in_process", limited)
        yield short, runs


def noted(folder):
    [commit] = kept(folder)
    told = json.loads((folder / "datasets/org/rows/.gristmill/convert" / commit / "index.json").read_text())
    return {name: count for name, (count, _) in told["tries"].items()}


def test_what_the_memory_was_too_small_for_is_tried_again(folder, two, monkeypatch):
    short, runs = two
    with serve_in_thread(folder) as endpoint:
        wire = Wire(endpoint)
        for _ in range(2):
            answer = ask(wire, f"{API}/large")
            assert (answer.status, answer.code) == (422, "ConversionFailed")
            assert "may need more memory than there is. It will be tried again." in answer.json["error"]
        assert runs == ["large", "small"]
        assert set(listing(wire)) == {"small"}
        assert noted(folder) == {"large": 1}
        monkeypatch.setattr(converted, "_FIRST_WAIT", 0.0)
        assert ask(wire, f"{API}/large").status == 422
        assert noted(folder)["large"] >= 2
        assert set(runs[2:]) == {"large"}
        short.clear()
        url = listing(wire, f"{API}/large/train")[0]
        assert fetch(wire, url).to_pydict() == {"a": [1]}
        assert noted(folder) == {}
        assert runs.count("small") == 1
        told = listing(wire)
        assert fetch(wire, told["small"]["train"][0]).to_pydict() == {"a": [2]}


def test_it_is_tried_again_after_a_start(folder, two):
    short, runs = two
    with serve_in_thread(folder) as endpoint:
        assert ask(Wire(endpoint), f"{API}/large").status == 422
    short.clear()
    with serve_in_thread(folder) as endpoint:
        wire = Wire(endpoint)
        assert fetch(wire, listing(wire, f"{API}/large/train")[0]).to_pydict() == {"a": [1]}
    assert runs == ["large", "small", "large"]


@pytest.mark.usefixtures("two")
def test_others_do_not_wait_for_what_is_tried_again(folder, monkeypatch):
    with serve_in_thread(folder) as endpoint:
        wire = Wire(endpoint)
        assert ask(wire, f"{API}/large").status == 422
        monkeypatch.setattr(converted, "_FIRST_WAIT", 0.0)
        monkeypatch.setattr(conversion, "_WAIT", 0.0)
        assert wire.get(f"{API}/large").status == 503
        assert wire.get(f"{API}/small").json["train"]
        answer = wire.get(API)
        assert set(answer.json) == {"small"}
        assert "It will be tried again." in answer.headers["X-HF-Warning"]


def test_what_the_files_are_to_blame_for_is_not_tried_again(folder, monkeypatch):
    put(folder, {"train.jsonl": b"{{{\n"})
    with serve_in_thread(folder) as endpoint:
        assert ask(Wire(endpoint)).status == 422
    assert noted(folder) == {}
    monkeypatch.setattr(conversion.Converter, "_in_process", None)
    with serve_in_thread(folder) as endpoint:
        assert ask(Wire(endpoint)).status == 422


def test_when_it_is_time_to_try_again():
    waits = []
    for count in range(1, 9):
        tries, wait = Tries(count, 1e9), 0
        while not tries.due(1e9 + wait, started=0.0):
            wait += 60
        waits.append(wait)
    assert waits == [60, 240, 960, 3840, 15360, 61440, 86400, 86400]
    assert Tries(10**9, 1e9).due(1e9 + 86400, 0.0)
    assert Tries(1, 1e9).due(1e9 - 1, 0.0)  # the clock was put back
    assert Tries(1, 1e9).due(1e9 + 1, 1e9 + 0.5)


def test_too_little_memory_is_told_apart():
    error = DataError("needs more memory than there is")
    error.__cause__ = pa.ArrowMemoryError("malloc of size 1 failed")
    assert outcome(error) == (5, {"failed": "needs more memory than there is"})
    assert outcome(MemoryError()) == (5, {"failed": "reading it needs more memory than there is."})
