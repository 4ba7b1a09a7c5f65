"""Wheels of the packages in ``codecases``, and how many predictions for them are right in a real Windows Python."""

from __future__ import annotations

import ast
import shutil
import zipfile
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.oracle.codecases import HEAD, CodeCase
from tests.support.wheels import build_wheel
from tools.forge import forge_dll
from wheelfix.model import Machine, Verdict
from wheelfix.trial.model import Agreement, Expected, ImportAnswer, Interpreter, Observed, RaisedError
from wheelfix.trial.run import CHILD, compare, expectations

DRIVER = Path(__file__).with_name("import_many.py")


@dataclass(frozen=True)
class Result:
    """One variant of one case."""

    case: str
    variant: str
    expected: Expected
    observed: Observed
    agreement: Agreement
    why: str

    @property
    def is_wrong(self) -> bool:
        """Whether the prediction does not say what happens; an error of Python counts where a DLL is the reason."""
        if self.agreement is Agreement.DIFFERS:
            return True
        return self.expected.answer.value == "works" and not self.observed.works

    @property
    def is_unsure(self) -> bool:
        return self.expected.answer.value == "unsure"


def variants(case: CodeCase) -> Iterator[tuple[str, frozenset[str], frozenset[str]]]:
    """Give each variant of a case: what is different, the files that are absent, those of another machine."""
    yield "as it is", frozenset(), frozenset()
    for names in case.without:
        yield f"without {names}", frozenset(names.split()), frozenset()
    for name in case.foreign:
        yield f"{name} for x86", frozenset(), frozenset([name])


def wheel_of(folder: Path, package: str, case: CodeCase, absent: frozenset[str], foreign: frozenset[str]) -> Path:
    """Write the wheel of one variant."""

    def named(text: str) -> str:
        return text.replace("§", package)

    files = {f"{package}/__init__.py": named(HEAD + case.code)}
    files |= {f"{package}/{named(name)}": named(text) for name, text in case.files.items()}
    for name, imports in case.dlls.items():
        if name not in absent:
            machine = Machine.X86 if name in foreign else Machine.AMD64
            wanted = {named(one): ["call"] for one in imports}
            path = named(name).removeprefix("../") if name.startswith("../") else f"{package}/{named(name)}"
            files[path] = forge_dll(Path(path).name, imports=wanted, exports=["call"], machine=machine)
    return build_wheel(folder, package, files=files)


def measure(cases: Mapping[str, CodeCase], target: Interpreter, work: Path, start: str = "q") -> list[Result]:
    """Predict and import every variant of every case."""
    rows = []
    site = target.exchange / "cases"
    site.mkdir()
    for number, (name, case) in enumerate(cases.items()):
        for count, (variant, absent, foreign) in enumerate(variants(case)):
            package = f"{start}{number}v{count}"
            wheel = wheel_of(work / "dist", package, case, absent, foreign)
            expected = predicted(wheel, work / "environment", package)
            with zipfile.ZipFile(wheel) as archive:
                archive.extractall(site / package)
            rows.append((name, variant, package, expected))
    answers = imported(target, [(site / package, package) for _, _, package, _ in rows])
    found = []
    for (name, variant, _, expected), answer in zip(rows, answers, strict=True):
        observed = Observed(answer["outcome"], tuple(_error(error) for error in answer.get("errors", ())))
        agreement, why = compare(expected, observed, wine=False, machine=Machine.AMD64)
        found.append(Result(name, variant, expected, observed, agreement, why))
    return found


def predicted(wheel: Path, environment: Path, package: str) -> Expected:
    """Return the prediction for a wheel that is alone in its environment."""
    (environment / "Lib" / "site-packages").mkdir(parents=True, exist_ok=True)
    (environment / "python.exe").touch()
    with expectations(wheel, environment) as expected:
        report = expected.report
        assert (report.verdict is Verdict.BROKEN) is (report.first_failure is not None), report.findings
        answer = expected.of(package)
        assert (report.verdict is Verdict.BROKEN) is (answer.answer is ImportAnswer.FAILS), report.findings
        return answer


def imported(target: Interpreter, packages: list[tuple[Path, str]]) -> list[dict[str, Any]]:
    """Import packages in one process of the Windows Python."""
    exchange = target.exchange
    for script in (CHILD, DRIVER):
        shutil.copyfile(script, exchange / script.name)
    lines = [f"{target.path(folder)}\t{module}\n" for folder, module in packages]
    (exchange / "list").write_text("".join(lines), encoding="utf-8")
    result = exchange / "results"
    asked = [target.path(path) for path in (exchange / "child.py", exchange / "list", result)]
    done = target.run(["-I", "-X", "utf8", target.path(exchange / DRIVER.name), *asked], timeout=600)
    assert result.exists(), done.err[-3000:]
    return ast.literal_eval(result.read_text(encoding="ascii"))


def _error(error: dict[str, Any]) -> RaisedError:
    return RaisedError(error["class"], error["message"], error["code"], tuple(error["bases"]), error["name"])


def recorded(results: list[Result], packages: list[str]) -> dict[str, dict[str, list[Any]]]:
    """Return what happened as plain values, with ``§`` for the name of each package."""
    found = {}
    for one, package in zip(results, packages, strict=True):
        row = []
        for error in one.observed.errors:
            message = error.message.replace(package, "§").rpartition("\\")[2] or error.message
            named = "Could not find module '" in error.message and "\\" in error.message
            shown = f"Could not find module '{message}" if named else message
            row.append([error.error, error.code, list(error.bases), shown[:100]])
        found.setdefault(one.case, {})[one.variant] = row
    return found


def from_record(row: list[Any], package: str) -> Observed:
    """Return what was recorded as an observation of a package."""
    errors = [RaisedError(name, text.replace("§", package), code, tuple(bases)) for name, code, bases, text in row]
    return Observed("raised" if errors else "imported", tuple(errors))


def table(results: list[Result]) -> str:
    """Return the wrong and the unsure ones, and the sums."""
    lines = []
    for one in results:
        word = "WRONG" if one.is_wrong else "unsure" if one.is_unsure else ""
        if word:
            cause = one.observed.cause
            happened = "imported" if cause is None else f"{cause.error} {cause.code or ''} {cause.message[:80]}"
            said = f"{one.expected.answer} {one.expected.message or one.expected.because}"[:110]
            lines.append(f"{word:7}{one.case:16}{one.variant:34} {happened}\n{'':24}predicted: {said}")
    wrong, unsure = sum(one.is_wrong for one in results), sum(one.is_unsure for one in results)
    lines.append(f"{len(results)} imports, {len(results) - wrong - unsure} right, {wrong} wrong, {unsure} unsure")
    return "\n".join(lines)
