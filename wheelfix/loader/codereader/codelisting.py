"""What Python code finds when it asks for files and folders, lists a folder, or reads a small text file."""

from __future__ import annotations

import posixpath
from typing import TYPE_CHECKING

from wheelfix.loader.codereader.codefiles import matching
from wheelfix.loader.codereader.codeloads import NO_FILE, is_absent, is_caught, is_guarded
from wheelfix.loader.codereader.codestore import LATER, FoundFolder, Raised
from wheelfix.loader.codereader.codevalue import (
    ANYTHING,
    ROOT,
    Items,
    is_absolute,
    join,
    tidy,
)

if TYPE_CHECKING:
    import ast

    from wheelfix.loader.codereader.codestore import CodeState
    from wheelfix.loader.codereader.codevalue import Atom, Value


def exists(run: CodeState, atom: Atom, folder: bool | None) -> Value:
    """Whether a file or folder is there; a DLL of the package that is not there is remembered."""
    if not isinstance(atom, str) or not is_absolute(atom):
        return (False,) if isinstance(atom, str) and atom and run.files.names("") is not None else ANYTHING
    path = tidy(atom)
    found = run.files.exists(path, folder=folder)
    if path.lower().endswith((".dll", ".pyd")):
        if found:
            run.looked_for.clear()
        elif found is False and run.files.is_own(path):
            run.looked_for[path] = ()
    return ANYTHING if found is None else (found,)


def list_folder(run: CodeState, node: ast.Call, atom: Atom, *, whole: bool) -> Value:
    """The names or paths in a folder; one of the package that is not there raises an exception."""
    if isinstance(atom, str) and is_absent(run, atom) and run.level != LATER:
        if not run.muted:
            run.listings.append(
                FoundFolder(
                    tidy(atom), run.scope.path, node.lineno, run.level, is_guarded(run, NO_FILE), True, run.place
                )
            )
        if is_caught(run, NO_FILE):
            raise Raised(NO_FILE)
    return names_in(run, atom, whole=whole)


def content(run: CodeState, atom: Atom) -> Value:
    """What is in a small text file of the package."""
    text = run.files.text(tidy(atom)) if isinstance(atom, str) and is_absolute(atom) else None
    return ANYTHING if text is None else (text,)


def names_in(run: CodeState, atom: Atom, *, whole: bool) -> Value:
    names = run.files.names(tidy(atom)) if isinstance(atom, str) and is_absolute(atom) else None
    if names is None:
        return (Items((), complete=False),)
    return (Items(tuple((join(atom, name) if whole else name,) for name in names)),)


def globbed(run: CodeState, atom: Atom, *, deep: bool = False) -> Value:
    """The files that a pattern stands for; the pattern itself where files are not known."""
    if not isinstance(atom, str):
        return ANYTHING
    found = matching(run.files, tidy(atom)) if is_absolute(atom) else None
    if deep or "**" in atom:
        start = posixpath.dirname(tidy(atom).replace("/**", ""))
        found = run.files.below(start, posixpath.basename(atom)) if is_absolute(atom) and "*" not in start else None
    if found is None:
        return (Items(((atom,),), complete=False),)
    pattern = tidy(atom)
    if not found and pattern.lower().endswith((".dll", ".pyd")) and run.files.is_own(pattern):
        run.looked_for[pattern] = ()
    return (Items(tuple((f"{ROOT}/{path}",) for path in found)),)
