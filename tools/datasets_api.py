"""Writes tests/api/datasets_api.json: the public names of an installed `datasets`, as plain facts.

Run it with the interpreter of an environment that has `datasets` and its optional readers; nothing of Gristmill is
imported::

    /path/to/venv/bin/python tools/datasets_api.py

Which names: the outline of the documentation (tests/api/outline.txt), every public name at the top of the package with
the public members of its class, and the module paths that public code uses (tests/api/modules.txt). What is written
of each: its kind, its area, whether the documentation lists it, its parameters with kinds and defaults, and for a second
path to the same object the first one. Only facts are taken: no text.
"""

from __future__ import annotations

import dataclasses
import enum
import importlib
import inspect
import json
import re
import types
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

API = Path(__file__).parent.parent / "tests" / "api"
OUTLINE, MODULES, TARGET = API / "outline.txt", API / "modules.txt", API / "datasets_api.json"

TOP_LEVEL_AREA = "Other names at the top"
MODULES_AREA = "Module paths"
SPECIAL_MEMBERS = ("__len__", "__iter__", "__getitem__")

Parameter = list[str]
"""Name, kind, and the default as text if there is one."""


class Outlined(NamedTuple):
    """A name of the documentation's outline: its area and the members its page lists (none: all public ones)."""

    area: str
    members: tuple[str, ...]


def read_outline(text: str) -> dict[str, Outlined]:
    """Reads the outline of the documentation.

    Example:
        >>> read_outline("[A]\\nThing\\n    go stop\\n")
        {'Thing': Outlined(area='A', members=('go', 'stop'))}
    """
    outline: dict[str, Outlined] = {}
    area = name = ""
    for line in text.splitlines():
        if not line or line.startswith("#"):
            continue
        if line.startswith("["):
            area = line.strip("[]")
        elif line.startswith(" "):
            outline[name] = Outlined(area, (*outline[name].members, *line.split()))
        else:
            name = line
            outline[name] = Outlined(area, ())
    return outline


def read_modules(text: str) -> dict[str, list[str]]:
    """Reads the list of module paths and the names that code takes from each.

    Example:
        >>> read_modules("a.b: x,\\n    y\\nc\\n")
        {'a.b': ['x', 'y'], 'c': []}
    """
    lines = [line for line in text.splitlines() if not line.startswith("#")]
    entries = re.sub(r"\n +", " ", "\n".join(lines)).splitlines()
    parts = [entry.partition(":") for entry in entries if entry]
    return {path: names.replace(",", " ").split() for path, _, names in parts}


def describe(value: object) -> str:
    """Writes a default as text that says the same in two packages and on every version of Python.

    Example:
        >>> describe(("a", 1)), describe(int), describe(Path("x"))
        ("('a', 1)", 'int', '<path>')
    """
    if isinstance(value, enum.Enum):
        return f"{type(value).__name__}.{value.name}"
    if isinstance(value, tuple | list):
        inner = ", ".join(describe(item) for item in value)
        if isinstance(value, list):
            return f"[{inner}]"
        return f"({inner},)" if len(value) == 1 else f"({inner})"
    if isinstance(value, dict):
        return "{" + ", ".join(f"{describe(k)}: {describe(v)}" for k, v in value.items()) + "}"
    if isinstance(value, set | frozenset):
        return "{" + ", ".join(sorted(describe(item) for item in value)) + "}"
    if isinstance(value, Path):
        return "<path>"  # depends on the machine
    if value is None or type(value) in (bool, int, float, str, bytes):
        return repr(value)
    if isinstance(value, type | types.FunctionType | types.BuiltinFunctionType):
        return value.__qualname__
    return f"<{type(value).__name__}>"


def _factories(thing: object) -> dict[str, Any]:
    """Gives the defaults that a dataclass makes anew for each instance; their signature shows only a sentinel."""
    if not (isinstance(thing, type) and dataclasses.is_dataclass(thing)):
        return {}
    fields = dataclasses.fields(thing)
    return {f.name: f.default_factory for f in fields if f.default_factory is not dataclasses.MISSING}


def parameters_of(thing: Any, *, bound: bool = False) -> list[Parameter] | None:
    """Lists the parameters of a function or class, as a caller sees them.

    Args:
        thing: A function, method or class.
        bound: Leave out the first parameter, the instance.

    Returns:
        One ``[name, kind]`` or ``[name, kind, default]`` a parameter, or None where Python does not know.

    Example:
        >>> parameters_of(lambda a, *, b=1: None)
        [['a', 'positional_or_keyword'], ['b', 'keyword_only', '1']]
    """
    try:
        found = list(inspect.signature(thing).parameters.values())
    except (ValueError, TypeError):
        return None
    factories = _factories(thing)
    listed = []
    for parameter in found[1:] if bound else found:
        entry = [parameter.name, parameter.kind.name.lower()]
        if parameter.name in factories:
            entry.append(describe(factories[parameter.name]()))
        elif parameter.default is not parameter.empty:
            entry.append(describe(parameter.default))
        listed.append(entry)
    return listed


def facts(thing: Any, owner: type | None = None, name: str = "") -> dict[str, Any]:
    """Says what a public thing is: its kind and, if it can be called, its parameters.

    Args:
        thing: What the name stands for, read from its module or class.
        owner: The class it is a member of, if it is one.
        name: Its name in `owner`.
    """
    if owner is not None:
        raw = inspect.getattr_static(owner, name)
        if isinstance(raw, property) or inspect.isgetsetdescriptor(raw) or inspect.ismemberdescriptor(raw):
            return {"kind": "property"}
        if isinstance(raw, classmethod | staticmethod):
            return {"kind": type(raw).__name__, "parameters": parameters_of(thing)}
        if inspect.isfunction(raw):
            return {"kind": "method", "parameters": parameters_of(thing, bound=True)}
        if inspect.isroutine(raw):  # of a builtin base: its signature is not written in Python
            return {"kind": "method", "parameters": None}
        return {"kind": "value", "value": describe(thing) if isinstance(thing, enum.Enum) else ""}
    if isinstance(thing, type):
        # What calling an enumeration takes depends on the version of Python.
        return {"kind": "class", "parameters": None if issubclass(thing, enum.Enum) else parameters_of(thing)}
    if isinstance(thing, types.ModuleType):
        return {"kind": "module"}
    if callable(thing) and hasattr(thing, "__qualname__"):
        return {"kind": "function", "parameters": parameters_of(thing)}
    return {"kind": "value", "value": ""}


def public_members(cls: type, package: str) -> list[str]:
    """Lists the public members that a class has from `package`, in alphabetical order.

    What it inherits from builtins or other libraries is theirs; fields of a dataclass show in its signature.
    """
    fields = {f.name for f in dataclasses.fields(cls)} if dataclasses.is_dataclass(cls) else set()
    names: set[str] = set()
    for base in cls.__mro__:
        if base.__module__.partition(".")[0] == package:
            names |= {n for n in vars(base) if not n.startswith("_") or n in SPECIAL_MEMBERS}
    return sorted(names - fields)


def resolve(package: str, path: str) -> Any:
    """Finds what a dotted public name stands for.

    Raises:
        AttributeError: There is no such name.
    """
    thing: Any = importlib.import_module(package)
    walked = package
    for part in path.split("."):
        walked += f".{part}"
        if not hasattr(thing, part) and isinstance(thing, types.ModuleType):
            try:
                importlib.import_module(walked)
            except ModuleNotFoundError as error:
                raise AttributeError(f"there is no {walked}") from error
        thing = getattr(thing, part)
    return thing


def _documented_object(name: str) -> Any:
    """Resolves a name of the outline: the documentation leaves out the inner module of packaged modules."""
    try:
        return resolve("datasets", name)
    except AttributeError:
        module, _, last = name.rpartition(".")
        return resolve("datasets", f"{module}.{module.rpartition('.')[2]}.{last}")


class Collector:
    """Gathers the facts, each object under the first path it was met on."""

    def __init__(self, outline: dict[str, Outlined]) -> None:
        self.outline = outline
        self.names: dict[str, dict[str, Any]] = {}
        self.first_path: dict[int, str] = {}

    def add(self, name: str, thing: Any, area: str, *, documented: bool) -> None:
        """Adds a name and, the first time its class is met, the class's public members."""
        if name in self.names:
            return
        entry = {"area": area, "documented": documented, **facts(thing)}
        if entry["kind"] in ("class", "function"):
            first = self.first_path.setdefault(id(thing), name)
            if first != name:
                self.names[name] = {**entry, "same_as": first}
                return
        self.names[name] = entry
        if isinstance(thing, type) and area != MODULES_AREA:
            self._add_members(name, thing, area, documented=documented)

    def _add_members(self, name: str, cls: type, area: str, *, documented: bool) -> None:
        listed = self.outline[name].members if name in self.outline else ()
        own = set(public_members(cls, "datasets"))
        for base in cls.__mro__[1:]:
            if id(base) in self.first_path:  # listed there
                own -= set(public_members(base, "datasets")) - set(vars(cls))
        for member in sorted(own | set(listed)):
            if not hasattr(cls, member):  # set in the constructor, so it can't be seen from here
                self.names[f"{name}.{member}"] = {"area": area, "documented": True, "kind": "property"}
                continue
            entry = facts(getattr(cls, member), cls, member)
            # Constants of a class are no part of its page, members of an enumeration are.
            shown = entry["kind"] != "value" or issubclass(cls, enum.Enum)
            known = member in listed or (documented and not listed and shown)
            self.names[f"{name}.{member}"] = {"area": area, "documented": known, **entry}


def _top_level() -> Iterator[tuple[str, Any]]:
    package = importlib.import_module("datasets")
    for name in sorted(vars(package)):
        thing = getattr(package, name)
        # Modules show up here by being imported (`datasets.json` is utils.json); modules.txt has those code uses.
        if not name.startswith("_") and not isinstance(thing, types.ModuleType):
            yield name, thing


def collect() -> dict[str, Any]:
    """Gathers everything from the installed `datasets`."""
    outline = read_outline(OUTLINE.read_text(encoding="utf-8"))
    collector = Collector(outline)
    top = dict(_top_level())
    # The page of a name at the top may call it by where it is defined.
    pages = {name: outline.get(name) or outline.get(f"utils.{name}") for name in top}
    # Names at the top come first: they are the path by which the same object is known elsewhere.
    for name in sorted(top, key=lambda n: (pages[n] is None, getattr(top[n], "__name__", n) != n)):
        page = pages[name]
        collector.add(name, top[name], page.area if page else TOP_LEVEL_AREA, documented=page is not None)
    for name, outlined in outline.items():
        collector.add(name, _documented_object(name), outlined.area, documented=True)
    for path, names in read_modules(MODULES.read_text(encoding="utf-8")).items():
        module = importlib.import_module(f"datasets.{path}")
        collector.add(path, module, MODULES_AREA, documented=False)
        for name in names:
            collector.add(f"{path}.{name}", getattr(module, name), MODULES_AREA, documented=False)
    version = importlib.import_module("datasets").__version__
    return {"package": "datasets", "version": version, "names": collector.names}


def to_text(api: dict[str, Any]) -> str:
    """Writes the facts as JSON with one name a line, sorted, so that a change is one line of a diff."""
    lines = [f"    {json.dumps(name)}: {json.dumps(entry)}" for name, entry in sorted(api["names"].items())]
    head = "".join(f"  {json.dumps(key)}: {json.dumps(api[key])},\n" for key in ("package", "version"))
    return "{\n" + head + '  "names": {\n' + ",\n".join(lines) + "\n  }\n}\n"


if __name__ == "__main__":
    TARGET.write_text(to_text(collect()), encoding="utf-8")
