"""What a repair will do, decided before anything is written.

``make`` is the door: it decides with ``planner``, which answers every need from the roots, in rounds, until the loader
model finds nothing more to add. ``ways`` are the other ways for a wheel to have a DLL (requirements, an installed
toolkit). The plan is a value (``model``): it can be printed, and written as a lock and replayed (``lock``). ``sbom``
is the bill of materials of what was vendored.
"""
