"""Pages of package indexes: what links mean, and that no page takes long."""

from __future__ import annotations

import sys
import time

import pytest
from packaging.requirements import Requirement

from tests.support.hostilepages import page_of, read_and_choose
from tests.support.parts import parts
from tests.support.patience import patience
from wheelfix.base.options import InstallTarget
from wheelfix.errors import InputError
from wheelfix.remote.packageindex import LONGEST_NAME, MOST_FILES, IndexFile, choose_file, project_names, read_page

URL = "https://index.example/simple/demo/"
NAME = "demo-1.0-py3-none-any.whl"


@pytest.mark.parametrize(
    ("page", "url", "name"),
    [
        (f'<a href="../{NAME}">{NAME}</a>', f"https://index.example/simple/{NAME}", NAME),
        (f"<A HREF='{NAME}' >\n {NAME}\n</A>", f"{URL}{NAME}", NAME),
        (f"<a href={NAME}>x</a>", f"{URL}{NAME}", NAME),
        (f"<a href={NAME}>de<b>mo</b></a>", f"{URL}{NAME}", NAME),
        (f'<base href="https://files.example/"><a href="{NAME}">x</a>', f"https://files.example/{NAME}", NAME),
        (f'<a href="a?b=1&amp;c=2/{NAME}">{NAME}</a>', f"{URL}a?b=1&c=2/{NAME}", NAME),
        (f'<!-- <a href="no.whl"> --><a title="> <a href=no.whl>" href="{NAME}">', f"{URL}{NAME}", NAME),
        (f'<script>"<a href=no.whl>"</script><a href="{NAME}">', f"{URL}{NAME}", NAME),
        (f'<!DOCTYPE html><a href="{NAME}" href="no.whl">', f"{URL}{NAME}", NAME),
        ('<a href="%64emo-1.0-py3-none-any.whl">', f"{URL}%64emo-1.0-py3-none-any.whl", NAME),
        (f'a < b <a href="{NAME}">x', f"{URL}{NAME}", NAME),
    ],
)
def test_a_link(page: str, url: str, name: str) -> None:
    (file,) = read_page(page.encode(), "text/html", URL)
    assert (file.url, file.name) == (url, name)


def test_what_is_said_about_a_file() -> None:
    page = (
        f'<a href="{NAME}#sha256={"AB" * 32}" data-requires-python="&gt;=3.8" data-core-metadata="sha256=x" '
        f'data-yanked="">{NAME}</a><a href="{NAME}" data-core-metadata=false>'
    )
    first, second = read_page(page.encode(), "text/html", URL)
    assert first == IndexFile(NAME, f"{URL}{NAME}", True, True, "ab" * 32, 0, ">=3.8")
    assert second == IndexFile(NAME, f"{URL}{NAME}")


def test_names_of_projects() -> None:
    assert project_names(b'<a href="/simple/a-b/">a-b</a><a href="c/">c</a>', "text/html") == ["a-b", "c"]
    assert project_names(b'{"projects": [{"name": "a"}, {}, 5, {"name": 5}]}', "application/json") == ["a"]


OPEN = ["<!--", "<a ", "<a href=", '<a href="', "<a href='x\"", "<![", "<?", "</a ", "<", "<script>", "<style><a"]


@pytest.mark.slow
@pytest.mark.parametrize("piece", OPEN)
def test_open_ends_take_time_in_proportion(piece: str) -> None:
    """200 KB of some of these took html.parser more than a minute."""

    def seconds(size: int) -> float:
        data = piece.encode() * (size // len(piece))
        started = time.process_time()
        read_page(b"<" + data, "text/html", URL)
        return time.process_time() - started

    small, large = seconds(500_000), seconds(2_000_000)
    assert large < max(10 * small, patience(1))


def test_a_product_of_tags_is_not_expanded() -> None:
    """A name of 2 KB stood for a hundred million tags: 55 s and 1.1 GB."""
    many = ".".join(f"p{number}" for number in range(15))
    files = [IndexFile(f"demo-1.{number}-{many}.py3-{many}.none-{many}.any.whl", "u") for number in range(500)]
    files.append(IndexFile(f"demo-9-{'a.' * 300}py3-none-any.whl", "too long"))
    started = time.process_time()
    chosen = choose_file(files, Requirement("demo"), InstallTarget("win_amd64", (3, 11)), "")
    assert chosen.name.startswith("demo-1.499-")
    assert time.process_time() - started < patience(5)
    data = f'<a href="x/{"a" * (LONGEST_NAME + 1)}.whl">x</a>'.encode()
    assert read_page(data, "text/html", URL) == []


def test_too_many_files() -> None:
    for data, kind in (
        (b"<a href=x>" * (MOST_FILES + 1), "text/html"),
        (b'{"files": [' + b"{}," * MOST_FILES + b"{}]}", "application/json"),
    ):
        with pytest.raises(ValueError, match="more than"):
            read_page(data, kind, URL)


def test_too_many_conditions() -> None:
    wanted = Requirement("demo" + ",".join(f"!=9.{number}" for number in range(300)))
    with pytest.raises(InputError, match="more than 250 conditions"):
        choose_file([IndexFile(NAME, "u")], wanted, InstallTarget("win_amd64"), "")
    rules = [IndexFile(f"demo-{number}-py3-none-any.whl", "u", requires_python=f"<1.{number}") for number in range(600)]
    with pytest.raises(InputError, match="different texts about versions of Python"):
        choose_file(rules, Requirement("demo"), InstallTarget("win_amd64"), "")


@pytest.mark.slow
@pytest.mark.parametrize("first", parts(0, 20, 50))
def test_pages_made_at_random(first: int) -> None:
    before = most_memory()  # other tests of this process may have taken more
    for seed in range(first, first + 50):
        read_and_choose(*page_of(seed))
    assert most_memory() - before < 512


def most_memory() -> float:
    """The most memory that this process has had, in megabytes; 0 where that cannot be asked."""
    if sys.platform == "win32":
        return 0
    import resource

    unit = 1 << 20 if sys.platform == "darwin" else 1 << 10
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / unit
