"""Rows that a function was given keep their values wherever it puts them."""

import copy
import pickle

from gristmill.dataset import Dataset

ROWS = 3000


def numbered():
    return Dataset.from_dict({"n": list(range(ROWS)), "texts": [[f"t{n}"] for n in range(ROWS)]})


def test_copies_of_rows_outlive_their_block():
    copies = []

    def keep(row):
        copies.append((copy.copy(row), copy.deepcopy(row), pickle.dumps(row)))
        copies[-1][0]["more"] = 1

    numbered().map(keep)
    assert [shallow for shallow, _, _ in copies] == [
        {"n": n, "texts": [f"t{n}"], "more": 1} for n in range(ROWS)
    ]
    assert [deep for _, deep, _ in copies] == [{"n": n, "texts": [f"t{n}"]} for n in range(ROWS)]
    assert pickle.loads(copies[-1][2]) == {"n": ROWS - 1, "texts": [f"t{ROWS - 1}"]}
    # Not the rows around it.
    assert max(len(pickled) for _, _, pickled in copies) < 100


def test_batches_are_copied_as_dicts():
    batches = []
    numbered().map(lambda batch: batches.append(copy.copy(batch)), batched=True, batch_size=2000)
    assert [len(batch["n"]) for batch in batches] == [2000, 1000]
    assert all(type(batch) is dict for batch in batches)


def test_a_row_that_was_kept_stands_for_its_own_values():
    last = []

    def before(row):
        last.append(row)
        return last.pop(0) if len(last) > 1 else row

    made = numbered().map(before)
    assert made["n"][:] == [0, *range(ROWS - 1)]
    assert made["texts"][:] == [["t0"], *([f"t{n}"] for n in range(ROWS - 1))]


def test_kept_rows_beside_dicts_and_rows_of_others():
    first = []

    def mixed(row):
        first.append(row)
        return (row, first[0], {"n": -1})[row["n"] % 3]

    made = numbered().map(mixed)
    assert made["n"][:] == [(n, 0, -1)[n % 3] for n in range(ROWS)]
    assert made["texts"][:] == [[f"t{0 if n % 3 == 1 else n}"] for n in range(ROWS)]


def test_a_batch_that_was_kept_stands_for_its_own_values():
    last = []

    def before(batch):
        last.append(batch)
        batch = last[-2] if len(last) > 1 else batch
        _ = batch["n"]
        return batch

    made = numbered().map(before, batched=True, batch_size=1000)
    assert made["n"][:] == [*range(1000), *range(2000)]
    assert made["texts"][:] == [[f"t{n}"] for n in (*range(1000), *range(2000))]
