"""What every room needs, and what knows nothing of wheels or DLLs.

``values`` makes our dataclasses, ``options`` has what a user may choose. ``inputfiles`` reads files that others wrote,
``parsing`` their numbers, versions, JSON and TOML within limits. ``programs`` is the only module that starts other
programs. ``workers`` hands inputs to processes, in each of which ``workerprocess`` runs.

Errors are in ``wheelfix/errors.py``, which is part of the Python interface.
"""
