"""Whether a condition holds on the target, as far as it asks for nothing but the system and the version of Python."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from wheelfix.loader.profile import Profile
from wheelfix.pycode.budget import OutOfBudget
from wheelfix.pycode.codefiles import ViewFiles
from wheelfix.pycode.importend import new_run
from wheelfix.pycode.objects import Namespace, Native, Thrown, Undecided
from wheelfix.pycode.reading import CodeReading
from wheelfix.pycode.run import OutOfSteps
from wheelfix.pycode.standard import is_standard, never_holds
from wheelfix.pycode.windows import WindowsMachine

if TYPE_CHECKING:
    from wheelfix.loader.view import FileView
    from wheelfix.pycode.budget import CodeBudget

MOST_STEPS = 10_000


def holds(view: FileView, python: tuple[int, int] | None, test: ast.expr, budget: CodeBudget) -> bool | None:
    """Whether a condition holds; None if that is not known."""
    if never_holds(test):
        return False
    names = {node.id for node in ast.walk(test) if isinstance(node, ast.Name) and is_standard(node.id)}
    if not names:
        return None
    files = view.notes.setdefault("files", {})
    if python not in files:
        files[python] = ViewFiles(view, Profile(python=python))
    run = new_run(WindowsMachine(files[python], files[python].profile), steps=MOST_STEPS)
    run.reading = CodeReading(run, "")
    run.machine.lenient = True
    run.environment = Namespace({name: Native(name) for name in names}, {}, "")
    try:
        return run.condition(test)
    except OutOfSteps:
        raise OutOfBudget("its conditions go on for too long") from None
    except (Thrown, Undecided):
        return None
    finally:
        budget.step(run.steps)
