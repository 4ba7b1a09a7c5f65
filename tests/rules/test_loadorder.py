"""A module that loads only after others is a note, which says whether the package's code sees to that."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.rules.subjects import SITE, dll, run, subject
from tests.support.wheels import build_wheel
from wheelfix import scan
from wheelfix.demo.forge import forge_dll
from wheelfix.model import Alone, LoadEvent, LoadOutcome, ScanReport, Verdict

if TYPE_CHECKING:
    from pathlib import Path

FIRST, SECOND = SITE + "pkg/x/_a.pyd", SITE + "pkg/x/_b.pyd"


def outcome(path: str, *, sure: bool) -> LoadOutcome:
    name = path.rpartition("/")[2]
    event = LoadEvent(path, "extension", f"pkg.x.{name.removesuffix('.pyd')}")
    return LoadOutcome(event, alone=Alone(126, (name, "bar.dll"), sure))


def test_modules_with_one_cause_are_one_finding() -> None:
    thing = subject({FIRST: dll(), SECOND: dll()}, events=[outcome(FIRST, sure=False), outcome(SECOND, sure=False)])
    (found,) = run(thing)
    assert (found.code, str(found.severity), found.subject) == ("WF308", "unsure", "pkg/x/_a.pyd")
    assert found.message == (
        "_a.pyd and _b.pyd load only after other modules of the package: in a fresh process they fail with error 126 "
        "(_a.pyd -> bar.dll); whether the package's code always imports those first could not be determined"
    )
    assert found.evidence["modules"] == ["pkg.x._a", "pkg.x._b"]


def test_what_the_code_sees_to_is_said() -> None:
    (found,) = run(subject({FIRST: dll()}, events=[outcome(FIRST, sure=True)]))
    assert str(found.severity) == "info"
    assert found.message.endswith("the package's own code imports those first")


def wheel_of_two(folder: Path, init: str, *, name: str = "mesher") -> ScanReport:
    """A wheel with the packages mesh, which has a DLL, and meshcore, whose module needs it."""
    module = forge_dll("_core.pyd", imports={"meshlib.dll": ["f"]}, exports=["PyInit__core"])
    files = {
        "mesh/__init__.py": init,
        "mesh/meshlib.dll": forge_dll("meshlib.dll", exports=["f"]),
        "meshcore/__init__.py": "from ._core import *\n",
        "meshcore/_core.pyd": module,
    }
    return scan(build_wheel(folder, name, "1.0", "cp311-cp311-win_amd64", files=files))


ADDS = "import os\nos.add_dll_directory(os.path.dirname(__file__))\n"


def test_a_package_that_another_one_prepares(tmp_path: Path) -> None:
    """netgen-mesher was called broken: ``import netgen`` works, ``import pyngcore`` alone does not."""
    report = wheel_of_two(tmp_path, ADDS + "from meshcore import _core\n")
    (found,) = (item for item in report.findings if item.code == "WF327")
    assert (report.verdict, report.first_failure) == (Verdict.RISKY, None)
    assert found.message == (
        "'import meshcore' fails with error 126 (_core.pyd -> meshlib.dll) unless mesh was imported before; mesh "
        "prepares that, and imports meshcore itself"
    )


@pytest.mark.parametrize(
    ("init", "name"),
    [(ADDS, "mesher"), ("import meshcore\n" + ADDS, "mesher"), (ADDS + "import meshcore\n", "meshcore")],
    ids=["nothing imports it", "imported too early", "the package of the distribution's name"],
)
def test_a_package_that_no_other_one_prepares(init: str, name: str, tmp_path: Path) -> None:
    report = wheel_of_two(tmp_path, init, name=name)
    assert report.verdict is Verdict.BROKEN
    assert "WF327" not in [item.code for item in report.findings]
