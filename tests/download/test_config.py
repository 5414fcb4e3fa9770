"""Each field of `DownloadConfig` does what it says, for `DownloadManager` and for `load_dataset`, or is said not to."""

import dataclasses
import re
import sys
from pathlib import Path

import pytest

from gristmill import config, load_dataset
from gristmill.download import DownloadConfig, DownloadManager
from gristmill.errors import HubConnectionError, InvalidArgumentError, OfflineError, RateLimitedError
from gristmill.files.retry import RetryPolicy
from gristmill.hub.transfer import run_parallel
from gristmill.load import arguments
from tests.hub.faulty import REPO, FaultyHub, hang_up, status


@pytest.fixture(autouse=True)
def at_once(monkeypatch):
    monkeypatch.setattr(RetryPolicy, "delay", lambda *_: 0.0)


@pytest.fixture
def warned(monkeypatch):
    lines = []
    monkeypatch.setattr(arguments._log, "warning", lambda text, *args: lines.append(text % args))
    return lines


def load(server, name="data/train.csv", **how):
    files = f"{server.url}/{name}"
    return load_dataset("csv", data_files=files, split="train", download_config=DownloadConfig(**how))["a"][:]


def fetch(server, name="a.txt", **how):
    return Path(DownloadManager(download_config=DownloadConfig(**how)).download(f"{server.url}/{name}"))


def test_every_field_has_a_test_here():
    text = Path(__file__).read_text(encoding="utf-8")
    assert [
        field.name
        for field in dataclasses.fields(DownloadConfig)
        if not re.search(f'{field.name}(=|")', text)
    ] == []


def test_cache_dir(server, tmp_path):
    assert fetch(server, cache_dir=tmp_path / "own").parent == tmp_path / "own"
    assert load(server, cache_dir=str(tmp_path / "mine")) == [1]
    assert len([path for path in (tmp_path / "mine").iterdir() if len(path.name) == 64]) == 1
    assert not config.DOWNLOADED_DATASETS_PATH.exists()


def test_cache_dir_of_other_file_systems(server, tmp_path):
    import fsspec

    with fsspec.open("memory://own/a.csv", "w") as file:
        file.write("a\n7\n")
    how = DownloadConfig(cache_dir=tmp_path / "own")
    ds = load_dataset("csv", data_files="memory://own/a.csv", split="train", download_config=how)
    assert ds["a"][:] == [7]
    assert len(list((tmp_path / "own").iterdir())) > 0
    assert not config.DOWNLOADED_DATASETS_PATH.exists()


def test_force_download(server):
    load(server)
    server.files["data/train.csv"] = b"a\n2\n"
    assert load(server, use_etag=False) == [1]
    assert load(server, use_etag=False, force_download=True) == [2]
    fetch(server)
    asked = len(server.requests("a.txt"))
    fetch(server, force_download=True, use_etag=False)
    assert len(server.requests("a.txt")) == asked + 1


def test_local_files_only(server):
    with pytest.raises(OfflineError):
        load(server, local_files_only=True)
    with pytest.raises(OfflineError):
        fetch(server, local_files_only=True)
    assert server.seen == []
    load(server)
    asked = len(server.seen)
    assert load(server, local_files_only=True) == [1]
    assert len(server.seen) == asked


def test_use_etag(server):
    fetch(server)
    load(server)
    asked = len(server.seen)
    fetch(server, use_etag=False)
    assert load(server, use_etag=False) == [1]
    assert len(server.seen) == asked
    fetch(server, use_etag=True)
    assert server.seen[-1].headers["if-none-match"]


@pytest.mark.parametrize("take", [load, fetch])
def test_proxies(server, take):
    # A proxy answers in place of the server: what it serves under the same path is what comes.
    with FaultyHub({"a.txt": b"by proxy", "data/train.csv": b"a\n9\n"}) as proxy:
        for proxies in ({"http": proxy.url}, {"all://": proxy.url}):
            server.seen.clear()
            proxy.seen.clear()
            found = take(server, proxies=proxies, force_download=True)
            assert found == [9] if take is load else found.read_bytes() == b"by proxy"
            assert len(proxy.seen) > 0
            assert server.seen == []
        take(server, proxies={"https": proxy.url, "http": None}, force_download=True)
        assert len(server.seen) > 0


@pytest.mark.parametrize(
    "proxies", ["http://proxy", {"http": 3}, {"http": "nonsense://x"}, {3: "http://proxy"}]
)
def test_proxies_that_are_none(server, proxies):
    for take in (load, fetch):
        with pytest.raises(InvalidArgumentError, match="proxies"):
            take(server, proxies=proxies)


def test_user_agent(server):
    fetch(server, user_agent="mine/1")
    load(server, user_agent={"mine": 2})
    agents = [seen.headers["user-agent"] for seen in server.seen]
    assert agents[0].startswith("gristmill/")
    assert agents[0].endswith("; mine/1")
    assert {agent.rpartition("; ")[2] for agent in agents[1:]} == {"mine/2"}


def test_max_retries(server):
    server.script("a.txt", hang_up, hang_up)
    with pytest.raises(HubConnectionError):
        fetch(server, max_retries=1)
    server.script("a.txt", *[hang_up] * 5)
    assert fetch(server, max_retries=5).read_bytes() == b"hello"
    # Loading is as patient as ever, unless told to be more so, or not at all.
    for retries, attempts in ((1, 4), (6, 7), (0, 1)):
        server.scripts.clear()
        server.seen.clear()
        server.script("train.csv", *[status(429)] * 20)
        with pytest.raises(RateLimitedError):
            load(server, max_retries=retries)
        assert len(server.seen) == attempts


def test_num_proc(server, monkeypatch):
    server.files |= {f"data/part-{number}.csv": b"a\n%d\n" % number for number in range(6)}
    seen = []

    def counted(one, items, workers):
        seen.append(workers)
        return run_parallel(one, items, workers)

    monkeypatch.setattr("gristmill.hub.pinned.run_parallel", counted)
    load_dataset(REPO, download_config=DownloadConfig(num_proc=2), split="train")
    assert set(seen) == {2}
    urls = [f"{server.url}/data/part-{number}.csv" for number in range(6)]
    found = DownloadManager(download_config=DownloadConfig(num_proc=3)).download(urls)
    assert [Path(path).read_bytes() for path in found] == [b"a\n%d\n" % number for number in range(6)]


@pytest.mark.parametrize(
    "how", [{"num_proc": 0}, {"num_proc": "2"}, {"max_retries": -1}, {"max_retries": None}]
)
def test_numbers_that_are_none(server, how):
    for take in (load, fetch):
        with pytest.raises(InvalidArgumentError, match=f"download_config.{next(iter(how))}"):
            take(server, **how)


def test_token(server):
    load_dataset(
        REPO, split="train", data_files="data/train.csv", download_config=DownloadConfig(token="hf_mine")
    )
    assert {seen.headers.get("authorization") for seen in server.seen} == {"Bearer hf_mine"}
    server.seen.clear()
    how = DownloadConfig(token="hf_mine", force_download=True)
    load_dataset(REPO, split="train", data_files="data/train.csv", download_config=how, token="hf_other")
    assert {seen.headers.get("authorization") for seen in server.seen} == {"Bearer hf_other"}


def test_storage_options(server):
    import fsspec
    from fsspec.implementations.memory import MemoryFileSystem

    given = []

    class Recorded(MemoryFileSystem):  # type: ignore[misc]  # fsspec has no types
        protocol = "recorded"
        cachable = False

        def __init__(self, **options):
            given.append(options)
            super().__init__()

        @classmethod
        def _strip_protocol(cls, path):
            return super()._strip_protocol(path.replace("recorded://", "memory://"))

    fsspec.register_implementation("recorded", Recorded, clobber=True)
    with fsspec.open("memory://kept/a.csv", "w") as file:
        file.write("a\n3\n")
    how = DownloadConfig(storage_options={"key": "mine", "region": "here"})
    url = "recorded://kept/a.csv"
    ds = load_dataset(
        "csv", data_files=url, split="train", download_config=how, storage_options={"key": "other"}
    )
    assert ds["a"][:] == [3]
    assert given[-1] == {"key": "other", "region": "here"}
    DownloadManager(download_config=how).download(url)
    assert given[-1] == {"key": "mine", "region": "here"}


@pytest.mark.parametrize(
    "how",
    [{"extract_compressed_file": True}, {"force_extract": True}, {"delete_extracted": True}, {"extract_on_the_fly": True}],
)  # fmt: skip
def test_extracting_has_no_effect_on_loading(server, warned, how):
    assert load(server, **how) == [1]
    [line] = warned
    assert next(iter(how)) in line


def test_extracting(server):
    manager = DownloadManager(
        download_config=DownloadConfig(extract_compressed_file=True, delete_extracted=True)
    )
    path = Path(manager.download(f"{server.url}/a.txt.gz"))
    assert path.read_bytes() == b"hello"
    path.write_bytes(b"changed")
    again = DownloadConfig(extract_compressed_file=True, force_extract=True)
    assert (
        Path(DownloadManager(download_config=again).download(f"{server.url}/a.txt.gz")).read_bytes()
        == b"hello"
    )


def test_resume_download_is_always_so(server, warned):
    assert load(server, resume_download=True) == [1]
    assert load(server, resume_download=False) == [1]
    assert warned == []


def test_bars(server, warned, monkeypatch, capsys):
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True, raising=False)
    with (
        config.override(HF_DATASETS_DISABLE_PROGRESS_BARS=False)
        if hasattr(config, "HF_DATASETS_DISABLE_PROGRESS_BARS")
        else monkeypatch.context()
    ):
        DownloadManager(download_config=DownloadConfig(download_desc="Bringing")).download(
            [f"{server.url}/a.txt", f"{server.url}/a.zip"]
        )
        assert "Bringing" in capsys.readouterr().err
        load_dataset(REPO, split="train", data_files="data/train.csv", download_config=DownloadConfig())
        assert "Downloading org/data" in capsys.readouterr().err
        how = DownloadConfig(disable_tqdm=True, force_download=True)
        load_dataset(REPO, split="train", data_files="data/train.csv", download_config=how)
        assert "Downloading org/data" not in capsys.readouterr().err
    load(server, download_desc="Bringing")
    assert "download_desc" in warned[0]


@pytest.mark.parametrize("said", [3, "config", {"token": "x"}])
def test_what_is_no_configuration(server, said):
    with pytest.raises(InvalidArgumentError, match="download_config"):
        load_dataset("csv", data_files=f"{server.url}/data/train.csv", download_config=said)
