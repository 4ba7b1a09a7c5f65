"""Programs that are installed on their own, and their DLLs."""

import pytest

from wheelfix.knowledge.tables import TableFault
from wheelfix.knowledge.userprograms import parse_programs, program_of


@pytest.mark.parametrize(
    ("name", "program"),
    [
        ("JVM.dll", "Java"),
        ("msmpi.dll", "Microsoft MPI"),
        ("R.dll", "R"),
        ("xjvm.dll", None),
        ("krb5_64.dll", "MIT Kerberos for Windows"),
        ("Packet.dll", "Npcap"),
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
