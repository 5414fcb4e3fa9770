import os
import subprocess
import sys
from pathlib import Path

import pyarrow as pa
import pytest

from gristmill.dataset import Dataset
from gristmill.errors import InvalidArgumentError
from gristmill.fingerprint import (
    combine,
    disable_caching,
    enable_caching,
    generate_random_fingerprint,
    get_temporary_cache_files_directory,
    is_caching_enabled,
    update_fingerprint,
    validate_fingerprint,
)
from gristmill.table.arrow_file import write_arrow


@pytest.mark.parametrize("bad", ["", "a/b", "..", ".hidden", "x" * 65, 'a"b', None, 3])
def test_fingerprints_that_could_be_no_file_name(bad):
    with pytest.raises(InvalidArgumentError):
        validate_fingerprint(bad)


def test_fingerprints_that_could():
    validate_fingerprint("my-result_1")
    validate_fingerprint(generate_random_fingerprint())


def test_steps_and_their_order_count():
    assert combine("a", "map", 1) != combine("a", "filter", 1)
    assert combine("a", "map", 1) != combine("b", "map", 1)
    assert update_fingerprint("a", "map", {"x": 1, "y": 2}) == update_fingerprint(
        "a", "map", {"y": 2, "x": 1}
    )


def test_there_is_one_temporary_folder():
    assert get_temporary_cache_files_directory() == get_temporary_cache_files_directory()


ENDS = {
    "normally": "",
    "by an error": "raise SystemExit(3)",
    "after a child": "pid = os.fork()\nif pid == 0: sys.exit()\nos.waitpid(pid, 0)\nassert os.path.isdir(folder)",
}


@pytest.mark.parametrize("end", ENDS.values(), ids=ENDS)
def test_the_temporary_folder_is_gone_when_its_process_ends(end):
    script = f"""
import os, sys
from gristmill.fingerprint import get_temporary_cache_files_directory
folder = get_temporary_cache_files_directory()
open(os.path.join(folder, "a"), "w").close()
print(folder, flush=True)
{end}
"""
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    run = subprocess.run(
        [sys.executable, "-c", script],
        env=environment,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert "AssertionError" not in run.stderr
    assert not Path(run.stdout.strip()).exists()
    assert "gristmill-" in run.stdout


def test_disabled_caching_computes_afresh_and_leaves_nothing_beside_the_data(tmp_path):
    write_arrow(tmp_path / "a.arrow", pa.table({"a": [1]}))
    ds = Dataset.from_file(str(tmp_path / "a.arrow"))
    seen = []

    def note(row):
        seen.append(row["a"])
        return {"b": 1}

    key = "one name for both runs"
    disable_caching()
    try:
        assert not is_caching_enabled()
        for _ in range(2):
            made = ds.map(note, new_fingerprint=key)
            assert made[0] == {"a": 1, "b": 1}
        assert len(seen) == 2
        assert [path.name for path in tmp_path.iterdir()] == ["a.arrow"]
    finally:
        enable_caching()
    assert is_caching_enabled()
    ds.map(note, new_fingerprint=key)
    ds.map(note, new_fingerprint=key)
    assert len(seen) == 3
