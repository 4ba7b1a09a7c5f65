"""Which DLLs of Windows that wheels ask for a kind of Windows has: rows for the questions about targets."""

from __future__ import annotations

from typing import TYPE_CHECKING

from wheelfix.knowledge.targets import NAMES, known_target, presence
from wheelfix.model import Machine

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

ASKED = """
SELECT DISTINCT edges.dll, machine FROM edges JOIN wheels USING (sha256) WHERE provider = 'system' ORDER BY ALL
"""
"""What is asked for, with the processor of the wheel that asks."""
TABLE = "targets"
COLUMNS = "target VARCHAR, dll VARCHAR, machine VARCHAR, state VARCHAR, source VARCHAR"


def target_rows(asked: Iterable[tuple[str, str]]) -> Iterator[tuple[str, str, str, str, str]]:
    """Give target, DLL, machine, what is known (``has``, ``absent``, ...) and from where."""
    machines = {str(machine): machine for machine in Machine}
    wanted = [(dll, machines[name]) for dll, name in asked if name in machines]
    for name in NAMES:
        target = known_target(name)
        for dll, machine in wanted:
            fact = presence(target, dll, machine)
            yield name, dll, str(machine), str(fact.state), fact.source
