"""Small packages whose Python code loads DLLs, in the ways in which packages do: order, control flow, paths.

In sources and file names ``§`` stands for the name of the package, so that no two packages share a DLL: all of them can
be imported in one process. Each is tried as it is, and once without each file that ``without`` names.
"""

from __future__ import annotations

from dataclasses import dataclass, field

HEAD = "import ctypes, os, sys\nHERE = os.path.dirname(os.path.abspath(__file__))\n"
CORE = {"§core.dll": ()}
LIB = {"lib/§core.dll": ()}
PAIR: dict[str, tuple[str, ...]] = {"lib/§core.dll": ("§dep.dll",), "lib/§dep.dll": ()}
APART: dict[str, tuple[str, ...]] = {"lib/§core.dll": ("§dep.dll",), "more/§dep.dll": ()}


@dataclass(frozen=True)
class CodeCase:
    """One package: its Python files, its DLLs with what each imports, and the files to try it without."""

    code: str
    """``__init__.py``, after ``HEAD``."""
    dlls: dict[str, tuple[str, ...]] = field(default_factory=dict)
    without: tuple[str, ...] = ()
    files: dict[str, str] = field(default_factory=dict)
    """More files of the package."""
    foreign: tuple[str, ...] = ()
    """DLLs that are for another machine in one more variant."""


FIRST: dict[str, CodeCase] = {
    "helper": CodeCase(
        "def _lib(name):\n    return os.path.join(HERE, 'lib', name)\n"
        "def load(name, loader=ctypes.CDLL):\n    return loader(_lib(name))\n"
        "core = load('§core.dll')\n",
        LIB, ("lib/§core.dll",),
    ),
    "classattr": CodeCase(
        "class Native:\n    FOLDER = os.path.join(HERE, 'lib')\n    NAME = '§core.dll'\n"
        "    @classmethod\n    def load(cls):\n        return ctypes.WinDLL(os.path.join(cls.FOLDER, cls.NAME))\n"
        "LIB = Native.load()\n",
        LIB, ("lib/§core.dll",),
    ),
    "instance": CodeCase(
        "class Loader:\n    def __init__(self, folder):\n        self.folder = folder\n        self._handle = None\n"
        "    def open(self, name):\n        self._handle = ctypes.CDLL(os.path.join(self.folder, name))\n"
        "        return self\n"
        "LIB = Loader(os.path.join(HERE, 'lib')).open('§core.dll')\n",
        LIB, ("lib/§core.dll",),
    ),
    "modulefile": CodeCase(
        "from . import data\nfolder = os.path.dirname(data.__file__)\n"
        "ctypes.CDLL(os.path.join(folder, '§core.dll'))\n",
        {"data/§core.dll": ()}, ("data/§core.dll",), {"data/__init__.py": ""},
    ),
    "bits": CodeCase(
        "import struct\nbits = struct.calcsize('P') * 8\n"
        "ctypes.CDLL(os.path.join(HERE, '§core-%d.dll' % bits))\n",
        {"§core-64.dll": (), "§core-32.dll": ()}, ("§core-64.dll", "§core-32.dll"),
    ),
    "machine": CodeCase(
        "import platform\narch = {'AMD64': 'x64', 'ARM64': 'arm64'}.get(platform.machine(), 'x86')\n"
        "ctypes.CDLL(os.path.join(HERE, 'bin', arch, '§core.dll'))\n",
        {"bin/x64/§core.dll": (), "bin/x86/§core.dll": ()}, ("bin/x64/§core.dll", "bin/x86/§core.dll"),
    ),
    "maxsize": CodeCase(
        "suffix = '_x64' if sys.maxsize > 2**32 else ''\n"
        "ctypes.CDLL(os.path.join(HERE, f'§core{suffix}.dll'))\n",
        {"§core_x64.dll": (), "§core.dll": ()}, ("§core_x64.dll", "§core.dll"),
    ),
    "resfiles": CodeCase(
        "from importlib.resources import files\n"
        "lib = ctypes.CDLL(str(files('§') / 'lib' / '§core.dll'))\n",
        LIB, ("lib/§core.dll",),
    ),
    "asfile": CodeCase(
        "from importlib import resources\n"
        "with resources.as_file(resources.files(__package__).joinpath('lib', '§core.dll')) as path:\n"
        "    lib = ctypes.CDLL(str(path))\n",
        LIB, ("lib/§core.dll",),
    ),
    "respath": CodeCase(
        "import importlib.resources\n"
        "with importlib.resources.path('§', '§core.dll') as path:\n    lib = ctypes.CDLL(os.fspath(path))\n",
        CORE, ("§core.dll",),
    ),
    "pathlib": CodeCase(
        "from pathlib import Path\nROOT = Path(__file__).resolve().parent\nlib = ROOT / 'lib' / '§core'\n"
        "ctypes.CDLL(str(lib.with_suffix('.dll')))\n",
        LIB, ("lib/§core.dll",),
    ),
    "libsfolder": CodeCase(
        "from pathlib import Path\nlibs = Path(__file__).parent.parent / '§.libs'\n"
        "if libs.is_dir():\n    os.add_dll_directory(str(libs))\n"
        "ctypes.CDLL('§core.dll')\n",
        {"../§.libs/§core.dll": ()}, ("../§.libs/§core.dll",),
    ),
    "envpath": CodeCase(
        "os.environ['PATH'] = os.path.join(HERE, 'lib') + os.pathsep + os.environ['PATH']\n"
        "ctypes.CDLL('§core.dll', winmode=0)\n",
        LIB, ("lib/§core.dll",),
    ),
    "envpathpy38": CodeCase(
        "os.environ['PATH'] = os.path.join(HERE, 'lib') + ';' + os.environ['PATH']\n"
        "ctypes.CDLL('§core.dll')\n",
        LIB,
    ),
    "envpathdep": CodeCase(
        "os.environ['PATH'] += ';' + os.path.join(HERE, 'more')\n"
        "ctypes.CDLL(os.path.join(HERE, 'lib', '§core.dll'), winmode=0)\n",
        APART, ("more/§dep.dll",),
    ),
    "loopliteral": CodeCase(
        "for name in ('§dep', '§core'):\n    ctypes.CDLL(os.path.join(HERE, 'lib', name + '.dll'))\n",
        PAIR, ("lib/§dep.dll", "lib/§core.dll"),
    ),
    "preloadorder": CodeCase(
        "for folder, name in [('lib', '§core.dll'), ('more', '§dep.dll')]:\n"
        "    ctypes.CDLL(os.path.join(HERE, folder, name))\n",
        APART,
    ),
    "preloadright": CodeCase(
        "for folder, name in [('more', '§dep.dll'), ('lib', '§core.dll')]:\n"
        "    ctypes.CDLL(os.path.join(HERE, folder, name))\n",
        APART, ("more/§dep.dll",),
    ),
    "earlyreturn": CodeCase(
        "def setup():\n    if sys.platform != 'win32':\n        return None\n"
        "    path = os.path.join(HERE, 'lib', '§core.dll')\n    if not os.path.exists(path):\n        return None\n"
        "    return ctypes.CDLL(path)\n"
        "lib = setup()\n",
        PAIR, ("lib/§core.dll", "lib/§dep.dll"),
    ),
    "fallback": CodeCase(
        "try:\n    lib = ctypes.CDLL(os.path.join(HERE, '§core.dll'))\n"
        "except OSError:\n    lib = ctypes.CDLL(os.path.join(HERE, 'lib', '§other.dll'))\n",
        {"§core.dll": (), "lib/§other.dll": ()}, ("§core.dll", "lib/§other.dll"), {}, ("§core.dll", "lib/§other.dll"),
    ),
    "fallbackraise": CodeCase(
        "lib = None\nfor name in ('§core.dll', '§other.dll'):\n    try:\n"
        "        lib = ctypes.CDLL(os.path.join(HERE, name))\n        break\n    except OSError:\n        continue\n"
        "if lib is None:\n    raise ImportError('no §core library')\n",
        CORE, ("§core.dll",), {}, ("§core.dll",),
    ),
    "fallbackerrors": CodeCase(
        "def find():\n    errors = []\n    for name in ['§core.dll', '§core2.dll']:\n        try:\n"
        "            return ctypes.CDLL(os.path.join(HERE, name))\n        except Exception as exc:\n"
        "            errors.append(str(exc))\n"
        "    raise RuntimeError('; '.join(errors))\n"
        "lib = find()\n",
        {"§core2.dll": ()}, ("§core2.dll",), {}, ("§core2.dll",),
    ),
    "windllmode": CodeCase(
        "ctypes.WinDLL(os.path.join(HERE, 'lib', '§core.dll'), winmode=0x1100)\n", PAIR, ("lib/§dep.dll",)
    ),
    "winmodezero": CodeCase(
        "ctypes.CDLL(os.path.join(HERE, 'lib', '§core.dll'), winmode=0)\n", PAIR
    ),
    "winmodealtered": CodeCase(
        "ctypes.CDLL(os.path.join(HERE, 'lib', '§core.dll'), winmode=8)\n", PAIR, ("lib/§dep.dll",)
    ),
    "cdllattr": CodeCase(
        "os.add_dll_directory(os.path.join(HERE, 'lib'))\nlib = ctypes.cdll.§core\n", LIB, ("lib/§core.dll",)
    ),
    "cdllitem": CodeCase(
        "lib = ctypes.cdll[os.path.join(HERE, 'lib', '§core.dll')]\n", LIB, ("lib/§core.dll",)
    ),
    "cdllload": CodeCase(
        "lib = ctypes.cdll.LoadLibrary(os.path.join(HERE, 'lib', '§core'))\n", LIB, ("lib/§core.dll",)
    ),
    "kernel32": CodeCase(
        "kernel32 = ctypes.WinDLL('kernel32.dll', use_last_error=True)\n"
        "kernel32.LoadLibraryExW.restype = ctypes.c_void_p\n"
        "handle = kernel32.LoadLibraryExW(os.path.join(HERE, 'lib', '§core.dll'), None, 0x1100)\n"
        "if handle is None:\n    raise ctypes.WinError(ctypes.get_last_error())\n",
        PAIR, ("lib/§core.dll", "lib/§dep.dll"),
    ),
    "kernelignored": CodeCase(
        "ctypes.windll.kernel32.LoadLibraryW(os.path.join(HERE, 'lib', '§core.dll'))\n", LIB, ("lib/§core.dll",)
    ),
    "withfolder": CodeCase(
        "with os.add_dll_directory(os.path.join(HERE, 'more')):\n"
        "    lib = ctypes.CDLL(os.path.join(HERE, 'lib', '§core.dll'))\n",
        APART, ("more/§dep.dll",),
    ),
    "withended": CodeCase(
        "with os.add_dll_directory(os.path.join(HERE, 'more')):\n    path = os.path.join(HERE, 'lib', '§core.dll')\n"
        "lib = ctypes.CDLL(path)\n",
        APART,
    ),
    "closed": CodeCase(
        "handle = os.add_dll_directory(os.path.join(HERE, 'more'))\nhandle.close()\n"
        "lib = ctypes.CDLL(os.path.join(HERE, 'lib', '§core.dll'))\n",
        APART,
    ),
    "toolate": CodeCase(
        "lib = ctypes.CDLL(os.path.join(HERE, 'lib', '§core.dll'))\n"
        "os.add_dll_directory(os.path.join(HERE, 'more'))\n",
        APART,
    ),
    "branches": CodeCase(
        "if sys.platform == 'darwin':\n    name = 'lib§core.dylib'\n"
        "elif sys.platform.startswith('linux'):\n    name = 'lib§core.so'\n"
        "elif os.name == 'nt':\n    name = '§core.dll'\nelse:\n    raise OSError('unsupported')\n"
        "_lib = ctypes.cdll.LoadLibrary(os.path.join(HERE, name))\n",
        CORE, ("§core.dll",),
    ),
    "pkgresources": CodeCase(
        "try:\n    from pkg_resources import resource_filename\nexcept ImportError:\n"
        "    def resource_filename(package, name):\n        return os.path.join(HERE, name)\n"
        "ctypes.CDLL(resource_filename('§', 'lib/§core.dll'))\n",
        LIB, ("lib/§core.dll",),
    ),
    "pkgutil": CodeCase(
        "import pkgutil\nnames = pkgutil.get_data(__name__, 'names.txt').decode().split()\n"
        "for name in names:\n    ctypes.CDLL(os.path.join(HERE, 'lib', name))\n",
        LIB, ("lib/§core.dll",), {"names.txt": "§core.dll\n"},
    ),
    "dunderpath": CodeCase(
        "ctypes.CDLL(os.path.join(__path__[0], '§core.dll'))\n", CORE, ("§core.dll",)
    ),
    "lazy": CodeCase(
        "def __getattr__(name):\n    if name == 'lib':\n"
        "        return ctypes.CDLL(os.path.join(HERE, '§core.dll'))\n    raise AttributeError(name)\n",
        CORE, ("§core.dll",),
    ),
    "enum": CodeCase(
        "import enum\nclass Lib(enum.Enum):\n    CORE = '§core.dll'\n    DEP = '§dep.dll'\n"
        "for one in (Lib.DEP, Lib.CORE):\n    ctypes.CDLL(os.path.join(HERE, 'lib', one.value))\n",
        PAIR, ("lib/§core.dll", "lib/§dep.dll"),
    ),
    "dataclass": CodeCase(
        "from dataclasses import dataclass\n@dataclass\nclass Spec:\n    name: str\n    folder: str = 'lib'\n"
        "    def path(self):\n        return os.path.join(HERE, self.folder, self.name + '.dll')\n"
        "ctypes.CDLL(Spec('§core').path())\n",
        LIB, ("lib/§core.dll",),
    ),
    "findlibrary": CodeCase(
        "from ctypes.util import find_library\npath = find_library('§core')\n"
        "if path is None:\n    raise ImportError('Unable to find §core shared library')\n"
        "lib = ctypes.CDLL(path)\n",
        LIB,
    ),
    "findpath": CodeCase(
        "from ctypes.util import find_library\n"
        "os.environ['PATH'] = os.pathsep.join([os.path.join(HERE, 'lib'), os.environ.get('PATH', '')])\n"
        "path = find_library('§core')\nif not path:\n    raise ImportError('Unable to find §core shared library')\n"
        "lib = ctypes.CDLL(path)\n",
        LIB, ("lib/§core.dll",),
    ),
    "listdir": CodeCase(
        "folder = os.path.join(HERE, 'lib')\nfor name in sorted(os.listdir(folder)):\n"
        "    if name.endswith('.dll'):\n        ctypes.CDLL(os.path.join(folder, name))\n",
        PAIR, ("lib/§dep.dll", "lib/§core.dll lib/§dep.dll"),
    ),
    "globabsent": CodeCase(
        "import glob\nlibs = glob.glob(os.path.join(HERE, 'lib', '*.dll'))\n"
        "for path in libs:\n    ctypes.CDLL(path)\nif not libs:\n    raise OSError('no libraries')\n",
        LIB, ("lib/§core.dll",),
    ),
    "iterdir": CodeCase(
        "from pathlib import Path\nfor path in (Path(__file__).parent / 'lib').iterdir():\n"
        "    if path.suffix == '.dll':\n        ctypes.CDLL(str(path))\n",
        LIB, ("lib/§core.dll",),
    ),
    "submodule": CodeCase(
        "from ._setup import FOLDER\nfrom .native import core\n",
        APART, ("more/§dep.dll",),
        {"_setup.py": "import os\nFOLDER = os.path.join(os.path.dirname(__file__), 'more')\n"
         "os.add_dll_directory(FOLDER)\n",
         "native.py": "import ctypes, os\n"
         "core = ctypes.CDLL(os.path.join(os.path.dirname(__file__), 'lib', '§core.dll'))\n"},
    ),
    "submodulelate": CodeCase(
        "from .native import core\nfrom ._setup import FOLDER\n",
        APART, (),
        {"_setup.py": "import os\nFOLDER = os.path.join(os.path.dirname(__file__), 'more')\n"
         "os.add_dll_directory(FOLDER)\n",
         "native.py": "import ctypes, os\n"
         "core = ctypes.CDLL(os.path.join(os.path.dirname(__file__), 'lib', '§core.dll'))\n"},
    ),
}  # fmt: skip
"""Written before the reader of code was changed for any of them."""

SECOND: dict[str, CodeCase] = {
    "cached": CodeCase(
        "import functools\n@functools.lru_cache(maxsize=None)\ndef lib():\n"
        "    return ctypes.CDLL(os.path.join(HERE, '§core.dll'))\n"
        "def version():\n    return lib()\nVERSION = version()\n",
        CORE, ("§core.dll",),
    ),
    "candidates": CodeCase(
        "def candidates():\n    yield os.path.join(HERE, 'bin', '§core.dll')\n"
        "    yield os.path.join(HERE, 'lib', '§core.dll')\n"
        "for path in candidates():\n    if os.path.isfile(path):\n        lib = ctypes.CDLL(path)\n        break\n"
        "else:\n    raise ImportError('§core not found')\n",
        LIB, ("lib/§core.dll",),
    ),
    "nextof": CodeCase(
        "paths = [os.path.join(HERE, folder, '§core.dll') for folder in ('bin', 'lib')]\n"
        "path = next((one for one in paths if os.path.exists(one)), None)\n"
        "if path is None:\n    raise RuntimeError('cannot find §core.dll')\n"
        "lib = ctypes.WinDLL(path)\n",
        LIB, ("lib/§core.dll",),
    ),
    "assertion": CodeCase(
        "path = os.path.join(HERE, '§core.dll')\nassert os.path.exists(path), path\nlib = ctypes.CDLL(path)\n",
        CORE, ("§core.dll",),
    ),
    "handles": CodeCase(
        "_handles = []\nfor folder in ('lib', 'more'):\n"
        "    _handles.append(os.add_dll_directory(os.path.join(HERE, folder)))\n"
        "lib = ctypes.CDLL('§core.dll')\n",
        APART, ("more/§dep.dll", "lib/§core.dll"),
    ),
    "finallyclose": CodeCase(
        "cookie = os.add_dll_directory(os.path.join(HERE, 'more'))\ntry:\n"
        "    lib = ctypes.CDLL(os.path.join(HERE, 'lib', '§core.dll'))\nfinally:\n    cookie.close()\n",
        APART, ("lib/§core.dll",),
    ),
    "closedinloop": CodeCase(
        "for folder in ('lib', 'more'):\n    with os.add_dll_directory(os.path.join(HERE, folder)):\n        pass\n"
        "try:\n    lib = ctypes.CDLL('§core.dll')\nexcept FileNotFoundError:\n"
        "    lib = ctypes.CDLL(os.path.join(HERE, 'lib', '§core.dll'))\n",
        PAIR, ("lib/§dep.dll",),
    ),
    "chdir": CodeCase(
        "old = os.getcwd()\nos.chdir(os.path.join(HERE, 'lib'))\ntry:\n    lib = ctypes.CDLL('./§core.dll')\n"
        "finally:\n    os.chdir(old)\n",
        LIB, ("lib/§core.dll",),
    ),
    "preloaddep": CodeCase(
        "ctypes.CDLL(os.path.join(HERE, 'more', '§dep.dll'))\n"
        "lib = ctypes.CDLL(os.path.join(HERE, 'lib', '§core.dll'), winmode=0)\n",
        APART, ("more/§dep.dll",),
    ),
    "suppressed": CodeCase(
        "import contextlib\nlib = None\nwith contextlib.suppress(OSError):\n"
        "    lib = ctypes.CDLL(os.path.join(HERE, 'lib', '§core.dll'))\n",
        PAIR, ("lib/§core.dll", "lib/§dep.dll"),
    ),
    "reraise": CodeCase(
        "try:\n    lib = ctypes.CDLL(os.path.join(HERE, 'lib', '§core.dll'))\nexcept OSError as exc:\n"
        "    raise ImportError('§core cannot be loaded') from exc\n",
        PAIR, ("lib/§core.dll", "lib/§dep.dll"), {}, ("lib/§core.dll",),
    ),
    "barereraise": CodeCase(
        "import logging\ntry:\n    lib = ctypes.CDLL(os.path.join(HERE, '§core.dll'))\nexcept Exception:\n"
        "    logging.getLogger(__name__).debug('no core')\n    raise\n",
        CORE, ("§core.dll",), {}, ("§core.dll",),
    ),
    "wrongcatch": CodeCase(
        "try:\n    lib = ctypes.CDLL(os.path.join(HERE, '§core.dll'))\nexcept (ImportError, AttributeError):\n"
        "    lib = None\n",
        CORE, ("§core.dll",),
    ),
    "notfoundcatch": CodeCase(
        "try:\n    lib = ctypes.CDLL(os.path.join(HERE, '§core.dll'))\nexcept FileNotFoundError:\n    lib = None\n",
        CORE, ("§core.dll",), {}, ("§core.dll",),
    ),
    "flag": CodeCase(
        "HAVE = True\ntry:\n    ctypes.CDLL(os.path.join(HERE, '§opt.dll'))\nexcept OSError:\n    HAVE = False\n"
        "if HAVE:\n    ctypes.CDLL(os.path.join(HERE, 'lib', '§core.dll'))\n",
        {"§opt.dll": (), "lib/§core.dll": ()}, ("§opt.dll", "lib/§core.dll", "§opt.dll lib/§core.dll"),
    ),
    "environment": CodeCase(
        "path = os.environ.get('§_LIBRARY') or os.path.join(HERE, '§core.dll')\nlib = ctypes.CDLL(path)\n",
        CORE, ("§core.dll",),
    ),
    "setenv": CodeCase(
        "os.environ.setdefault('§_HOME', os.path.join(HERE, 'lib'))\n"
        "lib = ctypes.CDLL(os.path.join(os.environ['§_HOME'], '§core.dll'))\n",
        LIB, ("lib/§core.dll",),
    ),
    "putpath": CodeCase(
        "if os.path.join(HERE, 'lib') not in os.environ['PATH']:\n"
        "    os.environ['PATH'] = f\"{os.path.join(HERE, 'lib')};{os.environ['PATH']}\"\n"
        "lib = ctypes.WinDLL('§core', winmode=0)\n",
        LIB, ("lib/§core.dll",),
    ),
    "relativepackage": CodeCase(
        "from ._loader import load_library\nlib = load_library('§core')\n",
        LIB, ("lib/§core.dll",),
        {"_loader.py": "import ctypes, pathlib\n_LIB = pathlib.Path(__file__).parent.joinpath('lib')\n"
         "def load_library(name):\n    path = _LIB / f'{name}.dll'\n    if not path.is_file():\n"
         "        raise FileNotFoundError(f'{path} is missing')\n    return ctypes.CDLL(str(path))\n"},
    ),
    "config": CodeCase(
        "from . import _config\nlib = ctypes.CDLL(os.path.join(HERE, *_config.PARTS, _config.NAMES['windows']))\n",
        LIB, ("lib/§core.dll",),
        {"_config.py": "PARTS = ['lib']\nNAMES = {'linux': 'lib§core.so', 'windows': '§core.dll'}\n"},
    ),
    "star": CodeCase(
        "from ._names import *\nlib = ctypes.CDLL(os.path.join(FOLDER, CORE))\n",
        LIB, ("lib/§core.dll",),
        {"_names.py": "import os\nFOLDER = os.path.join(os.path.dirname(__file__), 'lib')\nCORE = '§core.dll'\n"},
    ),
    "singleton": CodeCase(
        "class _Api:\n    _instance = None\n    def __new__(cls):\n        if cls._instance is None:\n"
        "            cls._instance = super().__new__(cls)\n"
        "            cls._instance.dll = ctypes.CDLL(os.path.join(HERE, '§core.dll'))\n        return cls._instance\n"
        "api = _Api()\n",
        CORE, ("§core.dll",),
    ),
    "inherited": CodeCase(
        "class Base:\n    name = ''\n    def load(self):\n"
        "        return ctypes.CDLL(os.path.join(HERE, 'lib', self.name))\n"
        "class Core(Base):\n    name = '§core.dll'\n"
        "lib = Core().load()\n",
        LIB, ("lib/§core.dll",),
    ),
    "property": CodeCase(
        "class Lib:\n    def __init__(self, name):\n        self._name = name\n    @property\n    def path(self):\n"
        "        return os.path.join(HERE, self._name)\n    def __call__(self):\n"
        "        return ctypes.CDLL(self.path)\n"
        "lib = Lib('§core.dll')()\n",
        CORE, ("§core.dll",),
    ),
    "decorated": CodeCase(
        "def at_import(function):\n    return function()\n@at_import\ndef lib():\n"
        "    return ctypes.CDLL(os.path.join(HERE, '§core.dll'))\n",
        CORE, ("§core.dll",),
    ),
    "lambda": CodeCase(
        "load = lambda name: ctypes.CDLL(os.path.join(HERE, name))\nlibs = {n: load(n) for n in ['§core.dll']}\n",
        CORE, ("§core.dll",),
    ),
    "mapped": CodeCase(
        "libs = list(map(ctypes.CDLL, [os.path.join(HERE, n) for n in ('§core.dll',)]))\n", CORE, ("§core.dll",)
    ),
    "zipped": CodeCase(
        "for index, (folder, name) in enumerate(zip(['more', 'lib'], ['§dep.dll', '§core.dll'])):\n"
        "    ctypes.CDLL(os.path.join(HERE, folder, name))\n",
        APART, ("more/§dep.dll", "lib/§core.dll"),
    ),
    "versions": CodeCase(
        "tag = 'cp%d%d' % sys.version_info[:2]\nlib = ctypes.CDLL(os.path.join(HERE, f'§core-{tag}.dll'))\n",
        {"§core-cp311.dll": ()}, ("§core-cp311.dll",),
    ),
    "sysconfig": CodeCase(
        "import sysconfig\nsuffix = sysconfig.get_platform().replace('-', '_')\n"
        "lib = ctypes.CDLL(os.path.join(HERE, '§core.' + suffix + '.dll'))\n",
        {"§core.win_amd64.dll": ()}, ("§core.win_amd64.dll",),
    ),
    "match": CodeCase(
        "match sys.platform:\n    case 'linux':\n        name = 'lib§core.so'\n    case 'win32':\n"
        "        name = '§core.dll'\n    case _:\n        raise OSError('unsupported')\n"
        "lib = ctypes.CDLL(os.path.join(HERE, name))\n",
        CORE, ("§core.dll",),
    ),
    "whileloop": CodeCase(
        "names = ['§dep.dll', '§core.dll']\nwhile names:\n    ctypes.CDLL(os.path.join(HERE, 'lib', names.pop(0)))\n",
        PAIR, ("lib/§core.dll", "lib/§dep.dll"),
    ),
    "retry": CodeCase(
        "folder = os.path.join(HERE, 'lib')\npending = ['§core.dll', '§dep.dll']\nfor _ in range(2):\n"
        "    left = []\n    for name in pending:\n        try:\n"
        "            ctypes.CDLL(os.path.join(folder, name), winmode=0)\n        except OSError:\n"
        "            left.append(name)\n    pending = left\n"
        "if pending:\n    raise ImportError(f'cannot load {pending}')\n",
        PAIR, ("lib/§dep.dll",),
    ),
    "extension": CodeCase(
        "from . import native\nos.add_dll_directory(os.path.join(HERE, 'more'))\n",
        APART, (), {"native.py": "import ctypes, pathlib\n"
                    "ctypes.CDLL(str(pathlib.Path(__file__).with_name('lib') / '§core.dll'))\n"},
    ),
}  # fmt: skip
"""Written after the reader of code was changed for ``FIRST``, and before it was changed for any of these."""

THIRD: dict[str, CodeCase] = {
    "trythree": CodeCase(
        "def _open():\n    for loader, name in ((ctypes.WinDLL, '§a.dll'), (ctypes.CDLL, '§b.dll')):\n        try:\n"
        "            return loader(os.path.join(HERE, 'lib', name))\n        except OSError as e:\n"
        "            last = e\n"
        "    raise last\nlib = _open()\n",
        {"lib/§a.dll": ("§dep.dll",), "lib/§b.dll": ()}, ("lib/§b.dll",),
    ),
    "nested": CodeCase(
        "try:\n    try:\n        lib = ctypes.CDLL(os.path.join(HERE, '§core.dll'))\n    except OSError:\n"
        "        lib = ctypes.CDLL(os.path.join(HERE, 'lib', '§core.dll'))\nexcept OSError:\n    lib = None\n",
        LIB, ("lib/§core.dll",),
    ),
    "elseclause": CodeCase(
        "try:\n    lib = ctypes.CDLL(os.path.join(HERE, '§opt.dll'))\nexcept OSError:\n    pass\nelse:\n"
        "    more = ctypes.CDLL(os.path.join(HERE, 'lib', '§core.dll'))\n",
        {"§opt.dll": (), "lib/§core.dll": ()}, ("§opt.dll lib/§core.dll", "lib/§core.dll"),
    ),
    "splitpath": CodeCase(
        "base, name = os.path.split(__file__)\nroot, ext = os.path.splitext(name)\n"
        "lib = ctypes.CDLL(os.path.sep.join([base, 'lib', '§core' + '.dll']))\n",
        LIB, ("lib/§core.dll",),
    ),
    "parents": CodeCase(
        "import pathlib\nlib = ctypes.CDLL(os.fspath(pathlib.Path(__file__).parents[0] / 'lib/§core.dll'))\n",
        LIB, ("lib/§core.dll",),
    ),
    "rglob": CodeCase(
        "import pathlib\nfound = sorted(pathlib.Path(HERE).rglob('§core*.dll'))\n"
        "if not found:\n    raise ImportError('no library')\nlib = ctypes.CDLL(str(found[0]))\n",
        LIB, ("lib/§core.dll",),
    ),
    "globfirst": CodeCase(
        "import glob\nlib = ctypes.CDLL(glob.glob(os.path.join(HERE, 'lib', '*core*.dll'))[0])\n",
        LIB, ("lib/§core.dll",),
    ),
    "walrus": CodeCase(
        "if (path := os.path.join(HERE, '§core.dll')) and os.path.isfile(path):\n    lib = ctypes.CDLL(path)\n"
        "else:\n    lib = ctypes.CDLL(os.path.join(HERE, 'lib', '§core.dll'))\n",
        LIB, ("lib/§core.dll",),
    ),
    "partial": CodeCase(
        "import functools\nload = functools.partial(ctypes.CDLL, winmode=0)\n"
        "lib = load(os.path.join(HERE, 'lib', '§core.dll'))\n",
        PAIR,
    ),
    "exitstack": CodeCase(
        "import contextlib\nwith contextlib.ExitStack() as stack:\n    for folder in ('lib', 'more'):\n"
        "        stack.enter_context(os.add_dll_directory(os.path.join(HERE, folder)))\n"
        "    lib = ctypes.CDLL('§core.dll')\n",
        APART, ("more/§dep.dll",),
    ),
    "contextmanager": CodeCase(
        "import contextlib\n@contextlib.contextmanager\ndef folder(path):\n    handle = os.add_dll_directory(path)\n"
        "    try:\n        yield path\n    finally:\n        handle.close()\n"
        "with folder(os.path.join(HERE, 'more')):\n    lib = ctypes.CDLL(os.path.join(HERE, 'lib', '§core.dll'))\n",
        APART, ("more/§dep.dll",),
    ),
    "globalhandle": CodeCase(
        "_handle = None\ndef enable():\n    global _handle\n"
        "    _handle = os.add_dll_directory(os.path.join(HERE, 'more'))\n"
        "enable()\nlib = ctypes.CDLL(os.path.join(HERE, 'lib', '§core.dll'))\n",
        APART, ("more/§dep.dll",),
    ),
    "notcalled": CodeCase(
        "def enable():\n    os.add_dll_directory(os.path.join(HERE, 'more'))\n"
        "lib = ctypes.CDLL(os.path.join(HERE, 'lib', '§core.dll'))\n",
        APART,
    ),
    "ternary": CodeCase(
        "name = '§core.dll' if os.name == 'nt' else 'lib§core.so'\n"
        "loader = ctypes.windll if os.name == 'nt' else ctypes.cdll\n"
        "lib = loader.LoadLibrary(os.path.join(HERE, name))\n",
        CORE, ("§core.dll",),
    ),
    "tabled": CodeCase(
        "LIBS = {('win32', 64): '§core64.dll', ('linux', 64): 'lib§core.so'}\n"
        "bits = 64 if sys.maxsize > 2**32 else 32\n"
        "lib = ctypes.CDLL(os.path.join(HERE, LIBS[sys.platform, bits]))\n",
        {"§core64.dll": ()}, ("§core64.dll",),
    ),
    "formatted": CodeCase(
        "lib = ctypes.CDLL('{}/{name}.{}'.format(HERE, 'dll', name='§core'))\n", CORE, ("§core.dll",)
    ),
    "deferred": CodeCase(
        "class Lazy:\n    def __getattr__(self, name):\n        lib = ctypes.CDLL(os.path.join(HERE, '§core.dll'))\n"
        "        return getattr(lib, name)\nlib = Lazy()\n",
        CORE, ("§core.dll",),
    ),
    "initcalls": CodeCase(
        "from . import _core\n_core.init()\n",
        CORE, ("§core.dll",),
        {"_core.py": "import ctypes, os\nlib = None\ndef init():\n    global lib\n    if lib is None:\n"
         "        lib = ctypes.CDLL(os.path.join(os.path.dirname(__file__), '§core.dll'))\n"},
    ),
    "subpackage": CodeCase(
        "from .native.api import LIB\n",
        {"native/bin/§core.dll": ()}, ("native/bin/§core.dll",),
        {"native/__init__.py": "import os\nBIN = os.path.join(os.path.dirname(__file__), 'bin')\n",
         "native/api.py": "import ctypes, os\nfrom . import BIN\nLIB = ctypes.CDLL(os.path.join(BIN, '§core.dll'))\n"},
    ),
    "version": CodeCase(
        "if sys.version_info >= (3, 8):\n    os.add_dll_directory(os.path.join(HERE, 'lib'))\nelse:\n"
        "    os.environ['PATH'] = os.path.join(HERE, 'lib') + ';' + os.environ['PATH']\n"
        "lib = ctypes.CDLL('§core.dll')\n",
        PAIR, ("lib/§dep.dll",),
    ),
    "symbols": CodeCase(
        "lib = ctypes.CDLL(os.path.join(HERE, '§core.dll'))\nlib.call.restype = ctypes.c_int\n", CORE, ("§core.dll",)
    ),
    "quietnone": CodeCase(
        "def load(name):\n    path = os.path.join(HERE, name)\n    if not os.path.exists(path):\n        return None\n"
        "    return ctypes.CDLL(path)\nlib = load('§core.dll')\nif lib:\n    lib.call\n",
        CORE, ("§core.dll",),
    ),
}  # fmt: skip
"""Written after the reader of code was changed for ``SECOND``, and before it was changed for any of these."""
