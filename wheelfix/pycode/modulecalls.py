"""Functions that import or look for modules: those of importlib and pkgutil, and ``sys.modules.get``."""

from __future__ import annotations

from typing import TYPE_CHECKING

from wheelfix.pycode.objects import (
    UNKNOWN,
    CodeClass,
    CodeModule,
    Instance,
    Native,
    PyValue,
    Undecided,
    WindowsPathValue,
    error,
)
from wheelfix.pycode.standard import is_standard
from wheelfix.pycode.windows import ROOT

if TYPE_CHECKING:
    from collections.abc import Callable

    from wheelfix.pycode.run import PythonRun

Words = dict[str, PyValue]


def _import_by_call(run: PythonRun, args: list[PyValue], keywords: Words) -> PyValue:
    """``importlib.import_module``."""
    wanted = args[0] if args else keywords.get("name", UNKNOWN)
    if not isinstance(wanted, str):
        raise Undecided("a computed module is imported")
    if wanted.startswith("."):
        package = args[1] if len(args) > 1 else keywords.get("package")
        if not isinstance(package, str):
            raise error("TypeError", "the 'package' argument is required")
        level = len(wanted) - len(wanted.lstrip("."))
        parts = package.split(".")
        base = ".".join(parts[: len(parts) - level + 1])
        wanted = f"{base}.{wanted.lstrip('.')}".rstrip(".")
    return run.import_module(wanted)


def _import_by_name(run: PythonRun, args: list[PyValue], keywords: Words) -> PyValue:
    """``__import__``."""
    wanted = args[0] if args else keywords.get("name", UNKNOWN)
    if not isinstance(wanted, str) or (len(args) > 4 and args[4] != 0) or keywords.get("level", 0) != 0:
        raise Undecided("a computed module is imported")
    found = run.import_module(wanted)
    names = args[3] if len(args) > 3 else keywords.get("fromlist")
    top = wanted.partition(".")[0]
    return found if names else run.modules.get(top, Native(top) if is_standard(top) else UNKNOWN)


def _folder_of(run: PythonRun, package: PyValue) -> PyValue:
    if isinstance(package, CodeModule):
        package = package.name
    if not isinstance(package, str):
        return UNKNOWN
    module = run.import_module(package)
    if not isinstance(module, CodeModule):
        return UNKNOWN
    paths = module.names.get("__path__")
    if isinstance(paths, list) and paths and isinstance(paths[0], str):
        return WindowsPathValue(paths[0])
    file = module.names.get("__file__")
    return WindowsPathValue(file.rpartition("\\")[0]) if isinstance(file, str) else UNKNOWN


def _files(run: PythonRun, args: list[PyValue], keywords: Words) -> PyValue:
    return _folder_of(run, args[0] if args else run.environment.globals.get("__package__"))


def _file_of_package(run: PythonRun, args: list[PyValue], keywords: Words) -> PyValue:
    """``importlib.resources.path``."""
    folder = _folder_of(run, args[0])
    if not isinstance(folder, WindowsPathValue) or not isinstance(args[1], str):
        return UNKNOWN
    return WindowsPathValue(f"{folder.text}\\{args[1]}".replace("/", "\\"))


def _resource_name(run: PythonRun, args: list[PyValue], keywords: Words) -> PyValue:
    """``pkg_resources.resource_filename``."""
    found = _file_of_package(run, args, keywords)
    return found.text if isinstance(found, WindowsPathValue) else UNKNOWN


def _text_of_package(run: PythonRun, args: list[PyValue], keywords: Words) -> PyValue:
    """``importlib.resources.read_text``."""
    found = _file_of_package(run, args, keywords)
    return run.machine.text(found.text) if isinstance(found, WindowsPathValue) else UNKNOWN


def _data_of_package(run: PythonRun, args: list[PyValue], keywords: Words) -> PyValue:
    """``pkgutil.get_data``."""
    text = _text_of_package(run, args, keywords)
    return text.encode() if isinstance(text, str) else text


def _find_spec(run: PythonRun, args: list[PyValue], keywords: Words) -> PyValue:
    name = args[0] if args else UNKNOWN
    if not isinstance(name, str) or name.startswith("."):
        return UNKNOWN
    if is_standard(name):
        return Instance(Native("importlib.ModuleSpec"))
    path = run.machine.files.module(name)
    if not path:
        return None if path == "" or run.complete else UNKNOWN
    where = f"{ROOT}\\{path}".replace("/", "\\")
    folder = where.rpartition("\\")[0]
    spec = {"origin": where, "name": name, "submodule_search_locations": [folder] if "__init__" in path else None}
    return Instance(Native("importlib.ModuleSpec"), spec)


def _modules_in(run: PythonRun, args: list[PyValue], keywords: Words) -> PyValue:
    """``pkgutil.iter_modules``."""
    paths = args[0] if args else None
    if not isinstance(paths, list) or not all(isinstance(one, str) for one in paths):
        raise Undecided("which modules are listed is not known")
    prefix = args[1] if len(args) > 1 and isinstance(args[1], str) else ""
    kind = CodeClass("ModuleInfo", [], {})
    kind.fields = ["module_finder", "name", "ispkg"]
    rows = []
    for path in paths:
        for entry in run.machine.names(path):
            stem, _, rest = entry.partition(".")
            package = not rest and run.machine.exists(f"{path}\\{entry}\\__init__.py", False) is True
            if (rest in ("py",) or rest.endswith("pyd") or package) and stem != "__init__":
                attributes = {"name": prefix + stem, "ispkg": package, "module_finder": UNKNOWN}
                rows.append(Instance(kind, attributes))
    return rows


def _module_or(run: PythonRun, args: list[PyValue], keywords: Words) -> PyValue:
    """``sys.modules.get``."""
    name = args[0] if args else UNKNOWN
    if not isinstance(name, str):
        return UNKNOWN
    if name in run.modules or not run.is_own(run.machine.files.module(name)):
        return run.module_named(name)
    return args[1] if len(args) > 1 else None


def _extend_path(run: PythonRun, args: list[PyValue], keywords: Words) -> PyValue:
    """``pkgutil.extend_path``: where all that is installed is known, nothing adds to the package."""
    return args[0] if run.complete and args else UNKNOWN


MODULES: dict[str, Callable[[PythonRun, list[PyValue], Words], PyValue]] = {
    "importlib.import_module": _import_by_call,
    "__import__": _import_by_name,
    "importlib.resources.files": _files,
    "importlib.resources.path": _file_of_package,
    "importlib.resources.read_text": _text_of_package,
    "pkg_resources.resource_filename": _resource_name,
    "pkgutil.get_data": _data_of_package,
    "pkgutil.extend_path": _extend_path,
    "pkgutil.iter_modules": _modules_in,
    "importlib.util.find_spec": _find_spec,
    "importlib.find_loader": _find_spec,
    "sys.modules.get": _module_or,
}
