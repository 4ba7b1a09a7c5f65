"""The repair command from end to end on a small wheel: what it does when nobody says otherwise."""

from __future__ import annotations

import json
import re
import shlex
import zipfile

import pytest

from tests.invariants.generate import make
from tests.support.environments import install
from tests.support.tables import named_cases
from tests.support.wheels import build_wheel, library
from tools.example import kepler_cu114, kepler_cu117, write_roots, write_wheel
from tools.forge import forge_dll
from wheelfix.base.options import RootOptions, ScanOptions
from wheelfix.cli.common import root_options
from wheelfix.cli.settings import command_parser
from wheelfix.diagnosis.diagnose import diagnose
from wheelfix.exam.scan import scan
from wheelfix.report.canvas import TextStyle
from wheelfix.report.document import KINDS, render
from wheelfix.report.scans import render_scan

SBOM = "torch-2.7.1+cu117.dist-info/sboms/wheelfix.cdx.json"


@named_cases(
    "options, expected",
    {
        "by-default": ([], True),
        "refused": (["--no-sbom"], False),
    },
)
def test_a_bill_of_materials_unless_told_otherwise(options, expected, tmp_path, run):
    """``--sbom`` and ``--no-sbom`` share one setting; the default was that of the second."""
    story = kepler_cu117()
    wheel = write_wheel(story, tmp_path / "dist")
    roots = [part for root in write_roots(story, tmp_path / "roots").values() for part in ("--root", str(root))]
    out = tmp_path / "out"
    run("repair", wheel, "--no-discover", "--no-config", "-w", out, *roots, *options)
    with zipfile.ZipFile(out / wheel.name) as archive:
        assert (SBOM in archive.namelist()) is expected


COMMAND = re.compile(r"'(wheelfix (?:scan|repair|diagnose|verify|ci|explain|roots)[^']*)'")


def parsed(command: str):
    """What our own parser makes of a command; the placeholders in it are words like any other."""
    _, name, *words = shlex.split(command)
    return command_parser(name).parse_args(words)


def printed(text: str) -> set[str]:
    return {re.sub(r"\s+", " ", found).replace('\\"', '"') for found in COMMAND.findall(text)}


@named_cases("story", {"cuda-11.7": kepler_cu117, "cuda-11.4": kepler_cu114})
def test_what_diagnose_proposes_keeps_every_option(story, tmp_path):
    """It dropped --cuda and --assume, so that the repair which was pasted planned something else."""
    example = story()
    wheel = write_wheel(example, tmp_path)
    named = tuple(write_roots(example, tmp_path / "roots of mine").values())
    toolkits = tuple(path for path in named if "CUDA" in path.parts)
    others = tuple(path for path in named if path not in toolkits)
    options = ScanOptions(
        assume=("nvidia-driver", "vcredist"),
        no_assume=("conda",),
        roots=RootOptions(roots=others, cuda=toolkits, discover=False, search_path=True),
    )
    prefix = install(wheel, tmp_path / "env")
    for target in ({"wheel": wheel}, {"environment": prefix}):
        remedies = diagnose(options=options, **target).remedies
        commands = [part for remedy in remedies for part in remedy.command.split(" && ") if "wheelfix repair" in part]
        assert commands
        for command in commands:
            args = parsed(command)
            assert (args.assume, args.no_assume) == (["nvidia-driver", "vcredist"], ["conda"])
            kept = root_options(args)
            assert (kept.roots, kept.cuda) == (others, toolkits)
            assert kept.search_path
            assert args.paths == [str(wheel)] or args.env == prefix


@pytest.mark.parametrize("seed", range(0, 40, 2))
def test_every_command_in_every_report_can_be_parsed(seed, tmp_path):
    report = scan(make(seed).wheel(tmp_path), ScanOptions(jobs=1, roots=RootOptions(discover=False)))
    texts = [
        render_scan(report, TextStyle(verbose=True)),
        *(render(kind, [report]) for kind in ("markdown", "github")),
    ]
    texts += [finding.hint for finding in report.findings]
    for command in set().union(*map(printed, texts)):
        parsed(command)
    assert set(KINDS) >= {"markdown", "github"}


# ------------------------------------------------------------------------------------------------------------------- ci
# What repair writes, scan and ci accept with the same options.


@pytest.fixture
def ci_dist(tmp_path, monkeypatch):
    """A wheel whose module needs two DLLs of cuDNN, and a folder that has them and what they load by name."""
    monkeypatch.chdir(tmp_path)
    imports = {"python311.dll": ["Py_Initialize"], "cudnn64_8.dll": ["f"], "a.dll": ["f"]}
    module = forge_dll("_x.pyd", imports=imports, exports=["PyInit__x"])
    build_wheel(tmp_path / "dist", "one", files={"one/_x.cp311-win_amd64.pyd": module, "one/__init__.py": ""})
    (tmp_path / "dlls").mkdir()
    for name in ("a.dll", "cudnn64_8.dll"):
        (tmp_path / "dlls" / name).write_bytes(library(name))
    return tmp_path


CI_WHEEL = "one-1.0-cp311-cp311-win_amd64.whl"


def test_a_wheel_that_cannot_be_repaired_is_listed_once_as_what_it_is(ci_dist, run):
    """GitHub, JUnit, Markdown and HTML called it "not readable" and listed it a second time."""
    out = run("ci", "dist", "--no-discover", "--format", "github", "--report=json=out.json", code=1).out
    assert out.splitlines()[-1] == f"wheelfix: broken, not repaired: {CI_WHEEL}"
    document = json.loads((ci_dist / "out.json").read_text(encoding="utf-8"))
    assert [failure["stage"] for failure in document["failures"]] == ["repair"]
    assert (document["summary"]["inputs"], document["summary"]["not_repaired"]) == (1, 1)
