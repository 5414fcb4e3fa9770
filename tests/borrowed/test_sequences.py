"""Values that pyarrow makes an array of."""

import pyarrow as pa
import pytest
from gristmill.arrow_writer import OptimizedTypedSequence, TypedSequence

from gristmill import Json, List, Value
from gristmill.errors import CastError


def test_a_type_that_is_wanted_tried_or_found():
    assert pa.array(TypedSequence([1, None], type=Value("int16"))).to_pylist() == [1, None]
    assert pa.array(TypedSequence([1, None], type=Value("int16"))).type == pa.int16()
    assert pa.array(TypedSequence(["1"], try_type=Value("int32"))).type == pa.int32()
    tried = TypedSequence(["a"], try_type=Value("int32"))
    assert pa.array(tried).type == pa.string()
    assert tried.get_inferred_type() == Value("string")
    assert TypedSequence(iter([[1.5]])).get_inferred_type() == List(Value("float64"))
    assert TypedSequence([1], type=Json()).get_inferred_type() == Json()
    with pytest.raises(CastError):
        pa.array(TypedSequence(["a"], type=Value("int32")))


@pytest.mark.parametrize(
    ("values", "column", "wanted"),
    [
        ([[1, 2]], "input_ids", pa.list_(pa.int32())),
        ([[1, 0]], "attention_mask", pa.list_(pa.int8())),
        ([[1, 300]], "attention_mask", pa.list_(pa.int64())),
        ([[1, 0]], "other", pa.list_(pa.int64())),
        ([["a"]], "input_ids", pa.list_(pa.string())),
    ],
)
def test_small_integers_of_tokenizers(values, column, wanted):
    made = pa.array(OptimizedTypedSequence(values, col=column))
    assert made.type == wanted
    assert made.to_pylist() == values


def test_a_type_that_is_given_is_not_made_smaller():
    assert pa.array(OptimizedTypedSequence([1], type=Value("int64"), col="input_ids")).type == pa.int64()
