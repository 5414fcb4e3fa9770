"""The three sources that have the System One shape, on the rows that ship in the demo Hub."""

import json
from collections import Counter

import pytest

from gristmill.corpus.decisions.finalize import Limits, finalize
from gristmill.corpus.decisions.question import Outcome
from gristmill.corpus.decisions.record import Option, Record
from gristmill.corpus.decisions.sources import assistant_decisions, typed_decisions_bench, typed_synth
from gristmill.errors import RecordError
from tests.corpus.demo_reader import DemoReader


@pytest.fixture(scope="module")
def planted():
    path = DemoReader(typed_synth.SOURCE).file("gristmill_planted.jsonl")
    ids = {row["state_id"] for row in DemoReader(typed_synth.SOURCE).rows("state_id")}
    lines = [json.loads(line) for line in path.read_text().splitlines()]
    return [line for line in lines if line["state_id"] in ids]


def synth_by_question() -> dict[tuple[str, str], Outcome]:
    """(state id, question) -> outcome, walking rows and outcomes together."""
    reader = DemoReader(typed_synth.SOURCE)
    names = [
        (row["state_id"], name)
        for row in reader.rows("state_id", "questions")
        for name in json.loads(row["questions"])
    ]
    outcomes = list(typed_synth.load(reader))
    assert len(names) == len(outcomes)
    return dict(zip(names, outcomes, strict=True))


KIND_OF = {
    "invalid_one_option": "few_options",
    "invalid_sum_0.6": "target_sum",
    "invalid_noul_1.4": "malformed_noul",
    "invalid_empty_instructions": "empty_instructions",
}


def test_every_planted_defect_is_rejected_for_its_reason_and_nothing_else_is(planted):
    outcomes = synth_by_question()
    expected = {(p["state_id"], p["question"]): KIND_OF[p["kind"]] for p in planted if p["kind"] in KIND_OF}
    found = {key: outcome.kind for key, outcome in outcomes.items() if isinstance(outcome, RecordError)}
    assert found == expected
    assert set(found.values()) == set(KIND_OF.values())


def test_where_the_teacher_said_nothing_the_gold_label_is_used(planted):
    outcomes = synth_by_question()
    golds = {
        row["state_id"]: json.loads(row["gold"])
        for row in DemoReader(typed_synth.SOURCE).rows("state_id", "gold")
    }
    missing = [(p["state_id"], p["question"]) for p in planted if p["kind"] == "teacher_missing_gold_used"]
    assert missing
    for state_id, question in missing:
        record = outcomes[state_id, question]
        assert isinstance(record, Record)
        assert sorted(record.target) == [0.0] * (len(record.options) - 1) + [1.0]
        assert record.options[record.answer].key == golds[state_id][question]


def test_planted_repeats_are_dropped_and_their_originals_kept(planted):
    outcomes = synth_by_question()
    written, tally = finalize(outcomes.values(), Limits())
    groups = Counter(record.group for record in written)
    repeats = [p for p in planted if p["kind"].startswith("exact_duplicate_of")]
    assert len(repeats) == 36
    for repeat in repeats:
        assert repeat["state_id"] not in groups
        assert repeat["kind"].split()[1] in groups
    assert tally.duplicate >= len(repeats)


def test_the_first_synthetic_state():
    action, window, anger, *_ = typed_synth.load(DemoReader(typed_synth.SOURCE))
    assert isinstance(action, Record)
    assert isinstance(window, Record)
    assert isinstance(anger, Record)
    assert action.instructions == "What should the shop do next?"
    assert action.options[1:] == (
        Option("ask_photo", "Ask for a photo of the damage first."),
        Option("reject", "Explain that the return window is over."),
        Option("escalate", None),
    )
    assert action.target == (0.02, 0.9, 0.06, 0.02)
    assert action.state.startswith("Message from a customer, 50 days after delivery:")
    assert window.target == (0.04, 0.96)
    assert window.options[0] == Option("false", "More than 60 days since delivery.")
    assert anger.type == "score"
    assert anger.target == (0.69, 0.09, 0.22)
    assert {r.group for r in (action, window, anger)} == {"standin-train-00000"}


def test_a_json_state_is_kept_as_written():
    records = [r for r in typed_synth.load(DemoReader(typed_synth.SOURCE)) if isinstance(r, Record)]
    [severity, *_] = [r for r in records if r.group == "standin-train-00001"]
    assert severity.state == (
        '{"service": "search", "environment": "production", "cpu_percent": 55, "errors_last_minute": 0, "on_call": null}'
    )


def test_the_real_rows_of_the_assistant_set():
    records = [
        r for r in assistant_decisions.load(DemoReader(assistant_decisions.SOURCE)) if isinstance(r, Record)
    ]
    real = [r for r in records if not r.group.startswith("standin-")]
    assert len(real) == 27
    assert len({r.group for r in real}) == 12
    outcome, corrected = (r for r in real if r.group == "00377ca16556ce7c")
    assert [o.key for o in outcome.options] == ["succeeded", "partial", "failed", "abandoned"]
    assert outcome.target == (0.4, 0.5, 0.02, 0.08)
    assert corrected.target == (0.9, 0.1)
    assert corrected.state == outcome.state
    assert json.loads(outcome.state)["tools_called"][1] == "git_rebase"


def test_the_benchmark_is_its_test_split_alone():
    outcomes = list(typed_decisions_bench.load(DemoReader(typed_decisions_bench.SOURCE)))
    records = [r for r in outcomes if isinstance(r, Record)]
    assert len(records) == len(outcomes)
    assert not any(r.group.startswith("tr_") for r in records)
    assert set(Counter(r.group for r in records).values()) == {5}
    action, review = records[:2]
    assert action.target == (0.05, 0.303333, 0.306667, 0.34)
    assert review.options == (
        Option("false", "No human attention is warranted."),
        Option("true", "A human should inspect this run."),
    )
    assert review.target == (0.593333, 0.406667)
    written, _ = finalize(outcomes, Limits(), test_only=typed_decisions_bench.SOURCE.test_only)
    assert {r.split for r in written} == {"test"}
