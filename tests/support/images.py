"""Images in words, as tables of cases have them: ``imports a.dll, b.dll:g,h; exports k; for x86``.

After ``imports`` and ``delays`` stand DLLs, after a colon the functions that are wanted (``f``, if there is none);
``exports f, g@7`` gives a function an ordinal; ``forwards f to c.real``; ``names pkg.a`` are texts among the data.
"""

from __future__ import annotations

from pathlib import PurePosixPath
from typing import Any

from tools.forge import Export, forge_dll
from wheelfix.model import Machine, Symbol

ENDINGS = (".dll", ".pyd", ".exe")


def image(path: str, words: str = "") -> bytes:
    """The image of a path; if nothing is exported or forwarded, a DLL has ``f`` and a module its init function."""
    name = PurePosixPath(path).name
    own = {".dll": ["f"], ".pyd": [f"PyInit_{name.partition('.')[0]}"]}.get(PurePosixPath(name).suffix.lower(), [])
    given = arguments(words)
    return forge_dll(name, **{"exports": () if "forwarders" in given else own, **given})


def content(path: str, data: bytes | str) -> bytes:
    """The bytes of a file that is given as such, as its text, or, of an image, in words."""
    if isinstance(data, bytes):
        return data
    return image(path, data) if path.lower().endswith(ENDINGS) else data.encode()


def arguments(words: str) -> dict[str, Any]:
    """What ``forge_dll`` makes the image of."""
    found = {}
    for clause in filter(None, words.split("; ")):
        word, _, rest = clause.partition(" ")
        items = list(filter(None, rest.split(", ")))
        match word:
            case "imports":
                found["imports"] = tuple(map(_wanted, items))
            case "delays":
                found["delay_imports"] = tuple(map(_wanted, items))
            case "exports":
                found["exports"] = tuple(map(_export, items))
            case "forwards":
                pairs = (item.split(" to ") for item in items)
                found["forwarders"] = {_symbol(symbol): target for symbol, target in pairs}
            case "flags":
                found["dependent_load_flags"] = int(rest, 16)
            case "version":
                found["version"] = tuple(map(int, rest.split(".")))
            case "for":
                found["machine"] = Machine(rest)
            case "names":
                found["sections"] = {".rdata": "\0".join(["", *items, ""]).encode()}
            case _:
                raise ValueError(f"what is {clause!r}? Bytes that are no image are given as bytes")
    return found


def _wanted(item: str) -> tuple[str, tuple[Symbol, ...]]:
    dll, colon, symbols = item.partition(":")
    return dll, tuple(map(_symbol, filter(None, symbols.split(",")))) if colon else ("f",)


def _export(item: str) -> Export:
    name, _, ordinal = item.partition("@")
    return (name, int(ordinal)) if ordinal else _symbol(name)


def _symbol(text: str) -> Symbol:
    return int(text) if text.isdigit() else text
