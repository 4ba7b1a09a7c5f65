"""How Windows finds a DLL: search orders, the system's own set, and what a package loads by itself.

``resolve`` answers the question of this room: what does importing the subject of a view load, and what is not found?
Its answer is an edge for each import. To get there:

- ``view`` has the files, laid out as installed, and ``places`` makes views of wheels, folders and environments;
  ``profile`` says what the machine is assumed to have, ``requirements`` what is installed with a wheel.
- ``loading`` is one process: LoadLibraryEx, search orders, modules that are loaded already.
- ``packagecode`` says what a package loads when it is imported, by the reader in ``pycode/``; ``followed`` follows
  each import once. ``packageloading`` and ``packages/`` are for packages whose code does not show it.
- ``evidence`` decides who provides a DLL that is not in the view: the chain of evidence.
- ``missingmodules`` finds the package's own modules that no file is, and ``predict`` words the error of an import.
"""
