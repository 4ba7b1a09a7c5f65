"""What packages load with Python code: predictions against a real Windows Python, in Wine or as recorded there."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.oracle.codecases import SETS
from tests.oracle.codewheels import Result, from_record, measure, predicted, recorded, table, variants, wheel_of
from tests.oracle.wine import wine_for_trials, wine_options
from wheelfix.model import Machine
from wheelfix.streams.output import WorkFolder
from wheelfix.trial.model import TrialOptions
from wheelfix.trial.run import compare, open_interpreter

UNSURE = {("configparser", "as it is"), ("configparser", "without §core.dll")}
"""What is not known beforehand: what ConfigParser reads from a file."""
RECORD = Path(__file__).with_name("codecases.json")
"""What happened in Python 3.11 for Windows in Wine 8: for each variant nothing, or class, code, bases and message."""
RECORDED = json.loads(RECORD.read_text(encoding="utf-8"))
SLOW = {"fourth", "fifth"}
"""Half of the cases, of packages as they are written: three seconds."""
CASES = [
    pytest.param(name, case, id=name, marks=[pytest.mark.slow] if which in SLOW else [])
    for which, cases in SETS.items()
    for name, case in cases.items()
]


@pytest.mark.parametrize("name, case", CASES)
def test_predictions_are_what_was_recorded(name, case, tmp_path):
    results = []
    for count, (variant, absent, foreign) in enumerate(variants(case)):
        package = f"p{count}x"
        expected = predicted(wheel_of(tmp_path, package, case, absent, foreign), tmp_path / "environment", package)
        observed = from_record(RECORDED[name][variant], package)
        agreement, why = compare(expected, observed, wine=False, machine=Machine.AMD64)
        results.append(Result(name, variant, expected, observed, agreement, why))
    unsure = {(one.case, one.variant) for one in results if one.is_unsure}
    assert not any(one.is_wrong for one in results), table(results)
    assert unsure <= UNSURE, table(results)


@pytest.mark.long
@pytest.mark.wine_x64
@pytest.mark.slow
@pytest.mark.parametrize("name", SETS)
def test_a_windows_python_does_what_was_recorded(name):
    wine_options()
    assert {case: RECORDED[case] for case in SETS[name]} == seen(name)


def seen(name: str) -> dict[str, dict[str, list[Any]]]:
    """What happens now; also prints how predictions compare."""
    with WorkFolder() as work, open_interpreter(work, TrialOptions(wine=wine_for_trials())) as target:
        results = measure(SETS[name], target, work, name[0])
    print(table(results))
    counts = [len(list(variants(case))) for case in SETS[name].values()]
    packages = [f"{name[0]}{number}v{count}" for number, many in enumerate(counts) for count in range(many)]
    return recorded(results, packages)


if __name__ == "__main__":  # python -m tests.oracle.test_code_cases NAME: record what happens
    RECORDED.update(seen(sys.argv[1]))
    lines = [f"{json.dumps(case)}: {json.dumps(rows, ensure_ascii=False)}" for case, rows in RECORDED.items()]
    RECORD.write_text("{\n" + ",\n".join(lines) + "\n}\n", encoding="utf-8", newline="\n")
