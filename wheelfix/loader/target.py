"""What the target machine has besides the files under examination: Windows, Python, drivers, the C++ runtime."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

from wheelfix.knowledge.system import classify, driver_file, is_debug_python, python_of, runtime_file
from wheelfix.model import Driver, PythonRuntime, System, VcRedist, dll_key

if TYPE_CHECKING:
    from wheelfix.loader.profile import Profile
    from wheelfix.model import Provider

RESIDENT = frozenset({"vcruntime140.dll"})
"""In every CPython process before the first extension module is loaded, because ``python3XY.dll`` imports it."""


class Providers(Protocol):
    """Who else may bring a DLL: what is assumed, or a distribution that the wheel requires."""

    def provide(self, name: str, steps: tuple[str, ...]) -> Provider | None:
        """The provider of a name, if it is one of these."""
        ...


class NoProviders:
    """Nothing is assumed and nothing required."""

    def provide(self, name: str, steps: tuple[str, ...]) -> Provider | None:
        """It has no provider."""
        return None


class Target:
    """A Windows machine with a CPython, as a profile describes it."""

    def __init__(self, profile: Profile, others: Providers | None = None) -> None:
        self.profile = profile
        self.others = others or NoProviders()

    def redirected(self, name: str) -> Provider | None:
        """API sets and KnownDLLs: found before any folder is searched."""
        own = classify(name, self.profile.machine)
        if (own.kind == "api-set" and own.known) or own.known_dll:
            return System(name)
        return None

    def resident(self, name: str) -> Provider | None:
        """The interpreter itself and what it imports."""
        interpreter = python_of(name)
        if interpreter is not None and is_debug_python(name):
            return None  # only those who build Python themselves have it
        if interpreter is not None:
            wanted = self.profile.python
            return PythonRuntime(name) if wanted is None or wanted == interpreter[:2] else None
        return PythonRuntime(name) if dll_key(name) in RESIDENT else None

    def beside_python(self, name: str) -> Provider | None:
        """CPython's own DLLs beside ``python.exe``; those in its ``DLLs`` folder are not searched for others."""
        own = classify(name, self.profile.machine)
        if own.kind == "python" and not own.folder and python_of(name) is None:
            return PythonRuntime(name)
        return None

    def in_system32(self, name: str) -> Provider | None:
        """Windows' own files, drivers and the VC++ runtime, as far as the profile assumes them."""
        own = classify(name, self.profile.machine)
        if own.kind in ("system", "ucrt"):
            return System(name)
        if own.kind == "driver":
            driver = driver_file(name)
            nvidia = driver is not None and driver.vendor == "NVIDIA"
            return Driver(name) if not nvidia or "nvidia-driver" in self.profile.assume else None
        runtime = runtime_file(name)
        if runtime is not None and not runtime.debug and "vcredist" in self.profile.assume:
            return VcRedist(name)
        return None

    def elsewhere(self, name: str, steps: tuple[str, ...]) -> Provider | None:
        """What the profile assumes or a required distribution brings."""
        return self.others.provide(name, steps)
