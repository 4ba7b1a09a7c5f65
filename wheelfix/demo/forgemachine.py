"""What differs between the machine types of forged images: pointers, code that returns a number, thunks."""

from __future__ import annotations

import struct

from wheelfix.base.values import dataclass
from wheelfix.model import Machine


@dataclass(frozen=True, slots=True)
class MachineFormat:
    """What differs between machine types."""

    machine: Machine
    code: int
    """IMAGE_FILE_MACHINE_…"""
    wide: bool
    """PE32+ with 8-byte pointers."""

    @property
    def pointer(self) -> int:
        return 8 if self.wide else 4

    @property
    def image_base(self) -> int:
        return 0x1_8000_0000 if self.wide else 0x1000_0000

    def returning(self, value: int, *, pop: int = 0) -> bytes:
        """Return machine code that does nothing but return ``value``; on x86 it may remove ``pop`` argument bytes."""
        if self.machine is Machine.ARM64:  # movz w0, #value; ret
            return struct.pack("<II", 0x52800000 | (value & 0xFFFF) << 5, 0xD65F03C0)
        if self.machine is Machine.ARM:  # movs r0, #value; bx lr
            return struct.pack("<HH", 0x2000 | value & 0xFF, 0x4770)
        leave = b"\xc2" + struct.pack("<H", pop) if pop and self.machine is Machine.X86 else b"\xc3"
        return b"\xb8" + struct.pack("<I", value) + leave  # mov eax, value; ret

    def thunk(self, value: int) -> bytes:
        return struct.pack("<Q" if self.wide else "<I", value)

    def ordinal_thunk(self, ordinal: int) -> bytes:
        return self.thunk(1 << (self.pointer * 8 - 1) | ordinal)


MACHINE_FORMATS = {
    Machine.AMD64: MachineFormat(Machine.AMD64, 0x8664, wide=True),
    Machine.ARM64: MachineFormat(Machine.ARM64, 0xAA64, wide=True),
    Machine.X86: MachineFormat(Machine.X86, 0x014C, wide=False),
    Machine.ARM: MachineFormat(Machine.ARM, 0x01C4, wide=False),
}
