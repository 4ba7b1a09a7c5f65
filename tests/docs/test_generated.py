"""What is made from the code is current."""

from __future__ import annotations

import json

import pytest
import yaml

from tests.docs.pages import DOCS, HERE
from tools import make_benchmark_table, make_docs, make_pictures
from wheelfix.cli.main import COMMANDS


def test_pages_are_current():
    stale = make_docs.stale(make_docs.generated())
    assert not stale, f"'python dev.py generate' writes {', '.join(path.as_posix() for path in stale)} anew"


@pytest.mark.parametrize("picture", make_pictures.PICTURES, ids=lambda picture: picture.name)
def test_pictures_are_current(picture):
    svg = (DOCS / "assets" / f"{picture.name}.svg").read_text(encoding="utf-8")
    assert make_pictures.words(svg) == make_pictures.words(make_pictures.draw(picture))
    assert "url(" not in svg.replace("url(#", "")


def test_the_benchmark_table_is_current():
    readme = make_benchmark_table.README.read_text(encoding="utf-8")
    assert make_benchmark_table.current() == readme


def test_a_benchmark_table():
    runs = [
        {"tool": "wheelfix scan", "seconds": 0.5, "cpu": 0.9, "memory_mb": 60.4},
        {"tool": "delvewheel show", "seconds": 6.0, "cpu": 5.9, "memory_mb": 33.0},
    ]
    results = {"machine": "a machine", "command": "python dev.py bench", "tasks": [{"title": "A task", "runs": runs}]}
    text = make_benchmark_table.filled("a\n<!-- benchmarks:start -->\nold\n<!-- benchmarks:end -->\nb\n", results)
    assert text == (
        "a\n<!-- benchmarks:start -->\n## Speed\n\n"
        "Measured on a machine with `python dev.py bench`; repeat it on yours.\n\n**A task**\n\n"
        "| command | time | processor | memory | times wheelfix |\n| --- | --- | --- | --- | --- |\n"
        "| `wheelfix scan` | 0.50 s | 0.90 s | 60 MB |  |\n"
        "| `delvewheel show` | 6.00 s | 5.90 s | 33 MB | 12.0 |\n\n<!-- benchmarks:end -->\nb\n"
    )
    assert json.loads(json.dumps(results)) == results
    assert "Speed" not in make_benchmark_table.filled(text, None)


def test_the_site_lists_every_command():
    site = yaml.safe_load((HERE / "mkdocs.yml").read_text(encoding="utf-8"))
    listed = json.dumps(site["nav"])
    assert [name for name in COMMANDS if f"reference/commands/{name}.md" not in listed] == []
