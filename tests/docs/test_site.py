"""The site builds without a warning and reads without a network."""

import os
import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parent.parent.parent
# A proxy that refuses: a build that wanted something from elsewhere would fail.
NO_NETWORK = dict.fromkeys(("http_proxy", "https_proxy", "all_proxy"), "http://127.0.0.1:9")


def test_it_builds_and_is_what_it_should_be(tmp_path):
    # One test: several would have the site built by each of the processes that run tests.
    site = tmp_path / "site"
    command = [sys.executable, "-m", "mkdocs", "build", "--strict", "--quiet", "--site-dir", str(site)]
    environment = {**os.environ, **NO_NETWORK, "NO_MKDOCS_2_WARNING": "1"}
    done = subprocess.run(
        command, check=False, cwd=ROOT, env=environment, capture_output=True, text=True, timeout=120
    )
    assert done.returncode == 0, done.stdout + done.stderr
    loads_nothing_from_elsewhere(site)
    shows_examples_as_code(site)
    has_the_changelog_of_the_project(site)


def loads_nothing_from_elsewhere(site):
    loads = re.compile(
        r"<(?:script|img|iframe)[^>]*\ssrc=\"?https?:|<link[^>]*\shref=\"?https?:|url\(\"?https?:"
    )
    pages = list(site.rglob("*.html"))
    assert len(pages) > 10
    for page in pages:
        assert not loads.search(page.read_text(encoding="utf-8")), page


def shows_examples_as_code(site):
    text = (site / "reference" / "features" / "index.html").read_text(encoding="utf-8")
    assert "Examples:" in text
    assert "&gt;&gt;&gt; </span>" in text


def has_the_changelog_of_the_project(site):
    text = (site / "changelog" / "index.html").read_text(encoding="utf-8")
    newest = re.search(r"^## (\S+)", (ROOT / "CHANGELOG.md").read_text(encoding="utf-8"), re.MULTILINE)
    assert newest
    assert newest[1] in text
