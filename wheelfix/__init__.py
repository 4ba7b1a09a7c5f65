"""wheelfix: say why a Windows wheel will not import, and write one that does.

The functions here are what the command line uses: :func:`scan`, :func:`repair`, :func:`verify`,
:func:`diagnose` and :func:`diff`.
They are imported when they are first asked for, so that ``wheelfix --version`` answers at once.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from wheelfix.base.options import RepairOptions, RootOptions, ScanOptions, SignOptions
    from wheelfix.diagnosis.diagnose import diagnose
    from wheelfix.diagnosis.model import Diagnosis
    from wheelfix.errors import WheelfixError
    from wheelfix.exam.scan import scan, scan_all
    from wheelfix.exam.verify import verify
    from wheelfix.model import Finding, ScanReport
    from wheelfix.repairs.repair import repair_wheel as repair
    from wheelfix.repairs.sign import Signed, sign
    from wheelfix.report.builds import diff

__version__ = "0.1.0"

__all__ = [
    "Diagnosis",
    "Finding",
    "RepairOptions",
    "RootOptions",
    "ScanOptions",
    "ScanReport",
    "SignOptions",
    "Signed",
    "WheelfixError",
    "__version__",
    "diagnose",
    "diff",
    "repair",
    "scan",
    "scan_all",
    "sign",
    "verify",
]

_HOMES = {
    "Diagnosis": "wheelfix.diagnosis.model",
    "Finding": "wheelfix.model",
    "ScanReport": "wheelfix.model",
    "WheelfixError": "wheelfix.errors",
    "RepairOptions": "wheelfix.base.options",
    "RootOptions": "wheelfix.base.options",
    "ScanOptions": "wheelfix.base.options",
    "SignOptions": "wheelfix.base.options",
    "Signed": "wheelfix.repairs.sign",
    "diagnose": "wheelfix.diagnosis.diagnose",
    "diff": "wheelfix.report.builds",
    "repair": "wheelfix.repairs.repair:repair_wheel",
    "scan": "wheelfix.exam.scan",
    "scan_all": "wheelfix.exam.scan",
    "sign": "wheelfix.repairs.sign",
    "verify": "wheelfix.exam.verify",
}


def __dir__() -> list[str]:
    return __all__


def __getattr__(name: str) -> object:
    home = _HOMES.get(name)
    if home is None:
        raise AttributeError(f"module 'wheelfix' has no attribute {name!r}")
    module, _, inner = home.partition(":")
    return getattr(importlib.import_module(module), inner or name)
