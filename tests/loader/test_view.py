"""A view finds files as Windows does, lists folders as NTFS does, and shows what a plan changes."""

import gc
import weakref

from tests.support.views import make_view
from tools.forge import forge_dll
from wheelfix.loader.followed import followed_imports
from wheelfix.loader.profile import Profile

LIB = "Lib/site-packages/pkg"
FILES = {f"{LIB}/B.dll": b"", f"{LIB}/a.DLL": b"", f"{LIB}/sub/b.dll": b"", f"{LIB}/b.py": b"", "python.exe": b""}


def test_files_are_found_in_any_case_and_named_as_spelled():
    view = make_view(FILES)
    assert view.find("LIB/Site-Packages/PKG", "b.DLL") == f"{LIB}/B.dll"
    assert view.find(LIB, "c.dll") is None
    assert f"{LIB}/B.dll" in view
    assert f"{LIB}/b.dll" not in view


def test_a_name_is_looked_up_in_every_folder():
    view = make_view(FILES)
    assert view.named("B.DLL") == (f"{LIB}/B.dll", f"{LIB}/sub/b.dll")
    assert view.named("b.py") == (f"{LIB}/b.py",)
    assert view.named("b") == ()


def test_a_folder_is_listed_as_ntfs_does_without_regard_to_case():
    assert make_view(FILES).in_folder(LIB) == (f"{LIB}/a.DLL", f"{LIB}/B.dll", f"{LIB}/b.py")
    assert make_view(FILES).in_folder("nowhere") == ()


def test_a_plan_adds_replaces_and_drops_files_and_keeps_what_was_read():
    before = make_view({f"{LIB}/old.dll": "", f"{LIB}/kept.dll": ""})
    kept = before.image(f"{LIB}/kept.dll")
    new = make_view({f"{LIB}/new.dll": ""})
    after = before.changed(new.files, dropped=[f"{LIB}/old.dll"])
    assert after.in_folder(LIB) == (f"{LIB}/kept.dll", f"{LIB}/new.dll")
    assert (after.named("old.dll"), after.named("new.dll")) == ((), (f"{LIB}/new.dll",))
    assert after.added == {f"{LIB}/new.dll"}
    assert after.image(f"{LIB}/kept.dll") is kept
    assert before.named("old.dll") == (f"{LIB}/old.dll",), "a view never changes"
    assert before.changed() is before


def test_a_dropped_file_uncovers_one_that_differs_in_case():
    view = make_view({f"{LIB}/A.dll": b"", f"{LIB}/a.dll": b""})
    assert view.find(LIB, "a.dll") == f"{LIB}/A.dll"
    assert view.changed(dropped=[f"{LIB}/A.dll"]).find(LIB, "a.dll") == f"{LIB}/a.dll"


def test_laid_over_an_environment_the_subject_wins_in_any_case():
    below = make_view({f"{LIB}/A.dll": b"1", "python.exe": b""})
    view = make_view({f"{LIB}/a.dll": b"22"}).over(below)
    assert [file.path for file in view.files] == [f"{LIB}/a.dll", "python.exe"]
    assert [file.path for file in view.own_files] == [f"{LIB}/a.dll"]


def test_an_image_is_recognised_by_its_name_or_by_its_bytes():
    view = make_view(
        {f"{LIB}/plugin.so": forge_dll("plugin.dll"), f"{LIB}/x.dll": b"", f"{LIB}/notes.txt": b"MZ" * 400}
    )
    assert view.image_paths == (f"{LIB}/plugin.so", f"{LIB}/x.dll")
    assert view.image(f"{LIB}/notes.txt") is None


def test_what_was_found_out_about_a_view_goes_with_it():
    """A run over hundreds of wheels used to keep the files and syntax trees of each to its end."""
    view = make_view({f"{LIB}/__init__.py": b"import ctypes\nctypes.CDLL('a.dll')\n"})
    profile = Profile()
    assert followed_imports(view, profile) is followed_imports(view, profile)
    gone = weakref.ref(view)
    del view
    gc.collect()
    assert gone() is None
