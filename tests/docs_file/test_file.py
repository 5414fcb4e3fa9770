import pickle
import struct
import subprocess
import sys

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gristmill import Dataset, DocsFile, Features, Value
from gristmill.docs_file import check_docs
from gristmill.errors import (
    ColumnNotFoundError,
    DataError,
    FileFormatError,
    FileMissingError,
    GristmillError,
    RowIndexError,
)

TEXTS = ["one", "", "zwei\n", "três", "\U0001f9c2" * 5, "a\0b"]
CHATS = [
    [{"role": "user", "content": "Hi"}, {"role": "assistant", "content": "Höi"}],
    [],
    [{"role": "system", "content": ""}, {"role": "user", "content": "?"}, {"role": "tool", "content": "42"}],
]


@pytest.fixture
def texts(tmp_path):
    path = tmp_path / "a.docs"
    Dataset.from_dict({"text": TEXTS}).to_docs(path)
    return path


@pytest.fixture
def chats(tmp_path):
    path = tmp_path / "chat.docs"
    Dataset.from_dict({"messages": CHATS}).to_docs(path)
    return path


def test_documents_by_number_slice_and_iteration(texts):
    docs = DocsFile(texts)
    assert len(docs) == 6
    assert [docs[i] for i in range(6)] == TEXTS
    assert docs[-1] == "a\0b"
    assert docs[np.int64(2)] == "zwei\n"
    assert docs[1:4] == TEXTS[1:4]
    assert docs[::-2] == TEXTS[::-2]
    assert docs[9:] == []
    assert list(docs) == TEXTS
    assert not docs.is_chat
    assert repr(docs) == f"DocsFile('{texts}': 6 documents, 36 bytes of text)"


def test_bytes_and_arrays_are_views_of_the_file(texts):
    docs = DocsFile(texts)
    assert bytes(docs.bytes(3)) == "três".encode()
    assert docs.bytes(3).readonly
    assert docs.offsets.tolist() == [0, 3, 3, 8, 13, 33, 36]
    assert docs.text.tobytes() == "".join(TEXTS).encode()
    assert docs.text.base is not None
    assert not docs.text.flags.owndata
    assert docs.roles.tolist() == docs.starts.tolist() == []


@pytest.mark.parametrize("index", [6, -7, 10**30])
def test_no_such_document(texts, index):
    with pytest.raises(RowIndexError, match="rows go from 0 to 5"):
        DocsFile(texts)[index]


def test_an_index_that_is_no_number(texts):
    with pytest.raises(RowIndexError):
        DocsFile(texts)["0"]  # type: ignore[call-overload]


def test_conversations(chats):
    docs = DocsFile(chats)
    assert docs.is_chat
    assert (len(docs), docs.num_conversations) == (5, 3)
    assert list(docs.conversations()) == CHATS
    assert docs.conversation(-1) == CHATS[2]
    assert list(docs) == ["Hi", "Höi", "", "?", "42"]
    assert docs.roles.tolist() == [1, 2, 0, 1, 3]
    assert docs.starts.tolist() == [0, 2, 2, 5]
    with pytest.raises(RowIndexError, match="rows go from 0 to 2"):
        docs.conversation(3)


def test_texts_hold_no_conversations(texts):
    with pytest.raises(DataError, match="holds documents, not conversations"):
        DocsFile(texts).conversations()
    with pytest.raises(DataError, match="holds documents, not conversations"):
        DocsFile(texts).conversation(0)


def test_a_dataset_of_it(texts, chats):
    made = DocsFile(texts).to_dataset()
    assert made[:] == {"text": TEXTS}
    assert DocsFile(chats).to_dataset()[:] == {"messages": CHATS}
    # The text is the file's: its buffer lies inside the mapped bytes.
    docs = DocsFile(texts)
    buffer = docs.to_dataset(check=False).data.column("text").chunk(0).buffers()[2]
    assert buffer.address == docs.text.ctypes.data


def test_no_documents(tmp_path):
    Dataset.from_dict({"text": []}, features=Features({"text": Value("string")})).to_docs(
        tmp_path / "none.docs"
    )
    docs = DocsFile(tmp_path / "none.docs")
    docs.check()
    assert (len(docs), list(docs), docs.to_dataset().num_rows) == (0, [], 0)


def test_it_is_pickled_as_a_path(texts):
    data = pickle.dumps(DocsFile(texts, {"critic": 9}))
    assert len(data) < 300
    assert list(pickle.loads(data)) == TEXTS


def test_nulls_are_empty_and_rows_keep_their_numbers(tmp_path):
    Dataset.from_dict({"text": ["a", None, "c"]}).to_docs(tmp_path / "a.docs")
    assert list(DocsFile(tmp_path / "a.docs")) == ["a", "", "c"]
    rows = [None, [{"role": "user", "content": None}], CHATS[0]]
    Dataset.from_dict({"messages": rows}).to_docs(tmp_path / "b.docs")
    assert list(DocsFile(tmp_path / "b.docs").conversations()) == [
        [],
        [{"role": "user", "content": ""}],
        CHATS[0],
    ]


def test_other_names_of_columns_fields_and_roles(tmp_path):
    chats = [[{"from": "human", "value": "Hi"}, {"from": "gpt", "value": "Lo"}]]
    Dataset.from_dict({"conversations": chats}).to_docs(tmp_path / "a.docs")
    assert list(DocsFile(tmp_path / "a.docs").conversations()) == [
        [{"role": "user", "content": "Hi"}, {"role": "assistant", "content": "Lo"}]
    ]
    own = [[{"who": "critic", "what": "Hm"}]]
    dataset = Dataset.from_dict({"talk": own})
    with pytest.raises(DataError, match=r'row 0, column "talk.who": the role \'critic\' has no number'):
        dataset.to_docs(tmp_path / "b.docs", "talk", role="who", content="what")
    assert not (tmp_path / "b.docs").exists()
    dataset.to_docs(tmp_path / "b.docs", "talk", role="who", content="what", roles={"critic": 7})
    docs = DocsFile(tmp_path / "b.docs")
    with pytest.raises(FileFormatError, match="role number 7, which has no name here"):
        docs.conversation(0)
    with pytest.raises(FileFormatError, match="role number 7"):
        docs.to_dataset()
    assert DocsFile(tmp_path / "b.docs", {"critic": 7}).conversation(0) == [
        {"role": "critic", "content": "Hm"}
    ]


@pytest.mark.parametrize(
    ("columns", "options", "error", "words"),
    [
        ({"a": [1]}, {}, DataError, "no column of text or messages under a common name; the columns are: a"),
        ({"a": [1]}, {"column": "a"}, DataError, "holds int64, which is neither text nor a list of messages"),
        ({"a": [1]}, {"column": "b"}, ColumnNotFoundError, 'no column "b"'),
        ({"a": ["x"]}, {"column": "a", "role": "r"}, ValueError, "fields of messages"),
        ({"m": [[{"role": "user"}]]}, {"column": "m"}, ColumnNotFoundError, "m.content"),
        ({"m": [[{"role": "user", "content": 1}]]}, {"column": "m"}, DataError, "holds int64, not text"),
        ({"a": ["x"]}, {"column": "a", "roles": {"x": 255}}, ValueError, "from 0 to 254"),
    ],
)
def test_what_can_not_be_written(tmp_path, columns, options, error, words):
    with pytest.raises(error, match=words):
        Dataset.from_dict(columns).to_docs(tmp_path / "a.docs", **options)
    assert list(tmp_path.iterdir()) == []


def test_a_selection_in_another_order(tmp_path):
    dataset = Dataset.from_dict({"text": TEXTS, "n": list(range(6))}).select([5, 0, 0, 3])
    dataset.to_docs(tmp_path / "a.docs")
    assert list(DocsFile(tmp_path / "a.docs")) == [TEXTS[i] for i in (5, 0, 0, 3)]


def test_missing_and_foreign_files(tmp_path):
    with pytest.raises(FileMissingError):
        DocsFile(tmp_path / "none.docs")
    for content, words in [
        (b"", "cut off: 0 bytes"),
        (b"GRIST", "cut off: 5 bytes"),
        (b"PAR1" * 30, "is no .docs file: it begins with b'PAR1PAR1'"),
    ]:
        (tmp_path / "x.docs").write_bytes(content)
        with pytest.raises(FileFormatError, match=words) as caught:
            DocsFile(tmp_path / "x.docs")
        assert "x.docs" in str(caught.value)


def test_every_cut_is_refused(texts, chats, tmp_path):
    for source in (texts, chats):
        whole = source.read_bytes()
        cut = tmp_path / "cut.docs"
        for size in range(len(whole)):
            cut.write_bytes(whole[:size])
            with pytest.raises(FileFormatError):
                DocsFile(cut)
        cut.write_bytes(whole + b"x")
        with pytest.raises(FileFormatError, match="bytes behind its end"):
            DocsFile(cut)


@given(st.data())
def test_every_changed_byte_is_found(tmp_path_factory, data):
    folder = tmp_path_factory.mktemp("docs")
    Dataset.from_dict({"messages": CHATS}).to_docs(folder / "a.docs")
    whole = bytearray((folder / "a.docs").read_bytes())
    at = data.draw(st.integers(0, len(whole) - 1))
    whole[at] ^= data.draw(st.integers(1, 255))
    (folder / "a.docs").write_bytes(whole)
    with pytest.raises(FileFormatError):
        check_docs(folder / "a.docs")


def test_a_made_up_header_with_a_right_checksum_is_not_believed(texts):
    from gristmill.formats.docs_layout import Header

    whole = texts.read_bytes()
    real = DocsFile(texts)._docs.header
    numbers = [0, 1, 6, 7, 63, 64, 2**31, 2**61, 2**62, 2**63, 2**64 - 1]
    for documents in numbers:
        for text_at in numbers:
            for flags in (0, 1):
                made = Header(documents, documents, text_at, text_at, text_at, flags, real.digest)
                texts.write_bytes(made.to_bytes() + whole[64:])
                try:
                    check_docs(texts)
                except GristmillError:
                    continue
                raise AssertionError((documents, text_at, flags))


def test_damage_is_found_where_it_is_read(texts):
    whole = bytearray(texts.read_bytes())
    whole[64 + 8 : 64 + 16] = struct.pack("<Q", 2**63)
    texts.write_bytes(whole)
    docs = DocsFile(texts)
    with pytest.raises(FileFormatError, match="document 0 begins or ends where none can"):
        docs[0]
    assert docs[3] == "três"
    with pytest.raises(FileFormatError):
        docs.to_dataset(check=False)


def test_text_that_is_not_utf8_names_its_document(texts):
    whole = bytearray(texts.read_bytes())
    whole[whole.index("ê".encode())] = 0xFF
    texts.write_bytes(whole)
    docs = DocsFile(texts)
    with pytest.raises(FileFormatError, match="document 3 is not valid UTF-8"):
        docs[3]
    with pytest.raises(FileFormatError, match="document 3 is not valid UTF-8"):
        docs.check()


LARGE = """
import os, random, sys
import numpy as np
from gristmill import DocsFile
from gristmill.formats.docs_layout import plan

path, documents, size = sys.argv[1], 1_000_000, 10_000
header = plan(documents, None)
with open(path, "wb") as file:
    file.write(header.to_bytes())
    file.write(np.arange(0, (documents + 1) * size, size, dtype="<u8"))
    file.truncate(header.text_at + documents * size)  # ten gigabytes of holes, which read as zeros

def resident():
    with open("/proc/self/status") as file:
        return next(int(line.split()[1]) for line in file if line.startswith("RssFile")) // 1024

before = resident()
docs = DocsFile(path)
opened = resident()
chosen = random.Random(1).sample(range(documents), 1000)
assert all(docs[number] == "\\0" * size for number in chosen)
print(len(docs), opened - before, resident() - before)
"""


@pytest.mark.skipif(sys.platform != "linux", reason="resident pages are read from /proc")
def test_ten_gigabytes_of_which_a_thousand_documents_are_read(tmp_path):
    command = [sys.executable, "-c", LARGE, str(tmp_path / "large.docs")]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    documents, opening, reading = map(int, done.stdout.split())
    assert documents == 1_000_000
    assert opening < 2  # megabytes: the header and the last offset
    # 10 MB of text and 8 MB of offsets; the kernel maps up to 64 kB around each page that is touched.
    assert reading < 1000 * 2 * 0.064 + 20


@given(st.lists(st.one_of(st.none(), st.text(max_size=8)), max_size=12), st.integers(1, 5))
def test_whatever_text_comes_back(tmp_path_factory, rows, cut):
    import pyarrow as pa

    path = tmp_path_factory.mktemp("docs") / "a.docs"
    parts = [pa.table({"text": pa.array(rows[i : i + cut], pa.string())}) for i in range(0, len(rows), cut)]
    table = pa.concat_tables(parts) if parts else pa.table({"text": pa.array([], pa.string())})
    Dataset(table).to_docs(path)
    docs = DocsFile(path)
    docs.check()
    assert list(docs) == [row or "" for row in rows]
    assert docs.to_dataset()["text"][:] == list(docs)
