"""Runs on Windows: imports one module again and again, each time without another file, and writes down how each ended.

``python -I import_cases.py MODULE SITE RESULT [FILE...]``: the first import is with all files. They share a process
because starting one costs half a minute under emulation; after each import everything that it has loaded is taken back.
"""

# mypy: ignore-errors
# (it is Windows' ctypes that has these names)

import contextlib
import ctypes
import gc
import importlib
import logging
import os
import site
import sys
from ctypes import wintypes

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))  # noqa: PTH100, PTH120
import child

ADD_FOLDER = os.add_dll_directory
HIDDEN = os.path.join(sys.prefix, "removed.hidden")  # noqa: PTH118
ROUNDS = 60
KEPT = []
"""Python keeps what the init functions of modules have made, also of modules that are unloaded."""

kernel = ctypes.WinDLL("kernel32", use_last_error=True)
kernel.GetModuleHandleW.restype = wintypes.HMODULE
kernel.GetModuleHandleW.argtypes = [wintypes.LPCWSTR]
kernel.FreeLibrary.argtypes = [wintypes.HMODULE]


def main(module, folder, result_file, *files):
    """Import with all files, then without each."""
    site.addsitedir(folder)
    helper = os.path.join(sys.prefix, "wheelfix_standin.dll")  # noqa: PTH118
    if os.path.exists(helper):  # noqa: PTH110
        KEPT.append(ctypes.CDLL(helper))
    found = []
    for file in ["", *files]:
        mark(f"CASE {file}")
        if file:
            hide(file)
        try:
            found.append(attempt(module, folder))
        finally:
            if file:
                put_back_file(file)
    with open(result_file + ".part", "w", encoding="ascii") as out:  # noqa: PTH123
        out.write(ascii(found))
    os.replace(result_file + ".part", result_file)  # noqa: PTH105
    os._exit(0)


def hide(file):
    """Take a file away, and its folder if nothing else is in it: a wheel has no empty folders."""
    os.rename(file, HIDDEN)  # noqa: PTH104
    with contextlib.suppress(OSError):
        os.rmdir(os.path.dirname(file))  # noqa: PTH106, PTH120


def put_back_file(file):
    """Undo that."""
    os.makedirs(os.path.dirname(file), exist_ok=True)  # noqa: PTH103, PTH120
    os.rename(HIDDEN, file)  # noqa: PTH104


def mark(words):
    """Write a line between those of Wine; packages replace ``sys.stderr`` (Kivy)."""
    sys.__stderr__.write(f"\n{words}\n")
    sys.__stderr__.flush()


def attempt(module, folder):
    """Import a module; return what the child of ``wheelfix try`` returns, and put everything back."""
    added = []

    def add_dll_directory(path):
        added.append(ADD_FOLDER(path))
        return added[-1]

    before = set(sys.modules), dict(os.environ), [*sys.path], [*sys.meta_path]
    os.add_dll_directory = add_dll_directory
    importlib.invalidate_caches()
    sys.path_importer_cache.clear()
    try:
        __import__(module)
    except BaseException as error:  # packages raise SystemExit, too
        errors = [child.described(one) for one in child.chain_of(error)]
        result = {"outcome": "raised", "errors": errors, "traceback": child.formatted(error)}
    else:
        result = {"outcome": "imported"}
    loaded = of_packages(folder)
    mark("END")
    os.add_dll_directory = ADD_FOLDER
    put_back(before)
    for cookie in added:
        cookie.close()
    unload(loaded)
    result["loaded"], result["left"] = loaded, of_packages(folder)
    return result


def of_packages(folder):
    """Return the files of packages that are loaded: below site-packages, and below the prefix."""
    places = [folder, *(os.path.join(sys.prefix, name) for name in ("Library", "bin", "share"))]  # noqa: PTH118
    starts = tuple(place.lower() + "\\" for place in places)
    return [path for path in child.loaded_modules() if path.lower().startswith(starts)]


def put_back(before):
    """Forget the modules of packages, and what their code has changed."""
    modules, environment, path, finders = before
    for name in set(sys.modules) - modules:
        if name.partition(".")[0] not in sys.stdlib_module_names:
            del sys.modules[name]
    os.environ.clear()
    os.environ.update(environment)
    sys.stdout, sys.stderr = sys.__stdout__, sys.__stderr__
    logging.root.handlers.clear()
    sys.path[:] = path
    sys.meta_path[:] = finders
    gc.collect()


def unload(paths):
    """Free libraries until they are gone; those that others import go with these."""
    for _ in range(ROUNDS):
        present = [handle for handle in map(kernel.GetModuleHandleW, paths) if handle]
        if not present:
            return
        for handle in present:
            kernel.FreeLibrary(handle)


if __name__ == "__main__":
    main(*sys.argv[1:])
