"""An x86_64 Wine, for real vendor DLLs: the host's own on amd64, the package's emulated one elsewhere.

``python -m tests.oracle.x64`` sets it up and says where it is; a second call finds it ready.
"""

from __future__ import annotations

import shutil
import sys

from tests.oracle.wine import Unavailable, Wine, host_machine, native_wine
from wheelfix.errors import WheelfixError
from wheelfix.model import Machine
from wheelfix.trial.wine import emulated_wine


def x64_wine() -> Wine:
    """Return an x86_64 Wine, set up and started; :class:`Unavailable` where that is not possible."""
    if host_machine() is Machine.AMD64:
        return native_wine()
    try:
        place = emulated_wine()
    except WheelfixError as error:
        raise Unavailable(str(error)) from error
    wine = Wine(place.program, place.server, place.folder / "prefix", Machine.AMD64)
    system32 = wine.prefix / "drive_c/windows/system32"
    if not system32.exists():  # user32 needs it from the very first start, which makes the prefix
        system32.mkdir(parents=True)
        shutil.copy(place.zlib, system32)
    wine.start()
    return wine


def main() -> int:
    """Set it up and say where it is."""
    try:
        wine = x64_wine()
    except Unavailable as error:
        print(error, file=sys.stderr)
        return 1
    print(f"program {wine.program}\nserver  {wine.server}\nprefix  {wine.prefix}")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
