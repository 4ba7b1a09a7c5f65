"""What wheelfix says of a case, in the terms of :mod:`tests.oracle.observe`."""

from __future__ import annotations

from dataclasses import dataclass

from tests.oracle.graph import APPLICATION, Graph
from tests.support.views import make_view
from wheelfix.loader.loading import Loader, Target
from wheelfix.loader.profile import Profile
from wheelfix.loader.view import base_name, parent
from wheelfix.model import Machine


@dataclass(frozen=True, slots=True)
class Expectation:
    """Codes in the order of the loads, and what is loaded in the end, folded."""

    codes: tuple[int, ...]
    modules: frozenset[str]
    details: tuple[str, ...]


def expect(graph: Graph, machine: Machine) -> Expectation:
    """Play a case through the model."""
    view = make_view(graph.files(machine))
    loader = Loader(view, Target(Profile(machine=machine)))
    loader.application_dir, loader.user_dirs, loader.path_dirs = APPLICATION, [*graph.added], [*graph.on_path]
    failures = []
    for load in graph.loads:
        if load.by_name:
            failures.append(loader.load_by_name(load.target, load.flags))
        else:
            # The model takes paths as the view spells them; a call may spell them otherwise.
            spelled = view.find(parent(load.target), base_name(load.target)) or load.target
            failures.append(loader.load(spelled, load.flags))
    return Expectation(
        tuple(failure.code if failure else 0 for failure in failures),
        frozenset(path.lower() for path in loader.modules),
        tuple(f"{' > '.join(failure.chain)} {failure.detail}" if failure else "" for failure in failures),
    )
