"""What a stand-in extension module, or a package that is only imported for its names, has: anything that is asked for.

It is installed as ``wheelfix_standin.py`` into the Python that is tried, and needs nothing.
"""

# mypy: ignore-errors

import sys
from importlib.machinery import ModuleSpec
from types import ModuleType

PLAIN = []
"""Packages whose submodules are made up, too; the wheel that installs this file names them."""
VALUES = {}
"""Names of compiled modules whose values decide what is loaded, by module."""


class AnyType(type):
    """Makes a class that has every attribute and can be called, compared and iterated as code at import time does."""

    def __getattr__(cls, name):
        if name.startswith("__"):
            raise AttributeError(name)
        return Anything

    def __str__(cls):
        return "anything"

    def __iter__(cls):
        return iter(())

    def __getitem__(cls, key):
        return cls

    def __len__(cls):
        return 0

    def __int__(cls):
        return 1

    __index__ = __int__

    def __float__(cls):
        return 1.0

    def __bool__(cls):
        return True

    def _other(cls, *_):
        return cls

    __add__ = __radd__ = __sub__ = __rsub__ = __mul__ = __rmul__ = __and__ = __rand__ = __xor__ = __neg__ = _other
    __truediv__ = __floordiv__ = __mod__ = __lshift__ = __rshift__ = __invert__ = __pow__ = __rtruediv__ = _other

    def _true(cls, other):
        return True

    __lt__ = __le__ = __gt__ = __ge__ = _true


class Anything(metaclass=AnyType):
    """An object that has every attribute."""

    def __new__(cls, *arguments, **named):
        """Take a function that is given alone for one that is decorated."""
        if len(arguments) == 1 and not named and callable(arguments[0]):
            return arguments[0]
        return object.__new__(cls)

    def __init__(self, *arguments, **named):
        pass

    def __init_subclass__(cls, **named):
        pass

    def __getattr__(self, name):
        if name.startswith("__"):
            raise AttributeError(name)
        return Anything

    def __call__(self, *arguments, **named):
        return arguments[0] if len(arguments) == 1 and callable(arguments[0]) else Anything

    def __iter__(self):
        return iter(())

    def __getitem__(self, key):
        return Anything

    def __setitem__(self, key, value):
        pass

    def _true(self, other):
        return True

    __lt__ = __le__ = __gt__ = __ge__ = _true

    def _other(self, *_):
        return self

    __add__ = __radd__ = __sub__ = __rsub__ = __mul__ = __rmul__ = __and__ = __or__ = __ror__ = __mod__ = _other

    def __str__(self):
        return "anything"

    def __enter__(self):
        return self

    def __exit__(self, *_):
        return None


def attribute(name):
    """Return what a module has under a name."""
    if name.startswith("__"):
        raise AttributeError(name)
    if name.endswith(("Error", "Exception", "Warning")):
        return Exception
    return Anything


def module_for(spec):
    """Return the module that a stand-in's init function gives."""
    made = ModuleType(spec.name)
    made.__getattr__ = attribute
    made.__version__ = "99.0.0"
    made.__dict__.update(VALUES.get(spec.name, {}))
    return made


class Submodules:
    """Finds every submodule of the plain packages."""

    @staticmethod
    def find_spec(name, path=None, target=None):
        """Return a module that is made up."""
        if name.partition(".")[0] in PLAIN and "." in name:
            return ModuleSpec(name, Submodules, is_package=True)
        return None

    @staticmethod
    def create_module(spec):
        """Make it."""
        return module_for(spec)

    @staticmethod
    def exec_module(module):
        """Nothing is run."""


sys.meta_path.append(Submodules)
