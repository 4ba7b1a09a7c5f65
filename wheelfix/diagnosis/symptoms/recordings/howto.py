"""The commands that record the loads of a failing import on Windows."""

from __future__ import annotations

_TEXT = """\
Each of these records what Windows' loader really does while "import {module}" fails. Any one is enough; the first
needs least, the second names the missing DLL itself.

1. dlltracer (a console run as administrator)

   python -m pip install dlltracer
   python -c "import sys, dlltracer; exec('with dlltracer.Trace(out=sys.stdout): import {module}')" > loads.txt 2>&1

2. Loader snaps (Debugging Tools for Windows: gflags.exe and cdb.exe; a console run as administrator)

   gflags /i python.exe +sls
   cdb -G -g -o -logo loads.txt python -c "import {module}"
   gflags /i python.exe -sls

3. Process Monitor (procmon64.exe; a console run as administrator)

   procmon64 /AcceptEula /Quiet /Minimized /BackingFile loads.pml
   python -c "import {module}"
   procmon64 /Terminate
   procmon64 /OpenLog loads.pml /SaveAs loads.csv

Then, with the environment that was recorded:

   wheelfix diagnose loads.txt --env PREFIX
"""


def how_to_record(module: str) -> str:
    """Return the commands, for one module."""
    return _TEXT.format(module=module)
