"""Files on servers: byte sources by range requests, package indexes, and the cache.

``client`` has what one run needs. ``settings`` says which indexes to ask and how, as pip and uv are configured;
``packageindex`` finds the files of a project and the wheel that an installer would take; ``ranges`` makes a file on a
server a byte source like any other; ``cache`` keeps what was read. ``transport`` is HTTP with bounded time and memory,
the only module that knows requests, and ``addresses`` says what a URL may show and prove.
"""
