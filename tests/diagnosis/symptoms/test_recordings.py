"""Recordings of every tool become the same values, whatever their encoding, length or damage."""

from __future__ import annotations

import io
import time
from pathlib import Path

import pytest

from wheelfix.diagnosis.symptoms import recordings as procmon
from wheelfix.diagnosis.symptoms.model import Recording, in_windows_folder
from wheelfix.diagnosis.symptoms.recordings import read_recordings

FIXTURES = Path(__file__).parents[3] / "fixtures" / "recordings"
TORCH = r"C:\envs\lab\Lib\site-packages\torch\lib"


def one(name: str) -> Recording:
    """The only recording in a file of the fixtures."""
    (recording,) = read_recordings((FIXTURES / name).read_bytes())
    return recording


def failures(recording: Recording) -> list[tuple[str, int, str]]:
    """What failed, as name, code and importer."""
    return [(load.name, load.code, load.needed_by) for load in recording.failed]


def test_dlltracer_shows_what_was_released_together():
    """The missing DLL has no line; Windows' own components are released in normal work and do not count."""
    recording = one("dlltracer-missing.txt")
    assert recording.tool == "dlltracer"
    assert [load.name for load in recording.released] == ["shm.dll", "torch_cpu.dll", "c10.dll"]
    assert "asmjit.dll" in [load.name for load in recording.loaded]
    assert "c10.dll" not in [load.name for load in recording.loaded]
    assert recording.failed == ()


@pytest.mark.parametrize(
    "line",
    [
        r"<LoadLibraryFailed(C:\envs\lab\x\_ssl.pyd)>",
        r"dlltracer.failed ('C:\envs\lab\x\_ssl.pyd',)",
        r"Failed \Device\HarddiskVolume12\envs\lab\x\_ssl.pyd",
    ],
)
def test_dlltracer_events_in_every_form(line):
    (recording,) = read_recordings(line)
    assert [load.name for load in recording.released] == ["_ssl.pyd"]


def test_loader_snaps_name_the_missing_dll_its_importer_and_the_folders():
    recording = one("snaps-126.txt")
    assert recording.tool == "loader snaps"
    load = recording.failed[-1]
    assert (load.name, load.code, load.needed_by) == ("mkl_intel_thread.2.dll", 126, rf"{TORCH}\torch_cpu.dll")
    assert load.top == rf"{TORCH}\shm.dll"
    assert load.searched == (TORCH, r"C:\Windows\SYSTEM32")
    assert [load.name for load in recording.loaded] == ["shm.dll", "torch_cpu.dll"]


def test_loader_snaps_name_the_symbol():
    (load,) = one("snaps-127.txt").failed
    assert (load.name, load.code) == ("_C.pyd", 127)
    assert load.symbol == "?toTensor@IValue@c10@@QEGBA?AVTensor@at@@XZ"


@pytest.mark.parametrize(
    ("name", "missing"), [("procmon.csv", "cupti64_2022.2.1.dll"), ("procmon-pasted.txt", "curand64_92.dll")]
)
def test_process_monitor_shows_what_no_folder_had(name, missing):
    recording = one(name)
    assert recording.tool == "Process Monitor"
    assert failures(recording) == [(missing, 126, "")]
    assert recording.failed[0].searched[-1].lower() == r"c:\windows\system32"
    assert len(recording.loaded) == 1


def test_process_monitor_with_other_columns():
    rows = [
        '"Path","Operation","Result","PID"',
        r'"C:\app\x.dll","CreateFile","NAME NOT FOUND","7"',
        r'"C:\Windows\System32\x.dll","CreateFile","NAME NOT FOUND","7"',
        r'"C:\app\y.dll","CreateFile","NAME NOT FOUND","7"',
        r'"C:\Windows\System32\y.dll","CreateFile","SUCCESS","7"',
    ]
    (recording,) = read_recordings("\r\n".join(rows))
    assert failures(recording) == [("x.dll", 126, "")]


def test_wine_reports_the_cause_and_not_everyone_above_it():
    recording = one("wine.txt")
    assert failures(recording) == [("libiomp5md.dll", 126, r"Z:\site\torch\lib\torch_cpu.dll")]
    assert recording.failed[0].top == r"Z:\site\torch\lib\shm.dll"
    assert [load.name for load in recording.loaded] == ["kernelbase.dll", "c10.dll"]


def test_dependencies_in_its_three_forms():
    assert ("cudnn64_8.dll", 126, "") in failures(one("dependencies-modules.txt"))
    assert failures(one("dependencies-chain.txt")) == [("libiomp5md.dll", 126, "torch_cpu.dll")]
    assert failures(one("dependencies.json")) == [("libomp140.x86_64.dll", 126, "torch_cpu.dll")]


def test_dumpbin_lists_imports_without_the_delayed_ones():
    recording = one("dumpbin.txt")
    assert [load.name for load in recording.imports] == ["nvrtc64_112_0.dll", "KERNEL32.dll", "VCRUNTIME140.dll"]
    assert recording.failed == ()


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "utf-16-le", "cp1252"])
def test_any_encoding(encoding):
    text = (FIXTURES / "snaps-126.txt").read_text(encoding="utf-8").replace("lab", "lábør")
    (recording,) = read_recordings(text.encode(encoding))
    assert recording.failed[-1].name == "mkl_intel_thread.2.dll"


def test_cut_lines_and_other_text_are_no_recording():
    text = (FIXTURES / "snaps-126.txt").read_text(encoding="utf-8")
    for end in range(0, len(text), 97):
        read_recordings(text[:end])
    assert read_recordings("LoadLibrary failed with error 126\nsome prose [see 1] : more\n") == ()
    assert read_recordings("") == ()
    assert read_recordings('{"a": [1, 2, {"b": "c"}]}') == ()
    assert read_recordings("[" * 200_000) == ()
    assert read_recordings('{"a":' * 100_000) == ()


@pytest.mark.slow
@pytest.mark.no_cover
@pytest.mark.parametrize("name", ["snaps-126.txt", "procmon.csv", "dlltracer-missing.txt", "wine.txt"])
def test_a_long_recording_takes_linear_time(name):
    body = (FIXTURES / name).read_bytes()

    def seconds(size: int) -> float:
        data = io.BytesIO(body * (size // len(body)))
        start = time.process_time()
        read_recordings(data)
        return time.process_time() - start

    seconds(1 << 18)
    # Four times in proportion, sixteen times if every line were compared with every other; the machine may be busy.
    assert any(seconds(4 << 20) < 7 * max(seconds(1 << 20), 0.05) for _ in range(3))


@pytest.mark.parametrize(
    ("path", "windows"),
    [
        (r"C:\Windows\System32\x.dll", True),
        (r"\Windows\System32\x.dll", True),
        (r"\Device\HarddiskVolume3\Windows\x.dll", True),
        (r"C:\envs\windows\x.dll", False),
        ("", False),
    ],
)
def test_windows_own_folder(path, windows):
    assert in_windows_folder(path) is windows


def test_dlltracer_list_of_events_in_one_line():
    """collect=True gives a list, which prints in one line."""
    line = r"[<LoadLibrary(C:\envs\lab\x\_ssl.pyd)>, <LoadLibraryFailed(C:\envs\lab\x\_ssl.pyd)>]"
    (recording,) = read_recordings(line)
    assert [load.name for load in recording.released] == ["_ssl.pyd"]


def test_dlltracer_raw_events():
    """debug=True prints four lines for each event of Windows; other providers are not about loads."""
    loader, other = "2cb15d1d-5fc1-11d2-abe1-00a0c911f518", "3d6fa8d1-fe05-11d0-9dda-00c04fd7ba7c"
    path = r"\Device\HarddiskVolume3\envs\lab\x\_ssl.pyd"

    def event(provider: str, operation: int) -> str:
        return f"{provider}: {operation}\nHeader = 0A 00\nData   = 00 00\nPath   = \u4f60\u0001{path}\n"

    (recording,) = read_recordings(event(loader, 10) + event(other, 2) + event(loader, 2))
    assert recording.tool == "dlltracer"
    assert [(load.name, load.line) for load in recording.released] == [("_ssl.pyd", 4)]


def read(text: str) -> Recording:
    """The only recording in a text."""
    (recording,) = read_recordings(text)
    return recording


def test_loader_snaps_that_end_before_the_error_name_what_was_looked_for():
    """Story: of a record the folders were pasted, not the line after them (pytorch#40366)."""
    lines = [
        f"17ec:0a54 @ 00690078 - LdrpResolveDllName - {text}"
        for folder in (r"C:\\first", r"D:\\second")
        for text in (rf"ENTER: DLL name: {folder}\libopenblas.dll", "RETURN: Status: 0xc0000135")
    ]
    recording = read("\n".join(lines))
    assert failures(recording) == [("libopenblas.dll", 126, "")]
    assert recording.failed[0].searched == (r"C:\\first", r"D:\\second")
    found = [*lines, lines[0], lines[1].replace("0xc0000135", "0x00000000")]
    assert read("\n".join(found)).failed == ()


def test_wine_without_a_dll_of_its_own():
    assert failures(read("wine: could not load kernel32.dll, status c0000135\n")) == [("kernel32.dll", 126, "")]
    line = r'wine: failed to load L"\\??\\C:\\windows\\syswow64\\ntdll.dll" error c0000135'
    assert failures(read(line)) == [("ntdll.dll", 126, "")]


def test_debuggers_show_what_came_and_went():
    windbg = (
        "Module loaded: 00007fff`c6b40000 00007fff`d7b2f000   C:\\app\\provider.dll (symbols loaded)\n"
        "ModLoad: 00007ff8`02c70000 00007ff8`02cf4000   C:\\app\\cudart64_110.dll\n"
        "Module unloaded: 00007fff`c6b40000 00007fff`d7b2f000 C:\\app\\provider.dll\n"
    )
    studio = (
        "'app.exe' (Win32): Loaded 'C:\\app\\provider.dll'. Symbols loaded.\n"
        "'app.exe' (Win32): Loaded 'C:\\app\\cudart64_110.dll'.\n"
        "'app.exe' (Win32): Unloaded 'C:\\app\\provider.dll'\n"
    )
    for text in (windbg, studio):
        recording = read(text)
        assert recording.tool == "debugger"
        assert [load.name for load in recording.loaded] == ["cudart64_110.dll"]
        assert [load.name for load in recording.released] == ["provider.dll"]


def test_debuggers_show_the_first_that_was_mapped_as_the_first_that_was_released():
    """The loader releases in reverse: the DLL that was asked for goes last, and is the one to name."""
    names = ("provider.dll", "cudart64_110.dll", "cublasLt64_11.dll")
    where = "00007fff`c6b40000 00007fff`d7b2f000"
    loaded = "".join(f"ModLoad: {where}   C:\\app\\{name}\n" for name in names)
    gone = "".join(f"Module unloaded: {where} C:\\app\\{name}\n" for name in reversed(names))
    assert [load.name for load in read(loaded + gone).released] == list(names)


def test_dependencies_in_an_indented_block():
    recording = read("    [NOT_FOUND] MSVCR90.dll :\n    [NOT_FOUND] GPSVC.dll :\n")
    assert [name for name, _, _ in failures(recording)] == ["MSVCR90.dll", "GPSVC.dll"]


def test_a_line_with_a_nul_is_read_by_every_python():
    """csv of Python 3.10 refuses it."""
    assert procmon._fields('"10:00","a\0.exe"') == ["10:00", "a.exe"]
