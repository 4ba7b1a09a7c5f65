"""What the distributions in Requires-Dist bring, and what they do not."""

from __future__ import annotations

import pytest

from tests.support.tables import grouped, named_cases, read_table
from tests.support.views import make_view
from tests.support.wheels import ALONE, build_wheel, needing
from wheelfix.base.options import ScanOptions
from wheelfix.exam.scan import scan
from wheelfix.loader.followed import FollowedImports
from wheelfix.loader.profile import Profile
from wheelfix.loader.requirements import Requirements
from wheelfix.loader.resolve import resolve
from wheelfix.model import (
    Machine,
    MayComeFrom,
    Missing,
    OwnedBy,
    Provider,
    PythonRuntime,
    VcRedist,
    Verdict,
)

SITE = "Lib/site-packages/"


@named_cases(
    "line, expected",
    {
        "windows": ('mkl>=2021.1.1,<=2021.4.0; platform_system == "Windows"', {"mkl"}),
        "extra": ('nvidia-cudnn-cu13~=9.0; extra == "cudnn"', set()),
        "machine": ('tbb; sys_platform == "win32" and platform_machine != "ARM64"', {"tbb"}),
        "old-brackets": ("Odd_Name (>=1)", {"odd-name"}),
        "no-requirement": ("odd name ???", {"odd"}),
    },
)
def test_only_what_an_installer_brings_on_windows_counts(line, expected):
    required = Requirements((line,), Profile(python=(3, 11)))
    names = ("intel-openmp", "mkl", "nvidia-cudnn-cu12", "nvidia-cudnn-cu13", "tbb", "x", "odd-name", "odd")
    assert {name for name in names if name in required} == expected


def test_markers_see_the_target_and_not_this_machine():
    line = ('tbb; platform_machine == "ARM64" and python_version >= "3.12"',)
    assert "tbb" in Requirements(line, Profile(machine=Machine.ARM64, python=(3, 12)))
    assert "tbb" not in Requirements(line, Profile(machine=Machine.AMD64, python=(3, 12)))


def provider(
    name: str,
    requires: tuple[str, ...] = (),
    code: str = "from . import _core\n",
    files: dict[str, bytes | str] | None = None,
    deleted: dict[str, str] | None = None,
) -> Provider:
    """Where the DLL that an extension module of a package needs comes from."""
    own = {"pkg/__init__.py": code, "pkg/_core.pyd": f"imports {name}", **(files or {})}
    view = make_view({SITE + path: data for path, data in own.items()})
    view.deleted = deleted or {}
    edges = resolve(view, Profile(python=(3, 11)), requires).edges
    (found,) = (edge.provider for edge in edges if edge.name == name)
    return found


CASES = {name: row for name, _, row in grouped(read_table(__file__, "evidence.toml"))}
MANGLED = "fmt-450cb758114ce857a00a619d174671f2.dll"
THEN = "from . import _core\n"


@named_cases("case", CASES)
def test_who_provides_a_dll(case):
    found = provider(case["needs"], tuple(case.get("requires", ())), case.get("code", THEN), case.get("files"))
    assert type(found).__name__ == case["by"]


def test_what_the_extras_of_a_requirement_bring_is_not_known():
    """A wheel that requires ``onnxruntime-gpu[cuda]`` was called broken for cublas64_12.dll."""
    found = provider("frobnicate.dll", ("uvicorn[standard]",))
    assert isinstance(found, MayComeFrom)
    assert found.distributions == ("uvicorn[standard]",)


def test_a_distribution_that_has_a_dll_comes_before_those_of_which_nothing_is_known():
    """executorch imports torch without requiring it; kgb and expecttest, which it requires, were named instead."""
    code = "def load():\n    import torch\n    import torchgen\n    from pkg import _core\n"
    found = provider("c10.dll", ("frobnicate-core==1.0",), "", {"pkg/ops.py": code})
    assert isinstance(found, MayComeFrom)
    assert found.distributions == ("torch",)


def test_record_comes_before_every_distribution():
    found = provider("c10.dll", ("torch",), "import torch\n", deleted={"c10.dll": "pkg/c10.dll"})
    assert isinstance(found, Missing)
    assert found.deleted == "pkg/c10.dll"


def test_a_dll_of_a_feature_of_windows_that_users_turn_on():
    """hyperlight-sandbox needs winhvplatform.dll, which only Windows itself can have."""
    (edge,) = resolve(
        make_view({f"{SITE}pkg/_core.pyd": "imports winhvplatform.dll:WHvGetCapability"}), Profile(python=(3, 11))
    ).edges
    assert isinstance(edge.provider, MayComeFrom)
    assert edge.provider.distributions == ("Windows Hypervisor Platform",)


def test_a_required_distribution_of_which_some_versions_have_a_dll_is_not_called_unrequired():
    """geode-hybrid-geosciences imports opengeode_inspector, and requires it; its newest versions have no such DLL."""
    name = "OpenGeode-Inspector_inspector.dll"
    files = {
        f"{SITE}pkg/__init__.py": "import opengeode_inspector\nfrom . import _core\n",
        f"{SITE}pkg/_core.pyd": f"imports {name}",
    }
    (edge,) = resolve(make_view(files), Profile(), ("opengeode-inspector==6.*,>=6.8.4",)).edges
    assert isinstance(edge.provider, MayComeFrom)
    assert " has it, " in edge.provider.because
    assert "not required" not in edge.provider.because


ROOT_MODULE = "imports Qt5Core.dll"


@named_cases(
    "files, requires, expected",
    {
        "nothing imports it": ({"_plot.pyd": ROOT_MODULE}, "PyQt5", MayComeFrom),
        "code imports it": ({"_plot.pyd": ROOT_MODULE, "plot.py": "import PyQt5\nimport _plot\n"}, "PyQt5", OwnedBy),
        "within a package": ({"plot/_plot.pyd": ROOT_MODULE}, "PyQt5", MayComeFrom),
        "compiled": ({"plot/_plot.pyd": ROOT_MODULE, "plot/__init__.pyc": b""}, "PyQt5", OwnedBy),
        "when Python starts": (
            {"_plot.pyd": "imports pywintypes311.dll"},
            "pywin32",
            OwnedBy,
        ),
        "torch": ({"_plot.pyd": "imports c10.dll"}, "torch", MayComeFrom),
    },
)
def test_a_module_that_needs_the_import_of_another_distribution_first(files, requires, expected):
    """QCustomPlot_PyQt5 is one file: ``import QCustomPlot_PyQt5`` fails with 126 unless PyQt5 was imported before."""
    view = make_view({SITE + path: data for path, data in files.items()})
    (edge,) = resolve(view, Profile(python=(3, 11)), (requires,)).edges
    assert isinstance(edge.provider, expected)
    if expected is MayComeFrom:
        assert edge.provider.because.startswith(f"importing {requires} ")
        assert edge.provider.because.endswith("and the wheel has no Python code that does so before the load")


def test_a_module_whose_name_is_in_that_of_a_required_distribution():
    """python-can-cvector imports ``can``, which python-can has: there is no need to speak of a distribution can."""
    files = {
        f"{SITE}canpkg/__init__.py": "import frobcan\nfrom . import _core\n",
        f"{SITE}canpkg/_core.pyd": "imports frobnicate.dll",
    }
    (edge,) = resolve(make_view(files), Profile(), ("python-frobcan==4.*",)).edges
    assert edge.provider.distributions == ("python-frobcan (==4.*)",)
    (edge,) = resolve(make_view(files), Profile(), ("python-frobcanner==4.*",)).edges
    assert edge.provider.distributions == ("python-frobcanner (==4.*)",), "a module's name is not a distribution"


@pytest.mark.parametrize(
    "name, python, expected",
    [
        ("msvcp140.dll", (3, 11), VcRedist),
        ("msvcr100.dll", (3, 11), Missing),
        ("msvcp110.dll", (3, 11), Missing),
        ("msvcr120.dll", (3, 11), Missing),
        ("msvcr100.dll", (3, 4), PythonRuntime),
        ("msvcr90.dll", (2, 7), PythonRuntime),
        ("vcruntime140.dll", (3, 11), PythonRuntime),
    ],
)
def test_each_year_has_a_runtime_of_its_own(name, python, expected):
    files = {f"{SITE}pkg/_core.pyd": f"imports {name}"}
    (edge,) = resolve(make_view(files), Profile(python=python)).edges
    assert isinstance(edge.provider, expected)
    assumed = Profile(python=python, assume=frozenset({"vcredist", "vcredist-10", "vcredist-11", "vcredist-12"}))
    (edge,) = resolve(make_view(files), assumed).edges
    assert isinstance(edge.provider, VcRedist | PythonRuntime)


LATER = """
def interface(
    kind="dense",
):
    # cvxpy 1.9.3 has imports of modules that it dropped in functions

    import pkg.gone

class Reader:
    async def read(self):
        from .gone import read

if typing.TYPE_CHECKING:
    from .gone import Type
"""


def test_an_import_is_not_followed_for_what_it_does_not_run(tmp_path, monkeypatch):
    followed = []
    original = FollowedImports.of
    monkeypatch.setattr(FollowedImports, "of", lambda *args: followed.append(args[1]) or original(*args))
    wheel = build_wheel(tmp_path, "pkg", "1.0", "py3-none-win_amd64", files={"pkg/__init__.py": LATER})
    assert (scan(wheel).verdict, followed) == (Verdict.OK, [])
    wheel = build_wheel(tmp_path, files={"pkg/__init__.py": "import pkg.gone\n"})
    scan(wheel)
    assert followed == ["pkg"]


@pytest.mark.parametrize("caught, follows", [("ImportError", 0), ("OSError", 1)])
def test_no_import_is_followed_for_a_name_that_the_code_does_without(tmp_path, monkeypatch, caught, follows):
    """SciPy imports ``_distributor_init_local`` in a ``try``; its ``__init__`` defines names that it does not spell."""
    code = f"def f():\n    return globals()\n\ntry:\n    from . import _local\nexcept {caught}:\n    pass\n"
    files = {"pkg/__init__.py": code, "pkg/_c.cp311-win_amd64.pyd": ""}
    followed, follow = [], FollowedImports._follow
    monkeypatch.setattr(FollowedImports, "_follow", lambda self, top: followed.append(top) or follow(self, top))
    report = scan(build_wheel(tmp_path, files=files))
    assert len({*followed}) == follows
    assert (report.verdict is Verdict.BROKEN) == bool(follows)


def test_a_requirement_with_its_specifier():
    found = provider("Qt6Core.dll", ("PyQt6-Qt6<6.12,>=6.11",), "import PyQt6\n" + THEN)
    assert isinstance(found, OwnedBy)
    assert (found.distribution, found.specifier, found.reachable) == ("pyqt6-qt6", "<6.12,>=6.11", True)
    assert found.requirement == "pyqt6-qt6 (<6.12,>=6.11)"
    found = provider("Qt6Core.dll", ("PyQt6>=6.2",), "import PyQt6\n" + THEN)
    assert isinstance(found, OwnedBy)
    assert (found.distribution, found.via) == ("pyqt6-qt6", ("pyqt6",))


LIBRARY_BIN = "import os, sys\nos.add_dll_directory(os.path.join(sys.prefix, 'Library', 'bin'))\n"


@pytest.mark.parametrize(
    "specifier, kind", [("<=2021.4.0,>=2021.1.1", OwnedBy), (">=2022", Missing), (">=2021", MayComeFrom)]
)
def test_versions_decide(specifier, kind):
    """mkl 2021 has mkl_intel_thread.1.dll, later ones have .2; with >=2021 pip's choice decides."""
    found = provider("mkl_intel_thread.1.dll", (f"mkl{specifier}",), LIBRARY_BIN + THEN)
    assert isinstance(found, kind)
    if isinstance(found, Missing):
        assert found.required == ("mkl (>=2022) does not have it, mkl 2021.1.1 to 2021.4.0 does",)


@pytest.mark.parametrize("code, expected", [("", OwnedBy), ("os.add_dll_directory(os.environ['MKL'])\n", MayComeFrom)])
def test_a_folder_that_could_not_be_read_may_be_that_of_a_requirement(code, expected):
    found = provider("mkl_intel_thread.1.dll", ("mkl<=2021.4.0",), f"import os\n{code}{THEN}")
    assert isinstance(found, expected)
    assert "puts it into Library/bin, which nothing adds to the search" in found.because


@named_cases(
    "first, expected",
    {"dpctl requires intel-cmplr-lib-rt": ("dpctl", MayComeFrom), "numpy requires nothing": ("numpy", OwnedBy)},
)
def test_a_distribution_with_requirements_in_the_same_folder_may_add_it(first, expected):
    """dpnp needs DLLs of onemkl-sycl-dft, and dpctl, which it imports first, adds Library/bin for others."""
    requires = ("onemkl-sycl-dft<2026", "dpctl", "numpy")
    found = provider("mkl_sycl_dft.5.dll", requires, f"import {first}\n{THEN}")
    assert isinstance(found, expected)
    assert "puts it into Library/bin, which nothing adds to the search" in found.because
    assert ("requires intel-cmplr-lib-rt, and may add it" in found.because) is (expected is MayComeFrom)


def test_a_name_with_delvewheels_hash_belongs_to_the_folder_that_code_adds():
    added = "import os\nos.add_dll_directory(os.path.join(os.path.dirname(__file__), '..', 'flux.libs'))\n"
    assert isinstance(provider(MANGLED, ("flux",), added + THEN), MayComeFrom)
    assert isinstance(provider(MANGLED, ("flux",)), Missing)


def test_extras_are_named():
    lines = ('flux>=1; extra == "gpu"', 'numpy; extra == "test"', "six")
    required = Requirements(lines, Profile(python=(3, 11)))
    assert [str(one) for one in (*required.direct, *required.of_extras)] == [
        "six",
        "flux (>=1) with the extra 'gpu'",
        "numpy with the extra 'test'",
    ]


def test_what_the_distributions_of_extras_require():
    # onnxruntime-gpu's extra cudnn: nvidia-cudnn-cu12 requires nvidia-cublas-cu12.
    found = provider("cublas64_12.dll", ('nvidia-cudnn-cu12~=9.0; extra == "cudnn"',))
    assert isinstance(found, MayComeFrom)
    assert "nvidia-cublas-cu12" in found.distributions[0]
    assert "only with the extra 'cudnn'" in found.because


@named_cases(
    "code, beside, expected",
    {
        "imported first": ("import dpctl\nfrom . import ext\n", False, Verdict.UNSURE),
        "and at hand, without what it requires": ("import dpctl\nfrom . import ext\n", True, Verdict.UNSURE),
        "not imported": ("from . import ext\n", False, Verdict.BROKEN),
    },
)
def test_what_is_imported_first_may_add_the_folder_that_distributions_share(tmp_path, code, beside, expected):
    """dpnp was called broken: dpctl adds ``Library/bin`` in a venv, for requirements of its own."""
    requires = ["dpctl>=0.22", "onemkl-sycl-blas<2027.0a0,>=2026.0"]
    wheel = needing(tmp_path, "mkl_sycl_blas.6.dll", files={"pkg/__init__.py": code}, requires=requires)
    adding = "import os, sys\nfolder = os.path.join(sys.prefix, 'Library', 'bin')\n"
    adding += "if os.path.isdir(folder):\n    os.add_dll_directory(folder)\n"
    other = build_wheel(
        tmp_path / "other", "dpctl", "0.22.1", files={"dpctl/__init__.py": adding}, requires=["intel-cmplr-lib-rt"]
    )
    options = ScanOptions(roots=ALONE.roots, beside=(other,) if beside else ())
    assert scan(wheel, options).verdict is expected
