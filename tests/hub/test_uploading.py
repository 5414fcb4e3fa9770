"""Files of this machine, uploaded to Gristmill's own server on a socket, which keeps a log of what was sent."""

import json
import os
import signal
import subprocess
import sys
import time

import pytest

from gristmill import config
from gristmill.cli.main import main
from gristmill.errors import (
    AccessError,
    EntryNotFoundError,
    FileMissingError,
    IncompleteBodyError,
    InvalidArgumentError,
    OfflineError,
    RepoNotFoundError,
    RevisionNotFoundError,
)
from gristmill.hub import upload_files
from gristmill.hub.client import HubClient
from gristmill.hub.server import serve_in_thread

pytestmark = pytest.mark.filterwarnings(
    "ignore:Use .content=:DeprecationWarning"
)  # huggingface_hub's way with httpx

LARGE = os.urandom(300_000)
CONTENT = {
    "README.md": b"---\nlicense: mit\n---\n",
    "data/a.bin": LARGE,
    "data/b.parquet": b"PAR1" + bytes(5000),
    "data/c d.txt": "söme text\n".encode(),
    "empty.txt": b"",
}


class Hub:
    """A server, its log, and a client without a cache of its own."""

    def __init__(self, endpoint, log, cache):
        self.endpoint = endpoint
        self.log = log
        self.cache = cache

    def files(self, repo="me/data", revision="main", repo_type="dataset"):
        client = HubClient(self.endpoint, token=False, cache_dir=self.cache / str(time.monotonic_ns()))
        pinned = client.pin(repo, revision, repo_type)
        return {file.path: pinned.download(file.path).read_bytes() for file in pinned.files()}

    def asked(self, method, text):
        lines = [json.loads(line) for line in self.log.read_text().splitlines()]
        return [line for line in lines if line["method"] == method and text in line["path"]]


@pytest.fixture
def folder(tmp_path):
    for path, content in {**CONTENT, ".git/config": b"x", "__pycache__/y.pyc": b"y"}.items():
        file = tmp_path / "local" / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(content)
    return tmp_path / "local"


@pytest.fixture
def hub(tmp_path, monkeypatch):
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_DISABLE_XET", True)
    monkeypatch.setattr("huggingface_hub.constants.HF_TOKEN_PATH", str(tmp_path / "token"))
    (tmp_path / "hub").mkdir()
    with serve_in_thread(tmp_path / "hub", allow_write=True, log=tmp_path / "log") as endpoint:
        with config.override(HF_ENDPOINT=endpoint):
            yield Hub(endpoint, tmp_path / "log", tmp_path / "cache")


def upload(*arguments, **options):
    return upload_files(*arguments, token="hf_any", **options)


@pytest.mark.parametrize("xet", [False, True])
def test_a_folder(hub, folder, xet, monkeypatch):
    if xet:
        pytest.importorskip("hf_xet")
        monkeypatch.setattr("huggingface_hub.constants.HF_HUB_DISABLE_XET", False)
    done = upload("me/data", folder, create=True, commit_message="the data")
    assert (done.files, set(done.sent)) == (len(CONTENT), set(CONTENT))
    files = hub.files()
    assert {path: files[path] for path in CONTENT} == CONTENT
    assert set(files) == {*CONTENT, ".gitattributes"}
    assert done.url.endswith(f"/datasets/me/data/commit/{done.commit}")


def test_again_sends_nothing_and_then_what_changed(hub, folder):
    first = upload("me/data", folder, create=True)
    puts = len(hub.asked("PUT", "/lfs/upload/"))
    again = upload("me/data", folder)
    assert (again.commit, again.sent) == (first.commit, ())
    (folder / "data/c d.txt").write_text("other text\n")
    (folder / "data/a.bin").write_bytes(LARGE[::-1])
    changed = upload("me/data", folder)
    assert set(changed.sent) == {"data/c d.txt", "data/a.bin"}
    assert len(hub.asked("PUT", "/lfs/upload/")) == puts + 1
    assert len(hub.asked("POST", "/commit/")) == 2
    assert hub.files()["data/a.bin"] == LARGE[::-1]


def test_what_has_arrived_is_not_sent_a_second_time(hub, folder, monkeypatch):
    from gristmill.hub.writing import BranchWriter

    def lost(*arguments):
        raise AccessError("the connection was lost")

    with monkeypatch.context() as patch:
        patch.setattr(BranchWriter, "commit", lost)
        with pytest.raises(AccessError):
            upload("me/data", folder, create=True)
    sent = len(hub.asked("PUT", "/lfs/upload/"))
    assert sent == 2
    assert hub.files().keys() == {".gitattributes"}
    upload("me/data", folder)
    assert len(hub.asked("PUT", "/lfs/upload/")) == sent
    assert hub.files()["data/a.bin"] == LARGE


def test_killed_and_run_again(hub, folder):
    code = (
        "import time; from gristmill.hub.writing import BranchWriter\n"
        "BranchWriter.commit = lambda *a: (print('sent', flush=True), time.sleep(60))\n"
        f"from gristmill.hub import upload_files\nupload_files('me/data', {str(folder)!r}, create=True)"
    )
    environment = {**os.environ, "HF_ENDPOINT": hub.endpoint, "HF_TOKEN": "hf_any", "HF_HUB_DISABLE_XET": "1"}
    process = subprocess.Popen([sys.executable, "-c", code], env=environment, stdout=subprocess.PIPE)
    assert process.stdout is not None
    assert process.stdout.readline() == b"sent\n"
    process.send_signal(signal.SIGKILL)
    process.communicate()
    sent = len(hub.asked("PUT", "/lfs/upload/"))
    assert upload("me/data", folder).files == len(CONTENT)
    assert len(hub.asked("PUT", "/lfs/upload/")) == sent
    assert {path: hub.files()[path] for path in CONTENT} == CONTENT


def test_a_file_and_where_it_goes(hub, folder):
    upload("me/data", folder / "data/a.bin", create=True)
    upload("me/data", folder / "data/a.bin", "other/name.bin")
    upload("me/data", folder / "empty.txt", "deep/")
    upload("me/data", folder / "data", "copy/of")
    files = set(hub.files())
    assert files == {
        ".gitattributes", "a.bin", "other/name.bin", "deep/empty.txt", "copy/of/a.bin", "copy/of/b.parquet",
        "copy/of/c d.txt",
    }  # fmt: skip


def test_chosen_files(hub, folder):
    done = upload("me/data", folder, create=True, include=["data/", "*.md"], exclude=["*.txt"])
    assert set(done.sent) == {"README.md", "data/a.bin", "data/b.parquet"}
    with pytest.raises(EntryNotFoundError, match="fits"):
        upload("me/data", folder, include=["*.csv"])
    with pytest.raises(EntryNotFoundError, match="no file to upload"):
        upload("me/data", folder, exclude=["*"])


def test_models_branches_and_pull_requests(hub, folder):
    upload("me/model", folder, repo_type="model", create=True, exclude=["*.parquet"])
    assert hub.files("me/model", repo_type="model")["data/a.bin"] == LARGE
    upload("me/data", folder / "empty.txt", create=True)
    with pytest.raises(RevisionNotFoundError):
        upload("me/data", folder, revision="draft")
    upload("me/data", folder, revision="draft", create=True)
    assert "data/a.bin" in hub.files(revision="draft")
    assert "data/a.bin" not in hub.files()
    done = upload("me/data", folder / "README.md", create_pr=True)
    assert done.pull_request.endswith("/discussions/1")
    assert "README.md" in hub.files(revision="refs/pr/1")
    assert "README.md" not in hub.files()


def test_others_files_stay_and_concurrent_uploads_all_survive(hub, folder):
    from concurrent.futures import ThreadPoolExecutor

    upload("me/data", folder / "empty.txt", "start.txt", create=True)
    with ThreadPoolExecutor(6) as pool:
        list(pool.map(lambda n: upload("me/data", folder / "data/a.bin", f"{n}.bin"), range(6)))
    assert set(hub.files()) == {".gitattributes", "start.txt", *(f"{n}.bin" for n in range(6))}


def test_a_file_that_the_repository_ignores_is_told(hub, folder):
    (folder / ".gitignore").write_text("*.txt\n")
    upload("me/data", folder / ".gitignore", create=True)
    with pytest.raises(IncompleteBodyError, match=r"\.gitignore"):
        upload("me/data", folder)


def test_private_repositories_are_made_if_asked(hub, folder):
    with pytest.raises(RepoNotFoundError):
        upload("me/data", folder)
    with pytest.raises(InvalidArgumentError, match="create"):
        upload("me/data", folder, private=True)
    upload("me/data", folder, create=True, private=True)
    state = json.loads((hub.log.parent / "hub/datasets/me/data/.gristmill/state.json").read_text())
    assert state["private"] is True


def test_what_cannot_be(hub, folder):
    with pytest.raises(FileMissingError):
        upload("me/data", folder / "nothing")
    with pytest.raises(InvalidArgumentError):
        upload("me/data", folder / "empty.txt", include=["*"])
    for target in ("../x", "/abs", "a/../../b"):
        with pytest.raises(ValueError, match="path"):
            upload("me/data", folder / "empty.txt", target)
    with config.override(HF_HUB_OFFLINE=True), pytest.raises(OfflineError):
        upload("me/data", folder)


def test_folders_of_tools_are_no_place(hub, folder):
    for target in (".git/x", "a/.cache/x", ".git"):
        for source in (folder, next(path for path in folder.rglob("*") if path.is_file())):
            with pytest.raises(InvalidArgumentError, match=r"folder \.git or \.cache"):
                upload("me/data", source, target)


def test_the_command(hub, folder, capsys, monkeypatch):
    monkeypatch.setenv("HF_TOKEN", "hf_any")
    arguments = ["hub", "upload", "me/data", str(folder), "data", "--create", "--exclude", "*.txt"]
    assert main([*arguments, "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert told["sent"] == ["data/README.md", "data/data/a.bin", "data/data/b.parquet"]
    assert main(arguments) == 0
    assert f"/commit/{told['commit']}" in capsys.readouterr().err
    assert main(["hub", "upload", "me/none", str(folder)]) == 1
