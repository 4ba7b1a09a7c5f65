"""Libraries that packages load by name: recognised by words or by name, with where to get them on Windows."""

from __future__ import annotations

import pytest

from wheelfix.diagnosis.symptoms.causes import explain_symptoms
from wheelfix.diagnosis.symptoms.messages import libraries, library_of, parse_libraries
from wheelfix.diagnosis.symptoms.reader import read_symptoms
from wheelfix.knowledge.tables import TableFault

FRAME = '  File "C:\\lab\\Lib\\site-packages\\x\\__init__.py", line 1, in <module>\n'


@pytest.mark.parametrize("library", [one for one in libraries() if one.words], ids=lambda one: one.name)
def test_words_about_a_library_name_it_and_say_where_to_get_it(library) -> None:
    (cause,) = explain_symptoms(read_symptoms(f"{FRAME}ImportError: {library.words.some[0]}\n"))
    assert cause.id == "library-by-name"
    assert cause.likely_missing == (library.name,)
    assert cause.next_steps[0].title == library.fix


def test_the_same_words_from_another_system_are_left_alone() -> None:
    words = "OSError: PortAudio library not found\n"
    assert read_symptoms('  File "/usr/lib/python3/dist-packages/sounddevice.py", line 71, in <module>\n' + words) == ()
    assert read_symptoms(words) == ()


@pytest.mark.parametrize(
    ("name", "library"),
    [
        ("libsndfile_x64.dll", "libsndfile.dll"),
        ("portaudio", "portaudio.dll"),
        ("geos_c.dll", "geos_c.dll"),
        ("gdal307", "gdal.dll"),
        ("R.dll", "R.dll"),
        ("libusb-1.0.dll", "libusb-1.0.dll"),
    ],
)
def test_a_name_stands_for_a_library(name: str, library: str) -> None:
    found = library_of(name)
    assert found is not None
    assert found.name == library


@pytest.mark.parametrize("name", ["", "torch_cpu.dll", "rocblas.dll", "render.dll", "core.dll"])
def test_other_names_stand_for_none(name: str) -> None:
    assert library_of(name) is None


def test_a_library_that_is_asked_for_by_name_comes_with_its_own_remedy_first() -> None:
    text = "FileNotFoundError: Could not find module 'libvlc.dll' (or one of its dependencies). Try using the full path"
    (cause,) = explain_symptoms(read_symptoms(text))
    assert "VLC" in cause.next_steps[0].title


def test_a_table_with_faults_is_refused() -> None:
    row = '[[library]]\nname="a.dll"\nfile="("\nfix="f"\nwhy="w"\nany=["UPPER"]\nsource="s"\n'
    with pytest.raises(TableFault, match=r"not in lower case(?s:.)*pattern|pattern(?s:.)*not in lower case"):
        parse_libraries("t", row)
