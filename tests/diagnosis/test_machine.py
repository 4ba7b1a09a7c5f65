"""The block to paste into an issue, and that it names no users."""

from __future__ import annotations

import pytest

from wheelfix.diagnosis.machine import InstalledDll, MachineFacts, collect, mask_users, user_names
from wheelfix.model import FileVersion

LIB = r"C:\Users\dana\envs\lab\Lib\site-packages\torch\lib"
MASKED = r"C:\Users\<user>\envs\lab\Lib\site-packages\torch\lib"
ANSWERS = {
    "python": "Python 3.11.9",
    "cl": "Microsoft (R) C/C++ Optimizing Compiler Version 19.44.35207 for x64",
    "nvcc": "Cuda compilation tools, release 11.8, V11.8.89",
    "nvidia-smi": "NVIDIA GeForce RTX 3060, 551.86, 8.6\n",
}
PROGRAMS = {
    "python": r"C:\Users\dana\envs\lab\python.exe",
    "nvcc": r"C:\Program Files\NVIDIA GPU Computing Toolkit\CUDA\v11.8\bin\nvcc.exe",
    "nvidia-smi": r"C:\Windows\System32\nvidia-smi.exe",
}
VERSION_PY = "__version__ = '2.7.1+cu118'\ndebug = False\ncuda: Optional[str] = '11.8'\nhip: Optional[str] = None\n"


def dll(name: str, folder: str = LIB, version: tuple[int, int, int, int] | None = None) -> InstalledDll:
    return InstalledDll(name, folder, 1000, lambda: FileVersion(version) if version else None)


def machine(**changes: object) -> MachineFacts:
    facts: dict[str, object] = {
        "tool": "0.1.0",
        "python": r"3.11.9, 64 bit, C:\Users\dana\envs\lab\python.exe",
        "platform": "Windows-10-10.0.22631",
        "environ": {"USERNAME": "dana"},
        "environment": r"C:\Users\dana\envs\lab (conda)",
        "read_text": {"torch/version.py": VERSION_PY}.get,
        "dlls": (
            dll("cudnn64_9.dll", version=(9, 1, 0, 70)),
            dll("cudnn_ops64_9.dll"),
            dll("libiomp5md.dll"),
            dll("libiomp5md.dll", r"Library\bin", (5, 0, 2021, 1)),
        ),
        "roots": (r"CUDA 11.8, C:\NVIDIA\CUDA\v11.8 (environment variable CUDA_PATH)",),
        "runtime": (dll("msvcp140.dll", r"C:\Windows\System32", (14, 44, 35211, 0)),),
        "distributions": {"torch": "2.7.1+cu118", "numpy": "2.2.6", "other": "1"},
        "which": PROGRAMS.get,
        "run": lambda command: ANSWERS.get(command[0]),
    }
    return MachineFacts(**{**facts, **changes})  # type: ignore[arg-type]  # fields by name


def test_the_whole_block():
    assert str(collect(machine(), ["cudnn_adv64_9.dll"])) == (
        "wheelfix        0.1.0\n"
        "Python          3.11.9, 64 bit, C:\\Users\\<user>\\envs\\lab\\python.exe\n"
        "platform        Windows-10-10.0.22631\n"
        "environment     C:\\Users\\<user>\\envs\\lab (conda)\n"
        "torch           2.7.1+cu118, built for CUDA 11.8, cuDNN 9 (cudnn64_9.dll)\n"
        "beside it       numpy 2.2.6\n"
        "python          3.11.9, C:\\Users\\<user>\\envs\\lab\\python.exe\n"
        "cl              not on PATH\n"
        "nvcc            11.8.89, C:\\Program Files\\NVIDIA GPU Computing Toolkit\\CUDA\\v11.8\\bin\\nvcc.exe\n"
        "root            CUDA 11.8, C:\\NVIDIA\\CUDA\\v11.8 (environment variable CUDA_PATH)\n"
        "CUDA that wins  C:\\Program Files\\NVIDIA GPU Computing Toolkit\\CUDA\\v11.8 for builds (nvcc on PATH)\n"
        "                the default folder of CUDA 11.8 for torch (CUDA_PATH_V11_8 is not set)\n"
        "VC++ runtime    msvcp140.dll 14.44.35211.0, 1000 bytes, C:\\Windows\\System32\n"
        "GPU             NVIDIA GeForce RTX 3060, driver 551.86, compute capability 8.6\n"
        f"DLL             cudnn64_9.dll 9.1.0.70, 1000 bytes, {MASKED}\n"
        f"                cudnn_ops64_9.dll, 1000 bytes, {MASKED}\n"
    )


def test_a_bare_machine_says_what_is_not_there():
    assert str(collect(MachineFacts(tool="0.1.0", python="3.11"))) == (
        "wheelfix  0.1.0\n"
        "Python    3.11\n"
        "python    not on PATH\n"
        "cl        not on PATH\n"
        "nvcc      not on PATH\n"
        "GPU       nvidia-smi does not answer\n"
    )


def test_both_copies_of_openmp_are_listed_with_their_folders():
    rows = [text for label, text in collect(machine(), ["libiomp5md.dll"]).rows if label == "DLL"]
    assert rows == [
        r"libiomp5md.dll, 1000 bytes, C:\Users\<user>\envs\lab\Lib\site-packages\torch\lib",
        r"libiomp5md.dll 5.0.2021.1, 1000 bytes, Library\bin",
    ]


def test_the_compiler_tells_its_version():
    which = {**PROGRAMS, "cl": r"C:\VS\cl.exe"}.get
    assert ("cl", r"19.44.35207, C:\VS\cl.exe") in collect(machine(which=which)).rows


def test_cuda_for_torch_comes_from_its_own_variable_or_not_at_all():
    env = {"CUDA_PATH_V11_8": r"D:\cuda"}
    assert ("CUDA that wins", r"D:\cuda for torch (CUDA_PATH_V11_8)") in collect(machine(environ=env)).rows
    own = (dll("cudart64_110.dll"),)
    rows = collect(machine(environ=env, dlls=own)).rows
    assert any(text.startswith("none for torch: it has cudart64_110.dll") for _, text in rows)


def test_a_cpu_build_and_a_silent_driver():
    text = "__version__ = '2.4.0+cpu'\ncuda = None\n"
    rows = collect(machine(read_text={"torch/version.py": text}.get, run=lambda _: "error: no devices")).rows
    assert ("GPU", "nvidia-smi does not answer") in rows
    assert any(label == "torch" and "CPU only" in told for label, told in rows)


@pytest.mark.parametrize(
    ("text", "masked"),
    [
        (r"C:\Users\dana\envs\lab", r"C:\Users\<user>\envs\lab"),
        (r"c:\users\José Peña\AppData\Roaming", r"c:\users\<user>\AppData\Roaming"),
        (r"C:\\Users\\dana\\x", r"C:\\Users\\<user>\\x"),
        ("C:/Users/dana/x", "C:/Users/<user>/x"),
        (r"\\?\C:\Users\dana\x", r"\\?\C:\Users\<user>\x"),
        (r"C:\Users\DANAK~1\AppData", r"C:\Users\<user>\AppData"),
        ("/home/dana/venv", "/home/<user>/venv"),
        ("/Users/dana/venv", "/Users/<user>/venv"),
        (r'loading "C:\Users\dana\a.dll" or', r'loading "C:\Users\<user>\a.dll" or'),
        (r"PATH=C:\Users\dana\bin;C:\Users\dana", r"PATH=C:\Users\<user>\bin;C:\Users\<user>"),
        (r"C:\Documents and Settings\Dana K\x", r"C:\Documents and Settings\<user>\x"),
        (r"C:\Users\dana is full", r"C:\Users\<user> is full"),
        (r"C:\Users\Public\x", r"C:\Users\Public\x"),
        (r"%APPDATA%\Python\Python311", r"%APPDATA%\Python\Python311"),
        (r"C:\Program Files\Python311", r"C:\Program Files\Python311"),
        ("https://example.org/users/list", "https://example.org/users/list"),
        (r"C:\Users\<user>\x", r"C:\Users\<user>\x"),
    ],
)
def test_names_are_masked(text, masked):
    assert mask_users(text) == masked


def test_the_users_own_name_is_masked_in_other_folders_too():
    assert mask_users(r"D:\work\dana\x and danario", ("dana",)) == r"D:\work\<user>\x and danario"
    assert user_names({"USERNAME": "dana", "USER": "dana", "LOGNAME": "me"}) == ("dana",)
    assert user_names({"USER": "root"}) == ()
