"""``wheelfix diagnose`` on the command line: what it reads, what it prints, how it exits."""

from __future__ import annotations

import io
import random
import shlex
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from tests.remote.indexes import index_of
from tests.support.environments import install, lay
from tests.support.schemas import validate
from tests.support.wheels import build_wheel
from tools.example import kepler_cu117, write_wheel
from wheelfix.base.options import RemoteOptions, ScanOptions
from wheelfix.diagnosis.diagnose import diagnose
from wheelfix.diagnosis.model import Diagnosis
from wheelfix.diagnosis.symptoms.causes import explain_error
from wheelfix.diagnosis.symptoms.model import Confidence
from wheelfix.diagnosis.symptoms.reader import read_log
from wheelfix.report.canvas import TextStyle
from wheelfix.report.diagnosis import render_diagnosis

CORPUS = Path(__file__).parents[2] / "fixtures" / "errors"
LIB = r"C:\e\Lib\site-packages\torch\lib"
TEXT = f'OSError: [WinError 126] x. Error loading "{LIB}\\shm.dll" or one of its dependencies.'


@pytest.fixture(autouse=True)
def no_active_environment(monkeypatch):
    for name in ("VIRTUAL_ENV", "CONDA_PREFIX"):
        monkeypatch.delenv(name, raising=False)


@pytest.fixture
def prefix(tmp_path):
    made = install(write_wheel(kepler_cu117(), tmp_path / "dist"), tmp_path / "env")
    return lay(made, {"python.exe": b"MZ"})


def stdin_of(monkeypatch, data: bytes) -> None:
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(data)))


def test_a_file(run):
    out = run("diagnose", CORPUS / "torch-126-fbgemm-en.txt", code=1).out
    assert "line 6: OSError: [WinError 126]" in " ".join(out.split())
    assert "Use a torch that does not need it: 2.4.1 or later" in out


def test_the_standard_input(monkeypatch, run):
    stdin_of(monkeypatch, TEXT.encode("utf-16"))
    assert "standard input" in run("diagnose", "-", code=1).out


def test_with_an_environment(prefix, run):
    out = run("diagnose", "--text", TEXT, "--env", prefix, "--no-discover", code=1).out
    assert "shm.dll -> torch_cpu.dll -> mkl_intel_thread.2.dll" in out
    assert "It is not the only fault" in out


def test_the_active_environment(prefix, monkeypatch, run):
    monkeypatch.setenv("VIRTUAL_ENV", str(prefix))
    assert "the active environment" in run("diagnose", "--no-discover", code=1).out


def test_json_fits_its_schema(prefix, run):
    argv = ["diagnose", "--text", TEXT, "--env", str(prefix), "--no-discover", "--format", "json"]
    document = run(*argv, code=1).document
    validate(document)
    assert document["outcome"] == "cause-found"
    assert document["causes"][0]["chain"][-1] == "mkl_intel_thread.2.dll"
    assert document["only_fault"] is False
    assert document["remedies"][0]["rank"] == 1
    document = run(*argv, "--issue", code=1).document
    validate(document)
    assert {"label": "torch", "text": "2.7.1+cu117, built for CUDA 11.7"} in document["report"]


def test_the_block_for_an_issue(prefix, run):
    text = TEXT.replace("C:\\e", "C:\\Users\\dana\\e")
    out = run("diagnose", "--text", text, "--env", prefix, "--no-discover", "--issue", code=1).out
    assert "dana" not in out
    assert "torch           2.7.1+cu117, built for CUDA 11.7\n" in out
    assert "cause           mkl_intel_thread.2.dll is missing, which torch_cpu.dll imports.\n" in out


@pytest.mark.parametrize("name", sorted(path.name for path in CORPUS.glob("none-*.txt")))
def test_what_has_nothing_to_do_with_dlls_is_said_politely(name, run):
    """The error is named where the text has one, and that no DLL has a part in it."""
    error = read_log((CORPUS / name).read_bytes()).error
    if error is not None:
        guess = explain_error(error).confidence is Confidence.GUESS
        out = run("diagnose", CORPUS / name, code=5 if guess else 1).said
        assert "No DLL is missing" in out or "No error of the loader is in the text" in out
        return
    out = run("diagnose", CORPUS / name, code=5).out
    assert "Could not tell why." in out


def test_garbage_exits_with_5(tmp_path, run):
    file = tmp_path / "core.bin"
    file.write_bytes(random.Random(3).randbytes(1 << 17))
    assert run("diagnose", file, code=5).err == ""


def test_a_text_of_nothing_but_blanks_is_empty():
    assert diagnose(" \n\t\n").evidence[0].told == "it is empty"


def test_other_faults_without_a_cause_have_a_heading_of_their_own():
    text = render_diagnosis(Diagnosis(others=("x imports y, which is not installed (WF320)",)), TextStyle(width=80))
    assert "The files show" in text
    assert "not the only fault" not in text


def test_the_whole_text_of_a_diagnosis():
    found = diagnose("OMP: Error #15: Initializing libiomp5md.dll, but found libomp140.x86_64.dll already initialized.")
    assert render_diagnosis(found, TextStyle(width=100)) == (
        "text   the text: line 1: OMP: Error #15: Initializing libiomp5md.dll, but found libomp140.x86_64.dll\n"
        "       already initialized.\n"
        "Cause  Two OpenMP runtimes were loaded into one process: libiomp5md.dll and libomp140.x86_64.dll.\n"
        "       Each keeps its own threads and locks; Intel's runtime notices and stops the process.\n"
        "\n"
        "What to do, best first (-v shows 3 more)\n"
        "  1. See which OpenMP runtimes there are\n"
        "      python -c \"import sys, pathlib; print(*pathlib.Path(sys.prefix).rglob('*omp*.dll'), sep=chr(10))\"\n"
        "    of libiomp5md, libomp and vcomp, one has to be left; the folders in the list show which packages\n"
        "    have the others\n"
        "  2. Let the loader model find the DLL in the environment (active, or --env)\n"
        "      wheelfix diagnose\n"
    )
    whole = render_diagnosis(found, TextStyle(width=100, verbose=True))
    assert whole.endswith(
        "  5. Last resort: let both run\n"
        "      set KMP_DUPLICATE_LIB_OK=TRUE\n"
        "    it only silences the check; in PowerShell: $env:KMP_DUPLICATE_LIB_OK = 'TRUE'\n"
        "    danger:  results may silently be wrong, and the process may hang or crash; never in production\n"
    )


UMATH = "numpy/_core/_multiarray_umath.cp311-win_amd64.pyd"
BLAS = "libscipy_openblas64_-0123456789abcdef0123456789abcdef.dll"
NUMPY = "ImportError: DLL load failed while importing _multiarray_umath: The specified module could not be found."


@pytest.mark.parametrize("whole", [True, False])
def test_files_silence_what_the_text_makes_one_guess(whole, tmp_path, run):
    """A whole numpy was said to be "not complete", because the text alone fits that best."""
    files = {
        "numpy/__init__.py": b"from numpy._core import _multiarray_umath\n",
        "numpy/_core/__init__.py": b"",
        UMATH: f"imports {BLAS}",
        **({f"numpy/_core/{BLAS}": ""} if whole else {}),
    }
    wheel = build_wheel(tmp_path, "numpy", "2.2.6", files=files)
    guess = "NumPy is not complete"
    assert guess in run("diagnose", "--text", NUMPY, code=None).out
    out = run("diagnose", "--text", NUMPY, "--wheel", wheel, "--no-discover", code=None).out
    assert guess not in out
    assert ("Could not tell why." in out) is whole
    assert ("This wheel does not have that fault" in out) is whole
    assert (f"{BLAS} is missing" in out) is not whole
    assert ("Install this wheel over the one that is installed" in out) is whole


def test_whole_files_have_no_only_fault(tmp_path, run):
    """torch 2.7.1 on a machine without the VC++ runtime: "it is the only fault in these files", which have none."""
    files = {
        "pkg/__init__.py": b"from pkg import _x\n",
        "pkg/_x.pyd": "imports MSVCP140.dll:",
    }
    wheel = build_wheel(tmp_path, files=files)
    text = "ImportError: DLL load failed while importing _x: The specified module could not be found."
    out = run("diagnose", "--text", text, "--wheel", wheel, "--no-discover", code=None).out
    assert "Visual C++ runtime" in out
    assert "only fault" not in out


# ----------------------------------------------------------------------------------------------- what the index says


NO_WHEEL = (
    "ERROR: Could not find a version that satisfies the requirement demo==1.5 (from versions: none)\n"
    "ERROR: No matching distribution found for demo==1.5\n"
)


@pytest.fixture
def index(tmp_path):
    """An index with demo 1.5 for Python 3.9 and 3.11, demo 2.0 for 3.13, and other, which is for Linux alone."""
    names = [
        "demo-1.5-cp39-cp39-win_amd64.whl",
        "demo-1.5-cp311-cp311-win_amd64.whl",
        "demo-2.0-cp313-cp313-win_amd64.whl",
        "other-1.0-cp313-cp313-manylinux_2_17_x86_64.whl",
        "pure-3.0-py3-none-any.whl",
    ]
    wheels = []
    for name in names:
        project, version = name.split("-")[:2]
        wheels.append(tmp_path / name)
        with zipfile.ZipFile(wheels[-1], "w") as archive:
            folder = f"{project}-{version}.dist-info"
            archive.writestr(f"{folder}/METADATA", f"Metadata-Version: 2.1\nName: {project}\nVersion: {version}\n")
            archive.writestr(f"{folder}/WHEEL", f"Wheel-Version: 1.0\nTag: {name.split('-', 2)[2][:-4]}\n")
            archive.writestr(f"{folder}/RECORD", "")
    with index_of(wheels) as server:
        yield f"{server.url}/simple"


@pytest.mark.parametrize(
    "wanted, sentence",
    [
        ("demo==1.5", "The index has a wheel of 1.5 for Python 3.11, and for no newer one."),
        ("demo", "The index has a wheel of 2.0 for Python 3.13, and for no newer one."),
        ("other", "The index has no wheel of it for Windows."),
        ("absent", "The index does not have a project of that name."),
        ("pure", "The index has a wheel of 3.0 for Python 3.16, and for newer ones."),
    ],
)
def test_the_index_is_asked_for_the_newest_python_with_a_wheel(wanted, sentence, index, run):
    text = NO_WHEEL.replace("demo==1.5", wanted)
    assert sentence in run("diagnose", "--text", text, "--fetch", "--index-url", index, code=1).said


def test_the_index_is_not_asked_by_itself(index, run):
    out = run("diagnose", "--text", NO_WHEEL, "--index-url", index, code=1).said
    assert "The index has a wheel" not in out
    assert "ask with diagnose --fetch" in out


@pytest.mark.slow
def test_the_command_that_asks_for_a_wheel_gets_it(index, tmp_path):
    """The command is the one of the answer; the platform is that of the machine where it is run."""
    options = ScanOptions(remote=RemoteOptions(index_url=index, fetch=True))
    (remedy,) = diagnose(NO_WHEEL, options=options).remedies
    program, *arguments = shlex.split(remedy.command)
    assert program == "python"
    more = ["--platform", "win_amd64", "--index-url", index, "-d", str(tmp_path / "got"), "-q"]
    subprocess.run([sys.executable, *arguments, *more], check=True, timeout=120)
    assert [path.name for path in (tmp_path / "got").iterdir()] == ["demo-1.5-cp311-cp311-win_amd64.whl"]
