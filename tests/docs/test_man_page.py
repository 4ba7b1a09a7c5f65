"""The manual: whole, and free of what roff would take for its own."""

import argparse
import re
import shutil
import subprocess

import pytest

from tools.man_page import render_man
from wheelfix.cli.settings import whole_parser


@pytest.mark.skipif(shutil.which("groff") is None, reason="no groff is installed")
def test_groff_reads_it_without_a_warning(tmp_path):
    page = tmp_path / "wheelfix.1"
    page.write_text(render_man(), encoding="utf-8")
    result = subprocess.run(
        ["groff", "-man", "-ww", "-Tascii", "-P-c", str(page)], capture_output=True, text=True, timeout=60, check=True
    )
    assert result.stderr == ""
    assert "--fail-on LEVEL" in re.sub(r".\x08", "", result.stdout)


def test_every_option_is_in_it_and_has_help():
    man = render_man()
    for name, parser in whole_parser()[1].items():
        assert f".SS {name}" in man
        for action in parser.actions():
            assert action.help, (name, action.dest)
            for word in action.option_strings if action.help != argparse.SUPPRESS else ():
                assert word.replace("-", "\\-") in man


def test_no_line_begins_as_a_request_by_accident():
    known = {".TH", ".SH", ".SS", ".br", ".B", ".I", ".TP", ".PP", ".nf", ".fi"}
    assert {line.split()[0] for line in render_man().splitlines() if line.startswith(".")} <= known
