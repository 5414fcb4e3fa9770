"""The same chains of operations on Gristmill, on lists of rows and, where asked for, on `datasets`."""

import copy
import datetime as dt
import decimal
import json
import os
import pickle
import string
import subprocess
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import gristmill
from tests.differential.model import OPERATIONS, Model
from tests.differential.play import play

REFERENCE = os.environ.get("GRISTMILL_REFERENCE_PYTHON")
EXAMPLES = int(os.environ.get("GRISTMILL_DIFFERENTIAL_EXAMPLES", "60"))

paris_times = st.integers(10**14, 19 * 10**14).map(
    lambda micros: (
        dt.datetime.fromtimestamp(micros // 10**6, dt.timezone.utc)
        + dt.timedelta(microseconds=micros % 10**6)
    )
)
texts = st.text(st.characters(exclude_categories=["Cs"]), max_size=4)
small = st.integers(-(2**31), 2**31 - 1)
json_values = st.recursive(
    st.none() | st.booleans() | small | texts,
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.sampled_from("abc"), inner, max_size=2),
    max_leaves=4,
)
cents = st.integers(-(10**9) + 1, 10**9 - 1).map(lambda number: decimal.Decimal(number).scaleb(-2))
point = st.builds(lambda x, y: {"x": x, "y": y}, st.none() | small, st.none() | texts)

KINDS = {
    "int64": st.integers(-(2**53), 2**53),
    "int32": st.integers(-3, 3),
    "float64": st.floats() | st.just(float("nan")),
    "bool": st.booleans(),
    "string": texts,
    "large_string": texts,
    "binary": st.binary(max_size=4),
    "date32": st.dates(),
    "timestamp[us, tz=Europe/Paris]": paris_times,
    "decimal128(9, 2)": cents,
    "json": json_values,
    ("class", ("no", "yes", "maybe")): st.integers(0, 2),
    ("list", "int64"): st.lists(st.none() | small, max_size=3),
    ("list", "string"): st.lists(st.none() | texts, max_size=2),
    ("dict", (("x", "int64"), ("y", "string"))): point,
    ("list", ("dict", (("x", "int64"), ("y", "string")))): st.lists(point, max_size=2),
    ("array2d", (2, 2)): st.lists(
        st.lists(st.integers(0, 9), min_size=2, max_size=2), min_size=2, max_size=2
    ),
}


@st.composite
def starts(draw):
    kinds = draw(st.lists(st.sampled_from(list(KINDS)), min_size=2, max_size=5))
    named = dict(zip(string.ascii_lowercase, kinds, strict=False))
    count = draw(st.integers(0, 12))
    columns = {
        name: draw(st.lists(st.none() | KINDS[kind], min_size=count, max_size=count))
        for name, kind in named.items()
    }
    return named, columns


number = st.integers(0, 10_000)
steps = st.lists(
    st.tuples(st.sampled_from([*OPERATIONS, "map", "map", "filter"]), number, number, number),
    min_size=3,
    max_size=10,
)


def expected(kinds, columns, chain):
    """What must come out, and the chain with options that fit the rows."""
    count = len(next(iter(columns.values())))
    model = Model(kinds, [{name: columns[name][i] for name in kinds} for i in range(count)])
    told, fitting = [model.told()], []
    for name, *numbers in [*chain, ("look", 3, 4, 5)]:
        options = model.options(name, *numbers)
        if options is None:
            continue
        fitting.append((name, copy.deepcopy(options)))
        if name == "look":
            told.append(model.look(**options))
        else:
            model.step(name, options)
            told.append(model.told())
    return told, fitting


def check(told, wanted, chain):
    for position, (got, must) in enumerate(zip(told, wanted, strict=False)):
        done = chain[:position]
        assert got[: len(must)] == must, f"after {done}"
    assert len(told) == len(wanted)


@settings(max_examples=EXAMPLES, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(starts(), steps)
def test_a_dataset_is_the_list_of_its_rows(start, chain):
    kinds, columns = start
    wanted, fitting = expected(kinds, columns, chain)
    check(play(gristmill, kinds, columns, fitting), wanted, fitting)


@pytest.fixture(scope="module")
def reference():
    if not REFERENCE:
        pytest.skip("GRISTMILL_REFERENCE_PYTHON names no Python that has datasets 5")
    script = Path(__file__).with_name("reference.py")
    environment = {**os.environ, "PYTHONPATH": ""}
    with subprocess.Popen(
        [REFERENCE, str(script)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=environment
    ) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        there, back = process.stdin, process.stdout

        def ask(*start):
            there.write(pickle.dumps(start))
            there.flush()
            return pickle.load(back)

        yield ask
        there.close()


def excused(ours, theirs, wanted, before, name):
    """Says whether a difference is one that docs/differences.md gives the reason of; the lists of rows must be right."""
    if ours[: len(wanted)] != wanted:
        return False
    empty = before[0] == "rows" and before[2] == ("list", ())
    return (
        theirs[0] == "error"  # negative numbers beside a selection, skipping all rows, an item with Json, ...
        or (empty and name in ("beside", "batch", "cast_column"))  # done on no rows, too
        or (name == "batch" and ours[2] == ("list", ()))  # nothing but a last batch that is dropped
    )


@settings(max_examples=EXAMPLES, deadline=None, suppress_health_check=list(HealthCheck))
@given(starts(), steps)
def test_a_dataset_is_what_it_is_in_datasets(reference, start, chain):
    kinds, columns = start
    wanted, fitting = expected(kinds, columns, chain)
    theirs = reference(kinds, columns, fitting)
    ours = play(gristmill, kinds, columns, fitting)
    for position, (got, must) in enumerate(zip(ours, theirs, strict=False)):
        name = fitting[position - 1][0] if position else "start"
        before = next((told for told in wanted[:position][::-1] if told[0] == "rows"), wanted[0])
        if got[:3] == must[:3] and json.dumps(got[3:]) == json.dumps(must[3:]):
            continue
        if name == "look" and got == wanted[position]:
            continue
        assert excused(got, must, wanted[position], before, name), f"after {fitting[:position]}: {got} {must}"
        break
