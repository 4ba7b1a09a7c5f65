"""How Windows loads a DLL: what it maps, what it binds, and with which error code it fails.

Faults are looked for in two phases, as the loader does it: first every module of the closure is mapped (126, 193),
then imports are bound to exports (127, 182). ``tests/oracle`` checks that against a real PE loader.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from wheelfix.base.values import dataclass, field, replace
from wheelfix.knowledge.python_exports import missing_from_python
from wheelfix.loader.assemblies import find_in_assembly
from wheelfix.loader.loadcall import (
    ALTERED_SEARCH_PATH,
    AS_PYTHON_DOES,
    BAD_EXE_FORMAT,
    DEFAULT_DIRS,
    DLL_LOAD_DIR,
    INVALID_ORDINAL,
    MOD_NOT_FOUND,
    PROC_NOT_FOUND,
    SEARCH_FLAGS,
    Failure,
    runs_on,
    split_forwarder,
)
from wheelfix.loader.search import DllSearch
from wheelfix.loader.view import base_name
from wheelfix.model import Edge, EdgeKind, Image, InView, Malformed, Missing, OwnedBy, PythonRuntime, dll_key

if TYPE_CHECKING:
    from collections.abc import Iterator

    from wheelfix.model import Import, Provider, Symbol

KNOWN_PER_LOOKUP = 8
"""Imports that take as long as one lookup when the answer is known from an earlier load."""
SYMBOLS_PER_LOOKUP = 50
"""Symbols that take as long to bind as it takes to look up one import."""


@dataclass(slots=True)
class _Attempt:
    """One call of LoadLibrary: what it mapped so far and the first fault it met."""

    steps: tuple[str, ...]
    mapped: dict[str, str] = field(default_factory=dict)
    order: dict[str, None] = field(default_factory=dict)
    above: dict[str, str] = field(default_factory=dict)
    """For each module the one on whose behalf it is mapped; the first of a walk has none."""
    via: tuple[str, ...] = ()
    """What stands before the first of the walk: the module whose forwarder leads there."""
    failure: Failure | None = None

    def fail(self, failure: Failure) -> None:
        """Note a fault; the first one decides the code, the walk goes on for the report's sake."""
        if self.failure is None:
            self.failure = failure

    def fail_at(self, path: str, code: int, *more: str, detail: str = "") -> None:
        """Note a fault of a module that is being mapped, with the way to it."""
        if self.failure is None:
            chain = [path]
            while chain[-1] in self.above:
                chain.append(self.above[chain[-1]])
            self.failure = Failure(code, (*self.via, *reversed(chain), *more), detail)


class Loader(DllSearch):
    """A process that loads DLLs: what it has loaded, and what was asked on the way."""

    def fork(self) -> Loader:
        """Another process in the state of this one; what is loaded in one of them later is not in the other."""
        other = Loader(
            self.view,
            self.system,
            self.machine,
            application_dir=self.application_dir,
            user_dirs=self.user_dirs,
            path_dirs=self.path_dirs,
        )
        other.loaded, other.modules, other._spent = dict(self.loaded), dict(self.modules), self._spent
        other._searched, other._unmet = self._searched, self._unmet
        other.ran, other.unread = set(self.ran), dict(self.unread)
        return other

    def after(self, first: Loader) -> Loader:
        """A process like this one in which everything of another one has happened before; its work is counted apart."""
        other = self.fork()
        other._spent = [0]
        other.user_dirs = [*first.user_dirs, *(folder for folder in self.user_dirs if folder not in first.user_dirs)]
        other.loaded, other.modules, other.ran = {**first.loaded}, {**first.modules}, set(first.ran)
        other.unread = {**first.unread}
        return other

    def load(self, path: str, flags: int = AS_PYTHON_DOES) -> Failure | None:
        """Load a file by its full path, as ``LoadLibraryExW(path, NULL, flags)`` would; None is success."""
        if path in self.modules:
            return None
        attempt = _Attempt(self.search_steps(path, flags))
        self._map(path, attempt)
        if attempt.failure is None:
            self._bind(attempt)
        else:
            self._note_symbols(attempt)
        self.touched.update(dict.fromkeys(attempt.order))
        if attempt.failure is None:
            for mapped in attempt.order:
                self.modules[mapped] = None
            for key, mapped in attempt.mapped.items():
                self.loaded.setdefault(key, mapped)
            return None
        return replace(attempt.failure, mapped=tuple(attempt.order))

    def load_by_name(self, name: str, flags: int = DEFAULT_DIRS) -> Failure | None:
        """Load by base name, as ``ctypes.CDLL("msvcp140.dll")`` does."""
        provider = self.find(name, self.search_steps("", flags & ~DLL_LOAD_DIR))
        if isinstance(provider, InView):
            return self.load(provider.path, flags)
        return Failure(MOD_NOT_FOUND, (name,)) if isinstance(provider, Missing) else None

    # --------------------------------------------------------------------------------------------- the two phases

    def _map(self, path: str, attempt: _Attempt, via: tuple[str, ...] = ()) -> None:
        """Map a module and, depth first in table order, everything it imports."""
        attempt.via = via
        attempt.above.pop(path, None)
        # A stack of our own: a wheel may hold a chain of DLLs that is longer than Python's.
        pending = [self._mapping(path, attempt)]
        while pending:
            deeper = next(pending[-1], None)
            if deeper is None:
                pending.pop()
            else:
                pending.append(self._mapping(deeper, attempt))

    def _mapping(self, path: str, attempt: _Attempt) -> Iterator[str]:
        """Map one module; give each of its imports that has to be mapped next."""
        image = self.view.image(path)
        if isinstance(image, Malformed):
            attempt.fail_at(path, BAD_EXE_FORMAT, detail=image.reason)
            return
        if image is None:
            attempt.fail_at(path, MOD_NOT_FOUND, detail="the file does not exist")
            return
        if not runs_on(image.machine, self.machine):
            attempt.fail_at(path, BAD_EXE_FORMAT, detail=f"it is for {image.machine}, the process is {self.machine}")
            return
        attempt.mapped.setdefault(dll_key(base_name(path)), path)
        attempt.order[path] = None
        if image.managed:
            return
        self.spend(1 + len(image.imports) // KNOWN_PER_LOOKUP)
        steps = self._steps_for(path, image, attempt.steps)
        for needed in image.imports:
            provider = self.find(needed.dll, steps, attempt.mapped)
            if isinstance(provider, Missing) and provider.present_at:
                redirected = find_in_assembly(self.view, path, needed.dll)
                provider = InView(redirected) if redirected else provider
            self.note(Edge(path, needed.dll, EdgeKind.IMPORT, provider))
            if isinstance(provider, Missing) or (isinstance(provider, OwnedBy) and not provider.reachable):
                attempt.fail_at(path, MOD_NOT_FOUND, needed.dll)
            elif isinstance(provider, InView) and not self._is_in(provider.path, attempt):
                attempt.above[provider.path] = path
                yield provider.path
        for needed in image.delay_imports:
            self.note(Edge(path, needed.dll, EdgeKind.DELAY, self.find(needed.dll, steps, attempt.mapped), False))

    def _steps_for(self, path: str, image: Image, steps: tuple[str, ...]) -> tuple[str, ...]:
        flags = image.dependent_load_flags & (SEARCH_FLAGS | ALTERED_SEARCH_PATH)
        return self.search_steps(path, flags) if flags else steps

    def _is_in(self, path: str, attempt: _Attempt) -> bool:
        return path in self.modules or path in attempt.order

    def _bind(self, attempt: _Attempt) -> None:
        """Bind the imports of everything that was mapped, dependencies first."""
        done = 0
        while done < len(attempt.order):  # forwarders may map more modules while we bind
            batch, done = list(attempt.order)[done:], len(attempt.order)
            for path in reversed(batch):
                self._bind_module(path, attempt)

    def _note_symbols(self, attempt: _Attempt) -> None:
        """Look for missing symbols although the load has failed already, so that one report has all faults."""
        failure = attempt.failure
        self._bind(attempt)
        attempt.failure = failure

    def _bind_module(self, path: str, attempt: _Attempt) -> None:
        image = self.view.image(path)
        if not isinstance(image, Image) or image.managed:
            return
        self.spend(1)
        steps = self._steps_for(path, image, attempt.steps)
        for number, needed in enumerate(image.imports):
            provider = self.find(needed.dll, steps, attempt.mapped)
            if isinstance(provider, PythonRuntime):
                self._bind_to_python(path, needed, provider, attempt)
            if not isinstance(provider, InView):
                continue
            key = (path, number, provider.path)
            if key not in self._unmet:  # many loads bind the same files
                self.spend(1 + len(needed.symbols) // SYMBOLS_PER_LOOKUP)
                self._unmet[key] = self.symbols_missing_from(needed, provider.path)
            unexported = self._unmet[key]
            if unexported:
                self.note(Edge(path, needed.dll, EdgeKind.IMPORT, provider, unexported=unexported))
                attempt.fail(self._symbol_failure(path, provider.path, unexported[0]))
            self._follow(needed, provider.path, attempt, steps)

    def _bind_to_python(self, path: str, needed: Import, provider: Provider, attempt: _Attempt) -> None:
        """Look for symbols that the interpreter does not have, where its exports are known."""
        unexported = missing_from_python(needed.dll, needed.symbols)
        if unexported:
            self.note(Edge(path, needed.dll, EdgeKind.IMPORT, provider, unexported=unexported))
            attempt.fail(Failure(PROC_NOT_FOUND, (path, needed.dll), f"{needed.dll} has no {_spell(unexported[0])}"))

    def _symbol_failure(self, path: str, provider: str, symbol: Symbol) -> Failure:
        """The fault of a missing symbol; importing from a DLL without any export table has a code of its own."""
        image = self.view.image(provider)
        if isinstance(image, Image) and not image.exports.names and not image.exports.ordinals:
            return Failure(BAD_EXE_FORMAT, (path, provider), f"{base_name(provider)} exports nothing at all")
        return Failure(_code_for(symbol), (path, provider), f"{base_name(provider)} has no {_spell(symbol)}")

    def symbols_missing_from(self, needed: Import, path: str) -> tuple[Symbol, ...]:
        """The imported symbols that a file of the view does not export."""
        image = self.view.image(path)
        if not isinstance(image, Image) or not runs_on(image.machine, self.machine):
            return ()  # of another machine it is not even mapped: error 193
        return tuple(symbol for symbol in needed.symbols if not image.exports.offers(symbol))

    def _follow(self, needed: Import, path: str, attempt: _Attempt, steps: tuple[str, ...]) -> None:
        """Follow the forwarders among the symbols that are really imported."""
        first = self.view.image(path)
        if not isinstance(first, Image) or not first.exports.forwarders:
            return
        trail: set[tuple[str, Symbol]] = set()
        pending = [(path, symbol, symbol) for symbol in needed.symbols]
        while pending:
            where, symbol, asked = pending.pop()
            image = self.view.image(where)
            if not isinstance(image, Image) or (where, symbol) in trail:
                continue
            trail.add((where, symbol))
            target = image.exports.forwarders.get(symbol)
            if target is None:
                continue
            module, wanted = split_forwarder(target)
            provider = self.find(module, steps, attempt.mapped)
            self.note(Edge(where, module, EdgeKind.FORWARDER, provider, because=target))
            if isinstance(provider, Missing) or (isinstance(provider, OwnedBy) and not provider.reachable):
                attempt.fail(
                    Failure(
                        _code_for(asked),
                        (where, module),
                        f"{base_name(where)} forwards {_spell(symbol)} to {target}",
                    )
                )
            elif isinstance(provider, InView):
                if not self._is_in(provider.path, attempt):
                    self._map(provider.path, attempt, (where,))
                self._check_forwarded(where, provider.path, target, asked, attempt)
                pending.append((provider.path, wanted, asked))

    def _check_forwarded(self, where: str, path: str, target: str, asked: Symbol, attempt: _Attempt) -> None:
        image = self.view.image(path)
        module, wanted = split_forwarder(target)
        if isinstance(image, Image) and not image.exports.offers(wanted):
            self.note(Edge(where, module, EdgeKind.FORWARDER, InView(path), because=target, unexported=(wanted,)))
            attempt.fail(Failure(_code_for(asked), (where, path), f"{base_name(path)} has no {_spell(wanted)}"))


def _spell(symbol: Symbol) -> str:
    return f"ordinal {symbol}" if isinstance(symbol, int) else symbol


def _code_for(asked: Symbol) -> int:
    """The code for a symbol that cannot be had, by the way in which the importer asks for it."""
    return INVALID_ORDINAL if isinstance(asked, int) else PROC_NOT_FOUND
