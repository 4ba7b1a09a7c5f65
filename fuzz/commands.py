"""Whole commands on damaged wheels and texts: an error of ours or an answer, and after a repair nothing but its output.

The wheels are those of :mod:`fuzz.wheels`: sound but for one part.
"""

from __future__ import annotations

import contextlib
import functools
import json
import zipfile
from typing import TYPE_CHECKING
from xml.etree import ElementTree

from fuzz.wheels import LACKING, PARTS, SLOTS, Bench, lay_out, scratch
from wheelfix.archive.names import why_unsafe
from wheelfix.base.options import Limits, RepairOptions, RootOptions, ScanOptions
from wheelfix.diagnosis.diagnose import diagnose as diagnose_text
from wheelfix.errors import WheelfixError
from wheelfix.exam.scan import scan as scan_wheel
from wheelfix.exam.verify import verify
from wheelfix.model import Severity
from wheelfix.plan.lock import read_lock, write_lock
from wheelfix.plan.model import plan_from_json
from wheelfix.repairs.repair import repair_wheel, replay
from wheelfix.report.canvas import TextStyle
from wheelfix.report.diagnosis import render_diagnosis
from wheelfix.report.document import KINDS, render
from wheelfix.report.json_ import render as render_document
from wheelfix.report.scans import render_scan

if TYPE_CHECKING:
    from pathlib import Path

    from wheelfix.model import ScanReport

LIMITS = Limits(max_members=2000, max_member_size=1 << 20, max_total=8 << 20, ratio_from=1 << 20)
"""A fuzzer finds bombs quickly; that they are refused is tested elsewhere."""
LOOK = TextStyle(100, unicode=True, verbose=True)


def _options(bench: Bench) -> ScanOptions:
    """Everything that a scan can look at."""
    return ScanOptions(
        verify=True,
        archs=True,
        versions=True,
        signatures=True,
        gpu="sm_86",
        jobs=1,
        roots=RootOptions(roots=(bench.root,), discover=False),
        limits=LIMITS,
    )


def _told(report: ScanReport) -> None:
    """Render a report in every way; documents must be what they claim to be."""
    documents = {kind: render(kind, [report]) for kind in KINDS}
    documents["text"] = render_scan(report, LOOK)
    for kind, text in documents.items():
        if kind in ("json", "sarif"):
            json.loads(text)
        elif kind == "junit":
            ElementTree.fromstring(text)
        if kind != "json" and any(mark in text for mark in ("\x1b", "\x07", "\x9b")):
            raise AssertionError(f"{kind} passes control characters on")


def scan(data: bytes) -> None:
    """scan and verify with every option, in every format."""
    bench = lay_out(data)
    with contextlib.suppress(WheelfixError):
        _told(scan_wheel(bench.wheel, _options(bench)))
    with contextlib.suppress(WheelfixError):
        _told(verify(bench.wheel, _options(bench)))


def repair(data: bytes) -> None:
    """A repair: refuses, or writes one wheel that others find sound; everything else stays as it was."""
    bench = lay_out(data)
    made: Path | None = None
    with contextlib.suppress(WheelfixError):
        made = repair_wheel(bench.wheel, repair_options(bench)).output
    _nothing_else(bench, made)


def repair_options(bench: Bench) -> RepairOptions:
    """Options that put DLLs beside what needs them, and note every hash."""
    return RepairOptions(wheel_dir=bench.out, layout="beside", seal=True, scan=_options(bench))


def _nothing_else(bench: Bench, made: Path | None) -> None:
    """Compare the folder with what may be there: the unchanged inputs, and the output."""
    files = {path for path in bench.folder.rglob("*") if not path.is_dir()}
    expected = {bench.wheel, bench.root / LACKING, *([made] if made is not None else [])}
    if files != expected:
        raise AssertionError(f"files are there or missing: {sorted(map(str, files ^ expected))}")
    if bench.wheel.read_bytes() != bench.data or (bench.root / LACKING).read_bytes() != bench.dll:
        raise AssertionError("the input was changed")
    if made is not None:
        _must_be_sound(bench, made)


def _must_be_sound(bench: Bench, made: Path) -> None:
    """Check what a repair wrote with zipfile and with verify."""
    if made.read_bytes() == bench.data:
        return  # nothing that mattered was wrong, so that it was copied
    with zipfile.ZipFile(made) as archive:
        if (broken := archive.testzip()) is not None:
            raise AssertionError(f"{broken} is broken in the output")
        names = archive.namelist()
        if len(set(names)) < len(names) or any(map(why_unsafe, names)):
            raise AssertionError(f"names in the output: {names}")
        added = [name for name in names if name.endswith("/" + LACKING)]
        if any(archive.read(name) != bench.dll for name in added):
            raise AssertionError("the vendored file is not the one in the root")
    findings = verify(made, _options(bench)).findings
    if errors := [finding for finding in findings if finding.severity is Severity.ERROR]:
        raise AssertionError(f"the output fails verify: {errors[0].code} {errors[0].message}")


def lock(data: bytes) -> None:
    """Lock files: a plan that is read survives being written, and replaying it writes what was planned or nothing."""
    bench = sound()
    path = scratch() / "lock.json"
    path.write_bytes(data)
    made: Path | None = None
    with contextlib.suppress(WheelfixError):
        for plan in read_lock(path):
            if plan_from_json(plan.to_json(), "the plan") != plan:
                raise AssertionError("a plan changes when it is written and read again")
            if plan.layout == "beside":  # the other one starts delvewheel, which takes seconds
                made = replay(plan, repair_options(bench), str(path)).output
    try:
        _nothing_else(bench, made)
    finally:
        for path in bench.out.iterdir():
            path.unlink()


@functools.cache
def sound() -> Bench:
    """The wheel of the targets, as it should be but for one missing DLL."""
    part = next(iter(PARTS))
    return lay_out(bytes([SLOTS.index(part)]) + PARTS[part], "sound")


@functools.cache
def planned() -> bytes:
    """The lock of a repair of that wheel."""
    bench, path = sound(), scratch() / "made.json"
    write_lock([repair_wheel(bench.wheel, repair_options(bench), dry_run=True).plan], path)
    return path.read_bytes()


def diagnose(data: bytes) -> None:
    """diagnose with an error text alone, and with the wheel that it may be about."""
    bench = sound()
    for wheel in (None, bench.wheel):
        with contextlib.suppress(WheelfixError):
            found = diagnose_text(data, wheel=wheel, options=_options(bench))
            json.loads(render_document("diagnosis-1", diagnosis=found))
            text = render_diagnosis(found, LOOK)
            if any(mark in text for mark in ("\x1b", "\x07", "\x9b")):
                raise AssertionError("control characters are passed on")
