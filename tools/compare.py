"""Which findings a change adds and removes: scan the same real wheels with two versions of wheelfix.

``python -m tools.compare [BASE] [WHEEL...]`` scans with the version of a Git revision (or of another checkout's folder)
and with the one in this folder, and prints the difference as Markdown: a table of the wheels that differ, then the
finding lines that went and came. Without WHEEL it takes the list below: wheels that ``python dev.py fetch`` has
downloaded, as they are and damaged. A wheel that is not there is named and left out. Without BASE it takes the commit
at which this branch left ``origin/main`` or ``main``, else the newest tag, else the last commit.

With ``--repair`` both also repair each wheel, and everything is compared: all fields of the report, the output of
``repair``, and the bytes of what was written.

The exit code is 1 only when this version crashes. A crash of BASE alone is reported.
"""

from __future__ import annotations

import argparse
import concurrent.futures
import contextlib
import hashlib
import json
import os
import subprocess
import sys
import tempfile
import threading
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tests.real.listing import listed
from tests.support.tiers import wheels_folder
from tools.damages import damage
from wheelfix.errors import Exit

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

HERE = Path(__file__).resolve().parents[1]
SECONDS = 300
"""After so long, a version is taken to hang on a wheel."""
INTACT = (
    *("torchvision-0.19.0", "torchaudio", "xformers", "nvidia_cuda_cupti_cu11-11.7.101"),
    *("intel_openmp", "intel_cmplr_lib_ur", "tbb-2021.13.1", "tbb-2023.2.0", "msvc_runtime", "numpy-2.2.6"),
    *("shapely", "h5py", "tables", "pyproj", "psycopg2_binary", "pikepdf", "gmpy2", "cryptography-46.0.3"),
    *("psutil", "PyQt5", "soundfile", "sounddevice", "lightgbm", "pywebview", "clr_loader", "google_crc32c", "gevent"),
    *("cffi", "markupsafe"),
)
DAMAGED = (
    ("shapely", "gone", "geos_c"),
    ("shapely", "line gone", "_delvewheel_patch_1_13_1()"),
    ("pikepdf", "gone-listed", "qpdf"),
    ("pikepdf", "line gone", "os.add_dll_directory(libs_dir)"),
    ("psycopg2_binary", "gone", "libssl"),
    ("psycopg2_binary", "truncated", "libpq"),
    ("gmpy2", "gone", "libmpfr"),
    ("gmpy2", "moved", "libgmp"),
    ("gmpy2", "line gone", "_delvewheel_patch_1_13_1()"),
    ("h5py", "gone", "z.dll"),
    ("h5py", "moved", "hdf5_hl"),
    ("pyproj", "gone-listed", "tiff"),
    ("google_crc32c", "gone", "crc32c"),
    ("google_crc32c", "line gone", "os.add_dll_directory(extra_dll_dir)"),
    ("torchvision-0.19.0", "gone", "libpng16"),
    ("soundfile", "gone", "libsndfile"),
    ("soundfile", "gone-listed", "libsndfile"),
    ("sounddevice", "truncated", "libportaudio64bit.dll"),
    ("lightgbm", "moved", "lib_lightgbm"),
    ("glfw", "gone", "glfw3"),
    ("freetype_py", "truncated", "libfreetype"),
    ("python_magic_bin", "gone", "libmagic"),
    ("libusb_package", "moved", "libusb"),
    ("pydivert", "gone", "WinDivert64"),
    ("tbb-2023.2.0", "gone", "tbb12"),
)
"""A wheel, what is done to it (:mod:`tools.damages`), and to which DLL or line."""

RUNNER = """
import contextlib, io, json, sys, traceback
from pathlib import Path

folder = sys.argv[1]
sys.path.insert(0, folder)

def no_processes(event, arguments):
    if event == "subprocess.Popen" and "delvewheel" not in arguments[1]:
        raise RuntimeError("another process may import another wheelfix")

sys.addaudithook(no_processes)
from wheelfix.cli.main import main

def run(words):
    out, err, crash = io.StringIO(), io.StringIO(), ""
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        try:
            code = main(words)
        except SystemExit as exc:
            code = exc.code
        except BaseException:
            code, crash = -1, traceback.format_exc()
    return {"code": int(code or 0), "out": out.getvalue(), "err": err.getvalue(), "crash": crash}

for line in sys.stdin:
    answer = run(json.loads(line))
    ours = [module for name, module in sys.modules.items() if name.partition(".")[0] == "wheelfix"]
    answer["foreign"] = [
        module.__file__ for module in ours if not Path(module.__file__).resolve().is_relative_to(folder)
    ]
    sys.stdout.write(json.dumps(answer) + "\\n")
    sys.stdout.flush()
"""
"""Runs the commands of one version in one process. Worker processes are not used: those of older versions run the code
of the wheelfix that is installed, not that of their starter."""


@dataclass(frozen=True)
class Subject:
    """A wheel to scan, or a damaged copy of it."""

    wheel: Path
    kind: str = ""
    what: str = ""

    def __str__(self) -> str:
        return f"{self.wheel.name}, {self.kind}: {self.what}" if self.kind else self.wheel.name

    def made(self, work: Path) -> Path:
        """The file to scan."""
        if not self.kind:
            return self.wheel
        folder = Path(tempfile.mkdtemp(dir=work))
        damage(self.wheel, self.kind, self.what, folder / self.wheel.name)
        return folder / self.wheel.name


@dataclass
class Answer:
    """What one version says about a wheel."""

    verdict: str
    findings: list[str] = field(default_factory=list)
    """A line for each finding."""
    crash: str = ""
    details: dict[str, Any] = field(default_factory=dict)
    """With ``--repair``: everything else that is compared."""


class Version:
    """A checkout of wheelfix, run in a process of its own."""

    def __init__(self, folder: Path, python: str = sys.executable) -> None:
        self.folder, self._python = folder.resolve(), python
        self._process: subprocess.Popen[str] | None = None

    def run(self, *words: str) -> dict[str, Any]:
        """Run a command; a process that died or hung is a crash, and the next command gets a new one."""
        if self._process is None:
            command = [self._python, "-I", "-B", "-c", RUNNER, str(self.folder)]
            environ = {name: value for name, value in os.environ.items() if not name.startswith("WHEELFIX")}
            environ |= {"SOURCE_DATE_EPOCH": "1700000000", "NO_COLOR": "1"}
            self._process = subprocess.Popen(
                command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=environ, text=True, encoding="utf-8"
            )
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        timer = threading.Timer(SECONDS, self._process.kill)
        timer.start()
        with contextlib.suppress(BrokenPipeError):
            self._process.stdin.write(json.dumps(words) + "\n")
            self._process.stdin.flush()
        line = self._process.stdout.readline()
        timer.cancel()
        if not line:
            code = self.close()
            return {"code": -1, "out": "", "err": "", "crash": f"the process ended with {code}"}
        answer: dict[str, Any] = json.loads(line)
        if answer["foreign"]:
            raise SystemExit(f"{self.folder} imports wheelfix from elsewhere: {answer['foreign'][0]}")
        return answer

    def close(self) -> int:
        """End the process."""
        process, self._process = self._process, None
        if process is None:
            return 0
        with process:
            assert process.stdin is not None
            with contextlib.suppress(BrokenPipeError):
                process.stdin.close()
            return process.wait(60)

    def examine(self, wheel: Path, *, repair: bool = False) -> Answer:
        """Scan a wheel."""
        scan = self.run("scan", "--no-config", "--no-discover", "--offline", "-j1", "--format=json", str(wheel))
        answer = _answer(scan, wheel)
        if repair and not answer.crash:
            with tempfile.TemporaryDirectory() as out:
                words = ("repair", "--no-config", "--no-discover", "--offline", "-j1", "--format=json")
                done = self.run(*words, "-w", out, str(wheel))
                written = {path.name: hashlib.sha256(path.read_bytes()).hexdigest() for path in Path(out).iterdir()}
            answer.crash = crash_in(done)
            answer.details = {
                "scan": _comparable(scan, "OUT"),
                "repair": _comparable(done, out),
                "written": written,
            }
        return answer


def crash_in(answer: dict[str, Any]) -> str:
    """What is wrong with how a command ended, apart from what it said; empty if nothing is."""
    if answer["crash"]:
        return str(answer["crash"])
    if "Traceback (most recent" in answer["err"] or "this should not have happened" in answer["err"]:
        return str(answer["err"])
    if answer["code"] not in (Exit.OK, Exit.FINDINGS, Exit.BAD_INPUT):
        return f"exit code {answer['code']}: {answer['err']}"
    return ""


def _answer(scan: dict[str, Any], wheel: Path) -> Answer:
    if crash := crash_in(scan):
        return Answer("crash", crash=crash)
    if scan["code"] == Exit.BAD_INPUT:
        return Answer("unreadable", [scan["err"].strip().replace(str(wheel.parent), "")])
    (report,) = json.loads(scan["out"])["wheels"]
    lines = [
        " ".join(f"{item['code']} {item['severity']} {item.get('subject') or ''}: {item['message']}".split())
        for item in report["findings"]
    ]
    if first := (report.get("first_failure") or {}).get("message"):
        lines.append(f"the import fails: {first}")
    return Answer(report["verdict"], sorted(lines))


def _comparable(answer: dict[str, Any], out: str) -> dict[str, Any]:
    """The answer without the name of the output folder and what differs from run to run."""
    result = {"code": answer["code"], "err": answer["err"].replace(out, "OUT")}
    try:
        document = json.loads(answer["out"].replace(json.dumps(out)[1:-1], "OUT"))
    except ValueError:
        return {**result, "out": answer["out"].replace(out, "OUT")}
    if isinstance(document, dict):
        for key in ("tool", "provenance", "run"):
            document.pop(key, None)
    return {**result, "out": document}


def differences(old: Any, new: Any, where: str = "") -> Iterator[str]:
    """Yield the places at which two documents differ, each with what it was and what it is."""
    if type(old) is type(new) and isinstance(old, dict):
        for key in sorted({*old, *new}):
            yield from differences(old.get(key, "(absent)"), new.get(key, "(absent)"), f"{where}.{key}".lstrip("."))
    elif type(old) is type(new) and isinstance(old, list) and len(old) == len(new):
        for number, (one, other) in enumerate(zip(old, new, strict=True)):
            yield from differences(one, other, f"{where}[{number}]")
    elif old != new:
        yield f"{where}: {_short(old)} -> {_short(new)}"


def _short(value: Any) -> str:
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    return text if len(text) <= 160 else f"{text[:157]}..."


@dataclass(frozen=True)
class Row:
    """A wheel, and what two versions say about it."""

    subject: Subject
    old: Answer
    new: Answer

    @property
    def lines(self) -> list[str]:
        """The lines that went and came, as in a diff."""
        before, after = Counter(self.old.findings), Counter(self.new.findings)
        lines = [f"- {line}" for line in sorted((before - after).elements())]
        lines += [f"+ {line}" for line in sorted((after - before).elements())]
        for sign, answer in (("-", self.old), ("+", self.new)):
            lines += [f"{sign} {line}" for line in answer.crash.strip().splitlines()]
        return [*lines, *(f"! {line}" for line in differences(self.old.details, self.new.details))]

    @property
    def verdicts(self) -> str:
        """The verdict before and after."""
        same = self.old.verdict == self.new.verdict
        return self.old.verdict if same else f"**{self.old.verdict} → {self.new.verdict}**"


def page(rows: list[Row], absent: list[str], base: str) -> str:
    """What differs, as Markdown."""
    changed = [row for row in rows if row.lines or row.old.verdict != row.new.verdict]
    verdicts = sum(row.old.verdict != row.new.verdict for row in changed)
    signs = Counter(line[0] for row in changed for line in row.lines)
    counts = f"{len(changed)} differ, {verdicts} in their verdict; +{signs['+']} −{signs['-']} findings"
    lines = [f"{len(rows)} wheels compared with {base}: {counts}."]
    for which, version in (("old", "the version before"), ("new", "this version")):
        crashes = sum(bool(getattr(row, which).crash) for row in rows)
        lines += [f"**{crashes} crashes of {version}.**"] if crashes else []
    if absent:
        lines += ["", f"Left out, because they are not in the cache: {', '.join(absent)}."]
    if changed:
        lines += ["", "| wheel | verdict | findings |", "| --- | --- | --- |"]
    for row in changed:
        signs = Counter(line[0] for line in row.lines)
        findings = " ".join(f"{sign}{signs[key]}" for key, sign in (("+", "+"), ("-", "−"), ("!", "≠")) if signs[key])
        lines.append(f"| {str(row.subject).replace('|', chr(92) + '|')} | {row.verdicts} | {findings} |")
    for row in changed:
        lines += ["", f"**{row.subject}**", "", "```diff", *row.lines, "```"]
    return "\n".join(lines) + "\n"


def subjects(wheels: list[Path]) -> tuple[list[Subject], list[str]]:
    """The wheels that are named or lie in folders, or those of the list; and those of the list that are not there."""
    if wheels:
        found = (one for path in wheels for one in (sorted(path.glob("*.whl")) if path.is_dir() else [path]))
        return [Subject(path.resolve()) for path in found], []
    files = {one.file for one in listed() if one.in_ci}
    every = [(name, "", "") for name in INTACT] + list(DAMAGED)
    chosen = [Subject(wheels_folder() / _only(files, name), kind, what) for name, kind, what in every]
    there = [subject for subject in chosen if subject.wheel.is_file()]
    return there, sorted({subject.wheel.name for subject in chosen} - {subject.wheel.name for subject in there})


def _only(files: Iterable[str], name: str) -> str:
    (file,) = (file for file in files if file.startswith(f"{name}-"))
    return file


def git(*words: str, repository: Path = HERE) -> str:
    """What a command of Git prints; empty if it fails."""
    done = subprocess.run(["git", "-C", str(repository), *words], capture_output=True, text=True)
    return done.stdout.strip() if done.returncode == 0 else ""


def usual_base(repository: Path = HERE) -> str:
    """The commit to compare with; empty if this clone has none, such as a shallow one."""
    head = git("rev-parse", "HEAD", repository=repository)
    changes = git("status", "--porcelain", "--untracked-files=no", repository=repository)
    for words in (
        ("merge-base", "HEAD", "origin/main"),
        ("merge-base", "HEAD", "main"),
        ("describe", "--tags", "--abbrev=0"),
        ("rev-parse", "--verify", "--quiet", "HEAD~1"),
    ):
        found = git(*words, repository=repository)
        commit = found and git("rev-parse", f"{found}^{{commit}}", repository=repository)
        if commit and (commit != head or changes):
            return commit
    return ""


@contextlib.contextmanager
def checkout(base: str) -> Iterator[Path]:
    """The folder of a version: a folder that exists, or a revision in a temporary worktree."""
    if Path(base).is_dir():
        yield Path(base)
        return
    with tempfile.TemporaryDirectory(prefix="wheelfix-compare-") as place:
        folder = Path(place) / "base"
        words = ["git", "-C", str(HERE), "worktree", "add", "--quiet", "--detach", str(folder), base]
        done = subprocess.run(words, capture_output=True, text=True)
        if done.returncode:
            raise SystemExit(f"{base} cannot be checked out: {done.stderr.strip()}")
        try:
            yield folder
        finally:
            git("worktree", "remove", "--force", str(folder))


def compare(old: Version, new: Version, chosen: list[Subject], *, repair: bool = False) -> list[Row]:
    """Examine every wheel with both versions, side by side."""
    with tempfile.TemporaryDirectory(prefix="wheelfix-compare-") as work:
        wheels = [subject.made(Path(work)) for subject in chosen]

        def examine(version: Version) -> list[Answer]:
            try:
                return [version.examine(wheel, repair=repair) for wheel in wheels]
            finally:
                version.close()

        with concurrent.futures.ThreadPoolExecutor(2) as pool:
            answers = pool.map(examine, (old, new))
            return list(map(Row, chosen, *answers))


def main(argv: list[str] | None = None) -> int:
    """Print the comparison; 1 if this version crashes."""
    parser = argparse.ArgumentParser(prog="python dev.py compare", description=__doc__.partition("\n\n")[0])
    parser.add_argument("base", nargs="?", metavar="BASE", help="a Git revision, or the folder of another checkout")
    parser.add_argument("wheels", nargs="*", type=Path, metavar="WHEEL", help="wheels or folders, instead of the list")
    parser.add_argument("--repair", action="store_true", help="compare all of the report, and repaired wheels")
    args = parser.parse_args(argv)
    base = args.base or usual_base()
    if not base:
        print("Nothing to compare with: this clone has no earlier commit (a shallow one?).")
        return 0
    chosen, absent = subjects(args.wheels)
    if not args.base and not git("cat-file", "-t", f"{base}:wheelfix"):
        print(f"Nothing to compare with: {base[:12]} is not in this clone.")
        return 0
    with checkout(base) as folder:
        rows = compare(Version(folder), Version(HERE), chosen, repair=args.repair)
    print(page(rows, absent, args.base or base[:12]), end="")
    return int(any(row.new.crash for row in rows))


if __name__ == "__main__":
    sys.exit(main())
