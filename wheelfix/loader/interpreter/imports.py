"""Import statements of the package, and the modules that they run or load."""

from __future__ import annotations

import ast
import posixpath
from typing import TYPE_CHECKING

from wheelfix.loader.codereader.codebudget import CodeBudget, KeptTrees
from wheelfix.loader.codereader.codesyntax import is_standard
from wheelfix.loader.codereader.importcode import imported_from
from wheelfix.loader.codereader.pythonsource import python_source
from wheelfix.loader.imports.modulefiles import has_entry
from wheelfix.loader.interpreter.evaluation import MAX_STEPS, error
from wheelfix.loader.interpreter.library import StandardLibrary
from wheelfix.loader.interpreter.namelookup import standard_names
from wheelfix.loader.interpreter.objects import (
    UNKNOWN,
    CodeFunction,
    CodeModule,
    Instance,
    LoadFault,
    Namespace,
    Native,
    PyValue,
    Thrown,
    Undecided,
    is_kind,
)
from wheelfix.loader.interpreter.windows import ROOT
from wheelfix.loader.packageloading import loading_of
from wheelfix.loader.view import SITE_PACKAGES, Layer, base_name

if TYPE_CHECKING:
    from wheelfix.loader.interpreter.windows import WindowsMachine

MAX_SOURCE = 300 << 10
"""Bytes of one Python file that are interpreted."""
LARGEST_SHIM = 64 << 10
"""Bytes of a module that only asks another one for its content."""
LARGEST_COMPILED = 16 << 20
"""Bytes of a compiled module in which the name of its source is looked for."""
SMALLEST_SOURCE = 20
"""A smaller Python file beside a compiled module (in bytes) is not taken for its source."""
MAX_TOKENS = 400_000
"""Tokens of all files that are interpreted in one import."""


class PackageImports(StandardLibrary):
    """Imports modules of the package by interpreting their code."""

    def __init__(self, machine: WindowsMachine, complete: bool, steps: int = MAX_STEPS) -> None:
        super().__init__(machine, steps)
        self.complete = complete
        """Whether everything that is installed is in the view."""
        self.modules: dict[str, CodeModule] = {}
        self.ran: dict[str, None] = {}
        """The files that were run or loaded, in order."""
        trees = machine.view.code_notes.setdefault("trees", KeptTrees())
        self.budget = CodeBudget(tokens=MAX_TOKENS, trees=trees)
        self.made = 0

    # ------------------------------------------------------------------------------------------- statements

    def visit_Import(self, node: ast.Import) -> None:
        for alias in node.names:
            found = self.import_module(alias.name)
            top = alias.name.partition(".")[0]
            if alias.asname:
                self._bind(alias.asname, found)
            else:
                self._bind(top, self.modules.get(top) or (found if top == alias.name else self.import_module(top)))

    def visit_ImportFrom(self, node: ast.ImportFrom) -> None:
        if node.module == "__future__":
            return
        origin = self._origin(node)
        module = self.import_module(origin)
        for alias in node.names:
            if alias.name == "*":
                self._bind_all(module)
            else:
                self._bind(alias.asname or alias.name, self._name_from(origin, module, alias.name))

    def _origin(self, node: ast.ImportFrom) -> str:
        package = posixpath.dirname(self.environment.file.removeprefix(f"{SITE_PACKAGES}/")).replace("/", ".")
        return imported_from(node, package)[0]

    def _name_from(self, origin: str, module: PyValue, name: str) -> PyValue:
        if not isinstance(module, CodeModule):
            return self.attribute(module, name) if isinstance(module, Native) else UNKNOWN
        if name in module.names:
            return module.names[name]
        found = self._if_it_has(module, name)  # Python asks it before it looks for a submodule
        if found is not None:
            return found
        if self.machine.files.module(f"{origin}.{name}"):
            return self.import_module(f"{origin}.{name}")
        if name in ("__file__", "__path__", "__name__", "__package__"):
            return self.of_module(module, name)
        if "<star>" in module.names:
            return self._from_star(module, name)
        self._need_usual_path(module, f"{origin}.{name}")
        thrown = error("ImportError", f"cannot import name '{name}' from '{origin}'")
        thrown.error.failure = LoadFault("name", f"{origin}.{name}", None)
        raise thrown

    @staticmethod
    def _from_star(module: CodeModule, name: str) -> PyValue:
        origins = [one for one in module.names["<star>"] if not one or name in standard_names(one)]
        return Native(f"{origins[-1]}.{name}") if origins and origins[-1] else UNKNOWN

    def _from_getattr(self, module: CodeModule, name: str) -> PyValue:
        own = module.names.get("__getattr__")
        return self.call(own, [name], {}) if isinstance(own, CodeFunction) else None

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
        public = module.names.get("__all__")
        names = public if isinstance(public, list | tuple) and all(isinstance(one, str) for one in public) else None
        for origin in module.names.get("<star>", ()) if names is None else ():
            self._note_star(origin)
        for name in names if names is not None else [one for one in module.names if not one.startswith(("_", "<"))]:
            self._bind(name, self._name_from(module.name, module, name))

    def _note_star(self, module: str) -> None:
        """Note a module whose names were all imported: unknown names may come from it. Empty: which is not known."""
        self.environment.globals.setdefault("<star>", []).append(module)

    def binds(self, name: str) -> bool:
        """Whether the code of the running file gives a value to a name anywhere."""
        tree = self.budget.trees.by_path.get(self.environment.file)
        return tree is None or any(_binds(node, name) for node in ast.walk(tree))

    def imports_own(self, node: ast.Import | ast.ImportFrom) -> bool:
        """Whether a statement imports a module of the package that has not been imported."""
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        else:
            origin = self._origin(node)
            names = [origin, *(f"{origin}.{alias.name}" for alias in node.names)]
        return any(name not in self.modules and self._is_own(self.machine.files.module(name)) for name in names)

    def _is_own(self, path: str | None) -> bool:
        view = self.machine.view
        return path is not None and path != "" and (path not in view or view.layer(path) is not Layer.ENVIRONMENT)

    # --------------------------------------------------------------------------------------------- modules

    def import_module(self, name: str) -> PyValue:
        """What ``import name`` gives, after it was carried out."""
        self.step()
        if name in self.modules:
            return self.modules[name]
        if is_standard(name):
            return Native(name)
        above, _, last = name.rpartition(".")
        parent = self.import_module(above) if above else None
        if isinstance(parent, Native):
            return Native(name)
        if name in self.modules:
            return self.modules[name]
        path = self.machine.files.module(name)
        # Compiled code may put modules below its own, as that of Rust does, or below the package that imports it.
        compiled = isinstance(parent, CodeModule) and (parent.is_compiled or parent.names.get(last) is UNKNOWN)
        if not path and (parent is UNKNOWN or compiled):
            return UNKNOWN
        if not path:
            return self._import_absent(name, path)
        found = self._import_file(name, path) if self._is_own(path) else self.import_of_others(name, path)
        if isinstance(parent, CodeModule):
            parent.names[last] = found
        return found

    def import_of_others(self, name: str, path: str) -> PyValue:
        """A module of another distribution, whose code may do anything; a later layer follows some."""
        self.machine.others_run = True
        return Native(name)

    def _import_absent(self, name: str, path: str | None) -> PyValue:
        """A module that is not there, or belongs to another distribution."""
        top = name.partition(".")[0]
        above = self.modules.get(name.rpartition(".")[0])
        if above is not None:
            self._need_usual_path(above, name)
        if path is None and not self.complete:
            if self.required(top):
                self.machine.others_run = True
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
        return self.machine.files.requires(top)

    def _import_file(self, name: str, path: str) -> PyValue:
        if path.endswith(".pyd"):
            return self._import_extension(name, path)
        module = CodeModule(name, path, {})
        is_package = path.endswith("/__init__.py") or not path.endswith(".py")
        where = f"{ROOT}\\{path}".replace("/", "\\")
        folder = where.rpartition("\\")[0] if path.endswith(".py") else where
        package = name if is_package else name.rpartition(".")[0]
        module.names.update(
            __name__=name,
            __package__=package,
            __doc__=None,
            __spec__=Instance(Native("importlib.ModuleSpec"), {"name": name, "parent": package, "origin": where}),
            __builtins__=UNKNOWN,
            __annotations__={},
        )
        module.names["__file__"] = where if path.endswith(".py") else None
        if is_package:
            module.names["__path__"] = [folder]
        module.names["__debug__"] = True
        self.modules[name] = module
        if path.endswith(".py"):
            self._run_file(module, path)
        return self.modules.get(name, module)

    def _run_file(self, module: CodeModule, path: str) -> None:
        if self.machine.view.file(path).size > MAX_SOURCE:
            raise Undecided(f"{path} is too large")
        source = python_source(self.machine.view, path).decode("utf-8-sig", "replace")
        tree = self.budget.parse_more(source, path)
        if tree is None:
            raise Undecided(f"{path} is not read")
        self.ran[path] = None
        outer, depth = self.environment, self.depth
        returned, handled, self.handled = self.returned, self.handled, []
        self.environment = Namespace(module.names, module.names, path)
        try:
            self.run(tree.body)
        except Thrown:
            self.modules.pop(module.name, None)
            raise
        finally:
            self.environment, self.depth, self.returned, self.handled = outer, depth, returned, handled

    def _import_extension(self, name: str, path: str) -> PyValue:
        others = [one for one in self.ran if one.endswith(".pyd")]
        self.ran[path] = None
        failure = self.machine.load_module(path)
        broken = failure is not None or not has_entry(self.machine.view, path)
        if broken and any(map(self._is_of_mypyc, others)):
            raise Undecided("modules of mypyc may have been imported by one another")
        last = name.rpartition(".")[2]
        if failure is not None:
            made = Instance(Native("ImportError"), {"args": (f"DLL load failed while importing {last}",), "name": last})
            made.failure = LoadFault("extension", path, failure)
            raise Thrown(made)
        if not has_entry(self.machine.view, path):
            text = f"dynamic module does not define module export function (PyInit_{last})"
            made = Instance(Native("ImportError"), {"args": (text,), "name": last})
            made.failure = LoadFault("entry", path, None)
            raise Thrown(made)
        found = self._import_source_of(name, path)
        return self._compiled_module(name, path) if found is UNKNOWN else found

    def _compiled_module(self, name: str, path: str) -> CodeModule:
        """A compiled module, with what is known about its names; it may have any other, too."""
        loading = loading_of(self.machine.view)
        known: dict[str, PyValue] = {}
        if loading is not None:
            known.update({key: value for module, key, value in loading.values if module == name})
        known |= {"__name__": name, "__file__": f"{ROOT}\\{path}".replace("/", "\\"), "<star>": [""]}
        self.modules[name] = CodeModule(name, path, known)
        return self.modules[name]

    def _is_of_mypyc(self, path: str) -> bool:
        """Whether a compiled module is one of several of mypyc, all of whose code is in another file."""
        view = self.machine.view
        return view.file(path).size <= LARGEST_SHIM and b"__mypyc" in view.source(path).read_at(0, LARGEST_SHIM)

    def _import_source_of(self, name: str, path: str) -> PyValue:
        """What a compiled module does, if the file that it was compiled from lies beside it (mypyc, Cython)."""
        source = f"{path.rpartition('/')[0]}/{base_name(path).split('.')[0]}.py"
        view = self.machine.view
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
        if name in module.names:
            return module.names[name]
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

    def parsed(self, source: str) -> ast.Module | None:
        """The syntax tree of code that is given to ``exec``; None if it cannot be parsed."""
        self.made += 1
        return self.budget.parse_more(source, f"<exec {self.made}>")

    def module_named(self, name: str) -> PyValue:
        """A module that has been imported."""
        if name in self.modules:
            return self.modules[name]
        if is_standard(name):
            return Native(name)
        if self._is_own(self.machine.files.module(name)):
            raise error("KeyError", name)
        return UNKNOWN


def _binds(node: ast.AST, name: str) -> bool:
    if isinstance(node, ast.Name):
        return node.id == name and isinstance(node.ctx, ast.Store)
    if isinstance(node, ast.alias):
        return (node.asname or node.name.partition(".")[0]) == name
    kinds = ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef | ast.ExceptHandler
    return isinstance(node, kinds) and node.name == name


def _folder_of_file(path: str) -> str:
    where = f"{ROOT}\\{path}".replace("/", "\\")
    return where.rpartition("\\")[0] if path.endswith(".py") else where
