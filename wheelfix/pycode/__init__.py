"""The one reader of Python code: an interpreter that never runs what it follows.

It answers two questions: how does this import end (``importer``), and which DLLs may this file ask for, also in
functions that nobody calls (``reading``)?

Both are a ``run``: state, values and parts that reach one another through it. ``statements`` and ``expressions`` carry
out the syntax tree, ``calls`` calls and attributes, ``builtintypes`` and ``library`` what Python's own functions do,
and ``windows`` is the machine: files, variables, and the process that loads DLLs. ``sourcecode`` parses, and knows
what words and statements tell without running anything. ``budget`` bounds all of it.
"""
