"""Symptoms of whole texts: tracebacks, wrapped lines, other systems, bundled programs."""

from __future__ import annotations

import io
import itertools
import random
import tracemalloc

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import wheelfix
from wheelfix.diagnosis.model import Diagnosis, DiagnosisOutcome
from wheelfix.diagnosis.symptoms.model import Confidence, TextLimits
from wheelfix.diagnosis.symptoms.reader import read_log, read_symptoms

LIB = r"C:\e\Lib\site-packages\torch\lib"
TORCH = f'OSError: [WinError 126] No. Error loading "{LIB}\\{{}}.dll" or one of its dependencies.\n'


@pytest.mark.parametrize("kind", ["str", "bytes", "file", "text-file"])
def test_any_kind_of_source_reads_alike(kind):
    text = TORCH.format("shm")
    source = {
        "str": text,
        "bytes": text.encode(),
        "file": io.BytesIO(text.encode()),
        "text-file": io.StringIO(text),
    }[kind]
    (symptom,) = read_symptoms(source)  # type: ignore[arg-type]  # the union is what is tested
    assert (symptom.kind, symptom.code, symptom.file, symptom.package) == ("torch-load", 126, "shm.dll", "torch")


def test_repetitions_are_counted_and_told_once():
    (symptom,) = read_symptoms(("2025-01-01T00:00:0{}Z " + TORCH.format("shm")) * 500)
    assert (symptom.count, symptom.line) == (500, 1)


def test_different_errors_keep_their_order_and_lines():
    text = "x\n" + TORCH.format("a") + "y\n" + TORCH.format("b")
    assert [(symptom.file, symptom.line) for symptom in read_symptoms(text)] == [("a.dll", 2), ("b.dll", 4)]


def test_an_error_does_not_take_the_path_of_the_next_one():
    """Two messages in a row, the first without a path: they must not be joined as if a line had been broken."""
    text = "OSError: [WinError 193] %1 is not a valid Win32 application\n" + TORCH.format("shm")
    assert [(symptom.kind, symptom.code, symptom.file) for symptom in read_symptoms(text)] == [
        ("winerror", 193, ""),
        ("torch-load", 126, "shm.dll"),
    ]


def test_the_traceback_tells_the_package_of_an_error_without_path():
    text = (
        '  File "C:\\e\\lib\\site-packages\\torch_sparse\\__init__.py", line 18, in <module>\n'
        '  File "C:\\e\\lib\\ctypes\\__init__.py", line 374, in __init__\n'
        "OSError: [WinError 127] the specified procedure could not be found\n"
    )
    (symptom,) = read_symptoms(text)
    assert (symptom.package, symptom.code, symptom.path) == ("torch_sparse", 127, None)


def test_limits_are_kept_and_said():
    text = "".join(TORCH.format(f"lib{number}") for number in range(50))
    log = read_log(text, TextLimits(max_symptoms=10))
    assert len(log.symptoms) == 10
    assert log.stopped == "reading stopped at line 10: 10 different symptoms"
    assert "too many different suspicious lines" in read_log(text, TextLimits(max_work=5)).stopped


def test_an_error_deep_in_a_long_log_is_found():
    dull = "".join(f"[{number}/9000] Building CXX object aten/Kernel{number}.obj\n" for number in range(9000))
    log = read_log((dull * 6 + TORCH.format("shm") + dull * 3).encode())
    assert [(symptom.file, symptom.line) for symptom in log.symptoms] == [("shm.dll", 54001)]
    assert log.lines == 81001
    assert log.stopped == ""


def test_binary_garbage_says_nothing():
    assert read_symptoms(random.Random(7).randbytes(1 << 21)) == ()
    assert read_symptoms(bytes(1 << 20)) == ()
    assert read_symptoms(b"") == ()


@pytest.mark.slow
@settings(max_examples=200, deadline=None)
@given(st.binary(max_size=400), st.binary(max_size=400))
def test_bytes_around_an_error_never_raise(before, after):
    read_symptoms(before)
    read_symptoms(before + b"\n" + TORCH.format("shm").encode() + after)


@settings(max_examples=150, deadline=None)
@given(st.integers(min_value=60, max_value=200), st.sampled_from(["shm", "torch_cuda", "aoti_custom_ops"]))
def test_a_hard_wrap_at_any_width_is_undone(width, name):
    line = TORCH.format(name).strip()
    wrapped = "\n".join(line[start : start + width] for start in range(0, len(line), width))
    (symptom,) = read_symptoms(wrapped + "\n\nC:\\>")
    assert symptom.path == f"C:\\e\\Lib\\site-packages\\torch\\lib\\{name}.dll"


def test_confidence_is_lower_for_a_sentence_from_memory():
    (exact,) = read_symptoms(
        "ImportError: DLL load failed while importing _C: The specified module could not be found."
    )
    (near,) = read_symptoms("ImportError: DLL load failed while importing _C: The specified module can not be found")
    assert (exact.code, exact.confidence) == (126, Confidence.SURE)
    assert (near.code, near.confidence) == (126, Confidence.LIKELY)


def test_a_log_says_how_it_was_read():
    log = read_log("ImportError: DLL load failed: x\n".encode("utf-16"))
    assert (log.encoding, log.lines, log.size) == ("utf-16", 1, 66)


def test_the_line_before_an_error_is_not_part_of_it():
    """A long line that names a DLL, followed by an error about another one: only the error is told."""
    before = f"[1234/5678] Linking CXX shared library bin\\torch_cpu.dll; {'x' * 30} error code none, see log\n"
    sentence = "The specified module could not be found."
    (symptom,) = read_symptoms(before + TORCH.format("shm").replace("No.", sentence))
    assert symptom.file == "shm.dll"
    (bare,) = read_symptoms(before + sentence + "\n")
    assert (bare.kind, bare.path, bare.line) == ("sentence", None, 2)


def test_a_bare_sentence_broken_in_two_is_read():
    (symptom,) = read_symptoms("tool.exe: The specified module could\nnot be found.\n")
    assert (symptom.kind, symptom.code) == ("sentence", 126)


def test_two_messages_in_a_row_keep_their_own_lines():
    text = "loading C:\\a\\one.dll took a while and then nothing more was heard of it for some time\n"
    text += "the paging file is too small (os error 1455)\n"
    (symptom,) = read_symptoms(text)
    assert (symptom.code, symptom.path, symptom.line) == (1455, None, 2)


class Endless(io.RawIOBase):
    """A log of many megabytes that is made while it is read."""

    def __init__(self) -> None:
        super().__init__()
        self._number = 0
        self._left = 12 << 20

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: bytearray) -> int:  # type: ignore[override]  # the base takes any buffer
        if self._left <= 0:
            return 0
        self._number += 1
        lines = f"[{self._number}] Linking CXX shared library bin\\part{self._number}.dll\n" * 4000
        error = TORCH.format("shm") if self._left < 1 << 20 else ""
        data = (lines + error).encode()[: len(buffer)]
        buffer[: len(data)] = data
        self._left -= len(data)
        return len(data)


@pytest.mark.slow
def test_memory_does_not_grow_with_the_log():
    read_log(TORCH.format("shm"))  # the tables and their patterns are read once
    tracemalloc.start()
    try:
        log = read_log(Endless())  # type: ignore[arg-type]  # a raw stream reads like a file
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert log.size >= 12 << 20
    assert peak < 6 << 20


ADDS = '  File "C:\\Python311\\Lib\\os.py", line 1119, in add_dll_directory\n    cookie = nt._add_dll_directory(path)\n'


def test_a_folder_for_dlls_that_is_not_there():
    error = "FileNotFoundError: [WinError 3] The system cannot find the path specified: 'C:\\\\CUDA\\\\v11.8\\\\bin'\n"
    (symptom,) = read_symptoms(ADDS + error)
    assert (symptom.kind, symptom.code) == ("dll-folder", 3)
    assert read_symptoms(error) == ()


def test_a_traceback_that_stands_behind_the_error_tells_what_was_started():
    text = (
        "  [WinError 193] %1 is not a valid Win32 application\n\n"
        "  at ~\\anaconda3\\lib\\subprocess.py:1307 in _execute_child\n"
    )
    (symptom,) = read_symptoms(text)
    assert symptom.details["via"] == "subprocess"


@pytest.mark.parametrize(
    ("sentence", "code"),
    [("not found。", 126), ("can't find the module", 126), ("the procedure was not found", 127), ("oh no", None)],
)
def test_a_sentence_that_was_retold(sentence, code):
    (symptom,) = read_symptoms(f"ImportError: DLL load failed while importing _x: {sentence}")
    assert symptom.code == code or (code == 127 and symptom.code is None)


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("Exception code: c0000005", 0xC0000005),
        ("Windows fatal exception: stack overflow", 0xC00000FD),
        ("OSError: [WinError -529697949] Windows Error 0xe06d7363", 0xE06D7363),
        ("exit code -1073740940", 0xC0000374),
        ("LoadLibraryExW failed with error 0x7E for foo.dll", 126),
        ("Cannot load library 'openvino_intel_gpu_plugin.dll': 126", 126),
        ("Could not load dynamic library: foo.dll (126)", 126),
    ],
)
def test_codes_in_other_forms(text, code):
    (symptom,) = read_symptoms(text)
    assert symptom.code == code


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("cublas64_11.dll -> not found", "could-not-locate"),
        ("Failed to load foo.dll", "could-not-load-this"),
        ("foo.dll failed to load", "could-not-load-this"),
        ("The DLL foo.dll could not be found", "could-not-locate"),
        ("NvrtcSupportError: NVRTC cannot be loaded", "cuda-library"),
        ("Failed to load F:/v/libvs_placebo.dll. GetLastError() returned 126. One of its dependencies", "winerror"),
    ],
)
def test_a_load_in_the_words_of_a_program(text, kind):
    assert kind in {symptom.kind for symptom in read_symptoms(text)}


@pytest.mark.parametrize("text", ["cannot load model foo.bin", "cannot load libcudnn.so.8", "cudnn is enabled"])
def test_other_loads_are_left_alone(text):
    assert read_symptoms(text) == ()


def test_a_traceback_of_another_system_behind_the_message():
    text = 'CMake Error: CMAKE_C_COMPILER not set, after EnableLanguage\n File "/home/x/build_meta.py", line 4, in y\n'
    assert read_symptoms(text) == ()


def test_the_second_half_of_a_boxed_error_is_not_another_one():
    text = (
        "│ OSError: [WinError 126] The specified module could not be fou │\n"
        '│ nd. Error loading "C:\\v\\Lib\\site-packages\\torch\\lib\\shm.dll" or one of its dependencies. │\n'
    )
    assert [symptom.kind for symptom in read_symptoms(text)] == ["torch-load"]


PYINSTALLER = r"""Traceback (most recent call last):
  File "main.py", line 24, in <module>
  File "PyInstaller\loader\pyimod02_importers.py", line 419, in exec_module
  File "cryptography\x509\__init__.py", line 7, in <module>
ImportError: DLL load failed while importing _rust: The specified module could not be found.
"""
NUITKA = r"""  File "C:\work\app\MAIN~1.DIS\sounddevice.py", line 83, in <module sounddevice>
OSError: cannot load library 'C:\work\app\MAIN~1.DIS\_sounddevice_data\libportaudio64bit.dll': error 0x7e
"""


def first(found: Diagnosis) -> str:
    return found.explained[0].cause.id if found.explained else "none"


@pytest.mark.parametrize("text", [PYINSTALLER, NUITKA], ids=["PyInstaller", "Nuitka"])
def test_a_bundle_is_completed_by_who_builds_it(text):
    """Story: users of a program were told to repair a wheel and to install packages (pyinstaller#8565)."""
    found = wheelfix.diagnose(text)
    assert first(found) == "bundle-incomplete"
    commands = [remedy.command for remedy in found.remedies]
    assert not any(command.startswith(("wheelfix", "python -m pip", "conda")) for command in commands)


def test_the_package_of_a_bundle_is_named_to_pyinstaller():
    assert wheelfix.diagnose(PYINSTALLER).remedies[0].command == "pyinstaller --collect-binaries cryptography script.py"


def test_a_file_outside_of_the_bundle_is_another_programs():
    text = PYINSTALLER.rpartition("ImportError")[0] + (
        r"FileNotFoundError: Could not find module 'C:\Program Files\Maker\sdk.dll' (or one of its dependencies)."
    )
    assert first(wheelfix.diagnose(text)) != "bundle-incomplete"


def test_an_environment_of_conda_is_seen_in_the_traceback():
    text = (
        'File "D:\\Miniconda3\\envs\\gnome\\lib\\site-packages\\shapely\\__init__.py", line 1, in <module>\n'
        "ImportError: DLL load failed while importing lib: %1 is not a valid Win32 application.\n"
    )
    _, look, reinstall = wheelfix.diagnose(text).remedies
    assert look.command == 'wheelfix diagnose --env "D:\\Miniconda3\\envs\\gnome"'
    assert reinstall.command == "conda list shapely"
    assert "conda install --force-reinstall shapely" in reinstall.why


@pytest.mark.parametrize(
    "text",
    [
        "Unable to load any of {libcudnn_ops.so.9, libcudnn_ops.so}\nInvalid handle. Cannot load symbol cudnnCreate\n",
        "('01000', \"[01000] [unixODBC][Driver Manager]Can't open lib 'ODBC Driver 17' : file not found\")\n",
        "/usr/local/lib/python3.11/site-packages/x.py: 5\nCannot load symbol cudnnCreateTensorDescriptor\n",
    ],
)
def test_other_systems_are_not_windows(text):
    assert wheelfix.diagnose(text).outcome is DiagnosisOutcome.UNKNOWN
    assert not wheelfix.diagnose(text).explained


@pytest.mark.parametrize("name", ["dxgi.dll", "d3d9.dll", "xinput1_4.dll"])
def test_a_part_of_windows_is_not_a_vendors(name):
    found = wheelfix.diagnose(f"The code execution cannot proceed because {name} was not found.")
    assert first(found) == "windows-part-missing"
    assert not any("pip" in remedy.command or "repair" in remedy.command for remedy in found.remedies)


@pytest.mark.parametrize(
    ("text", "cause"),
    [
        ("找不到vcruntime140_1d.dll 无法继续执行代码", "debug-build"),
        ("缺少 MSVCP140.dll 怎么办", "vc-runtime-missing"),
        ("Die Datei msvcp140.dll fehlt", "vc-runtime-missing"),
        ("cudart64_12.dll est introuvable", "cuda-library-missing"),
        ("falta vcruntime140_1.dll", "vc-runtime-missing"),
        ("отсутствует vcruntime140.dll", "vc-runtime-missing"),
        ("MSVCP140.dll が見つかりません", "vc-runtime-missing"),
        ("brak pliku msvcp140.dll", "vc-runtime-missing"),
        ("msvcp140.dll bulunamadı", "vc-runtime-missing"),
        ("VCRUNTIME140.dll을 찾을 수 없습니다", "vc-runtime-missing"),
        ("d3dx10d_43.dll is missing", "debug-build"),
    ],
)
def test_a_missing_dll_as_people_retell_it(text, cause):
    assert first(wheelfix.diagnose(text)) == cause


def test_wines_own_dll_is_wines():
    needed = 'err:module:import_dll Library {} (which is needed by L"C:\\\\windows\\\\syswow64\\\\{}") not found'
    names = ["ucrtbase.dll", "version.dll", "user32.dll", "comctl32.dll"]
    lines = [f"0208:{needed.format(missing, by)}" for missing, by in itertools.pairwise(names)]
    found = wheelfix.diagnose("\n".join(lines))
    assert first(found) == "wine-incomplete"
    assert found.explained[0].cause.likely_missing == ("ucrtbase.dll",)


COPIED = (
    'ImportError: DLL load failed while importing win32api: The specified module could not be found.\nFile "x", line 1'
)


@pytest.mark.parametrize(
    "changed",
    [
        COPIED.replace(" ", "\xa0"),
        "<pre>" + COPIED.replace(" ", "&nbsp;").replace('"', "&quot;") + "</pre>",
        COPIED.replace('"', "&#34;").encode("utf-16"),
    ],
    ids=["no-break blanks", "entities", "UTF-16"],
)
def test_blanks_and_marks_of_a_page_are_those_of_the_program(changed):
    """Story: of 117 texts, 78 got another answer with the no-break blanks that chats and pages put in."""
    assert first(wheelfix.diagnose(changed)) == "pywin32-unset"


def test_words_behind_a_curved_apostrophe_are_known():
    assert first(wheelfix.diagnose("UnicodeEncodeError: ’charmap’ codec can’t encode character")) == "charmap-codec"


def test_a_frame_that_a_console_broke_names_the_package():
    text = (
        '  File "C:\\Users\\dana\\AppData\\Local\\Programs\\Python\\Python38\\lib\\site-p\n'
        'ackages\\h5py\\__init__.py", line 23, in <module>\n'
        "ImportError: DLL load failed while importing defs: %1 is not a valid Win32 application.\n"
    )
    assert any(remedy.command == "python -m pip show h5py" for remedy in wheelfix.diagnose(text).remedies)


def test_a_start_that_failed_in_a_bundle_is_a_matter_of_its_runtime():
    retold = "ImportError: DLL load failed while importing utils: A failure occurred in the DLL initialization routine."
    found = wheelfix.diagnose(PYINSTALLER.rpartition("ImportError")[0] + retold)
    assert first(found) == "vc-runtime-too-old"
    assert "into the bundle" in found.remedies[0].title


def test_what_conda_does_comes_first_in_its_environment():
    text = (
        'File "C:\\miniconda3\\envs\\dml\\lib\\site-packages\\onnxruntime_genai\\__init__.py", line 10, in <module>\n'
        "ImportError: DLL load failed while importing onnxruntime_genai: A dynamic link library (DLL) initialization "
        "routine failed.\n"
    )
    assert wheelfix.diagnose(text).remedies[0].command == 'conda install -c conda-forge "vc14_runtime>=14.42"'
