"""Answer every need of a wheel from the roots, in rounds, until the model says that nothing more can be met."""

from __future__ import annotations

from typing import TYPE_CHECKING

from wheelfix.errors import UsageError
from wheelfix.exam.needs import Need
from wheelfix.exam.requests import requests_by_group, wanted_release
from wheelfix.knowledge.system import classify
from wheelfix.loader.resolve import resolve
from wheelfix.loader.view import SITE_PACKAGES, base_name, parent
from wheelfix.model import dll_key
from wheelfix.plan.answers import NeedAnswers
from wheelfix.plan.chosen import in_site_packages
from wheelfix.plan.cleanup import drops_asked_for, leftovers, unusable
from wheelfix.plan.model import Drop
from wheelfix.plan.needs import unmet_needs
from wheelfix.roots.choice import choose_release
from wheelfix.rules.allowed import matches_any
from wheelfix.values import replace

if TYPE_CHECKING:
    from wheelfix.model import Resolution


ROUNDS = 64
"""More rounds than the longest chain of dependencies; a bound, not a policy."""


class Planner(NeedAnswers):
    """Drops, includes, then answers needs from the roots in rounds, until nothing changes."""

    __slots__ = ()

    def run(self) -> None:
        """Drop, include, answer needs until nothing changes, then clean up."""
        self.drop_files(drops_asked_for(self.before, self.options))
        if self.options.clean:
            self.drop_files(Drop(self.view.origin(path), why) for path, why in unusable(self.before.subject))
        asked = [Need(name) for name in self.options.include]
        self._settle_releases([*unmet_needs(self.view, self._resolve(), self.options.companions, self.cuda), *asked])
        self._include()
        self._restore()
        self._answer_all()
        if self.options.clean:
            subject = replace(self.before.subject, view=self.view, resolution=self._resolve())
            self.drop_files(leftovers(subject, self.chosen.values()))

    def _resolve(self) -> Resolution:
        profile = self.before.subject.profile
        if self.options.with_vcredist:
            profile = replace(profile, assume=profile.assume - {"vcredist"})
        return resolve(self.view, profile, self.before.identity.requires)

    def _answer_all(self) -> None:
        """Answer needs in rounds, until the model says that nothing changes."""
        for _ in range(ROUNDS):
            resolution = self._resolve()
            found = list(unmet_needs(self.view, resolution, self.options.companions, self.cuda))
            self._settle_releases(found)
            answers = [self.answer(need, resolution.search_dirs) for need in found]
            if not any(answers):
                break
        if self.options.with_vcredist:
            self._require_runtime(found)

    def _require_runtime(self, left: list[Need]) -> None:
        """Refuse ``--with-vcredist`` where the runtime is needed and no root has it."""
        machine = self.before.subject.machine
        absent = [need.name for need in left if need.reached and classify(need.name, machine).kind == "vcredist"]
        if absent:
            raise UsageError(
                "--with-vcredist",
                because=[self.unanswered.get(dll_key(name)) or f"no root has {name}" for name in absent[:4]],
                hint="name the redist folder of Visual Studio with --root, or the wheel msvc-runtime from PyPI",
            )

    def _include(self) -> None:
        for name in self.options.include:
            where = self._folder_for_included()
            if self.view.find(where, name) is None:
                need = Need(name)
                if not self.take(need, name, (where,), "include", f"asked for with --include {name}"):
                    raise UsageError(
                        f"--include {name}",
                        because=self.unanswered.get(dll_key(name), "no root has a file of that name"),
                        hint="name the folder or wheel that has it with --root; wheelfix roots lists what is searched",
                    )

    def _restore(self) -> None:
        """Put DLLs that RECORD lists and the wheel does not have where RECORD says, if a root has them."""
        if not self.restorable:
            return
        found = unmet_needs(self.view, self._resolve(), self.options.companions, self.cuda)
        needs = {dll_key(need.name): need for need in found}
        for path, row in self.restorable.items():
            name = base_name(path)
            if self.index.candidates(name) and not matches_any(name, self.options.exclude):
                need = needs.get(dll_key(name), Need(name))
                self.take(need, name, (parent(path),), "include", f"RECORD lists {row}, and the wheel does not have it")

    def _folder_for_included(self) -> str:
        subject = self.before.subject
        if self.options.dest is not None:
            return in_site_packages(self.options.dest)
        if subject.startup is not None:
            return subject.startup.lib
        reached = sorted(subject.resolution.reached) or sorted(subject.images)
        return parent(reached[0]) if reached else SITE_PACKAGES

    def _settle_releases(self, found: list[Need]) -> None:
        """Choose the release of each toolkit once, when the first of its DLLs is needed."""
        asked = [x for x in found if not matches_any(x.name, self.options.exclude) and not self.may_be_found(x)]
        for need in asked:
            for name in need.names:
                if not self.index.candidates(name):
                    self.look_on_index(name)
        for group, requests in requests_by_group(asked, self.view, self.before.subject).items():
            if group not in self.releases:
                wanted = wanted_release(group, self.before.subject)
                self.releases[group] = choose_release(group, requests, self.index, wanted, self.terms(()))
