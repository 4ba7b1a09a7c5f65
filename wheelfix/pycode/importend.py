"""How the import of a module ends, as far as its code can be interpreted."""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING

from wheelfix.base.values import dataclass, field, replace
from wheelfix.loader.imports.sitefiles import imported_by_path_files, imported_by_start_files
from wheelfix.pycode.attributes import Attributes
from wheelfix.pycode.calls import Calls
from wheelfix.pycode.codefiles import ViewFiles
from wheelfix.pycode.expressions import ExpressionValues
from wheelfix.pycode.flow import Flow
from wheelfix.pycode.importer import Importer
from wheelfix.pycode.library import PythonLibrary
from wheelfix.pycode.objects import CodeClass, LoadFault, Native, Thrown, Undecided
from wheelfix.pycode.run import MAX_STEPS, PythonRun
from wheelfix.pycode.statements import Statements
from wheelfix.pycode.valuesize import PYTHON_ERRORS
from wheelfix.pycode.windows import WindowsMachine

if TYPE_CHECKING:
    from collections.abc import Mapping

    from wheelfix.loader.loading import Loader
    from wheelfix.loader.profile import Profile
    from wheelfix.loader.view import FileView
    from wheelfix.model import Edge, EdgeKind
    from wheelfix.pycode.objects import Instance

NOT_MODELLED = "its code calls something in a way that is not modelled"


@dataclass(frozen=True, slots=True)
class ImportEnd:
    """How an import ends."""

    decided: bool
    """Whether that is known."""
    reason: str = ""
    """Why it is not known."""
    error: str = ""
    """The class of the exception that it ends with; empty if it succeeds."""
    message: str = ""
    """The text of the exception, where it is known."""
    kinds: tuple[str, ...] = ()
    """The exception's class and its base classes."""
    fault: LoadFault | None = None
    """What failed, where the exception is that of a load."""
    missed: tuple[str, ...] = ()
    """DLLs of the package that were looked for in vain before."""
    refused: tuple[str, ...] = ()
    """The extension modules that could not be loaded, in order."""
    ran: tuple[str, ...] = ()
    """The files that were run or loaded."""
    chain: tuple[str, ...] = ()
    """For ``missed``: from the last of these files that exists to the DLL that it needs and that is not found."""
    place: tuple[str, int] = ("", 0)
    """The file and line that raised the exception."""
    caught: frozenset[int] = frozenset()
    """The Windows codes of loads that failed on the way."""
    loaded: frozenset[str] = frozenset()
    """Every module that was in the process at the end."""
    edges: Mapping[tuple[str, str, EdgeKind], Edge] = field(default_factory=dict)
    """Their needs, as they were met."""
    asked: bool = False
    """Whether its code has asked for variables or programs that this machine does not have, and others may."""
    process: Loader | None = None
    """The process at the end, where the import succeeds."""


def import_end(
    view: FileView,
    profile: Profile,
    module: str,
    *,
    complete: bool = False,
    bare: bool = False,
    steps: int = MAX_STEPS,
) -> ImportEnd:
    """Interpret ``import module`` in a fresh process.

    ``complete`` says that everything installed is in the view, ``bare`` that the machine has no vendor's toolkit.
    """
    if profile.searches_path:
        return ImportEnd(False, "Python before 3.8 is not interpreted")
    files = ViewFiles(view, profile)
    machine = WindowsMachine(files, profile, complete=complete, bare=bare)
    end = _end(machine, module, complete=complete, steps=steps)
    if end.error and machine.asked_base and not complete:
        other = WindowsMachine(files, profile, complete=complete, bare=bare, venv=True)
        if not _end(other, module, complete=complete, steps=steps).error:
            return replace(end, decided=False, reason="it depends on whether this is a virtual environment")
    return end


def _end(machine: WindowsMachine, module: str, *, complete: bool, steps: int) -> ImportEnd:
    run = new_run(machine, complete=complete, steps=steps)
    try:
        _start(run)
        run.import_module(module)
    except Undecided as undecided:
        return ImportEnd(False, str(undecided), ran=tuple(run.ran), place=undecided.place)
    except RecursionError:
        return ImportEnd(False, "its code is nested too deeply", ran=tuple(run.ran))
    except PYTHON_ERRORS as raised:  # a call with other arguments than the model of Python's library expects
        return ImportEnd(False, f"{NOT_MODELLED} ({type(raised).__name__})", ran=tuple(run.ran))
    except Thrown as thrown:
        return _failed(thrown.error, run)
    done = frozenset(machine.process.modules)
    caught, process = frozenset(machine.codes), machine.process
    refused = tuple(machine.refused)
    return ImportEnd(
        True, refused=refused, ran=tuple(run.ran), caught=caught, loaded=done, edges=machine.edges, process=process
    )


def new_run(machine: WindowsMachine, *, complete: bool = False, steps: int = MAX_STEPS) -> PythonRun:
    """A run with all its parts, in which nothing has happened."""
    run = PythonRun(machine, complete=complete, steps=steps)
    for part in (ExpressionValues, Attributes, Calls, Statements, Flow, Importer, PythonLibrary):
        part(run)
    return run


def _start(run: PythonRun) -> None:
    """Import what ``.pth`` and ``.start`` files of the package import; Python reports what fails, and goes on."""
    view, python = run.machine.view, run.machine.python
    for name in (*imported_by_path_files(view, python), *imported_by_start_files(view, python)):
        with contextlib.suppress(Thrown):
            run.import_module(name)


def _failed(error: Instance, run: PythonRun) -> ImportEnd:
    kinds = tuple(_kinds(error.kind))
    text = run.text_of(error)
    message = text if isinstance(text, str) else ""
    missed = tuple(run.machine.missed)
    if error.by_python and error.failure is None and not missed:
        return ImportEnd(
            False, f"its code may not be modelled exactly ({kinds[0]})", ran=tuple(run.ran), place=error.place
        )
    return ImportEnd(
        True,
        "",
        kinds[0],
        message,
        kinds,
        error.failure,
        missed,
        tuple(run.machine.refused),
        tuple(run.ran),
        run.machine.last_chain if missed and len(run.machine.last_chain) > 1 else (),
        error.place,
        frozenset(run.machine.codes),
        frozenset(run.machine.process.modules),
        run.machine.edges,
        run.machine.asked and not run.machine.own_absent,
    )


def _kinds(kind: CodeClass | Native) -> list[str]:
    if isinstance(kind, Native):
        return [kind.name.replace("WindowsError", "OSError").replace("IOError", "OSError")]
    found = [one.name for one in kind.order() if isinstance(one, CodeClass | Native)]
    return list(dict.fromkeys(found))
