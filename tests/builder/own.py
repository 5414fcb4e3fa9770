"""Builders as users write them."""

import os
import typing

import pyarrow as pa

import gristmill as datasets


class LanguageConfig(datasets.BuilderConfig):
    """A config with a setting of its own."""

    def __init__(self, languages=("en",), **kwargs):
        super().__init__(**kwargs)
        self.languages = list(languages)


class Poems(datasets.GeneratorBasedBuilder):
    """Lines of text files, one row a line."""

    VERSION = datasets.Version("1.2.0")
    BUILDER_CONFIG_CLASS = LanguageConfig
    BUILDER_CONFIGS: typing.ClassVar[list[typing.Any]] = [
        LanguageConfig(name="english", description="English poems"),
        LanguageConfig(name="all", languages=["en", "de"], version=datasets.Version("2.0.0")),
    ]
    DEFAULT_CONFIG_NAME: typing.ClassVar[str | None] = "english"
    DEFAULT_WRITER_BATCH_SIZE = 2

    def _info(self):
        return datasets.DatasetInfo(
            description="Poems.",
            features=datasets.Features(
                {"line": datasets.Value("string"), "language": datasets.ClassLabel(names=["en", "de"])}
            ),
        )

    def _split_generators(self, dl_manager):
        files = dl_manager.download_and_extract({"train": ["a.txt", "b.txt", "c.txt"], "test": ["a.txt"]})
        return [
            datasets.SplitGenerator(name=datasets.Split.TRAIN, gen_kwargs={"files": files["train"]}),
            datasets.SplitGenerator(name=datasets.Split.TEST, gen_kwargs={"files": files["test"]}),
        ]

    def _generate_examples(self, files):
        for path in files:
            with open(path) as file:  # noqa: PTH123  # as users write it
                for number, line in enumerate(file):
                    for language in self.config.languages:
                        yield f"{path} {number} {language}", {"line": line.strip(), "language": language}


class Tables(datasets.ArrowBasedBuilder):
    """Tables as they come; what they are called with is a setting of the config."""

    def _info(self):
        return datasets.DatasetInfo()

    def _split_generators(self, dl_manager):
        return [
            datasets.SplitGenerator("train", {"numbers": list(range(6)), "pid": os.getpid()}),
        ]

    def _generate_tables(self, numbers, pid):
        for number in numbers:
            yield number, pa.table({"n": [number] * 2, "late": [None if number < 3 else "text"] * 2})


class Any(datasets.GeneratorBasedBuilder):
    """Examples that a test gives."""

    ROWS: typing.ClassVar[list[typing.Any]] = []
    FEATURES = None
    INFO: typing.ClassVar[dict[str, typing.Any]] = {}

    def _info(self):
        return datasets.DatasetInfo(features=self.FEATURES, **self.INFO)

    def _split_generators(self, dl_manager):
        return [datasets.SplitGenerator("train")]

    def _generate_examples(self):
        for number, row in enumerate(self.ROWS):
            if isinstance(row, Exception):
                raise row
            yield row if isinstance(row, tuple) else (number, row)


def builder_of(rows, features=None, **info):
    """Makes a class of builder of some rows."""
    return type("Given", (Any,), {"ROWS": rows, "FEATURES": features, "INFO": info})


def known(builder: typing.Any) -> typing.Any:
    """Gives what a builder knows; to type checkers, each of its parts may be missing."""
    return builder.info
