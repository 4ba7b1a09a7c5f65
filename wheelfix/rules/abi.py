"""WF316, WF401, WF410, WF411, WF418, WF419: modules built for another Python or NumPy than they meet."""

from __future__ import annotations

import functools
import operator
import re
from typing import TYPE_CHECKING

from wheelfix.base.parsing import as_specifiers, dotted_numbers, regex
from wheelfix.base.values import distinct, frozen, grouped
from wheelfix.knowledge.cuda import cuda_table, published_builds, release_of_local_version
from wheelfix.knowledge.system import STABLE_ABI_DLLS, python_exports, python_of, stable_abi, undecided_in_python
from wheelfix.knowledge.tables import table_date
from wheelfix.loader.followed import followed_imports, top_level
from wheelfix.loader.loading import MOD_NOT_FOUND
from wheelfix.loader.packagecode import imported_modules
from wheelfix.loader.packageloading import extension_modules, folder_python, is_stable_ending, module_name, stem
from wheelfix.loader.requirements import fits, held_requirements
from wheelfix.loader.view import is_pyd
from wheelfix.model import Finding, Image, PythonRuntime, Severity, canonical, dll_key
from wheelfix.pycode.sourcecode import NO_MODULE
from wheelfix.rules.context import Subject, base, folder
from wheelfix.rules.hints import install, reinstall
from wheelfix.rules.registry import Findings, error_if, finding, rule
from wheelfix.rules.wording import count, dotted, listing

if TYPE_CHECKING:
    from packaging.specifiers import SpecifierSet


_TAG = regex(r"(?P<kind>cp|pp|py)(?P<major>[0-9])(?P<minor>[0-9]{0,3})")
_ABI = regex(r"cp(?P<major>[0-9])(?P<minor>[0-9]{1,3})(?P<flags>[a-z]*)")
_FILE_ABI = regex(r"\.cp(?P<major>[0-9])(?P<minor>[0-9]{1,3})(?P<threads>t?)(?:-\w+)?\.pyd$", re.IGNORECASE)


@frozen
class Claim:
    """What a wheel's tags promise about the interpreter."""

    pythons: frozenset[tuple[int, int, bool]]
    """Major, minor and whether free-threaded, for every version-specific tag."""
    abi3: tuple[int, int] | None
    """The oldest Python of an abi3 or abi3t tag."""
    stable: tuple[str, ...] = ()
    """Which of the two stable ABIs are claimed: ``abi3``, ``abi3t`` (free-threaded, PEP 803) or both."""

    @property
    def spelled(self) -> str:
        """The claim for a message: ``cp311`` or ``cp310-abi3``."""
        if self.abi3 is not None:
            return f"cp{self.abi3[0]}{self.abi3[1]}-{'.'.join(self.stable)}"
        return listing([f"cp{major}{minor}{'t' if free else ''}" for major, minor, free in sorted(self.pythons)])


def read_claim(tags: tuple[str, ...]) -> Claim:
    """Return what expanded tags such as ``cp311-cp311-win_amd64`` promise."""
    pythons: set[tuple[int, int, bool]] = set()
    abi3: list[tuple[int, int]] = []
    stable: set[str] = set()
    for tag in tags:
        python, _, rest = tag.partition("-")
        abi = rest.partition("-")[0]
        own, exact = _TAG.fullmatch(python), _ABI.fullmatch(abi)
        if abi in ("abi3", "abi3t") and own and own["minor"]:
            abi3.append((int(own["major"]), int(own["minor"])))
            stable.add(abi)
        elif exact:
            pythons.add((int(exact["major"]), int(exact["minor"]), "t" in exact["flags"]))
    return Claim(frozenset(pythons), min(abi3, default=None), tuple(sorted(stable)))


@rule("WF401")
def python_abi(subject: Subject) -> Findings:
    """Compare the interpreter DLL that images import with the Python that imports them."""
    claim, python = read_claim(subject.distribution.tags), subject.environment_python
    if for_another_python(subject):
        yield _for_another_python(subject, claim)
        return
    if python is not None:
        claim = Claim(frozenset({(*python, False), (*python, True)}), None)
    if not claim.pythons and claim.abi3 is None:
        yield from _only_for_one_python(subject)
        return
    for path, image in subject.images.items():
        for item in image.imports:
            wanted = python_of(item.dll)
            if wanted is None or _is_meant_for(path, wanted) or _is_promised(claim, wanted, base(path)):
                continue
            loaded, abi3_only = subject.reached(path), not claim.pythons
            if python is not None and (not loaded or subject.view.find(folder(path), item.dll) is not None):
                continue  # a program may have a Python of its own
            which = f"the environment has Python {dotted(python)}" if python else f"the wheel is tagged {claim.spelled}"
            yield finding(
                "WF401",
                subject.origin(path),
                f"{base(path)} imports {item.dll}, but {which}; "
                + (
                    "it loads on that one Python only and fails with error 126 on every other"
                    if abi3_only
                    else "the Python that installs it has no such DLL, and the import fails with error 126"
                ),
                hint=reinstall(
                    subject,
                    "build with Py_LIMITED_API (setuptools: py_limited_api=True), or tag the wheel for that Python"
                    if abi3_only
                    else "build the extension with the Python that the tag names, in a clean build folder",
                ),
                evidence={"imports": item.dll, "tags": subject.distribution.tags, "loaded": loaded},
                severity=error_if(loaded),
            )


def for_another_python(subject: Subject) -> bool:
    """Whether a distribution is installed in an environment of a Python that its tags exclude."""
    python, claim = subject.environment_python, read_claim(subject.distribution.tags)
    if python is None or not (claim.pythons or claim.abi3):
        return False
    own = {(major, minor) for major, minor, _ in claim.pythons}
    return python not in own and (claim.abi3 is None or claim.abi3 > python)


def _for_another_python(subject: Subject, claim: Claim) -> Finding:
    """Say once about a whole distribution that it is for another Python."""
    python = dotted(subject.environment_python or ())
    modules = [path for path in subject.images if is_pyd(path)]
    consequence, loads = "its extension modules cannot be imported", False
    if claim.abi3 is not None and not claim.pythons:
        consequence, loads = "it may use what that Python does not have", True  # WF411 says if it does
    elif _does_without(subject, modules):
        consequence, loads = f"{consequence}, and its code goes on without them", True
    return finding(
        "WF401",
        subject.origin(modules[0]) if modules else subject.name,
        f"{subject.name} {subject.distribution.version} is for {claim.spelled}, but the environment has Python "
        f"{python}; {consequence}",
        hint=reinstall(subject, ""),
        evidence={
            "tags": subject.distribution.tags,
            "python": python,
            "loaded": not loads,
            "paths": subject.origins(modules),
        },
        severity=Severity.WARNING if loads else Severity.ERROR,
    )


def _does_without(subject: Subject, modules: list[str]) -> bool:
    """Whether the package's code imports some of its modules, and catches every failure of that."""
    followed = followed_imports(subject.view, subject.profile)
    ends = [followed.of(top) for top in dict.fromkeys(map(top_level, modules))]
    imported = imported_modules(subject.view, map(module_name, modules), NO_MODULE)
    return bool(imported) and all(end.decided and not end.error for end in ends)


def _only_for_one_python(subject: Subject) -> Findings:
    """Find modules for one Python in a wheel that its tags let every Python 3 install."""
    if not any(tag.startswith("py3-none-") for tag in subject.distribution.tags):
        return
    modules = (path for path in subject.images if is_pyd(path) and subject.reached(path))
    imports = ((path, item.dll) for path in modules for item in subject.images[path].imports)
    found = ((path, dll, python) for path, dll in imports if (python := python_of(dll)) is not None)
    for (path, dll, python), *others in grouped(
        (base(one[0]).partition(".")[0].lower(), one) for one in found
    ).values():
        several = any(other[2] != python for other in others)
        if several or _FILE_ABI.search(path) or _allowed_pythons(subject) <= {python[:2]}:
            continue  # code, or the name of the file, chooses the one that fits
        yield finding(
            "WF401",
            subject.origin(path),
            f"{base(path)} imports {dll}, but the wheel is tagged py3-none; it loads on Python "
            f"{dotted(python[:2])} only and fails with error 126 on every other",
            hint="tag the wheel for that Python and platform, or build with Py_LIMITED_API and tag it abi3",
            evidence={"imports": dll, "tags": subject.distribution.tags, "loaded": True},
            severity=Severity.WARNING,
        )


def _is_meant_for(path: str, wanted: tuple[int, int, bool]) -> bool:
    """Whether the file's own name, or its folder's, says that it is for another Python, which imports it instead."""
    named = _named_python(path)
    return folder_python(path) == wanted[:2] if named is None else named == wanted


def _named_python(path: str) -> tuple[int, int, bool] | None:
    """The Python that a module's own name says it is for, with whether it is free-threaded."""
    match = _FILE_ABI.search(base(path))
    return (int(match["major"]), int(match["minor"]), bool(match["threads"])) if match else None


def _is_promised(claim: Claim, wanted: tuple[int, int, bool], name: str) -> bool:
    if claim.pythons:
        return wanted in claim.pythons
    # A DLL beside an abi3 module may embed one Python of its own; only modules are loaded by the one that installs.
    return not is_pyd(name)


@rule("WF418")
def unknown_python(subject: Subject) -> Findings:
    """Find imports from interpreters whose exports no table has and no file shows."""
    found: dict[str, dict[str, tuple[str, ...]]] = {}
    for edge in subject.edges:
        image = subject.images.get(edge.importer)
        if image is None or not isinstance(edge.provider, PythonRuntime) or not subject.reached(edge.importer):
            continue
        if symbols := undecided_in_python(edge.name, image.symbols_from(edge.name)):
            found.setdefault(dll_key(edge.name), {})[edge.importer] = symbols
    certain = {one.event.path for one in subject.outcomes if not one.event.guarded}
    for dll, importers in found.items():
        wanted = sorted({symbol for names in importers.values() for symbol in names})
        known, date = sorted(python_exports()), table_date("python_exports.txt")
        yield finding(
            "WF418",
            dll,
            f"could not tell whether {dll} has {count(len(wanted), 'function')} that "
            f"{listing([base(path) for path in importers])} {'imports' if len(importers) == 1 else 'import'}: the "
            f"table of {date} ends at Python {dotted(known[-1])}"
            + ("" if (python_of(dll) or known[-1]) > known[-1] else " and does not have that one"),
            hint="'wheelfix scan --python PREFIX' asks the files of a Python that is installed; a newer wheelfix may "
            "have a newer table",
            evidence={"symbols": wanted, "paths": subject.origins(importers), "table": date},
            severity=Severity.UNSURE if certain & importers.keys() else Severity.INFO,
        )


@rule("WF419")
def newer_than_tables(subject: Subject) -> Findings:
    """Say once that a torch, or a CUDA, is newer than what the tables know."""
    version = subject.distribution.version
    torch = dotted_numbers(version.partition("+")[0])[:2] if canonical(subject.name) == "torch" else ()
    releases = {"torch": (torch, "torch_builds.toml"), "CUDA": (release_of_local_version(version), "cuda.toml")}
    for what, (own, table) in releases.items():
        if not own:
            continue  # which spares most wheels the tables
        last = max(published_builds() if what == "torch" else cuda_table().releases)
        if own > last:
            yield finding(
                "WF419",
                subject.name,
                f"{subject.name} {version} is for {what} {dotted(own)}; the table of {table_date(table)} ends at "
                f"{dotted(last)}, so less is known about it",
                hint="a newer wheelfix may have a newer table",
                evidence={"table": table, "known": dotted(last)},
            )
            return


@rule("WF316")
def unimportable(subject: Subject) -> Findings:
    """Find modules whose file is sound and that Python cannot import all the same."""
    yield from _for_some_pythons(subject)
    foreign = for_another_python(subject)
    for outcome in subject.outcomes:
        if outcome.event.cause != "module" or (foreign and outcome.code == MOD_NOT_FOUND):
            continue
        path, module = outcome.event.path, outcome.event.module
        error = "ModuleNotFoundError" if outcome.code == MOD_NOT_FOUND else "ImportError"
        yield finding(
            "WF316",
            subject.origin(path),
            f"{base(path)} cannot be imported: {outcome.detail}; 'import {module}' fails with {error}",
            hint=reinstall(
                subject,
                f"name the file {stem(path)}.pyd"
                if is_stable_ending(path)
                else "build the module with the Python that the wheel is tagged for"
                if outcome.code == MOD_NOT_FOUND
                else "give the file the name of the module that it was built as, or build it again",
            ),
            evidence={"module": module, "code": outcome.code, "detail": outcome.detail},
            severity=Severity.WARNING if outcome.event.guarded else Severity.ERROR,
        )


def _for_some_pythons(subject: Subject) -> Findings:
    """Find modules of which the wheel has files for some only of the Pythons that its tags promise.

    Python 3.11 looks for ``_core.cp311-win_amd64.pyd`` and for ``_core.pyd``, other Pythons only for the latter.
    """
    tags = subject.distribution.tags
    if subject.environment_python is not None or not tags:
        return
    modules = grouped((module_name(path), path) for path in extension_modules(subject.view, subject.profile))
    some = {module: pythons for module, paths in modules.items() if (pythons := _left_with(subject, paths))}
    imported = imported_modules(subject.view, some, NO_MODULE)
    any_python = all(tag.startswith("py") for tag in tags)
    if any_python:  # one that is imported in a try, or not at all, makes code faster where there is one
        some = {module: pythons for module, pythons in some.items() if not imported.get(module, True)}
    kinds = grouped(((pythons, any_python or imported.get(module, True)), module) for module, pythons in some.items())
    for (pythons, mild), (module, *others) in kinds.items():
        path, spelled = modules[module][0], [f"{major}.{minor}{'t' if free else ''}" for major, minor, free in pythons]
        tagged = listing(distinct(tag.rpartition("-")[0] for tag in tags))
        more = f" and {count(len(others), 'other module')}" if others else ""
        yield finding(
            "WF316",
            subject.origin(path),
            f"{base(path)}{more} can be imported by Python {listing(spelled)} alone, as the name says, but the wheel "
            f"is tagged {tagged}; 'import {module}' fails with ModuleNotFoundError on every other",
            hint="build a file for each Python that the tags name, tag the wheel for that one, or build with "
            "Py_LIMITED_API (setuptools: py_limited_api=True), which leaves the Python out of the name",
            evidence={"module": module, "others": others, "pythons": spelled, "tags": tags},
            severity=Severity.WARNING if mild else Severity.ERROR,
        )


def _left_with(subject: Subject, paths: list[str]) -> tuple[tuple[int, int, bool], ...]:
    """The Pythons that the files of a module are for, if the tags promise others as well; empty if all have one."""
    found = [_named_python(path) for path in paths]
    source = f"{folder(paths[0])}/{base(paths[0]).partition('.')[0]}.py"
    if not all(found) or folder_python(paths[0]) is not None or source in subject.view:
        return ()
    named = set(filter(None, found))
    own, tags = tuple(sorted(named)), subject.distribution.tags
    claim = read_claim(tags)
    promised = claim.pythons or _without_abi(tags)
    if promised and claim.abi3 is None:
        return own if promised - named else ()
    versions = {python[:2] for python in named}
    if len(versions) > 1:
        return ()  # for those that there were when the wheel was made
    allowed = {one for one in _allowed_pythons(subject) if claim.abi3 is None or one >= claim.abi3}
    return () if allowed <= versions else own


def _without_abi(tags: tuple[str, ...]) -> frozenset[tuple[int, int, bool]]:
    """The Pythons of tags such as ``cp311-none-win_amd64``; none if a tag names no single one."""
    matches = [_TAG.fullmatch(tag.partition("-none-")[0]) for tag in tags]
    named = [own for own in matches if own and own["kind"] == "cp" and own["minor"]]
    found = {(int(own["major"]), int(own["minor"]), False) for own in named}
    return frozenset(found if len(named) == len(tags) else ())


@rule("WF411")
def abi3_symbols(subject: Subject) -> Findings:
    """Compare what abi3 modules import from python3.dll with the list of the stable ABI."""
    claim, python = read_claim(subject.distribution.tags), subject.environment_python
    if claim.abi3 is None or newer_stable_abi(subject):
        return
    for path, image in subject.images.items():
        if not any(_foreign_symbols(image, python or claim.abi3)):
            continue
        oldest = python or max(claim.abi3, min(_allowed_pythons(subject), default=(3, 0)))
        newer, alien = _foreign_symbols(image, oldest)
        if not newer and not alien:
            continue
        floor = max(newer.values(), default=oldest)
        names = [f"{name} (3.{newer[name][1]})" for name in sorted(newer)]
        if alien:
            dll = next(item.dll for item in image.imports if dll_key(item.dll) in STABLE_ABI_DLLS)
            message = f"{base(path)} imports {listing(alien)} from {dll}, which is not part of the stable ABI"
            consequence = "the import fails with error 127 on Pythons that do not export it"
        else:
            than = (
                f"{claim.spelled} that the wheel claims" if python is None else f"Python {dotted(python)} that is there"
            )
            message = f"{base(path)} uses {listing(names)}, newer than the {than}"
            consequence = f"the import fails with error 127 before Python {floor[0]}.{floor[1]}"
        yield finding(
            "WF411",
            subject.origin(path),
            f"{message}; {consequence}",
            hint=reinstall(
                subject,
                f"build with Py_LIMITED_API=0x{claim.abi3[0]:02X}{claim.abi3[1]:02X}0000, or tag the wheel "
                f"cp{floor[0]}{floor[1]}-abi3 and set Requires-Python accordingly",
            ),
            evidence={"symbols": [*sorted(newer), *alien], "claimed": claim.spelled, "needs": f"{floor[0]}.{floor[1]}"},
            severity=error_if((alien or python) and subject.reached(path)),
        )


def newer_stable_abi(subject: Subject) -> str:
    """Return where the table of the stable ABI ends, if the wheel is for a later one: it may use what came since.

    Of a Python that is not released yet the table has only what was there on its day.
    """
    claimed, newest = read_claim(subject.distribution.tags).abi3, max(python_exports())
    late = claimed is not None and claimed > newest
    return f"the table of {table_date('stable_abi.txt')} ends at Python {dotted(newest)}" if late else ""


def _foreign_symbols(image: Image, oldest: tuple[int, int]) -> tuple[dict[str, tuple[int, int]], list[str]]:
    """Return symbols from python3.dll that came later than ``oldest``, and those that are not in the list at all."""
    known = stable_abi()
    wanted = [one for dll in STABLE_ABI_DLLS for one in image.symbols_from(dll) if isinstance(one, str)]
    newer = {symbol: known[symbol] for symbol in wanted if known.get(symbol, oldest) > oldest}
    return newer, sorted(symbol for symbol in wanted if symbol not in known)


def _allowed_pythons(subject: Subject) -> set[tuple[int, int]]:
    """Return every 3.x that Requires-Python lets install the wheel; none if it cannot be read."""
    required = subject.distribution.requires_python[:2000]
    # The last patch release decides: >=3.9.2 still admits 3.9.
    return {(3, minor) for minor in range(2, 40) if fits(f"3.{minor}.99", required)}


_MINORS = [(1, minor) for minor in range(16, 27)] + [(2, minor) for minor in range(10)]
_OF_AN_EXTRA = regex(r"""[^;]{1,200};\s{0,9}extra\s{0,9}==\s{0,9}["'][\w.-]{1,99}["']\s{0,9}""")
"""A requirement that counts only for those who ask for an extra: not for the wheel by itself."""
_NUMPY_VERSION = regex(r"[0-9]{1,4}\.[0-9]{1,4}")
_FIRST_WITH_NUMPY_2 = (3, 9)
"""NumPy 2.0 has wheels for Python 3.9 and later; older Pythons stay at 1.24 (3.8), 1.21 (3.7) or 1.19."""
_FIRST_WHEELS = {
    (3, 9): (1, 19),
    (3, 10): (1, 21),
    (3, 11): (1, 23),
    (3, 12): (1, 26),
    (3, 13): (2, 1),
    (3, 14): (2, 3),
    (3, 15): (2, 5),
}
"""The oldest NumPy with Windows wheels on PyPI for a Python: an older one is not installed by accident."""


@rule("WF410")
def numpy_abi(subject: Subject) -> Findings:
    """Find modules whose NumPy is older, or newer, than one that pip may install beside them."""
    there, lines = _installed(subject), _numpy_lines(subject)
    if not there and not lines:
        return
    modules = {
        path: api
        for path, image in subject.images.items()
        if (is_pyd(path) or (there and any(python_of(item.dll) for item in image.imports)))
        and subject.reached(path)
        and (api := subject.numpy(path)) is not None
    }
    old = [path for path, api in modules.items() if api.headers == 1]
    needs = {path: dotted_numbers(api.oldest) for path, api in modules.items() if api.oldest}
    first = _MINORS[0] if there else _FIRST_WHEELS.get(subject.profile.python or (0, 0), _MINORS[0])
    if not old and all(needed <= first for needed in needs.values()):
        return  # whatever is required, which takes a while to find out: packaging is imported for it
    required, allowed = _requirement(subject, lines, there)
    if allowed is None:
        return
    imported = {one.event.path for one in subject.outcomes if one.event.module and not one.event.guarded}
    # A DLL such as torch_python.dll looks for NumPy when it is first used, and goes on without.
    fails = "the import fails" if any(is_pyd(path) for path in old) else "NumPy cannot be used with it"
    python = subject.profile.python
    has_two = python is None or python >= _FIRST_WITH_NUMPY_2
    if old and has_two and any(major == 2 and _allows(allowed, (major, minor)) for major, minor in _MINORS):
        yield finding(
            "WF410",
            subject.origin(old[0]),
            f"{listing([base(path) for path in old])} {'was' if len(old) == 1 else 'were'} built with NumPy 1 "
            + (f"headers, but NumPy {there} is installed; {fails}" if there else "")
            + ("" if there else f"headers, but the wheel allows NumPy 2 ({required}); the import fails there")
            + " (a module that was compiled using NumPy 1.x cannot be run in NumPy 2)",
            hint=(
                f"{install('numpy<2')}, or install a release of {subject.name} that was built with NumPy 2"
                if there
                else "build with numpy>=2.0 (the result runs on NumPy 1.x too), or require numpy<2"
            ),
            evidence={"requirement": required, "installed": there, "paths": subject.origins(old)},
            severity=error_if(there and imported & {*old}),
        )
    oldest = next((minor for minor in _MINORS if minor >= first and _allows(allowed, minor)), None)
    if oldest is not None:
        yield from _too_new(subject, required, oldest, there, needs)


def _too_new(
    subject: Subject, required: str, oldest: tuple[int, int], there: str, needs: dict[str, tuple[int, ...]]
) -> Findings:
    """Tell which modules want a newer NumPy than the oldest that the wheel allows and its Python has wheels for."""
    young = [path for path, needed in needs.items() if needed > oldest]
    if young:
        needed = max(needs[path] for path in young)
        followed = followed_imports(subject.view, subject.profile) if there else None
        certain = followed is not None and any(followed.runs(path) for path in young)
        yield finding(
            "WF410",
            subject.origin(young[0]),
            f"{listing([base(path) for path in young])} {'needs' if len(young) == 1 else 'need'} NumPy "
            f"{dotted(needed)} or later, but "
            + (f"NumPy {there} is installed" if there else f"the wheel allows {dotted(oldest)} ({required})"),
            hint=(
                install(f"numpy>={dotted(needed)}")
                if there
                else f"require numpy>={dotted(needed)}, or build with NPY_TARGET_VERSION for {dotted(oldest)}; nothing "
                f"fails if the package imports {base(young[0]) if len(young) == 1 else 'them'} only with NumPy "
                f"{dotted(needed)}"
            ),
            evidence={"requirement": required, "needs": dotted(needed), "paths": subject.origins(young)},
            # Some such modules are imported only where NumPy is new enough, as h5py's strings are.
            severity=Severity.ERROR if certain else Severity.INFO,
        )


def _installed(subject: Subject) -> str:
    """Return the version of the NumPy that is installed with the subject; nothing for NumPy itself."""
    beside = subject.view.beside
    version = beside["numpy"].version if beside is not None and canonical(subject.name) != "numpy" else ""
    return version if _NUMPY_VERSION.match(version) else ""


def _numpy_lines(subject: Subject) -> list[str]:
    """Return the requirements that may be about NumPy, and count without an extra."""
    lines = subject.distribution.requires
    return [text for text in lines if "numpy" in text.lower() and _OF_AN_EXTRA.fullmatch(text) is None]


def _requirement(subject: Subject, lines: list[str], there: str) -> tuple[str, SpecifierSet | None]:
    """Return what is required of NumPy on the target, as written and as a set; None when it is not required.

    Where a NumPy is installed with the subject, no other counts, also if none is required, as torch requires none.
    """
    found = held_requirements(lines, subject.profile)
    sets = [one.specifier for one in found if one.name.lower() == "numpy"]
    required = " and ".join(dict.fromkeys(f"numpy{one}" for one in sets))
    if match := _NUMPY_VERSION.match(there):
        return required, as_specifiers(f"=={match[0]}.*")
    return required, functools.reduce(operator.and_, sets) if sets else None


def _allows(allowed: SpecifierSet, minor: tuple[int, int]) -> bool:
    """Whether some release of a minor version may be installed; the last stands for it, which >=1.21.3 admits too."""
    return allowed.contains(f"{dotted(minor)}.99")
