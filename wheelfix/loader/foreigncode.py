"""What the Python code of other distributions does in a process: it adds folders, it loads DLLs."""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING

from wheelfix.base.values import replace
from wheelfix.loader.loadcall import AS_PYTHON_DOES, DEFAULT_DIRS
from wheelfix.loader.packagecode import FileLoads, file_loads, known_loads, package_loads
from wheelfix.loader.packageloading import begin, load_event, startup_at
from wheelfix.model import UnreadCall
from wheelfix.pycode.codefiles import ViewFiles
from wheelfix.pycode.pythonsource import SOURCE_LIMIT

if TYPE_CHECKING:
    from wheelfix.loader.loading import Loader
    from wheelfix.loader.packagecode import PackageLoads
    from wheelfix.loader.profile import Profile
    from wheelfix.loader.view import Beside, FileView


class ForeignCode:
    """Does in a process of the model what files of other distributions do; each file is read once."""

    def __init__(self, view: FileView, beside: Beside, profile: Profile) -> None:
        self.view, self.beside, self.profile = view, beside, profile
        self._loads: dict[str, FileLoads] = {}

    def import_file(self, process: Loader, path: str) -> None:
        """Do what importing a file does: run it and, before it, what it imports for certain."""
        for file in self.beside.runs(path):
            self.run(process, file)

    def import_all(self, process: Loader, path: str) -> None:
        """Do what importing a file does, with everything that is imported in turn, extension modules too."""
        files, unfollowed = self.beside.reaches(path)
        for file in reversed(files):  # what a file imports has happened before most of its own code
            if file.endswith(".pyd"):
                process.load(file, AS_PYTHON_DOES)
            elif file not in process.ran and self.beside.has_code(file):
                self.run(process, file)
        calls = (UnreadCall(file, 0, "add_dll_directory", "…", reached=True) for file in unfollowed)
        process.unread.update(dict.fromkeys(calls))

    def run(self, process: Loader, path: str) -> None:
        """Do what running one file does, unless it has been run in that process."""
        if path in process.ran:
            return
        process.ran.add(path)
        startup = startup_at(self.view, path)
        if startup is not None:
            begin(startup, process)
            for event in startup.events:
                load_event(startup, process, event)
            return
        loads = self._read(path)
        # A function that adds the folder which it is given is there to be called by other distributions.
        calls = (call for call in loads.unread_calls if call.at_import or call.function == "add_dll_directory")
        process.unread.update((replace(call, reached=True), None) for call in calls)
        process.user_dirs += [folder for folder in loads.added if folder not in process.user_dirs]
        for name in loads.names:
            process.load_by_name(name, DEFAULT_DIRS)
        for event in loads.events:
            process.load(event.path, AS_PYTHON_DOES)

    @functools.cached_property
    def _files(self) -> ViewFiles:
        return ViewFiles(self.view, self.profile)

    def _read(self, path: str) -> FileLoads:
        """What a file does; where its distribution has been examined, that is known already."""
        if path not in self._loads:
            owner = self.beside.owner(path)
            known = self._known(owner) if owner else None
            if known is not None:
                self._loads[path] = next((file for file in known.files if file.path == path), FileLoads(path))
            else:
                source = self.view.read_text(path, SOURCE_LIMIT) or ""
                self._loads[path] = file_loads(self._files, self.profile, path, source)
        return self._loads[path]

    def _known(self, owner: str) -> PackageLoads | None:
        """What a distribution loads, where that was found out before or is asked later in the same run anyway."""
        view = self.beside.view_of(owner)
        python = self.beside.reported_python(owner)
        if python is None or self.profile.python not in (None, python):
            return known_loads(view, self.profile)
        return package_loads(view, replace(self.profile, python=python))
