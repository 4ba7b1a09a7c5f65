"""The error that importing a package will raise, and why the file that it names is not the cause."""

from __future__ import annotations

from typing import TYPE_CHECKING

from wheelfix.knowledge.winerrors import message_text
from wheelfix.loader.loading import (
    BAD_EXE_FORMAT,
    FILE_NOT_FOUND,
    INVALID_ORDINAL,
    MOD_NOT_FOUND,
    PATH_NOT_FOUND,
    PROC_NOT_FOUND,
)
from wheelfix.loader.packageloading import without_entry
from wheelfix.loader.view import SITE_PACKAGES, base_name, key_of, parent
from wheelfix.model import AbsentModule, LoadOutcome, Missing, Prediction, Resolution, dll_key

if TYPE_CHECKING:
    from wheelfix.loader.view import FileView

NO_FILE = "there is no such file"
BY_CODE = "its own code raises an exception"
UNKNOWN_FOLDER = "…"
"""Stands for the site-packages folder that only the user's machine knows."""
WINDOWS_FOLDERS = frozenset(
    {"c:/windows", "c:/windows/system32", "c:/program files", "c:/program files (x86)", "c:/programdata"}
)
"""Folders that every Windows has."""


def predict(
    view: FileView,
    resolution: Resolution,
    outcome: LoadOutcome | None = None,
    python: tuple[int, int] | None = None,
) -> Prediction | None:
    """The error that a failing load raises, by default the first that no code catches; None if there is none."""
    outcome = outcome or resolution.first_failure
    if outcome is None:
        return None
    return Prediction(
        path=view.origin(outcome.event.path),
        code=outcome.code,
        message=error_line(outcome, shown_path(view, outcome.event.path), python),
        chain=outcome.chain,
        explanation=explain(outcome, resolution),
    )


def predict_absent(view: FileView, absent: AbsentModule) -> Prediction:
    """The error of an import statement that names a module which is not there."""
    explanation = "No file of the package is that module."
    if absent.requirement:
        explanation = f"{absent.requirement} is required and not installed; no DLL is loaded before that."
    elif absent.distribution:
        explanation = "It is not installed, and nothing that is required has it."
    return Prediction(
        path=view.origin(absent.file),
        code=0,
        message=absent.raised or f"ModuleNotFoundError: No module named '{absent.module}'",
        chain=(base_name(absent.file), absent.module),
        explanation=explanation,
    )


def shown_path(view: FileView, path: str) -> str:
    """The Windows path under which the file will be, as far as it can be known; a bare name that finds no file."""
    if "/" not in path and path not in view:
        return path
    origin = view.origin(path)
    if ":" in origin[:3]:  # an environment on this Windows machine: the user sees this path
        return origin
    return f"{UNKNOWN_FOLDER}/{path.removeprefix(SITE_PACKAGES + '/')}".replace("/", "\\")


def error_line(outcome: LoadOutcome, shown: str, python: tuple[int, int] | None = None) -> str:
    """The last line of the traceback, as Python prints it on an English Windows."""
    event, text, version = outcome.event, message_text(outcome.code), python or (3, 8)
    name = event.module.rpartition(".")[2]
    if event.package:  # torch, and those that took its loop over, check their loads themselves
        return f'OSError: [WinError {outcome.code}] {text} Error loading "{shown}" or one of its dependencies.'
    if event.cause == "extension" and event.text:
        return event.text
    if event.cause == "extension" and version < (3, 8):
        return f"ImportError: DLL load failed: {text}"
    if event.cause == "extension":
        return f"ImportError: DLL load failed while importing {event.module.rpartition('.')[2]}: {text}"
    if event.cause == "module":
        if outcome.code == PROC_NOT_FOUND and version < (3, 0):
            return f"ImportError: dynamic module does not define init function (init{name})"
        if outcome.code == PROC_NOT_FOUND:
            return f"ImportError: {without_entry(name, python)}"
        kind = "ImportError" if version < (3, 6) else "ModuleNotFoundError"
        return f"{kind}: No module named '{event.module}'"
    if event.cause == "folder" and outcome.code == FILE_NOT_FOUND:
        return f"FileNotFoundError: [WinError 2] The system cannot find the file specified: '{shown}'"
    if event.cause in ("folder", "listing"):
        return f"FileNotFoundError: [WinError 3] The system cannot find the path specified: '{shown}'"
    if event.cause == "raise":
        state = "is not there" if outcome.detail == NO_FILE else "cannot be loaded"
        return f"{event.module}: {event.text or f'raised by the package because {outcome.chain[-1]} {state}'}"
    if event.cause == "cffi":
        return f"OSError: cannot load library '{shown}': error {outcome.code:#x}"
    if outcome.code == MOD_NOT_FOUND:
        return (
            f"FileNotFoundError: Could not find module '{shown}' (or one of its dependencies). "
            "Try using the full path with constructor syntax."
        )
    return f"OSError: [WinError {outcome.code}] {text}"


def absent_folder_code(view: FileView, folder: str) -> int:
    """The code for a folder that is not there: another one if not even the folder above it is."""
    above = parent(folder.rstrip("/")).lower()
    if folder[1:2] == ":":
        return FILE_NOT_FOUND if "/" not in above or above in WINDOWS_FOLDERS else PATH_NOT_FOUND
    return FILE_NOT_FOUND if any(file.path.lower().startswith(f"{above}/") for file in view.files) else PATH_NOT_FOUND


def explain(outcome: LoadOutcome, resolution: Resolution) -> str:
    """Why the file that the error names is, or is not, the cause."""
    named, cause = outcome.chain[0], outcome.chain[-1]
    if outcome.detail == BY_CODE:
        return f"The code of the package raises this in {named}; no DLL is missing."
    if len(outcome.chain) == 1:
        return f"{named} itself cannot be loaded: {outcome.detail}."
    needer = outcome.chain[-2]
    if outcome.code == MOD_NOT_FOUND:
        what = f"{cause} is missing, which {needer} imports"
        if _is_elsewhere(resolution, cause):
            what = f"{cause}, which {needer} imports, is in a folder that is not searched"
    elif outcome.code in (PROC_NOT_FOUND, INVALID_ORDINAL):
        what = f"{cause} is another version than {needer} was built for ({outcome.detail})"
    elif outcome.code == BAD_EXE_FORMAT:
        what = f"{cause} is not an image that this process can use ({outcome.detail})"
    else:
        what = f"{cause} fails ({outcome.detail})"
    if outcome.event.package:
        order = f"{outcome.event.package}'s load order"
        first = f"{named} is whole; it is only the first file in {order} whose dependencies cannot be met"
    else:
        first = f"{named} is whole; the error names it because it was asked for"
    others = also_needing(resolution, cause) - {dll_key(needer), dll_key(named)}
    more = f" Also in need of it: {_listing(sorted(others))}." if others and outcome.code == MOD_NOT_FOUND else ""
    return f"{first}: {what}.{more}"


def also_needing(resolution: Resolution, name: str) -> set[str]:
    """The base names of everyone who asks for a DLL that is missing."""
    key = dll_key(name)
    return {key_of(edge.importer) for edge in resolution.edges if dll_key(edge.name) == key and edge.is_missing}


def _is_elsewhere(resolution: Resolution, name: str) -> bool:
    """Whether a DLL that is not found is there all the same."""
    providers = (edge.provider for edge in resolution.edges if dll_key(edge.name) == dll_key(name))
    return any(isinstance(provider, Missing) and provider.present_at for provider in providers)


def _listing(names: list[str]) -> str:
    shown = names[:4]
    rest = len(names) - len(shown)
    return ", ".join(shown) + (f" and {rest} more" if rest else "")
