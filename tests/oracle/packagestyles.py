"""Small packages that load DLLs in the styles of real ones: ctypes wrappers, lists of places, patches, lazy modules.

They are written like those of ``codecases``: ``§`` is the name of the package, and each is tried as it is, without
files and with files for another machine. DLLs for another machine that others import are not among them: there Wine
goes on searching, and Windows does not.
"""

from __future__ import annotations

from tests.oracle.codecases import APART, CORE, LIB, PAIR, CodeCase

BIN = {"bin/§core.dll": ()}

FOURTH: dict[str, CodeCase] = {
    # What pyzbar does: a table of names by platform, dependencies first, a fallback to find_library.
    "zbar": CodeCase(
        """
from . import wrapper
decode = wrapper.decode
""",
        {"lib§core-64.dll": ("lib§iconv.dll",), "lib§iconv.dll": ()},
        ("lib§core-64.dll", "lib§iconv.dll"),
        {
            "wrapper.py": "from .zbar_library import load\nLIB = EXTERNAL = None\n\n"
            "def load_lib():\n    global LIB, EXTERNAL\n    if not LIB:\n        LIB, deps = load()\n"
            "        EXTERNAL = [LIB] + deps\n    return LIB\n\n"
            "def func(name):\n    return getattr(load_lib(), name)\n\ndecode = func('call')\n",
            "zbar_library.py": """
import platform
import sys
from ctypes import cdll
from ctypes.util import find_library
from pathlib import Path

def _windows_fnames():
    if sys.maxsize > 2**32:
        return 'lib§core-64.dll', ['lib§iconv.dll']
    return 'lib§core-32.dll', ['lib§iconv-2.dll']

def load():
    if 'Windows' == platform.system():
        fname, dependencies = _windows_fnames()
        def load_objects(directory):
            deps = [cdll.LoadLibrary(str(directory.joinpath(dep))) for dep in dependencies]
            lib = cdll.LoadLibrary(str(directory.joinpath(fname)))
            return deps, lib
        try:
            dependencies, lib = load_objects(Path(''))
        except OSError:
            dependencies, lib = load_objects(Path(__file__).parent)
    else:
        path = find_library('core')
        if not path:
            raise ImportError('Unable to find core shared library')
        lib = cdll.LoadLibrary(path)
        dependencies = []
    return lib, dependencies
""",
        },
    ),
    # What xgboost does: a list of places, filtered by existence, an own exception class.
    "findlibpath": CodeCase(
        """
from .core import _LIB
""",
        LIB, ("lib/§core.dll",),
        {
            "libpath.py": """
import os, platform, sys

class LibraryNotFound(Exception):
    pass

def find_lib_path():
    curr = os.path.dirname(os.path.abspath(os.path.expanduser(__file__)))
    dll_path = [
        os.path.join(curr, 'lib'),
        os.path.join(curr, os.path.pardir, os.path.pardir, 'lib'),
        os.path.join(sys.base_prefix, '§', 'lib'),
    ]
    if sys.platform == 'win32':
        dll_path.append(os.path.join(curr, '../../windows/x64/Release/'))
        dll_path = [os.path.join(p, '§core.dll') for p in dll_path]
    elif sys.platform.startswith('linux'):
        dll_path = [os.path.join(p, 'lib§core.so') for p in dll_path]
    lib_path = [p for p in dll_path if os.path.exists(p) and os.path.isfile(p)]
    if not lib_path and not os.environ.get('§_BUILD_DOC', False):
        names = '\\n'.join(dll_path)
        raise LibraryNotFound('Cannot find the library in the candidate path, ' + names)
    return lib_path
""",
            "core.py": """
import ctypes, os
from .libpath import find_lib_path

def _load_lib():
    lib_paths = find_lib_path()
    if not lib_paths:
        return None
    pathBackup = os.environ['PATH'].split(os.pathsep)
    lib_success = False
    os_error_list = []
    for lib_path in lib_paths:
        try:
            os.environ['PATH'] = os.pathsep.join(pathBackup + [os.path.dirname(lib_path)])
            lib = ctypes.cdll.LoadLibrary(lib_path)
            setattr(lib, 'path', os.path.normpath(lib_path))
            lib_success = True
            break
        except OSError as e:
            os_error_list.append(str(e))
            continue
    if not lib_success:
        libname = os.path.basename(lib_paths[0])
        raise ValueError(f'Library ({libname}) could not be loaded: {os_error_list}')
    return lib

_LIB = _load_lib()
""",
        },
        ("lib/§core.dll",),
    ),
    # What lightgbm does: Path objects, a list comprehension, sys.platform in a tuple.
    "lightpath": CodeCase(
        """
from pathlib import Path
from platform import system
from typing import List

def _find_lib_path() -> List[str]:
    curr_path = Path(__file__).absolute()
    dll_path = [curr_path.parents[1], curr_path.parents[0] / 'bin', curr_path.parents[0] / 'lib']
    if system() in ('Windows', 'Microsoft'):
        dll_path.append(curr_path.parents[1] / 'Release')
        dll_path.append(curr_path.parents[1] / 'windows' / 'x64' / 'DLL')
        dll_path = [p / '§core.dll' for p in dll_path]
    else:
        dll_path = [p / 'lib§core.so' for p in dll_path]
    lib_path = [str(p) for p in dll_path if p.is_file()]
    if not lib_path:
        dll_path_joined = '\\n'.join(map(str, dll_path))
        raise Exception(f'Cannot find core library file in following paths:\\n{dll_path_joined}')
    return lib_path

if os.environ.get('§_BUILD_DOC', 'False') == 'True':
    from unittest.mock import Mock
    _LIB = Mock(ctypes.CDLL)
else:
    _LIB = ctypes.cdll.LoadLibrary(_find_lib_path()[0])
""",
        LIB, ("lib/§core.dll",), {}, ("lib/§core.dll",),
    ),
    # What faiss does: a faster build where the processor allows it, with a message otherwise.
    "avx": CodeCase(
        """
import logging, platform
logger = logging.getLogger(__name__)

def supported():
    if os.environ.get('§_OPT_LEVEL'):
        return os.environ['§_OPT_LEVEL']
    return 'avx2'

loaded = False
if supported() == 'avx2':
    try:
        logger.info('Loading with AVX2 support.')
        from .swig_avx2 import *
        loaded = True
    except ImportError as e:
        logger.info(f'Could not load library with AVX2 support due to:\\n{e!r}')
        loaded = False
if not loaded:
    from .swig import *
    logger.info('Successfully loaded.')
""",
        {"lib/§avx2.dll": ("§dep.dll",), "lib/§core.dll": (), "lib/§dep.dll": ()},
        ("lib/§avx2.dll", "lib/§core.dll", "lib/§dep.dll"),
        {
            "swig_avx2.py": "import ctypes, os\ntry:\n    _lib = ctypes.CDLL(os.path.join(os.path.dirname(__file__), "
            "'lib', '§avx2.dll'))\nexcept OSError as exc:\n    raise ImportError('no avx2') from exc\n",
            "swig.py": "import ctypes, os\n_lib = ctypes.CDLL(os.path.join(os.path.dirname(__file__), 'lib', "
            "'§core.dll'))\n",
        },
    ),
    # What delvewheel's patch of version 1.3 and later does.
    "delve": CodeCase(
        '''
"""""" # start delvewheel patch
def _delvewheel_patch_1_3_8():
    import os
    if os.path.isdir(libs_dir := os.path.abspath(os.path.join(os.path.dirname(__file__), os.pardir, '§.libs'))):
        os.add_dll_directory(libs_dir)

_delvewheel_patch_1_3_8()
del _delvewheel_patch_1_3_8
# end delvewheel patch

from ._lib import LIB
''',
        {"lib/§core.dll": ("§dep.dll",), "../§.libs/§dep.dll": ()},
        ("../§.libs/§dep.dll", "lib/§core.dll"),
        {"_lib.py": "import ctypes, pathlib\nHERE = pathlib.Path(__file__).parent\n"
         "LIB = ctypes.CDLL(str(HERE / 'lib' / '§core.dll'))\n"},
    ),
    # What python-soundfile's Windows wheels do, with ctypes in place of cffi.
    "sndfile": CodeCase(
        """
from ctypes.util import find_library as _find_library
from platform import architecture as _architecture, machine as _machine

try:
    _unpackaged = _find_library('§nosuch')
    if _unpackaged is None:
        raise OSError('core library not found')
    _snd = ctypes.CDLL(_unpackaged)
except (OSError, ImportError, TypeError):
    if sys.platform == 'darwin':
        _packaged = 'lib§core.dylib'
    elif sys.platform == 'win32':
        if _machine() == 'ARM64':
            _packaged = 'lib§core_arm64.dll'
        elif _architecture()[0] == '64bit':
            _packaged = 'lib§core_x64.dll'
        else:
            _packaged = 'lib§core_x86.dll'
    else:
        raise
    import §.data
    _path = os.path.dirname(§.data.__file__)
    _full = os.path.join(_path, _packaged)
    _snd = ctypes.CDLL(_full)
""",
        {"data/lib§core_x64.dll": (), "data/lib§core_x86.dll": ()},
        ("data/lib§core_x64.dll", "data/lib§core_x86.dll"),
        {"data/__init__.py": ""},
    ),
    # What z3 does: a list of directories, joined with an environment variable, an error at the end.
    "solver": CodeCase(
        """
from .z3core import lib
""",
        LIB, ("lib/§core.dll",),
        {
            "z3core.py": """
import sys, os
import ctypes
if sys.version_info >= (3, 9):
    import importlib.resources as importlib_resources
else:
    import importlib_resources
_ext = 'dll' if sys.platform in ('win32', 'cygwin') else 'dylib' if sys.platform == 'darwin' else 'so'
_lib = None
_default_dirs = ['.',
                 os.path.dirname(os.path.abspath(__file__)),
                 str(importlib_resources.files('§').joinpath('lib')),
                 os.path.join(sys.prefix, '§lib'),
                 None]
_all_dirs = []
_extra = os.environ.get('§_LIBRARY_PATH')
if _extra:
    _all_dirs.extend(_extra.split(os.pathsep))
_all_dirs.extend(_default_dirs)
_failures = []
for d in _all_dirs:
    try:
        d = os.path.realpath(d)
        if os.path.isdir(d):
            d = os.path.join(d, '§core.%s' % _ext)
            if os.path.isfile(d):
                _lib = ctypes.CDLL(d)
                break
    except Exception as e:
        _failures += [e]
        pass
if _lib is None:
    try:
        _lib = ctypes.CDLL('§core.%s' % _ext)
    except Exception as e:
        _failures += [e]
        pass
if _lib is None:
    print('Could not find it', _failures)
    raise Exception('§core.%s not found.' % _ext)

def lib():
    global _lib
    return _lib
""",
        },
        ("lib/§core.dll",),
    ),
    # What llvmlite does: a lock object, a class that loads on first use, and first use at import.
    "wrappedlib": CodeCase(
        """
from .ffi import lib
lib.call
""",
        CORE, ("§core.dll",),
        {
            "ffi.py": """
import ctypes
import threading
import importlib.resources as _impres
import os
import sys

def _make_opaque_ref(name):
    newcls = type(name, (ctypes.Structure,), {})
    return ctypes.POINTER(newcls)

class _LLVMLock:
    def __init__(self):
        self._lock = threading.RLock()
    def __enter__(self):
        self._lock.acquire()
    def __exit__(self, *exc_details):
        self._lock.release()

def _suppress_cleanup_errors(importer):
    return importer

class _lib_wrapper(object):
    __slots__ = ['_lib_handle', '_fntab', '_lock']
    def __init__(self):
        self._lib_handle = None
        self._fntab = {}
        self._lock = _LLVMLock()

    def _load_lib(self):
        try:
            with _suppress_cleanup_errors(_impres.as_file(_impres.files(__name__.rpartition('.')[0])
                                          .joinpath(get_library_name()))) as lib_path:
                self._lib_handle = ctypes.CDLL(str(lib_path))
                self._lib_handle.call.restype = ctypes.c_int
        except (OSError, AttributeError) as e:
            raise OSError('Could not find/load shared object file') from e

    @property
    def _lib(self):
        if not self._lib_handle:
            self._load_lib()
        return self._lib_handle

    def __getattr__(self, name):
        try:
            return self._fntab[name]
        except KeyError:
            cfn = getattr(self._lib, name)
            self._fntab[name] = cfn
            return cfn

def get_library_name():
    if os.name == 'posix':
        return 'lib§core.so'
    else:
        assert os.name == 'nt'
        return '§core.dll'

lib = _lib_wrapper()
""",
        },
    ),
    # What pyarrow, shapely and others did before delvewheel: folders from .libs, preloaded with glob.
    "libsglob": CodeCase(
        """
from ctypes import CDLL
if sys.platform.startswith('win'):
    from glob import glob
    libs = os.path.abspath(os.path.join(os.path.dirname(__file__), '.libs'))
    if hasattr(os, 'add_dll_directory'):
        if os.path.exists(libs):
            os.add_dll_directory(libs)
    else:
        for path in glob(os.path.join(libs, '*.dll')):
            CDLL(path)
from .geos import lgeos
""",
        {".libs/§dep.dll": (), "lib/§core.dll": ("§dep.dll",)}, (".libs/§dep.dll", "lib/§core.dll"),
        {"geos.py": "import os\nfrom ctypes import CDLL\n\ndef load_dll(libname, fallbacks=None, mode=0):\n"
         "    lib = None\n    dll = os.path.join(os.path.dirname(__file__), 'lib', libname + '.dll')\n"
         "    if dll:\n        try:\n            lib = CDLL(dll)\n        except OSError:\n            pass\n"
         "    if not lib and fallbacks is not None:\n        for name in fallbacks:\n            try:\n"
         "                lib = CDLL(name)\n            except OSError:\n                pass\n"
         "            if lib:\n                break\n"
         "    if lib:\n        return lib\n    else:\n        raise OSError('Could not find library %s' % libname)\n"
         "\nlgeos = load_dll('§core', fallbacks=['§core_c.dll', '§geos.dll'])\n"},
    ),
    # What GDAL's osgeo/__init__.py does: an extension that is asked for, and help if it fails.
    "osgeo": CodeCase(
        """
from sys import version_info
if version_info >= (3, 8, 0) and sys.platform == 'win32':
    import os
    if 'USE_PATH_FOR_§' in os.environ:
        msg = 'On Windows, with Python >= 3.8, DLLs are no longer imported from the PATH.'
    path = os.path.join(HERE, 'bin')
    for one in (path, os.path.join(HERE, 'nothere')):
        if os.path.exists(one):
            try:
                os.add_dll_directory(one)
            except Exception:
                pass

def swig_import_helper():
    import importlib
    from os.path import dirname, basename
    mname = basename(dirname(__file__)) + '._core'
    try:
        return importlib.import_module(mname)
    except ImportError as ex:
        raise ImportError('On Windows, DLLs are not found' + str(ex))

_gdal = swig_import_helper()
del swig_import_helper
__version__ = '1'
""",
        {"bin/§dep.dll": (), "§core.dll": ("§dep.dll",)}, ("bin/§dep.dll", "§core.dll"),
        {"_core.py": "import ctypes, os\nlib = ctypes.CDLL(os.path.join(os.path.dirname(__file__), '§core.dll'))\n"},
    ),
    # What PySide6 does: folders in a list of candidates, added where they are.
    "sidefolders": CodeCase(
        """
from pathlib import Path
from textwrap import dedent
__all__ = ['Core']

def _additional_dll_directories(package_dir):
    root = Path(package_dir).parent
    if (root / '§_x').is_dir() and not root.is_dir():
        return []
    folder = Path(package_dir) / 'more'
    if folder.is_dir():
        return [folder]
    print(dedent('not found'), file=sys.stderr)
    raise ImportError(f'{folder} does not exist')

def _setupQtDirectories():
    dirname = os.path.dirname(__file__)
    for dir in _additional_dll_directories(dirname):
        os.add_dll_directory(os.fspath(dir))
    try:
        from .native import core
    except Exception:
        paths = ', '.join(map(str, sys.path))
        print(f'native import failed, {paths}', file=sys.stderr)
        raise

_setupQtDirectories()
""",
        APART, ("more/§dep.dll", "lib/§core.dll"),
        {"native.py": "import ctypes\nfrom pathlib import Path\n"
         "core = ctypes.CDLL(str(Path(__file__).resolve().parent / 'lib' / '§core.dll'))\n"},
    ),
    # What PyQt6 does: a function in __init__ that looks along PATH for Qt's DLL.
    "qtfind": CodeCase(
        """
def find_qt():
    path = os.environ['PATH']
    dll_dir = os.path.dirname(sys.executable)
    if not os.path.isfile(os.path.join(dll_dir, '§Qt6Core.dll')):
        path = dll_dir + ';' + path
        dll_dir = os.path.dirname(__file__) + '\\\\Qt6\\\\bin'
        if not os.path.isfile(os.path.join(dll_dir, '§Qt6Core.dll')):
            for dll_dir in path.split(';'):
                if os.path.isfile(os.path.join(dll_dir, '§Qt6Core.dll')):
                    break
            else:
                return
    try:
        os.add_dll_directory(dll_dir)
    except AttributeError:
        pass

if sys.platform == 'win32':
    find_qt()
    del find_qt
lib = ctypes.CDLL(os.path.join(HERE, 'lib', '§core.dll'))
""",
        {"Qt6/bin/§Qt6Core.dll": (), "lib/§core.dll": ("§Qt6Core.dll",)}, ("Qt6/bin/§Qt6Core.dll", "lib/§core.dll"),
    ),
    # What torch does, shortened: folders that exist, kernel32, every DLL, then a retry along PATH.
    "torchlike": CodeCase(
        """
import glob
import platform
if sys.platform == 'win32':
    def _load_dll_libraries():
        import sysconfig
        pfiles_path = os.getenv('ProgramFiles', r'C:\\Program Files')
        py_dll_path = os.path.join(sys.exec_prefix, 'Library', 'bin')
        th_dll_path = os.path.join(os.path.dirname(__file__), 'lib')
        usebase_path = os.path.join(sysconfig.get_config_var('userbase') or '', 'Library', 'bin')
        py_root_bin_path = os.path.join(sys.exec_prefix, 'bin')
        if sys.exec_prefix != sys.base_exec_prefix:
            base_py_dll_path = os.path.join(sys.base_exec_prefix, 'Library', 'bin')
        else:
            base_py_dll_path = ''
        dll_paths = [p for p in (th_dll_path, py_dll_path, base_py_dll_path, usebase_path, py_root_bin_path)
                     if os.path.exists(p)]
        if all(not os.path.exists(os.path.join(p, 'nvToolsExt64_1.dll')) for p in dll_paths):
            nvtoolsext_dll_path = os.path.join(os.getenv('NVTOOLSEXT_PATH', os.path.join(pfiles_path, 'NV')), 'bin')
        else:
            nvtoolsext_dll_path = ''
        cuda_path = ''
        dll_paths.extend(p for p in (nvtoolsext_dll_path, cuda_path) if os.path.exists(p))
        kernel32 = ctypes.WinDLL('kernel32.dll', use_last_error=True)
        with_load_library_flags = hasattr(kernel32, 'AddDllDirectory')
        prev_error_mode = kernel32.SetErrorMode(0x0001)
        kernel32.LoadLibraryW.restype = ctypes.c_void_p
        if with_load_library_flags:
            kernel32.LoadLibraryExW.restype = ctypes.c_void_p
        for dll_path in dll_paths:
            os.add_dll_directory(dll_path)
        try:
            ctypes.CDLL('vcruntime140.dll')
        except OSError:
            print('Microsoft Visual C++ Redistributable is not installed')
        dlls = glob.glob(os.path.join(th_dll_path, '*.dll'))
        path_patched = False
        for dll in dlls:
            is_loaded = False
            if with_load_library_flags:
                res = kernel32.LoadLibraryExW(dll, None, 0x00001100)
                last_error = ctypes.get_last_error()
                if res is None and last_error != 126:
                    err = ctypes.WinError(last_error)
                    err.strerror += f' Error loading "{dll}" or one of its dependencies.'
                    raise err
                elif res is not None:
                    is_loaded = True
            if not is_loaded:
                if not path_patched:
                    os.environ['PATH'] = ';'.join(dll_paths + [os.environ['PATH']])
                    path_patched = True
                res = kernel32.LoadLibraryW(dll)
                if res is None:
                    err = ctypes.WinError(ctypes.get_last_error())
                    err.strerror += f' Error loading "{dll}" or one of its dependencies.'
                    raise err
        kernel32.SetErrorMode(prev_error_mode)

    _load_dll_libraries()
    del _load_dll_libraries
""",
        PAIR, ("lib/§dep.dll", "lib/§core.dll"),
    ),
    # What onnxruntime and llama_cpp do: a base path, environment variables, a loop over names.
    "llama": CodeCase(
        """
from .llama_cpp import *
from .llama import Llama
""",
        {"lib/§llama.dll": ("§ggml.dll",), "lib/§ggml.dll": ("§base.dll",), "lib/§base.dll": ()},
        ("lib/§llama.dll", "lib/§ggml.dll", "lib/§base.dll"),
        {
            "_ctypes_extensions.py": """
from __future__ import annotations
import sys
import os
import ctypes
import functools
import pathlib
from typing import List

def load_shared_library(lib_base_name: str, base_path: pathlib.Path):
    lib_paths: List[pathlib.Path] = []
    if sys.platform.startswith('linux') or sys.platform.startswith('freebsd'):
        lib_paths += [base_path / f'lib{lib_base_name}.so']
    elif sys.platform == 'darwin':
        lib_paths += [base_path / f'lib{lib_base_name}.so', base_path / f'lib{lib_base_name}.dylib']
    elif sys.platform == 'win32':
        lib_paths += [base_path / f'{lib_base_name}.dll', base_path / f'lib{lib_base_name}.dll']
    else:
        raise RuntimeError('Unsupported platform')
    cdll_args = dict()
    if sys.platform == 'win32':
        os.add_dll_directory(str(base_path))
        os.environ['PATH'] = str(base_path) + os.pathsep + os.environ['PATH']
        if sys.platform == 'win32' and sys.version_info >= (3, 8):
            if 'CUDA_PATH_§' in os.environ:
                os.add_dll_directory(os.path.join(os.environ['CUDA_PATH_§'], 'bin'))
        cdll_args['winmode'] = ctypes.RTLD_GLOBAL
    for lib_path in lib_paths:
        if lib_path.exists():
            try:
                return ctypes.CDLL(str(lib_path), **cdll_args)
            except Exception as e:
                raise RuntimeError(f"Failed to load shared library '{lib_path}': {e}")
    raise FileNotFoundError(f'Shared library with base name {lib_base_name} not found')

def ctypes_function_for_shared_library(lib):
    def ctypes_function(name, argtypes, restype, enabled=True):
        def decorator(f):
            if enabled:
                func = getattr(lib, name)
                func.argtypes = argtypes
                func.restype = restype
                functools.wraps(f)(func)
                return func
            else:
                return f
        return decorator
    return ctypes_function
""",
            "llama_cpp.py": """
import os
import ctypes
import pathlib
from ._ctypes_extensions import load_shared_library, ctypes_function_for_shared_library
_lib_base_name = '§llama'
_override_base_path = os.environ.get('§_CPP_LIB_PATH')
_here = pathlib.Path(os.path.abspath(os.path.dirname(__file__)))
_base_path = _here / 'lib' if _override_base_path is None else pathlib.Path()
_lib = load_shared_library(_lib_base_name, _base_path)
ctypes_function = ctypes_function_for_shared_library(_lib)

@ctypes_function('call', [ctypes.c_int], ctypes.c_int)
def call(one, /):
    ...
""",
            "llama.py": "from . import llama_cpp\nclass Llama:\n    lib = llama_cpp._lib\n",
        },
        ("lib/§ggml.dll",),
    ),
    # What vosk does: a function with a frozen case, and a folder with add_dll_directory.
    "vosk": CodeCase(
        """
def open_dll():
    dlldir = os.path.abspath(os.path.dirname(__file__))
    if sys.platform == 'win32':
        os.environ['PATH'] = dlldir + os.pathsep + os.environ['PATH']
        if hasattr(os, 'add_dll_directory'):
            os.add_dll_directory(dlldir)
        return ctypes.cdll.LoadLibrary(os.path.join(dlldir, 'lib§core.dll'))
    elif sys.platform == 'linux':
        return ctypes.cdll.LoadLibrary(os.path.join(dlldir, 'lib§core.so'))
    else:
        raise TypeError('Unsupported platform')

_c = open_dll()

class Model:
    def __init__(self, model_path=None):
        self._handle = _c.call(model_path)
""",
        {"lib§core.dll": ("lib§gcc.dll",), "lib§gcc.dll": ()}, ("lib§core.dll", "lib§gcc.dll"),
    ),
    # What PySDL2 does: a class that is made with lists of names and paths.
    "sdl": CodeCase(
        """
from .dll import DLL
dll = DLL('§SDL2', ['§SDL2', '§SDL2-2.0', '§SDL2-2.0.0'], os.getenv('PYSDL2_DLL_PATH_§'))
""",
        {"dll/§SDL2.dll": ()}, ("dll/§SDL2.dll",),
        {
            "dll/__init__.py": """
import os
import sys
import warnings
from ctypes import CDLL
from ctypes.util import find_library

_folder = os.path.dirname(os.path.abspath(__file__))

def _unique(iterable):
    seen = []
    for i in iterable:
        if i not in seen:
            seen.append(i)
    return seen

def _findlib(libnames, path=None):
    platform = sys.platform
    if platform == 'win32':
        patterns = ['{0}.dll']
    elif platform == 'darwin':
        patterns = ['lib{0}.dylib', '{0}.framework/{0}']
    else:
        patterns = ['lib{0}.so']
    searchfor = list(libnames)
    results = []
    if path and path.lower() != 'system':
        for libname in searchfor:
            for subpath in str.split(path, os.pathsep):
                for pattern in patterns:
                    dllfile = os.path.join(subpath, pattern.format(libname))
                    if os.path.exists(dllfile):
                        results.append(dllfile)
    else:
        for libname in searchfor:
            for pattern in patterns:
                dllfile = os.path.join(_folder, pattern.format(libname))
                if os.path.exists(dllfile):
                    results.append(dllfile)
    for libname in searchfor:
        dllfile = find_library(libname)
        if dllfile:
            results.append(dllfile)
    return _unique(results)

class DLLWarning(Warning):
    pass

class DLL(object):
    def __init__(self, libinfo, libnames, path=None):
        self._dll = None
        self._libname = libinfo
        foundlibs = _findlib(libnames, path)
        dllmsg = 'PYSDL2_DLL_PATH: %s' % (os.getenv('PYSDL2_DLL_PATH_§') or 'unset')
        if len(foundlibs) == 0:
            raise RuntimeError('could not find any library for %s (%s)' % (libinfo, dllmsg))
        for libfile in foundlibs:
            try:
                self._dll = CDLL(libfile)
                self._libfile = libfile
                break
            except Exception as exc:
                warnings.warn(repr(exc), DLLWarning)
        if self._dll is None:
            raise RuntimeError('found %s, but it is not usable' % foundlibs)
        if path is not None and sys.platform in ('win32',) and path in self._libfile:
            os.environ['PATH'] = '%s;%s' % (path, os.environ['PATH'])
""",
        },
        ("dll/§SDL2.dll",),
    ),
    # What pyglet does: an object of a class with methods that choose names.
    "glet": CodeCase(
        """
from .lib import load_library
lib = load_library('§gl', win32='§core', framework='/Library/x')
""",
        {"§core.dll": ()}, ("§core.dll",),
        {
            "lib.py": """
import os
import sys
import ctypes

class _TraceLibrary:
    def __init__(self, library):
        self._library = library

class LibraryLoader:
    platform = sys.platform
    if platform == 'cygwin':
        platform = 'win32'

    def load_library(self, *names, **kwargs):
        if 'framework' in kwargs and self.platform == 'darwin':
            return self.load_framework(kwargs['framework'])
        platform_names = kwargs.get(self.platform, [])
        if type(platform_names) in (bytes, str):
            platform_names = [platform_names]
        elif type(platform_names) is tuple:
            platform_names = list(platform_names)
        if self.platform.startswith('linux'):
            for name in names:
                platform_names.append(f'lib{name}.so')
        platform_names.extend(names)
        for name in platform_names:
            try:
                lib = ctypes.cdll.LoadLibrary(os.path.join(os.path.dirname(__file__), name))
                return lib
            except OSError as o:
                path = self.find_library(name)
                if path:
                    try:
                        return ctypes.cdll.LoadLibrary(path)
                    except OSError:
                        pass
        raise ImportError(f'Library "{names[0]}" not found.')

    def find_library(self, path):
        return None

if sys.platform == 'darwin':
    class MachOLibraryLoader(LibraryLoader):
        pass
    loader = MachOLibraryLoader()
else:
    loader = LibraryLoader()
load_library = loader.load_library
""",
        },
        ("§core.dll",),
    ),
    # What glfw does: library paths in a list, a version check in the loop, None and a warning.
    "glfwlike": CodeCase(
        """
from .library import glfw as _glfw
if _glfw is None:
    raise ImportError('Failed to load GLFW3 shared library.')
""",
        {"§glfw3.dll": ("§rt.dll",), "§rt.dll": ()}, ("§glfw3.dll", "§rt.dll"),
        {
            "library.py": """
import ctypes
import os
import glob
import sys

def _find_library_candidates(library_names, library_file_extensions, library_search_paths):
    candidates = set()
    for library_name in library_names:
        for search_path in library_search_paths:
            glob_query = os.path.join(search_path, '*' + library_name + '*')
            for filename in glob.iglob(glob_query):
                filename = os.path.realpath(filename)
                if filename in candidates:
                    continue
                basename = os.path.basename(filename)
                if basename.startswith('lib' + library_name):
                    basename_end = basename[len('lib' + library_name):]
                elif basename.startswith(library_name):
                    basename_end = basename[len(library_name):]
                else:
                    continue
                for file_extension in library_file_extensions:
                    if basename_end.startswith(file_extension):
                        if basename_end[len(file_extension):][:1] in ('', '.'):
                            candidates.add(filename)
                    if basename_end.endswith(file_extension):
                        candidates.add(filename)
    return candidates

def _load_library(library_names, library_file_extensions, library_search_paths):
    candidates = _find_library_candidates(library_names, library_file_extensions, library_search_paths)
    library_versions = []
    for filename in candidates:
        library_versions.append((1, filename))
    if not library_versions:
        return None
    library_versions.sort()
    return ctypes.CDLL(library_versions[-1][1])

def _load_first_library(library_names, library_file_extensions, library_search_paths):
    candidates = _find_library_candidates(library_names, library_file_extensions, library_search_paths)
    library = None
    for filename in candidates:
        if os.path.isfile(filename):
            try:
                library = ctypes.CDLL(filename)
            except OSError:
                pass
            else:
                break
    return library

def _get_package_path():
    return os.path.abspath(os.path.dirname(__file__))

if os.environ.get('§PYGLFW_LIBRARY', ''):
    try:
        glfw = ctypes.CDLL(os.environ['§PYGLFW_LIBRARY'])
    except OSError:
        glfw = None
elif sys.platform == 'win32':
    glfw = None
    try:
        glfw = ctypes.CDLL(os.path.join(os.getcwd(), '§glfw3.dll'))
    except OSError:
        pass
    if glfw is None:
        try:
            glfw = ctypes.CDLL('§glfw3.dll')
        except OSError:
            pass
    if glfw is None:
        glfw = _load_first_library(['§glfw', '§glfw3'], ['.dll'], [_get_package_path()])
else:
    glfw = _load_library(['§glfw'], ['.so'], ['', '/usr/lib'])
""",
        },
    ),
    # What python-magic-bin does: bundled DLLs, then a chain of names.
    "magic": CodeCase(
        """
from . import loader
libmagic = loader.load_lib()
magic_open = libmagic.call
""",
        {"lib§magic/§magic1.dll": ()}, ("lib§magic/§magic1.dll",),
        {
            "loader.py": """
from ctypes.util import find_library
import ctypes
import sys
import glob
import os.path
import subprocess

def _lib_candidates_win():
    here = os.path.dirname(__file__)
    bundled = os.path.join(here, 'lib§magic')
    prefixes = ('lib§magic', '§magic1', '§magic-1', 'cyg§magic-1')
    for i in prefixes:
        yield os.path.join(bundled, '%s.dll' % (i,))
        yield find_library(i)

def _lib_candidates():
    yield find_library('§magic')
    func = {
        'cygwin': _lib_candidates_win,
        'darwin': None,
        'linux': None,
        'win32': _lib_candidates_win,
    }.get(sys.platform, None)
    if func is None:
        raise ImportError('python-magic: Unsupported platform: ' + sys.platform)
    for path in func():
        yield path

def load_lib():
    for lib in _lib_candidates():
        if lib is None:
            continue
        try:
            return ctypes.CDLL(lib)
        except OSError as exc:
            pass
    else:
        raise ImportError('failed to find libmagic.  Check your installation')
""",
        },
    ),
    # What pyusb's and libusb-package's backends do: a function that returns None, an error where it is needed.
    "usb": CodeCase(
        """
from .backend import libusb1
backend = libusb1.get_backend()
if backend is None:
    raise ValueError('No backend available')
""",
        {"§libusb-1.0.dll": ()}, ("§libusb-1.0.dll",),
        {
            "backend/__init__.py": "class IBackend:\n    pass\n",
            "backend/libusb1.py": """
from ctypes import *
import logging
import os
from § import libloader
_logger = logging.getLogger('§.backend.libusb1')
_lib = None
_lib_object = None

def _load_library(find_library=None):
    if find_library:
        win_cls = WinDLL if os.name == 'nt' else None
    else:
        win_cls = None
    return libloader.load_locate_library(('§usb-1.0', '§libusb-1.0', '§usb'), '§cygusb-1.0.dll', 'Libusb 1',
                                         win_cls=win_cls, find_library=find_library, check_symbols=('call',))

class _LibUSB:
    def __init__(self, lib):
        self.lib = lib

def get_backend(find_library=None):
    global _lib, _lib_object
    try:
        if _lib_object is None:
            _lib = _load_library(find_library)
            _lib_object = _LibUSB(_lib)
        return _lib_object
    except libloader.LibraryException:
        _logger.error('Error loading libusb 1.0 backend', exc_info=True)
        return None
    except Exception:
        _logger.error('Error loading libusb 1.0 backend', exc_info=True)
        return None
""",
            "libloader.py": """
import ctypes
import ctypes.util
import os
import sys

class LibraryException(OSError):
    pass
class LibraryNotFoundException(LibraryException):
    pass
class NoLibraryCandidatesException(LibraryNotFoundException):
    pass

def locate_library(candidates, find_library=ctypes.util.find_library):
    if find_library is None:
        find_library = ctypes.util.find_library
    use_dll_workaround = (sys.platform == 'win32' and find_library is ctypes.util.find_library)
    for candidate in candidates:
        if use_dll_workaround:
            candidate += '.dll'
        libname = os.path.join(os.path.dirname(__file__), candidate)
        if os.path.exists(libname):
            return libname
        libname = find_library(candidate)
        if libname:
            return libname
    return None

def load_library(lib, name=None, lib_cls=None):
    try:
        if lib_cls:
            return lib_cls(lib)
        else:
            return ctypes.CDLL(lib)
    except Exception:
        if name:
            lib_msg = '%s (%s)' % (name, lib)
        else:
            lib_msg = lib
        raise LibraryException('Failed to load library: ' + lib_msg)

def load_locate_library(candidates, cygwin_lib, name, win_cls=None, cygwin_cls=None, others_cls=None,
                        find_library=None, check_symbols=None):
    if sys.platform == 'cygwin':
        if cygwin_lib:
            loaded_lib = load_library(cygwin_lib, name, cygwin_cls)
        else:
            raise NoLibraryCandidatesException(name)
    elif candidates:
        lib = locate_library(candidates, find_library)
        if lib:
            if sys.platform == 'win32':
                loaded_lib = load_library(lib, name, win_cls)
            else:
                loaded_lib = load_library(lib, name, others_cls)
        else:
            raise LibraryNotFoundException(name)
    else:
        raise NoLibraryCandidatesException(name)
    if loaded_lib is None:
        raise LibraryException(name)
    return loaded_lib
""",
        },
        ("§libusb-1.0.dll",),
    ),
    # What openslide does: a separate package first, then a bare name with advice.
    "slide": CodeCase(
        """
from .lowlevel import _lib
""",
        {"_bin/lib§core-1.dll": ()}, ("_bin/lib§core-1.dll",),
        {
            "_bin/__init__.py": """
from ctypes import cdll
import platform
from pathlib import Path

def _load():
    directory = Path(__file__).absolute().parent
    system = platform.system()
    if system == 'Windows':
        name = 'lib§core-1.dll'
    elif system == 'Darwin':
        name = 'lib§core.1.dylib'
    else:
        name = 'lib§core.so.1'
    return cdll.LoadLibrary(str(directory / name))

lib§ = _load()
""",
            "lowlevel.py": """
from __future__ import annotations
from ctypes import CDLL, cdll
import os
import platform

def _load_library() -> CDLL:
    try:
        import §._bin as openslide_bin
        return openslide_bin.lib§
    except (AttributeError, ModuleNotFoundError):
        pass

    def try_load(names):
        for name in names:
            try:
                return cdll.LoadLibrary(name)
            except OSError:
                if name == names[-1]:
                    raise
        else:
            raise ValueError('No library names specified')

    if platform.system() == 'Windows':
        try:
            return try_load(['lib§core-1.dll', 'lib§core-0.dll'])
        except FileNotFoundError as exc:
            import_statement = 'pip install openslide-bin'
            raise ModuleNotFoundError(f"Couldn't locate DLL. {import_statement}") from exc
    return try_load(['lib§core.so.1'])

_lib = _load_library()
""",
        },
    ),
    # What cv2 does: configuration files that are executed, and folders from them.
    "execconfig": CodeCase(
        """
import importlib

def bootstrap():
    import copy
    save_sys_path = copy.copy(sys.path)
    LOADER_DIR = os.path.dirname(os.path.abspath(os.path.realpath(__file__)))
    PYTHON_EXTENSIONS_PATHS = []
    BINARIES_PATHS = []
    g_vars = globals()
    l_vars = locals().copy()

    def load_first_config(fnames, required=True):
        for fname in fnames:
            fpath = os.path.join(LOADER_DIR, fname)
            if not os.path.exists(fpath):
                continue
            with open(fpath) as f:
                exec(compile(f.read(), fpath, 'exec'), g_vars, l_vars)
            return True
        if required:
            raise ImportError('missing configuration file: {}. Check installation.'.format(fnames))

    load_first_config(['config.py'], True)
    load_first_config(['config-{}.{}.py'.format(sys.version_info[0], sys.version_info[1]),
                       'config-{}.py'.format(sys.version_info[0])], False)
    if sys.platform == 'win32' and sys.version_info[:2] >= (3, 8):
        for p in l_vars['BINARIES_PATHS']:
            try:
                os.add_dll_directory(p)
            except Exception as e:
                pass
    os.environ['PATH'] = ';'.join(l_vars['BINARIES_PATHS']) + ';' + os.environ.get('PATH', '')
    sys.path[:] = save_sys_path

bootstrap()
lib = ctypes.CDLL(os.path.join(HERE, 'lib', '§core.dll'))
""",
        APART, ("lib/§core.dll", "more/§dep.dll"),
        {"config.py": "import os\nBINARIES_PATHS = [os.path.join(LOADER_DIR, 'more')] + BINARIES_PATHS\n"},
    ),
    # What h5py does: _init or an environment variable before a module.
    "hdf": CodeCase(
        """
from warnings import warn as _warn
import atexit
if os.name == 'nt':
    from . import _hdf_dlls
    _hdf_dlls.setup()
try:
    from . import _errors
except ImportError:
    if os.path.exists(os.path.join(os.path.dirname(__file__), 'setup.py')):
        raise ImportError('You cannot import from inside the install directory.')
    else:
        raise
_errors.silence_errors()
""",
        APART, ("lib/§core.dll", "more/§dep.dll"),
        {
            "_hdf_dlls.py": "import os\n_handles = {}\ndef setup(name='more'):\n"
            "    where = os.path.join(os.path.dirname(__file__), name)\n    if name in _handles:\n        return\n"
            "    _handles[name] = os.add_dll_directory(where)\n",
            "_errors.py": "import ctypes, os.path as osp\n"
            "_lib = ctypes.CDLL(osp.join(osp.dirname(__file__), 'lib', '§core.dll'))\n"
            "def silence_errors():\n    return _lib.call\n",
        },
    ),
    # What fiona and rasterio did: a context manager from a module, used by each import.
    "dllenv": CodeCase(
        """
from contextlib import ExitStack
with ExitStack() as stack:
    if sys.platform == 'win32':
        from .dlls import add_gdal_dll_directories
        stack.enter_context(add_gdal_dll_directories())
    from .native import core
    from . import other
""",
        APART, ("more/§dep.dll", "lib/§core.dll"),
        {
            "dlls.py": """
import glob
import os
from contextlib import contextmanager

def directories():
    base = os.path.dirname(os.path.abspath(__file__))
    found = os.path.join(base, 'more')
    if os.path.exists(found):
        yield found
    for extra in glob.glob(os.path.join(base, 'none*')):
        yield extra

@contextmanager
def add_gdal_dll_directories():
    dirs = []
    for p in directories():
        dirs.append(os.add_dll_directory(p))
    yield None
    for d in dirs:
        d.close()
""",
            "native.py": "import ctypes, os\n"
            "core = ctypes.CDLL(os.path.join(os.path.dirname(__file__), 'lib', '§core.dll'))\n",
            "other.py": "import ctypes, os\n"
            "core = ctypes.CDLL(os.path.join(os.path.dirname(__file__), 'lib', '§core.dll'))\n",
        },
    ),
    # What PyTables does: names per platform, a loop in which the first hit wins, and an ImportError.
    "tables": CodeCase(
        """
import platform

def _load_library(dllname, loadfunction, dll_filenames):
    for name in dll_filenames:
        path = os.path.join(HERE, name)
        if not os.path.isfile(path):
            continue
        dll = loadfunction(path)
        return dll, path
    raise RuntimeError(f'Unable to load {dllname}')

if platform.system() == 'Windows':
    _lib, _path = _load_library('blosc2', ctypes.WinDLL, ['§lz.dll', 'lib§core.dll'])
else:
    _lib, _path = _load_library('blosc2', ctypes.CDLL, ['lib§core.so.2'])
__all__ = [s for s in ('a', 'b')]
""",
        {"lib§core.dll": ("§zstd.dll",), "§zstd.dll": ()}, ("lib§core.dll", "§zstd.dll"), {}, ("lib§core.dll",),
    ),
    # What cairocffi does: names in a loop, errors gathered, one exception.
    "cairo": CodeCase(
        """
def dlopen(library_names, filenames):
    exceptions = []
    for library_name in library_names:
        path = os.path.join(HERE, library_name + '.dll')
        if os.path.exists(path):
            try:
                return ctypes.CDLL(path)
            except OSError as exception:
                exceptions.append(exception)
    for filename in filenames:
        try:
            return ctypes.CDLL(os.path.join(HERE, filename))
        except OSError as exception:
            exceptions.append(exception)
    error_message = '\\n'.join(str(exception) for exception in exceptions)
    raise OSError(error_message)

cairo = dlopen(('§cairo-2', '§cairo', 'lib§cairo-2'), ('lib§cairo.so.2', 'lib§cairo.2.dylib', 'lib§cairo-2.dll'))
class _keepref(object):
    def __init__(self, ref, func):
        self.ref = ref
""",
        {"lib§cairo-2.dll": ()}, ("lib§cairo-2.dll",), {}, ("lib§cairo-2.dll",),
    ),
    # What pyvips does: the folder goes into PATH and add_dll_directory if the variable is there; API mode first.
    "vips": CodeCase(
        """
import logging
logger = logging.getLogger(__name__)
logger.addHandler(logging.NullHandler())
API_mode = False
try:
    import _lib§nosuch
    API_mode = True
except Exception as e:
    logger.debug('Binary module load failed: %s' % e)
    logger.debug('Falling back to ABI mode')
    _is_windows = os.name == 'nt'
    _is_mac = sys.platform == 'darwin'
    def library_name(name, abi_number):
        if _is_windows:
            return f'lib{name}-{abi_number}.dll'
        elif _is_mac:
            return f'lib{name}.{abi_number}.dylib'
        else:
            return f'lib{name}.so.{abi_number}'
    try:
        gobject_lib = ctypes.CDLL(os.path.join(HERE, 'bin', library_name('§gobject', 0)))
    except Exception:
        print('failed')
        raise
""",
        {"bin/lib§gobject-0.dll": ()}, ("bin/lib§gobject-0.dll",),
    ),
    # What weasyprint does: folders in a variable with a default, each added if it can be.
    "weasy": CodeCase(
        """
from contextlib import suppress

def _dlopen(*names, allow_fail=False):
    for name in names:
        with suppress(OSError):
            return ctypes.CDLL(name)
    if allow_fail:
        return None
    print('could not import some external libraries')
    return ctypes.CDLL(names[0])

if hasattr(os, 'add_dll_directory'):
    dll_directories = os.getenv('§_DLL_DIRECTORIES', HERE + '\\\\bin').split(';')
    for dll_directory in dll_directories:
        with suppress((OSError, FileNotFoundError)):
            os.add_dll_directory(dll_directory)

gobject = _dlopen('lib§nosuch', 'lib§core-0', 'lib§core.so.0')
pango = _dlopen('lib§nothere', 'lib§neither.so', allow_fail=True)
""",
        {"bin/lib§core-0.dll": ()}, ("bin/lib§core-0.dll",),
    ),
    # What treelite does: Path objects, sys.base_prefix, an own exception.
    "treelite": CodeCase(
        """
import pathlib
from platform import system
from typing import List

class TreeliteLibraryNotFound(Exception):
    pass

def _find_lib_path() -> List[pathlib.Path]:
    curr_path = pathlib.Path(__file__).expanduser().absolute().parent
    dll_path = [
        curr_path / 'lib',
        curr_path.parent.parent.parent / 'build',
        pathlib.Path(sys.base_prefix) / 'lib',
    ]
    if sys.platform == 'win32':
        dll_path.append(pathlib.Path(sys.base_prefix) / 'Library' / 'bin')
    if sys.platform in ['linux', 'linux2']:
        dll_path = [p.joinpath('lib§core.so') for p in dll_path]
    elif sys.platform == 'darwin':
        dll_path = [p.joinpath('lib§core.dylib') for p in dll_path]
    elif sys.platform == 'win32':
        dll_path = [p.joinpath('§core.dll') for p in dll_path]
    else:
        raise RuntimeError(f'Unrecognized platform: {sys.platform}')
    lib_path = [p for p in dll_path if p.exists() and p.is_file()]
    if not lib_path:
        link = 'https://example.org'
        raise TreeliteLibraryNotFound(f'{link}' + ('\\n'.join(str(x) for x in dll_path)))
    return lib_path

def _load_lib():
    lib_path = [str(x) for x in _find_lib_path()]
    lib = ctypes.cdll.LoadLibrary(lib_path[0])
    lib.call.restype = ctypes.c_char_p
    return lib

_LIB = _load_lib()
""",
        LIB, ("lib/§core.dll",),
    ),
    # What catboost, pybullet and dlib do: nothing but an optional folder from an environment variable.
    "cudapath": CodeCase(
        """
def _load():
    if not sys.platform.startswith('win'):
        return
    cuda = os.environ.get('§CUDA_PATH')
    if cuda:
        os.add_dll_directory(os.path.join(cuda, 'bin'))

_load()
lib = ctypes.CDLL(os.path.join(HERE, 'lib', '§core.dll'))
""",
        PAIR, ("lib/§dep.dll",),
    ),
    # What tensorrt does: a list of names that must all load, a generator of names, an f-string with a version.
    "rt": CodeCase(
        """
import glob, warnings

def try_load(library):
    try:
        ctypes.CDLL(library)
    except OSError:
        pass

CURDIR = os.path.realpath(os.path.dirname(__file__))
for lib in glob.iglob(os.path.join(CURDIR, '*.so*')):
    try_load(lib)

def find_lib(name):
    paths = os.environ['PATH'].split(os.path.pathsep)
    paths.insert(0, os.path.join(CURDIR, 'libs'))
    paths.insert(1, CURDIR)
    for path in paths:
        libpath = os.path.join(path, name)
        if os.path.isfile(libpath):
            return libpath
    raise FileNotFoundError(
        'Could not find: {:}. Is it on your PATH?\\nNote: Paths searched were:\\n{:}'.format(name, paths))

LIBRARIES = {
    'rt': [f'§nvinfer_{10}.dll', f'§plugin_{10}.dll'],
    'lean': ['§lean_10.dll'],
}['rt']
for lib in LIBRARIES:
    ctypes.CDLL(find_lib(lib))
__version__ = '10.0'
assert __version__
""",
        {"libs/§nvinfer_10.dll": (), "libs/§plugin_10.dll": ("§nvinfer_10.dll",)},
        ("libs/§nvinfer_10.dll", "libs/§plugin_10.dll"), {}, ("libs/§plugin_10.dll",),
    ),
    # What ctranslate2 does: all DLLs of the package, with a folder that may be there.
    "ctrans": CodeCase(
        """
if sys.platform == 'win32':
    import glob
    from importlib import import_module
    from importlib.resources import files
    module_name = sys.modules[__name__].__name__
    package_dir = str(files(module_name).joinpath(''))
    add_dll_directory = getattr(os, 'add_dll_directory', None)
    if add_dll_directory is not None:
        add_dll_directory(package_dir)
        if os.path.isdir(os.path.join(package_dir, '_rocm')):
            add_dll_directory(os.path.join(package_dir, '_rocm'))
    for library in glob.glob(os.path.join(package_dir, '*.dll')):
        ctypes.CDLL(library)
try:
    from .ext import Thing
except ImportError as e:
    if 'libomp' in str(e):
        raise
    Thing = None
""",
        {"§core.dll": ("§omp.dll",), "§omp.dll": ()}, ("§core.dll", "§omp.dll", "§core.dll §omp.dll"),
        {"ext.py": "class Thing:\n    pass\n"},
    ),
    # What pywin32 does: a DLL by version, in several places, then a bare name.
    "wintypes": CodeCase(
        """
from .pywintypes import lib
""",
        {"pywin32_system32/§types311.dll": ()}, ("pywin32_system32/§types311.dll",),
        {
            "pywintypes.py": """
import importlib.machinery
import importlib.util
import os
import sys
import ctypes

def __import_pywin32_system_module__(modname, globs):
    suffix = '_d' if '_d.pyd' in importlib.machinery.EXTENSION_SUFFIXES else ''
    filename = '%s%d%d%s.dll' % (modname, sys.version_info[0], sys.version_info[1], suffix)
    found = None
    if os.path.isfile(os.path.join(sys.prefix, filename)):
        found = os.path.join(sys.prefix, filename)
    if found is None:
        if os.path.isfile(os.path.join(os.path.dirname(__file__), filename)):
            found = os.path.join(os.path.dirname(__file__), filename)
    if found is None:
        maybe = os.path.join(os.path.dirname(__file__), 'pywin32_system32', filename)
        if os.path.isfile(maybe):
            found = maybe
    if found is None:
        raise ImportError(f"No system module '{modname}' ({filename})")
    globs['lib'] = ctypes.CDLL(found)

__import_pywin32_system_module__('§types', globals())
""",
        },
    ),
    # What pythonnet and clr-loader do: a dictionary of machines, cached.
    "clrloader": CodeCase(
        """
from functools import lru_cache
import struct
MACHINES = {8: 'amd64', 4: 'x86'}

@lru_cache(maxsize=None)
def load_netfx():
    if sys.platform != 'win32':
        raise RuntimeError('.NET Framework is only supported on Windows')
    arch = 'amd64' if sys.maxsize > 2**32 else 'x86'
    path = os.path.join(os.path.dirname(__file__), 'ffi', 'dlls', arch, '§loader.dll')
    return ctypes.CDLL(path)

class NetFx:
    def __init__(self, domain=None, config_file=None):
        self._domain = None
        self._handle = load_netfx()
    @property
    def dll(self):
        return self._handle

runtime = NetFx()
""",
        {"ffi/dlls/amd64/§loader.dll": (), "ffi/dlls/x86/§loader.dll": ()},
        ("ffi/dlls/amd64/§loader.dll", "ffi/dlls/x86/§loader.dll"),
    ),
    # What kivy_deps packages and kivy itself do: folders from a list, in PATH and in the DLL search.
    "deps": CodeCase(
        """
from os.path import join, isdir, dirname, abspath
__all__ = ('dep_bins',)
dep_bins = []
_root = sys.prefix
dep_bins = [join(_root, 'share', '§', 'bin')]
if not isdir(dep_bins[0]):
    dep_bins = [join(dirname(abspath(__file__)), 'bin')]
if isdir(dep_bins[0]):
    os.environ['PATH'] = dep_bins[0] + os.pathsep + os.environ['PATH']
    if hasattr(os, 'add_dll_directory'):
        os.add_dll_directory(dep_bins[0])
else:
    dep_bins = []
for folder in dep_bins:
    lib = ctypes.CDLL(join(folder, '§core.dll'))
lib
""",
        BIN, ("bin/§core.dll",),
    ),
    # What vtk and wx do: a star import of one module per library, in an order.
    "stars": CodeCase(
        """
from .common import *
from .filters import *
from .views import *
""",
        {"lib/§common.dll": (), "lib/§filters.dll": ("§common.dll",), "lib/§views.dll": ("§filters.dll",)},
        ("lib/§common.dll", "lib/§filters.dll", "lib/§views.dll"),
        {
            "_base.py": "import ctypes, os\n_DIR = os.path.join(os.path.dirname(__file__), 'lib')\n"
            "def open_lib(name, mode=0):\n    path = os.path.join(_DIR, '§' + name + '.dll')\n"
            "    return ctypes.CDLL(path, winmode=mode)\n",
            "common.py": "from ._base import open_lib\ncommon = open_lib('common')\n",
            "filters.py": "from ._base import open_lib\nfilters = open_lib('filters')\n",
            "views.py": "from ._base import open_lib\nviews = open_lib('views', 0)\n",
        },
    ),
    # What SciPy's and scikit-learn's init do: lazy submodules, with one that is imported at once.
    "lazyattr": CodeCase(
        """
import importlib as _importlib
from ._distributor_init import CHECKED
submodules = ['fft', 'linalg']
__all__ = submodules + ['show']

def __dir__():
    return __all__

def __getattr__(name):
    if name in submodules:
        return _importlib.import_module(f'§.{name}')
    raise AttributeError(f"Module '§' has no attribute '{name}'")
""",
        {".libs/§omp.dll": (), "lib/§linalg.dll": ()}, (".libs/§omp.dll", "lib/§linalg.dll"),
        {
            "_distributor_init.py": "import os\nimport os.path as op\nfrom ctypes import WinDLL\n"
            "libs_path = op.join(op.dirname(__file__), '.libs')\nomp = op.join(libs_path, '§omp.dll')\n"
            "WinDLL(op.abspath(omp))\nCHECKED = True\n",
            "linalg.py": "import ctypes, os\n"
            "lib = ctypes.CDLL(os.path.join(os.path.dirname(__file__), 'lib', '§linalg.dll'))\n",
            "fft.py": "",
        },
    ),
    # A plugin loop: pkgutil over the package's own folder, each plugin may fail.
    "plugins": CodeCase(
        """
import importlib, pkgutil, warnings
from . import backends
available = {}
for info in pkgutil.iter_modules(backends.__path__):
    try:
        available[info.name] = importlib.import_module(f'{backends.__name__}.{info.name}')
    except (ImportError, OSError) as exc:
        warnings.warn(f'{info.name}: {exc}')
if not available:
    raise ImportError('no backend')
""",
        {"lib/§a.dll": (), "lib/§b.dll": ()}, ("lib/§a.dll", "lib/§a.dll lib/§b.dll"),
        {
            "backends/__init__.py": "",
            "backends/a.py": "import ctypes, pathlib\n"
            "ctypes.CDLL(str(pathlib.Path(__file__).parents[1] / 'lib' / '§a.dll'))\n",
            "backends/b.py": "import ctypes, pathlib\n"
            "ctypes.CDLL(str(pathlib.Path(__file__).parents[1] / 'lib' / '§b.dll'))\n",
        },
    ),
    # import_module in a loop over literals.
    "importloop": CodeCase(
        """
from importlib import import_module
for _name in ('first', 'second'):
    globals()[_name] = import_module('.' + _name, __name__)
""",
        {"lib/§a.dll": (), "lib/§b.dll": ()}, ("lib/§a.dll", "lib/§b.dll"),
        {
            "first.py": "import ctypes, os\n"
            "ctypes.CDLL(os.path.join(os.path.dirname(__file__), 'lib', '§a.dll'))\n",
            "second.py": "import ctypes, os\n"
            "ctypes.CDLL(os.path.join(os.path.dirname(__file__), 'lib', '§b.dll'))\n",
        },
    ),
    # A decorator with arguments that registers, and a registry that is loaded at the end.
    "registry": CodeCase(
        """
REGISTRY = {}

def register(name, *, folder='lib'):
    def wrap(function):
        REGISTRY[name] = (folder, function)
        return function
    return wrap

@register('§core')
def core(path):
    return ctypes.CDLL(path)

LIBS = {name: function(os.path.join(HERE, folder, name + '.dll')) for name, (folder, function) in REGISTRY.items()}
""",
        LIB, ("lib/§core.dll",),
    ),
    # A warning in place of an error.
    "warns": CodeCase(
        """
import warnings
try:
    lib = ctypes.CDLL(os.path.join(HERE, '§core.dll'))
except OSError as exc:
    warnings.warn(f'§core is not available: {exc}', RuntimeWarning, stacklevel=2)
    lib = None
HAS_CORE = lib is not None
if HAS_CORE:
    lib.call.argtypes = [ctypes.c_int]
""",
        CORE, ("§core.dll",), {}, ("§core.dll",),
    ),
    # Two classes, an abstract base, a registry of subclasses, a factory by platform.
    "factory": CodeCase(
        """
import abc

class Library(abc.ABC):
    suffix = ''
    @property
    @abc.abstractmethod
    def filename(self):
        ...
    def __init__(self, stem):
        self.stem = stem
        self.handle = None
    def load(self):
        if self.handle is None:
            self.handle = self._load(os.path.join(HERE, 'lib', self.filename))
        return self.handle
    def _load(self, path):
        return ctypes.CDLL(path)

class Posix(Library):
    @property
    def filename(self):
        return 'lib' + self.stem + '.so'

class Windows(Library):
    @property
    def filename(self):
        return f'{self.stem}.dll'
    def _load(self, path):
        return ctypes.WinDLL(path, winmode=0)

def make(stem):
    cls = {'nt': Windows, 'posix': Posix}[os.name]
    return cls(stem)

handle = make('§core').load()
""",
        LIB, ("lib/§core.dll",), {}, ("lib/§core.dll",),
    ),
    # A context manager class that changes the current folder.
    "chdirclass": CodeCase(
        """
class inside:
    def __init__(self, path):
        self.path = path
    def __enter__(self):
        self.before = os.getcwd()
        os.chdir(self.path)
        return self
    def __exit__(self, *exc):
        os.chdir(self.before)
        return False

with inside(os.path.join(HERE, 'lib')):
    lib = ctypes.CDLL(os.path.abspath('§core.dll'))
""",
        PAIR, ("lib/§dep.dll",),
    ),
    # A namedtuple table of libraries, sorted, with a filter.
    "namedtuples": CodeCase(
        """
from collections import namedtuple
Lib = namedtuple('Lib', 'name order optional')
LIBS = [Lib('§core.dll', 2, False), Lib('§dep.dll', 1, False), Lib('§gone.dll', 3, True)]
for one in sorted(LIBS, key=lambda lib: lib.order):
    path = os.path.join(HERE, 'lib', one.name)
    if one.optional and not os.path.exists(path):
        continue
    ctypes.CDLL(path)
""",
        PAIR, ("lib/§core.dll", "lib/§dep.dll"),
    ),
    # An enum class with a property, iterated.
    "enumiter": CodeCase(
        """
from enum import Enum

class Part(Enum):
    DEP = '§dep'
    CORE = '§core'

    @property
    def path(self):
        return os.path.join(HERE, 'lib', f'{self.value}.dll')

HANDLES = [ctypes.CDLL(part.path) for part in Part]
""",
        PAIR, ("lib/§core.dll", "lib/§dep.dll"),
    ),
    # A JSON file says what to load.
    "jsonfile": CodeCase(
        """
import json
with open(os.path.join(HERE, 'libs.json'), encoding='utf-8') as handle:
    CONFIG = json.load(handle)
for name in CONFIG['libraries']:
    ctypes.CDLL(os.path.join(HERE, CONFIG['folder'], name))
""",
        LIB, ("lib/§core.dll",), {"libs.json": '{"folder": "lib", "libraries": ["§core.dll"]}'},
    ),
    # Generators chained with itertools, and a first that works.
    "chained": CodeCase(
        """
import itertools
from pathlib import Path

def in_package():
    for folder in ('bin', 'lib', '.'):
        yield Path(HERE) / folder / '§core.dll'

def in_system():
    for name in ('§core.dll', 'lib§core.dll'):
        yield Path(os.environ.get('SystemRoot', 'C:/Windows')) / 'System32' / name

def first():
    for path in itertools.chain(in_package(), in_system()):
        if path.exists():
            return str(path)
    raise FileNotFoundError('§core.dll')

lib = ctypes.CDLL(first())
""",
        LIB, ("lib/§core.dll",),
    ),
    # try/finally with PATH put back, and winmode=0.
    "pathrestored": CodeCase(
        """
saved = os.environ['PATH']
try:
    os.environ['PATH'] = os.pathsep.join([os.path.join(HERE, 'more'), saved])
    lib = ctypes.CDLL(os.path.join(HERE, 'lib', '§core.dll'), winmode=0)
finally:
    os.environ['PATH'] = saved
""",
        APART, ("more/§dep.dll",),
    ),
    # PATH put back too early.
    "pathtooearly": CodeCase(
        """
saved = os.environ['PATH']
os.environ['PATH'] = os.path.join(HERE, 'more') + os.pathsep + saved
os.environ['PATH'] = saved
lib = ctypes.CDLL(os.path.join(HERE, 'lib', '§core.dll'), winmode=0)
""",
        APART,
    ),
    # What comtypes-like code does with windll and system DLLs only.
    "systemonly": CodeCase(
        """
from ctypes import windll, oledll, WinDLL
_ole32 = oledll.ole32
_user32 = windll.user32
_kernel32 = WinDLL('kernel32', use_last_error=True)
try:
    _opt = windll.LoadLibrary('§optional.dll')
except WindowsError:
    _opt = None
if _opt is not None:
    raise RuntimeError('cannot be')
""",
        {"lib/§x.dll": ()},
    ),
    # A check of the Windows version and of admin rights that changes nothing.
    "versioncheck": CodeCase(
        """
import platform
if platform.system() == 'Windows' and sys.getwindowsversion().major < 6:
    raise ImportError('Windows Vista or newer is needed')
if sys.version_info < (3, 7):
    raise ImportError('Python 3.7 or newer is needed')
if platform.python_implementation() == 'PyPy':
    lib = None
else:
    lib = ctypes.PyDLL(os.path.join(HERE, '§core.dll'))
""",
        CORE, ("§core.dll",),
    ),
    # Several targets, chained comparisons, string methods.
    "stringwork": CodeCase(
        """
stem, dot, ext = '§core.so'.rpartition('.')
name = stem.removeprefix('lib') + dot + {'so': 'dll'}[ext]
folder = 'LIB'.lower()
parts = f'{folder}/{name}'.split('/')
path = os.path.sep.join([HERE, *parts])
lib = ctypes.CDLL(path.replace('/', os.sep))
""",
        LIB, ("lib/§core.dll",),
    ),
    # A module-level function with a default argument that is the loader, and a retry with another name.
    "retryname": CodeCase(
        """
def load(stem, versions=('3', '2', ''), loader=ctypes.cdll.LoadLibrary):
    error = None
    for version in versions:
        try:
            return loader(os.path.join(HERE, 'lib', stem + version + '.dll'))
        except OSError as exc:
            error = exc
    else:
        raise ImportError(f'{stem}: none of {versions!r} could be loaded') from error

lib = load('§core')
""",
        {"lib/§core2.dll": ()}, ("lib/§core2.dll",), {}, ("lib/§core2.dll",),
    ),
    # A helper module of the package that returns a bound method of a singleton.
    "boundmethod": CodeCase(
        """
from ._native import get
lib = get('§core')
""",
        LIB, ("lib/§core.dll",),
        {
            "_native.py": """
import ctypes
import os

class _Cache(dict):
    root = os.path.dirname(os.path.abspath(__file__))

    def __missing__(self, key):
        value = ctypes.CDLL(os.path.join(self.root, 'lib', key + '.dll'))
        self[key] = value
        return value

_cache = _Cache()

def get(name):
    return _cache[name]
""",
        },
    ),
    # A dataclass with a default factory and __post_init__.
    "postinit": CodeCase(
        """
from dataclasses import dataclass, field

@dataclass
class Native:
    names: list = field(default_factory=lambda: ['§dep.dll', '§core.dll'])
    handles: list = field(default_factory=list, init=False)

    def __post_init__(self):
        for name in self.names:
            self.handles.append(ctypes.CDLL(os.path.join(HERE, 'lib', name)))

native = Native()
""",
        PAIR, ("lib/§core.dll", "lib/§dep.dll"),
    ),
    # A class body that loads, with a nested try.
    "classbody": CodeCase(
        """
class Api:
    try:
        _dll = ctypes.CDLL(os.path.join(HERE, '§core.dll'))
    except OSError:
        _dll = ctypes.CDLL(os.path.join(HERE, 'lib', '§core.dll'))
    call = _dll.call
""",
        LIB, ("lib/§core.dll",),
    ),
    # A match on a tuple, and a guard.
    "matchtuple": CodeCase(
        """
import platform
match (platform.system(), platform.machine().lower()):
    case ('Windows', 'amd64' | 'x86_64'):
        name = '§core_x64.dll'
    case ('Windows', 'arm64'):
        name = '§core_arm64.dll'
    case ('Linux', arch):
        name = f'lib§core_{arch}.so'
    case _:
        raise ImportError('unsupported')
lib = ctypes.CDLL(os.path.join(HERE, name))
""",
        {"§core_x64.dll": (), "§core_arm64.dll": ()}, ("§core_x64.dll", "§core_arm64.dll"),
    ),
    # A while loop that climbs to the folder with the DLLs.
    "climb": CodeCase(
        """
folder = os.path.join(HERE, 'a', 'b')
while not os.path.isdir(os.path.join(folder, 'lib')):
    above = os.path.dirname(folder)
    if above == folder:
        raise ImportError('no lib folder')
    folder = above
lib = ctypes.CDLL(os.path.join(folder, 'lib', '§core.dll'))
""",
        PAIR, ("lib/§dep.dll", "lib/§core.dll"),
    ),
    # An ImportError of an own submodule that loads, hidden by a broad except and raised later by use.
    "usedlater": CodeCase(
        """
try:
    from ._core import lib
except Exception:
    lib = None
VERSION = lib.call
""",
        CORE, ("§core.dll",),
        {"_core.py": "import ctypes, os\n"
         "lib = ctypes.CDLL(os.path.join(os.path.dirname(__file__), '§core.dll'))\n"},
    ),
    # hasattr and getattr on what was loaded: a symbol that is not there.
    "nosymbol": CodeCase(
        """
lib = ctypes.CDLL(os.path.join(HERE, '§core.dll'))
lib.call
if hasattr(lib, 'not_there'):
    lib.not_there()
try:
    lib.neither
except AttributeError:
    pass
""",
        CORE, ("§core.dll",),
    ),
}  # fmt: skip
"""Written before the interpreter was made, in the styles of the packages that they name."""

FIFTH: dict[str, CodeCase] = {
    # A loader class with a class-level cache and a metaclass that makes attributes.
    "metaclass": CodeCase(
        """
class _Meta(type):
    def __getattr__(cls, name):
        if name == 'handle':
            cls.handle = ctypes.CDLL(os.path.join(HERE, 'lib', cls.filename))
            return cls.handle
        raise AttributeError(name)

class Core(metaclass=_Meta):
    filename = '§core.dll'

Core.handle
""",
        LIB, ("lib/§core.dll",),
    ),
    "initsubclass": CodeCase(
        """
class Native:
    registry = []
    def __init_subclass__(cls, **kwargs):
        super().__init_subclass__(**kwargs)
        Native.registry.append(cls)
        cls.lib = ctypes.CDLL(os.path.join(HERE, 'lib', cls.name + '.dll'))

class Core(Native):
    name = '§core'
""",
        LIB, ("lib/§core.dll",),
    ),
    "descriptor": CodeCase(
        """
class Lazy:
    def __init__(self, name):
        self.name = name
    def __get__(self, instance, owner):
        return ctypes.CDLL(os.path.join(HERE, 'lib', self.name))

class Api:
    core = Lazy('§core.dll')
    def start(self):
        return self.core

api = Api()
api.start()
""",
        LIB, ("lib/§core.dll",),
    ),
    "closures": CodeCase(
        """
def loader_in(folder):
    count = 0
    def load(name):
        nonlocal count
        count += 1
        return ctypes.CDLL(os.path.join(folder, name))
    return load

load = loader_in(os.path.join(HERE, 'lib'))
for name in ['§dep.dll', '§core.dll']:
    load(name)
""",
        PAIR, ("lib/§dep.dll", "lib/§core.dll"),
    ),
    "kwargs": CodeCase(
        """
def load(name, *paths, **options):
    options.setdefault('winmode', None)
    folder = options.pop('folder', 'lib')
    return ctypes.CDLL(os.path.join(HERE, folder, *paths, name), **options)

lib = load('§core.dll', folder='lib')
other = load('§core.dll', **{'folder': 'lib', 'winmode': 0})
""",
        PAIR, ("lib/§dep.dll",),
    ),
    "ordereddict": CodeCase(
        """
from collections import OrderedDict
LIBS = OrderedDict([('§dep', 'lib'), ('§core', 'lib')])
LIBS.move_to_end('§core')
handles = {name: ctypes.CDLL(os.path.join(HERE, folder, name + '.dll')) for name, folder in LIBS.items()}
""",
        PAIR, ("lib/§dep.dll", "lib/§core.dll"),
    ),
    "defaultdict": CodeCase(
        """
from collections import defaultdict
groups = defaultdict(list)
for name in os.listdir(os.path.join(HERE, 'lib')):
    groups[os.path.splitext(name)[1].lower()].append(name)
for name in sorted(groups['.dll']):
    ctypes.CDLL(os.path.join(HERE, 'lib', name))
""",
        PAIR, ("lib/§dep.dll", "lib/§core.dll"),
    ),
    "regex": CodeCase(
        """
import re
names = [name for name in os.listdir(HERE) if re.match(r'^§core[_-]?v?(\\d+)\\.dll$', name)]
if not names:
    raise ImportError('no §core library')
best = max(names, key=lambda name: int(re.search(r'(\\d+)\\.dll', name).group(1)))
lib = ctypes.CDLL(os.path.join(HERE, best))
""",
        {"§core_v2.dll": (), "§core_v10.dll": ("§dep.dll",), "§dep.dll": ()},
        ("§dep.dll", "§core_v10.dll", "§core_v2.dll §core_v10.dll"),
    ),
    "sysmodules": CodeCase(
        """
from . import _loader
lib = sys.modules[__name__ + '._loader'].lib
this = sys.modules[__name__]
setattr(this, 'handle', lib)
""",
        CORE, ("§core.dll",),
        {"_loader.py": "import ctypes, os\n"
         "lib = ctypes.CDLL(os.path.join(os.path.dirname(os.path.realpath(__file__)), '§core.dll'))\n"},
    ),
    "relativeup": CodeCase(
        "from .a.b.c import lib\n",
        {"data/§core.dll": ()}, ("data/§core.dll",),
        {
            "a/__init__.py": "", "a/b/__init__.py": "",
            "a/b/c.py": "from ...paths import DATA\nimport ctypes\nlib = ctypes.CDLL(str(DATA / '§core.dll'))\n",
            "paths.py": "from pathlib import Path\nPACKAGE = Path(__file__).parent\nDATA = PACKAGE / 'data'\n",
        },
    ),
    "circular": CodeCase(
        """
FOLDER = os.path.join(HERE, 'lib')
from . import one
from . import two
""",
        PAIR, ("lib/§dep.dll", "lib/§core.dll"),
        {
            "one.py": "import ctypes, os\nimport §\ndep = ctypes.CDLL(os.path.join(§.FOLDER, '§dep.dll'))\n",
            "two.py": "import ctypes, os\nfrom § import FOLDER, one\n"
            "core = ctypes.CDLL(os.path.join(FOLDER, '§core.dll'))\n",
        },
    ),
    "allnames": CodeCase(
        "from .api import *\ncreate\n",
        CORE, ("§core.dll",),
        {"api.py": "import ctypes as _ct\nimport os as _os\n__all__ = ['create']\n"
         "_lib = _ct.CDLL(_os.path.join(_os.path.dirname(__file__), '§core.dll'))\n"
         "def create():\n    return _lib.call()\n"},
    ),
    "missingname": CodeCase(
        """
from ._lib import lib
""",
        CORE, ("§core.dll",),
        {"_lib.py": "import ctypes, os\n_path = os.path.join(os.path.dirname(__file__), '§core.dll')\n"
         "if os.path.exists(_path):\n    lib = ctypes.CDLL(_path)\n"},
    ),
    "exceptionclass": CodeCase(
        """
class NativeError(ImportError):
    def __init__(self, name, cause):
        super().__init__(f'{name}: {cause}')
        self.cause = cause

class NotFound(NativeError, FileNotFoundError):
    pass

def load(name):
    path = os.path.join(HERE, name)
    try:
        return ctypes.CDLL(path)
    except FileNotFoundError as exc:
        raise NotFound(name, exc) from None
    except OSError as exc:
        raise NativeError(name, exc) from exc

try:
    lib = load('§core.dll')
except NotFound:
    lib = load('lib/§core.dll')
""",
        {"§core.dll": ("§dep.dll",), "§dep.dll": (), "lib/§core.dll": ()},
        ("§core.dll", "§core.dll lib/§core.dll", "§dep.dll"), {}, ("§core.dll",),
    ),
    "errnocheck": CodeCase(
        """
try:
    lib = ctypes.CDLL(os.path.join(HERE, '§core.dll'))
except OSError as exc:
    if getattr(exc, 'winerror', None) == 193:
        raise ImportError('§core.dll is for another machine') from exc
    lib = None
""",
        CORE, ("§core.dll",), {}, ("§core.dll",),
    ),
    "messagecheck": CodeCase(
        """
try:
    lib = ctypes.CDLL(os.path.join(HERE, '§core.dll'))
except OSError as exc:
    if 'Could not find module' not in str(exc):
        raise
    lib = None
""",
        CORE, ("§core.dll",), {}, ("§core.dll",),
    ),
    "finallyraise": CodeCase(
        """
done = False
try:
    lib = ctypes.CDLL(os.path.join(HERE, '§core.dll'))
    done = True
finally:
    if not done:
        raise RuntimeError('§core could not be loaded')
""",
        CORE, ("§core.dll",),
    ),
    "returnfinally": CodeCase(
        """
def load():
    try:
        return ctypes.CDLL(os.path.join(HERE, '§core.dll'))
    except OSError:
        return None
    finally:
        os.environ['§_TRIED'] = '1'

lib = load()
if lib is None and os.environ.get('§_TRIED') == '1':
    raise ImportError('tried')
""",
        CORE, ("§core.dll",),
    ),
    "loopelse": CodeCase(
        """
for suffix in ('', '-1', '-2'):
    try:
        lib = ctypes.CDLL(os.path.join(HERE, f'§core{suffix}.dll'))
    except OSError:
        continue
    break
else:
    raise ImportError('no version of §core')
""",
        {"§core-2.dll": ()}, ("§core-2.dll",), {}, ("§core-2.dll",),
    ),
    "nestedloops": CodeCase(
        """
found = None
for folder in ('bin', 'lib'):
    for name in ('§core64.dll', '§core.dll'):
        path = os.path.join(HERE, folder, name)
        if os.path.isfile(path):
            found = path
            break
    if found:
        break
lib = ctypes.CDLL(found)
""",
        LIB, ("lib/§core.dll",),
    ),
    "pathobject": CodeCase(
        """
from pathlib import Path
lib = ctypes.CDLL(Path(__file__).parent / '§core.dll')
""",
        CORE,
    ),
    "pathobjectmode": CodeCase(
        """
from pathlib import Path
lib = ctypes.CDLL(str(Path(__file__).parent.joinpath('lib', '§core.dll').resolve(strict=True)), winmode=0)
""",
        LIB, ("lib/§core.dll",),
    ),
    "emptypath": CodeCase(
        """
folder = os.environ.get('§_FOLDER', '')
path = os.path.join(folder, '§core.dll') if folder else os.path.join(HERE, '§core.dll')
lib = ctypes.CDLL(path)
""",
        CORE, ("§core.dll",),
    ),
    "bytespath": CodeCase(
        """
name = b'§core.dll'.decode('ascii')
lib = ctypes.CDLL(os.path.join(os.fsdecode(os.fsencode(HERE)), name))
""",
        CORE, ("§core.dll",),
    ),
    "symbolneeded": CodeCase(
        """
lib = ctypes.CDLL(os.path.join(HERE, '§core.dll'))
start = lib.start_engine
start.restype = ctypes.c_int
""",
        CORE, ("§core.dll",),
    ),
    "symboloptional": CodeCase(
        """
lib = ctypes.CDLL(os.path.join(HERE, '§core.dll'))
try:
    lib.start_engine.argtypes = [ctypes.c_int]
    HAS_ENGINE = True
except AttributeError:
    HAS_ENGINE = False
for name in ('call',):
    getattr(lib, name)
""",
        CORE, ("§core.dll",),
    ),
    "structures": CodeCase(
        """
class Point(ctypes.Structure):
    _fields_ = [('x', ctypes.c_int), ('y', ctypes.c_int)]

PointP = ctypes.POINTER(Point)
CALLBACK = ctypes.CFUNCTYPE(ctypes.c_int, PointP)

@CALLBACK
def on_point(pointer):
    return pointer.contents.x

lib = ctypes.CDLL(os.path.join(HERE, '§core.dll'))
lib.call.argtypes = [PointP, CALLBACK]
size = ctypes.sizeof(Point)
if size > 64:
    raise ImportError('cannot be')
""",
        CORE, ("§core.dll",),
    ),
    "numbers": CodeCase(
        """
VERSION = '3.14.2'
major, minor, *rest = (int(part) for part in VERSION.split('.'))
name = '§core-%d_%02d.dll' % (major, minor)
if (major, minor) >= (3, 10):
    lib = ctypes.CDLL(os.path.join(HERE, name))
else:
    lib = None
""",
        {"§core-3_14.dll": ()}, ("§core-3_14.dll",),
    ),
    "setops": CodeCase(
        """
wanted = {'§dep.dll', '§core.dll'}
there = set(os.listdir(os.path.join(HERE, 'lib')))
absent = wanted - there
if absent:
    raise ImportError('missing: ' + ', '.join(sorted(absent)))
for name in sorted(wanted & there, reverse=True):
    ctypes.CDLL(os.path.join(HERE, 'lib', name))
""",
        PAIR, ("lib/§dep.dll", "lib/§core.dll"),
    ),
    "walkfolder": CodeCase(
        """
for root, folders, files in os.walk(HERE):
    for name in files:
        if name.endswith('.dll') and 'core' in name:
            lib = ctypes.CDLL(os.path.join(root, name))
assert 'lib' in globals(), 'no library'
""",
        {"a/b/§core.dll": ()}, ("a/b/§core.dll",),
    ),
    "scandir": CodeCase(
        """
with os.scandir(os.path.join(HERE, 'lib')) as entries:
    paths = sorted(entry.path for entry in entries if entry.is_file() and entry.name.lower().endswith('.dll'))
for path in reversed(paths):
    ctypes.WinDLL(path)
""",
        PAIR, ("lib/§dep.dll", "lib/§core.dll", "lib/§core.dll lib/§dep.dll"),
    ),
    "textfile": CodeCase(
        """
with open(os.path.join(HERE, 'order.txt')) as file:
    for line in file:
        line = line.strip()
        if not line or line.startswith('#'):
            continue
        ctypes.CDLL(os.path.join(HERE, 'lib', line))
""",
        PAIR, ("lib/§dep.dll", "lib/§core.dll"), {"order.txt": "# first\n§dep.dll\n\n§core.dll\n"},
    ),
    "configparser": CodeCase(
        """
import configparser
config = configparser.ConfigParser()
config.read(os.path.join(HERE, 'libs.ini'))
lib = ctypes.CDLL(os.path.join(HERE, config['windows']['core']))
""",
        CORE, ("§core.dll",), {"libs.ini": "[windows]\ncore = §core.dll\n"},
    ),
    "exitcallback": CodeCase(
        """
import atexit, contextlib
stack = contextlib.ExitStack()
atexit.register(stack.close)
stack.enter_context(os.add_dll_directory(os.path.join(HERE, 'more')))
lib = ctypes.CDLL(os.path.join(HERE, 'lib', '§core.dll'))
""",
        APART, ("more/§dep.dll", "lib/§core.dll"),
    ),
    "stackclosed": CodeCase(
        """
import contextlib
stack = contextlib.ExitStack()
stack.enter_context(os.add_dll_directory(os.path.join(HERE, 'more')))
stack.close()
lib = ctypes.CDLL(os.path.join(HERE, 'lib', '§core.dll'))
""",
        APART,
    ),
    "managerraises": CodeCase(
        """
import contextlib

@contextlib.contextmanager
def explained(what):
    try:
        yield
    except OSError as exc:
        raise ImportError(f'{what} cannot be loaded') from exc

with explained('§core'):
    lib = ctypes.CDLL(os.path.join(HERE, '§core.dll'))
""",
        CORE, ("§core.dll",), {}, ("§core.dll",),
    ),
    "managerhides": CodeCase(
        """
import contextlib

@contextlib.contextmanager
def quiet():
    try:
        yield
    except OSError:
        pass

lib = None
with quiet():
    lib = ctypes.CDLL(os.path.join(HERE, '§core.dll'))
""",
        CORE, ("§core.dll",),
    ),
    "threadlocal": CodeCase(
        """
import threading
_lock = threading.Lock()
_state = threading.local()

def get():
    with _lock:
        if not hasattr(_state, 'lib'):
            _state.lib = ctypes.CDLL(os.path.join(HERE, '§core.dll'))
        return _state.lib

get()
""",
        CORE, ("§core.dll",),
    ),
    "lazyobject": CodeCase(
        """
from ._lazy import LazyLibrary
core = LazyLibrary('§core')
VERSION = core.call
""",
        LIB, ("lib/§core.dll",),
        {"_lazy.py": "import ctypes, os\n\nclass LazyLibrary:\n    def __init__(self, name):\n"
         "        self.__dict__['_name'] = name\n        self.__dict__['_lib'] = None\n\n"
         "    def _open(self):\n        if self._lib is None:\n            folder = os.path.dirname(__file__)\n"
         "            path = os.path.join(folder, 'lib', self._name + '.dll')\n"
         "            self.__dict__['_lib'] = ctypes.CDLL(path)\n        return self._lib\n\n"
         "    def __getattr__(self, attribute):\n        return getattr(self._open(), attribute)\n"},
    ),
    "lazynever": CodeCase(
        """
from importlib.util import LazyLoader, find_spec
class _Deferred:
    def __getattr__(self, name):
        return getattr(ctypes.CDLL(os.path.join(HERE, '§core.dll')), name)
core = _Deferred()
__all__ = ['core']
""",
        CORE, ("§core.dll",),
    ),
    "generatorsend": CodeCase(
        """
def loading():
    for name in ('§dep.dll', '§core.dll'):
        yield ctypes.CDLL(os.path.join(HERE, 'lib', name))

handles = tuple(loading())
first, *others = handles
""",
        PAIR, ("lib/§dep.dll", "lib/§core.dll"),
    ),
    "recursion": CodeCase(
        """
DEPENDS = {'§core.dll': ['§dep.dll'], '§dep.dll': []}
_loaded = {}

def load(name):
    if name in _loaded:
        return _loaded[name]
    for other in DEPENDS[name]:
        load(other)
    folder = 'more' if 'dep' in name else 'lib'
    _loaded[name] = ctypes.CDLL(os.path.join(HERE, folder, name))
    return _loaded[name]

load('§core.dll')
""",
        APART, ("more/§dep.dll", "lib/§core.dll"),
    ),
    "delayeddef": CodeCase(
        """
def _setup():
    _add()
    return ctypes.CDLL(os.path.join(HERE, 'lib', '§core.dll'))

def _add():
    os.add_dll_directory(os.path.join(HERE, 'more'))

if __name__ != '__main__':
    lib = _setup()
del _setup, _add
""",
        APART, ("more/§dep.dll",),
    ),
}  # fmt: skip
"""Written after the interpreter was made, and before it was changed for any of these."""
