"""The invariants, each a function that takes a generated package and asserts."""

from __future__ import annotations

import contextlib
import io
import json
import random
import re
import zipfile
from pathlib import Path

import pytest

from tests.invariants.generate import Made
from tests.support.repairs import snapshot
from wheelfix.base.options import RepairOptions, RootOptions, ScanOptions
from wheelfix.base.values import replace
from wheelfix.cli.main import main
from wheelfix.errors import CannotRepair
from wheelfix.exam.examination import FailedInput
from wheelfix.exam.scan import scan, scan_all
from wheelfix.model import ScanReport, Severity, Verdict
from wheelfix.repairs.repair import repair_wheel
from wheelfix.report.canvas import TextStyle
from wheelfix.report.document import KINDS, render
from wheelfix.report.scans import render_scan

LOAD_TIME = {
    "WF201",
    "WF202",
    "WF203",
    "WF204",
    "WF205",
    "WF301",
    "WF305",
    "WF307",
    "WF309",
    "WF310",
    "WF311",
    "WF314",
    "WF315",
    "WF332",
}
"""Findings about what makes a load, or an import, fail."""
PLAIN = ScanOptions(jobs=1, roots=RootOptions(discover=False))
FILTERS = (
    {"ignore": ("WF301",)},
    {"ignore": ("WF3",)},
    {"select": ("WF305", "WF310")},
    {"select": ("WF1",)},
    {"allow_missing": ("foo*", "bar.dll")},
    {"allow_missing": ("*",)},
)


def agrees_with_itself(report: ScanReport) -> None:
    """A predicted failure means broken; an error about loads means a predicted failure."""
    errors = [finding for finding in report.findings if finding.severity is Severity.ERROR]
    if report.first_failure is not None:
        assert report.verdict is Verdict.BROKEN, report.first_failure
        assert {finding.code for finding in errors} & LOAD_TIME, report.first_failure
    elif any(_is_at_load(finding) for finding in errors):
        raise AssertionError([finding for finding in errors if _is_at_load(finding)])


def _is_at_load(finding: object) -> bool:
    """Whether a finding says that a load fails; a companion that cannot be used fails later."""
    return (finding.code in LOAD_TIME and "error 126" in finding.message) or finding.code in ("WF310", "WF309")


def check_scan(made: Made, folder: Path) -> None:
    """A wheel, with and without filters."""
    wheel = made.wheel(folder)
    report = scan(wheel, PLAIN)
    agrees_with_itself(report)
    for chosen in FILTERS:
        agrees_with_itself(scan(wheel, replace(PLAIN, **chosen)))
    assert scan(wheel, replace(PLAIN, allow_missing=("*",))).verdict is not Verdict.BROKEN or _more_than_missing(report)


def _more_than_missing(report: ScanReport) -> bool:
    missing = {"WF301", "WF302", "WF305", "WF307", "WF403"}
    return any(finding.severity is Severity.ERROR and finding.code not in missing for finding in report.findings)


def check_loudness(made: Made, folder: Path) -> None:
    """What is printed, and how many threads work, changes nothing of what is found; nor does the folder's name."""
    wheel = made.wheel(folder)
    plain = scan(wheel, PLAIN)
    verbose = replace(PLAIN, versions=True, archs=True, signers=True, jobs=3)
    assert _found(scan(wheel, verbose)) == _found(plain)
    moved = made.wheel(folder / "moved to, a folder")
    assert _found(scan(moved, PLAIN)) == _found(plain)
    results = [one for one in scan_all([moved, wheel], replace(PLAIN, jobs=2)) if not isinstance(one, FailedInput)]
    assert [_found(one) for one in results] == [_found(plain)] * 2


def _found(report: ScanReport) -> tuple[object, ...]:
    reported = [(item.severity, item.code, item.subject, item.message) for item in report.findings]
    return report.verdict, report.first_failure, reported


def check_forms(made: Made, folder: Path) -> None:
    """An unpacked wheel, a package folder and an environment are judged like a wheel."""
    wheel = made.wheel(folder)
    unpacked = folder / "unpacked"
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(unpacked)
    verdict = scan(wheel, PLAIN).verdict
    if not any(name.endswith(".data") for name in (path.name for path in unpacked.iterdir())):
        agrees_with_itself(scan(unpacked, PLAIN))
    agrees_with_itself(scan(unpacked / made.name, PLAIN))
    bare = type(made)(made.files, made.name)
    inside = scan(bare.environment(folder / "bare"), PLAIN)
    agrees_with_itself(inside)
    assert (inside.verdict is Verdict.BROKEN) == (verdict is Verdict.BROKEN)
    agrees_with_itself(scan(made.environment(folder / "crowded"), PLAIN))


def check_repair(made: Made, folder: Path, seed: int) -> None:
    """What is proposed can be done; what is written is accepted, with the same options; a second repair has no work."""
    rng = random.Random(seed)
    wheel, root = made.wheel(folder), made.root(folder / "root")
    options = RepairOptions(
        wheel_dir=folder / "out",
        layout=rng.choice(("beside", "beside", "auto")) if made.name == "torch" else "beside",
        exclude=rng.choice(((), (), ("cudnn*",), ("foo.dll",))),
        allow_missing=rng.choice(((), (), ("cudnn*",), ("*",))),
        companions=rng.choice(("required", "required", "none", "all")),
        scan=replace(PLAIN, roots=RootOptions(roots=(root,) if made.roots else (), discover=False)),
    )
    planned = repair_wheel(wheel, options, dry_run=True)
    if planned.faults:
        with pytest.raises(CannotRepair):
            repair_wheel(wheel, options)
        assert not (folder / "out" / wheel.name).exists()
        return
    done = repair_wheel(wheel, options)
    assert [item.target for item in planned.plan.additions] == [item.target for item in done.plan.additions]
    allowed = (*options.allow_missing, *(item.name for item in done.plan.remaining if item.allowed))
    after = scan(done.output, replace(PLAIN, allow_missing=allowed, verify=True))
    agrees_with_itself(after)
    assert after.verdict is not Verdict.BROKEN, [item for item in after.findings if item.severity is Severity.ERROR]
    again = repair_wheel(done.output, replace(options, wheel_dir=folder / "again"))
    assert again.outcome == "unchanged", again.plan.additions


def check_formats(made: Made, folder: Path) -> None:
    """Every kind of report tells the same verdict."""
    report = scan(made.wheel(folder), PLAIN)
    verdict = report.verdict.value
    texts = {kind: render(kind, [report]) for kind in KINDS}
    assert json.loads(texts["json"])["wheels"][0]["verdict"] == verdict
    assert f"wheelfix: {verdict}: " in texts["github"]
    assert re.search(rf"^\| \S+ \| \S+ {verdict} \|", texts["markdown"], re.MULTILINE)
    assert f'class="badge {verdict}"' in texts["html"]
    levels = [result["level"] for run in json.loads(texts["sarif"])["runs"] for result in run["results"]]
    assert ("error" in levels) == (verdict == "broken")
    assert ("<failure" in texts["junit"]) == (verdict == "broken")
    for options in ({}, {"verbose": True}, {"quiet": True}):
        text = render_scan(report, TextStyle(**options))
        assert verdict.upper() in text.splitlines()[0]
        assert options == {"quiet": True} or f"Verdict: {verdict} (" in text


def _main(*words: object) -> int:
    """The exit code of a command, with its output swallowed."""
    with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
        return main([*map(str, words), "--no-config"])


def check_commands(made: Made, folder: Path) -> None:
    """Exit codes depend on what is found and on nothing else; several wheels give the worst of their codes."""
    wheel, good = made.wheel(folder), type(made)({"good/__init__.py": ""}, "good").wheel(folder / "good")
    for level in ("error", "warning"):
        scanning = ("scan", "--no-discover", "--fail-on", level)
        code = _main(*scanning, wheel)
        for loud in ("-v", "-q", "-j1", "-j3", "--format=json", "--format=junit"):
            assert _main(*scanning, wheel, loud) == code, loud
        assert _main(*scanning, wheel, good) == _main(*scanning, good, wheel) == code
    assert _main("scan", "--no-discover", wheel) == (scan(wheel, PLAIN).verdict is Verdict.BROKEN)
    out = folder / "out"
    code = _main("ci", "--no-discover", "--layout", "beside", wheel, "-w", out)
    assert code == (not (out / wheel.name).exists())
    if code == 0:
        assert _main("scan", "--no-discover", out / wheel.name) == 0


def check_lock(made: Made, folder: Path) -> None:
    """A plan that was written down gives the same wheel, byte for byte."""
    wheel, root, lock = made.wheel(folder), made.root(folder / "root"), folder / "plan.json"
    words = ("repair", "--no-discover", "--layout", "beside", *(("--root", root) if made.roots else ()))
    if _main(*words, wheel, "-w", folder / "one", "--lock", lock) == 0:
        assert _main("repair", "--locked", lock, "-w", folder / "two") == 0
        assert (folder / "two" / wheel.name).read_bytes() == (folder / "one" / wheel.name).read_bytes()


def check_installed(made: Made, folder: Path) -> None:
    """A repair in an environment leaves it unbroken, or touches nothing; taking it back leaves what was there."""
    prefix, root = made.environment(folder), made.root(folder / "root")
    before = snapshot(prefix)
    words = ("repair", "--env", prefix, "--package", made.name, "--no-discover")
    words = (*words, *(("--root", root) if made.roots else ()))
    code = _main(*words)
    if code:
        assert snapshot(prefix) == before
        return
    after = scan(prefix, PLAIN)
    agrees_with_itself(after)
    assert after.verdict is not Verdict.BROKEN, after.first_failure
    if snapshot(prefix) != before:
        assert _main("repair", "--env", prefix, "--package", made.name, "--undo") == 0
        assert snapshot(prefix) == before
