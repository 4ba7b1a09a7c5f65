"""Imports of modules: those of the package are followed, and small ones of others that come with DLLs.

PySide6 imports shiboken6, Kivy imports kivy_deps, CuPy imports cuda-pathfinder: which folders are searched, what is in
the process and which module fails first is decided by their code. What large packages do is not followed.
Packages of Python code in which nothing is about DLLs, and which import only such packages, do not change the search.
"""

from __future__ import annotations

import ast
import posixpath
from typing import TYPE_CHECKING

from wheelfix.loader.extensionmodules import has_entry
from wheelfix.loader.packageloading import loading_of
from wheelfix.loader.view import SITE_PACKAGES, Layer, base_name
from wheelfix.pycode.budget import is_lazy
from wheelfix.pycode.exceptions import NO_MODULE
from wheelfix.pycode.expressions import standard_names
from wheelfix.pycode.importcode import imported_from, read_imports
from wheelfix.pycode.objects import (
    UNKNOWN,
    CodeFunction,
    CodeModule,
    ImportedName,
    Instance,
    LoadFault,
    Namespace,
    Native,
    PyValue,
    Thrown,
    Undecided,
    error,
    is_kind,
)
from wheelfix.pycode.pythonsource import python_source
from wheelfix.pycode.standard import is_standard
from wheelfix.pycode.windows import ROOT

if TYPE_CHECKING:
    from wheelfix.loader.view import ViewFile
    from wheelfix.pycode.reading import CodeReading
    from wheelfix.pycode.run import PythonRun


MAX_SOURCE = 300 << 10
"""Bytes of one Python file that are interpreted."""
LARGEST_SHIM = 64 << 10
"""Bytes of a module that only asks another one for its content."""
LARGEST_COMPILED = 16 << 20
"""Bytes of a compiled module in which the name of its source is looked for."""
SMALLEST_SOURCE = 20
"""A smaller Python file beside a compiled module (in bytes) is not taken for its source."""
LARGEST_CODE = 250_000
"""Bytes of Python code of a package of others that is interpreted."""
WORDS = (b"add_dll_directory", b"ctypes", b"LoadLibrary", b"environ")
"""Code that has to do with DLLs contains one of these."""
LEADING_ON = (*WORDS, b"dlopen", b"import_module", b"__import__", b"exec(")
"""Code that loads DLLs, or imports modules whose names cannot be read, contains one of these."""
MAX_LINKED = 20
"""Files through which a name is imported from one another."""
MAX_PLAIN = 60
"""How many packages are read at most to find out that one has nothing to do with DLLs."""


class Importer:
    """Carries out imports by following the code of the modules."""

    def __init__(self, run: PythonRun) -> None:
        self.run = run
        run.import_module = self.import_module
        run.import_statement = self.import_statement
        run.imports_own = self.imports_own
        run.of_module = self.of_module
        run.module_named = self.module_named
        run.is_own = self.is_own
        run.used = self.used
        run.module_at = self.module_at
        run.new_module = self.new_module
        run.imports_of_others = self.imports_of_others
        self._followed: dict[str, bool] = {}
        """Packages of others by their names, with whether their code is followed."""
        self._plain: dict[str, bool] = {}
        """Packages of others that are not followed, with whether they have nothing to do with DLLs."""
        self._inside = False
        """Whether code of another distribution is running."""

    def import_statement(self, node: ast.Import | ast.ImportFrom) -> None:
        """Carry out an import statement; a lazy one when its names are used."""
        if is_lazy(node, self.run.machine.python):
            origin = self._origin(node) if isinstance(node, ast.ImportFrom) else ""
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
        origin = self._origin(node)
        module = self.import_module(origin)
        for alias in node.names:
            if alias.name == "*":
                self._bind_all(module)
            else:
                self.run.bind(alias.asname or alias.name, self._name_from(origin, module, alias.name))

    def _origin(self, node: ast.ImportFrom) -> str:
        package = posixpath.dirname(self.run.environment.file.removeprefix(f"{SITE_PACKAGES}/")).replace("/", ".")
        return imported_from(node, package)[0]

    def _name_from(self, origin: str, module: PyValue, name: str) -> PyValue:
        if not isinstance(module, CodeModule):
            return self.run.attribute(module, name) if isinstance(module, Native) else UNKNOWN
        if isinstance(module.names.get(name), ImportedName):
            return self.used(module.names, name)
        if self.run.reading is not None and self.run.machine.files.module(f"{origin}.{name}"):
            return self.import_module(f"{origin}.{name}")
        if self.run.reading is not None:
            return module.names[name] if name in module.names else ImportedName(module, name)
        if name in module.names:
            return module.names[name]
        found = self._if_it_has(module, name)  # Python asks it before it looks for a submodule
        if found is not None:
            return found
        if self.run.machine.files.module(f"{origin}.{name}"):
            return self.import_module(f"{origin}.{name}")
        if name in ("__file__", "__path__", "__name__", "__package__"):
            return self.of_module(module, name)
        if "<star>" in module.names:
            return self._from_star(module, name)
        self._need_usual_path(module, f"{origin}.{name}")
        thrown = error("ImportError", f"cannot import name '{name}' from '{origin}'")
        thrown.error.failure = LoadFault("name", f"{origin}.{name}", None)
        raise thrown

    def _name_while_reading(self, module: CodeModule, name: str) -> PyValue:
        """A name of a module, in a file that is read; one that is not there may come from anywhere."""
        if module.waiting and self.run.machine.files.module(f"{module.name}.{name}"):
            return self.run.import_module(f"{module.name}.{name}")
        if name not in module.names and self.run.reading is not None:
            self.run.reading.wake(module)
        if name not in module.names and self.run.machine.files.module(f"{module.name}.{name}"):
            return self.run.import_module(f"{module.name}.{name}")
        return self.used(module.names, name)

    def used(self, names: dict[str, PyValue], name: str) -> PyValue:
        """What a name stands for; one that was imported from another file is looked up there now."""
        found = names.get(name, UNKNOWN)
        for _ in range(MAX_LINKED):
            if not isinstance(found, ImportedName):
                break
            asked = found
            del names[name]  # a name that two files import from one another is nowhere
            found = names[name] = self._of_import(asked)
        return UNKNOWN if isinstance(found, ImportedName) else found

    def _of_import(self, asked: ImportedName) -> PyValue:
        """What a name that was imported before stands for."""
        if isinstance(asked.module, CodeModule):
            return self._name_while_reading(asked.module, asked.name)
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
        return self.run.call(own, [name], {}) if isinstance(own, CodeFunction) else None

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
            self._note_star(module.name if isinstance(module, Native) and is_standard(module.name) else "")
            return
        if self.run.reading is not None:
            self.run.reading.wake(module)
        public = module.names.get("__all__")
        names = public if isinstance(public, list | tuple) and all(isinstance(one, str) for one in public) else None
        for origin in module.names.get("<star>", ()) if names is None else ():
            self._note_star(origin)
        for name in names if names is not None else [one for one in module.names if not one.startswith(("_", "<"))]:
            if self.run.reading is not None and name in module.names:
                self.run.bind(name, module.names[name])
            else:
                self.run.bind(name, self._name_from(module.name, module, name))

    def _note_star(self, module: str) -> None:
        """Note a module whose names were all imported: unknown names may come from it. Empty: which is not known."""
        self.run.environment.globals.setdefault("<star>", []).append(module)

    def imports_own(self, node: ast.Import | ast.ImportFrom) -> bool:
        """Whether a statement imports a module of the package that has not been imported."""
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        else:
            origin = self._origin(node)
            names = [origin, *(f"{origin}.{alias.name}" for alias in node.names)]
        return any(name not in self.run.modules and self.is_own(self.run.machine.files.module(name)) for name in names)

    def is_own(self, path: str | None) -> bool:
        view = self.run.machine.view
        return path is not None and path != "" and (path not in view or view.layer(path) is not Layer.ENVIRONMENT)

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
        path = self.run.machine.files.module(name)
        # Compiled code may put modules below its own, as that of Rust does, or below the package that imports it.
        compiled = isinstance(parent, CodeModule) and (parent.is_compiled or parent.names.get(last) is UNKNOWN)
        if not path and (parent is UNKNOWN or compiled):
            return UNKNOWN
        if not path:
            return self._import_absent(name, path)
        found = self._import_file(name, path) if self.is_own(path) else self._import_of_others(name, path)
        if isinstance(parent, CodeModule):
            parent.names[last] = found
        return found

    def _import_while_reading(self, name: str, reading: CodeReading) -> PyValue:
        """A module that a file imports which is read: its code is followed once one of its names is asked for."""
        path = self.run.machine.files.module(name)
        if path:
            reading.imported(path)
            module = self.module_at(path)
            self.run.modules[name] = module
            return module
        if path == "" and reading.is_caught(NO_MODULE):
            raise error(NO_MODULE, f"No module named '{name}'")
        if path is None:
            reading.foreign = True
        return Native(name)

    def module_at(self, path: str) -> CodeModule:
        """The module of a file, for a file that is read."""
        name = _module_name(path)
        if name not in self.run.modules:
            module = self.run.modules[name] = self.new_module(path)
            module.waiting = path.endswith(".py")
            if not module.waiting:
                module.names["<star>"] = [""]
        return self.run.modules[name]

    def new_module(self, path: str) -> CodeModule:
        """A module of a file, of which nothing was followed."""
        return self._new_module(_module_name(path), path)

    def imports_of_others(self, node: ast.stmt) -> bool:
        """Whether a statement imports a module that another distribution may or may not bring."""
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        else:
            names = [self._origin(node)] if isinstance(node, ast.ImportFrom) else []
        return any(not is_standard(name) and self.run.machine.files.module(name) is None for name in names)

    def _import_absent(self, name: str, path: str | None) -> PyValue:
        """A module that is not there, or belongs to another distribution."""
        if self._inside and not self._knows_all():  # in the code of others that counts only where all is known
            raise Undecided(f"whether {name} is installed is not known")
        top = name.partition(".")[0]
        above = self.run.modules.get(name.rpartition(".")[0])
        if above is not None:
            self._need_usual_path(above, name)
        if path is None and self.run.machine.files.has_module(top):
            return Native(name)  # what it does is in the table of the library
        if path is None and not self.run.complete:
            if self.required(top):
                self.run.machine.others_run = True
                return Native(name)
            raise Undecided(f"whether {top} is installed is not known")
        thrown = error("ModuleNotFoundError", f"No module named '{name}'")
        thrown.error.failure = LoadFault("module", name, None)
        raise thrown

    @staticmethod
    def _need_usual_path(package: CodeModule, name: str) -> None:
        """Raise Undecided if a package's code has changed the folders in which its modules are looked for."""
        if package.names.get("__path__") not in (None, [_folder_of_file(package.file)]):
            raise Undecided(f"where {name} is looked for depends on code")

    def required(self, top: str) -> bool:
        """Whether the distribution requires one whose name begins like a module."""
        return self.run.machine.files.requires(top)

    def _import_file(self, name: str, path: str) -> PyValue:
        if path.endswith(".pyd"):
            return self._import_extension(name, path)
        module = self.run.modules[name] = self._new_module(name, path)
        if path.endswith(".py"):
            self._run_file(module, path)
        return self.run.modules.get(name, module)

    @staticmethod
    def _new_module(name: str, path: str) -> CodeModule:
        """A module with the names that Python gives it."""
        module = CodeModule(name, path, {})
        is_package = path.endswith("/__init__.py") or not path.endswith((".py", ".pyd"))
        where = f"{ROOT}\\{path}".replace("/", "\\")
        folder = where.rpartition("\\")[0] if path.endswith((".py", ".pyd")) else where
        package = name if is_package else name.rpartition(".")[0]
        module.names.update(
            __name__=name,
            __package__=package,
            __doc__=None,
            __spec__=Instance(Native("importlib.ModuleSpec"), {"name": name, "parent": package, "origin": where}),
            __builtins__=UNKNOWN,
            __annotations__={},
        )
        module.names["__file__"] = where if path.endswith((".py", ".pyd")) else None
        if is_package:
            module.names["__path__"] = [folder]
        module.names["__debug__"] = True
        return module

    def _run_file(self, module: CodeModule, path: str) -> None:
        if self.run.machine.view.file(path).size > MAX_SOURCE:
            raise Undecided(f"{path} is too large")
        source = python_source(self.run.machine.view, path).decode("utf-8-sig", "replace")
        tree = self.run.budget.parse_more(source, path)
        if tree is None:
            raise Undecided(f"{path} is not read")
        self.run.ran[path] = None
        outer, depth = self.run.environment, self.run.depth
        returned, handled, self.run.handled = self.run.returned, self.run.handled, []
        self.run.environment = Namespace(module.names, module.names, path)
        try:
            self.run.execute(tree.body)
        except Thrown:
            self.run.modules.pop(module.name, None)
            raise
        finally:
            self.run.environment, self.run.depth, self.run.returned, self.run.handled = outer, depth, returned, handled

    def _import_extension(self, name: str, path: str) -> PyValue:
        others = [one for one in self.run.ran if one.endswith(".pyd")]
        self.run.ran[path] = None
        failure = self.run.machine.load_module(path)
        broken = failure is not None or not has_entry(self.run.machine.view, path)
        if broken and any(map(self._is_of_mypyc, others)):
            raise Undecided("modules of mypyc may have been imported by one another")
        last = name.rpartition(".")[2]
        if failure is not None:
            made = Instance(Native("ImportError"), {"args": (f"DLL load failed while importing {last}",), "name": last})
            made.failure = LoadFault("extension", path, failure)
            raise Thrown(made)
        if not has_entry(self.run.machine.view, path):
            text = f"dynamic module does not define module export function (PyInit_{last})"
            made = Instance(Native("ImportError"), {"args": (text,), "name": last})
            made.failure = LoadFault("entry", path, None)
            raise Thrown(made)
        found = self._import_source_of(name, path)
        return self._compiled_module(name, path) if found is UNKNOWN else found

    def _compiled_module(self, name: str, path: str) -> CodeModule:
        """A compiled module, with what is known about its names; it may have any other, too."""
        loading = loading_of(self.run.machine.view)
        known: dict[str, PyValue] = {}
        if loading is not None:
            known.update({key: value for module, key, value in loading.values if module == name})
        known |= {"__name__": name, "__file__": f"{ROOT}\\{path}".replace("/", "\\"), "<star>": [""]}
        self.run.modules[name] = CodeModule(name, path, known)
        return self.run.modules[name]

    def _is_of_mypyc(self, path: str) -> bool:
        """Whether a compiled module is one of several of mypyc, all of whose code is in another file."""
        view = self.run.machine.view
        return view.file(path).size <= LARGEST_SHIM and b"__mypyc" in view.source(path).read_at(0, LARGEST_SHIM)

    def _import_source_of(self, name: str, path: str) -> PyValue:
        """What a compiled module does, if the file that it was compiled from lies beside it (mypyc, Cython)."""
        source = f"{path.rpartition('/')[0]}/{base_name(path).split('.')[0]}.py"
        view = self.run.machine.view
        if source not in view or view.file(source).size < SMALLEST_SOURCE:
            return UNKNOWN
        if self._is_of_mypyc(path):
            return UNKNOWN  # modules of mypyc are in one other file, and do not import one another as files
        behind = view.source(path).read_at(0, LARGEST_COMPILED).split(base_name(source).encode())[1:]
        if not any(text[:1] == b"x" or not text[:1].isalpha() for text in behind):  # .py or .pyx, and not .pyd
            return UNKNOWN  # it is what Python falls back to without the compiled module; Cython names its source
        return self._import_file(name, source)

    def of_module(self, module: CodeModule, name: str) -> PyValue:
        """A name of a module of the package."""
        if self.run.reading is not None and name != "__dict__":
            return self._name_while_reading(module, name)
        if name in module.names:
            return self.used(module.names, name)
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

    def _import_of_others(self, name: str, path: str) -> PyValue:
        """A module of another distribution; what cannot be followed may have done anything."""
        package = self._package(name)
        if package not in self._followed:
            self._followed[package] = self._is_followed(package)
        if self._followed[package]:
            if self._inside:
                return self._import_file(name, path)
            found = self._try_import(name, path)
            if found is not None:
                return found
            self._followed[package] = False
        if not self._is_plain(package):
            self.run.machine.others_run = True
        return Native(name)

    def _try_import(self, name: str, path: str) -> PyValue:
        """Interpret a module; where that is not possible everything is put back, and None returned."""
        machine, modules, ran, steps, budget = (
            self.run.machine,
            dict(self.run.modules),
            dict(self.run.ran),
            self.run.steps,
            self.run.budget,
        )
        state = machine.process.fork(), dict(machine.variables), dict(machine.missed), set(machine.codes)
        self._inside, self.run.budget = True, self.run.budget_of_others
        try:
            return self._import_file(name, path)
        except (Undecided, RecursionError):
            self.run.modules, self.run.ran, self.run.steps = modules, ran, steps
            machine.process, machine.variables, machine.missed, machine.codes = state
            return None
        finally:
            self._inside, self.run.budget = False, budget

    def _package(self, name: str) -> str:
        """The package that is followed or not: in a namespace that several distributions share, the one below it."""
        top, _, rest = name.partition(".")
        shared = f"{SITE_PACKAGES}/{top}/__init__.py" not in self.run.machine.view
        return f"{top}.{rest.partition('.')[0]}" if shared and rest else top

    def _is_followed(self, package: str) -> bool:
        """Whether a package is small, and has DLLs, or code that has to do with them."""
        if not self.run.complete or self.run.machine.view.beside is None:
            return False
        files = self._files(package)
        code = [file for file in files if file.path.endswith(".py")]
        if sum(file.size for file in code) > LARGEST_CODE:
            return False
        return any(file.path.lower().endswith(".dll") for file in files) or any(
            word in self._source(file) for file in code for word in WORDS
        )

    def _knows_all(self) -> bool:
        """Whether everything that is installed is known."""
        beside = self.run.machine.view.beside
        return self.run.complete and beside is not None and beside.complete

    def _files(self, package: str) -> list[ViewFile]:
        path = f"{SITE_PACKAGES}/{package.replace('.', '/')}"
        return [
            file
            for file in self.run.machine.view.files
            if file.path.startswith(f"{path}/") or file.path == f"{path}.py"
        ]

    def _source(self, file: ViewFile) -> bytes:
        return self.run.machine.view.source(file.path).read_at(0, file.size)

    def _is_plain(self, package: str) -> bool:
        """Whether a package of others, and all that its code imports, is Python code that cannot load a DLL."""
        pending, seen = [package], {package}
        while pending and self._knows_all():
            one = pending.pop()
            needs = set() if self._plain.get(one) else self._plain_needs(one)
            if needs is None or len(seen) > MAX_PLAIN or self._plain.get(one) is False:
                self._plain[package] = False
                return False
            pending += needs - seen
            seen |= needs
        self._plain.update(dict.fromkeys(seen, True))
        return self._knows_all()

    def _plain_needs(self, package: str) -> set[str] | None:
        """The packages that a package imports; None for one that has, or may have, to do with DLLs."""
        files = self._files(package)
        code = [file for file in files if file.path.endswith(".py")]
        if any(file.path.lower().endswith((".dll", ".pyd")) for file in files):
            return None
        if sum(file.size for file in code) > LARGEST_CODE:
            return None
        found: set[str] = set()
        for file in code:
            source = self._source(file)
            if any(word in source for word in LEADING_ON):
                return None
            names = read_imports(source.decode("utf-8", "replace"), file.path, self.run.budget_of_others)
            if file.path in self.run.budget_of_others.unread:
                return None
            found |= {self._package(name) for name in names if not is_standard(name)}
        return found


def _module_name(path: str) -> str:
    return path.removeprefix(f"{SITE_PACKAGES}/").removesuffix(".py").replace("/", ".").removesuffix(".__init__")


def _folder_of_file(path: str) -> str:
    where = f"{ROOT}\\{path}".replace("/", "\\")
    return where.rpartition("\\")[0] if path.endswith(".py") else where
