"""Reports in, text out: renderers are pure, and untrusted text goes through ``safe``.

A scan becomes a ``document.Document``, which every format of ``formats`` draws: ``text``, ``json_``, ``sarif``, ``ci``
(GitHub, JUnit, Markdown, lines) and ``html/``. What other commands print has a module each: ``diagnosis``, ``diff``,
``trial``, ``repairs`` (also sign and roots), ``pages`` (explain), ``progress``.
"""
