"""The front door: options in any place, errors as one sentence, exit statuses."""

import io
import os
import subprocess
import sys

import click
import pytest

from gristmill import config
from gristmill.cli import main as cli
from gristmill.cli.app import Settings, app
from gristmill.cli.output import Output
from gristmill.errors import InvalidArgumentError


@pytest.fixture
def probe():
    """A command that reports its settings, and fails on request."""

    @app.command("probe")
    @click.option("--fail", is_flag=True)
    @click.pass_obj
    def command(settings: Settings, fail: bool) -> None:
        if fail:
            raise InvalidArgumentError.from_value("fail", fail, "nothing")
        settings.output.result({"seed": settings.seed, "hub": str(config.HF_HUB_CACHE)})

    yield
    del app.commands["probe"]


@pytest.mark.parametrize(
    "words", ["--seed 7 --cache /c probe", "probe --seed 7 --cache /c", "probe --seed=7 --cache=/c"]
)
def test_global_options_stand_anywhere(probe, words, capsys):
    assert cli.main(words.split()) == 0
    assert capsys.readouterr().out == "seed: 7\nhub: /c/hub\n"
    assert str(config.HF_HUB_CACHE) != "/c/hub"


def test_json(probe, capsys):
    assert cli.main(["probe", "--json"]) == 0
    assert '"seed": 1234' in capsys.readouterr().out


def test_quiet_prints_nothing(probe, capsys):
    assert cli.main(["probe", "-q"]) == 0
    assert capsys.readouterr().out == ""


def test_an_error_is_a_sentence_on_stderr(probe, capsys):
    assert cli.main(["probe", "--fail"]) == 1
    captured = capsys.readouterr()
    assert captured.err == "gristmill: fail=True can't be used: expected nothing.\n"
    assert captured.out == ""


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("HF_HUB_OFFLINE", "maybe"),
        ("HF_DATASETS_IN_MEMORY_MAX_SIZE", "much"),
        ("HF_HOME", "~no-such-user/x"),
        ("DATASETS_VERBOSITY", "loud"),
    ],
)
def test_a_variable_that_can_not_be_used_is_a_sentence_too(name, value):
    done = subprocess.run(
        [sys.executable, "-m", "gristmill", "stats"],
        env={**os.environ, name: value},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 1
    assert done.stdout == ""
    assert done.stderr.startswith(f"gristmill: {name}=")
    assert done.stderr.count("\n") == 1


def test_an_error_of_the_system_is_a_sentence_too(probe, capsys, monkeypatch):
    def refuse(*_):
        raise PermissionError(13, "Permission denied", "/data/x")

    monkeypatch.setattr(Output, "result", refuse)
    assert cli.main(["probe"]) == 1
    told = capsys.readouterr().err
    assert told.startswith("gristmill: Could not use /data/x: Permission denied. It can't be written there.")
    assert "HF_HOME" in told
    assert told.count("\n") == 1


def test_text_that_the_terminal_can_not_show(probe, monkeypatch):
    out = io.TextIOWrapper(io.BytesIO(), encoding="ascii")
    monkeypatch.setattr("sys.stdout", out)
    monkeypatch.setattr(Output, "result", lambda *_: out.write("caf\u00e9 \udcff\n"))
    assert cli.main(["probe"]) == 0
    out.flush()
    assert out.buffer.getvalue() == b"caf\\xe9 \\udcff\n"


def test_wrong_usage_is_status_2(probe, capsys):
    assert cli.main(["probe", "--nope"]) == 2
    assert "No such option" in capsys.readouterr().err
    assert cli.main(["prboe"]) == 2
    assert "Did you mean probe?" in capsys.readouterr().err
    assert cli.main(["hub", "down"]) == 2
    assert "Did you mean download?" in capsys.readouterr().err
    assert cli.main(["xyzzy"]) == 2
    assert "Did you mean" not in capsys.readouterr().err


def test_version(capsys):
    assert cli.main(["--version"]) == 0
    assert capsys.readouterr().out.startswith("gristmill 5.")


def test_ctrl_c_is_status_130(monkeypatch, capsys):
    def interrupted(**_):
        raise KeyboardInterrupt

    monkeypatch.setattr(app, "main", interrupted)
    assert cli.main([]) == 130
    assert "stopped" in capsys.readouterr().err


def test_help_loads_no_heavy_library():
    code = "import sys; from gristmill.cli.main import register; register(); print({'pyarrow', 'numpy'} & {*sys.modules})"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "set()\n"


def test_a_closed_pipe_is_no_error(tmp_path):
    (tmp_path / "a.jsonl").write_text('{"a": "x"}\n' * 5000)
    reader = "import sys; sys.stdin.readline()"
    command = [sys.executable, "-m", "gristmill", "--cache", "cache", "show", "a.jsonl", "--rows", "5000"]
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, cwd=tmp_path, text=True
    ) as show:
        assert show.stdout is not None
        assert show.stderr is not None
        subprocess.run([sys.executable, "-c", reader], stdin=show.stdout, check=True)
        show.stdout.close()
        said = show.stderr.read()
        assert show.wait() == 0
    assert "Error" not in said
