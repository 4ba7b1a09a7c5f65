"""The fuzzer itself: the same inputs for the same number, a finding fails the run, and its input is kept."""

from __future__ import annotations

import itertools

import pytest

from fuzz import __main__ as fuzzer
from fuzz.oracles import Disagreement, ask_csv, ask_lief_and_pefile, ask_zipfile
from fuzz.targets import TARGETS
from tests.archive.byhand import Entry, build_zip, wheel_entries
from tests.support.wheels import library
from wheelfix.archive.reader import Archive
from wheelfix.archive.record import Record
from wheelfix.model import Image
from wheelfix.pe.image import read_image
from wheelfix.streams.source import MemorySource


def first(name: str, seed: int) -> list[bytes]:
    return list(itertools.islice(fuzzer.damaged(name, seed), 200))


def test_the_same_number_gives_the_same_inputs():
    assert first("record", 1) == first("record", 1)
    assert first("record", 1) != first("record", 2)


def test_a_clean_run(capsys):
    assert fuzzer.main(["record", "config", "--seconds", "0.2"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert [line.split()[0] for line in lines] == ["record", "config"]
    assert all("0 findings" in line for line in lines)


def test_a_finding_fails_the_run_and_can_be_fed_again(tmp_path, monkeypatch, capsys):
    def target(data: bytes) -> None:
        if b"," not in data:
            raise ValueError("no comma")

    monkeypatch.setitem(TARGETS, "record", target)
    assert fuzzer.main(["record", "--seconds", "0.3", "--keep", str(tmp_path)]) == 1
    assert "1 findings" in capsys.readouterr().out
    assert fuzzer.main(["record", "--input", str(tmp_path / "record-1")]) == 1
    assert "ValueError: no comma" in capsys.readouterr().out


def test_an_unknown_target(capsys):
    with pytest.raises(SystemExit) as stopped:
        fuzzer.main(["nothing"])
    assert stopped.value.code == 2
    assert "there is no target 'nothing'" in capsys.readouterr().err


def test_zipfile_is_really_asked(tmp_path):
    data = build_zip(wheel_entries([Entry("a.txt", b"text")]))
    path = tmp_path / "pkg-1.0-py3-none-any.whl"
    path.write_bytes(data)
    with Archive.open(path) as archive:
        ask_zipfile(archive, data)
        with pytest.raises(Disagreement, match="zipfile lists"):
            ask_zipfile(archive, build_zip(wheel_entries()))
        with pytest.raises(Disagreement, match="other bytes"):
            ask_zipfile(archive, build_zip(wheel_entries([Entry("a.txt", b"else")])))


def test_csv_and_installer_are_really_asked():
    parsed = Record.parse(b"a.py,,1\n")
    ask_csv(b"a.py,,1\n", parsed)
    with pytest.raises(Disagreement, match="csv reads other paths"):
        ask_csv(b"b.py,,1\n", parsed)
    with pytest.raises(Disagreement, match="installer reads"):
        ask_csv(b"a.py,,2\n", parsed)


def test_lief_and_pefile_are_really_asked():
    data = library("a.dll:g", "b.dll")
    facts = read_image(MemorySource(data))
    assert isinstance(facts, Image)
    ask_lief_and_pefile(facts, data)
    with pytest.raises(Disagreement, match="imports"):
        ask_lief_and_pefile(facts, library("a.dll:g", "c.dll"))
    with pytest.raises(Disagreement, match="exports"):
        ask_lief_and_pefile(facts, library("a.dll:h", "b.dll"))
