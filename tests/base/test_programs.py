"""Other programs: found without the current folder, run in an empty one, for a bounded time."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path

import pefile
import pytest

import wheelfix
from tests.support.tables import named_cases
from tests.support.wheels import build_wheel, folder_of
from tools.forge import forge_dll
from wheelfix.base import programs
from wheelfix.base.options import RepairOptions, RootOptions, ScanOptions
from wheelfix.base.programs import find_program, program_places, python_command, run_program
from wheelfix.errors import CannotRepair, EnvironmentFailure
from wheelfix.repairs.mangled import run_delvewheel
from wheelfix.repairs.repair import repair_wheel

# ---------------------------------------------------------------------------------------------------- finding programs

HERE = r"C:\Users\me\Downloads"
SYSTEM = r"C:\Windows\System32"


def on_windows(name: str, path: str, *files: str) -> str | None:
    there = {file.lower() for file in files}
    places = program_places(name, path, HERE, windows=True)
    return next((place for place in places if place.lower() in there), None)


@named_cases(
    "path",
    {
        "on PATH": f"{HERE};{SYSTEM}",
        "quoted": rf'"{HERE}\";{SYSTEM}',
        "spelled otherwise": rf"c:/users/ME/downloads/sub\..;{SYSTEM}",
        "dot": f".;{SYSTEM}",
        "drive without a root": f"C:.;{SYSTEM}",
        "root without a drive": rf"\Users\me\Downloads;{SYSTEM}",
    },
)
def test_windows_own_first_place_is_not_searched(path):
    """CreateProcess and shutil.which look into the current folder before PATH."""
    planted = rf"{HERE}\nvidia-smi.exe"
    real = rf"{SYSTEM}\nvidia-smi.exe"
    spellings = [
        planted,
        r".\nvidia-smi.exe",
        "nvidia-smi.exe",
        r"C:.\nvidia-smi.exe",
        r"\Users\me\Downloads\nvidia-smi.exe",
    ]
    spellings += [r"c:/users/ME/downloads/sub\..\nvidia-smi.exe"]
    assert on_windows("nvidia-smi", path, *spellings, real) == real
    assert on_windows("nvidia-smi", path, *spellings) is None


def test_windows_suffixes():
    assert on_windows("nvcc", SYSTEM, rf"{SYSTEM}\nvcc") is None
    assert on_windows("nvcc", SYSTEM, rf"{SYSTEM}\nvcc.bat", rf"{SYSTEM}\nvcc.cmd") is None, "these go through cmd.exe"
    assert on_windows("nvcc.exe", SYSTEM, rf"{SYSTEM}\nvcc.exe") == rf"{SYSTEM}\nvcc.exe"
    assert on_windows(r"sub\nvcc", SYSTEM, rf"{SYSTEM}\sub\nvcc.exe") is None


def plant(folder: Path, name: str, text: str = "#!/bin/sh\ntouch {trace}\necho 8.6\n") -> Path:
    """A program, and the file that it leaves if it runs."""
    trace = folder / f"{name}-was-run"
    program = folder / name
    program.write_text(text.format(trace=trace))
    program.chmod(0o755)
    return trace


@pytest.mark.skipif(os.name == "nt", reason="plants shell scripts")
@named_cases(
    "path",
    {
        "empty": "",
        "dot": ".",
        "itself": "{here}",
    },
)
def test_planted_programs_never_run(path, tmp_path, monkeypatch, run):
    (tmp_path / "sub").mkdir()
    traces = [plant(tmp_path, name) for name in ("nvidia-smi", "nvcc", "cl", "python")]
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PATH", path.format(here=tmp_path))
    (tmp_path / "error.txt").write_text("OSError: [WinError 126] The specified module could not be found")
    assert find_program("nvidia-smi") is None
    run("diagnose", "error.txt", "--issue", code=None)
    assert "it is not on PATH" in run("scan", "none.whl", "--gpu", "native", code=None).err
    assert not [trace for trace in traces if trace.exists()]


@pytest.mark.skipif(os.name == "nt", reason="plants shell scripts")
def test_a_program_on_path_still_runs(tmp_path, monkeypatch):
    tools, here = tmp_path / "tools", tmp_path / "here"
    tools.mkdir()
    here.mkdir()
    plant(tools, "nvidia-smi")
    monkeypatch.chdir(here)
    monkeypatch.setenv("PATH", f"{tools}:/usr/bin:/bin")
    found = find_program("nvidia-smi")
    assert found == str(tools / "nvidia-smi")
    assert run_program([found], timeout=30).out == "8.6\n"


# ---------------------------------------------------------------------------------------------------- running programs


def run_code(code: str, **options: float) -> str:
    return run_program([sys.executable, "-c", code], **{"timeout": 30, **options}).text  # type: ignore[arg-type]


def test_a_program_runs_in_an_empty_folder():
    text = run_code("import os; print(os.listdir(), os.getcwd())")
    assert text.startswith("[] ")
    assert Path(text.split()[1]) != Path.cwd()
    assert not Path(text.split()[1]).exists(), "and the folder is gone afterwards"


def test_a_relative_path_is_not_started():
    with pytest.raises(EnvironmentFailure, match="not absolute"):
        run_program(["python"], timeout=1)


def test_output_is_bounded():
    text = run_code("import sys\nfor _ in range(300): sys.stdout.write('x' * 100_000)", max_output=1000)
    assert text == "x" * 1000


def test_time_is_bounded_even_if_a_grandchild_keeps_the_stream(monkeypatch):
    monkeypatch.setattr(programs, "_GRACE", 0.1)
    started = time.monotonic()
    inner = "import time; time.sleep(30)"
    with pytest.raises(EnvironmentFailure, match="more than 1 s"):
        run_code(f"import subprocess, sys; subprocess.run([sys.executable, '-c', {inner!r}])", timeout=1.0)
    assert time.monotonic() - started < 20


def test_python_is_isolated(tmp_path, monkeypatch):
    """-m puts the current folder first on sys.path, PYTHONPATH comes next, usercustomize runs at the start."""
    trace = tmp_path / "trace"
    for name in ("delvewheel", "sitecustomize", "usercustomize", "argparse"):
        (tmp_path / f"{name}.py").write_text(f"open({str(trace)!r}, 'w')")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    done = run_program(python_command("delvewheel", ["--help"]), timeout=60)
    assert done.code == 0, done.err
    assert not trace.exists()


def test_a_worker_runs_our_own_code_where_another_wheelfix_is_installed(tmp_path, monkeypatch):
    """Worker processes of a checkout on PYTHONPATH ran the code of the wheelfix in site-packages."""
    package = tmp_path / "wheelfix"
    (package / "base").mkdir(parents=True)
    for name in ("__init__.py", "base/__init__.py"):
        (package / name).touch()
    (package / "base" / "probe.py").write_text("import wheelfix; print(wheelfix.__file__, __file__)")
    monkeypatch.setattr(programs, "__file__", str(package / "base" / "programs.py"))
    done = run_program(python_command("wheelfix.base.probe", ()), timeout=60)
    assert done.out.split() == [str(package / "__init__.py"), str(package / "base" / "probe.py")]


def test_a_child_finds_what_this_process_imports_from(tmp_path):
    """Workers failed with "No module named 'pefile'" where the packages come from ``PYTHONPATH`` alone."""
    bare, packages, here = tmp_path / "bare", tmp_path / "packages ü", tmp_path / "here"
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(bare)], check=True)
    python = bare / ("Scripts/python.exe" if os.name == "nt" else "bin/python")
    for folder, text in ((packages, "print('packages')"), (here, "print('here')")):
        folder.mkdir()
        (folder / "probe.py").write_text(text)
    (here / "other.py").write_text("print('must not run')")
    roots = [str(Path(wheelfix.__file__).parent.parent), str(packages), str(Path(pefile.__file__).parent)]
    code = "from wheelfix.base.programs import *; done = run_program(python_command({!r}, ()), timeout=60)"
    environ = {**os.environ, "PYTHONPATH": os.pathsep.join(roots), "PYTHONIOENCODING": "utf-8"}
    command = [str(python), "-c", f"{code.format('probe')}; print(done.out)"]
    found = subprocess.run(command, cwd=here, env=environ, capture_output=True, text=True, check=True)
    assert found.stdout.split() == ["packages"]
    command = [str(python), "-c", f"{code.format('other')}; print(done.code)"]
    found = subprocess.run(command, cwd=here, env=environ, capture_output=True, text=True, check=True)
    assert found.stdout.split() == ["1"]


# ---------------------------------------------------------------------------------------------------------- delvewheel


def package(folder: Path, **more: list[str]) -> tuple[Path, RepairOptions]:
    """A wheel whose DLL delvewheel renames, and how to repair it."""
    module = forge_dll(
        "ext.pyd", imports={"frobnicate.dll": ["frob"]}, delay_imports=dict(more), exports=["PyInit_ext"]
    )
    files = {"pkg/__init__.py": "", "pkg/ext.cp311-win_amd64.pyd": module}
    wheel = build_wheel(folder / "dist", files=files)
    root = folder_of(folder / "root", "frobnicate.dll:frob")
    scan = ScanOptions(roots=RootOptions(roots=(root,), discover=False), jobs=1)
    return wheel, RepairOptions(wheel_dir=folder / "out", layout="libs", scan=scan)


@pytest.mark.usefixtures("started_delvewheel")
def test_a_planted_delvewheel_never_runs(tmp_path, monkeypatch):
    wheel, options = package(tmp_path)
    here = tmp_path / "here"
    here.mkdir()
    for name in ("delvewheel", "pefile", "argparse"):
        (here / f"{name}.py").write_text(f"open({str(tmp_path / 'trace')!r}, 'w')")
    monkeypatch.chdir(here)
    monkeypatch.setenv("PYTHONPATH", str(here))
    assert repair_wheel(wheel, options).output is not None
    assert not (tmp_path / "trace").exists()


def test_a_dll_that_is_called_like_an_option(tmp_path):
    """``--exclude -x.dll`` ended delvewheel with a usage error."""
    wheel, options = package(tmp_path, **{"-x.dll": ["f"], "--no-mangle-all": ["g"]})
    made = repair_wheel(wheel, options).output
    assert made.is_file()


def test_a_name_that_would_be_two_is_refused(tmp_path):
    wheel, _ = package(tmp_path)
    with pytest.raises(CannotRepair, match="cannot be renamed"):
        run_delvewheel(wheel, tmp_path / "root", [f"a{os.pathsep}frobnicate.dll"], tmp_path / "out", 0)


def test_a_folder_of_path_that_may_not_be_entered(monkeypatch, tmp_path):
    """Python before 3.14 raises PermissionError there, which ended ``--gpu native`` and ``try``."""
    closed, opened = tmp_path / "closed", tmp_path / "open"
    for folder in (closed, opened):
        folder.mkdir()
        (folder / "tool").write_text("#!/bin/sh\n")
        (folder / "tool").chmod(0o755)
    ask = os.stat

    def stat(path: object, *args: object, **words: object) -> os.stat_result:
        if str(path).startswith(f"{closed}{os.sep}"):  # root may enter every folder
            raise PermissionError(13, "Permission denied", str(path))
        return ask(path, *args, **words)  # type: ignore[arg-type]

    monkeypatch.setattr(os, "stat", stat)
    monkeypatch.setenv("PATH", os.pathsep.join([str(closed), str(opened)]))
    assert find_program("tool") == str(opened / "tool")
