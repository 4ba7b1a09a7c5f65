"""What we know: tables with sources, and the modules that read them.

Every table is TOML, or text with one sorted name per line, in this folder; ``tables`` reads them. ``system`` has what
Windows, drivers, Python and the C++ runtime provide; ``families``, ``cuda`` and ``cudalibraries`` vendors' DLLs by name
and version; ``companions`` what these load at run time; ``provider_index``, ``distributions``, ``modules`` and
``providers`` who ships what; ``member_hashes`` the hashes of vendors' DLLs; ``targets`` and ``windowssince`` what kinds
of Windows have; ``winerrors`` what an error code means; ``cards``, ``cardnames``, ``othercards`` and ``drivers``
graphics cards and their drivers; ``toolchains`` what a linker version shows; ``stable_abi`` and ``python_exports`` what
Python's DLLs export; ``compiled_modules``, ``runtime_needs``, ``torch_builds`` and ``userprograms`` what packages have
and need; ``wine`` where Wine differs from Windows.
"""
