"""Two distributions that do not fit each other: one imports functions that the other's DLL does not export."""

from __future__ import annotations

from typing import TYPE_CHECKING

from wheelfix.diagnosis.symptoms.causetable import Remedy
from wheelfix.diagnosis.symptoms.installing import may_replace_a_build
from wheelfix.knowledge.cuda import FAMILY, TorchBuild
from wheelfix.knowledge.provider_index import provider_index
from wheelfix.loader.requirements import Requirements, fits, newest_fitting
from wheelfix.loader.view import base_name
from wheelfix.model import EdgeKind, InView, canonical, dll_key
from wheelfix.values import dataclass

if TYPE_CHECKING:
    from collections.abc import Iterator

    from wheelfix.diagnosis.case import ScannedPackage
    from wheelfix.loader.view import FileView
    from wheelfix.model import Edge

_LONGEST_SYMBOL = 60


@dataclass(frozen=True, slots=True)
class Pair:
    """A distribution that was built for another version of a second one than the one beside it."""

    user: str
    user_version: str
    provider: str
    provider_version: str
    requirement: str
    """The versions of the provider that the user's metadata asks for; empty when it names none."""
    edge: Edge
    provider_build: str = ""
    """The provider's version with a label where its files are not those of PyPI's build."""

    @property
    def requirement_holds(self) -> bool:
        """Whether the provider is one that the user's metadata asks for."""
        return fits(self.provider_version, self.requirement)

    @property
    def summary(self) -> str:
        """The cause in one sentence, the same for every file of the pair."""
        text = f"{self.user} {self.user_version} does not fit {self.provider} {self.provider_version}"
        if self.requirement and not self.requirement_holds:
            return f"{text}: it requires {self.provider}{self.requirement}."
        return f"{text}: it was built for another version or another kind of build."

    @property
    def chain(self) -> tuple[str, str]:
        """The two files, by their names."""
        assert isinstance(self.edge.provider, InView)
        return base_name(self.edge.importer), base_name(self.edge.provider.path)

    @property
    def explanation(self) -> str:
        """Which file imports what, and from where."""
        importer, provider = self.chain
        symbol = self.edge.unexported[0]
        name = f"ordinal {symbol}" if isinstance(symbol, int) else symbol
        name = name if len(name) <= _LONGEST_SYMBOL else f"{name[:_LONGEST_SYMBOL]}…"
        rest = len(self.edge.unexported) - 1
        more = f" and {rest} more" if rest else ""
        return (
            f"{importer} of {self.user} imports {name}{more} from {provider}, and the {provider} of {self.provider} "
            f"{self.provider_version} does not export {'them' if rest else 'it'}. No file is missing, and neither "
            "file is damaged."
        )


def mismatched_edges(case: ScannedPackage) -> Iterator[Edge]:
    """Yield the imports across two distributions that the DLL of the other does not answer."""
    subject = case.exam.subject
    for edge in case.resolution.edges:
        if edge.kind is EdgeKind.IMPORT and edge.unexported and isinstance(edge.provider, InView):
            provider = subject.owner(edge.provider.path)
            if provider and provider != subject.owner(edge.importer):
                yield edge


def find_pair(case: ScannedPackage, importer: str = "", provider: str = "") -> Pair | None:
    """Return the two distributions behind an import that fails with 127 or 182, or None if both files are of one."""
    for edge in mismatched_edges(case):
        assert isinstance(edge.provider, InView)
        if (not importer or dll_key(base_name(edge.importer)) == dll_key(importer)) and (
            not provider or dll_key(base_name(edge.provider.path)) == dll_key(provider)
        ):
            return pair_of_edge(case, edge)
    return None


def pair_of_edge(case: ScannedPackage, edge: Edge) -> Pair:
    """Return the two distributions of an import that crosses them."""
    subject, identity = case.exam.subject, case.exam.identity
    beside = subject.view.beside
    assert beside is not None
    assert isinstance(edge.provider, InView)
    user, provider = subject.owner(edge.importer), subject.owner(edge.provider.path)
    requires = beside.requires(user) if user else identity.requires
    asked = Requirements(requires, subject.profile).direct()
    requirement = next((one.specifier for one in asked if one.name == provider and not one.extra), "")
    name, version = (user, beside.version(user)) if user else (canonical(identity.name), identity.version)
    installed = beside.version(provider)
    build = torch_version(installed, subject.view) if provider == "torch" else installed
    return Pair(name, version, provider, installed, requirement, edge, build)


_GPU_PARTS = ("torch_cuda.dll", "torch_cuda_cpp.dll", "c10_cuda.dll", "c10_hip.dll", "torch_xpu.dll", "c10_xpu.dll")


def torch_version(version: str, view: FileView) -> str:
    """Return torch's version, marked where it has no label and its files are a build for a GPU.

    PyPI has builds without a label and without GPU code only: what has GPU code and no label is on no known index.
    """
    if version and "+" not in version and any(view.named(name) for name in _GPU_PARTS):
        return f"{version}+unknown"
    return version


# ----------------------------------------------------------------------------------------------------------- remedies


def pair_remedies(pair: Pair) -> tuple[Remedy, ...]:
    """Return the ways to make two distributions fit: another user of the same provider, or another provider."""
    steps = [_other_user(pair)]
    if pair.requirement and not pair.requirement_holds:
        steps.append(_other_provider(pair))
    return tuple(steps)


def _other_user(pair: Pair) -> Remedy:
    wanted = _user_for(pair)
    title = f"Install the {pair.user} that was built for {pair.provider} {pair.provider_version}"
    if wanted == pair.user_version.partition("+")[0]:
        title = f"Install {pair.user} {wanted} again, as the same kind of build as {pair.provider}"
        again = "--force-reinstall --no-deps "
    else:
        again = ""
    if not wanted:
        return Remedy(title, "", f"the page of {pair.user} lists which release belongs to which {pair.provider}")
    return Remedy(
        f"{title}: {wanted}" if not again else title,
        _install(f"{again}{pair.user}=={wanted}", pair),
        f"{pair.user} {wanted} requires {pair.provider} in that version",
    )


def _other_provider(pair: Pair) -> Remedy:
    command = _install(f"{pair.provider}{pair.requirement}", pair)
    why = f"it replaces {pair.provider} {pair.provider_version}"
    label = TorchBuild.parse(pair.provider_build).label
    if pair.provider == "torch" and label:
        wanted = TorchBuild(pair.requirement.removeprefix("=="), label)
        if not wanted.is_published:
            command = ""
            why += f"; PyTorch's index is not known to have a build of it for {label}"
    return Remedy(
        f"Or install the {pair.provider} that {pair.user} {pair.user_version} requires: "
        f"{pair.provider}{pair.requirement}",
        command,
        why,
        danger=f"other packages that were built for {pair.provider} {pair.provider_version} stop working",
    )


def _user_for(pair: Pair) -> str:
    """The newest release of the user whose metadata asks for the provider that is there; empty if none is known."""
    index = provider_index()
    found = []
    for wheel in index.looked_at(pair.user):
        required = index.requirements(pair.user, wheel.version) or ()
        own = [one.specifier for one in required if one.name == pair.provider]
        # A specifier that admits any version says nothing about the version that it was built for.
        if any("==" in specifier and fits(pair.provider_version, specifier) for specifier in own):
            found.append(wheel.version)
    return newest_fitting(found, "")


def _install(words: str, pair: Pair) -> str:
    """The command, or nothing where it could replace a build for a GPU by one without."""
    *options, requirement = words.split(" ")
    start = " ".join(["python -m pip install", *options])
    if pair.provider == "torch" and pair.user in FAMILY:
        build = TorchBuild.parse(pair.provider_build)
        return f'{start} "{requirement}"{build.index_option}' if build.is_published else ""
    if may_replace_a_build(requirement) or "+" in pair.provider_build:
        return ""
    return f'{start} "{requirement}"'
