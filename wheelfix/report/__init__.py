"""Reports in, text out: renderers are pure, and untrusted text goes through ``safe``.

What is said is a tree of ``blocks``, made once: by ``scans`` (over a ``document``), ``builds`` (diff), ``repairs``
(also sign and roots), ``diagnosis``, ``trial`` and ``pages`` (explain). ``canvas`` draws it as text, ``ci`` as
Markdown, ``html/`` as a page. Formats for machines read the document itself: ``json_``, ``sarif``, ``ci`` (GitHub,
JUnit, lines).
"""
