"""Measures Gristmill against `datasets` and against the limit (the same job on raw pyarrow and numpy).

    python benchmarks/compare.py --reference /path/to/python/with/datasets
    python benchmarks/compare.py --reference ... --only 'iter_*' --rounds 5 --json out.json
    python benchmarks/publish.py out.json

Every measurement is a fresh process; the sides take turns; figures are medians over the rounds, ratios the medians of
the ratios taken round by round. Results are compared: `same` says whether all sides gave equal values.
"""

from __future__ import annotations

import argparse
import fnmatch
import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path

from case import load_workloads
from data import make_data
from figures import HEADER, Answer, summary, table_line

HERE = Path(__file__).parent


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--reference", metavar="PYTHON", help="interpreter of an environment with `datasets`")
    parser.add_argument(
        "--only", nargs="+", default=["*"], metavar="PATTERN", help="names of workloads, * allowed"
    )
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--scale", type=float, default=1.0, help="factor of all row numbers")
    parser.add_argument("--no-limit", action="store_true", help="leave the limit out")
    parser.add_argument("--data", type=Path, default=Path(tempfile.gettempdir()) / "gristmill-benchmarks")
    parser.add_argument("--json", type=Path, help="write all measurements here")
    args = parser.parse_args()
    pythons = {"gristmill": sys.executable}
    if args.reference:
        pythons["datasets"] = args.reference
    if not args.no_limit:
        pythons["limit"] = sys.executable
    names = [n for n in load_workloads() if n != "prepare" and any(fnmatch.fnmatch(n, p) for p in args.only)]
    data = make_data(args.data, args.scale)
    results: dict[str, dict[str, list[Answer]]] = {}
    print(HEADER, flush=True)
    with tempfile.TemporaryDirectory(prefix="gristmill-bench-") as folder:
        runner = Runner(pythons, data, Path(folder), args.scale)
        runner.warm()
        for name in names:
            results[name] = runner.run(name, args.rounds)
            print(table_line(name, results[name]), flush=True)
    print(*summary(results), sep="\n")
    if args.json:
        args.json.write_text(json.dumps(results, indent=1))
    return 0


class Runner:
    """Starts measurements, each in a fresh process with a copy of a cache in which the data is prepared already."""

    def __init__(self, pythons: Mapping[str, str], data: Path, folder: Path, scale: float) -> None:
        self.pythons = pythons
        self.data = data
        self.folder = folder
        self.scale = scale

    def warm(self) -> None:
        """Lets each library prepare the data in its own way, once."""
        for side in self.pythons:
            if side != "limit":
                self._start("prepare", side, self.folder / f"warm-{side}")

    def run(self, name: str, rounds: int) -> dict[str, list[Answer]]:
        """Measures one workload; the sides take turns, and begin in turn."""
        answers: dict[str, list[Answer]] = {side: [] for side in self.pythons}
        sides = list(self.pythons)
        for number in range(rounds):
            for side in sides[number % len(sides) :] + sides[: number % len(sides)]:
                if answers[side] and "seconds" not in answers[side][-1]:
                    continue  # what is missing stays missing
                place = self.folder / "run"
                warm = self.folder / f"warm-{side}" / "cache"
                if warm.exists():
                    # Hard links: the files are never written to, and a copy would push them out of memory.
                    shutil.copytree(warm, place / "cache", copy_function=os.link)
                answers[side].append(self._start(name, side, place))
                shutil.rmtree(place, ignore_errors=True)
        return answers

    def _start(self, name: str, side: str, place: Path) -> Answer:
        (place / "out").mkdir(parents=True, exist_ok=True)
        cache = str(place / "cache")
        environment = {
            **{name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"},
            "HF_HOME": cache, "HF_DATASETS_CACHE": f"{cache}/datasets",
            "HF_HUB_OFFLINE": "1", "HF_DATASETS_DISABLE_PROGRESS_BARS": "1", "HF_DATASETS_OFFLINE": "1",
            "PYTHONHASHSEED": "0", "GRISTMILL_PYTHON": self.pythons.get("gristmill", sys.executable),
        }  # fmt: skip
        command = [
            self.pythons[side], str(HERE / "measure.py"), name, side,
            "--data", str(self.data), "--folder", str(place / "out"), "--scale", str(self.scale),
        ]  # fmt: skip
        done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
        lines = [line for line in done.stdout.splitlines() if line.startswith("{")]
        if done.returncode or not lines:
            return {"failed": (done.stderr.strip().splitlines() or ["no answer"])[-1][:300]}
        answer: Answer = json.loads(lines[-1])
        return answer


if __name__ == "__main__":
    sys.exit(main())
