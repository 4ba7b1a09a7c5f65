"""What distributions are installed with a wheel, and whether they have a DLL."""

from __future__ import annotations

import pytest

from tests.support.views import make_view
from tools.forge import forge_dll
from wheelfix.loader.profile import Profile
from wheelfix.loader.requirements import Requirements
from wheelfix.loader.resolve import resolve
from wheelfix.model import MayComeFrom, Missing, OwnedBy

SITE = "Lib/site-packages/"


def provider(needs: str, *requires: str, **files: str):
    """Who provides a DLL to the extension module of a package with these requirements and this code."""
    code = {f"{SITE}pkg/{name}.py": text for name, text in files.items()}
    view = make_view({f"{SITE}pkg/_ext.pyd": forge_dll("_ext.pyd", imports={needs: ["f"]}), **code})
    (edge,) = (edge for edge in resolve(view, Profile(python=(3, 11)), requires).edges if edge.name == needs)
    return edge.provider


def test_a_requirement_with_its_specifier():
    found = provider("Qt6Core.dll", "PyQt6-Qt6<6.12,>=6.11")
    assert isinstance(found, OwnedBy)
    assert (found.distribution, found.specifier, found.reachable) == ("pyqt6-qt6", "<6.12,>=6.11", True)
    assert found.requirement == "pyqt6-qt6 (<6.12,>=6.11)"


def test_what_requirements_require():
    found = provider("Qt6Core.dll", "PyQt6>=6.2")
    assert isinstance(found, OwnedBy)
    assert (found.distribution, found.via) == ("pyqt6-qt6", ("pyqt6",))


@pytest.mark.parametrize(
    ("specifier", "kind"), [("<=2021.4.0,>=2021.1.1", OwnedBy), (">=2022", Missing), (">=2021", MayComeFrom)]
)
def test_versions_decide(specifier, kind):
    """mkl 2021 has mkl_intel_thread.1.dll, later ones have .2; with >=2021 pip's choice decides."""
    added = "import os, sys\nos.add_dll_directory(os.path.join(sys.prefix, 'Library', 'bin'))\n"
    assert isinstance(provider("mkl_intel_thread.1.dll", f"mkl{specifier}", __init__=added), kind)


def test_a_version_without_it_is_named():
    found = provider("mkl_intel_thread.1.dll", "mkl>=2022")
    assert isinstance(found, Missing)
    assert found.required == ("mkl (>=2022) does not have it, mkl 2021.1.1 to 2021.4.0 does",)


def test_unknown_contents_are_not_an_error():
    found = provider("flux_core.dll", "flux-runtime-of-nobody>=2")
    assert isinstance(found, MayComeFrom)
    assert found.distributions == ("flux-runtime-of-nobody (>=2)",)


def test_the_compilers_runtime_is_not_expected_in_any_distribution():
    assert isinstance(provider("libomp140.x86_64.dll", "flux-runtime-of-nobody"), Missing)


def test_an_import_counts_as_a_requirement():
    found = provider("Qt6Core.dll", __init__="import PyQt6\n")
    assert isinstance(found, OwnedBy | MayComeFrom)
    assert isinstance(provider("Qt6Core.dll", __init__="import json\n"), Missing)


def test_a_name_with_delvewheels_hash_belongs_to_the_folder_that_code_adds():
    name = "foo-0123456789abcdef0123456789abcdef.dll"
    added = "import os\nos.add_dll_directory(os.path.join(os.path.dirname(__file__), '..', 'flux.libs'))\n"
    assert isinstance(provider(name, "flux", __init__=added), MayComeFrom)
    assert isinstance(provider(name, "flux"), Missing)


def test_extras_are_named():
    lines = ('flux>=1; extra == "gpu"', 'numpy; extra == "test"', "six")
    found = Requirements(lines, Profile(python=(3, 11))).direct()
    assert [str(one) for one in found] == ["six", "flux (>=1) with the extra 'gpu'", "numpy with the extra 'test'"]


def test_what_the_distributions_of_extras_require():
    # onnxruntime-gpu's extra cudnn: nvidia-cudnn-cu12 requires nvidia-cublas-cu12.
    found = provider("cublas64_12.dll", 'nvidia-cudnn-cu12~=9.0; extra == "cudnn"')
    assert isinstance(found, MayComeFrom)
    assert "nvidia-cublas-cu12" in found.distributions[0]
    assert "only with the extra 'cudnn'" in found.because
