"""No pattern of the package takes longer than in proportion to what it reads, for any text."""

from __future__ import annotations

import itertools
import re

import pytest

from fuzz.backtrack import attacks, slow_attack
from fuzz.patterns import Site, sites

pytestmark = pytest.mark.no_cover


@pytest.mark.slow
def test_patterns_of_every_kind_are_found():
    found = {(site.pattern, site.mode) for site in sites()}
    assert (r"[-_.]+", "sub") in found  # passed to re where it stands
    assert {"search", "fullmatch", "finditer"} <= {site.mode for site in sites() if site.where.startswith("wheelfix.")}
    assert ("uv\\.dll", "fullmatch") in found  # of a table
    assert any(site.where == "form torch-load" for site in sites())
    assert any(site.where == "ending network" for site in sites())
    assert any("dynamischer" in str(site.pattern) or "nicht" in str(site.pattern) for site in sites())  # of a sentence
    assert (r"v\d+(\.\d+)*", "fullmatch") in found  # passed on to another function
    assert any("CUDNN_word" in str(site.pattern) for site in sites())  # with a word for what only a call can put in
    assert len(sites()) > 400


@pytest.mark.slow
@pytest.mark.parametrize(
    ("pattern", "mode"),
    [
        (r"^\s*\[+\s*tool\s*\.\s*\"?wheelfix\b", "search"),
        (r"[ \t]*[|][ \t]*$", "sub"),
        (r".+-.+\.dist-info", "fullmatch"),
        (r"nvrtc\S*64_\d+\S*\.dll", "fullmatch"),
    ],
)
def test_the_measure_finds_what_it_is_for(pattern, mode):
    site = Site(pattern, re.MULTILINE, mode, "here")
    assert slow_attack(site, attacks(site), 1000, large=1000)


@pytest.mark.slow
def test_patterns_are_linear_in_a_sample():
    slow = [slow_attack(site, itertools.islice(attacks(site), 0, 400, 23), 1000) for site in sites()]
    assert not list(filter(None, slow))


@pytest.mark.slow
@pytest.mark.long  # `python dev.py fuzz`, which CI runs, has them too
@pytest.mark.parametrize("part", range(32))
def test_patterns_are_linear(part):
    slow = [slow_attack(site, attacks(site)) for site in sites()[part::32]]
    assert not list(filter(None, slow))
