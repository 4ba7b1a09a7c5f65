"""Imports one module and writes down how that ended: ``python -I child.py MODULE SITE LIST RESULT``.

It runs in the Python that is tried, which has nothing but the standard library. It imports nothing before the module
that Python itself has not imported, so that the module meets a fresh process, and hardly anything after it: below an
emulator each import takes a second. The result is a Python literal.
"""

# mypy: ignore-errors
# (it is Windows' ctypes that has these names)

import os
import sys

CODES = (126, 127, 182, 193, 1114, 216, 5, 2, 3, 8, 14, 87, 998, 1157, 577, 4551, 14001)
"""The errors of Windows that a load can end with; an ImportError has only the text of one of them."""
OF_WINE = {"Module not found.": 126, "Procedure not found.": 127}
"""Wine's own sentences for the most frequent ones."""
LONGEST = 4000
LINES = 60
MOST_ERRORS = 8
MOST_FRAMES = 8


def main(module, site_packages, wants_list, result_file):
    """Import a module from a folder."""
    if site_packages not in sys.path:
        import site

        site.addsitedir(site_packages)
    result = {"module": module, "python": sys.version.split()[0]}
    try:
        __import__(module)
    except BaseException as error:  # packages raise SystemExit, too
        result["outcome"] = "raised"
        result["errors"] = [described(one) for one in chain_of(error)]
        result["traceback"] = formatted(error)
    else:
        result["outcome"] = "imported"
        result["file"] = str(getattr(sys.modules[module], "__file__", None) or "")
    if wants_list == "list":
        result["loaded"] = loaded_modules()
    with open(result_file + ".part", "w", encoding="ascii") as file:  # noqa: PTH123
        file.write(ascii(result))
    os.replace(result_file + ".part", result_file)  # noqa: PTH105
    sys.stdout.flush()
    os._exit(0)  # threads and exit handlers of the package are not what is asked about


def chain_of(error):
    """Return an exception and those that it was raised from or because of, the last one first."""
    found = []
    while error is not None and error not in found and len(found) < MOST_ERRORS:
        found.append(error)
        error = error.__cause__ or (None if error.__suppress_context__ else error.__context__)
    return found


def described(error):
    """Return one exception as plain values."""
    try:
        message = str(error)
    except Exception as odd:
        message = f"<{type(odd).__name__} in __str__>"
    return {
        "class": type(error).__name__,
        "bases": [kind.__name__ for kind in type(error).__mro__[1:-1]],
        "message": message[:LONGEST],
        "code": code_of(error, message),
        "name": str(getattr(error, "name", None) or ""),
        "frames": frames_of(error)[-MOST_FRAMES:],
    }


def frames_of(error):
    """Return where an exception was raised, the innermost frame last, without those of Python's import and of this."""
    found = []
    place = error.__traceback__
    while place is not None:
        name = place.tb_frame.f_code.co_filename
        if "importlib" not in name and name != __file__:
            found.append(f"{name}:{place.tb_lineno}")
        place = place.tb_next
    return found


def formatted(error):
    """Return an exception as Python prints it, without the middle of a long one."""
    written = []

    class Collector:
        def write(self, text):
            written.append(text)

        def flush(self):
            pass

    kept, sys.stderr = sys.stderr, Collector()
    try:
        sys.__excepthook__(type(error), error, error.__traceback__)
    finally:
        sys.stderr = kept
    lines = "".join(written).splitlines()
    if len(lines) > LINES:
        lines = [lines[0], "  ...", *lines[-LINES:]]
    return "\n".join(line[:LONGEST] for line in lines)


def code_of(error, message):
    """Return the Windows error code behind an exception, 0 for none; text is compared in Windows' own language."""
    if isinstance(error, OSError) and getattr(error, "winerror", None):
        return error.winerror
    if isinstance(error, ImportError) and "DLL load failed" in message:
        for text, code in OF_WINE.items():
            if message.endswith(text):
                return code
        import ctypes

        for code in CODES:
            if ctypes.FormatError(code).strip() in message:
                return code
        return -1
    if isinstance(error, FileNotFoundError) and "(or one of its dependencies)" in message:
        return 126
    cffi, _, code = message.rpartition(": error 0x")
    return int(code, 16) if cffi.startswith("cannot load library ") and code.isalnum() else 0


def loaded_modules():
    """Return the files that this process has loaded, in the order of loading; empty where Windows is not asked."""
    if os.name != "nt":
        return []
    import ctypes.wintypes

    wintypes = ctypes.wintypes
    kernel = ctypes.WinDLL("kernel32", use_last_error=True)
    kernel.GetCurrentProcess.restype = wintypes.HANDLE
    arguments = [wintypes.HANDLE, ctypes.c_void_p, wintypes.DWORD, ctypes.c_void_p, wintypes.DWORD]
    kernel.K32EnumProcessModulesEx.argtypes = arguments
    kernel.GetModuleFileNameW.argtypes = [wintypes.HMODULE, wintypes.LPWSTR, wintypes.DWORD]
    room = 1024
    while True:
        handles, needed = (wintypes.HMODULE * room)(), wintypes.DWORD()
        size = ctypes.sizeof(handles)
        if not kernel.K32EnumProcessModulesEx(kernel.GetCurrentProcess(), handles, size, ctypes.byref(needed), 3):
            return []
        if needed.value <= size:
            break
        room = needed.value // ctypes.sizeof(wintypes.HMODULE) + 64
    names, name = [], ctypes.create_unicode_buffer(32768)
    for handle in handles[: needed.value // ctypes.sizeof(wintypes.HMODULE)]:
        if kernel.GetModuleFileNameW(handle, name, len(name)):
            names.append(name.value)
    return names


if __name__ == "__main__":
    main(*sys.argv[1:])
