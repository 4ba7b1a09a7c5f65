"""The command line: one file per command, named like it.

``main`` runs a command and turns errors into a message and an exit code. ``commands`` lists the commands, ``settings``
makes their parsers from ``options.txt`` and collects the values from the command line, variables and files, ``common``
has what several commands do: from what was typed to inputs, and from reports to files. ``baseline`` has known
findings.

The commands are ``scan``, ``repair``, ``verify``, ``ci``, ``diagnose``, ``diff``, ``try_``, ``roots``, ``sign``,
``survey``, ``explain``, ``cache``, ``demo`` and ``completion``. A command decides nothing about wheels.
"""
