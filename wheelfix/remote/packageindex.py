"""Package indexes: their pages, the files of a project, and the wheel that an installer would take."""

from __future__ import annotations

import functools
import hashlib
import html
import mimetypes
import re
from operator import itemgetter
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple, TypeAlias
from urllib.parse import unquote, urldefrag, urljoin, urlsplit
from urllib.request import url2pathname

from packaging.specifiers import SpecifierSet
from packaging.tags import compatible_tags, cpython_tags
from packaging.utils import canonicalize_name, parse_wheel_filename

from wheelfix.base.inputfiles import read_file
from wheelfix.base.options import PYTHONS, InstallTarget
from wheelfix.base.parsing import parse_json
from wheelfix.base.values import frozen, replace
from wheelfix.errors import InputError, NetworkFailure, shown_url
from wheelfix.remote.addresses import is_url, split_url
from wheelfix.remote.ranges import check_hash, refuse_status
from wheelfix.remote.transport import Attempts, CutShort, Transport

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from packaging.requirements import Requirement
    from packaging.tags import Tag
    from packaging.version import Version

    from wheelfix.remote.settings import IndexSettings


# ---------------------------------------------------------------------------------------------------------------- pages
# The pages of package indexes as values: JSON (PEP 691) and HTML (PEP 503).
# A page may come from anybody, so each costs time in proportion to its bytes. ``html.parser`` does not promise that: it
# looks for the end of an open comment or tag again and again.

ACCEPTED = "application/vnd.pypi.simple.v1+json, application/vnd.pypi.simple.v1+html;q=0.2, text/html;q=0.1"
LONGEST_NAME = 300
"""Characters of a file name; Windows and Linux have names of up to 255."""
LONGEST_RULE = 200
"""Characters that say which versions of Python a file is for."""
LONGEST_TEXT = 4096
"""Characters of an address or another attribute; what is longer is not used."""
MOST_FILES = 100_000
"""Files of a page; that of the project with the most has half as many."""
_NOT_SHOWN = (("<!--", "-->"), ("<script", "</script"), ("<style", "</style"))
"""What begins and ends a part of an HTML page in which a link is none."""
_TAG = re.compile(r"""<(a|base)\s((?:[^<>"']|"[^"]*"|'[^']*')*)>([^<]*)""", re.IGNORECASE)
"""A link with its attributes and its text. A vain try ends at the next tag that is not in quotation marks."""
_ATTRIBUTE = re.compile(r"""([^\s=/]+)(?:\s*=\s*("[^"]*"|'[^']*'|[^\s"']*))?""")
_USED = frozenset({"href", "data-yanked", "data-requires-python", "data-core-metadata", "data-dist-info-metadata"})
_SHA256 = re.compile(r"sha256=([0-9a-f]{64})", re.IGNORECASE)


@frozen
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

    @property
    def local_path(self) -> Path:
        """Where it is, if its URL is a ``file:`` URL."""
        return local_path(self.url)


def read_page(data: bytes, kind: str, url: str) -> list[IndexFile]:
    """Return the files of a page; ValueError if it is neither of the two formats, or has too many files.

    ``kind`` is its Content-Type. Files whose names no system can have are left out.
    """
    if "json" in kind:
        return list(_json_files(parse_json(data), url))
    if "html" in kind or data.lstrip()[:1] == b"<":
        return list(_html_files(data, url))
    known = kind.partition(";")[0].strip()
    # only a type that is known is repeated: a server may put anything there
    known = known if known in mimetypes.types_map.values() else "of no known type"
    raise ValueError(f"it is {known}, not a page of an index")


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
    page = data.decode("utf-8", "replace")
    for opening, closing in _NOT_SHOWN:
        first, *others = re.split(opening, page, flags=re.IGNORECASE)
        ends = (re.split(closing, part, maxsplit=1, flags=re.IGNORECASE) for part in others)
        page = "".join([first, *(end[1] for end in ends if len(end) > 1)])
    base = ""
    for number, tag in enumerate(_TAG.finditer(page), 1):
        _refuse_many(number, MOST_FILES)
        own: dict[str, str] = {}
        for key, value in _ATTRIBUTE.findall(tag[2]):
            if key.lower() in _USED and len(value) <= LONGEST_TEXT:
                own.setdefault(key.lower(), html.unescape(value.strip("\"'")))
        if tag[1].lower() == "base":
            base = base or own.get("href", "")
        elif "href" in own:
            address, fragment = urldefrag(own["href"])
            target, shown = urljoin(urljoin(url, base), address), html.unescape(tag[3]).strip()
            in_address = unquote(urlsplit(target).path.rpartition("/")[2])
            name = shown if shown.endswith((".whl", ".tar.gz", ".zip")) else in_address
            if len(name) > LONGEST_NAME:
                continue
            metadata = own.get("data-core-metadata", own.get("data-dist-info-metadata", "false"))
            yield IndexFile(
                name, target, metadata != "false", "data-yanked" in own, _hash(fragment), 0,
                _short(own.get("data-requires-python")), metadata_sha256=_hash(metadata),
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


# --------------------------------------------------------------------------------------------------------- packageindex
# Package indexes: the files of a project, and the wheel of it that an installer on the target would take.


LARGEST_PAGE = 32 << 20
"""Bytes of a page, unpacked; that of the project with the most files has 20 MB."""
LARGEST_TEXT = 4 << 20
"""Bytes of a METADATA."""
MOST_CLAUSES = 250
"""Conditions of one requirement: the time that ``packaging`` takes grows with their square."""
MOST_RULES = 500
"""Different texts about versions of Python that are read for one choice; a project has some dozens."""


class _Page(NamedTuple):
    """What a server has under an address."""

    data: bytes
    kind: str
    address: str
    """Where redirects led to."""
    unsafe: str
    """The first address on the way there at which somebody could have changed it; empty: there is none."""


class PackageIndex:
    """The indexes of this user, as one."""

    def __init__(self, transport: Transport, settings: IndexSettings) -> None:
        self._transport, self._settings = transport, settings
        self._pages: dict[str, list[IndexFile]] = {}

    def files(self, project: str) -> list[IndexFile]:
        """Return the files of a project on all indexes, each name once; none for a project that is on none of them."""
        name = canonicalize_name(project)
        if name not in self._pages:
            found: dict[str, IndexFile] = {}
            for place in self._settings.find_links:
                for file in self._files_at(place):
                    if canonicalize_name(file.name.split("-")[0]) == name:
                        found.setdefault(file.name, file)
            for url in self._settings.urls:
                files = self._files_at(f"{url}/{name}/", "index.html")
                for file in files:
                    found.setdefault(file.name, file)
                if files and self._settings.first_index:
                    break
            self._pages[name] = list(found.values())
        return self._pages[name]

    def metadata(self, file: IndexFile) -> str:
        """Return the METADATA that the index has beside a file; NetworkFailure if it is not what the page says."""
        url = f"{file.url}.metadata"
        page = self._page(url, LARGEST_TEXT)
        if page is None:
            raise InputError(f"{shown_url(url)} does not exist")
        if file.metadata_sha256:
            check_hash(hashlib.sha256(page.data).hexdigest(), file.metadata_sha256, shown_url(url))
        elif page.unsafe and not file.page:
            raise NetworkFailure(
                f"{shown_url(url)} is not read",
                because=f"it came from {shown_url(page.unsafe)} over plain http, and the index has no hash of it",
                hint="use an index whose files come over https, or name the host in pip's trusted-host",
            )
        return page.data.decode("utf-8", "replace")

    def _files_at(self, place: str, page: str = "") -> list[IndexFile]:
        """Return the files of a page, of a folder of this disk, or of a ``page`` in that folder if there is one."""
        if is_url(place):
            return self._remote_files(place)
        path = local_path(place) if place.lower().startswith("file:") else Path(place).expanduser()
        if page and (path / page).is_file():
            path /= page
        return _read_local(path) if path.is_file() else _folder_files(path)

    def _remote_files(self, url: str) -> list[IndexFile]:
        page = self._page(url, LARGEST_PAGE)
        if page is None:
            return []
        try:
            files = read_page(page.data, page.kind, page.address)
            return [replace(file, page=page.unsafe) for file in files if is_url(file.url)]  # no file of this machine
        except ValueError as exc:
            raise NetworkFailure(
                f"{shown_url(url)} is not a page of a package index",
                because=str(exc)[:200],
                hint="check --index-url, and what pip and uv are configured for",
            ) from exc

    def _page(self, url: str, limit: int) -> _Page | None:
        """Return a page; None where there is none."""
        attempts = Attempts(self._transport.patience)
        while True:
            with self._transport.get(url, {"Accept": ACCEPTED}, decoded=True) as answer:
                if answer.status in (404, 410):
                    return None
                refuse_status(answer, shown_url(url))
                try:
                    data = b"".join(answer.chunks(limit))
                except CutShort as error:
                    attempts.note(error)
                    continue
                return _Page(data, answer.headers.get("Content-Type", "").lower(), answer.final, answer.unsafe)

    # ---------------------------------------------------------------------------------------------- choosing

    def choose(self, requirement: Requirement, target: InstallTarget) -> IndexFile:
        """Return the wheel that an installer on the target takes; InputError says what there is instead."""
        return choose_file(self.files(requirement.name), requirement, target, self._where())

    def _where(self) -> str:
        places = [*self._settings.urls, *self._settings.find_links]
        return ", ".join(map(shown_url, places[:3])) + (" and others" if len(places) > 3 else "")


def local_path(url: str) -> Path:
    """Return the path that a ``file:`` URL means."""
    parts = split_url(url)
    path = f"//{parts.netloc}{parts.path}" if parts.netloc not in ("", "localhost") else parts.path
    return Path(url2pathname(path))


def _read_local(page: Path) -> list[IndexFile]:
    try:
        return read_page(read_file(page, LARGEST_PAGE), "text/html", page.absolute().as_uri())
    except (OSError, ValueError):
        return []


def _folder_files(folder: Path) -> list[IndexFile]:
    try:
        return [IndexFile(path.name, path.absolute().as_uri()) for path in sorted(folder.glob("*.whl"))]
    except OSError:
        return []


@frozen
class _IndexWheel:
    """A wheel on an index, by its name."""

    file: IndexFile
    build: tuple[int, str]
    tags: tuple[frozenset[str], frozenset[str], frozenset[str]]
    """Of interpreters, ABIs and platforms. All combinations are meant: a name of 2 KB has a hundred million."""

    def rank(self, ranks: Mapping[Tag, int]) -> int | None:
        """Return the place of the best of its tags among those that an installer takes."""
        pythons, abis, platforms = self.tags
        found = (
            rank
            for tag, rank in ranks.items()
            if tag.interpreter in pythons and tag.abi in abis and tag.platform in platforms
        )
        return min(found, default=None)


Offers: TypeAlias = "dict[Version, list[_IndexWheel]]"
"""The wheels of a distribution by their versions."""


def offered_wheels(files: Iterable[IndexFile]) -> Offers:
    """Return the wheels among some files by their versions."""
    offered: Offers = {}
    for file in files:
        name, *tags = file.name.removesuffix(".whl").rsplit("-", 3)
        if len(tags) != 3 or not file.name.endswith(".whl") or len(file.name) > LONGEST_NAME:
            continue
        try:
            _, version, build, _ = parse_wheel_filename(f"{name}-py3-none-any.whl")
        except ValueError:
            continue
        pythons, abis, platforms = (frozenset(part.lower().split(".")) for part in tags)
        offered.setdefault(version, []).append(_IndexWheel(file, build or (0, ""), (pythons, abis, platforms)))
    return offered


def choose_file(files: Iterable[IndexFile], requirement: Requirement, target: InstallTarget, where: str) -> IndexFile:
    """Return the wheel of some files that an installer on the target takes."""
    known = list(files)
    if not known:
        raise InputError(
            f"there is no distribution {requirement.name}",
            because=f"asked: {where or 'no index at all'}",
            hint="check the name; --index-url names another index",
        )
    offered = offered_wheels(known)
    found = next(fitting_wheels(offered, requirement.specifier, target), None)
    if found is not None:
        return found[1]
    raise _nothing_fits(requirement, target, _allowed(offered, requirement.specifier), offered)


def newest_python(
    files: Iterable[IndexFile], specifier: SpecifierSet, platform: str
) -> tuple[tuple[int, int], Version] | None:
    """Return the newest Python that one of some files is a wheel for, and the version of that wheel; or None."""
    offered = offered_wheels(files)
    for python in PYTHONS:
        found = next(fitting_wheels(offered, specifier, InstallTarget(platform, python)), None)
        if found is not None:
            return python, found[0]
    return None


def fitting_wheels(
    offered: Offers, specifier: SpecifierSet, target: InstallTarget
) -> Iterator[tuple[Version, IndexFile]]:
    """Yield each version that a specifier allows and the target can install, the newest first, with its best wheel."""
    pinned = any(one.operator in ("==", "===") and "*" not in one.version for one in specifier)
    ranks = [(python, _tag_ranks(python, target.platform)) for python in target.pythons]
    if len({one.file.requires_python for wheels in offered.values() for one in wheels}) > MOST_RULES:
        raise InputError(f"its files have more than {MOST_RULES} different texts about versions of Python")
    for version in sorted(_allowed(offered, specifier), reverse=True):
        wheels = [one for one in offered[version] if pinned or not one.file.yanked]
        for python, ranks_of in ranks:
            best = [
                (-rank, one.build, one.file)
                for one in sorted(wheels, key=lambda one: one.file.name)
                if (rank := one.rank(ranks_of)) is not None and _is_for(one.file.requires_python, python)
            ]
            if best:
                yield version, max(best, key=itemgetter(0, 1))[2]
                break


def _allowed(offered: Offers, specifier: SpecifierSet) -> list[Version]:
    """Return the versions that a specifier allows; preliminary ones only where there are no others."""
    wanted = SpecifierSet(",".join(sorted({str(one) for one in specifier})))
    if len(wanted) > MOST_CLAUSES:
        raise InputError("no version is chosen", because=f"there are more than {MOST_CLAUSES} conditions")
    return list(wanted.filter(offered)) or list(wanted.filter(offered, prereleases=True))


@functools.lru_cache(MOST_RULES)
def _is_for(requires: str, python: tuple[int, int]) -> bool:
    """Whether a file is for a version of Python, as far as the index says."""
    try:
        return SpecifierSet(requires).contains(f"{python[0]}.{python[1]}.99", prereleases=True)
    except ValueError:  # not a specifier, or a number with more digits than Python reads
        return True


def _tag_ranks(python: tuple[int, int], platform: str) -> dict[Tag, int]:
    """Return the tags that an installer takes, the best with the lowest number."""
    own = list(cpython_tags(python, platforms=[platform]))
    return {
        tag: rank for rank, tag in enumerate([*own, *compatible_tags(python, f"cp{python[0]}{python[1]}", [platform])])
    }


def _nothing_fits(
    requirement: Requirement,
    target: InstallTarget,
    fitting: Sequence[Version],
    offered: Offers,
) -> InputError:
    if not fitting:
        versions = [str(version) for version in sorted(offered, reverse=True)]
        listed = ", ".join(versions[:8]) + (" and older ones" if len(versions) > 8 else "")
        return InputError(
            f"there is no wheel of {requirement}",
            because=f"the index has {listed}" if versions else "the index has no wheels of it at all",
            hint="check the version",
        )
    newest = max(fitting)
    names = (one.file.name.removesuffix(".whl").split("-") for one in offered[newest])
    tags = sorted({f"{parts[-3]}-{parts[-1]}"[:100] for parts in names})
    return InputError(
        f"{requirement} has no wheel for {target}",
        because=f"version {newest} has wheels for {', '.join(tags[:8])}" + (" and others" if len(tags) > 8 else ""),
        hint="choose with --platform and --python-version",
    )
