"""Which of the loads that were read from Python code fail when their file is imported."""

from __future__ import annotations

from typing import TYPE_CHECKING

from wheelfix.loader.codeloads import is_load_call
from wheelfix.loader.codestore import CERTAIN, LATER
from wheelfix.model import CodeFault

if TYPE_CHECKING:
    from collections.abc import Iterator

    from wheelfix.loader.codestore import FoundLoad
    from wheelfix.loader.pathcode import PathCode


def code_faults(code: PathCode, root: str) -> Iterator[CodeFault]:
    """What fails, or may fail, when the file at ``root`` is imported."""
    for load in code.loads:
        if load.fails and load.level != LATER and not load.guarded:
            cffi = load.function == "dlopen"
            error = "OSError" if cffi else "FileNotFoundError"
            yield CodeFault("cffi" if cffi else "load", root, load.file, load.line, load.targets, error, _is_sure(load))
    for folder in code.found_folders:
        if folder.absent and folder.level == CERTAIN and not folder.guarded:
            yield CodeFault("folder", root, folder.file, folder.line, (folder.folder,), "FileNotFoundError", sure=True)
    for end in code.ends:
        yield CodeFault("raise", root, end.file, end.line, end.looked_for, end.kind, end.level == CERTAIN)
    for call in code.found_calls:
        if call.level == CERTAIN and not call.guarded and is_load_call(call.function):
            name = f"{call.function}({call.argument})"
            yield CodeFault("unread", root, call.file, call.line, (name,), "", sure=False)


def _is_sure(load: FoundLoad) -> bool:
    """Whether a load that finds no file fails everywhere: one that looks along PATH may find what users installed.

    Code that looked for a DLL of its own package first was not made to rely on that.
    """
    return load.level == CERTAIN and (load.bundled or not load.standard_search)
