"""What a wheel requires, taken from a package index."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from tests.remote.indexes import index_of
from tests.support.wheels import build_wheel
from wheelfix.archive.reader import Limits
from wheelfix.cli.main import main
from wheelfix.demo.forge import forge_dll
from wheelfix.exam.deps import required_wheels
from wheelfix.loader.profile import Profile
from wheelfix.model import Machine
from wheelfix.remote.client import Client
from wheelfix.remote.remoteoptions import RemoteOptions

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

CODE = b"import os\nos.add_dll_directory(os.path.join(os.path.dirname(__file__), 'bin'))\n"


@pytest.fixture
def subject(tmp_path: Path) -> Path:
    module = forge_dll("_x.pyd", imports={"helper.dll": ["f"]}, exports=["PyInit__x"])
    files = {"demo/__init__.py": b"import helper\nfrom demo import _x\n", "demo/_x.cp311-win_amd64.pyd": module}
    requires = [
        "helper>=1,<3",
        "gone; sys_platform == 'win32'",
        "linux-only; sys_platform == 'linux'",
        "toys; extra == 'x'",
    ]
    return build_wheel(tmp_path / "dist", "demo", "1.0", files=files, requires=requires)


@pytest.fixture(autouse=True)
def index(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    folder = tmp_path / "files"
    helper = {"helper/__init__.py": CODE, "helper/bin/helper.dll": forge_dll("helper.dll", exports=["f"])}
    wheels = [
        build_wheel(folder, "helper", "1.0", "py3-none-win_amd64", {"helper/__init__.py": b""}),
        build_wheel(folder, "helper", "2.0", "py3-none-win_amd64", helper, requires=["deeper[more]==1.*"]),
        build_wheel(folder, "helper", "3.0", "py3-none-win_amd64", {"helper/__init__.py": b""}),
        build_wheel(folder, "deeper", "1.5", "py3-none-any", {}, requires=["deepest; extra == 'more'"]),
        build_wheel(folder, "deepest", "7", "py3-none-any", {}, requires=["helper<2.5"]),
        build_wheel(folder, "toys", "7", "py3-none-any", {}),
    ]
    for name in ("PIP_EXTRA_INDEX_URL", "PIP_FIND_LINKS", "PIP_NO_INDEX"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("PIP_CONFIG_FILE", "/dev/null")
    monkeypatch.setenv("WHEELFIX_CACHE_DIR", str(tmp_path / "cache"))
    with index_of(wheels) as server:
        monkeypatch.setenv("PIP_INDEX_URL", f"{server.url}/simple")
        yield


def test_the_wheels_that_an_installer_adds(subject: Path) -> None:
    with Client(RemoteOptions()) as client:
        found = required_wheels(subject, Profile(Machine.AMD64, (3, 11)), client, Limits())
    assert {name: wheel.name.split("-")[1] for name, wheel in found.wheels.items()} == {
        "helper": "2.0",
        "deeper": "1.5",
        "deepest": "7",
    }
    assert found.absent == ("gone",)


def test_a_wheel_alone_gets_a_certain_verdict(subject: Path, capsys: pytest.CaptureFixture[str]) -> None:
    def verdict(*words: str) -> str:
        main(["scan", str(subject), "--no-discover", "--format", "json", *words])
        (wheel,) = json.loads(capsys.readouterr().out)["wheels"]
        return str(wheel["verdict"])

    assert verdict() == "unsure"
    assert verdict("--deps") == "ok"
    assert main(["scan", str(subject), "--deps", "--offline"]) == 4
