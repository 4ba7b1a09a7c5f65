"""Small pieces of code in both: interpreted as part of a package, and run by Python itself."""

from __future__ import annotations

from tests.support.views import make_view
from wheelfix.loader.profile import Profile
from wheelfix.pycode.budget import budget_of
from wheelfix.pycode.importer import import_end, new_run
from wheelfix.pycode.reading import PathCode, read_path_code
from wheelfix.pycode.run import Managed, PyValue, Thrown
from wheelfix.pycode.windows import ViewFiles, WindowsMachine

PROFILE = Profile(python=(3, 11))


def interpreted(code: str, files: dict[str, bytes | str] | None = None) -> dict[str, PyValue]:
    """The names of a package after its code was interpreted; what it raises is in ``error``, as the class's name."""
    own = {"Lib/site-packages/pkg/__init__.py": code}
    own |= {f"Lib/site-packages/pkg/{name}": content for name, content in (files or {}).items()}
    run = new_run(WindowsMachine(ViewFiles(make_view(own), PROFILE)), steps=10_000)
    run.guards.append(Managed("value", None))  # else an exception that the model may raise by mistake is passed over
    try:
        run.importer.import_module("pkg")
    except Thrown as thrown:
        return {"error": thrown.error.kind.name}
    return dict(run.modules["pkg"].names)


def unclear(code: str, files: dict[str, bytes | str] | None = None) -> str:
    """Why it is not known what code of a package does; empty where all of it could be followed."""
    own = {"Lib/site-packages/pkg/__init__.py": code}
    own |= {f"Lib/site-packages/pkg/{name}": content for name, content in (files or {}).items()}
    return import_end(make_view(own), PROFILE, "pkg", steps=10_000).reason


def read(code: str, *others: str, path: str = "Lib/site-packages/pkg/__init__.py") -> PathCode:
    """What one file of a package does to the search for DLLs; the others lie in site-packages."""
    view = make_view({path: code, **{f"Lib/site-packages/{other}": "" for other in others}})
    return read_path_code(code, path, budget_of(view), ViewFiles(view, PROFILE))


def run_by_python(code: str) -> dict[str, object]:
    """The same, done by the Python that runs the tests."""
    names = {"__name__": __name__}
    try:
        exec(compile(code, "pkg", "exec"), names)  # code of these tests
    except Exception as error:
        return {"error": type(error).__name__}
    return names


def sections(text: str) -> dict[str, str]:
    """Pieces of code by the names in the lines ``## name`` above them."""
    return dict(part.split("\n", 1) for part in text.split("## ")[1:])  # type: ignore[misc]
