"""What a function's result depends on besides its arguments: its code and the globals that this code names."""

from __future__ import annotations

import bisect
import dis
import functools
import importlib.util
import inspect
import os
import site
import sys
import sysconfig
import types
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

_LOADS = {"LOAD_GLOBAL", "LOAD_NAME", "LOAD_FROM_DICT_OR_GLOBALS"}
_ATTRIBUTES = {"LOAD_ATTR", "LOAD_METHOD"}

Reference = tuple[str, ...]
"""A global name and the attributes read from it: ``("helper", "cut")`` for ``helper.cut``."""


@functools.lru_cache(maxsize=4096)
def references(code: types.CodeType) -> tuple[tuple[Reference, ...], tuple[str, ...]]:
    """Lists the globals a code object reads and the modules it imports, nested functions included.

    Args:
        code: A function's ``__code__``.

    Returns:
        (globals with the attributes read from them, modules imported), each sorted and without repeats.
    """
    found: set[Reference] = set()
    imported: set[str] = set()
    current: list[str] = []
    for instruction in dis.get_instructions(code):
        name = instruction.opname
        if name in _ATTRIBUTES and current:
            current.append(str(instruction.argval))
            continue
        if name in {"CACHE", "PUSH_NULL", "PRECALL"}:
            continue
        if current:
            found.add(tuple(current))
            current = []
        if name in _LOADS:
            current = [str(instruction.argval)]
        elif name == "IMPORT_NAME":
            imported.add(str(instruction.argval))
    if current:
        found.add(tuple(current))
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            inner, more = references(constant)
            found.update(inner)
            imported.update(more)
    return tuple(sorted(found)), tuple(sorted(imported))


_NOISE = {"CACHE", "EXTENDED_ARG"}
# What a class's body says of itself: its documentation and where it stands.
_REMARKS = {"__doc__", "__firstlineno__"}


@functools.lru_cache(maxsize=4096)
def normal_form(code: types.CodeType) -> tuple[list[list[Any]], list[Any]]:
    """Gives what a code object does, free of where its parts are kept.

    Constants, names and jumps are stored as numbers, and a docstring takes one of those numbers: with it, the same
    work has other bytes.

    Args:
        code: A function's, a class's or a module's.

    Returns:
        (instructions as name and argument, the constants they use in the order of use).
    """
    found = [item for item in dis.get_instructions(code) if item.opname not in _NOISE]
    if not code.co_flags & inspect.CO_OPTIMIZED:
        found = _without_remarks(found)
    ordinals: dict[int, int] = {}
    for number, item in enumerate(found):
        ordinals[item.offset] = number
    offsets = sorted(ordinals)
    constants: list[Any] = []
    order: dict[int, int] = {}
    form: list[list[Any]] = []
    for item in found:
        argument: Any = item.arg
        if item.opcode in _CONSTANT and item.arg is not None:
            if item.arg not in order:
                order[item.arg] = len(constants)
                constants.append(code.co_consts[item.arg])
            argument = order[item.arg]
        elif item.opcode in _JUMP:
            # The target may be a prefix that was left out; the instruction follows it.
            argument = bisect.bisect_left(offsets, item.argval)
        elif item.opcode in _NAMED:
            argument = [str(item.argval), item.argrepr]
        form.append([item.opname, argument])
    return form, constants


_CONSTANT = frozenset(dis.hasconst)
_JUMP = frozenset([*dis.hasjrel, *dis.hasjabs])
_NAMED = frozenset([*dis.hasname, *dis.haslocal, *dis.hasfree])


def _without_remarks(found: list[dis.Instruction]) -> list[dis.Instruction]:
    kept: list[dis.Instruction] = []
    for item in found:
        remark = item.opname in {"STORE_NAME", "STORE_GLOBAL"} and item.argval in _REMARKS
        if remark and kept and kept[-1].opname.startswith("LOAD_"):
            kept.pop()
            continue
        kept.append(item)
    return kept


_PACKAGE_FOLDERS = {"site-packages", "dist-packages"}


@functools.lru_cache(maxsize=1)
def _library_folders() -> tuple[str, ...]:
    paths = {sysconfig.get_path(name) for name in ("stdlib", "platstdlib", "purelib", "platlib")}
    paths.update(site.getsitepackages() if hasattr(site, "getsitepackages") else ())
    paths.add(site.getusersitepackages())
    paths.add(str(Path(__file__).parent.parent))
    return tuple(os.path.realpath(path) + os.sep for path in paths if path)


@functools.lru_cache(maxsize=4096)
def is_library(filename: str | None) -> bool:
    """Says whether a source file belongs to Python, to an installed package or to Gristmill itself.

    Such code changes with a version number; anything else may be edited between two runs and is hashed by content.

    Example:
        >>> (
        ...     is_library(dis.__file__),
        ...     is_library("/opt/v/lib/python3.12/site-packages/x.py"),
        ...     is_library("/me/prep.py"),
        ... )
        (True, True, False)
    """
    if filename is None or filename.startswith("<frozen"):
        return True
    if filename.startswith("<"):  # typed in, or made by exec
        return False
    path = os.path.realpath(filename)
    # Another environment's packages may be on PYTHONPATH; they are found by the name of their folder.
    return path.startswith(_library_folders()) or not _PACKAGE_FOLDERS.isdisjoint(Path(path).parts)


def module_is_library(name: str) -> bool:
    """Says the same of a module by its name; built-in modules count as Python's own, ``__main__`` never does."""
    module = sys.modules.get(name)
    if name == "__main__" or module is None:
        return False
    filename = getattr(module, "__file__", None)
    return name in sys.builtin_module_names if filename is None else is_library(filename)


def version_of(name: str) -> str:
    """Gives the version of the package a module belongs to, or "" if it does not say."""
    package = sys.modules.get(name.partition(".")[0])
    return str(getattr(package, "__version__", ""))


def local_source(name: str) -> types.CodeType | bytes | None:
    """Reads the source of a module that is not a library, without running it.

    Args:
        name: Dotted name.

    Returns:
        What it compiles to, which comments and empty lines leave alone; the file's bytes if it is not Python; None for
        a library or a module that can't be found.
    """
    module = sys.modules.get(name)
    filename = getattr(module, "__file__", None)
    if module is None:
        try:
            spec = importlib.util.find_spec(name) if "." not in name else None
        except (ImportError, ValueError, AttributeError):
            return None
        filename = spec.origin if spec is not None and spec.has_location else None
    if filename is None or is_library(filename):
        return None
    try:
        source = Path(filename).read_bytes()
    except OSError:
        return None
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # they are for whoever runs it
            return compile(source, name, "exec", dont_inherit=True)
    except (SyntaxError, ValueError):
        return source


def values_named_by(function: types.FunctionType) -> Iterator[tuple[str, Any]]:
    """Yields what the code of a function reaches: globals by dotted name, and the source of local imports.

    A module is followed along the attributes read from it, so that editing a helper function elsewhere in it changes
    nothing.

    Args:
        function: A plain Python function.

    Yields:
        (dotted name, value); for a name that does not exist (yet), the value is `types.NotImplementedType`'s instance.
    """
    names, imported = references(function.__code__)
    builtins = function.__globals__.get("__builtins__")
    builtins = vars(builtins) if isinstance(builtins, types.ModuleType) else builtins or {}
    for path in names:
        if path[0] not in function.__globals__:
            if path[0] not in builtins:
                yield path[0], NotImplemented
            continue
        value = function.__globals__[path[0]]
        used = [path[0]]
        for attribute in path[1:]:
            if not isinstance(value, types.ModuleType):
                break
            try:
                value = getattr(value, attribute)
            except Exception:  # noqa: BLE001  # a module may answer by code of its own
                break
            used.append(attribute)
        yield ".".join(used), value
    for name in imported:
        yield f"import {name}", local_source(name)
