"""What we know: tables with sources, and their loader.

Every table is TOML, or text with one sorted name per line, and lies beside the module that reads it. ``system`` says
what Windows, drivers, Python and the C++ runtime bring; ``families`` and ``cuda`` know vendors' DLLs by their names;
``companions`` what those load at run time; ``provider_index``, ``distributions`` and ``providers`` who ships what;
``winerrors`` what an error code means; ``cards`` and ``drivers`` graphics cards and who still serves them;
``toolchains`` what a linker version says; ``stable_abi`` what abi3 promises.
"""
