"""wheelfix: say why a Windows wheel will not import, and write one that does.

The functions here are what the command line uses: :func:`scan`, :func:`repair`, :func:`verify` and :func:`diagnose`.
They are imported when they are first asked for, so that ``wheelfix --version`` answers at once.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from wheelfix.errors import WheelfixError
    from wheelfix.model import Finding, ScanReport
    from wheelfix.options import RepairOptions, RootOptions, ScanOptions, SignOptions
    from wheelfix.verbs.diagnose import diagnose
    from wheelfix.verbs.diagnosis import Diagnosis
    from wheelfix.verbs.repair import repair_wheel as repair
    from wheelfix.verbs.scan import scan, scan_all
    from wheelfix.verbs.sign import Signed, sign
    from wheelfix.verbs.verify import verify

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
    "repair",
    "scan",
    "scan_all",
    "sign",
    "verify",
]

_HOMES = {
    "Diagnosis": "wheelfix.verbs.diagnosis",
    "Finding": "wheelfix.model",
    "ScanReport": "wheelfix.model",
    "WheelfixError": "wheelfix.errors",
    "RepairOptions": "wheelfix.options",
    "RootOptions": "wheelfix.options",
    "ScanOptions": "wheelfix.options",
    "SignOptions": "wheelfix.options",
    "Signed": "wheelfix.verbs.sign",
    "diagnose": "wheelfix.verbs.diagnose",
    "repair": "wheelfix.verbs.repair:repair_wheel",
    "scan": "wheelfix.verbs.scan",
    "scan_all": "wheelfix.verbs.scan",
    "sign": "wheelfix.verbs.sign",
    "verify": "wheelfix.verbs.verify",
}


def __getattr__(name: str) -> object:
    home = _HOMES.get(name)
    if home is None:
        raise AttributeError(f"module 'wheelfix' has no attribute {name!r}")
    import importlib

    module, _, inner = home.partition(":")
    return getattr(importlib.import_module(module), inner or name)
