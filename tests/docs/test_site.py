"""The site builds without complaint, from what is here, and loads nothing from other hosts."""

import importlib.util
import os
import re
import subprocess
import sys

import pytest

from tests.docs.pages import HERE
from tests.support.tiers import program, require
from wheelfix.rules.registry import all_rules

pytestmark = pytest.mark.docs


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    """The site, built."""
    require(importlib.util.find_spec("material"), "mkdocs-material is not installed (python dev.py docs)")
    folder = tmp_path_factory.mktemp("site")
    command = [sys.executable, "-m", "mkdocs", "build", "--strict", "--quiet", "--site-dir", str(folder)]
    environment = {**os.environ, "NO_MKDOCS_2_WARNING": "1", "http_proxy": "http://localhost:9", "https_proxy": ""}
    done = subprocess.run(command, cwd=HERE, env=environment, capture_output=True, text=True, encoding="utf-8")
    assert done.returncode == 0, done.stdout + done.stderr
    return folder


def test_site(site):
    assert (site / "reference" / "rules" / "WF301.html").is_file()
    for page in site.rglob("*.html"):
        text = page.read_text(encoding="utf-8")
        outside = re.findall(r'<(?:script|img|link|iframe)[^>]+(?:src|href)="(https?://[^"]+)"', text)
        assert outside == [], page
        assert "@import url(http" not in text


def test_search_and_sidebar_work_from_a_disk(site):
    """Browsers refuse to fetch from a disk: the index is a script. And every rule is in the sidebar."""
    index = (site / "search" / "search_index.js").read_text(encoding="utf-8")
    assert index.startswith("var __index = {")
    assert "WF301" in index
    page = (site / "reference" / "rules" / "WF301.html").read_text(encoding="utf-8")
    shown = set(re.findall(r'href="(?:[^"]*/)?(WF\d+)\.html"', page))
    assert {rule.code for rule in all_rules()} - shown <= {"WF301"}  # the page itself is "#" or "./"
    assert '<script src="../../assets/worker.js"' in page


@pytest.mark.browser
@pytest.mark.slow
def test_search_from_a_disk_in_a_browser(site):
    """The page is opened from the disk with a question in its address; the results appear below the search box."""
    address = f"{(site / 'reference' / 'rules' / 'WF301.html').as_uri()}?q=cudnn"
    command = [
        program("chromium", "chromium"),
        "--headless",
        "--no-sandbox",
        "--disable-gpu",
        "--virtual-time-budget=15000",
    ]
    done = subprocess.run(
        [*command, "--dump-dom", address], capture_output=True, text=True, encoding="utf-8", timeout=240, check=False
    )
    assert re.search(r'md-search-result__meta">\d+ matching documents<', done.stdout)
    assert done.stdout.count("md-search-result__item") > 3
