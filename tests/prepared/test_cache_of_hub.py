"""The caches after loading from a Hub: what may go, what comes back."""

import pyarrow as pa
import pytest

from gristmill import config, list_cache, load_dataset, remove_from_cache, verify_cache
from tests.hub.faulty import FaultyHub


def arrow_bytes(table):
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, table.schema) as writer:
        writer.write_table(table)
    return sink.getvalue().to_pybytes()


@pytest.fixture
def hub(tmp_path):
    files = {
        "data/train.arrow": arrow_bytes(pa.table({"x": [1, 2, 3]})),
        "csv/train.csv": b"y\n7\n8\n",
    }
    with (
        FaultyHub(files) as hub,
        config.override(
            HF_HUB_CACHE=tmp_path / "hub",
            HF_DATASETS_CACHE=tmp_path / "datasets",
            DOWNLOADED_DATASETS_PATH=tmp_path / "datasets" / "downloads",
            EXTRACTED_DATASETS_PATH=tmp_path / "datasets" / "downloads" / "extracted",
            HF_ENDPOINT=hub.url,
            HF_HUB_OFFLINE=False,
        ),
    ):
        yield hub


def load_csv():
    return load_dataset("org/data", data_files="csv/*.csv", split="train")


def load_arrow():
    return load_dataset("org/data", data_files="data/*.arrow", split="train")


def sizes():
    return {entry.kind: entry.size for entry in list_cache()}


def test_downloads_may_go_once_rows_are_prepared(hub):
    assert load_csv()["y"][:] == [7, 8]
    assert set(sizes()) == {"prepared", "dataset"}
    remove_from_cache([entry for entry in list_cache() if entry.kind == "dataset"])
    assert load_csv()["y"][:] == [7, 8]
    assert sizes()["dataset"] < 2_000  # lists of files; the data was not fetched again
    assert not list((config.HF_HUB_CACHE / "datasets--org--data").rglob("*.csv"))
    config.HF_HUB_OFFLINE = True
    assert load_csv()["y"][:] == [7, 8]


def test_an_arrow_file_of_the_hub_is_used_in_the_hub_cache(hub):
    loaded = load_arrow()
    [used] = loaded.cache_files
    assert "blobs" in used["filename"]
    assert not list(config.HF_DATASETS_CACHE.rglob("*.arrow"))
    remove_from_cache([entry for entry in list_cache() if entry.kind == "dataset"])
    assert loaded["x"][:] == [1, 2, 3]
    assert load_arrow()["x"][:] == [1, 2, 3]  # fetched again
    assert load_arrow().cache_files == [used]


def test_a_damaged_blob_is_found_and_fetched_again(hub):
    load_arrow()
    blob = next(path for path in config.HF_HUB_CACHE.rglob("blobs/*") if path.stat().st_size > 100)
    good = blob.read_bytes()
    blob.write_bytes(good[:-50] + b"x" + good[-49:])
    kinds = {problem.entry.kind for problem in verify_cache(fix=True).problems}
    assert kinds == {"dataset", "prepared"}
    assert not blob.exists()
    assert load_arrow()["x"][:] == [1, 2, 3]
    assert blob.read_bytes() == good
    assert verify_cache().problems == []


def test_contents_in_the_store_of_huggingface_hub_are_checked_as_well(hub, tmp_path):
    load_arrow()
    link = next(
        path for path in config.HF_HUB_CACHE.rglob("datasets--*/blobs/*") if path.stat().st_size > 100
    )
    good = link.read_bytes()
    shared = config.HF_HUB_CACHE / "blobs" / "ab" / ("ab" * 32)
    shared.parent.mkdir(parents=True)
    link.rename(shared)
    link.symlink_to(shared)
    elsewhere = link.with_name("0" * 64)
    (tmp_path / "elsewhere").write_bytes(b"not of the cache")
    elsewhere.symlink_to(tmp_path / "elsewhere")
    assert verify_cache().problems == []
    shared.write_bytes(good[:-1] + b"x")
    found = [problem for problem in verify_cache(fix=True).problems if problem.entry.kind == "dataset"]
    assert [(problem.path, problem.fixed) for problem in found] == [(shared, True)]
    assert f"not {link.name}" in found[0].problem
    assert (tmp_path / "elsewhere").exists()
    assert not shared.exists()
    assert load_arrow()["x"][:] == [1, 2, 3]
    assert link.read_bytes() == good
