import pyarrow.parquet as pq
import pytest

from gristmill.parquet import decoding, leaf
from gristmill.parquet.flatten import leaf_values
from gristmill.progress import disable_progress_bars


@pytest.fixture(autouse=True)
def no_bars():
    disable_progress_bars()


@pytest.fixture
def in_process(monkeypatch):
    """Values are decoded here instead of in a process of their own: for whole files, and many of them."""

    def iter_values(file, chunks):
        with pq.ParquetFile(file.source.path, coerce_int96_timestamp_unit="us") as parquet:
            for chunk in chunks:
                batches = parquet.reader.iter_batches(
                    decoding.BATCH_ROWS,
                    row_groups=[chunk.group],
                    column_indices=[chunk.index],
                    use_threads=False,
                )
                yield (leaf_values(batch.column(0)) for batch in batches)

    monkeypatch.setattr(leaf, "iter_values", iter_values)
