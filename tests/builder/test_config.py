"""Which config is meant, and what it is called in the cache."""

import pytest

from gristmill import BuilderConfig, Features, Value, Version
from gristmill.errors import ConfigNotFoundError, InvalidArgumentError, InvalidConfigName
from tests.builder.own import LanguageConfig, Poems


def test_the_config_asked_for():
    assert Poems().config.name == "english"
    assert Poems(config_name="all").config.languages == ["en", "de"]
    assert Poems(config_name="all").config.version == "2.0.0"
    assert list(Poems.builder_configs) == ["english", "all"]
    assert Poems().builder_configs["all"] is Poems.BUILDER_CONFIGS[1]


def test_settings_change_a_copy():
    made = Poems(languages=["de"])
    assert (made.config.name, made.config.languages) == ("english", ["de"])
    assert Poems.BUILDER_CONFIGS[0].languages == ["en"]
    assert made.config_id.startswith("english-")
    assert Poems(data_dir="/a b").config_id == "english-data_dir=%2Fa+b"


def test_what_is_no_config_and_no_setting():
    with pytest.raises(ConfigNotFoundError, match=r'no config "englsh"\. Did you mean "english"'):
        Poems(config_name="englsh")
    with pytest.raises(InvalidArgumentError, match=r'no setting "langages".*languages'):
        Poems(langages=["de"])

    class Undecided(Poems):
        DEFAULT_CONFIG_NAME = None

    with pytest.raises(ConfigNotFoundError, match="english, all"):
        Undecided()
    # Settings without a name make a config of their own.
    made = Undecided(languages=["de"])
    assert (made.config.name, made.config.version) == ("default", Version("1.2.0"))


def test_names():
    for name in ("a/b", "a:b", ".."):
        with pytest.raises(InvalidConfigName):
            BuilderConfig(name)
    with pytest.raises(InvalidArgumentError, match="different names"):
        type("Twice", (Poems,), {"BUILDER_CONFIGS": [LanguageConfig(name="a"), LanguageConfig(name="a")]})(
            config_name="a"
        )


def test_ids():
    config = BuilderConfig("c")
    assert config.create_config_id({}) == "c"
    assert config.create_config_id({"name": "c", "version": "1.0.0", "a": None}) == "c"
    assert config.create_config_id({"b": "x y", "a": 1}) == "c-a=1,b=x+y"
    long = config.create_config_id({"a": "x" * 40})
    assert long.startswith("c-")
    assert len(long) < 40
    features = Features({"a": Value("int64")})
    assert config.create_config_id({}, features) != config.create_config_id(
        {}, Features({"b": Value("int64")})
    )


def test_equality_counts_what_a_class_adds():
    assert LanguageConfig(name="a") == LanguageConfig(name="a")
    assert LanguageConfig(name="a") != LanguageConfig(name="a", languages=["de"])
    assert LanguageConfig(name="default") != BuilderConfig()
