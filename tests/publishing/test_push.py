"""Pushed to a real socket, and loaded again."""

import threading

import pyarrow.parquet as pq
import pytest
from huggingface_hub import HfApi

from gristmill import Dataset, DatasetDict, IterableDataset, config, load_dataset
from gristmill.errors import (
    AccessError,
    CardError,
    ConfigNotFoundError,
    DatasetNotFoundError,
    InvalidArgumentError,
    OfflineError,
    RepoNotFoundError,
    UnsafePathError,
)
from gristmill.features import ClassLabel, Features, List, Value
from gristmill.hub import delete_from_hub
from gristmill.hub.card import parse_card
from gristmill.hub.server import serve_in_thread
from gristmill.iterable.splits_dict import IterableDatasetDict
from gristmill.publishing import push
from tests.publishing.conftest import REPO

# The reference client's own, of how it sends whole files.
pytestmark = pytest.mark.filterwarnings("ignore:Use .content=:DeprecationWarning")

FEATURES = Features(
    {
        "id": Value("int32"),
        "label": ClassLabel(names=["no", "yes"]),
        "words": List(Value("string")),
        "nested": {"x": Value("float64")},
    }
)


def rows(count=10, start=0):
    return Dataset.from_dict(
        {
            "id": list(range(start, start + count)),
            "label": [n % 2 for n in range(count)],
            "words": [["a"] * (n % 3) for n in range(count)],
            "nested": [{"x": n / 2} for n in range(count)],
        },
        features=FEATURES,
    )


def numbers(count=10, start=0):
    return Dataset.from_dict({"id": list(range(start, start + count))})


@pytest.mark.usefixtures("server")
class TestRoundTrips:
    def test_one_split(self, repo):
        info = rows().push_to_hub(REPO)
        assert info.oid == repo.pin().commit
        assert info.commit_url.endswith(f"/datasets/{REPO}/commit/{info.oid}")
        assert repo.files() == ["README.md", "data/train-00000-of-00001.parquet"]
        back = load_dataset(REPO)
        assert list(back) == ["train"]
        assert back["train"].features == FEATURES
        assert back["train"].to_dict() == rows().to_dict()

    def test_the_card(self, repo):
        dataset = rows()
        dataset.push_to_hub(REPO, num_shards=2)
        said = parse_card(repo.card()).metadata
        files = repo.pin().files()
        sizes = [file.size for file in files if file.path.endswith(".parquet")]
        assert said["configs"] == [
            {"config_name": "default", "data_files": [{"split": "train", "path": "data/train-*"}]}
        ]
        info = said["dataset_info"]
        assert info["download_size"] == sum(sizes)
        assert info["dataset_size"] == info["splits"][0]["num_bytes"] == dataset.data.nbytes
        assert info["splits"][0]["num_examples"] == 10
        assert Features._from_yaml_list(info["features"]) == FEATURES

    def test_several_configs_and_splits(self, repo):
        numbers(3).push_to_hub(REPO, "en", split="train")
        numbers(4).push_to_hub(REPO, "en", split="test")
        numbers(5).push_to_hub(REPO, "fr", set_default=True, data_dir="some/where")
        DatasetDict({"a": rows(2), "b.c": rows(3)}).push_to_hub(REPO, "both", num_shards={"a": 1, "b.c": 2})
        assert repo.files() == [
            "README.md",
            "both/a-00000-of-00001.parquet",
            "both/b.c-00000-of-00002.parquet",
            "both/b.c-00001-of-00002.parquet",
            "en/test-00000-of-00001.parquet",
            "en/train-00000-of-00001.parquet",
            "some/where/train-00000-of-00001.parquet",
        ]
        assert {name: part.num_rows for name, part in load_dataset(REPO, "en").items()} == {
            "train": 3,
            "test": 4,
        }
        assert load_dataset(REPO)["train"].num_rows == 5  # the default
        assert load_dataset(REPO, "both", split="b.c").to_dict() == rows(3).to_dict()
        infos = {entry["config_name"]: entry for entry in parse_card(repo.card()).metadata["dataset_info"]}
        assert infos["en"]["dataset_size"] == 7 * 8
        files = {file.path: file.size for file in repo.pin().files()}
        assert infos["en"]["download_size"] == sum(
            size for path, size in files.items() if path.startswith("en/")
        )

    def test_shards_by_size(self, repo):
        numbers(1000).push_to_hub(REPO, max_shard_size="3KB")
        assert len(repo.files()) == 1 + 3
        assert load_dataset(REPO, split="train")["id"][:] == list(range(1000))

    def test_no_rows(self):
        rows(0).push_to_hub(REPO)
        back = load_dataset(REPO, split="train")
        assert (back.num_rows, back.features) == (0, FEATURES)

    def test_worker_processes_write_the_same_bytes(self, repo):
        shuffled = numbers(1000).shuffle(seed=1)
        shuffled.push_to_hub(REPO, "one", num_shards=2)
        shuffled.push_to_hub(REPO, "two", num_shards=2, num_proc=2)
        files = {file.path: file.sha256 for file in repo.pin().files()}
        ones = [sha for path, sha in files.items() if path.startswith("one/")]
        assert ones == [sha for path, sha in files.items() if path.startswith("two/")]
        assert len(ones) == 2
        assert load_dataset(REPO, "two", split="train")["id"][:] == shuffled["id"][:]

    def test_files_have_the_schema_an_index_and_pages_cut_by_content(self, repo, tmp_path):
        rows().push_to_hub(REPO)
        file = repo.pin().download("data/train-00000-of-00001.parquet")
        parquet = pq.ParquetFile(file)
        assert b"huggingface" in parquet.schema_arrow.metadata
        assert b"content_defined_chunking" in parquet.metadata.metadata
        assert parquet.metadata.row_group(0).column(0).has_offset_index

    def test_streams(self, repo):
        def more():
            yield from ({"a": n, "b": str(n)} for n in range(1000))

        IterableDataset.from_generator(more).push_to_hub(REPO, "unknown", split="valid")
        stream = numbers(1000).to_iterable_dataset(num_shards=4)
        stream.push_to_hub(REPO, "sized", max_shard_size=3000)
        stream.push_to_hub(REPO, "parts", num_shards=2)
        stream.push_to_hub(REPO, "even", num_shards=7)
        IterableDatasetDict({"x": stream, "y": stream.take(0)}).push_to_hub(REPO, "dict")
        counts = {
            name: sum(path.startswith(name) for path in repo.files()) for name in ("sized", "parts", "even")
        }
        assert counts == {"sized": 3, "parts": 2, "even": 7}
        assert (
            load_dataset(REPO, "unknown", split="valid").to_dict()
            == Dataset.from_list(list(more())).to_dict()
        )
        for name in counts:
            assert load_dataset(REPO, name, split="train")["id"][:] == list(range(1000))
        assert {name: part.num_rows for name, part in load_dataset(REPO, "dict").items()} == {
            "x": 1000,
            "y": 0,
        }

    def test_more_rows_than_a_file_should_have(self, repo):
        wide = Dataset.from_dict({"text": ["x" * 5000, "y", "z" * 5000]})
        wide.to_iterable_dataset().push_to_hub(REPO, max_shard_size=1000)
        assert load_dataset(REPO, split="train").to_dict() == wide.to_dict()

    def test_by_xet(self, repo, monkeypatch):
        pytest.importorskip("hf_xet")
        monkeypatch.setattr("huggingface_hub.constants.HF_HUB_DISABLE_XET", False)
        numbers(50_000).push_to_hub(REPO, num_shards=2)
        assert load_dataset(REPO, split="train")["id"][:] == list(range(50_000))


@pytest.mark.usefixtures("server")
class TestWhatWasThere:
    CARD = b"---\n# mine\nlicense: mit  # yes\ndefaults: [1,  2]\n---\n# Title\n\nWords.\n"

    def start(self, endpoint, files):
        api = HfApi(endpoint=endpoint, token=False)
        api.create_repo(REPO, repo_type="dataset", exist_ok=True)
        for path, content in files.items():
            api.upload_file(path_or_fileobj=content, path_in_repo=path, repo_id=REPO, repo_type="dataset")

    def test_the_authors_words_stay(self, server, repo):
        self.start(server, {"README.md": self.CARD, "other.txt": b"x"})
        numbers().push_to_hub(REPO)
        start, _, _ = self.CARD.decode().partition("---\n# Title")
        assert repo.card().startswith(start + "dataset_info:")
        assert repo.card().endswith("---\n# Title\n\nWords.\n")
        assert "other.txt" in repo.files()

    def test_old_files_go_with_the_commit_that_brings_the_new(self, server, repo):
        old = numbers(10).push_to_hub(REPO, num_shards=3)
        self.start(server, {"data/notes.md": b"mine", "data/train-old.parquet": b"PAR1"})
        new = numbers(5).push_to_hub(REPO, num_shards=2)
        assert repo.files() == [
            "README.md",
            "data/notes.md",
            "data/train-00000-of-00002.parquet",
            "data/train-00001-of-00002.parquet",
        ]
        assert load_dataset(REPO, split="train").num_rows == 5
        assert load_dataset(REPO, split="train", revision=old.oid).num_rows == 10
        history = HfApi(endpoint=server, token=False).list_repo_commits(REPO, repo_type="dataset")
        assert [c.commit_id for c in history if c.title == "Upload dataset"] == [new.oid, old.oid]

    def test_a_dict_takes_the_place_of_all_splits(self, repo):
        DatasetDict({"train": numbers(), "test": numbers()}).push_to_hub(REPO)
        numbers().push_to_hub(REPO, "other", data_dir="data/other")
        DatasetDict({"train": rows()}).push_to_hub(REPO)
        assert repo.files() == [
            "README.md",
            "data/other/train-00000-of-00001.parquet",
            "data/train-00000-of-00001.parquet",
        ]
        assert list(load_dataset(REPO)) == ["train"]
        assert load_dataset(REPO, "other", split="train").num_rows == 10

    def test_pushes_without_configs_in_the_card(self, server, repo, tmp_path):
        numbers(3).to_parquet(tmp_path / "a.parquet")
        shard = (tmp_path / "a.parquet").read_bytes()
        self.start(server, {"data/test-00000-of-00001-0a1b2c3d.parquet": shard, "README.md": b"# Old\n"})
        numbers(4).push_to_hub(REPO, "new")
        assert load_dataset(REPO, "default", split="test").num_rows == 3
        assert load_dataset(REPO, "new", split="train").num_rows == 4
        DatasetDict({"train": numbers(5)}).push_to_hub(REPO)
        assert "data/test-00000-of-00001-0a1b2c3d.parquet" not in repo.files()
        assert list(load_dataset(REPO, "default")) == ["train"]

    def test_old_infos(self, server, repo):
        self.start(server, {"dataset_infos.json": b'{"default": {"citation": "x"}, "b": {"citation": "y"}}'})
        numbers().push_to_hub(REPO)
        said = repo.pin().read_bytes("dataset_infos.json")
        assert b'"num_examples": 10' in said
        assert b'"b": {"citation": "y"}' in said

    def test_other_columns_than_the_other_splits_have(self, proxy):
        numbers().push_to_hub(REPO)
        before = len(proxy.requests("POST"))
        with pytest.raises(InvalidArgumentError, match='columns are not those of the split "train"'):
            rows().push_to_hub(REPO, split="test")
        assert len(proxy.requests("POST")) == before
        rows().push_to_hub(REPO)  # the only split may change

    def test_a_card_that_is_no_yaml(self, folder):
        card = folder / "datasets" / REPO / "README.md"
        card.parent.mkdir(parents=True)
        card.write_text("---\na: }\n---\n")
        with pytest.raises(CardError, match=r"org/new/README.md, line 2"):
            numbers().push_to_hub(REPO)

    def test_the_default_that_is_called_so(self):
        numbers().push_to_hub(REPO)
        numbers().push_to_hub(REPO, "default", set_default=True)
        with pytest.raises(InvalidArgumentError, match="set_default"):
            numbers().push_to_hub(REPO, "en", set_default=True)

    def test_another_default(self, repo):
        numbers(1).push_to_hub(REPO, "en", set_default=True)
        numbers(2).push_to_hub(REPO, "fr", set_default=True)
        numbers(3).push_to_hub(REPO, "fr")
        assert load_dataset(REPO, split="train").num_rows == 3

    def test_more_files_than_one_commit_takes(self, repo, monkeypatch):
        monkeypatch.setattr(push, "MOST_IN_COMMIT", 2)
        first = numbers(30).push_to_hub(REPO, num_shards=3)
        numbers(70).push_to_hub(REPO, num_shards=7)
        assert len(repo.files()) == 8
        assert load_dataset(REPO, split="train").num_rows == 70
        # Whoever reads between the commits finds the old rows, and nothing else.
        seen = set()
        for commit in HfApi(endpoint=repo.endpoint, token=False).list_repo_commits(REPO, repo_type="dataset"):
            if commit.commit_id == first.oid:
                break
            seen.add(
                (load_dataset(REPO, split="train", revision=commit.commit_id).num_rows, commit.title[:21])
            )
        assert seen == {(30, "Upload dataset (part "), (70, "Upload dataset")}
        assert "data_files:\n  - split: train\n    path: data/train-*" in repo.card()


@pytest.mark.usefixtures("server")
class TestWhere:
    def test_a_branch_that_is_not_there(self, repo):
        numbers().push_to_hub(REPO, revision="next/try")
        assert repo.files("next/try") == ["README.md", "data/train-00000-of-00001.parquet"]
        assert repo.files() == []
        assert load_dataset(REPO, revision="next/try")["train"].num_rows == 10

    def test_a_pull_request(self, repo, monkeypatch):
        numbers().push_to_hub(REPO)
        info = numbers(3).push_to_hub(REPO, create_pr=True, commit_message="Fewer", commit_description="Why")
        assert info.pr_revision == "refs/pr/1"
        assert (info.commit_message, info.commit_description) == ("Fewer", "Why")
        assert load_dataset(REPO)["train"].num_rows == 10
        assert load_dataset(REPO, revision="refs/pr/1")["train"].num_rows == 3
        numbers(4).push_to_hub(REPO, revision="refs/pr/1")
        assert load_dataset(REPO, revision="refs/pr/1")["train"].num_rows == 4
        monkeypatch.setattr(push, "MOST_IN_COMMIT", 2)
        info = numbers(9).push_to_hub(REPO, create_pr=True, num_shards=5)
        assert load_dataset(REPO, revision="refs/pr/2")["train"].num_rows == 9
        assert load_dataset(REPO)["train"].num_rows == 10

    def test_private(self, folder, plain, caches, tmp_path):
        (tmp_path / "tokens.json").write_text('{"hf_me": {"user": "org", "write": ["org/*"]}}')
        with (
            serve_in_thread(folder, tokens=tmp_path / "tokens.json") as url,
            config.override(HF_ENDPOINT=url, HF_HUB_OFFLINE=False, **caches),
        ):
            numbers().push_to_hub("new", private=True, token="hf_me")
            assert HfApi(endpoint=url, token="hf_me").dataset_info(REPO).private
            with pytest.raises(AccessError, match="HF_TOKEN"):
                numbers().push_to_hub(REPO)
            with pytest.raises(AccessError, match="does not know your token"):
                numbers().push_to_hub(REPO, token="hf_other")
            with pytest.raises(AccessError, match="no right to write to the dataset else/new"):
                numbers().push_to_hub("else/new", token="hf_me")
            with pytest.raises(DatasetNotFoundError):
                load_dataset(REPO, token=False)

    def test_offline(self):
        with config.override(HF_HUB_OFFLINE=True), pytest.raises(OfflineError, match="HF_HUB_OFFLINE"):
            numbers().push_to_hub(REPO)

    @pytest.mark.parametrize(
        ("arguments", "error", "said"),
        [
            ({"repo_id": "buckets/a"}, InvalidArgumentError, "buckets"),
            ({"repo_id": "../b"}, InvalidArgumentError, "repo_id"),
            ({"config_name": "data"}, InvalidArgumentError, "config_name"),
            ({"config_name": "a/b"}, InvalidArgumentError, "config_name"),
            ({"split": "a-b"}, InvalidArgumentError, "split"),
            ({"data_dir": "../up"}, UnsafePathError, "up"),
            ({"data_dir": ".git/up"}, InvalidArgumentError, r"\.git"),
            ({"data_dir": "a/.cache"}, InvalidArgumentError, r"\.cache"),
            ({"revision": "../up"}, InvalidArgumentError, "revision"),
            ({"num_shards": 2, "max_shard_size": 3}, InvalidArgumentError, "not both"),
            ({"num_shards": 0}, InvalidArgumentError, "num_shards"),
            ({"num_proc": -1}, InvalidArgumentError, "num_proc"),
        ],
    )
    def test_arguments_that_mean_nothing(self, arguments, error, said):
        for dataset in (numbers(), numbers().to_iterable_dataset()):
            with pytest.raises(error, match=said):
                dataset.push_to_hub(**{"repo_id": REPO, **arguments})

    def test_dicts_that_mean_nothing(self):
        for kind, part in ((DatasetDict, numbers()), (IterableDatasetDict, numbers().to_iterable_dataset())):
            with pytest.raises(InvalidArgumentError, match="num_shards"):
                kind({"train": part}).push_to_hub(REPO, num_shards={"test": 1})
            with pytest.raises(InvalidArgumentError, match="no split"):
                kind({}).push_to_hub(REPO)
        with pytest.raises(InvalidArgumentError, match="columns of the splits"):
            DatasetDict({"a": numbers(), "b": rows()}).push_to_hub(REPO)


@pytest.mark.usefixtures("server")
class TestDeleting:
    def test_a_config(self, server, repo):
        numbers(1).push_to_hub(REPO, "en")
        numbers(2).push_to_hub(REPO, "fr")
        info = delete_from_hub(REPO, "en")
        assert repo.files(info.pr_revision) == ["README.md", "fr/train-00000-of-00001.parquet"]
        said = parse_card(repo.card(info.pr_revision)).metadata
        assert [entry["config_name"] for entry in said["configs"]] == ["fr"]
        assert [entry["config_name"] for entry in said["dataset_info"]] == ["fr"]
        assert load_dataset(REPO, "en")["train"].num_rows == 1  # until it is merged
        assert load_dataset(REPO, revision=info.pr_revision)["train"].num_rows == 2

    def test_the_last_one(self, repo):
        numbers(1).push_to_hub(REPO)
        info = delete_from_hub(REPO, "default")
        assert repo.files(info.pr_revision) == ["README.md"]
        assert parse_card(repo.card(info.pr_revision)).metadata == {}

    def test_files_that_another_config_reads_stay(self, server, repo):
        numbers(1).push_to_hub(REPO, "en")
        card = repo.card().replace(
            "configs:\n", "configs:\n- config_name: all\n  data_files: '*/*.parquet'\n"
        )
        HfApi(endpoint=server, token=False).upload_file(
            path_or_fileobj=card.encode(), path_in_repo="README.md", repo_id=REPO, repo_type="dataset"
        )
        info = delete_from_hub(REPO, "en")
        assert repo.files(info.pr_revision) == ["README.md", "en/train-00000-of-00001.parquet"]

    def test_none_of_that_name(self):
        with pytest.raises(RepoNotFoundError):
            delete_from_hub(REPO, "en")
        numbers(1).push_to_hub(REPO, "fr")
        with pytest.raises(ConfigNotFoundError, match="fr"):
            delete_from_hub(REPO, "en")


@pytest.mark.usefixtures("server")
def test_pushes_at_the_same_time_all_survive(repo):
    failures = []

    def one(name, count):
        try:
            numbers(count).push_to_hub(REPO, name)
        except Exception as error:  # noqa: BLE001  # told by the main thread
            failures.append(error)

    threads = [threading.Thread(target=one, args=(f"c{n}", n + 1)) for n in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failures == []
    assert [load_dataset(REPO, f"c{n}")["train"].num_rows for n in range(4)] == [1, 2, 3, 4]
