"""How the import of a module ends, as far as its code can be interpreted."""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING

from wheelfix.base.values import dataclass, field, replace
from wheelfix.loader.sitefiles import imported_by_path_files, imported_by_start_files
from wheelfix.pycode.attributes import Attributes
from wheelfix.pycode.calls import Calls
from wheelfix.pycode.codefiles import ViewFiles
from wheelfix.pycode.expressions import ExpressionValues
from wheelfix.pycode.flow import Flow
from wheelfix.pycode.importer import Importer
from wheelfix.pycode.library import PythonLibrary
from wheelfix.pycode.objects import CodeClass, LoadFault, Native, Thrown, Undecided
from wheelfix.pycode.run import MAX_STEPS, Enough, OutOfSteps, PythonRun
from wheelfix.pycode.statements import Statements
from wheelfix.pycode.valuesize import PYTHON_ERRORS
from wheelfix.pycode.windows import WindowsMachine

if TYPE_CHECKING:
    from collections.abc import Mapping

    from wheelfix.loader.loadcall import Failure
    from wheelfix.loader.loading import Loader
    from wheelfix.loader.profile import Profile
    from wheelfix.loader.view import FileView
    from wheelfix.model import Edge, EdgeKind
    from wheelfix.pycode.objects import Instance
    from wheelfix.pycode.trace import ForeignImport


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
    refused: Mapping[str, tuple[Failure, dict[tuple[str, str, EdgeKind], Edge], dict[str, None]]] = field(
        default_factory=dict
    )
    """The files that could not be loaded, in order, with why, their needs, and what was mapped for them."""
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
    done: Mapping[str, tuple[dict[tuple[str, str, EdgeKind], Edge], dict[str, None]]] = field(default_factory=dict)
    """The files that were loaded by themselves, with their needs and everything that came with them."""
    asked: bool = False
    """Whether its code has asked for variables or programs that this machine does not have, and others may."""
    foreign: Mapping[str, ForeignImport] = field(default_factory=dict)
    """Top-level modules of other distributions that were imported."""
    others: Mapping[str, str] = field(default_factory=dict)
    """Files of other distributions that were not followed to the end, each with a function that it may call."""
    process: Loader | None = None
    """The process at the end."""


def import_end(
    view: FileView,
    profile: Profile,
    module: str,
    *,
    complete: bool = False,
    bare: bool = False,
    steps: int = MAX_STEPS,
    process: Loader | None = None,
    assumed: frozenset[str] = frozenset(),
    until: Mapping[str, int] | None = None,
) -> ImportEnd:
    """Follow ``import module`` in a fresh process, as far as that is possible.

    ``complete`` says that everything installed is in the view, ``bare`` that the machine has no vendor's toolkit.
    ``process`` is one in which nothing has happened, ``assumed`` names modules that are taken to be there.
    ``until`` has the lines after which nothing has to be followed, by file.
    """
    if profile.searches_path:
        return ImportEnd(False, "Python before 3.8 is not interpreted")
    files = ViewFiles(view, profile)

    def followed(*, venv: bool = False, deep: bool = False) -> tuple[WindowsMachine, ImportEnd]:
        first = process.fork() if process is not None else None
        machine = WindowsMachine(files, profile, complete=complete, bare=bare, venv=venv, process=first)
        run = new_run(machine, complete=complete, steps=steps)
        run.deep, run.assumed = deep, assumed
        run.to_the_end = True
        run.until = dict(until) if until else None
        return machine, _end(run, module)

    machine, end = followed()
    if not end.decided and end.others and view.beside is not None:
        machine, end = followed(deep=True)
    if end.decided and end.error and machine.asked_base and not complete and not followed(venv=True)[1].error:
        return replace(end, decided=False, reason="it depends on whether this is a virtual environment")
    return end


def _end(run: PythonRun, module: str) -> ImportEnd:
    error: Instance | None = None
    try:
        _start(run)
        run.import_module(module)
    except Enough:
        pass
    except RecursionError:
        run.unclear.append(("its code is nested too deeply", ("", 0)))
    except (Undecided, *PYTHON_ERRORS) as reason:
        with contextlib.suppress(OutOfSteps):
            run.note_unclear(reason)
    except Thrown as thrown:
        error = thrown.error
    return _described(run, error)


def new_run(machine: WindowsMachine, *, complete: bool = False, steps: int = MAX_STEPS) -> PythonRun:
    """A run with all its parts, in which nothing has happened."""
    run = PythonRun(machine, complete=complete, steps=steps)
    for part in (ExpressionValues, Attributes, Calls, Statements, Flow, Importer, PythonLibrary):
        part(run)
    return run


def _start(run: PythonRun) -> None:
    """Import what ``.pth`` and ``.start`` files of the package import; Python reports what fails, and goes on."""
    view, python = run.machine.view, run.machine.profile.python
    for name in (*imported_by_path_files(view, python), *imported_by_start_files(view, python)):
        with contextlib.suppress(Thrown):
            run.import_module(name)


def _described(run: PythonRun, error: Instance | None) -> ImportEnd:
    machine = run.machine
    kinds = tuple(_kinds(error.kind)) if error is not None else ()
    missed = tuple(machine.missed) if error is not None else ()
    text = run.text_of(error) if error is not None else ""
    unclear = list(run.unclear)
    if error is not None and error.by_python and error.failure is None and not missed:
        unclear.append((f"its code may not be modelled exactly ({kinds[0]})", error.place))
    reason, place = unclear[0] if unclear else ("", error.place if error is not None else ("", 0))
    return ImportEnd(
        decided=not unclear,
        reason=reason,
        error=kinds[0] if kinds else "",
        message=text if isinstance(text, str) else "",
        kinds=kinds,
        fault=error.failure if error is not None else None,
        missed=missed,
        refused=machine.refused,
        ran=tuple(run.ran),
        chain=machine.last_chain if missed and len(machine.last_chain) > 1 else (),
        place=place,
        caught=frozenset(machine.codes),
        loaded=frozenset(machine.process.modules),
        done=machine.done,
        asked=machine.asked and not machine.own_absent,
        foreign=run.foreign,
        others=machine.others,
        process=machine.process,
    )


def _kinds(kind: CodeClass | Native) -> list[str]:
    if isinstance(kind, Native):
        return [kind.name.replace("WindowsError", "OSError").replace("IOError", "OSError")]
    found = [one.name for one in kind.order() if isinstance(one, CodeClass | Native)]
    return list(dict.fromkeys(found))
