"""Whole programs that share one cache, with nothing set but the documented variables: what one fetched, the other finds."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from gristmill.hub.server import serve_in_thread
from tests.hub.server.conftest import write

OURS = """
import json
from gristmill import HubClient, load_dataset
rows = load_dataset("org/rows", split="train")
pinned = HubClient().pin("org/rows")
paths = pinned.download_many([file.path for file in pinned.files()])
print(json.dumps([rows["n"][:], sorted(path.name for path in paths), pinned.commit]))
"""
THEIRS = """
import json, os
from huggingface_hub import hf_hub_download, scan_cache_dir, snapshot_download
folder = snapshot_download("org/rows", repo_type="dataset", local_files_only=LOCAL)
path = hf_hub_download("org/rows", "README.md", repo_type="dataset", local_files_only=LOCAL)
[repo] = scan_cache_dir().repos
[revision] = repo.revisions
print(json.dumps([sorted(os.listdir(folder)), open(path).read(), revision.commit_hash, len(scan_cache_dir().warnings)]))
"""
FILES = {"README.md": b"# Rows\n", "train.csv": b"n\n1\n2\n"}


def program(tmp_path, code, endpoint, *, home="home", arguments=None, fails=False, **variables):
    environment = {
        "PATH": os.environ["PATH"],
        "HOME": str(tmp_path / home),
        "HF_ENDPOINT": endpoint,
        "HF_HUB_DISABLE_PROGRESS_BARS": "1",
        **variables,
    }
    command = arguments or [sys.executable, "-c", code]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=100, check=False)
    assert bool(done.returncode) == fails, done.stderr
    return done.stderr if fails else done.stdout


@pytest.fixture
def folder(tmp_path):
    write(tmp_path / "hub/datasets/org/rows", FILES)
    return tmp_path / "hub"


def test_ours_then_theirs_and_ours_offline(folder, tmp_path):
    with serve_in_thread(folder) as endpoint:
        online = json.loads(program(tmp_path, OURS, endpoint))
    assert online[:2] == [[1, 2], sorted(FILES)]
    # The server is gone.
    names, readme, commit, warned = json.loads(
        program(tmp_path, THEIRS.replace("LOCAL", "True"), endpoint, HF_HUB_OFFLINE="1")
    )
    assert (names, readme, commit, warned) == (sorted(FILES), "# Rows\n", online[2], 0)
    assert json.loads(program(tmp_path, OURS, endpoint, HF_HUB_OFFLINE="1")) == online
    only_rows = 'from gristmill import load_dataset\nprint(load_dataset("org/rows", split="train")["n"][:])'
    for variable in ("HF_HUB_OFFLINE", "HF_DATASETS_OFFLINE"):
        assert program(tmp_path, only_rows, endpoint, **{variable: "1"}) == "[1, 2]\n"
        nothing = program(tmp_path, only_rows, endpoint, home="other", fails=True, **{variable: "1"})
        assert "org/rows" in nothing


def test_theirs_then_ours_offline(folder, tmp_path):
    with serve_in_thread(folder) as endpoint:
        theirs = json.loads(program(tmp_path, THEIRS.replace("LOCAL", "False"), endpoint))
    ours = json.loads(program(tmp_path, OURS, endpoint, HF_HUB_OFFLINE="1"))
    assert ours == [[1, 2], sorted(FILES), theirs[2]]
    verify = [sys.executable, "-m", "gristmill", "cache", "verify", "--json"]
    told = json.loads(program(tmp_path, "", endpoint, arguments=verify, HF_HUB_OFFLINE="1"))
    assert told["problems"] == []
    assert told["checked"] >= len(FILES)


def test_hf_cache_ls_lists_what_ours_fetched(folder, tmp_path):
    with serve_in_thread(folder) as endpoint:
        program(tmp_path, OURS, endpoint)
    command = [str(Path(sys.executable).with_name("hf")), "cache", "ls"]
    assert "dataset/org/rows" in program(tmp_path, "", endpoint, arguments=command, HF_HUB_OFFLINE="1")
