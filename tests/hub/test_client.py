"""Pinning, listing and downloading over a Hub that works, and what each refusal is told as."""

import json
import pickle

import pytest

from gristmill import config
from gristmill.errors import (
    AccessError,
    EntryNotFoundError,
    GatedRepoError,
    HubConnectionError,
    HubResponseError,
    InvalidArgumentError,
    OfflineError,
    RangeIgnoredError,
    RepoNotFoundError,
    RevisionNotFoundError,
    UnsafePathError,
)
from gristmill.hub.client import HubClient
from tests.hub.conftest import FILES, README, tree_of
from tests.hub.faulty import COMMIT, REPO, etag_of, hang_up, redirect, says, status

SNAPSHOT = f"datasets--org--data/snapshots/{COMMIT}"


def test_pin_then_list_then_download_takes_one_request_each(client, hub):
    repo = client.pin(REPO)
    assert (repo.commit, repo.revision, repo.repo_type, repo.private, repo.gated) == (
        COMMIT,
        "main",
        "dataset",
        False,
        False,
    )
    assert [(file.path, file.size) for file in repo.files()] == [
        (p, len(c)) for p, c in sorted(FILES.items())
    ]
    local = repo.download("data/train-0.parquet")
    assert local.read_bytes() == FILES["data/train-0.parquet"]
    assert local == client.cache_dir / SNAPSHOT / "data/train-0.parquet"
    assert [seen.path.partition(REPO)[2] for seen in hub.seen] == [
        "/revision/main",
        f"/tree/{COMMIT}",
        f"/resolve/{COMMIT}/data/train-0.parquet",
    ]
    for seen in hub.seen:
        assert seen.headers["user-agent"].startswith("gristmill/")
        assert "; python/3." in seen.headers["user-agent"]
        assert "authorization" not in seen.headers


def test_hashes_of_files(client):
    files = {file.path: file for file in client.pin(REPO).files()}
    large, plain = files["data/train-0.parquet"], files["README.md"]
    assert large.sha256 == large.etag == etag_of("x.parquet", FILES["data/train-0.parquet"])
    assert plain.sha256 is None
    assert plain.blob_id == plain.etag == etag_of("README.md", README)


def test_whole_files_are_not_fetched_again(client, hub):
    repo = client.pin(REPO)
    paths = [file.path for file in repo.files()]
    first = repo.download_many(paths)
    count = len(hub.requests("/resolve/"))
    assert count == len(paths) - 1, "an empty file has nothing to fetch"
    assert client.pin(REPO).download_many(paths) == first
    assert len(hub.requests("/resolve/")) == count
    assert [local.read_bytes() for local in first] == [FILES[path] for path in paths]


def test_a_cached_commit_needs_no_request(client, hub):
    client.pin(REPO).download("README.md")
    hub.seen.clear()
    repo = client.pin(REPO, COMMIT)
    assert repo.download("README.md").read_bytes() == README
    assert len(repo.files()) == len(FILES)
    assert (repo.private, repo.card_data) == (False, {})
    assert hub.seen == []


def test_an_unknown_commit_is_asked_for(client, hub):
    assert client.pin(REPO, COMMIT).commit == COMMIT
    assert [seen.path for seen in hub.seen] == [f"/api/datasets/{REPO}/revision/{COMMIT}"]


def test_facts_about_a_commit_cached_by_others_are_asked_for_when_read(client, hub):
    hub.info |= {"gated": "manual", "cardData": {"license": "mit"}}
    (client.cache_dir / SNAPSHOT).mkdir(parents=True)
    repo = client.pin(REPO, COMMIT)
    assert hub.seen == []
    assert (repo.gated, repo.card_data) == (True, {"license": "mit"})
    assert len(hub.seen) == 1


def test_a_truncated_copy_in_the_cache_is_fetched_again(client, hub):
    repo = client.pin(REPO)
    local = repo.download("data/train-0.parquet")
    local.resolve().write_bytes(b"cut off")
    assert client.pin(REPO).download("data/train-0.parquet").read_bytes() == FILES["data/train-0.parquet"]


def test_the_same_content_under_two_names_is_fetched_once(client, hub):
    hub.files["copy.parquet"] = FILES["data/train-0.parquet"]
    first, second = client.pin(REPO).download_many(["copy.parquet", "data/train-0.parquet"])
    assert first.read_bytes() == second.read_bytes() == FILES["data/train-0.parquet"]
    assert first.resolve() == second.resolve()
    assert len(hub.requests("/resolve/")) == 1


def test_pages_of_the_listing_are_followed(client, hub):
    hub.page = 2
    assert {file.path for file in client.pin(REPO).files()} == set(FILES)
    assert len(hub.requests("/tree/")) == 3


def test_many_files(client, hub):
    hub.files.update({f"many/{n:04}.txt": str(n).encode() for n in range(60)})
    hub.page = 25
    paths = [f"many/{n:04}.txt" for n in range(60)]
    got = client.pin(REPO).download_many([*paths, paths[0]])
    assert [int(local.read_text()) for local in got] == [*range(60), 0]
    left = [p for p in tree_of(client.cache_dir) if p.endswith((".part", ".lock", ".incomplete"))]
    assert left == []


def test_slashes_in_a_revision_are_encoded(client, hub):
    repo = client.pin(REPO, "feat/x")
    repo.download("README.md")
    assert hub.seen[0].path.endswith("/revision/feat%2Fx")
    assert (client.cache_dir / "datasets--org--data/refs/feat/x").read_text() == COMMIT


def test_resolve_url(client, hub):
    url = client.resolve_url(REPO, "refs/convert/parquet", "a b/\u00fc#1 100%.parquet")
    assert (
        url
        == f"{hub.url}/datasets/org/data/resolve/refs%2Fconvert%2Fparquet/a%20b/%C3%BC%231%20100%25.parquet"
    )
    assert client.resolve_url("gpt2", "main", "x", repo_type="model") == f"{hub.url}/gpt2/resolve/main/x"
    with pytest.raises(UnsafePathError):
        client.resolve_url(REPO, "main", "../x")


@pytest.mark.parametrize(
    "repo_id", ["../up", "a/b/c", "a b", "", "-x/y", "a/b.git", "a--b/c", "a/" + "x" * 97]
)
def test_names_that_no_repository_can_have(client, hub, repo_id):
    with pytest.raises(InvalidArgumentError, match="repo_id="):
        client.pin(repo_id)
    assert hub.seen == []


@pytest.mark.parametrize("revision", ["", "../main", "/main", "a//b", "a\\b"])
def test_revisions_that_can_not_be(client, hub, revision):
    with pytest.raises(InvalidArgumentError, match="revision="):
        client.pin(REPO, revision)
    with pytest.raises(InvalidArgumentError, match="repo_type="):
        client.pin(REPO, repo_type="bucket")
    assert hub.seen == []


def test_missing_file_suggests_a_close_name(client):
    with pytest.raises(EntryNotFoundError, match=r'Did you mean "data/train-0.parquet"') as caught:
        client.pin(REPO).download("data/trian-0.parquet")
    assert isinstance(caught.value, FileNotFoundError)


def test_missing_revision_and_repository(client, hub):
    with pytest.raises(RevisionNotFoundError, match='no revision "v9" of the dataset org/data'):
        client.pin(REPO, "v9")
    with pytest.raises(RepoNotFoundError, match=r"no dataset org/other, or it is private.*hf auth login"):
        client.pin("org/other")


@pytest.mark.parametrize(
    ("fault", "error", "words"),
    [
        (status(401, X_Error_Code="GatedRepo"), GatedRepoError, r"gated.*hf auth login.*HF_TOKEN"),
        (
            status(403, X_Error_Code="GatedRepo"),
            GatedRepoError,
            r"Ask for access at http://.*/datasets/org/data$",
        ),
        (
            status(404, X_Error_Code="RepoNotFound"),
            RepoNotFoundError,
            r"Check the name\. If it is private: .*HF_TOKEN",
        ),
        (
            status(401, X_Error_Message="Invalid credentials in Authorization header"),
            AccessError,
            "does not know your token",
        ),
        (
            status(403, X_Error_Message="Access to this resource is disabled."),
            AccessError,
            "disabled by the Hub",
        ),
        (status(401), AccessError, "needs a token, or does not exist"),
        (status(403), AccessError, "no right to read"),
        (status(404), RepoNotFoundError, "no dataset org/data"),
        (says({"error": "what\x1b[31m?"}, 400), HubResponseError, r"the server says 'what\\x1b\[31m\?'"),
        (status(204), HubResponseError, "can't be used"),
    ],
)
def test_refusals(client, hub, sleeps, fault, error, words):
    hub.script("/revision/", fault)
    with pytest.raises(error, match=words) as caught:
        client.pin(REPO)
    assert caught.value.url == f"{hub.url}/api/datasets/{REPO}/revision/main"
    assert sleeps == [], "a refusal is final"


@pytest.mark.parametrize(
    "info",
    [[], None, {"id": REPO}, {"sha": "main"}, {"sha": COMMIT.upper()}, {"sha": f"{COMMIT}\n"}, {"sha": 7}],
)
def test_an_answer_without_a_commit(client, hub, info):
    hub.script("/revision/", says(info))
    with pytest.raises(HubResponseError, match="names no commit"):
        client.pin(REPO)


@pytest.mark.parametrize("body", [b"<html>Sign in</html>", b"[" * 100_000, b'"\xff"', b""])
def test_an_answer_that_is_no_json(client, hub, body):
    hub.script("/revision/", status(200, body))
    with pytest.raises(HubResponseError, match="not JSON"):
        client.pin(REPO)


def entry(**change: object) -> dict[str, object]:
    return {"type": "file", "path": "a.txt", "size": 1, "oid": "0" * 40} | change


@pytest.mark.parametrize(
    "listing",
    [
        {"error": "no"},
        "text",
        [7],
        [{"type": "symlink", "path": "x"}],
        [entry(size=-1)],
        [entry(size="1")],
        [entry(size=True)],
        [entry(oid="../../x")],
        [entry(oid=None)],
        [entry(lfs={"oid": "abc", "size": 1})],
        [entry(lfs={"size": 1})],
        [entry(lfs="x")],
        [entry(path=None)],
        [entry(), entry(size=2)],
    ],
)
def test_odd_listings(client, hub, listing):
    hub.script("/tree/", says(listing))
    with pytest.raises(HubResponseError, match="list of files"):
        client.pin(REPO).files()


@pytest.mark.parametrize("path", ["../../evil", "/etc/passwd", "a/../../b", "a\\b", "", "a//b", "C:/x"])
def test_paths_that_would_leave_the_cache(client, hub, path, tmp_path):
    hub.script("/tree/", says([entry(path=path)]))
    with pytest.raises(UnsafePathError):
        client.pin(REPO).files()
    assert tree_of(tmp_path) <= {f"hub/datasets--org--data/gristmill/{COMMIT}.json"}


def test_a_file_and_a_folder_of_one_name(client, hub):
    hub.files = {"a": b"file", "a/b": b"below"}
    with pytest.raises(OSError, match="Could not"):
        client.pin(REPO).download_many(["a", "a/b"])


def test_listing_that_goes_on_elsewhere_or_never_ends(client, hub):
    hub.script("/tree/", says([entry()], Link='<http://127.0.0.2:1/next>; rel="next"'))
    with pytest.raises(HubResponseError, match="goes on elsewhere"):
        client.pin(REPO).files()
    hub.script("/tree/", says([entry()], Link='<http://[bad>; rel="next"'))
    with pytest.raises(HubResponseError, match="goes on elsewhere"):
        client.pin(REPO).files()
    hub.script("/tree/", says([], Link=f'<{hub.url}/tree/again>; rel="next"'))
    with pytest.raises(HubResponseError, match="empty page"):
        client.pin(REPO).files()


def test_listing_that_goes_in_a_circle_or_on_and_on(client, hub, monkeypatch):
    for _ in range(2):
        hub.script("/tree/", says([entry()], Link=f'<{hub.url}/tree/again>; rel="next"'))
    with pytest.raises(HubResponseError, match="never ends"):
        client.pin(REPO).files()
    monkeypatch.setattr("gristmill.hub.tree._MOST_PAGES", 3)
    for number in range(3):
        hub.script("/tree/", says([entry()], Link=f'<{hub.url}/tree/{number}>; rel="next"'))
    with pytest.raises(HubResponseError, match="more than 3 pages"):
        client.pin(REPO).files()


def test_a_large_answer_is_not_read(client, hub):
    with pytest.raises(HubResponseError, match="larger than the 1,000 bytes"):
        client.session.get_bytes(client.resolve_url(REPO, "main", "data/train-0.parquet"), limit=1000)


def test_read_bytes(client):
    repo = client.pin(REPO)
    assert repo.read_bytes("README.md", 1000) == README
    with pytest.raises(HubResponseError, match="256,000 bytes, at most 1,000"):
        repo.read_bytes("data/train-0.parquet", 1000)
    with pytest.raises(EntryNotFoundError):
        repo.read_bytes("no.md", 1000)


def test_parquet_urls(client, hub):
    urls = client.parquet_urls(REPO, "de fault", "train")
    assert urls == [f"{hub.url}/api/datasets/{REPO}/parquet/de%20fault/train/0.parquet"]


@pytest.mark.parametrize(
    "listing", [[], {}, None, ["http://x", 7], {"train": ["http://x"]}, ["file:///etc/passwd"]]
)
def test_an_odd_parquet_listing_names_what_was_asked(client, hub, listing):
    hub.script("/parquet/", says(listing))
    with pytest.raises(HubResponseError, match=r"org/data, config default, split train is (odd|empty)"):
        client.parquet_urls(REPO, "default", "train")


def test_ranges(client, hub):
    content = FILES["data/train-0.parquet"]
    url = client.resolve_url(REPO, COMMIT, "data/train-0.parquet")
    assert client.get_range(url, 10, 20) == content[10:30]
    assert client.get_range(url, 0, 1) == content[:1]
    assert client.get_range(url, len(content) - 5, 100) == content[-5:]
    with pytest.raises(RangeIgnoredError, match="HTTP 416"):
        client.get_range(url, len(content), 1)
    with pytest.raises(EntryNotFoundError):
        client.get_range(client.resolve_url(REPO, COMMIT, "no"), 0, 1)
    for start, length in [(-1, 5), (0, 0)]:
        with pytest.raises(InvalidArgumentError):
            client.get_range(url, start, length)


def test_offline_uses_the_cache_and_says_what_is_missing(client, hub, offline, warnings_said):
    client.pin(REPO).download("README.md")
    hub.seen.clear()
    repo = offline.pin(REPO)
    assert repo.commit == COMMIT
    assert len(repo.files()) == len(FILES)
    assert repo.read_bytes("README.md") == README
    with pytest.raises(OfflineError, match=r'"data/train-0.parquet" \(the dataset org/data.*HF_HUB_OFFLINE'):
        repo.download("data/train-0.parquet")
    with pytest.raises(EntryNotFoundError):
        repo.download("nowhere.txt")
    with pytest.raises(OfflineError, match="revision v2 of the dataset org/data is not in"):
        offline.pin(REPO, "v2")
    with pytest.raises(OfflineError):
        offline.parquet_urls(REPO, "default", "train")
    with pytest.raises(OfflineError):
        offline.get_range("http://x", 0, 1)
    with pytest.raises(OfflineError):
        offline.download_url(f"{hub.url}/README.md")
    assert hub.seen == []
    assert warnings_said() == []


def test_the_cached_commit_is_used_when_the_hub_is_down(client, hub, sleeps, warnings_said):
    client.pin(REPO).download("README.md")
    hub.script("/revision/", *[status(503)] * 4)
    repo = client.pin(REPO)
    assert repo.read_bytes("README.md") == README
    assert sleeps == [0.5, 1.0, 2.0]
    assert len(warnings_said()) == 1
    assert COMMIT in warnings_said()[0]
    hub.stop()
    assert client.pin(REPO).commit == COMMIT
    with pytest.raises(HubConnectionError):
        client.pin(REPO, "other")


def test_no_fallback_when_the_hub_says_no(client, hub):
    client.pin(REPO).download("README.md")
    hub.script("/revision/", status(404, X_Error_Code="RevisionNotFound"))
    with pytest.raises(RevisionNotFoundError):
        client.pin(REPO)


def test_the_ref_moves_only_with_its_first_file(client, hub):
    client.pin(REPO).download("README.md")
    newer = "d" * 40
    hub.script("/revision/", says({"sha": newer}))
    assert client.pin(REPO).commit == newer
    hub.script("/revision/", *[hang_up] * 4)
    assert client.pin(REPO).commit == COMMIT, "nothing of the newer commit is here to go on with"


def test_settings_are_looked_up_when_a_client_is_made(tmp_path):
    with config.override(HF_ENDPOINT="http://127.0.0.1:9", HF_HUB_OFFLINE=True, HF_HUB_CACHE=tmp_path):
        client = HubClient(token=False)
    assert (client.endpoint, client.offline, client.cache_dir) == ("http://127.0.0.1:9", True, tmp_path)


def test_worker_processes_can_take_a_repository_along(client):
    repo = client.pin(REPO)
    again = pickle.loads(pickle.dumps(repo))
    assert again.download("README.md").read_bytes() == README


def test_a_read_only_cache_is_read(client, hub, monkeypatch):
    client.pin(REPO).download("README.md")

    def refuse(*args, **kwargs):
        raise PermissionError(13, "read-only")

    monkeypatch.setattr("gristmill.hub.cache.atomic_file", refuse)
    hub.info["cardData"] = {"license": "mit"}
    assert client.pin(REPO).read_bytes("README.md") == README


def test_damaged_listing_in_the_cache_is_fetched_again(client, hub):
    client.pin(REPO).files()
    tree = client.cache_dir / f"datasets--org--data/trees/{COMMIT}.json"
    for damage in [
        "{",
        "[]",
        json.dumps({"format_version": 1, "files": {"../x": {"size": 1, "blob_id": "0" * 40}}}),
    ]:
        tree.write_text(damage)
        assert len(client.pin(REPO).files()) == len(FILES)
    assert len(hub.requests("/tree/")) == 4


def test_token_true_needs_one(monkeypatch):
    monkeypatch.setattr("huggingface_hub.get_token", lambda: None)
    with pytest.raises(AccessError, match="hf auth login"):
        HubClient("http://127.0.0.1:9", token=True, offline=False)


def test_a_token_that_no_header_can_hold_is_not_shown():
    for token in ["hf_a\nb", "hf_\u00fc", "hf a", ""]:
        with pytest.raises(InvalidArgumentError) as caught:
            HubClient("http://127.0.0.1:9", token=token, offline=False)
        assert "hf_" not in str(caught.value)


def test_moved_repositories_are_followed(client, hub):
    hub.script("/revision/", redirect(f"/api/datasets/{REPO}/revision/feat%2Fx", 307))
    assert client.pin(REPO).commit == COMMIT


def deep(levels):
    return [] if not levels else [deep(levels - 1)]


@pytest.mark.parametrize("data", [{"a": "\ud800"}, {"a": deep(400)}], ids=["half a character", "deep"])
def test_a_card_that_can_hardly_be_kept(client, hub, data):
    hub.script("/revision/main", says({"sha": COMMIT, "cardData": data}))
    hub.script("/revision/", says({"sha": COMMIT, "cardData": data}))
    assert client.pin(REPO).card_data == data


def test_names_that_no_file_can_have(client, hub):
    with pytest.raises(InvalidArgumentError, match="revision="):
        client.pin(REPO, "\udcff")
    with pytest.raises(EntryNotFoundError, match="There is no"):
        client.pin(REPO).download("a" * 300)
    hub.script("/tree/", says([{**entry(), "path": "\ud800"}]))
    fresh = client.pin(REPO)
    fresh.cache._tree(COMMIT).unlink()
    with pytest.raises(UnsafePathError, match="UTF-8"):
        fresh.files()


def test_an_endpoint_that_is_no_url(monkeypatch):
    monkeypatch.setattr("gristmill.hub.client.find_token", lambda _: pytest.fail("asked for a token"))
    with pytest.raises(InvalidArgumentError, match="endpoint='http://\\[::1'"):
        HubClient("http://[::1")


def test_an_endpoint_that_is_no_url_is_named_as_it_was_given(monkeypatch):
    with pytest.raises(InvalidArgumentError, match=r"^endpoint='localhost:1' can't be used"):
        HubClient("localhost:1")
    monkeypatch.setattr(config, "HF_ENDPOINT", "localhost:1")
    with pytest.raises(InvalidArgumentError, match=r"^HF_ENDPOINT='localhost:1' can't be used"):
        HubClient()


def test_shows_where_it_reads_from_and_no_token(tmp_path):
    client = HubClient("http://127.0.0.1:9/", "hf_secret", tmp_path, True)
    assert repr(client) == f"HubClient('http://127.0.0.1:9', cache_dir='{tmp_path}', offline)"
