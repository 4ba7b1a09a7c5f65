"""DLLs that Windows finds through a manifest, as cocotb's ``simulator.pyd`` finds ``libs/gpi.dll``."""

import pytest

from tests.support.views import make_view
from tests.support.wheels import library
from tools.forge import forge_dll
from wheelfix.loader.loading import find_in_assembly

ASM = 'xmlns="urn:schemas-microsoft-com:asm.v1" manifestVersion="1.0"'
NEEDS = (
    f'<?xml version="1.0"?><assembly {ASM}><assemblyIdentity name="a" version="1.0.0.0"/><dependency>'
    '<dependentAssembly><assemblyIdentity name="b" version="1.0.0.0"/></dependentAssembly></dependency></assembly>'
)
ASSEMBLY = f'<assembly {ASM}><assemblyIdentity name="b" version="1.0.0.0"/><file name="B.dll"/></assembly>'
A = forge_dll("a.pyd", imports={"b.dll": ["f"]}, manifest=NEEDS)
B = forge_dll("b.dll", exports=["f"], manifest=ASSEMBLY)
PLAIN = library("b.dll")
CONFIG = (
    b'<configuration><windows><assemblyBinding xmlns="urn:schemas-microsoft-com:asm.v1">'
    b'<probing privatePath="libs;..\\other"/></assemblyBinding></windows></configuration>'
)


@pytest.mark.parametrize(
    "files, found",
    [
        ({"p/libs/b.dll": B, "p/a.pyd.2.config": CONFIG}, "p/libs/b.dll"),
        ({"other/b.dll": B, "p/a.pyd.2.config": CONFIG}, "other/b.dll"),
        ({"p/b/b.dll": B}, "p/b/b.dll"),
        ({"p/b/b.dll": PLAIN, "p/b/b.manifest": ASSEMBLY.encode()}, "p/b/b.dll"),
        ({"p/libs/b.dll": B}, None),
        ({"p/b/b.dll": PLAIN}, None),
        ({"p/b/b.dll": PLAIN, "p/b/b.manifest": ASSEMBLY.replace("B.dll", "c.dll").encode()}, None),
        ({"p/b/b.manifest": ASSEMBLY.encode()}, None),
        ({"p/b/b.dll": PLAIN, "p/b/b.manifest": b"<assembly"}, None),
        ({"p/b/b.dll": PLAIN, "p/b/b.manifest": b"<!DOCTYPE x [<!ENTITY e 'b.dll'>]>" + ASSEMBLY.encode()}, None),
    ],
)
def test_where_a_private_assembly_lies(files, found):
    assert find_in_assembly(make_view({"p/a.pyd": A, **files}), "p/a.pyd", "b.dll") == found


def test_a_dll_without_a_manifest_has_no_assemblies():
    view = make_view({"p/a.pyd": "imports b.dll", "p/b/b.dll": B})
    assert find_in_assembly(view, "p/a.pyd", "b.dll") is None
