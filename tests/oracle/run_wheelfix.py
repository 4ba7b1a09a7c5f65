"""Runs anywhere: several wheelfix commands in one process, told as JSON what each said and with which code it ended.

``python run_wheelfix.py COMMANDS.json RESULT.json``: a list of argument lists in, a list of results out. Starting a
Python costs seconds under emulation, so it is started once.
"""

from __future__ import annotations

import faulthandler
import io
import json
import sys
import time
from pathlib import Path

LIMIT = 400
"""Seconds for all commands; they take about 100 under emulation."""


def run(arguments: list[str]) -> dict[str, object]:
    """Run one command with streams of its own."""
    begin = time.perf_counter()
    streams = sys.stdout, sys.stderr
    sys.stdout, sys.stderr = (io.TextIOWrapper(io.BytesIO(), encoding="utf-8", newline="\n") for _ in range(2))
    try:
        from wheelfix.cli.main import main

        code = main(arguments)
    finally:
        texts = []
        for stream in (sys.stdout, sys.stderr):
            stream.flush()
            texts.append(stream.buffer.getvalue().decode("utf-8"))
        sys.stdout, sys.stderr = streams
    return {"code": int(code), "out": texts[0], "err": texts[1], "seconds": time.perf_counter() - begin}


# Under emulation a thread was once never woken. The process then ends, and says where each thread waits.
faulthandler.dump_traceback_later(LIMIT, exit=True)
commands = json.loads(Path(sys.argv[1]).read_text(encoding="utf-8"))
Path(sys.argv[2]).write_text(json.dumps([run(command) for command in commands]), encoding="utf-8")
