"""`gristmill hub download`, and the library call behind it."""

import json

import pytest

from gristmill import config
from gristmill.cli.main import main
from gristmill.errors import EntryNotFoundError
from gristmill.hub.fetch import fetch_files
from tests.hub.conftest import FILES, README, tree_of
from tests.hub.faulty import COMMIT, REPO


def test_patterns_and_copies(client, tmp_path):
    got = fetch_files(REPO, ["data/*.parquet", "README.md"], folder=tmp_path / "to", client=client)
    wanted = {path for path in FILES if path.startswith("data/")} | {"README.md"}
    assert got.commit == COMMIT
    assert {file.path for file in got.files} == wanted == tree_of(tmp_path / "to")
    assert all(file.local.read_bytes() == FILES[file.path] for file in got.files)
    assert not (tmp_path / "to/README.md").is_symlink()
    again = fetch_files(REPO, ["README.md"], folder=tmp_path / "to", client=client)
    assert again.files[0].size == len(README)
    with pytest.raises(EntryNotFoundError, match=r'fits "\*.csv"'):
        fetch_files(REPO, ["*.csv"], client=client)


def test_the_command(hub, tmp_path, capsys):
    cache = str(tmp_path / "cache")
    with config.override(HF_ENDPOINT=hub.url, HF_HUB_OFFLINE=False):
        assert main(["hub", "download", REPO, "--to", str(tmp_path / "to"), "--cache", cache]) == 0
        said = capsys.readouterr()
        assert COMMIT in said.err
        assert "notes/deep/a.txt" in said.out
        assert tree_of(tmp_path / "to") == set(FILES)
        assert main(["hub", "download", REPO, "README.md", "--json", "--cache", cache]) == 0
        value = json.loads(capsys.readouterr().out)
        assert value["commit"] == COMMIT
        assert [file["file"] for file in value["files"]] == ["README.md"]
        assert main(["hub", "download", REPO, "nope", "--cache", cache]) == 1
        assert 'fits "nope"' in capsys.readouterr().err
        assert main(["hub", "download", REPO, "--type", "bucket"]) == 2
        assert main(["hub", "download", REPO, "--revision", "v9", "--cache", cache]) == 1
        assert 'no revision "v9"' in capsys.readouterr().err
