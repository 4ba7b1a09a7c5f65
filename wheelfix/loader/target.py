"""What the target machine has besides the files under examination: Windows, Python, drivers, the C++ runtime."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

from wheelfix.knowledge.system import classify, driver_file, is_debug_python, python_of, runtime_file
from wheelfix.model import Driver, PythonRuntime, System, VcRedist, dll_key

if TYPE_CHECKING:
    from wheelfix.loader.profile import Profile
    from wheelfix.model import Provider


def runtime_of_python(python: tuple[int, int] | None) -> str:
    """The C runtime that ``python3XY.dll`` imports: it is in every process before an extension module is loaded.

    https://wiki.python.org/moin/WindowsCompilers: Visual C++ 2008 up to Python 3.2, 2010 for 3.3 and 3.4, 14.x since.
    """
    if python is None or python >= (3, 5):
        return "vcruntime140.dll"
    return "msvcr100.dll" if python >= (3, 3) else "msvcr90.dll"


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
        return PythonRuntime(name) if dll_key(name) == runtime_of_python(self.profile.python) else None

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
        if runtime is not None and not runtime.debug and self._assumes_runtime(runtime.toolset.id):
            return VcRedist(name)
        return None

    def _assumes_runtime(self, toolset: str) -> bool:
        """Whether the VC++ runtime of that generation is on the machine: each has a redistributable of its own."""
        return (f"vcredist-{toolset}" if toolset != "14" else "vcredist") in self.profile.assume

    def elsewhere(self, name: str, steps: tuple[str, ...]) -> Provider | None:
        """What the profile assumes or a required distribution brings."""
        return self.others.provide(name, steps)
