"""Names of DLLs in the strings of Python code."""

from tests.support.tables import named_cases
from tests.support.views import make_view
from wheelfix.loader.packagecode import names_in_code

CASES = {
    "a whole name": ("names = ['LibIconv.dll']", True),
    "in a path": (r"path = 'C:\\tools\\libiconv.dll'", True),
    "among others": ("NEEDED = 'zlib1.dll;libiconv.dll'", True),
    "as bytes": ("name = b'libiconv.dll'", True),
    "without its suffix": ("import ctypes; ctypes.CDLL('libiconv')", True),
    "as find_library has it": ("from ctypes.util import find_library; find_library('iconv')", True),
    "put together": ("import ctypes; ctypes.CDLL(f'lib{name}.dll'); name = 'iconv'", True),
    "its first part": ("import ctypes; ctypes.CDLL('libiconv-' + version + '.dll')", False),
    "a pattern": ("import ctypes, glob; glob.glob('libic*.dll')", True),
    "a pattern for all DLLs": ("import ctypes, glob; glob.glob('*.dll')", False),
    "a longer name": ("name = 'mylibiconv.dll'", False),
    "a word in code that loads nothing": ("word = 'iconv'", False),
    "code that cannot be parsed": ("print 'libiconv.dll'", True),
    "nothing": ("pass", False),
}


@named_cases("code, expected", CASES)
def test_a_dll_is_named(code, expected):
    view = make_view({"Lib/site-packages/pkg/__init__.py": code.encode()})
    assert names_in_code(view).mentions("libiconv.dll") is expected


def test_the_first_part_of_a_name_with_a_version_is_enough():
    code = b"import ctypes; ctypes.CDLL('libiconv-' + version + '.dll')"
    view = make_view({"Lib/site-packages/pkg/__init__.py": code})
    assert names_in_code(view).mentions("libiconv-2.dll")
