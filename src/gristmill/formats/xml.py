"""XML: a row for each file, with its text; or, with ``record="item"``, a row for each element of that name.

Parsing needs nothing but what stands in the file: entities that a file declares are refused, whether they expand
without end or name another file, and no definition of a document type is fetched.
"""

from __future__ import annotations

import codecs
import contextlib
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any
from xml.parsers import expat

import pyarrow as pa

from gristmill.errors import DataError, FileFormatError, InvalidArgumentError
from gristmill.features.build import table_from_rows
from gristmill.features.kinds import FeatureType, List, Value
from gristmill.features.schema import Features
from gristmill.formats.base import Batches, Format, fitter, one_batch
from gristmill.formats.source import Position, SourceFile
from gristmill.formats.streams import RECORD_LIMIT, open_bytes, open_utf8, reading_text
from gristmill.formats.text import TextOptions, renamed, text_rows

__all__ = ["XmlFormat", "XmlOptions"]

_SCHEMA = pa.schema({"xml": pa.string()})
_READ_BYTES = 1 << 16
_BATCH_BYTES = 8 << 20
_DEEPEST = 200
_MOST_NAMES = 10_000
_DECLARED = re.compile(rb"""^\s*<\?xml[^>]*?\sencoding\s*=\s*["']([A-Za-z0-9._:-]+)["']""")
_MARKS = ((codecs.BOM_UTF8, "utf-8"), (codecs.BOM_UTF16_LE, "utf-16"), (codecs.BOM_UTF16_BE, "utf-16"))


@dataclass(frozen=True)
class XmlOptions:
    """Options of ``load_dataset("xml", ...)``.

    Attributes:
        encoding: Encoding of the text; None for the one the file declares, UTF-8 if it declares none.
        encoding_errors: What to do with bytes that are no text, as in `open`.
        record: Name of the elements that are rows. Their attributes become columns ``@name``, the elements inside them
            columns of text, of structs where they hold more than text, of lists where one record has several; text
            beside elements or attributes is in ``#text``. None: a row is a file, in the column ``xml``.
    """

    encoding: str | None = None
    encoding_errors: str | None = None
    record: str | None = None

    def __post_init__(self) -> None:
        if self.record is not None and (type(self.record) is not str or not self.record):
            raise InvalidArgumentError.from_value("record", self.record, "the name of an element")


class XmlFormat(Format[XmlOptions]):
    """XML files."""

    name = "xml"
    suffixes = (".xml",)
    options = XmlOptions

    def _read(
        self,
        file: SourceFile,
        options: XmlOptions,
        columns: list[str] | None,
        start: Position,
        schema: pa.Schema | None,
        predicate: Any,
    ) -> Batches:
        with reading_text(file, "XML"):
            if options.record is not None:
                yield from _read_records(file, options, columns, start, schema)
                return
            shape, name = renamed(_SCHEMA, schema)
            fit = fitter(schema, columns, file)
            whole = TextOptions(_encoding(file, options), options.encoding_errors, sample_by="document")
            for block, texts in text_rows(file, whole, start):
                table = pa.table([texts], schema=shape)
                if columns is not None and name not in columns:
                    table = table.select([])
                yield Position(0, block.offset, line=block.line), one_batch(fit(table, 0))

    def infer_schema(
        self, file: SourceFile, options: XmlOptions | Mapping[str, Any] | None = None
    ) -> pa.Schema:
        """Gives the one column ``xml``; with `record`, the columns that hold all records, which are read for it."""
        settings = self.parse_options(options)
        if settings.record is None:
            return _SCHEMA
        with reading_text(file, "XML"):
            return Features(_settled(file, settings)).arrow_schema


def _encoding(file: SourceFile, options: XmlOptions) -> str:
    """Gives the encoding asked for, or the one that the file's first bytes say."""
    if options.encoding is not None:
        return options.encoding
    stream, _ = open_bytes(file)
    with contextlib.closing(stream):
        head = stream.read(1024)
    for mark, name in _MARKS:
        if head.startswith(mark):
            return name
    declared = _DECLARED.match(head)
    if declared is None:
        return "utf-8"
    name = declared[1].decode()
    try:
        with contextlib.suppress(UnicodeDecodeError):
            b"<".decode(name)  # Python also knows "encodings" that are no text, such as zlib
    except LookupError as error:
        raise FileFormatError.at(
            f'declares the encoding "{name}", which is not known',
            file=file.name,
            line=1,
            remedy="Pass encoding=.",
        ) from error
    return name


def _read_records(
    file: SourceFile,
    options: XmlOptions,
    columns: list[str] | None,
    start: Position,
    schema: pa.Schema | None,
) -> Batches:
    settled = _settled(file, options)
    features = {name: kind for name, kind in settled.items() if columns is None or name in columns}
    if columns is not None:
        features = {name: features[name] for name in columns if name in features}
    fit = fitter(schema, columns, file)
    rows: list[dict[str, Any]] = []
    first, size = start.row, 0
    for number, (element, length) in enumerate(_elements(file, options)):
        if number < start.row:
            continue
        rows.append({name: _value(element, name, kind) for name, kind in features.items()})
        size += length
        if size >= _BATCH_BYTES:
            yield Position(first), _batch(rows, features, first, file, fit)
            first, rows, size = number + 1, [], 0
    if rows:
        yield Position(first), _batch(rows, features, first, file, fit)


def _batch(
    rows: list[dict[str, Any]], features: dict[str, FeatureType], first: int, file: SourceFile, fit: Any
) -> pa.RecordBatch:
    if not features:
        return one_batch(fit(pa.table({"": pa.nulls(len(rows))}).select([]), first))
    return one_batch(fit(table_from_rows(rows, features, file=file.name, first_row=first), first))


@dataclass
class _Element:
    """An element of a record: attributes, text, elements inside by name."""

    attributes: dict[str, str]
    text: list[str] = field(default_factory=list)
    inside: dict[str, list[_Element]] = field(default_factory=dict)


def _value(element: _Element, name: str, kind: FeatureType) -> Any:
    """Takes one column (or field of a struct) out of an element."""
    if name.startswith("@"):
        return element.attributes.get(name[1:])
    if name == "#text":
        return "".join(element.text).strip() or None
    found = element.inside.get(name)
    if found is None:
        return None
    if isinstance(kind, List):
        return [_content(one, kind.feature) for one in found]
    return _content(found[0], kind)


def _content(element: _Element, kind: FeatureType) -> Any:
    if isinstance(kind, dict):
        return {name: _value(element, name, inner) for name, inner in kind.items()}
    return "".join(element.text)


@dataclass
class _Shape:
    """What the elements of one name, in one place, hold over all records."""

    attributes: dict[str, None] = field(default_factory=dict)
    has_text: bool = False
    inside: dict[str, _Shape] = field(default_factory=dict)
    repeated: set[str] = field(default_factory=set)

    def learn(self, element: _Element) -> int:
        """Takes in one element; returns how many names were new."""
        new = sum(name not in self.attributes for name in element.attributes)
        self.attributes.update(dict.fromkeys(element.attributes))
        self.has_text = self.has_text or any(map(str.strip, element.text))
        for name, found in element.inside.items():
            new += name not in self.inside
            shape = self.inside.setdefault(name, _Shape())
            if len(found) > 1:
                self.repeated.add(name)
            new += sum(map(shape.learn, found))
        return new

    def fields(self) -> dict[str, FeatureType]:
        """Gives the columns."""
        made: dict[str, FeatureType] = {f"@{name}": Value("string") for name in self.attributes}
        for name, shape in self.inside.items():
            kind = shape.content()
            made[name] = List(kind) if name in self.repeated else kind
        if self.has_text or not made:
            made["#text"] = Value("string")
        return made

    def content(self) -> FeatureType:
        """Gives the kind of these elements inside others."""
        return self.fields() if self.attributes or self.inside else Value("string")


@lru_cache(maxsize=64)
def _settle(
    file: SourceFile, options: XmlOptions, _state: tuple[int, int, int] | str
) -> dict[str, FeatureType]:
    shape, names, found = _Shape(), 0, False
    for element, _ in _elements(file, options):
        found = True
        names += shape.learn(element)
        if names > _MOST_NAMES:
            raise DataError.at(f"its records have more than {_MOST_NAMES} different names", file=file.name)
    return shape.fields() if found else {}


def _settled(file: SourceFile, options: XmlOptions) -> dict[str, FeatureType]:
    """Gives the columns that hold all records of a file; remembered until the file changes."""
    return _settle(file, options, file.state())


def _elements(file: SourceFile, options: XmlOptions) -> Iterator[tuple[_Element, int]]:
    """Parses the records of a file one after another, each with about the bytes it takes."""
    stream, _ = open_utf8(file, _encoding(file, options), options.encoding_errors)
    parser = _Parser(file, str(options.record))
    with contextlib.closing(stream):
        done = False
        while not done:
            data = stream.read(_READ_BYTES)
            done = not data
            parser.feed(data, done)
            yield from parser.records
            parser.records.clear()


class _Parser:
    """Collects the elements of one name as records, with expat, which handles bytes as they come."""

    def __init__(self, file: SourceFile, record: str) -> None:
        self.records: list[tuple[_Element, int]] = []
        self._file, self._record = file, record
        self._open: list[_Element] = []
        self._depth = self._size = self._fed = 0
        # What the stream gives is UTF-8, whatever the file declares.
        self._expat = expat.ParserCreate("utf-8")
        self._expat.buffer_text = True
        self._expat.StartElementHandler = self._start
        self._expat.EndElementHandler = self._end
        self._expat.CharacterDataHandler = self._text
        self._expat.EntityDeclHandler = self._refuse
        self._expat.SkippedEntityHandler = self._refuse

    def feed(self, data: bytes, done: bool) -> None:
        """Parses some more bytes."""
        self._fed += len(data)
        if self._fed > RECORD_LIMIT and not self.records:
            raise DataError.at(f"a record is longer than {RECORD_LIMIT >> 20} MB", file=self._file.name)
        try:
            self._expat.Parse(data, done)
        except expat.ExpatError as error:
            if not done or self._fed or error.code != expat.errors.codes[expat.errors.XML_ERROR_NO_ELEMENTS]:
                raise FileFormatError.at(
                    f"can't be read as XML: {expat.ErrorString(error.code)}",
                    file=self._file.name,
                    line=error.lineno,
                ) from error
        if self.records or not self._open:
            self._fed = 0

    def _refuse(self, name: str, *_: object) -> None:
        raise FileFormatError.at(
            f'uses or declares the entity "{name}", which is not followed: what entities mean could be anything',
            file=self._file.name,
            line=self._expat.CurrentLineNumber,
            remedy="Write their text in their place, or read the file without record=.",
        )

    def _start(self, name: str, attributes: dict[str, str]) -> None:
        self._depth += 1
        if self._depth > _DEEPEST:
            raise DataError.at(
                f"elements are nested deeper than {_DEEPEST}",
                file=self._file.name,
                line=self._expat.CurrentLineNumber,
            )
        if not self._open and name != self._record:
            return
        element = _Element(attributes)
        if self._open:
            self._open[-1].inside.setdefault(name, []).append(element)
        self._open.append(element)
        self._size += len(name) + sum(map(len, attributes.values())) + 200

    def _end(self, name: str) -> None:
        self._depth -= 1
        if self._open:
            element = self._open.pop()
            if not self._open:
                self.records.append((element, self._size))
                self._size = 0

    def _text(self, text: str) -> None:
        if self._open:
            self._open[-1].text.append(text)
            self._size += len(text)
