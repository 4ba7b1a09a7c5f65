"""Everything that one run needs to read wheels from servers: connections, indexes, what was fetched before."""

from __future__ import annotations

import functools
import re
from typing import TYPE_CHECKING

from wheelfix.base.parsing import as_requirement
from wheelfix.errors import EnvironmentFailure, InputError, UsageError, shown_url
from wheelfix.remote.addresses import file_name, is_url

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from packaging.requirements import Requirement

    from wheelfix.base.options import RemoteOptions
    from wheelfix.remote.cache import Cache
    from wheelfix.remote.packageindex import IndexFile, PackageIndex
    from wheelfix.remote.ranges import RemoteWheel
    from wheelfix.remote.settings import IndexSettings
    from wheelfix.remote.transport import Patience, Transport


class Client:
    """Connections, indexes and cache of one run; used in a ``with`` block. Nothing happens before it is used."""

    def __init__(
        self,
        options: RemoteOptions,
        *,
        say: Callable[[str], object] = lambda _: None,
        patience: Patience | None = None,
    ) -> None:
        self.options = options
        self.said: list[str] = []
        """What was said about servers until now."""
        self._say, self._patience = say, patience

    def __enter__(self) -> Client:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Close connections, and make the cache as small as it has to be."""
        if "transport" in self.__dict__:
            self.transport.close()
        if "cache" in self.__dict__:
            self.cache.__exit__()

    @functools.cached_property
    def settings(self) -> IndexSettings:
        """The indexes to ask."""
        from wheelfix.remote.settings import index_settings

        return index_settings(self.options)

    @functools.cached_property
    def transport(self) -> Transport:
        """The connections; EnvironmentFailure where none may be made."""
        from wheelfix.remote.transport import Transport

        self.refuse_offline("a server")
        settings = self.settings
        known = settings.credentials()
        return Transport(
            patience=self._patience,
            connection=settings.connection,
            credentials=known.of,
            after_refusal=known.after_refusal,
            say=self._tell,
        )

    def _tell(self, message: str) -> None:
        self.said.append(message)
        self._say(message)

    @functools.cached_property
    def index(self) -> PackageIndex:
        """The package indexes."""
        from wheelfix.remote.packageindex import PackageIndex

        return PackageIndex(self.transport, self.settings)

    @functools.cached_property
    def cache(self) -> Cache:
        """What was fetched before."""
        from wheelfix.remote.cache import Cache

        return Cache(self.options.cache_dir, keep=self.options.cache, say=self._tell)

    def refuse_offline(self, what: str) -> None:
        """EnvironmentFailure if nothing may be asked for."""
        if self.options.offline:
            raise EnvironmentFailure(
                f"{what} cannot be reached", because="--offline was given", hint="leave out --offline, or name files"
            )

    # ---------------------------------------------------------------------------------------------------- wheels

    def find(self, word: str) -> RemoteWheel | Path:
        """Return the wheel that a URL or a requirement names; InputError if there is none."""
        self.refuse_offline(shown_url(word))
        if is_url(word):
            address, _, fragment = word.partition("#")
            if not file_name(address).lower().endswith(".whl"):
                raise InputError(
                    f"{shown_url(word)} is not a wheel",
                    because="the address does not end in the name of a wheel",
                    hint="give the address of the file itself: https://…/name-version-….whl",
                )
            found = re.search("sha256=([0-9a-fA-F]{64})", fragment)
            return self.wheel_at(address, sha256=found[1].lower() if found else "")
        return self.wheel_of(self.index.choose(parsed(word), self.options.target))

    def wheel_of(self, file: IndexFile) -> RemoteWheel | Path:
        """Return a file of an index: a path where the index is on this disk."""
        if file.url.lower().startswith("file:"):
            return file.local_path
        return self.wheel_at(file.url, name=file.name, sha256=file.sha256, page=file.page, size=file.size)

    def wheel_at(self, url: str, *, name: str = "", sha256: str = "", page: str = "", size: int = 0) -> RemoteWheel:
        """Return the wheel at an address, with what an index says about it."""
        from wheelfix.remote.ranges import RemoteWheel

        return RemoteWheel(url, self.transport, self.cache, name=name, sha256=sha256, page=page, size=size)


def parsed(word: str) -> Requirement:
    """Return a requirement; UsageError if the word is not one."""
    try:
        return as_requirement(word)
    except ValueError as exc:
        reason = str(exc).partition("\n")[0][:200]
        raise UsageError(f"{word} is neither a file nor a requirement", because=reason) from exc
