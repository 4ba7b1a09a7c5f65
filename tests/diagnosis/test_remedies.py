"""Remedies are promises: the commands that can be run here are run on a made case, and their effect is seen."""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from packaging.requirements import Requirement

import wheelfix
from tests.diagnosis.remedy_commands import shown
from tests.support.environments import install, lay
from tools.example import kepler_cu117, write_roots, write_wheel
from wheelfix.base.options import RepairOptions, RootOptions, ScanOptions
from wheelfix.cli.main import main
from wheelfix.cli.settings import command_parser
from wheelfix.diagnosis.model import DiagnosisOutcome
from wheelfix.diagnosis.symptoms.causes import cause_by_id, cause_table, circumstances, ending_families
from wheelfix.diagnosis.symptoms.messages import libraries, messages
from wheelfix.diagnosis.symptoms.model import Symptom
from wheelfix.knowledge.builds import may_replace_a_build
from wheelfix.knowledge.cuda import FAMILY
from wheelfix.knowledge.providers import shippers

if TYPE_CHECKING:
    from collections.abc import Callable

    from wheelfix.diagnosis.symptoms.model import Remedy

STORY = kepler_cu117()
ERROR = (
    r'OSError: [WinError 126] x Error loading "C:\envs\ml\Lib\site-packages\torch\lib\aoti_custom_ops.dll" '
    "or one of its dependencies.\n"
)


def options(roots: dict[str, Path]) -> ScanOptions:
    return ScanOptions(roots=RootOptions(roots=tuple(roots.values()), discover=False))


def run(remedy: Remedy, *more: str) -> int:
    """Run a remedy's command as a shell would."""
    program, *arguments = shlex.split(remedy.command)
    assert program == "wheelfix"
    return main([*arguments, *more])


@pytest.fixture
def prefix(tmp_path: Path) -> Path:
    """torch for CUDA 11.7 without MKL, OpenMP and CUPTI, installed."""
    return lay(install(write_wheel(STORY, tmp_path / "dist"), tmp_path / "env"), {"python.exe": b"MZ"})


def wheelfix_commands(found: wheelfix.Diagnosis) -> list[Remedy]:
    return [remedy for remedy in found.remedies if remedy.command.startswith("wheelfix repair")]


@pytest.mark.parametrize("number", [0, 1])
def test_each_repair_of_an_environment_removes_the_cause(prefix, tmp_path, number):
    roots = write_roots(STORY, tmp_path / "roots")
    before = wheelfix.diagnose(ERROR, environment=prefix, options=options(roots))
    assert before.outcome is DiagnosisOutcome.CAUSE
    assert run(wheelfix_commands(before)[number], "--no-discover") == 0
    after = wheelfix.diagnose(environment=prefix, options=options(roots))
    assert after.outcome is DiagnosisOutcome.NO_FAULT, after.explained


@pytest.mark.parametrize("number", [0, 1])
def test_each_repair_of_a_wheel_removes_the_cause(tmp_path, number):
    roots = write_roots(STORY, tmp_path / "roots")
    wheel = write_wheel(STORY, tmp_path / "dist")
    before = wheelfix.diagnose(ERROR, wheel=wheel, options=options(roots))
    assert run(wheelfix_commands(before)[number], "--no-discover", "-w", str(tmp_path / "out")) == 0
    (repaired,) = (tmp_path / "out").glob("*.whl")
    assert wheelfix.diagnose(wheel=repaired, options=options(roots)).outcome is DiagnosisOutcome.NO_FAULT


def test_advice_about_a_wheel_is_not_given_where_the_files_were_looked_at(prefix):
    text = "ImportError: DLL load failed while importing _elsewhere: The specified module could not be found."
    found = wheelfix.diagnose(text, environment=prefix, options=ScanOptions(roots=RootOptions(discover=False)))
    assert not any(" dist\\" in remedy.command for remedy in found.remedies)


def test_advice_to_look_is_not_given_to_those_who_did(prefix):
    hermetic = ScanOptions(roots=RootOptions(discover=False))
    found = wheelfix.diagnose(
        "Could not load library cudnn_xyz64_8.dll. Error code 126", environment=prefix, options=hermetic
    )
    assert not any(remedy.command.startswith("wheelfix diagnose") for remedy in found.remedies)
    assert not any("with --env" in note for note in found.notes)


# ------------------------------------------------------------------------------------------------------ remedy commands
# No remedy has a command that nothing checks.
#
# Each command goes to the one check that fits it; a command of a new kind fails until there is a check for it. What can
# be run here is run: commands of wheelfix are parsed by its own parser (``test_remedies.py`` runs the repairs on made
# cases), Python is compiled, pip's are tried against the index by ``tests/real/test_remedies.py``. The programs of
# Windows, winget and conda cannot be run here: their form is compared with what their documentation allows.

WINGET = {
    "Microsoft.VCRedist.2008.x64": "m/Microsoft/VCRedist/2008/x64/9.0.30729.6161",
    "Microsoft.VCRedist.2010.x64": "m/Microsoft/VCRedist/2010/x64/10.0.40219",
    "Microsoft.VCRedist.2012.x64": "m/Microsoft/VCRedist/2012/x64/11.0.61030.0",
    "Microsoft.VCRedist.2013.x64": "m/Microsoft/VCRedist/2013/x64/12.0.40664.0",
    "Microsoft.VCRedist.2015+.x64": "m/Microsoft/VCRedist/2015+/x64",
    "Microsoft.VCRedist.2015+.x86": "m/Microsoft/VCRedist/2015+/x86",
    "Microsoft.VisualStudio.2022.BuildTools": "m/Microsoft/VisualStudio/2022/BuildTools/17.14.41",
    "Microsoft.msodbcsql.18": "m/Microsoft/msodbcsql/18/18.7.1.1",
    "Microsoft.msmpi": "m/Microsoft/msmpi/10.1.12498.52",
    "MSYS2.MSYS2": "m/MSYS2/MSYS2/20260611",
    "EclipseAdoptium.Temurin.21.JRE": "e/EclipseAdoptium/Temurin/21/JRE/21.0.12.101",
    "ImageMagick.ImageMagick": "i/ImageMagick/ImageMagick/7.1.1.42",
    "RProject.R": "r/RProject/R/4.6.1",
    "VideoLAN.VLC": "v/VideoLAN/VLC/3.0.24",
    "eSpeak-NG.eSpeak-NG": "e/eSpeak-NG/eSpeak-NG/1.52.0",
}
"""Identifiers with the folder of their manifest in microsoft/winget-pkgs, below manifests/. What was removed there is
not offered: ArtifexSoftware.GhostScript (winget-pkgs#122307; "no package found": ocrmypdf/OCRmyPDF#1198)."""
CONDA_FORGE = {"numpy", "cuda-version", "ffmpeg", "pango", "cairo", "glib"}
"""Packages that are feedstocks of conda-forge, besides those of the table of providers."""
VARIABLES = {
    "BUILD_TEST": "0",
    "USE_KINETO": "0",
    "USE_PTHREADPOOL": "OFF",
    "USE_DISTRIBUTED": "OFF",
    "TORCH_CUDA_ARCH_LIST": r"\d+\.\d+(;\d+\.\d+)*",
    "KMP_DUPLICATE_LIB_OK": "TRUE",
    "QT_DEBUG_PLUGINS": "1",
    "CMAKE_POLICY_VERSION_MINIMUM": r"3\.5",
    "CMAKE_GENERATOR": "Ninja",
    "PYTHONUTF8": "1",
    "PYTHONNOUSERSITE": "1",
    "USE_LIBUV": "0",
    "DISTUTILS_USE_SDK": "1",
    "CUDA_LAUNCH_BLOCKING": "1",
    "CRYPTOGRAPHY_OPENSSL_NO_LEGACY": "1",
    "MAX_JOBS": "1",
    "DS_BUILD_AIO": "0",
    "HIP_VISIBLE_DEVICES": "1",
    "CMAKE_ARGS": "-DCMAKE_NINJA_FORCE_RESPONSE_FILE=ON",
}


def wheelfix_parses(command: str) -> None:
    """The command and its options exist, and nothing that it needs is left out."""
    name, *arguments = shlex.split(command.replace("\\", "/"))[1:]
    command_parser(name).parse_strictly(arguments)


def python_compiles(command: str) -> None:
    """The code is Python, and what needs nothing but Python runs."""
    code = shlex.split(command.partition("python")[2])[1]
    compile(code, "<remedy>", "exec")
    if not re.search(r"\b(?:torch|WinDLL|pyodbc|pyproj)\b", code) and re.fullmatch(r"(?!import \w+$).*", code):
        assert subprocess.run([sys.executable, "-c", code], capture_output=True, timeout=60).returncode == 0


def pip_is_asked_for_requirements(command: str) -> None:
    """What is installed are requirements, and the index is PyPI's or PyTorch's own."""
    words = shlex.split(command.partition("pip install")[2])
    index = words[words.index("--index-url") + 1] if "--index-url" in words else ""
    assert not index or re.fullmatch(r"https://download\.pytorch\.org/whl/(?:cpu|xpu|cu\d{3})", index)
    named_files = [word for word in words if word.endswith(".whl")]
    assert all(Path(file).is_file() for file in named_files)
    wanted = [Requirement(word) for word in words if not word.startswith("-") and word not in (index, *named_files)]
    assert wanted or named_files
    # PyPI's torch for Windows is a CPU build: without an index it would replace a build for a GPU. Where a release is
    # named, the installed one is known to be PyPI's.
    named = any(one.name in FAMILY and one.specifier for one in wanted)
    assert index or named or not any(may_replace_a_build(str(one)) for one in wanted)
    # An upgrade may bring a requirement on a newer torch, which pip would take from PyPI.
    assert (
        "--upgrade" not in words
        or "--no-deps" in words
        or index
        or named
        or [one.name for one in wanted] in (["numpy"], ["pip"])
    )


def winget_knows_the_package(command: str) -> None:
    """The identifier is in winget's repository, and is asked for exactly."""
    words = shlex.split(command)
    assert words[:3] == ["winget", "install", "--id"]
    assert words[3] in WINGET
    assert words[4] == "--exact"
    assert not words[5:] or (words[5] == "--override" and len(words) == 7)


def conda_installs_from_conda_forge(command: str) -> None:
    """Every package that is named is one of conda-forge's."""
    words = shlex.split(command)
    assert words[:2] == ["conda", "install"]
    wanted = words[words.index("conda-forge") + 1 :]
    assert wanted
    names = {re.split("[<>=]", word)[0] for word in wanted}
    assert names <= CONDA_FORGE | {re.split("[<>=]", shipper.conda)[0] for shipper in shippers()}
    # The DLL's own major is in its name, and conda would take the newest one.
    assert "libcublas" not in names or any(word.startswith("cuda-version=") for word in wanted)


def variable_is_known(command: str) -> None:
    """The variable and its value are ones that the program reads."""
    name, _, value = command.removeprefix("set ").partition("=")
    assert re.fullmatch(VARIABLES[name], value), command


def form_is_documented(command: str) -> None:
    """Programs of Windows and of drivers: the whole command is one of the forms below."""
    assert any(re.fullmatch(form, command) for form in DOCUMENTED), command


DOCUMENTED = (
    # https://learn.microsoft.com/windows-server/administration/windows-commands/where
    # where.exe: in PowerShell, where alone is another command; %NAME% is expanded by cmd alone
    r"where\.exe [\w*?.+-]+(?: [\w*?.+-]+)*",  # with the wildcards of its page
    # https://learn.microsoft.com/windows-server/administration/windows-commands/icacls and chkdsk
    r'icacls "[^"]+"',
    r"chkdsk",
    # https://pip.pypa.io/en/stable/cli/pip_check
    r"python -m pip (?:--version|list|check)",
    # https://learn.microsoft.com/windows-server/administration/windows-commands/sfc
    r"sfc /scannow",
    # https://docs.conda.io/projects/conda/en/stable/commands/list.html
    r"conda list(?: [\w.-]+)?",
    # https://learn.microsoft.com/troubleshoot/windows-server/performance: the console of Device Manager
    r"devmgmt\.msc",
    # https://gitlab.winehq.org/wine/wine/-/wikis/Man-Pages/wineboot
    r"wineboot --update",
    # https://learn.microsoft.com/dotnet/framework/install/how-to-determine-which-versions-are-installed
    r'reg query "HKLM\\SOFTWARE\\Microsoft\\NET Framework Setup\\NDP\\v4\\Full" /v Release',
    # https://learn.microsoft.com/sql/odbc/admin/odbc-data-source-administrator
    r"odbcad32",
    # https://pip.pypa.io/en/stable/cli/pip_show
    r"python -m pip show [\w.-]+",
    # https://docs.nvidia.com/deploy/nvidia-smi
    r"nvidia-smi(?: --query-gpu=\w+(?:,\w+)* --format=csv(?:,noheader)?)?",
    # https://learn.microsoft.com/windows-hardware/manufacture/desktop/features-on-demand-non-language-fod
    r"DISM /Online /Add-Capability /CapabilityName:Media\.MediaFeaturePack~~~~0\.0\.1\.0",
    # https://learn.microsoft.com/windows-server/administration/windows-commands/sxstrace
    r"sxstrace Trace -logfile:sxs\.etl",
    # https://learn.microsoft.com/powershell/module: Get-WinEvent, Unblock-File, Get-MpThreatDetection
    r'powershell -Command "(?:Get-WinEvent -LogName Microsoft-Windows-CodeIntegrity/Operational -MaxEvents \d+ \| '
    r"Format-List TimeCreated, Message|Get-ChildItem -Recurse '[^']+' \| Unblock-File|"
    r'Get-MpThreatDetection \| Select-Object -First \d+)"',
    r"SystemPropertiesPerformance\.exe",
    # https://learn.microsoft.com/windows/win32/fileio/maximum-file-path-limitation
    r'reg add "HKLM\\SYSTEM\\CurrentControlSet\\Control\\FileSystem" /v LongPathsEnabled /t REG_DWORD /d 1 /f',
    # https://learn.microsoft.com/powershell/module/microsoft.powershell.management/new-item
    r'powershell -Command "New-Item -ItemType Junction -Path C:\\cuda -Target \(Get-Item Env:CUDA_PATH\)\.Value"',
    r"python -m pip debug --verbose",
    # https://pip.pypa.io/en/stable/cli/pip_download
    r"python -m pip download --no-deps --only-binary=:all:(?: --platform win_amd64)? --python-version 3\.\d+"
    r' (?:[\w.-]+|"[\w.,<>=!~+*\[\]-]+")'
    r"(?: --index-url https://download\.pytorch\.org/whl/\w+)?",
    # https://git-scm.com/docs/git-config (core.longpaths is Git for Windows' own)
    r"git config --global core\.longpaths true",
    # mhammond/pywin32 README
    r"python -m pywin32_postinstall -install",
    r"winver",
    # facebookresearch/xformers xformers/info.py; https://numba.readthedocs.io/en/stable/reference/envvars.html
    r"python -m xformers\.info",
    r"numba -s",
    # https://pyinstaller.org/en/stable/usage.html
    r"pyinstaller --(?:collect-binaries \w+|collect-data PACKAGE|hidden-import [\w.]+) script\.py",
    # https://docs.conda.io/projects/conda/en/stable/commands/clean.html; https://pip.pypa.io/en/stable/cli/pip_cache
    r"conda clean --packages --tarballs",
    r"python -m pip cache purge",
    # https://pip.pypa.io/en/stable/cli/pip_install
    r'python -m pip install --no-build-isolation (?:[\w.-]+|"[\w.,<>=!~+*\[\]-]+")',
    # https://learn.microsoft.com/windows-server/administration/windows-commands/tasklist and start; dxdiag
    r"tasklist /m (?:\*\.pyd|msvcp140\.dll)",
    r"start ms-settings:developers",
    r"dxdiag",
    # https://docs.conda.io/projects/conda/en/stable/commands/create.html
    r"conda create --name fresh --override-channels --channel conda-forge python",
    # https://pipx.pypa.io/stable/docs (pipx inject); https://docs.astral.sh/uv/reference/cli/#uv-tool-install
    r'pipx inject [\w.-]+ (?:[\w.-]+|"[\w.,<>=!~+*\[\]-]+")',
    r'uv tool install [\w.-]+ --with (?:[\w.-]+|"[\w.,<>=!~+*\[\]-]+")',
    # https://docs.python.org/3/using/windows.html (the launcher); Intel oneAPI
    r"py --list-paths",
    r"py -3\.\d{1,2} -m venv fresh",
    # https://docs.astral.sh/uv/reference/cli/#uv-pip; https://python-poetry.org/docs/cli/#run; https://pipenv.pypa.io
    r"(?:uv pip|(?:poetry|pipenv) run python -m pip) (?:list|check|show [\w.-]+)",
    r'(?:uv pip|(?:poetry|pipenv) run python -m pip) (?:un)?install [^"]*(?:"[\w.,<>=!~+*\[\]-]+".*)?',
    r"sycl-ls",
    r"python (?:-X faulthandler )?script\.py",
)

CHECKS: tuple[tuple[str, Callable[[str], None]], ...] = (
    (r"wheelfix .*", wheelfix_parses),
    (r"python -m pip install .*", pip_is_asked_for_requirements),
    (r"python -c .*", python_compiles),
    (r"winget .*", winget_knows_the_package),
    (r"conda install .*", conda_installs_from_conda_forge),
    (r"set \w+=.*", variable_is_known),
    (r".*", form_is_documented),
)


@pytest.mark.slow
@pytest.mark.no_cover
def test_each_command_is_checked():
    for printed in sorted(shown()):
        command = re.sub(r'^"[^"]+\\python\.exe"', "python", printed)
        check = next((check for form, check in CHECKS if re.fullmatch(form, command, re.DOTALL)), None)
        assert check is not None, command
        check(command)


IN_PROSE = re.compile(
    r"(?:winget install --id [\w.+-]+|python -m pip install (?:-[\w-]+ )*[\"']?[\w.<>=\[\]-]+[\"']?"
    r"|conda install [^;,.]+|(?<!python -m )pip install (?=\S))"
)


def prose() -> list[str]:
    """Every sentence that a user can read beside a command."""
    found = [
        text for row in (*messages(), *ending_families(), *circumstances()) for text in (row.known, row.fix, row.why)
    ]
    found += [text for library in libraries() for text in (library.fix, library.why)]
    for cause in cause_table().causes.values():
        found += [cause.what_is_known, *(text for step in cause.next_steps for text in (step.title, step.why))]
    return found


def test_commands_in_sentences_are_checked_too():
    """Story: an identifier of winget stood in the reason for a remedy, where no test looked."""
    commands = [found[0].rstrip(".,;:") for text in prose() for found in IN_PROSE.finditer(text)]
    assert commands
    for command in commands:
        if command.startswith("winget"):
            assert command.split()[3] in WINGET
        else:
            assert command.startswith("python -m pip install"), "pip alone may be that of another Python"
            pip_is_asked_for_requirements(command)


@pytest.mark.parametrize("package", [*FAMILY, "onnxruntime", "tensorflow", "llama_cpp", "jaxlib", "paddle", "faiss"])
def test_no_remedy_replaces_a_build_for_a_gpu(package):
    """Story: NumPy's message below a traceback of torch was answered with ``pip install --upgrade --no-deps torch``.

    Each cause, for a package of which PyPI has the build for CPUs alone, or another build than the installed one.
    """
    for name in cause_table().causes:
        for kind in ("winerror", "numpy-abi", "torch-load"):
            path = rf"C:\env\Lib\site-packages\{package}\lib\core.dll"
            symptom = Symptom(kind, 127, path, package=package, module=package)
            for step in cause_by_id(name, symptom).next_steps:
                if "pip install" in step.command:
                    pip_is_asked_for_requirements(step.command)


MADE_FOR_A_CASE = {
    "causes.py": "the tables, looked at above",
    "conclusions.py": "test_commands_for_files_are_checked",
    "confirm.py": "tests/diagnosis/test_confirm.py",
    "pairs.py": "test_each_command_is_checked, tests/diagnosis/symptoms/test_pairs.py",
}
"""The modules that make remedies, and what looks at their commands."""


def test_no_other_module_makes_remedies():
    folder = Path(wheelfix.__file__).parent
    making = {path.name for path in folder.rglob("*.py") if re.search(r"\bRemedy\(", path.read_text("utf-8"))}
    assert making == set(MADE_FOR_A_CASE)


def test_commands_for_files_are_checked(tmp_path):
    """Each way in which commands are made for an environment or a wheel, through the same checks."""
    story = kepler_cu117()
    wheel = write_wheel(story, tmp_path / "dist")
    prefix = lay(install(wheel, tmp_path / "env"), {"python.exe": b"MZ"})
    roots = write_roots(story, tmp_path / "roots")
    found = []
    for options in (
        ScanOptions(roots=RootOptions(discover=False)),
        ScanOptions(roots=RootOptions(roots=tuple(roots.values()), discover=False)),
    ):
        found += wheelfix.diagnose(ERROR, environment=prefix, options=options).remedies
        found += wheelfix.diagnose(ERROR, wheel=wheel, options=options).remedies
    scan = ScanOptions(roots=RootOptions(roots=tuple(roots.values()), discover=False))
    wheelfix.repair(wheel, options=RepairOptions(wheel_dir=tmp_path / "out", scan=scan))
    (repaired,) = (tmp_path / "out").glob("*.whl")
    found += wheelfix.diagnose(ERROR, wheel=repaired).remedies
    commands = {remedy.command for remedy in found} - {""}
    for command in commands:
        next(check for form, check in CHECKS if re.fullmatch(form, command, re.DOTALL))(command)
        assert "&&" not in command
    assert {command.split(" ")[0] for command in commands} >= {"wheelfix", "python", "set"}
    assert any("--force-reinstall --no-deps" in command and ".whl" in command for command in commands)


@pytest.mark.parametrize("user", ["O'Brien", "ana"])
def test_a_path_with_an_apostrophe_breaks_no_command(user):
    path = rf"C:\Users\{user}\v\Lib\site-packages\torch\lib\c10.dll"
    text = f'OSError: [WinError 4551] x Error loading "{path}" or one of its dependencies.'
    (unblock,) = [one.command for one in wheelfix.diagnose(text).remedies if "Unblock-File" in one.command]
    assert unblock.count("'") % 2 == 0


def test_the_packages_of_the_user_are_left_out_with_the_variable():
    asked = [sys.executable, "-c", "import sys; print(sys.flags.no_user_site)"]
    done = subprocess.run(
        asked, env={**os.environ, "PYTHONNOUSERSITE": "1"}, capture_output=True, text=True, check=True
    )
    assert done.stdout.strip() == "1"


TRIED = "ImportError: DLL load failed while importing libtriton: The specified module could not be found.\n"
NO_CODE = "RuntimeError: CUDA error: no kernel image is available for execution on the device\n"


def test_a_remedy_that_the_text_shows_to_have_been_tried_becomes_a_note():
    """Story: the Visual C++ runtime was advised to somebody who wrote that it was installed and did not help."""
    found = wheelfix.diagnose(f"{TRIED}I installed the latest Microsoft Visual C++ Redistributable.\n")
    assert not [step for step in found.remedies if "VCRedist" in step.command]
    assert [note for note in found.notes if "VCRedist" in note]
    assert [step for step in wheelfix.diagnose(TRIED).remedies if "VCRedist" in step.command]


def test_no_build_for_cuda_replaces_one_for_another_card():
    assert not [
        step for step in wheelfix.diagnose(f"{NO_CODE}torch 2.4.0+rocm6.1\n").remedies if "/whl/cu" in step.command
    ]
