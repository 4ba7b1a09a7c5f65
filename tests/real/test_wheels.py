"""Wheels of many projects, scanned: what wheelfix says about each must be what was found out about it without wheelfix.

The list is ``wheels.toml``; ``python -m tests.real.fetch`` downloads CI's part of it, with ``--all`` the rest.
"""

from __future__ import annotations

import zipfile
from collections import Counter
from typing import TYPE_CHECKING, Any

import pytest

from tests.real.listing import Listed, listed
from tests.support.tiers import EVERY_WHEEL, wheel, wheel_at_hand, wheels_folder
from wheelfix.base.options import RepairOptions, RootOptions, ScanOptions
from wheelfix.exam.scan import scan
from wheelfix.model import EdgeKind, Image, Severity
from wheelfix.repairs.repair import repair_wheel

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.real

SECOND_READER = (
    *("mkl-2025.3.0", "torch-2.4.0", "intel_openmp-2023.2.0", "nvidia_cuda_cupti_cu11-11.7.101", "tables-3.11.1"),
    *("numpy-2.4.6-cp311-cp311-win32", "cryptography-46.0.3-cp311-abi3-win_arm64", "PyQt5-5.15.11", "pywin32-312"),
    *("shapely-2.2.0", "h5py-3.16.0", "torchaudio-2.7.1", "gmpy2-2.3.2", "sounddevice-0.5.6", "ninja-1.13.2"),
    *("tokenizers-0.23.3", "markupsafe-3.0.3-cp313-cp313t"),
)
"""The beginnings of wheels whose import tables are read by LIEF as well: small ones, and those with a story."""


def title(entry: Listed) -> str:
    return entry.file.removesuffix(".whl")


def scan_bare(path: Path) -> Any:
    """Scan with nothing but the wheel: no roots of this machine may help."""
    return scan(path, ScanOptions(roots=RootOptions(discover=False)))


AT_HAND = [entry for entry in listed() if entry.in_ci or wheel_at_hand(entry.file)]


def test_the_rest_of_the_list_is_at_hand() -> None:
    """One line for all that CI does not download."""
    if len(AT_HAND) < len(listed()):
        lacking = len(listed()) - len(AT_HAND)
        folder = wheels_folder()
        pytest.skip(f"{EVERY_WHEEL}{lacking} of the list are not in {folder} (python -m tests.real.fetch --all)")


@pytest.mark.parametrize("entry", AT_HAND, ids=title)
def test_a_scan_says_what_is_known(entry: Listed) -> None:
    report = scan_bare(wheel(entry.file))
    loud = {finding.code for finding in report.findings if finding.severity is not Severity.INFO}
    notes = {finding.code for finding in report.findings if finding.severity is Severity.INFO}
    missing = {item.name for item in report.missing if item.kind is EdgeKind.IMPORT}
    assert (report.verdict.value, loud) == (entry.verdict, set(entry.findings)), entry.why
    assert missing == set(entry.missing), entry.why
    assert set(entry.notes) <= notes, entry.why
    assert (report.first_failure.message if report.first_failure else "") == entry.failure, entry.why


SMALL = [entry for entry in AT_HAND if not wheel_at_hand(entry.file) or wheel(entry.file).stat().st_size < 32 << 20]


@pytest.mark.parametrize("entry", SMALL, ids=title)
def test_a_repair_without_roots_changes_nothing_but_wrong_records(entry: Listed) -> None:
    """What a plan adds by itself are second copies of DLLs that a wheel has already: none of these needs one."""
    options = RepairOptions(trust_record=True, scan=ScanOptions(roots=RootOptions(discover=False)))
    plan = repair_wheel(wheel(entry.file), options, dry_run=True).plan
    assert (plan.additions, plan.drops, plan.renames) == ((), (), ())
    assert {mend.code for mend in plan.mends} >= {code for code in entry.findings if code < "WF2"}
    assert bool(plan.mends) == any(code < "WF2" for code in entry.findings)


@pytest.mark.parametrize("entry", [one for one in AT_HAND if one.file.startswith(SECOND_READER)], ids=title)
def test_a_second_reader_sees_the_same_imports(entry: Listed, tmp_path: Path) -> None:
    """Every image of the wheel, names of imported and delay-loaded DLLs in table order, against LIEF."""
    lief = pytest.importorskip("lief")
    lief.logging.disable()
    path = wheel(entry.file)
    ours = {image.path: image.facts for image in scan_bare(path).images}
    with zipfile.ZipFile(path) as archive:
        named = [name for name in archive.namelist() if name.lower().endswith((".dll", ".pyd", ".exe"))]
        assert set(named) <= set(ours)
        for name in named:
            theirs = read_with_lief(lief, archive, name, tmp_path / "image")
            facts = ours[name]
            assert isinstance(facts, Image), name
            assert [item.dll for item in facts.imports] == [str(item.name) for item in theirs.imports], name
            assert [item.dll for item in facts.delay_imports] == [str(item.name) for item in theirs.delay_imports], name


def read_with_lief(lief: Any, archive: zipfile.ZipFile, name: str, place: Path) -> Any:
    with archive.open(name) as packed, place.open("wb") as file:
        while block := packed.read(1 << 20):
            file.write(block)
    config = lief.PE.ParserConfig()
    for part in ("exceptions", "reloc", "rsrc", "signature", "arm64x_binary", "exports"):
        setattr(config, f"parse_{part}", False)
    return lief.PE.parse(str(place), config)


# ----------------------------------------------------------------------------------------------- the list itself


def test_the_list_is_long_varied_and_says_why() -> None:
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
