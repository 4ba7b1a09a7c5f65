"""What the tables know, asked by name: questions and answers are in ``answers.toml``."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from tests.knowledge.test_providers import DISTRIBUTIONS, DLLS, LOOKED_AT
from tests.support.tables import answers, read_table
from wheelfix.knowledge import cards, companions, cuda, families, provider_index, providers, system, targets
from wheelfix.model import Machine

INDEX = provider_index.ProviderIndex(DISTRIBUTIONS, DLLS)
QUESTIONS: dict[str, Callable[..., Any]] = {
    "shipped by": lambda dll: {owner.distribution for owner in providers.owners_of(dll)},
    "compiled": providers.is_compiled,
    "where from": lambda dll, release=None: providers.who_ships(dll, cuda=release),
    "pip": lambda dll, release=None: providers.pip_packages(dll, cuda=release),
    "conda": providers.conda_package,
    "kind": lambda dll: system.classify(dll, Machine.AMD64).kind,
    "known API set": lambda dll: (found := system.classify(dll, Machine.AMD64)).known and found.on_every_machine,
    "debug": lambda dll: system.classify(dll, Machine.AMD64).debug,
    "interpreter": system.python_of,
    "runtime": lambda dll: [*(found := system.runtime_file(dll)).runtime, found.toolset.id],
    "missing from Python": lambda dll, names: system.missing_from_python(dll, _symbols(names)),
    "no table knows": lambda dll, names: system.undecided_in_python(dll, _symbols(names)),
    "target": lambda name, dll: targets.presence(targets.known_target(name), dll).state.name,
    "missing on target": lambda name, dll, function: [
        *targets.missing_exports(targets.known_target(name), dll, [function], Machine.AMD64)
    ],
    "toolkits": cuda.cuda_versions_for,
    "name in toolkit": cuda.expected_name,
    "CUPTI": cuda.cupti_names,
    "fits to the patch": cuda.is_versioned_by_patch,
    "in bin": cuda.cuda_part,
    "toolkits of version": lambda dll, version: cuda.toolkits_of(dll, tuple(map(int, version.split(".")))),
    "release": cuda.release,
    "local version": cuda.release_of_local_version,
    "product": cuda.release_of_product,
    "card": cards.nvidia_capability,
    "family": lambda dll: [found.id, found.version(dll)] if (found := families.family_of(dll)) else None,
    "OpenMP": families.is_openmp,
    "demangled": families.demangle,
    "runtime of build": lambda number: system.toolset_of_build(int(number)),
    "runtime of linker": lambda version: system.runtime_needed(tuple(map(int, version.split(".")))),
    "needed": lambda package, name: companions.runtime_need(package, name),
    "program": lambda dll: (found := companions.program_of(dll)) and found.name,
    "ships": lambda name, specifier, dll: INDEX.ships(name, specifier, dll).ships,
    "versions": lambda versions: providers.versions_with(
        [provider_index.ShippedDll("a.dll", "a", "", tuple(versions.split()), LOOKED_AT)]
    ),
    "companions": lambda dll, version=None: {
        need.name for need in companions.companions_of(dll, version=version) if need.required
    },
}
ANSWERS = read_table(__file__, "answers.toml")


def _symbols(names: str) -> list[str | int]:
    return [int(name) if name.isdigit() else name for name in names.split()]


@pytest.mark.parametrize("question", QUESTIONS)
def test_what_is_known(question):
    assert answers(QUESTIONS[question], ANSWERS[question]) == ANSWERS[question]


def test_every_answer_has_a_question():
    assert {*ANSWERS} == {*QUESTIONS}
