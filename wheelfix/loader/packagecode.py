"""What an ordinary package loads when it is imported, which DLLs its code names, what of it cannot be imported."""

from __future__ import annotations

import ast
import fnmatch
import re
from typing import TYPE_CHECKING

from wheelfix.base.parsing import regex
from wheelfix.base.values import distinct, frozen, replace
from wheelfix.knowledge.system import STABLE_ABI_DLLS, python_of
from wheelfix.loader.loading import AS_PYTHON_DOES, MOD_NOT_FOUND, PROC_NOT_FOUND
from wheelfix.loader.packageloading import (
    ENTRIES,
    entry_name,
    extension_modules,
    has_entry,
    is_for_another_python,
    is_stable_ending,
    loading_of,
    module_files,
    module_name,
    stem,
)
from wheelfix.loader.profile import Profile
from wheelfix.loader.view import SITE_PACKAGES, FileView, base_name, key_of, once_for_each, parent
from wheelfix.model import CodeFolder, Image, LoadEvent, LoadOutcome, UnreadCall, dll_key, fold
from wheelfix.pycode.budget import CodeBudget, budget_of, separate_budget
from wheelfix.pycode.sourcecode import (
    NO_MODULE,
    NOT_LOADED,
    SOURCE_LIMIT,
    WORDS,
    computed_imports,
    lines_with_words,
    names_loader,
    nodes_in,
    python_code,
    python_source,
    read_imports,
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from wheelfix.pycode.reading import PathCode
    from wheelfix.pycode.windows import ViewFiles

_PATH = b"PATH"
_TOP_INIT = SITE_PACKAGES.count("/") + 2
"""Slashes in the path of the ``__init__.py`` of a top-level package."""


@frozen
class Absent:
    """Something that is not there, and that code asks for without catching this."""

    name: str
    """A path of the view, or a bare name."""
    file: str
    line: int
    along_path: bool = False
    """Whether it is looked for along PATH, as cffi does; others may have loaded before what Python looks for."""


@frozen
class FileLoads:
    """What one Python file of a package does to the DLL search."""

    path: str
    """The Python file."""
    added: tuple[str, ...] = ()
    """Folders that it gives to ``os.add_dll_directory``; not those of its own package in which there is nothing."""
    events: tuple[LoadEvent, ...] = ()
    """The DLLs of the view that it loads."""
    names: tuple[str, ...] = ()
    """DLLs that it loads by bare name."""
    folders: tuple[CodeFolder, ...] = ()
    """Every folder that it gives to ``os.add_dll_directory``, also those that are not in the view."""
    unread_calls: tuple[UnreadCall, ...] = ()
    """Its loads and folders that could not be read."""
    absent: tuple[Absent, ...] = ()
    """What is not there of all that it asks for when it is imported."""
    flags: tuple[tuple[str, int], ...] = ()
    """The flags of those events that are not loaded as Python does by default."""
    late: frozenset[str] = frozenset()
    """The events that happen only in functions which the file itself does not call: not when it is imported."""

    absent_later: tuple[str, ...] = ()
    """What is not there beside or below it, and whose load may fail: that is caught, or done by functions only.

    The functions are those that the file itself does not call.
    """

    @property
    def may_fail(self) -> bool:
        """Whether importing it asks for something that is not in its package, or is not known."""
        return bool(self.names or self.absent or any(call.at_import for call in self.unread_calls))

    @property
    def acts_at_import(self) -> bool:
        """Whether importing it adds folders, or loads something, or may do so."""
        loads = any(event.path not in self.late for event in self.events)
        return bool(self.added or self.names or loads or any(call.at_import for call in self.unread_calls))


@frozen
class PackageLoads:
    """The loads and DLL folders of a package."""

    files: tuple[FileLoads, ...] = ()
    """The Python files that load DLLs or add folders, sorted by path."""
    extensions: tuple[LoadEvent, ...] = ()
    coded: tuple[str, ...] = ()
    """The Python files in whose code there are names of what loads DLLs, and that were read for that."""

    @property
    def first(self) -> tuple[str, ...]:
        """Folders that the code of delvewheel adds before anything else, where no other code had to be read."""
        return () if self.coded else self.added

    @property
    def added(self) -> tuple[str, ...]:
        """Folders that some file gives to ``os.add_dll_directory``, and that may exist."""
        return distinct(folder for file in self.files for folder in file.added)

    @property
    def folders(self) -> tuple[CodeFolder, ...]:
        """Every folder that some file gives to ``os.add_dll_directory``, also those that are not in the view."""
        return distinct(folder for file in self.files for folder in file.folders)

    @property
    def unread_calls(self) -> tuple[UnreadCall, ...]:
        """Loads and folders that could not be read."""
        return distinct(call for file in self.files for call in file.unread_calls)


@once_for_each
def package_loads(view: FileView, profile: Profile) -> PackageLoads:
    """Find out, without running anything, what importing the subject of a view loads."""
    words = (*WORDS, _PATH) if profile.searches_path else WORDS
    named = dict(python_code(view, words))
    modules = {path: module_name(path) for path in extension_modules(view, profile)}
    extensions = tuple(
        LoadEvent(path, "extension", module) for path, module in modules.items() if not _is_idle(view, module, modules)
    )
    reads_all = profile.searches_path or bool(loading_of(view).package)
    patched = None if reads_all else _only_patched(view, named, modules)
    if patched is not None:
        files = tuple(FileLoads(folder.file, (folder.folder,), folders=(folder,)) for folder in patched)
        return PackageLoads(files, extensions)
    budget = budget_of(view)
    coded = {
        path: source
        for path, source in named.items()
        if (_PATH in words and _PATH.decode() in source) or names_loader(source, path, budget)
    }
    coded = dict(sorted(coded.items(), key=lambda pair: (pair[0].count("/"), pair[0])))  # what most import first
    reader = CodeReader(view, profile) if coded else None
    read = [file_loads(reader, path, source) for path, source in coded.items() if reader is not None]
    read = _with_known_folders(view, read)
    found = tuple(file for file in read if file != FileLoads(file.path))
    return PackageLoads(found, extensions, tuple(coded))


_PATCH = regex(
    r"# start delvewheel patch\s+def (_delvewheel_patch_\w{1,40})\(\):\s+import os\s+"
    r"if os\.path\.isdir\(libs_dir := os\.path\.abspath\(os\.path\.join\(os\.path\.dirname\(__file__\), os\.pardir, "
    r"'([^'\\/]{1,200})'\)\)\):\s+os\.add_dll_directory\(libs_dir\)\s+\1\(\)\s+del \1\s+# end delvewheel patch"
)
"""What delvewheel puts into the ``__init__.py`` of a package, from 1.10 on in most wheels; other forms are read."""
_IMPORT = regex(r"^[ \t]*(?:import|from(?! __future__))\b", re.MULTILINE)


def _only_patched(view: FileView, named: dict[str, str], modules: Iterable[str]) -> list[CodeFolder] | None:
    """The folders that delvewheel's code adds; None where other code matters as well, or the order in which it runs.

    Most wheels that bundle DLLs have this code and no other that loads any: nothing has to be read then.
    """
    found = {}
    for path, source in named.items():
        patch = _PATCH.search(source)
        if patch is None and not names_loader(source, path, budget_of(view)):
            continue  # as in scipy, where a text for readers has the word
        if patch is None or path.count("/") != _TOP_INIT or not path.endswith("/__init__.py"):
            return None
        before, behind = source[: patch.start()], source[patch.end() :]
        folder = f"{SITE_PACKAGES}/{patch[2]}"
        others = lines_with_words(before) or lines_with_words(behind)
        if others or _IMPORT.search(before) or not view.in_folder(folder):
            return None
        line = source.count("\n", 0, source.index("add_dll", patch.start())) + 1
        found[parent(path)] = CodeFolder(folder, path, line)
    alike = len({folder.folder for folder in found.values()}) == 1
    under = (path.split("/")[:3] for path in modules)
    return [*found.values()] if alike and all("/".join(parts) in found for parts in under) else None


def _is_idle(view: FileView, module: str, modules: dict[str, str]) -> bool:
    """Whether all modules are empty, and no code names this one: such a file only makes a wheel one for Windows."""
    if any(view.file(path).size for path in modules):
        return False  # compiled code may import it
    return next(python_code(view, (module.rpartition(".")[2].encode(),)), None) is None


def _with_known_folders(view: FileView, files: list[FileLoads]) -> list[FileLoads]:
    """Put the folders that a module of ``loader/packages`` knows in the place of calls that could not be read."""
    known = dict(loading_of(view).adds)
    return [
        replace(
            file,
            added=distinct([*file.added, *known[file.path]]),
            unread_calls=tuple(call for call in file.unread_calls if call.function != "add_dll_directory"),
        )
        if file.path in known
        else file
        for file in files
    ]


class CodeReader:
    """Reads what Python files of a view do to the DLL search; its room is imported when the first one is made."""

    def __init__(self, view: FileView, profile: Profile, *, blind: bool = False) -> None:
        from wheelfix.pycode import reading, windows

        self.view, self.profile = view, profile
        self.around = windows.ViewFiles(view, profile, blind=blind)
        self._budget = separate_budget(view) if blind else budget_of(view)
        self._read = reading.read_path_code

    def code(self, path: str, source: str) -> PathCode:
        """What one file does."""
        return self._read(source, path, self._budget, self.around)


def file_loads(reader: CodeReader, path: str, source: str) -> FileLoads:
    """What one Python file does to the DLL search, read from its source."""
    view, profile, around = reader.view, reader.profile, reader.around
    code = reader.code(path, source)
    named: dict[str, None] = {}
    loaded: dict[str, LoadEvent] = {}
    flags: dict[str, int] = {}
    at_import: set[str] = set()
    absent: list[Absent] = []
    absent_later: dict[str, None] = {}
    for load in code.loads:
        found = _file_meant(view, load.target, load.file)
        if found:
            file = _for_this_processor(view, found, profile)
            guarded = load.guarded and (file not in loaded or loaded[file].guarded)
            loaded[file] = LoadEvent(file, "cffi" if load.function == "dlopen" else "code", guarded=guarded)
            known = AS_PYTHON_DOES if load.flags is None else load.flags
            flags[file] = known if flags.get(file, known) == known else AS_PYTHON_DOES
            at_import |= {file} if load.at_import else set()
            continue
        if "/" not in load.target and "." in load.target:
            named[load.target] = None
        if load.at_import and not load.guarded:
            absent.append(Absent(load.target, load.file, load.line, load.function == "dlopen"))
        beside = load.target.startswith(f"{parent(path)}/")  # the folder may have gone with all that was in it
        if (load.guarded or not load.at_import) and beside and around.exists(load.target) is not True:
            absent_later[load.target] = None
    # Folders that are not in the view are searched too: another distribution may have filled them.
    searched = (*code.added, *(code.on_path if profile.searches_path else ()))
    added = tuple(folder for folder in searched if view.in_folder(folder) or not around.is_own(folder))
    unguarded = (one for one in code.found_folders if one.at_import and not one.guarded)
    absent += [Absent(one.target, one.file, one.line) for one in unguarded]
    return FileLoads(
        path,
        added,
        tuple(loaded.values()),
        tuple(named),
        code.folders,
        code.unread_calls,
        tuple(one for one in dict.fromkeys(absent) if _is_absent(around, one.name)),
        tuple((file, own) for file, own in flags.items() if own != AS_PYTHON_DOES),
        frozenset(loaded.keys() - at_import),
        tuple(absent_later),
    )


def _is_absent(around: ViewFiles, asked: str) -> bool:
    """Whether a path of the package is not there, or nothing has a DLL of a bare name."""
    if "/" in asked:
        return around.is_own(asked) and not around.exists(asked)
    return around.finds(asked) is False


def declared_folders(view: FileView) -> tuple[str, ...]:
    """Every folder that the package's code adds to the DLL search, also one in which there is no file yet."""
    found: dict[str, None] = {}
    reader = CodeReader(view, Profile(), blind=True)
    for path, source in python_code(view, (b"add_dll_directory",)):
        found.update(dict.fromkeys(reader.code(path, source).added))
    return tuple(folder for folder in found if folder.startswith(f"{SITE_PACKAGES}/"))


def toolkit_code(view: FileView) -> Iterator[str]:
    """The package's Python files that add the folder of CUDA to the DLL search where a toolkit is installed."""
    for path, source in python_code(view, (b"add_dll_directory",)):
        if "CUDA_PATH" in source or "CUDA_HOME" in source:
            yield path


def imported_modules(view: FileView, modules: Iterable[str], kind: str = NOT_LOADED) -> dict[str, bool]:
    """Which of some modules the package's code imports, and whether every import of one catches an exception."""
    wanted = frozenset(modules)
    found: dict[str, bool] = {}
    words = tuple({module.rpartition(".")[2].encode() for module in wanted})
    for path, source in python_code(view, words) if words else ():
        for module, guarded in read_imports(source, path, budget_of(view), kind).items():
            if module in wanted:
                found[module] = guarded and found.get(module, True)
    return found


def caught_by_name(view: FileView, modules: frozenset[str]) -> frozenset[str]:
    """Those of some modules whose names are spelled in code that imports by computed names, and always catches it.

    imagecodecs has a table of its modules, and does without those that fail.
    """
    modules -= imported_modules(view, modules).keys()
    if not modules:
        return frozenset()
    calls = [computed_imports(source, path, budget_of(view)) for path, source in python_code(view, (b"import_module",))]
    if not any(calls) or not all(guarded for call in calls for guarded in call):
        return frozenset()
    stems = {module.rpartition(".")[2]: module for module in modules}
    named = set()
    for _, source in python_code(view, tuple(map(str.encode, stems))):
        named |= stems.keys() & set(re.findall(r"\w+", source))
    return frozenset(stems[stem] for stem in named)


def _file_meant(view: FileView, target: str, code: str) -> str | None:
    """The file of the view that a path or bare name in Python code stands for."""
    name = base_name(target)
    return view.find(parent(target) or parent(code), name if name.lower().endswith((".dll", ".pyd")) else f"{name}.dll")


def _for_this_processor(view: FileView, path: str, profile: Profile) -> str:
    """The file itself, or its namesake for the target's processor: how code chooses between them is not followed."""
    image = view.image(path)
    if isinstance(image, Image) and image.machine is not profile.machine:
        for other in view.named(key_of(path)):
            twin = view.image(other)
            if isinstance(twin, Image) and twin.machine is profile.machine:
                return other
    return path


_LOADING = (*WORDS, b"find_library", b"GetModuleHandle", b"ctypes", b"cffi")
"""A file with one of these words may put the name of a DLL together from parts."""
_ANY_DLL = frozenset({"*", "*.*", "*.dll"})
_SHORTEST = 4
"""Characters of a string that can be the first part of a DLL's name; shorter ones stand for too much."""


@frozen
class CodeNames:
    """The strings of a package's code that may be names of DLLs."""

    whole: frozenset[str]
    """Strings in which a whole file name stands."""
    parts: frozenset[str]
    """Strings of files that load DLLs: names without suffix, patterns, first parts."""

    def mentions(self, name: str) -> bool:
        """Whether the code names this DLL, or may put its name together."""
        key = dll_key(name)
        stem = key.rpartition(".")[0]
        stems = (stem, stem.removeprefix("lib"))
        if any(_holds(text, key) for text in self.whole):
            return True
        return any(
            text in stems
            or ("*" in text and text not in _ANY_DLL and fnmatch.fnmatchcase(key, text))
            or (len(text) >= _SHORTEST and any(other.startswith(text) for other in stems))
            for text in self.parts
        )


def _holds(text: str, key: str) -> bool:
    return key in text and re.search(rf"(?<![\w.-]){re.escape(key)}(?![\w.-])", text) is not None


def names_in_code(view: FileView) -> CodeNames:
    """Read the strings of the subject's Python files, without running them."""
    whole: set[str] = set()
    parts: set[str] = set()
    for file in view.own_files:
        if not file.path.endswith(".py") or file.size > SOURCE_LIMIT:
            continue
        data = python_source(view, file.path)
        loading = any(word in data for word in _LOADING)
        if loading or b".dll" in data.lower():
            texts = [fold(text) for text in _strings(data.decode("utf-8", "replace"), file.path, budget_of(view))]
            whole.update(text for text in texts if ".dll" in text)
            parts.update(_last(text) for text in texts if loading)
    return CodeNames(frozenset(whole), frozenset(parts) - {""})


def _strings(source: str, path: str, budget: CodeBudget) -> Iterator[str]:
    tree = budget.parse(source, path)
    if tree is None:
        yield source  # what cannot be parsed is one long string
        return
    for node in nodes_in(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str | bytes):
            yield node.value if isinstance(node.value, str) else node.value.decode("utf-8", "replace")


def _last(text: str) -> str:
    return re.split(r"[\\/]", text)[-1].strip()


# ------------------------------------------------------------------------------------- what Python cannot import

_LOADERS = (b"spec_from_file_location", b"ExtensionFileLoader", b"load_dynamic")
"""What loads a module by its path, under a name that is given."""
_LIBRARY_LOADERS = (b"load_library(", b"LoadLibrary(", b"CDLL(", b"PyDLL(", b"WinDLL(")
"""What loads a file that is not a module: torch.ops.load_library, ctypes."""


def unimportable_modules(view: FileView, profile: Profile) -> list[LoadOutcome]:
    """The modules that Python cannot import; those that the package's code does without are guarded."""
    found = {outcome.event.module: outcome for outcome in (*_for_others(view, profile), *_without_entry(view, profile))}
    if not found:
        return []
    absent = [module for module, outcome in found.items() if outcome.code == MOD_NOT_FOUND]
    imported = {**imported_modules(view, found.keys() - absent), **imported_modules(view, absent, NO_MODULE)}
    return [
        replace(outcome, event=replace(outcome.event, guarded=imported.get(module, True)))
        for module, outcome in found.items()
    ]


def _for_others(view: FileView, profile: Profile) -> Iterator[LoadOutcome]:
    """Modules of which there are only files for other Pythons; wheels for several Pythons have one for each."""
    files = module_files(view)
    paths = [path for path in files if not is_for_another_python(view, path, files, profile)]
    fitting = set(extension_modules(view, profile))
    if len(fitting) == len(paths):
        return
    there = {module_name(path) for path in fitting}
    for path in paths:
        module = module_name(path)
        if path not in fitting and module not in there and f"{path.rpartition('/')[0]}/{stem(path)}.py" not in view:
            there.add(module)
            if is_stable_ending(path):
                detail = "no Python for Windows looks for a file whose name ends like this"
            elif profile.python is None:
                detail = f"its name says that it is not for {profile.machine}"
            else:
                detail = f"its name says that it is for another Python than {profile.python[0]}.{profile.python[1]}"
            yield LoadOutcome(LoadEvent(path, "module", module), MOD_NOT_FOUND, (base_name(path),), detail)


def _without_entry(view: FileView, profile: Profile) -> Iterator[LoadOutcome]:
    """Modules that do not export the function that Python calls to import them."""
    old = profile.python is not None and profile.python[0] == 2
    entries = ("init",) if old else ENTRIES
    for path in extension_modules(view, profile):
        image, name = view.image(path), entry_name(path)
        if not isinstance(image, Image) or has_entry(view, path, entries):
            continue
        if _is_module(image, entries) and not _is_loaded_as(view, image, entries, name):
            detail = f"it does not export {entries[0]}{name}"
            yield LoadOutcome(LoadEvent(path, "module", module_name(path)), PROC_NOT_FOUND, (base_name(path),), detail)


def _is_loaded_as(view: FileView, image: Image, entries: tuple[str, ...], stem: str) -> bool:
    """Whether code loads a module by its path, under the name that it was built as, as torchcodec does.

    A file without any entry is a library, for code that names it and loads libraries: torchvision's image.pyd.
    """
    built = [name.removeprefix(entry) for name in image.exports.names for entry in entries if name.startswith(entry)]
    names = [name.encode() for name in built] or [f'"{stem}"'.encode(), f"'{stem}'".encode()]
    if next(python_code(view, _LOADERS if built else _LIBRARY_LOADERS), None) is None:
        return False
    return next(python_code(view, tuple(names)), None) is not None


def _is_module(image: Image, entries: tuple[str, ...]) -> bool:
    """Whether a file has to do with Python at all: it has an entry of another name, or calls the interpreter."""
    if any(name.startswith(entries) for name in image.exports.names):
        return True
    return any(python_of(item.dll) or dll_key(item.dll) in STABLE_ABI_DLLS for item in image.imports)
