"""DLLs that others bring: distributions named in Requires-Dist, and what the profile assumes on the target."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from wheelfix.knowledge.distributions import owners_of
from wheelfix.knowledge.families import cuda_part
from wheelfix.knowledge.providers import conda_package
from wheelfix.loader import torch
from wheelfix.model import Assumed, OwnedBy

if TYPE_CHECKING:
    from wheelfix.knowledge.distributions import Owner
    from wheelfix.loader.profile import Profile
    from wheelfix.loader.view import FileView
    from wheelfix.model import Provider

_NAME = re.compile(r"^\s*([A-Za-z0-9][A-Za-z0-9._-]*)")


class Provisions:
    """Who else may bring a DLL."""

    def __init__(
        self, profile: Profile, requires: tuple[str, ...], facts: torch.TorchFacts | None, view: FileView
    ) -> None:
        self.profile = profile
        self.torch = facts
        self.adds_cuda = facts is None or torch.adds_cuda(facts, view)
        self.required = frozenset(
            re.sub(r"[-_.]+", "-", match[1]).lower() for match in map(_NAME.match, requires) if match
        )

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
        if self.profile.cuda and self.adds_cuda and cuda_part(name, self.profile.cuda):
            return Assumed(name, f"cuda={self.profile.cuda}")
        if "conda" in self.profile.assume and conda_package(name):
            return Assumed(name, "conda")
        return None
