"""The front door: options in any place, errors as one sentence, exit statuses."""

import click
import pytest

from gristmill import config
from gristmill.cli import main as cli
from gristmill.errors import InvalidArgumentError


@pytest.fixture
def probe():
    """A command that reports its settings, and fails on request."""

    @cli.app.command("probe")
    @click.option("--fail", is_flag=True)
    @click.pass_obj
    def command(settings: cli.Settings, fail: bool) -> None:
        if fail:
            raise InvalidArgumentError.from_value("fail", fail, "nothing")
        settings.output.result({"seed": settings.seed, "hub": str(config.HF_HUB_CACHE)})

    yield
    del cli.app.commands["probe"]


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


def test_wrong_usage_is_status_2(probe, capsys):
    assert cli.main(["probe", "--nope"]) == 2
    assert "No such option" in capsys.readouterr().err
    assert cli.main(["prboe"]) == 2


def test_version(capsys):
    assert cli.main(["--version"]) == 0
    assert capsys.readouterr().out.startswith("gristmill 5.")


def test_ctrl_c_is_status_130(monkeypatch, capsys):
    def interrupted(**_):
        raise KeyboardInterrupt

    monkeypatch.setattr(cli.app, "main", interrupted)
    assert cli.main([]) == 130
    assert "stopped" in capsys.readouterr().err
