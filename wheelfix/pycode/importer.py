"""Imports of modules, and how the import of one ends."""

from __future__ import annotations

import ast
import contextlib
import itertools
from typing import TYPE_CHECKING, Any

from wheelfix.base.values import field, frozen, replace
from wheelfix.loader.packageloading import begin, has_entry, load_event, loading_of, startup_at, without_entry
from wheelfix.loader.view import BASE, SITE_PACKAGES, VENV_SETTINGS, FileView, base_name
from wheelfix.model import Image
from wheelfix.pe.modulenames import CompiledNames, group_of
from wheelfix.pycode.budget import PYTHON_ERRORS, WrongIndent, is_lazy
from wheelfix.pycode.calls import Attributes, Calls
from wheelfix.pycode.expressions import ExpressionValues, standard_names
from wheelfix.pycode.library import PythonLibrary
from wheelfix.pycode.run import (
    MAX_STEPS,
    UNKNOWN,
    CodeClass,
    CodeFunction,
    CodeModule,
    Enough,
    ForeignImport,
    ImportedName,
    Instance,
    LoadFault,
    Namespace,
    Native,
    OutOfSteps,
    PythonRun,
    PyValue,
    Thrown,
    Unclear,
    Undecided,
    error,
    is_kind,
)
from wheelfix.pycode.sourcecode import (
    NO_MODULE,
    WORDS,
    before_definitions,
    goes_on,
    imported_from,
    is_standard,
    python_source,
)
from wheelfix.pycode.statements import Statements
from wheelfix.pycode.windows import (
    SITE,
    ViewFiles,
    WindowsMachine,
    folder_of_file,
    imported_by_path_files,
    imported_by_start_files,
    new_module,
    windows_path,
)

if TYPE_CHECKING:
    from collections.abc import Mapping

    from wheelfix.loader.loading import Failure, Loader
    from wheelfix.loader.profile import Profile
    from wheelfix.model import Edge, EdgeKind
    from wheelfix.pycode.reading import CodeReading

MAX_SOURCE = 300 << 10
"""Bytes of one Python file that are interpreted; of a larger one, as SWIG makes them, what is before definitions."""
LARGEST_COMPILED = 16 << 20
"""Bytes of a compiled module in which the name of its source is looked for."""
SMALLEST_SOURCE = 20
"""A smaller Python file beside a compiled module (in bytes) is not taken for its source."""
LEADING_ON = (*WORDS, b"ctypes", b"environ", b"import_module", b"__import__", b"exec(")
"""Code that loads DLLs, or imports modules whose names cannot be read, contains one of these."""


class Importer:
    """Carries out imports by following the code of the modules."""

    def __init__(self, run: PythonRun) -> None:
        self.run = run
        self._inside = False
        """Whether code of another distribution is running."""

    def import_statement(self, node: ast.Import | ast.ImportFrom) -> None:
        """Carry out an import statement; a lazy one when its names are used."""
        if is_lazy(node, self.run.machine.python):
            origin = self._imported_by(node)[0] if isinstance(node, ast.ImportFrom) else ""
            for alias in node.names:
                bound = alias.asname or (alias.name if origin else alias.name.partition(".")[0])
                self.run.bind(bound, ImportedName(origin or alias.name, alias.name if origin or alias.asname else ""))
        elif isinstance(node, ast.Import):
            self._import(node)
        elif node.module != "__future__":
            self._import_from(node)

    # ------------------------------------------------------------------------------------------- statements

    def _import(self, node: ast.Import) -> None:
        for alias in node.names:
            found = self.import_module(alias.name)
            top = alias.name.partition(".")[0]
            if alias.asname:
                self.run.bind(alias.asname, found)
            else:
                self.run.bind(
                    top, self.run.modules.get(top) or (found if top == alias.name else self.import_module(top))
                )

    def _import_from(self, node: ast.ImportFrom) -> None:
        origin = self._imported_by(node)[0]
        module = self.import_module(origin)
        for alias in node.names:
            if alias.name == "*":
                self._bind_all(module)
            else:
                self.run.bind(alias.asname or alias.name, self._name_from(origin, module, alias.name))

    def _name_from(self, origin: str, module: PyValue, name: str) -> PyValue:
        if not isinstance(module, CodeModule):
            return self.run.attributes.attribute(module, name) if isinstance(module, Native) else UNKNOWN
        if name in module.names:
            return self.used(module.names, name)
        found = self._if_it_has(module, name)  # Python asks it before it looks for a submodule
        if found is not None:
            return found
        if self._file_of(f"{origin}.{name}", module):
            return self.import_module(f"{origin}.{name}")
        if "<star>" in module.names:
            return self._from_star(module, name)
        if self.run.reading is not None or not isinstance(module.names.get("__getattr__"), CodeFunction | None):
            return UNKNOWN  # lazy_loader made it for skimage.data
        self._need_usual_path(module, f"{origin}.{name}")
        failure = LoadFault("name", f"{origin}.{name}", None)
        raise error("ImportError", f"cannot import name '{name}' from '{origin}'", failure=failure)

    def used(self, names: dict[str, PyValue], name: str) -> PyValue:
        """What a name stands for; one that was imported lazily is imported now."""
        found = names[name]
        if isinstance(found, ImportedName):
            self.run.store(names, name, UNKNOWN)  # a branch remembers what it was
            del names[name]  # what two files import from one another is nowhere
            found = names[name] = self._of_import(found)
        return found

    def _of_import(self, asked: ImportedName) -> PyValue:
        """What a name that was imported before stands for."""
        found = self.import_module(asked.module)
        if not asked.name:
            top = asked.module.partition(".")[0]
            return self.run.modules.get(top, Native(top))
        return found if asked.name == asked.module else self._name_from(asked.module, found, asked.name)

    @staticmethod
    def _from_star(module: CodeModule, name: str) -> PyValue:
        origins = [one for one in module.names["<star>"] if not one or name in standard_names(one)]
        return Native(f"{origins[-1]}.{name}") if origins and origins[-1] else UNKNOWN

    def _from_getattr(self, module: CodeModule, name: str) -> PyValue:
        own = module.names.get("__getattr__")
        return self.run.calls.call(own, [name], {}) if isinstance(own, CodeFunction) else None

    def _if_it_has(self, module: CodeModule, name: str) -> PyValue:
        """What a module's own ``__getattr__`` gives; None where it has none, or none that knows the name."""
        try:
            return self._from_getattr(module, name)
        except Thrown as thrown:
            if is_kind(thrown.error.kind, Native("AttributeError")):
                return None
            raise

    def _bind_all(self, module: PyValue) -> None:
        if not isinstance(module, CodeModule):
            self.note_star(module.name if isinstance(module, Native) and is_standard(module.name) else "")
            return
        public = module.names.get("__all__")
        names = public if isinstance(public, list | tuple) and all(isinstance(one, str) for one in public) else None
        for origin in module.names.get("<star>", ()) if names is None else ():
            self.note_star(origin)
        for name in names if names is not None else [one for one in module.names if not one.startswith(("_", "<"))]:
            self.run.bind(name, self._name_from(module.name, module, name))

    def note_star(self, module: str) -> None:
        """Note a module whose names were all imported: unknown names may come from it. Empty: which is not known."""
        self.run.environment.globals.setdefault("<star>", []).append(module)

    def imports_own(self, node: ast.Import | ast.ImportFrom) -> bool:
        """Whether a statement imports a module of the package that has not been imported."""
        names = self._imported_by(node)
        return any(name not in self.run.modules and self.is_own(self.run.machine.files.module(name)) for name in names)

    def _imported_by(self, node: ast.Import | ast.ImportFrom) -> list[str]:
        """What a statement imports, a module before its names."""
        if isinstance(node, ast.Import):
            return [alias.name for alias in node.names]
        package = self.run.environment.globals.get("__package__")
        return imported_from(node, package if isinstance(package, str) else "")

    def is_own(self, path: str | None) -> bool:
        view = self.run.machine.view
        return path is not None and path != "" and (path not in view or path in view.own)

    # --------------------------------------------------------------------------------------------- modules

    def import_module(self, name: str) -> PyValue:
        """What ``import name`` gives, after it was carried out."""
        self.run.step()
        if name in self.run.modules:
            return self.run.modules[name]
        if is_standard(name):
            return Native(name)
        if self.run.reading is not None:
            return self._import_while_reading(name, self.run.reading)
        above, _, last = name.rpartition(".")
        parent = self.import_module(above) if above else None
        if isinstance(parent, Native):
            return Native(name)
        if name in self.run.modules:
            return self.run.modules[name]
        path = self._file_of(name, parent)
        if not path or not self.is_own(path):
            self._note_foreign(name.partition(".")[0], there=True)
        # Compiled code may put modules below its own, as that of Rust does, or below the package that imports it.
        compiled = isinstance(parent, CodeModule) and (parent.is_compiled or parent.names.get(last) is UNKNOWN)
        if not path and (parent is UNKNOWN or compiled):
            return UNKNOWN
        if not path:
            return self._import_absent(name, path)
        found = self.import_path(name, path)
        if isinstance(parent, CodeModule):
            self.run.store(parent.names, last, found)
        return found

    def _file_of(self, name: str, parent: PyValue) -> str | None:
        """The file of a module; a package's code may have changed the folders in which its modules are looked for."""
        files = self.run.machine.files
        folders = parent.names.get("__path__") if isinstance(parent, CodeModule) else None
        if isinstance(folders, list) and folders != [f"{SITE}\\{parent.name}".replace(".", "\\")]:
            for folder in (one for one in folders if isinstance(one, str)):
                found = files.module_in(self.run.machine.view_path(folder), name.rpartition(".")[2])
                if found:
                    return found
        return files.module(name)

    def _note_foreign(self, top: str, *, there: bool) -> None:
        """Remember an import of a module of another distribution by the package itself."""
        file, found = self.run.environment.file, self.run.foreign.get(top)
        if self._inside or is_standard(top) or self.run.machine.files.is_own(f"{SITE_PACKAGES}/{top}"):
            return
        caught = any(goes_on(node, NO_MODULE) for node in self.run.guards if isinstance(node, ast.Try))
        if found is None or (found.caught and not caught) or not there:
            self.run.foreign[top] = ForeignImport(file, caught and (found is None or found.caught), there)

    def _import_while_reading(self, name: str, reading: CodeReading) -> PyValue:
        """A module that a file imports which is read: nothing is known of its names."""
        path = self.run.machine.files.module(name)
        if path:
            module = self.run.modules[name] = new_module(path, name)
            module.names["<star>"] = [""]
            return module
        if reading.is_caught(NO_MODULE) and (path == "" or reading.choose(name) is False):
            raise error(NO_MODULE, f"No module named '{name}'")
        return Native(name)

    def _import_absent(self, name: str, path: str | None) -> PyValue:
        """A module that is not there, or belongs to another distribution."""
        if self._inside and not self._knows_all():  # in the code of others that counts only where all is known
            raise Undecided(f"whether {name} is installed is not known")
        top = name.partition(".")[0]
        above = self.run.modules.get(name.rpartition(".")[0])
        if above is not None:
            self._need_usual_path(above, name)
        shared = path is None and self.run.machine.files.is_shared(top)
        if shared and not self.run.machine.complete:
            raise Undecided(f"whether {name} is installed is not known")
        if path is None and not shared and self.run.machine.files.module_in(SITE_PACKAGES, top):
            return Native(name)  # what it does is in the table of the library
        unknown = path is None and not self.run.machine.complete
        if self.run.assumed.get(top, unknown and self.run.machine.files.requires(top)):
            self.run.machine.others.setdefault("", "add_dll_directory")
            return Native(name)
        if unknown and top not in self.run.assumed:
            raise Undecided(f"whether {top} is installed is not known")
        self._note_foreign(top, there=False)
        raise self._not_found(name)

    @staticmethod
    def _not_found(name: str) -> Thrown:
        return error("ModuleNotFoundError", f"No module named '{name}'", failure=LoadFault("module", name, None))

    def is_imported(self, name: str) -> bool | None:
        """Whether a module is in ``sys.modules``; None if Python or what the package requires may have imported it.

        treelite asks whether Sphinx is there, and loads its DLL if not.
        """
        if name in self.run.modules:
            return True
        if self.run.reading is not None or is_standard(name):
            return None
        return None if self.run.foreign and self.run.machine.files.requires(name.partition(".")[0]) else False

    def _need_usual_path(self, package: CodeModule, name: str) -> None:
        """Raise Undecided if a package's code has changed where its modules come from.

        It may have changed the folders; an extension module may make others, as cantera's does.
        """
        if package.names.get("__path__") not in (None, [folder_of_file(package.file)]):
            raise Undecided(f"where {name} is looked for depends on code")
        top, last = name.partition(".")[0], name.rpartition(".")[2]
        own = (path for path in self.run.ran if path.endswith(".pyd") and path.startswith(f"{SITE_PACKAGES}/{top}/"))
        if any(CompiledNames(self.run.machine.view.source(path)).may_make(last) for path in own):
            raise Undecided(f"a compiled module of {top} may make {name}")

    def import_path(self, name: str, path: str) -> PyValue:
        """The module of a file, after its code was carried out."""
        return self._import_file(name, path) if self.is_own(path) else self._import_of_others(name, path)

    def _import_file(self, name: str, path: str) -> PyValue:
        if path.endswith(".pyd"):
            return self._import_extension(name, path)
        module = self.run.modules[name] = new_module(path, name)
        if path.endswith(".py"):
            self._run_file(module, path)
        return self.run.modules.get(name, module)

    def _run_file(self, module: CodeModule, path: str) -> None:
        source = python_source(self.run.machine.view, path).decode("utf-8-sig", "replace")
        is_large = self.run.machine.view.file(path).size > MAX_SOURCE
        source = before_definitions(source) if is_large else source
        try:
            tree = self.run.budget.parse_more(source, path)
        except WrongIndent as wrong:
            thrown = error("IndentationError", wrong.text)
            thrown.error.place = (path, wrong.line)
            raise thrown from None
        if tree is None:
            raise Undecided(f"{path} is not read")
        self.run.ran[path] = None
        outer, depth = self.run.environment, self.run.depth
        returned, handled, self.run.handled = self.run.returned, self.run.handled, []
        self.run.environment = Namespace(module.names, module.names, path)
        try:
            for node in tree.body:
                self.run.statements.execute([node])
                self.run.passed(path, node.end_lineno or node.lineno)
            if is_large:
                self.note_star("")
                reason = Undecided(f"{path} is too large")
                reason.place = (path, 0)
                raise reason
        except Thrown:
            self.run.modules.pop(module.name, None)
            raise
        finally:
            self.run.environment, self.run.depth, self.run.returned, self.run.handled = outer, depth, returned, handled

    def _import_extension(self, name: str, path: str) -> PyValue:
        others = [one for one in self.run.ran if one.endswith(".pyd")]
        self.run.ran[path] = None
        failure = self.run.machine.load_module(path)
        last = name.rpartition(".")[2]
        if failure is not None or not has_entry(self.run.machine.view, path):
            if any(map(self._group_of, others)):
                raise Undecided("modules of mypyc may have been imported by one another")
            text = without_entry(last, self.run.machine.profile.python)
            if failure is not None:
                text = f"DLL load failed while importing {last}"
            fault = LoadFault("entry" if failure is None else "extension", path, failure)
            thrown = error("ImportError", text, failure=fault)
            thrown.error.attributes["name"] = last
            raise thrown
        group = self._group_of(path)
        if group:  # modules of mypyc are in one other file, and do not import one another as files
            if self.run.machine.files.module(group) is None:
                raise self._not_found(group)
            self.import_module(group)
            return self._compiled_module(name, path)
        found = self._import_source_of(name, path)
        return self._compiled_module(name, path) if found is UNKNOWN else found

    def _compiled_module(self, name: str, path: str) -> CodeModule:
        """A compiled module, with what is known about its names; it may have any other, too."""
        values = loading_of(self.run.machine.view).values
        known: dict[str, PyValue] = {key: value for module, key, value in values if module == name}
        known |= {"__name__": name, "__file__": windows_path(path), "<star>": [""]}
        self.run.modules[name] = CodeModule(name, path, known)
        return self.run.modules[name]

    def _group_of(self, path: str) -> str:
        view = self.run.machine.view
        image = view.image(path)
        return group_of(image, view.source(path)) if isinstance(image, Image) else ""

    def _import_source_of(self, name: str, path: str) -> PyValue:
        """What a compiled module does, if the file that it was compiled from lies beside it (mypyc, Cython)."""
        source = f"{path.rpartition('/')[0]}/{base_name(path).split('.')[0]}.py"
        view = self.run.machine.view
        if source not in view or view.file(source).size < SMALLEST_SOURCE:
            return UNKNOWN
        behind = view.source(path).read_at(0, LARGEST_COMPILED).split(base_name(source).encode())[1:]
        if not any(text[:1] == b"x" or not text[:1].isalpha() for text in behind):  # .py or .pyx, and not .pyd
            return UNKNOWN  # it is what Python falls back to without the compiled module; Cython names its source
        return self._import_file(name, source)

    def of_module(self, module: CodeModule, name: str) -> PyValue:
        """A name of a module of the package."""
        if name in module.names:
            return self.used(module.names, name)
        if self.run.reading is not None and name != "__dict__":
            return self._name_from(module.name, module, name)
        if name == "__dict__":
            return UNKNOWN if module.is_compiled else module.names
        found = self._from_getattr(module, name)
        if found is not None:
            return found
        if "<star>" in module.names:
            return self._from_star(module, name)
        if name.startswith("__"):
            return UNKNOWN
        raise error("AttributeError", f"module '{module.name}' has no attribute '{name}'")

    def module_named(self, name: str) -> PyValue:
        """A module that has been imported."""
        if name in self.run.modules:
            return self.run.modules[name]
        if is_standard(name):
            return Native(name)
        if self.is_own(self.run.machine.files.module(name)):
            raise error("KeyError", name)
        return UNKNOWN

    def _is_doubtful(self, thrown: Thrown) -> bool:
        """Whether code of others raises something that only the model may raise: some of it was passed over.

        NumPy takes names from loops over sets, which are not followed, and imports them in the next file.
        """
        machine, failure = self.run.machine, thrown.error.failure
        if thrown.error.by_python and failure is None:
            return True
        about_names = failure is None or failure.cause == "name"
        return about_names and bool(machine.others) and not machine.missed and not machine.refused

    def _import_of_others(self, name: str, path: str) -> PyValue:
        """A module of another distribution; what is not followed of it may have done anything."""
        machine = self.run.machine
        startup = startup_at(machine.view, path)
        if startup is not None:
            begin(startup, machine.process)
            for event in startup.events:
                load_event(startup, machine.process, event)
            return Native(name)
        if (
            not self.run.deep
            and path.endswith(".py")
            and not any(word in python_source(machine.view, path) for word in LEADING_ON)
        ):
            machine.others.setdefault(path, "add_dll_directory")
            return Native(name)
        inside, budget = self._inside, self.run.budget
        self._inside, self.run.budget = True, self.run.budget_of_others
        try:
            return self._import_file(name, path)
        except Thrown as thrown:
            if not self._is_doubtful(thrown):
                raise
            machine.others.setdefault(path, "add_dll_directory")
        except Undecided:
            machine.others.setdefault(path, "add_dll_directory")
        finally:
            self._inside, self.run.budget = inside, budget
        return Native(name)

    def _knows_all(self) -> bool:
        """Whether everything that is installed is known."""
        beside = self.run.machine.view.beside
        return self.run.machine.complete and beside is not None and beside.complete


@frozen
class ImportEnd:
    """How an import ends."""

    error: str = ""
    """The class of the exception that it ends with; empty if it succeeds."""
    message: str = ""
    """The text of the exception, where it is known."""
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
    """The file and line that raised the exception, or else of the first statement that was passed over."""
    unclear: tuple[Unclear, ...] = ()
    """The statements that were passed over."""
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
    whole: bool = False
    """Whether it ended without an exception, and was followed so far."""
    asked_base: bool = False
    """Whether its code has asked if this is a virtual environment."""

    @property
    def decided(self) -> bool:
        """Whether it is known how it ends."""
        return not self.unclear

    @property
    def reason(self) -> str:
        """Why that is not known."""
        return self.unclear[0].reason if self.unclear else ""

    @property
    def alone(self) -> bool:
        """Whether nothing was asked about the DLLs of other distributions: it ends so whatever these have."""
        return self.process is not None and not self.process.target.asked

    @property
    def shown(self) -> str:
        """The first line of the text of the exception."""
        return self.message.partition("\n")[0].replace(SITE, "…")

    @property
    def certain(self) -> bool:
        """Whether it is known what is loaded, and how it ends: what was passed over lies in files that load nothing."""
        if self.error and not self.decided and self.fault is None and not self.missed:
            return False
        return not any(one.matters or (one.inside and not self.error) for one in self.unclear)


class Imports:
    """Imports of a view, each in a fresh process; what importing a package does is followed once for all below it."""

    def __init__(
        self,
        view: FileView,
        profile: Profile,
        *,
        complete: bool = False,
        steps: int = MAX_STEPS,
        process: Loader | None = None,
    ) -> None:
        """``complete`` says that everything installed is in the view; in ``process`` nothing has happened."""
        self._view, self._profile, self._files = view, profile, ViewFiles(view, profile)
        self._complete, self._steps, self._process = complete, steps, process
        self._venv = _is_venv(view)
        self._packages: dict[tuple[str, bool], PythonRun] = {}
        """The runs that have imported top-level packages."""
        self._ends: dict[tuple[str, bool], ImportEnd] = {}

    def end(
        self, module: str, *, assumed: Mapping[str, bool] | None = None, until: Mapping[str, int] | None = None
    ) -> ImportEnd:
        """Follow ``import module``, as far as that is possible.

        ``assumed`` says of modules of others that they are there or not, ``until`` has the lines after which nothing
        has to be followed, by file.
        """
        if self._profile.searches_path:
            return ImportEnd(unclear=(Unclear("Python before 3.8 is not interpreted"),))
        usual = self._venv is True

        def followed(*, venv: bool = usual, deep: bool = False) -> ImportEnd:
            if venv is usual and not assumed and not until:
                return self._shared(module, deep)
            run = self._new_run(venv, deep)
            run.assumed, run.until = assumed or {}, dict(until) if until else None
            return _end(run, module)

        end = followed()
        if (not end.decided or end.error) and end.others and self._view.beside is not None:
            deep = followed(deep=True)  # another distribution may help, or fail first
            end = deep if deep.decided or not end.decided else end
        if end.decided and end.error and end.asked_base and self._venv is None and not followed(venv=True).error:
            return replace(
                end, unclear=(Unclear("it depends on whether this is a virtual environment", matters=False),)
            )
        return end

    def _new_run(self, venv: bool, deep: bool) -> PythonRun:
        process = self._process.fork() if self._process is not None else None
        machine = WindowsMachine(self._files, complete=self._complete, venv=venv, process=process)
        run = new_run(machine, steps=self._steps)
        run.deep = deep
        return run

    def _shared(self, module: str, deep: bool) -> ImportEnd:
        """The end of an import, from where its top-level package is imported."""
        top = module.partition(".")[0]
        if (top, deep) not in self._packages:
            run = self._packages[top, deep] = self._new_run(self._venv is True, deep)
            self._ends[top, deep] = _end(run, top)
        for above in itertools.accumulate(module.split("."), "{}.{}".format):
            end = self._ends.get((above, deep))
            if end is not None and (above == module or not end.whole):  # what is imported first does not go to its end
                return end
        run = self._packages[top, deep]
        with run.apart():
            end = self._ends[module, deep] = _end(run, module, start=False)
        return end


def _is_venv(view: FileView) -> bool | None:
    """Whether an environment is a virtual one; None where its Python is not in the view."""
    if VENV_SETTINGS in view:
        return True
    if view.find("", "python.exe"):
        return False
    return True if view.find(BASE, "python.exe") or view.find("Scripts", "python.exe") else None


def import_end(view: FileView, profile: Profile, module: str, **options: Any) -> ImportEnd:
    """How ``import module`` ends in a fresh process; the options are those of ``Imports``."""
    return Imports(view, profile, **options).end(module)


def _end(run: PythonRun, module: str, *, start: bool = True) -> ImportEnd:
    """How an import ends."""
    try:
        if start:
            _start(run)
        run.importer.import_module(module)
        return _described(run, None, whole=True)
    except Enough:
        pass
    except RecursionError:
        run.unclear.append(Unclear("its code is nested too deeply"))
    except (Undecided, OutOfSteps, *PYTHON_ERRORS) as reason:
        try:
            run.note_unclear(reason)
        except OutOfSteps as limit:  # so much was passed over before that nothing more is noted
            run.unclear.append(Unclear(str(limit)))
    except Thrown as thrown:
        return _described(run, thrown.error)
    return _described(run, None)


def new_run(machine: WindowsMachine, *, steps: int = MAX_STEPS) -> PythonRun:
    """A run with all its parts, in which nothing has happened."""
    run = PythonRun(machine, steps)
    run.expressions, run.attributes, run.calls = ExpressionValues(run), Attributes(run), Calls(run)
    run.statements, run.importer, run.library = Statements(run), Importer(run), PythonLibrary(run)
    return run


def _start(run: PythonRun) -> None:
    """Import what ``.pth`` and ``.start`` files of the package import; Python reports what fails, and goes on."""
    view, python = run.machine.view, run.machine.profile.python
    for name in (*imported_by_path_files(view, python), *imported_by_start_files(view, python)):
        with contextlib.suppress(Thrown):
            run.importer.import_module(name)


def _described(run: PythonRun, error: Instance | None, *, whole: bool = False) -> ImportEnd:
    machine = run.machine
    kind = _kind(error.kind) if error is not None else ""
    missed = tuple(machine.missed) if error is not None else ()
    text = run.expressions.text_of(error) if error is not None else ""
    unclear = list(run.unclear)
    if error is not None and error.by_python and error.failure is None and not missed:
        unclear.append(Unclear(f"its code may not be modelled exactly ({kind})", *error.place))
    place = error.place if error is not None else (unclear[0].file, unclear[0].line) if unclear else ("", 0)
    return ImportEnd(
        error=kind,
        message=text if isinstance(text, str) else "",
        fault=error.failure if error is not None else None,
        missed=missed,
        refused=machine.refused,
        ran=tuple(run.ran),
        chain=next(filter(None, machine.missed.values()), ()) if missed else (),
        place=place,
        unclear=tuple(unclear),
        caught=frozenset(machine.codes),
        loaded=frozenset(machine.process.modules),
        done=machine.done,
        asked=machine.asked and not machine.own_absent,
        foreign=run.foreign,
        others=machine.others,
        process=machine.process,
        whole=whole,
        asked_base=machine.asked_base,
    )


def _kind(kind: CodeClass | Native) -> str:
    return "OSError" if kind in (Native("WindowsError"), Native("IOError")) else kind.name
