"""Which NumPy an extension module was built for, read from the marks that NumPy's headers leave in it.

One is the name under which the module imports NumPy's C API: ``numpy.core`` in NumPy 1, ``numpy._core`` and then
``numpy.core`` in NumPy 2. The other, from NumPy 2 on, is the oldest NumPy that has all the module was allowed to use,
as part of the sentence that the module says where NumPy is older. Seen in some hundred modules of wheels from PyPI.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from wheelfix.errors import InputError
from wheelfix.model import NumpyApi

if TYPE_CHECKING:
    from wheelfix.model import ByteSource

NUMPY_1 = b"numpy.core._multiarray_umath"
NUMPY_2 = b"numpy._core._multiarray_umath"
OLDEST = re.compile(rb"NumPy C-API version 0x%x \(NumPy (\d{1,2}\.\d{1,3})\)")
LIMIT = 512 << 20
"""Modules above this size are not searched; opencv-python's has 74 MB, the largest on PyPI some hundred."""
CHUNK = 1 << 20
TAIL = 64
"""Longer than any mark, so that none is lost between two chunks."""


def read_numpy(source: ByteSource) -> NumpyApi | None:
    """Return which NumPy a module was built for; None for one that does not use NumPy's C API, or is too large."""
    if source.size > LIMIT:
        return None
    old = new = False
    oldest = tail = b""
    try:
        for offset in range(0, source.size, CHUNK):
            data = tail + source.read_at(offset, CHUNK)
            old, new = old or NUMPY_1 in data, new or NUMPY_2 in data
            if not oldest and (match := OLDEST.search(data)):
                oldest = match[1]
            if new and oldest:
                break
            tail = data[-TAIL:]
    except InputError:
        return None
    return NumpyApi(2 if new else 1, oldest.decode()) if old or new else None
