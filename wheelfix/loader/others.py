"""DLLs that others bring: distributions named in Requires-Dist, and what the profile assumes on the target."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from wheelfix.knowledge.distributions import owners_of
from wheelfix.knowledge.families import cuda_part
from wheelfix.knowledge.providers import conda_package
from wheelfix.loader.packages import torch
from wheelfix.model import Assumed, Machine, OwnedBy, canonical, dll_key

if TYPE_CHECKING:
    from packaging.requirements import Requirement

    from wheelfix.knowledge.distributions import Owner
    from wheelfix.loader.profile import Profile
    from wheelfix.loader.view import FileView
    from wheelfix.model import Provider

_NAME = re.compile(r"^\s*([A-Za-z0-9][A-Za-z0-9._-]*)")

LONGEST = 2000
"""Characters of a requirement that is still worth parsing; fewer than the digits that Python makes a number of."""
_MACHINES = {Machine.AMD64: "AMD64", Machine.X86: "x86", Machine.ARM64: "ARM64"}


class Required:
    """The distributions that an installer brings along on the target: no extras, no lines for another system.

    torch's METADATA names NVIDIA's packages in its Windows wheels too, but for Linux only. A line is taken apart when
    somebody asks for its distribution, which for most wheels is never.
    """

    def __init__(self, requires: tuple[str, ...], profile: Profile) -> None:
        self._profile = profile
        self._lines: dict[str, list[str]] = {}
        for text in requires:
            match = _NAME.match(text)
            if match:
                self._lines.setdefault(canonical(match[1].rstrip("-_.")), []).append(text)

    def __contains__(self, distribution: str) -> bool:
        return any(self._holds(text) for text in self._lines.get(distribution, ()))

    def _holds(self, text: str) -> bool:
        requirement = parse_requirement(text) if ";" in text else None
        return requirement is None or holds_on_target(requirement, self._profile)


def parse_requirement(text: str) -> Requirement | None:
    """A line of Requires-Dist taken apart, or None for one that is none; it comes from whoever made the wheel."""
    from packaging.requirements import Requirement  # takes longer to import than a small wheel to scan

    if len(text) > LONGEST:
        return None
    try:
        return Requirement(text)
    except (ValueError, RecursionError):  # parentheses within parentheses; numbers that no integer may have
        return None


def holds_on_target(requirement: Requirement, profile: Profile) -> bool:
    """Whether an installer on the target heeds a requirement, no extras asked for."""
    major, minor = profile.python or (3, 11)
    environment = {
        "extra": "",
        "os_name": "nt",
        "sys_platform": "win32",
        "platform_system": "Windows",
        "platform_machine": _MACHINES.get(profile.machine, "AMD64"),
        "platform_python_implementation": "CPython",
        "implementation_name": "cpython",
        "python_version": f"{major}.{minor}",
        "python_full_version": f"{major}.{minor}.0",
    }
    try:
        return requirement.marker is None or requirement.marker.evaluate(environment)
    except (ValueError, RecursionError):  # a name that nobody defines, versions that cannot be compared
        return True


class Provisions:
    """Who else may bring a DLL."""

    def __init__(
        self, profile: Profile, requires: tuple[str, ...], facts: torch.TorchFacts | None, view: FileView
    ) -> None:
        self.profile = profile
        self.torch = facts
        self.adds_cuda = facts is None or torch.adds_cuda(facts, view)
        self.required = Required(requires, profile)

    def provide(self, name: str, steps: tuple[str, ...]) -> Provider | None:
        """The distribution or assumption that brings a DLL, if any."""
        owner = next((owner for owner in owners_of(name) if owner.distribution in self.required), None)
        if owner is not None:
            reachable, because = self._reach(owner, steps)
            return OwnedBy(name, owner.distribution, reachable, because)
        return self._assumed(name)

    def _reach(self, owner: Owner, steps: tuple[str, ...]) -> tuple[bool, str]:
        """Whether the owner's folder is searched when the load happens, and why."""
        if owner.preloads:
            return True, f"importing {owner.distribution} first has loaded it already"
        if owner.folder in steps:
            return True, f"{owner.distribution} puts it into {owner.folder}, which is searched"
        if self.torch is not None and owner.folder == "Library/bin":
            return True, "torch adds Library\\bin to the search"
        return False, f"{owner.distribution} puts it into {owner.folder}, which nothing adds to the search"

    def _assumed(self, name: str) -> Provider | None:
        toolkit, nvtx = self.profile.toolkit, self.profile.nvtx
        if nvtx is not None and self.torch is not None and dll_key(name) in nvtx.dlls:
            return Assumed(name, nvtx.label)
        if self.adds_cuda and toolkit is not None:
            if dll_key(name) in toolkit.dlls:
                return Assumed(name, toolkit.label)
        elif self.adds_cuda and self.profile.cuda and cuda_part(name, self.profile.cuda):
            return Assumed(name, f"cuda={self.profile.cuda}")
        if "conda" in self.profile.assume and conda_package(name):
            return Assumed(name, "conda")
        return None
