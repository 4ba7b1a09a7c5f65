"""A hint that names a command is a promise: the command is run on a wheel with the finding, and the finding is gone.

Every text in ``wheelfix/rules`` that names a command or an option has to occur in a hint of one of the wheels here, or
in ``test_archive``, which does the same for archives.
"""

from __future__ import annotations

import ast
import re
import shlex
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from types import MappingProxyType

import pytest

import wheelfix
from tests.rules.subjects import SITE, dll, loads, run, subject, torch
from tests.support.environments import install, lay
from tests.support.nvidia import nvidia_dll, toolkit_files
from tests.support.tables import read_table
from tests.support.wheels import ALONE, build_wheel, library
from tools.example import kepler_cu117, wheel_files, write_roots
from wheelfix.base.options import RootOptions, ScanOptions
from wheelfix.base.values import field, frozen
from wheelfix.cli.main import main
from wheelfix.model import Machine
from wheelfix.rules import registry
from wheelfix.rules.hints import where_from

PYD = "pkg/_x.cp311-win_amd64.pyd"


@frozen
class Case:
    """A wheel with a finding, and what the placeholders of its hint stand for."""

    code: str
    files: Mapping[str, bytes]
    folder: Mapping[str, bytes] = field(default_factory=dict)
    """``FOLDER`` of the hint: a toolkit or any folder of DLLs."""
    wheel: Mapping[str, bytes] = field(default_factory=dict)
    """``FILE`` of the hint: the members of a wheel that ``pip download`` would bring."""
    distribution: str = ""
    """The name that ``pip download`` is told."""
    no_assume: Sequence[str] = ()
    name: str = "pkg"
    version: str = "1.0"


TABLE = read_table(__file__, "hints.toml")
SETS = TABLE.pop("sets")
TOOLKIT = toolkit_files("11.7")


def case(
    code: str,
    needs: str = "",
    packs: Sequence[str] = (),
    sets: Sequence[str] = (),
    files: Mapping[str, str] = MappingProxyType({}),
    folder: Mapping[str, str] = MappingProxyType({}),
    no_assume: Sequence[str] = (),
) -> Case:
    """A row of ``hints.toml``."""
    own = {PYD: f"imports {needs}"} if needs else {}
    own |= {f"pkg/{Path(path).name}": words for name in packs for path, words in SETS[name].items()}
    there = {path: words for name in sets for path, words in SETS[name].items()}
    return Case(code, {**own, **files}, {**there, **folder}, no_assume=no_assume)


CASES = {
    **{name: case(**row) for name, row in TABLE.items()},
    "cuda": Case(
        "WF301",
        {PYD: "imports cublas64_11.dll"},
        TOOLKIT,
        {f"nvidia/cublas/bin/{name}": TOOLKIT[f"bin/{name}"] for name in ("cublas64_11.dll", "cublasLt64_11.dll")},
        "nvidia_cublas_cu11",
    ),
    "nvrtc": Case(
        "WF407",
        {
            PYD: "imports nvrtc64_112_0.dll",
            "pkg/nvrtc64_112_0.dll": nvidia_dll("nvrtc64_112_0.dll", "11.7.99"),
            "pkg/nvrtc-builtins64_118.dll": "",
        },
        TOOLKIT,
    ),
}


def made(case: Case, folder: Path) -> Path:
    """Write what a case needs and return the wheel."""
    lay(folder / "roots", case.folder)
    members = case.wheel or {f"roots/{Path(path).name}": data for path, data in case.folder.items()}
    build_wheel(folder / "downloads", case.distribution or "roots", "11.10.3.66", "py3-none-win_amd64", members)
    files = {"pkg/__init__.py": b"", **case.files}
    return build_wheel(folder / "dist", case.name, case.version, files=files)


def findings(path: Path, case: Case) -> list[wheelfix.Finding]:
    options = ScanOptions(roots=RootOptions(discover=False), no_assume=case.no_assume)
    return [item for item in wheelfix.scan(path, options).findings if item.code == case.code]


def commands(hint: str, folder: Path) -> Iterator[list[str]]:
    """Give the arguments of each wheelfix command in a hint, the placeholders replaced."""
    for text in re.findall(r"'wheelfix ([^']+)'", hint):
        replaced = {"FOLDER": folder / "roots", "FILE": next((folder / "downloads").glob("*"), "none")}
        yield [str(replaced.get(word, word)) for word in shlex.split(text)]


@pytest.mark.parametrize("key", CASES)
def test_the_command_in_a_hint_makes_the_finding_go(tmp_path, key, capsys):
    case = CASES[key]
    wheel = made(case, tmp_path)
    before = findings(wheel, case)
    assert before, "the wheel does not have the finding"
    ran = 0
    for finding in before:
        for words in commands(finding.hint, tmp_path):
            ran += 1
            out = tmp_path / f"out{ran}"
            more = [f"--no-assume={word}" for word in case.no_assume]
            code = main([words[0], str(wheel), *words[1:], "--no-discover", *more, "-w", str(out)])
            reported = f"{finding.hint}\n{words}\n{''.join(capsys.readouterr())}"
            assert code == 0, reported
            after = {(item.subject, item.message) for item in findings(out / wheel.name, case)}
            assert (finding.subject, finding.message) not in after, reported
    assert ran, [item.hint for item in before]


def test_torch(tmp_path, run):
    """cudart alone in the wheel, and the DLLs of the test suite."""
    story = kepler_cu117()
    roots = write_roots(story, tmp_path / "roots")
    toolkit = next(path for name, path in roots.items() if "cuda" in name.lower())
    oneapi = next(path for name, path in roots.items() if "oneapi" in name.lower())
    files = wheel_files(story)
    cudart = next(toolkit.rglob("cudart64*.dll"))
    files[f"torch/lib/{cudart.name}"] = cudart.read_bytes()
    wheel = build_wheel(
        tmp_path,
        "torch",
        "2.7.1+cu117",
        files={name: data for name, data in files.items() if ".dist-info/" not in name},
    )
    for code in ("WF403", "WF603"):
        case = Case(code, {})
        (finding,) = findings(wheel, case)
        (words,) = commands(finding.hint, tmp_path)
        words = [str(toolkit) if word == str(tmp_path / "roots") else word for word in words]
        more = ["--no-discover", "--oneapi", str(oneapi), "--cuda", str(toolkit), "-w", str(tmp_path / code)]
        run(words[0], wheel, *words[1:], *more)
        assert findings(tmp_path / code / wheel.name, case) == []


def test_a_dll_of_another_distribution(tmp_path, run):
    """WF305 in a set: a repair does not see the other wheels, so the hint names the one that has the DLL."""
    files = {"pkg/__init__.py": b"", PYD: "imports flux.dll"}
    wheel = build_wheel(tmp_path, files=files, requires=["flux"])
    build_wheel(tmp_path / "downloads", "flux", "1.0", "py3-none-win_amd64", {"flux/bin/flux.dll": ""})
    options = ScanOptions(roots=RootOptions(discover=False), beside=(tmp_path / "downloads",))

    def outside(path: Path) -> list[wheelfix.Finding]:
        return [item for report in wheelfix.scan_all([path], options) for item in report.findings]  # type: ignore[union-attr]

    (finding,) = outside(wheel)
    assert (finding.code, str(finding.repairable)) == ("WF305", "sometimes")
    (words,) = commands(finding.hint, tmp_path)
    run(words[0], wheel, *words[1:], "--no-discover", "-w", tmp_path / "out")
    assert outside(tmp_path / "out" / wheel.name) == []


def test_strays_of_an_environment(tmp_path, run):
    files = {"pkg/__init__.py": b"", PYD: "imports foo.dll", "pkg/foo.dll": ""}
    install(build_wheel(tmp_path, files=files), tmp_path / "env")
    (tmp_path / "env" / "Lib" / "site-packages" / "pkg" / "left.dll").write_bytes(library("left.dll"))
    options = ALONE

    def strays() -> list[wheelfix.Finding]:
        (report,) = (item for item in wheelfix.scan_all([tmp_path / "env"], options))
        return [item for item in report.findings if item.code in ("WF611", "WF612")]  # type: ignore[union-attr]

    (finding,) = strays()
    (words,) = commands(finding.hint, tmp_path)
    words = [{"PREFIX": str(tmp_path / "env"), "NAME": "pkg"}.get(word, word) for word in words]
    run(*words, "--no-discover")
    assert strays() == []


def test_a_failure_without_another_finding(tmp_path, capsys):
    """WF309 promises to show who loads what."""
    module = SITE + "pkg/_core.pyd"
    (finding,) = run(subject({module: dll()}, events=[loads(module, 1114, ("_core.pyd", "odd.dll"))]))
    (words,) = commands(finding.hint, tmp_path)
    wheel = made(CASES["unknown"], tmp_path)
    main([*words, str(wheel), "--no-discover"])
    assert "Who loads what" in capsys.readouterr().out


def test_a_signature_of_an_unknown_root(tmp_path):
    pytest.importorskip("cryptography")
    from tests.support.signing import signed, trust

    data = signed()
    wheel = build_wheel(tmp_path, files={"pkg/x.dll": data})
    options = ScanOptions(roots=RootOptions(discover=False), signatures=True)
    (finding,) = (item for item in wheelfix.scan(wheel, options).findings if item.code == "WF607")
    assert "--trusted-roots FILE" in finding.hint
    roots = RootOptions(discover=False, trusted_roots=trust(tmp_path))
    after = wheelfix.scan(wheel, ScanOptions(roots=roots, signatures=True)).findings
    assert "WF607" not in {item.code for item in after}


# --------------------------------------------------------------------------------------------- every text has a case

NAMES_A_COMMAND = re.compile(r"wheelfix [a-z]|(?<!\w)--[a-z]|\bpip (?:download|install)\b|\bwheel (?:pack|tags)\b")
ELSEWHERE = {
    "archive.py": "tests/rules/test_archive.py and tests/archive/test_conformance.py",
    "otherdistributions.py": "tests/rules/test_page_commands.py",
    "registry.py": "errors of the command line, not hints of findings",
    "context.py": "says why a release was chosen",
}


IN_OTHER_TESTS = (
    "'wheelfix repair --drop-test-artifacts'",
    "'wheelfix repair --clean --env PREFIX --package NAME' removes it",
    "--include flux.dll --root FILE",
    "'wheelfix scan -v' shows who loads what",
    "make the list of such a machine with tools/windows_target.ps1, or with tools/make_target_list.py where "
    "there is no PowerShell, and give it to --target",
    "'python -m pip install --force-reinstall --no-deps NAME' with the environment's own Python",
    "'python -m pip install NAME' with the environment's own Python",
    "'wheelfix scan --python PREFIX' asks the files of a Python that is installed; a newer wheelfix may have a newer "
    "table",
    "if you know the issuer, name a PEM file with its certificate: --trusted-roots FILE",
    "'wheelfix try --module NAME' imports it and settles that",
)
"""The hints of the tests above, of the tables of wheels, of tests/exam/test_installed.py and of test_abi.py."""


def texts(path: Path) -> Iterator[str]:
    """Give every text of a module, except docstrings, with ``{}`` where values are put in."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    parts = {id(value) for node in ast.walk(tree) if isinstance(node, ast.JoinedStr) for value in ast.walk(node)}
    lone = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
    for node in ast.walk(tree):
        if isinstance(node, ast.JoinedStr) and id(node) not in parts - {id(node)}:
            yield "".join(str(value.value) if isinstance(value, ast.Constant) else "{}" for value in node.values)
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in parts | lone:
            yield node.value


def test_every_text_that_names_a_command_has_a_case(tmp_path):
    of_cases = (finding for key, case in CASES.items() for finding in findings(made(case, tmp_path / key), case))
    hints = [*(finding.hint for finding in of_cases), *IN_OTHER_TESTS]
    missing = [
        f"{path.name}: {text}"
        for path in sorted(Path(registry.__file__).parent.glob("*.py"))
        if path.name not in ELSEWHERE
        for text in texts(path)
        if NAMES_A_COMMAND.search(text) and not any(_occurs(text, hint) for hint in hints)
    ]
    assert not missing, missing


def _occurs(text: str, hint: str) -> bool:
    """Whether the part of a text that names a command is in a hint."""
    command = re.search(r"(?:wheelfix|pip|wheel) [^';,]*|--[^';,]*", text)
    pattern = ".*".join(re.escape(part) for part in command[0].split("{}"))
    return re.search(pattern, hint) is not None


@pytest.mark.parametrize(
    "name, parts",
    [
        ("cupti64_2022.2.1.dll", ["CUDA Toolkit 11.7", "repair --root FOLDER", '"nvidia-cuda-cupti-cu11==11.7.*"']),
        ("unheard-of.dll", ["'wheelfix repair --root FOLDER' with a folder that has it"]),
        ("msvcp140.dll", ["Visual C++", "aka.ms"]),
    ],
)
def test_who_ships_it_and_how_to_get_it(name, parts):
    hint = where_from(name, subject({}, torch=torch("11.7")))
    assert all(part in hint for part in parts), hint


@pytest.mark.parametrize("name", ["ucrtbased.dll", "nvcuda.dll"])
def test_what_may_not_be_vendored_is_not_offered(name):
    hint = where_from(name, subject({}))
    assert hint
    assert "repair" not in hint


def test_wheels_are_fetched_for_the_right_machine():
    assert "--platform win32" in where_from("libiomp5md.dll", subject({}, machine=Machine.X86))
