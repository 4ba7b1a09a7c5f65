"""What holds for all tests."""

from __future__ import annotations

import signal


def pytest_configure() -> None:
    """Let SIGINT interrupt, also where the tests were started with ``&`` or nohup and inherited that it is ignored."""
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)
