"""Which modules of a wheel are imported: the top-level ones, and every extension module."""

from __future__ import annotations

from typing import TYPE_CHECKING

from wheelfix.errors import InputError, UsageError
from wheelfix.loader.extensionmodules import extension_modules, module_name
from wheelfix.loader.view import SITE_PACKAGES, parent

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from wheelfix.loader.profile import Profile
    from wheelfix.loader.view import FileView

ASIDE = {"test", "tests", "testing", "example", "examples", "docs", "doc", "setup", "conftest"}
"""Top-level names that wheels have by mistake, and that nobody imports."""


def modules_to_try(view: FileView, profile: Profile, asked: Sequence[str] = (), name: str = "") -> tuple[str, ...]:
    """Return the dotted names of the modules to import, the top-level ones first."""
    if asked:
        for module in asked:
            if not all(part.isidentifier() for part in module.split(".")):
                raise UsageError(
                    f"--module {module}", because="that is not the name of a module", hint="pkg or pkg._ext"
                )
        return tuple(dict.fromkeys(asked))
    extensions = [module_name(path) for path in extension_modules(view, profile)]
    tops = list(_top_level(view))
    found = dict.fromkeys([*tops, *(module for module in extensions if _is_name(module))])
    if not found:
        raise InputError(f"{name} has no module to import", hint="name one with --module")
    return tuple(found)


def _is_name(module: str) -> bool:
    return all(part.isidentifier() for part in module.split("."))


def _top_level(view: FileView) -> Iterator[str]:
    """Packages and modules that no other package contains; a folder without ``__init__.py`` is looked into."""
    own = [file.path for file in view.own_files]
    inside = sorted(path[len(SITE_PACKAGES) + 1 :] for path in own if path.startswith(SITE_PACKAGES + "/"))
    packages = {parent(path) for path in inside if path.endswith("/__init__.py")}
    single = {path.removesuffix(".py") for path in inside if path.endswith(".py") and "/" not in path}
    single |= {path.split(".")[0] for path in inside if path.lower().endswith(".pyd") and "/" not in path}
    outer = {package for package in packages if not _parents(package) & packages}
    for name in sorted(outer | single):
        dotted = name.replace("/", ".")
        if _is_name(dotted) and not ASIDE & set(dotted.lower().split(".")) and not dotted.startswith("__"):
            yield dotted


def _parents(package: str) -> set[str]:
    parts = package.split("/")
    return {"/".join(parts[:count]) for count in range(1, len(parts))}
