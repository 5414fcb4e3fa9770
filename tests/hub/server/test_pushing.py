"""Whole programs that push, with nothing set but the endpoint and a token: they bring their own hf_xet and caches."""

import json
import os
import subprocess
import sys
import textwrap

import pytest

from gristmill.hub.server import serve_in_thread

REFERENCE = os.environ.get("GRISTMILL_REFERENCE_PYTHON")


def run_program(folder, code, python=sys.executable, times=1, **environment):
    kept = {key: value for key, value in os.environ.items() if not key.startswith(("HF_", "XET_"))}
    (folder / "hub").mkdir(exist_ok=True)
    (folder / "tokens.json").write_text(json.dumps({"hf_me": {"user": "me", "write": ["me/*"]}}))
    with serve_in_thread(folder / "hub", tokens=folder / "tokens.json") as endpoint:
        told = {"HF_ENDPOINT": endpoint, "HF_TOKEN": "hf_me", "HF_HOME": str(folder / "home")}
        stdout = ""
        for _ in range(times):
            done = subprocess.run(
                [python, "-c", textwrap.dedent(code)],
                env={**kept, **told, **environment},
                cwd=folder,
                capture_output=True,
                text=True,
                timeout=240,
                check=False,
            )
            assert done.returncode == 0, done.stderr
            stdout = done.stdout
    return stdout


UPLOADS = """
    import os
    from pathlib import Path
    from huggingface_hub import HfApi, hf_hub_download
    api = HfApi()
    api.create_repo("me/x", repo_type="dataset")
    data = os.urandom(3_000_000) + b"abcd" * 500_000
    Path("big.bin").write_bytes(data)
    api.upload_file(path_or_fileobj="big.bin", path_in_repo="d/big.bin", repo_id="me/x", repo_type="dataset")
    done = api.upload_file(path_or_fileobj=data[::-1], path_in_repo="d/back.bin", repo_id="me/x", repo_type="dataset",
                           create_pr=True)
    for name, revision, content in [("d/big.bin", None, data), ("d/back.bin", done.pr_revision, data[::-1])]:
        path = hf_hub_download("me/x", name, repo_type="dataset", revision=revision)
        assert Path(path).read_bytes() == content
    Path("source/sub").mkdir(parents=True)
    for number in range(10):
        Path(f"source/sub/{number}.npy").write_bytes(os.urandom(1000))
        Path(f"source/{number}.txt").write_text(str(number))
    api.upload_folder(repo_id="me/x", folder_path="source", repo_type="dataset")
    print(len(api.list_repo_files("me/x", repo_type="dataset")))
"""


@pytest.mark.parametrize("xet", [True, False])
def test_uploads(tmp_path, xet):
    assert run_program(tmp_path, UPLOADS, **({} if xet else {"HF_HUB_DISABLE_XET": "1"})) == "22\n"
    assert any(tmp_path.glob("hub/datasets/me/x/.gristmill/xet/*/*")) == xet


PUSHES = """
    from datasets import Dataset, DatasetDict, get_dataset_config_names, load_dataset
    from huggingface_hub import HfApi
    def made(start, rows):
        return Dataset.from_dict({"a": list(range(start, start + rows)), "t": [f"row {n}" for n in range(rows)]})
    for start in (1, 2):
        DatasetDict(train=made(start, 1000), test=made(5, 10)).push_to_hub("me/push")
        made(start * 100, 50).push_to_hub("me/push", "other", num_shards=3)
        loaded = load_dataset("me/push", "default")
        assert loaded["train"]["a"][:] == list(range(start, start + 1000))
        assert load_dataset("me/push", "other", split="train")["a"][:] == list(range(start * 100, start * 100 + 50))
    assert sorted(get_dataset_config_names("me/push")) == ["default", "other"]
    history = HfApi().list_repo_commits("me/push", repo_type="dataset")
    DatasetDict(train=made(2, 1000), test=made(5, 10)).push_to_hub("me/push")
    assert len(HfApi().list_repo_commits("me/push", repo_type="dataset")) == len(history) == 5
    assert load_dataset("me/push", revision=history[-2].commit_id, split="train")["a"][:2] == [1, 2]
    done = made(1, 5).push_to_hub("me/push", "proposed", create_pr=True)
    assert load_dataset("me/push", "proposed", revision=done.pr_revision, split="train").num_rows == 5
    made(1, 5).push_to_hub("me/push", "apart", revision="feature")
    assert load_dataset("me/push", "apart", revision="feature", split="train").num_rows == 5
    made(0, 3).push_to_hub("me/secret", private=True)
    print([row["a"] for row in load_dataset("me/secret", split="train", streaming=True)])
"""


@pytest.mark.skipif(
    REFERENCE is None, reason="GRISTMILL_REFERENCE_PYTHON does not name a Python with datasets"
)
@pytest.mark.parametrize("xet", [True, False])
def test_datasets_pushes_twice_and_loads(tmp_path, xet):
    assert REFERENCE is not None
    told = run_program(tmp_path, PUSHES, REFERENCE, **({} if xet else {"HF_HUB_DISABLE_XET": "1"}))
    assert told == "[0, 1, 2]\n"


SAME_ROWS = """
    import os, random
    from huggingface_hub import HfApi, hf_hub_download
    api = HfApi()
    data = random.Random(1).randbytes(1_500_000)
    for repo in ("me/a", "me/b", "me/a"):
        api.create_repo(repo, repo_type="dataset", exist_ok=True, private=True)
        content = data + os.urandom(8)
        api.upload_file(path_or_fileobj=content, path_in_repo="x.bin", repo_id=repo, repo_type="dataset")
        with open(hf_hub_download(repo, "x.bin", repo_type="dataset"), "rb") as file:
            assert file.read() == content
"""


@pytest.mark.parametrize("gone", [False, True])
def test_the_same_rows_go_to_two_repositories(tmp_path, monkeypatch, gone):
    # hf_xet remembers, also for the next process, what it sent to an address, and sends only the rest.
    if gone:
        monkeypatch.setattr("gristmill.hub.server.xet_store.GIVEN_OUT_SECONDS", -10.0)
        monkeypatch.setattr("gristmill.hub.server.xet_store.KEEP_SECONDS", -5.0)
    run_program(tmp_path, SAME_ROWS, times=2)
    assert any((tmp_path / "home/xet").glob("*/shard-cache/*"))
