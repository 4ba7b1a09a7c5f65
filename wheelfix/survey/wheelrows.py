"""The rows of a survey that are made from one wheel, from a list of wheels and from an index."""

from __future__ import annotations

import contextlib
import json
import logging
import re
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING, Any, TypeAlias

import wheelfix
from wheelfix.archive.names import installed_path, name_parts, other_system
from wheelfix.archive.record import decode_digest, read_record
from wheelfix.base.inputfiles import read_file
from wheelfix.base.options import RemoteOptions, RootOptions, ScanOptions
from wheelfix.base.values import field, frozen, replace
from wheelfix.errors import (
    EnvironmentFailure,
    InputError,
    UsageError,
    WheelfixError,
    failure_of,
    import_extra,
    shown_url,
)
from wheelfix.exam.wheel import looking_at
from wheelfix.model import (
    Assumed,
    Driver,
    Image,
    InView,
    MayComeFrom,
    Missing,
    OwnedBy,
    PythonRuntime,
    System,
    VcRedist,
    canonical,
    dll_key,
    fold,
)
from wheelfix.remote.addresses import split_url
from wheelfix.remote.client import Client, parsed
from wheelfix.remote.ranges import RemoteWheel, WheelPath
from wheelfix.schemas import at
from wheelfix.streams.output import WorkFolder
from wheelfix.streams.pool import WorkerPool
from wheelfix.streams.source import file_sha256
from wheelfix.survey.tables import Row, row

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    from wheelfix.archive.metadata import WheelInfo
    from wheelfix.archive.reader import Archive
    from wheelfix.exam.examination import Examination
    from wheelfix.model import Edge, Finding, ScannedImage

# ------------------------------------------------------------------------------------------------------------- contents
# What a wheel has for others: the DLLs that it installs, and the names that it makes importable.

_IMAGE = re.compile(r"(?:\.dll|^[^.]+\.pyd)$")
"""DLLs, and extension modules without a tag, which others may import by name."""
_NOT_MODULES = frozenset({"tests", "test", "docs", "examples", "share", "bin", "lib", "scripts", "include"})


def dll_places(members: Iterable[str], data_folder: str) -> dict[str, str]:
    """Return the DLLs of a wheel by the place where they are installed, names folded, with their members."""
    found: dict[str, str] = {}
    for member in members:
        folder, _, base = installed_path(member, data_folder).rpartition("/")
        key = fold(base)
        if _IMAGE.search(key) and not set(member) & set("\t\n\r|"):
            found.setdefault(f"{folder}/{key}" if folder else key, member)
    return dict(sorted(found.items()))


def modules_of(members: Iterable[str]) -> tuple[str, ...]:
    """Return the names that installing a wheel makes importable."""
    names = set()
    for member in members:
        top, _, rest = member.partition("/")
        if top.endswith(".data"):
            scheme, _, rest = rest.partition("/")
            if scheme not in ("purelib", "platlib"):
                continue
            top, _, rest = rest.partition("/")
        name = top.partition(".")[0]
        importable = rest.endswith((".py", ".pyd")) if rest else top.endswith((".py", ".pyd"))
        if importable and name.isidentifier() and name not in _NOT_MODULES:
            names.add(name)
    return tuple(sorted(names))


# ------------------------------------------------------------------------------------------------------------ wheelrows
# The map function of a survey: one wheel in, its rows out.
# :func:`survey_wheel` is public, can be pickled and has no state, so that Spark, Airflow or any other engine can call
# it on machines that have wheelfix installed.


OPTIONS = ScanOptions(versions=True, jobs=1, roots=RootOptions(discover=False))
"""How a survey looks at a wheel unless it is asked for something else: without the roots of this machine."""
PROVIDERS = {
    InView: ("wheel", "path"),
    System: ("system", ""),
    PythonRuntime: ("python", ""),
    Driver: ("driver", ""),
    VcRedist: ("vcredist", ""),
    Assumed: ("assumed", "by"),
    OwnedBy: ("distribution", "requirement"),
    MayComeFrom: ("perhaps", "distributions"),
    Missing: ("missing", ""),
}
"""What a table calls a provider, and where its detail is found."""


@frozen
class WheelRows:
    """What a survey keeps of one wheel: its row, and its rows in the other tables."""

    wheel: Row
    tables: Mapping[str, list[Row]] = field(default_factory=dict)

    @property
    def failed_in_passing(self) -> bool:
        """Whether it failed for a reason that may pass, so that another try makes sense."""
        return bool(self.wheel["passing"])


def survey_wheel(source: WheelSource, options: ScanOptions = OPTIONS) -> WheelRows:
    """Read one wheel and return its rows; one that cannot be read is a row with the reason."""
    sha256 = source.sha256
    try:
        with opened(source, options.remote) as (path, sha256), looking_at(path, options) as (archive, look):
            source = source if source.size else replace(source, size=archive.size)
            return _rows(source, sha256, archive, look.examine())
    except Exception as error:  # whatever it is, it costs this wheel only
        return failed_rows(source, failure_of(error, named(source.place)), sha256)


def failed_rows(source: WheelSource, error: WheelfixError, sha256: str = "") -> WheelRows:
    """Return the row of a wheel that could not be read."""
    passing = isinstance(error, EnvironmentFailure) and not isinstance(error, InputError)
    place = f"{Path(source.place).parent}"
    text = str(error).replace(place + "/", "").replace(place + "\\", "")
    return WheelRows(_wheel(source, sha256, status="failed", error=text, passing=passing))


def _wheel(source: WheelSource, sha256: str, info: WheelInfo | None = None, **given: object) -> Row:
    parts = name_parts(source.file)
    given |= {"where": source, "source": named(source.place), "parts": parts, "info": info, "known": info or parts}
    given["name"] = canonical(info.name if info is not None else parts.get("name", ""))
    return row("wheels", sha256, **given, tool=wheelfix.__version__)


def _rows(source: WheelSource, sha256: str, archive: Archive, examination: Examination) -> WheelRows:
    report, info = examination.report, examination.subject.facts.info
    assert info is not None
    names = [member.name for member in archive.members]
    given = {"report": report, "status": "scanned", "modules": modules_of(names), "members": len(names)}
    loaded = report.resolution.reached
    tables: dict[str, Iterable[Mapping[str, object]]] = {
        "images": (_image(image, image.place in loaded) for image in report.images),
        "imports": (one for image in report.images for one in _imports(image)),
        "edges": (_edge(edge, edge.importer in loaded) for edge in report.resolution.edges),
        "findings": map(_finding, report.findings),
        "providers": _providers(archive, info),
    }
    rows = {name: [row(name, sha256, **said) for said in found] for name, found in tables.items()}
    return WheelRows(_wheel(source, sha256, info, **given), rows)


def _image(image: ScannedImage, loaded: bool) -> Mapping[str, object]:
    facts = image.facts
    valid, malformed = (facts, "") if isinstance(facts, Image) else (None, f"{facts.kind}: {facts.reason}")
    return {
        "image": image,
        "valid": valid,
        "dll": fold(image.place.rpartition("/")[2]),
        "malformed": malformed,
        "loaded": loaded,
        "exports": len(valid.exports.names) if valid else 0,
    }


def _imports(image: ScannedImage) -> Iterator[Mapping[str, object]]:
    if not isinstance(image.facts, Image):
        return
    for delayed, imports in ((False, image.facts.imports), (True, image.facts.delay_imports)):
        for one in imports:
            yield {"image": image, "dll": dll_key(one.dll), "delayed": delayed, "symbols": len(one.symbols)}


def _edge(edge: Edge, loaded: bool) -> Mapping[str, object]:
    kind, place = PROVIDERS[type(edge.provider)]
    detail = at(edge.provider, place)
    return {
        "edge": edge,
        "dll": dll_key(edge.name),
        "provider": kind,
        "detail": ", ".join(detail) if isinstance(detail, tuple) else detail,
        "missing_symbols": len(edge.unexported),
        "loaded": loaded,
    }


def _finding(one: Finding) -> Mapping[str, object]:
    evidence = json.dumps(one.evidence, ensure_ascii=False, sort_keys=True, default=str)
    return {"finding": one, "evidence": evidence}


def _providers(archive: Archive, info: WheelInfo) -> Iterator[Mapping[str, object]]:
    record, name = read_record(archive), canonical(info.name)
    digests = {one.path: one.digest for one in record.rows if one.algorithm == "sha256"} if record else {}
    for path, member in dll_places((member.name for member in archive.members), info.data).items():
        yield {
            "info": info,
            "name": name,
            "path": path,
            "dll": path.rpartition("/")[2],
            "member": member,
            "size": getattr(archive.find(member), "usize", 0),
            "member_sha256": decode_digest(digests.get(member, "")).hex(),
        }


# ---------------------------------------------------------------------------------------------------------------- lists
# What a list stands for: wheels to read, and a row for each line that stands for none.


Listed: TypeAlias = "list[WheelSource | WheelRows]"
"""What a list or a package index has: wheels, and a row for each line that has none, or could not be asked for."""


LARGEST_LIST = 16 << 20
"""Bytes of a list; one of all projects on PyPI has 10 MB."""


def read_list(lines: Iterable[str]) -> Listed:
    """Return the wheels of paths and URLs, one in a line; a bad line is a row that the next run retries."""
    found: Listed = []
    for line in dict.fromkeys(text for line in lines if (text := line.strip())):
        try:
            found += wheel_sources([line])
        except WheelfixError as error:
            failure = EnvironmentFailure(error.what, because=error.reasons)
            found.append(failed_rows(WheelSource(shown_url(line), shown_url(line)), failure))
    return found


# -------------------------------------------------------------------------------------------------------------- indexes
# The wheels of a package index as sources of a survey: by names, read in parts by range requests.


CONNECTIONS = 8
"""Names that are asked for at a time."""
AT_A_TIME = 200
"""Names between two lines about progress."""


def read_names(file: Path) -> list[str]:
    """Return the requirements in a file, one in a line; what follows ``#`` is left out."""
    try:
        lines = read_file(file, LARGEST_LIST).decode("utf-8-sig").splitlines()
    except (OSError, UnicodeDecodeError) as exc:
        raise InputError(f"{file} cannot be read", because=str(exc)) from exc
    names = [text for line in lines if (text := line.partition("#")[0].strip())]
    if not names:
        raise UsageError(f"{file} has no names", hint="write one project in a line: numpy, or torch==2.4.1")
    return list(dict.fromkeys(names))


def list_index(names: Sequence[str], options: RemoteOptions, say: Callable[[str], None]) -> Listed:
    """Return the wheel of each name that an installer on the target takes; ``say`` is given lines about progress."""
    with Client(options) as client:
        client.refuse_offline("the package index")
        client.index  # noqa: B018  # made once, before several threads ask for it
        with WorkerPool(CONNECTIONS) as pool:
            found: Listed = []
            for at in range(0, len(names), AT_A_TIME):
                say(f"survey: {at} of {len(names)} names looked up")
                found += pool.map(lambda name: _source(client, name), names[at : at + AT_A_TIME])
    return found


def _source(client: Client, name: str) -> WheelSource | WheelRows:
    try:
        wanted = parsed(name)
        if wanted.url:
            raise UsageError(f"{name} is not looked up", because="it has a URL", hint="give the URL as a SOURCE")
        file = client.index.choose(wanted, client.options.target)
        wheel = client.wheel_of(file)
    except WheelfixError as error:
        return failed_rows(WheelSource(name, name), error)
    if not isinstance(wheel, RemoteWheel):
        return local_source(wheel)
    return WheelSource(wheel.url, file.name, file.size, file.sha256, file.sha256, in_parts=True)


# ------------------------------------------------------------------------------------------- where the wheels come from

# ---------------------------------------------------------------------------------------------------------- filesystems
# The only module that knows fsspec: wheels in buckets and on servers, by URL.

_URL = re.compile(r"[a-z][a-z0-9+.-]+://", re.IGNORECASE)
_VERSIONS = ("ETag", "etag", "mtime", "LastModified", "updated", "created", "md5Hash", "crc32c")
"""Keys under which file systems give a value that changes with the content; the first that is there counts."""

DRIVERS = ("s3fs", "gcsfs", "adlfs", "aiohttp", "paramiko")
"""What fsspec needs for a kind of URL, where the module has the name of the project."""
LOGGERS = ("fsspec", "s3fs", "botocore", "aiobotocore", "gcsfs", "google", "adlfs", "azure", "aiohttp", "asyncio")


def is_url(text: str) -> bool:
    """Whether a text is the URL of something, and not a path; ``C:/wheels`` is a path."""
    return _URL.match(text) is not None


def list_wheels(url: str) -> Iterator[WheelSource]:
    """Give each wheel at or below a URL."""
    system, path = _open(url)
    try:
        found = {path: system.info(path)} if path.lower().endswith(".whl") else system.find(path, detail=True)
        if not found:
            system.ls(path, detail=False)  # raises what find hides: where a server does not answer, it finds nothing
    except FileNotFoundError as exc:
        raise InputError(f"{shown_url(url)} does not exist", hint="check the name and the access") from exc
    except Exception as exc:  # every file system has errors of its own
        raise _unreachable(url, exc) from exc
    wheels = sorted(name for name in found if name.lower().endswith(".whl"))
    if not wheels:
        raise InputError(f"{shown_url(url)} holds no wheel", hint="name the folder in the bucket that holds them")
    for name in wheels:
        info = found[name]
        version = next((str(info[key]) for key in _VERSIONS if info.get(key)), "")
        size = info.get("size") if isinstance(info.get("size"), int) else 0
        yield WheelSource(system.unstrip_protocol(name), PurePosixPath(name).name, size, version)


def copy_file(url: str, target: Path) -> None:
    """Copy a file from a URL to the disk."""
    system, path = _open(url)
    try:
        system.get_file(path, str(target))
    except FileNotFoundError as exc:
        raise InputError(f"{shown_url(url)} does not exist") from exc
    except Exception as exc:
        raise _unreachable(url, exc) from exc


def _open(url: str) -> tuple[Any, str]:
    split_url(url)
    fsspec = import_extra("fsspec", f"{shown_url(url)} cannot be read", "survey")
    for name in LOGGERS:  # what they log besides raising it would be printed, with its traceback
        if not (logger := logging.getLogger(name)).handlers:
            logger.addHandler(logging.NullHandler())
    try:
        system, path = fsspec.core.url_to_fs(url)
    except ImportError as exc:
        hint = f"pip install {_driver(exc)}" if _driver(exc) in DRIVERS else ""
        raise UsageError(f"{shown_url(url)} cannot be read", because=exc, hint=hint) from exc
    except ValueError as exc:
        hint = "a URL such as s3://, gs://, abfs:// or https://, or a folder"
        raise UsageError(f"{shown_url(url)} cannot be read", because=exc, hint=hint) from exc
    return system, path


def _driver(exc: ImportError) -> str:
    """Return the module that could not be imported."""
    return next((cause.name for cause in (exc, exc.__cause__) if isinstance(cause, ImportError) and cause.name), "")


def _unreachable(url: str, exc: Exception) -> EnvironmentFailure:
    because = " ".join(str(exc).split())[:300] or type(exc).__name__
    return EnvironmentFailure(
        f"{shown_url(url)} cannot be reached",
        because=because.replace(url, shown_url(url)),
        hint="check the name and the access",
    )


def named(place: str) -> str:
    """Return how tables name a place that was listed: a URL without what may grant access."""
    if not is_url(place):
        return place
    parts = split_url(place)
    return f"{parts.scheme}://{parts.netloc.rpartition('@')[2]}{parts.path}"


# -------------------------------------------------------------------------------------------------------------- sources
# Where the wheels of a survey come from: a folder, a URL, a list, a package index.


@frozen
class WheelSource:
    """A wheel before it is read; can be pickled, and opened on another machine that reaches it."""

    place: str
    """A path or a URL."""
    file: str
    """The file name of the wheel."""
    size: int = 0
    """0 if that is not known before it is opened."""
    modified: str = ""
    """What tells one content of the place from a later one."""
    sha256: str = ""
    """From a trusted source, such as a package index; empty if it has to be computed."""
    in_parts: bool = False
    """Whether it is on a server that gives parts of files: of a wheel whose hash is known only those are read."""


def wheel_sources(words: Iterable[str]) -> Iterator[WheelSource]:
    """Give the Windows wheels of folders, files and URLs, each once; InputError for what stands for nothing."""
    seen: set[str] = set()
    for word in words:
        for source in _sources_of(word):
            wheel = source.file.lower().endswith(".whl") and not other_system(
                source.file
            )  # odd names are looked at as well
            if source.place not in seen and wheel:
                seen.add(source.place)
                yield source


def _sources_of(word: str) -> Iterator[WheelSource]:
    if is_url(word):
        yield from list_wheels(word)
        return
    path = Path(word)
    if path.is_file():
        yield local_source(path)
    elif path.is_dir():
        yield from (local_source(found) for found in sorted(path.rglob("*.whl")) if not found.is_dir())
    else:
        raise InputError(f"{word} does not exist", hint="name a folder, a wheel or a URL such as s3://bucket/wheels")


def local_source(path: Path) -> WheelSource:
    """Return a file on this disk as a source; one that cannot be looked at is reported when it is opened."""
    try:
        status = path.stat()
    except OSError:
        return WheelSource(str(path), path.name)
    return WheelSource(str(path), path.name, status.st_size, str(status.st_mtime_ns))


@contextlib.contextmanager
def opened(source: WheelSource, options: RemoteOptions) -> Iterator[tuple[WheelPath, str]]:
    """Give the wheel, and its hash: the file itself, a copy that is gone afterwards, or its parts on a server."""
    if source.in_parts:
        with Client(options) as client:
            wheel = client.wheel_at(source.place, name=source.file, sha256=source.sha256)
            if source.sha256:
                yield wheel, source.sha256
            else:
                path = wheel.whole()
                yield path, file_sha256(path)
    elif is_url(source.place):
        with WorkFolder() as folder:
            target = folder / source.file
            copy_file(source.place, target)
            yield target, file_sha256(target)
    else:
        path = Path(source.place)
        yield path, source.sha256 or file_sha256(path)
