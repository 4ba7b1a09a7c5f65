"""WF207, WF209, WF210, WF314, WF315, WF317, WF331 and WF332: what the package's Python code asks for itself."""

from __future__ import annotations

import functools
import re
from typing import TYPE_CHECKING

from wheelfix.base.values import grouped, replace
from wheelfix.knowledge.families import is_mangled
from wheelfix.knowledge.providers import is_newest, module_owners, owners_of, released_modules
from wheelfix.knowledge.system import classify
from wheelfix.loader.missingmodules import MAKES_NAMES, is_made
from wheelfix.loader.packagecode import imported_modules, package_loads
from wheelfix.loader.packageloading import module_name, stem
from wheelfix.loader.requirements import Dependency, fits, requirements
from wheelfix.loader.view import SITE_PACKAGES, is_pyd
from wheelfix.model import CodeFault, Finding, Severity, canonical, dll_key
from wheelfix.pe.modulenames import LARGEST, group_of, may_make
from wheelfix.pycode.budget import NOT_PYTHON, budget_of
from wheelfix.pycode.sourcecode import (
    NO_MODULE,
    OTHER_SYSTEMS,
    SOURCE_LIMIT,
    defined_names,
    imported_first,
    is_standard,
    python_code,
    python_source,
    read_imports,
)
from wheelfix.rules.context import Subject, base, folder, inside, key_of
from wheelfix.rules.hints import reinstall, repair_command
from wheelfix.rules.registry import Findings, error_if, finding, rule
from wheelfix.rules.wording import count, listing

if TYPE_CHECKING:
    from collections.abc import Iterator

    from wheelfix.loader.view import FileView


@rule("WF314")
def missing_code_loads(subject: Subject) -> Findings:
    """Find loads in Python code that find no file, and code that gives up after looking for one without success."""
    for fault in _first_per_name(subject, ("load", "cffi", "raise", "order")):
        names = [inside(name) for name in fault.names]
        hint = f"add {base(fault.names[0])} to the wheel where the code looks for it, or catch the error in the code"
        if any("/" in name for name in (*fault.names, *fault.searched)):
            command = repair_command(subject, "--root FOLDER")
            hint = f"{command} puts {base(fault.names[0])} where the code looks for it, if FOLDER has it"
        if all(map(is_pyd, fault.names)):  # which no folder of DLLs has
            hint = reinstall(subject, _BUILD_MODULE)
        if subject.view.beside is not None and "/" not in fault.names[0]:
            name = fault.names[0]
            known = ", ".join(owner.distribution for owner in owners_of(name) if not owner.only)
            which = f"{name} ({known})" if known else name
            hint = f"install a distribution that has {which}, and add its folder to the search if the code does not"
        if fault.chain and not _is_in_wheel(subject, fault.chain[-1]):
            hint = f"add {fault.chain[-1]} to the wheel, beside {fault.chain[0]}"
        elif fault.chain:
            hint = (
                f"add the folder of {fault.chain[-1]} to the search before this load, or put it beside {fault.chain[0]}"
            )
        yield finding(
            "WF314",
            names[0] if len(fault.chain) <= 2 else fault.chain[-2],
            f"{_place(subject, fault)} {_problem(subject, fault, names)}; {_consequence(fault)}",
            hint=hint,
            evidence=_evidence(subject, fault),
            severity=error_if(fault.reached),
        )


@rule("WF315")
def missing_code_folders(subject: Subject) -> Findings:
    """Find folders whose addition raises an exception by itself."""
    for fault in _first_per_name(subject, ("folder", "listing")):
        name = inside(fault.names[0])
        added = fault.cause == "folder"
        does = f"gives {name} to os.add_dll_directory" if added else f"lists the files of {name}"
        yield finding(
            "WF315",
            name,
            f"{_place(subject, fault)} {does}, but the folder does not exist; "
            f"{_consequence(fault)} [WinError {2 if added else 3}]",
            hint="add the folder with its DLLs to the wheel, or check os.path.isdir first",
            evidence=_evidence(subject, fault),
            severity=error_if(fault.reached),
        )


@rule("WF331")
def raised_by_code(subject: Subject) -> Findings:
    """Find exceptions that the package's code raises on every machine: for the wrong Python, or a symbol not there."""
    for fault in subject.resolution.code_faults:
        if fault.cause == "end" and fault.sure and fault.reached:
            yield finding(
                "WF331",
                inside(fault.file),
                f"{_place(subject, fault)} raises {fault.error}: {fault.text}; {_consequence(fault)}",
                hint="run the import with the Python that the wheel is for, and correct the line",
                evidence=_evidence(subject, fault),
            )


@rule("WF317")
def unsure_code_loads(subject: Subject) -> Findings:
    """Find loads that importing the package performs, and that depend on what was not read or is not in the wheel."""
    seen: set[tuple[str, ...]] = set()
    if any(fault.sure and fault.reached for fault in subject.resolution.code_faults):
        return  # the import fails before this matters
    for fault in subject.resolution.code_faults:
        if fault.sure or not fault.reached or fault.names in seen:
            continue
        seen.add(fault.names)
        names = [inside(name) for name in fault.names]
        reason = f"which {'is' if len(names) == 1 else 'are'} not in the wheel"
        reason += "" if all("/" in name for name in fault.names) else " and must come from elsewhere"
        if fault.cause == "unread":
            reason = "which file that is could not be read from the code"
        elif {*map(key_of, fault.names)} <= {*map(key_of, subject.images)}:
            reason = "which is in the wheel, and whether it is found there could not be determined"
        what = f"calls {names[0]}" if fault.cause == "unread" else f"loads {listing(names)}"
        yield finding(
            "WF317",
            names[0],
            f"{_place(subject, fault)} {what}, {reason}; if it is not found, importing the package fails",
            hint="test the import on a clean Windows machine, or put the DLL into the wheel and load it by its path",
            evidence=_evidence(subject, fault),
        )
    tags = subject.distribution.tags
    for name, file in _left_out(subject).items() if not seen else ():
        yield finding(
            "WF317",
            name,
            f"{inside(file)} loads {name}, and the wheel has no DLL at all, although it is for {tags[0]}",
            hint="build the wheel again, and see that the build puts the DLL into it",
            evidence={"names": [name], "file": subject.origin(file)},
        )


def _left_out(subject: Subject) -> dict[str, str]:
    """The DLLs that code of a wheel for Windows alone loads, where it has none and nothing else is known to have them.

    libclang and z3-solver look for their only DLL in ways that are not followed, or load it when it is first used;
    libusb1 does so by its path, and pymongocrypt catches the failure.
    """
    tags = subject.distribution.tags
    files = (*subject.images, *subject.malformed)
    if not tags or not all("-win" in tag for tag in tags) or any(not path.lower().endswith(".exe") for path in files):
        return {}
    named = (
        (name, file.path)
        for file in package_loads(subject.view, subject.profile).files
        for name in (*file.names, *map(base, file.absent_later))
    )
    return {
        name: path
        for name, path in named
        if name.lower().endswith(".dll")
        and classify(name, subject.machine).kind == "unknown"
        and not subject.view.named(dll_key(name))
        and all(owner.distribution == canonical(subject.name) for owner in owners_of(name))
    }


_BUILD_AGAIN = "build the wheel again, and see what the build puts into it"
_BUILD_MODULE = "build the wheel again, and see that the build puts this module into it"


@rule("WF332", "WF210")
def own_module_missing(subject: Subject) -> Findings:
    """Find extension modules and other files that were left out of a wheel, and without which it cannot be imported."""
    followed = [absent for absent in subject.resolution.absent_modules if not absent.distribution]
    fails = {one.module: f"importing {one.below} fails" if one.below else "the import fails" for one in followed}
    found = {absent.module: (absent.file, "") for absent in followed if absent.sure}
    for module, path in _compiled_imports(subject):
        found.setdefault(module, (path, ""))
    claims = _Claims(subject)
    perhaps = set[str]()
    for module, sure, file in sorted(_imported_first(subject, claims), key=lambda one: not one[1]):
        if module not in found and (claim := claims.about(module, sure=bool(sure))):
            found[module] = file, f", although {claim}"
            perhaps |= {module} if sure is None else set()
    for module, (file, although) in found.items():
        needed = not although.endswith(".pyi is there") or _is_needed_in_public(subject, module_name(file))
        why = fails.get(module, f"importing {_imported_as(file)} fails")
        why = "what it defines is missing" if claims.is_namespace(module) else why
        why += "" if needed else ", and only private modules need it"
        why = "one of two ways of the code does, and which is taken is not known" if module in perhaps else why
        severity = Severity.ERROR if needed and module not in perhaps else Severity.UNSURE
        yield replace(_not_there(subject, module, file, f"{although}: {why}"), severity=severity)
    for module, file in claims.for_users():
        if module not in found:
            what = f", although its newest release on PyPI has it: importing {module} fails"
            yield _not_there(subject, module, file, what, says="is about")
    unsure = [] if found else [absent for absent in followed if absent.made or claims.tag]
    for absent in unsure:
        what = (
            ", which code may make or look for elsewhere"
            if absent.made
            else f", although the wheel is for {claims.tag}"
        )
        what += ": whether the import fails is not known"
        one = _not_there(subject, absent.module, absent.file, what)
        settles = (
            f"'wheelfix try --module {absent.below or absent.module.partition('.')[0]}' imports it and settles that"
        )
        yield replace(one, severity=Severity.UNSURE, hint=reinstall(subject, settles))
    if not found and not unsure and claims.tag and (claims.gone or _has_code_alone(subject)):
        yield finding(
            "WF210",
            subject.name,
            f"no extension module is in {subject.name}, although it is for {claims.tag}: "
            "one was left out, or the tags are wrong",
            hint=reinstall(subject, _BUILD_AGAIN),
            evidence={"tags": subject.distribution.tags},
        )


def _compiled_imports(subject: Subject) -> Iterator[tuple[str, str]]:
    """Modules that no file is and that compiled ones import for certain, each with one of these.

    Those in which mypyc puts the code of several, those in which Cython has a class that is declared for others, as
    scikit-learn's ``_middle_term_computer``, and private ones of which it uses C functions, as ``sklearn._cyutility``:
    they are named in what imports them, whole and between zeros. Of the last at least two have to name one for which
    there is no ``.pxd``: pyarrow's ``_dataset`` imports ``_dataset_orc`` where it may fail.
    """
    view = subject.view
    sources = {path: view.source(path) for path in subject.images if is_pyd(path)}
    for path, source in sources.items():
        group = group_of(subject.images[path], source)
        if group and view.module_file(group) is None:
            yield group, path
    # Cantera's one file has the code of all its modules, and makes them; cuda.core has modules for each CUDA elsewhere.
    made = {
        name
        for path in sources
        for name in subject.images[path].exports.names
        if name != f"PyInit_{stem(path)}" or _in_package(view, path)
    }
    sources_of = {module_name(file.path) for file in view.own_files if file.path.endswith(".pxd")}
    declared = [name for name in sorted(sources_of) if f"PyInit_{name.rpartition('.')[2]}" not in made]
    declared = [name for name in declared if view.module_file(name) is None and _has_class(view, name)]
    for name, users in grouped((name, path) for path in sources for name in subject.cimports(path) or ()).items():
        package = view.module_file(name.rpartition(".")[0]) or ""
        is_gone = package in view.own and package.endswith("/__init__.py") and view.module_file(name) is None
        enough = len(users) > 1 or name in sources_of
        if is_gone and enough and f"PyInit_{name.rpartition('.')[2]}" not in made:
            yield name, users[0]
    for path, source in sources.items() if declared else ():
        data = source.read_at(0, min(source.size, LARGEST))
        yield from ((name, path) for name in declared if b"\0%b\0" % name.encode() in data)


def _in_package(view: FileView, path: str) -> bool:
    """Whether a module is in a package; in another folder nothing imports it but what searches there."""
    return f"{path.rpartition('/')[0]}/__init__.py" in view


def _has_class(view: FileView, module: str) -> bool:
    text = view.read_text(f"{SITE_PACKAGES}/{module.replace('.', '/')}.pxd", SOURCE_LIMIT) or ""
    return "\ncdef class " in text


def _imported_as(file: str) -> str:
    return module_name(file).removesuffix(".__init__")


def _is_needed_in_public(subject: Subject, module: str) -> bool:
    """Whether a module without a private name imports this one for certain, itself or through others.

    ddtrace has a stub of a module that it builds for Linux alone, and imports what needs it in functions only.
    """
    budget, wanted = budget_of(subject.view), [module.removesuffix(".__init__")]
    for one in wanted:  # grows while it is walked
        if not any(part.startswith("_") for part in one.split(".")):
            return True
        for path, source in python_code(subject.view, (one.rpartition(".")[2].encode(),)):
            importer = _imported_as(path)
            first = imported_first(source, path, budget) if importer not in wanted else ()
            names = (name for name, is_module in first if is_module is not None)
            if any(f"{name}.".startswith(f"{one}.") for name in names):
                wanted.append(importer)
    return False


def _has_code_alone(subject: Subject) -> bool:
    """Whether a wheel has code of which no DLL is known to be missing, and no image but what delvewheel added.

    What only users reach is another matter: llvmlite loads its only DLL when it is first used.
    """
    images = (*subject.images, *subject.malformed)
    if any(not is_mangled(base(path)) for path in images) or not any(map(_is_module, _own_paths(subject))):
        return False
    told = any(fault.reached or fault.sure for fault in subject.resolution.code_faults)
    return not told and not _left_out(subject)


def _not_there(subject: Subject, module: str, file: str, what: str, *, says: str = "imports") -> Finding:
    package = module.rpartition(".")[0] or subject.name
    return finding(
        "WF332",
        module,
        f"{inside(file)} {says} {module}, and no file of {package} is that module{what}",
        hint=reinstall(subject, _BUILD_MODULE),
        evidence={"module": module, "importer": subject.origin(file)},
    )


@rule("WF209")
def nothing_to_import(subject: Subject) -> Findings:
    """Find wheels whose only module was left out: their tags, or a list of theirs, say that there is one."""
    tags, listed = subject.distribution.tags, _listed(subject)
    modules = [inside(path) for path in _own_paths(subject) if _is_module(path)]
    if not _is_for_one_python(subject) or (modules and (not listed or _may_be_meant(modules, listed))):
        return
    only_metadata = all(
        inside(path).startswith(f"{base(subject.distribution.dist_info)}/") for path in _own_paths(subject)
    )
    if only_metadata and _has_parts(subject):
        return
    # ray-cpp has programs and DLLs for others; names that delvewheel makes are for modules of the wheel. Without its
    # module depthai has but a DLL beside a folder of stubs.
    for_others = [path for path in (*subject.images, *subject.malformed) if not is_mangled(base(path))]
    if for_others and (not listed or any(inside(path).partition("/")[0] in listed for path in for_others)):
        return
    says = f"top_level.txt lists {listing(listed)}" if listed else f"it is for {tags[0].partition('-')[0]}"
    what = "where it would be imported from" if modules else "a module that can be imported"
    yield finding(
        "WF209",
        subject.name,
        f"no file of {subject.name} is {what}, although {says}: the import fails",
        hint=reinstall(subject, _BUILD_AGAIN),
        evidence={"listed": listed, "tags": tags},
    )


def _required(subject: Subject) -> tuple[Dependency, ...]:
    return requirements(subject.distribution.requires, subject.profile).direct


def _has_parts(subject: Subject) -> bool:
    """Whether a wheel requires others in its own version, as itk does, and tensorflow and PySide6 on Windows."""
    exact = (one.specifier for one in _required(subject) if re.fullmatch("==[^,*]+", one.specifier))
    return any(fits(subject.distribution.version, one) for one in exact)


def _may_be_meant(modules: list[str], listed: list[str]) -> bool:
    """Whether a list of what can be imported may mean some module: a folder of that name, or one beside all folders."""
    tops = {path.partition("/")[0] for path in modules}
    importable = any(path.count("/") == 0 or base(path).startswith("__init__.") for path in modules)
    return importable or not tops.isdisjoint(listed)


_BUILT = (".lib", ".exp", ".pdb", ".a")
"""How files end that are made when an extension module is built."""
_OF_ANOTHER_RELEASE = 4
"""Modules of the newest release that are not there; SciPy 1.17.0 has 34 fewer."""
_TRANSLATED = (".c", ".cpp")
"""How files end that Cython makes."""


def _own_paths(subject: Subject) -> Iterator[str]:
    return (file.path for file in subject.view.own_files if file.path.startswith(f"{SITE_PACKAGES}/"))


def _is_module(path: str) -> bool:
    return path.lower().endswith((".py", ".pyc", ".pyd"))


def _listed(subject: Subject) -> list[str]:
    """The names in ``top_level.txt``; setuptools lists an extension module there without its package."""
    info = subject.distribution.dist_info
    return (subject.view.read_text(f"{info}/top_level.txt", 1 << 16) or "").split() if info else []


def _is_for_one_python(subject: Subject) -> bool:
    """Whether the tags name one kind of Python for Windows, as those of wheels with extension modules do."""
    tags = subject.distribution.tags
    return bool(tags) and all("-win" in tag and not tag.startswith("py") for tag in tags)


class _Claims:
    """What a wheel says about modules that no file of it is."""

    def __init__(self, subject: Subject) -> None:
        self._subject, self._view = subject, subject.view
        self._stems: dict[str, set[str]] = {}
        # torch has such files in torch/lib, which is no package, and nearly all of its code has the word "torch"
        suffixes = (*_BUILT, *_TRANSLATED, ".pyi") if _is_for_one_python(subject) else _BUILT
        built = {module_name(path): base(path) for path in _own_paths(subject) if path.endswith(suffixes)}
        built = {name.removesuffix(".__init__"): file for name, file in built.items()}
        self._stubs = {name for name, file in built.items() if file == "__init__.pyi" and self._modules_in(name)}
        built = {name: file for name, file in built.items() if self._may_be_in(name.rpartition(".")[0], name)}
        self._built = {name: file for name, file in built.items() if self._is_built(name, file)}
        listed = {name for name in _listed(subject) if not self._is_there(name)}
        own = [*_own_paths(subject)] if listed else []
        modules = [path for path in own if _is_module(path)]
        if not self._may_search_other_folders(own):
            modules = [path for path in modules if _in_package(self._view, path)]
        listed.difference_update(map(stem, modules))
        self._listed = listed.difference(part for path in own for part in folder(inside(path)).split("/"))
        released = [name for top in self._tops for name in released_modules(top) if not self._is_there(name)]
        same = bool(released) and is_newest(subject.distribution.name, subject.distribution.version)
        self.gone = released if same else []
        """The compiled modules of the newest release that no file is, in a wheel of that release or of a later one."""
        few = len(self.gone) <= _OF_ANOTHER_RELEASE  # else this is another release, which has other modules
        self._released = set(filter(self._is_imported_beside, self.gone)) if few else set[str]()
        self._compiled = [path for path in (*subject.images, *subject.malformed) if is_pyd(path)]
        alone = not self._compiled and _is_for_one_python(subject) and not _has_parts(subject)
        self.tag = subject.distribution.tags[0] if alone else ""
        """The first tag of a wheel for one kind of Python without extension modules, unless its parts have them."""

    def for_users(self) -> Iterator[tuple[str, str]]:
        """Those that only users import, with the stub or the source that the wheel has of each, as cymem has.

        The package itself goes without one that it imports where it may fail: tornado has ``speedups``, and mercurial
        chooses its modules by their names.
        """
        own = [name for name in self.gone if not any(part.startswith("_") for part in name.split("."))]
        imported = imported_modules(self._view, own)
        for module in (name for name in own if name not in imported):
            package, _, name = module.rpartition(".")
            start = f"{SITE_PACKAGES}/{module.replace('.', '/')}"
            file = next((start + suffix for suffix in (".pyi", ".pyx") if start + suffix in self._view), "")
            if not file or not self._is_package(package) or self._may_be_made(package, name, sure=True):
                continue
            words = {name, module, package.rpartition(".")[2]} - self._tops
            sources = (source for _, source in python_code(self._view, tuple(map(str.encode, words))))
            if not any(f"{quote}{word}{quote}" in source for source in sources for word in words for quote in "'\""):
                yield module, file

    @functools.cached_property
    def _tops(self) -> frozenset[str]:
        """The names of what lies in site-packages itself."""
        return frozenset(inside(path).partition("/")[0].partition(".")[0] for path in _own_paths(self._subject))

    def _may_search_other_folders(self, own: list[str]) -> bool:
        """Whether a ``.pth`` file or code may have modules looked for outside of packages, as pywin32's are."""
        if any(path.endswith(".pth") for path in own):
            return True
        return any(True for _ in python_code(self._view, (b"sys.path",)))

    def _is_imported_beside(self, module: str) -> bool:
        """Whether a Python file of its package seems to import a module: other releases have others."""
        package, _, name = module.rpartition(".")
        paths = self._view.in_folder(f"{SITE_PACKAGES}/{package.replace('.', '/')}")
        sources = (python_source(self._view, path) for path in paths if path.endswith(".py"))
        word = name.encode()
        lines = (line for source in sources if word in source for line in source.split(b"\n") if word in line)
        imports = (line for line in lines if line.startswith((b"from", b"import")))
        return any(word in re.findall(rb"\w+", line) for line in imports)

    def _is_built(self, module: str, file: str) -> bool:
        """Whether no file is a module of which there is one that building it left behind.

        Cython translates what is then compiled: thinc has the source of a module for macOS, and not what is made of it.
        """
        path = f"{SITE_PACKAGES}/{module.replace('.', '/')}.pyx"
        return not self._is_there(module) and (not file.endswith(_TRANSLATED) or path in self._view)

    def _modules_in(self, package: str) -> set[str]:
        """The names of the modules that lie in a package, or beside all packages."""
        if package not in self._stems:
            paths = self._view.in_folder(f"{SITE_PACKAGES}/{package.replace('.', '/')}".rstrip("/"))
            self._stems[package] = {stem(path) for path in paths if _is_module(path)}
        return self._stems[package]

    @functools.cached_property
    def _packages(self) -> frozenset[str]:
        """Every folder below which a module lies, as the name of a package."""
        folders = {folder(inside(path)).replace("/", ".") for path in _own_paths(self._subject) if _is_module(path)}
        return frozenset(name[: end.start()] for name in folders for end in re.finditer(r"\.|$", name))

    def _has_modules(self, package: str) -> bool:
        return bool(self._modules_in(package)) or package in self._packages

    def _may_be_in(self, package: str, name: str) -> bool:
        """Whether a module can be imported from where it should be: apsw's is the package itself."""
        return self._has_modules(package) or name in self._stubs

    def is_namespace(self, module: str) -> bool:
        """Whether a folder of modules can be imported for a package whose own file is not there."""
        return module in self._stubs and not self._is_package(module)

    def _is_package(self, name: str) -> bool:
        return not name or "__init__" in self._modules_in(name)

    def _is_there(self, module: str) -> bool:
        """Whether a file is the module, or a folder with modules; cryptography has one with stubs beside its module."""
        package, _, name = module.rpartition(".")
        return name in self._modules_in(package) or (self._has_modules(module) and not self.is_namespace(module))

    @property
    def words(self) -> tuple[bytes, ...]:
        """One of these is in each file that imports such a module."""
        names = {*self._listed, *(name.rpartition(".")[2] for name in (*self._built, *self._released))}
        return (b"import",) if self.tag else tuple(map(str.encode, names))

    def about(self, module: str, *, sure: bool) -> str:
        """What says that the wheel has a module; empty if nothing does, or a file is that module.

        ``sure`` is whether nothing but a module can have that name; no file is left that could make one.
        """
        package, _, name = module.rpartition(".")
        if self._is_there(module):
            return ""
        built = self._built.get(module, "")
        if built and not (built.endswith(".pyi") and self._may_be_made(package, name, sure=True)):
            return f"{built} is there"
        if module in self._released and not self._may_be_made(package, name, sure=sure):
            return "its newest release on PyPI has it"
        if not self._is_package(package):
            return ""
        if name in self._listed:
            return f"top_level.txt lists {name}"
        if not package:
            own = self.is_named_like_the_package(name)
        else:  # the tags say nothing about packages of others that are installed beside it, nor about PyQt5-sip
            parts = (one.name.startswith(f"{canonical(self._subject.name)}-") for one in _required(self._subject))
            own = package in self._packages and (sure or not self._may_define(package, name)) and not any(parts)
        return f"the wheel is for {self.tag}" if self.tag and own else ""

    def _may_be_made(self, package: str, name: str, *, sure: bool) -> bool:
        """Whether code may make a module, as that of imgui-bundle does, or it is one for other systems."""
        module = f"{package}.{name}".lstrip(".")
        if any(word in name for word in OTHER_SYSTEMS) or is_made(self._view, module, self._code_of(package)):
            return True
        if not sure and self._is_package(package) and self._may_define(package, name):
            return True
        below = f"{SITE_PACKAGES}/{module.replace('.', '/')}/"  # which need the module
        others = (path for path in self._compiled if not path.startswith(below) and stem(path) != name)
        return any(may_make(self._view.source(path), name) for path in others)

    def is_named_like_the_package(self, name: str) -> bool:
        """Whether a module beside the packages is this wheel's: ``_jpype`` beside ``jpype``, and nobody else's."""
        others = (*module_owners().get(name, ()), *map(canonical, self._subject.distribution.requires))
        if is_standard(name) or any(other.startswith(canonical(name)) for other in others):
            return False
        return name.lower().lstrip("_").startswith(tuple(map(str.lower, self._tops)))

    def _may_define(self, package: str, name: str) -> bool:
        """Whether the code of a package has a name, or takes names that it does not spell."""
        source = self._code_of(package, MAKES_NAMES[0])
        if name == "*" or any(word in source for word in MAKES_NAMES):
            return True
        path = f"{SITE_PACKAGES}/{package.replace('.', '/')}/__init__.py"
        star = "import *" in source and not name.startswith("_")
        return star or name in defined_names(source, path, budget_of(self._view))

    def _code_of(self, package: str, default: str = "") -> str:
        path = f"{SITE_PACKAGES}/{package.replace('.', '/')}/__init__.py"
        return python_source(self._view, path).decode("utf-8", "replace") if path in self._view else default


def _imported_first(subject: Subject, claims: _Claims) -> Iterator[tuple[str, bool | None, str]]:
    """The names that importing a file of the package imports for certain, whether each is a module, and the file.

    A module beside the packages also where a function imports it: cffi's own is needed for whatever cffi does.
    """
    budget = budget_of(subject.view)
    for path, source in python_code(subject.view, claims.words) if claims.words else ():
        yield from ((name, is_module, path) for name, is_module in imported_first(source, path, budget))
        for name, caught in read_imports(source, path, budget, NO_MODULE).items():
            if not caught and "." not in name and claims.is_named_like_the_package(name):
                yield name, True, path


def _problem(subject: Subject, fault: CodeFault, names: list[str]) -> str:
    """What the code does, and what is wrong with that."""
    if fault.chain and not _is_in_wheel(subject, fault.chain[-1]):
        return f"loads {names[0]}, which cannot be loaded without {fault.chain[-1]}"
    if fault.chain:
        return (
            f"loads {names[0]}, which imports {fault.chain[-1]}: that is in the wheel, but not in a folder that is "
            "searched at that point"
        )
    asks, number = "looks for" if fault.cause == "raise" else "loads", "is" if len(names) == 1 else "are"
    there = [name for name in fault.names if name in subject.view]
    state = "cannot be loaded" if len(there) == len(names) else f"{number} not there"
    state = f"{number} not there or cannot be loaded" if there and len(there) < len(names) else state
    return f"{asks} {listing(names)}, which {state}"


def _is_in_wheel(subject: Subject, name: str) -> bool:
    """Whether the wheel has a DLL of some name anywhere."""
    return any(key_of(path) == dll_key(name) for path in subject.view.images())


def _first_per_name(subject: Subject, causes: tuple[str, ...]) -> Iterator[CodeFault]:
    """The faults of some causes that are sure, one for each DLL; those that importing the package meets come first."""
    seen: set[tuple[str, ...]] = set()
    found = [fault for fault in subject.resolution.code_faults if fault.sure and fault.cause in causes]
    for fault in sorted(found, key=lambda fault: not fault.reached):
        if fault.names not in seen:
            seen.add(fault.names)
            yield fault


def _place(subject: Subject, fault: CodeFault) -> str:
    return f"{subject.origin(fault.file)}, line {fault.line},"


def _consequence(fault: CodeFault) -> str:
    return f"importing {_imported_as(fault.root)} fails with {fault.error}"


def _evidence(subject: Subject, fault: CodeFault) -> dict[str, object]:
    return {
        "file": subject.origin(fault.file),
        "line": fault.line,
        "imported": subject.origin(fault.root),
        "names": [inside(name) for name in fault.names],
        "error": fault.error,
        "reached": fault.reached,
    }


_SHOWN = 20
"""Files in the evidence; the others are counted."""


@rule("WF207")
def package_code_unread(subject: Subject) -> Findings:
    """Find code that took more work than it is worth, or that is not Python; one finding for each reason."""
    budget = budget_of(subject.view)
    unread = (((reason, path in budget.loading), path) for path, reason in sorted(budget.unread.items()))
    for (reason, loads), paths in sorted(grouped(unread).items()):
        if reason == NOT_PYTHON and not loads:
            continue
        more = f" and {count(len(paths) - 1, 'other file')}" if len(paths) > 1 else ""
        unknown = (
            "which folders it adds to the DLL search and which DLLs it loads is not known"
            if loads
            else "what it imports is not known"
        )
        yield finding(
            "WF207",
            subject.origin(paths[0]),
            f"the code of {base(paths[0])}{more} was not read: {reason}; {unknown}",
            hint="look at the file: code that loads DLLs is short; or test the import on a clean Windows machine",
            evidence={
                "files": subject.origins(paths[:_SHOWN]),
                "count": len(paths),
                "reason": reason,
            },
            severity=(Severity.UNSURE if reason == NOT_PYTHON else Severity.WARNING) if loads else Severity.INFO,
        )
