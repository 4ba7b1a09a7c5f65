"""The whole command under Wine with a Windows Python: one wheel that works and two that do not."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.support.tiers import unavailable
from tests.support.wheels import build_wheel
from wheelfix.cli.main import main
from wheelfix.demo.forge import forge_dll
from wheelfix.errors import WheelfixError
from wheelfix.model import Machine
from wheelfix.trial.wine import find_wine

if TYPE_CHECKING:
    from collections.abc import Mapping

LOADS = "import ctypes, os\nctypes.CDLL(os.path.join(os.path.dirname(__file__), 'helper.dll'))\n"


def write(folder: Path, name: str, files: Mapping[str, bytes | str]) -> str:
    return str(build_wheel(folder, name, "1.0", files=files))


@pytest.mark.wine_x64
@pytest.mark.slow
def test_wheels_are_imported_as_predicted(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    try:
        find_wine(None, Machine.AMD64)
    except WheelfixError as error:
        unavailable(str(error))
    needs = forge_dll("_m.pyd", imports={"KERNEL32.dll": ["Sleep"], "helper.dll": ["call"]}, exports=["PyInit__m"])
    wheels = [
        write(
            tmp_path, "good", {"good/__init__.py": LOADS, "good/helper.dll": forge_dll("helper.dll", exports=["call"])}
        ),
        write(tmp_path, "bad", {"bad/__init__.py": "from . import _m\n", "bad/_m.cp311-win_amd64.pyd": needs}),
        write(tmp_path, "code", {"code_/__init__.py": LOADS}),
    ]
    before = leftovers()
    assert main(["try", *wheels, "--format", "json"]) == 1
    document = json.loads(capsys.readouterr().out)
    rows = {
        (wheel["name"], one["module"]): (one["agreement"], one["observed"])
        for wheel in document["wheels"]
        for one in wheel["modules"]
    }
    assert rows["good", "good"][0] == "agrees"
    assert {"path": "good/helper.dll", "where": "package"} in rows["good", "good"][1]["loaded"]
    assert rows["bad", "bad"][0] == "agrees"
    assert rows["bad", "bad"][1]["missing"] == [{"dll": "helper.dll", "needed_by": "_m.cp311-win_amd64.pyd"}]
    assert rows["code", "code_"][0] == "agrees"
    assert leftovers() == before


def leftovers() -> tuple[set[str], int]:
    """What a run could leave: folders of Wine's server, and processes of a private prefix."""
    sockets = Path(f"/tmp/.wine-{os.getuid()}")
    listing = subprocess.run(["ps", "-eo", "args"], capture_output=True, text=True, check=True).stdout
    return {path.name for path in sockets.glob("*")}, sum("T:\\Python" in line for line in listing.splitlines())
