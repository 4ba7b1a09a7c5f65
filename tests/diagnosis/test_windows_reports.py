"""Event logs, Report.wer and minidumps give the same answer as a text, with the file as evidence."""

from __future__ import annotations

import struct
import sys
import zlib
from typing import TYPE_CHECKING

import pytest

import wheelfix
from wheelfix.base.options import RootOptions, ScanOptions
from wheelfix.cli.main import main
from wheelfix.errors import InputError

if TYPE_CHECKING:
    pass

HERMETIC = ScanOptions(roots=RootOptions(discover=False))
ARROW = r"C:\work\venv\Lib\site-packages\pyarrow\MSVCP140.dll"
CRASH = {
    "AppName": "python.exe",
    "ModuleName": "MSVCP140.dll",
    "ModuleVersion": "14.28.29334.0",
    "ExceptionCode": "c0000005",
    "ModulePath": ARROW,
}
REFUSED = {"File Name": r"\Device\HarddiskVolume3\v\_x.pyd", "Process Name": r"\Device\HarddiskVolume3\python.exe"}


def summary(data: bytes) -> tuple[str, str]:
    found = wheelfix.diagnose(data, options=HERMETIC)
    return found.explained[0].cause.id, found.explained[0].cause.summary


# ------------------------------------------------------------------------------------------------------------ minidumps


def dump(code: int, address: int, path: str = ARROW, version: tuple[int, int, int, int] = (14, 28, 29334, 0)) -> bytes:
    """A minidump with one module, from 0x10000 to 0x20000, and an exception."""
    name = path.encode("utf-16-le")
    module = struct.pack("<QIIII", 0x10000, 0x10000, 0, 0, 32 + 24 + 112 + 40)
    module += struct.pack("<II", 0xFEEF04BD, 0x10000)
    module += struct.pack("<II", version[0] << 16 | version[1], version[2] << 16 | version[3])
    modules = struct.pack("<I", 1) + module.ljust(108, b"\0")
    exception = struct.pack("<IIIIQQ", 1, 0, code, 0, 0, address).ljust(40, b"\0")
    directory = struct.pack("<IIIIII", 4, len(modules), 56, 6, len(exception), 56 + 112)
    header = struct.pack("<4sIII", b"MDMP", 0xA793, 2, 32).ljust(32, b"\0")
    return header + directory + modules + exception + struct.pack("<I", len(name)) + name + b"\0\0"


def test_a_minidump_names_the_module_and_whose_copy_it_is():
    cause, text = summary(dump(0xC0000005, 0x12EB0))
    assert cause == "vc-runtime-crash"
    assert "14.28.29334.0" in text
    assert "the copy of pyarrow" in text


def test_a_crash_elsewhere_is_a_crash():
    assert summary(dump(0xC0000005, 0x99999))[0] == "crash"
    assert summary(dump(0xC06D007E, 0x12EB0, r"C:\Windows\System32\KERNELBASE.dll"))[0] == "delay-load-missing"


@pytest.mark.parametrize("size", [4, 20, 40, 60, 170])
def test_a_minidump_that_is_cut_is_refused(size):
    with pytest.raises(InputError, match="minidump"):
        wheelfix.diagnose(dump(0xC0000005, 0x12EB0)[:size], options=HERMETIC)


# ----------------------------------------------------------------------------------------------------------- Report.wer


def test_an_error_report_names_the_module():
    rows = ["Version=1", "EventType=APPCRASH", "Sig[0].Name=Application Name", "Sig[0].Value=python.exe"]
    names = {3: ("Fault Module Name", "MSVCP140.dll"), 4: ("Fault Module Version", "14.28.29334.0")}
    for number, (name, value) in {**names, 6: ("Exception Code", "c0000005")}.items():
        rows += [f"Sig[{number}].Name={name}", f"Sig[{number}].Value={value}"]
    rows += [r"LoadedModule[0]=C:\Python\python.exe", f"LoadedModule[1]={ARROW}"]
    cause, text = summary("\r\n".join(rows).encode("utf-16"))
    assert cause == "vc-runtime-crash"
    assert "the copy of pyarrow" in text


# ----------------------------------------------------------------------------------------------------------- event logs


class Chunk:
    """The only chunk of an event log, written as the format's description has it: elements, names and texts."""

    def __init__(self) -> None:
        self.data = bytearray(512)

    def _name(self, text: str) -> None:
        raw = text.encode("utf-16-le")
        hashed = 0
        for letter in text:
            hashed = (hashed * 65599 + ord(letter)) & 0xFFFFFFFF
        self.data += struct.pack("<IHH", 0, hashed & 0xFFFF, len(text)) + raw + b"\0\0"

    def _text(self, text: str) -> None:
        self.data += struct.pack("<BBH", 5, 1, len(text)) + text.encode("utf-16-le")

    def element(self, name: str, content: dict[str, object] | str, attributes: dict[str, str] | None = None) -> None:
        """Write an element with its attributes and what is in it."""
        self.data += struct.pack("<BI", 0x41 if attributes else 1, 0)
        size_at = len(self.data) - 4
        self.data += struct.pack("<I", len(self.data) + 4)
        self._name(name)
        if attributes:
            self.data += struct.pack("<I", 0)
            attributes_at = len(self.data) - 4
            for key, value in attributes.items():
                self.data += struct.pack("<B", 6)
                self.data += struct.pack("<I", len(self.data) + 4)
                self._name(key)
                self._text(value)
            struct.pack_into("<I", self.data, attributes_at, len(self.data) - attributes_at - 4)
        self.data += b"\x02"
        if isinstance(content, str):
            self._text(content)
        for key, value in content.items() if isinstance(content, dict) else ():
            if key.startswith("Data:"):
                self.element("Data", str(value), {"Name": key[5:]})
            elif isinstance(value, tuple):
                self.element(key, "", dict([value]))
            else:
                self.element(key, value)  # type: ignore[arg-type]
        self.data += b"\x04"
        struct.pack_into("<I", self.data, size_at, len(self.data) - size_at - 4)

    def record(self, number: int, event: dict[str, object]) -> None:
        """Write one record."""
        start = len(self.data)
        self.data += struct.pack("<IIQQ", 0x2A2A, 0, number, 133500000000000000) + b"\x0f\x01\x01\x00"
        self.element("Event", event)
        self.data += b"\x00"
        size = len(self.data) - start + 4
        struct.pack_into("<I", self.data, start + 4, size)
        self.data += struct.pack("<I", size)

    def file(self, records: int) -> bytes:
        """Return the whole log."""
        free = len(self.data)
        head = struct.pack("<8sQQQQIIII", b"ElfChnk\0", 1, records, 1, records, 128, free - 8, free, 0)
        self.data[: len(head)] = head
        struct.pack_into("<I", self.data, 52, zlib.crc32(self.data[512:free]))
        struct.pack_into("<I", self.data, 124, zlib.crc32(self.data[:120] + self.data[128:512]))
        top = struct.pack("<8sQQQIHHHH", b"ElfFile\0", 0, 0, records + 1, 128, 1, 3, 4096, 1).ljust(4096, b"\0")
        checked = bytearray(top)
        struct.pack_into("<I", checked, 124, zlib.crc32(checked[:120]))
        return bytes(checked) + bytes(self.data.ljust(65536, b"\0"))


def event_log(*events: tuple[str, int, dict[str, str]]) -> bytes:
    chunk = Chunk()
    for number, (provider, identifier, data) in enumerate(events, start=1):
        system = {"Provider": ("Name", provider), "EventID": str(identifier)}
        fields = {f"Data:{name}": value for name, value in data.items()}
        chunk.record(number, {"System": system, "EventData": fields})
    return chunk.file(len(events))


def test_an_event_log_names_the_module_of_a_crash():
    pytest.importorskip("evtx")
    cause, text = summary(event_log(("Application Error", 1000, CRASH)))
    assert cause == "vc-runtime-crash"
    assert "the copy of pyarrow" in text


def test_an_event_log_names_the_file_that_a_policy_refused():
    pytest.importorskip("evtx")
    policy = "Microsoft-Windows-CodeIntegrity"
    assert summary(event_log((policy, 3077, REFUSED)))[0] == "blocked-by-policy"
    watching = wheelfix.diagnose(event_log((policy, 3076, REFUSED)), options=HERMETIC)
    assert not watching.explained, "the policy only watched, and the file was loaded"


def test_without_the_package_the_extra_is_named(tmp_path, monkeypatch, capsys):
    monkeypatch.setitem(sys.modules, "evtx", None)
    log = tmp_path / "Application.evtx"
    log.write_bytes(event_log(("Application Error", 1000, CRASH)))
    assert main(["diagnose", str(log)]) != 0
    assert "wheelfix[events]" in capsys.readouterr().err


def test_a_damaged_event_log_is_refused():
    pytest.importorskip("evtx")
    with pytest.raises(InputError, match="event log"):
        wheelfix.diagnose(event_log(("Application Error", 1000, CRASH))[:600], options=HERMETIC)
