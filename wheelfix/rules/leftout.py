"""WF209, WF210 and WF332: extension modules, and other files that imports need, that were left out of a wheel."""

from __future__ import annotations

import functools
import re
from typing import TYPE_CHECKING

from wheelfix.base.values import grouped, replace
from wheelfix.knowledge.families import is_mangled
from wheelfix.knowledge.providers import is_newest, module_owners, released_modules
from wheelfix.loader.missingmodules import MAKES_NAMES, is_made
from wheelfix.loader.packagecode import imported_modules
from wheelfix.loader.packageloading import module_name, stem
from wheelfix.loader.requirements import Dependency, fits, requirements
from wheelfix.loader.view import SITE_PACKAGES, is_pyd
from wheelfix.model import Finding, Severity, canonical
from wheelfix.pe.modulenames import LARGEST, group_of, may_make
from wheelfix.pycode.budget import budget_of
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
from wheelfix.rules.codeloads import BUILD_MODULE, dlls_left_out, imported_as
from wheelfix.rules.context import Subject, base, folder, inside
from wheelfix.rules.hints import reinstall
from wheelfix.rules.registry import Findings, finding, rule
from wheelfix.rules.wording import listing

if TYPE_CHECKING:
    from collections.abc import Iterator

    from wheelfix.loader.view import FileView


_BUILD_AGAIN = "build the wheel again, and see what the build puts into it"


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
        why = fails.get(module, f"importing {imported_as(file)} fails")
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


def _is_needed_in_public(subject: Subject, module: str) -> bool:
    """Whether a module without a private name imports this one for certain, itself or through others.

    ddtrace has a stub of a module that it builds for Linux alone, and imports what needs it in functions only.
    """
    budget, wanted = budget_of(subject.view), [module.removesuffix(".__init__")]
    for one in wanted:  # grows while it is walked
        if not any(part.startswith("_") for part in one.split(".")):
            return True
        for path, source in python_code(subject.view, (one.rpartition(".")[2].encode(),)):
            importer = imported_as(path)
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
    reported = any(fault.reached or fault.sure for fault in subject.resolution.code_faults)
    return not reported and not dlls_left_out(subject)


def _not_there(subject: Subject, module: str, file: str, what: str, *, says: str = "imports") -> Finding:
    package = module.rpartition(".")[0] or subject.name
    return finding(
        "WF332",
        module,
        f"{inside(file)} {says} {module}, and no file of {package} is that module{what}",
        hint=reinstall(subject, BUILD_MODULE),
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
        own = [*_own_paths(subject)]
        modules = [path for path in own if _is_module(path)]
        self._modules = frozenset(map(module_name, modules))
        folders = {folder(inside(path)).replace("/", ".") for path in modules}
        self._packages = frozenset(name[: end.start()] for name in folders for end in re.finditer(r"\.|$", name))
        """Every folder below which a module lies, as the name of a package."""
        # torch has such files in torch/lib, which is no package, and nearly all of its code has the word "torch"
        suffixes = (*_BUILT, *_TRANSLATED, ".pyi") if _is_for_one_python(subject) else _BUILT
        built = {imported_as(path): base(path) for path in own if path.endswith(suffixes)}
        self._stubs = {name for name, file in built.items() if file == "__init__.pyi" and name in folders}

        self._built = {
            name: file
            for name, file in built.items()
            # apsw's module is the package itself
            if (name in self._stubs or name.rpartition(".")[0] in self._packages) and self._is_built(name, file)
        }
        self._listed = {name for name in _listed(subject) if not self._is_there(name)}
        if self._listed:
            anywhere = self._may_search_other_folders(own)
            self._listed -= {stem(path) for path in modules if anywhere or _in_package(self._view, path)}
            self._listed -= {part for path in own for part in folder(inside(path)).split("/")}
        released = [name for top in self._tops for name in released_modules(top) if not self._is_there(name)]
        same = bool(released) and is_newest(subject.distribution.name, subject.distribution.version)
        self.gone = released if same else []
        """The compiled modules of the newest release that no file is, in a wheel of that release or of a later one."""
        self._imported = imported_modules(self._view, self.gone, NO_MODULE)
        few = len(self.gone) <= _OF_ANOTHER_RELEASE  # else this is another release, which has other modules
        self._released = {name for name, caught in self._imported.items() if few and not caught}
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
        for module in (name for name in own if name not in self._imported):
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

    def _is_built(self, module: str, file: str) -> bool:
        """Whether no file is a module of which there is one that building it left behind.

        Cython translates what is then compiled: thinc has the source of a module for macOS, and not what is made of it.
        """
        path = f"{SITE_PACKAGES}/{module.replace('.', '/')}.pyx"
        return not self._is_there(module) and (not file.endswith(_TRANSLATED) or path in self._view)

    def is_namespace(self, module: str) -> bool:
        """Whether a folder of modules can be imported for a package whose own file is not there."""
        return module in self._stubs and not self._is_package(module)

    def _is_package(self, name: str) -> bool:
        return not name or f"{name}.__init__" in self._modules

    def _is_there(self, module: str) -> bool:
        """Whether a file is the module, or a folder with modules; cryptography has one with stubs beside its module."""
        if module in self._modules or self._view.module_file(module):
            return True
        return module in self._packages and not self.is_namespace(module)

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
