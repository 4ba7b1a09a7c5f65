"""Python code of packages: read within its budget, or unread with the reason; never half, and never another error."""

from __future__ import annotations

import functools
import time

from tests.support.hostilecode import ATTACKS
from tests.support.hostilevalues import VALUES, made_source, package_source
from tests.support.patience import on_fresh_stack, patience
from tests.support.views import make_view
from wheelfix.loader.profile import Profile
from wheelfix.pycode.budget import CodeBudget
from wheelfix.pycode.importer import import_end
from wheelfix.pycode.reading import PathCode, read_path_code
from wheelfix.pycode.sourcecode import read_imports
from wheelfix.pycode.windows import ViewFiles

INIT = "Lib/site-packages/pkg/__init__.py"
SECONDS = 10
ORDINARY = b"""\
import os
from pathlib import Path
try:
    from . import _core
except ImportError:
    _core = None
here = Path(__file__).parent
libs = [here / "lib", here.parents[0] / "pkg.libs", os.path.join(os.path.dirname(__file__), "bin")]
for folder in libs:
    if os.name == "nt":
        os.add_dll_directory(str(folder))
import ctypes
name = f"{here}/core.dll"
ctypes.CDLL(name if os.path.exists(name) else "core" + ".dll")
"""


def package_code(data: bytes) -> None:
    """Read a file as the code of a package, twice with the same answer, and interpret the import of the package."""
    source = data.decode("utf-8", "replace")
    started = time.process_time()
    view = make_view({INIT: data})
    files = ViewFiles(view, Profile(python=(3, 11)))
    spent = CodeBudget(), CodeBudget()
    first, second = (on_fresh_stack(functools.partial(read_path_code, source, INIT, one, files)) for one in spent)
    imports = read_imports(source, INIT, budget := CodeBudget())
    import_end(view, Profile(python=(3, 11)), "pkg")
    if first != second:
        raise AssertionError("two answers for one file")
    if INIT in spent[0].unread and first != PathCode(unread_calls=first.unread_calls):
        raise AssertionError("half of a file was taken")
    if INIT in budget.unread and imports:
        raise AssertionError("half of the imports were taken")
    if (seconds := time.process_time() - started) > SECONDS and seconds > patience(SECONDS):
        raise AssertionError(f"{len(data)} bytes took {seconds:.1f} s")


def package_code_seeds() -> list[bytes]:
    """Return ordinary code, and the attacks that are small enough to be damaged."""
    small = [text.encode("utf-8", "replace") for text in ATTACKS.values() if len(text) < 5000]
    values = [package_source(text) for text in VALUES.values() if len(text) < 5000]
    made = [made_source(seed) for seed in range(100)]
    return [
        ORDINARY,
        *(text + b"\nimport os\nos.add_dll_directory(a)\n" for text in small),
        *(text.encode("utf-8", "surrogatepass") for text in (*values, *made)),
    ]
