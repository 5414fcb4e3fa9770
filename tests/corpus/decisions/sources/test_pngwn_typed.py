import json
import shutil
from collections import Counter
from typing import Any

import numpy as np
import pytest

from gristmill.corpus.decisions.prompts import GENERIC
from gristmill.corpus.decisions.record import Option, Record, check_record
from gristmill.corpus.decisions.sources import pngwn_typed
from gristmill.corpus.decisions.sources.pngwn_typed import SOURCE, prompt_records
from gristmill.errors import FileFormatError, RecordError
from tests.corpus.demo_reader import DEMO, DemoReader


@pytest.fixture(scope="module")
def outcomes():
    return list(SOURCE.load(DemoReader(SOURCE)))


def metas() -> list[Any]:
    reader = DemoReader(SOURCE)
    return [
        meta
        for split in SOURCE.splits
        for meta in reader.file_rows(f"{split}_meta.jsonl", "options", "fmt", "kind")
    ]


def test_every_question_of_every_prompt_becomes_a_record(outcomes):
    assert len(outcomes) == len([options for meta in metas() for options in meta["options"]])
    for outcome in outcomes:
        assert isinstance(outcome, Record)
        check_record(outcome)


def test_types_follow_the_options(outcomes):
    expected: Counter[str] = Counter()
    for meta in metas():
        for options in meta["options"]:
            expected[
                "noul" if options == ["yes", "no"] else "score" if options == list("12345") else "choice"
            ] += 1
    assert Counter(record.type for record in outcomes) == expected
    assert set(expected) == {"noul", "score", "choice"}


def test_known_prompts(outcomes):
    water = outcomes[0]
    assert water.state == "A school science test."
    assert water.instructions.startswith("Which of the water samples described below")
    assert water.options[2] == Option("C", "1 liter of water at a temperature of 75°C")
    assert water.target == (0.0, 0.0, 1.0, 0.0)
    dogs = outcomes[1]
    assert dogs.instructions == GENERIC
    assert dogs.state.startswith("A school science test.\n\nAfter observing several dogs running, students")


def test_long_questions_are_in_the_state_and_only_those(outcomes):
    assert all(len(record.instructions) <= 160 for record in outcomes)
    moved = [record for record in outcomes if record.instructions == GENERIC]
    assert moved
    assert all(len(record.state.rsplit("\n\n", 1)[1]) > 160 for record in moved)


META = {
    "kind": "synthetic",
    "options": [["1", "2", "3"], ["yes", "no"], ["low", "high"]],
    "gold": [1, 0, 1],
    "gold_probs": [[0.2, 0.5, 0.3], [0.941, 0.059], None],
}
MULTI = (
    "### State:\nTicket 1.\n\n### Questions:\n1) How bad? [A) 1, B) 2, C) 3]\n2) Escalate? [A) yes, B) no]\n"
    "3) How high? [A) low, B) high]\n\n### Answer:"
)


def test_soft_targets_before_gold_ones():
    records = list(prompt_records(MULTI, META))
    assert [r.target for r in records if isinstance(r, Record)] == [
        (0.2, 0.5, 0.3),
        (0.059, 0.941),
        (0.0, 1.0),
    ]
    assert len({r.group for r in records if isinstance(r, Record)}) == 1


@pytest.mark.parametrize(
    ("kinds", "text", "changes"),
    [
        (["malformed_prompt"] * 3, MULTI[30:], {}),
        (["malformed_prompt"] * 3, MULTI.replace("low", "lower"), {}),
        (["unlabelled"], MULTI, {"gold": [1, 0]}),
        (["malformed_label"], MULTI, {"gold": [1, 0, 2]}),
        (["malformed_label"], MULTI, {"gold": [1, 0, "B"]}),
        (["target_length"], MULTI, {"gold_probs": [[0.2, 0.8], None, None]}),
        (["malformed_label"], MULTI, {"gold_probs": [[0.2, 0.5, None], None, None]}),
        (["target_sum"], MULTI, {"gold_probs": [None, [0.3, 0.3], None]}),
    ],
)
def test_prompts_and_answers_that_do_not_fit(kinds, text, changes):
    found = [o.kind for o in prompt_records(text, {**META, **changes}) if isinstance(o, RecordError)]
    assert found == kinds


def test_a_heading_is_no_group():
    """Hundreds of science questions share a state that says nothing; a ticket or a passage is what must stay together."""
    text = "### State:\nA test.\n\n### Question:\n{}?\n\n### Options:\nA) x\nB) y\n\n### Answer:"
    meta = {"options": [["x", "y"]], "gold": [0], "gold_probs": [None]}

    def group(question: str, kind: str) -> str:
        [record] = prompt_records(text.format(question), {**meta, "kind": kind})
        assert isinstance(record, Record)
        return record.group

    assert group("One", "choice") != group("Two", "choice")
    assert group("One", "noul") == group("Two", "noul")


@pytest.mark.parametrize("extra", [-1, 1])
def test_prompts_and_rows_must_be_as_many(tmp_path, extra):
    repo = tmp_path / "datasets" / SOURCE.repo
    shutil.copytree(DEMO / "datasets" / SOURCE.repo, repo)
    (tmp_path / "models").symlink_to(DEMO / "models")
    lines = (repo / "train_meta.jsonl").read_text().splitlines()
    lines = lines[:extra] if extra < 0 else [*lines, lines[0]]
    (repo / "train_meta.jsonl").write_text("\n".join(lines) + "\n")
    with pytest.raises(FileFormatError, match=r"train\.npz: it has \d+ prompts"):
        list(SOURCE.load(DemoReader(SOURCE, hub=tmp_path)))


def test_a_file_that_is_no_tokenizer_is_said(tmp_path):
    path = tmp_path / "models" / pngwn_typed.TOKENIZER / "tokenizer.json"
    path.parent.mkdir(parents=True)
    path.write_text(json.dumps({"not": "a tokenizer"}))
    with pytest.raises(FileFormatError, match=r"tokenizer\.json: it is not a tokenizer"):
        next(iter(SOURCE.load(DemoReader(SOURCE, hub=tmp_path))))


def test_padding_is_where_the_format_says():
    ids = np.load(DemoReader(SOURCE).file("cal.npz"), allow_pickle=False)["prompts"]
    assert (ids[:, 0] == pngwn_typed.PADDING).mean() > 0.9
