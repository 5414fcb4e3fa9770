import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gristmill import DocsFile
from gristmill.demo import DEMO_HUB
from gristmill.docs_file import extract
from gristmill.errors import DataError, DataFilesNotFoundError, FileFormatError, InvalidArgumentError
from tests.shared import SHARED

BOOLQ = DEMO_HUB / "datasets/google/boolq/data/train-00000-of-00001.parquet"
MESSAGES = pa.list_(pa.struct({"content": pa.string(), "role": pa.string()}))


def chat(*rows):
    return pa.array(
        [row if row is None else [{"role": r, "content": c} for r, c in row] for row in rows], MESSAGES
    )


def test_real_text_document_by_document(tmp_path):
    [made] = extract(BOOLQ, tmp_path / "a.docs", column="passage")
    expected = pq.read_table(BOOLQ)["passage"].to_pylist()
    docs = DocsFile(made.output)
    docs.check()
    assert list(docs) == expected
    assert (made.documents, made.conversations, made.column) == (len(expected), 0, "passage")
    assert made.text_bytes == sum(len(text.encode()) for text in expected)
    assert made.sources == (str(BOOLQ),)


@pytest.mark.parametrize("threads", [1, 2, 5])
def test_several_files_and_row_groups_are_one_file_of_the_same_bytes(tmp_path, threads):
    rows = [f"text {i} ß" * (i % 5) for i in range(100)]
    for part in range(3):
        table = pa.table(
            {"text": rows[part * 40 : part * 40 + 40], "n": range(len(rows[part * 40 : part * 40 + 40]))}
        )
        pq.write_table(table, tmp_path / f"part-{part}.parquet", row_group_size=7)
    [made] = extract(str(tmp_path / "part-*.parquet"), tmp_path / "all.docs", threads=threads)
    assert list(DocsFile(made.output)) == rows
    [again] = extract(sorted(tmp_path.glob("part-*.parquet")), tmp_path / "again.docs")
    assert again.output.read_bytes() == made.output.read_bytes()


def test_a_folder_gets_a_file_for_each(tmp_path):
    for name in ("a", "b"):
        pq.write_table(pa.table({"text": [name]}), tmp_path / f"{name}.parquet")
    made = extract(str(tmp_path / "*.parquet"), tmp_path / "out")
    assert [(one.output.name, list(DocsFile(one.output))) for one in made] == [
        ("a.docs", ["a"]),
        ("b.docs", ["b"]),
    ]
    (tmp_path / "more").mkdir()
    pq.write_table(pa.table({"text": ["x"]}), tmp_path / "more" / "a.parquet")
    with pytest.raises(InvalidArgumentError, match="would both become"):
        extract([tmp_path / "a.parquet", tmp_path / "more/a.parquet"], tmp_path / "other")


def test_conversations_keep_roles_and_starts(tmp_path):
    table = pa.table({"messages": chat([("user", "Hi"), ("assistant", "Lo")], [], None, [("system", "S")])})
    pq.write_table(table, tmp_path / "a.parquet", row_group_size=2)
    [made] = extract(tmp_path / "a.parquet", tmp_path / "a.docs")
    docs = DocsFile(made.output)
    docs.check()
    assert (made.documents, made.conversations) == (3, 4)
    assert list(docs.conversations()) == [
        [{"role": "user", "content": "Hi"}, {"role": "assistant", "content": "Lo"}],
        [],
        [],
        [{"role": "system", "content": "S"}],
    ]


@pytest.mark.parametrize(
    "kind",
    [pa.string(), pa.large_string(), pa.string_view(), pa.binary(), pa.dictionary(pa.int32(), pa.string())],
    ids=str,
)
def test_every_kind_of_text_column(tmp_path, kind):
    values = pa.array(["a", None, "é" * 50, "a"]).cast(kind)
    pq.write_table(pa.table({"text": values}), tmp_path / "a.parquet")
    [made] = extract(tmp_path / "a.parquet", tmp_path / "a.docs")
    assert list(DocsFile(made.output)) == ["a", "", "é" * 50, "a"]


def test_a_row_group_larger_than_a_piece_is_read_in_batches(tmp_path, monkeypatch):
    monkeypatch.setattr("gristmill.docs_file.extracting._PIECE_BYTES", 1000)
    rows = [f"{i} " * (i % 40) for i in range(500)]
    pq.write_table(pa.table({"text": rows}), tmp_path / "a.parquet", use_dictionary=False)
    [made] = extract(tmp_path / "a.parquet", tmp_path / "a.docs")
    assert list(DocsFile(made.output)) == rows


def test_text_that_is_not_utf8_names_file_and_row(tmp_path):
    values = pa.array([b"ok"] * 9 + [b"\xff"], pa.binary()).view(pa.string())
    pq.write_table(pa.table({"text": values}), tmp_path / "a.parquet", row_group_size=4)
    with pytest.raises(DataError, match=r'a\.parquet, row 9, column "text": is not valid UTF-8') as caught:
        extract(tmp_path / "a.parquet", tmp_path / "a.docs")
    assert "row 9" in str(caught.value)
    assert [path.name for path in tmp_path.iterdir()] == ["a.parquet"]


def test_valid_only_together_is_not_valid(tmp_path):
    values = pa.array([b"\xc3", b"\xa9"], pa.binary()).view(pa.string())
    pq.write_table(pa.table({"text": values}), tmp_path / "a.parquet")
    with pytest.raises(DataError, match="row 0"):
        extract(tmp_path / "a.parquet", tmp_path / "a.docs")


def test_an_unknown_role_names_its_row(tmp_path):
    table = pa.table({"messages": chat([("user", "a")], [("user", "b"), ("oracle", "c")])})
    pq.write_table(table, tmp_path / "a.parquet")
    with pytest.raises(DataError, match=r"row 1, column \"messages.role\": the role 'oracle' has no number"):
        extract(tmp_path / "a.parquet", tmp_path / "a.docs")
    [made] = extract(tmp_path / "a.parquet", tmp_path / "a.docs", roles={"oracle": 9})
    assert DocsFile(made.output).roles.tolist() == [1, 1, 9]


def test_other_bad_input(tmp_path):
    with pytest.raises(DataFilesNotFoundError):
        extract(tmp_path / "none.parquet", tmp_path / "a.docs")
    with pytest.raises(InvalidArgumentError, match="at least one Parquet file"):
        extract([], tmp_path / "a.docs")
    with pytest.raises(InvalidArgumentError, match="a positive number"):
        extract(BOOLQ, tmp_path / "a.docs", column="passage", threads=0)
    (tmp_path / "bad.parquet").write_bytes(b"PAR1 and nothing")
    with pytest.raises(FileFormatError, match=r"bad\.parquet"):
        extract(tmp_path / "bad.parquet", tmp_path / "a.docs")
    cut = tmp_path / "cut.parquet"
    pq.write_table(pa.table({"text": [f"{i}" * 99 for i in range(999)]}), cut, compression="zstd")
    data = bytearray(cut.read_bytes())
    data[2000:2100] = bytes(100)
    cut.write_bytes(data)
    with pytest.raises(FileFormatError, match=r"cut\.parquet"):
        extract(cut, tmp_path / "a.docs")
    pq.write_table(pa.table({"text": ["x"]}), tmp_path / "t.parquet")
    pq.write_table(pa.table({"messages": chat([("user", "a")])}), tmp_path / "m.parquet")
    with pytest.raises(DataError, match="hold conversations"):
        extract([tmp_path / "m.parquet", tmp_path / "t.parquet"], tmp_path / "a.docs")
    assert not (tmp_path / "a.docs").exists()


ROLES = st.sampled_from(["system", "user", "assistant", "tool"])
CHATS = st.lists(
    st.one_of(st.none(), st.lists(st.tuples(ROLES, st.one_of(st.none(), st.text(max_size=5))), max_size=4)),
    max_size=10,
)


@given(CHATS, st.integers(1, 4), st.booleans())
def test_whatever_is_said_comes_back(tmp_path_factory, rows, group, pages):
    folder = tmp_path_factory.mktemp("extract")
    table = pa.table({"messages": chat(*rows)})
    pq.write_table(
        table, folder / "a.parquet", row_group_size=group, data_page_version="2.0" if pages else "1.0"
    )
    [made] = extract(folder / "a.parquet", folder / "a.docs")
    docs = DocsFile(made.output)
    docs.check()
    expected = [[{"role": r, "content": c or ""} for r, c in row or []] for row in rows]
    assert list(docs.conversations()) == expected


@pytest.mark.skipif(not SHARED.is_dir(), reason="the larger samples are not here")
def test_the_real_samples(tmp_path):
    compared = 0
    for path in sorted((SHARED / "hub/datasets").rglob("*.parquet")):
        schema = pq.read_schema(path)
        for column in ("text", "messages"):
            if column not in schema.names or "extension" in str(schema.field(column).type):
                continue
            [made] = extract(path, tmp_path / "a.docs", column=column)
            docs = DocsFile(made.output)
            docs.check()
            rows = pq.read_table(path, columns=[column])[column].to_pylist()
            if column == "text":
                assert list(docs) == [row or "" for row in rows]
            else:
                assert list(docs.conversations()) == [
                    [{"role": m["role"], "content": m["content"] or ""} for m in row] for row in rows
                ]
            compared += 1
    assert compared > 10
