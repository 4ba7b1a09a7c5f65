"""Runs on Windows: imports one package ``torch`` after the other and tells, as JSON, how each import ended.

``python import_torch.py FOLDER...``: each folder is a site-packages. They share a process because starting one costs
seconds under emulation; so no two of them may use the same DLL name.
"""

# mypy: ignore-errors
# (it is Windows' ctypes that has these names)

import ctypes
import json
import os
import sys
import traceback

ADD_FOLDER = os.add_dll_directory
PATH = os.environ["PATH"]


def try_import(folder):
    """Import torch from a folder and put everything back that its code has changed, apart from loaded DLLs."""
    added = []

    def add_dll_directory(path):
        added.append(ADD_FOLDER(path))
        return added[-1]

    os.add_dll_directory = add_dll_directory
    os.environ["PATH"] = PATH
    sys.path.insert(0, folder)
    try:
        import torch  # noqa: F401  # what matters is what its import does
    except OSError as error:
        line = traceback.format_exception_only(type(error), error)[-1].strip()
        return {"line": line, "code": error.winerror, "text": ctypes.FormatError(error.winerror).strip()}
    else:
        return None
    finally:
        sys.path.remove(folder)
        for name in [name for name in sys.modules if name.partition(".")[0] == "torch"]:
            del sys.modules[name]
        for cookie in added:
            cookie.close()


print(json.dumps([try_import(folder) for folder in sys.argv[1:]]))
