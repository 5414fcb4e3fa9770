import hashlib
import json
import os
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path

import pyarrow as pa
import pytest

from gristmill import config, list_cache, load_dataset, remove_from_cache, verify_cache
from gristmill.errors import InvalidArgumentError
from gristmill.files.atomic import temporary_name
from gristmill.prepared.cache_remove import choose_entries
from gristmill.table.arrow_file import write_arrow

DAY = 86_400


@pytest.fixture
def caches(tmp_path):
    top = tmp_path / "caches"
    downloads = top / "datasets" / "downloads"
    with config.override(
        HF_DATASETS_CACHE=top / "datasets",
        HF_HUB_CACHE=top / "hub",
        DOWNLOADED_DATASETS_PATH=downloads,
        EXTRACTED_DATASETS_PATH=downloads / "extracted",
    ):
        yield top


def load(folder, text='{"x": 1}\n'):
    folder.mkdir(exist_ok=True)
    (folder / "train.jsonl").write_text(text)
    return load_dataset(str(folder), split="train")


def blob(caches, repo, content, large=False):
    digest = hashlib.sha256(content) if large else hashlib.sha1(b"blob %d\0%s" % (len(content), content))
    path = caches / "hub" / repo / "blobs" / digest.hexdigest()
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content)
    snapshot = caches / "hub" / repo / "snapshots" / ("0" * 40) / f"{digest.hexdigest()[:4]}.txt"
    snapshot.parent.mkdir(parents=True, exist_ok=True)
    snapshot.symlink_to(os.path.relpath(path, snapshot.parent))
    return path


def download(caches, url, content):
    path = caches / "datasets" / "downloads" / hashlib.sha256(url.encode()).hexdigest()
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content)
    path.with_name(f"{path.name}.json").write_text(json.dumps({"url": url, "etag": None}))
    return path


def leftover(folder, name="thing"):
    """Makes what a process leaves that is killed while it writes."""
    code = "import sys; from pathlib import Path; from gristmill.files.atomic import temporary_name as t; p = t(Path(sys.argv[1])); p.mkdir(parents=True); (p / 'half').write_text('half'); print(p)"
    done = subprocess.run(
        [sys.executable, "-c", code, str(folder / name)], capture_output=True, text=True, check=True
    )
    return Path(done.stdout.strip())


def only(kind, entries=None):
    [entry] = [entry for entry in (list_cache() if entries is None else entries) if entry.kind == kind]
    return entry


def test_everything_is_listed(caches, tmp_path):
    poems = load(tmp_path / "poems")
    poems.map(lambda row: {"y": row["x"] + 1})
    blob(caches, "datasets--me--verses", b"rose")
    blob(caches, "models--gpt2", b"weights", large=True)
    download(caches, "http://example.org/a.csv", b"a\n1\n")
    half = leftover(caches / "datasets" / "poems" / "default" / "0.0.0")
    (caches / "hub" / "datasets--me--verses" / "blobs" / ("a" * 40 + ".part")).write_bytes(b"12")
    entries = list_cache()
    assert [entry.size for entry in entries] == sorted((entry.size for entry in entries), reverse=True)
    prepared, transforms = only("prepared", entries), only("transforms", entries)
    folder = poems._cache_dir
    assert (prepared.name, prepared.detail, prepared.paths) == ("poems", "default train", (folder,))
    kept = {path for path in folder.iterdir() if path.name.startswith("cache-")}
    assert set(transforms.paths) == kept != set()
    assert prepared.size == sum(path.stat().st_size for path in folder.iterdir() if path not in kept)
    assert (only("dataset", entries).name, only("dataset", entries).size) == ("me/verses", 4)
    assert (only("model", entries).name, only("model", entries).size) == ("gpt2", 7)
    assert only("download", entries).name == "http://example.org/a.csv"
    left = {entry.key: entry.size for entry in entries if entry.kind == "leftover"}
    assert left == {half.name: 4, "a" * 40 + ".part": 2}
    assert all(entry.age < 60 for entry in entries)


@pytest.mark.parametrize("where", ["datasets/downloads/extracted", "elsewhere"])
def test_what_came_out_of_archives(caches, where):
    folder = caches / where
    (folder / "abc" / "inner").mkdir(parents=True)
    (folder / "abc" / "inner" / "a.txt").write_text("12345")
    (folder / "abc.lock").touch()
    half = leftover(folder, "def")
    config.EXTRACTED_DATASETS_PATH = folder
    entries = list_cache()
    assert {(entry.kind, entry.key, entry.size) for entry in entries} == {
        ("download", "abc", 5), ("leftover", half.name, 4),
    }  # fmt: skip
    assert remove_from_cache(entries).kept == []
    assert not list(folder.glob("*"))


def test_nothing_there(caches):
    assert list_cache() == []
    assert list_cache(caches / "a", caches / "b") == []


def test_opening_is_use(caches, tmp_path):
    folder = load(tmp_path / "poems")._cache_dir
    os.utime(folder, (0, 0))
    assert only("prepared").age > 10_000 * DAY
    load_dataset(str(tmp_path / "poems"), split="train")
    assert only("prepared").age < DAY


def test_removing(caches, tmp_path):
    poems = load(tmp_path / "poems")
    entry = only("prepared")
    done = remove_from_cache([entry])
    assert (done.removed, done.kept, done.size) == ([entry], [], entry.size)
    assert list((caches / "datasets").iterdir()) == []
    assert poems["x"] == [1]  # what is open stays readable
    assert load_dataset(str(tmp_path / "poems"), split="train")["x"] == [1]
    assert remove_from_cache([entry, only("prepared")]).kept == []


def test_transforms_go_alone(caches, tmp_path):
    poems = load(tmp_path / "poems")
    before = sorted(poems._cache_dir.iterdir())
    poems.map(lambda row: {"y": row["x"] + 1})
    remove_from_cache([only("transforms")])
    assert sorted(poems._cache_dir.iterdir()) == before


def test_a_repository_goes_with_its_links_and_locks(caches):
    blob(caches, "datasets--me--verses", b"rose")
    other = blob(caches, "datasets--me--other", b"thorn")
    locks = caches / "hub" / ".locks" / "datasets--me--verses"
    locks.mkdir(parents=True)
    (locks / "x.lock").touch()
    remove_from_cache(choose_entries(list_cache(), ["me/verses"]))
    assert sorted(path.name for path in (caches / "hub").iterdir()) == [".locks", "datasets--me--other"]
    assert other.is_file()
    assert not locks.exists()


HOLD = """
import sys
from gristmill.files.lock import lock
with lock(sys.argv[1]):
    print("held", flush=True)
    sys.stdin.read()
"""


def test_what_somebody_writes_stays(caches, tmp_path):
    folder = load(tmp_path / "poems")._cache_dir
    [path] = only("prepared").locks
    with subprocess.Popen(
        [sys.executable, "-c", HOLD, str(path)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as holder:
        assert holder.stdout is not None
        assert holder.stdout.readline() == "held\n"
        done = remove_from_cache(list_cache())
        assert [why for _, why in done.kept] == ["in use by another process"]
        assert (folder / "dataset_info.json").is_file()
        holder.communicate()
    assert remove_from_cache(list_cache()).kept == []


def test_links_lead_nowhere(caches, tmp_path):
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "dataset_info.json").write_text("{}")
    folder = load(tmp_path / "poems")._cache_dir
    (caches / "datasets" / "link").symlink_to(outside)
    (caches / "hub").mkdir()
    (caches / "hub" / "datasets--a--b").symlink_to(outside)
    (folder / "cache-x.arrow").symlink_to(outside / "dataset_info.json")
    entry = only("prepared")
    assert {entry.kind for entry in list_cache()} == {"prepared", "transforms"}
    done = remove_from_cache([only("transforms"), replace(entry, paths=(outside,)), entry])
    assert len(done.kept) == 2
    assert (outside / "dataset_info.json").read_text() == "{}"
    assert not folder.exists()


def test_choosing(caches, tmp_path):
    for number, name in enumerate(["a", "b", "c"]):
        folder = load(tmp_path / name)._cache_dir
        os.utime(folder, (time.time() - number * 10 * DAY,) * 2)
    blob(caches, "models--gpt2", b"weights")
    entries = list_cache()
    size = max(entry.size for entry in entries)

    def names(*words, **how):
        return [entry.name for entry in choose_entries(entries, words, **how)]

    assert names() == ["c", "b", "a"]
    assert names(older_than=5 * DAY) == ["c", "b"]
    assert names(older_than=5 * DAY, max_size=size) == ["c"]
    assert names(max_size=0) == ["c", "b", "a"]
    assert names(max_size=10**9) == []
    assert names("[ab]") == ["b", "a"]
    assert names("gpt2") == ["gpt2"]
    assert names(kinds=["model"]) == ["gpt2"]
    key = next(entry.key for entry in entries if entry.name == "b")
    assert names(key[:8]) == ["b"]
    with pytest.raises(InvalidArgumentError, match="poem"):
        names("poem")


def test_leftovers_of_the_living_are_not_listed(caches):
    mine = temporary_name(caches / "datasets" / "thing")
    mine.mkdir(parents=True)
    half = leftover(caches / "datasets", "other")
    assert only("leftover").paths == (half,)
    remove_from_cache(list_cache())
    assert list((caches / "datasets").iterdir()) == [mine]


def test_all_is_well(caches, tmp_path):
    load(tmp_path / "poems").map(lambda row: {"y": row["x"] + 1})
    blob(caches, "datasets--me--verses", b"rose")
    blob(caches, "datasets--me--verses", b"thorn", large=True)
    download(caches, "http://example.org/a.csv", b"a\n1\n")
    found = verify_cache()
    assert (found.problems, found.sound, found.unchecked) == ([], True, 1)
    assert found.checked == 3 + 1 + 2


def flip(path, at=-20):
    data = bytearray(path.read_bytes())
    data[at] ^= 1
    path.write_bytes(bytes(data))


@pytest.mark.parametrize("name", ["poems-train.arrow", "dataset_info.json", "origins.json", "files.json"])
@pytest.mark.parametrize("how", ["flipped", "cut", "gone"])
def test_any_damage_to_a_prepared_file_is_found_and_mended(caches, tmp_path, name, how):
    folder = load(tmp_path / "poems")._cache_dir
    path = folder / name
    if how == "flipped":
        flip(path)
    elif how == "cut":
        path.write_bytes(path.read_bytes()[:-1])
    else:
        path.unlink()
    found = verify_cache()
    if name == "files.json" and how == "gone":
        assert found.problems == []  # as if another library had prepared it
        return
    if name == "files.json" and how == "cut":
        assert found.problems == []  # the last byte is a newline
        return
    if name == "dataset_info.json" and how == "gone":
        assert (found.checked, found.problems) == (0, [])  # not there is not damaged
        return
    assert not found.sound
    assert folder.exists()
    fixed = verify_cache(fix=True)
    assert fixed.sound
    assert all(problem.fixed for problem in fixed.problems)
    assert verify_cache().problems == []
    assert load_dataset(str(tmp_path / "poems"), split="train")["x"] == [1]


def test_damaged_contents_are_found_and_only_they_go(caches):
    good = blob(caches, "datasets--me--verses", b"rose" * 9)
    bad = blob(caches, "datasets--me--verses", b"thorn" * 9, large=True)
    flip(bad)
    [problem] = verify_cache().problems
    assert (problem.path, problem.entry.name) == (bad, "me/verses")
    assert verify_cache(fix=True).sound
    assert (good.exists(), bad.exists()) == (True, False)


def test_damaged_transforms(caches, tmp_path):
    folder = load(tmp_path / "poems")._cache_dir
    path = folder / "cache-0123456789abcdef.arrow"
    write_arrow(path, pa.table({"a": ["x", "y"]}))
    assert verify_cache().sound
    path.write_bytes(path.read_bytes()[:-9])
    assert [problem.path for problem in verify_cache(fix=True).problems] == [path]
    assert not path.exists()
    assert folder.exists()


def test_a_file_used_in_place_that_changes(caches, tmp_path):
    path = tmp_path / "a.arrow"
    with pa.ipc.new_file(str(path), pa.schema({"x": pa.int64()})) as writer:
        writer.write_table(pa.table({"x": [1, 2]}))
    load_dataset("arrow", data_files=str(path), split="train")
    assert verify_cache().sound
    when = path.stat().st_mtime_ns
    flip(path, 300)
    os.utime(path, ns=(when, when))
    [problem] = verify_cache(fix=True).problems
    assert problem.path == path
    assert path.exists()
    assert list_cache() == []
