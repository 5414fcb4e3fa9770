"""`load_dataset_builder`: known before it is fetched, prepared as `load_dataset` prepares it."""

import io

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from gristmill import (
    Dataset,
    DatasetBuilder,
    DatasetDict,
    Features,
    Value,
    load_dataset,
    load_dataset_builder,
)
from gristmill.errors import (
    ConfigNotFoundError,
    DatasetNotFoundError,
    FileMissingError,
    InvalidArgumentError,
    NonMatchingSplitsSizesError,
    SplitNotFoundError,
)
from tests.builder.own import known
from tests.hub.faulty import COMMIT

CARD = b"""---
license: mit
dataset_info:
  features:
  - {name: a, dtype: int64}
  splits:
  - {name: train, num_bytes: 24, num_examples: 3}
  - {name: test, num_bytes: 8, num_examples: 1}
---
"""


def parquet(**columns):
    out = io.BytesIO()
    pq.write_table(pa.table(columns), out)
    return out.getvalue()


@pytest.fixture
def files():
    return {
        "README.md": CARD,
        "data/train-00000-of-00002.parquet": parquet(a=[1, 2]),
        "data/train-00001-of-00002.parquet": parquet(a=[3]),
        "data/test-00000-of-00001.parquet": parquet(a=[4]),
    }


def test_what_the_card_says_is_known_before_anything_is_fetched(online, files):
    hub = online(files)
    builder = load_dataset_builder("org/data")
    assert isinstance(builder, DatasetBuilder)
    assert builder.info.features == Features({"a": Value("int64")})
    assert {name: split.num_examples for name, split in known(builder).splits.items()} == {
        "train": 3,
        "test": 1,
    }
    assert (builder.info.license, builder.name, builder.config.name) == ("mit", "parquet", "default")
    assert builder.config.data_files["test"] == ["data/test-00000-of-00001.parquet"]
    assert "/org___data/default/0.0.0" in builder.cache_dir
    assert not hub.requests(".parquet")
    with pytest.raises(FileMissingError, match=r"call download_and_prepare\(\) first"):
        builder.as_dataset()
    with pytest.raises(SplitNotFoundError, match="dev"):
        builder.as_dataset("dev")


def test_it_prepares_what_load_dataset_prepares(online, files):
    online(files)
    builder = load_dataset_builder("org/data")
    builder.download_and_prepare()
    made, loaded = builder.as_dataset(), load_dataset("org/data")
    assert isinstance(made, DatasetDict)
    assert {name: one._fingerprint for name, one in made.items()} == {
        name: one._fingerprint for name, one in loaded.items()
    }
    assert made["train"][:] == loaded["train"][:] == {"a": [1, 2, 3]}
    assert made["train"].origins().to_pylist()[2]["revision"] == COMMIT
    assert builder.as_dataset("train[1:]+test")["a"][:] == [2, 3, 4]
    assert known(builder).splits["train"].num_examples == 3
    # Another builder finds it prepared.
    assert load_dataset_builder("org/data").as_dataset("test", in_memory=True)["a"][:] == [4]


def test_into_a_folder(online, files, tmp_path):
    online(files)
    builder = load_dataset_builder("org/data")
    builder.download_and_prepare(str(tmp_path / "out"), file_format="parquet", num_proc=2)
    names = sorted(path.name for path in (tmp_path / "out").glob("*.parquet"))
    assert names == ["data-test.parquet", "data-train.parquet"]
    assert pq.read_table(tmp_path / "out/data-train.parquet")["a"].to_pylist() == [1, 2, 3]
    builder.download_and_prepare(str(tmp_path / "arrow"))
    assert builder.as_dataset("train")["a"][:] == [1, 2, 3]
    assert builder.as_dataset("train").origins().to_pylist()[0]["file"] == "data/train-00000-of-00002.parquet"


def test_streams(online, files):
    hub = online(files)
    streams = load_dataset_builder("org/data").as_streaming_dataset()
    assert not hub.requests(".parquet")
    assert [row["a"] for row in streams["train"]] == [1, 2, 3]
    assert load_dataset_builder("org/data").as_streaming_dataset("test").num_shards == 1


def test_files_and_formats(tmp_path):
    (tmp_path / "folder").mkdir()
    (tmp_path / "folder/a.csv").write_text("a,b\n1,x\n")
    builder = load_dataset_builder("csv", data_files=str(tmp_path / "folder/a.csv"), quoting=1)
    builder.download_and_prepare()
    assert builder.as_dataset("train")[0] == {"a": 1, "b": "x"}
    assert builder.name == "csv"
    features = Features({"a": Value("string"), "b": Value("string")})
    builder = load_dataset_builder(str(tmp_path / "folder"), features=features)
    assert builder.info.features == features
    builder.download_and_prepare()
    assert builder.as_dataset("train")[0] == {"a": "1", "b": "x"}


def test_what_is_said_is_checked(online, files):
    online({**files, "README.md": CARD.replace(b"num_examples: 3", b"num_examples: 5")})
    builder = load_dataset_builder("org/data")
    with pytest.raises(NonMatchingSplitsSizesError, match="train has 3 rows, not 5"):
        builder.download_and_prepare()
    builder.download_and_prepare(verification_mode="no_checks")
    assert builder.as_dataset("train").num_rows == 3


def test_made_anew(online, files):
    hub = online(files)
    load_dataset_builder("org/data").download_and_prepare()
    before = len(hub.requests(".parquet"))
    load_dataset_builder("org/data", download_mode="force_redownload").download_and_prepare()
    assert len(hub.requests(".parquet")) > before


def test_what_is_not_there(online, files):
    online(files)
    with pytest.raises(DatasetNotFoundError):
        load_dataset_builder("org/other")
    with pytest.raises(ConfigNotFoundError):
        load_dataset_builder("org/data", "odd")
    with pytest.raises(InvalidArgumentError, match="revision"):
        load_dataset_builder("org/data", revison="main")


def test_the_config_has_the_options_of_the_reader(tmp_path):
    (tmp_path / "a.csv").write_text("a;b\n1;2\n")
    made = load_dataset_builder("csv", data_files=str(tmp_path / "a.csv"), sep=";", skiprows=0)
    assert (type(made.config).__name__, made.config.sep, made.config.quotechar) == ("CsvConfig", ";", '"')
    made.download_and_prepare()
    assert made.as_dataset("train")[0] == {"a": 1, "b": 2}
    Dataset.from_dict({"a": [1], "b": [2]}).to_parquet(tmp_path / "data.parquet")
    features = Features({"b": Value("int8")})
    made = load_dataset_builder(
        "parquet", data_files=str(tmp_path / "data.parquet"), columns=["b"], features=features
    )
    assert (type(made.config).__name__, made.config.columns, made.config.features) == (
        "ParquetConfig", ["b"], features,
    )  # fmt: skip
