"""One input that finds a mistake of ours costs itself only: the others are reported, in every command and format."""

from __future__ import annotations

import importlib
import json
from typing import TYPE_CHECKING

import jsonschema
import pytest

from tests.support.environments import install
from tests.support.wheels import build_wheel
from wheelfix.cli.main import main
from wheelfix.demo.forge import forge_dll
from wheelfix.errors import Exit
from wheelfix.exam import verify as exam_verify
from wheelfix.report.formats import MACHINE_KINDS, SCAN_KINDS
from wheelfix.rules import registry
from wheelfix.schemas import load_schema

if TYPE_CHECKING:
    from pathlib import Path

    from wheelfix.archive.reader import Archive
    from wheelfix.report.document import Document
    from wheelfix.rules.context import Subject

NAMES = ("alpha", "bad", "omega")


@pytest.fixture
def wheels(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Three wheels; a rule fails on the second as no rule should."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("WHEELFIX_DEBUG", raising=False)
    for name in NAMES:
        module = forge_dll("_x.pyd", imports={"python311.dll": ["Py_Initialize"]}, exports=["PyInit__x"])
        build_wheel(
            tmp_path / "dist", name, "1.0", files={f"{name}/_x.cp311-win_amd64.pyd": module, f"{name}/__init__.py": ""}
        )
    whole = registry.run

    def run(subject: Subject, *rest: object) -> object:
        paths = [*subject.view.images()] if subject.installed else [subject.name]
        if any("bad" in path for path in paths):
            raise ZeroDivisionError("a mistake of ours")
        return whole(subject, *rest)  # type: ignore[arg-type]

    whole_archive = exam_verify.archive_findings

    def run_for_archive(archive: Archive, *rest: object) -> object:
        if "bad" in archive.shown:
            raise ZeroDivisionError("a mistake of ours")
        return whole_archive(archive, *rest)  # type: ignore[arg-type]

    monkeypatch.setattr("wheelfix.exam.examine.run", run)
    monkeypatch.setattr("wheelfix.exam.verify.archive_findings", run_for_archive)
    return tmp_path


def is_told(err: str) -> bool:
    """Whether the text has what a bug report needs."""
    return (
        "ZeroDivisionError: a mistake of ours" in err
        and "in run" in err
        and "Python 3" in err
        and "please report" in err
    )


@pytest.mark.parametrize("jobs", ["1", "4"])
@pytest.mark.parametrize("kind", SCAN_KINDS)
def test_scan(wheels: Path, kind: str, jobs: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["scan", "dist", "--format", kind, "-j", jobs, "--no-discover"]) == Exit.ENVIRONMENT
    told = capsys.readouterr()
    assert is_told(told.err)
    assert "Traceback" not in told.err + told.out
    if kind not in ("github", "sarif", "concise"):  # which have nothing to say about sound wheels
        assert "alpha" in told.out
        assert "omega" in told.out
    if kind == "json":
        document = json.loads(told.out)
        jsonschema.validate(document, load_schema("scan-1"))
        assert [wheel["name"] for wheel in document["wheels"]] == ["alpha", "omega"]
        assert "ZeroDivisionError" in document["failures"][0]["because"]


def test_verify(wheels: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["verify", "dist", "--format", "json"]) == Exit.ENVIRONMENT
    told = capsys.readouterr()
    assert is_told(told.err)
    assert [wheel["name"] for wheel in json.loads(told.out)["wheels"]] == ["alpha", "omega"]


def test_repair(wheels: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["repair", "dist", "--format", "json", "--no-discover"]) == Exit.ENVIRONMENT
    told = capsys.readouterr()
    assert is_told(told.err)
    outcomes = {
        entry["path"].split("/")[-1].split("-")[0]: entry["outcome"] for entry in json.loads(told.out)["wheels"]
    }
    assert outcomes == {"alpha": "unchanged", "bad": "failed", "omega": "unchanged"}
    assert sorted(path.name.split("-")[0] for path in (wheels / "wheelhouse").iterdir()) == ["alpha", "omega"]


def test_ci(wheels: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["ci", "dist", "--format", "json", "--no-discover"]) == Exit.ENVIRONMENT
    told = capsys.readouterr()
    assert is_told(told.err)
    assert [wheel["name"] for wheel in json.loads(told.out)["wheels"]] == ["alpha", "omega"]


@pytest.mark.parametrize("kind", ["text", "json", "markdown"])
def test_diff(wheels: Path, kind: str, capsys: pytest.CaptureFixture[str]) -> None:
    """What could not be read is neither lost nor new."""
    arguments = ["diff", "dist", "dist", "--fail-on-lost", "--format", kind]
    assert main(arguments) == Exit.ENVIRONMENT
    told = capsys.readouterr()
    assert is_told(told.err)
    assert "alpha" in told.out
    assert "omega" in told.out
    if kind == "json":
        document = json.loads(told.out)
        jsonschema.validate(document, load_schema("diff-1"))
        assert document["only_old"] == document["only_new"] == []
        assert [path.split("/")[-1] for path in document["unread"]] == ["bad-1.0-cp311-cp311-win_amd64.whl"]
    else:
        assert "ot compared" in told.out or "NOT COMPARED" in told.out


def test_diff_with_the_only_wheel_unread(wheels: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["diff", "dist/bad-1.0-cp311-cp311-win_amd64.whl", "dist"]) == Exit.ENVIRONMENT
    assert capsys.readouterr().out == ""


def test_environment(wheels: Path, capsys: pytest.CaptureFixture[str]) -> None:
    prefix = wheels / "env"
    for name in NAMES:
        install(wheels / "dist" / f"{name}-1.0-cp311-cp311-win_amd64.whl", prefix)
    (prefix / "python.exe").write_bytes(b"MZ")
    assert main(["scan", str(prefix), "--format", "json", "--no-discover"]) == Exit.ENVIRONMENT
    told = capsys.readouterr()
    assert is_told(told.err)
    assert [wheel["name"] for wheel in json.loads(told.out)["wheels"]] == ["alpha", "omega"]


@pytest.mark.parametrize("kind", ["markdown", "json"])
def test_a_report_that_cannot_be_drawn(
    wheels: Path, kind: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """A renderer that fails on one report draws the others, and names the one."""
    module, function = MACHINE_KINDS[kind]
    whole = getattr(importlib.import_module(module), function)

    def render(document: Document) -> str:
        if any(report.name == "alpha" for report in document.reports):
            raise KeyError("a mistake of ours")
        return str(whole(document))

    monkeypatch.setattr(f"{module}.{function}", render)
    wheels.joinpath("dist", "bad-1.0-cp311-cp311-win_amd64.whl").unlink()
    assert main(["scan", "dist", "--format", kind, "--no-discover"]) == Exit.ENVIRONMENT
    out = capsys.readouterr().out
    assert "omega" in out
    assert "KeyError" in out
