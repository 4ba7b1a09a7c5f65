"""Programs that are installed on their own, and their DLLs."""

import pytest

from wheelfix.knowledge.companions import parse_programs, program_of
from wheelfix.knowledge.tables import TableFault


@pytest.mark.parametrize(
    ("name", "program"),
    [
        ("JVM.dll", "Java"),
        ("msmpi.dll", "Microsoft MPI"),
        ("R.dll", "R"),
        ("xjvm.dll", None),
        ("krb5_64.dll", "MIT Kerberos for Windows"),
        ("Packet.dll", "Npcap"),
        ("vxlapi64.dll", "Vector XL Driver Library"),
        ("WinHvPlatform.dll", "Windows Hypervisor Platform"),
    ],
)
def test_who_has_it(name, program):
    found = program_of(name)
    assert (found.name if found else None) == program


def test_a_table_with_a_program_twice():
    row = "[[program]]\nname = 'Java'\npattern = 'jvm'\nwords = ['JAVA_HOME']\nsource = 'x'\n"
    assert len(parse_programs("userprograms.toml", row)) == 1
    with pytest.raises(TableFault):
        parse_programs("userprograms.toml", row + row)


@pytest.mark.parametrize("rest", ["", "words = ['JAVA_HOME']\nfeature = true\n"], ids=["neither", "both"])
def test_a_program_has_words_and_a_feature_has_none(rest):
    with pytest.raises(TableFault, match="either words or to be a feature"):
        parse_programs("userprograms.toml", f"[[program]]\nname = 'Java'\npattern = 'jvm'\nsource = 'x'\n{rest}")
