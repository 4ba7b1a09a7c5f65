"""Frozen facts that several rooms share; imports nothing of ours but :mod:`wheelfix.values`.

Bytes become these facts in ``archive/`` and ``pe/``; ``loader/`` turns them into a resolution, ``rules/`` into
findings, ``plan`` into intended changes. Paths inside a wheel are POSIX strings, DLL names print as spelled in
the file and compare by :func:`dll_key`.

``folding`` has how names compare, ``images`` what one DLL says about itself, ``resolution`` what the loader model
answers, ``scanreport`` what a scan reports. Other rooms import all of it from here.
"""

from __future__ import annotations

from wheelfix.model.folding import (
    Json,
    Symbol,
    canonical,
    dll_key,
    fold,
)
from wheelfix.model.images import (
    TRUSTED,
    ByteSource,
    Exports,
    FileVersion,
    GpuFit,
    Image,
    ImageFacts,
    Import,
    Machine,
    Malformed,
    NumpyApi,
    Signature,
)
from wheelfix.model.resolution import (
    AbsentModule,
    Alone,
    Assumed,
    CodeFault,
    CodeFolder,
    Driver,
    Edge,
    EdgeKind,
    InView,
    LoadEvent,
    LoadOutcome,
    MayComeFrom,
    Missing,
    OwnedBy,
    Provider,
    PythonRuntime,
    Resolution,
    System,
    UnreadCall,
    VcRedist,
)
from wheelfix.model.scanreport import (
    Candidate,
    CudaStory,
    Finding,
    MissingDll,
    Prediction,
    ProvidedDll,
    Repairable,
    ScannedImage,
    ScanReport,
    Severity,
    Verdict,
)

__all__ = [
    "TRUSTED",
    "AbsentModule",
    "Alone",
    "Assumed",
    "ByteSource",
    "Candidate",
    "CodeFault",
    "CodeFolder",
    "CudaStory",
    "Driver",
    "Edge",
    "EdgeKind",
    "Exports",
    "FileVersion",
    "Finding",
    "GpuFit",
    "Image",
    "ImageFacts",
    "Import",
    "InView",
    "Json",
    "LoadEvent",
    "LoadOutcome",
    "Machine",
    "Malformed",
    "MayComeFrom",
    "Missing",
    "MissingDll",
    "NumpyApi",
    "OwnedBy",
    "Prediction",
    "ProvidedDll",
    "Provider",
    "PythonRuntime",
    "Repairable",
    "Resolution",
    "ScanReport",
    "ScannedImage",
    "Severity",
    "Signature",
    "Symbol",
    "System",
    "UnreadCall",
    "VcRedist",
    "Verdict",
    "canonical",
    "dll_key",
    "fold",
]
