"""The demo: nine sources, whole tables, nothing of the user's touched, twice the same bytes."""

import json
import socket

import pytest

from gristmill import config
from gristmill.cli.main import main
from gristmill.corpus.decisions.sources import SOURCES
from gristmill.demo import DEMO_HUB
from gristmill.demo.run import run_demo

NAMES = [
    "typed_synth", "assistant_decisions", "pngwn_typed", "boolq", "mnli", "arc", "commonsense_qa", "banking77",
    "typed_decisions_bench",
]  # fmt: skip


@pytest.fixture
def users_own(tmp_path, monkeypatch):
    """A user whose Hub is elsewhere, who is offline and whose caches are here."""
    for name in ("HF_HUB_CACHE", "HF_DATASETS_CACHE", "DOWNLOADED_DATASETS_PATH"):
        monkeypatch.setattr(config, name, tmp_path / "user" / name)
    monkeypatch.setattr(config, "HF_ENDPOINT", "http://127.0.0.1:9")
    monkeypatch.setattr(config, "HF_HUB_OFFLINE", True)
    return tmp_path / "user"


def test_all_nine_sources_become_records_twice_the_same(users_own, tmp_path, monkeypatch):
    real = socket.socket.connect

    def only_loopback(self, address):
        assert not isinstance(address, tuple) or address[0] in ("127.0.0.1", "::1"), address
        return real(self, address)

    monkeypatch.setattr(socket.socket, "connect", only_loopback)
    said: list[str] = []
    result = run_demo(tmp_path / "one", say=said.append)
    assert result.rows == {"train": 500, "validation": 150}
    assert len(result.first_rows) == 3
    assert (
        [source.source for source in result.decisions.sources] == NAMES == [source.name for source in SOURCES]
    )
    assert not result.decisions.failed
    assert not result.decisions.skipped
    assert len(said) == 3
    page = result.report.page.read_text()
    for name in NAMES:
        assert (tmp_path / "one" / "decisions" / f"{name}.jsonl").stat().st_size > 0
        assert name in page
    assert not users_own.exists()

    again = run_demo(tmp_path / "two")
    first = sorted((tmp_path / "one" / "decisions").iterdir())
    assert [path.name for path in first] == sorted(p.name for p in again.decisions.out.iterdir())
    for path in first:
        assert path.read_bytes() == (again.decisions.out / path.name).read_bytes(), path.name


def test_the_command_says_where_things_are(users_own, tmp_path, capsys):
    assert main(["demo", "--out", str(tmp_path / "demo")]) == 0
    captured = capsys.readouterr()
    assert "First rows of google/boolq (train 500, validation 150 rows)" in captured.out
    for name in NAMES:
        assert name in captured.out
    assert str(tmp_path / "demo" / "decisions" / "report.html") in captured.err


def test_the_command_as_json(users_own, tmp_path, capsys):
    assert main(["--json", "demo", "--out", str(tmp_path / "demo")]) == 0
    value = json.loads(capsys.readouterr().out)
    assert [source["source"] for source in value["decisions"]["sources"]] == NAMES


def test_each_folder_of_the_hub_has_its_licence_beside_it():
    text = (DEMO_HUB / "LICENSES.md").read_text()
    for kind in ("datasets", "models", "github"):
        for repo in (DEMO_HUB / kind).glob("*/*"):
            assert repo.relative_to(DEMO_HUB).as_posix() in text, repo


def test_the_hub_stays_small():
    assert sum(path.stat().st_size for path in DEMO_HUB.rglob("*") if path.is_file()) < 5_000_000
