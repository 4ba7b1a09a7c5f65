"""The wheels of a package index as sources of a survey: by names, read in parts by range requests."""

from __future__ import annotations

from typing import TYPE_CHECKING

from wheelfix.base.inputfiles import read_file
from wheelfix.errors import InputError, UsageError, WheelfixError
from wheelfix.remote.client import Client, parsed
from wheelfix.remote.wheel import RemoteWheel
from wheelfix.streams.pool import WorkerPool
from wheelfix.survey.lists import LARGEST_LIST, Listed
from wheelfix.survey.sources import WheelSource, local_source
from wheelfix.survey.wheelrows import failed_rows

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    from wheelfix.remote.remoteoptions import RemoteOptions
    from wheelfix.survey.wheelrows import WheelRows

CONNECTIONS = 8
"""Names that are asked for at a time."""
AT_A_TIME = 200
"""Names between two lines about progress."""


def read_names(file: Path) -> list[str]:
    """Return the requirements in a file, one in a line; what follows ``#`` is left out."""
    try:
        lines = read_file(file, LARGEST_LIST).decode("utf-8-sig").splitlines()
    except (OSError, UnicodeDecodeError) as exc:
        raise InputError(f"{file} cannot be read", because=str(exc)) from exc
    names = [text for line in lines if (text := line.partition("#")[0].strip())]
    if not names:
        raise UsageError(f"{file} has no names", hint="write one project in a line: numpy, or torch==2.4.1")
    return list(dict.fromkeys(names))


def list_index(names: Sequence[str], options: RemoteOptions, say: Callable[[str], None] = lambda text: None) -> Listed:
    """Return the wheel of each name that an installer on the target takes; ``say`` is given lines about progress."""
    with Client(options) as client:
        client.refuse_offline("the package index")
        client.index  # noqa: B018  # made once, before several threads ask for it
        with WorkerPool(CONNECTIONS) as pool:
            found: list[WheelSource | WheelRows] = []
            for at in range(0, len(names), AT_A_TIME):
                say(f"survey: {at} of {len(names)} names looked up")
                found += pool.map(lambda name: _source(client, name), names[at : at + AT_A_TIME])
    sources = {one.place: one for one in found if isinstance(one, WheelSource)}
    return Listed(tuple(sources.values()), tuple(one for one in found if not isinstance(one, WheelSource)))


def _source(client: Client, name: str) -> WheelSource | WheelRows:
    try:
        wanted = parsed(name)
        if wanted.url:
            raise UsageError(f"{name} is not looked up", because="it has a URL", hint="give the URL as a SOURCE")
        file = client.index.choose(wanted, client.target)
        wheel = client.wheel_of(file)
    except WheelfixError as error:
        return failed_rows(WheelSource(name, name), error)
    if not isinstance(wheel, RemoteWheel):
        return local_source(wheel)
    return WheelSource(wheel.url, file.name, file.size, file.sha256, file.sha256, in_parts=True)
