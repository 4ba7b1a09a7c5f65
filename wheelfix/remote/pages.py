"""The pages of package indexes as values: JSON (PEP 691) and HTML (PEP 503)."""

from __future__ import annotations

import re
from html.parser import HTMLParser
from typing import TYPE_CHECKING
from urllib.parse import unquote, urldefrag, urljoin, urlsplit

from wheelfix.parsing import parse_json
from wheelfix.values import dataclass

if TYPE_CHECKING:
    from collections.abc import Iterator

ACCEPTED = "application/vnd.pypi.simple.v1+json, application/vnd.pypi.simple.v1+html;q=0.2, text/html;q=0.1"
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
    """The address of the page that names it and its hash; empty for a file of a folder."""


def read_page(data: bytes, kind: str, url: str) -> list[IndexFile]:
    """Return the files of a page; ValueError if it is neither of the two formats. ``kind`` is its Content-Type."""
    if "json" in kind:
        return list(_json_files(parse_json(data), url))
    if "html" in kind or data.lstrip()[:1] == b"<":
        return list(_html_files(data, url))
    raise ValueError(f"it is {kind.partition(';')[0][:60] or 'of no known type'}, not a page of an index")


def project_names(data: bytes, kind: str) -> list[str]:
    """Return the names of all projects, from the page that lists them."""
    if "json" in kind:
        return [project["name"] for project in parse_json(data)["projects"]]
    return [unquote(link["href"].rstrip("/").rpartition("/")[2]) for link, _ in links(data)[0]]


def _json_files(tree: object, url: str) -> Iterator[IndexFile]:
    files = tree.get("files") if isinstance(tree, dict) else None
    if not isinstance(files, list):
        raise ValueError("it has no list of files")
    for file in files:
        if (
            not isinstance(file, dict)
            or not isinstance(file.get("filename"), str)
            or not isinstance(file.get("url"), str)
        ):
            raise ValueError("one of its files has no name or no address")
        hashes, size = file.get("hashes"), file.get("size")
        sha256 = hashes.get("sha256") if isinstance(hashes, dict) else ""
        address, fragment = urldefrag(file["url"])
        yield IndexFile(
            file["filename"],
            urljoin(url, address),
            bool(file.get("core-metadata", file.get("dist-info-metadata"))),
            bool(file.get("yanked")),
            sha256.lower() if isinstance(sha256, str) and re.fullmatch("[0-9A-Fa-f]{64}", sha256) else _hash(fragment),
            size if isinstance(size, int) and size > 0 else 0,
            file["requires-python"] if isinstance(file.get("requires-python"), str) else "",
            url,
        )


def _html_files(data: bytes, url: str) -> Iterator[IndexFile]:
    found, base = links(data)
    for link, text in found:
        address, fragment = urldefrag(link["href"])
        target = urljoin(urljoin(url, base), address)
        shown = text.strip()
        name = (
            shown if shown.endswith((".whl", ".tar.gz", ".zip")) else unquote(urlsplit(target).path.rpartition("/")[2])
        )
        metadata = link.get("data-core-metadata", link.get("data-dist-info-metadata", "false"))
        yield IndexFile(
            name, target, metadata != "false", "data-yanked" in link, _hash(fragment), 0,
            link.get("data-requires-python", ""), url,
        )  # fmt: skip


def _hash(fragment: str) -> str:
    found = _SHA256.search(fragment)
    return found[1].lower() if found else ""


def links(data: bytes) -> tuple[list[tuple[dict[str, str], str]], str]:
    """Return the attributes and texts of all links of an HTML page, and the base of their addresses."""
    parser = _LinkParser()
    parser.feed(data.decode("utf-8", "replace"))
    parser.close()
    return [(link, "".join(text)) for link, text in parser.links], parser.base


class _LinkParser(HTMLParser):
    """Collects the links of a page: their attributes and texts."""

    def __init__(self) -> None:
        super().__init__()
        self.links: list[tuple[dict[str, str], list[str]]] = []
        self.base = ""
        self._open = False

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        own = {name: value or "" for name, value in attrs}
        if tag == "base" and not self.base:
            self.base = own.get("href", "")
        elif tag == "a" and "href" in own:
            self.links.append((own, []))
            self._open = True

    def handle_endtag(self, tag: str) -> None:
        self._open = self._open and tag != "a"

    def handle_data(self, data: str) -> None:
        if self._open:
            self.links[-1][1].append(data)
