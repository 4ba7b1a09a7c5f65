"""Which roots are searched: those that are named, those that are found, and how they are listed."""

import dataclasses
import json
import re

import pytest

from tests.roots.trees import folders, grow, link, windows
from tests.support.wheels import build_wheel
from wheelfix.base.options import RootOptions
from wheelfix.errors import EnvironmentFailure, InputError, UsageError
from wheelfix.model import Machine
from wheelfix.report.canvas import TextStyle
from wheelfix.report.repairs import render_roots, roots_json
from wheelfix.roots.choice import DllRequest, choose
from wheelfix.roots.gather import (
    explore,
    gather_roots,
    named_root,
    named_roots,
    recognise,
    search_path_roots,
    wheel_identity,
)
from wheelfix.roots.host import Host, this_machine
from wheelfix.roots.index import RootIndex, open_index

HOST = Host()


def test_quotes_home_and_dots(tmp_path, monkeypatch):
    grow(tmp_path / "v11.7", ["bin/cudart64_110.dll"])
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("USERPROFILE", str(tmp_path))
    monkeypatch.chdir(tmp_path / "v11.7" / "bin")
    assert named_root('"~/v11.7"', HOST).path == tmp_path / "v11.7"
    assert named_root("..", HOST).version == "11.7"


def test_the_bin_folder_or_the_one_above_the_versions_will_do_for_a_kind(tmp_path):
    toolkit = grow(tmp_path / "CUDA" / "v11.7", ["bin/cudart64_110.dll"])
    assert named_root(toolkit / "bin", HOST, kind="cuda", option="--cuda").path == toolkit
    assert named_root(tmp_path / "CUDA", HOST, kind="cuda", option="--cuda").path == toolkit
    grow(tmp_path / "CUDA" / "v12.4", ["bin/cudart64_12.dll"])
    with pytest.raises(UsageError) as caught:
        named_root(tmp_path / "CUDA", HOST, kind="cuda", option="--cuda")
    assert caught.value.hint.startswith("name one of them: ")


@pytest.mark.parametrize(
    "kind, option, because, hint",
    [
        (
            "cuda",
            "--cuda",
            "expected a CUDA toolkit: a folder with version.json",
            "it looks like cuDNN; --root takes any kind",
        ),
    ],
)
def test_not_of_the_wanted_kind(tmp_path, kind, option, because, hint):
    folder = grow(tmp_path / "cudnn", ["bin/cudnn64_8.dll"])
    with pytest.raises(UsageError) as caught:
        named_root(folder, HOST, kind=kind, option=option)
    assert caught.value.what == f"{option} {folder}: not what was expected"
    assert caught.value.because.startswith(because)
    assert caught.value.hint == hint


@pytest.mark.parametrize("text", ["  ", '""', "~nobody-has-this-name/x", "a\0b", "x" * 300])
def test_a_text_that_is_no_path(text):
    with pytest.raises((UsageError, EnvironmentFailure)) as caught:
        named_root(text, HOST)
    assert caught.value.what.startswith("--root ")


def test_a_folder_without_dlls_tells_where_some_are(tmp_path):
    grow(tmp_path, ["a/b/c/x.dll"])
    with pytest.raises(UsageError) as caught:
        named_root(tmp_path, HOST)
    assert caught.value.hint == f"DLLs lie in {tmp_path / 'a' / 'b' / 'c'}; name such a folder"


@pytest.mark.parametrize(
    "name, hint",
    [("x.dll", "name its folder: --root "), ("x.zip", "name a folder, a wheel (.whl) or a conda package")],
)
def test_a_file_that_is_no_package(tmp_path, name, hint):
    grow(tmp_path, [name])
    with pytest.raises(UsageError) as caught:
        named_root(tmp_path / name, HOST)
    assert caught.value.hint.startswith(hint)


def test_a_wheel_without_dlls_is_noted(tmp_path):
    root = named_root(build_wheel(tmp_path, "pure", "1", "py3-none-any", {"pure.py": ""}), HOST)
    assert (root.folders, root.notes) == ((), ("there are no DLLs in it",))


def test_a_wheel_that_is_none(tmp_path):
    grow(tmp_path, {"x-1-py3-none-any.whl": b"no zip"})
    with pytest.raises(InputError, match=re.escape("x-1-py3-none-any.whl")):
        named_root(tmp_path / "x-1-py3-none-any.whl", HOST)


def test_a_wheel_is_not_a_toolkit(tmp_path):
    path = build_wheel(tmp_path, "x", "1", "py3-none-any", {})
    with pytest.raises(UsageError, match="it is a file; expected a CUDA toolkit"):
        named_root(path, HOST, kind="cuda", option="--cuda")


@pytest.mark.parametrize(
    "filename, members, expected",
    [
        ("mkl-1-py3-none-any.whl", ["mkl-2023.2.0.dist-info/RECORD"], ("mkl", "2023.2.0")),
        ("intel_openmp-2023.2.0-py2.py3-none-win_amd64.whl", [], ("intel-openmp", "2023.2.0")),
        ("odd.whl", [], ("odd", "")),
    ],
)
def test_whose_a_wheel_is(filename, members, expected):
    assert wheel_identity(filename, members) == expected


def test_a_folder_of_wheels_is_as_many_roots(tmp_path):
    """--root wheels/ was refused: there are no DLLs in it."""
    wheels = [
        build_wheel(tmp_path / "wheels", name, "1.0", "py3-none-win_amd64", {f"x/{name}.dll": ""})
        for name in ("one", "two")
    ]
    assert [root.path for root in named_roots(tmp_path / "wheels", HOST)] == sorted(wheels)
    assert all(root.explicit for root in named_roots(tmp_path / "wheels", HOST))


def test_a_pattern_of_wheels_is_as_many_roots(tmp_path):
    first = build_wheel(tmp_path, "nvidia_one", "1.0", "py3-none-win_amd64", {"x/a.dll": ""})
    build_wheel(tmp_path, "torch", "1.0", "py3-none-win_amd64", {"x/b.dll": ""})
    assert [root.path for root in named_roots(str(tmp_path / "nvidia*.whl"), HOST)] == [first]
    with pytest.raises(UsageError, match="nothing matches this pattern"):
        named_roots(str(tmp_path / "intel*.whl"), HOST)


def test_a_folder_of_dlls_stays_one_root_whatever_else_lies_in_it(tmp_path):
    build_wheel(tmp_path, "torch", "1.0", "py3-none-win_amd64", {"x/b.dll": ""})
    (root,) = named_roots(grow(tmp_path, ["a.dll"]), HOST)
    assert (root.kind, root.path) == ("folder", tmp_path)


def test_a_name_with_brackets_that_is_there_is_no_pattern(tmp_path):
    (root,) = named_roots(grow(tmp_path / "dlls [1]", ["a.dll"]), HOST)
    assert root.path == tmp_path / "dlls [1]"


def test_an_empty_machine_has_no_roots():
    assert explore(Host())[0] == ()


def test_path_is_searched_only_when_asked(tmp_path):
    tools = grow(tmp_path / "tools", ["uv.dll"])
    host = windows(tmp_path, {"Path": str(tools)})
    assert explore(host)[0] == ()
    (root,) = search_path_roots(host)
    assert (root.kind, root.learned, root.last_resort, root.explicit) == ("folder", "PATH", True, False)


def test_path_leaves_out_windows_relative_missing_and_repeated_folders(tmp_path, monkeypatch):
    system = grow(tmp_path / "Windows", ["System32/kernel32.dll"])
    other = grow(tmp_path / "WindowsTools", ["a.dll"])
    grow(tmp_path, ["here/b.dll", "empty/readme.txt"])
    link(tmp_path / "again", other)
    monkeypatch.chdir(tmp_path)
    entries = [
        "",
        ".",
        "here",
        f'"{other}"',
        tmp_path / "again",
        system / "System32",
        tmp_path / "empty",
        tmp_path / "no",
    ]
    env = {"PATH": ";".join(map(str, entries)), "SystemRoot": str(system)}
    assert [root.path for root in search_path_roots(windows(tmp_path, env))] == [other]


def test_path_of_a_posix_machine(tmp_path):
    first, second = grow(tmp_path / "a", ["x.dll"]), grow(tmp_path / "b", ["y.dll"])
    roots = search_path_roots(Host(env={"PATH": f"{first}:{second}"}))
    assert [root.path for root in roots] == [first, second]


def test_any_kind_is_recognised(tmp_path):
    cases = {
        "cuda": ["bin/cudart64_110.dll", "bin/cudnn64_8.dll"],
        "cudnn": ["bin/cudnn64_8.dll"],
        "nvtoolsext": ["bin/x64/nvToolsExt64_1.dll"],
        "msvc": ["14.44.35112/x64/Microsoft.VC143.CRT/msvcp140.dll"],
        "oneapi": ["bin/mkl_core.2.dll"],
        "conda": ["conda-meta/history", "Library/bin/mkl_core.2.dll", "bin/cudart64_12.dll"],
        "pip": ["Lib/site-packages/nvidia/cudnn/bin/cudnn64_8.dll"],
    }
    found = {kind: recognise(grow(tmp_path / kind, files)) for kind, files in cases.items()}
    assert {kind: root.kind if root else None for kind, root in found.items()} == {kind: kind for kind in cases}


def test_a_link_that_leads_out_of_the_installation_is_not_one_of_its_folders(tmp_path):
    outside = grow(tmp_path / "elsewhere", ["bin/mkl_core.2.dll"])
    base = grow(tmp_path / "oneAPI", ["compiler/2023.2.0/windows/redist/intel64_win/compiler/libiomp5md.dll"])
    link(base / "mkl" / "latest", outside)
    root = recognise(base)
    assert folders(root) == ["compiler/2023.2.0/windows/redist/intel64_win/compiler"]


def test_this_machine_can_be_explored():
    host = this_machine()
    assert host.prefixes
    assert host.variable("a variable that nobody sets") == ""
    for root in explore(host)[0]:
        assert root.learned
        assert root.folders


def test_rows_and_document(tmp_path):
    toolkit = grow(tmp_path / "v11.7", ["bin/cudart64_110.dll", "bin/nvrtc64_112_0.dll", "nvvm/bin/nvvm64_40_0.dll"])
    studio = grow(tmp_path / "VC", ["14.44.35112/debug_nonredist/x64/Microsoft.VC143.OpenMP.LLVM/libomp140.x86_64.dll"])
    env = {"CUDA_PATH": str(toolkit), "VCToolsRedistDir": str(studio), "MKLROOT": str(tmp_path / "gone")}
    found = explore(windows(tmp_path, env))
    roots = (
        dataclasses.replace(found[0][0], last_resort=True, warnings=("everyone can write to it",)),
        found[0][1],
    )
    index = RootIndex(roots)

    text = render_roots(index, found[1], {}, TextStyle())
    assert f"CUDA 11.7  {toolkit}\n" in text
    assert "  learned environment variable CUDA_PATH, last resort\n" in text
    assert "  folders bin (2 DLLs), nvvm/bin (1 DLL)\n" in text
    assert "  warning everyone can write to it\n" in text
    assert "x64/Microsoft.VC143.OpenMP.LLVM (1 DLL, not redistributable)\n" in text

    document = json.loads(roots_json(index, found[1], None))
    assert document["schema"] == "wheelfix.roots/1"
    assert [root["kind"] for root in document["roots"]] == ["cuda", "msvc"]
    assert document["roots"][0]["folders"][0] == {
        "path": "bin",
        "version": "11.7",
        "cuda": "11.7",
        "package": "",
        "redistributable": True,
        "dlls": 2,
    }
    assert document["remarks"] == [
        {
            "kind": "oneapi",
            "path": str(tmp_path / "gone"),
            "learned": "environment variable MKLROOT",
            "reason": "no such folder",
        }
    ]
    assert document["skipped"] == []


def test_toolkits_on_another_drive_and_of_scoop(tmp_path):
    drive = tmp_path / "D"
    grow(drive / "CUDA" / "v11.7", ["bin/cudart64_110.dll"])
    grow(drive / "Program Files/NVIDIA/CUDNN/v8.9", ["bin/cudnn64_8.dll"])
    grow(tmp_path / "home/scoop/apps/cuda/12.4.1", ["bin/cudart64_12.dll"])
    host = dataclasses.replace(windows(tmp_path, home=tmp_path / "home"), drives=(drive,))
    assert [(root.kind, root.path.name, root.learned) for root in explore(host)[0]] == [
        ("cuda", "12.4.1", "scoop"),
        ("cuda", "v11.7", "another drive"),
        ("cudnn", "v8.9", "another drive"),
    ]


def test_conda_environments_that_are_not_active(tmp_path):
    home, other = tmp_path / "home", tmp_path / "elsewhere"
    for prefix in (home / "miniforge3", home / "miniforge3/envs/first", other):
        grow(prefix, ["conda-meta/history", "Library/bin/mkl_rt.2.dll"])
    grow(home, {".conda/environments.txt": f"{home}/miniforge3/envs/first\n{other}\n\n{tmp_path}/gone\n"})
    found = explore(windows(tmp_path, home=home))
    assert [(root.path, root.last_resort) for root in found[0] if root.kind == "conda"] == [
        (home / "miniforge3", True),
        (home / "miniforge3/envs/first", True),
        (other, True),
    ]
    assert found[1] == ()


def test_conda_is_asked_where_its_environments_are(tmp_path):
    """An environment made with --prefix is in no folder of conda's, and environments.txt may be another user's."""
    grow(tmp_path / "project/env", ["conda-meta/history", "Library/bin/mkl_rt.2.dll"])
    grow(tmp_path / "cache/pkgs", ["cuda-cupti-12.4.127-h1_2/Library/bin/cupti64_2024.1.1.dll", "cache/readme.txt"])
    answer = {"envs": [f"{tmp_path}/project/env", 3, f"{tmp_path}/gone"], "pkgs_dirs": [f"{tmp_path}/cache/pkgs"]}
    host = dataclasses.replace(windows(tmp_path), conda_info=lambda: json.dumps(answer))
    found = explore(host)
    assert [(root.path.name, root.learned, root.last_resort) for root in found[0]] == [
        ("env", "not active, conda info", True),
        ("pkgs", "package cache, conda info", True),
    ]
    assert found[1] == ()


@pytest.mark.parametrize("answer", ["", "no JSON", "[]", '{"envs": "/x", "pkgs_dirs": null}'])
def test_an_answer_of_conda_that_says_nothing(tmp_path, answer):
    assert explore(dataclasses.replace(windows(tmp_path), conda_info=lambda: answer))[0] == ()


@pytest.mark.parametrize(
    "text, part",
    [
        (r"C:\CUDA\v11.7", "in WSL it is /mnt/c/CUDA/v11.7"),
        ("D:/x", "in WSL it is /mnt/d/x"),
        (r"\\server\share", "that is a path of Windows"),
        ("no/such", "misspelling"),
    ],
)
def test_a_path_of_windows_elsewhere_is_not_called_a_misspelling(text, part):
    with pytest.raises(UsageError) as caught:
        named_root(text, HOST)
    assert part in caught.value.hint
    assert ("misspelling" in caught.value.hint) is (part == "misspelling")


def test_a_named_root_that_is_not_there_is_an_error_before_anything_is_missing(tmp_path):
    options = RootOptions(roots=(tmp_path / "gone",), discover=False)
    with pytest.raises(UsageError, match="does not exist"), open_index(options, host=HOST):
        pass


def test_a_folder_that_is_named_twice_is_one_root(tmp_path):
    folder = grow(tmp_path / "v11.7", ["bin/cudart64_110.dll"])
    options = RootOptions(roots=(folder, folder), cuda=(folder,), discover=False)
    assert [root.path for root in gather_roots(options, HOST)] == [folder]


def test_the_first_of_two_named_roots_wins(tmp_path):
    """Both fit, and the newer one was taken without a word."""
    older = grow(tmp_path / "older", {"zstd.dll": "version 1.4.0.0"})
    newer = grow(tmp_path / "newer", {"zstd.dll": "version 1.5.0.0"})
    for first, second in ((older, newer), (newer, older)):
        options = RootOptions(roots=(first, second), discover=False)
        with open_index(options, host=HOST) as index:
            request = DllRequest("zstd.dll", Machine.AMD64, ())
            found = choose(request, index)
            assert found.winner.root.path == first
            assert found.reason == f"in the first root that was named, {first}"
            assert [one.reason for one in found.considered[1:]] == ["in a root that was named later"]
