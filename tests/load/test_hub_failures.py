"""What goes wrong on a Hub, at each step of a load: the right error, nothing half written, what was prepared serves."""

import io
from functools import partial

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from gristmill import config, get_dataset_config_names, get_dataset_split_names
from gristmill.errors import (
    AccessError,
    DatasetNotFoundError,
    DatasetUnreachableError,
    EntryNotFoundError,
    GatedRepoError,
    HubResponseError,
    IncompleteBodyError,
    RateLimitedError,
    RepoNotFoundError,
    RevisionNotFoundError,
)
from gristmill.files.retry import RetryPolicy
from gristmill.hub import client
from gristmill.hub.client import HubClient
from gristmill.load import load_dataset
from tests.hub.faulty import COMMIT, REPO, drop, etag_of, hang_up, says, short, status, wrong

LATER = "decade" + "0" * 34
BAD_TOKEN = {"error": "Invalid credentials in Authorization header"}


def parquet(**columns):
    out = io.BytesIO()
    pq.write_table(pa.table(columns), out)
    return out.getvalue()


def card(rows):
    return (
        "---\nconfigs:\n- config_name: default\n  data_files: [{split: train, path: data/train-*}]\n"
        f"dataset_info:\n  splits: [{{name: train, num_examples: {rows}}}]\n---\n"
    ).encode()


FILES = {"README.md": card(2), "data/train-0.parquet": parquet(a=[1, 2])}
NEWER = {
    "README.md": card(3),
    "data/train-0.parquet": parquet(a=[1, 2]),
    "data/train-1.parquet": parquet(a=[3]),
}
STEPS = {
    "revision": f"/api/datasets/{REPO}/revision/main",
    "tree": f"/api/datasets/{REPO}/tree/{COMMIT}",
    "card": f"/datasets/{REPO}/resolve/{COMMIT}/README.md",
    "data": f"/datasets/{REPO}/resolve/{COMMIT}/data/train-0.parquet",
}


@pytest.fixture(autouse=True)
def impatient(monkeypatch):
    """Attempts are made at once, and counted by the Hub."""
    monkeypatch.setattr(client, "HubClient", partial(HubClient, policy=RetryPolicy(sleep=lambda _: None)))


@pytest.fixture
def hub(online):
    return online(dict(FILES))


def half_written(tmp_path):
    """What has a name that a reader would take for something whole, and is not."""
    whole = {etag_of(path, content): content for path, content in FILES.items()}
    blobs = [path for path in (tmp_path / "home/hub").rglob("blobs/*") if path.suffix != ".part"]
    prepared = [path for path in (tmp_path / "home/datasets").rglob("*") if path.suffix != ".lock"]
    odd = [path for path in blobs if path.read_bytes() != whole.get(path.name)]
    return odd + [path for path in prepared if path.is_file()]


@pytest.mark.parametrize("step", list(STEPS))
@pytest.mark.parametrize(
    ("fault", "error", "words"),
    [
        (status(401, X_Error_Code="RepoNotFound"), FileNotFoundError, "private and not yours.*HF_TOKEN"),
        (status(404, X_Error_Code="RepoNotFound"), FileNotFoundError, "private and not yours.*HF_TOKEN"),
        (status(410), FileNotFoundError, "There is no"),
        (says(BAD_TOKEN, 401), AccessError, "does not know your token.*HF_TOKEN"),
        (status(401), AccessError, "needs a token.*HF_TOKEN"),
        (status(403), AccessError, "no right to read.*permissions"),
        (status(401, X_Error_Code="GatedRepo"), GatedRepoError, "gated.*no token.*HF_TOKEN.*Ask for access at"),
        (status(403, X_Error_Code="GatedRepo"), GatedRepoError, "gated.*Ask for access at {url}/datasets/org/data"),
        (status(429, Retry_After="7"), RateLimitedError, "slow down.*Wait 7 s.*HF_TOKEN"),
        (status(500), HubResponseError, "server failed.*again later"),
        (says({"error": "maintenance"}, 503), HubResponseError, "'maintenance'.*again later"),
        (hang_up, DatasetUnreachableError, "could not be asked: No usable answer"),
        (drop(5), DatasetUnreachableError, "could not be asked: No usable answer"),
    ],
)  # fmt: skip
def test_each_failure_at_each_step(hub, tmp_path, step, fault, error, words):
    hub.script(STEPS[step], *[fault] * 4)
    with pytest.raises(error, match="(?s)" + words.format(url=hub.url)) as caught:
        load_dataset(REPO, split="train")
    assert hub.url + STEPS[step] in str(caught.value)
    assert isinstance(caught.value, DatasetNotFoundError) or error not in (AccessError, GatedRepoError)
    assert REPO in str(caught.value)
    assert not half_written(tmp_path)
    # What went wrong once does not stand in the way of the next load.
    hub.scripts.clear()
    assert load_dataset(REPO, split="train")["a"][:] == [1, 2]


@pytest.mark.parametrize("code", [401, 404])
@pytest.mark.parametrize(
    ("step", "error"),
    [
        ("revision", DatasetNotFoundError),
        ("tree", DatasetNotFoundError),
        ("card", DatasetNotFoundError),
        ("data", RepoNotFoundError),
    ],
)
def test_a_repository_that_is_gone(hub, step, error, code):
    hub.script(STEPS[step], status(code, X_Error_Code="RepoNotFound"))
    with pytest.raises(error) as caught:
        load_dataset(REPO)
    assert ("Tried, in order" in str(caught.value)) == (error is DatasetNotFoundError)


@pytest.mark.parametrize("step", ["revision", "tree"])
@pytest.mark.parametrize("fault", [status(404), status(410), status(404, X_Error_Code="EntryNotFound")])
def test_nothing_there_at_all(hub, step, fault):
    hub.script(STEPS[step], fault)
    with pytest.raises(DatasetNotFoundError, match="There is no dataset org/data"):
        load_dataset(REPO)


@pytest.mark.parametrize("step", ["card", "data"])
@pytest.mark.parametrize(
    ("fault", "error", "words"),
    [
        (
            status(404, X_Error_Code="EntryNotFound"),
            EntryNotFoundError,
            "There is no .*Its files are listed at",
        ),
        (status(404), EntryNotFoundError, "There is no .*Its files are listed at"),
        (short(3), IncompleteBodyError, "ends after 12 of"),
        (wrong, IncompleteBodyError, "has the hash"),
        (status(200, b"<html>log in</html>"), IncompleteBodyError, "The file ends after 19 of"),
    ],
)
def test_files_that_are_not_what_was_listed(hub, tmp_path, step, fault, error, words):
    hub.script(STEPS[step], *[fault] * 4)
    with pytest.raises(error, match=words) as caught:
        load_dataset(REPO)
    assert caught.value.url == hub.url + STEPS[step]
    assert not half_written(tmp_path)
    hub.scripts.clear()
    assert load_dataset(REPO, split="train")["a"][:] == [1, 2]


@pytest.mark.parametrize("step", ["revision", "tree"])
def test_a_page_where_facts_were_expected(hub, step):
    hub.script(STEPS[step], status(200, b"<html>log in</html>"))
    with pytest.raises(HubResponseError, match="not JSON, it begins with '<html>"):
        load_dataset(REPO)


@pytest.mark.parametrize("step", ["revision", "tree", "card"])
@pytest.mark.parametrize("fault", [hang_up, status(429), status(500), status(503), drop(5)])
def test_what_was_prepared_serves_when_the_hub_fails(hub, tmp_path, warnings_said, step, fault):
    load_dataset(REPO)
    config.HF_HUB_CACHE = tmp_path / "another"
    hub.script(STEPS[step], *[fault] * 4)
    assert load_dataset(REPO, split="train")["a"][:] == [1, 2]
    [line] = warnings_said()
    assert f"using what was prepared at commit {COMMIT}" in line
    assert hub.url + STEPS[step] in line


@pytest.mark.parametrize("fault", [hang_up, status(429), status(503)])
def test_newer_data_that_can_not_be_fetched(hub, warnings_said, fault):
    load_dataset(REPO)
    hub.move(LATER, dict(NEWER))
    hub.script("/resolve/", lambda truth, seen: truth, *[fault] * 40)  # the card comes, the data does not
    # The card of the new commit says three rows: it does not count for those of the old one.
    assert load_dataset(REPO, split="train")["a"][:] == [1, 2]
    [line] = warnings_said()
    assert COMMIT in line
    hub.scripts.clear()
    assert load_dataset(REPO, split="train")["a"][:] == [1, 2, 3]


@pytest.mark.parametrize("fault", [hang_up, status(429), status(503)])
def test_what_is_known_of_configs_serves_as_well(hub, tmp_path, warnings_said, fault):
    load_dataset(REPO)
    config.HF_HUB_CACHE = tmp_path / "another"
    hub.script(STEPS["revision"], *[fault] * 4)
    assert get_dataset_config_names(REPO) == ["default"]
    hub.script(STEPS["revision"], *[fault] * 4)
    assert get_dataset_split_names(REPO) == ["train"]
    assert all(COMMIT in line for line in warnings_said())


@pytest.mark.parametrize("fault", [status(403, X_Error_Code="GatedRepo"), says(BAD_TOKEN, 401)])
def test_a_refusal_is_not_covered_up_by_what_was_prepared(hub, fault):
    load_dataset(REPO)
    hub.script(STEPS["revision"], fault)
    with pytest.raises(AccessError):
        load_dataset(REPO)


def test_a_lost_repository_tells_of_what_was_prepared(hub):
    load_dataset(REPO)
    hub.script(STEPS["revision"], status(404, X_Error_Code="RepoNotFound"))
    with pytest.raises(DatasetNotFoundError) as caught:
        load_dataset(REPO)
    text = str(caught.value)
    assert "HF_HUB_OFFLINE=1" in text
    assert f'train of config "default" at revision "main", commit {COMMIT[:12]}' in text
    assert "Did you mean" not in text  # the name itself is no suggestion


def test_a_long_wait_is_announced(hub, monkeypatch, warnings_said):
    waited: list[float] = []
    monkeypatch.setattr(client, "HubClient", partial(HubClient, policy=RetryPolicy(sleep=waited.append)))
    hub.script(STEPS["tree"], status(429, Retry_After="60"))
    assert load_dataset(REPO, split="train")["a"][:] == [1, 2]
    assert waited == [60]
    [line] = warnings_said()
    assert "slow down" in line
    assert "attempt 2 in 60.0 s" in line


def test_main_moves_after_it_was_resolved(hub):
    def moves(truth, seen):
        hub.move(LATER, dict(NEWER))
        return truth

    hub.script(STEPS["revision"], moves)
    first = load_dataset(REPO, split="train")
    assert first["a"][:] == [1, 2]
    assert {row["revision"] for row in first.origins().to_pylist()} == {COMMIT}
    assert not hub.requests(LATER)
    second = load_dataset(REPO, split="train")
    assert second["a"][:] == [1, 2, 3]
    assert {row["revision"] for row in second.origins().to_pylist()} == {LATER}


@pytest.mark.parametrize("step", ["tree", "card", "data"])
def test_main_moves_at_any_later_step(hub, step):
    def moves(truth, seen):
        hub.move(LATER, {"README.md": b"", "other.csv": b"b\n1\n"})
        return truth

    hub.script(STEPS[step], moves)
    assert load_dataset(REPO, split="train")["a"][:] == [1, 2]
    assert not hub.requests(LATER)


def test_a_branch_that_is_deleted_meanwhile(hub):
    def goes(truth, seen):
        hub.branches.remove("feat/x")
        return truth

    hub.script("/revision/feat%2Fx", goes)
    assert load_dataset(REPO, split="train", revision="feat/x")["a"][:] == [1, 2]
    with pytest.raises(RevisionNotFoundError, match=r'no revision "feat/x".*branches and tags are listed'):
        load_dataset(REPO, split="train", revision="feat/x")


@pytest.mark.parametrize("step", ["tree", "card", "data"])
def test_a_commit_that_is_squashed_away_meanwhile(hub, tmp_path, step):
    hub.script(STEPS[step], status(404, X_Error_Code="RevisionNotFound"))
    with pytest.raises(RevisionNotFoundError, match=COMMIT):
        load_dataset(REPO)
    assert not half_written(tmp_path)


@pytest.mark.parametrize("old", ["team/old", "old"])
def test_a_renamed_repository(hub, warnings_said, old):
    hub.renamed.append(old)
    ds = load_dataset(old, split="train")
    assert ds["a"][:] == [1, 2]
    [line] = warnings_said()
    assert f'"{old}" was renamed: ask for it by its new name, "{REPO}"' in line
    assert len(hub.requests(f"/{old}/")) == 1  # asked by its old name once, then by the one that was told
    asked = len(hub.requests("/resolve/"))
    assert load_dataset(old, split="train").cache_files == ds.cache_files
    assert len(hub.requests("/resolve/")) == asked
    hub.stop()
    config.HF_HUB_OFFLINE = True
    assert load_dataset(old, split="train")["a"][:] == [1, 2]
    assert load_dataset(old, split="train", revision=COMMIT)["a"][:] == [1, 2]


def test_a_renamed_repository_at_a_commit(hub):
    hub.renamed.append("team/old")
    load_dataset("team/old", split="train", revision=COMMIT)
    hub.files["data/train-0.parquet"] = b""  # what is cached is not asked for again
    assert load_dataset("team/old", split="train", revision=COMMIT)["a"][:] == [1, 2]


@pytest.mark.parametrize("name", ["../up", "", None, 3, "a/b/c"])
def test_a_name_the_hub_can_not_mean_is_not_followed(hub, warnings_said, name):
    hub.info["id"] = name
    assert load_dataset(REPO, split="train")["a"][:] == [1, 2]
    assert warnings_said() == []
