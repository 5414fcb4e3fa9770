"""Files that code keeps itself."""

import pytest

from gristmill import Dataset, DatasetInfo, Features, Value
from gristmill.builder.arrow_reader import ArrowReader
from gristmill.builder.arrow_writer import ArrowWriter
from gristmill.errors import (
    CastError,
    FileFormatError,
    FileMissingError,
    InvalidArgumentError,
    SplitNotFoundError,
)
from gristmill.splits import SplitInfo


@pytest.fixture
def folder(tmp_path):
    for number, values in enumerate(([1, 2], [3, 4, 5])):
        with ArrowWriter(path=tmp_path / f"d-train-0000{number}-of-00002.arrow") as writer:
            writer.write_batch({"a": values})
            writer.finalize()
    return tmp_path


def test_files(folder):
    names = [f"d-train-0000{number}-of-00002.arrow" for number in range(2)]
    reader = ArrowReader(str(folder), DatasetInfo(features=Features({"a": Value("int8")})))
    data = Dataset(
        **reader.read_files([{"filename": names[0], "skip": 1, "take": 1}, {"filename": names[1]}])
    )
    assert data["a"][:] == [2, 3, 4, 5]
    assert data.features == Features({"a": Value("int8")})
    # A name in full is found wherever it is.
    assert (
        ArrowReader("", None).read_files([{"filename": str(folder / names[0])}])["arrow_table"].num_rows == 2
    )


def test_slices_of_splits(folder):
    split = SplitInfo("train", 0, 5, shard_lengths=[2, 3])
    found = ArrowReader(str(folder), None).read("d", "train[1:4]", [split], in_memory=True)
    assert Dataset(**found)["a"][:] == [2, 3, 4]
    with pytest.raises(SplitNotFoundError):
        ArrowReader(str(folder), None).read("d", "test", [split])


def test_what_can_not_be_read(folder):
    reader = ArrowReader(str(folder), DatasetInfo(features=Features({"b": Value("int8")})))
    with pytest.raises(CastError):
        reader.read_files([{"filename": "d-train-00000-of-00002.arrow"}])
    with pytest.raises(FileMissingError):
        reader.read_files([{"filename": "nothing"}])
    (folder / "cut").write_bytes((folder / "d-train-00000-of-00002.arrow").read_bytes()[:-10])
    with pytest.raises(FileFormatError):
        reader.read_files([{"filename": "cut"}])
    with pytest.raises(InvalidArgumentError):
        reader.read_files([])
