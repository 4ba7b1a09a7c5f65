"""Targets: what kinds of Windows have, read from our lists and from users' own."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from wheelfix.errors import InputError, UsageError
from wheelfix.knowledge.tables import TableFault
from wheelfix.knowledge.targets import (
    NAMES,
    State,
    chosen_targets,
    documented_since,
    known_target,
    missing_exports,
    parse_cep28,
    parse_since,
    parse_target_list,
    presence,
    release,
    unknown_exports,
)
from wheelfix.model import Machine

if TYPE_CHECKING:
    from pathlib import Path

HEAD = "wheelfix target 1\nname: mine\ntitle: My machine\nbuild: 17763\ndate: 2026-11-16\nbase: {base}\n"
SECTION = "\n[{title}]\nsource: a test\ndate: 2026-11-16\n"


def listed(base: str = "none", **sections: str) -> str:
    """A list with sections, whose titles have ``_`` for blanks."""
    parts = [SECTION.format(title=title.replace("_", " ")) + body for title, body in sections.items()]
    return HEAD.format(base=base) + "".join(parts)


@pytest.mark.parametrize("name", NAMES)
def test_every_fact_of_our_lists_has_a_source_and_a_date(name: str) -> None:
    target = known_target(name)
    facts = [*target.dlls.values(), *(fact for _, fact in target.patterns), *target.absent_exports.values()]
    assert target.name == name
    assert target.title
    assert target.date
    assert all(fact.source and fact.date for fact in facts)


@pytest.mark.parametrize(
    ("target", "dll", "state"),
    [
        ("windows-11", "MFPlat.DLL", State.HAS),
        ("windows-n", "MFPlat.DLL", State.ABSENT),
        ("windows-n", "evr.dll", State.PERHAPS_ABSENT),
        ("windows-n", "d3d11.dll", State.HAS),
        ("windows-10-1809", "icu.dll", State.ABSENT),
        ("windows-10-1809", "DirectML.dll", State.ABSENT),
        ("windows-10-1809", "icuuc.dll", State.HAS),
        ("server-core-2022", "OPENGL32.dll", State.ABSENT),
        ("server-core-2022", "api-ms-win-crt-runtime-l1-1-0.dll", State.HAS),
        ("server-core-2022", "d3d11.dll", State.UNKNOWN),
        ("nano-server", "NETAPI32.dll", State.ABSENT),
        ("nano-server", "user32.dll", State.HAS),
        ("nano-server", "secur32.dll", State.UNKNOWN),
        ("nano-server", "gdi32.dll", State.PERHAPS_ABSENT),
        ("server-core-2022", "dxva2.dll", State.ABSENT),
        ("server-core-2022", "WINMM.dll", State.HAS),
        ("nano-server", "bcryptprimitives.dll", State.HAS),
        ("nano-server", "api-ms-win-core-synch-l1-2-0.dll", State.HAS),
        ("server-core-2022", "bcryptprimitives.dll", State.HAS),
        ("server-core-2022", "api-ms-win-core-synch-l1-2-0.dll", State.HAS),
        ("nano-server", "api-ms-win-core-heap-l1-1-0.dll", State.HAS),
        ("nano-server", "api-ms-win-core-winrt-l1-1-0.dll", State.UNKNOWN),
        ("wine", "kernel32.dll", State.HAS),
        ("wine", "directml.dll", State.ABSENT),
        ("wine", "api-ms-win-core-file-l1-2-0.dll", State.HAS),
    ],
)
def test_what_targets_have(target: str, dll: str, state: State) -> None:
    assert presence(known_target(target), dll).state is state


@pytest.mark.parametrize(
    ("target", "dll", "function", "missing"),
    [
        ("windows-10-1809", "KERNEL32.dll", "SetThreadSelectedCpuSetMasks", True),
        ("server-core-2022", "KERNEL32.dll", "SetThreadSelectedCpuSetMasks", False),
        ("windows-10-1809", "KERNEL32.dll", "SetThreadDescription", False),
        ("windows-10-1809", "KERNEL32.dll", "CreateFileW", False),
        ("windows-11", "KERNEL32.dll", "GetMachineTypeAttributes", False),
        ("nano-server", "kernel32.dll", "GetNumaProcessorNode", True),
        ("wine", "kernel32.dll", "SetThreadSelectedCpuSetMasks", True),
        ("wine", "kernel32.dll", "CreateFileW", False),
    ],
)
def test_functions_that_targets_do_not_have(target: str, dll: str, function: str, missing: bool) -> None:
    assert (function in missing_exports(known_target(target), dll, [function])) is missing


def test_a_list_of_a_whole_machine_knows_all_names_exports_and_contracts() -> None:
    text = listed(
        has="kernel32.dll 10.0.17763.1\n CreateFileW ReadFile\n @1-2 @7\nuser32.dll\n",
        api_sets="api-ms-win-core-file-l1-2-3.dll\n",
    )
    target, faults = parse_target_list(text)
    assert target is not None
    assert not faults
    assert presence(target, "user32.dll").state is State.HAS
    assert presence(target, "gdi32.dll").state is State.ABSENT
    assert presence(target, "api-ms-win-core-file-l1-2-0.dll").state is State.HAS
    assert presence(target, "api-ms-win-core-path-l1-1-0.dll").state is State.ABSENT
    assert set(missing_exports(target, "KERNEL32.DLL", ["ReadFile", "WriteFile", 7, 8])) == {"WriteFile", 8}
    assert missing_exports(target, "user32.dll", ["SetThreadDescription", "Anything"]) == {}


def test_a_dll_may_be_known_in_part_from_several_sources() -> None:
    text = listed("unknown", has_some="kernel32.dll\n CreateFileW @7\n", absent_exports="kernel32.dll Gone\n")
    target, faults = parse_target_list(text + SECTION.format(title="has some") + "kernel32.dll\n ReadFile\n")
    assert target is not None
    assert not faults
    assert presence(target, "KERNEL32.dll").state is State.HAS
    wanted = ["CreateFileW", "ReadFile", "WriteFile", "Gone", 7, 8]
    assert unknown_exports(target, "KERNEL32.dll", wanted) == ("WriteFile", 8)
    assert set(missing_exports(target, "kernel32.dll", wanted)) == {"Gone"}
    assert unknown_exports(target, "user32.dll", wanted) == ()


@pytest.mark.parametrize("first", ["has", "has some"])
def test_a_dll_is_known_whole_or_in_part(first: str) -> None:
    second = "has some" if first == "has" else "has"
    parts = [SECTION.format(title=title) + "a.dll\n" for title in (first, second)]
    target, faults = parse_target_list(HEAD.format(base="unknown") + "".join(parts))
    assert target is None
    assert "a.dll for the second time" in faults[0]


def test_the_list_of_another_processor_says_nothing() -> None:
    text = listed(has="kernel32.dll\n").replace("base: none", "base: none\nmachine: amd64")
    target, _ = parse_target_list(text)
    assert target is not None
    assert presence(target, "gdi32.dll", Machine.AMD64).state is State.ABSENT
    assert presence(target, "gdi32.dll", Machine.X86).state is State.UNKNOWN
    assert presence(target, "kernel32.dll", Machine.X86).state is State.UNKNOWN


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        ("", "line 1: it does not begin with 'wheelfix target 1'"),
        ("MZ\x90\x00", "line 1: it does not begin"),
        ("wheelfix target 1\n", "name: is missing"),
        (listed("some", has="a.dll\n"), "base: 'some' is none of windows, unknown, none"),
        (listed(has="a.dll\n").replace("name: mine", "name: my machine"), "name: 'my machine' has more than letters"),
        (listed("none"), "base: none, and no DLL under [has]"),
        (listed(has="a.dll\nA.DLL\n"), "line 12: a.dll for the second time"),
        (listed(has="a.dll\n") + "[odd]\n", "line 12: '[odd]' is none of"),
        (listed(absent=" Create\n"), "line 11: exports without a DLL above them"),
        (listed(has="a.dll\n @9-3\n"), "line 12: @9-3 is not a range of ordinals"),
        (listed(has="a.dll\n" + " @0-65535" * 100), "line 12: more than 4000000 ordinals in one list"),
        (listed(has="a:b.dll\n"), "line 11: 'a:b.dll' is not the name of a DLL"),
        (HEAD.format(base="windows") + "[absent]\na.dll\n", "[absent] has no source:"),
        (listed(has="a.dll\n").replace("build: 17763", "build: new"), "build: 'new' is not a number"),
        (listed(has="a.dll\n").replace("date: 2026-11-16\nbase", "date: today\nbase"), "date: 'today' is not a date"),
        (HEAD.format(base="windows") + "color: red\n", "line 7: 'color: red' is none of name:"),
    ],
)
def test_faults_of_a_list_are_named_with_their_line(text: str, fault: str) -> None:
    target, faults = parse_target_list(text)
    assert target is None
    assert any(fault in one for one in faults), faults


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16"])
def test_a_file_is_a_target_however_powershell_wrote_it(tmp_path: Path, encoding: str) -> None:
    path = tmp_path / "mine.txt"
    path.write_text(listed(has="kernel32.dll\n").replace("\n", "\r\n"), encoding=encoding)
    assert [target.name for target in chosen_targets(["windows-n", str(path), "windows-n"])] == ["windows-n", "mine"]


def test_a_file_that_is_no_list_is_refused_with_the_reasons(tmp_path: Path) -> None:
    path = tmp_path / "mine.txt"
    path.write_text("hello", encoding="utf-8")
    with pytest.raises(InputError, match="does not begin with"):
        chosen_targets([str(path)])
    path.write_bytes(b"\xff\xfe\x00")
    with pytest.raises(InputError, match="cannot be read as text"):
        chosen_targets([str(path)])


def test_an_unknown_word_is_refused_with_the_names() -> None:
    with pytest.raises(UsageError, match="neither a known target nor a file") as caught:
        chosen_targets(["windows-12"])
    assert "server-core-2022" in caught.value.hint


def test_two_targets_of_one_name_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "mine.txt"
    path.write_text(listed(has="kernel32.dll\n").replace("name: mine", "name: wine"), encoding="utf-8")
    with pytest.raises(UsageError, match="another target is called 'wine' too"):
        chosen_targets(["wine", str(path)])


def test_all_means_every_target() -> None:
    assert tuple(target.name for target in chosen_targets(["all"])) == NAMES


def test_condas_lists_are_targets() -> None:
    """CEP 28: what conda's build tools allow and deny."""
    allow = ["C:/Windows/System32/**/*.dll"]
    target, _ = parse_cep28(json.dumps({"version": 1, "allow": allow, "deny": ["**/vcomp*.dll", "**/MF.dll"]}), "vc")
    assert target is not None
    states = {name: presence(target, name).state for name in ("mf.dll", "vcomp140.dll", "kernel32.dll", "made-up.dll")}
    assert states == {
        "mf.dll": State.ABSENT,
        "vcomp140.dll": State.ABSENT,
        "kernel32.dll": State.HAS,
        "made-up.dll": State.UNKNOWN,
    }


@pytest.mark.parametrize("text", ["{", "{}", '{"version": 2}', '{"version": 1, "allow": [1]}'])
def test_json_that_is_no_list_of_conda_is_refused(text: str) -> None:
    target, faults = parse_cep28(text, "x")
    assert target is None
    assert faults


def test_since_when_functions_exist() -> None:
    since = documented_since("Kernel32.DLL", "SetThreadDescription")
    assert since is not None
    assert since.build == 14393
    assert "sdk-api" in since.source
    assert documented_since("kernel32.dll", "CreateFileW") is None
    assert release(17763) == "Windows 10 1809 (build 17763)"
    assert release(1) == "build 1"


@pytest.mark.parametrize(
    "text",
    [
        "a.dll 1 b\n",
        "# source: x\n# date: y\n",
        "# source: x\n# date: y\na.dll b\n",
        "# source: x\n# date: y\na.dll b c\n",
    ],
)
def test_a_table_of_functions_that_cannot_be_used_is_refused(text: str) -> None:
    with pytest.raises(TableFault):
        parse_since("windows_since.txt", text)
