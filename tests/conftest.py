"""What holds for all tests."""

from __future__ import annotations

import os
import signal

from hypothesis import HealthCheck, settings

# A pipeline repeats the same examples, so that a change fails for what it does; elsewhere each run has new ones.
settings.register_profile("ci", derandomize=True, deadline=None, suppress_health_check=[HealthCheck.too_slow])


def pytest_configure() -> None:
    """Let SIGINT interrupt, also where the tests were started with ``&`` or nohup and inherited that it is ignored."""
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)
    if os.environ.get("CI"):
        settings.load_profile("ci")
