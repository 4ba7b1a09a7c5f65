"""Package indexes: the files of a project, and the wheel of it that an installer on the target would take."""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple, TypeAlias
from urllib.request import url2pathname

from wheelfix.base.inputfiles import read_file
from wheelfix.base.values import dataclass, replace
from wheelfix.errors import InputError, NetworkFailure, shown_url
from wheelfix.remote.addresses import is_url, split_url
from wheelfix.remote.download import check_hash, refuse_status
from wheelfix.remote.failures import CutShort
from wheelfix.remote.pages import ACCEPTED, LONGEST_NAME, IndexFile, project_names, read_page

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from packaging.requirements import Requirement
    from packaging.specifiers import SpecifierSet
    from packaging.tags import Tag
    from packaging.version import Version

    from wheelfix.remote.settings import IndexSettings
    from wheelfix.remote.target import InstallTarget
    from wheelfix.remote.transport import Transport

LARGEST_PAGE = 32 << 20
"""Bytes of a page, unpacked; that of the project with the most files has 20 MB."""
LARGEST_LIST = 64 << 20
"""Bytes of the list of all projects, which has 45 MB."""
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
        from packaging.utils import canonicalize_name

        name = canonicalize_name(project)
        if name not in self._pages:
            found: dict[str, IndexFile] = {}
            for place in self._settings.find_links:
                for file in self._links(place):
                    if canonicalize_name(file.name.split("-")[0]) == name:
                        found.setdefault(file.name, file)
            for url in self._settings.urls:
                files = self._project(f"{url}/{name}/")
                for file in files:
                    found.setdefault(file.name, file)
                if files and self._settings.first_index:
                    break
            self._pages[name] = list(found.values())
        return self._pages[name]

    def names(self) -> list[str]:
        """Return the names of all projects of the main index."""
        page = self._page(f"{self._settings.index_url}/", LARGEST_LIST)
        if page is None:
            raise NetworkFailure(f"{shown_url(self._settings.index_url)} has no list of projects")
        return project_names(page.data, page.kind)

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

    def _project(self, url: str) -> list[IndexFile]:
        if url.lower().startswith("file:"):
            page = Path(local_path(url)) / "index.html"
            return _read_local(page) if page.is_file() else _folder_files(page.parent)
        return self._remote_files(url)

    def _links(self, place: str) -> list[IndexFile]:
        """Return the files of an entry of ``find-links``: a folder, or a page."""
        if place.lower().startswith(("http://", "https://")):
            return self._remote_files(place)
        path = Path(local_path(place)) if place.lower().startswith("file:") else Path(place).expanduser()
        return _read_local(path) if path.is_file() else _folder_files(path)

    def _remote_files(self, url: str) -> list[IndexFile]:
        page = self._page(url, LARGEST_PAGE)
        if page is None:
            return []
        try:
            files = read_page(page.data, page.kind, page.address)
            return [replace(file, page=page.unsafe) for file in files if is_url(file.url)]  # no file of this machine
        except (ValueError, RecursionError) as exc:
            raise NetworkFailure(
                f"{shown_url(url)} is not a page of a package index",
                because=str(exc)[:200],
                hint="check --index-url, and what pip and uv are configured for",
            ) from exc

    def _page(self, url: str, limit: int) -> _Page | None:
        """Return a page; None where there is none."""
        failed = 0
        while True:
            with self._transport.get(url, {"Accept": ACCEPTED}, decoded=True) as answer:
                if answer.status in (404, 410):
                    return None
                refuse_status(answer, shown_url(url))
                try:
                    data = b"".join(answer.chunks(limit))
                except CutShort as error:
                    failed += 1
                    if failed >= self._transport.patience.tries:
                        raise NetworkFailure(error.what, because=error.reasons, hint=error.hint) from error
                    continue
                return _Page(data, answer.headers.get("Content-Type", "").lower(), answer.final, answer.unsafe)

    # ---------------------------------------------------------------------------------------------- choosing

    def choose(self, requirement: Requirement, target: InstallTarget) -> IndexFile:
        """Return the wheel that an installer on the target takes; InputError says what there is instead."""
        return choose_file(self.files(requirement.name), requirement, target, self._where())

    def _where(self) -> str:
        places = [*self._settings.urls, *self._settings.find_links]
        return ", ".join(map(shown_url, places[:3])) + (" and others" if len(places) > 3 else "")


def local_path(url: str) -> str:
    """Return the path that a ``file:`` URL means."""
    parts = split_url(url)
    return url2pathname(f"//{parts.netloc}{parts.path}" if parts.netloc not in ("", "localhost") else parts.path)


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


@dataclass(frozen=True, slots=True)
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
    from packaging.utils import parse_wheel_filename

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


def fitting_wheels(
    offered: Offers, specifier: SpecifierSet, target: InstallTarget
) -> Iterator[tuple[Version, IndexFile]]:
    """Yield each version that a specifier allows and the target can install, the newest first, with its best wheel."""
    pinned = any(one.operator in ("==", "===") and "*" not in one.version for one in specifier)
    ranks = [(python, _tag_ranks(python, target.platform)) for python in target.pythons]
    rules = _PythonRules()
    for version in sorted(_allowed(offered, specifier), reverse=True):
        wheels = [one for one in offered[version] if pinned or not one.file.yanked]
        for python, ranks_of in ranks:
            best = [
                (rank, _reversed(one.build), one.file.name, one.file)
                for one in wheels
                if (rank := one.rank(ranks_of)) is not None and rules.take(one.file.requires_python, python)
            ]
            if best:
                yield version, min(best, key=lambda one: one[:3])[3]
                break


def _allowed(offered: Offers, specifier: SpecifierSet) -> list[Version]:
    """Return the versions that a specifier allows; preliminary ones only where there are no others."""
    from packaging.specifiers import SpecifierSet as Specifiers

    wanted = Specifiers(",".join(sorted({str(one) for one in specifier})))
    if len(wanted) > MOST_CLAUSES:
        raise InputError("no version is chosen", because=f"there are more than {MOST_CLAUSES} conditions")
    return list(wanted.filter(offered)) or list(wanted.filter(offered, prereleases=True))


def _reversed(build: tuple[int, str]) -> tuple[int, tuple[int, ...]]:
    """Return a key by which higher build numbers come first."""
    return -build[0], tuple(-ord(letter) for letter in build[1])


class _PythonRules:
    """What files say about versions of Python, each text read once."""

    def __init__(self) -> None:
        self._read: dict[str, SpecifierSet | None] = {}

    def take(self, requires: str, python: tuple[int, int]) -> bool:
        """Whether a file is for a version of Python, as far as the index says."""
        from packaging.specifiers import SpecifierSet

        if requires not in self._read:
            if len(self._read) >= MOST_RULES:
                raise InputError(f"its files have more than {MOST_RULES} different texts about versions of Python")
            try:
                self._read[requires] = SpecifierSet(requires)
            except ValueError:
                self._read[requires] = None
        found = self._read[requires]
        try:
            return found is None or found.contains(f"{python[0]}.{python[1]}.99", prereleases=True)
        except ValueError:  # a number with more digits than Python reads
            return True


def _tag_ranks(python: tuple[int, int], platform: str) -> dict[Tag, int]:
    """Return the tags that an installer takes, the best with the lowest number."""
    from packaging.tags import compatible_tags, cpython_tags

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
