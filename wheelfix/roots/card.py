"""The card that ``--gpu`` means: an architecture, a name of the table, or the one in this machine."""

from __future__ import annotations

import functools
import re
from typing import TYPE_CHECKING

from wheelfix.base.parsing import close_words
from wheelfix.errors import EnvironmentFailure, UsageError
from wheelfix.knowledge.cards import (
    architecture,
    capability_of_arch,
    card_table,
    close_names,
    is_known_arch,
    known_archs,
    named_cards,
    namesakes_of,
    other_arch,
)

if TYPE_CHECKING:
    from collections.abc import Callable

_ASK_DRIVER = ("nvidia-smi", "--query-gpu=compute_cap", "--format=csv,noheader")


@functools.cache
def card_arch(text: str, ask: Callable[[], str] | None = None) -> str:
    """Return the architecture, as ``sm_86``, that ``8.6``, ``K40c``, ``RTX 5070`` or ``native`` stands for.

    AMD's are ``gfx1100`` and its like, Intel's ``intel_bmg-g21``. ``native`` asks the driver of this machine; several
    cards in it must be alike. UsageError for a word that no table knows, EnvironmentFailure where no driver answers.
    """
    word = text.strip()
    if word.lower() == "native":
        return _native((ask or _ask_driver)())
    if arch := _architecture(text, word):
        return arch
    cards = named_cards(word)
    archs = tuple(dict.fromkeys(arch for card in cards for arch in card.archs))
    if not cards:
        close = close_names(word)
        hint = f"did you mean {' or '.join(close)}?" if close else "give the architecture instead: sm_86, 8.6, gfx1100"
        raise UsageError(f"--gpu {text}", because="no table knows that card", hint=hint)
    if namesakes := namesakes_of(word, cards):
        raise UsageError(
            f"--gpu {text}", because="several cards are called that", hint=f"say which: {', '.join(namesakes)}"
        )
    if len(archs) > 1:
        raise UsageError(
            f"--gpu {text}",
            because=f"that name stands for chips of several architectures ({', '.join(archs)})",
            hint=f"choose one: --gpu {archs[0]}",
        )
    return archs[0]


def _architecture(text: str, word: str) -> str:
    """Return the architecture of a word that is one; empty for other words, UsageError for one that does not exist."""
    other = other_arch(word)
    capability = capability_of_arch(word)
    name = other or ("sm_{}{}".format(*capability) if capability else "")
    if not name or (is_known_arch(other) if other else architecture(capability or (0, 0))):
        return name
    if named_cards(word):  # 580 has the form of an architecture
        return ""
    known = known_archs() if other else [found.name for found in card_table().architectures.values()]
    close = close_words(name, known, 5)
    hint = f"did you mean {' or '.join(close)}?" if close else "give the name of the card instead"
    raise UsageError(f"--gpu {text}", because=f"no table knows the architecture {name}", hint=hint)


def _native(answer: str) -> str:
    found = sorted({line.strip() for line in answer.splitlines() if re.fullmatch(r"\s*[0-9]{1,3}\.[0-9]\s*", line)})
    if not found:
        raise EnvironmentFailure("--gpu native", because="the driver names no card", hint="give the card: --gpu sm_86")
    if len(found) > 1:
        raise UsageError(
            "--gpu native",
            because=f"this machine has cards of different architectures ({', '.join(found)})",
            hint=f"choose one: --gpu {found[0]}",
        )
    major, _, minor = found[0].partition(".")
    return f"sm_{major}{minor}"


def _ask_driver() -> str:
    from wheelfix.base.programs import find_program, run_program

    hint = "give the card: --gpu sm_86"
    program = find_program(_ASK_DRIVER[0])
    if program is None:
        raise EnvironmentFailure("--gpu native", because="nvidia-smi gives no answer (it is not on PATH)", hint=hint)
    try:
        done = run_program([program, *_ASK_DRIVER[1:]], timeout=30)
    except EnvironmentFailure as error:
        raise EnvironmentFailure("--gpu native", because=str(error), hint=hint) from error
    if done.code:
        because = f"nvidia-smi gives no answer (exit code {done.code})"
        raise EnvironmentFailure("--gpu native", because=because, hint=hint)
    return done.out
