"""The search order and the two phases of a load, rule by rule; ``tests/oracle`` holds the same against a loader."""

from __future__ import annotations

import pytest

from tests.support.views import make_view
from wheelfix.demo.forge import forge_dll
from wheelfix.loader.loadcall import split_forwarder
from wheelfix.loader.loading import Loader
from wheelfix.model import EdgeKind, InView, Machine, Missing, System


class Bare:
    """A machine with ``kernel32.dll`` and one API set."""

    def redirected(self, name):
        return System(name) if name.lower() in ("kernel32.dll", "api-ms-win-crt-heap-l1-1-0.dll") else None

    def resident(self, name):
        return None

    def beside_python(self, name):
        return None

    def in_system32(self, name):
        return System(name) if name.lower() == "version.dll" else None

    def elsewhere(self, name, steps):
        return None


def dll(name, imports=None, **more):
    return forge_dll(name, imports=imports or {}, **more)


def load(files, path, *, user_dirs=(), path_dirs=(), flags=0x1100, first=()):
    loader = Loader(make_view(files), Bare(), Machine.AMD64, user_dirs=user_dirs, path_dirs=path_dirs)
    for earlier in first:
        assert loader.load(earlier) is None
    return loader, loader.load(path, flags)


A_NEEDS_B = {"b.dll": ["f"]}
B = dll("b.dll", exports=["f"])


def test_a_dependency_beside_the_loaded_file_is_found():
    loader, failure = load({"x/a.dll": dll("a.dll", A_NEEDS_B), "x/b.dll": B}, "x/a.dll")
    assert failure is None
    assert loader.loaded == {"a.dll": "x/a.dll", "b.dll": "x/b.dll"}


def test_a_missing_dependency_is_126_and_names_the_way_to_it():
    files = {"x/a.dll": dll("a.dll", A_NEEDS_B), "x/b.dll": dll("b.dll", {"gone.dll": ["g"]}, exports=["f"])}
    loader, failure = load(files, "x/a.dll")
    assert failure is not None
    assert (failure.code, failure.chain) == (126, ("x/a.dll", "x/b.dll", "gone.dll"))
    assert loader.loaded == {}
    edge = loader.edges["x/b.dll", "gone.dll", EdgeKind.IMPORT]
    assert isinstance(edge.provider, Missing)
    assert edge.provider.searched[0] == "x"


@pytest.mark.parametrize(
    ("flags", "user_dirs", "path_dirs", "found"),
    [
        pytest.param(0x1100, ["u"], [], "x/b.dll", id="own-folder-before-added"),
        pytest.param(0x1000, ["u"], [], "u/b.dll", id="default-dirs-skip-own-folder"),
        pytest.param(0, [], ["u"], "u/b.dll", id="plain-load-uses-path"),
        pytest.param(8, [], ["u"], "x/b.dll", id="altered-search-starts-at-own-folder"),
        pytest.param(0x800, ["u"], ["u"], None, id="system32-only"),
        pytest.param(0x100, ["u"], ["u"], "x/b.dll", id="load-dir-only"),
    ],
)
def test_flags_decide_where_dependencies_are_searched(flags, user_dirs, path_dirs, found):
    files = {"x/a.dll": dll("a.dll", A_NEEDS_B), "x/b.dll": B, "u/b.dll": B}
    loader, failure = load(files, "x/a.dll", flags=flags, user_dirs=user_dirs, path_dirs=path_dirs)
    assert loader.loaded.get("b.dll") == found
    assert (failure is None) == (found is not None)


def test_transitive_dependencies_are_searched_beside_the_file_that_was_asked_for():
    """b.dll comes from an added folder; its own folder is not searched for c.dll."""
    files = {
        "x/a.dll": dll("a.dll", A_NEEDS_B),
        "u/b.dll": dll("b.dll", {"c.dll": ["g"]}, exports=["f"]),
        "y/c.dll": dll("c.dll", exports=["g"]),
        "x/c.dll": dll("c.dll", exports=["g"]),
    }
    loader, failure = load(files, "x/a.dll", user_dirs=["u", "y"])
    assert failure is None
    assert loader.loaded["c.dll"] == "x/c.dll"


def test_a_name_that_is_loaded_already_wins_from_anywhere():
    files = {"x/a.dll": dll("a.dll", A_NEEDS_B), "elsewhere/B.DLL": B}
    loader, failure = load(files, "x/a.dll", first=["elsewhere/B.DLL"])
    assert failure is None
    assert list(loader.modules) == ["elsewhere/B.DLL", "x/a.dll"]


@pytest.mark.parametrize("spelled", ["B.DLL", "b", "B.dll"], ids=["case", "no-extension", "mixed"])
def test_names_compare_without_case_and_extension(spelled):
    _, failure = load({"x/a.dll": dll("a.dll", {spelled: ["f"]}), "x/b.dll": B}, "x/a.dll")
    assert failure is None


def test_cycles_end():
    files = {
        "x/a.dll": dll("a.dll", {"b.dll": ["f"]}, exports=["g"]),
        "x/b.dll": dll("b.dll", {"a.dll": ["g"]}, exports=["f"]),
    }
    loader, failure = load(files, "x/a.dll")
    assert failure is None
    assert set(loader.modules) == {"x/a.dll", "x/b.dll"}


def test_a_missing_delay_load_does_not_fail_the_load():
    loader, failure = load({"x/a.dll": dll("a.dll", delay_imports={"gone.dll": ["f"]})}, "x/a.dll")
    assert failure is None
    edge = loader.edges["x/a.dll", "gone.dll", EdgeKind.DELAY]
    assert isinstance(edge.provider, Missing)
    assert not edge.required


@pytest.mark.parametrize(
    ("wanted", "code"), [pytest.param("nope", 127, id="name"), pytest.param(77, 182, id="ordinal")]
)
def test_a_missing_symbol_has_its_own_code(wanted, code):
    loader, failure = load({"x/a.dll": dll("a.dll", {"b.dll": [wanted]}), "x/b.dll": B}, "x/a.dll")
    assert failure is not None
    assert failure.code == code
    assert loader.edges["x/a.dll", "b.dll", EdgeKind.IMPORT].unexported == (wanted,)


def test_a_missing_file_outranks_a_missing_symbol():
    """Everything is mapped before anything is bound."""
    files = {"x/a.dll": dll("a.dll", {"b.dll": ["nope"], "gone.dll": ["g"]}), "x/b.dll": B}
    loader, failure = load(files, "x/a.dll")
    assert failure is not None
    assert failure.code == 126
    assert loader.edges["x/a.dll", "b.dll", EdgeKind.IMPORT].unexported == ("nope",)


def test_a_wrong_machine_stops_the_search_with_193():
    files = {
        "x/a.dll": dll("a.dll", A_NEEDS_B),
        "x/b.dll": dll("b.dll", machine=Machine.X86, exports=["f"]),
        "u/b.dll": B,
    }
    _, failure = load(files, "x/a.dll", user_dirs=["u"])
    assert failure is not None
    assert failure.code == 193
    assert "x86" in failure.detail


def test_text_instead_of_a_dll_is_193():
    _, failure = load({"x/a.dll": dll("a.dll", A_NEEDS_B), "x/b.dll": b"version https://git-lfs"}, "x/a.dll")
    assert failure is not None
    assert failure.code == 193


FORWARDING = dll("b.dll", forwarders={"f": "c.real", "unused": "gone.x"})


def test_a_used_forwarder_loads_its_target_and_an_unused_one_does_not():
    files = {"x/a.dll": dll("a.dll", A_NEEDS_B), "x/b.dll": FORWARDING, "x/c.dll": dll("c.dll", exports=["real"])}
    loader, failure = load(files, "x/a.dll")
    assert failure is None
    assert loader.loaded["c.dll"] == "x/c.dll"
    assert "gone.dll" not in {edge.name for edge in loader.edges.values()}


@pytest.mark.parametrize(
    "target",
    [pytest.param({}, id="no-file"), pytest.param({"x/c.dll": dll("c.dll", exports=["other"])}, id="no-symbol")],
)
def test_a_broken_forwarder_is_127(target):
    files = {"x/a.dll": dll("a.dll", A_NEEDS_B), "x/b.dll": FORWARDING, **target}
    loader, failure = load(files, "x/a.dll")
    assert failure is not None
    assert failure.code == 127
    assert ("x/b.dll", "c.dll", EdgeKind.FORWARDER) in loader.edges


def test_forwarders_that_point_at_each_other_end():
    files = {
        "x/a.dll": dll("a.dll", A_NEEDS_B),
        "x/b.dll": dll("b.dll", forwarders={"f": "c.f"}),
        "x/c.dll": dll("c.dll", forwarders={"f": "b.f"}),
    }
    loader, _ = load(files, "x/a.dll")
    assert "c.dll" in loader.loaded


@pytest.mark.parametrize(
    ("target", "module", "symbol"),
    [
        ("libomp.dll.KMP_CALLOC", "libomp.dll", "KMP_CALLOC"),
        ("mkl_rt.3.dll.caxpy_", "mkl_rt.3.dll", "caxpy_"),
        ("NTDLL.RtlAllocateHeap", "NTDLL.dll", "RtlAllocateHeap"),
        ("b.#12", "b.dll", 12),
    ],
)
def test_forwarders_are_split_at_the_last_dot(target, module, symbol):
    assert split_forwarder(target) == (module, symbol)


def test_dependent_load_flags_override_the_callers():
    files = {"x/a.dll": dll("a.dll", A_NEEDS_B, dependent_load_flags=0x800), "x/b.dll": B}
    _, failure = load(files, "x/a.dll")
    assert failure is not None
    assert failure.code == 126


def test_a_full_path_loads_a_second_module_of_the_same_name():
    files = {"x/b.dll": B, "y/b.dll": B}
    loader, failure = load(files, "y/b.dll", first=["x/b.dll"])
    assert failure is None
    assert list(loader.modules) == ["x/b.dll", "y/b.dll"]
    assert loader.loaded["b.dll"] == "x/b.dll"


def test_api_sets_and_known_dlls_never_come_from_a_folder():
    name = "api-ms-win-crt-heap-l1-1-0.dll"
    files = {"x/a.dll": dll("a.dll", {name: ["malloc"]}), f"x/{name}": dll(name)}
    loader, failure = load(files, "x/a.dll")
    assert failure is None
    assert loader.edges["x/a.dll", name, EdgeKind.IMPORT].provider == System(name)


def test_a_file_elsewhere_in_the_view_is_missing_but_said():
    files = {"x/a.dll": dll("a.dll", A_NEEDS_B), "other/b.dll": B}
    loader, failure = load(files, "x/a.dll")
    assert failure is not None
    provider = loader.edges["x/a.dll", "b.dll", EdgeKind.IMPORT].provider
    assert isinstance(provider, Missing)
    assert provider.present_at == ("other/b.dll",)


def test_loading_by_name_uses_added_folders():
    loader = Loader(make_view({"u/b.dll": B}), Bare(), Machine.AMD64, user_dirs=["u"])
    assert loader.load_by_name("b.dll") is None
    assert loader.find("b.dll", ()) == InView("u/b.dll")
    missing = loader.load_by_name("gone.dll")
    assert missing is not None
    assert missing.code == 126


def test_a_manifest_leads_to_a_dll_in_another_folder():
    named = "<dependentAssembly><assemblyIdentity name='b'/></dependentAssembly>"
    manifest = f"<assembly><dependency>{named}</dependency></assembly>"
    b = dll("b.dll", exports=["f"], manifest="<assembly><file name='b.dll'/></assembly>")
    files = {"x/a.dll": dll("a.dll", A_NEEDS_B, manifest=manifest), "x/b/b.dll": b}
    loader, failure = load(files, "x/a.dll")
    assert failure is None
    assert loader.loaded["b.dll"] == "x/b/b.dll"
    _, failure = load({**files, "x/a.dll": dll("a.dll", A_NEEDS_B)}, "x/a.dll")
    assert failure is not None
    assert failure.code == 126
