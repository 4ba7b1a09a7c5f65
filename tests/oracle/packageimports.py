"""Packages that load DLLs with code of their own, imported for real: as they are, and without one DLL after the other.

``python -m tests.oracle.packageimports [--only WORD] FOLDER...`` runs every case whose wheels are in the folders and
prints a table. It runs the packages' Python code under Wine; their images are stand-ins (``standins.py``).
``--record`` only writes down what happens (``packagerecords.json``), ``--replay`` compares the predictions of today
with what was written down, without Wine; with ``--save`` the counts go to ``packageagreement.json``.
"""

from __future__ import annotations

import argparse
import ast
import compileall
import contextlib
import os
import shutil
import sys
import zipfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath
from typing import Any

from tests.oracle.packagerecords import AGREEMENT, RECORDS, from_record, load, save, save_agreement, to_record
from tests.oracle.sourceparts import made_part
from tests.oracle.standins import Skeleton, chosen, helper_wheel, skeletons
from tests.oracle.wine import wine_for_trials
from wheelfix.archive.names import installed_path
from wheelfix.base.parsing import load_toml
from wheelfix.base.programs import Finished
from wheelfix.errors import WheelfixError
from wheelfix.model import Machine, Verdict
from wheelfix.streams.output import WorkFolder
from wheelfix.streams.pool import interruptible
from wheelfix.trial.model import Agreement, Expected, ImportAnswer, Interpreter, Observed, TrialOptions
from wheelfix.trial.run import CHILD, Expectations, compare, empty, expectations, observed_from, open_interpreter

HERE = Path(__file__).parent
CASES = Path(__file__).with_name("packageimports.toml")


@dataclass(frozen=True)
class Case:
    """One release of a package with what is installed beside it."""

    wheels: tuple[str, ...]
    """The wheel that is imported first."""
    module: str
    plain: Mapping[str, str] = field(default_factory=dict)
    """Distributions that are only imported for their names, with their packages."""
    remove: tuple[str, ...] = ("*",)
    """Patterns of the DLLs that are removed, one at a time."""
    parts: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    """Of wheels that are made of source archives, or of torch's loading code: ``package``, ``images``, ``files``."""
    exports: bool = False
    """Whether stand-ins export all that the images do, for code that asks for functions with ctypes."""
    values: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    """Python expressions for what compiled modules have under some names, where that decides what is loaded."""
    in_ci: bool = False
    label: str = ""
    """Tells two cases of one release apart."""

    @property
    def name(self) -> str:
        release = "-".join(self.wheels[0].removesuffix(".tar.gz").split("-")[:2])
        return f"{release} {self.label}".strip()


@dataclass(frozen=True)
class Row:
    """One import."""

    case: str
    removed: str
    agreement: str
    expected: Expected
    observed: Observed
    why: str

    @property
    def said(self) -> str:
        """The error that was raised."""
        cause = self.observed.cause
        return f"{cause.error}: {cause.message}" if cause else self.observed.outcome

    @property
    def agrees(self) -> bool:
        return self.agreement in ("agrees", "loads")


def cases() -> list[Case]:
    """Return every case of the table."""
    rows = load_toml(CASES.read_text(encoding="utf-8"))["case"]
    return [
        Case(
            tuple(row["wheels"]), row["module"], row.get("plain", {}), tuple(row.get("remove", ["*"])),
            row.get("parts", {}), row.get("exports", False), row.get("values", {}), row.get("in_ci", False),
            row.get("label", ""),
        )
        for row in rows
    ]  # fmt: skip


@dataclass(frozen=True)
class Place:
    """An environment that is only read."""

    prefix: Path

    @property
    def site(self) -> Path:
        return self.prefix / "Lib" / "site-packages"


@dataclass(frozen=True)
class Installed:
    """The wheels of a case, installed with stand-ins for their images."""

    case: Case
    parts: list[Skeleton]
    placed: Mapping[str, Path]
    """The members of the wheels, and where each is."""
    place: Interpreter | Place
    work: Path

    @property
    def removable(self) -> list[str]:
        """The DLLs that are removed, one at a time."""
        return chosen(self.parts, self.case.remove)

    def predict(self, dll: str) -> Expected:
        """Ask the model, with a file hidden."""
        wheel = self.parts[0].write(self.work / "case", dll)
        hidden = self.work / "hidden"
        if dll:
            self.placed[dll].rename(hidden)
        try:
            with expectations(wheel, self.place.prefix, bare=True) as expected:
                answer = expected.of(self.case.module)
                assert is_said_by_scan(expected, self.case.module, answer)
                return answer
        finally:
            if dll:
                hidden.rename(self.placed[dll])


def is_said_by_scan(expected: Expectations, module: str, answer: Expected) -> bool:
    """Whether a scan says the same of one import: it may fail for modules that this import does not run."""
    if answer.answer is ImportAnswer.FAILS:
        return expected.report.verdict is Verdict.BROKEN
    failing = {one.event.path for one in expected.subject.outcomes if one.code and not one.event.guarded}
    if answer.answer is ImportAnswer.UNSURE:
        return True
    if expected.report.verdict is Verdict.BROKEN and not failing:
        return False  # llama-cpp-python was, for a module of numpy
    return failing.isdisjoint(expected.followed.of(module).ran)


def install(case: Case, wheels: Sequence[Path], place: Interpreter | Place, work: Path) -> Installed:
    """Put the wheels of a case, and what is imported besides, where an installer puts them."""
    whole = iter(skeletons([path for path in wheels if path.name not in case.parts], exports=case.exports))
    parts = [made_part(path, case.parts[path.name]) if path.name in case.parts else next(whole) for path in wheels]
    placed = {}
    helpers = helper_wheel(work / "helper", case.plain, parts, case.values)
    for path in [*(part.write(work / "whole") for part in parts), *helpers]:
        placed |= unpack(path, place)
    return Installed(case, parts, placed, place, work)


def run(case: Case, wheels: Sequence[Path], target: Interpreter, work: Path) -> Iterator[Row]:
    """Import a package as it is, then without each DLL, and compare."""
    with installed(case, wheels, target, work) as there:
        predicted = [there.predict(dll) for dll in ["", *there.removable]]
        for (dll, observed), prediction in zip(observe_all(there, target), predicted, strict=True):
            yield row_of(case, dll, prediction, observed, target.facts.machine)


@contextlib.contextmanager
def installed(case: Case, wheels: Sequence[Path], target: Interpreter, work: Path) -> Iterator[Installed]:
    """Install a case into an interpreter, which is emptied again at the end."""
    baseline = frozenset(path.name for path in target.prefix.iterdir())
    try:
        there = install(case, wheels, target, work)
        compileall.compile_dir(target.site, quiet=2, workers=1, stripdir=target.site)
        yield there
    finally:
        empty(target, baseline)


def observe_all(there: Installed, target: Interpreter, timeout: float = 300) -> list[tuple[str, Observed]]:
    """What importing the package does, as it is and without each DLL."""
    removed = there.removable
    seen = import_all(there.case.module, [there.placed[dll] for dll in removed], target, timeout)
    return [*zip(["", *removed], seen, strict=True)]


def replay(case: Case, wheels: Sequence[Path], rows: Mapping[str, Any], work: Path) -> Iterator[Row]:
    """Compare what is predicted now with what was written down."""
    place = Place(work / "environment")
    place.site.mkdir(parents=True)
    (place.prefix / "python.exe").touch()
    there = install(case, wheels, place, work)
    for dll, row in rows.items():
        yield row_of(case, dll, there.predict(dll), from_record(row), Machine.AMD64)


def import_all(module: str, files: Sequence[Path], target: Interpreter, timeout: float) -> list[Observed]:
    """Import a module with all files and without each, in one process; Wine's log is cut into the parts."""
    for script in (CHILD, HERE / "import_cases.py"):
        shutil.copyfile(script, target.exchange / script.name)
    result = target.exchange / "result"
    result.unlink(missing_ok=True)
    script = target.exchange / "import_cases.py"
    asked = [module, target.path(target.site), target.path(result), *map(target.path, files)]
    done = target.run(["-I", "-X", "utf8", target.path(script), *asked], timeout=timeout)
    if not result.exists():
        raise RuntimeError(f"{module}: no answer ({done.code})\n{_own_lines(done.err)}")
    logs = [part.partition("\nEND")[0] for part in done.err.split("\nCASE ")[1:]]
    answers = ast.literal_eval(result.read_text(encoding="ascii"))
    return [observed_from(answer, Finished(0, "", log), target, 0.0) for answer, log in zip(answers, logs, strict=True)]


def _own_lines(log: str) -> str:
    """The end of Wine's log, without what its own programs load."""
    return "\n".join([line for line in log.splitlines() if "system32" not in line][-30:])


def row_of(case: Case, dll: str, prediction: Expected, seen: Observed, machine: Machine) -> Row:
    """Compare one import with what was predicted."""
    agreement, why = compare(prediction, seen, wine=True, machine=machine)
    word = agreement.value
    if agreement is Agreement.NOT_PREDICTED and prediction.answer.value == "works" and seen.errors:
        word = "loads"  # every load succeeded; a stand-in was not what the code behind them expected
    return Row(case.name, dll, word, prediction, seen, why)


def unpack(wheel: Path, target: Interpreter | Place) -> dict[str, Path]:
    """Put the files of a wheel where an installer puts them; return the members with their places."""
    placed = {}
    with zipfile.ZipFile(wheel) as archive:
        for member in [name for name in archive.namelist() if not name.endswith("/")]:
            data = member.partition("/")[0]
            place = installed_path(member, data if data.endswith(".data") else "")
            path = (
                target.site / place.removeprefix("Lib/site-packages/")
                if place.startswith("Lib/")
                else target.prefix / place
            )
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(archive.read(member))
            placed[member] = path
    record = next(path for member, path in placed.items() if member.endswith(".dist-info/RECORD"))
    rows = (Path(os.path.relpath(path, target.site)).as_posix() for path in placed.values())
    record.write_text("".join(f'"{row}",,\n' for row in rows), encoding="utf-8")  # as installers write it
    return placed


def show(rows: Iterator[Row]) -> list[Row]:
    """Print each row as soon as it is there."""
    found = []
    for row in rows:
        found.append(row)
        words = [f"{row.agreement:13}", f"{row.case:32}", f"without {PurePosixPath(row.removed).name or 'nothing':40}"]
        words += [
            f"predicted {row.expected.answer} {row.expected.message}",
            f"| {row.said[:150]}",
            f"| {row.why[:200]}",
        ]
        print(*words, flush=True)
    return found


def main(argv: list[str] | None = None) -> int:
    """Run the cases whose wheels are there."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folders", type=Path, nargs="+")
    parser.add_argument("--only", action="append", help="only releases with this word in their name")
    parser.add_argument("--record", action="store_true", help=f"write what happens to {RECORDS.name}")
    parser.add_argument("--new", action="store_true", help="only releases that were not written down yet")
    parser.add_argument("--replay", action="store_true", help="compare with what was written down; no Wine")
    parser.add_argument("--save", action="store_true", help=f"write how many agree to {AGREEMENT.name}; with --replay")
    args = parser.parse_args(argv)
    there = {path.name: path for folder in args.folders for path in folder.iterdir()}
    known = load()
    asked = [
        case
        for case in cases()
        if (not args.only or any(word in case.name for word in args.only))
        and all(wheel in there for wheel in case.wheels)
        and (case.name in known if args.replay else not (args.new and case.name in known))
    ]
    if args.record:
        return record_all(asked, there)
    rows = replay_all(asked, there, keep=args.save) if args.replay else run_all(asked, there)
    print(f"{sum(row.agrees for row in rows)} of {len(rows)} agree")
    return 0 if all(row.agrees for row in rows) else 1


def replay_all(asked: Sequence[Case], there: Mapping[str, Path], *, keep: bool = False) -> list[Row]:
    """Compare the predictions of today with what was written down."""
    rows = []
    for case in asked:
        with WorkFolder() as work:
            found = show(replay(case, [there[wheel] for wheel in case.wheels], load()[case.name], work))
        if keep:
            save_agreement(case.name, [row.agreement for row in found])
        rows += found
    return rows


def record_all(asked: Sequence[Case], there: Mapping[str, Path]) -> int:
    """Import packages for real and write down what happens."""
    failed = 0
    with (
        interruptible(),
        WorkFolder() as work,
        open_interpreter(work, TrialOptions(note=print, wine=wine_for_trials())) as target,
    ):
        for case in asked:
            try:
                with installed(case, [there[wheel] for wheel in case.wheels], target, work) as place:
                    seen = observe_all(place, target)
            except (RuntimeError, WheelfixError) as error:
                print(f"failed    {case.name}: {error}", flush=True)
                failed += 1
                continue
            save({**load(), case.name: {dll: to_record(one) for dll, one in seen}})
            print(f"recorded  {case.name}: {len(seen)} imports", flush=True)
    return 1 if failed else 0


def run_all(asked: Sequence[Case], there: Mapping[str, Path]) -> list[Row]:
    """Import packages for real and compare."""
    rows = []
    with (
        interruptible(),
        WorkFolder() as work,
        open_interpreter(work, TrialOptions(note=print, wine=wine_for_trials())) as target,
    ):
        for case in asked:
            try:
                rows += show(run(case, [there[wheel] for wheel in case.wheels], target, work))
            except (RuntimeError, WheelfixError) as error:
                print(f"failed        {case.name}: {error}", flush=True)
    return rows


if __name__ == "__main__":
    sys.exit(main())
