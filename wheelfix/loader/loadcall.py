"""A call of LoadLibraryEx: its search flags, the error codes with which it fails, and what decides them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from wheelfix.base.parsing import whole_number
from wheelfix.base.values import field, frozen
from wheelfix.model import Machine

if TYPE_CHECKING:
    from wheelfix.model import Symbol

DLL_LOAD_DIR = 0x100
APPLICATION_DIR = 0x200
USER_DIRS = 0x400
SYSTEM32 = 0x800
DEFAULT_DIRS = 0x1000
ALTERED_SEARCH_PATH = 0x8
SEARCH_FLAGS = DLL_LOAD_DIR | APPLICATION_DIR | USER_DIRS | SYSTEM32 | DEFAULT_DIRS
AS_PYTHON_DOES = DEFAULT_DIRS | DLL_LOAD_DIR
"""What CPython uses for extension modules and ctypes, and torch for its own DLLs."""

FILE_NOT_FOUND = 2
PATH_NOT_FOUND = 3
MOD_NOT_FOUND = 126
PROC_NOT_FOUND = 127
INVALID_ORDINAL = 182
BAD_EXE_FORMAT = 193


@frozen
class Failure:
    """Why a load fails: the code, and the way from the module that was asked for to the true cause."""

    code: int
    chain: tuple[str, ...]
    """View paths of the modules passed through; the last is the cause, a plain DLL name if it is missing."""
    detail: str = ""
    mapped: tuple[str, ...] = field(default=(), compare=False)
    """View paths of everything that the load had mapped when it gave up."""


def runs_on(image: Machine, process: Machine) -> bool:
    """Whether an image of one machine type can be mapped into a process of another."""
    return image is process or (process is Machine.AMD64 and image is Machine.ARM64EC)


def split_forwarder(target: str) -> tuple[str, Symbol]:
    """Take ``libomp.dll.KMP_CALLOC`` or ``NTDLL.#12`` apart: the module, with its ``.dll``, and the symbol."""
    module, _, symbol = target.rpartition(".")
    name = module if "." in module else module + ".dll"
    ordinal = whole_number(symbol[1:]) if symbol[:1] == "#" else None
    return name, symbol if ordinal is None else ordinal
