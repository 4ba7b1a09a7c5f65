"""``python -m wheelfix``."""

from __future__ import annotations

import os
import sys


def _leave_out_current_folder() -> None:
    """Take the current folder off the search path, where ``-m`` puts it first: a module planted there must not run."""
    if getattr(sys.flags, "safe_path", False) or not sys.path:
        return
    first = os.path.normcase(os.path.abspath(sys.path[0] or os.curdir))  # noqa: PTH100  # pathlib is not loaded yet
    own = os.path.normcase(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))  # noqa: PTH100, PTH120
    if first == os.path.normcase(os.getcwd()) and first != own:  # noqa: PTH109
        del sys.path[0]


if __name__ == "__main__":
    _leave_out_current_folder()
    import signal

    # Until our own handler is there, Ctrl-C shall end us without a traceback.
    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        signal.signal(signal.SIGINT, signal.SIG_DFL)
    from wheelfix.cli.main import entry

    entry()
