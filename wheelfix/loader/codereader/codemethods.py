"""What attributes, items and methods of paths, texts and lists give on a Windows machine."""

from __future__ import annotations

import ast
import posixpath
import re
from typing import TYPE_CHECKING

from wheelfix.loader.codereader.codelisting import content, exists, globbed, list_folder
from wheelfix.loader.codereader.codeloads import load_library
from wheelfix.loader.codereader.codesyntax import environment, is_standard, plain
from wheelfix.loader.codereader.codevalue import (
    ANYTHING,
    BASE,
    ROOT,
    SITE,
    UNKNOWN,
    DictValue,
    Extern,
    Items,
    OpenTextFile,
    ancestor,
    combined,
    is_absolute,
    join,
    united,
)
from wheelfix.model import Machine
from wheelfix.pycode.budget import MAX_TEXT, MAX_TURNS

if TYPE_CHECKING:
    from wheelfix.loader.codereader.codestore import CodeState
    from wheelfix.loader.codereader.codevalue import Atom, Value
    from wheelfix.loader.codereader.nofiles import NoFiles
    from wheelfix.pycode.budget import CodeBudget

SAME = frozenset(
    "abspath realpath normpath normcase fspath fsdecode fsencode expanduser expandvars str resolve absolute as_posix"
    " as_file enter_context copy lru_cache cache encode decode c_char_p c_wchar_p iter sorted list tuple set frozenset"
    " cast".split()
)
"""Functions that return their argument, as far as paths and lists are concerned."""
_CONSTANTS: dict[tuple[str, str], str] = {
    ("os", "name"): "nt",
    ("os", "sep"): "/",
    ("os", "pathsep"): ";",
    ("os", "pardir"): "..",
    ("os", "curdir"): ".",
    ("path", "pardir"): "..",
    ("path", "sep"): "/",
    ("path", "curdir"): ".",
    ("path", "pathsep"): ";",
    ("sys", "platform"): "win32",
    ("sys", "byteorder"): "little",
    ("sys", "prefix"): ROOT,
    ("sys", "exec_prefix"): ROOT,
    ("sys", "base_prefix"): BASE,
    ("sys", "base_exec_prefix"): BASE,
    ("sys", "executable"): f"{ROOT}/python.exe",
    ("sys", "version"): "3.11",
}
_USUAL_PYTHON = (3, 11)
"""For wheels that do not say which Python they are for."""
_LATE_PATCH = 9


def constant(owner: str, name: str, files: NoFiles) -> Value:
    """What an attribute of something of the library is."""
    last = owner.rpartition(".")[2].lstrip("_")
    if (last, name) in _CONSTANTS:
        return (_CONSTANTS[last, name],)
    if last == "sys" and name == "maxsize":
        return (2**31 - 1 if files.machine is Machine.X86 else 2**63 - 1,)
    if last == "sys" and name == "version_info":
        major, minor = files.python or _USUAL_PYTHON
        return (Items(((major,), (minor,), (_LATE_PATCH,))),)
    if last == "sys" and name == "path":
        return (Items(((f"{ROOT}/DLLs",), (f"{ROOT}/Lib",), (ROOT,), (SITE,))),)
    if name == "__path__":
        return (Items(((f"{SITE}/{owner.replace('.', '/')}",),)),)
    if name == "__file__" and not is_standard(owner) and "?" not in owner:
        return (f"{SITE}/{owner.replace('.', '/')}/__init__.py", UNKNOWN)
    if name in ("__name__", "__package__"):
        return (owner,)
    return (Extern(f"{owner}.{name}"),)


def of_path(path: str, name: str) -> Value:
    """An attribute of a ``Path``; strings have none of these names."""
    if name == "parent":
        return (posixpath.dirname(path),)
    if name == "name":
        return (posixpath.basename(path),)
    if name in ("stem", "suffix"):
        return (posixpath.splitext(posixpath.basename(path))[name == "suffix"],)
    if name == "parents":
        count = min(path.count("/") + 1, MAX_TURNS)
        return (Items(tuple((folder,) for at in range(count) if (folder := ancestor(path, at)) is not None)),)
    if name in ("origin", "value", "path"):
        return (path,)
    return (Extern(f"?.{name}"),)


def item(run: CodeState, owner: Atom, key: Atom, node: ast.Subscript) -> Value:
    """What ``owner[key]`` gives."""
    if isinstance(owner, DictValue):
        found = owner.entries.get(key) if isinstance(key, str | int) or key is None else None
        if found is None and not isinstance(key, str | int):
            return united([*owner.entries.values(), ANYTHING])
        return found if found is not None else ANYTHING
    if isinstance(owner, Items) and isinstance(key, int):
        if -len(owner.items) <= key < len(owner.items):
            return owner.items[key] if owner.complete or key >= 0 else ANYTHING
        return ANYTHING
    if isinstance(owner, str) and isinstance(key, int):
        return (owner[key],) if -len(owner) <= key < len(owner) else ANYTHING
    if isinstance(owner, Extern):
        if owner.last == "environ" and isinstance(key, str):
            found = run.store.get(run.variables, key.upper())
            found = found or (None if run.files.sets_variable(key) and key.upper() != "PATH" else environment(key))
            return found if found is not None else ANYTHING
        if owner.name == "sys.modules" and isinstance(key, str):
            return run.imported(key)
        if owner.last in ("cdll", "windll", "oledll", "pydll") and isinstance(key, str):
            return load_library(run, node, owner.last, (key,))
    return ANYTHING


def sliced(atom: Atom, limits: list[Atom]) -> Atom:
    """What ``atom[start:end]`` gives."""
    known = [limit for limit in limits if limit is None or isinstance(limit, int)]
    if len(known) < len(limits):
        return UNKNOWN
    part = slice(*known)
    if isinstance(atom, str):
        return atom[part]
    return Items(atom.items[part], atom.complete) if isinstance(atom, Items) and atom.complete else UNKNOWN


def listed(value: Value) -> tuple[list[Value], bool]:
    """What a loop over a value goes through, and whether that is all, and for certain."""
    if len(value) == 1:
        atom = value[0]
        if isinstance(atom, Items):
            return ([*atom.items] if atom.complete else [*atom.items, ANYTHING]), atom.complete
        if isinstance(atom, DictValue):
            return [(key,) for key in atom.entries], atom.complete
        if isinstance(atom, OpenTextFile):
            lines = atom.text.splitlines(keepends=True)
            return [(line,) for line in lines[:MAX_TURNS]], len(lines) <= MAX_TURNS
        if isinstance(atom, str) and re.search(r"[*?\[]", atom):  # a pattern that glob was given, of unknown files
            return [(atom,)], False
        return [ANYTHING], False
    found = [item for atom in value if isinstance(atom, Items) for item in atom.items]
    return ([united([*found[:MAX_TURNS], ANYTHING])] if found else [ANYTHING]), False


# ----------------------------------------------------------------------------------------------- the methods


def method(
    run: CodeState, node: ast.Call, owner: str | Items | DictValue | OpenTextFile, name: str, args: list[Value]
) -> Value:
    """What a method of a string, path, list or dictionary gives."""
    if isinstance(owner, DictValue):
        return _of_table(owner, name, args)
    if isinstance(owner, OpenTextFile):
        lines, complete = listed((owner,))
        return (
            (owner.text,) if name == "read" else (Items(tuple(lines), complete),) if name == "readlines" else (owner,)
        )
    if isinstance(owner, Items):
        return _of_items(run, node, owner, name, args)
    if name in ("exists", "is_file", "is_dir"):
        return exists(run, owner, {"is_file": False, "is_dir": True}.get(name))
    if name == "iterdir":
        return list_folder(run, node, owner, whole=True)
    if name in ("glob", "rglob"):
        return globbed(run, join(owner, args[0][0] if args else UNKNOWN), deep=name == "rglob")
    if name in ("joinpath", "with_suffix", "with_name"):
        return combined(lambda *parts: _path_method(name, owner, *parts), *args) if args else (owner,)
    if name in ("read_text", "read_bytes") and is_absolute(owner):
        return content(run, owner)
    if name == "open" and is_absolute(owner):
        return combined(lambda atom: OpenTextFile(atom) if isinstance(atom, str) else UNKNOWN, content(run, owner))
    if name in ("open", "load"):
        return ANYTHING
    if name in SAME:
        return (owner,)
    if name == "join":
        return _text_join(run, owner, args)
    return _text(owner, name, args)


def _path_method(name: str, owner: str, *parts: Atom) -> Atom:
    if name == "joinpath":
        return join(owner, *parts)
    folder, base = posixpath.split(owner)
    last = parts[0]
    if not isinstance(last, str):
        return UNKNOWN
    return posixpath.join(folder, last if name == "with_name" else posixpath.splitext(base)[0] + last)


def _text_join(run: CodeState, owner: str, args: list[Value]) -> Value:
    items, complete = listed(args[0]) if args else ([], False)
    parts = [one[0] for one in items if len(one) == 1 and isinstance(one[0], str)]
    if not complete or len(parts) < len(items) or sum(map(len, parts)) + len(owner) * len(parts) > MAX_TEXT:
        return ANYTHING
    return (owner.join(parts),)


def _text(owner: str, name: str, args: list[Value]) -> Value:
    """A method of a string with plain arguments."""
    texts = [plain(arg[0]) if len(arg) == 1 else UNKNOWN for arg in args]
    if any(part is UNKNOWN for part in texts):
        return ANYTHING
    if name in ("split", "rsplit", "splitlines", "partition", "rpartition"):
        try:
            return (Items(tuple((part,) for part in getattr(owner, name)(*texts))),)
        except (TypeError, ValueError):
            return ANYTHING
    if name == "format":
        return (_formatted(owner, texts),)
    if name in (
        "replace",
        "startswith",
        "endswith",
        "lower",
        "upper",
        "strip",
        "lstrip",
        "rstrip",
        "title",
        "casefold",
        "removeprefix",
        "removesuffix",
        "isdigit",
        "find",
        "count",
    ):
        if (
            name == "replace"
            and len(owner) * max((len(part) for part in texts if isinstance(part, str)), default=0) > MAX_TEXT
        ):
            return ANYTHING
        try:
            found = getattr(owner, name)(*texts)
        except (TypeError, ValueError):
            return ANYTHING
        return (found,)
    return ANYTHING


def _formatted(text: str, args: list[object]) -> Atom:
    """``"lib{}-{}.dll".format(…)``, for plain fields."""
    parts = re.split(r"\{(\d?)\}", text)
    made = [parts[0]]
    for at, (index, rest) in enumerate(zip(parts[1::2], parts[2::2], strict=True)):
        where = int(index) if index else at
        if where >= len(args) or not isinstance(args[where], str | int):
            return UNKNOWN
        made += [str(args[where]), rest]
    whole = "".join(made) if sum(map(len, made)) <= MAX_TEXT else "{"
    return UNKNOWN if "{" in whole else whole


def percent(text: Atom, args: Atom, budget: CodeBudget) -> Atom:
    """``"lib%s-%d.dll" % (…)``, for plain fields."""
    if not isinstance(text, str):
        return UNKNOWN
    given = plain(args)
    values = given if isinstance(given, tuple) else (given,)
    if any(not isinstance(value, str | int) for value in values):
        return UNKNOWN
    if re.search(r"%[^sdi%]", text) or len(text) + sum(len(str(value)) for value in values) > MAX_TEXT:
        return UNKNOWN
    try:
        return text % values
    except (TypeError, ValueError):
        return UNKNOWN


def _of_table(owner: DictValue, name: str, args: list[Value]) -> Value:
    if name == "get" and args:
        default = args[1] if len(args) > 1 else (None,)
        found = []
        for key in args[0]:
            known = owner.entries.get(key) if isinstance(key, str | int) or key is None else ANYTHING
            found.append(known if known is not None else default if owner.complete else (*default, UNKNOWN))
        return united(found)
    if name == "values":
        return (Items(tuple(owner.entries.values()), owner.complete),)
    if name == "keys":
        return (Items(tuple((key,) for key in owner.entries), owner.complete),)
    if name == "items":
        pairs = tuple((Items(((key,), value)),) for key, value in owner.entries.items())
        return (Items(pairs, owner.complete),)
    return ANYTHING


def _of_items(run: CodeState, node: ast.Call, owner: Items, name: str, args: list[Value]) -> Value:
    """A method of a list; those that change it give its name another value."""
    changed: Items | None = None
    if name in ("append", "add") and args:
        changed = Items((*owner.items, args[0]), owner.complete)
    elif name == "insert" and len(args) > 1:
        at = args[0][0]
        where = at if isinstance(at, int) and owner.complete else len(owner.items)
        changed = Items((*owner.items[:where], args[1], *owner.items[where:]), owner.complete)
    elif name in ("extend", "update") and args:
        more, complete = listed(args[0])
        changed = Items((*owner.items, *more), owner.complete and complete)
    elif name == "pop" and owner.complete and owner.items and len(args) < 2:
        return _popped(run, node, owner, args[0][0] if args else -1)
    elif name in ("remove", "pop", "clear", "discard"):
        changed = Items(owner.items, complete=False)
    elif name in ("copy", "__iter__"):
        return (owner,)
    if changed is not None and isinstance(node.func, ast.Attribute):
        run.budget.step(len(changed.items))
        run.assign(node.func.value, (changed,))
    return ANYTHING if name == "pop" else (None,)


def _popped(run: CodeState, node: ast.Call, owner: Items, at: Atom) -> Value:
    """``list.pop``: the item, which is not in the list any more."""
    known = isinstance(at, int) and -len(owner.items) <= at < len(owner.items)
    items = list(owner.items)
    found = items.pop(at) if known and isinstance(at, int) else ANYTHING
    if isinstance(node.func, ast.Attribute):
        run.budget.step(len(items))
        run.assign(node.func.value, (Items(tuple(items), complete=known),))
    return found
