"""The whole job against a real server on a real socket."""

import json
import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from gristmill.corpus.decisions import SOURCES, Limits, check_record, fetch_decisions, iter_records
from gristmill.corpus.decisions.own_source import parse_source
from gristmill.errors import FileFormatError, InvalidArgumentError
from gristmill.hub.server import serve_in_thread
from tests.processes import Forks

SMALL = ("typed_synth", "boolq", "typed_decisions_bench")


def bytes_of(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir()}


def test_nine_sources_from_the_demo_hub(demo_client, tmp_path):
    result = fetch_decisions(tmp_path / "out", client=demo_client)
    assert not result.failed
    assert not result.skipped
    assert [s.source for s in result.sources] == [
        "typed_synth", "assistant_decisions", "pngwn_typed", "boolq", "mnli", "arc", "commonsense_qa", "banking77",
        "typed_decisions_bench",
    ]  # fmt: skip
    names = {f"{source.name}.jsonl" for source in SOURCES}
    assert {p.name for p in result.out.iterdir()} == names | {"sources.json", "DATA_LICENSES.md"}
    sides: dict[tuple[str, str], set[str]] = {}
    for source in result.sources:
        assert source.commit
        assert source.licence.declared
        records = list(iter_records(result.out / f"{source.source}.jsonl"))
        counts = source.tally
        assert counts.raw == counts.invalid + counts.duplicate + counts.capped + counts.written
        assert len(records) == counts.written
        for record in records:
            check_record(record)
            assert record.source == source.source
            sides.setdefault((record.source, record.group), set()).add(record.split)
    assert all(len(splits) == 1 for splits in sides.values())
    by_name = {s.source: s.tally for s in result.sources}
    assert by_name["typed_synth"].invalid_kinds == {
        "few_options": 6, "target_sum": 5, "malformed_noul": 4, "empty_instructions": 5,
    }  # fmt: skip
    assert by_name["typed_synth"].duplicate >= 36
    assert set(by_name["commonsense_qa"].invalid_kinds) == {"unlabelled"}
    assert (
        by_name["typed_decisions_bench"].splits["train"]
        == by_name["typed_decisions_bench"].splits["val"]
        == 0
    )
    assert by_name["typed_decisions_bench"].splits["test"] > 0
    assert min(by_name[name].splits["val"] for name in by_name if name != "typed_decisions_bench") > 0


def test_the_manifest_and_the_licences_say_where_everything_is_from(demo_client, tmp_path):
    result = fetch_decisions(tmp_path / "out", only=["boolq", "banking77", "mnli"], client=demo_client)
    entries = {e["source"]: e for e in json.loads((result.out / "sources.json").read_text())["sources"]}
    assert list(entries) == ["boolq", "mnli", "banking77"]
    assert all(len(entry["commit"]) == 40 for entry in entries.values())
    assert entries["boolq"]["settings"]["seed"] == 1234
    [train, _] = sorted(entries["banking77"]["outside"], reverse=True)
    assert train == "github.com/PolyAI-LDN/task-specific-datasets/master/banking_data/train.csv"
    assert len(entries["banking77"]["outside"][train]) == 64
    text = (result.out / "DATA_LICENSES.md").read_text()
    assert "| cc-by-sa-3.0 (share-alike) |" in text
    assert "| other: per-task (see the card) |" in text
    assert f"| banking77 | {train} | `{entries['banking77']['outside'][train]}` |" in text


def test_the_same_run_gives_the_same_bytes(demo_client, tmp_path):
    limits = Limits(cap=60, seed=7)
    only = ["typed_synth", "pngwn_typed", "banking77"]
    first = bytes_of(fetch_decisions(tmp_path / "a", only=only, limits=limits, client=demo_client).out)
    second = bytes_of(fetch_decisions(tmp_path / "b", only=only[::-1], limits=limits, client=demo_client).out)
    assert first == second
    other = bytes_of(
        fetch_decisions(tmp_path / "c", only=only, limits=Limits(cap=60, seed=8), client=demo_client).out
    )
    assert other["banking77.jsonl"] != first["banking77.jsonl"]


def test_running_some_sources_leaves_the_others_alone(demo_client, tmp_path):
    out = tmp_path / "out"
    fetch_decisions(out, only=["boolq", "typed_synth"], client=demo_client)
    before = bytes_of(out)
    fetch_decisions(out, only=["typed_synth"], client=demo_client)
    assert bytes_of(out) == before


def test_gated_and_undeclared_sources_are_left_out_and_listed(small_hub, connect, tmp_path):
    out = tmp_path / "out"
    boolq = small_hub / "datasets/google/boolq/README.md"
    boolq.write_text(boolq.read_text().replace("license: cc-by-sa-3.0\n", ""))
    bench = small_hub / "datasets/LocalLLaMA/typed-decisions/README.md"
    bench.write_text(bench.read_text().replace("---\n", "---\ngated: manual\n", 1))
    out.mkdir()
    (out / "boolq.jsonl").write_text("of an earlier run\n")
    with serve_in_thread(small_hub) as endpoint:
        client = connect(endpoint)
        result = fetch_decisions(out, only=SMALL, client=client)
        assert {s.source: s.status for s in result.sources} == {
            "typed_synth": "written",
            "boolq": "skipped",
            "typed_decisions_bench": "skipped",
        }
        licences = (out / "DATA_LICENSES.md").read_text()
        assert "| boolq | google/boolq | none declared | declares no licence" in licences
        assert "| typed_decisions_bench | LocalLLaMA/typed-decisions | cc0-1.0 | gated" in licences
        assert {p.name for p in out.iterdir()} == {"typed_synth.jsonl", "sources.json", "DATA_LICENSES.md"}
        allowed = fetch_decisions(out, only=SMALL, client=client, allow_unlicensed=True)
        assert [s.source for s in allowed.skipped] == ["typed_decisions_bench"]
        assert not allowed.failed


def test_a_source_that_fails_does_not_stop_the_others(small_hub, connect, tmp_path):
    train = small_hub / "datasets/n4ze3m/typed-decisions-synth/train.jsonl"
    train.write_text(train.read_text()[:5000] + "\n")
    with serve_in_thread(small_hub) as endpoint:
        result = fetch_decisions(tmp_path / "out", only=[*SMALL, "mnli"], client=connect(endpoint))
    assert {s.source: s.status for s in result.sources} == {
        "typed_synth": "failed",
        "boolq": "written",
        "mnli": "failed",
        "typed_decisions_bench": "written",
    }
    damaged, missing = result.failed
    assert "n4ze3m/typed-decisions-synth/train.jsonl" in damaged.reason
    assert "nyu-mll/glue" in missing.reason
    assert result.table()[0] == ("typed_synth", *[None] * 7)


def test_a_failing_source_keeps_what_an_earlier_run_wrote(small_hub, connect, tmp_path):
    out = tmp_path / "out"
    with serve_in_thread(small_hub) as endpoint:
        fetch_decisions(out, only=SMALL, client=connect(endpoint))
        before = bytes_of(out)
        card = small_hub / "datasets/google/boolq/README.md"
        card.write_text("---\nlicense: }\n---\n")
        result = fetch_decisions(out, only=SMALL, client=connect(endpoint))
    assert [s.source for s in result.failed] == ["boolq"]
    assert bytes_of(out) == before


def test_a_new_commit_is_seen_and_an_old_one_can_be_asked_for(small_hub, connect, tmp_path):
    train = small_hub / "datasets/n4ze3m/typed-decisions-synth/train.jsonl"
    with serve_in_thread(small_hub) as endpoint:
        client = connect(endpoint)
        first = fetch_decisions(tmp_path / "a", only=["typed_synth"], client=client).sources[0]
        train.write_text("".join(train.read_text().splitlines(keepends=True)[:50]))
        second = fetch_decisions(tmp_path / "b", only=["typed_synth"], client=client).sources[0]
        pinned = fetch_decisions(
            tmp_path / "c", only=["typed_synth"], revisions={"typed_synth": first.commit}, client=client
        ).sources[0]
    assert first.commit == pinned.commit != second.commit
    assert first.tally == pinned.tally
    assert second.tally.raw < first.tally.raw


def test_a_source_of_ones_own_goes_the_same_way(demo_client, tmp_path):
    source = parse_source(
        """
name: my_boolq
repo: google/boolq
split: [validation]
fields: {q: question, p: passage, a: answer}
template: {type: noul, instructions: "{q}?", state: "{p}", label: "{a}", group: "{p}"}
"""
    )
    result = fetch_decisions(tmp_path / "out", own=[source], client=demo_client)
    assert [s.source for s in result.sources] == ["my_boolq"]
    records = list(iter_records(tmp_path / "out" / "my_boolq.jsonl"))
    assert records[0].instructions == "does ethanol take more energy make that produces?"
    assert records[0].target == (1.0, 0.0)
    both = fetch_decisions(tmp_path / "out2", own=[source], only=["boolq"], client=demo_client)
    assert [s.source for s in both.sources] == ["boolq", "my_boolq"]


@pytest.mark.parametrize(
    ("field", "problem"),
    [
        ("repo: google/boolq\nsplit: [tset]", 'no split "tset"'),
        ("repo: google/boolq\nconfig: en", 'no config "en"'),
        ("repo: google/bolq", "google/bolq"),
    ],
)
def test_what_ones_own_source_gets_wrong_is_named(demo_client, tmp_path, field, problem):
    source = parse_source(
        f"name: mine\n{field}\nfields: {{q: question}}\n"
        'template: {type: noul, instructions: "{q}", state: "{q}", label: "{q}"}'
    )
    [failed] = fetch_decisions(tmp_path / "out", own=[source], client=demo_client).failed
    assert problem in failed.reason


def test_a_column_that_is_not_there_is_named(demo_client, tmp_path):
    source = parse_source(
        "name: mine\nrepo: google/boolq\nfields: {q: title}\n"
        'template: {type: noul, instructions: "{q}", state: "{q}", label: "{q}"}'
    )
    [failed] = fetch_decisions(tmp_path / "out", own=[source], client=demo_client).failed
    assert 'no column "title"' in failed.reason
    assert "google/boolq/data/train-" in failed.reason


def test_names_that_are_not_known_are_refused_with_a_suggestion(tmp_path, demo_client):
    with pytest.raises(InvalidArgumentError, match="one or more of typed_synth, assistant_decisions"):
        fetch_decisions(tmp_path, only=[], client=demo_client)
    with pytest.raises(InvalidArgumentError, match=r'only="bolq" is not known\. Did you mean "boolq"'):
        fetch_decisions(tmp_path, only=["bolq"], client=demo_client)
    with pytest.raises(InvalidArgumentError, match="revision"):
        fetch_decisions(tmp_path, only=["boolq"], revisions={"mnli": "main"}, client=demo_client)
    twin = parse_source(
        'name: boolq\nrepo: o/r\nfields: {q: q}\ntemplate: {type: noul, instructions: a, state: "{q}", label: "{q}"}'
    )
    with pytest.raises(InvalidArgumentError, match='Two sources are called "boolq"'):
        fetch_decisions(tmp_path, own=[twin], client=demo_client)


def test_a_damaged_manifest_stops_nothing_from_being_understood(demo_client, tmp_path):
    (tmp_path / "sources.json").write_text("{")
    with pytest.raises(FileFormatError, match=r"sources\.json"):
        fetch_decisions(tmp_path, only=["boolq"], client=demo_client)


def words(out: Path) -> list[str]:
    return ["fetch-decisions", "--only", ",".join(SMALL), "--cap", "100", "--out", str(out), "--quiet"]


def command(endpoint: str, home: Path, out: Path) -> subprocess.CompletedProcess[bytes]:
    environment = {**os.environ, "HF_ENDPOINT": endpoint, "HF_HOME": str(home), "PYTHONHASHSEED": "random"}
    code = "import sys; from gristmill.cli.main import main; sys.exit(main(sys.argv[1:]))"
    return subprocess.run(
        [sys.executable, "-c", code, *words(out)], env=environment, stderr=subprocess.PIPE, check=False
    )


# The same command in a fork of a process that has imported what it needs: a kill meets the work, never the imports.
FORKED = """
from pathlib import Path
from gristmill import config
from gristmill.cli.main import main
import gristmill.cli.commands, gristmill.corpus.decisions, gristmill.formats.json, gristmill.formats.parquet
import gristmill.hub.client, httpx, huggingface_hub.utils, pyarrow.json, rich.progress, yaml
def run(endpoint, home, *words):
    with config.override(
        HF_ENDPOINT=endpoint, HF_HUB_CACHE=Path(home, "hub"), HF_DATASETS_CACHE=Path(home, "datasets"),
        DOWNLOADED_DATASETS_PATH=Path(home, "downloads"),
    ):
        assert main(list(words)) == 0
"""


@pytest.mark.slow
def test_killed_at_random_moments_and_run_again_it_ends_the_same(small_hub, tmp_path):
    with serve_in_thread(small_hub) as endpoint, Forks(FORKED) as forks:
        assert command(endpoint, tmp_path / "home", tmp_path / "whole").stderr == b""
        expected = bytes_of(tmp_path / "whole")
        assert set(expected) == {f"{name}.jsonl" for name in SMALL} | {"sources.json", "DATA_LICENSES.md"}
        started = time.monotonic()
        forks.start(endpoint, tmp_path / "again", *words(tmp_path / "forked"))
        assert forks.end() == 0
        duration = time.monotonic() - started
        assert bytes_of(tmp_path / "forked") == expected
        draw = random.Random(20)
        killed = attempt = 0
        while killed < 20:
            # Every third time with an empty cache, so that downloads are hit as well.
            pid = forks.start(endpoint, tmp_path / f"home{attempt // 3}", *words(tmp_path / "out"))
            time.sleep(draw.uniform(0, 1.05) * duration)
            if forks.kill(pid) == -signal.SIGKILL:
                killed += 1
            else:
                duration *= 0.9  # it was over already: the machine has become faster, or the cache is warm
            attempt += 1
            for path in (tmp_path / "out").glob("[!.]*"):
                assert path.read_bytes() == expected[path.name], f"half a file under its real name: {path}"
        assert command(endpoint, tmp_path / "home0", tmp_path / "out").stderr == b""
        assert bytes_of(tmp_path / "out") == expected
