"""Builders of the formats, under the names of `datasets`: for code that derives from them or makes them itself.

`load_dataset` does not go through them; they read files with the same readers. Their configs have the options of the
readers as settings, in the order that `datasets` documents.
"""

from __future__ import annotations

import dataclasses
import hashlib
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, ClassVar

import pyarrow as pa

from gristmill._version import __version__
from gristmill.builder.config import BuilderConfig
from gristmill.builder.kinds import ArrowBasedBuilder, GeneratorBasedBuilder
from gristmill.errors import InvalidArgumentError
from gristmill.features import Features
from gristmill.files.split_names import KNOWN_SUFFIXES
from gristmill.fingerprint import Hasher
from gristmill.formats.registry import get_format
from gristmill.formats.source import SourceFile
from gristmill.formats.sql import SqlOptions, iter_query_tables, query_key
from gristmill.info import DatasetInfo
from gristmill.splits import NamedSplit, Split, SplitGenerator

__all__ = [
    "Arrow", "ArrowConfig", "Csv", "CsvConfig", "Generator", "GeneratorConfig", "Json", "JsonConfig", "Parquet",
    "ParquetConfig", "Sql", "SqlConfig", "Text", "TextConfig", "Xml", "XmlConfig",
]  # fmt: skip


def _config(name: str, format: str, order: str, **defaults: Any) -> Any:
    """Makes the config class of a format."""
    known = {
        option.name: defaults.get(option.name, option.default)
        for option in dataclasses.fields(get_format(format).options)
    }
    known["features"] = None
    listed = [(option, Any, dataclasses.field(default=known[option])) for option in order.split()]
    made = dataclasses.make_dataclass(name, listed, bases=(BuilderConfig,), eq=False)
    made.__module__ = __name__
    made.__doc__ = f"The config of a `{name.removesuffix('Config')}` builder: the options of its reader."
    return made


ArrowConfig = _config("ArrowConfig", "arrow", "features")
JsonConfig = _config(
    "JsonConfig",
    "json",
    "features encoding encoding_errors field use_threads block_size chunksize newlines_in_values on_mixed_types "
    "parse_agent_traces",
)
ParquetConfig = _config(
    "ParquetConfig", "parquet", "batch_size columns features filters fragment_scan_options on_bad_files"
)
TextConfig = _config(
    "TextConfig", "text", "features encoding encoding_errors chunksize keep_linebreaks sample_by"
)
XmlConfig = _config("XmlConfig", "xml", "features encoding encoding_errors", encoding="utf-8")
_CsvConfig: Any = _config(
    "CsvConfig",
    "csv",
    "sep delimiter header names column_names index_col usecols prefix mangle_dupe_cols engine converters true_values "
    "false_values skipinitialspace skiprows nrows na_values keep_default_na na_filter verbose skip_blank_lines thousands "
    "decimal lineterminator quotechar quoting escapechar comment encoding dialect error_bad_lines warn_bad_lines "
    "skipfooter doublequote memory_map float_precision chunksize features encoding_errors on_bad_lines date_format",
    sep=",",
)


class CsvConfig(_CsvConfig):  # type: ignore[misc]  # made above
    """The config of a `Csv` builder: the options of its reader."""

    @property
    def pd_read_csv_kwargs(self) -> dict[str, Any]:
        """The settings as `pandas.read_csv` calls them."""
        names = [field.name for field in dataclasses.fields(_CsvConfig)]
        beside = {field.name for field in dataclasses.fields(BuilderConfig)} | {"features"}
        kwargs = {name: getattr(self, name) for name in names if name not in beside}
        kwargs["sep"] = kwargs.pop("delimiter") or kwargs["sep"]
        kwargs["names"] = kwargs.pop("column_names") or kwargs["names"]
        return kwargs


class _OfFiles(ArrowBasedBuilder):
    """A builder of the files that its config names."""

    _format: ClassVar[str]

    def _info(self) -> DatasetInfo:
        return DatasetInfo(features=getattr(self.config, "features", None))

    def _split_generators(self, dl_manager: Any) -> list[SplitGenerator]:
        if not self.config.data_files:
            raise InvalidArgumentError.from_value("data_files", None, f"paths of {self._format} files")
        found: Mapping[str, Any] = dl_manager.download_and_extract(self.config.data_files)
        return [SplitGenerator(split, {"files": list(files)}) for split, files in found.items()]

    def _generate_tables(self, files: Iterable[Any]) -> Iterator[tuple[Any, pa.Table]]:
        reader, features = get_format(self._format), self.info.features
        for number, file in enumerate(files):
            read = reader.read(
                SourceFile(Path(file), str(file)),
                options=self._options(),
                filters=getattr(self.config, "filters", None),
                columns=getattr(self.config, "columns", None),
                schema=None if features is None else Features(features).arrow_schema,
            )
            for position, batch in read:
                yield f"{number}-{position.row}", pa.Table.from_batches([batch])

    def _options(self) -> dict[str, Any]:
        """Gives the settings that are not the default, as options of the reader."""
        own = {field.name for field in dataclasses.fields(get_format(self._format).options)}
        return {
            field.name: value
            for field in dataclasses.fields(self.config)
            if field.name in own and (value := getattr(self.config, field.name)) != field.default
        }


class Arrow(_OfFiles):
    """A builder of Arrow files."""

    _format: ClassVar[str] = "arrow"
    BUILDER_CONFIG_CLASS: ClassVar[type[BuilderConfig]] = ArrowConfig


class Csv(_OfFiles):
    """A builder of CSV files."""

    _format: ClassVar[str] = "csv"
    BUILDER_CONFIG_CLASS: ClassVar[type[BuilderConfig]] = CsvConfig


class Json(_OfFiles):
    """A builder of JSON files."""

    _format: ClassVar[str] = "json"
    BUILDER_CONFIG_CLASS: ClassVar[type[BuilderConfig]] = JsonConfig


class Parquet(_OfFiles):
    """A builder of Parquet files."""

    _format: ClassVar[str] = "parquet"
    BUILDER_CONFIG_CLASS: ClassVar[type[BuilderConfig]] = ParquetConfig


class Text(_OfFiles):
    """A builder of text files."""

    _format: ClassVar[str] = "text"
    BUILDER_CONFIG_CLASS: ClassVar[type[BuilderConfig]] = TextConfig


class Xml(_OfFiles):
    """A builder of XML files."""

    _format: ClassVar[str] = "xml"
    BUILDER_CONFIG_CLASS: ClassVar[type[BuilderConfig]] = XmlConfig


def config_of(format: str, settings: Mapping[str, Any]) -> BuilderConfig:
    """Makes the config of a format with what is known of it.

    Args:
        format: Name of the format; one without a class of its own has a plain config.
        settings: Setting -> value; those that the class does not have are left out.

    Example:
        >>> config_of("csv", {"sep": ";", "filters": None}).sep
        ';'
    """
    found = [kind for kind in (Arrow, Csv, Json, Parquet, Text, Xml) if kind._format == format]
    made: Any = found[0].BUILDER_CONFIG_CLASS if found else BuilderConfig
    names = {field.name for field in dataclasses.fields(made)}
    config: BuilderConfig = made(**{name: value for name, value in settings.items() if name in names})
    return config


@dataclasses.dataclass(eq=False)
class GeneratorConfig(BuilderConfig):
    """The config of a `Generator` builder.

    Attributes:
        generator: Yields rows as dicts.
        gen_kwargs: What it is called with.
        features: What the columns are.
        split: Name of the split.
    """

    generator: Callable[..., Iterable[Mapping[str, Any]]] | None = None
    gen_kwargs: dict[str, Any] | None = None
    features: Features | None = None
    split: NamedSplit = Split.TRAIN

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.generator is None:
            raise InvalidArgumentError.from_value("generator", None, "a function that yields rows")


class Generator(GeneratorBasedBuilder):
    """A builder of the rows of a generator function."""

    BUILDER_CONFIG_CLASS: ClassVar[type[BuilderConfig]] = GeneratorConfig
    config: GeneratorConfig

    def _info(self) -> DatasetInfo:
        return DatasetInfo(features=self.config.features)

    def _split_generators(self, dl_manager: Any) -> list[SplitGenerator]:
        return [SplitGenerator(str(self.config.split), dict(self.config.gen_kwargs or {}))]

    def _generate_examples(self, **gen_kwargs: Any) -> Iterator[tuple[Any, Any]]:
        assert self.config.generator is not None
        yield from enumerate(self.config.generator(**gen_kwargs))


@dataclasses.dataclass(eq=False)
class SqlConfig(BuilderConfig):
    """The config of a `Sql` builder: a query, and the options of `gristmill.formats.sql.SqlOptions`.

    Attributes:
        sql: A query, the name of a table, or a SQLAlchemy query.
        con: A URI, or an open connection.
        index_col: Columns that come last.
        coerce_float: Accepted; decimals stay decimals.
        params: Values for the query.
        parse_dates: Columns that become timestamps.
        columns: Columns of a table.
        chunksize: Rows fetched at once.
        features: What the columns are.
    """

    sql: Any = None
    con: Any = None
    index_col: str | list[str] | None = None
    coerce_float: bool = True
    params: Any = None
    parse_dates: Any = None
    columns: list[str] | None = None
    chunksize: int | None = 10_000
    features: Features | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        self.options()  # refuses what can't be asked

    def options(self) -> SqlOptions:
        """Gives the settings as options of the reader."""
        return SqlOptions(
            **{field.name: getattr(self, field.name) for field in dataclasses.fields(SqlOptions)}
        )

    def create_config_id(
        self, config_kwargs: Mapping[str, Any], custom_features: Features | None = None
    ) -> str:
        """Names this config with a hash of what is asked; an open connection has no name of its own."""
        asked = {**config_kwargs, "sql": query_key(self.options())}
        for name in ("con", "params", "parse_dates"):
            asked.pop(name, None)
        return super().create_config_id(asked, custom_features)

    @property
    def pd_read_sql_kwargs(self) -> dict[str, Any]:
        """The settings as `pandas.read_sql` calls them."""
        names = ("index_col", "columns", "params", "coerce_float", "parse_dates", "chunksize")
        return {name: getattr(self, name) for name in names}


class Sql(ArrowBasedBuilder):
    """A builder of the rows of a query."""

    BUILDER_CONFIG_CLASS: ClassVar[type[BuilderConfig]] = SqlConfig
    config: SqlConfig

    def _info(self) -> DatasetInfo:
        return DatasetInfo(features=self.config.features)

    def _split_generators(self, dl_manager: Any) -> list[SplitGenerator]:
        return [SplitGenerator(str(Split.TRAIN), {})]

    def _generate_tables(self) -> Iterator[tuple[Any, pa.Table]]:
        yield from enumerate(iter_query_tables(self.config.options()))


_BUILDERS = ("arrow", "csv", "json", "parquet", "text", "xml", "generator", "sql")
_PACKAGED_DATASETS_MODULES = {
    name: (f"gristmill.packaged_modules.{name}.{name}", Hasher.hash((name, __version__)))
    for name in _BUILDERS
}
"""Format -> the path that its builder has in `datasets`, and what stands for its code."""
_EXTENSION_TO_MODULE: dict[str, tuple[str, dict[str, Any]]] = {
    suffix: (format, {"sep": "\t"} if suffix == ".tsv" else {})
    for suffix, format in KNOWN_SUFFIXES.items()
    if format in _BUILDERS
}
_MODULE_TO_EXTENSIONS = {
    name: [suffix for suffix, (format, _) in _EXTENSION_TO_MODULE.items() if format == name]
    for name in _BUILDERS
    if name not in ("generator", "sql")
}
_MODULE_TO_METADATA_EXTENSIONS: dict[str, list[str]] = {}
_MODULE_TO_METADATA_FILE_NAMES: dict[str, list[str]] = {}
_ALL_ALLOWED_EXTENSIONS = [*_EXTENSION_TO_MODULE, ".zip"]


def _hash_python_lines(lines: list[str]) -> str:
    """Hashes Python source, whatever its comments and empty lines."""
    code = (line.partition("#")[0].rstrip() for line in lines)
    return hashlib.sha256("\n".join(line for line in code if line).encode()).hexdigest()
