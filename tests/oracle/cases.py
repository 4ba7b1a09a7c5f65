"""Written cases: one for each rule of the model, with what Windows does about it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from tests.oracle.graph import APPLICATION, Dll, Graph, Load
from wheelfix.model import Machine, Symbol


@dataclass(frozen=True, slots=True)
class Case:
    """A graph, and what comes of it on Windows."""

    id: str
    graph: Graph
    codes: tuple[int, ...]
    """What each load gives."""
    modules: str = ""
    """The paths that are loaded in the end, separated by blanks."""
    silent: str = ""
    """A row of ``wine_deviations.toml`` without a log line: the model is held to the rule, Wine to its own answer."""
    wine: tuple[int, ...] = ()
    """That answer."""


def wants(dll: str, *symbols: Symbol) -> tuple[tuple[str, tuple[Symbol, ...]]]:
    """One entry of an import table."""
    return ((dll, symbols or ("f",)),)


U, P = ("u",), ("p",)
A_WANTS_B = Dll("x/a.dll", imports=wants("b.dll"))


def give(path: str, *exports: Symbol) -> Dll:
    """A DLL without needs, which exports ``f`` or the given symbols."""
    return Dll(path, exports=exports or ("f",))


def one(
    case: str,
    *dlls: Dll,
    code: int = 0,
    modules: str = "",
    flags: int = 0x1100,
    added: tuple[str, ...] = (),
    on_path: tuple[str, ...] = (),
) -> Case:
    """A case whose only load is that of ``x/a.dll``."""
    return Case(case, Graph(dlls, (Load("x/a.dll", flags),), added, on_path), (code,), modules)


def cases(process: Machine) -> tuple[Case, ...]:
    """Return every written case, for a process of a machine type."""
    return (*_closure(), *_search_order(), *_names(), *_loaded(), *_symbols(), *_images(process), *_system())


def _closure() -> Iterator[Case]:
    b_wants_c = Dll("x/b.dll", imports=wants("c.dll"), exports=("f",))
    yield one("nothing-needed", Dll("x/a.dll"), modules="x/a.dll")
    yield one("direct", A_WANTS_B, give("x/b.dll"), modules="x/a.dll x/b.dll")
    yield one("direct-missing", A_WANTS_B, code=126)
    yield one("transitive", A_WANTS_B, b_wants_c, give("x/c.dll"), modules="x/a.dll x/b.dll x/c.dll")
    yield one("transitive-missing", A_WANTS_B, b_wants_c, code=126)
    yield one("top-missing", Dll("x/z.dll"), code=126)
    yield one("delay-missing", Dll("x/a.dll", delay=wants("gone.dll")), modules="x/a.dll")
    yield one("delay-present-is-not-loaded", Dll("x/a.dll", delay=wants("b.dll")), give("x/b.dll"), modules="x/a.dll")
    yield one(
        "cycle",
        Dll("x/a.dll", imports=wants("b.dll"), exports=("g",)),
        Dll("x/b.dll", imports=wants("a.dll", "g"), exports=("f",)),
        modules="x/a.dll x/b.dll",
    )
    yield one("imports-itself", Dll("x/a.dll", imports=wants("a.dll"), exports=("f",)), modules="x/a.dll")
    yield Case(
        "nothing-wanted-from-it",
        Graph((Dll("x/a.dll", imports=(("gone.dll", ()),)),), (Load("x/a.dll"),)),
        (126,),
        silent="nothing-wanted",
        wine=(0,),
    )
    twice = (*wants("b.dll"), *wants("B.DLL", "g"))
    yield one("named-twice", Dll("x/a.dll", imports=twice), give("x/b.dll", "f", "g"), modules="x/a.dll x/b.dll")
    yield Case(
        "failure-leaves-nothing",
        Graph(
            (
                Dll("x/a.dll", imports=(*wants("b.dll"), *wants("gone.dll"))),
                give("x/b.dll"),
                Dll("y/c.dll", wants("b")),
            ),
            (Load("x/a.dll"), Load("y/c.dll")),
        ),
        (126, 126),
    )


def _search_order() -> Iterator[Case]:
    b = {folder: give(f"{folder}/b.dll") for folder in ("x", "u", "v", "p", APPLICATION)}
    all_five = (A_WANTS_B, b["x"], b["u"], b["p"], b[APPLICATION])
    without_own = (A_WANTS_B, b["u"], b["p"], b[APPLICATION])
    found = "x/a.dll {}/b.dll".format
    yield one("own-folder-first", *all_five, added=U, on_path=P, modules=found("x"))
    yield one("application-before-added", *without_own, added=U, on_path=P, modules=found(APPLICATION))
    yield one("added", A_WANTS_B, b["u"], added=("u",), modules=found("u"))
    yield one("not-added", A_WANTS_B, b["u"], code=126)
    yield one("last-added-first", A_WANTS_B, b["u"], b["v"], added=("u", "v"), modules=found("v"))
    yield one("no-path-with-flags", A_WANTS_B, b["p"], on_path=("p",), code=126)
    yield one("default-dirs-skip-own-folder", *all_five, added=U, on_path=P, flags=0x1000, modules=found(APPLICATION))
    yield one("default-dirs-own-folder-only", A_WANTS_B, b["x"], flags=0x1000, code=126)
    yield one("load-dir-alone", *all_five, added=U, on_path=P, flags=0x100, modules=found("x"))
    yield one("load-dir-alone-is-all", *without_own, added=U, on_path=P, flags=0x100, code=126)
    yield one("user-dirs-alone", *all_five, added=U, on_path=P, flags=0x400, modules=found("u"))
    yield one("application-alone", *all_five, added=U, on_path=P, flags=0x200, modules=found(APPLICATION))
    yield one("system-alone", *all_five, added=U, on_path=P, flags=0x800, code=126)
    yield one("plain-load-starts-at-application", *all_five, added=U, on_path=P, flags=0, modules=found(APPLICATION))
    yield one(
        "plain-load-uses-path", A_WANTS_B, b["x"], b["u"], b["p"], added=U, on_path=P, flags=0, modules=found("p")
    )
    yield one("plain-load-ignores-own-and-added", A_WANTS_B, b["x"], b["u"], added=("u",), flags=0, code=126)
    yield one("altered-path-starts-at-own", *all_five, added=U, on_path=P, flags=8, modules=found("x"))
    yield one("altered-path-uses-path", A_WANTS_B, b["p"], on_path=("p",), flags=8, modules=found("p"))
    yield one("altered-path-skips-application", A_WANTS_B, b[APPLICATION], flags=8, code=126)
    yield one(
        "load-dir-is-that-of-the-file-asked-for",
        A_WANTS_B,
        Dll("u/b.dll", imports=wants("c.dll"), exports=("f",)),
        give("u/c.dll"),
        give("x/c.dll"),
        added=("u",),
        modules="x/a.dll u/b.dll x/c.dll",
    )
    yield one(
        "load-dir-does-not-follow-dependencies",
        A_WANTS_B,
        Dll("x/sub/b.dll", imports=wants("c.dll"), exports=("f",)),
        Dll("u/b.dll", imports=wants("c.dll"), exports=("f",)),
        give("x/sub/c.dll"),
        added=("u",),
        code=126,
    )
    flagged = Dll("x/a.dll", imports=wants("b.dll"), load_flags=0x800)
    graph = Graph((flagged, b["x"]), (Load("x/a.dll"),))
    yield Case("dependent-load-flags", graph, (126,), silent="dependent-load-flags", wine=(0,))


def _names() -> Iterator[Case]:
    for case, spelled, path in (
        ("case-of-import", "B.DLL", "x/b.dll"),
        ("case-of-file", "b.dll", "x/B.Dll"),
        ("no-extension", "b", "x/b.dll"),
        ("other-extension", "b.pyd", "x/b.pyd"),
        ("dot-in-name", "b.1.dll", "x/b.1.dll"),
        ("blank-in-name", "b c.dll", "x/b c.dll"),
    ):
        yield one(f"name-{case}", Dll("x/a.dll", imports=wants(spelled)), give(path), modules=f"x/a.dll {path.lower()}")
    yield one("name-dot-is-an-extension", Dll("x/a.dll", imports=wants("b.1")), give("x/b.1.dll"), code=126)
    yield one("name-no-guessing", Dll("x/a.dll", imports=wants("b.dll")), give("x/libb.dll"), code=126)
    graph = Graph((Dll("ünï côde/a.dll", wants("b")), give("ünï côde/B.dll")), (Load("ünï côde/a.dll"),))
    yield Case("name-folder-unicode-and-blank", graph, (0,), "ünï côde/a.dll ünï côde/b.dll")


def _loaded() -> Iterator[Case]:
    b_of_v = give("v/b.dll", "g")
    then_a = (Load("u/b.dll"), Load("x/a.dll"))
    yield Case("loaded-name-wins-from-anywhere", Graph((A_WANTS_B, give("u/B.DLL")), then_a), (0, 0), "x/a.dll u/b.dll")
    graph = Graph((A_WANTS_B, give("u/b.dll"), give("x/b.dll")), then_a)
    yield Case("loaded-name-wins-over-own-folder", graph, (0, 0), "x/a.dll u/b.dll")
    graph = Graph((A_WANTS_B, give("u/b.dll"), b_of_v), (Load("u/b.dll"), Load("v/b.dll"), Load("x/a.dll")))
    yield Case("loaded-twice-first-wins", graph, (0, 0, 0), "x/a.dll u/b.dll v/b.dll")
    graph = Graph((A_WANTS_B, give("u/b.dll"), b_of_v), (Load("v/b.dll"), Load("u/b.dll"), Load("x/a.dll")))
    yield Case("loaded-twice-second-does-not", graph, (0, 0, 127), "u/b.dll v/b.dll")
    graph = Graph((Dll("x/a.dll"),), (Load("x/a.dll"), Load("x/a.dll", 0), Load("x/A.DLL")))
    yield Case("loaded-again", graph, (0, 0, 0), "x/a.dll")
    by_name = Load("b.dll", 0x1000, by_name=True)
    graph = Graph((A_WANTS_B, give("u/b.dll")), (by_name, Load("x/a.dll")), added=("u",))
    yield Case("by-name-from-added", graph, (0, 0), "u/b.dll x/a.dll")
    yield Case("by-name-missing", Graph((give("u/b.dll"),), (by_name,)), (126,))
    yield Case("by-name-loaded", Graph((give("u/b.dll"),), (Load("u/b.dll"), by_name)), (0, 0), "u/b.dll")
    no_extension = Load("b", 0x1000, by_name=True)
    yield Case("by-name-no-extension", Graph((give("u/b.dll"),), (no_extension,), added=("u",)), (0,), "u/b.dll")


def _symbols() -> Iterator[Case]:
    whole = "x/a.dll x/b.dll"
    forwarding = Dll("x/b.dll", exports=("own",), forwarders=(("f", "c.real"), ("unused", "gone.x")))

    def asks(*symbols: Symbol) -> Dll:
        return Dll("x/a.dll", imports=wants("b.dll", *symbols))

    yield one("symbol-and-ordinal", asks("f", 7), Dll("x/b.dll", exports=("f", ("g", 7))), modules=whole)
    yield one("symbol-missing", asks("f", "nope"), give("x/b.dll"), code=127)
    yield one("ordinal-missing", asks("f", 77), give("x/b.dll"), code=182)
    yield one("symbol-case-matters", asks("F"), give("x/b.dll"), code=127)
    yield one("no-export-table", asks("f"), Dll("x/b.dll"), code=193)
    yield one(
        "missing-file-outranks-missing-symbol",
        Dll("x/a.dll", imports=(*wants("b.dll", "nope"), *wants("gone.dll"))),
        give("x/b.dll"),
        code=126,
    )
    yield one("forwarder", asks("f"), forwarding, give("x/c.dll", "real"), modules="x/a.dll x/b.dll x/c.dll")
    yield one("forwarder-unused", asks("own"), forwarding, modules=whole)
    yield one("forwarder-without-dll", asks("f"), forwarding, code=127)
    yield one("forwarder-without-symbol", asks("f"), forwarding, give("x/c.dll", "other"), code=127)
    by_ordinal = Dll("x/b.dll", forwarders=((3, "c.real"),))
    yield one("forwarder-imported-by-ordinal-without-dll", asks(3), by_ordinal, code=182)
    foreign_file = Dll("x/c.dll", content=b"no image")
    yield one("forwarder-to-no-image", asks("f"), forwarding, foreign_file, code=193)
    yield one(
        "forwarder-target-has-needs",
        asks("f"),
        forwarding,
        Dll("x/c.dll", imports=wants("d.dll"), exports=("real",)),
        give("x/d.dll"),
        modules="x/a.dll x/b.dll x/c.dll x/d.dll",
    )
    chain = Dll("x/c.dll", forwarders=(("real", "d.#4"),))
    deep = Dll("x/d.dll", exports=(("z", 4),))
    yield one("forwarder-chain", asks("f"), forwarding, chain, deep, modules="x/a.dll x/b.dll x/c.dll x/d.dll")
    for case, target, path, code in (
        ("with-dll", "c.dll.real", "x/c.dll", 0),
        ("dots-with-dll", "c.3.dll.real", "x/c.3.dll", 0),
        ("dots-without-dll", "c.3.real", "x/c.3.dll", 127),
        ("dots-are-an-extension", "c.3.real", "x/c.3", 0),
    ):
        dlls = asks("f"), Dll("x/b.dll", forwarders=(("f", target),)), give(path, "real")
        yield one(f"forwarder-{case}", *dlls, code=code, modules="" if code else f"{whole} {path}")


def _images(process: Machine) -> Iterator[Case]:
    foreign = Machine.AMD64 if process is Machine.ARM64 else Machine.ARM64
    for machine in (foreign, Machine.X86, Machine.ARM):
        wrong = Dll("x/b.dll", exports=("f",), machine=machine)
        yield one(f"{machine}-on-top", Dll("x/a.dll", machine=machine), code=193)
        yield one(f"{machine}-dependency", A_WANTS_B, wrong, code=193)
        yield one(f"{machine}-comes-first", A_WANTS_B, wrong, give("u/b.dll"), added=("u",), code=193)
    for case, content in (("empty", b""), ("text", b"version https://git-lfs\n"), ("dos", b"MZ" + bytes(70))):
        yield one(f"{case}-on-top", Dll("x/a.dll", content=content), code=193)
        yield one(f"{case}-dependency", A_WANTS_B, Dll("x/b.dll", content=content), code=193)
    whole = give("x/b.dll").forge(process)
    yield one("truncated-on-top", Dll("x/a.dll", content=whole[:700]), code=193)
    yield one("truncated-dependency", A_WANTS_B, Dll("x/b.dll", content=whole[:300]), code=193)
    yield one("no-entry-point", Dll("x/a.dll", dll_main=None), modules="x/a.dll")


def _system() -> Iterator[Case]:
    for case, dll, symbol in (
        ("kernel32", "KERNEL32.dll", "Sleep"),
        ("system32-file", "version.dll", "VerQueryValueW"),
        ("api-set", "api-ms-win-crt-heap-l1-1-0.dll", "malloc"),
        ("api-set-of-another-minor", "api-ms-win-crt-heap-l1-1-9.dll", "malloc"),
    ):
        yield one(f"system-{case}", Dll("x/a.dll", imports=wants(dll, symbol)), modules="x/a.dll")
    yield one("system-api-set-unknown", Dll("x/a.dll", imports=wants("api-ms-win-nobody-l1-1-0.dll")), code=126)
    needs = Dll("x/a.dll", imports=wants("api-ms-win-crt-heap-l1-1-0.dll", "malloc"))
    graph = Graph((needs,), (Load("x/a.dll", 0x100),))
    yield Case("system-api-set-whatever-the-flags", graph, (0,), "x/a.dll", "api-set-outside-search", (126,))
