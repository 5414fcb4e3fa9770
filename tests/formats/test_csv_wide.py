from collections.abc import Callable

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gristmill.formats.csv_options import CsvOptions
from gristmill.formats.csv_settle import convert, settled
from gristmill.formats.csv_wide import settled_together
from gristmill.formats.registry import get_format
from gristmill.formats.source import SourceFile

_CELLS = [
    None,
    "",
    "1",
    "-2",
    "1.5",
    "1e3",
    " 4",
    "007",
    "+1",
    "0x1F",
    "0.5",
    "-",
    ".",
    "1.",
    "nan",
    "inf",
    "true",
]
_CELLS += ["a", "9007199254740993", "99999999999999999999", "1.234", "1,5", "-0", "-07", "٣"]
_LEAST = ["null", "blank", "bool", "int", "big", "float", "text"]
_columns = st.lists(st.lists(st.sampled_from(_CELLS), min_size=3, max_size=3), min_size=1, max_size=5)


@given(columns=_columns, times=st.integers(1, 12), least=st.sampled_from(_LEAST), data=st.data())
def test_what_is_found_together_is_what_is_found_one_by_one(columns, times, least, data):
    columns = [pa.array(cells, pa.string()) for cells in columns * times]
    options = data.draw(
        st.sampled_from([
            CsvOptions(),
            CsvOptions(decimal=","),
            CsvOptions(thousands="."),
            CsvOptions(keep_default_na=False, na_filter=False),
        ])
    )  # fmt: skip

    found = settled_together(columns, options, [least] * len(columns))

    for cells, (kind, values) in zip(columns, found, strict=True):
        expected, expected_values = settled(cells, options, least)
        assert kind == expected
        assert (values is None) == (expected_values is None)
        if values is not None:
            assert str(values.to_pylist()) == str(expected_values.to_pylist())
            assert values.type == expected_values.type


def test_one_odd_column_among_many_leaves_the_others_as_they_are():
    columns = [pa.array(["1", None, str(n)]) for n in range(100)]
    columns[37] = pa.array(["1", None, "007"])
    columns[64] = pa.array(["1", None, "2.5"])

    found = settled_together(columns, CsvOptions(), ["null"] * 100)

    assert [kind for kind, _ in found] == [
        "text" if n == 37 else "float" if n == 64 else "int" for n in range(100)
    ]
    assert convert(columns[37], found[37][0], CsvOptions()).to_pylist() == ["1", None, "007"]
    assert found[64][1].to_pylist() == [1.0, None, 2.5]
    assert found[99][1].to_pylist() == [1, None, 99]


@pytest.mark.parametrize("rows", [1, 3, 5000])
def test_wide_files_keep_every_value(tmp_path, rows):
    names = [f"c{i}" for i in range(60)]
    kinds: list[Callable[[int], str]] = [
        str,
        lambda n: f"{n}.25",
        lambda n: f"t{n}",
        lambda n: "" if n % 2 else str(n),
        lambda n: f"0{n}",
    ]
    lines = [",".join(kinds[i % 5](row * 60 + i) for i in range(60)) for row in range(rows)]
    path = tmp_path / "wide.csv"
    path.write_text("\n".join([",".join(names), *lines]) + "\n")

    read = pa.Table.from_batches([batch for _, batch in get_format("csv").read(SourceFile(path))])

    assert read.column_names == names
    assert read.column("c0").to_pylist() == [row * 60 for row in range(rows)]
    assert read.column("c1").to_pylist() == [row * 60 + 1.25 for row in range(rows)]
    assert read.column("c2").to_pylist() == [f"t{row * 60 + 2}" for row in range(rows)]
    assert read.column("c4").to_pylist() == [f"0{row * 60 + 4}" for row in range(rows)]
    assert read.column("c8").to_pylist() == [row * 60 + 8 for row in range(rows)]
    assert read.column("c3").null_count == rows


def test_a_name_that_stands_many_times_gets_a_number_each_time(tmp_path):
    path = tmp_path / "same.csv"
    path.write_text(",".join(["a"] * 2000 + ["a.3"] + ["b", "b"]) + "\n" + ",".join(["1"] * 2003) + "\n")

    names = get_format("csv").column_names(SourceFile(path))

    assert names[:4] == ["a", "a.1", "a.2", "a.4"]
    assert names[1999:] == ["a.2000", "a.3", "b", "b.1"]


def test_integers_above_int64_among_many_columns():
    cells = {
        0: ["18446744073709551615", "3"],
        1: ["-1", "18446744073709551615"],
        2: ["-5", "7"],
        3: ["1", None],
    }
    columns = [pa.array(cells.get(i, [str(i), str(i + 1)]), pa.string()) for i in range(20)]
    found = settled_together(columns, CsvOptions(), ["null"] * 20)
    assert [kind for kind, _ in found] == ["unsigned", "text", "negative", *["int"] * 17]
    assert [found[i][1].to_pylist() for i in (0, 2, 3, 19)] == [[2**64 - 1, 3], [-5, 7], [1, None], [19, 20]]
