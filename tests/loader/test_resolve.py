"""The import of a package as a whole: what is loaded, who needs what, and what fails first."""

from __future__ import annotations

from tests.support.tables import named_cases
from tests.support.views import make_view
from tests.support.wheels import extension
from wheelfix.loader.profile import Profile
from wheelfix.loader.resolve import resolve
from wheelfix.model import EdgeKind, InView, Missing, Resolution

SITE = "Lib/site-packages/"
PYTHON = Profile(python=(3, 11))


def resolved(files: dict[str, bytes | str], profile: Profile = PYTHON) -> Resolution:
    return resolve(make_view({SITE + path: data for path, data in files.items()}), profile)


def test_a_delay_load_that_is_missing_fails_nothing():
    found = resolved({"pkg/_m.pyd": "delays late.dll"})
    assert found.first_failure is None
    (edge,) = [edge for edge in found.edges if edge.name == "late.dll"]
    assert edge.kind is EdgeKind.DELAY
    assert isinstance(edge.provider, Missing)
    assert not edge.required


def test_a_plugin_that_nothing_loads_finds_what_is_anywhere_in_the_wheel():
    files = {
        "pkg/__init__.py": "",
        "pkg/plugins/p.dll": "imports a.dll, gone.dll",
        "pkg/bin/a.dll": "",
    }
    found = resolved(files)
    providers = {edge.name: edge.provider for edge in found.edges}
    assert providers["a.dll"] == InView(f"{SITE}pkg/bin/a.dll")
    assert isinstance(providers["gone.dll"], Missing)
    assert (found.outcomes, found.reached) == ((), frozenset())


@named_cases(
    "folder, code, found",
    {
        "beside it": ("pkg", "", True),
        "in another folder": ("pkg/bin", "", False),
        "PATH for it": ("pkg/bin", "subprocess.run(['tool'], env={'PATH': here})", True),
        "started elsewhere": ("pkg/bin", "subprocess.run(['tool'], cwd=here)", True),
    },
)
def test_a_program_has_nothing_of_the_process_of_python(folder, code, found):
    """A DLL that the extension modules load served a program in another folder, too."""
    files = {
        "pkg/__init__.py": "import os\nos.add_dll_directory(os.path.dirname(__file__))\nfrom . import _m\n",
        "pkg/run.py": f"def run(here):\n    import subprocess\n    {code or 'pass'}\n",
        "pkg/_m.pyd": "imports a.dll",
        "pkg/a.dll": "",
        f"{folder}/tool.exe": "imports b.dll",
        f"{folder}/b.dll": "imports a.dll, python311.dll",
    }
    providers = {edge.name: edge.provider for edge in resolved(files).edges if edge.importer.endswith("/b.dll")}
    assert isinstance(providers["a.dll"], InView) is found
    assert not isinstance(providers["python311.dll"], Missing)


def test_the_same_question_has_the_same_answer():
    view = make_view({f"{SITE}pkg/_m.pyd": "imports gone.dll"})
    assert resolve(view, PYTHON) is resolve(view, PYTHON)
    assert resolve(view, PYTHON) is not resolve(view, Profile(python=(3, 12)))


def test_modules_of_a_prefix_inside_a_package_are_not_imported_by_users():
    """gstreamer-python has a whole prefix below its package, which another distribution sets up."""
    needy = extension("cairo-2.dll", name="_cairo")
    inside = f"{SITE}pkg/Lib/site-packages/cairo/_cairo.pyd"
    found = resolve(make_view({f"{SITE}pkg/__init__.py": "", inside: needy}), Profile(python=(3, 11)))
    assert not [outcome for outcome in found.outcomes if outcome.code]
    assert inside not in found.reached
