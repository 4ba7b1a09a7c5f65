"""Examine a wheel, a folder or an environment: read it, load it in the model, run the rules, build the report.

``scan`` is the door for one input, ``sets`` for several that are one installation. ``wheel`` reads an open wheel with
threads; ``examine`` resolves what was read in the loader model, runs the rules and makes the report. ``examination``
is what a scan gives to the commands that go on from it, so that a repair reads nothing twice.

``lockfile`` and ``versionchoice`` say what is installed beside a wheel: as a lock file names it, or as pip would
choose. ``verify`` checks a wheel as an archive only.
"""
