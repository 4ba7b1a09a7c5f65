"""One function per finding code, the registry of codes, and their pages.

``registry`` lists everything that can be found, and the function behind each code; ``pages/`` explains it. A rule gets
a subject (``context``): what was scanned, with all that is known about it. It returns findings. Rules about one matter
share a module: ``archive``, ``pe``, ``dependencies``, ``otherdistributions``, ``codeloads``, ``leftout``, ``failures``,
``abi``, ``cuda``, ``coherence``, ``placement``, ``vcruntime``, ``gpu`` (with ``gpufit``), ``policy`` and ``targets``.
``hints`` names sources and commands; ``wording`` has small helpers for sentences.
"""
