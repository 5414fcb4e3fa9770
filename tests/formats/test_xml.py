"""XML."""

import time
from pathlib import Path
from typing import Any
from xml.sax.saxutils import escape, quoteattr

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gristmill.errors import DataError, FileFormatError, InvalidArgumentError
from gristmill.features import Features, Value
from gristmill.formats import SourceFile, get_format
from tests.formats.conformance import ReaderTests
from tests.shared import SHARED

FORMAT: Any = get_format("xml")
REAL = SHARED / "media/xml"


class TestRecords(ReaderTests):
    format = "xml"
    options = {"record": "row"}  # noqa: RUF012
    rows = [{"@id": f"{i:03}", "text": f"row {i} é <&>", "last": str(i)} for i in range(100)]  # noqa: RUF012

    def make(self, path: Path) -> None:
        body = "".join(
            f'<row id="{row["@id"]}"><text>{escape(row["text"])}</text><last>{row["last"]}</last></row>\n'
            for row in self.rows
        )
        path.write_text(f"<?xml version='1.0'?>\n<rows>\n{body}</rows>", "utf-8")

    @pytest.fixture(autouse=True)
    def small_batches(self, monkeypatch):
        monkeypatch.setattr("gristmill.formats.xml._BATCH_BYTES", 10_000)


@pytest.fixture
def path(tmp_path):
    return tmp_path / "x.xml"


def read(path: Path, text: str | bytes, options: Any = None, **arguments: Any) -> list[dict[str, Any]]:
    path.write_bytes(text.encode() if isinstance(text, str) else text)
    batches = FORMAT.read(SourceFile(path, "f"), options=options, **arguments)
    return [row for _, batch in batches for row in batch.to_pylist()]


@pytest.mark.parametrize(
    ("text", "options", "xml"),
    [
        ("<a>\r\n<b/></a>\r", {}, "<a>\n<b/></a>\n"),
        ("\ufeff<a>é</a>", {}, "<a>é</a>"),
        ("<?xml version='1.0' encoding='iso-8859-1'?><a>é</a>".encode("latin-1"), {}, None),
        ("<a>é</a>".encode("latin-1"), {"encoding": "latin-1"}, "<a>é</a>"),
        ("<?xml version='1.0' encoding='utf-16'?><a>é</a>".encode("utf-16"), {}, None),
        (b"<a>\xff</a>", {"encoding_errors": "replace"}, "<a>\ufffd</a>"),
        ("no XML at all", {}, "no XML at all"),
    ],
)
def test_a_row_is_a_file(path, text, options, xml):
    (row,) = read(path, text, options)
    assert row["xml"] == xml if xml is not None else row["xml"].endswith("<a>é</a>")
    named = Features({"page": Value("large_string")})
    assert [*read(path, text, options, schema=named.arrow_schema)[0]] == ["page"]


RECORDS = """<?xml version="1.0"?>
<!DOCTYPE books>
<b:books xmlns:b="urn:b">
  <b:book id="1"><title lang="en">One &amp; <!-- not --> only</title><author>A</author><author>B</author></b:book>
  <other><b:book/></other>
  <b:book id="3" sold="5">loose<title><![CDATA[<3>]]></title><author><name>C</name></author> text</b:book>
</b:books>"""


def test_a_row_is_an_element(path):
    options = {"record": "b:book"}
    rows = read(path, RECORDS, options)
    assert rows[0]["title"] == {"@lang": "en", "#text": "One &  only"}
    assert rows[0]["author"] == [{"name": None, "#text": "A"}, {"name": None, "#text": "B"}]
    assert rows[1] == {"@id": None, "@sold": None, "title": None, "author": None, "#text": None}
    assert (rows[2]["@sold"], rows[2]["#text"]) == ("5", "loose text")
    assert read(path, RECORDS, options, columns=["@id"]) == [{"@id": "1"}, {"@id": None}, {"@id": "3"}]
    typed = Features({"@id": Value("int8")})
    assert read(path, RECORDS, options, columns=["@id"], schema=typed.arrow_schema)[2] == {"@id": 3}
    assert read(path, RECORDS, {"record": "nothing"}) == []
    assert read(path, "<a>5</a>", {"record": "a"}) == [{"#text": "5"}]


BOMB = "<!DOCTYPE a [" + "".join(
    f'<!ENTITY e{i} "{f"&e{i - 1};" * 10 if i else "ha"}">' for i in range(12)
) + "]><a><r>&e11;</r></a>"  # fmt: skip


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("<a>\n<r>1</r>\n<r></a>", "f, line 3: can't be read as XML: mismatched tag"),
        ("<a>\n<r>1", "f, line 2: can't be read as XML"),
        (BOMB, 'line 1: uses or declares the entity "e0"'),
        ('<!DOCTYPE a [<!ENTITY e SYSTEM "file:///etc/passwd">]><a><r>&e;</r></a>', "entity"),
        ('<!DOCTYPE a SYSTEM "http://localhost:9/a.dtd"><a><r>&e;</r></a>', "entity"),
        ("<r>" * 1000, "nested deeper than 200"),
        (b"<a><r>\xff</r></a>", "can't be read as XML"),
        ("<?xml version='1.0' encoding='zlib'?><r/>", 'the encoding "zlib", which is not known'),
        ("<r>" + "".join(f"<a{i}/>" for i in range(10_001)) + "</r>", "more than 10000 different names"),
    ],
)
def test_what_is_wrong_or_hostile_is_refused_at_once(path, text, words):
    began = time.monotonic()
    with pytest.raises(DataError) as caught:
        read(path, text, {"record": "r"})
    assert words in str(caught.value)
    assert time.monotonic() - began < 5


def test_mistakes(path, monkeypatch):
    with pytest.raises(InvalidArgumentError, match="record"):
        read(path, "<a/>", {"record": ""})
    with pytest.raises(FileFormatError, match="f, line 1: not valid UTF-8"):
        read(path, b"<a>\xff</a>")
    monkeypatch.setattr("gristmill.formats.xml.RECORD_LIMIT", 100_000)
    with pytest.raises(DataError, match="longer than"):
        read(path, "<r>" + "x" * 200_000, {"record": "r"})
    assert len(read(path, "<a>" + "<r>x</r>" * 50_000 + "</a>", {"record": "r"})) == 50_000


texts = st.text(st.characters(codec="utf-8", exclude_categories=["Cc", "Cs"], exclude_characters="\ufffe\uffff"), max_size=5)  # fmt: skip


@settings(max_examples=60)
@given(st.lists(st.tuples(texts, texts.filter(lambda t: t == t.strip())), min_size=1, max_size=6))
def test_text_comes_back_to_the_letter(tmp_path_factory, pairs):
    path = tmp_path_factory.mktemp("xml") / "x.xml"
    body = "".join(f"<r k={quoteattr(k)}><v>{escape(v)}</v></r>" for v, k in pairs)
    assert read(path, f"<a>{body}</a>", {"record": "r"}) == [{"@k": k, "v": v} for v, k in pairs]


@pytest.mark.skipif(not REAL.exists(), reason="the collection of XML files is not here")
def test_real_files():
    for file in REAL.glob("*.xml"):
        (batch,) = [batch for _, batch in FORMAT.read(SourceFile(file))]
        assert batch["xml"][0].as_py() == file.read_text("utf-8")
    for name, record in [("iso_4217.xml", "iso_4217_entry"), ("iso_3166.xml", "iso_3166_entry")]:
        batches = [batch for _, batch in FORMAT.read(SourceFile(REAL / name), options={"record": record})]
        assert sum(map(len, batches)) == (REAL / name).read_text("utf-8").count(f"<{record}")
