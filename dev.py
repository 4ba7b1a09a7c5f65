"""The task runner: makes a virtual environment beside itself, installs what a task needs, and runs it.

python dev.py demo        install wheelfix and walk through the embedded example
python dev.py test        install the test tools and run what needs nothing else, in less than two minutes
python dev.py lint        ruff and mypy
python dev.py fuzz        damaged wheels, DLLs, texts and locks for a minute
python dev.py slow        the tests that need nothing else and take longer
python dev.py long        the parts of slow tests that every change can do without
python dev.py wine        compare the loader model with Wine of this machine's type
python dev.py wine-x64    load real vendor DLLs and run torch's own loader under an x86_64 Wine
python dev.py browser     read and use the HTML reports in Chromium
python dev.py fetch       download the wheels that the real tier wants (add --all for every one)
python dev.py real        scan, break and repair real wheels
python dev.py compare     which findings differ from those of an earlier version (BASE), on real wheels
python dev.py bench       measure against delvewheel, cp and the others
python dev.py docs        build the documentation into site/
python dev.py generate    write again what is made from the code: reference pages, pictures, the benchmark table
python dev.py zipapp      put wheelfix and what it needs into one file, dist/wheelfix.pyz

Whatever follows the task's name goes to the tool that it runs. Needs nothing but Python 3.10 or newer with venv.
"""

from __future__ import annotations

import hashlib
import os
import subprocess
import sys
import venv
from pathlib import Path

OLDEST = (3, 10)
HERE = Path(__file__).resolve().parent
HOME = Path(os.environ.get("WHEELFIX_VENV") or HERE / ".venv").absolute()
BIN = HOME / ("Scripts" if os.name == "nt" else "bin")
PYTHON = BIN / ("python.exe" if os.name == "nt" else "python")

PYTEST = ["-m", "pytest", "-q"]
# A process that dies fails the run with the name of its test; another one in its place would be waited for without end.
SEVERAL = [*PYTEST, "-n", "auto", "--max-worker-restart", "0"]
# One process per processor; the tests of a file stay in one process, so that its fixtures are made once.
PARALLEL = [*SEVERAL, "--dist", "loadfile"]
# Slow tests share little, and the files that have many of them must not be left to one process at the end.
SPREAD = [*SEVERAL, "--dist", "worksteal"]
LIMIT = 3600
"""Seconds after which a run of tests is stopped, except for long ones; a single test has less (pyproject.toml)."""
TIERS = "not wine and not wine_x64 and not real and not browser and not docs"
CONTAINED_IN = {
    "": ("test", "tiers", "dev", "docs"),
    "zipapp": ("test", "tiers", "dev"),
    "test": ("tiers", "dev"),
    "tiers": ("dev",),
    "dev": (),
    "docs": ("dev",),
}
"""The extras after which an extra does not have to be installed any more."""
TASKS: dict[str, tuple[str, list[list[str]]]] = {
    "demo": ("", [["-m", "wheelfix", "demo"]]),
    "test": ("test", [[*PARALLEL, "-m", f"{TIERS} and not slow and not long"]]),
    "lint": (
        "dev",
        [
            ["-m", "ruff", "check", "."],
            ["-m", "ruff", "format", "--check", "."],
            ["-m", "mypy", "--strict", "wheelfix"],
        ],
    ),
    "fuzz": ("test", [["-m", "fuzz"]]),
    "slow": ("tiers", [[*SPREAD, "-m", f"{TIERS} and slow and not long"]]),
    "long": ("tiers", [[*SPREAD, "-m", "long"]]),
    "wine": ("tiers", [[*PARALLEL, "-m", "wine and not long"]]),
    "wine-x64": ("tiers", [[*PARALLEL, "-m", "wine_x64 and not long"]]),
    "browser": ("tiers", [[*PYTEST, "-m", "browser and not docs"]]),
    "fetch": ("tiers", [["-m", "tests.real.fetch"]]),
    "real": ("tiers", [[*PARALLEL, "-m", "real and not wine_x64 and not long"]]),
    "compare": ("tiers", [["-m", "tools.compare"]]),
    "bench": ("tiers", [["-m", "benchmarks"]]),
    "docs": ("docs", [["-m", "mkdocs", "build", "--strict", "--quiet"]]),
    "generate": (
        "tiers",
        [
            ["-m", "tools.example"],
            ["-m", "tools.make_docs"],
            ["-m", "tools.make_pictures"],
            ["-m", "tools.make_screenshots"],
            ["-m", "tools.make_benchmark_table"],
        ],
    ),
    "zipapp": ("zipapp", [["-m", "tools.make_zipapp"]]),
}
MARKS = {"slow": "slow", "wine": "wine", "wine-x64": "wine_x64", "browser": "browser", "real": "real"}
"""Of the tasks that run a few of the tests, what these are marked with."""


def prepare(extra: str) -> None:
    """Make the environment and install wheelfix with an extra, unless that was done for this folder."""
    if not has_pip():
        make_environment()
        if not has_pip():
            sys.exit(f"{HOME} is damaged; remove that folder and run this again")
    wanted = hashlib.sha256(str(HERE).encode() + (HERE / "pyproject.toml").read_bytes()).hexdigest()
    if any(stamp_of(one).exists() and stamp_of(one).read_text() == wanted for one in (extra, *CONTAINED_IN[extra])):
        return
    target = f"{HERE}[{extra}]" if extra else str(HERE)
    # Compiled when imported: most modules of these packages never are.
    run(["-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--no-compile", "--editable", target])
    stamp_of(extra).write_text(wanted)


def stamp_of(extra: str) -> Path:
    """The file that says for which folder and requirements an extra was installed."""
    return HOME / f"wheelfix-{extra or 'plain'}.stamp"


def has_pip() -> bool:
    """Whether the environment is whole; one whose making was stopped has a Python and no pip."""
    return PYTHON.exists() and not subprocess.call([str(PYTHON), "-c", "import pip"], stderr=subprocess.DEVNULL)


def make_environment() -> None:
    """Make the environment, or what is missing from it."""
    print(f"making {HOME}", flush=True)
    try:
        venv.create(HOME, with_pip=True, symlinks=os.name != "nt")
    except subprocess.CalledProcessError:
        sys.exit("this Python cannot make virtual environments; on Debian: apt-get install python3-venv")
    except OSError as error:
        sys.exit(f"{HOME} cannot be made: {error}; remove that folder, or name another one with WHEELFIX_VENV")


def run(arguments: list[str], limit: float | None = None) -> None:
    """Run the environment's Python in this folder, for so many seconds at most; its failure is ours."""
    environment = {**os.environ, "PATH": f"{BIN}{os.pathsep}{os.environ.get('PATH', '')}", "NO_MKDOCS_2_WARNING": "1"}
    # Compiled modules are kept, inside the environment: the tests start thousands of processes.
    environment.pop("PYTHONDONTWRITEBYTECODE", None)
    environment.setdefault("PYTHONPYCACHEPREFIX", str(HOME / "bytecode"))
    try:
        code = subprocess.call([str(PYTHON), *arguments], cwd=HERE, env=environment, timeout=limit)
    except subprocess.TimeoutExpired:
        sys.exit(f"stopped: this took more than {limit:g} s")
    if code:
        sys.exit(code)


def marked(mark: str) -> list[str]:
    """Return the files that have tests of a mark: collecting all of them takes a while."""
    files = sorted((HERE / "tests").rglob("test_*.py"))
    return [path.relative_to(HERE).as_posix() for path in files if f"mark.{mark}" in path.read_text("utf-8")]


def main(words: list[str]) -> None:
    """Run the task that is named first."""
    if not words or words[0] not in TASKS:
        print(__doc__)
        sys.exit(0 if words in ([], ["--help"], ["-h"]) else f"there is no task {words[0]!r}")
    if sys.version_info < OLDEST:
        sys.exit(f"Python {'.'.join(map(str, OLDEST))} or newer is needed; this is {sys.version.split()[0]}")
    extra, commands = TASKS[words[0]]
    prepare(extra)
    if words[0] in MARKS and not any((HERE / word.partition("::")[0]).exists() for word in words[1:]):
        words = [*words, *marked(MARKS[words[0]])]
    limit = LIMIT if "pytest" in commands[0] and words[0] != "long" else None
    for command in commands:
        run([*command, *words[1:]] if len(commands) == 1 else command, limit)


if __name__ == "__main__":
    main(sys.argv[1:])
