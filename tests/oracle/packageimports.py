"""Packages that load DLLs with code of their own, imported for real: as they are, and without one DLL after the other.

``python -m tests.oracle.packageimports [--only WORD] FOLDER...`` runs every case whose wheels are in the folders and
prints a table. It runs the packages' Python code under Wine; their images are stand-ins (``standins.py``).
"""

from __future__ import annotations

import argparse
import ast
import compileall
import shutil
import sys
import zipfile
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING

from tests.oracle.standins import Skeleton, chosen, helper_wheel, skeletons
from wheelfix.archive.placement import installed_path
from wheelfix.programs import Finished
from wheelfix.streams.signals import interruptible
from wheelfix.streams.workfolder import WorkFolder
from wheelfix.toml import loads
from wheelfix.trial.compare import compare
from wheelfix.trial.expected import expectations
from wheelfix.trial.install import empty
from wheelfix.trial.model import Agreement, TrialOptions
from wheelfix.trial.observe import CHILD, _with_answer
from wheelfix.trial.run import open_interpreter

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from wheelfix.trial.model import Expected, Interpreter, Observed

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
    most: int = 8
    """How many of them."""
    in_ci: bool = False

    @property
    def name(self) -> str:
        return "-".join(self.wheels[0].split("-")[:2])


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
    rows = loads(CASES.read_text(encoding="utf-8"))["case"]
    return [
        Case(
            tuple(row["wheels"]), row["module"], row.get("plain", {}), tuple(row.get("remove", ["*"])),
            row.get("most", 8), row.get("in_ci", False),
        )
        for row in rows
    ]  # fmt: skip


def run(
    case: Case, wheels: Sequence[Path], target: Interpreter, work: Path, most: int, timeout: float = 900
) -> Iterator[Row]:
    """Import a package as it is, then without each DLL."""
    baseline = frozenset(path.name for path in target.prefix.iterdir())
    parts = skeletons(wheels)
    placed: dict[str, Path] = {}
    for path in [*(part.write(work / "whole") for part in parts), *helper_wheel(work / "helper", case.plain, parts)]:
        placed |= unpack(path, target)
    compileall.compile_dir(target.site, quiet=2, workers=1, stripdir=target.site)
    removed = chosen(parts, case.remove)
    removed = removed[:: max(1, -(-len(removed) // min(most, case.most)))]
    predicted = [predict(case, parts[0], dll, placed, target, work) for dll in ["", *removed]]
    seen = import_all(case.module, [placed[dll] for dll in removed], target, timeout)
    for dll, prediction, observed in zip(["", *removed], predicted, seen, strict=True):
        yield row_of(case, dll, prediction, observed, target)
    empty(target, baseline)


def predict(
    case: Case, part: Skeleton, dll: str, placed: Mapping[str, Path], target: Interpreter, work: Path
) -> Expected:
    """Ask the model, with a file hidden."""
    wheel = part.write(work / "case", dll)
    hidden = work / "hidden"
    if dll:
        placed[dll].rename(hidden)
    try:
        with expectations(wheel, target.prefix) as expected:
            return expected.of(case.module)
    finally:
        if dll:
            hidden.rename(placed[dll])


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
        raise RuntimeError(f"{module}: no answer ({done.code})\n{done.err[-3000:]}")
    logs = [part.partition("\nEND")[0] for part in done.err.split("\nCASE ")[1:]]
    answers = ast.literal_eval(result.read_text(encoding="ascii"))
    return [_with_answer(answer, Finished(0, "", log), target, 0.0) for answer, log in zip(answers, logs, strict=True)]


def row_of(case: Case, dll: str, prediction: Expected, seen: Observed, target: Interpreter) -> Row:
    """Compare one import with what was predicted."""
    agreement, why = compare(prediction, seen, wine=target.facts.wine, machine=target.facts.machine)
    word = agreement.value
    if agreement is Agreement.NOT_PREDICTED and prediction.answer.value == "works" and seen.errors:
        word = "loads"  # every load succeeded; a stand-in was not what the code behind them expected
    return Row(case.name, PurePosixPath(dll).name, word, prediction, seen, why)


def unpack(wheel: Path, target: Interpreter) -> dict[str, Path]:
    """Put the files of a wheel where an installer puts them; return the members with their places."""
    placed = {}
    with zipfile.ZipFile(wheel) as archive:
        name, version = wheel.name.split("-")[:2]
        for member in [name for name in archive.namelist() if not name.endswith("/")]:
            place = installed_path(member, f"{name}-{version}.data")
            path = (
                target.site / place.removeprefix("Lib/site-packages/")
                if place.startswith("Lib/")
                else target.prefix / place
            )
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(archive.read(member))
            placed[member] = path
    return placed


def show(rows: Iterator[Row]) -> list[Row]:
    """Print each row as soon as it is there."""
    found = []
    for row in rows:
        found.append(row)
        words = [f"{row.agreement:13}", f"{row.case:32}", f"without {row.removed or 'nothing':40}"]
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
    parser.add_argument("--most", type=int, default=99, help="DLLs that are removed, of each release")
    args = parser.parse_args(argv)
    there = {path.name: path for folder in args.folders for path in folder.glob("*.whl")}
    rows: list[Row] = []
    with interruptible(), WorkFolder() as work, open_interpreter(work, TrialOptions(), print) as target:
        for case in cases():
            named = not args.only or any(word in case.name for word in args.only)
            if named and all(wheel in there for wheel in case.wheels):
                try:
                    rows += show(run(case, [there[wheel] for wheel in case.wheels], target, work, args.most))
                except RuntimeError as error:
                    print(f"failed        {error}", flush=True)
    print(f"{sum(row.agrees for row in rows)} of {len(rows)} agree")
    return 0 if all(row.agrees for row in rows) else 1


if __name__ == "__main__":
    sys.exit(main())
