"""WF410: extension modules that were built for another NumPy than the one that an installer puts beside them."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from wheelfix.loader.followed import followed_imports
from wheelfix.loader.requirements import holds_on_target, parse_requirement
from wheelfix.model import Finding, Repairable, Severity
from wheelfix.rules.context import Subject, base
from wheelfix.rules.hints import install
from wheelfix.rules.registry import finding, rule
from wheelfix.rules.wording import dotted, listing

if TYPE_CHECKING:
    from collections.abc import Iterator

    from packaging.specifiers import SpecifierSet

    from wheelfix.model import NumpyApi

_MINORS = [(1, minor) for minor in range(16, 27)] + [(2, minor) for minor in range(10)]
_OF_AN_EXTRA = re.compile(r"""[^;]{1,200};\s{0,9}extra\s{0,9}==\s{0,9}["'][\w.-]{1,99}["']\s{0,9}""")
"""A requirement that counts only for those who ask for an extra: not for the wheel by itself."""
_FIRST_WITH_NUMPY_2 = (3, 9)
"""NumPy 2.0 has wheels for Python 3.9 and later; older Pythons stay at 1.24 (3.8), 1.21 (3.7) or 1.19."""
_FIRST_WHEELS = {
    (3, 9): (1, 19),
    (3, 10): (1, 21),
    (3, 11): (1, 23),
    (3, 12): (1, 26),
    (3, 13): (2, 1),
    (3, 14): (2, 3),
}
"""The oldest NumPy with Windows wheels on PyPI for a Python: an older one is not installed by accident."""


@rule(
    "WF410",
    "numpy-abi",
    Severity.WARNING,
    Repairable.NEVER,
    "An extension module does not run with every NumPy that the wheel allows.",
)
def numpy_abi(subject: Subject) -> Iterator[Finding]:
    """Find modules whose NumPy is older, or newer, than one that pip may install beside them."""
    required, allowed, there = _requirement(subject)
    if allowed is None:
        return
    modules = {
        path: api
        for path in subject.images
        if path.lower().endswith(".pyd") and subject.reached(path) and (api := subject.numpy_of(path)) is not None
    }
    old = [path for path, api in modules.items() if api.headers == 1]
    python = subject.profile.python
    has_two = python is None or python >= _FIRST_WITH_NUMPY_2
    if old and has_two and any(major == 2 and _allows(allowed, (major, minor)) for major, minor in _MINORS):
        yield finding(
            "WF410",
            subject.origin(old[0]),
            f"{listing([base(path) for path in old])} {'was' if len(old) == 1 else 'were'} built with NumPy 1 "
            + (f"headers, but NumPy {there} is installed; the import fails" if there else "")
            + ("" if there else f"headers, but the wheel allows NumPy 2 ({required}); the import fails there")
            + " (a module that was compiled using NumPy 1.x cannot be run in NumPy 2)",
            hint=(
                f"{install('numpy<2')}, or install a release of {subject.name} that was built with NumPy 2"
                if there
                else "build with numpy>=2.0 (the result runs on NumPy 1.x too), or require numpy<2"
            ),
            evidence={"requirement": required, "installed": there, "paths": [*map(subject.origin, old)]},
            severity=Severity.ERROR if there and any(path in _uncaught(subject) for path in old) else Severity.WARNING,
        )
    yield from _too_new(subject, required, allowed, there, modules)


def _uncaught(subject: Subject) -> set[str]:
    """The modules whose failed import nothing in the package catches."""
    return {outcome.event.path for outcome in subject.resolution.outcomes if not outcome.event.guarded}


def _too_new(
    subject: Subject, required: str, allowed: SpecifierSet, there: str, modules: dict[str, NumpyApi]
) -> Iterator[Finding]:
    """Tell which modules want a newer NumPy than the oldest that the wheel allows and its Python has wheels for."""
    first = _MINORS[0] if there else _FIRST_WHEELS.get(subject.profile.python or (0, 0), _MINORS[0])
    oldest = next((minor for minor in _MINORS if minor >= first and _allows(allowed, minor)), None)
    needs = {path: _pair(api.oldest) for path, api in modules.items() if api.oldest}
    young = [path for path, needed in needs.items() if oldest is not None and needed > oldest]
    if young and oldest is not None:
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
                f"fails if the package imports {_one(young)} only with NumPy {dotted(needed)}"
            ),
            evidence={"requirement": required, "needs": dotted(needed), "paths": [*map(subject.origin, young)]},
            # Some such modules are imported only where NumPy is new enough, as h5py's strings are.
            severity=Severity.ERROR if certain else Severity.INFO,
        )


def _one(paths: list[str]) -> str:
    return base(paths[0]) if len(paths) == 1 else "them"


def _requirement(subject: Subject) -> tuple[str, SpecifierSet | None, str]:
    """Return what is required of NumPy on the target, as written and as a set; None when it is not required.

    Where a NumPy is installed with the subject, no other counts; its version comes with it.
    """
    texts: list[str] = []
    allowed: SpecifierSet | None = None
    for text in subject.distribution.requires:
        asked = "numpy" in text.lower() and _OF_AN_EXTRA.fullmatch(text) is None
        requirement = parse_requirement(text) if asked else None
        if requirement is None:
            continue
        if requirement.name.lower() == "numpy" and holds_on_target(requirement, subject.profile):
            texts.append(f"numpy{requirement.specifier}")
            allowed = requirement.specifier if allowed is None else allowed & requirement.specifier
    beside, required = subject.view.beside, " and ".join(dict.fromkeys(texts))
    there = beside.version("numpy") if allowed is not None and beside is not None else ""
    if match := re.match(r"([0-9]{1,4})\.([0-9]{1,4})", there):
        from packaging.specifiers import SpecifierSet as Specifiers

        return required, Specifiers(f"=={match[1]}.{match[2]}.*"), there
    return required, allowed, ""


def _allows(allowed: SpecifierSet, minor: tuple[int, int]) -> bool:
    """Whether some release of a minor version may be installed; the last stands for it, which >=1.21.3 admits too."""
    return allowed.contains(f"{dotted(minor)}.99")


def _pair(text: str) -> tuple[int, int]:
    major, _, minor = text.partition(".")
    return int(major), int(minor)
