"""What files there are, laid out as in an installed prefix: of a wheel, a folder, an environment, or a plan."""

from __future__ import annotations

import bisect
import collections
import functools
import threading
from operator import itemgetter
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar, cast

from wheelfix.archive import names as membernames
from wheelfix.model import ByteSource, Image, ImageFacts, dll_key, fold
from wheelfix.pe.image import read_image
from wheelfix.streams.pool import Task, WorkerPool

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from wheelfix.loader.places import InstalledSet

PE_SUFFIXES = (".dll", ".pyd", ".exe")
PLAIN_SUFFIXES = frozenset(
    """
    .py .pyi .pyc .pyx .pxd .pxi .h .hh .hpp .hxx .cuh .cu .c .cc .cpp .cxx .inl .inc .f .f90 .lib .a .o .obj .exp .pdb
    .txt .md .rst .json .yaml .yml .toml .cfg .ini .in .csv .tsv .xml .html .htm .css .js .mjs .ts .map .svg .png .jpg
    .jpeg .gif .ico .ttf .otf .woff .woff2 .npy .npz .pkl .gz .zip .bz2 .xz .whl .cmake .pc .bat .cmd .ps1 .sh .qm .qml
    .ui .jinja .j2 .ipynb .typed .metal .proto .po .mo .tmpl .tpl .license .def .h5 .nc .mat .wav .pem
    """.split()
)
"""Suffixes of files that are never PE images in practice; other files are judged by their content."""
MOST_FILES = (".h", ".py", ".pyi", ".hpp", ".cuh")
"""The plain suffixes that most files of a large wheel have."""


SITE_PACKAGES = membernames.SITE_PACKAGES
BASE = "@base"
"""Stands for the base prefix when the environment is a venv on top of another Python."""
VENV_SETTINGS = "pyvenv.cfg"
"""What only a venv has in its prefix."""
ABI3T_FOLDER = "abi3t-compat"
"""Where python.org's Pythons with a GIL have ``python3t.dll``; they load it before modules: python/cpython#150930."""
USER = "@user"
"""Stands for the user base (``%APPDATA%\\Python``)."""


# A NamedTuple and not a dataclass: a wheel may need ten thousand of them, and they are made five times as fast.
class ViewFile(NamedTuple):
    """One file, where it is installed and where its bytes are."""

    path: str
    """Relative to the prefix, with ``/``: ``Lib/site-packages/torch/lib/c10.dll``."""
    origin: str
    """How the user would name it: the member of the wheel, or the path on disk."""
    size: int
    open: Callable[[], ByteSource]


def parent(path: str) -> str:
    """The folder of a view path; the prefix itself is the empty string."""
    return path.rpartition("/")[0]


def base_name(path: str) -> str:
    """The last part of a view path."""
    return path.rpartition("/")[2]


def key_of(path: str) -> str:
    """The form in which the name of a file compares with those of DLLs."""
    return dll_key(base_name(path))


def is_pyd(path: str) -> bool:
    """Whether a file is an extension module by its name."""
    return path.lower().endswith(".pyd")


_Found = TypeVar("_Found", bound="Callable[..., Any]")
_Detail = TypeVar("_Detail")


def once_for_each(find: _Found) -> _Found:
    """Keep what a function finds out about a view, or whatever its first argument is: none of them ever changes.

    The answers are kept in the object itself. In a table beside it they would keep the object, which most of them name,
    and with it all files and syntax trees of each wheel of a run.
    """

    @functools.wraps(find)
    def found(of: Any, *more: Any) -> Any:
        answers = vars(of).setdefault("answers", {})
        key = (found, *more)
        if key not in answers:
            answers[key] = find(of, *more)
        return answers[key]

    return cast("_Found", found)


class FileView:
    """Files in the layout of an installed prefix, found without regard to case, with their PE facts read once."""

    def __init__(
        self, files: Iterable[ViewFile], facts: dict[str, ImageFacts] | None = None, own: Iterable[str] | None = None
    ) -> None:
        """``own`` are the paths of the subject's files, by default all."""
        self._files = {file.path: file for file in sorted(files, key=itemgetter(0))}
        self.own = frozenset(self._files if own is None else own)
        """The files of the wheel or distribution under examination, and of what a plan adds; others were there before:
        of other distributions, of Python."""
        self.added: frozenset[str] = frozenset()
        """Those of them that will be there once a plan is carried out."""
        self._facts: dict[str, ImageFacts] = {} if facts is None else facts
        self._lock = threading.Lock()
        self.beside: InstalledSet | None = None
        """The distributions that are installed with the subject, where it is known which these are."""
        self.deleted: Mapping[str, str] = {}
        """Images that RECORD lists and that are not there: their paths in RECORD by the keys of their names."""
        self._listed: dict[str, tuple[str, ...]] = {}  # folders, with their files in order
        self.notes: dict[str, Any] = {}
        """What readers of its files keep, by reader; views of the same files share it."""
        self.code_notes: dict[str, Any] = {}
        """The same for what is known of single Python files; the view after a plan shares it, which changes none."""
        self.details: dict[tuple[object, str], Any] = {}
        """What takes most of an image to read, such as its version, by what reads it and by path."""
        self._folders: dict[str, dict[str, str]] = {}
        for path in self._files:
            self._folders.setdefault(fold(parent(path)), {}).setdefault(fold(base_name(path)), path)

    @property
    def files(self) -> tuple[ViewFile, ...]:
        """Every file, sorted by path."""
        return tuple(self._files.values())

    @functools.cached_property
    def own_files(self) -> tuple[ViewFile, ...]:
        """The files of the subject and of what a plan adds, sorted by path; in a set these are a small part."""
        return tuple(self._files[path] for path in sorted(self.own))

    def __contains__(self, path: str) -> bool:
        return path in self._files

    def file(self, path: str) -> ViewFile:
        """The file at exactly this path."""
        return self._files[path]

    def origin(self, path: str) -> str:
        """How the user would name a path of the view (the path itself when it is not one of its files)."""
        file = self._files.get(path)
        return file.origin if file else path

    def find(self, folder: str, name: str) -> str | None:
        """The file of that name in that folder, without regard to case."""
        return self._folders.get(fold(folder), {}).get(fold(name))

    def in_folder(self, folder: str) -> tuple[str, ...]:
        """The files directly in a folder, in the order in which NTFS lists them."""
        key = fold(folder)
        listed = self._listed.get(key)
        if listed is None:
            names = self._folders.get(key, {})
            listed = tuple(sorted(names.values(), key=lambda path: base_name(path).upper()))
            if names:
                self._listed[key] = listed
        return listed

    def folders(self) -> tuple[str, ...]:
        """Every folder that holds a file, as spelled by its first file."""
        seen: dict[str, str] = {}
        for path in self._files:
            seen.setdefault(fold(parent(path)), parent(path))
        return tuple(seen.values())

    def named(self, name: str) -> tuple[str, ...]:
        """Every file of that name, in any folder."""
        key = fold(name)
        if key[-4:] in PE_SUFFIXES:
            return self._by_name.get(key, ())
        return tuple(sorted(names[key] for names in self._folders.values() if key in names))

    @functools.cached_property
    def _by_name(self) -> dict[str, tuple[str, ...]]:
        """The files with a name like an image's, by their folded names; made when first needed."""
        found: dict[str, list[str]] = {}
        for names in self._folders.values():
            for key, path in names.items():
                if key[-4:] in PE_SUFFIXES:
                    found.setdefault(key, []).append(path)
        return {key: tuple(sorted(paths)) for key, paths in found.items()}

    def module_file(self, module: str) -> str | None:
        """The file that is a module, as Python looks for it; empty for a folder without ``__init__``, None for nothing.

        A package comes before a module beside it, and what is compiled before Python code: backports.zstd has both.
        """
        known: dict[str, str | None] = self.notes.setdefault("modules", {})
        if module not in known:
            path = f"{SITE_PACKAGES}/{module.replace('.', '/')}"
            package = [*self.extensions(f"{path}/__init__")[-1:], self._own(f"{path}/__init__.py")]
            found = next(filter(None, [*package, *self.extensions(path)[-1:], self._own(f"{path}.py")]), "")
            known[module] = found or ("" if self._is_folder(fold(path)) else None)
        return known[module]

    def _own(self, path: str) -> str:
        return path if path in self else ""

    def _is_folder(self, path: str) -> bool:
        """Whether a folder holds a file or another folder: Python imports it without ``__init__.py``, too."""
        if path in self._folders:
            return True
        at = bisect.bisect(self._sorted_folders, f"{path}/")
        return at < len(self._sorted_folders) and self._sorted_folders[at].startswith(f"{path}/")

    @functools.cached_property
    def _sorted_folders(self) -> list[str]:
        return sorted(self._folders)

    def extensions(self, start: str) -> Sequence[str]:
        """The extension modules of one name in a folder, several if they are for several Pythons.

        Those of a folder are found once, as code asks for the modules of one folder.
        """
        known: dict[str, dict[str, list[str]]] = self.notes.setdefault("extensions", {})
        folder = parent(start)
        if folder not in known:
            known[folder] = {}
            for file in self.in_folder(folder):
                if file.endswith(".pyd"):
                    known[folder].setdefault(base_name(file).partition(".")[0], []).append(file)
        return known[folder].get(base_name(start), ())

    def source(self, path: str) -> ByteSource:
        """The bytes of a file."""
        return self._files[path].open()

    def read_text(self, path: str, limit: int = 4 << 20) -> str | None:
        """The text of a small file, or None when there is no such file."""
        found = self.find(parent(path), base_name(path))
        if found is None:
            return None
        return self.source(found).read_at(0, limit).decode("utf-8", "replace")

    def is_image(self, path: str) -> bool:
        """Whether the file is a PE image by its name or by its first bytes."""
        return path in self._facts or path[-4:].lower() in PE_SUFFIXES or self._looks_like_image(path)

    def _looks_like_image(self, path: str) -> bool:
        stem, dot, suffix = path.rpartition(".")
        if (stem and dot + suffix.lower() in PLAIN_SUFFIXES) or ".dist-info/" in path:
            return False
        file = self._files.get(path)
        if file is None or file.size < 512:
            return False
        head = file.open().read_at(0, 0x40)
        if head[:2] != b"MZ" or len(head) < 0x40:
            return False
        where = int.from_bytes(head[0x3C:0x40], "little")
        return where < file.size and file.open().read_at(where, 4) == b"PE\0\0"

    def image(self, path: str) -> ImageFacts | None:
        """The PE facts of a file, read on first use; None for a file that is not an image by name or content."""
        facts = self._facts.get(path)
        if facts is None and path in self._files and self.is_image(path):
            facts = read_image(self.source(path))
            with self._lock:
                facts = self._facts.setdefault(path, facts)
        return facts

    def detail(self, read: Callable[[ByteSource], _Detail], path: str) -> _Detail | None:
        """What a function reads from an image, once; None for what is not one."""
        if (read, path) not in self.details:
            if not isinstance(self.image(path), Image):
                return None
            self.details[read, path] = read(self.source(path))
        found: _Detail = self.details[read, path]
        return found

    def images(self) -> dict[str, ImageFacts]:
        """The PE facts of every image of the subject and of what a plan adds, sorted by path."""
        found = ((path, self.image(path)) for path in self.image_paths)
        return {path: facts for path, facts in found if facts is not None}

    @functools.cached_property
    def image_paths(self) -> tuple[str, ...]:
        """The images among the files of the subject and of what a plan adds."""
        own = (file.path for file in self.own_files)
        return tuple(path for path in own if not path.endswith(MOST_FILES) and self.is_image(path))

    def read_images(self, jobs: int, progress: Callable[[int, int], None] | None = None) -> None:
        """Read the facts of every image of the subject in parallel, the largest first."""
        with WorkerPool(jobs) as pool:
            self.begin_images(lambda file: pool.submit(lambda: self._read(file)))(progress)

    def begin_images(
        self, start: Callable[[ViewFile], Task[ImageFacts] | Task[ImageFacts | None]]
    ) -> Callable[[Callable[[int, int], None] | None], None]:
        """Start to read every image of the subject, the largest first; return a function that waits for the facts.

        An image for which a task has no facts is read through the view.
        """
        wanted = [self._files[path] for path in self.image_paths if path not in self._facts]
        wanted.sort(key=lambda file: -file.size)
        running = collections.deque((file, start(file)) for file in wanted)

        def finish(progress: Callable[[int, int], None] | None) -> None:
            done, total = 0, sum(file.size for file in wanted)
            while running:  # what was waited for is not kept
                file, task = running.popleft()
                facts = task.result()
                self._facts.setdefault(file.path, self._read(file) if facts is None else facts)
                done += file.size
                if progress:
                    progress(done, total)

        return finish

    @staticmethod
    def _read(file: ViewFile) -> ImageFacts:
        return read_image(file.open())

    def over(self, below: FileView) -> FileView:
        """This view laid over another: same-named files of this one win."""
        files = {file.path: file for file in below.files}
        taken = {fold(path): path for path in files}
        for file in self.files:
            files.pop(taken.get(fold(file.path), ""), None)
            files[file.path] = file
        laid = FileView(files.values(), {**below._facts, **self._facts}, self.own)
        laid.added = self.added
        laid.deleted = self.deleted
        laid.details = {key: known for key, known in below.details.items() if key[1] not in self} | self.details
        return laid

    def changed(self, added: Iterable[ViewFile] = (), dropped: Iterable[str] = ()) -> FileView:
        """The view after a plan: some files gone, some new; facts already read are kept.

        Python code that takes the place of other code is its owner's.
        """
        gone, new = set(dropped), {file.path: file for file in added}
        if not gone and not new:
            return self
        files = {**self._files, **new}
        for path in gone.difference(new):
            files.pop(path, None)
        facts = {path: known for path, known in self._facts.items() if path in files and path not in new}
        fresh = {path for path in new if not (path.endswith(".py") and path in self._files)}
        changed = FileView(files.values(), facts, files.keys() & (self.own | fresh))
        changed.added, changed.beside = changed.own & (self.added | fresh), self.beside
        changed.details = {key: known for key, known in self.details.items() if key[1] not in new}
        restored = {fold(base_name(path)) for path in new}
        changed.deleted = {key: path for key, path in self.deleted.items() if key not in restored}
        kept = (path for path in self.image_paths if path in files and path not in new)
        changed.image_paths = tuple(sorted((*kept, *filter(changed.is_image, new))))
        if not any(path.endswith(".py") for path in (*gone, *new)):
            changed.code_notes = self.code_notes
        return changed

    def background(self) -> FileView:
        """The same files, none of them the subject's; the facts are shared."""
        return self.focused(frozenset())

    def focused(self, subject: frozenset[str]) -> FileView:
        """The same files with only the given paths as the subject; facts, notes and the index of folders are shared."""
        focused = FileView((), self._facts, subject & self._files.keys())
        focused._files, focused._folders, focused._listed = self._files, self._folders, self._listed
        focused.notes, focused.code_notes, focused.details = self.notes, self.code_notes, self.details
        return focused

    def facts(self) -> Mapping[str, ImageFacts]:
        """The PE facts that were read so far."""
        return dict(self._facts)

    def learn(self, other: FileView) -> None:
        """Take over the PE facts that another view has of the same files."""
        known = other._facts.items()
        self._facts.update((path, facts) for path, facts in known if self._files.get(path) == other._files.get(path))
