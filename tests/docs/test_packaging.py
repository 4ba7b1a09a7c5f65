"""What users install: built twice with equal bytes, complete, and alive in an environment that has nothing of ours."""

import os
import shutil
import subprocess
import sys
import sysconfig
import tarfile
import venv
import zipfile
from importlib.util import find_spec
from pathlib import Path

import pytest

from tests.docs.pages import HERE
from tests.support.tables import named_cases
from tools.make_zipapp import make
from wheelfix import __version__

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(find_spec("hatchling") is None, reason="hatchling is not installed (the extra tiers has it)"),
]
VERSION = f"wheelfix {__version__}"
UNSHIPPED = {".git", ".venv", "site", "dist", "build", "__pycache__", ".hypothesis"}


def run(*words, **settings):
    """Run a program and return what it printed; its failure fails the test."""
    done = subprocess.run(
        [str(word) for word in words], stdin=subprocess.DEVNULL, capture_output=True, text=True, **settings
    )
    assert done.returncode == 0, f"{words}\n{done.stdout}{done.stderr}"
    return done.stdout


def copy_of(source, folder):
    """A copy with other dates and another name, as on another machine."""

    def leave_out(_, names):
        return {name for name in names if name in UNSHIPPED or name.endswith("_cache")}

    return Path(shutil.copytree(source, folder, ignore=leave_out, copy_function=shutil.copyfile))


def build(source, target):
    """Build sdist and wheel with the tools of this environment."""
    run(sys.executable, "-m", "build", "--no-isolation", "--outdir", target, source)
    return next(target.glob("*.tar.gz")), next(target.glob("*.whl"))


@pytest.fixture(scope="module")
def source(tmp_path_factory):
    """This checkout, as it is now."""
    return copy_of(HERE, tmp_path_factory.mktemp("source") / "wheelfix")


@pytest.fixture(scope="module")
def built(source, tmp_path_factory):
    """The sdist and the wheel; the wheel is built from the sdist."""
    return build(source, tmp_path_factory.mktemp("built"))


def test_the_same_bytes_on_another_machine(source, built, tmp_path):
    again = build(copy_of(source, tmp_path / "elsewhere"), tmp_path / "out")
    for first, second in zip(built, again, strict=True):
        assert first.name == second.name
        assert first.read_bytes() == second.read_bytes(), first.name


def test_the_epoch_dates_the_members(source, tmp_path, monkeypatch):
    monkeypatch.setenv("SOURCE_DATE_EPOCH", "1700000000")
    _, wheel = build(source, tmp_path)
    with zipfile.ZipFile(wheel) as archive:
        assert {info.date_time for info in archive.infolist()} == {(2023, 11, 14, 22, 13, 20)}


def package_files(source):
    """Every file of the package that is not made by running it."""
    for file in (source / "wheelfix").rglob("*"):
        path = file.relative_to(source)
        if file.is_file() and not any(part.startswith(".") for part in path.parts):
            yield path.as_posix()


def test_the_wheel_is_complete(source, built):
    with zipfile.ZipFile(built[1]) as archive:
        shipped = {name for name in archive.namelist() if name.startswith("wheelfix/")}
        entry_points = archive.read(next(name for name in archive.namelist() if name.endswith("entry_points.txt")))
    assert shipped == set(package_files(source))
    assert {"wheelfix/py.typed", "wheelfix/rules/pages/WF301.md", "wheelfix/schemas/scan-1.json"} <= shipped
    assert b"wheelfix = wheelfix.cli.main:entry" in entry_points


def test_twine_has_nothing_to_say(built):
    """What PyPI would show: the README renders, the metadata are complete; warnings count."""
    pytest.importorskip("twine", reason="twine is not installed (the extra tiers has it)")
    said = run(sys.executable, "-m", "twine", "check", "--strict", *built)
    assert said.count("PASSED") == 2


def test_the_manual_page_is_installed(built, source):
    with zipfile.ZipFile(built[1]) as archive:
        (name,) = [name for name in archive.namelist() if name.endswith("/share/man/man1/wheelfix.1")]
        assert archive.read(name) == (source / "docs" / "wheelfix.1").read_bytes()


def test_the_sdist_is_complete(source, built):
    with tarfile.open(built[0]) as archive:
        shipped = {name.partition("/")[2] for name in archive.getnames()}
    assert set(package_files(source)) <= shipped
    wanted = {"README.md", "CHANGELOG.md", "CONTRIBUTING.md", "DESIGN.md", "LICENSE", "pyproject.toml", "dev.py"}
    wanted |= {"mkdocs.yml", "action.yml", "docs/index.md", "tools/make_docs.py", "tests/docs/test_packaging.py"}
    wanted |= {".github/workflows/release.yml", ".pre-commit-hooks.yaml", "docs/wheelfix.1", "tools/windows_check.py"}
    assert wanted <= shipped
    assert not any(name.endswith((".whl", ".pyc", ".dll")) for name in shipped)


@pytest.fixture(scope="module")
def installed(built, tmp_path_factory):
    """The programs of a fresh environment with the built wheel, which borrows the libraries of this one."""
    folder = tmp_path_factory.mktemp("fresh") / "venv"
    venv.create(folder, symlinks=os.name != "nt")
    bin_folder = folder / ("Scripts" if os.name == "nt" else "bin")
    python = bin_folder / ("python.exe" if os.name == "nt" else "python")
    run(sys.executable, "-m", "pip", "--python", python, "install", "--no-deps", "--no-index", built[1])
    site = Path(run(python, "-c", "import sysconfig; print(sysconfig.get_path('purelib'))").strip())
    libraries = dict.fromkeys((sysconfig.get_path("purelib"), sysconfig.get_path("platlib")))
    (site / "borrowed.pth").write_text("\n".join(libraries) + "\n", encoding="utf-8")
    return bin_folder


def clean():
    """The environment of a user who knows nothing of this checkout."""
    return {key: value for key, value in os.environ.items() if not key.startswith(("WHEELFIX_", "PYTHON", "FORCE_"))}


@named_cases(
    "words, shown",
    {
        "version": (["--version"], VERSION),
        "demo": (["demo"], "Done: the wheel in wheelhouse loads"),
        "explain": (["explain", "WF301"], "WF301 missing-dependency"),
        "list of findings": (["explain"], "WF605"),
        "roots": (["roots"], ""),
    },
)
def test_an_installed_wheel(installed, tmp_path, words, shown):
    assert shown in run(installed / "wheelfix", *words, cwd=tmp_path, env=clean())


def test_it_is_the_installed_one(installed, tmp_path):
    python = installed / "python"
    where = run(python, "-c", "import wheelfix; print(wheelfix.__file__)", cwd=tmp_path, env=clean())
    assert Path(where.strip()).is_relative_to(installed.parent)


# ------------------------------------------------------------------------------------------------------- the zipapp


@pytest.fixture(scope="module")
def zipapp(tmp_path_factory):
    return make(tmp_path_factory.mktemp("zipapp") / "wheelfix.pyz")


def test_the_zipapp_is_the_same_each_time(zipapp, tmp_path):
    assert make(tmp_path / "again.pyz").read_bytes() == zipapp.read_bytes()


@named_cases(
    "words, shown",
    {
        "version": (["--version"], VERSION),
        "demo": (["demo"], "Done: the wheel in wheelhouse loads"),
        "other demo": (["demo", "--story", "cu114"], "Done: the wheel in wheelhouse loads"),
        "explain": (["explain", "WF301"], "WF301 missing-dependency"),
    },
)
def test_the_zipapp_needs_nothing(zipapp, tmp_path, words, shown):
    """-S takes away site-packages, -E every variable that could bring it back."""
    assert shown in run(sys.executable, "-S", "-E", zipapp, *words, cwd=tmp_path, env=clean())


def test_delvewheel_is_found_in_the_zipapp(zipapp, tmp_path):
    """It runs as a process of its own, in an isolated Python that would not look there by itself."""
    program = (
        "import os, sys; sys.path.insert(0, sys.argv[1])\n"
        "from wheelfix.base.programs import python_command, run_program\n"
        "command = python_command('delvewheel', ['--help'])\n"
        "command.insert(1, '-S')\n"
        "print(run_program(command, timeout=60).text)\n"
    )
    assert "repair" in run(sys.executable, "-S", "-c", program, zipapp, cwd=tmp_path, env=clean())


def test_the_zipapp_holds_no_compiled_code(zipapp):
    with zipfile.ZipFile(zipapp) as archive:
        names = archive.namelist()
    assert not [name for name in names if name.endswith((".so", ".pyd", ".dll", ".pyc"))]
    assert {"tomli/__init__.py", "wheelfix/knowledge/families.toml", "__main__.py"} <= set(names)


# ------------------------------------------------------------------------------------------------- with a network


@pytest.mark.real
@pytest.mark.long
def test_uvx(tmp_path):
    """``uvx --from . wheelfix``: builds, installs and runs it in one go, and leaves nothing behind."""
    environment = {**clean(), "UV_CACHE_DIR": str(tmp_path / "cache")}
    shown = run(
        sys.executable,
        "-m",
        "uv",
        "tool",
        "run",
        "--from",
        HERE,
        "wheelfix",
        "--version",
        cwd=tmp_path,
        env=environment,
    )
    assert shown.startswith(VERSION)
