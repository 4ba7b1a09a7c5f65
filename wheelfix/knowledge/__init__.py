"""What we know: tables with sources, and the modules that read them.

Every table is TOML, or text with one sorted name per line, in this folder; ``tables`` reads and checks them.
``system`` has what Windows, drivers, Python and the C++ runtime provide; ``families`` and ``cuda`` vendors' DLLs by
name and version; ``companions`` what these load at run time; ``provider_index`` and ``providers`` who ships what;
``targets`` what kinds of Windows have; ``winerrors`` what an error code means, also in Wine; ``cards`` graphics cards
and their drivers; ``fit`` what does not go together on a machine; ``builds`` the commands that keep the kind of a
build; ``wheeltags`` what a tag means.

A new fact is a row of a table, with its source. Code that asks never names a product.
"""
