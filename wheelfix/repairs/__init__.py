"""The commands that write: a repaired wheel, signed files, an installed package with its journal.

``repair`` goes from a wheel to a plan and to the wheel that ``rewrite`` makes of it. ``mangled`` is the layout in
which delvewheel renames DLLs. ``installed`` repairs a package where it is installed, and can undo that. ``sign`` runs
a signing command on the files of a wheel.
"""
