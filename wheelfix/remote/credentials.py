"""User names and passwords for servers, from where pip takes them: URLs of indexes, netrc, the keyring.

netrc is read by requests itself. The keyring is asked only after a server refused, and there is never a prompt.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from wheelfix.base.parsing import parse_json
from wheelfix.base.programs import find_program, run_program
from wheelfix.errors import EnvironmentFailure
from wheelfix.remote.addresses import identity, server_of, split_url, userinfo

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
        program: Callable[[str, str], tuple[str, str] | None] | None = None,
    ) -> None:
        """``keyring`` as pip's ``keyring-provider``; ``module`` and ``program`` are the two ways to ask it."""
        self._indexes = tuple(indexes)
        self._keyring = keyring if keyring in ("disabled", "import", "subprocess") else "auto"
        self._module = module or _keyring_module
        self._program = program or _ask_program

    def of(self, url: str) -> tuple[str, str] | None:
        """Return the account for a URL: that in the URL itself, or of an index on the same server.

        One with a password comes first; the password is empty where only a user name or a token is known.
        """
        found = [account for one in (url, *self._same_server(url)) if (account := userinfo(one)) and any(account)]
        return next((account for account in found if account[1]), found[0] if found else None)

    def after_refusal(self, url: str) -> tuple[str, str] | None:
        """Return the account that the keyring has for a URL, its index or its server; None where it has none."""
        if self._keyring == "disabled":
            return None
        names = [userinfo(one) for one in (url, *self._same_server(url))]
        user = next((name[0] for name in names if name and name[0]), "")
        services = [*(identity(one) for one in self._same_server(url)), _host(url)]
        if self._keyring in ("auto", "import") and (found := self._ask_module(services, user)):
            return found
        if self._keyring in ("auto", "subprocess"):
            return next((account for service in services if (account := self._program(service, user))), None)
        return None

    def _same_server(self, url: str) -> list[str]:
        """Return the indexes on the server of a URL, the one whose path is most like that of the URL first."""
        own = split_url(url).path.split("/")

        def common(index: str) -> int:
            pairs = zip(own, split_url(index).path.split("/"), strict=False)
            return next((number for number, (a, b) in enumerate(pairs) if a != b), len(own))

        found = [index for index in self._indexes if server_of(index) == server_of(url)]
        return sorted(found, key=common, reverse=True)

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


def _ask_program(service: str, user: str) -> tuple[str, str] | None:
    """Return what the program keyring knows about a service; a user whose name is not known needs a newer one."""
    program = find_program("keyring")
    if program is None:
        return None
    words = ["get", service, user] if user else ["--mode=creds", "--output=json", "get", service]
    try:
        done = run_program([program, *words], timeout=30)
        if done.code != 0:
            return None
        if user:
            password = done.out.strip("\r\n")
            return (user, password) if password else None
        found = parse_json(done.out)
        return (str(found["username"]), str(found["password"])) if isinstance(found, dict) else None
    except (EnvironmentFailure, ValueError, KeyError):
        return None


def _host(url: str) -> str:
    scheme, host, port = server_of(url)
    return host if port == {"https": 443, "http": 80}.get(scheme) else f"{host}:{port}"
