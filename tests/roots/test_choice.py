"""Which candidate is taken, its family, and one release for a toolkit."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.roots.trees import MadeUp, dll, grow
from tests.support.nvidia import TOOLKITS, nvidia_dll, toolkit_files
from tests.support.tables import named_cases
from tests.support.wheels import build_wheel
from wheelfix.model import FileVersion, Machine
from wheelfix.pe.image import read_image
from wheelfix.roots.choice import (
    Choice,
    DllRequest,
    Needer,
    choose,
    choose_release,
    never_vendored,
)
from wheelfix.roots.gather import named_root
from wheelfix.roots.host import Host
from wheelfix.roots.index import RootIndex
from wheelfix.roots.release import OneRelease, Wanted, possible_releases
from wheelfix.roots.root import Root, RootFile, RootFolder
from wheelfix.streams.source import MemorySource

HOST = Host()


def discovered(root: Root, *, last_resort: bool = False) -> Root:
    """The root as if nobody had named it."""
    return dataclasses.replace(root, explicit=False, learned="default path", last_resort=last_resort)


def decide(roots: list[Root], need: DllRequest, **terms: object) -> Choice:
    """The outcome for a need, with real files."""
    with RootIndex(roots) as index:
        return choose(dataclasses.replace(need, **terms), index)


def folder(base: Path, files: dict[str, bytes]) -> Root:
    """A plain folder as a root that the user named."""
    return named_root(grow(base, files), HOST)


def toolkit(base: Path, version: str, name: str, data: bytes) -> Root:
    """A CUDA toolkit that was discovered."""
    files = {"version.json": f'{{"cuda": {{"version": "{version}"}}}}', f"bin/{name}": data}
    return discovered(named_root(grow(base, files), HOST, kind="cuda"))


def rejected(outcome: Choice) -> list[tuple[RootFile, str]]:
    return [(entry.file, entry.reason) for entry in outcome.considered if entry.verdict == "rejected"]


def winner(outcome: Choice) -> RootFile:
    """The file that was chosen."""
    assert outcome.winner is not None, outcome
    return outcome.winner


@named_cases(
    "data, reason",
    {
        "nothing": (None, "no root has uv.dll"),
        "empty": (b"", "not a DLL that can be loaded: the file has no bytes"),
        "git-lfs pointer": (b"version https://git-lfs.github.com/spec/v1\n", "git-lfs"),
        "no PE": (b"MZ" + b"\0" * 200, "not a DLL that can be loaded"),
        "symbol": (dll("uv.dll", "uv_a"), "it does not export uv_run, which torch/lib/a.dll imports (and 1 more)"),
        "ordinal": (dll("uv.dll", "uv_run"), "it does not export ordinal 7, which b.dll imports"),
        "machine": (dll("uv.dll", machine=Machine.X86), "for x86, not for amd64"),
    },
)
def test_what_does_not_serve_is_rejected_with_the_reason(tmp_path, data, reason):
    roots = [folder(tmp_path, {"uv.dll": data})] if data is not None else []
    needers = (Needer("torch/lib/a.dll", ("uv_run",)), Needer("b.dll", (7,)))
    outcome = decide(roots, DllRequest("uv.dll", needers=needers))
    assert outcome.winner is None
    assert reason in outcome.reason
    assert len(rejected(outcome)) == len(roots)


STUB = dll("libiomp5md.dll", forwarders={"omp_init": "libomp.dll.omp_init"})
OMP = dll("libomp.dll", "omp_init")
INIT = (Needer("torch_cpu.dll", ("omp_init",)),)


@named_cases(
    "beside, needers, refused",
    {
        "with its target": ({"LibOmp.dll": OMP}, INIT, ""),
        "no symbol is named": ({"libomp.dll": OMP}, (), ""),
        "alone": ({}, INIT, "it forwards omp_init to libomp.dll, which is not beside it"),
        "alone, no symbol is named": ({}, (), "libomp.dll"),
        "the target does not have it": (
            {"libomp.dll": "exports other"},
            INIT,
            "to libomp.dll, which does not export omp_init",
        ),
    },
)
def test_a_stub_needs_its_target(tmp_path, beside, needers, refused):
    """libiomp5md.dll of conda-forge's llvm-openmp is nothing but forwarders to libomp.dll."""
    root = folder(tmp_path, {"libiomp5md.dll": STUB, **beside})
    outcome = decide([root], DllRequest("libiomp5md.dll", needers=needers))
    assert (outcome.winner is None) is bool(refused)
    assert refused in outcome.reason


def test_the_wheel_may_have_the_target_of_a_stub_already(tmp_path):
    own = read_image(MemorySource(OMP))
    root = folder(tmp_path, {"libiomp5md.dll": STUB})
    need = DllRequest("libiomp5md.dll", needers=INIT)
    assert winner(decide([root], need, provided={"libomp.dll": own}.get))


@named_cases(
    "forwarders, symbol, refused",
    {
        "not asked for": ({"unused": "gone.f"}, "used", ""),
        "nothing asked for": ({"unused": "gone.f"}, "", ""),
        "asked for": ({"unused": "gone.f"}, "unused", "gone"),
        "to Windows": ({"f": "NTDLL.RtlZeroMemory"}, "", ""),
        "in a circle": ({"f": "b.f"}, "f", "its forwarder of f to b.f has no end"),
    },
)
def test_forwarders_among_others(tmp_path, forwarders, symbol, refused):
    files = {"a.dll": dll("a.dll", "used", forwarders=forwarders), "b.dll": "forwards f to a.f"}
    needers = (Needer("c.dll", (symbol,)),) if symbol else ()
    outcome = decide([folder(tmp_path, files)], DllRequest("a.dll", needers=needers))
    assert (outcome.winner is None) is bool(refused)
    assert refused in outcome.reason


def test_one_that_stands_by_itself_comes_before_a_stub(tmp_path):
    stub = folder(tmp_path / "conda", {"libiomp5md.dll": STUB, "libomp.dll": OMP})
    real = folder(tmp_path / "intel", {"libiomp5md.dll": "exports omp_init"})
    outcome = decide([stub, real], DllRequest("libiomp5md.dll", needers=INIT))
    assert winner(outcome).root.path == real.path
    assert [entry.reason for entry in outcome.considered] == [
        "it has the code itself, the others only forward",
        "it only forwards to libomp.dll; the chosen one has the code itself",
    ]


def test_a_named_root_comes_before_a_discovered_one_that_fits_better(tmp_path):
    name = "cudart64_110.dll"
    fits = toolkit(tmp_path / "v11.7", "11.7.1", name, dll(name, "a"))
    named = folder(tmp_path / "mine", {name: "exports a, b"})
    outcome = decide([fits, named], DllRequest(name, cuda="11.7"))
    assert winner(outcome).root.path == named.path
    assert outcome.reason == "named with --root"
    assert [(entry.verdict, entry.reason) for entry in outcome.considered[1:]] == [
        ("outranked", "found automatically; a root that was named comes first")
    ]


def test_a_discovered_one_serves_when_the_named_one_does_not(tmp_path):
    bad = folder(tmp_path / "mine", {"uv.dll": b""})
    good = discovered(folder(tmp_path / "found", {"uv.dll": ""}))
    outcome = decide([bad, good], DllRequest("uv.dll"))
    assert winner(outcome).root.path == good.path
    assert len(rejected(outcome)) == 1


def test_a_last_resort_is_asked_last_and_not_opened_before(tmp_path):
    cache = discovered(folder(tmp_path / "cache", {"uv.dll": "version 9.0.0.0"}), last_resort=True)
    found = discovered(folder(tmp_path / "found", {"uv.dll": "version 1.0.0.0"}))
    outcome = decide([cache, found], DllRequest("uv.dll"))
    assert winner(outcome).root.path == found.path
    assert outcome.considered[1].reason == "used only if no other root has a suitable file"
    assert winner(decide([cache], DllRequest("uv.dll"))).root.path == cache.path


def test_the_cuda_release_of_the_wheel_comes_before_the_newest(tmp_path):
    name = "cudart64_110.dll"
    roots = [
        toolkit(tmp_path / "v11.8", "11.8.20220929", name, dll(name, "a", version=(6, 14, 11, 11080))),
        toolkit(tmp_path / "v11.7", "11.7.1", name, dll(name, "a", version=(6, 14, 11, 11070))),
    ]
    outcome = decide(roots, DllRequest(name, cuda="11.7"))
    assert winner(outcome).root.version == "11.7.1"
    assert outcome.reason == "for CUDA 11.7, which the wheel needs"
    assert outcome.considered[1].reason == "for CUDA 11.8; the chosen one is for CUDA 11.7"
    newest = decide(roots, DllRequest(name))
    assert winner(newest).root.version == "11.8"
    assert newest.reason == "the newest, version 11.8"


def test_a_cuda_release_of_another_major_is_taken_only_when_asked_for(tmp_path):
    """curand64_10.dll has the same name from CUDA 10.1 to 13, and still belongs to one toolkit."""
    root = toolkit(tmp_path / "v12.4", "12.4.1", "curand64_10.dll", dll("curand64_10.dll"))
    need = DllRequest("curand64_10.dll", cuda="11.7")
    outcome = decide([root], need)
    assert outcome.winner is None
    assert "for CUDA 12.4; the wheel is for CUDA 11.7" in outcome.reason
    taken = decide([root], need, included=frozenset({"curand64_10.dll"}))
    assert taken.warnings == ("for CUDA 12.4; the wheel is for CUDA 11.7",)


def test_cudnn_for_the_major_of_the_wheel(tmp_path):
    files = {f"bin/{cuda}/cudnn64_9.dll": f"version 6.14.11.{n}" for n, cuda in enumerate(["11.8", "12.6"])}
    root = named_root(grow(tmp_path / "v9.4", files), HOST)
    assert winner(decide([root], DllRequest("cudnn64_9.dll", cuda="11.7"))).folder.cuda == "11.8"
    assert winner(decide([root], DllRequest("cudnn64_9.dll", cuda="12.1"))).folder.cuda == "12.6"


@pytest.mark.parametrize(
    "package, version, wanted, fits",
    [
        ("nvidia-cuda-runtime-cu11", "11.7.99", "11.7", True),
        ("nvidia-cuda-runtime-cu11", "11.8.89", "11.7", False),
    ],
)
def test_wheels_tell_their_cuda_release(tmp_path, package, version, wanted, fits):
    path = build_wheel(tmp_path, package, version, "py3-none-win_amd64", {"nvidia/bin/x.dll": ""})
    other = folder(tmp_path / "newer", {"x.dll": "version 99.0.0.0"})
    outcome = decide([other, named_root(path, HOST)], DllRequest("x.dll", cuda=wanted))
    assert winner(outcome).root.kind == "wheel"
    assert (outcome.reason == f"for CUDA {wanted}, which the wheel needs") is fits


def test_the_release_of_the_family_comes_before_the_newest(tmp_path):
    name = "mkl_core.2.dll"
    base = tmp_path / "oneAPI" / "mkl"
    grow(base, {f"{year}/redist/intel64/{name}": f"exports {year}" for year in ("2022.1.0", "2023.2.0", "2025.3.0")})
    root = named_root(tmp_path / "oneAPI", HOST)
    assert winner(decide([root], DllRequest(name))).version_hint == "2025.3.0"
    assert winner(decide([root], DllRequest(name, release="2023.2"))).version_hint == "2023.2.0"
    assert winner(decide([root], DllRequest(name, release="2022"))).version_hint == "2022.1.0"


def test_identical_files_are_no_conflict(tmp_path):
    data = dll("zlibwapi.dll", "inflate")
    roots = [folder(tmp_path / name, {"zlibwapi.dll": data}) for name in ("one", "two", "three")]
    outcome = decide(roots, DllRequest("zlibwapi.dll"))
    assert outcome.reason == "all 3 candidates have the same bytes"
    assert [entry.verdict for entry in outcome.considered] == ["chosen", "identical", "identical"]


def rivals(outcome: Choice) -> list[RootFile]:
    """The files between which nothing decides."""
    return [entry.file for entry in outcome.considered if entry.verdict == "rival"]


def test_different_files_that_no_rule_ranks_are_a_question(tmp_path):
    roots = [folder(tmp_path / name, {"zlibwapi.dll": f"exports {name}"}) for name in ("one", "two")]
    outcome = decide(roots, DllRequest("zlibwapi.dll"))
    assert [file.root.path.name for file in rivals(outcome)] == ["one", "two"]
    assert outcome.reason.startswith("2 files for zlibwapi.dll: their bytes differ")
    assert outcome.reason.endswith(
        f'name the one you mean: --root "{tmp_path / "one"}" or --root "{tmp_path / "two"}"; '
        "or leave it out: --exclude zlibwapi.dll"
    )


def test_a_version_that_only_one_file_tells_decides_nothing(tmp_path):
    reported = folder(tmp_path / "one", {"uv.dll": "version 1.44.0.0"})
    untold = folder(tmp_path / "two", {"uv.dll": "exports x"})
    assert len(rivals(decide([reported, untold], DllRequest("uv.dll")))) == 2


@pytest.mark.parametrize("packages, decided", [(("libuv", "libuv"), True), (("libuv", "torch"), False)])
def test_releases_compare_within_one_package_only(tmp_path, packages, decided):
    roots = [
        named_root(build_wheel(tmp_path, name, version, "py3-none-any", {"x/uv.dll": f"exports {version}"}), HOST)
        for name, version in zip(packages, ("1.44", "2.7"), strict=True)
    ]
    outcome = decide(roots, DllRequest("uv.dll"))
    assert (outcome.winner is not None) is decided
    if decided:
        assert (winner(outcome).version_hint, outcome.reason) == ("2.7", "the newest, release 2.7")


def test_older_ones_leave_the_contest_of_the_newest(tmp_path):
    def make(version: int, export: str) -> dict[str, bytes]:
        return {"uv.dll": f"exports {export}; version {version}.0.0.0"}

    old, one, two = (folder(tmp_path / str(n), make(v, e)) for n, (v, e) in enumerate([(1, "a"), (2, "b"), (2, "c")]))
    same = folder(tmp_path / "same", make(2, "b"))
    question = decide([old, one, two], DllRequest("uv.dll"))
    assert [file.root.path for file in rivals(question)] == [one.path, two.path]
    outcome = decide([old, one, same], DllRequest("uv.dll"))
    assert winner(outcome).root.path == one.path
    assert [entry.verdict for entry in outcome.considered] == ["chosen", "identical", "outranked"]


def test_within_one_root_the_order_of_folders_decides(tmp_path):
    root = folder(tmp_path, {"bin/x64/uv.dll": "exports a", "bin/uv.dll": "exports b"})
    outcome = decide([root], DllRequest("uv.dll"))
    assert winner(outcome).folder.path == "bin/x64"
    assert outcome.reason == "in the first folder that is searched, bin/x64"


def test_a_family_comes_from_one_folder(tmp_path):
    names = ("cudnn64_8.dll", "cudnn_ops_infer64_8.dll")
    one = folder(tmp_path / "one", {f"bin/{name}": "" for name in names})
    two = folder(tmp_path / "two", {f"bin/{name}": "version 9.0.0.0" for name in names})
    with RootIndex([one, two]) as index:
        head = index.candidates(names[0])[0]
        outcome = choose(DllRequest(names[1], beside=head), index)
    assert winner(outcome).root.path == one.path
    assert [reason for _, reason in rejected(outcome)] == [f"its family comes from one folder, that of {head.location}"]


def test_a_whole_family_comes_before_a_newer_part(tmp_path):
    part = folder(tmp_path / "part", {"bin/cudnn64_8.dll": "version 9.0.0.0"})
    whole = folder(tmp_path / "whole", {"bin/cudnn64_8.dll": "", "bin/cudnn_ops_infer64_8.dll": b"MZ"})
    need = DllRequest("cudnn64_8.dll", companions=("cudnn_ops_infer64_8.dll",))
    outcome = decide([part, whole], need)
    assert winner(outcome).root.path == whole.path
    assert [entry.reason for entry in outcome.considered] == [
        "what it needs is beside it",
        "cudnn_ops_infer64_8.dll is not beside it",
    ]
    alone = decide([part], need)
    assert alone.warnings == ("cudnn_ops_infer64_8.dll is not beside cudnn64_8.dll",)


@pytest.mark.parametrize("where", ["14.44.35112/debug_nonredist/x64/Microsoft.VC143.OpenMP.LLVM", "copied"])
def test_what_is_not_redistributable_comes_only_by_name_and_with_a_warning(tmp_path, where):
    """libomp140.x86_64.dll lies in debug_nonredist, and torch 2.4.0 needs it."""
    name = "libomp140.x86_64.dll"
    grow(tmp_path, {f"{where}/{name}": ""})
    root = named_root(tmp_path / where if where == "copied" else tmp_path, HOST)
    outcome = decide([root], DllRequest(name))
    assert outcome.winner is None
    assert f"the vendor does not allow redistribution; --include {name} adds it nevertheless" in outcome.reason
    asked = decide([root], DllRequest(name), included=frozenset({name}))
    assert asked.warnings[0].startswith(f"the vendor does not allow redistributing {name}")


@pytest.mark.parametrize(
    "name, because",
    [
        ("nvcuda.dll", "driver"),
        ("KERNEL32.dll", "part of Windows"),
        ("python311.dll", "it comes with Python"),
        ("msvcp140.dll", "--with-vcredist"),
        ("msvcp140d.dll", "debug runtime"),
    ],
)
def test_never_vendored(tmp_path, name, because):
    outcome = decide([folder(tmp_path, {name: ""})], DllRequest(name))
    assert outcome.winner is None
    assert because in outcome.reason
    assert len(rejected(outcome)) == 1


@pytest.mark.parametrize(
    "name, allowed",
    [
        ("msvcp140.dll", True),
        ("msvcp140d.dll", False),
        ("uv.dll", True),
    ],
)
def test_the_runtime_on_request(name, allowed):
    assert (never_vendored(name, Machine.AMD64, runtime=True) == "") is allowed


CU117 = Wanted(frozenset({"11.7"}), "its version 2.0.1+cu117")
NOTHING = Wanted()
NAMES = ("cudart64_110.dll", "cublas64_11.dll", "cublasLt64_11.dll", "cufft64_10.dll", "curand64_10.dll")


def bins(tmp_path: Path, *releases: str, cupti: bool = True) -> list[Root]:
    """The ``bin`` folders of toolkits, named as people name them."""
    return [
        named_root(grow(tmp_path / f"v{release}", toolkit_files(release, cupti=cupti)) / "bin", HOST)
        for release in releases
    ]


def take(roots: Iterable[Root], names: Iterable[str], wanted: Wanted = NOTHING) -> tuple[OneRelease, dict[str, str]]:
    """The release that was chosen, and for each name where it is taken from: the folder above ``bin``."""
    needs = [DllRequest(name, cuda=wanted.text) for name in names]
    with RootIndex(roots) as index:
        one = choose_release("cuda", needs, index, wanted)
        found = {}
        for need in needs:
            pinned = dataclasses.replace(need, one_release=one)
            outcome = choose(pinned, index)
            if outcome.winner:
                releases = possible_releases(outcome.winner, index)
                found[need.name] = " or ".join(sorted(releases))
        return one, found


def test_wheels_of_two_generations_are_not_mixed(tmp_path):
    packages = {"cublas64_11.dll": "nvidia-cublas-cu11", "curand64_10.dll": "nvidia-curand-cu11"}
    roots = [
        named_root(
            build_wheel(
                tmp_path / release,
                package,
                TOOLKITS[release][name],
                "py3-none-win_amd64",
                {f"nvidia/x/bin/{name}": f"exports {release}"},
            ),
            HOST,
        )
        for release in ("11.8", "11.7")
        for name, package in packages.items()
    ]
    assert take(roots, packages, CU117)[1] == dict.fromkeys(packages, "11.7")
    assert take(roots[::-1], packages)[1] == dict.fromkeys(packages, "11.8")


def test_a_release_of_another_major_is_never_chosen(tmp_path):
    roots = bins(tmp_path, "12.1", "11.8")
    one, found = take(roots, NAMES, CU117)
    assert found == dict.fromkeys(NAMES, "11.8")
    assert one.because.startswith("11.7, which the wheel was built for (its version 2.0.1+cu117), is in no root")
    nothing, found = take(roots[:1], NAMES, CU117)
    assert (nothing.release, found) == ("", {})


def test_a_dll_of_another_release_in_a_toolkit_is_recognised_by_its_own_version(tmp_path):
    """Somebody copied cuRAND of 11.8 into v11.7."""
    files = toolkit_files("11.7") | {"bin/curand64_10.dll": nvidia_dll("curand64_10.dll", "10.3.0.86")}
    _, found = take([named_root(grow(tmp_path / "v11.7", files), HOST)], NAMES, CU117)
    assert found == dict.fromkeys([name for name in NAMES if name != "curand64_10.dll"], "11.7")


def test_a_named_toolkit_comes_before_a_discovered_one_that_fits_better(tmp_path):
    named = named_root(grow(tmp_path / "v11.8", toolkit_files("11.8")), HOST)
    found = dataclasses.replace(named_root(grow(tmp_path / "v11.7", toolkit_files("11.7")), HOST), explicit=False)
    one, taken = take([found, named], NAMES, CU117)
    assert taken == dict.fromkeys(NAMES, "11.8")
    assert one.because == (
        "11.7, which the wheel was built for (its version 2.0.1+cu117), is not in the roots that come first; "
        "this is newer, of the same major"
    )
    assert one.refused == ("CUDA 11.7: only in roots that come later: named ones come first, caches and PATH last",)


def test_of_two_roots_with_one_release_the_one_that_has_more_gives_everything_it_has(tmp_path):
    whole = named_root(grow(tmp_path / "whole", toolkit_files("11.7")), HOST)
    part = {f"bin/{name}": "exports other" for name in ("cublas64_11.dll", "cublasLt64_11.dll")}
    part["version.json"] = b'{"cuda": {"version": "11.7.1"}}'
    some = named_root(grow(tmp_path / "some", part), HOST)
    for roots in ([whole, some], [some, whole]):
        with RootIndex(roots) as index:
            needs = [DllRequest(name, cuda="11.7") for name in NAMES]
            one = choose_release("cuda", needs, index, CU117)
            assert one.root == whole.path
            for need in needs:
                outcome = choose(dataclasses.replace(need, one_release=one), index)
                assert outcome.winner.root.path == whole.path


# ---------------------------------------------------------------------------------------------------- choose properties
# What holds for every choice among any candidates: made-up facts, no files.

NEED = DllRequest("uv.dll", needers=(Needer("a.dll", ("uv_run",)),), cuda="11.7")


class Numbered(MadeUp):
    """Files with a plain version; the same bytes state the same one."""

    def version(self, file: RootFile) -> FileVersion | None:
        number = int(file.path.split("-")[2])
        return FileVersion((number, 0, 0, 0)) if number else None


@st.composite
def candidates(draw: st.DrawFn) -> list[RootFile]:
    """Files of one name in one to three roots of every standing."""
    files = []
    for number in range(draw(st.integers(1, 6))):
        root = Root(
            "folder",
            Path(f"/root{draw(st.integers(0, 2))}"),
            learned="--root",
            explicit=draw(st.booleans()),
            last_resort=draw(st.booleans()),
        )
        folder = RootFolder(str(number), cuda=draw(st.sampled_from(["", "11.7", "11.8", "12.4"])))
        machine = draw(st.sampled_from(["amd64", "amd64", "x86"]))
        symbol = draw(st.sampled_from(["uv_run", "uv_run", "other"]))
        path = f"{machine}-{symbol}-{draw(st.integers(0, 2))}-{draw(st.integers(0, 2))}"
        files.append(RootFile("uv.dll", root, folder, path, 10))
    return files


def serves(file: RootFile) -> bool:
    """Whether the made-up file has machine and symbol."""
    return file.path.startswith("amd64-uv_run-")


@given(candidates())
def test_every_candidate_is_accounted_for_once(files):
    outcome = choose(NEED, Numbered(files))
    assert sorted(map(id, files)) == sorted(id(entry.file) for entry in outcome.considered)
    assert all(entry.reason for entry in outcome.considered)


@given(candidates())
def test_only_what_serves_wins_and_something_wins_or_is_asked_if_anything_serves(files):
    outcome = choose(NEED, Numbered(files))
    found = [outcome.winner] if outcome.winner else rivals(outcome)
    assert found or not any(map(serves, files))
    for file in found:
        assert serves(file)
        assert file.root.explicit or not any(serves(other) and other.root.explicit for other in files)


@given(candidates())
def test_the_order_of_roots_decides_nothing(files):
    """Reversed candidates give the same content, unless the order of folders within one root had to decide."""
    first, second = choose(NEED, Numbered(files)), choose(NEED, Numbered(files[::-1]))
    assert type(first) is type(second)
    if first.winner and second.winner and not first.reason.startswith("in the first folder"):
        assert first.winner.path == second.winner.path
    assert {id(file) for file in rivals(first)} == {id(file) for file in rivals(second)}


def test_the_same_bytes_in_a_second_root_do_not_make_the_order_count():
    """Two contents in one root, one of them in another root too: folder order decides within a single root only."""
    first, second = (Root("folder", Path(f"/root{number}"), learned="--root") for number in range(2))
    files = [
        RootFile("uv.dll", first, RootFolder("0", cuda="11.7"), "amd64-uv_run-0-1", 10),
        RootFile("uv.dll", first, RootFolder("1", cuda="11.7"), "amd64-uv_run-0-0", 10),
        RootFile("uv.dll", second, RootFolder("2", cuda="11.7"), "amd64-uv_run-0-0", 10),
    ]
    for order in (files, files[::-1]):
        assert rivals(choose(NEED, Numbered(order)))
