"""Real signatures: trusted where LIEF and osslsigncode find them good; and no forged one is.

A sample; ``python -m tests.real.forging`` is the whole of it.
"""

from __future__ import annotations

import itertools
import random

import pytest

from tests.real.forging import FORGERIES, Osslsigncode, compare, forge, seeds_of, signed_dlls
from tests.support.tiers import absent, require, wheels_folder

pytestmark = pytest.mark.real
FILES, FORGED = 60, 1200
LARGEST = 1 << 20

# Of 873 signed files in 125 wheels these are not trusted. Each reason was looked at by hand.
KNOWN = {
    "fiona.libs/msvcp140-80cac3ebc22ff38cfcdee60334932058.dll": "untrusted-root",  # without its issuer's certificate
}


@pytest.fixture(scope="module")
def files() -> list[tuple[str, bytes]]:
    wheels = sorted(wheels_folder().glob("*.whl"))
    require(wheels, f"no wheels in {wheels_folder()}")
    random.Random(1).shuffle(wheels)
    # A few of each wheel, so that there are many signers.
    found = [file for wheel in wheels for file in itertools.islice(signed_dlls(LARGEST, [wheel]), 6)]
    require(found, f"no signed DLLs in {wheels_folder()}")
    return found[:FILES]


def test_others_say_the_same(files: list[tuple[str, bytes]]) -> None:
    if Osslsigncode().program is None:
        absent("osslsigncode is not installed")
    found = compare(iter(files), every=3)
    assert found.files == len(files)
    assert [line for line in found.disagreements if not any(name in line for name in KNOWN)] == []
    assert found.answers["trusted"] >= found.files - len(KNOWN)


def test_no_forgery_is_trusted(files: list[tuple[str, bytes]]) -> None:
    seeds = seeds_of([(name, file) for name, file in files if len(file) < 200_000])
    require(seeds, "no small signed DLLs")
    tally = forge(seeds, FORGED, seed=1)
    assert tally.accepted == tally.disagreed == []
    assert set(tally.tried) == set(FORGERIES)
    assert tally.tried.total() == FORGED
    assert tally.statuses["trusted"] == sum(tally.harmless.values()) > 0  # such as another checksum
