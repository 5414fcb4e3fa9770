"""Plain text."""

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gristmill.errors import FileFormatError, InvalidArgumentError
from gristmill.formats import SourceFile, get_format
from tests.formats.conformance import ReaderTests

FORMAT = get_format("text")
LINES = [{"text": f"{i:03d} é"} for i in range(100)]


class TestLines(ReaderTests):
    format = "text"
    options = {"chunksize": 100}  # noqa: RUF012
    rows = LINES

    def make(self, path: Path) -> None:
        path.write_text("".join(row["text"] + "\n" for row in LINES), "utf-8")


class TestParagraphs(ReaderTests):
    format = "text"
    options = {"chunksize": 100, "sample_by": "paragraph"}  # noqa: RUF012
    rows = [{"text": f"{i:03d}\nof a\nparagraph"} for i in range(100)]  # noqa: RUF012

    def make(self, path: Path) -> None:
        path.write_bytes("\r\n\r\n".join(row["text"].replace("\n", "\r\n") for row in self.rows).encode())


class TestLatin1(TestLines):
    options = {"chunksize": 100, "encoding": "latin-1"}  # noqa: RUF012

    def make(self, path: Path) -> None:
        path.write_text("\n".join(row["text"] for row in LINES), "latin-1")


def read(path: Path, text: str | bytes, **options: Any) -> list[str]:
    path.write_bytes(text.encode() if isinstance(text, str) else text)
    return [
        value
        for _, batch in FORMAT.read(SourceFile(path, "f"), options=options)
        for value in batch["text"].to_pylist()
    ]


@pytest.mark.parametrize(
    ("text", "options", "rows"),
    [
        ("a\n\nb", {}, ["a", "", "b"]),
        ("a\r\nb\rc\n", {}, ["a", "b", "c"]),
        ("a\rb", {"chunksize": 1}, ["a", "b"]),
        ("a\u2028b\x0bc\x85d\n", {}, ["a\u2028b\x0bc\x85d"]),
        ("a\r\nb", {"keep_linebreaks": True}, ["a\n", "b"]),
        ("\n", {}, [""]),
        ("", {}, []),
        ("\ufeffa\n", {}, ["a"]),
        ("a\nb\n\n\n\nc\n", {"sample_by": "paragraph"}, ["a\nb", "c"]),
        ("a\n\nb\n", {"sample_by": "document"}, ["a\n\nb\n"]),
        (b"caf\xe9", {"encoding": "latin-1"}, ["café"]),
        (b"\xff", {"encoding_errors": "ignore"}, []),
    ],
)
def test_forms(tmp_path, text, options, rows):
    assert read(tmp_path / "x", text, **options) == rows


def test_what_is_wrong(tmp_path):
    with pytest.raises(FileFormatError, match="f, line 2: not valid UTF-8"):
        read(tmp_path / "x", b"a\n\xff\n")
    with pytest.raises(InvalidArgumentError, match="Did you mean"):
        read(tmp_path / "x", "", sample_by="lines")
    with pytest.raises(InvalidArgumentError, match="chunksize"):
        read(tmp_path / "x", "", chunksize=0)
    with pytest.raises(InvalidArgumentError, match="read, not written"):
        FORMAT.write([], tmp_path / "y", schema=FORMAT.infer_schema(SourceFile(tmp_path / "x")))


@settings(max_examples=150, deadline=None)
@given(st.text(st.sampled_from("ab\n\ré\u2028")), st.integers(1, 12))
def test_block_size_changes_nothing(tmp_path_factory, text, chunksize):
    path = tmp_path_factory.mktemp("text") / "x"
    plain = text.replace("\r\n", "\n").replace("\r", "\n")
    expected = plain.removesuffix("\n").split("\n") if plain else []
    assert read(path, text, chunksize=chunksize) == expected
    paragraphs = [part.strip("\n") for part in plain.split("\n\n")]
    assert read(path, text, chunksize=chunksize, sample_by="paragraph") == [
        part for part in paragraphs if part
    ]


def test_one_feature_names_the_column(tmp_path):
    from gristmill.features import Features, Value

    (tmp_path / "x").write_text("a\r\nb\u2028c\n", newline="")
    features = Features({"line": Value("large_string")})
    batches = FORMAT.read(SourceFile(tmp_path / "x"), schema=features.arrow_schema)
    assert [row for _, batch in batches for row in batch.to_pylist()] == [{"line": "a"}, {"line": "b\u2028c"}]
