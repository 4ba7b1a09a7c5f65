"""Console blocks are run on the example and print what they show; Python blocks run; TOML blocks are read."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.docs.pages import HERE, WRITTEN, blocks, fits, run_line, steps
from tests.real.listing import named
from tests.support.tables import named_cases
from tests.support.tiers import wheel
from tools import example

STORIES = {"cu117": example.kepler_cu117, "cu114": example.kepler_cu114}


def pages_with(language):
    return [page for page in WRITTEN if any(block.language == language for block in blocks(page))]


def name(page):
    return page.stem


def lay_out(folder, story):
    """Put the files of a story into a folder, as ``wheelfix demo --keep`` leaves them."""
    for old in ("dist", "roots", "wheelhouse"):
        shutil.rmtree(folder / old, ignore_errors=True)
    example.write_wheel(STORIES[story](), folder / "dist")
    example.write_roots(STORIES[story](), folder / "roots")


@pytest.fixture
def place(tmp_path, monkeypatch):
    """A folder with the example, where this machine's toolkits and settings do not show."""
    lay_out(tmp_path, "cu117")
    monkeypatch.chdir(tmp_path)
    for variable in [key for key in os.environ if key.startswith("WHEELFIX_")]:
        monkeypatch.delenv(variable)
    for variable in ("FORCE_COLOR", "GITHUB_STEP_SUMMARY"):
        monkeypatch.delenv(variable, raising=False)
    monkeypatch.setenv("WHEELFIX_NO_DISCOVER", "1")
    monkeypatch.setenv("PATH", f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}")
    return tmp_path


@pytest.mark.skipif(os.name == "nt", reason="the blocks are for bash")
@pytest.mark.parametrize("page", pages_with("console"), ids=name)
def test_console(page, place):
    for block in blocks(page):
        if block.language != "console":
            continue
        if "example" in block.orders:
            lay_out(place, block.orders["example"])
        found = steps(block)
        for number, step in enumerate(found):
            code, output = run_line(step.command)
            where = f"{block.place}: {step.command}\n{output}"
            assert code == (int(block.orders.get("exit", 0)) if number == len(found) - 1 else 0), where
            if step.output:
                assert fits(step.output, output.splitlines()), where


@pytest.mark.parametrize("page", pages_with("python"), ids=name)
def test_python(page, place, capsys):
    """The blocks of a page share their names, as they would in one session."""
    names = {}
    for block in blocks(page):
        if block.language == "python":
            exec(compile(block.text, block.place, "exec"), names)
            printed = capsys.readouterr().out
            for line in block.text.splitlines():
                _, mark, comment = line.partition("  # ")
                if mark and line.startswith("print("):
                    assert comment.strip().partition("…")[0].strip() in printed, line


@pytest.mark.slow
def test_python_has_the_types_that_a_checker_wants(tmp_path):
    for page in ("README.md", "docs/howto/python.md"):
        text = "".join(block.text for block in blocks(HERE / page) if block.language == "python")
        (tmp_path / f"{Path(page).stem}_example.py").write_text(text, encoding="utf-8")
    files = map(str, tmp_path.iterdir())
    command = [sys.executable, "-m", "mypy", "--strict", "--follow-imports=silent", *files]
    done = subprocess.run(command, cwd=HERE, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout


@pytest.mark.parametrize("page", pages_with("toml"), ids=name)
def test_toml(page, place, run):
    """Tables that speak to wheelfix are understood by it."""
    for block in blocks(page):
        if block.language == "toml":
            Path("pyproject.toml").write_text(block.text, encoding="utf-8")
            shown = run("repair", "--show-config").out
            assert ("pyproject.toml" in shown) == ("[tool.wheelfix" in block.text)


@named_cases(
    "expected, actual, same",
    {
        "equal but for blanks at the end": (("a", "b"), ["a", "b  "], True),
        "more than expected": (("a",), ["a", "b"], False),
        "lines left out": (("...", "b"), ["a", "a", "b"], True),
        "nothing left out": (("a", "..."), ["a"], True),
        "text left out": (("from ... (x)",), ["from /tmp/y (x)"], True),
        "nothing": (("a",), [], False),
    },
)
def test_fits(expected, actual, same):
    assert fits(expected, actual) is same


@pytest.mark.real
@pytest.mark.long
def test_wheels_as_roots(place, run):
    """The how-to's command, with the real wheels it names, makes the example whole."""
    page = next(page for page in WRITTEN if page.stem == "wheel-roots")
    shown = (line for block in blocks(page) for line in block.text.splitlines())
    line = next(line for line in shown if line.startswith("wheelfix repair"))
    downloaded = Path("downloaded")
    downloaded.mkdir()
    for project, version in (("nvidia_cuda_cupti_cu11", "11.7.101"), ("mkl", "2023.2.0"), ("intel_openmp", "2023.2.0")):
        file = named(project, version).file
        shutil.copyfile(wheel(file, optional=True), downloaded / file)
    words = ["downloaded" if word == "roots" else word.replace("\\", "/") for word in line.split()[1:]]
    run(*words, "-q")
    run("scan", "wheelhouse", "-q")
