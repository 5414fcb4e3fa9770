"""What every reader must do: a class to inherit, with the format's name and a way to make files of it."""

import json
from dataclasses import asdict
from pathlib import Path
from typing import Any, ClassVar

import pyarrow as pa
import pytest

from gristmill.errors import CastError, DataError, FileMissingError, GristmillError, InvalidArgumentError
from gristmill.features import Features, Value
from gristmill.formats import Position, SourceFile, get_format

ROWS = [{"id": i, "text": f"row {i} é", "score": i / 4} for i in range(100)]


class ReaderTests:
    """Inherit, set `format` and `options` (small pieces, so that the file falls into several), define `make`."""

    format: ClassVar[str]
    options: ClassVar[dict[str, Any]] = {}
    rows: ClassVar[list[dict[str, Any]]] = ROWS
    empty: ClassVar[bytes | None] = b""

    def make(self, path: Path) -> None:
        """Writes `rows` to `path`, without using the writer under test where there is another."""
        raise NotImplementedError

    @pytest.fixture
    def file(self, tmp_path) -> SourceFile:
        path = tmp_path / "data"
        self.make(path)
        return SourceFile(path, "repo/data.file")

    def read(self, file: SourceFile, **arguments: Any) -> list[tuple[Position, Any]]:
        arguments.setdefault("options", self.options)
        return list(get_format(self.format).read(file, **arguments))

    def values(self, batches: list[tuple[Position, Any]]) -> list[dict[str, Any]]:
        return [row for _, batch in batches for row in batch.to_pylist()]

    def test_rows_come_back_in_several_batches_of_one_schema(self, file):
        batches = self.read(file)
        assert self.values(batches) == self.rows
        assert len(batches) > 1
        assert {str(batch.schema) for _, batch in batches} == {str(batches[0][1].schema)}
        for _, batch in batches:
            batch.validate(full=True)

    def test_positions_count_rows(self, file):
        row = 0
        for position, batch in self.read(file):
            assert position.row == row
            row += batch.num_rows

    def test_every_position_gives_exactly_the_rest(self, file):
        for position, _ in self.read(file):
            kept = Position(**json.loads(json.dumps(asdict(position))))
            rest = self.read(file, start=kept)
            assert rest[0][0] == position
            assert self.values(rest) == self.rows[position.row :]

    def test_schema_is_the_one_of_the_batches(self, file):
        schema = get_format(self.format).infer_schema(file, self.options)
        assert schema.types == self.read(file)[0][1].schema.types
        assert schema.names == list(self.rows[0])

    def test_columns_come_in_the_order_asked_for(self, file):
        names = list(self.rows[0])[::-1][:2]
        expected = [{name: row[name] for name in names} for row in self.rows]
        assert self.values(self.read(file, columns=names)) == expected

    def test_filters_keep_matching_rows_whatever_columns_are_read(self, file):
        name = next(iter(self.rows[0]))
        bound = sorted(row[name] for row in self.rows)[-3]
        expected = [row for row in self.rows if row[name] >= bound]
        assert self.values(self.read(file, filters=[(name, ">=", bound)])) == expected
        other = list(self.rows[0])[-1]
        got = self.values(self.read(file, filters=[(name, ">=", bound)], columns=[other]))
        assert got == [{other: row[other]} for row in expected]

    def test_filter_on_no_column_lists_those_there_are(self, file):
        with pytest.raises(GristmillError, match='no column "zzz"'):
            self.read(file, filters=[("zzz", "==", 1)])

    def test_schema_asked_for_gives_its_types_and_missing_columns(self, file):
        name = next(iter(self.rows[0]))
        features = Features.from_arrow_schema(get_format(self.format).infer_schema(file, self.options))
        features[name] = Value("large_string")
        features["more"] = Value("int8")
        batches = self.read(file, schema=features.arrow_schema)
        assert Features.from_arrow_schema(batches[0][1].schema) == features
        assert self.values(batches) == [{**row, name: str(row[name]), "more": None} for row in self.rows]

    def test_schema_without_a_column_of_the_file_is_refused(self, file):
        with pytest.raises(CastError, match=r"repo/data\.file"):
            self.read(file, schema=pa.schema({"other": pa.int8()}))

    def test_unknown_option_lists_the_known_ones(self, file):
        with pytest.raises(InvalidArgumentError, match=f'{self.format} has no option "nonsense"'):
            self.read(file, options={"nonsense": 1})

    def test_missing_file(self, tmp_path):
        with pytest.raises(FileMissingError, match="nowhere"):
            self.read(SourceFile(tmp_path / "nowhere", "nowhere"))

    def test_empty_file(self, tmp_path):
        path = tmp_path / "empty"
        path.write_bytes(self.empty or b"")
        if self.empty is None:
            with pytest.raises(DataError):
                self.read(SourceFile(path))
        else:
            assert self.read(SourceFile(path)) == []

    def test_damage_ends_in_an_error_or_in_rows(self, file):
        """Bytes overwritten and files cut anywhere: never another exception than ours."""
        whole = file.path.read_bytes()
        for at in range(0, len(whole), max(1, len(whole) // 40)):
            for damaged in (whole[:at], whole[:at] + b'\xff\x00{"' + whole[at + 4 :]):
                file.path.write_bytes(damaged)
                try:
                    self.read(file)
                except GristmillError as error:
                    assert "repo/data.file" in str(error)  # noqa: PT017  # both outcomes are right
