"""Every example in the documentation runs: Python blocks of a page in one namespace, `$ gristmill` lines in the process."""

import doctest
import shlex
import textwrap
from collections.abc import Iterator
from pathlib import Path

import pytest

from gristmill import config
from gristmill.cli.main import main
from tools.doc_blocks import Block, code_blocks, console_commands

ROOT = Path(__file__).parent.parent.parent
DOCS = ROOT / "docs"
HUB = ROOT / "src" / "gristmill" / "demo" / "hub"
PAGES = [ROOT / "README.md", *sorted(DOCS.rglob("*.md"))]
OPTIONS = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE
PYTHON, CONSOLE = {"python", "py"}, {"console", "sh"}


def page_id(path: Path) -> str:
    return path.relative_to(ROOT).as_posix()


@pytest.fixture(scope="module")
def hub() -> Iterator[str]:
    """The demo Hub on a free port of this machine."""
    from gristmill.hub.server import serve_in_thread

    with serve_in_thread(HUB) as endpoint:
        yield endpoint


@pytest.fixture
def home(hub, tmp_path, monkeypatch):
    """An empty home and working folder, and the demo Hub as the only one there is."""
    cache = tmp_path / "home" / "huggingface"
    monkeypatch.setenv("HF_HOME", str(cache))
    monkeypatch.setenv("HF_ENDPOINT", hub)
    monkeypatch.delenv("HF_TOKEN", raising=False)
    work = tmp_path / "work"
    work.mkdir()
    monkeypatch.chdir(work)
    settings = {
        "HF_ENDPOINT": hub,
        "HF_CACHE_HOME": cache,
        "HF_HUB_CACHE": cache / "hub",
        "HF_DATASETS_CACHE": cache / "datasets",
        "DOWNLOADED_DATASETS_PATH": cache / "datasets" / "downloads",
        "EXTRACTED_DATASETS_PATH": cache / "datasets" / "downloads" / "extracted",
    }
    with config.override(**settings):
        yield work


def run_python(block: Block, namespace: dict[str, object], path: Path) -> None:
    if ">>>" in block.text:
        name = f"{page_id(path)}, line {block.line}"
        test = doctest.DocTestParser().get_doctest(
            textwrap.dedent(block.text), namespace, name, str(path), block.line - 1
        )
        test.globs = namespace  # the parser copies it; names go on to the next block
        report: list[str] = []
        doctest.DocTestRunner(optionflags=OPTIONS).run(test, out=report.append, clear_globs=False)
        assert not report, "".join(report)
    else:
        # Line numbers of an error are those of the page.
        exec(compile("\n" * (block.line - 1) + block.text, str(path), "exec"), namespace)


def run_console(block: Block, capsys: pytest.CaptureFixture[str]) -> None:
    for command in console_commands(block.text):
        words = shlex.split(command.line, comments=True)
        if words[:1] != ["gristmill"]:
            continue
        capsys.readouterr()
        status = main(words[1:])
        shown = capsys.readouterr()
        assert status == 0, f"$ {command.line}\n{shown.err}"
        if command.output.strip():
            same = doctest.OutputChecker().check_output(command.output, shown.out, OPTIONS)
            assert same, f"$ {command.line}\nshown in the page:\n{command.output}\nprinted:\n{shown.out}"


def runs(page: Path) -> bool:
    return any(
        block.language in PYTHON | CONSOLE and not block.reason for block in code_blocks(page.read_text())
    )


@pytest.mark.parametrize("path", [page for page in PAGES if runs(page)], ids=page_id)
def test_page(path, home, capsys):
    namespace: dict[str, object] = {"__name__": "__main__"}
    for block in code_blocks(path.read_text(encoding="utf-8")):
        if block.reason:
            continue
        if block.language in PYTHON:
            run_python(block, namespace, path)
        elif block.language in CONSOLE:
            run_console(block, capsys)


@pytest.mark.parametrize("path", PAGES, ids=page_id)
def test_blocks_name_their_language(path):
    for block in code_blocks(path.read_text(encoding="utf-8")):
        assert block.language, (
            f"{page_id(path)}, line {block.line}: name the language of this block (text, if none)"
        )
