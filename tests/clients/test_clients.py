"""The usual work of other people's clients against our server, on a real socket."""

import io

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tests.clients import programs
from tests.hub.server.conftest import write

WITHOUT_XET = {"HF_HUB_DISABLE_XET": "1"}


@pytest.mark.parametrize("more", [{}, WITHOUT_XET], ids=["xet", "no xet"])
@pytest.mark.parametrize("kind", ["hub", "old"])
def test_huggingface_hub(client, endpoint, kind, more):
    assert client.run(kind, programs.HUB, endpoint, **more) == programs.HUB_WORK


@pytest.mark.parametrize("more", [{}, WITHOUT_XET], ids=["xet", "no xet"])
def test_datasets(client, endpoint, more):
    assert client.run("datasets", programs.DATASETS, endpoint, **more) == programs.DATASETS_WORK


def test_tables_through_fsspec_and_by_url(client, endpoint):
    assert client.run("tables", programs.HTTPFS + programs.FSSPEC, endpoint) == programs.FSSPEC_WORK


def parquet(start, rows):
    sink = io.BytesIO()
    pq.write_table(
        pa.table({"a": list(range(start, start + rows)), "b": ["x"] * rows}), sink, row_group_size=100
    )
    return sink.getvalue()


def test_polars_and_duckdb_by_their_own_hf(client, real_name):
    files = {f"data/train-{number}.parquet": parquet(number * 1000, 1000) for number in range(3)}
    write(client.served / "datasets/me/tables", {**files, "more/x.csv": b"a,b\n1,2\n"})
    write(client.served / "datasets/me/many", {f"{n:04}.parquet": parquet(n, 1) for n in range(1100)})
    write(client.served / "datasets/me/secret", {"x.parquet": parquet(0, 3)})
    write(client.served, {"access.json": b'{"me/secret": {"private": true}}'})
    branch = """
        from huggingface_hub import HfApi
        for branch in ("feat/x", "next"):
            HfApi().create_branch("me/tables", branch=branch, repo_type="dataset")
        print("made")
    """
    assert client.run("tables", branch, "https://huggingface.co", **real_name) == ["made"]
    told = client.run("tables", programs.HTTPFS + programs.REAL_NAME, "https://huggingface.co", **real_name)
    assert told == programs.REAL_NAME_WORK


def test_huggingface_js(client, endpoint):
    told = client.run("javascript", programs.JAVASCRIPT, endpoint)
    # The library tells each file that it fetches, too.
    assert [line for line in told if line in programs.JAVASCRIPT_WORK] == programs.JAVASCRIPT_WORK
