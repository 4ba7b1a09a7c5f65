"""Whose a DLL name is, what Python exports, and what each kind of Windows has."""

from __future__ import annotations

import json

import pytest

from wheelfix.errors import InputError, UsageError
from wheelfix.knowledge.system import (
    classify,
    contract,
    python_exports,
    stable_abi,
    system_dlls,
)
from wheelfix.knowledge.tables import entries, read_text
from wheelfix.knowledge.targets import (
    NAMES,
    State,
    chosen_targets,
    known_target,
    missing_exports,
    parse_cep28,
    parse_target_list,
    presence,
    unknown_exports,
)
from wheelfix.model import Machine

AMD64, X86, ARM64 = Machine.AMD64, Machine.X86, Machine.ARM64


def test_the_contract_is_the_name_without_its_last_digit():
    assert contract("API-MS-WIN-CRT-HEAP-L1-1-0.DLL") == "api-ms-win-crt-heap-l1-1"


def test_vcruntime140_1_is_pythons_on_64_bit_machines_only():
    assert classify("vcruntime140_1.dll", ARM64).kind == "python"
    assert classify("vcruntime140_1.dll", X86).kind == "vcredist"


def test_the_dlls_folder_is_not_where_other_packages_are_searched():
    assert classify("libssl-3.dll", AMD64).folder == "DLLs"
    assert not classify("libssl-3.dll", AMD64).on_every_machine
    assert classify("python311.dll", AMD64).on_every_machine


def test_known_dlls_are_a_part_of_windows():
    kinds = {name: classify(name, AMD64).kind for name in entries(read_text("known_dlls.txt"))}
    assert [name for name, kind in kinds.items() if kind not in ("system", "ucrt")] == ["xtajit64.dll"]
    assert classify("ole32.dll", AMD64).known_dll
    assert not classify("dbghelp.dll", AMD64).known_dll


def test_no_list_has_what_windows_does_not_ship():
    strangers = {
        "msvcp140.dll",
        "vcruntime140.dll",
        "nvcuda.dll",
        "opencl.dll",
        "vulkan-1.dll",
        "winex11.drv",
        "mfc140.dll",
    }
    for machine in (AMD64, X86, ARM64):
        names = system_dlls(machine)
        assert not strangers & names
        assert {"kernel32.dll", "ntdll.dll", "user32.dll", "d3d12.dll", "bcrypt.dll"} <= names


def test_a_system_dll_that_some_editions_lack_says_so():
    assert "Media Feature Pack" in classify("MFPlat.DLL", AMD64).detail
    assert classify("kernel32.dll", AMD64).detail == "part of Windows"


# ------------------------------------------------------------------------------------------------------- python exports
# What the interpreter's DLLs export.


def test_the_table_has_the_pythons_of_today():
    table = python_exports()
    assert {(2, 7), *((3, minor) for minor in range(7, 16))} == set(table)
    common = {"PyArg_ParseTuple", "Py_BuildValue", "PyExc_OSError", "Py_FatalError", "PyErr_SetFromWindowsErr"}
    assert all(common <= names for names in table.values())


# -------------------------------------------------------------------------------------------------------------- targets
# Targets: what kinds of Windows have, read from our lists and from users' own.

HEAD = "wheelfix target 1\nname: mine\ntitle: My machine\nbuild: 17763\ndate: 2026-11-16\nbase: {base}\n"
SECTION = "\n[{title}]\nsource: a test\ndate: 2026-11-16\n"


def listed(base: str = "none", **sections: str) -> str:
    """A list with sections, whose titles have ``_`` for blanks."""
    parts = [SECTION.format(title=title.replace("_", " ")) + body for title, body in sections.items()]
    return HEAD.format(base=base) + "".join(parts)


@pytest.mark.parametrize("name", NAMES)
def test_every_fact_of_our_lists_has_a_source_and_a_date(name):
    target = known_target(name)
    facts = [*target.dlls.values(), *(fact for _, fact in target.patterns), *target.absent_exports.values()]
    assert target.name == name
    assert target.title
    assert target.date
    assert all(fact.source and fact.date for fact in facts)


def test_the_stable_abi_knows_old_and_new_symbols():
    symbols = stable_abi()
    assert symbols["PyObject_Call"] == (3, 2)
    assert symbols["PyObject_Vectorcall"] == (3, 12)
    assert symbols["PyModule_FromDefAndSpec2"] == (3, 7)
    assert "PyOS_AfterFork_Child" not in symbols, "not on Windows"
    assert len(symbols) > 900


def test_a_list_of_a_whole_machine_knows_all_names_exports_and_contracts():
    text = listed(
        has="kernel32.dll 10.0.17763.1\n CreateFileW ReadFile\n @1-2 @7\nuser32.dll\n",
        api_sets="api-ms-win-core-file-l1-2-3.dll\n",
    )
    target = parse_target_list(text, "mine.txt")
    assert presence(target, "user32.dll").state is State.HAS
    assert presence(target, "gdi32.dll").state is State.ABSENT
    assert presence(target, "api-ms-win-core-file-l1-2-0.dll").state is State.HAS
    assert presence(target, "api-ms-win-core-path-l1-1-0.dll").state is State.ABSENT
    assert set(missing_exports(target, "KERNEL32.DLL", ["ReadFile", "WriteFile", 7, 8], AMD64)) == {"WriteFile", 8}
    assert missing_exports(target, "user32.dll", ["SetThreadDescription", "Anything"], AMD64) == {}


def test_a_dll_may_be_known_in_part_from_several_sources():
    text = listed("unknown", has_some="kernel32.dll\n CreateFileW @7\n", absent_exports="kernel32.dll Gone\n")
    target = parse_target_list(text + SECTION.format(title="has some") + "kernel32.dll\n ReadFile\n", "mine.txt")
    assert presence(target, "KERNEL32.dll").state is State.HAS
    wanted = ["CreateFileW", "ReadFile", "WriteFile", "Gone", 7, 8]
    assert unknown_exports(target, "KERNEL32.dll", wanted, AMD64) == ("WriteFile", 8)
    assert set(missing_exports(target, "kernel32.dll", wanted, AMD64)) == {"Gone"}
    assert unknown_exports(target, "user32.dll", wanted, AMD64) == ()


@pytest.mark.parametrize("first", ["has", "has some"])
def test_a_dll_is_known_whole_or_in_part(first):
    second = "has some" if first == "has" else "has"
    parts = [SECTION.format(title=title) + "a.dll\n" for title in (first, second)]
    with pytest.raises(InputError, match=r"a\.dll for the second time"):
        parse_target_list(HEAD.format(base="unknown") + "".join(parts), "mine.txt")


def test_the_list_of_another_processor_says_nothing():
    text = listed(has="kernel32.dll\n").replace("base: none", "base: none\nmachine: amd64")
    target = parse_target_list(text, "mine.txt")
    assert presence(target, "gdi32.dll", Machine.AMD64).state is State.ABSENT
    assert presence(target, "gdi32.dll", Machine.X86).state is State.UNKNOWN
    assert presence(target, "kernel32.dll", Machine.X86).state is State.UNKNOWN


@pytest.mark.parametrize(
    "text, fault",
    [
        ("", "line 1: it does not begin with 'wheelfix target 1'"),
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
        (HEAD.format(base="windows") + "color: red\n", "line 7: 'color: red' is none of name:"),
    ],
)
def test_faults_of_a_list_are_named_with_their_line(text, fault):
    with pytest.raises(InputError) as caught:
        parse_target_list(text, "mine.txt")
    assert fault in caught.value.because


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16"])
def test_a_file_is_a_target_however_powershell_wrote_it(tmp_path, encoding):
    path = tmp_path / "mine.txt"
    path.write_text(listed(has="kernel32.dll\n").replace("\n", "\r\n"), encoding=encoding)
    assert [target.name for target in chosen_targets(["windows-n", str(path), "windows-n"])] == ["windows-n", "mine"]


def test_a_file_that_is_no_list_is_refused_with_the_reasons(tmp_path):
    path = tmp_path / "mine.txt"
    path.write_text("hello", encoding="utf-8")
    with pytest.raises(InputError, match="does not begin with"):
        chosen_targets([str(path)])
    path.write_bytes(b"\xff\xfe\x00")
    with pytest.raises(InputError, match="cannot be read as text"):
        chosen_targets([str(path)])


def test_an_unknown_word_is_refused_with_the_names():
    with pytest.raises(UsageError, match="neither a known target nor a file") as caught:
        chosen_targets(["windows-12"])
    assert "server-core-2022" in caught.value.hint


def test_two_targets_of_one_name_are_refused(tmp_path):
    path = tmp_path / "mine.txt"
    path.write_text(listed(has="kernel32.dll\n").replace("name: mine", "name: wine"), encoding="utf-8")
    with pytest.raises(UsageError, match="another target is called 'wine' too"):
        chosen_targets(["wine", str(path)])


def test_all_means_every_target():
    assert tuple(target.name for target in chosen_targets(["all"])) == NAMES


def test_condas_lists_are_targets():
    """CEP 28: what conda's build tools allow and deny."""
    allow = ["C:/Windows/System32/**/*.dll"]
    document = {"version": 1, "allow": allow, "deny": ["**/vcomp*.dll", "**/MF.dll"]}
    target = parse_cep28(json.dumps(document), "vc.json")
    states = {name: presence(target, name).state for name in ("mf.dll", "vcomp140.dll", "kernel32.dll", "made-up.dll")}
    assert states == {
        "mf.dll": State.ABSENT,
        "vcomp140.dll": State.ABSENT,
        "kernel32.dll": State.HAS,
        "made-up.dll": State.UNKNOWN,
    }


@pytest.mark.parametrize("text", ["{", "{}", '{"version": 2}', '{"version": 1, "allow": [1]}'])
def test_json_that_is_no_list_of_conda_is_refused(text):
    with pytest.raises(InputError, match=r"JSON|CEP 28"):
        parse_cep28(text, "x.json")
