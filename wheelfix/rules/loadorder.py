"""WF308, WF327: modules that load only after other imports of their package or of their wheel."""

from __future__ import annotations

from typing import TYPE_CHECKING

from wheelfix.model import Finding, LoadOutcome, Repairable, Severity, dll_key
from wheelfix.rules.context import Subject, base
from wheelfix.rules.registry import finding, rule
from wheelfix.rules.wording import arrow, listing

if TYPE_CHECKING:
    from collections.abc import Iterator


@rule(
    "WF308",
    "depends-on-import-order",
    Severity.INFO,
    Repairable.NEVER,
    "A module loads only after other modules of the package; imported on its own it fails.",
)
def depends_on_import_order(subject: Subject) -> Iterator[Finding]:
    """Find modules that fail in a fresh process and load once something else of the package is loaded."""
    grouped: dict[tuple[str, bool], list[LoadOutcome]] = {}
    for outcome in subject.resolution.outcomes:
        if outcome.alone is not None and not outcome.alone.after:
            grouped.setdefault((dll_key(outcome.alone.chain[-1]), outcome.alone.sure), []).append(outcome)
    for (_, sure), outcomes in sorted(grouped.items()):
        first = outcomes[0]
        assert first.alone is not None
        names = [base(outcome.event.path) for outcome in outcomes]
        cause, verb = first.alone.chain[-1], "it fails" if len(names) == 1 else "they fail"
        yield finding(
            "WF308",
            subject.origin(first.event.path),
            f"{listing(names)} {'loads' if len(names) == 1 else 'load'} only after other modules of the package: in a "
            f"fresh process {verb} with error {first.alone.code} ({arrow(first.alone.chain)}); "
            + (
                "the package's own code imports those first"
                if sure
                else "whether the package's code always imports those first could not be determined"
            ),
            hint=(
                f"add the folder of {cause} with os.add_dll_directory in the package's __init__.py, or put a copy of "
                f"{cause} beside {names[0]}"
            ),
            evidence={
                "modules": [outcome.event.module or base(outcome.event.path) for outcome in outcomes],
                "code": first.alone.code,
                "chain": [*first.alone.chain],
                "certain": sure,
            },
            # Importing it is what loads a module: pywin32's axdebug needs axscript. A DLL needs code that is followed.
            severity=Severity.INFO if sure or cause.lower().endswith(".pyd") else Severity.UNSURE,
        )


@rule(
    "WF327",
    "imported-after-another-package",
    Severity.WARNING,
    Repairable.NEVER,
    "A package of the wheel can be imported only after another package of the same wheel.",
)
def imported_after_another_package(subject: Subject) -> Iterator[Finding]:
    """Find top-level packages that fail on their own, and load where another one of the wheel imports them."""
    for outcome in subject.resolution.outcomes:
        alone = outcome.alone
        if alone is None or not alone.after:
            continue
        package = (outcome.event.module or base(outcome.event.path)).partition(".")[0]
        yield finding(
            "WF327",
            subject.origin(outcome.event.path),
            f"'import {package}' fails with error {alone.code} ({arrow(alone.chain)}) unless {alone.after} was "
            f"imported before; {alone.after} prepares that, and imports {package} itself",
            hint=f"import {alone.after} first; or let {package} add the folder of {alone.chain[-1]} by itself",
            evidence={
                "module": outcome.event.module,
                "package": package,
                "after": alone.after,
                "code": alone.code,
                "chain": [*alone.chain],
            },
        )
