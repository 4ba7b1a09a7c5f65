"""The tool that reads from Microsoft's documentation since when functions exist."""

from tools import make_windows_since as maker
from wheelfix.knowledge.targets import functions_since

PAGE = """\
---
UID: NF:some.{name}
req.target-min-winverclnt: {client}
req.target-min-winversvr: {server}
req.dll: Kernel32.dll
api_type:
 - DllExport
api_location:
 - Kernel32.dll
 - api-ms-win-core-some-l1-1-0.dll
api_name:
 - {name}
---
"""


def test_the_table(tmp_path):
    pages = {
        "New": ("Windows 11", "Windows Server 2022"),
        "Placeholder": (maker.PLACEHOLDER, maker.PLACEHOLDER),
        "Contradicted": ("Windows 10, version 1903", "Windows Server, version 1903"),
        "Ancient": ("Windows XP", "Windows Server 2003"),
    }
    for name, (client, server) in pages.items():
        text = PAGE.format(name=name, client=client, server=server)
        (tmp_path / f"nf-some-{name.lower()}.md").write_text(text, encoding="utf-8")
    older = [(17134, "an old SDK", {"Contradicted", "New_"})]
    text = maker.render(maker.functions(tmp_path), older, "abc", "2026-01-01")
    table = functions_since.parse(text)
    assert {key: build for key, (build, _) in table.items()} == {
        ("kernel32.dll", "New"): 20348,
        ("api-ms-win-core-some-l1-1-0.dll", "New"): 20348,
    }
