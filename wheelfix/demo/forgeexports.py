"""The names and ordinals that a forged image exports."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeAlias

from wheelfix.base.values import dataclass

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from wheelfix.model import Symbol

Export: TypeAlias = "Symbol | tuple[str, int]"
"""A name, an ordinal without a name, or a name with a fixed ordinal."""


@dataclass(frozen=True, slots=True)
class ExportTable:
    """Names and ordinals, settled."""

    names: Mapping[str, int]
    forwarders: Mapping[int, str]
    ordinals: frozenset[int]

    @classmethod
    def arrange(cls, exports: Iterable[Export], forwarders: Mapping[Symbol, str]) -> ExportTable:
        """Give every name an ordinal: its own where one is given, the next free one otherwise."""
        entries = list(exports)
        plain = [entry for entry in entries if not isinstance(entry, tuple)]
        names = dict(entry for entry in entries if isinstance(entry, tuple))
        symbols = [*plain, *forwarders]
        taken = {*names.values(), *(symbol for symbol in symbols if isinstance(symbol, int))}
        following = 1
        for symbol in symbols:
            if isinstance(symbol, str) and symbol not in names:
                while following in taken:
                    following += 1
                names[symbol] = following
                taken.add(following)
        targets = {symbol if isinstance(symbol, int) else names[symbol]: to for symbol, to in forwarders.items()}
        return cls(names, targets, frozenset(taken))

    @property
    def functions(self) -> tuple[int, ...]:
        """The ordinals that have code of their own."""
        return tuple(sorted(self.ordinals - self.forwarders.keys()))

    def __bool__(self) -> bool:
        return bool(self.ordinals)
