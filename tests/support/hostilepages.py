"""Pages of package indexes made at random from what takes readers long: open ends, repeats, products of tags."""

from __future__ import annotations

import json
import random
import time

from packaging.requirements import Requirement

from tests.support.patience import patience
from wheelfix.base.options import InstallTarget
from wheelfix.errors import InputError
from wheelfix.remote.packageindex import IndexFile, choose_file, read_page

SECONDS = 20
URL = "https://index.example/simple/demo/"
PIECES = [
    *("<!--", "-->", "<!", "<![foo", "<![CDATA[", "<?", "<a ", "<a href=", "<a href='", '<a href="', "<a href=x>"),
    *("</a ", "</a>", "</", "<", ">", "=", "'", '"', "/", " ", "\n", "&", "&#", "&#9", "&#x110000;", "&amp;"),
    *("<script>", "</script", "<style", "<base href=//[", "<base href='https://x.example/'>", "\0", "é", "\u2100"),
    *("data-requires-python='", "data-yanked ", ">=3.8", "!=9,", "#sha256=", "a" * 64, "demo-1.0-py3-none-any.whl"),
    *("http://", "https://[", "file:///", "?", "%", "%ff", "..", "x-1-py3-none-any.whl</a>"),
]
TAGS = ["cp311", "py3", "abi3", "none", "win_amd64", "any", "win32", "a", "b", "c"]


def page_of(seed: int) -> tuple[bytes, str]:
    """Return a page, and its Content-Type."""
    dice = random.Random(seed)
    if dice.random() < 0.4:
        return _document(dice), "application/vnd.pypi.simple.v1+json"
    parts = []
    for _ in range(dice.randrange(1, 12)):
        piece = "".join(dice.choices(PIECES, k=dice.randrange(1, 5))) if dice.random() < 0.8 else _link(dice)
        parts.append(piece * min(dice.choice((1, 1, 2, 100, 20_000)), (1 << 18) // len(piece) + 1))
    return "".join(parts)[: 1 << 20].encode("utf-8", "replace"), "text/html"


def name_of(dice: random.Random) -> str:
    """Return a file name that may stand for very many tags."""
    tags = "-".join(".".join(dice.choices(TAGS, k=dice.choice((1, 1, 2, 30, 300)))) for _ in range(3))
    version = dice.choice(["1.0", "9" * dice.choice((1, 200, 6000)), f"1.{dice.randrange(50)}", "1.0.post1.dev2", "x"])
    return f"demo-{version}-{dice.choice(['', '1-', '9' * 250 + '-'])}{tags}.whl"


def _link(dice: random.Random) -> str:
    name = name_of(dice)
    return f'<a href="../{name}#sha256={"0" * 64}" data-requires-python="{_python(dice)}">{name}</a>\n'


def _python(dice: random.Random) -> str:
    many = ",".join(f"!=9.{number}" for number in range(dice.choice((3, 40, 1000))))
    return dice.choice(["", ">=3.8", many, "9" * 6000])


def _document(dice: random.Random) -> bytes:
    files = [
        {
            "filename": name_of(dice),
            "url": dice.choice(["x.whl", "https://[", "//", "x" * dice.choice((1, 10_000))]),
            "requires-python": dice.choice([None, 5, _python(dice)]),
            "hashes": dice.choice([None, {}, {"sha256": "0" * 64}, {"sha256": 5}]),
            "yanked": dice.choice([False, True, "why"]),
        }
        for _ in range(dice.choice((1, 10)))
    ]
    text = json.dumps({"files": files * dice.choice((1, 1, 50))})
    odd = [text[:-1], "[" * 100_000, '{"files":' * 500, text.replace('"filename"', '"name"', 1)]
    return dice.choice([text, text, text, *odd]).encode()


def read_and_choose(data: bytes, kind: str) -> list[IndexFile]:
    """Read a page and choose from it; AssertionError if that takes long, and for every error but the promised ones."""
    started, files = time.process_time(), []
    try:
        files = read_page(data, kind, URL)
        choose_file(files, Requirement("demo>=0.1"), InstallTarget("win_amd64"), "here")
    except (ValueError, RecursionError, InputError):
        pass
    seconds = time.process_time() - started
    assert seconds < SECONDS or seconds < patience(SECONDS), f"{len(data)} bytes took {seconds:.1f} s"
    return files
