"""The same builders on Gristmill and, where asked for, on `datasets`: equal rows, and each reads the other's cache."""

import json
import os
import subprocess
import sys

import pytest

REFERENCE = os.environ.get("GRISTMILL_REFERENCE_PYTHON")

SCRIPT = """
import datetime, json, os, sys
import numpy as np
import pyarrow as pa
import datasets

datasets.disable_progress_bars()
cache, folder, num_proc = sys.argv[1], sys.argv[2], json.loads(sys.argv[3])
F, V = datasets.Features, datasets.Value


class Examples(datasets.GeneratorBasedBuilder):
    BUILDER_CONFIGS = [datasets.BuilderConfig("x", version=datasets.Version("1.0.0"))]

    def _info(self):
        return datasets.DatasetInfo(features=F({
            "id": V("string"), "n": V("int32"), "label": datasets.ClassLabel(names=["neg", "pos"]),
            "tags": datasets.Sequence(V("string")), "d": {"a": V("float32"), "b": datasets.List(V("int64"))},
            "arr": datasets.Array2D((2, 2), "int32"), "seq": datasets.Sequence({"x": V("int64"), "y": V("string")}),
            "tr": datasets.Translation(languages=["en", "de"]), "ts": V("timestamp[s]"), "bin": V("binary"),
        }))

    def _split_generators(self, dl_manager):
        files = dl_manager.download([os.path.join(folder, f"{number}.txt") for number in range(4)])
        return [
            datasets.SplitGenerator(datasets.Split.TRAIN, gen_kwargs={"files": files, "k": 2}),
            datasets.SplitGenerator(datasets.Split("dev_1"), gen_kwargs={"files": files[3:], "k": 1}),
        ]

    def _generate_examples(self, files, k):
        for path in files:
            with open(path) as file:
                for number, line in enumerate(file):
                    n = int(line)
                    yield f"{path}-{number}", {
                        "id": line.strip(), "n": n * k, "label": "pos" if n % 2 else 0, "tags": ["t"] * n,
                        "d": {"a": n / 3, "b": np.arange(n)}, "arr": np.full((2, 2), n),
                        "seq": {"x": [n], "y": ["z"]}, "tr": {"en": "a", "de": "b"},
                        "ts": datetime.datetime(2020, 1, 1 + n), "bin": bytes([n]), "beside": 1,
                    }


class Tables(datasets.ArrowBasedBuilder):
    def _info(self):
        return datasets.DatasetInfo()

    def _split_generators(self, dl_manager):
        return [datasets.SplitGenerator("train", gen_kwargs={"numbers": [1, 2, 3, 4, 5]})]

    def _generate_tables(self, numbers):
        for n in numbers:
            yield n, pa.table({"i": pa.array([n] * 3, pa.int16()), "s": [["x"], None, []]})


if __name__ == "__main__":
    said = {}
    for kind in (Examples, Tables):
        builder = kind(cache_dir=cache, hash="h", dataset_name=kind.__name__)
        builder.download_and_prepare(num_proc=num_proc)
        for name, data in builder.as_dataset().items():
            split = builder.info.splits[name]
            said[f"{kind.__name__} {name}"] = [
                str(data.features), data[:], split.num_examples, split.num_bytes, split.shard_lengths,
                os.path.relpath(data.cache_files[0]["filename"], cache),
            ]
    print(json.dumps(said, default=repr))
"""


def run(python, script, cache, folder, num_proc):
    command = [*python, str(script), str(cache), str(folder), json.dumps(num_proc)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=200, check=False)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


@pytest.mark.parametrize("num_proc", [None, 2])
def test_equal_rows_and_caches(tmp_path, num_proc):
    if not REFERENCE:
        pytest.skip("GRISTMILL_REFERENCE_PYTHON names no Python that has datasets 5")
    for number in range(4):
        (tmp_path / f"{number}.txt").write_text("".join(f"{n}\n" for n in range(number * 3)))
    script = tmp_path / "script.py"
    script.write_text(SCRIPT)
    ours, theirs = [sys.executable, "-m", "gristmill", "run"], [REFERENCE]
    made = run(ours, script, tmp_path / "ours", tmp_path, num_proc)
    assert made == run(theirs, script, tmp_path / "theirs", tmp_path, num_proc)
    # What one has prepared, the other opens.
    assert run(theirs, script, tmp_path / "ours", tmp_path, num_proc) == made
    assert run(ours, script, tmp_path / "theirs", tmp_path, num_proc) == made
