"""The import of a package as a whole: what is loaded, who needs what, and what fails first."""

from __future__ import annotations

from tests.support.tables import named_cases
from tests.support.views import make_view
from tests.support.wheels import extension, library
from tools.forge import forge_dll
from wheelfix.loader.profile import Profile
from wheelfix.loader.resolve import resolve
from wheelfix.model import EdgeKind, InView, Machine, Missing, Resolution

SITE = "Lib/site-packages/"
PYTHON = Profile(python=(3, 11))


def resolved(files: dict[str, bytes | str], profile: Profile = PYTHON) -> Resolution:
    return resolve(make_view({SITE + path: data for path, data in files.items()}), profile)


def dll(name: str, *imports: str, **more: object) -> bytes:
    return forge_dll(name, imports={one: ["f"] for one in imports}, exports=["f"], **more)  # type: ignore[arg-type]


def test_the_chain_leads_to_the_dll_that_is_missing():
    found = resolved(
        {"pkg/__init__.py": "", "pkg/_m.pyd": extension("a.dll", name="_m"), "pkg/a.dll": dll("a.dll", "b.dll")}
    )
    assert (found.first_failure.code, found.first_failure.chain) == (126, ("_m.pyd", "a.dll", "b.dll"))
    assert found.reached == {f"{SITE}pkg/_m.pyd", f"{SITE}pkg/a.dll"}


def test_a_missing_symbol_and_another_processor_have_codes_of_their_own():
    other = library("a.dll:other")
    assert resolved({"pkg/_m.pyd": extension("a.dll", name="_m"), "pkg/a.dll": other}).outcomes[0].code == 127
    small = dll("a.dll", machine=Machine.X86)
    assert resolved({"pkg/_m.pyd": extension("a.dll", name="_m"), "pkg/a.dll": small}).outcomes[0].code == 193


def test_a_delay_load_that_is_missing_fails_nothing():
    image = forge_dll("_m.pyd", delay_imports={"late.dll": ["f"]}, exports=["PyInit__m"])
    found = resolved({"pkg/_m.pyd": image})
    assert found.first_failure is None
    (edge,) = [edge for edge in found.edges if edge.name == "late.dll"]
    assert edge.kind is EdgeKind.DELAY
    assert isinstance(edge.provider, Missing)
    assert not edge.required


def test_a_plugin_that_nothing_loads_finds_what_is_anywhere_in_the_wheel():
    files = {
        "pkg/__init__.py": "",
        "pkg/plugins/p.dll": dll("p.dll", "a.dll", "gone.dll"),
        "pkg/bin/a.dll": dll("a.dll"),
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
        "pkg/_m.pyd": extension("a.dll", name="_m"),
        "pkg/a.dll": dll("a.dll"),
        f"{folder}/tool.exe": dll("tool.exe", "b.dll"),
        f"{folder}/b.dll": dll("b.dll", "a.dll", "python311.dll"),
    }
    providers = {edge.name: edge.provider for edge in resolved(files).edges if edge.importer.endswith("/b.dll")}
    assert isinstance(providers["a.dll"], InView) is found
    assert not isinstance(providers["python311.dll"], Missing)


def test_a_load_that_code_catches_is_a_failure_that_nobody_sees():
    code = (
        "import ctypes, os\ntry:\n    ctypes.CDLL(os.path.join(os.path.dirname(__file__), 'a.dll'))\n"
        "except OSError:\n    pass\n"
    )
    found = resolved({"pkg/__init__.py": code, "pkg/a.dll": dll("a.dll", "gone.dll")})
    assert [(outcome.code, outcome.event.guarded) for outcome in found.outcomes] == [(126, True)]
    assert found.first_failure is None
    assert f"{SITE}pkg/a.dll" not in found.reached


def test_a_load_in_code_that_finds_no_file_is_an_outcome():
    code = "import ctypes, os\nctypes.CDLL(os.path.join(os.path.dirname(__file__), 'gone.dll'))\n"
    found = resolved({"pkg/__init__.py": code, "pkg/a.dll": dll("a.dll")})
    assert found.first_failure.event.path == f"{SITE}pkg/gone.dll"
    (fault,) = found.code_faults
    assert (fault.cause, fault.error, fault.sure, fault.reached) == ("load", "FileNotFoundError", True, True)


def test_the_same_question_has_the_same_answer():
    view = make_view({f"{SITE}pkg/_m.pyd": extension("gone.dll", name="_m")})
    assert resolve(view, PYTHON) is resolve(view, PYTHON)
    assert resolve(view, PYTHON) is not resolve(view, Profile(python=(3, 12)))


def test_modules_of_a_prefix_inside_a_package_are_not_imported_by_users():
    """gstreamer-python has a whole prefix below its package, which another distribution sets up."""
    needy = extension("cairo-2.dll", name="_cairo")
    inside = f"{SITE}pkg/Lib/site-packages/cairo/_cairo.pyd"
    found = resolve(make_view({f"{SITE}pkg/__init__.py": "", inside: needy}), Profile(python=(3, 11)))
    assert not [outcome for outcome in found.outcomes if outcome.code]
    assert inside not in found.reached
