"""From an error text, an environment or a wheel, in any combination, to the cause and what to do about it."""

from __future__ import annotations

from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING

from wheelfix.base.options import ScanOptions
from wheelfix.base.values import replace
from wheelfix.diagnosis.conclusions import conclude
from wheelfix.diagnosis.files import examine_files, find_environment
from wheelfix.diagnosis.gathered import DiagnoseRequest, GatheredEvidence
from wheelfix.diagnosis.giventext import read_text
from wheelfix.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from wheelfix.diagnosis.answer import Diagnosis
    from wheelfix.diagnosis.symptoms.stream import Text


def diagnose(
    text: Text | None = None,
    *,
    environment: str | Path | None = None,
    wheel: str | Path | Sequence[str | Path] | None = None,
    package: str = "",
    options: ScanOptions | None = None,
) -> Diagnosis:
    """Return the cause of a failed import, the chain that leads to it, and what to do.

    ``text`` is an error text, a whole log or recorded loads, as string, bytes or an open file; ``environment`` a
    Python prefix (or a copy of one), ``wheel`` the wheel in question, a folder of wheels, or several of them. Each
    alone is enough; together they give a more exact answer.
    """
    wheels = () if wheel is None else (wheel,) if isinstance(wheel, (str, Path)) else tuple(wheel)
    request = DiagnoseRequest(
        text=text,
        environment=Path(environment) if environment is not None else None,
        wheels=tuple(Path(one) for one in wheels),
        package=package,
        options=options or ScanOptions(),
    )
    return answer(request)


def answer(request: DiagnoseRequest) -> Diagnosis:
    """Gather the evidence, compare the symptoms with the files, and put the diagnosis together."""
    if request == replace(request, text=None, environment=None, wheels=(), active=None):
        raise UsageError(
            "there is nothing to diagnose",
            hint="give a file with the error text, --env PREFIX or --wheel W; or activate an environment",
        )
    gathered = GatheredEvidence()
    with ExitStack() as stack:
        if request.text is not None:
            read_text(request, gathered, stack)
        if request.environment is None and not request.wheels:
            request, gathered.how = find_environment(request, gathered.symptoms)
        if request.environment is not None or request.wheels:
            examine_files(request, gathered, stack)
        return conclude(gathered, request.options.roots.trusted_roots)
