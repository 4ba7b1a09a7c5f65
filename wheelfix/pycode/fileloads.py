"""Read from one Python file, without running it, which DLL folders it adds and which DLLs it loads.

The file is followed as Python would; functions that it does not call itself are looked into afterwards, since they may
be called.
"""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from wheelfix.base.values import dataclass
from wheelfix.model import CodeFolder, UnreadCall
from wheelfix.pycode.budget import FILE_STEPS, CodeBudget
from wheelfix.pycode.importcode import called
from wheelfix.pycode.importend import new_run
from wheelfix.pycode.mentions import Mentions
from wheelfix.pycode.objects import Thrown, Undecided
from wheelfix.pycode.reading import CodeReading, spelled
from wheelfix.pycode.run import NEXT, OutOfSteps
from wheelfix.pycode.trace import LATER, LOADING, PERHAPS, FoundCall
from wheelfix.pycode.valuesize import PYTHON_ERRORS
from wheelfix.pycode.windows import WindowsMachine

if TYPE_CHECKING:
    from collections.abc import Iterator

    from wheelfix.pycode.codefiles import ViewFiles
    from wheelfix.pycode.trace import FoundEnd, FoundFolder, FoundLoad

NOT_FOLLOWED = "it does something that cannot be followed"


@dataclass(frozen=True, slots=True)
class PathCode:
    """What one Python file does to the DLL search."""

    found_folders: tuple[FoundFolder, ...] = ()
    loads: tuple[FoundLoad, ...] = ()
    found_calls: tuple[FoundCall, ...] = ()
    listings: tuple[FoundFolder, ...] = ()
    """Folders whose files the code lists although they are not there."""
    ends: tuple[FoundEnd, ...] = ()
    """Exceptions that the file raises when it is imported, because DLLs are not there."""
    on_path: tuple[str, ...] = ()
    """Folders of the view that importing the file puts on PATH."""
    unread: str = ""
    """Why the file was not read; then nothing is known about it."""

    @property
    def folders(self) -> tuple[CodeFolder, ...]:
        """What is given to ``os.add_dll_directory``, with the line."""
        found = (CodeFolder(item.folder, item.file, item.line) for item in self.found_folders)
        return tuple(dict.fromkeys(found))

    @property
    def unread_calls(self) -> tuple[UnreadCall, ...]:
        """Loads and folders whose argument could not be read."""
        found = (
            UnreadCall(item.file, item.line, item.function, item.argument, item.level != LATER)
            for item in self.found_calls
        )
        return tuple(dict.fromkeys(found))

    @property
    def added(self) -> tuple[str, ...]:
        """The folders, none twice."""
        return tuple(dict.fromkeys(item.folder for item in self.found_folders))

    @property
    def loaded(self) -> tuple[str, ...]:
        """Files of the view or bare names that are loaded, none twice."""
        return tuple(dict.fromkeys(target for item in self.loads for target in item.targets))


def read_path_code(source: str, path: str, budget: CodeBudget, files: ViewFiles) -> PathCode:
    """Find the DLL folders and loads in one file, which lies at ``path`` in the view.

    A file that cannot be read, or takes more work than the budget has, gives nothing: half of its loads would be worse
    than none. That it was not read is in the budget and in the answer.
    """
    key = f"{path}\0" if files.blind else path
    known = budget.results.get(key)
    if not isinstance(known, PathCode):
        known = budget.results[key] = _read(source, path, budget, files)
    return known


def _read(source: str, path: str, budget: CodeBudget, files: ViewFiles) -> PathCode:
    budget.loading.add(path)
    tree = budget.parse(source, path)
    if tree is None:
        return PathCode(unread=budget.unread[path])
    machine = WindowsMachine(files, files.profile, complete=False)
    machine.lenient = True
    run = new_run(machine, steps=min(FILE_STEPS, budget.steps))
    run.budget = budget
    run.modules = dict(files.code_modules)
    reading = run.reading = CodeReading(run, path)
    on_path: tuple[str, ...] = ()
    try:
        functions = Mentions(tree, source, budget).functions
        if not _follow_file(reading, tree) & NEXT and not reading.findings:
            reading.unread += _behind_the_end(tree, path)
        on_path = reading.path_folders() or ()
        for node in functions:
            if node not in reading.called and node in reading.defined:
                reading.look_into(reading.defined[node])
    except RecursionError:
        budget.give_up(path, "it is nested too deeply")
    except OutOfSteps:
        budget.give_up(path, "its loops and functions go on for too long")
    except PYTHON_ERRORS as error:  # of Python's library, for a value that it cannot work with
        budget.give_up(path, f"{NOT_FOLLOWED} ({type(error).__name__})")
    finally:
        known = {name: module for name, module in run.modules.items() if module.file != path}
        files.code_modules.update(known)
        budget.steps = max(budget.steps - run.steps, 0)
    if path in budget.unread:
        return PathCode(unread=budget.unread[path])
    return PathCode(
        found_folders=tuple(dict.fromkeys(reading.folders)),
        loads=tuple(dict.fromkeys(reading.loads)),
        found_calls=tuple(dict.fromkeys(reading.unread)),
        listings=tuple(dict.fromkeys(reading.listings)),
        ends=tuple(reading.ends),
        on_path=on_path,
    )


def _follow_file(reading: CodeReading, tree: ast.Module) -> int:
    """Follow the statements of a file; say how they end."""
    run = reading.run
    module = run.new_module(reading.root)
    run.modules[module.name] = module
    run.environment = type(run.environment)(module.names, module.names, reading.root)
    try:
        return run.execute(tree.body)
    except OutOfSteps:
        raise
    except (Thrown, Undecided):
        return 0


def _behind_the_end(tree: ast.Module, path: str) -> Iterator[FoundCall]:
    """Give the loads and folders of a file that raises an exception before any of them.

    It raises on a machine without other programs; pyjnius, for example, adds the folder of Java if it finds one.
    """
    for node in ast.walk(tree):
        name = called(node) if isinstance(node, ast.Call) else ""
        if isinstance(node, ast.Call) and name in LOADING:
            argument = node.args[0] if node.args else node.func
            yield FoundCall(path, node.lineno, name, spelled(argument), PERHAPS, False)
