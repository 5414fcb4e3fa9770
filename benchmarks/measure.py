"""Runs one workload of one side in this fresh process and prints one JSON line. Started by `compare.py`."""

from __future__ import annotations

import argparse
import importlib
import importlib.util
import json
import sys
import warnings
from pathlib import Path

from case import Case, Workload, digest, load_workloads


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("workload")
    parser.add_argument("side")
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--folder", type=Path, required=True)
    parser.add_argument("--scale", type=float, default=1.0)
    args = parser.parse_args()
    warnings.simplefilter("ignore")
    workload = load_workloads()[args.workload]
    case = Case(args.side, args.data, args.folder, args.scale)
    answer = measure(workload, case)
    print(json.dumps(answer), file=sys.__stdout__)


def measure(workload: Workload, case: Case) -> dict[str, object]:
    """Runs a workload; what a library does not have yet is an answer, not a failure."""
    run = workload.limit if case.side == "limit" else workload.run
    if run is None:
        return {"missing": "no limit"}
    if workload.needs is not None and importlib.util.find_spec(workload.needs) is None:
        return {"missing": f"{workload.needs} is not installed"}
    if not workload.cold:
        for name in ("numpy", "pyarrow", "pyarrow.compute", "pyarrow.parquet", "pyarrow.csv", "pandas"):
            importlib.import_module(name)
        if case.side != "limit":
            _ = case.lib.Dataset, case.lib.load_dataset
    try:
        result = run(case)
    except (AttributeError, NotImplementedError) as error:
        return {"missing": f"{type(error).__name__}: {error}"}
    return {"seconds": case.seconds, "cpu": case.cpu, "peak": case.peak, "digest": digest(result)}


if __name__ == "__main__":
    main()
