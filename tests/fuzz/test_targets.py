"""The targets of the fuzzer as properties: a few damaged seeds each, and inputs that are made and not damaged."""

from __future__ import annotations

import functools

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from fuzz.seeds import seeds
from fuzz.targets import TARGETS
from fuzz.wheels import PARTS, SLOTS
from tools.forge import forge_dll

corpus = functools.cache(seeds)
SLOW = {"scan", "repair", "error-text", "diagnose", "patterns", "installers", "package-code"}
"""Whole commands, what is measured, and what follows code; the others are readers."""


def few(count: int) -> settings:
    """The same few examples every time: what is found by chance belongs into the fuzzer."""
    return settings(max_examples=count, derandomize=True, deadline=None, suppress_health_check=list(HealthCheck))


def _marks(name: str) -> list[pytest.MarkDecorator]:
    """Those that take longest are for ``dev.py long``: ``dev.py fuzz``, which CI runs, begins with the seeds."""
    long = [pytest.mark.long] if name in ("package-code", "diagnose", "patterns", "error-text") else []
    return [pytest.mark.slow, *long] if name in SLOW else []


@pytest.mark.parametrize("name", [pytest.param(name, marks=_marks(name)) for name in TARGETS])
def test_every_seed(name):
    for data in dict.fromkeys(corpus(name)):
        TARGETS[name](data)


NAMES = st.text(st.characters(codec="ascii", exclude_characters="\0"), min_size=1, max_size=20)
SYMBOLS = st.lists(NAMES | st.integers(1, 0xFFFF), max_size=5, unique=True)


@pytest.mark.slow
@few(50)
@given(st.dictionaries(NAMES, SYMBOLS, max_size=4), st.dictionaries(NAMES, SYMBOLS, max_size=3), SYMBOLS)
def test_images(imports, late, exports):
    TARGETS["image"](forge_dll("a.dll", imports=imports, delay_imports=late, exports=exports))


@pytest.mark.slow
@few(30)
@given(st.text(st.characters(codec="utf-8"), max_size=40), st.sampled_from(["scan", "repair"]))
def test_names_of_members(name, command):
    TARGETS[command](bytes([SLOTS.index("the name of a member")]) + name.encode())


@pytest.mark.slow
@few(30)
@given(st.sampled_from(sorted(PARTS)), st.binary(max_size=200), st.sampled_from(["scan", "repair"]))
def test_parts_that_are_something_else(part, data, command):
    TARGETS[command](bytes([SLOTS.index(part)]) + data)
