"""What a stream says of its columns: by a look at the first file when somebody asks, and nothing is asked before."""

import contextlib
import gzip
import json
import pickle

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from gristmill import (
    Features,
    IterableDataset,
    Json,
    List,
    Value,
    concatenate_datasets,
    config,
    interleave_datasets,
    load_dataset,
)
from gristmill.errors import FileFormatError, HubError, OfflineError
from gristmill.files import retry
from tests.hub.faulty import REPO, FaultyHub, status

AB = Features({"a": Value("int64"), "b": Value("string")})


def parquet(**columns):
    sink = pa.BufferOutputStream()
    pq.write_table(pa.table(columns), sink)
    return sink.getvalue().to_pybytes()


def arrow(form):
    sink = pa.BufferOutputStream()
    table = pa.table({"a": [1, 2], "b": ["x", "y"]})
    with form(sink, table.schema) as writer:
        writer.write_table(table)
    return sink.getvalue().to_pybytes()


LINES = b'{"a": 1, "b": "x"}\n{"a": 2, "b": "y"}\n'
FIRST = parquet(a=[1, 2], b=["x", "y"])
SECOND = parquet(a=[0.5], b=["z"])


@pytest.fixture
def serve(tmp_path, monkeypatch):
    monkeypatch.setattr(retry.RetryPolicy, "delay", lambda self, attempt, retry_after=None: 0.0)
    with contextlib.ExitStack() as stack:

        def start(files):
            hub = stack.enter_context(FaultyHub({"README.md": b"", **files}))
            places = {
                "HF_HUB_CACHE": tmp_path / "hub",
                "HF_DATASETS_CACHE": tmp_path / "datasets",
                "DOWNLOADED_DATASETS_PATH": tmp_path / "downloads",
            }
            stack.enter_context(config.override(HF_ENDPOINT=hub.url, **places))
            return hub

        yield start


def stream(split="train", **options):
    return load_dataset(REPO, split=split, streaming=True, **options)


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("train.parquet", FIRST),
        ("train.arrow", arrow(pa.ipc.new_file)),
        ("train.arrow", arrow(pa.ipc.new_stream)),
        ("train.jsonl", LINES),
        ("train.json", json.dumps([{"a": 1, "b": "x"}]).encode()),
        ("train.jsonl.gz", gzip.compress(LINES, mtime=0)),
    ],
    ids=["parquet", "arrow file", "arrow stream", "lines", "json", "compressed"],
)
def test_columns_of_a_file_far_away_are_known_when_somebody_asks(serve, name, content):
    hub = serve({name: content})
    data = stream()
    derived = data.filter(lambda row: row["a"] > 0).shuffle(seed=0).take(1)
    assert repr(data) == "IterableDataset({\n    features: Unknown,\n    num_shards: 1\n})"
    assert hub.requests(name) == []
    assert data.column_names == ["a", "b"]
    asked = len(hub.requests(name))
    assert asked >= 1
    assert data.features == AB
    assert data.info.features == AB
    assert data.num_columns == 2
    assert derived.features == AB
    assert stream().map(lambda row: {"c": 1}).column_names is None
    assert "features: ['a', 'b']" in repr(data)
    assert len(hub.requests(name)) == asked


@pytest.mark.parametrize(
    ("name", "content"), [("train.csv", b"a,b\n1,x\n"), ("train.txt", b"x\n")], ids=["csv", "text"]
)
def test_of_other_formats_columns_show_when_rows_are_read(serve, name, content):
    hub = serve({name: content})
    data = stream()
    assert data.features is None
    assert data.column_names is None
    assert hub.requests(name) == []


def test_columns_follow_what_is_done_with_them(serve):
    serve({"train.parquet": FIRST})
    data = stream()
    text = Value("string")
    assert data.select_columns(["b"]).features == {"b": text}
    assert data.remove_columns("a").features == {"b": text}
    assert data.rename_column("a", "n").features == {"n": Value("int64"), "b": text}
    assert data.cast_column("a", text).features == {"a": text, "b": text}
    assert list(data.cast_column("a", text).features) == ["a", "b"]
    assert data.batch(2).features == {"a": List(Value("int64")), "b": List(text)}
    assert data.add_column("c", [1, 2]).column_names == ["a", "b", "c"]
    assert data.with_format("numpy").skip(1).repeat(2).shard(1, 0).reshard().column_names == ["a", "b"]
    renamed = data.rename_column("b", "c")
    assert concatenate_datasets([data, renamed]).column_names == ["a", "b", "c"]
    assert interleave_datasets([data, data]).features == AB
    mapped = data.map(lambda row: {"n": row["a"] * 2}, remove_columns=data.column_names)
    assert list(mapped) == [{"n": 2}, {"n": 4}]
    assert concatenate_datasets([data, mapped]).features is None
    known = data.map(lambda row: row, features=AB)
    assert concatenate_datasets([data, known]).features == AB


def test_a_look_changes_nothing_that_is_read(serve):
    serve({"data/train-0.parquet": FIRST, "data/train-1.parquet": SECOND})
    data = stream()
    rows = list(stream())
    assert [type(row["a"]) for row in rows] == [int, int, float]
    assert data.features == AB
    assert list(data) == rows


def test_a_plan_is_written_the_same_after_a_look(serve):
    serve({"data/train-0.parquet": FIRST, "data/train-1.parquet": SECOND})
    data = stream()
    before = pickle.dumps(data._ex_iterable)
    assert data.features == AB
    assert pickle.dumps(data._ex_iterable) == before


def test_the_first_file_with_rows_tells(serve):
    serve({"data/train-0.parquet": parquet(a=pa.array([], pa.null())), "data/train-1.parquet": SECOND})
    assert stream().features == {"a": Value("float64"), "b": Value("string")}


def test_of_files_without_rows_the_first_tells(serve):
    empty = pa.array([], pa.int64())
    serve({"data/train-0.parquet": parquet(a=empty), "data/train-1.parquet": parquet(a=empty, b=empty)})
    assert stream().column_names == ["a"]


def test_columns_chosen_are_looked_for_in_other_files(serve):
    serve({"data/train-0.parquet": parquet(a=[1]), "data/train-1.parquet": SECOND})
    assert stream(columns=["b", "a"]).features == {"b": Value("string"), "a": Value("int64")}
    assert list(stream(columns=["b", "a"]).features) == ["b", "a"]
    # As far as the first rows tell, there is no such column; reading says so.
    assert stream().select_columns(["nowhere"]).features is None


def test_splits_tell_each_of_themselves(serve):
    hub = serve({"data/train.parquet": FIRST, "data/test.parquet": SECOND})
    data = stream(None)
    assert hub.requests("parquet") == []
    assert data["test"].features == {"a": Value("float64"), "b": Value("string")}
    assert hub.requests("train.parquet") == []
    assert data.column_names == {"train": ["a", "b"], "test": ["a", "b"]}


def test_what_prevents_a_look_is_told(serve):
    hub = serve({"data/train.parquet": FIRST, "data/test.parquet": b"PAR1" + b"x" * 100 + b"PAR1"})
    damaged, other = stream("test"), stream()
    with pytest.raises(FileFormatError, match=r"test\.parquet"):
        _ = damaged.column_names
    hub.script("train.parquet", status(403))
    with pytest.raises(HubError, match=r"train\.parquet"):
        _ = other.features
    assert other.column_names == ["a", "b"]
    with config.override(HF_HUB_OFFLINE=True):
        offline = stream()
        assert "features: Unknown" in repr(offline)
        with pytest.raises(OfflineError, match=r"train\.parquet"):
            _ = offline.column_names


def test_bad_files_that_are_left_out_tell_nothing(serve):
    serve({"data/train-0.parquet": b"no Parquet at all", "data/train-1.parquet": SECOND})
    assert stream(on_bad_files="skip").features == {"a": Value("float64"), "b": Value("string")}


def test_files_that_are_here_are_looked_at_for_a_reader(tmp_path):
    (tmp_path / "a.jsonl").write_bytes(LINES)
    data = IterableDataset.from_json(str(tmp_path / "a.jsonl"))
    assert "features: ['a', 'b']" in repr(data)
    assert data.features == AB
    broken = tmp_path / "b.jsonl"
    broken.write_bytes(b"{")
    assert "features: Unknown" in repr(IterableDataset.from_json(str(broken)))


def test_types_of_json_are_those_of_its_head(tmp_path):
    file = tmp_path / "a.jsonl"
    file.write_text(
        "".join(json.dumps({"a": n, "b": str(n)}) + "\n" for n in range(500)) + '{"a": 0.5, "c": true}\n'
    )
    data = IterableDataset.from_json(str(file))
    assert data.features == {"a": Value("float64"), "b": Value("string"), "c": Value("bool")}


def test_empty_dicts_of_json_are_json(tmp_path):
    file = tmp_path / "a.jsonl"
    file.write_text('{"a": {}, "b": [{}]}\n{"a": {}, "b": []}\n')
    wanted = Features({"a": Json(), "b": List(Json())})
    stream = IterableDataset.from_json(str(file))
    assert stream.features == wanted
    made = load_dataset("json", data_files=str(file), split="train", cache_dir=str(tmp_path / "cache"))
    assert made.features == wanted
    assert made.to_list() == list(stream) == [{"a": {}, "b": [{}]}, {"a": {}, "b": []}]
