"""From a signer's certificate up to a root, and what each certificate on the way is allowed to do.

Own code instead of ``cryptography.x509.verification``: that follows the rules of web servers, which refuse SHA-1 and
small keys at any time, have no place for Microsoft's limits per root, and know no purpose but TLS.
"""

from __future__ import annotations

import enum
import itertools
from typing import TYPE_CHECKING

from wheelfix.base.values import dataclass
from wheelfix.pe.authenticode.certificates import ANY_USAGE, CODE_SIGNING, TIME_STAMPING, Certificate, name_fault
from wheelfix.pe.authenticode.message import Unusable

if TYPE_CHECKING:
    import datetime
    from collections.abc import Iterator, Sequence

    from wheelfix.pe.authenticode.trustedroots import RootStore, TrustedRoot

LONGEST = 8
MOST_CHECKS, MOST_PATHS = 30, 50
"""Signatures of certificates that are checked, and ways that are tried, for one chain; real ones take three and one."""
BROKEN_HASHES = {"md2", "md4", "md5"}
PURPOSES = {CODE_SIGNING: "sign code", TIME_STAMPING: "sign timestamps"}


class Standing(enum.IntEnum):
    """What a chain may be used for, worst first."""

    INVALID = 0
    UNTRUSTED = 1
    """Sound, but it ends at a root that is not trusted."""
    TRUSTED = 2


@dataclass(frozen=True, slots=True)
class Chain:
    """Certificates from the signer's upwards, and what they may be used for."""

    certificates: tuple[Certificate, ...]
    standing: Standing
    reason: str = ""
    sha1: bool = False
    """Whether a certificate below the root was signed with SHA-1."""


@dataclass(frozen=True, slots=True)
class Purpose:
    """What a chain must be usable for, and when."""

    usage: str
    when: datetime.datetime


def find_chain(leaf: Certificate, pool: Sequence[Certificate], stores: Sequence[RootStore], purpose: Purpose) -> Chain:
    """Return the best chain there is; Unusable if nothing can be said of any."""
    best: Chain | None = None
    search = _Search(pool, stores)
    for path, root, reason in itertools.islice(search.paths((leaf,)), MOST_PATHS):
        try:
            chain = _judge(path, root, reason, purpose)
        except Unusable as exc:
            search.problem = search.problem or exc
            continue
        if chain.standing is Standing.TRUSTED:
            return chain
        if best is None or chain.standing > best.standing:
            best = chain
    if best is None or search.problem is not None:
        raise search.problem or Unusable("there is no chain of certificates")
    return best


class _Search:
    """All ways from a certificate upwards, with a limit on the arithmetic that they take."""

    def __init__(self, pool: Sequence[Certificate], stores: Sequence[RootStore]) -> None:
        self._pool, self._stores = pool, stores
        self._checked: dict[tuple[bytes, bytes], bool] = {}
        self.problem: Unusable | None = None
        """Why a signature on the way could not be checked; it counts if no other way leads to a root."""

    def paths(self, path: tuple[Certificate, ...]) -> Iterator[tuple[tuple[Certificate, ...], TrustedRoot | None, str]]:
        """Yield each path with the root at its end, or why there is none."""
        here = path[-1]
        anchors = [root for store in self._stores for root in store.named(here.subject)]
        for root in anchors:
            if root.certificate.der == here.der:
                yield path, root, ""
                return
        if here.digest in BROKEN_HASHES:
            yield path, None, f"!the certificate of {here.name} is signed with {here.digest}, which anybody can forge"
            return
        if here.self_issued and self._issued(here, here):
            yield path, None, f"its root {here.name} is not on the list of trusted roots"
            return
        above = [root for store in self._stores for root in store.named(here.issuer)]
        others = [one for one in self._pool if one.subject == here.issuer]
        found = False
        for root in above:
            if self._issued(here, root.certificate):
                found = True
                yield (*path, root.certificate), root, ""
        for one in others:
            if one not in path and len(path) < LONGEST and self._issued(here, one):
                found = True
                yield from self.paths((*path, one))
        if not found and (above or others):
            yield path, None, f"!the certificate of {here.name} is not signed by {here.issuer_name}"
        elif not found:
            yield path, None, f"the certificate of its issuer {here.issuer_name} is neither in the file nor trusted"

    def _issued(self, below: Certificate, above: Certificate) -> bool:
        key = (below.der, above.der)
        if key not in self._checked:
            try:
                if len(self._checked) >= MOST_CHECKS:
                    raise Unusable("its certificates lead to too many chains")
                self._checked[key] = below.issued_by(above)
            except Unusable as exc:
                self.problem = self.problem or exc
                self._checked[key] = False
        return self._checked[key]


def _judge(path: tuple[Certificate, ...], root: TrustedRoot | None, reason: str, purpose: Purpose) -> Chain:
    """Say what one path may be used for."""
    below_root = path[:-1] if root is not None or path[-1].self_issued else path
    sha1 = any(one.digest == "sha1" for one in below_root)
    fault = reason[1:] if reason.startswith("!") else ""
    for depth, certificate in enumerate(path):
        trusted = root is not None and depth == len(path) - 1
        fault = (
            fault
            or _own_fault(certificate, purpose)
            or (_issuer_fault(certificate, path[:depth], purpose, in_list=trusted) if depth else "")
        )
    leaf = path[0]
    usages = leaf.usages or frozenset()
    if not fault and (purpose.usage not in usages or not leaf.signs):
        fault = f"the certificate of {leaf.name} is not meant to {PURPOSES[purpose.usage]}"
    if fault:
        return Chain(path, Standing.INVALID, fault, sha1)
    if root is None:
        return Chain(path, Standing.UNTRUSTED, reason, sha1)
    limited = root.limits.fault(purpose.usage, purpose.when, leaf.begins)
    if limited:
        return Chain(path, Standing.UNTRUSTED, f"{limited} ({root.certificate.name})", sha1)
    return Chain(path, Standing.TRUSTED, "", sha1)


def _own_fault(one: Certificate, purpose: Purpose) -> str:
    """What is wrong with a certificate by itself."""
    if one.foreign:
        raise Unusable(f"the certificate of {one.name} has the critical extension {one.foreign[0]}, which is not known")
    if purpose.when < one.begins:
        return f"the certificate of {one.name} is not valid before {one.begins:%Y-%m-%d}"
    if purpose.when > one.ends:
        return f"the certificate of {one.name} expired on {one.ends:%Y-%m-%d}"
    if one.weakness:
        return f"the certificate of {one.name}: {one.weakness}"
    return ""


def _issuer_fault(one: Certificate, below: tuple[Certificate, ...], purpose: Purpose, *, in_list: bool) -> str:
    """What forbids a certificate to issue those below it; the nearest to the signer comes first."""
    old_root = in_list and one.parsed.version.value == 0  # version 1 had no extensions to say so
    if not old_root and not one.is_ca:
        return f"the certificate of {one.name} is not that of a certificate authority"
    if not one.certifies:
        return f"the key of {one.name} is not meant to sign certificates"
    between = sum(not item.self_issued for item in below[1:])
    if one.path_length is not None and between > one.path_length:
        return f"the certificate of {one.name} allows {one.path_length} authorities below it, not {between}"
    if one.usages is not None and purpose.usage not in one.usages and ANY_USAGE not in one.usages:
        return f"certificates issued by {one.name} are not meant to {PURPOSES[purpose.usage]}"
    return next((fault for item in below if (fault := name_fault(one, item))), "")
