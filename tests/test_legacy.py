"""Old module paths, and Gristmill in the place of `datasets`, asked in the ways that libraries ask."""

import importlib
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

import gristmill
from gristmill import legacy

STAND_IN = """
import importlib.metadata, importlib.util, pickle, sys, types
import gristmill
assert importlib.util.find_spec("datasets") is None or "site-packages" in str(importlib.util.find_spec("datasets"))
import gristmill.as_datasets
import gristmill.as_datasets
assert importlib.util.find_spec("datasets") is not None
assert importlib.metadata.version("datasets") == gristmill.__version__.rpartition(".")[0] + ".0"
assert "huggingface" in importlib.metadata.metadata("datasets")["Home-page"]

import datasets
from datasets import Dataset, load_dataset
assert datasets is gristmill and datasets.__spec__.name == "gristmill"
assert [int(n) for n in datasets.__version__.split(".")] >= [5, 2, 0]

import datasets.utils.tqdm
import datasets.utils.logging as utils_logging
from datasets.utils.tqdm import disable_progress_bars
from datasets.utils import tqdm
assert isinstance(datasets.utils.tqdm, type) and datasets.utils.tqdm is tqdm is datasets.tqdm
assert type(sys.modules["datasets.utils.tqdm"]) is types.ModuleType
utils_logging.set_verbosity_error()
datasets.utils.logging.set_verbosity(datasets.utils.logging.WARNING)

from datasets.features.features import _visit, register_feature
from datasets.dataset_dict import IterableDatasetDict
from datasets.arrow_dataset import Dataset as Same
from datasets.download.download_manager import DownloadManager
from datasets.builder import GeneratorBasedBuilder
from datasets.exceptions import DatasetNotFoundError
import datasets.dataset.core
assert Same is Dataset is gristmill.Dataset and DownloadManager is gristmill.DownloadManager
assert sys.modules["datasets.dataset.core"] is sys.modules["gristmill.dataset.core"]
assert sys.modules["gristmill.dataset.core"].__spec__.name == "gristmill.dataset.core"
assert pickle.loads(pickle.dumps(Dataset)) is Dataset
for name in ("datasets.nothing", "datasets.utils.nothing", "datasets.utils.logging.nothing"):
    try:
        importlib.import_module(name)
    except ModuleNotFoundError as error:
        assert "nothing" in str(error)
    else:
        raise AssertionError(name)
"""

WITHOUT_IMPORTS = """
import datasets_as
from gristmill import legacy
for path in [*legacy.GATHERED, *legacy.MOVED, "features.features", "load", "builder", "iterable_dataset"]:
    found = datasets
    for name in path.split("."):
        found = getattr(found, name)
    assert isinstance(found, type(datasets)) or path == "utils.tqdm", path
datasets.utils.logging.set_verbosity_error()
assert datasets.logging.get_verbosity() == datasets.utils.logging.ERROR
assert isinstance(datasets.utils.tqdm, type)
"""

TOO_LATE = """
import sys, types
sys.modules["datasets"] = types.ModuleType("datasets")
from gristmill.errors import GristmillError
try:
    import gristmill.as_datasets
except GristmillError as error:
    assert "imported already" in str(error)
else:
    raise AssertionError
"""

SCRIPT = """
import subprocess, sys
import datasets
import helper
from datasets.utils.version import Version

def work(row):
    return {"b": datasets.Value("int8").dtype, "c": helper.NAME}

if __name__ == "__main__":
    sys.stdout.reconfigure(line_buffering=True)
    data = datasets.Dataset.from_dict({"a": [1, 2, 3]}).map(work, num_proc=2)
    print(data["b"][:], data["c"][0], sys.argv[1:])
    subprocess.run([sys.executable, "-c", "import datasets; print(datasets.__name__)"], check=True)
    sys.exit(7)
"""


def run(*command, **options):
    return subprocess.run(
        [sys.executable, *command], capture_output=True, text=True, timeout=100, check=False, **options
    )


@pytest.mark.parametrize(
    "program",
    [
        STAND_IN,
        WITHOUT_IMPORTS.replace("import datasets_as", "import gristmill.as_datasets, datasets"),
        WITHOUT_IMPORTS.replace("import datasets_as", "import gristmill as datasets"),
        TOO_LATE,
    ],
    ids=["as_datasets", "without imports", "under another name", "too late"],
)
def test_in_an_interpreter_of_its_own(program):
    done = run("-W", "error", "-c", textwrap.dedent(program))
    assert done.returncode == 0, done.stderr


def test_a_script_as_it_is_with_its_own_arguments_and_workers(tmp_path):
    (tmp_path / "script.py").write_text(SCRIPT)
    (tmp_path / "helper.py").write_text("import datasets\nNAME = datasets.__name__\n")
    done = run("-m", "gristmill", "run", str(tmp_path / "script.py"), "--seed", "3", "--json", "-h")
    assert done.stdout == "['int8', 'int8', 'int8'] gristmill ['--seed', '3', '--json', '-h']\ngristmill\n", (
        done.stderr
    )
    assert done.returncode == 7


def test_what_a_script_raises_is_shown_as_python_shows_it(tmp_path):
    (tmp_path / "broken.py").write_text("from datasets import Version\nVersion('x')\n")
    done = run("-m", "gristmill", "run", "-m", "broken", cwd=tmp_path)
    assert done.returncode == 1
    assert "broken.py" in done.stderr
    assert "InvalidArgumentError" in done.stderr
    assert run("-m", "gristmill", "run", "nothing.py").returncode == 2


@pytest.mark.parametrize("path", sorted(legacy.GATHERED))
def test_every_name_of_the_table_is_there(path):
    module = importlib.import_module(f"gristmill.{path}")
    assert set(module.__all__) <= set(dir(module))
    for name in module.__all__:
        assert getattr(module, name) is not None
    with pytest.raises(AttributeError, match="nothing"):
        _ = module.nothing


@pytest.mark.parametrize("path", sorted({*legacy.GATHERED, *legacy.MOVED}))
def test_no_path_of_the_table_hides_a_module_that_is_there(path):
    there = Path(gristmill.__file__).parent / path.replace(".", "/")
    assert not there.with_suffix(".py").exists()
    assert not (there / "__init__.py").exists()


@pytest.mark.parametrize(("path", "today"), sorted(legacy.MOVED.items()))
def test_what_moved_is_the_same_module(path, today):
    assert importlib.import_module(f"gristmill.{path}") is importlib.import_module(f"gristmill.{today}")


def test_a_name_that_is_a_module_too_stays():
    module = importlib.import_module("gristmill.utils.tqdm")
    package = importlib.import_module("gristmill.utils")
    assert isinstance(package.tqdm, type)
    assert module.tqdm is package.tqdm


def test_what_is_nowhere_is_nowhere():
    assert not hasattr(gristmill, "nothing")
    with pytest.raises(ModuleNotFoundError):
        importlib.import_module("gristmill.utils.nothing")
