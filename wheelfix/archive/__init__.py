"""A wheel as a zip file: its directory and members, RECORD, rewriting it, and what others accept.

``reader`` opens a wheel. It takes the directory from ``directory``, which knows the records of a zip file and nothing
of wheels, and gives members and their bytes. ``names`` says where an installer puts a member and what the file name of
a wheel means, ``metadata`` what the files in ``.dist-info`` say, ``record`` whether RECORD and the members agree.
``conformance`` says what PyPI, pip and uv refuse. What is wrong is a Fault (``faults``), and never an exception, unless
nothing can be read at all.

A new wheel is described in ``changes`` (what leaves, what comes, what is renamed) and written by ``writer``, which
reads it back before it gets its name.
"""
