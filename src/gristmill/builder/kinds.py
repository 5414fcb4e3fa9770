"""The two classes that users derive their builders from."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, ClassVar

from gristmill import config as settings
from gristmill.builder.core import DatasetBuilder
from gristmill.builder.tables import Examples, WholeTables
from gristmill.builder.writing import Tables

__all__ = ["ArrowBasedBuilder", "GeneratorBasedBuilder"]


class GeneratorBasedBuilder(DatasetBuilder):
    """A builder that yields examples one by one. The arguments are those of `DatasetBuilder`.

    Example:
        >>> import tempfile
        >>> from gristmill import DatasetInfo, Features, SplitGenerator, Value
        >>> class Squares(GeneratorBasedBuilder):
        ...     def _info(self):
        ...         return DatasetInfo(features=Features({"n": Value("int64"), "square": Value("int64")}))
        ...
        ...     def _split_generators(self, dl_manager):
        ...         return [SplitGenerator("train", gen_kwargs={"count": 3})]
        ...
        ...     def _generate_examples(self, count):
        ...         for n in range(count):
        ...             yield n, {"n": n, "square": n * n}
        >>> with tempfile.TemporaryDirectory() as cache:
        ...     builder = Squares(cache_dir=cache)
        ...     builder.download_and_prepare()
        ...     builder.as_dataset("train")["square"][:]
        [0, 1, 4]
    """

    def _generate_examples(self, *args: Any, **kwargs: Any) -> Iterator[tuple[Any, dict[str, Any]]]:
        """Yields the examples of a split.

        Args:
            *args: None: whatever a derived class names, it is called by name.
            **kwargs: The ``gen_kwargs`` of the split.

        Yields:
            (key, example): a key that no other example of the split has, and a dict of values by column.
        """
        self._must_have("_generate_examples")

    def _tables(self, split: str, check_keys: bool) -> Tables:
        size = self._writer_batch_size or settings.DEFAULT_MAX_BATCH_SIZE
        where = f'{type(self).__name__}._generate_examples for the split "{split}"'
        return Examples(self._generate_examples, self.info.features, size, check_keys, where)


class ArrowBasedBuilder(DatasetBuilder):
    """A builder that yields Arrow tables. The arguments are those of `DatasetBuilder`.

    Example:
        >>> import tempfile
        >>> import pyarrow as pa
        >>> from gristmill import DatasetInfo, SplitGenerator
        >>> class Letters(ArrowBasedBuilder):
        ...     def _info(self):
        ...         return DatasetInfo(description="Three letters, one table each.")
        ...
        ...     def _split_generators(self, dl_manager):
        ...         return [SplitGenerator("train", gen_kwargs={"letters": ["a", "b", "c"]})]
        ...
        ...     def _generate_tables(self, letters):
        ...         for letter in letters:
        ...             yield letter, pa.table({"letter": [letter]})
        >>> with tempfile.TemporaryDirectory() as cache:
        ...     builder = Letters(cache_dir=cache)
        ...     builder.download_and_prepare()
        ...     builder.as_dataset("train")["letter"][:], builder.info.features
        (['a', 'b', 'c'], {'letter': Value('string')})
    """

    _generating_method: ClassVar[str] = "_generate_tables"

    def _generate_tables(self, *args: Any, **kwargs: Any) -> Iterator[tuple[Any, Any]]:
        """Yields the tables of a split.

        Args:
            *args: None: whatever a derived class names, it is called by name.
            **kwargs: The ``gen_kwargs`` of the split.

        Yields:
            (key, `pyarrow.Table`): a key that no other table of the split has, and some of its rows.
        """
        self._must_have("_generate_tables")

    def _tables(self, split: str, check_keys: bool) -> Tables:
        where = f'{type(self).__name__}._generate_tables for the split "{split}"'
        return WholeTables(self._generate_tables, self.info.features, 0, check_keys, where)
