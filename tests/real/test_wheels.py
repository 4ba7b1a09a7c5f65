"""Wheels of many projects, scanned: what wheelfix says about each must be what was found out about it without wheelfix.

The list is ``wheels.toml``; ``python -m tests.real.fetch`` downloads CI's part of it, with ``--all`` the rest.
"""

from __future__ import annotations

import zipfile
from collections import Counter

import pytest

from tests.real.listing import Listed, listed
from tests.support.parts import every
from tests.support.tiers import EVERY_WHEEL, wheel, wheel_at_hand, wheels_folder
from tests.support.wheels import ALONE
from wheelfix.base.options import RepairOptions
from wheelfix.exam.scan import scan
from wheelfix.model import EdgeKind, Severity
from wheelfix.repairs.repair import repair_wheel

pytestmark = pytest.mark.real


def title(entry: Listed) -> str:
    return entry.file.removesuffix(".whl")


AT_HAND = [entry for entry in listed() if entry.in_ci or wheel_at_hand(entry.file)]


def test_the_rest_of_the_list_is_at_hand():
    """One line for all that CI does not download."""
    if len(AT_HAND) < len(listed()):
        lacking = len(listed()) - len(AT_HAND)
        folder = wheels_folder()
        pytest.skip(f"{EVERY_WHEEL}{lacking} of the list are not in {folder} (python -m tests.real.fetch --all)")


@pytest.mark.parametrize("entry", AT_HAND, ids=title)
def test_a_scan_says_what_is_known(entry):
    """And every image is looked at; ``tests/pe/test_real.py`` holds what is read of them against other readers."""
    path = wheel(entry.file)
    report = scan(path, ALONE)  # no roots of this machine may help
    with zipfile.ZipFile(path) as archive:
        named = {name for name in archive.namelist() if name.lower().endswith((".dll", ".pyd", ".exe"))}
    assert named <= {image.path for image in report.images}
    loud = {finding.code for finding in report.findings if finding.severity is not Severity.INFO}
    notes = {finding.code for finding in report.findings if finding.severity is Severity.INFO}
    missing = {item.name for item in report.missing if item.kind is EdgeKind.IMPORT}
    assert (report.verdict.value, loud) == (entry.verdict, set(entry.findings)), entry.why
    assert missing == set(entry.missing), entry.why
    assert set(entry.notes) <= notes, entry.why
    assert (report.first_failure.message if report.first_failure else "") == entry.failure, entry.why


SMALL = [entry for entry in AT_HAND if not wheel_at_hand(entry.file) or wheel(entry.file).stat().st_size < 32 << 20]


@pytest.mark.parametrize("entry", every(3, SMALL), ids=title)
def test_a_repair_without_roots_changes_nothing_but_wrong_records(entry):
    """What a plan adds by itself are second copies of DLLs that a wheel has already: none of these needs one."""
    options = RepairOptions(trust_record=True, scan=ALONE)
    plan = repair_wheel(wheel(entry.file), options, dry_run=True).plan
    assert (plan.additions, plan.drops, plan.renames) == ((), (), ())
    assert {mend.code for mend in plan.mends} >= {code for code in entry.findings if code < "WF2"}
    assert bool(plan.mends) == any(code < "WF2" for code in entry.findings)


# ----------------------------------------------------------------------------------------------- the list itself


def test_the_list_is_long_varied_and_says_why():
    projects = {entry.project for entry in listed()}
    platforms = Counter(entry.tags[2] for entry in listed())
    assert len(projects) >= 100
    assert len({entry.project for entry in listed() if entry.in_ci}) >= 40
    assert {"win_amd64", "win32", "win_arm64", "any"} == set(platforms)
    assert min(platforms.values()) >= 3
    assert len({entry.file for entry in listed()}) == len(listed())
    for entry in listed():
        assert len(entry.why) > 10, entry.file
        assert entry.verdict == ("ok" if not entry.findings else entry.verdict), entry.file
        assert bool(entry.failure) <= (entry.verdict == "broken"), entry.file
        explained = {"WF301", "WF205"} & {*entry.findings, *entry.notes}
        assert explained or not entry.missing, f"{entry.file} lacks DLLs, and no finding says so"
