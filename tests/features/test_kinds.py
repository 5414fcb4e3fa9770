"""Value, ClassLabel, List, LargeList, Sequence."""

import copy
import pickle

import numpy as np
import pyarrow as pa
import pytest

from gristmill.errors import CastError, FileError, FileFormatError, FileMissingError, InvalidArgumentError
from gristmill.features import ClassLabel, Features, LargeList, List, Sequence, Value
from gristmill.features.convert import from_arrow_type, to_arrow_type

DTYPES = [
    "null", "bool", "int8", "int64", "uint8", "uint64", "float16", "float32", "float64", "string", "large_string",
    "binary", "large_binary", "string_view", "date32", "date64", "time32[s]", "time32[ms]", "time64[us]", "time64[ns]",
    "timestamp[s]", "timestamp[ns]", "timestamp[us, tz=UTC]", "timestamp[ms, tz=+02:00]", "duration[ms]",
    "binary_view", "decimal32(5, 2)", "decimal64(12, 3)", "decimal128(10, 2)", "decimal256(40, 2)", "fixed_size_binary[4]", "month_day_nano_interval",
]  # fmt: skip


@pytest.mark.parametrize("dtype", DTYPES)
def test_dtype_and_arrow_type_name_each_other(dtype):
    value = Value(dtype)
    assert value.dtype == dtype
    assert from_arrow_type(value()) == value


@pytest.mark.parametrize(
    ("dtype", "type_"),
    [
        ("float", pa.float32()),
        ("double", pa.float64()),
        ("utf8", pa.string()),
        ("decimal128(5,1)", pa.decimal128(5, 1)),
    ],
)
def test_other_spellings(dtype, type_):
    assert Value(dtype).pa_type == type_


@pytest.mark.parametrize(
    "dtype", ["strng", "time32[ns]", "decimal128(99, 2)", "decimal128(5)", "timestamp", "", 3, None]
)
def test_wrong_dtypes_are_refused(dtype):
    with pytest.raises(InvalidArgumentError, match="dtype"):
        Value(dtype)


def test_value_encodes_without_losing():
    assert Value("int32").encode_example("3") == 3
    assert Value("float32").encode_example("1.5") == 1.5
    assert Value("string").encode_example(3) == "3"
    assert Value("bool").encode_example(1) is True
    assert Value("binary").encode_example(b"x") == b"x"
    assert Value("int32").encode_example(None) is None
    for wrong in ("x", 1.5, float("nan"), float("inf")):
        with pytest.raises(CastError):
            Value("int32").encode_example(wrong)


class TestClassLabel:
    label = ClassLabel(names=["neg", "pos"])

    def test_both_ways_for_one_and_many(self):
        assert self.label.str2int("pos") == 1
        assert self.label.str2int(["neg", "pos"]) == [0, 1]
        assert self.label.str2int("1") == 1
        assert self.label.str2int(np.array(["pos", "neg"])) == [1, 0]
        assert self.label.str2int(np.array("pos")) == 1
        assert self.label.int2str(0) == "neg"
        assert self.label.int2str([1, 0]) == ["pos", "neg"]
        assert self.label.int2str(np.array([1])) == ["pos"]
        assert self.label.int2str(np.int64(1)) == "pos"
        assert self.label.num_classes == 2

    @pytest.mark.parametrize("value", [2, -1, None, "x", 0.5, [3]])
    def test_int2str_refuses(self, value):
        with pytest.raises(InvalidArgumentError):
            self.label.int2str(value)

    @pytest.mark.parametrize("value", ["poz", 1, [1], None, ["pos", "x"], "-1", "2"])
    def test_str2int_refuses(self, value):
        with pytest.raises(InvalidArgumentError):
            self.label.str2int(value)

    def test_encodes_names_ids_and_no_label(self):
        assert [self.label.encode_example(v) for v in ("pos", 1, 1.0, -1, "-1", None)] == [
            1,
            1,
            1,
            -1,
            -1,
            None,
        ]
        assert self.label.cast_storage(pa.array(["-1", "pos", None])).to_pylist() == [-1, 1, None]
        assert ClassLabel(names=["-1", "1"]).encode_example("-1") == 0
        for wrong in (2, -2, "x", 0.5, [1]):
            with pytest.raises(CastError):
                self.label.encode_example(wrong)

    def test_other_ways_to_make_one(self, tmp_path):
        (tmp_path / "names").write_text("a\nb\n\n")
        assert ClassLabel(names_file=str(tmp_path / "names")).names == ["a", "b"]
        assert ClassLabel(3).names == ["0", "1", "2"]
        assert ClassLabel(num_classes=2, names=["a", "b"]) == ClassLabel(names=["a", "b"])

    def test_wrong_arguments(self, tmp_path):
        for wrong in (
            {},
            {"names": ["a", "a"]},
            {"names": ["a"], "num_classes": 2},
            {"names": ["a"], "names_file": "x"},
            {"names": {"a", "b"}},  # in another order in each process
            {"names": {0: "a", 1: "b"}},
        ):
            with pytest.raises(InvalidArgumentError):
                ClassLabel(**wrong)
        with pytest.raises(FileMissingError):
            ClassLabel(names_file=str(tmp_path / "none"))


def test_reprs_are_code():
    features = Features(
        {
            "a": List(Value("int8"), length=2),
            "b": LargeList(ClassLabel(names=["x"])),
            "c": {"d": Value("string")},
        }
    )
    assert repr(features) == (
        "{'a': List(Value('int8'), length=2), 'b': LargeList(ClassLabel(names=['x'])), 'c': {'d': Value('string')}}"
    )
    assert Features(eval(repr(features))) == features


def test_sequence_is_the_older_way_to_write_lists():
    assert Sequence(Value("int8"), length=2) == List(Value("int8"), length=2)
    assert Sequence({"a": Value("int8")}) == {"a": List(Value("int8"))}
    lists = Sequence({"a": Value("int8")})
    # A list of what became a dict of lists: a list of such dicts, as files written with these features hold.
    for made in (Sequence(lists), List(lists)):
        assert made == List({"a": List(Value("int8"))})
    assert Sequence({"a": Sequence(Value("int8"))}) == {"a": List(List(Value("int8")))}
    assert isinstance(List(Value("int8")), Sequence)
    assert issubclass(List, Sequence)
    assert not isinstance(LargeList(Value("int8")), Sequence)
    assert pickle.loads(pickle.dumps(Sequence(lists))) == Sequence(lists)
    assert Features({"a": [Value("int8")], "b": [{"c": [Value("bool")]}]}) == Features(
        {"a": List(Value("int8")), "b": List({"c": List(Value("bool"))})}
    )


def test_arrow_types():
    assert to_arrow_type(
        {"a": List(Value("int8"), length=2), "b": LargeList({"c": ClassLabel(2)})}
    ) == pa.struct({"a": pa.list_(pa.int8(), 2), "b": pa.large_list(pa.struct({"c": pa.int64()}))})


@pytest.mark.parametrize(
    "wrong", [{"a": int}, {"a": "string"}, {"a": []}, {"a": [Value("int8")] * 2}, {"a": List(3)}, {"a": None}]
)
def test_what_is_no_feature_is_named(wrong):
    with pytest.raises(InvalidArgumentError, match=r'features\["a"\]'):
        Features(wrong)


def test_copies_and_pickles():
    features = Features({"a": ClassLabel(names=["x"]), "b": {"c": List(Value("timestamp[us, tz=UTC]"))}})
    assert pickle.loads(pickle.dumps(features)) == features
    assert copy.deepcopy(features) == features
    assert isinstance(features.copy(), Features)


def test_union_has_no_feature():
    union = pa.sparse_union([pa.field("a", pa.int8())])
    with pytest.raises(CastError, match="no feature"):
        from_arrow_type(union)


@pytest.mark.parametrize(
    "wrong",
    [{"num_classes": -1}, {"num_classes": 2.0}, {"num_classes": "2"}, {"num_classes": True}, {"names": "abc"}, {"names": b"abc"},
     {"names": 5}, {"names": ["a", "\ud800"]}, {"names_file": 3}, {"names_file": ""}, {"names_file": "a\0b"}],
)  # fmt: skip
def test_classes_from_odd_arguments(wrong):
    with pytest.raises(InvalidArgumentError, match=next(iter(wrong))):
        ClassLabel(**wrong)


def test_files_of_names_that_are_no_text(tmp_path):
    file = tmp_path / "names.txt"
    file.write_bytes(b"\xef\xbb\xbfneg\r\npos\r\n")
    assert ClassLabel(names_file=str(file)).names == ["neg", "pos"]
    file.write_bytes(b"\xe9\n")
    with pytest.raises(FileFormatError, match=r"names\.txt.*UTF-8"):
        ClassLabel(names_file=str(file))
    with pytest.raises(FileError, match="names_file="):
        ClassLabel(names_file=str(tmp_path))


def test_more_digits_than_a_number_may_have_are_no_class():
    with pytest.raises(InvalidArgumentError, match="no class name"):
        ClassLabel(num_classes=2).str2int("9" * 5000)


@pytest.mark.parametrize("length", [-2, 1.5, "2", True, None, 2**31, 10**30])
def test_lengths_of_lists_are_whole_numbers(length):
    with pytest.raises(InvalidArgumentError, match="length="):
        List(Value("int8"), length=length)


def test_truth_in_words_is_read_as_a_cast_reads_it():
    feature = Value("bool")
    words = ["true", "False", "1", "0", "TRUE"]
    cast = pa.array(words).cast(pa.bool_()).to_pylist()
    assert [feature.encode_example(word) for word in words] == cast == [True, False, True, False, True]
    with pytest.raises(CastError, match="'yes' is no bool"):
        feature.encode_example("yes")


@pytest.mark.parametrize("name", [3, None, b"a", "\ud800"])
def test_columns_have_text_as_names(name):
    with pytest.raises(InvalidArgumentError, match="name must be text"):
        Features({name: Value("int8")})
    if isinstance(name, str):
        with pytest.raises(InvalidArgumentError, match="name must be text"):
            Features({"a": [{name: Value("int8")}]})
