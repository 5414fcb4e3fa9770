"""The house holds: imports go downward, no circles, heavy libraries stay in their rooms."""

import ast
import functools
from collections.abc import Iterator
from pathlib import Path

import pytest

SOURCE = Path(__file__).parent.parent / "src" / "gristmill"

# Floors from the ground up. A room may import from its own floor's rooms only if it is the same room, and from any
# floor below. A name is a package (folder) or a module directly under gristmill/; the longest match counts.
FLOORS = [
    {"errors", "_version"},
    {"arguments", "config", "logging", "naming", "not_there_yet", "optional", "version"},
    {"progress"},
    {"files", "features", "filesystems", "legacy", "progress_bars"},
    {"as_datasets"},
    {"_stand_in"},
    {"table", "hub", "fingerprint", "splits"},
    {"formats", "formatting", "info"},
    {"partial.reading"},
    {"partial.source"},
    {"partial.opening"},
    {"parquet"},
    {"partial"},
    {"calling", "engine", "prepared"},
    {"publishing"},
    {"iterable"},
    {"search"},
    {"dataset"},
    {"dataset_dict", "combine", "distributed", "download"},
    {"borrowed", "builder"},
    {"load"},
    {"hub.server"},
    {"corpus", "docs_file", "inspect"},
    {"demo"},
    {"cli"},
    {"__init__", "__main__"},
]

# Which rooms may import a heavy or optional library, at any depth of the code.
HEAVY = {
    "pyarrow": {"features", "table", "formats", "formatting", "engine", "dataset", "dataset_dict", "prepared", "load",
                "calling", "iterable", "builder", "parquet",
                "fingerprint", "corpus", "files.borders", "files.compression", "demo", "info", "docs_file", "partial", "publishing", "hub.server.xet_format"},
    "numpy": {"borrowed", "features", "table", "formats", "formatting", "calling", "engine", "iterable", "dataset", "dataset_dict", "fingerprint",
              "corpus", "docs_file", "search", "parquet", "partial"},
    "faiss": {"search"},
    "elasticsearch": {"search"},
    "pandas": {"formatting", "dataset"},
    "polars": {"formatting", "dataset"},
    "torch": {"formatting"},
    "jax": {"formatting"},
    "tensorflow": {"formatting", "dataset"},
    "huggingface_hub": {"hub"},
    "httpx": {"files.connections", "files.http", "files.http_answers", "hub"},
    "starlette": {"hub.server"},
    "uvicorn": {"hub.server"},
    "tokenizers": {"corpus.decisions"},
    "fsspec": {"files", "formats", "dataset"},
    "yaml": {"hub.card", "hub.card_edit", "features", "corpus"},
    "click": {"cli"},
    "rich": {"cli"},
    "tqdm": {"progress", "progress_bars"},
    "cloudpickle": {"engine", "fingerprint", "borrowed.odds"},
}  # fmt: skip

# Modules that `import gristmill` loads run at every start of every user's program.
LIGHT = {
    "__init__", "errors", "config", "legacy", "logging", "progress", "optional", "not_there_yet", "_version"
}  # fmt: skip


def module_name(path: Path) -> str:
    parts = list(path.relative_to(SOURCE).with_suffix("").parts)
    if parts[-1] == "__init__" and len(parts) > 1:
        parts.pop()
    return ".".join(parts)


def room_of(module: str) -> str:
    for floor in FLOORS:
        for room in floor:
            if "." in room and (module == room or module.startswith(room + ".")):
                return room
    return module.partition(".")[0]


def floor_of(room: str) -> int:
    for height, rooms in enumerate(FLOORS):
        if room in rooms:
            return height
    raise AssertionError(f"the room {room} has no floor: add it to FLOORS")


def is_module(name: str) -> bool:
    path = SOURCE.parent.joinpath(*name.split("."))
    return name.startswith("gristmill.") and (
        path.with_suffix(".py").exists() or (path / "__init__.py").exists()
    )


def import_statements(node: ast.AST, top: bool) -> Iterator[tuple[ast.Import | ast.ImportFrom, bool]]:
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.Import | ast.ImportFrom):
            yield child, top
        elif isinstance(child, ast.stmt | ast.ExceptHandler | ast.match_case):  # the rest holds no statements
            # What a function or a type checker imports does not run when the module is imported.
            deferred = isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef) or (
                isinstance(child, ast.If)
                and isinstance(child.test, ast.Name)
                and child.test.id == "TYPE_CHECKING"
            )
            yield from import_statements(child, top and not deferred)


@functools.cache
def imports(path: Path) -> tuple[tuple[str, int, bool], ...]:
    """Gives (dotted module, line, whether at the top level) for each import statement."""
    found = []
    for node, top in import_statements(ast.parse(path.read_text()), top=True):
        if isinstance(node, ast.Import):
            found += [(alias.name, node.lineno, top) for alias in node.names]
        else:
            assert node.level == 0, f"{path}:{node.lineno}: relative import"
            module = node.module or ""
            # `from package import module` runs the module; the package's own __init__ is on the way to it anyway.
            whole = [f"{module}.{alias.name}" for alias in node.names]
            modules = [name for name in whole if is_module(name)]
            if len(modules) < len(whole):
                found.append((module, node.lineno, top))
            found += [(name, node.lineno, top) for name in modules]
    return tuple(found)


FILES = sorted(p for p in SOURCE.rglob("*.py") if "demo/hub" not in p.as_posix())


@pytest.mark.parametrize("path", FILES, ids=module_name)
def test_imports_go_downward(path):
    module = module_name(path)
    room = room_of(module)
    for target, line, _ in imports(path):
        if target == "gristmill" or not target.startswith("gristmill."):
            continue
        wanted = room_of(target.removeprefix("gristmill."))
        if wanted != room:
            assert floor_of(wanted) < floor_of(room), f"{path}:{line}: {room} must not import {wanted}"


@pytest.mark.parametrize("path", FILES, ids=module_name)
def test_heavy_libraries_stay_in_their_rooms(path):
    module = module_name(path)
    for target, line, _ in imports(path):
        allowed = HEAVY.get(target.partition(".")[0])
        if allowed is not None:
            rooms = [room for room in allowed if module == room or module.startswith(room + ".")]
            assert rooms, f"{path}:{line}: {module} must not import {target}"


def test_no_circles():
    graph: dict[str, set[str]] = {}
    names = {module_name(path) for path in FILES}
    for path in FILES:
        edges = graph.setdefault(module_name(path), set())
        for target, _, top in imports(path):
            inner = target.removeprefix("gristmill.")
            if top and target != inner and inner in names:
                edges.add(inner)
    done: set[str] = set()

    def visit(node: str, trail: tuple[str, ...]) -> None:
        assert node not in trail, "import circle: " + " -> ".join([*trail[trail.index(node) :], node])
        if node not in done:
            for target in graph[node]:
                visit(target, (*trail, node))
            done.add(node)

    for node in graph:
        visit(node, ())


def test_light_modules_import_nothing_heavy_at_the_top():
    for path in FILES:
        if module_name(path) in LIGHT:
            tops = {target.partition(".")[0] for target, _, top in imports(path) if top}
            assert not tops & set(HEAVY), f"{path} imports {tops & set(HEAVY)} at its top"


def test_no_module_prints():
    """Results go through cli.output, words through logging: nothing else prints."""
    for path in FILES:
        text = path.read_text()
        if "print" in text and not module_name(path).startswith("cli"):
            calls = [node for node in ast.walk(ast.parse(text)) if isinstance(node, ast.Call)]
            assert not any(isinstance(c.func, ast.Name) and c.func.id == "print" for c in calls), path
