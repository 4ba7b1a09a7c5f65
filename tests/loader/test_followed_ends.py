"""What the interpreted import of a package leaves behind, for the modules below it."""

from __future__ import annotations

import pytest

from tests.oracle.graph import Dll
from tests.support.views import make_view
from wheelfix.loader.profile import Profile
from wheelfix.loader.resolve import resolve
from wheelfix.loader.view import SITE_PACKAGES
from wheelfix.model import Machine

LOADS = "import ctypes, os\nctypes.CDLL(os.path.join(os.path.dirname(__file__), {}))\n"
DLLS = (
    Dll("pkg/libs/bar.dll", exports=("g",)),
    Dll("pkg/y/bar.dll", exports=("f", "g")),
    Dll("pkg/y/_m.pyd", imports=(("bar.dll", ("f",)),), exports=("f",)),
)


@pytest.mark.parametrize(
    ("code", "expected"),
    [
        pytest.param({}, 0, id="nothing is loaded before"),
        pytest.param({"pkg/y": LOADS.format("os.pardir, 'libs', 'bar.dll'")}, 127, id="the package between loads"),
        pytest.param({"pkg": LOADS.format("'libs', 'bar.dll'")}, 127, id="the outer package loads"),
    ],
)
def test_a_module_meets_what_every_package_above_it_has_loaded(code: dict[str, str], expected: int) -> None:
    """A DLL of the name that is loaded already answers, also where it has no such function."""
    files: dict[str, bytes | str] = {dll.path: dll.forge(Machine.AMD64) for dll in DLLS}
    files |= {f"{folder}/__init__.py": code.get(folder, "") for folder in ("pkg", "pkg/y")}
    view = make_view({f"{SITE_PACKAGES}/{path}": data for path, data in files.items()})
    outcomes = resolve(view, Profile(machine=Machine.AMD64)).outcomes
    (code_of,) = (outcome.code for outcome in outcomes if outcome.event.path.endswith("_m.pyd"))
    assert code_of == expected
