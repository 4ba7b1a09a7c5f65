"""Whether a candidate serves those who need it: machine, symbols, and forwarders followed to their end."""

from __future__ import annotations

from typing import TYPE_CHECKING

from wheelfix.base.values import dataclass
from wheelfix.knowledge.system import classify
from wheelfix.loader.loadcall import split_forwarder
from wheelfix.model import Image, Malformed, dll_key

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from wheelfix.model import ImageFacts, Machine, Symbol
    from wheelfix.roots.choice.model import Needer
    from wheelfix.roots.rootfile import Facts, RootFile

MAX_HOPS = 16
"""Forwarders that may follow upon each other; Windows' own have two or three."""


@dataclass(frozen=True, slots=True)
class Serves:
    """A candidate has what is asked of it."""

    brings: tuple[str, ...] = ()
    """DLLs beside it to which it forwards, and which must be vendored too."""


def serves(
    file: RootFile,
    machine: Machine,
    needers: Sequence[Needer],
    facts: Facts,
    provided: Callable[[str], ImageFacts | None],
) -> Serves | str:
    """Return that a candidate serves all needers, or the reason why not."""
    image = facts.image(file)
    if isinstance(image, Malformed):
        return f"not a DLL that can be loaded: {image.reason}"
    if image.machine is not machine:
        return f"for {image.machine}, not for {machine}"
    if debug := next((need.dll for need in image.imports if classify(need.dll, machine).debug), ""):
        return f"a debug build: it imports {debug}, which only machines with Visual Studio have"
    missing = [
        (needer.path, symbol) for needer in needers for symbol in needer.symbols if not image.exports.offers(symbol)
    ]
    if missing:
        return _missing_exports(missing)
    wanted = {symbol for needer in needers for symbol in needer.symbols}
    forwarders = image.exports.forwarders
    used = [symbol for symbol in forwarders if symbol in wanted]
    # Of a DLL that is loaded by name we do not know what will be asked; every name may be.
    names = used if wanted else [symbol for symbol in forwarders if isinstance(symbol, str)]
    brings: dict[str, str] = {}
    faults = [
        fault for name in names if (fault := _follow(file, machine, name, forwarders[name], facts, provided, brings))
    ]
    if faults and (wanted or len(faults) == len(image.exports.names)):
        return faults[0]
    return Serves(tuple(brings.values()))


def _missing_exports(missing: list[tuple[str, Symbol]]) -> str:
    importer, symbol = missing[0]
    name = f"ordinal {symbol}" if isinstance(symbol, int) else symbol
    more = f" (and {len(missing) - 1} more)" if len(missing) > 1 else ""
    return f"it does not export {name}, which {importer} imports{more}"


def _follow(
    file: RootFile,
    machine: Machine,
    symbol: Symbol,
    target: str,
    facts: Facts,
    provided: Callable[[str], ImageFacts | None],
    brings: dict[str, str],
) -> str:
    """Return what is wrong with a forwarder, or nothing; note the DLLs that it brings."""
    first = target
    for _ in range(MAX_HOPS):
        name, wanted = split_forwarder(target)
        if classify(name, machine).on_every_machine:
            return ""
        neighbour = facts.beside(file, name)
        image = provided(name) or (facts.image(neighbour) if neighbour is not None else None)
        if not isinstance(image, Image):
            return f"it forwards {symbol} to {name}, which is not beside it"
        if not image.exports.offers(wanted):
            return f"it forwards {symbol} to {name}, which does not export {wanted}"
        if neighbour is not None and provided(name) is None:
            brings.setdefault(dll_key(name), neighbour.name)
        further = image.exports.forwarders.get(wanted)
        if further is None:
            return ""
        target = further
    return f"its forwarder of {symbol} to {first} has no end"
