"""Reports made by hand, one for each kind of thing a renderer must be able to tell."""

from __future__ import annotations

import os
from pathlib import Path

from wheelfix.model import (
    Candidate,
    Driver,
    Edge,
    EdgeKind,
    Finding,
    Image,
    Import,
    InView,
    LoadEvent,
    LoadOutcome,
    Machine,
    Malformed,
    Missing,
    MissingDll,
    Prediction,
    PythonRuntime,
    Repairable,
    Resolution,
    ScannedImage,
    ScanReport,
    Severity,
    System,
    VcRedist,
)

LIB = "Lib/site-packages/torch/lib"


def _image(path: str, *imports: str, delay: tuple[str, ...] = (), size: int = 1000) -> ScannedImage:
    facts = Image(
        Machine.AMD64,
        size,
        imports=tuple(Import(name) for name in imports),
        delay_imports=tuple(Import(name) for name in delay),
    )
    return ScannedImage(path, facts, place=f"Lib/site-packages/{path}")


def broken_torch() -> ScanReport:
    """A torch whose OpenMP runtime was left out, as in 2.4.0: the file blamed is not the file that lacks."""
    missing = Missing(searched=(LIB, "the folder of python.exe", "System32"))
    edges = (
        Edge(f"{LIB}/c10.dll", "KERNEL32.dll", EdgeKind.IMPORT, System("KERNEL32.dll")),
        Edge(f"{LIB}/c10.dll", "MSVCP140.dll", EdgeKind.IMPORT, VcRedist("MSVCP140.dll")),
        Edge(f"{LIB}/fbgemm.dll", "torch_cpu.dll", EdgeKind.IMPORT, InView(f"{LIB}/torch_cpu.dll")),
        Edge(f"{LIB}/fbgemm.dll", "KERNEL32.dll", EdgeKind.IMPORT, System("KERNEL32.dll")),
        Edge(f"{LIB}/torch_cpu.dll", "c10.dll", EdgeKind.IMPORT, InView(f"{LIB}/c10.dll")),
        Edge(f"{LIB}/torch_cpu.dll", "libomp140.x86_64.dll", EdgeKind.IMPORT, missing),
        Edge(f"{LIB}/torch_cpu.dll", "nvcuda.dll", EdgeKind.DELAY, Driver("nvcuda.dll"), required=False),
        Edge(f"{LIB}/torch_cpu.dll", "zlibwapi.dll", EdgeKind.COMPANION, Missing(), required=False),
        Edge("Lib/site-packages/torch/_C.pyd", "python311.dll", EdgeKind.IMPORT, PythonRuntime("python311.dll")),
        Edge("Lib/site-packages/torch/_C.pyd", "torch_cpu.dll", EdgeKind.IMPORT, InView(f"{LIB}/torch_cpu.dll")),
    )
    chain = ("fbgemm.dll", "torch_cpu.dll", "libomp140.x86_64.dll")
    outcomes = (
        LoadOutcome(LoadEvent(f"{LIB}/c10.dll", "torch-glob")),
        LoadOutcome(LoadEvent(f"{LIB}/fbgemm.dll", "torch-glob"), 126, chain),
        LoadOutcome(LoadEvent(f"{LIB}/torch_cpu.dll", "torch-glob"), 126, chain[1:]),
    )
    return ScanReport(
        path="dist/torch-2.4.0-cp311-cp311-win_amd64.whl",
        name="torch",
        version="2.4.0",
        tags=("cp311-cp311-win_amd64",),
        machine=Machine.AMD64,
        images=(
            _image("torch/_C.pyd", "python311.dll", "torch_cpu.dll", size=9_216),
            _image("torch/lib/c10.dll", "KERNEL32.dll", "MSVCP140.dll", size=850_000),
            _image("torch/lib/fbgemm.dll", "torch_cpu.dll", "KERNEL32.dll", size=5_000_000),
            _image(
                "torch/lib/torch_cpu.dll", "c10.dll", "libomp140.x86_64.dll", delay=("nvcuda.dll",), size=252_000_000
            ),
        ),
        resolution=Resolution(edges, outcomes, frozenset(), (LIB,)),
        missing=(
            MissingDll(
                "libomp140.x86_64.dll",
                EdgeKind.IMPORT,
                True,
                ("torch/lib/torch_cpu.dll",),
                chain,
                providers=("Visual Studio, debug_nonredist (may not be redistributed)",),
            ),
            MissingDll(
                "zlibwapi.dll",
                EdgeKind.COMPANION,
                False,
                ("torch/lib/torch_cpu.dll", *(f"torch/lib/cudnn_{part}64_8.dll" for part in ("a", "b", "c", "d", "e"))),
                candidates=(Candidate(r"C:\tools\zlibwapi.dll", r"C:\tools", "1.2.13", "the only one at hand"),),
            ),
        ),
        first_failure=Prediction(
            "torch/lib/fbgemm.dll",
            126,
            "OSError: [WinError 126] The specified module could not be found. Error loading "
            r'"C:\Python311\Lib\site-packages\torch\lib\fbgemm.dll" or one of its dependencies.',
            chain,
            "fbgemm.dll is in the wheel. It is named because it is the first file in load order whose imports "
            "lead to the DLL that is missing.",
        ),
        findings=(
            Finding(
                "WF301",
                "missing-dependency",
                Severity.ERROR,
                "torch/lib/torch_cpu.dll",
                "imports libomp140.x86_64.dll, which nobody provides",
                hint="vendor it with 'wheelfix repair --root PATH', or build with another OpenMP runtime",
                evidence={"searched": ["torch/lib", "System32"], "dll": "libomp140.x86_64.dll"},
                repairable=Repairable.SOMETIMES,
            ),
            Finding(
                "WF303",
                "missing-optional-companion",
                Severity.WARNING,
                "zlibwapi.dll",
                "torch/lib/torch_cpu.dll loads zlibwapi.dll by name → some of its functions will fail",
                repairable=Repairable.SOMETIMES,
            ),
            *(
                Finding("WF605", "unsigned", Severity.INFO, f"torch/lib/part{number}.dll", "carries no signature")
                for number in range(7)
            ),
        ),
    )


def clean_wheel() -> ScanReport:
    """A wheel with nothing to say about."""
    return ScanReport(
        path="dist/demo-1.0-cp311-cp311-win_amd64.whl",
        name="demo",
        version="1.0",
        tags=("cp311-cp311-win_amd64",),
        machine=Machine.AMD64,
        images=(_image("demo/_x.pyd", "python311.dll"),),
        resolution=Resolution(),
        missing=(),
        first_failure=None,
        findings=(),
    )


def risky_extension() -> ScanReport:
    """An extension package in an environment: no wheel file, a broken image, control characters and CJK in names."""
    return ScanReport(
        path="env/Lib/site-packages",
        name="grün-包",
        version="0.1",
        tags=("cp310-abi3-win_amd64", "cp310-abi3-win_arm64"),
        machine=Machine.AMD64,
        images=(
            ScannedImage(
                "gruen/坏\x1b[31m.dll", Malformed("lfs-pointer", "a git-lfs pointer stands in its place", 130)
            ),
            _image("gruen/_ext.pyd", "a.dll"),
        ),
        resolution=Resolution(
            outcomes=(
                LoadOutcome(
                    LoadEvent("Lib/site-packages/gruen/_ext.pyd", "extension", "gruen._ext"), 127, ("_ext.pyd", "a.dll")
                ),
            )
        ),
        missing=(),
        first_failure=Prediction(
            "gruen/_ext.pyd",
            127,
            "ImportError: DLL load failed while importing _ext: The specified procedure could not be found.",
            ("_ext.pyd", "a.dll"),
        ),
        findings=(
            Finding(
                "WF203", "git-lfs-pointer", Severity.WARNING, "gruen/坏\x1b[31m.dll", "is a git-lfs pointer, not a DLL"
            ),
        ),
    )


# --------------------------------------------------------------------------------------------------------------- golden
# Compare a rendered text with the one on file, whole; ``WHEELFIX_GOLDEN=write`` renews the files.

FOLDER = Path(__file__).with_name("golden")


def check_golden(name: str, text: str) -> None:
    """Assert that the text is what ``golden/<name>`` holds."""
    path = FOLDER / name
    if os.environ.get("WHEELFIX_GOLDEN") == "write":
        path.parent.mkdir(exist_ok=True)
        path.write_text(text, encoding="utf-8", newline="\n")
    assert text == path.read_text(encoding="utf-8")
