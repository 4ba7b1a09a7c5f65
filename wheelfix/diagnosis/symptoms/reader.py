"""Reads an error text or a long log and returns every symptom in it, each once.

Memory does not grow with the log: lines come in blocks, symptoms are merged as they are found.
"""

from __future__ import annotations

import re
import sys
from collections import Counter, OrderedDict, deque
from functools import lru_cache
from itertools import chain, takewhile
from typing import TYPE_CHECKING

from wheelfix.base.parsing import regex
from wheelfix.base.values import replace
from wheelfix.diagnosis.symptoms.causes import is_told, line_pattern
from wheelfix.diagnosis.symptoms.messages import PART
from wheelfix.diagnosis.symptoms.model import (
    UNNAMED,
    Confidence,
    Ending,
    ErrorLine,
    Log,
    Symptom,
    TextLimits,
    dll_names,
    environment_kind,
    environment_prefix,
    package_of,
    tidy_path,
)
from wheelfix.diagnosis.symptoms.quotes import FRAME, LONGEST, failed_lines, whole_message
from wheelfix.diagnosis.symptoms.recognise import (
    WINDOW,
    facts_in,
    form_triggers,
    of_process,
    recognise,
    repair_encoding,
    sentence_triggers,
)
from wheelfix.diagnosis.symptoms.stream import Line, Text, TextProgress, clean_line, suspicious_lines
from wheelfix.knowledge.providers import is_compiled, package_with

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator


_FRAME_REACH = 40
_NOWHERE = (-_FRAME_REACH - 1, "")
_NEAR = {"bundle": "bundle-module-missing", "build": "build-module-missing"}
"""Facts that count for the lines around them, and what a module that is not found there means."""
_OWN_FRAMES = frozenset(
    {"ctypes", "importlib", "_distutils_hack", "pip", "pytest", "_pytest", "pluggy", "IPython", "PyInstaller"}
)
_LOADING_FILES = frozenset(
    {"torch/_ops.py", "torch/_classes.py", "initscripts/__startup__.py", "initscripts/Console.py"}
)
"""Files whose frames load a library for the package that calls them."""
_MEMORY = 4096
_WINDOWS_PATH = regex(r"^[A-Za-z]:|\\")
_DRIVE = regex(r"(?<![A-Za-z])[A-Za-z]:[\\/]|WindowsPath\(|\.dll\b|WinError|error 0x[0-9a-f]", re.IGNORECASE)
_ON_EVERY_SYSTEM = frozenset(
    {
        *("load-library", "asked-by-name", "library", "message", "cuda-library", "cudnn-sublibrary", "cudnn-version"),
        "program",
    }
)
"""Kinds of symptoms that other systems print in the same words."""
_POSIX = regex(
    r"\blib[\w+-]{1,60}\.so\b|\[unixODBC\]|(?<![\w:.])/(?:usr|home|opt|mnt|root|private|Users)/"
    r"|/lib/python\d|-linux-gnu|\(core dumped\)",
    re.IGNORECASE,
)
"""What only other systems print: their libraries and folders."""
_INSIDE_BUNDLE = regex(r"([A-Za-z_]\w{1,80})[\\/]")
_USER_SITE = regex(r"\\AppData\\Roaming\\Python\\", re.IGNORECASE)
_WARNS = regex(
    r"\b[A-Z]\w*Warning: |^\s*Warning: |\bWARN(?:ING)?\b(?!: (?:Retrying|pip is configured))"
    r"|\[W:\w|: W tensorflow|^\s*W\d{4} \d\d:|##\[warning\]|::warning"
    r"|(?:^|\s)-- Could NOT find "
)
"""What a line has that reports a warning: Python's, those of loggers, onnxruntime, TensorFlow, torch, build servers,
and CMake's where it goes on."""
_OF_NO_EFFECT = regex(r"Deprecat|FutureWarning|(?i:is deprecated|notice|fall(?:s|ing)? ?back|defaulting to)")
_INSTEAD = regex(r"\bfall(?:ing|s) ?back\b|\bdefaulting to\b", re.IGNORECASE)
"""What follows an error after which the program takes another way."""
_INSTEAD_REACH = 4
_CAUGHT = "Error caught was"
_RAISED = regex(
    r"^(?:[\w.]{1,200}\.)?[A-Z]\w{0,80}(?:Error|Exception|Exit|Interrupt|StopIteration)\b"
    r"|^(?:[a-z_]\w{0,60}\.){1,8}[A-Z]\w{2,80}: "
)
_OTHER_ERROR = regex(r"^(?:\d{1,2}[.)] )?[A-Z]\w{2,80}(?:Error|Exception)\b")
_LINKED = regex(r"During handling of the above exception|The above exception was the direct cause")
_TRACEBACK = "Traceback (most recent call last)"
_MARKED = " \t`*_"
"""What stands around a line that was marked as code, or as important."""
_SPOKEN = 200
"""Lines at most of a text in which nothing looks like the output of a program: a title, and what somebody wrote."""
_OUTPUT = regex(r"\[\d{1,5} lines? of output\]|Complete output \(\d{1,5} lines?\)|Complete output from command")
_OUTPUT_END = regex(r"\[end of output\]|-{12}")
_IMPORTS = regex(
    r"(?:^|[\s>\"'`])(?:from\s{1,9}(?P<whole>[\w.]{0,200})\s{1,9})?import\s{1,9}(?!(?:the|an?|your|this|it|of|from|error|failed|required)\b)(?P<name>[*(]|[\w.]{1,200})"
)
_NUMBERED = regex(r"\s{0,12}\d{1,6} ")
_TRIED = regex(r"(\w{1,60}) - ImportError: ")
"""What Kivy writes before the error of a provider that it tried."""
_IMPORT_REACH = 2
_LOADS = regex(r"[Ll]oad\w{0,20}\((?:\w{1,30}, ?)?['\"](\w{2,100})['\"][),]")
"""A function that loads a module by its name: imp.load_module and those of pywin32."""
_IMP_FRAMES = 6
_STARTS_PROGRAM = regex(r"\bsubprocess\.py:\d|_winapi\.CreateProcess\(")
"""What follows the error of a program that could not be started, where the traceback is printed after the error."""
_ABOVE = 3
"""Lines above a message that can say what it is about."""


def read_symptoms(text: Text, limits: TextLimits | None = None) -> tuple[Symptom, ...]:
    """Return the symptoms of a text, of bytes in any common encoding, or of an open file, in order of appearance."""
    return read_log(text, limits).symptoms


def read_log(text: Text, limits: TextLimits | None = None) -> Log:
    """Return the symptoms and what was read to find them."""
    limits = limits or TextLimits()
    progress = TextProgress()
    notes = _Notes(limits)
    for window in _windows(suspicious_lines(text, form_triggers(), sentence_triggers(), limits, progress)):
        if not notes.look(window):
            progress.stopped = notes.full
            progress.lines = window[0].number
            break
    symptoms = notes.result()
    ending, error, lines, first = None, None, list[str](), 1
    if not progress.stopped:
        lines = [clean_line(line.rstrip("\r")).replace("**", "").strip(_MARKED) for line in progress.tail.split("\n")]
        first = progress.lines - len(lines) + (1 if lines[-1] else 2)
        ending = _ending(lines, first)
        # A warning goes on in the next line.
        survived = {symptom.line - first + more for symptom in symptoms if symptom.survived for more in (0, 1)}
        error = _error(lines, first, ending, survived)
    named = dll_names(progress.tail)
    if any(map(_is_nameless, symptoms)):
        module, package = _only_module(lines, named)
        symptoms = tuple(replace(one, module=module, package=package) if _is_nameless(one) else one for one in symptoms)
    symptoms = tuple(one for one in symptoms if not any(_is_said_better(one, other) for other in symptoms))
    return Log(
        symptoms,
        progress.encoding,
        progress.size,
        progress.lines,
        progress.stopped,
        ending,
        error,
        named,
        _prefixes(lines),
        tuple(lines),
        first,
    )


def _is_nameless(symptom: Symptom) -> bool:
    """Whether an error says that a module was not loaded, and not which."""
    about = symptom.path or symptom.module or symptom.package or symptom.dlls
    return symptom.kind == "dll-load-failed" and not about


def _is_said_better(symptom: Symptom, other: Symptom) -> bool:
    """Whether an error that names no module is also there with its module: in a title, or in the words of somebody."""
    same = symptom.kind == other.kind == "dll-load-failed" and symptom.code == other.code
    return same and bool(other.module) and not symptom.module and symptom.package in ("", other.package)


def _only_module(lines: list[str], named: tuple[str, ...]) -> tuple[str, str]:
    """Return the module that a text must be about, and the package of its last traceback, as far as it names them."""
    loaded = [found[1] for line in lines if (found := _LOADS.search(line))]
    modules = loaded or [name.partition(".")[0] for name in named if name.lower().endswith(".pyd")]
    files = [frame[1] or frame[2] for line in lines if (frame := FRAME.search(line))]
    statements = (found.groups() for line in lines for found in _IMPORTS.finditer(line))
    imported = {_imported(*one) for one in statements if not (one[0] or "").startswith(".")}
    if not modules and len(imported) == 1:
        return imported.pop()
    return modules[0] if len(set(modules)) == 1 else "", _origin(files)[0]


def _error(lines: list[str], first: int, ending: Ending | None, survived: set[int]) -> ErrorLine | None:
    """Return the line that says why a program or a build ended: the first error of a compiler, else the exception.

    Without either it is the last line that a program printed as an error. Warnings do not count, nor do lines that only
    repeat that a step failed.
    """
    if any(map(_POSIX.search, lines)) and not any(map(_DRIVE.search, lines)):
        return None

    def last(fits: Callable[[str], object]) -> Iterator[int]:
        return (at for at in reversed(range(len(lines))) if fits(lines[at]))

    found = chain(
        [*last(line_pattern("tool").search)][-1:],
        [ending.line - first] if ending else (),
        last(line_pattern("raised").search),
        last(line_pattern("printed").search),
    )

    def counts(at: int) -> bool:
        return at not in survived and not _WARNS.search(lines[at]) and not line_pattern("repeats").search(lines[at])

    at = next(filter(counts, found), None)
    if at is None:
        at = next(filter(counts, last(is_told)), None) if len(lines) <= _SPOKEN else None
        # Of what a build script printed the last line counts, known or not.
        printed = _last_of_output(lines)
        start = next((place for place, line in enumerate(lines) if _OUTPUT.search(line)), None)
        if printed is None and at is not None and start is not None and start < at:
            printed = at
        frame = next(last(_is_frame), 0)
        # Below a frame is its code, where it has some.
        goes_on = frame + ("<" not in lines[frame]) >= (printed or 0) and frame >= (at or 0)
        if frame and goes_on and any(map(_OUTPUT.search, lines)):
            return ErrorLine(first + frame, _innermost(lines, frame), part="cut")
        if printed is not None and (at is None or at <= printed):
            return ErrorLine(first + printed, lines[printed][:LONGEST], part="output")
    if at is None:
        said = next(filter(counts, failed_lines(lines, least=2)), None) if len(lines) <= _SPOKEN else None
        if said is not None and not any(map(_is_frame, lines)):
            return ErrorLine(first + said, whole_message(lines, said), part="said")
        warned = next(last(lambda line: _WARNS.search(line) and not _OF_NO_EFFECT.search(line)), None)
        at = next(last(_is_frame), warned)
        if at is None or at == warned:
            return None if at is None else ErrorLine(first + at, lines[at][:LONGEST], part="warned")
        return ErrorLine(first + at, _innermost(lines, at), part="cut")
    installed = any("site-packages" in line for line in lines[max(at - 6, 0) : at])
    # Below the code of a frame there can be a line of marks.
    above = " ".join(line for line in lines[max(at - 3, 0) : at] if line.strip("^~ "))
    return ErrorLine(first + at, whole_message(lines, at), installed, above=above[-LONGEST:])


def _innermost(lines: list[str], at: int) -> str:
    """Return the last frame of a traceback with its code, and then those that called it."""
    return " ".join((*lines[at : at + 2], *lines[max(at - 4, 0) : at][::-1]))[:LONGEST]


def _is_frame(line: str) -> bool:
    """Whether a line is one of a traceback."""
    return _TRACEBACK in line or line.startswith('File "')


def _last_of_output(lines: list[str]) -> int | None:
    """Return the last line that a build script printed, as pip shows its output."""
    start = next((at for at, line in enumerate(lines) if _OUTPUT.search(line)), None)
    if start is None and "[end of output]" not in lines:
        return None
    start = -1 if start is None else start  # the text begins in the midst of it
    end = next((at for at in range(start + 1, len(lines)) if _OUTPUT_END.match(lines[at])), len(lines))
    progress, repeats = line_pattern("progress"), line_pattern("repeats")
    told = (at for at in reversed(range(start + 1, end)) if len(lines[at].split()) > 2)
    return next((at for at in told if not progress.search(lines[at]) and not repeats.search(lines[at])), None)


def _ending(lines: list[str], first: int) -> Ending | None:
    """Return the last exception of a text, with the tracebacks of those that it was raised from."""
    starts = [place for place, line in enumerate(lines) if _TRACEBACK in line]
    if not starts:
        return None
    found = next((at for at in range(starts[-1] + 1, len(lines)) if _RAISED.match(lines[at])), None)
    if found is None:
        return None
    start = starts.pop()
    while any(_LINKED.match(line) for line in lines[max(start - 3, 0) : start]):
        # Where the text does not have its first line, the traceback begins with the text.
        start = starts.pop() if starts else 0
    frames = filter(None, (FRAME.search(line) for line in lines[start:found]))
    packages = frozenset(package_of(frame[1] or frame[2]) for frame in frames)
    return Ending(first + start, first + found, lines[found][:LONGEST], packages - {""})


def _prefixes(lines: list[str]) -> tuple[str, ...]:
    """Return the environments that the files of tracebacks lie in."""
    frames = filter(None, map(FRAME.search, lines))
    prefixes = filter(None, (environment_prefix(frame[1] or frame[2]) for frame in frames))
    return tuple({prefix.lower(): prefix for prefix in prefixes}.values())


def _windows(lines: Iterator[Line]) -> Iterator[list[Line]]:
    """Yield every line with the few that directly follow it."""
    window: deque[Line] = deque()
    for line in lines:
        is_next = window and 0 <= line.number - window[-1].number <= 1
        while window and not (is_next and len(window) < WINDOW):
            yield list(window)
            window.popleft()
        window.append(line)
    while window:
        yield list(window)
        window.popleft()


@lru_cache(maxsize=64)
def _clean(text: str) -> str:
    return clean_line(text if text.isascii() else repair_encoding(text))


def _indent(text: str) -> int:
    """Return how far a line is indented behind what build servers put before it."""
    line = _clean(text)
    return len(line) - len(line.lstrip())


_ASKED_FOR = regex(
    r"""(?:(?:DLL|LoadLibrary(?:Ex)?)\((?P<joined>[^\n]{0,120}?)[rR]?["']"""
    r"""|\bLoading (?:binary|library|DLL):? ["']?(?=[A-Z]:))"""
    r"""(?P<path>[^"'\n]{1,400}\.(?:dll|pyd|so|dylib))(?=["'.\s]|$)""",
    re.IGNORECASE,
)
"""A load of a file that the code names, perhaps below a folder that it does not name, or that the program announces."""
_NOT_RUN = regex(r"\s*\d{1,6} +raise \w")
"""A line that IPython shows beside the one that it points to."""


class _Notes:
    """What has been found so far, merged."""

    def __init__(self, limits: TextLimits) -> None:
        self._limits = limits
        self._found: dict[tuple[object, ...], Symptom] = {}
        self._seen: OrderedDict[str, tuple[tuple[object, ...], ...]] = OrderedDict()
        self._frames: deque[tuple[int, str]] = deque(maxlen=24)
        """The last frames of tracebacks: the line and the file."""
        self._asked_for: tuple[int, str] | None = None
        """The last line of code that loads a file by a literal name, and that name."""
        self._warned = (-_FRAME_REACH, 0)
        """The last line of a warning, and how far its first line is indented."""
        self._above: deque[Line] = deque(maxlen=_ABOVE)
        self._pointed = -_FRAME_REACH
        """The last line of code that IPython points to; the numbered ones below it were not run."""
        self._facts: dict[str, tuple[int, str]] = {}
        """What the text says about the machine and the program, with the last line that says it."""
        self._imported = (-_FRAME_REACH, "", "")
        """The last import statement: its line, its module, and the package that it names."""
        self._statement = ""
        """The full name in it."""
        self._posix = self._windows = -_FRAME_REACH
        """The last lines that only other systems print, and that only Windows prints."""
        self._again: Counter[tuple[object, ...]] = Counter()
        self._work = 0
        self.full = ""

    def look(self, window: list[Line]) -> bool:
        """Read the window's first line; False when the limits are reached."""
        goes_on = self._look(window)
        self._above.append(window[0])
        return goes_on

    def _look(self, window: list[Line]) -> bool:
        number, text = window[0].number, window[0].text
        whole = text
        if "line " in text or ".py:" in text or ".py in " in text or 'File "' in text:
            frame = FRAME.search(text)
            if frame is None and len(window) > 1 and 'File "' in text:
                # A console of fixed width broke the path: its rest, with the number of the line, is in the next one.
                whole = text + window[1].text.lstrip()
                frame = FRAME.search(whole)
            if frame:
                self._frames.append((number, frame.group(1) or frame.group(2)))
        self._note_system(number, whole)
        if _WARNS.search(text):
            self._warned = number, _indent(text)
        elif number == self._warned[0] + 1 and _indent(text) > self._warned[1]:
            self._warned = number, self._warned[1]  # the lines below a warning that are indented more go on with it
        if "dll(" in text.lower() or "LoadLibrary" in text or "oading " in text:
            asked = _ASKED_FOR.search(text)
            if asked:
                folder = f"{UNNAMED}\\" if (asked["joined"] or "").strip() else ""
                self._asked_for = number, tidy_path(folder + asked["path"])
        if text.lstrip().startswith("--"):
            self._pointed = number
        beside = _NUMBERED.match(text) and 0 < number - self._pointed <= _ABOVE
        if beside and self._imported[0] >= self._pointed:
            self._imported = number, *self._imported[1:]
        if "import " in text and not beside and (imported := _IMPORTS.search(text)):
            self._imported = number, *_imported(imported["whole"], imported["name"])
            self._statement = f"{imported['whole'] or ''}.{imported['name']}".strip(".*(")
        elif "oad" in text and (loaded := _LOADS.search(text)):
            # Frames of imp follow it.
            self._imported = number + _IMP_FRAMES, loaded[1], ""
        elif "_import(" in text and number - self._imported[0] <= _IMPORT_REACH:
            self._imported = number, *self._imported[1:]  # a program that imports by a function of its own
        if not window[0].hot or self._known(text) or _NOT_RUN.match(text):
            return True
        lines = [_clean(line.text) for line in window]
        memory = "\n".join(lines)
        if self._known(lines[0]) or self._known(memory):
            return True
        reading = recognise(lines, [line.text for line in self._above if number - line.number <= _ABOVE])
        raised = bool(_RAISED.match(lines[0].lstrip(" \t>")))
        parts = raised and any(one.details.get("only") == PART for one in reading.symptoms)
        for line in lines[1:] if parts else ():
            self._facts.update({fact.name: (number, fact.value) for fact in facts_in(line) if fact.name in _NEAR})
        starts_program = any(_STARTS_PROGRAM.search(line) for line in lines[1:])
        below = [*takewhile(lambda line: not _OTHER_ERROR.search(line), lines[1:])]
        if number - self._imported[0] > _IMPORT_REACH:
            # Where the traceback stands behind the message, so does the import; most compiled modules begin with _.
            later = (_imported(*found.groups()) for line in below for found in _IMPORTS.finditer(line))
            self._imported = next(((number, *one) for one in later if one[0].startswith("_")), self._imported)
        following = [frame[1] or frame[2] for line in below for frame in FRAME.finditer(line)]
        if any("(most recent call first)" in line for line in below):
            following.reverse()
        instead = any(map(_INSTEAD.search, lines[:_INSTEAD_REACH])) or lines[0].lstrip().startswith(_CAUGHT)
        survived = instead or number == self._warned[0]
        more = {"instead": "yes"} if instead else {}
        symptoms = (
            replace(one, survived=one.survived or survived, raised=raised, details={**one.details, **more})
            for one in reading.symptoms
        )
        keys = tuple(self._add(one, number, following, starts_program=starts_program) for one in symptoms)
        self._remember(keys, text, lines[0]) if reading.alone else self._remember(keys, memory)
        self._work += reading.tried
        if self._work > self._limits.max_work:
            self.full = f"reading stopped at line {number}: too many different suspicious lines"
        elif len(self._found) >= self._limits.max_symptoms:
            self.full = f"reading stopped at line {number}: {self._limits.max_symptoms} different symptoms"
        return not self.full

    def _note_system(self, number: int, text: str) -> None:
        """Note what a line says about the system and the program that it is from."""
        if ("/" in text or ".so" in text or "unixODBC" in text) and _POSIX.search(text):
            self._posix = number
        if ("\\" in text or ".dll" in text or "Win" in text or "error 0x" in text) and _DRIVE.search(text):
            self._windows = number
        for fact in facts_in(text):
            self._facts[fact.name] = (number, fact.value)

    def _remember(self, keys: tuple[tuple[object, ...], ...], *texts: str) -> None:
        """Keep what a line said, so that its repetitions cost nothing."""
        self._seen.update(dict.fromkeys(texts, keys))
        while len(self._seen) > _MEMORY:
            self._seen.popitem(last=False)

    def _known(self, text: str) -> bool:
        """Whether a line was read before, whatever follows it; counts what it says."""
        keys = self._seen.get(text)
        if keys is None:
            return False
        self._again.update(keys)
        return True

    def _add(self, symptom: Symptom, number: int, following: list[str], *, starts_program: bool) -> tuple[object, ...]:
        """Note a symptom with its place and the package whose files the traceback went through.

        ``following`` are the files of a traceback that stands behind the message.
        """
        near = [file for line, file in self._frames if 0 <= number - line <= _FRAME_REACH]
        package, via = _origin(near)
        if symptom.kind == "exit-code" or (symptom.kind == "dll-load-failed" and not symptom.module):
            package = package or _origin(following)[0]
        via = "subprocess" if starts_program else via
        asked, path = self._asked_for or (number + 1, "")
        if symptom.kind == "winerror" and symptom.path is None and not via and 0 <= number - asked <= _FRAME_REACH:
            # The code above the error names the file that it loads.
            symptom = replace(symptom, path=path, package=package_of(path))
        details = dict(symptom.details)
        if via and symptom.kind == "winerror" and symptom.path is None:
            details["via"] = via
        own = environment_prefix(symptom.path or "")
        prefixes = (environment_prefix(file) for file in reversed(near) if _WINDOWS_PATH.search(file))
        if not own and (prefix := next(filter(None, prefixes), "")):
            details["prefix"] = prefix
        if _USER_SITE.search(environment_prefix(package_file := _last_of(package, near))):
            others = {*map(environment_prefix, near)} - {"", environment_prefix(package_file)}
            details |= {"user_site": environment_prefix(package_file), "prefix": others.pop()} if others else {}
        if own or "prefix" in details:
            prefix = own or details["prefix"]
            details |= {"environment": kind} if (kind := environment_kind(prefix)[0]) else {}
        symptom = replace(symptom, line=number, package=symptom.package or package, details=details)
        at, module, whole = self._imported
        if symptom.kind == "dll-load-failed" and number - at <= _IMPORT_REACH:
            # Python up to 3.7 does not say what was imported; the line of code above the error does.
            symptom = replace(symptom, module=symptom.module or module, package=whole or symptom.package)
            full = re.search(rf"^\w[\w.]{{0,200}}\.{re.escape(symptom.module)}(?=\.|$)", self._statement)
            symptom = replace(symptom, details={**symptom.details, "dotted": full[0]}) if full else symptom
        if symptom.module in sys.stdlib_module_names and "dotted" not in symptom.details:
            symptom = replace(symptom, package="")  # it is Python's own, whoever asks for it
        if symptom.kind == "dll-load-failed" and not symptom.module and (tried := _TRIED.match(symptom.excerpt)):
            symptom = replace(symptom, module=tried[1])
        # The sentence of an error code is one of Windows, whatever is asked for.
        if symptom.kind in _ON_EVERY_SYSTEM and not symptom.language and self._elsewhere(number, near or following):
            return symptom.key
        on_windows = any(_WINDOWS_PATH.search(file) for file in near) or bool(_DRIVE.search(symptom.excerpt))
        only = symptom.details.get("only")
        around = (name for name in _NEAR if number - self._facts.get(name, _NOWHERE)[0] <= _FRAME_REACH)
        if only == PART and (place := next(around, "")):
            symptom = replace(symptom, details={**symptom.details, "cause": _NEAR[place]})
        elif (only == PART and not symptom.module.startswith(f"{package}.")) or (only == "windows" and not on_windows):
            return symptom.key
        if symptom.kind == "winerror" and symptom.path is None:
            symptom = self._complete(symptom)
        if symptom.kind == "could-not-load-this":
            symptom = self._take_over(symptom)
        known = self._found.get(symptom.key)
        if known is not None:
            survived = known.survived and symptom.survived
            details = {**symptom.details, **known.details}
            symptom = replace(known, count=known.count + 1, details=details, survived=survived)
        self._found[symptom.key] = symptom
        return symptom.key

    def _elsewhere(self, number: int, files: list[str]) -> bool:
        """Whether the traceback is one of another system: every file in it has a POSIX path."""
        paths = [file for file in files if not file.startswith("<")]
        if not paths:
            return number - self._posix <= _FRAME_REACH and number - self._windows > _FRAME_REACH
        return all("/" in file and not _WINDOWS_PATH.search(file) for file in paths)

    def _complete(self, symptom: Symptom) -> Symptom:
        """Give a code to the message above it that named a file and no code."""
        for key, known in self._recent(symptom):
            if known.kind == "could-not-load-this" and known.code is None:
                del self._found[key]
                return replace(known, code=symptom.code, language=symptom.language)
        return symptom

    def _take_over(self, symptom: Symptom) -> Symptom:
        """Give a path to the error above it that had none: Python prints the cause first and the file after it."""
        for key, known in self._recent(symptom):
            if known.kind in ("winerror", "ctypes-not-found") and known.path is None:
                del self._found[key]
                return replace(symptom, code=known.code, language=known.language, line=known.line)
        return symptom

    def _recent(self, symptom: Symptom) -> list[tuple[tuple[object, ...], Symptom]]:
        """What was found shortly before a symptom, the last first."""
        return [entry for entry in reversed(self._found.items()) if symptom.line - entry[1].line <= _FRAME_REACH]

    def result(self) -> tuple[Symptom, ...]:
        """Return the symptoms in order of appearance, without those that only repeat another one."""
        counted = (replace(known, count=known.count + self._again[key]) for key, known in self._found.items())
        found = sorted(map(self._with_facts, counted), key=lambda symptom: symptom.line)
        # Names that a package asked for and did not find: the first counts, where no attempt to load follows.
        tries = [symptom for symptom in found if symptom.kind == "asked-by-name"]
        dropped = tries if any(symptom.kind == "load-library" for symptom in found) else tries[1:]
        found = [symptom for symptom in found if symptom not in dropped]
        # Lines that only repeat that something failed, where another line says what.
        # NumPy repeats the reason at the end of its advice: "Original error was".
        repeating = [one for one in found if "rank" in one.details]
        repeating.sort(
            key=lambda one: (one.survived, one.details["rank"], not one.excerpt.lower().startswith("original error"))
        )
        telling = [symptom for symptom in found if "rank" not in symptom.details]
        reasons = [one for one in telling if one.package and one.package in {other.module for other in repeating}]
        telling = [replace(one, survived=False) if one in reasons else one for one in telling]
        kept = [one for one in repeating[:1] if all(other.survived and not one.survived for other in telling)]
        kept = [one for one in kept if one.details["rank"] != "last" or not telling]
        return _clashes(_gather(sorted(telling + kept, key=lambda symptom: symptom.line)))

    def _with_facts(self, symptom: Symptom) -> Symptom:
        """Add what the text says about the machine, and what made the program where lines around the error show it."""
        facts = {name: value for name, (_, value) in self._facts.items() if name not in _NEAR}
        line, made_by = self._facts.get("bundle", _NOWHERE)
        path = symptom.path or ""
        # A file with a path of its own outside of the bundle is one that another program has to bring.
        nearby = made_by if abs(symptom.line - line) <= _FRAME_REACH and "\\" not in path else ""
        own = next((fact.value for fact in facts_in(path) if fact.name == "bundle"), nearby)
        facts |= {"bundle": own} if own else {}
        facts = {"building": facts["asked"], **facts} if "asked" in facts else facts
        if symptom.kind == "dll-load-failed" and symptom.code is None and "retold" in facts:
            symptom = replace(symptom, code=126)
        # What somebody found to be absent, where the error names only what needs it.
        wanted = facts.get("wanted", "")
        others = {one.file.lower() for one in self._found.values()}
        if symptom.code in (126, 0xC0000135) and not symptom.dlls and wanted and wanted.lower() not in others:
            symptom = replace(symptom, dlls=(wanted,))
        return replace(symptom, details={**of_process(facts), **symptom.details})


def _imported(whole: str | None, name: str) -> tuple[str, str]:
    """Return the module that an import statement loads, and the package that it names with its full name."""
    if whole is None:
        return name.rpartition(".")[2], name.partition(".")[0] if "." in name else ""
    package, inner = whole.partition(".")[0], whole.rpartition(".")[2]
    if whole == package and package.startswith("_"):
        return package, ""  # "from _sndfile import Sndfile"
    if name == "(" and not inner.startswith("_"):
        return "", ""  # the names stand in the next lines
    if whole == package and not is_compiled(f"{package}.{name}") and package_with(package):
        return package, ""  # "from win32gui import GetWindowText"
    # "from PyQt6.QtCore import Qt" and "from .cv2 import *" load the module, "from mpi4py import MPI" what it names.
    other = name.lstrip("_")[:1].isupper() or (inner.startswith("_") and not name.startswith("_"))
    within = name in "*(" or (inner != package and other)
    return (inner if inner and within else name), package


def _origin(near: list[str]) -> tuple[str, str]:
    """Return the package of the innermost file of a traceback that has one, and how the innermost file loads."""
    packages = [package_of(file) for file in reversed(near) if not _only_loads(file)]
    package = next((name for name in packages if name and name not in _OWN_FRAMES), "")
    if not package and any("PyInstaller" in file for file in near):
        inside = (_INSIDE_BUNDLE.match(file) for file in reversed(near) if not file.startswith("PyInstaller"))
        package = next((found[1] for found in inside if found and found[1] not in _OWN_FRAMES), "")
    last = near[-1].replace("\\", "/").rpartition("/")[2] if near else ""
    return package, "subprocess" if last == "subprocess.py" else ""


def _last_of(package: str, files: list[str]) -> str:
    """Return the innermost file of a package in a traceback, or nothing."""
    return next((file for file in reversed(files) if package and package_of(file) == package), "")


def _only_loads(file: str) -> bool:
    """Whether a file of a traceback loads libraries for others, so that the error is not about its own package."""
    return "/".join(file.replace("\\", "/").split("/")[-2:]) in _LOADING_FILES


def _gather(found: list[Symptom]) -> tuple[Symptom, ...]:
    """Merge the parts of one message that was printed over several lines."""
    kept: list[Symptom] = []
    for symptom in found:
        place = next((place for place, other in enumerate(kept) if _same_story(other, symptom)), None)
        if place is None:
            kept.append(symptom)
            continue
        other = kept[place]
        if _says_more(symptom, other):
            kept[place] = replace(symptom, line=other.line)
            continue
        dlls = tuple(dict.fromkeys((*other.dlls, *symptom.dlls)))
        code = other.code if other.code is not None else symptom.code
        path = symptom.path if symptom.kind == "faulting-part" and symptom.path else other.path
        details = {**symptom.details, **other.details}
        kept[place] = replace(
            other, dlls=dlls, code=code, path=path, package=package_of(path or "") or other.package, details=details
        )
    return tuple(kept)


def _clashes(found: tuple[Symptom, ...]) -> tuple[Symptom, ...]:
    """Say of modules of two packages that miss a function which the other package ends like it."""
    wrong = {one.package: one for one in found if one.code == 127 and one.kind == "dll-load-failed" and one.package}
    if len(wrong) != 2:
        return found
    text = f"{' and '.join(wrong)} clash: each has a DLL of a name that the other one has in another version. "
    return tuple(
        replace(one, details={**one.details, "clash": text}) if one in wrong.values() else one for one in found
    )


def _says_more(symptom: Symptom, other: Symptom) -> bool:
    """Whether a symptom is the same error as a line above it without a file, which a logger printed."""
    if symptom.kind == "windows-function":
        return other.code == symptom.code  # the function that was not found
    nameless = other.kind in ("winerror", "sentence") and not (other.path or other.dlls)
    return nameless and symptom.code == other.code and bool(symptom.path)


def _same_story(first: Symptom, second: Symptom) -> bool:
    """Whether the second symptom is the continuation of the first."""
    if second.line - first.line > _FRAME_REACH:
        return False
    if _says_more(second, first):
        return True
    if first.kind == "faulting-module":
        return second.kind in ("faulting-module", "faulting-part", "exit-code")
    if first.kind.startswith("dialog-") and second.kind == "bundle-python":
        return True  # the box before it says why Python was not loaded
    if first.kind == "bundle-python" and first.code is None and second.kind in ("sentence", "winerror"):
        return True  # the loader's own words for the reason
    if None in (first.code, second.code) and second.path and second.path == first.path:
        return True  # the rest of a broken line, or the same in other words
    if first.kind == second.kind:
        return first.kind in ("no-kernel-image", "numpy-abi", "mkl-cannot-load", "omp-duplicate", "nvrtc-builtins")
    if second.kind == "sentence":
        # The reason stands in the line below the file.
        reason = first.code is None and bool(first.path) and second.line - first.line <= _IMPORT_REACH
        return first.code == second.code or reason
    if second.kind == "could-not-locate" and second.confidence is not Confidence.SURE:
        return first.code == second.code and set(second.dlls) <= set(first.dlls)
    # After naming the part that it could not find, cuDNN also complains about the handle that it does not have.
    return first.kind == "could-not-locate" and second.kind == "cudnn-sublibrary" and "status" not in second.details
