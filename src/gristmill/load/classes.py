"""The builder classes of what `dataset_module_factory` finds."""

from __future__ import annotations

import importlib
import inspect
from typing import Any

from gristmill.builder import DatasetBuilder
from gristmill.errors import InvalidArgumentError
from gristmill.load.factories import DatasetModule

__all__ = ["get_dataset_builder_class", "import_main_class"]


def import_main_class(module_path: str) -> type[DatasetBuilder]:
    """Gives the builder of a module.

    Args:
        module_path: Dotted name of the module.

    Raises:
        InvalidArgumentError: There is no such module, or no builder in it.

    Example:
        >>> import_main_class("gristmill.packaged_modules.csv.csv").__name__
        'Csv'
    """
    try:
        module = importlib.import_module(module_path)
    except ModuleNotFoundError as error:
        expected = "the name of a module with a builder"
        raise InvalidArgumentError.from_value("module_path", module_path, expected) from error
    for name in dir(module):
        found: Any = getattr(module, name)
        if isinstance(found, type) and issubclass(found, DatasetBuilder) and not inspect.isabstract(found):
            return found
    raise InvalidArgumentError.from_value("module_path", module_path, "the name of a module with a builder")


def get_dataset_builder_class(
    dataset_module: DatasetModule, dataset_name: str | None = None
) -> type[DatasetBuilder]:
    """Gives the builder class that reads what `dataset_module_factory` found, with the configs of that.

    Args:
        dataset_module: What was found.
        dataset_name: Accepted for compatibility: builders are named when they are made.

    Example:
        >>> from gristmill.load import DatasetModule
        >>> get_dataset_builder_class(DatasetModule("gristmill.packaged_modules.json.json", "0", {})).__name__
        'Json'
    """
    main = import_main_class(dataset_module.module_path)
    known = dataset_module.builder_configs_parameters
    if not known.builder_configs:
        return main
    facts = {
        "BUILDER_CONFIGS": known.builder_configs,
        "DEFAULT_CONFIG_NAME": known.default_config_name,
        "__module__": main.__module__,
        "__doc__": main.__doc__,
    }
    return type(main.__name__, (main,), facts)
