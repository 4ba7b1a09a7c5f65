"""delvewheel in the process of the tests: starting it takes 0.2 s each time, and what it makes is the same."""

from __future__ import annotations

import contextlib
import gc
import io
import os
import sys
import threading
import traceback
import warnings
from collections.abc import Mapping, Sequence
from unittest import mock

import pefile

from wheelfix.base.programs import Finished

with mock.patch.object(pefile, "fast_load"):  # delvewheel sets it, for everyone
    from delvewheel import __main__, _dll_utils

CACHES = [thing for thing in vars(_dll_utils).values() if hasattr(thing, "cache_clear")]
"""What it remembers of the folders of one run."""
LOCK = threading.Lock()


def run_here(command: Sequence[str], *, environ: Mapping[str, str], **_: object) -> Finished:
    """Run the command line of delvewheel, as ``run_program`` does in another process."""
    words = command[command.index("delvewheel") :]
    out, err, code = io.StringIO(), io.StringIO(), 0
    with contextlib.ExitStack() as stack:
        stack.enter_context(LOCK)
        stack.enter_context(contextlib.redirect_stdout(out))
        stack.enter_context(contextlib.redirect_stderr(err))
        stack.enter_context(mock.patch.dict(os.environ, environ, clear=True))
        stack.enter_context(mock.patch.object(sys, "argv", [*words]))
        stack.enter_context(mock.patch.object(pefile, "fast_load", True))
        stack.enter_context(mock.patch.object(gc, "collect"))  # pefile does after each file, among all that tests made
        stack.enter_context(warnings.catch_warnings())
        warnings.simplefilter("ignore")
        for one in CACHES:
            one.cache_clear()
        try:
            __main__.main()
        except SystemExit as ended:
            code = ended.code if isinstance(ended.code, int) else 1
        except Exception:
            traceback.print_exc()
            code = 1
    return Finished(code, out.getvalue(), err.getvalue())
