"""``python -m wheelfix``."""

import signal

if __name__ == "__main__":
    # Until our own handler is there, Ctrl-C shall end us without a traceback.
    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        signal.signal(signal.SIGINT, signal.SIG_DFL)
    from wheelfix.cli.main import entry

    entry()
