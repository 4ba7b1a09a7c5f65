"""Written cases: those of ``cases.toml``, and images that are none or for another machine."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

from tests.oracle.graph import Dll, Graph, Load
from tests.support.images import arguments
from tests.support.tables import read_table
from wheelfix.model import Machine


@dataclass(frozen=True, slots=True)
class Case:
    """A graph, and what comes of it on Windows; ``cases.toml`` says what the fields are."""

    id: str
    graph: Graph
    codes: Sequence[int]
    modules: frozenset[str]
    silent: str = ""
    wine: Sequence[int] = ()


def read_dll(text: str) -> Dll:
    """Read a DLL as ``cases.toml`` writes it: its path, and the image in words."""
    path, _, words = text.partition(": ")
    if words == "no image":
        return Dll(path, content=b"no image")
    given = arguments(words)
    return Dll(path, **given | {"forwarders": tuple(given.get("forwarders", {}).items())})


def cases(process: Machine) -> list[Case]:
    """Return every written case, for a process of a machine type."""
    rows = read_table(__file__, "cases.toml")
    return [*(_case(name, **row) for name, row in rows.items()), *_images(process)]


def _case(
    name: str,
    dlls: Sequence[str],
    loads: Sequence[Any] = (),
    flags: int = 0x1100,
    codes: Sequence[int] = (),
    modules: Sequence[str] = (),
    added: Sequence[str] = (),
    on_path: Sequence[str] = (),
    **more: Any,
) -> Case:
    calls = tuple(Load(**load) for load in loads) or (Load("x/a.dll", flags),)
    graph = Graph(tuple(map(read_dll, dlls)), calls, tuple(added), tuple(on_path))
    return Case(name, graph, tuple(codes) or (0,) * len(calls), frozenset(modules), **more)


def _images(process: Machine) -> Iterator[Case]:
    a_wants_b, there, b = map(read_dll, ("x/a.dll: imports b.dll", "u/b.dll: exports f", "x/b.dll: exports f"))

    def bad(case: str, *dlls: Dll) -> Case:
        return Case(case, Graph(dlls, (Load("x/a.dll"),), ("u",)), (193,), frozenset())

    foreign = Machine.AMD64 if process is Machine.ARM64 else Machine.ARM64
    for machine in (foreign, Machine.X86, Machine.ARM):
        wrong = replace(b, machine=machine)
        yield bad(f"{machine}-on-top", Dll("x/a.dll", machine=machine))
        yield bad(f"{machine}-dependency", a_wants_b, wrong)
        yield bad(f"{machine}-comes-first", a_wants_b, wrong, there)
    truncated = b.forge(process)[:300]
    contents = {"empty": b"", "text": b"version https://git-lfs\n", "dos": b"MZ" + bytes(70), "truncated": truncated}
    for case, content in contents.items():
        yield bad(f"{case}-on-top", Dll("x/a.dll", content=content))
        yield bad(f"{case}-dependency", a_wants_b, Dll("x/b.dll", content=content))
    graph = Graph((Dll("x/a.dll", dll_main=None),), (Load("x/a.dll"),))
    yield Case("no-entry-point", graph, (0,), frozenset(["x/a.dll"]))
