"""Two releases of which a message says that they do not go together: the one asked for, and the one that is there."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING

from wheelfix.base.options import PYTHONS
from wheelfix.base.parsing import as_specifiers, regex, whole_number
from wheelfix.base.values import frozen
from wheelfix.diagnosis.symptoms.model import Remedy, read_table
from wheelfix.knowledge.builds import may_replace_a_build
from wheelfix.knowledge.cuda import TorchBuild
from wheelfix.knowledge.provider_index import provider_index
from wheelfix.knowledge.providers import distribution_of_module
from wheelfix.model import canonical

if TYPE_CHECKING:
    import re
    from collections.abc import Iterator, Mapping

_NAME = r"[A-Za-z][\w-]{1,40}"
_VERSION = r"v?\d{1,5}(?:\.\d{1,7}){1,3}(?:(?:\.?(?:post|dev)|rc|a|b)\d{1,9})?(?:\+(?:cpu|[a-z]{2,5}\d[\d.]{0,8}))?"
_SPEC = r"(?:\(?[<>=!~]=?=? ?v?\d[\w*]{0,8}(?:\.[\w*]{1,8}){0,4}\)?(?:, ?(?=[<>=!~]))?){1,4}"
_SIDES = {
    "{ASKER}": rf"(?P<asker>{_NAME}(?: {_VERSION})?)",
    "{SUBJECT}": rf"(?P<subject>{_NAME})",
    "{WANTED}": rf"(?P<wanted>{_VERSION})",
    "{SPEC}": rf"(?P<wanted>{_SPEC})",
    "{FOUND}": rf"(?P<found>{_VERSION})",
    "{NAME}": _NAME,
}


NEEDS, BUILT, SERVES = "needs", "was built for", "goes up to"


@cache
def _forms() -> tuple[tuple[str, str, re.Pattern[str]], ...]:
    """Return how messages name both sides: what one does with the other, whose releases they are, and the form."""
    forms = []
    for row in read_table("pairs.toml").tree["form"]:
        text = "".join(row["pattern"])
        for name, part in _SIDES.items():
            text = text.replace(name, part)
        forms.append((row["verb"], row.get("subject", ""), regex(rf"(?i)(?<![\w.<>=-]){text}(?![\w+]|\.\d)")))
    return tuple(forms)


_FOLDER = regex(r"[\\/]{1,4}v?(?=\d)")
_LIMIT = regex(r"(\d+\.)?(\d+)(?:\.\d+)? or (less|older|newer|later)")


@frozen
class VersionPair:
    """Two releases that do not go together."""

    asker: str
    """What asks for the one, with its release where the message has it; empty where it does not say."""
    verb: str
    subject: str
    """Whose releases they are; empty where the message does not say."""
    wanted: str
    """A release, or a requirement."""
    found: str
    """The release that is there; empty where nothing says it."""

    @property
    def sentence(self) -> str:
        """Both sides in words."""
        found = f", but found {_joined(self.subject, self.found)}" if self.found else ""
        return f"{self.asker or 'a part of it'} {self.verb} {_joined(self.subject, self.plain)}{found}"

    @property
    def plain(self) -> str:
        """What is asked for, without the marks of a requirement for one release."""
        return self.wanted.removeprefix("==").strip()

    @property
    def differs(self) -> bool:
        """Whether they are two: not a CPU build where one for CUDA is asked for, which is no matter of releases."""
        wanted, found = TorchBuild.parse(self.wanted), TorchBuild.parse(self.found)
        return wanted != found and (wanted.version, found.label) != (found.version, "cpu")

    def is_in(self, text: str) -> bool:
        """Whether a text names both sides already."""
        return self.wanted in text and self.found in text

    def remedies(self) -> Iterator[Remedy]:
        """Yield how to change the one side and how the other; in words, where no distribution is known."""
        asker, found = self.asker.partition(" ")[0], TorchBuild.parse(self.found)
        one = Remedy(f"Use {_joined(self.subject, self.plain)}", self._install_wanted(), "it is what is asked for")
        together = self._install_asker(_distribution(asker), found)
        other = Remedy(
            f"Use a release of {asker or 'what asks for it'} for {_joined(self.subject, self.found)}".rstrip(),
            together,
            "with both in one command pip takes a release that goes with the one that is there, or refuses"
            if together
            else "where there is one, that side can stay",
        )
        yield from (other, one) if self.verb == BUILT else (one, other)

    def _install_wanted(self) -> str:
        spec = _specifiers(self.wanted, self.verb)
        if self.subject == "Python":
            allowed = as_specifiers(spec)
            minor = next((minor for major, minor in PYTHONS if f"{major}.{minor}" in allowed), None)
            return f"py -3.{minor} -m venv fresh" if minor else ""
        index = TorchBuild.parse(self.wanted).index_option
        known = _distribution(self.subject) or (canonical(self.subject) if self.wanted[:1] in "<>=!~" else "")
        may = known and (index or not may_replace_a_build(known))
        return f'python -m pip install "{known}{spec}"{index}' if may else ""

    def _install_asker(self, asker: str, found: TorchBuild) -> str:
        subject = _distribution(self.subject)
        known = asker and subject and found.version
        pinned = f'"{subject}=={found.version}"{found.index_option}'
        return f"python -m pip install --upgrade {asker} {pinned}" if known else ""


def _joined(name: str, version: str) -> str:
    return f"{name} {version}".strip()


def _specifiers(wanted: str, verb: str) -> str:
    """Return what is asked for as a requirement has it."""
    if limit := _LIMIT.fullmatch(wanted):
        number = f"{limit[1] or ''}{(whole_number(limit[2]) or 0) + (limit[3] in ('less', 'older'))}"
        return f"{'<' if limit[3] in ('less', 'older') else '>='}{number}"
    if wanted[:1] in "<>=!~":
        return wanted.replace(" ", "")
    return f"{'<=' if verb == SERVES else '=='}{wanted}"


def _distribution(name: str) -> str:
    """Return the distribution of that name, where one is known."""
    plain = "torch" if name.lower() == "pytorch" else canonical(name)
    known = plain and (plain in provider_index().names or distribution_of_module(plain.replace("-", "_")))
    return plain if known and plain not in ("cudnn", "cuda") else ""


def is_distribution(name: str) -> bool:
    """Whether a word is the name of a distribution."""
    return bool(_distribution(name))


def read_pair(text: str, versions: Mapping[str, str]) -> VersionPair | None:
    """Return the two releases that a message holds against each other.

    ``versions`` has what else the text names with one release, in lower case: the side that a message leaves out.
    """
    for verb, subject, form in _forms():
        if found := form.search(text):
            said = {name: " ".join((value or "").split()).strip("()") for name, value in found.groupdict().items()}
            named = said.get("subject", "") or subject
            others = (versions.get(name, "") for name in (f"{named} toolkit".lower(), named.lower()))
            there = said.get("found", "") or next((one for one in others if one and one not in said["wanted"]), "")
            return VersionPair(_FOLDER.sub(" ", said.get("asker", "")), verb, named, said["wanted"], there)
    return None
