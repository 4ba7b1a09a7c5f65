"""Package indexes: the files of a project, and the wheel of it that an installer on the target would take."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import urlsplit
from urllib.request import url2pathname

from wheelfix.errors import InputError, NetworkFailure
from wheelfix.remote.addresses import is_url, without_secrets
from wheelfix.remote.download import refuse_status
from wheelfix.remote.failures import CutShort
from wheelfix.remote.pages import ACCEPTED, IndexFile, project_names, read_page

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from packaging.requirements import Requirement
    from packaging.tags import Tag
    from packaging.version import Version

    from wheelfix.remote.settings import IndexSettings
    from wheelfix.remote.target import InstallTarget
    from wheelfix.remote.transport import Transport

LARGEST_PAGE = 64 << 20
"""Bytes of a page, unpacked; that of the project with the most files has 20 MB, the list of all projects 45 MB."""


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
        page = self._page(f"{self._settings.index_url}/")
        if page is None:
            raise NetworkFailure(f"{without_secrets(self._settings.index_url)} has no list of projects")
        return project_names(page[0], page[1])

    def text(self, url: str) -> str:
        """Return a small text file."""
        page = self._page(url)
        if page is None:
            raise InputError(f"{without_secrets(url)} does not exist")
        return page[0].decode("utf-8", "replace")

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
        page = self._page(url)
        if page is None:
            return []
        data, kind, address = page
        try:
            return [file for file in read_page(data, kind, address) if is_url(file.url)]  # never a file of this machine
        except (ValueError, RecursionError) as exc:
            raise NetworkFailure(
                f"{without_secrets(url)} is not a page of a package index",
                because=str(exc)[:200],
                hint="check --index-url, and what pip and uv are configured for",
            ) from exc

    def _page(self, url: str) -> tuple[bytes, str, str] | None:
        """Return a page, its type and its address; None where there is none."""
        failed = 0
        while True:
            with self._transport.get(url, {"Accept": ACCEPTED}, decoded=True) as answer:
                if answer.status in (404, 410):
                    return None
                refuse_status(answer, without_secrets(url))
                try:
                    data = b"".join(answer.chunks(LARGEST_PAGE))
                except CutShort as error:
                    failed += 1
                    if failed >= self._transport.patience.tries:
                        raise NetworkFailure(error.what, because=error.reasons, hint=error.hint) from error
                    continue
                return data, answer.headers.get("Content-Type", "").lower(), answer.final

    # ---------------------------------------------------------------------------------------------- choosing

    def choose(self, requirement: Requirement, target: InstallTarget) -> IndexFile:
        """Return the wheel that an installer on the target takes; InputError says what there is instead."""
        return choose_file(self.files(requirement.name), requirement, target, self._where())

    def _where(self) -> str:
        places = [*self._settings.urls, *self._settings.find_links]
        return ", ".join(map(without_secrets, places[:3])) + (" and others" if len(places) > 3 else "")


def local_path(url: str) -> str:
    """Return the path that a ``file:`` URL means."""
    parts = urlsplit(url)
    return url2pathname(f"//{parts.netloc}{parts.path}" if parts.netloc not in ("", "localhost") else parts.path)


def _read_local(page: Path) -> list[IndexFile]:
    try:
        return read_page(page.read_bytes(), "text/html", page.absolute().as_uri())
    except (OSError, ValueError):
        return []


def _folder_files(folder: Path) -> list[IndexFile]:
    try:
        return [IndexFile(path.name, path.absolute().as_uri()) for path in sorted(folder.glob("*.whl"))]
    except OSError:
        return []


def choose_file(files: Iterable[IndexFile], requirement: Requirement, target: InstallTarget, where: str) -> IndexFile:
    """Return the wheel of some files that an installer on the target takes."""
    from packaging.utils import parse_wheel_filename

    offered: dict[Version, list[tuple[IndexFile, frozenset[Tag], tuple[int, str]]]] = {}
    known = False
    for file in files:
        known = True
        try:
            _, version, build, tags = parse_wheel_filename(file.name)
        except ValueError:
            continue
        offered.setdefault(version, []).append((file, tags, build if build else (0, "")))
    if not known:
        raise InputError(
            f"there is no distribution {requirement.name}",
            because=f"asked: {where or 'no index at all'}",
            hint="check the name; --index-url names another index",
        )
    pinned = any(one.operator in ("==", "===") and "*" not in one.version for one in requirement.specifier)
    fitting = list(requirement.specifier.filter(offered)) or list(
        requirement.specifier.filter(offered, prereleases=True)
    )
    ranks = [(python, _tag_ranks(python, target.platform)) for python in target.pythons]
    for version in sorted(fitting, reverse=True):
        wheels = [one for one in offered[version] if pinned or not one[0].yanked]
        for python, ranks_of in ranks:
            best = [
                (min(ranks_of[tag] for tag in tags & ranks_of.keys()), _reversed(build), file.name, file)
                for file, tags, build in wheels
                if tags & ranks_of.keys() and _takes(file.requires_python, python, target)
            ]
            if best:
                return min(best, key=lambda one: one[:3])[3]
    raise _nothing_fits(requirement, target, fitting, offered)


def _reversed(build: tuple[int, str]) -> tuple[int, tuple[int, ...]]:
    """Return a key by which higher build numbers come first."""
    return -build[0], tuple(-ord(letter) for letter in build[1])


def _takes(requires: str, python: tuple[int, int], target: InstallTarget) -> bool:
    """Whether a file is for a version of Python, as far as the index says."""
    from packaging.specifiers import InvalidSpecifier, SpecifierSet

    try:
        return not requires or SpecifierSet(requires).contains(f"{python[0]}.{python[1]}.99", prereleases=True)
    except InvalidSpecifier:
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
    offered: dict[Version, list[tuple[IndexFile, frozenset[Tag], tuple[int, str]]]],
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
    tags = sorted({f"{tag.interpreter}-{tag.platform}" for _, found, _ in offered[newest] for tag in found})
    return InputError(
        f"{requirement} has no wheel for {target}",
        because=f"version {newest} has wheels for {', '.join(tags[:8])}" + (" and others" if len(tags) > 8 else ""),
        hint="choose with --platform and --python-version",
    )
