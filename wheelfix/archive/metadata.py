"""What a wheel says about itself in its file name, METADATA, WHEEL and other files, and who refuses that."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, TypeAlias

from wheelfix.archive.faults import INSTALLER, PIP, PYPI, UV, ArchiveFault, Faults
from wheelfix.archive.names import MAX_TAGS, FileName, expand_tag, placement_faults
from wheelfix.base.parsing import (
    as_requirement,
    as_specifiers,
    as_version,
    fault_of,
    number_pair,
    parse_json,
    regex,
    whole_number,
)
from wheelfix.base.values import field, frozen
from wheelfix.errors import InputError
from wheelfix.model import canonical

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from wheelfix.archive.reader import Archive


# -------------------------------------------------------------------------------------------------------- metadatacheck
# What installers refuse in METADATA, WHEEL and entry_points.txt, each by its own rules.
# The rules were found by running pip 26.3, uv 0.13.7 and installer 1.1.0; ``tests/archive/test_agreement.py`` runs them
# again on generated wheels.

_FIELD = regex(r"([!-9;-~]*):")
SCRIPT_GROUPS = ("console_scripts", "gui_scripts")
NAME = "[A-Za-z0-9](?:[A-Za-z0-9._-]{0,99}[A-Za-z0-9])?"
_VERSION = r"[0-9]{1,9}(?:\.[0-9]{1,9})"
_CLAUSE = regex(rf" ?(?:[<>]=? ?{_VERSION}*|[!=]= ?{_VERSION}*(?:\.\*)?|~= ?{_VERSION}+) ?")
_REQUIREMENT = regex(rf"{NAME}(?:\[{NAME}(?: ?, ?{NAME})*\])? ?(?P<clauses>.*)")
VARIABLES = (
    "extra|os_name|sys_platform|platform_machine|platform_system|platform_python_implementation|python_version"
    "|python_full_version|implementation_name"
)
_COMPARISON = regex(rf"""(?:{VARIABLES}) ?(?:[=!<>]=|[<>]) ?(?:"[\w.+-]{{1,60}}"|'[\w.+-]{{1,60}}')""")
_OBJECT = regex(r"[\w.]+\s*:\s*[\w.]+(?:\s*\[.*\])?\s*")
_OBJECT_FOR_PIP = regex(r"\w+(?:\.\w+)*:\w+")


def undecodable(data: bytes, name: str, rejected_by: tuple[str, ...]) -> Faults:
    """Give the fault of a file that is not UTF-8."""
    try:
        data.decode("utf-8")
    except UnicodeDecodeError as exc:
        message = f"the file is not UTF-8 ({exc.reason} at byte {exc.start})"
        yield ArchiveFault("metadata-invalid", name, message, rejected_by)


def line_faults(text: str, name: str) -> Faults:
    """Give the first line of METADATA that is not a field: Python's parser takes it for the end of all fields."""
    before: set[str] = set()
    for number, line in enumerate(_header_lines(text), start=1):
        if not line:
            return
        if line[0] in " \t":
            continue
        field = _FIELD.match(line)
        if field is None:
            lost = not {"name", "version"} <= before
            message = f"line {number} is not a field, and pip reads nothing from there on"
            yield ArchiveFault("metadata-line", name, message, (PIP,) if lost else ())
            return
        before.add(field[1].lower())


MAX_ODD = 2000
"""Requirements that are read with packaging, which is slow; no package has a tenth of that."""


def requirement_faults(headers: HeaderFields, name: str) -> Faults:
    """Give the requirements in METADATA that cannot be read."""
    odd = 0
    for line in headers.get("requires-dist", ()):
        plain = _is_plain(line)
        odd += not plain
        if odd > MAX_ODD:
            message = f"more than {MAX_ODD} requirements are not plain; the others were not read"
            yield ArchiveFault("metadata-invalid", name, message, (PIP,))
            break
        if not plain and (reason := fault_of(as_requirement, line)):
            message = f"the requirement {line[:200]!r} cannot be read ({reason})"
            yield ArchiveFault("metadata-invalid", name, message, (PIP,))
    for line in headers.get("requires-python", ())[:1]:
        if line and not _has_plain_clauses(line) and fault_of(as_specifiers, line):
            # uv reads ">=3.8.*" as ">=3.8".
            by = (UV,) if fault_of(as_specifiers, line.replace(".*", "")) else ()
            message = f"Requires-Python {line[:200]!r} cannot be read; pip ignores it"
            yield ArchiveFault("requires-python", name, message, by)


def _is_plain(line: str) -> bool:
    """Whether a requirement has the usual form; others are read with packaging, which takes long to import.

    It is taken apart before patterns see it: one pattern for the whole takes long to compile.
    """
    required, semicolon, marker = line.partition(";")
    comparisons = re.split(" and | or ", re.sub(r"^\((.*)\)( and .*)?$", r"\1\2", marker.strip(" ")))
    found = _REQUIREMENT.fullmatch(required.rstrip(" "))
    clauses = re.sub(r"^\((.+)\)$", r"\1", found["clauses"]) if found is not None else "?"
    return (not clauses or _has_plain_clauses(clauses)) and (
        not semicolon or all(map(_COMPARISON.fullmatch, comparisons))
    )


def _has_plain_clauses(text: str) -> bool:
    return all(map(_CLAUSE.fullmatch, text.split(",")))


def wheel_version_fault(version: str, spelled: bool, name: str) -> Faults:
    """Give the fault of a format version that not every installer accepts; ``spelled``: in the usual letters."""
    if version == "1.0" and spelled:
        return
    major, dot, _ = version.partition(".")
    by: list[str] = []
    numbers = version.split(".")
    if (
        not all(re.fullmatch(r"\s*[+-]?\d+(?:_\d+)*\s*", number) for number in numbers)
        or int(numbers[0].strip().replace("_", "")[:9]) > 1
    ):
        by.append(PIP)
    if not dot or major != "1" or not spelled:
        by.append(UV)
    if not version.startswith("1."):
        by.append(INSTALLER)
    if by:
        message = f"the format version is {version[:50]!r}; installers know 1.0"
        yield ArchiveFault("wheel-version", name, message, tuple(by))


def script_names(text: str) -> list[str]:
    """Return the names of the programs that entry points ask for, as pip reads them."""
    group, found = "", []
    for line in map(str.strip, text.splitlines()):
        if line.startswith("[") and line.endswith("]"):
            group = line[1:-1]
        elif group in SCRIPT_GROUPS and "=" in line and not line.startswith("#"):
            found.append(line.partition("=")[0].strip())
    return found


def entry_point_faults(data: bytes, name: str) -> Faults:
    """Give what is wrong with entry_points.txt."""
    everybody = (PIP, UV, INSTALLER)
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError:
        yield ArchiveFault("entry-points-invalid", name, "the file is not UTF-8", everybody)
        return
    begun = False
    for line in map(str.strip, text.splitlines()):
        heading = line.startswith("[") and line.endswith("]")
        begun = begun or heading  # pip passes over what precedes the first heading
        if begun and line and not heading and line[0] != "#" and "=" not in line:
            yield ArchiveFault("entry-points-invalid", name, f"the line {line[:100]!r} has no '='", (PIP,))
            break
    import configparser  # most wheels have no entry points

    parser = configparser.ConfigParser(delimiters="=", interpolation=None)
    parser.optionxform = str  # type: ignore[assignment, method-assign]
    try:
        parser.read_string(text)
    except configparser.Error as exc:
        message = f"it is not a configuration file ({str(exc).splitlines()[0][:200]})"
        yield ArchiveFault("entry-points-invalid", name, message, (UV, INSTALLER))
        return
    for group in SCRIPT_GROUPS:
        if parser.has_section(group):
            yield from _script_faults(parser.items(group), name)


def _script_faults(scripts: Sequence[tuple[str, str]], name: str) -> Faults:
    for script, value in scripts:
        by = [] if _OBJECT_FOR_PIP.match(value) else [PIP]
        if _OBJECT.fullmatch(value) is None:
            by += [UV, INSTALLER]
        if by:
            message = f"the script {script!r} names no function: {value[:100]!r}"
            yield ArchiveFault("entry-points-invalid", name, message, tuple(by))
        steps = re.split(r"[/\\]", script)
        if len(steps) > 1 or script in {".", ".."}:
            outside = steps[0] in {"", ".."} or script in {".", ".."}
            message = f"the script {script!r} lies in another folder"
            yield ArchiveFault("entry-points-invalid", name, message, (PIP, UV, INSTALLER) if outside else (UV,))


# ------------------------------------------------------------------------------------------------------------ namecheck
# Whether a wheel's file name, its dist-info folder and its METADATA name one project and version, and valid ones.


_PLAIN_VERSION = regex(r"[0-9]+(?:\.[0-9]+)*(?:(?:a|b|rc|\.post|\.dev)[0-9]+)?(?:\+[a-z0-9]+(?:\.[a-z0-9]+)*)?")


def check_file_name(file_name: FileName) -> Faults:
    """Give what installers refuse in a file name before they open the file."""
    name, by = file_name.name, list[str]()
    if "__" in name or re.fullmatch(r"[\w.]*", name) is None:
        by.append(PIP)
    if re.fullmatch(r"[A-Za-z0-9](?:[A-Za-z0-9._]*[A-Za-z0-9])?", name) is None:
        by.append(UV)
    if by:
        message = f"{name!r} in the file name is not a name of a project"
        yield ArchiveFault("name-invalid", name, message, tuple(by))
    if not _is_version(file_name.version):
        message = f"{file_name.version!r} in the file name is not a version as PEP 440 defines them"
        yield ArchiveFault("version-invalid", name, message, (PIP, UV, PYPI))


def check_folder(file_name: FileName, dist_info: str) -> Faults:
    """Give what the name of the dist-info folder says otherwise than the file name."""
    name, dash, version = dist_info.removesuffix(".dist-info").partition("-")
    wanted = canonical(file_name.name)
    if canonical(name) != wanted:
        message = f"the file name says {file_name.name!r}, the dist-info folder says {name!r}"
        begins = canonical(dist_info).startswith(wanted)  # all that pip and uv ask for
        by = (PYPI, INSTALLER) if begins else (PIP, UV, PYPI, INSTALLER)
        yield ArchiveFault("name-mismatch", dist_info, message, by)
    elif not _same_version(version, file_name.version):
        message = f"the file name says version {file_name.version!r}, the dist-info folder says {version!r}"
        odd = not dash or "-" in version  # installer counts the dashes
        yield ArchiveFault("name-mismatch", dist_info, message, (PYPI, INSTALLER) if odd else (PYPI,))
    elif f"{name}-{version}".lower() != (stem := f"{file_name.name}-{file_name.version}").lower():
        message = f"the file name says {stem!r}; 'wheel unpack' and 'wheel tags' find no RECORD"
        yield ArchiveFault("dist-info-spelling", dist_info, message)


def check_metadata(file_name: FileName, dist_info: str, metadata: Metadata) -> Faults:
    """Give what METADATA says otherwise than the file name."""
    if canonical(metadata.name) != canonical(file_name.name):
        message = f"the file name says {file_name.name!r}, METADATA says {metadata.name!r}"
        yield ArchiveFault("name-mismatch", dist_info, message, (PIP, UV, PYPI))
    elif not _same_version(metadata.version, file_name.version):
        message = f"the file name says version {file_name.version!r}, METADATA says {metadata.version!r}"
        public = metadata.version.partition("+")[0], file_name.version.partition("+")[0]
        by = (PIP, PYPI) if _same_version(*public) else (PIP, UV, PYPI)
        yield ArchiveFault("name-mismatch", dist_info, message, by)


def _is_version(text: str) -> bool:
    plain = all(whole_number(one) is not None for one in text.split(".")) or _PLAIN_VERSION.fullmatch(text)
    return bool(plain) or not fault_of(as_version, text)


def _same_version(one: str, other: str) -> bool:
    if one == other:
        return True
    try:
        local, other_local = (as_version(text.replace("_", "+", 1)) for text in (one, other))
        return local == other_local or as_version(one) == as_version(other)
    except ValueError:  # InvalidVersion, or a number with more digits than Python reads
        return False


# ------------------------------------------------------------------------------------------------------------- variants
# Wheel variants (PEP 825): a label at the end of the file name, and ``variant.json``, which describes the label.


_LIMIT = 1 << 20
_KEYS = ("$schema", "default-priorities", "variants")
"""What the document must have, by the PEP and for uv."""


def variant_faults(archive: Archive, path: str, label: str) -> Faults:
    """Yield what a variant wheel has to be checked for: who knows the label, and whether it is described."""
    message = (
        f"the file name has the variant label {label!r}; installers without wheel variants, such as pip 26, refuse it"
    )
    yield ArchiveFault("variant-label", "archive", message)
    member = archive.find(path)
    if member is None:
        yield ArchiveFault("variant-metadata", path, "it is missing, and the file name has a variant label", (UV,))
        return
    try:
        document = parse_json(archive.read(member, _LIMIT))
    except (ValueError, InputError):
        document = None
    if not isinstance(document, dict):
        yield ArchiveFault("variant-metadata", path, "it is not a JSON object", (UV,))
        return
    absent = [key for key in _KEYS if key not in document]
    if absent:
        yield ArchiveFault("variant-metadata", path, f"it does not have {', '.join(absent)}", (UV,))
        return
    labels = list(document["variants"]) if isinstance(document["variants"], dict) else []
    if labels != [label]:
        message = f"it describes {', '.join(map(repr, labels[:3])) or 'nothing'}; the file name has the label {label!r}"
        yield ArchiveFault("variant-metadata", path, message, (UV,))


# ------------------------------------------------------------------------------------------------------------ wheelinfo
# What a wheel says about itself: in its file name, its METADATA and its WHEEL file, and whether these agree.


HEADER_LIMIT = 4 << 20
_SHOWN_TAGS = 20
HeaderFields: TypeAlias = "Mapping[str, tuple[str, ...]]"
"""The fields of a file such as METADATA, by lower-case name."""


@frozen
class Metadata:
    """What METADATA says, as far as we ask."""

    name: str = ""
    version: str = ""
    requires_dist: tuple[str, ...] = ()
    requires_python: str = ""
    headers: HeaderFields = field(default_factory=dict)
    """All fields, by lower-case name."""


@frozen
class WheelInfo:
    """What a wheel says about itself."""

    name: str
    """As in the file name."""
    version: str
    """As in the file name."""
    build: str
    tags: tuple[str, ...]
    """From the file name, expanded."""
    dist_info: str
    """The folder's name, such as ``torch-2.7.1.dist-info``, without prefix."""
    metadata: Metadata
    headers: HeaderFields
    """The fields of the WHEEL file, by lower-case name."""
    prefix: str = ""
    """The folder below which everything lies by mistake, with a slash at the end; usually empty."""
    faults: tuple[ArchiveFault, ...] = ()

    @property
    def data(self) -> str:
        """The folder whose contents installers spread over the environment, such as ``mkl-2025.3.0.data``."""
        return self.dist_info.removesuffix(".dist-info") + ".data"

    @classmethod
    def from_archive(cls, archive: Archive) -> WheelInfo:
        """Read what a wheel says about itself; InputError if its name is not a wheel's or it has no dist-info."""
        file_name = FileName.parse(archive.path)
        prefix, dist_info, faults = _find_dist_info(archive, file_name)
        where = f"{prefix}{dist_info}/"
        metadata_text = _read_text(archive, where + "METADATA", "metadata-missing", faults)
        wheel_text = _read_text(archive, where + "WHEEL", "wheel-file-missing", faults)
        metadata_headers = parse_headers(_decode(metadata_text))
        wheel_headers = parse_headers(_decode(wheel_text))
        metadata = _metadata(metadata_headers)
        if not archive.path.name.endswith(".whl"):
            message = "the file name does not end in '.whl' in small letters"
            faults.append(ArchiveFault("name-invalid", file_name.name, message, (PIP, UV, INSTALLER)))
        faults += check_file_name(file_name)
        faults += check_folder(file_name, dist_info)
        if metadata_text is not None:
            faults += undecodable(metadata_text, where + "METADATA", (PIP,))
            faults += line_faults(_decode(metadata_text), where + "METADATA")
            faults += check_metadata(file_name, dist_info, metadata)
            faults += requirement_faults(metadata_headers, where + "METADATA")
        if wheel_text is not None:
            faults += undecodable(wheel_text, where + "WHEEL", (PIP, UV, INSTALLER))
            spelled = b"\nWheel-Version:" in b"\n" + wheel_text
            version = wheel_headers.get("wheel-version", ("",))[0]
            faults += wheel_version_fault(version, spelled, where + "WHEEL")
            faults += _check_tags(file_name, wheel_headers)
        if file_name.variant:
            faults += variant_faults(archive, f"{prefix}{dist_info}/variant.json", file_name.variant)
        faults += _check_places(archive, prefix, dist_info, file_name)
        faults += _check_licenses(archive, where, metadata)
        if not _is_last(archive, where):
            message = "the dist-info folder is not at the end of the archive, where it is found fastest"
            faults.append(ArchiveFault("dist-info-not-last", dist_info, message))
        return cls(
            file_name.name, file_name.version, file_name.build, file_name.tags, dist_info, metadata,
            wheel_headers, prefix, tuple(faults),
        )  # fmt: skip


def _listed(tags: Iterable[str]) -> str:
    """Return tags for a message: the first of many."""
    ordered = sorted(tags)
    beyond = len(ordered) - _SHOWN_TAGS
    return ", ".join(ordered[:_SHOWN_TAGS]) + (f" and {beyond} more" if beyond > 0 else "")


def _header_lines(text: str) -> list[str]:
    """The lines of a text up to an empty one, behind which there may be a whole manual."""
    return text.replace("\r\n", "\n").replace("\r", "\n").partition("\n\n")[0].split("\n")


def parse_headers(text: str) -> dict[str, tuple[str, ...]]:
    """Return the fields of an e-mail-like header, by lower-case name, up to the first empty line.

    A line of blanks continues a field (pandas 2.0.3 has some within its license), and other characters that Python
    takes for line ends, such as the form feed, end no line here.
    """
    fields: dict[str, list[list[str]]] = {}
    current: list[str] | None = None
    for line in _header_lines(text):
        if not line:
            break
        if line[0] in " \t":
            if current is not None:
                current.append(line.strip())
            continue
        name, colon, value = line.partition(":")
        if colon:
            current = [value.strip()]
            fields.setdefault(name.strip().lower(), []).append(current)
    return {name: tuple(map("\n".join, values)) for name, values in fields.items()}


def _find_dist_info(archive: Archive, file_name: FileName) -> tuple[str, str, list[ArchiveFault]]:
    """Return prefix and name of the dist-info folder."""
    found: dict[str, set[str]] = {}
    files: list[str] = []
    for member in archive.members:
        if ".dist-info/" in member.name:
            above, _, _ = member.name.partition(".dist-info/")
            prefix, slash, stem = above.rpartition("/")
            found.setdefault(prefix + slash, set()).add(stem + ".dist-info")
        elif "/" not in member.name and member.name.endswith(".dist-info"):
            files.append(member.name)
    faults: list[ArchiveFault] = []
    prefix = ""
    if "" not in found:
        prefix = _common_prefix(archive)
        while prefix and prefix not in found:
            prefix = prefix[:-1].rpartition("/")[0]
            prefix = prefix + "/" if prefix else ""
        if not prefix:
            hint = "check that this is a wheel, or build it again"
            raise InputError(f"{archive.path} is not a wheel", because="it has no dist-info folder", hint=hint)
        message = f"everything lies below {prefix!r}; nothing of it will be importable"
        faults.append(ArchiveFault("too-deep", prefix, message, (PIP, UV, PYPI)))
    folders = sorted(found[prefix])
    wanted = canonical(file_name.name)
    fitting = [folder for folder in folders if canonical(folder.partition("-")[0]) == wanted]
    own = (fitting or folders)[0]
    if others := [name for name in (*folders, *files) if name != own]:
        message = f"it looks like a second dist-info folder, beside {own!r}"
        # uv does not count files, nor a folder without a name.
        by = (PIP, UV, INSTALLER) if {*folders} - {own, ".dist-info"} else (PIP, INSTALLER)
        faults += [ArchiveFault("several-dist-info", name, message, by) for name in others]
    return prefix, own, faults


def _common_prefix(archive: Archive) -> str:
    """Return the folder that holds all members, with its slash, or nothing."""
    listed = [member.name for member in archive.members]
    low, high = min(listed, default=""), max(listed, default="")
    same = next((index for index, pair in enumerate(zip(low, high, strict=False)) if pair[0] != pair[1]), len(low))
    return low[: low.rfind("/", 0, same) + 1]


def _read_text(archive: Archive, name: str, kind: str, faults: list[ArchiveFault]) -> bytes | None:
    member = archive.find(name)
    by = (PIP, UV, PYPI) if kind == "metadata-missing" else (PIP, UV, PYPI, INSTALLER)
    if member is None:
        faults.append(ArchiveFault(kind, name, "the file is missing", by))
        return None
    try:
        return archive.read(member, HEADER_LIMIT)
    except InputError as exc:
        faults.append(ArchiveFault(kind, name, exc.because or exc.what, by))
        return None


def _decode(data: bytes | None) -> str:
    return (data or b"").decode("utf-8", "replace")


def _check_places(archive: Archive, prefix: str, dist_info: str, file_name: FileName) -> Faults:
    """Give what is wrong with where members are installed, and with the programs that entry points ask for."""
    name = f"{prefix}{dist_info}/entry_points.txt"
    member, scripts = archive.find(name), list[str]()
    if member is not None:
        try:
            data = archive.read(member, HEADER_LIMIT)
        except InputError:
            data = b""  # what is damaged is reported as such
        yield from entry_point_faults(data, name)
        scripts = script_names(_decode(data))
    inside = [member.name.removeprefix(prefix) for member in archive.members]
    stem = dist_info.removesuffix(".dist-info")
    yield from placement_faults(inside, f"{stem}.data", f"{file_name.name}-{file_name.version}.data", scripts)


def _metadata(headers: HeaderFields) -> Metadata:
    def first(name: str) -> str:
        return headers.get(name, ("",))[0]

    return Metadata(
        first("name"),
        first("version"),
        headers.get("requires-dist", ()),
        first("requires-python"),
        headers,
    )


def _check_tags(file_name: FileName, headers: HeaderFields) -> Faults:
    if any(tag != tag.lower() for tag in file_name.tags):
        message = "the file name has tags in capital letters, which uv does not recognise"
        yield ArchiveFault("tag-mismatch", "WHEEL", message, (UV,))
    stated: set[str] | None = set()
    for tag in headers.get("tag", ()):
        expanded = expand_tag(tag)
        if expanded is None or stated is None or len(stated) > MAX_TAGS:
            stated = None
            break
        stated.update(expanded)
    if stated != set(file_name.tags):
        says = f"more than {MAX_TAGS} tags" if stated is None else _listed(stated) or "none"
        message = f"the file name says {_listed(file_name.tags)}; WHEEL says {says}"
        yield ArchiveFault("tag-mismatch", "WHEEL", message)
    build = headers.get("build", ("",))[0]
    if build != file_name.build:
        message = f"the file name says build {file_name.build!r}; WHEEL says {build!r}"
        yield ArchiveFault("tag-mismatch", "WHEEL", message)


def _check_licenses(archive: Archive, where: str, metadata: Metadata) -> Faults:
    stated = metadata.headers.get("metadata-version", ("",))[0]
    major, _, minor = stated.partition(".")
    if (number_pair(major, minor) or (0, 0)) < (2, 4):
        return  # before 2.4 tools wrote License-File with paths of their own choice
    for path in metadata.headers.get("license-file", ()):
        if archive.find(f"{where}licenses/{path}") is None:
            message = f"METADATA names the license file {path!r}, which is not in the wheel"
            yield ArchiveFault("license-file-missing", f"{where}licenses/{path}", message, (PYPI,))


def _is_last(archive: Archive, where: str) -> bool:
    """Whether no member's data come after those of the dist-info folder."""
    inside = [member.header_offset for member in archive.members if member.name.startswith(where)]
    first = min(inside)
    return sum(member.header_offset >= first for member in archive.members) == len(inside)
