"""Thousands of damaged files, each looked at with all tools: no crash, no hang, no gigabyte; our errors, or the rows."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.parquet.mutate import LARGEST, SECONDS
from tests.parquet.test_agreement import KEPT, REAL

ROOT = Path(__file__).parent.parent.parent
COUNT = int(os.environ.get("GRISTMILL_MUTATED_FILES", "150"))
"""20,000 take half an hour or so."""


@pytest.mark.slow
@pytest.mark.timeout(max(180, COUNT))
def test_damaged_files():
    folder = REAL / "good" if COUNT > 1000 and REAL.exists() else KEPT
    done = subprocess.run(
        [sys.executable, "-m", "tests.parquet.mutate", str(COUNT), "7", str(folder)],
        capture_output=True, text=True, check=False, cwd=ROOT,
        env={**os.environ, "PYTHONPATH": os.pathsep.join([str(ROOT / "src"), str(ROOT)])},
    )  # fmt: skip
    assert done.returncode == 0, done.stderr[-3000:]
    report = json.loads(done.stdout)
    assert report["failures"] == []
    assert sum(report["ends"].values()) == COUNT
    assert report["ends"]["refused"] > COUNT // 5
    assert report["ends"]["sound"] > COUNT // 50
    assert max(report["memory"], report["memory_children"]) < LARGEST
    assert report["slowest"] < SECONDS
