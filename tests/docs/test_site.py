"""The site builds without complaint, from what is here, and loads nothing from other hosts."""

from __future__ import annotations

import importlib.util
import os
import re
import subprocess
import sys

import pytest

from tests.docs.pages import HERE

pytestmark = pytest.mark.skipif(
    importlib.util.find_spec("material") is None, reason="mkdocs-material is not installed (python dev.py docs)"
)


def test_site(tmp_path):
    command = [sys.executable, "-m", "mkdocs", "build", "--strict", "--quiet", "--site-dir", str(tmp_path)]
    environment = {**os.environ, "NO_MKDOCS_2_WARNING": "1", "http_proxy": "http://localhost:9", "https_proxy": ""}
    done = subprocess.run(command, cwd=HERE, env=environment, capture_output=True, text=True, encoding="utf-8")
    assert done.returncode == 0, done.stdout + done.stderr
    assert (tmp_path / "reference" / "rules" / "WF301.html").is_file()
    for page in tmp_path.rglob("*.html"):
        text = page.read_text(encoding="utf-8")
        outside = re.findall(r'<(?:script|img|link|iframe)[^>]+(?:src|href)="(https?://[^"]+)"', text)
        assert outside == [], page
        assert "@import url(http" not in text
