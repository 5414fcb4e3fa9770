"""Builder classes of what a name means."""

import pytest

from gristmill.errors import InvalidArgumentError
from gristmill.load import dataset_module_factory, get_dataset_builder_class, import_main_class


def test_the_class_that_reads_a_folder(tmp_path):
    (tmp_path / "train.csv").write_text("a\n1\n")
    found = dataset_module_factory(str(tmp_path))
    made = get_dataset_builder_class(found)
    assert made.__name__ == "Csv"
    assert [config.name for config in made.BUILDER_CONFIGS] == ["default"]
    assert import_main_class("gristmill.packaged_modules.sql.sql").__name__ == "Sql"
    for name in ("gristmill.nothing", "json"):
        with pytest.raises(InvalidArgumentError, match="module_path"):
            import_main_class(name)
