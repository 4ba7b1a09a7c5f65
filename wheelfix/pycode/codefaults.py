"""Which of the loads that were read from Python code fail when their file is imported."""

from __future__ import annotations

from typing import TYPE_CHECKING

from wheelfix.base.values import replace
from wheelfix.loader.loadcall import MOD_NOT_FOUND
from wheelfix.loader.view import base_name
from wheelfix.model import CodeFault
from wheelfix.pycode.trace import CERTAIN, LATER

if TYPE_CHECKING:
    from collections.abc import Iterator

    from wheelfix.pycode.fileloads import PathCode
    from wheelfix.pycode.trace import FoundLoad


def code_faults(code: PathCode, root: str) -> Iterator[CodeFault]:
    """What fails, or may fail, when the file at ``root`` is imported, in the order in which that happens."""
    found = [*_of_loads(code, root), *_of_folders(code, root), *_of_ends(code, root)]
    yield from (fault for _, fault in sorted(found, key=lambda pair: pair[0]))
    for call in code.found_calls:
        if call.level == CERTAIN and not call.guarded and call.function != "add_dll_directory":
            name = f"{call.function}({call.argument})"
            yield CodeFault("unread", root, call.file, call.line, (name,), "", sure=False)


def _of_loads(code: PathCode, root: str) -> Iterator[tuple[int, CodeFault]]:
    for load in code.loads:
        cffi = load.function == "dlopen"
        error = "OSError" if cffi else "FileNotFoundError"
        if load.fails and load.level != LATER and not load.guarded:
            cause = "cffi" if cffi else "load"
            yield load.place, CodeFault(cause, root, load.file, load.line, load.targets, error, _is_sure(load))
        elif _is_out_of_order(load) and load.failure is not None:
            chain = tuple(base_name(step) for step in load.failure.chain)
            fault = CodeFault("order", root, load.file, load.line, load.targets, error, sure=True, chain=chain)
            yield load.place, fault


def _of_folders(code: PathCode, root: str) -> Iterator[tuple[int, CodeFault]]:
    for cause, folders in (("folder", code.found_folders), ("listing", code.listings)):
        for one in folders:
            if one.absent and one.level == CERTAIN and not one.guarded:
                fault = CodeFault(cause, root, one.file, one.line, (one.folder,), "FileNotFoundError", sure=True)
                yield one.place, fault


def _of_ends(code: PathCode, root: str) -> Iterator[tuple[int, CodeFault]]:
    for end in code.ends:
        if end.outside and end.level != CERTAIN:
            continue  # most packages that look for optional DLLs of others have some check that may raise
        sure = end.level == CERTAIN and not end.outside
        fault = CodeFault("raise", root, end.file, end.line, end.looked_for, end.kind, sure)
        yield end.place, replace(fault, chain=end.chain, text=end.text)


def _is_out_of_order(load: FoundLoad) -> bool:
    """Whether a file that is there is loaded for certain, where a DLL that it imports is not found."""
    failure = load.failure
    if failure is None or failure.code != MOD_NOT_FOUND or len(failure.chain) < 2:
        return False
    return load.level == CERTAIN and not load.guarded


def _is_sure(load: FoundLoad) -> bool:
    """Whether a load that finds no file fails everywhere: one that looks along PATH may find what users installed.

    Code that looked for a DLL of its own package first was not made to rely on that.
    """
    return load.level == CERTAIN and (load.bundled or not load.standard_search)
