"""What `import gristmill` costs and gives, seen from a fresh interpreter."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

import gristmill
from gristmill.not_there_yet import is_missing

SOURCE = str(Path(gristmill.__file__).parent.parent)
HEAVY = ["pyarrow", "numpy", "pandas", "huggingface_hub", "httpx", "torch", "fsspec"]


def fresh(code: str) -> str:
    command = [sys.executable, "-W", "error", "-c", code]
    environment = {**os.environ, "PYTHONPATH": SOURCE}  # works without an installed package, too
    done = subprocess.run(command, check=False, env=environment, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


@pytest.mark.parametrize(
    "statement", ["import gristmill", "import gristmill.cli.main", "import gristmill; dir(gristmill)"]
)
def test_nothing_heavy_is_loaded(statement):
    assert fresh(f"{statement}; import sys; print([m for m in {HEAVY} if m in sys.modules])") == "[]"


def test_rows_of_this_program_need_no_streams_files_or_network():
    unused = ["asyncio", "ssl", "yaml", "sqlite3", "multiprocessing", "httpx", "fsspec", "huggingface_hub"]
    unused += [f"gristmill.{room}" for room in ("prepared", "builder", "hub", "iterable", "load", "partial")]
    code = (
        "import sys, gristmill as g; ds = g.Dataset.from_dict({'a': [1, 2]}); ds[0], list(ds.shuffle(seed=1)),"
        f"ds.with_format('numpy')[:]; print([m for m in {unused} if m in sys.modules])"
    )
    assert fresh(code) == "[]"


def test_markers_and_light_modules_load_nothing_heavy():
    code = (
        "import gristmill as g, sys; g.logging, g.config, g.errors;"
        "missing = [getattr(g, name) for name in g._MISSING_CLASSES];"
        "[isinstance(3, one) for one in missing];"
        f"print([m for m in {HEAVY} if m in sys.modules])"
    )
    assert fresh(code) == "[]"


def test_all_is_sorted_and_complete():
    """Whatever `dir` shows is public, a room that something imported, or what the face itself is made with."""
    assert gristmill.__all__ == sorted(set(gristmill.__all__))
    shown = {name for name in dir(gristmill) if not name.startswith("_")}
    rooms = {name for name in shown if f"gristmill.{name}" in sys.modules}
    made_with = {"Any", "TYPE_CHECKING", "annotations", "importlib", "missing_class"}
    public = set(gristmill.__all__) - {"__version__"}
    assert public <= shown
    assert shown - rooms - made_with == public - rooms


def test_dir_lists_what_is_not_loaded_yet():
    code = (
        "import gristmill; print(set(gristmill.__all__) <= set(dir(gristmill)), 'Dataset' in vars(gristmill))"
    )
    assert fresh(code) == "True False"


@pytest.mark.parametrize("name", gristmill.__all__)
def test_every_name_resolves(name):
    value = getattr(gristmill, name)
    assert value is getattr(gristmill, name)
    if is_missing(value):
        assert value.__name__ == name


def test_star_import():
    code = "from gristmill import *; import gristmill; print(all(n in globals() for n in gristmill.__all__))"
    assert fresh(code) == "True"


def test_documented_ways_to_reach_a_name():
    code = (
        "import gristmill as datasets;"
        "from gristmill import load_dataset, Dataset;"
        "from gristmill.logging import get_logger;"
        "import gristmill.config;"
        "print(datasets.load_dataset is load_dataset, datasets.Dataset is Dataset,"
        " datasets.logging.get_logger is get_logger, datasets.config.HF_ENDPOINT[:4],"
        " datasets.exceptions is datasets.errors)"
    )
    assert fresh(code) == "True True True http True"


def test_an_unknown_name_is_an_ordinary_attribute_error():
    with pytest.raises(AttributeError, match="no_such_name"):
        gristmill.no_such_name  # noqa: B018


def test_type_checkers_see_the_same_names():
    """The block under TYPE_CHECKING and the table of homes say the same."""
    import ast
    import inspect

    tree = ast.parse(inspect.getsource(gristmill))
    block = next(
        node
        for node in tree.body
        if isinstance(node, ast.If) and getattr(node.test, "id", "") == "TYPE_CHECKING"
    )
    seen = {}
    for statement in block.body:
        assert isinstance(statement, ast.ImportFrom)
        home = (statement.module or "").removeprefix("gristmill").removeprefix(".")
        for alias in statement.names:
            seen[alias.asname or alias.name] = alias.name if alias.asname else home
    assert seen == {**gristmill._HOMES}


def test_import_time_is_recorded(record_property):
    code = "import time; t = time.perf_counter(); import gristmill; print(time.perf_counter() - t)"
    record_property("import_seconds", float(fresh(code)))
