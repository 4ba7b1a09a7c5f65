"""User names and passwords for servers, from where pip takes them: URLs of indexes, netrc, the keyring.

netrc is read by requests itself. The keyring is asked only after a server refused, and there is never a prompt.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from wheelfix.errors import EnvironmentFailure
from wheelfix.programs import find_program, run_program
from wheelfix.remote.addresses import server_of, userinfo, without_secrets

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable


class Credentials:
    """What is known about the accounts of this user."""

    def __init__(
        self,
        indexes: Iterable[str] = (),
        keyring: str = "auto",
        *,
        module: Callable[[], Any] | None = None,
        program: Callable[[str, str], str] | None = None,
    ) -> None:
        """``keyring`` as pip's ``keyring-provider``; ``module`` and ``program`` are the two ways to ask it."""
        self._indexes = tuple(indexes)
        self._keyring = keyring if keyring in ("disabled", "import", "subprocess") else "auto"
        self._module = module or _keyring_module
        self._program = program or _ask_program

    def of(self, url: str) -> tuple[str, str] | None:
        """Return the account for a URL: that in the URL itself, or of an index on the same server."""
        found = userinfo(url)
        if found is not None and found[1]:
            return found
        for index in self._indexes:
            account = userinfo(index)
            if account is not None and account[1] and server_of(index) == server_of(url):
                return account
        return None

    def after_refusal(self, url: str) -> tuple[str, str] | None:
        """Return the account that the keyring has for a URL, its index or its server; None where it has none."""
        if self._keyring == "disabled":
            return None
        names = [userinfo(one) for one in (url, *self._same_server(url))]
        user = next((name[0] for name in names if name and name[0]), "")
        services = [*(without_secrets(one) for one in self._same_server(url)), _host(url)]
        if self._keyring in ("auto", "import") and (found := self._ask_module(services, user)):
            return found
        if self._keyring in ("auto", "subprocess") and user:
            for service in services:
                if password := self._program(service, user):
                    return user, password
        return None

    def _same_server(self, url: str) -> list[str]:
        return [index for index in self._indexes if server_of(index) == server_of(url)]

    def _ask_module(self, services: Iterable[str], user: str) -> tuple[str, str] | None:
        try:
            keyring = self._module()
            for service in services:
                found = keyring.get_credential(service, user or None)
                if found is not None and found.password:
                    return str(found.username or user), str(found.password)
        except Exception:  # whatever a backend does, the server's refusal is what the user has to see
            return None
        return None


def _keyring_module() -> Any:
    return importlib.import_module("keyring")


def _ask_program(service: str, user: str) -> str:
    program = find_program("keyring")
    if program is None:
        return ""
    try:
        done = run_program([program, "get", service, user], timeout=30)
    except EnvironmentFailure:
        return ""
    return done.out.strip("\r\n") if done.code == 0 else ""


def _host(url: str) -> str:
    scheme, host, port = server_of(url)
    return host if port == {"https": 443, "http": 80}.get(scheme) else f"{host}:{port}"
