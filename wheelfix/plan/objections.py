"""Why the user's options reject a candidate or rank it lower: no valid signature, or no code for the user's card."""

from __future__ import annotations

from typing import TYPE_CHECKING

from wheelfix.model import TRUSTED
from wheelfix.roots.card import card_arch
from wheelfix.roots.choice import Objection, family_files, gpu_objection
from wheelfix.rules.gpufit import Fit, fit

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from wheelfix.model import Signature
    from wheelfix.options import RepairOptions
    from wheelfix.roots.index import RootIndex
    from wheelfix.roots.root import RootFile
WORDS = {
    "untrusted-root": "has a signature that leads to no trusted root",
    "invalid": "has an invalid signature",
    "not-checked": "has a signature that was not checked",
}


def objections(
    index: RootIndex, options: RepairOptions, unmet: Mapping[RootFile, str] | None = None
) -> Callable[[RootFile], Objection | None]:
    """Return the first objection to a candidate, those that reject it before those that only rank it lower.

    ``unmet`` names, for some candidates, a DLL that they import and that no root has.
    """
    checks: list[Callable[[RootFile], Objection | None]] = []
    if options.require_signed:
        checks.append(signature_objection(index))
    if options.scan.gpu is not None:
        card = card_arch(options.scan.gpu)
        checks.append(gpu_objection(index, card, lambda archs: fit(archs, card) is not Fit.NONE))
    if unmet:
        checks.append(lambda file: Objection(f"it imports {unmet[file]}, which no root has") if file in unmet else None)

    def objection(file: RootFile) -> Objection | None:
        return next((found for check in checks if (found := check(file)) is not None), None)

    return objection


def signature_objection(index: RootIndex) -> Callable[[RootFile], Objection | None]:
    """Return the objection that rejects what has no trusted signature, in the file or in its family."""

    def objection(file: RootFile) -> Objection | None:
        for part in (file, *family_files(index, file)):
            signature = index.signature(part)
            if signature.status != TRUSTED:
                subject = "it" if part is file else part.name
                return Objection(f"{subject} {in_words(signature)}, and --require-signed was given", fatal=True)
        return None

    return objection


def in_words(signature: Signature) -> str:
    """Return what is wrong with a signature, as words that follow the file's name."""
    if signature.status == "unsigned":
        return "is not signed"
    return f"{WORDS[signature.status]} ({signature.reason})" if signature.reason else WORDS[signature.status]
