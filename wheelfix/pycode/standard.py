"""Which modules are of Python's own library, and which conditions never hold when a program runs."""

from __future__ import annotations

import ast
import re
import sys

STANDARD = sys.stdlib_module_names | frozenset(
    (
        "_android_support _apple_support _ast_unparse _bootsubprocess _colorize _compression _crypt _hmac "
        "_interpchannels _interpqueues _interpreters _ios_support _math_integer _msi _opcode_metadata _py_warnings "
        "_pydatetime _pylong _pyrepl _remote_debugging _sha2 _sha256 _sha512 _suggestions _sysconfig _tokenize _types "
        "_typing _wmi _zstd aifc annotationlib asynchat asyncore audioop binhex cgi cgitb chunk compression crypt "
        "distutils imghdr imp lib2to3 mailcap msilib nis nntplib ossaudiodev pipes profiling smtpd sndhdr spwd "
        "sre_compile sre_constants sre_parse sunau telnetlib tomllib uu xdrlib"
    ).split()
)
"""The modules of this Python, and those that only some of Python 3.10 to 3.15 have (their sys.stdlib_module_names)."""


def is_standard(name: str) -> bool:
    """Whether a module is of Python's own library, in any version that a wheel may be for."""
    return name.partition(".")[0] in STANDARD


def never_holds(test: ast.expr) -> bool:
    """Whether a condition never holds when a program runs: ``TYPE_CHECKING``, NumPy's ``__NUMPY_SETUP__``."""
    name = test.attr if isinstance(test, ast.Attribute) else test.id if isinstance(test, ast.Name) else ""
    return name == "TYPE_CHECKING" or re.fullmatch(r"__\w+_SETUP__", name) is not None
