"""Where a text is from: a program bundle, an environment of conda, Windows itself, or another system."""

from __future__ import annotations

import itertools

import pytest

import wheelfix
from wheelfix.diagnosis.model import Diagnosis, DiagnosisOutcome

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
def test_a_bundle_is_completed_by_who_builds_it(text: str) -> None:
    """Story: users of a program were told to repair a wheel and to install packages (pyinstaller#8565)."""
    found = wheelfix.diagnose(text)
    assert first(found) == "bundle-incomplete"
    commands = [remedy.command for remedy in found.remedies]
    assert not any(command.startswith(("wheelfix", "python -m pip", "conda")) for command in commands)


def test_the_package_of_a_bundle_is_named_to_pyinstaller() -> None:
    assert wheelfix.diagnose(PYINSTALLER).remedies[0].command == "pyinstaller --collect-binaries cryptography script.py"


def test_a_file_outside_of_the_bundle_is_another_programs() -> None:
    text = PYINSTALLER.rpartition("ImportError")[0] + (
        r"FileNotFoundError: Could not find module 'C:\Program Files\Maker\sdk.dll' (or one of its dependencies)."
    )
    assert first(wheelfix.diagnose(text)) != "bundle-incomplete"


def test_an_environment_of_conda_is_seen_in_the_traceback() -> None:
    text = (
        'File "D:\\Miniconda3\\envs\\gnome\\lib\\site-packages\\shapely\\__init__.py", line 1, in <module>\n'
        "ImportError: DLL load failed while importing lib: The specified procedure could not be found.\n"
    )
    look, reinstall = wheelfix.diagnose(text).remedies
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
def test_other_systems_are_not_windows(text: str) -> None:
    assert wheelfix.diagnose(text).outcome is DiagnosisOutcome.UNKNOWN
    assert not wheelfix.diagnose(text).explained


@pytest.mark.parametrize("name", ["dxgi.dll", "d3d9.dll", "xinput1_4.dll"])
def test_a_part_of_windows_is_not_a_vendors(name: str) -> None:
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
def test_a_missing_dll_as_people_retell_it(text: str, cause: str) -> None:
    assert first(wheelfix.diagnose(text)) == cause


def test_wines_own_dll_is_wines() -> None:
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
def test_blanks_and_marks_of_a_page_are_those_of_the_program(changed: str | bytes) -> None:
    """Story: of 117 texts, 78 got another answer with the no-break blanks that chats and pages put in."""
    assert first(wheelfix.diagnose(changed)) == "pywin32-unset"


def test_words_behind_a_curved_apostrophe_are_known() -> None:
    assert first(wheelfix.diagnose("UnicodeEncodeError: ’charmap’ codec can’t encode character")) == "charmap-codec"


def test_a_frame_that_a_console_broke_names_the_package() -> None:
    text = (
        '  File "C:\\Users\\dana\\AppData\\Local\\Programs\\Python\\Python38\\lib\\site-p\n'
        'ackages\\h5py\\__init__.py", line 23, in <module>\n'
        "ImportError: DLL load failed while importing defs: The specified procedure could not be found.\n"
    )
    assert any(remedy.command == "python -m pip show h5py" for remedy in wheelfix.diagnose(text).remedies)


def test_a_start_that_failed_in_a_bundle_is_a_matter_of_its_runtime() -> None:
    retold = "ImportError: DLL load failed while importing utils: A failure occurred in the DLL initialization routine."
    found = wheelfix.diagnose(PYINSTALLER.rpartition("ImportError")[0] + retold)
    assert first(found) == "vc-runtime-too-old"
    assert "into the bundle" in found.remedies[0].title


def test_what_conda_does_comes_first_in_its_environment() -> None:
    text = (
        'File "C:\\miniconda3\\envs\\dml\\lib\\site-packages\\onnxruntime_genai\\__init__.py", line 10, in <module>\n'
        "ImportError: DLL load failed while importing onnxruntime_genai: A dynamic link library (DLL) initialization "
        "routine failed.\n"
    )
    assert wheelfix.diagnose(text).remedies[0].command == 'conda install -c conda-forge "vc14_runtime>=14.42"'
