"""What is made from the code is current."""

import json

import pytest
import yaml

from tests.docs.pages import DOCS, HERE, WRITTEN
from tools import make_benchmark_table, make_docs, make_pictures, make_screenshots
from wheelfix.cli.commands import COMMANDS


def test_pages_are_current():
    stale = make_docs.stale(make_docs.generated())
    assert not stale, f"'python dev.py generate' writes {', '.join(path.as_posix() for path in stale)} again"


@pytest.mark.parametrize("picture", make_pictures.PICTURES, ids=lambda picture: picture.name)
@pytest.mark.slow
def test_pictures_are_current(picture):
    svg = (DOCS / "assets" / f"{picture.name}.svg").read_text(encoding="utf-8")
    assert make_pictures.words(svg) == make_pictures.words(make_pictures.draw(picture))
    assert "url(" not in svg.replace("url(#", "")


def test_screenshots_are_current():
    assert make_screenshots.stale() == [], "'python dev.py generate' takes them again, with Chromium"


def test_a_picture_keeps_its_digest():
    png = (DOCS / "assets" / "report.png").read_bytes()
    assert make_screenshots.shown(png) == make_screenshots.digest()
    assert make_screenshots.shown(b"") == ""


def test_the_benchmark_tables_are_current():
    assert make_benchmark_table.stale() == []


def test_a_benchmark_table():
    runs = [
        {"tool": "wheelfix scan", "seconds": 0.5, "cpu": 0.9, "memory_mb": 60.4},
        {"tool": "delvewheel show", "seconds": 6.0, "cpu": 5.9, "memory_mb": 33.0},
    ]
    growth = [
        {"tool": f"{tool}, {times} x 64 MB", "seconds": seconds * times, "cpu": 1.0, "memory_mb": 1.0}
        for times in (1, 2)
        for tool, seconds in (("wheelfix repair --locked", 0.2), ("cp", 0.1))
    ]
    targets = [
        {"words": "12 times as fast", "value": 12.0, "held": True},
        {"words": "20 MB", "value": 60.4, "held": False},
    ]
    tasks = [
        {"key": "scan", "title": "A task", "runs": runs, "targets": targets},
        {"key": "growth", "title": "Growing", "runs": growth, "targets": []},
    ]
    results = {"machine": "a machine", "command": "python dev.py bench", "tasks": tasks}
    text = make_benchmark_table.overview(results)
    assert "| A task | 0.50 s, 60 MB | 12 × faster than delvewheel show |" in text
    assert "- A task: 20 MB was the aim, 60.4 was measured." in text
    assert "12 times as fast" not in text
    page = make_benchmark_table.page(results)
    assert "Measured on a machine with `python dev.py bench`" in page
    assert text in page
    assert "| delvewheel show | 6.00 s | 5.90 s | 33 MB | 12.00 |" in page
    assert "- held: 12 times as fast: 12.0" in page
    assert make_benchmark_table.plot(results).count("<polyline") == 2


def test_the_site_lists_every_command():
    site = yaml.safe_load((HERE / "mkdocs.yml").read_text(encoding="utf-8"))
    listed = json.dumps(site["nav"])
    assert [name for name in COMMANDS if f"reference/commands/{name}.md" not in listed] == []


def test_one_word_switches_every_command_that_installs():
    for path in make_docs.INSTALLING:
        now = (make_docs.DOCS / path).read_text(encoding="utf-8")
        released = make_docs.installing_from("wheelfix", now)
        assert make_docs.installing_from(make_docs.SOURCE, now) == now
        assert make_docs.installing_from(make_docs.SOURCE, released) == now
        assert released != now
    changed = make_docs.installing_from("wheelfix", 'pip install ".[fetch]"\nuvx --from . wheelfix scan dist\n')
    assert changed == 'pip install "wheelfix[fetch]"\nuvx wheelfix scan dist\n'


def test_nothing_is_installed_that_is_not_on_the_index_yet():
    """``wheelfix[extra]`` works where wheelfix is installed already: pip reads the extra from what is installed."""
    assert make_docs.SOURCE == "."
    for page in WRITTEN:
        for word in ("pip install wheelfix\n", "pipx install wheelfix", "uvx wheelfix", 'requires = ["wheelfix"]'):
            assert word not in page.read_text(encoding="utf-8") or page.name == "CHANGELOG.md", page
