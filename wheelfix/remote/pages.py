"""The pages of package indexes as values: JSON (PEP 691) and HTML (PEP 503).

A page may come from anybody, so each costs time in proportion to its bytes. ``html.parser`` does not promise that: it
looks for the end of an open comment or tag again and again. What is needed is little, links and their attributes.
"""

from __future__ import annotations

import html
import re
from typing import TYPE_CHECKING
from urllib.parse import unquote, urldefrag, urljoin, urlsplit

from wheelfix.base.parsing import parse_json
from wheelfix.base.values import dataclass

if TYPE_CHECKING:
    from collections.abc import Iterator

ACCEPTED = "application/vnd.pypi.simple.v1+json, application/vnd.pypi.simple.v1+html;q=0.2, text/html;q=0.1"
LONGEST_NAME = 300
"""Characters of a file name; Windows and Linux have names of up to 255."""
LONGEST_RULE = 200
"""Characters that say which versions of Python a file is for."""
LONGEST_TEXT = 4096
"""Characters of an address or another attribute; what is longer is not used."""
MOST_FILES = 100_000
"""Files of a page; that of the project with the most has half as many."""
MOST_PROJECTS = 2_000_000
MOST_STEPS = 5_000_000
"""Tags and attributes of an HTML page; the list of all projects has 3 000 000."""
_SHA256 = re.compile(r"sha256=([0-9a-f]{64})", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class IndexFile:
    """A file that an index offers."""

    name: str
    url: str
    metadata: bool = False
    """Whether its METADATA is offered beside it (PEP 658)."""
    yanked: bool = False
    sha256: str = ""
    size: int = 0
    """Bytes; 0 where the index does not say."""
    requires_python: str = ""
    page: str = ""
    """Where somebody on the way could have changed the page that names it and its hash; empty: nowhere."""
    metadata_sha256: str = ""


def read_page(data: bytes, kind: str, url: str) -> list[IndexFile]:
    """Return the files of a page; ValueError if it is neither of the two formats, or has too many files.

    ``kind`` is its Content-Type. Files whose names no system can have are left out.
    """
    if "json" in kind:
        return list(_json_files(parse_json(data), url))
    if "html" in kind or data.lstrip()[:1] == b"<":
        return list(_html_files(data, url))
    import mimetypes  # only a type that is known is repeated: a server may put anything there

    known = kind.partition(";")[0].strip()
    known = known if known in mimetypes.types_map.values() else "of no known type"
    raise ValueError(f"it is {known}, not a page of an index")


def project_names(data: bytes, kind: str) -> list[str]:
    """Return the names of all projects, from the page that lists them."""
    if "json" in kind:
        tree = parse_json(data)
        projects = tree.get("projects") if isinstance(tree, dict) else None
        found = [project.get("name") for project in projects or () if isinstance(project, dict)]
        return [name for name in found if isinstance(name, str)]
    return [unquote(link["href"].rstrip("/").rpartition("/")[2]) for link, _ in links(data, MOST_PROJECTS)[0]]


def _json_files(tree: object, url: str) -> Iterator[IndexFile]:
    files = tree.get("files") if isinstance(tree, dict) else None
    if not isinstance(files, list):
        raise ValueError("it has no list of files")
    _refuse_many(len(files), MOST_FILES)
    for file in files:
        if (
            not isinstance(file, dict)
            or not isinstance(file.get("filename"), str)
            or not isinstance(file.get("url"), str)
        ):
            raise ValueError("one of its files has no name or no address")
        if len(file["filename"]) > LONGEST_NAME or len(file["url"]) > LONGEST_TEXT:
            continue
        size, metadata = file.get("size"), file.get("core-metadata", file.get("dist-info-metadata"))
        address, fragment = urldefrag(file["url"])
        yield IndexFile(
            file["filename"],
            urljoin(url, address),
            bool(metadata),
            bool(file.get("yanked")),
            _sha256_in(file.get("hashes")) or _hash(fragment),
            size if isinstance(size, int) and size > 0 else 0,
            _short(file.get("requires-python")),
            metadata_sha256=_sha256_in(metadata),
        )


def _html_files(data: bytes, url: str) -> Iterator[IndexFile]:
    found, base = links(data, MOST_FILES)
    for link, text in found:
        address, fragment = urldefrag(link["href"])
        target = urljoin(urljoin(url, base), address)
        shown = text.strip()
        name = (
            shown if shown.endswith((".whl", ".tar.gz", ".zip")) else unquote(urlsplit(target).path.rpartition("/")[2])
        )
        if len(name) > LONGEST_NAME:
            continue
        metadata = link.get("data-core-metadata", link.get("data-dist-info-metadata", "false"))
        yield IndexFile(
            name, target, metadata != "false", "data-yanked" in link, _hash(fragment), 0,
            _short(link.get("data-requires-python")), metadata_sha256=_hash(metadata),
        )  # fmt: skip


def _refuse_many(found: int, most: int) -> None:
    if found > most:
        raise ValueError(f"it has more than {most} files")


def _short(requires: object) -> str:
    """Return what a file says about versions of Python; nothing where that is no sensible text."""
    return requires if isinstance(requires, str) and len(requires) <= LONGEST_RULE else ""


def _sha256_in(hashes: object) -> str:
    found = hashes.get("sha256") if isinstance(hashes, dict) else ""
    return found.lower() if isinstance(found, str) and re.fullmatch("[0-9A-Fa-f]{64}", found) else ""


def _hash(fragment: str) -> str:
    found = _SHA256.search(fragment)
    return found[1].lower() if found else ""


# ---------------------------------------------------------------------------------------------------------------- HTML

_USED = frozenset({"href", "data-yanked", "data-requires-python", "data-core-metadata", "data-dist-info-metadata"})
_NAME = re.compile(r"/?[A-Za-z][^\s/>]*")
_ATTRIBUTE = re.compile(r"""[\s/]*([^\s/>=]*)(?:\s*=\s*("[^"]*"|'[^']*'|[^\s>]*))?""")
_RAW = {name: re.compile(f"</{name}", re.IGNORECASE) for name in ("script", "style")}
"""Elements whose content is no markup, with where they end."""


def links(data: bytes, most: int) -> tuple[list[tuple[dict[str, str], str]], str]:
    """Return the attributes that are used and the texts of all links of an HTML page, and the base of addresses.

    ValueError if there are more than ``most``.
    """
    page = data.decode("utf-8", "replace")
    found: list[tuple[dict[str, str], str]] = []
    base, last = "", 0
    texts: list[str] | None = None
    for start, end, name, own in _tags(page):
        if texts is not None and len(texts) < 16:
            texts.append(page[last : min(start, last + LONGEST_TEXT)])
        last = end
        if name in ("a", "/a") and texts is not None:
            found[-1] = found[-1][0], html.unescape("".join(texts)[:LONGEST_TEXT])
            texts = None
        if name == "a" and "href" in own:
            found.append((own, ""))
            texts = []
            _refuse_many(len(found), most)
        elif name == "base" and not base:
            base = own.get("href", "")
    if texts is not None:
        found[-1] = found[-1][0], html.unescape("".join([*texts, page[last : last + LONGEST_TEXT]])[:LONGEST_TEXT])
    return found, base


def _tags(page: str) -> Iterator[tuple[int, int, str, dict[str, str]]]:
    """Yield where each tag begins and ends, its name and its attributes; a search that finds no end is the last one."""
    at, steps = page.find("<"), _Steps()
    while at >= 0:
        steps.count()
        found = _NAME.match(page, at + 1)
        if page.startswith(("<!", "<?"), at):
            comment = page.startswith("<!--", at)
            end = page.find("-->" if comment else ">", at + (4 if comment else 2))
            if end < 0:
                return
            at = page.find("<", end)
        elif found is None:
            at = page.find("<", at + 1)
        else:
            name, place = found[0].lower(), found.end()
            own: dict[str, str] = {}
            while page[place : place + 1] != ">":
                steps.count()
                one = _ATTRIBUTE.match(page, place)
                if one is None or place >= len(page):
                    return
                key, value = one[1].lower(), one[2] or ""
                if key in _USED and len(value) <= LONGEST_TEXT:
                    quoted = len(value) > 1 and value[0] in "\"'" and value[-1] == value[0]
                    own.setdefault(key, html.unescape(value[1:-1] if quoted else value))
                place = max(one.end(), place + 1)
            yield at, place + 1, name, own
            raw = _RAW[name].search(page, place) if name in _RAW else None
            if raw is None and name in _RAW:
                return
            at = raw.start() if raw is not None else page.find("<", place)


class _Steps:
    """Counts what is done for a page."""

    def __init__(self) -> None:
        self._done = 0

    def count(self) -> None:
        """ValueError when it was too much."""
        self._done += 1
        if self._done > MOST_STEPS:
            raise ValueError(f"it has more than {MOST_STEPS} tags and attributes")
