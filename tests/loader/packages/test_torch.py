"""torch's own loading, read from its ``__init__.py`` and acted out."""

from tests.support.tables import named_cases
from tests.support.views import make_view
from tools.forge import forge_dll
from wheelfix.loader.packageloading import loading_of, search_dirs
from wheelfix.loader.predict import predict
from wheelfix.loader.profile import Profile
from wheelfix.loader.resolve import resolve
from wheelfix.model import EdgeKind, Missing, OwnedBy
from wheelfix.pycode.budget import CodeBudget

SITE = "Lib/site-packages/"
OLD = "py_dll_path = os.path.join(sys.exec_prefix, 'Library', 'bin')\nctypes.CDLL('vcruntime140_1.dll')\n"
NEW = OLD + 'sysconfig.get_config_var("userbase")\nos.path.join(sys.exec_prefix, "bin")\n'
VERSION = "__version__ = '2.7.1+cu117'\ndebug = False\ncuda: Optional[str] = '11.7'\n"


def torch_view(dlls, init=NEW, version=VERSION, **others):
    files = {f"{SITE}torch/__init__.py": init, f"{SITE}torch/version.py": version}
    files |= {f"{SITE}torch/lib/{name}": data for name, data in dlls.items()}
    return make_view({**files, **others})


def test_facts_come_from_the_package_itself():
    loading = loading_of(torch_view({"c10.dll": ""}))
    assert (loading.version, loading.cuda, loading.cuda_file) == ("2.7.1+cu117", "11.7", "torch/version.py")
    assert {"@user/Library/bin", "bin"} <= {*loading.startup.folders}
    old = loading_of(torch_view({"c10.dll": ""}, init=OLD, version="__version__ = '1.12.1'\ncuda = None\n"))
    assert (old.version, old.cuda) == ("1.12.1", None)
    assert {"@user/Library/bin", "bin"}.isdisjoint(old.startup.folders)


def test_the_loop_runs_in_the_order_of_the_file_system():
    names = ["torch_cpu.dll", "Zlib.dll", "c10.dll", "aoti_custom_ops.dll", "C10_cuda.dll", "torch.dll"]
    view = torch_view({name: forge_dll(name) for name in names})
    order = [event.path.rpartition("/")[2] for event in loading_of(view).startup.events]
    assert order == ["aoti_custom_ops.dll", "c10.dll", "C10_cuda.dll", "torch.dll", "torch_cpu.dll", "Zlib.dll"]


def test_search_folders_are_those_that_exist():
    dlls = {"c10.dll": ""}
    view = torch_view(dlls, **{"Library/bin/mkl_core.2.dll": b"x", "@user/Library/bin/y.dll": b"x", "bin/z.dll": b"x"})
    assert search_dirs(loading_of(view).startup, view) == (
        f"{SITE}torch/lib",
        "Library/bin",
        "@user/Library/bin",
        "bin",
    )
    older = torch_view(dlls, init=OLD, **{"@user/Library/bin/y.dll": b"x", "bin/z.dll": b"x"})
    assert search_dirs(loading_of(older).startup, older) == (f"{SITE}torch/lib",)


@named_cases("cudart, code", {"toolkit-helps": (False, 0), "half-vendored": (True, 126)})
def test_an_assumed_toolkit_helps_only_while_torch_adds_its_folder(cudart, code):
    dlls = {"torch_cuda.dll": "imports cublas64_11.dll"}
    if cudart:
        dlls["cudart64_110.dll"] = ""
    resolution = resolve(torch_view(dlls), Profile(cuda="11.7"))
    assert {outcome.event.path.rpartition("/")[2]: outcome.code for outcome in resolution.outcomes}[
        "torch_cuda.dll"
    ] == code


def test_cupti_is_never_on_the_search_path_of_a_toolkit():
    dlls = {"torch_cuda.dll": "imports cupti64_2022.2.1.dll"}
    resolution = resolve(torch_view(dlls), Profile(cuda="11.7"))
    assert resolution.first_failure.code == 126


def test_a_wrong_machine_is_raised_at_once_and_not_tried_through_path():
    dlls = {"c10.dll": "for x86"}
    resolution = resolve(torch_view(dlls), Profile())
    assert resolution.first_failure.code == 193


def test_what_torch_requires_is_not_missing():
    dlls = {"torch_cpu.dll": "imports mkl_intel_thread.2.dll"}
    resolution = resolve(
        torch_view(dlls), Profile(), ("mkl>=2021,<2026 ; platform_system == 'Windows'", "intel-openmp")
    )
    assert resolution.first_failure is None
    edge = next(edge for edge in resolution.edges if edge.name == "mkl_intel_thread.2.dll")
    assert isinstance(edge.provider, OwnedBy)
    assert (edge.provider.distribution, edge.provider.reachable) == ("mkl", True)


def test_companions_are_needed_where_their_family_is_really_loaded():
    """A statically linked MKL asks for nothing; a threading layer in the wheel asks for its core and OpenMP."""
    thread = forge_dll("mkl_intel_thread.2.dll", delay_imports={"mkl_core.2.dll": ["f"], "libiomp5md.dll": ["g"]})
    dlls = {"torch_cpu.dll": forge_dll("torch_cpu.dll", sections={".note": b"mkl_avx2.2.dll\0mkl_def.2.dll\0"})}
    assert not [e for e in resolve(torch_view(dlls), Profile()).edges if isinstance(e.provider, Missing)]
    dlls["mkl_intel_thread.2.dll"] = thread
    needed = {
        e.name: (e.kind, e.required)
        for e in resolve(torch_view(dlls), Profile()).edges
        if isinstance(e.provider, Missing)
    }
    assert needed["mkl_core.2.dll"] == (EdgeKind.DELAY, True)
    assert needed["libiomp5md.dll"] == (EdgeKind.DELAY, True)


def test_the_line_is_the_one_that_torch_raises():
    view = torch_view({"fbgemm.dll": "imports libomp140.x86_64.dll"})
    assert predict(view, resolve(view, Profile())).message == (
        "OSError: [WinError 126] The specified module could not be found. "
        r'Error loading "…\torch\lib\fbgemm.dll" or one of its dependencies.'
    )


def test_a_folder_that_delvewheels_patch_adds_is_searched_too():
    patch = (
        "# start delvewheel patch\ndef _delvewheel_patch_1_13_2():\n    import os\n"
        "    here = os.path.dirname(__file__)\n"
        "    if os.path.isdir(libs_dir := os.path.abspath(os.path.join(here, os.pardir, 'torch.libs'))):\n"
        "        os.add_dll_directory(libs_dir)\n_delvewheel_patch_1_13_2()\n# end delvewheel patch\n"
    )
    dlls = {"torch_cpu.dll": "imports helper-0123.dll"}
    libs = {f"{SITE}torch.libs/helper-0123.dll": ""}
    assert resolve(torch_view(dlls, init=patch + NEW, **libs), Profile()).first_failure is None
    assert resolve(torch_view(dlls, **libs), Profile()).first_failure is not None


def test_code_behind_a_failed_load_is_not_followed(monkeypatch):
    """It was, for a second and a half of torch's code, to put extension modules in order that are never imported."""
    parsed = []
    own = CodeBudget.parse
    monkeypatch.setattr(CodeBudget, "parse", lambda self, source, path: parsed.append(path) or own(self, source, path))
    needs = {"gone.dll": ["f"]}
    modules = {f"{SITE}torch/{name}.pyd": forge_dll(f"{name}.pyd", imports=needs) for name in ("_A", "_B", "_C")}
    init = NEW + "from torch import _C\n"

    resolution = resolve(torch_view({"c10.dll": forge_dll("c10.dll", imports=needs)}, init, **modules), Profile())
    assert resolution.first_failure.event.path == f"{SITE}torch/lib/c10.dll"
    assert not parsed

    resolution = resolve(torch_view({"c10.dll": ""}, init, **modules), Profile())
    failed = [outcome.event.path for outcome in resolution.outcomes if outcome.code]
    assert failed == [f"{SITE}torch/{name}.pyd" for name in ("_C", "_A", "_B")]
