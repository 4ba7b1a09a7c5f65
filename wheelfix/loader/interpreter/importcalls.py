"""Functions that import or look for modules: those of importlib and pkgutil, and ``sys.modules.get``."""

from __future__ import annotations

from wheelfix.loader.codereader.codesyntax import is_standard
from wheelfix.loader.interpreter.evaluation import error
from wheelfix.loader.interpreter.objects import (
    UNKNOWN,
    CodeClass,
    CodeModule,
    Instance,
    Native,
    PyValue,
    Undecided,
    WindowsPathValue,
)
from wheelfix.loader.interpreter.otherimports import OtherImports
from wheelfix.loader.interpreter.windows import ROOT


class ImportCalls(OtherImports):
    """Carries out calls that concern modules."""

    def call_native(self, name: str, args: list[PyValue], keywords: dict[str, PyValue]) -> PyValue:
        """Call something of Python's library; what concerns modules is here."""
        if name in ("importlib.import_module", "__import__"):
            return self._import_by_call(name, args, keywords)
        if name in ("importlib.resources.files", "importlib_resources.files"):
            return self._folder_of(args[0] if args else self.environment.globals.get("__package__"))
        if name in ("importlib.resources.path", "pkg_resources.resource_filename", "importlib_resources.path"):
            folder = self._folder_of(args[0])
            known = isinstance(folder, WindowsPathValue) and isinstance(args[1], str)
            joined = f"{folder.text}\\{args[1]}".replace("/", "\\") if known else ""
            return UNKNOWN if not known else WindowsPathValue(joined) if "pkg" not in name else joined
        if name in ("pkgutil.get_data", "importlib.resources.read_text"):
            folder = self._folder_of(args[0])
            known = isinstance(folder, WindowsPathValue) and isinstance(args[1], str)
            text = self.machine.text(f"{folder.text}\\{args[1]}") if known else UNKNOWN
            return text.encode() if isinstance(text, str) and name == "pkgutil.get_data" else text
        if name in ("importlib.util.find_spec", "importlib.find_loader"):
            return self._find_spec(args)
        if name == "pkgutil.extend_path" and self.complete:
            return args[0]  # nothing else is installed that adds to the package
        if name == "sys.modules.get" and args and isinstance(args[0], str):
            return self._module_or(args[0], args[1] if len(args) > 1 else None)
        if name == "pkgutil.iter_modules":
            return self._modules_in(args)
        return super().call_native(name, args, keywords)

    def _import_by_call(self, name: str, args: list[PyValue], keywords: dict[str, PyValue]) -> PyValue:
        wanted = args[0] if args else keywords.get("name", UNKNOWN)
        if not isinstance(wanted, str):
            raise Undecided("a computed module is imported")
        if name == "__import__":
            if (len(args) > 4 and args[4] != 0) or keywords.get("level", 0) != 0:
                raise Undecided("a computed module is imported")
            found = self.import_module(wanted)
            names = args[3] if len(args) > 3 else keywords.get("fromlist")
            top = wanted.partition(".")[0]
            return found if names else self.modules.get(top, Native(top) if is_standard(top) else UNKNOWN)
        if wanted.startswith("."):
            package = args[1] if len(args) > 1 else keywords.get("package")
            if not isinstance(package, str):
                raise error("TypeError", "the 'package' argument is required")
            level = len(wanted) - len(wanted.lstrip("."))
            parts = package.split(".")
            base = ".".join(parts[: len(parts) - level + 1])
            wanted = f"{base}.{wanted.lstrip('.')}".rstrip(".")
        return self.import_module(wanted)

    def _folder_of(self, package: PyValue) -> PyValue:
        if isinstance(package, CodeModule):
            package = package.name
        if not isinstance(package, str):
            return UNKNOWN
        module = self.import_module(package)
        if not isinstance(module, CodeModule):
            return UNKNOWN
        paths = module.names.get("__path__")
        if isinstance(paths, list) and paths and isinstance(paths[0], str):
            return WindowsPathValue(paths[0])
        file = module.names.get("__file__")
        return WindowsPathValue(file.rpartition("\\")[0]) if isinstance(file, str) else UNKNOWN

    def _find_spec(self, args: list[PyValue]) -> PyValue:
        name = args[0] if args else UNKNOWN
        if not isinstance(name, str) or name.startswith("."):
            return UNKNOWN
        if is_standard(name):
            return Instance(Native("importlib.ModuleSpec"))
        path = self.machine.files.module(name)
        if not path:
            return None if path == "" or self.complete else UNKNOWN
        where = f"{ROOT}\\{path}".replace("/", "\\")
        folder = where.rpartition("\\")[0]
        spec = {"origin": where, "name": name, "submodule_search_locations": [folder] if "__init__" in path else None}
        return Instance(Native("importlib.ModuleSpec"), spec)

    def _modules_in(self, args: list[PyValue]) -> PyValue:
        paths = args[0] if args else None
        if not isinstance(paths, list) or not all(isinstance(one, str) for one in paths):
            raise Undecided("which modules are listed is not known")
        prefix = args[1] if len(args) > 1 and isinstance(args[1], str) else ""
        rows = []
        for path in paths:
            for entry in self.machine.names(path):
                stem, _, rest = entry.partition(".")
                package = not rest and self.machine.exists(f"{path}\\{entry}\\__init__.py", False) is True
                if (rest in ("py",) or rest.endswith("pyd") or package) and stem != "__init__":
                    attributes = {"name": prefix + stem, "ispkg": package, "module_finder": UNKNOWN}
                    rows.append(Instance(_module_info(), attributes))
        return rows

    def _module_or(self, name: str, other: PyValue) -> PyValue:
        """``sys.modules.get``."""
        if name in self.modules or not self._is_own(self.machine.files.module(name)):
            return self.module_named(name)
        return other


def _module_info() -> PyValue:
    made = CodeClass("ModuleInfo", [], {})
    made.fields = ["module_finder", "name", "ispkg"]
    return made
