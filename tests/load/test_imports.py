"""What a load brings into the process: people wait for it before the first row."""

import json
import subprocess
import sys

import pytest

# Needed for what is remote, for cards, for workers that are processes; each takes as long as reading a small file.
_ELSEWHERE = {
    "ssl",
    "yaml",
    "httpx",
    "fsspec",
    "pandas",
    "huggingface_hub",
    "multiprocessing",
    "asyncio",
    "torch",
}
_OTHER_FORMATS = {"pyarrow.parquet", "pyarrow.fs", "pyarrow.dataset"}
_PROGRAM = """
import json, sys
import gristmill
kind, file, cache = sys.argv[1:]
rows = gristmill.load_dataset(kind, data_files=file, split="train", cache_dir=cache)
print(json.dumps([rows[:], sorted(sys.modules)]))
"""


@pytest.mark.parametrize(
    ("kind", "text"),
    [("csv", "a,b\n1,x\n2,y\n"), ("json", '{"a": 1, "b": "x"}\n{"a": 2, "b": "y"}\n'), ("text", "x\ny\n")],
)
def test_a_local_load_imports_only_what_it_uses(tmp_path, kind, text):
    file = tmp_path / f"a.{kind}"
    file.write_text(text)
    done = subprocess.run(
        [sys.executable, "-c", _PROGRAM, kind, str(file), str(tmp_path / "cache")],
        capture_output=True,
        text=True,
        check=True,
    )
    rows, modules = json.loads(done.stdout)
    assert rows == ({"text": ["x", "y"]} if kind == "text" else {"a": [1, 2], "b": ["x", "y"]})
    assert not (_ELSEWHERE | _OTHER_FORMATS) & set(modules)
    others = {f"gristmill.formats.{name}" for name in ("csv", "json", "parquet", "text", "xml", "sql")}
    assert others & set(modules) == {f"gristmill.formats.{kind}"}
    for room in ("iterable", "hub.server", "publishing", "corpus"):
        assert f"gristmill.{room}" not in modules


def test_opening_what_is_prepared_imports_no_reader_and_nothing_of_the_hub(tmp_path):
    file = tmp_path / "a.csv"
    file.write_text("a,b\n1,x\n2,y\n")
    arguments = [sys.executable, "-c", _PROGRAM, "csv", str(file), str(tmp_path / "cache")]
    subprocess.run(arguments, capture_output=True, check=True)
    done = subprocess.run(arguments, capture_output=True, text=True, check=True)
    rows, modules = json.loads(done.stdout)
    assert rows == {"a": [1, 2], "b": ["x", "y"]}
    unused = (
        "formats.csv",
        "hub.client",
        "hub.buckets",
        "partial",
        "files.http",
        "iterable",
        "download.manager",
    )
    assert not {f"gristmill.{name}" for name in unused} & set(modules)
    assert not (_ELSEWHERE | _OTHER_FORMATS | {"importlib.metadata"}) & set(modules)
