"""Small hostile inputs of every kind that wheelfix reads, each with the command line that reads it.

Archives, wheels made to exhaust, broken images and configuration files have tests of their own
(``test_hostile_wheels``, ``test_hostile_images``, ``tests/cli/test_hostile_texts.py``).
"""

from __future__ import annotations

import io
import json
import tarfile
import zipfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path

from tests.support.environments import lay
from tests.support.hostilecode import ATTACKS
from tests.support.wheels import build_wheel, extension, library
from tools.forge import forge_dll

LONG = "9" * 5000
NUMBERS = {"digits": LONG, "square": "²", "arabic": "٣٤", "dotted": "1." * 20_000, "float": "1e999", "minus": "-1"}
NAME = "pkg-1.0-cp311-cp311-win_amd64.whl"
PYD = "pkg/_x.cp311-win_amd64.pyd"
Maker = Callable[[Path], tuple[str, ...]]
"""Writes an input into a folder, and gives the command line that reads it."""
Makers = Iterator[tuple[str, Maker]]
SCAN = ("scan", "dist", "--no-discover", "--no-config")
VERIFY = ("verify", "dist", "--no-config")


def _wheel(folder: Path, files: Mapping[str, bytes | str], **more: object) -> None:
    build_wheel(folder / "dist", files=files, **more)  # type: ignore[arg-type]


def _write(folder: Path, name: str, data: str | bytes) -> None:
    path = folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(data.encode("utf-8", "surrogatepass") if isinstance(data, str) else data)


# ------------------------------------------------------------------------------------------------------------ wheels


def _metadata() -> Makers:
    fields = ("Metadata-Version", "Version", "Requires-Python: >=", "Requires-Dist: torch==", "License-File")
    for field in fields:
        for kind, value in NUMBERS.items():
            yield f"METADATA {field} {kind}", _with_metadata(f"{field}{'' if ':' in field else ': '}{value}")
    for field in ("Wheel-Version", "Build", "Tag: cp", "Tag: cp3-cp"):
        for kind, value in NUMBERS.items():
            text = f"Wheel-Version: 1.0\nRoot-Is-Purelib: false\n{field}{'' if ':' in field else ': '}{value}\n"
            yield f"WHEEL {field} {kind}", _with_wheel_file(text)
    yield "WHEEL tag product", _with_wheel_file("Wheel-Version: 1.0\nTag: " + "-".join(["a.b"] * 40) + "\n")
    yield "WHEEL wide tag", _with_wheel_file("Wheel-Version: 1.0\nTag: " + "-".join([".".join("ab" * 2000)] * 3) + "\n")
    yield "WHEEL many tags", _with_wheel_file("Wheel-Version: 1.0\n" + "Tag: a.b-c.d-e.f\n" * 100_000)
    yield "METADATA long line", _with_metadata("Summary: " + "x" * 3_000_000)
    yield "METADATA many requirements", _with_metadata("Requires-Dist: a\n" * 200_000)
    yield "METADATA nested requirement", _with_metadata("Requires-Dist: a; " + "(" * 900 + "os_name=='nt'" + ")" * 900)
    yield (
        "METADATA many markers",
        _with_metadata("Requires-Dist: torch; " + "os_name=='nt' and " * 100 + "os_name=='nt'\n"),
    )
    yield "METADATA folded", _with_metadata("Description: a\n" + " b\n" * 300_000)


def _with_metadata(line: str) -> Maker:
    def make(folder: Path) -> tuple[str, ...]:
        head = "" if line.startswith(("Metadata-Version", "Version")) else "Metadata-Version: 2.4\nVersion: 1.0\n"
        text = f"{head}Name: pkg\n{line}\n"
        _wheel(folder, {PYD: "", "pkg-1.0.dist-info/METADATA": text})
        return SCAN

    return make


def _with_wheel_file(text: str) -> Maker:
    def make(folder: Path) -> tuple[str, ...]:
        _wheel(folder, {PYD: "", "pkg-1.0.dist-info/WHEEL": text})
        return VERIFY

    return make


def _code() -> Makers:
    for name, text in ATTACKS.items():
        source = text.encode("utf-8", "surrogatepass") + b"\nimport os\nos.add_dll_directory(a)\nfrom . import _x\n"
        yield f"code {name}", _with_files({PYD: "imports gone.dll", "pkg/__init__.py": source})
    dense = b"import ctypes\nctypes.CDLL('a.dll')\n" + b"x(1)\n" * 30_000
    yield "code many files", _with_files({f"pkg/m{n}.py": dense for n in range(150)} | {PYD: ""})
    lists = {f"pkg.libs/.load-order-{n}": "a.dll b.dll " * 200 for n in range(300)}
    yield "code load orders", _with_files({**lists, PYD: "", "pkg.libs/a.dll": ""})


def _with_files(
    files: Mapping[str, bytes | str] | Callable[[], Mapping[str, bytes | str]],
) -> Maker:
    """Write a wheel with these files; those of a function are made when they are wanted."""

    def make(folder: Path) -> tuple[str, ...]:
        _wheel(folder, files() if callable(files) else files)
        return SCAN

    return make


def _images() -> Makers:
    odd = ["cudart64_{}.dll", "cudnn64_{}.dll", "python{}.dll", "mkl_rt.{}.dll", "cupti64_{}.dll", "nvrtc64_{}_0.dll"]
    for pattern in odd:
        for number in ("9" * 200, "²", "٣"):
            dll = pattern.format(number)
            try:
                yield f"import {pattern} {number[:2]}", _with_files({PYD: f"imports {dll}"})
            except UnicodeEncodeError:
                continue
    for target in (f"a.#{LONG[:3000]}", "a.#1_0", "a.#", "a.", ".", "#1", "b.f", "a.f" * 900):
        dll = forge_dll("a.dll", forwarders={"f": target})
        yield (
            f"forwarder {target[:5]} {len(target)}",
            _with_files(
                {
                    PYD: "imports a.dll",
                    "pkg/a.dll": dll,
                    "pkg/b.dll": "forwards f to a.f",
                }
            ),
        )
    magics = forge_dll("a.dll", sections={".nv_fatb": b"\x50\xed\x55\xba\x01\x00\x10\x00" * 250_000})
    yield "fatbin magics", lambda folder: (_wheel(folder, {"pkg/a.dll": magics}), (*SCAN, "--archs"))[1]
    heads = forge_dll("a.dll", sections={".nv_fatb": (b"\x50\xed\x55\xba\x01\x00\x10\x00" + b"\xff" * 8) * 120_000})
    yield "fatbin long", lambda folder: (_wheel(folder, {"pkg/a.dll": heads}), (*SCAN, "--gpu", "sm_86"))[1]


def _shapes() -> Makers:
    """Packages whose DLLs need each other in ways that multiply."""
    gone = {f"missing{n:03}.dll": ["f"] for n in range(100)}
    every = {f"d{n}.dll": ["f"] for n in range(120)}
    named = [f"cudnn_ops_infer64_{n}.dll" for n in range(200)] + [f"mkl_core.{n}.dll" for n in range(200)]
    symbols = [f"f{n}" for n in range(3000)]
    code = {"torch/__init__.py": "", "torch/version.py": "__version__ = '2.0'\ncuda = '11.7'\n"}

    def modules(count: int, imports: Mapping[str, Sequence[str]]) -> dict[str, bytes]:
        return {f"pkg/_m{n}.cp311-win_amd64.pyd": extension(*imports) for n in range(count)}

    shapes = {
        "missing": lambda: modules(200, gone),
        "apart": lambda: {
            f"pkg/s{n}/_m.cp311-win_amd64.pyd": "imports " + ", ".join(f"gone{n}_{k}.dll" for k in range(20))
            for n in range(200)
        },
        "chain": lambda: modules(1, {"d0.dll": ["f"]}) | _chain(1500),
        "clique": lambda: (
            modules(1, every) | {f"pkg/{name}": forge_dll(name, imports=every, exports=["f"]) for name in every}
        ),
        "modules over a chain": lambda: modules(150, {"d0.dll": ["f"]}) | _chain(150),
        "idle": lambda: modules(1, {}) | {f"pkg/p{n}/d{n}.dll": data for n, data in enumerate(_chain(1500).values())},
        "debug": lambda: modules(1, {}) | {f"pkg/d{n}d.dll": "imports ucrtbased.dll" for n in range(800)},
        "families": lambda: modules(1, {}) | {f"pkg/{name}": forge_dll(name) for name in named},
        "broken": lambda: (
            modules(1, {f"d{n}.dll": ["f"] for n in range(1000)}) | {f"pkg/d{n}.dll": b"MZ" for n in range(3000)}
        ),
        "symbols": lambda: modules(30, {"a.dll": symbols}) | {"pkg/a.dll": "exports g"},
        "forwarders": _forwarders,
        "torch": lambda: {f"torch/lib/d{n}.dll": forge_dll(f"d{n}.dll", imports=gone) for n in range(150)} | code,
    }
    for kind, files in shapes.items():
        yield f"shape {kind}", _with_files(files)


def _chain(length: int) -> dict[str, bytes]:
    """DLLs each of which needs the next; the last one needs a DLL that is not there."""
    return {f"pkg/d{n}.dll": f"imports d{n + 1}.dll" for n in range(length)}


def _forwarders() -> dict[str, bytes]:
    """A ring of DLLs that forward every function to the next one."""
    functions = [f"f{k}" for k in range(60)]
    ring = {
        f"pkg/d{n}.dll": forge_dll(f"d{n}.dll", forwarders={name: f"d{(n + 1) % 60}.{name}" for name in functions})
        for n in range(60)
    }
    return {PYD: "imports " + ", ".join(f"d{n}.dll:{','.join(functions)}" for n in range(60)), **ring}


def _archives() -> Makers:
    for kind, tags in {
        "product": "-".join([".".join("abcdefghij" * 4)] * 3)[:200],
        "dots": "-".join(["." * 60] * 3),
    }.items():
        yield f"file name {kind}", _named(f"pkg-1.0-{tags}.whl")
    for number in ("²", "9" * 150, "1!1", "1e9"):
        yield f"file name {number[:3]}", _named(f"pkg-{number}-{number[:20]}-cp311-cp311-win_amd64.whl")


def _named(name: str) -> Maker:
    def make(folder: Path) -> tuple[str, ...]:
        buffer = io.BytesIO()
        with zipfile.ZipFile(buffer, "w") as archive:
            archive.writestr("pkg-1.0.dist-info/METADATA", "Metadata-Version: 2.1\nName: pkg\nVersion: 1.0\n")
        _write(folder, f"dist/{name}", buffer.getvalue())
        return VERIFY

    return make


# -------------------------------------------------------------------------------------------------- texts and documents


def _text(name: str, text: str | bytes, *words: str) -> Maker:
    def make(folder: Path) -> tuple[str, ...]:
        _wheel(folder, {PYD: ""})
        _write(folder, name, text)
        return words

    return make


def _documents() -> Makers:
    image = {"path": "a.dll", "size": 1, "machine": "amd64"}
    wheel = {
        "path": "a.whl",
        "name": "pkg",
        "version": "1",
        "verdict": "ok",
        "images": [image],
        "findings": [],
        "missing": [],
    }
    scan = json.dumps({"schema": "wheelfix.scan/1", "wheels": [wheel]})
    plan = '{"schema": "wheelfix.lock/1", "plans": [%s]}'
    base = '{"schema": "wheelfix.baseline/1", "findings": [%s]}'
    for kind, value in {
        "1e999": "1e999",
        "nan": "NaN",
        "digits": LONG,
        "text": '"1"',
        "list": "[]",
        "minus": "-1",
    }.items():
        saved = scan.replace('"size": 1', f'"size": {value}')
        yield f"saved scan size {kind}", _text("old.json", saved, "diff", "old.json", "dist", "--no-config")
        yield (
            f"lock number {kind}",
            _text("l.json", plan % f'{{"wheel": {value}}}', "repair", "--locked", "l.json", "--no-config"),
        )
        yield f"baseline {kind}", _text("b.json", base % value, *SCAN, "--baseline", "b.json")
    deep = {
        "deep": "[" * 200_000,
        "deep objects": '{"a":' * 100_000,
        "wide": "[" + "{}," * 1_000_000 + "{}]",
        "text": '"' + "x" * 9_000_000 + '"',
    }
    for kind, text in {**deep, "empty": "", "bytes": "\x00\xff", "surrogate": '"\\ud800"'}.items():
        yield f"saved scan {kind}", _text("old.json", text, "diff", "old.json", "dist", "--no-config")
        yield f"lock {kind}", _text("l.json", text, "repair", "--locked", "l.json", "--no-config")
        yield f"baseline {kind}", _text("b.json", text, *SCAN, "--baseline", "b.json")
        yield f"lock plans {kind}", _text("l.json", plan % text, "repair", "--locked", "l.json", "--no-config")
    verdict = scan.replace('"ok"', '"bad"').replace('"amd64"', '"\x1b[31m"')
    yield "saved scan verdict", _text("old.json", verdict, "diff", "old.json", "dist", "--no-config")
    many = json.dumps(
        {
            "schema": "wheelfix.scan/1",
            "wheels": [{**wheel, "images": [{**image, "path": f"d{n}/x{n}.dll"} for n in range(20_000)]}],
        }
    )
    yield "saved scan many", _text("old.json", many, "diff", "old.json", "dist", "--no-config")


def _logs() -> Makers:
    line = 'OSError: [WinError 126] The module could not be found. Error loading "C:\\a\\torch\\lib\\fbgemm.dll"\n'
    texts = {
        "code": f"LoadLibrary failed with error {LONG}",
        "code square": "LoadLibrary failed with error ²",
        "arabic": "[WinError ١٢٦]",
        "many": line * 5000,
        "one line": line.replace("\n", " ") * 2000,
        "long line": "x" * 3_000_000,
        "nul": "\0" * 1_000_000,
        "frames": 'File "a.py", line 1, in f\n' * 50_000 + line,
        "frame number": f'File "a.py", line {LONG}, in f\n' + line,
        "paths": "C:\\" * 200_000 + "a.dll",
        "versions": f"torch {LONG} CUDA {LONG} Python {LONG}\n" + line,
        "bytes": "\xff\xfe" * 10_000,
        "hex": f"error 0x{'f' * 5000}",
        "exit code": f"exit code {LONG} 3221225781",
        "dlls": "".join(f"d{n}.dll not found\n" for n in range(9000)),
    }
    for kind, text in texts.items():
        yield f"log {kind}", _text("error.txt", text, "diagnose", "error.txt", "--no-config")
        yield (
            f"log with a wheel {kind}",
            _text("error.txt", text, "diagnose", "error.txt", "--wheel", f"dist/{NAME}", "--no-config"),
        )


# ------------------------------------------------------------------------------------------ environments and packages


def _environments() -> Makers:
    def maker(files: Mapping[str, str | bytes]) -> Maker:
        def make(folder: Path) -> tuple[str, ...]:
            usual = {
                "python.exe": b"MZ",
                "pyvenv.cfg": "version = 3.11.1\n",
                "Lib/site-packages/pkg/_x.pyd": "",
                "Lib/site-packages/pkg-1.0.dist-info/METADATA": "Name: pkg\nVersion: 1.0\n",
                "Lib/site-packages/pkg-1.0.dist-info/WHEEL": "Tag: cp311-cp311-win_amd64\n",
                "Lib/site-packages/pkg-1.0.dist-info/RECORD": "pkg/_x.pyd,,\n",
            }
            lay(folder / "env", {**usual, **files})
            return ("scan", "env", "--no-discover", "--no-config")

        return make

    info = "Lib/site-packages/pkg-1.0.dist-info"
    for kind, value in NUMBERS.items():
        yield f"environment python {kind}", maker({"pyvenv.cfg": f"version = {value}.{value}\n"})
        yield f"environment tag {kind}", maker({f"{info}/WHEEL": f"Tag: {value}\nTag: cp{value}-cp{value}-win_amd64\n"})
        yield f"environment version {kind}", maker({f"{info}/METADATA": f"Name: pkg\nVersion: {value}\n"})
        yield (
            f"environment conda {kind}",
            maker({"conda-meta/a-1.json": f'{{"version": "{value}", "files": ["a.dll"]}}'}),
        )
    yield "environment conda deep", maker({"conda-meta/a-1.json": "[" * 100_000})
    yield "environment record", maker({f"{info}/RECORD": '"' + "x" * 3_000_000})


def _packages() -> Makers:
    def maker(files: Mapping[str, bytes], pax: Mapping[str, str] | None = None) -> Maker:
        def make(folder: Path) -> tuple[str, ...]:
            _wheel(folder, {PYD: "imports libiomp5md.dll"})
            (folder / "roots").mkdir()
            with tarfile.open(folder / "roots" / "a-1-0.tar.bz2", "w:bz2", format=tarfile.PAX_FORMAT) as archive:
                for name, data in files.items():
                    header = tarfile.TarInfo(name)
                    header.size, header.pax_headers = len(data), dict(pax or {})
                    archive.addfile(header, io.BytesIO(data))
            return ("repair", "dist", "--no-discover", "--no-config", "--root", "roots/a-1-0.tar.bz2", "--dry-run")

        return make

    dll = library("libiomp5md.dll")
    for kind, value in NUMBERS.items():
        index = f'{{"name": "intel-openmp", "version": "{value}", "subdir": "win-64"}}'.encode()
        yield f"conda version {kind}", maker({"info/index.json": index, "Library/bin/libiomp5md.dll": dll})
        yield f"conda pax size {kind}", maker({"Library/bin/libiomp5md.dll": dll}, {"size": value})
        yield f"conda pax time {kind}", maker({"Library/bin/libiomp5md.dll": dll}, {"mtime": value, "uid": value})
    for kind, text in {
        "deep": "[" * 100_000,
        "number": LONG,
        "nan": "NaN",
        "wide": "[" + "[]," * 300_000 + "[]]",
    }.items():
        yield f"conda index {kind}", maker({"info/index.json": text.encode(), "Library/bin/libiomp5md.dll": dll})
    yield "conda many", maker({f"Library/bin/d{n}.dll": b"MZ" for n in range(3000)})
    yield "conda long pax", maker({"Library/bin/libiomp5md.dll": dll}, {"comment": "x" * 1_000_000})


def corpus() -> dict[str, Maker]:
    """Every input by its name: what writes it into a folder and returns the command line."""
    parts = (_metadata, _code, _images, _shapes, _archives, _documents, _logs, _environments, _packages)
    return {name: make for part in parts for name, make in part()}
