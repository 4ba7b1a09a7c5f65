"""Real servers and proxies for tests: nginx and tinyproxy, with certificates of an authority of our own."""

from __future__ import annotations

import contextlib
import datetime
import ipaddress
import shutil
import socket
import subprocess
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID


def free_port() -> int:
    """Return a port that nobody listens on."""
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        return found.getsockname()[1]


@contextlib.contextmanager
def started(command: list[str], port: int) -> Iterator[None]:
    """Run a server, from when it answers until it is no longer needed."""
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        for _ in range(400):
            with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port), 1):
                break
            time.sleep(0.05)
        else:
            pytest.fail(f"{command[0]} does not answer")
        yield
    finally:
        process.terminate()
        process.wait(10)


def program(name: str) -> str:
    """Return the path of a program; the test is skipped without it."""
    found = shutil.which(name) or shutil.which(name, path="/usr/sbin")
    if found is None:
        pytest.skip(f"{name} is not installed")
    return found


@contextlib.contextmanager
def nginx(folder: Path, more: str = "", *, certificates: Certificates | None = None, server: str = "") -> Iterator[str]:
    """Serve a folder with nginx, over TLS where there are certificates; ``server`` are lines about the server."""
    found, port, work = program("nginx"), free_port(), folder.parent / "nginx"
    work.mkdir(exist_ok=True)
    paths = " ".join(
        f"{kind}_temp_path {work}/{kind};" for kind in ("client_body", "proxy", "fastcgi", "uwsgi", "scgi")
    )
    tls = f"ssl_certificate {certificates.server}; ssl_certificate_key {certificates.server};" if certificates else ""
    (work / "nginx.conf").write_text(
        f"daemon off; master_process off; pid {work}/pid; error_log {work}/error.log; events {{}}\n"
        f"http {{ {paths} access_log {work}/access.log; types {{ text/html html; }} {more}\n"
        f"server {{ listen 127.0.0.1:{port}{' ssl' if tls else ''}; {tls} root {folder}; autoindex on; {server} }} }}\n"
    )
    with started([found, "-p", str(work), "-c", str(work / "nginx.conf"), "-e", str(work / "error.log")], port):
        yield f"https://localhost:{port}" if tls else f"http://127.0.0.1:{port}"


@dataclass(frozen=True)
class Proxy:
    """A running proxy."""

    host: str
    log: Path

    @property
    def uses(self) -> int:
        """How many tunnels and requests it was asked for."""
        return self.log.read_text().count("Request (file descriptor")


@contextlib.contextmanager
def tinyproxy(folder: Path, account: str = "") -> Iterator[Proxy]:
    """Run a forward proxy; ``account`` is the user name and the password that it wants, with a blank between."""
    found, port = program("tinyproxy"), free_port()
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "log").write_text("")
    (folder / "tinyproxy.conf").write_text(
        f'Port {port}\nListen 127.0.0.1\nTimeout 20\nLogFile "{folder}/log"\nLogLevel Connect\nMaxClients 50\n'
        + (f"BasicAuth {account}\n" if account else "")
    )
    with started([found, "-d", "-c", str(folder / "tinyproxy.conf")], port):
        yield Proxy(f"127.0.0.1:{port}", folder / "log")


# ------------------------------------------------------------------------------------------------------- certificates


@dataclass(frozen=True)
class Certificates:
    """PEM files: of an authority, of a server for localhost and of a client, the latter two with their keys."""

    authority: Path
    server: Path
    client: Path


def make_certificates(folder: Path) -> Certificates:
    """Make an authority and what it signs."""
    folder.mkdir(parents=True, exist_ok=True)
    key, name = ec.generate_private_key(ec.SECP256R1()), _name("Test authority")
    root = _certificate(name, key.public_key(), name, key, authority=True)
    (folder / "authority.pem").write_bytes(root.public_bytes(serialization.Encoding.PEM))
    for who in ("server", "client"):
        own = ec.generate_private_key(ec.SECP256R1())
        signed = _certificate(_name(who), own.public_key(), name, key)
        secret = own.private_bytes(
            serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
        )
        (folder / f"{who}.pem").write_bytes(signed.public_bytes(serialization.Encoding.PEM) + secret)
    return Certificates(folder / "authority.pem", folder / "server.pem", folder / "client.pem")


def _name(text: str) -> x509.Name:
    return x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, text)])


def _certificate(
    subject: x509.Name,
    key: ec.EllipticCurvePublicKey,
    issuer: x509.Name,
    signer: ec.EllipticCurvePrivateKey,
    *,
    authority: bool = False,
) -> x509.Certificate:
    now = datetime.datetime.now(datetime.timezone.utc)
    names = [x509.DNSName("localhost"), x509.IPAddress(ipaddress.ip_address("127.0.0.1"))]
    usage = dict.fromkeys(
        ("content_commitment", "key_encipherment", "data_encipherment", "key_agreement", "encipher_only",
         "decipher_only"), False,
    )  # fmt: skip
    builder = (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(issuer)
        .public_key(key)
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - datetime.timedelta(days=1))
        .not_valid_after(now + datetime.timedelta(days=30))
        .add_extension(x509.BasicConstraints(ca=authority, path_length=None), critical=True)
        .add_extension(x509.SubjectKeyIdentifier.from_public_key(key), critical=False)
        .add_extension(x509.AuthorityKeyIdentifier.from_issuer_public_key(signer.public_key()), critical=False)
        .add_extension(
            x509.KeyUsage(digital_signature=True, key_cert_sign=authority, crl_sign=authority, **usage), critical=True
        )
    )
    if not authority:
        builder = builder.add_extension(x509.SubjectAlternativeName(names), critical=False)
    return builder.sign(signer, hashes.SHA256())
