"""Decorators, marks on strings, extractors, pickles."""

import gzip
import io
import pickle
import zipfile

import pytest
from gristmill.arrow_dataset import DatasetInfoMixin, table_iter
from gristmill.parallel import ParallelBackendConfig, parallel_backend
from gristmill.utils import _dill
from gristmill.utils.extract import Extractor, GzipExtractor, ZipExtractor, ZstdExtractor
from gristmill.utils.file_utils import add_end_docstrings, add_start_docstrings
from gristmill.utils.track import tracked_str

from gristmill import Dataset, experimental
from gristmill.errors import FileFormatError, InvalidArgumentError


def test_decorators():
    @experimental
    def double(number):
        """Doubles."""
        return 2 * number

    with pytest.warns(UserWarning, match="double is experimental"):
        assert double(2) == 4

    @add_start_docstrings("Before.")
    @add_end_docstrings("After.")
    def f():
        """Middle."""

    assert f.__doc__.split() == ["Before.", "Middle.", "After."]


def test_text_that_knows_its_origin():
    text = tracked_str("/cache/of/test")
    assert repr(text) == "'/cache/of/test'"
    text.set_origin("https://example.org")
    assert repr(tracked_str("/cache/of/test")) == "/cache/of/test (origin=https://example.org)"
    assert text == "/cache/of/test"


def test_parts_of_a_table():
    table = Dataset.from_dict({"a": [1, 2, 3]}).data
    assert [part["a"].to_pylist() for part in table_iter(table, 2)] == [[1, 2], [3]]
    assert [part["a"].to_pylist() for part in table_iter(table, 2, drop_last_batch=True)] == [[1, 2]]
    with pytest.raises(InvalidArgumentError):
        next(table_iter(table, 0))
    assert isinstance(Dataset.from_dict({}), DatasetInfoMixin)


def test_what_is_packed(tmp_path):
    with gzip.open(tmp_path / "a", "wb") as file:
        file.write(b"abc")
    with zipfile.ZipFile(tmp_path / "b", "w") as file:
        file.writestr("x.txt", "inside")
    (tmp_path / "c").write_text("plain")
    packed, archive, plain = (str(tmp_path / name) for name in "abc")
    assert [Extractor.infer_extractor_format(path) for path in (packed, archive, plain)] == [
        "gzip",
        "zip",
        None,
    ]
    assert Extractor.is_extractable(packed)
    assert GzipExtractor.is_extractable(packed)
    assert not ZstdExtractor.is_extractable(packed)
    assert not Extractor.is_extractable(str(tmp_path / "none"))
    Extractor.extract(packed, str(tmp_path / "out" / "a"), "gzip")
    assert (tmp_path / "out" / "a").read_bytes() == b"abc"
    ZipExtractor.extract(archive, str(tmp_path / "out" / "b"))
    assert (tmp_path / "out" / "b" / "x.txt").read_text() == "inside"
    assert Extractor.extractors["zip"] is ZipExtractor
    for extractor, path in ((Extractor, plain), (ZstdExtractor, packed)):
        with pytest.raises(FileFormatError, match="not packed"):
            extractor.extract(path, str(tmp_path / "nothing"))
    assert not (tmp_path / "nothing").exists()


def test_backends():
    with parallel_backend("loky"):
        assert ParallelBackendConfig.backend_name == "loky"
    assert ParallelBackendConfig.backend_name is None
    with pytest.raises(InvalidArgumentError, match="spark"), parallel_backend("spark"):
        pass


def test_pickles_of_functions():
    file = io.BytesIO()
    _dill.Pickler(file, recurse=True).dump(lambda: 3)
    assert pickle.loads(file.getvalue())() == 3
    assert pickle.loads(_dill.dumps({"a": lambda: 4}))["a"]() == 4
    file = io.BytesIO()
    _dill.dump([1], file)
    assert pickle.loads(file.getvalue()) == [1]
