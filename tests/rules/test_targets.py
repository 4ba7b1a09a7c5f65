"""``--target``: what kinds of Windows do not have, and the answer for each."""

from __future__ import annotations

from pathlib import Path

import wheelfix
from tests.support.wheels import ALONE, build_wheel
from wheelfix.base.values import replace
from wheelfix.model import Finding, ScanReport, Severity, Verdict

CODES = ("WF323", "WF324", "WF325", "WF326")


def scanned(folder: Path, files: dict[str, bytes | str], *targets: str, **options: object) -> ScanReport:
    wheel = build_wheel(folder, "pkg", "1", files={"pkg/__init__.py": "", **files})
    return wheelfix.scan(wheel, replace(ALONE, targets=targets, **options))


def found(report: ScanReport) -> list[tuple[str, str, Severity]]:
    return [(item.code, item.subject, item.severity) for item in report.findings if item.code in CODES]


def about(report: ScanReport, code: str) -> Finding:
    (item,) = (item for item in report.findings if item.code == code)
    return item


def test_a_module_that_needs_media_foundation_fails_on_windows_n(tmp_path):
    """opencv-python#185: cv2.pyd imports MF.dll, MFPlat.dll and MFReadWrite.dll."""
    data = "imports MFPlat.DLL:MFStartup"
    report = scanned(tmp_path, {"pkg/fast.pyd": data}, "windows-11", "windows-n")
    assert found(report) == [("WF323", "MFPlat.DLL on windows-n", Severity.ERROR)]
    whole, without = report.targets
    assert (whole.verdict, whole.absent, whole.first_failure) == (Verdict.OK, (), None)
    assert (without.verdict, without.absent) == (Verdict.BROKEN, ("MFPlat.DLL",))
    assert without.first_failure.message == (
        "ImportError: DLL load failed while importing fast: The specified module could not be found."
    )
    assert without.first_failure.chain == ("fast.pyd", "MFPlat.DLL")
    assert report.first_failure is None
    assert found(scanned(tmp_path, {"pkg/fast.pyd": data})) == []
    item = about(report, "WF323")
    assert "Media Feature Pack" in item.hint
    assert item.evidence["source"]
    assert item.evidence["date"]


def test_the_need_of_a_dll_that_the_module_imports_counts(tmp_path):
    files = {
        "pkg/fast.pyd": "imports helper.dll:work",
        "pkg/helper.dll": "imports OPENGL32.dll:glClear; exports work",
    }
    report = scanned(tmp_path, files, "server-core-2022")
    failure = report.targets[0].first_failure
    assert failure.chain == ("fast.pyd", "helper.dll", "OPENGL32.dll")


WINDOWS_N = "mfplat.dll on windows-n"


def test_a_dll_that_may_be_missing_is_a_note(tmp_path):
    report = scanned(
        tmp_path, {"pkg/fast.pyd": "imports mfplat.dll:MFStartup"}, "windows-n", allow_missing=("mfplat.dll",)
    )
    assert found(report) == [("WF323", WINDOWS_N, Severity.INFO)]
    assert report.targets[0].verdict is Verdict.OK


def test_a_function_that_is_newer_than_the_target(tmp_path):
    data = "imports KERNEL32.dll:CreateFileW,SetThreadSelectedCpuSetMasks"
    report = scanned(tmp_path, {"pkg/fast.pyd": data}, "windows-10-1809", "windows-11")
    assert found(report) == [("WF324", "KERNEL32.dll on windows-10-1809", Severity.ERROR)]
    assert about(report, "WF324").evidence["symbols"] == ["SetThreadSelectedCpuSetMasks"]
    old, new = report.targets
    assert old.absent == ("KERNEL32.dll!SetThreadSelectedCpuSetMasks",)
    assert old.first_failure.code == 127
    assert new.verdict is Verdict.OK


def test_what_is_not_known_is_said_and_breaks_nothing(tmp_path):
    data = "imports Secur32.dll:GetUserNameExW, IMM32.dll:ImmGetContext"
    report = scanned(tmp_path, {"pkg/fast.pyd": data}, "nano-server")
    assert found(report) == [("WF326", "nano-server", Severity.UNSURE)]
    assert report.targets[0].unknown == ("IMM32.dll", "Secur32.dll")
    assert report.targets[0].verdict is Verdict.UNSURE
    assert report.targets[0].first_failure is None


def test_of_a_dll_that_is_known_in_part_only_the_other_functions_are_doubtful(tmp_path):
    """Nano Server has user32.dll with some of its functions: MessageBoxW is there, because Python imports it."""
    files = {"pkg/fast.pyd": "imports USER32.dll:MessageBoxW, KERNEL32.dll:CloseHandle"}
    assert scanned(tmp_path, files, "nano-server").targets[0].verdict is Verdict.OK
    files["pkg/slow.pyd"] = "imports USER32.dll:MessageBoxW,SetTimer, WINMM.dll:7"
    report = scanned(tmp_path, files, "nano-server")
    item = about(report, "WF326")
    assert "nothing is known about SetTimer of USER32.dll; #7 of WINMM.dll" in item.message
    assert item.evidence["functions"] == {"USER32.dll": ["SetTimer"], "WINMM.dll": ["#7"]}
    assert report.targets[0].unknown == ("USER32.dll!SetTimer", "WINMM.dll!#7")
    assert report.targets[0].verdict is Verdict.UNSURE


def test_a_wheel_that_is_broken_anywhere_is_broken_on_every_target(tmp_path):
    report = scanned(tmp_path, {"pkg/fast.pyd": "imports made-up.dll"}, "windows-11")
    assert report.first_failure is not None
    assert report.targets[0].verdict is Verdict.BROKEN
    assert report.targets[0].first_failure == report.first_failure
