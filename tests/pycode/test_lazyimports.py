"""Lazy imports (PEP 810): carried out when a name of them is used, and not before."""

from __future__ import annotations

import pytest

from tests.support.views import make_view
from wheelfix.loader.profile import Profile
from wheelfix.loader.resolve import resolve
from wheelfix.pycode.importer import ImportEnd, import_end

SITE = "Lib/site-packages/"
GONE = "import ctypes, os\nctypes.CDLL(os.path.join(os.path.dirname(__file__), 'gone.dll'))\n"


def end_of(code: str, python: tuple[int, int] = (3, 15), **others: str) -> ImportEnd:
    files = {f"{SITE}pkg/{name}.py": text for name, text in others.items()}
    return import_end(make_view({f"{SITE}pkg/__init__.py": code, **files}), Profile(python=python), "pkg")


@pytest.mark.parametrize(
    "statement", ["lazy from pkg import heavy", "lazy import pkg.heavy", "lazy from . import heavy"]
)
def test_a_module_that_nothing_uses_is_not_imported(statement):
    end = end_of(f"{statement}\nx = 1\n", heavy=GONE)
    assert (end.decided, end.error, end.ran) == (True, "", (f"{SITE}pkg/__init__.py",))


@pytest.mark.parametrize(
    "code",
    [
        "lazy from pkg import heavy\nheavy.x\n",
        "lazy from pkg.heavy import x\ny = x\n",
        "lazy import pkg.heavy as h\nh.x\n",
        "from pkg.other import x\ny = x\n",
    ],
)
def test_using_a_name_imports_it(code):
    end = end_of(code, heavy=GONE, other="lazy from pkg.heavy import x\n")
    assert (end.decided, end.error) == (True, "FileNotFoundError")
    assert f"{SITE}pkg/heavy.py" in end.ran


@pytest.mark.parametrize("python, error", [((3, 15), ""), ((3, 14), "FileNotFoundError")])
def test_the_list_of_lazy_modules_is_for_new_pythons(python, error):
    code = "__lazy_modules__ = ['pkg.heavy']\nfrom pkg.heavy import x\n"
    assert end_of(code, python, heavy=GONE).error == error


def test_a_load_beside_a_lazy_import_is_read():
    """With syntax of a newer Python than the one that runs wheelfix, the load was not seen, and the wheel was OK."""
    view = make_view({f"{SITE}pkg/__init__.py": f"lazy import numpy\n{GONE}"})
    failure = resolve(view, Profile(python=(3, 15))).first_failure
    assert failure.chain == ("gone.dll",)


def test_an_extension_module_that_is_only_imported_lazily_does_not_break_the_package():
    files = {
        f"{SITE}pkg/__init__.py": "lazy from pkg import _core\n",
        f"{SITE}pkg/_core.pyd": "imports gone.dll",
    }
    end = import_end(make_view(files), Profile(python=(3, 15)), "pkg")
    assert (end.decided, end.error) == (True, "")


@pytest.mark.parametrize("installed, error", [(True, ""), (False, "ModuleNotFoundError")])
def test_a_module_of_the_package_with_the_name_of_a_distribution_imports_that(installed, error):
    """tcod has ``tcod/cffi.py``, which does ``import cffi``."""
    files = {
        f"{SITE}pkg/__init__.py": "from . import cffi\n",
        f"{SITE}pkg/cffi.py": "import cffi\nffi = cffi.FFI()\n",
    }
    if installed:
        files[f"{SITE}cffi/__init__.py"] = "class FFI:\n    pass\n"
    assert import_end(make_view(files), Profile(python=(3, 11)), "pkg", complete=True).error == error


def test_a_compiled_module_is_that_of_the_distribution_that_is_required():
    """soundfile imports ``_cffi_backend``, and requires cffi."""
    code = "import _cffi_backend\nffi = _cffi_backend.FFI('x')\n"
    metadata = "Metadata-Version: 2.1\nName: pkg\nVersion: 1.0\nRequires-Dist: cffi>=1.0\n"
    files = {f"{SITE}pkg/__init__.py": code, f"{SITE}pkg-1.0.dist-info/METADATA": metadata}
    end = import_end(make_view(files), Profile(python=(3, 11)), "pkg")
    assert (end.decided, end.error) == (True, "")
