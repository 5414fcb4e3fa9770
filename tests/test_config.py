"""Settings come from the documented variables and can be changed for a while."""

import json
import os
import subprocess
import sys

import pytest

from gristmill import config
from gristmill.errors import InvalidArgumentError


def settings(**environment: str) -> dict:
    names = ["HF_ENDPOINT", "HF_HUB_CACHE", "HF_DATASETS_CACHE", "HF_HUB_OFFLINE", "HF_DATASETS_OFFLINE"]
    code = f"import json; from gristmill import config; print(json.dumps({{n: str(getattr(config, n)) for n in {names}}}))"
    clean = {
        k: v
        for k, v in os.environ.items()
        if not k.startswith(("HF_", "XDG_", "HUGGINGFACE", "TRANSFORMERS"))
    }
    done = subprocess.run(
        [sys.executable, "-c", code],
        env={**clean, **environment},
        capture_output=True,
        text=True,
        check=False,
    )
    return json.loads(done.stdout) if done.returncode == 0 else {"error": done.stderr}


def test_defaults_hang_together():
    got = settings(HF_HOME="/a")
    assert got["HF_HUB_CACHE"] == "/a/hub"
    assert got["HF_DATASETS_CACHE"] == "/a/datasets"
    assert got["HF_ENDPOINT"] == "https://huggingface.co"
    assert got["HF_HUB_OFFLINE"] == "False"


def test_variables_are_expanded_and_trimmed():
    got = settings(HF_HOME="$BASE/b", BASE="/x", HF_ENDPOINT="http://h:1/", HF_HUB_OFFLINE="yes")
    assert got["HF_HUB_CACHE"] == "/x/b/hub"
    assert got["HF_ENDPOINT"] == "http://h:1"
    assert got["HF_DATASETS_OFFLINE"] == "True"
    assert settings(HF_HUB_OFFLINE="1", HF_DATASETS_OFFLINE="0")["HF_DATASETS_OFFLINE"] == "False"
    assert settings(XDG_CACHE_HOME="/c")["HF_HUB_CACHE"] == "/c/huggingface/hub"


def test_a_switch_with_a_typo_is_refused():
    assert "HF_HUB_OFFLINE=" in settings(HF_HUB_OFFLINE="ture")["error"]


@pytest.mark.parametrize("value", ["much", "inf", "nan", "1e999"])
def test_a_size_that_is_none_is_refused(value):
    expected = f"HF_DATASETS_IN_MEMORY_MAX_SIZE='{value}' can't be used: expected a number of bytes"
    assert expected in settings(HF_DATASETS_IN_MEMORY_MAX_SIZE=value)["error"]


def test_a_ratio_that_is_none_is_refused():
    error = settings(GRISTMILL_MAX_COMPRESSION_RATIO="much")["error"]
    assert "GRISTMILL_MAX_COMPRESSION_RATIO='much' can't be used: expected a number" in error
    assert "bytes" not in error


def test_a_home_that_nobody_knows():
    assert "HF_HOME='~no-such-user/x' can't be used" in settings(HF_HOME="~no-such-user/x")["error"]
    # The default is not looked at where it is not used.
    assert settings(XDG_CACHE_HOME="~no-such-user", HF_HOME="/a")["HF_HUB_CACHE"] == "/a/hub"


def test_override_restores_after_an_error():
    before = config.HF_ENDPOINT

    def fail() -> None:
        with config.override(HF_ENDPOINT="http://other"):
            assert config.HF_ENDPOINT == "http://other"
            raise KeyError

    with pytest.raises(KeyError):
        fail()
    assert before == config.HF_ENDPOINT


def test_override_knows_its_names():
    with pytest.raises(InvalidArgumentError, match="HF_ENDPOINT"), config.override(HF_ENDPIONT="x"):
        pass


def test_what_is_installed():
    assert str(config.PY_VERSION) == ".".join(map(str, sys.version_info[:3]))
    assert config.HF_HUB_VERSION.major >= 1
    assert config.PYARROW_VERSION.major >= 19
    assert config.PYARROW_AVAILABLE is True
    assert (config.JAX_AVAILABLE, config.JAX_VERSION) == (False, "N/A") or config.JAX_VERSION.release
    for name in ("NOTHING_VERSION", "NOTHING_AVAILABLE", "VERSION", "nothing"):
        with pytest.raises(AttributeError, match=name):
            getattr(config, name)
