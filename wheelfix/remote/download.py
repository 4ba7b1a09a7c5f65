"""A whole file from a server: under a temporary name, resumed when the connection breaks, named when its hash fits."""

from __future__ import annotations

import hashlib
import time
from http import HTTPStatus
from typing import TYPE_CHECKING

from wheelfix.base.parsing import whole_number
from wheelfix.errors import InputError, NetworkFailure, shown_url
from wheelfix.remote.failures import PROXY_ACCOUNT, CutShort
from wheelfix.streams.output import AtomicFile

if TYPE_CHECKING:
    from pathlib import Path

    from wheelfix.remote.transport import ServerAnswer, Transport

LARGEST = 8 << 30
"""Bytes of the largest file that is downloaded; the largest wheels have 4 GB."""

_PHRASES = {status.value: status.phrase for status in HTTPStatus}


def refuse_status(answer: ServerAnswer, name: str) -> None:
    """Raise the error for an answer that has nothing of the file."""
    status = answer.status
    if status in (200, 206):
        return
    if status in (404, 410):
        raise InputError(f"{name} does not exist", because=f"the server answers {status}", hint="check the address")
    hint = "try again later"
    if status == 407:
        because = "the proxy asks for another user name and password"
        raise NetworkFailure(f"{name} cannot be reached through the proxy", because=because, hint=PROXY_ACCOUNT)
    if status == 401:
        hint = "put user name and password into the URL of the index, into .netrc or into the keyring, as for pip"
    elif status == 403:
        hint = "check that this account may read it"
    # not in the server's words, which may repeat our password
    because = f"the server answers {status} {_PHRASES.get(status, '')}".strip()
    raise NetworkFailure(f"{name} cannot be read", because=because, hint=hint)


def download(transport: Transport, url: str, target: Path, *, sha256: str = "", limit: int = LARGEST) -> int:
    """Download a file and return its size; the target appears when it is whole and has the hash, or not at all."""
    name = shown_url(url)
    with AtomicFile(target, in_place=True) as out:  # in the cache, where an earlier one may have been read
        digest, condition, size = hashlib.sha256(), "", -1
        failed = furthest = 0
        while size < 0 or out.position < size:
            before = out.position
            headers = {"Range": f"bytes={before}-", "If-Range": condition} if before else {}
            try:
                with transport.get(url, headers) as answer:
                    refuse_status(answer, name)
                    if before and answer.status == 200:  # it changed, or the server cannot resume: begin again
                        out.rewind(0)
                        digest, before = hashlib.sha256(), 0
                    size = _expected(answer, before, size, limit, name)
                    condition = condition_of(answer)
                    for piece in answer.chunks((size if size >= 0 else limit) - before):
                        out.write(piece)
                        digest.update(piece)
                if size < 0 or out.position == size:
                    break
                raise CutShort(f"{name} cannot be downloaded", because="the connection was cut")
            except CutShort as error:
                # one that begins again and again comes no further than before
                failed = failed + 1 if out.position - furthest < transport.patience.least_progress else 0
                furthest = max(furthest, out.position)
                if failed >= transport.patience.tries:
                    raise NetworkFailure(error.what, because=error.reasons, hint=error.hint) from error
                if not condition:  # nothing says whether it is still the same file
                    out.rewind(0)
                    digest, size = hashlib.sha256(), -1
                time.sleep(min(transport.patience.first_wait * 2**failed, transport.patience.longest_wait))
        check_hash(digest.hexdigest(), sha256, name)
        total = out.position
        out.commit()
    return total


def condition_of(answer: ServerAnswer) -> str:
    """Return what If-Range may say about the file of an answer; nothing where only its date or a weak tag is known."""
    tag = answer.headers.get("ETag", "")
    return tag if tag and not tag.startswith("W/") else answer.headers.get("Last-Modified", "")


def check_hash(found: str, wanted: str, name: str) -> None:
    """Refuse bytes whose hash is another than the index or the lock says."""
    if wanted and found != wanted.lower():
        raise NetworkFailure(
            f"{name} is not what was expected",
            because=f"its sha256 is {found}, expected {wanted.lower()}",
            hint="nothing of it was kept; if a proxy or mirror changes files, use another index",
        )


def _expected(answer: ServerAnswer, before: int, known: int, limit: int, name: str) -> int:
    """Return how many bytes the whole file has, as far as the server says; -1 where it does not."""
    if answer.headers.get("Content-Encoding", "identity").strip().lower() not in ("", "identity"):
        raise NetworkFailure(
            f"{name} cannot be downloaded",
            because="the server compresses its answers although it was asked not to",
            hint="download the wheel and name the file",
        )
    length = whole_number(answer.headers.get("Content-Length", "").strip(), 18)
    size = before + length if length is not None else -1
    if answer.status == 206:
        wanted = f"bytes {before}-{known - 1}/{known}"
        if known < 0 or answer.headers.get("Content-Range", "").strip() != wanted:
            raise NetworkFailure(f"{name} cannot be downloaded", because="the server resumes at another place")
        size = known
    if size > limit:
        raise InputError(f"{name} is not downloaded", because=f"it has {size} bytes, more than {limit}")
    return size
