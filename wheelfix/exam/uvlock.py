"""Which distributions a uv.lock installs on the target: what can be reached from the project, edge by edge.

uv.lock holds all systems at once. Conditions stand at the edges between packages, so a list of its packages would have
those that only Linux gets, and all extras.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from wheelfix.base.values import dataclass, field
from wheelfix.exam.locked import ONLY, Locked, LockedSet, as_list, as_table, check_format, check_parts, package_tables
from wheelfix.loader.requirements import marker_holds
from wheelfix.model import canonical

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from pathlib import Path

    from wheelfix.exam.locked import LockParts
    from wheelfix.loader.profile import Profile

_OWN = ("virtual", "editable", "directory")
"""Kinds of sources that are folders: the project itself, members of its workspace, packages beside it."""
_DEFAULT_GROUPS = ("dev",)
"""What ``uv sync`` installs unless the project says otherwise, which its lock file does not repeat."""


def read_uv_lock(path: Path, tree: dict[str, Any], profile: Profile, parts: LockParts) -> LockedSet:
    """Return what the project requires on the target, and what other extras or groups would install."""
    rows = package_tables(path, tree, "package")
    check_format(path, tree, "version", "1", "uv")
    graph = _LockGraph(rows, profile)
    roots = graph.roots(as_table(tree.get("manifest")))
    extras = [name for root in roots for name in as_table(root.get("optional-dependencies"))]
    groups = [name for root in roots for name in as_table(root.get("dev-dependencies"))]
    check_parts(path, parts.extras, extras, "--extra")
    check_parts(path, parts.groups or (), groups, "--group")
    chosen = parts.groups if parts.groups is not None else tuple(name for name in _DEFAULT_GROUPS if name in groups)
    installed = graph.reached(roots, parts.extras, chosen)
    found = [*_members(installed.values())]
    for option, name in (*(("--extra", one) for one in extras), *(("--group", one) for one in groups)):
        some = (name,) if option == "--extra" else ()
        more = graph.reached(roots, some, () if some else (name,))
        rest = (row for key, row in more.items() if key not in installed)
        found += _members(rest, f"{ONLY}{option} {name}")
    return LockedSet(tuple(found))


def _members(rows: Iterable[dict[str, Any]], unless: str = "") -> Iterator[Locked]:
    for row in rows:
        source, version = as_table(row.get("source")), row.get("version")
        if "virtual" in source:
            continue
        folder = any(kind in source for kind in _OWN)
        why = unless or ("it is installed from its source, and no wheel of it was found" if folder else "")
        yield Locked(canonical(row["name"]), f"=={version}" if isinstance(version, str) else "", unless=why)


@dataclass(frozen=True, slots=True)
class _LockGraph:
    """The packages of a lock file and the edges between them."""

    rows: list[dict[str, Any]]
    profile: Profile
    _by_name: dict[str, list[dict[str, Any]]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        for row in self.rows:
            self._by_name.setdefault(row["name"], []).append(row)

    def roots(self, manifest: dict[str, Any]) -> list[dict[str, Any]]:
        """The project, the members of its workspace, or what a script requires; everything where none of them is."""
        if manifest.get("members"):
            return [row for name in as_list(manifest["members"]) for row in self._by_name.get(str(name), ())]
        if manifest.get("requirements"):
            edges = as_list(manifest["requirements"])
            return [{"name": "", "source": {"virtual": "."}, "dependencies": edges}]
        own = [row for row in self.rows if any(kind in as_table(row.get("source")) for kind in _OWN)]
        project = [row for row in own if "." in as_table(row["source"]).values()]
        return project or own or [row for row in self.rows if self._is_for_target(row)]

    def reached(
        self, roots: list[dict[str, Any]], extras: tuple[str, ...], groups: tuple[str, ...]
    ) -> dict[tuple[str, str], dict[str, Any]]:
        """All packages that are installed with some extras and groups of the project, by name and version."""
        found: dict[tuple[str, str], dict[str, Any]] = {}
        seen: set[tuple[str, str, str]] = set()
        asked = tuple(
            encoded
            for root in roots
            for kind, names in (("extra", extras), ("group", groups))
            for encoded in (f"{kind}-{len(root['name'])}-{root['name']}-{name}" for name in names)
        )
        pending = [(root, ("", *extras), groups) for root in roots]
        while pending:
            row, own_extras, own_groups = pending.pop(0)
            key = (row["name"], str(row.get("version", "")))
            found[key] = row
            for edge in self._edges(row, own_extras, own_groups, (*key, ""), seen):
                marker = edge.get("marker")
                if not isinstance(marker, str) or marker_holds(marker, self.profile, extra=asked):
                    more = ("", *(str(one) for one in as_list(edge.get("extra"))))
                    pending += [(target, more, ()) for target in self._targets(edge)]
        return found

    @staticmethod
    def _edges(
        row: dict[str, Any],
        extras: tuple[str, ...],
        groups: tuple[str, ...],
        key: tuple[str, str, str],
        seen: set[tuple[str, str, str]],
    ) -> Iterator[dict[str, Any]]:
        """The edges of a package and some of its extras and groups, each once."""
        tables = [(extra, as_table(row.get("optional-dependencies")).get(extra)) for extra in extras if extra]
        tables += [(f"group {group}", as_table(row.get("dev-dependencies")).get(group)) for group in groups]
        for part, edges in [("", row.get("dependencies")), *tables]:
            if (key[0], key[1], part) not in seen:
                seen.add((key[0], key[1], part))
                yield from (
                    edge for edge in as_list(edges) if isinstance(edge, dict) and isinstance(edge.get("name"), str)
                )

    def _targets(self, edge: dict[str, Any]) -> Iterator[dict[str, Any]]:
        """The package at the end of an edge; of several versions the one that it names or that is for the target."""
        rows, version = self._by_name.get(edge["name"], []), edge.get("version")
        for row in rows:
            if row.get("version") == version if isinstance(version, str) else self._is_for_target(row):
                yield row

    def _is_for_target(self, row: dict[str, Any]) -> bool:
        """A package with several versions says for each on which systems and Pythons it is installed."""
        markers = as_list(row.get("resolution-markers"))
        return not markers or any(marker_holds(str(one), self.profile) for one in markers)
