"""What ``import torch`` does on Windows: the folders it adds, the DLLs it loads, the error it raises.

torch's ``__init__.py`` adds folders with ``os.add_dll_directory``, then loads *every* DLL of ``torch/lib`` in the
order in which the file system lists them with ``LoadLibraryExW(…, 0x1100)``, and tries ``LoadLibraryW`` once more with
those folders on PATH when the answer is 126. The folders differ between releases; what a wheel does is read from its
own ``__init__.py``, never guessed from its version.
"""

from __future__ import annotations

import fnmatch
import re
from typing import TYPE_CHECKING

from wheelfix.loader.codebudget import budget_of
from wheelfix.loader.pathcode import read_path_code
from wheelfix.loader.search import AS_PYTHON_DOES, MOD_NOT_FOUND
from wheelfix.loader.view import BASE, SITE_PACKAGES, USER, Layer, base_name
from wheelfix.model import LoadEvent
from wheelfix.values import dataclass

if TYPE_CHECKING:
    from wheelfix.loader.search import Failure, Loader
    from wheelfix.loader.view import FileView

PACKAGE = f"{SITE_PACKAGES}/torch"
LIB = f"{PACKAGE}/lib"

_VERSION = re.compile(r"^__version__\s*(?::[^=\n]*)?=\s*['\"]([^'\"\n]{1,100})['\"]", re.MULTILINE)
_CUDA = re.compile(r"^cuda\s*(?::[^=\n]*)?=\s*['\"]([0-9]{1,4}(?:\.[0-9]{1,4})*)['\"]", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class TorchFacts:
    """What a torch package says about itself."""

    version: str
    cuda: str | None
    """The CUDA release it was built for, as ``11.7``; None for a CPU build."""
    lib: str
    """The folder whose DLLs are all loaded."""
    searches_userbase: bool
    searches_prefix_bin: bool
    added: tuple[str, ...]
    """Folders that a patch adds to the search besides: delvewheel's ``torch.libs``."""
    preloads_vcruntime_1: bool
    """Whether ``vcruntime140_1.dll`` is among the preloads (not on ARM64 in newer releases)."""


def torch_facts(view: FileView) -> TorchFacts | None:
    """The facts of the torch package that is the subject of a view, or None when there is none."""
    init = view.find(PACKAGE, "__init__.py")
    if init is None or view.layer(init) is Layer.ENVIRONMENT or not glob_order(view):
        return None
    return read_torch(view)


def read_torch(view: FileView) -> TorchFacts | None:
    """The facts of the torch package in a view, whoever's it is."""
    text = view.read_text(f"{PACKAGE}/__init__.py")
    if text is None:
        return None
    version_text = view.read_text(f"{PACKAGE}/version.py") or ""
    version, cuda = _VERSION.search(version_text), _CUDA.search(version_text)
    return TorchFacts(
        version=version[1] if version else "",
        cuda=cuda[1] if cuda else None,
        lib=LIB,
        searches_userbase="userbase" in text,
        added=read_path_code(text, f"{PACKAGE}/__init__.py", budget_of(view)).added if "delvewheel" in text else (),
        searches_prefix_bin=re.search(r"exec_prefix,\s*['\"]bin['\"]", text) is not None,
        preloads_vcruntime_1="vcruntime140_1.dll" in text,
    )


def glob_order(view: FileView) -> tuple[str, ...]:
    """The DLLs of ``torch/lib`` in the order in which NTFS lists them."""
    return tuple(path for path in view.in_folder(LIB) if path.lower().endswith(".dll"))


def search_dirs(facts: TorchFacts, view: FileView) -> tuple[str, ...]:
    """The folders of the view that torch adds to the DLL search; those that do not exist are skipped, as torch does."""
    wanted = [facts.lib, "Library/bin", f"{BASE}/Library/bin"]
    wanted += [f"{USER}/Library/bin"] if facts.searches_userbase else []
    wanted += ["bin"] if facts.searches_prefix_bin else []
    return tuple(folder for folder in (*wanted, *facts.added) if view.in_folder(folder))


def adds_cuda(facts: TorchFacts, view: FileView) -> bool:
    """Whether torch adds the toolkit's ``bin``: a CUDA build does while no cudart lies in its folders."""
    if facts.cuda is None:
        return False
    present = (base_name(path).lower() for folder in search_dirs(facts, view) for path in view.in_folder(folder))
    return not any(fnmatch.fnmatch(name, "cudart64*.dll") for name in present)


def preload(loader: Loader, facts: TorchFacts) -> None:
    """Load the C runtime first, as torch does; failures are only printed there."""
    names = ["vcruntime140.dll", "msvcp140.dll"]
    for name in [*names, "vcruntime140_1.dll"] if facts.preloads_vcruntime_1 else names:
        if loader.load_by_name(name):
            break


def load_one(loader: Loader, path: str) -> Failure | None:
    """Load one DLL of the glob: by flags first, and once more through PATH when the answer is 126."""
    failure = loader.load(path, AS_PYTHON_DOES)
    if failure is None or failure.code != MOD_NOT_FOUND:
        return failure
    loader.path_dirs = list(loader.user_dirs)
    return loader.load(path, 0)


def events(view: FileView) -> tuple[LoadEvent, ...]:
    """The loads of torch's own loop."""
    return tuple(LoadEvent(path, "torch-glob") for path in glob_order(view))


def error_line(shown_path: str, code: int, text: str) -> str:
    """The line that Python prints for the exception torch raises."""
    return f'OSError: [WinError {code}] {text} Error loading "{shown_path}" or one of its dependencies.'
