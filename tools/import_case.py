"""Imports one module on Windows and prints, as JSON, how that ended: ``python -I import_case.py FOLDER MODULE``.

It runs in a clean Python and needs nothing but the standard library. The code is 0 if the DLLs of the module load:
Python then misses the init function, which these modules do not have.
"""

# mypy: ignore-errors
# (it is Windows' ctypes that has these names)

import ctypes
import importlib
import json
import sys

CODES = (126, 127, 182, 193, 1114, 216, 5)


def code_of(error):
    """Return the Windows error code of a failed import; Python has it only as text, in the language of Windows."""
    if isinstance(error, OSError) and error.winerror:
        return error.winerror
    if isinstance(error, ImportError) and "DLL load failed" in str(error):
        for code in CODES:
            if ctypes.FormatError(code).strip() in str(error):
                return code
        return -1
    return 0 if isinstance(error, ImportError) and "PyInit_" in str(error) else -2


def main(folder, name):
    """Import the module from a folder, which goes before everything else."""
    sys.path.insert(0, folder)
    try:
        importlib.import_module(name)
    except Exception as error:
        print(json.dumps({"code": code_of(error), "line": f"{type(error).__name__}: {error}"}))
    else:
        print(json.dumps({"code": 0, "line": "imported"}))


main(*sys.argv[1:])
