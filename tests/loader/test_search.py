"""What a load says besides the error code and the loaded modules, for which ``tests/oracle/cases.py`` has the rules."""

import pytest

from tests.support.tables import named_cases
from tests.support.views import make_view
from tools.forge import forge_dll
from wheelfix.loader.loading import Loader, Target, split_forwarder
from wheelfix.loader.profile import Profile
from wheelfix.model import EdgeKind, Machine, Missing, System


def dll(name, imports=None, **more):
    return forge_dll(name, imports=imports or {}, **more)


def load(files, path):
    loader = Loader(make_view(files), Target(Profile()))
    return loader, loader.load(path)


A_NEEDS_B = {"b.dll": ["f"]}
B = dll("b.dll", exports=["f"])


def test_a_missing_dependency_is_126_and_names_the_way_to_it():
    files = {"x/a.dll": dll("a.dll", A_NEEDS_B), "x/b.dll": dll("b.dll", {"gone.dll": ["g"]}, exports=["f"])}
    loader, failure = load(files, "x/a.dll")
    assert (failure.code, failure.chain) == (126, ("x/a.dll", "x/b.dll", "gone.dll"))
    assert loader.loaded == {}
    edge = loader.edges["x/b.dll", "gone.dll", EdgeKind.IMPORT]
    assert isinstance(edge.provider, Missing)
    assert edge.provider.searched[0] == "x"


@named_cases("wanted", {"name": "nope", "ordinal": 77})
def test_missing_symbols_are_named_also_where_a_missing_file_is_the_failure(wanted):
    files = {"x/a.dll": dll("a.dll", {"b.dll": [wanted], "gone.dll": ["g"]}), "x/b.dll": B}
    loader, failure = load(files, "x/a.dll")
    assert failure.code == 126
    assert loader.edges["x/a.dll", "b.dll", EdgeKind.IMPORT].unexported == (wanted,)


def test_the_folder_that_was_added_last_is_searched_first():
    loader = Loader(make_view({"x/a.dll": dll("a.dll", A_NEEDS_B), "one/b.dll": B, "two/b.dll": B}), Target(Profile()))
    loader.add_folders(["one"])
    loader.add_folders(["one", "two"])
    assert loader.load("x/a.dll") is None
    assert loader.loaded["b.dll"] == "two/b.dll"


def test_a_wrong_machine_is_named():
    wrong = dll("b.dll", machine=Machine.X86, exports=["f"])
    _, failure = load({"x/a.dll": dll("a.dll", A_NEEDS_B), "x/b.dll": wrong}, "x/a.dll")
    assert "x86" in failure.detail


def test_a_forwarder_that_is_used_is_an_edge():
    forwarding = dll("b.dll", forwarders={"f": "c.real", "unused": "gone.x"})
    loader, _ = load({"x/a.dll": dll("a.dll", A_NEEDS_B), "x/b.dll": forwarding}, "x/a.dll")
    assert [edge.name for edge in loader.edges.values() if edge.kind is EdgeKind.FORWARDER] == ["c.dll"]


def test_forwarders_that_point_at_each_other_end():
    files = {
        "x/a.dll": dll("a.dll", A_NEEDS_B),
        "x/b.dll": dll("b.dll", forwarders={"f": "c.f"}),
        "x/c.dll": dll("c.dll", forwarders={"f": "b.f"}),
    }
    loader, _ = load(files, "x/a.dll")
    assert "c.dll" in loader.loaded


@pytest.mark.parametrize(
    "target, module, symbol",
    [
        ("libomp.dll.KMP_CALLOC", "libomp.dll", "KMP_CALLOC"),
        ("mkl_rt.3.dll.caxpy_", "mkl_rt.3.dll", "caxpy_"),
        ("b.#12", "b.dll", 12),
    ],
)
def test_forwarders_are_split_at_the_last_dot(target, module, symbol):
    assert split_forwarder(target) == (module, symbol)


def test_api_sets_and_known_dlls_never_come_from_a_folder():
    name = "api-ms-win-crt-heap-l1-1-0.dll"
    files = {"x/a.dll": dll("a.dll", {name: ["malloc"]}), f"x/{name}": dll(name)}
    loader, failure = load(files, "x/a.dll")
    assert failure is None
    assert loader.edges["x/a.dll", name, EdgeKind.IMPORT].provider == System(name)


def test_a_manifest_leads_to_a_dll_in_another_folder():
    named = "<dependentAssembly><assemblyIdentity name='b'/></dependentAssembly>"
    manifest = f"<assembly><dependency>{named}</dependency></assembly>"
    b = dll("b.dll", exports=["f"], manifest="<assembly><file name='b.dll'/></assembly>")
    files = {"x/a.dll": dll("a.dll", A_NEEDS_B, manifest=manifest), "x/b/b.dll": b}
    loader, failure = load(files, "x/a.dll")
    assert failure is None
    assert loader.loaded["b.dll"] == "x/b/b.dll"
    _, failure = load({**files, "x/a.dll": dll("a.dll", A_NEEDS_B)}, "x/a.dll")
    assert failure.code == 126
