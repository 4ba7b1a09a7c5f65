"""Whether bytes that came in parts from a server may be vendored.

The hash on an index is that of the whole wheel, so that a part proves nothing by itself. A member counts if its own
sha256 is in the table that comes with wheelfix, made from whole wheels with the right hash, or if its vendor's
signature on it is valid. Otherwise the whole wheel is downloaded, and has to have the hash that the index gives.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from wheelfix.knowledge.member_hashes import is_known_member
from wheelfix.model import TRUSTED

if TYPE_CHECKING:
    from wheelfix.model import Signature

_VENDORS = (
    (re.compile(r"nvidia-.*"), "NVIDIA Corporation"),
    (
        re.compile(r"(?:intel-.*|mkl|mkl-dpcpp|tbb|tcmlib|daal|dal|ipp|umf|onednn.*|onemkl.*|impi-rt|dpcpp-cpp-rt)"),
        "Intel Corporation",
    ),
    (re.compile(r"msvc-runtime"), "Microsoft Corporation"),
)
"""Distributions, and the name in the certificate with which their DLLs are signed: seen in their wheels on PyPI."""


def vendor_of(distribution: str) -> str:
    """Return who signs the DLLs of a distribution; empty for one whose DLLs are not fetched."""
    return next((signer for pattern, signer in _VENDORS if pattern.fullmatch(distribution)), "")


def trusted_by(distribution: str, sha256: str, signature: Signature) -> str:
    """Return why a member that came in parts is trusted: ``table`` or ``signature``; empty if it is not."""
    if is_known_member(sha256):
        return "table"
    signer = vendor_of(distribution)
    if signer and signature.status == TRUSTED and signature.trusted_signer.casefold() == signer.casefold():
        return "signature"
    return ""
