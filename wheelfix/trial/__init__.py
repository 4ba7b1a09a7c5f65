"""Real imports: a wheel is installed into a clean environment and imported, and that is compared with the scan.

``run`` is the whole trial, ``pythons`` the environments (on Windows, or under Wine), ``child`` the process that
imports one module, and ``model`` what was expected and what happened.
"""
