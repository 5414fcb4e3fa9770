"""Plays chains on `datasets`: pickled ones come in, what came out goes back.

Run by an interpreter that has `datasets`; see `test_chains`.
"""

import os
import pickle
import sys


def main() -> None:
    import datasets
    from play import play  # type: ignore[import-not-found,unused-ignore]  # beside this script

    answers = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # whatever prints, prints elsewhere
    datasets.disable_progress_bars()
    datasets.logging.set_verbosity_error()
    while True:
        try:
            start = pickle.load(sys.stdin.buffer)
        except EOFError:
            return
        pickle.dump(play(datasets, *start), answers)
        answers.flush()


if __name__ == "__main__":
    os.environ["HF_HUB_OFFLINE"] = "1"
    main()
