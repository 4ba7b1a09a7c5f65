"""Side-by-side assemblies: DLLs that Windows finds because a manifest in the importing DLL names them.

A manifest (resource 2 of a DLL) names assemblies. A private assembly is a ``NAME.manifest`` or a ``NAME.dll`` with a
manifest (of whatever number) in the DLL's folder, in ``NAME`` below it, or in the folders that ``FILE.2.config``
beside the DLL lists. Its files are found wherever it lies, before any folder is searched.

Sources: Microsoft's "Assembly searching sequence" (private assemblies), "Manifest file schema", "Application
configuration files" (``probing``). Shared assemblies, which Windows keeps for itself, are not looked for.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from wheelfix.loader.view import parent
from wheelfix.model import dll_key
from wheelfix.pe.version import MANIFEST, read_resource

if TYPE_CHECKING:
    from collections.abc import Iterator
    from xml.etree.ElementTree import Element

    from wheelfix.loader.view import FileView

OF_A_DLL = 2
"""The identifier of the manifest that a DLL is loaded with."""
MAX_TEXT = 64 << 10
MAX_NAMES = 100
"""Assemblies, files and folders of one manifest that are looked at; Windows allows nine folders."""


def find_in_assembly(view: FileView, path: str, name: str) -> str | None:
    """Return the file that a manifest of the DLL ``path`` gives for the DLL ``name``."""
    for assembly in _assemblies(view, path):
        for folder in _folders(view, path, assembly):
            found = _file_of(view, folder, assembly, name)
            if found is not None:
                return found
    return None


def _assemblies(view: FileView, path: str) -> list[str]:
    """Return the assemblies that the manifest of a DLL names.

    It lies near the end of the file, so that all of it is inflated: once, however many DLLs are missing for it.
    """
    known: dict[str, list[str]] = view.notes.setdefault("assemblies", {})
    if path not in known:
        manifest = _parsed(read_resource(view.source(path), MANIFEST, OF_A_DLL))
        known[path] = _named(manifest, "dependency", "assemblyIdentity")
    return known[path]


def _folders(view: FileView, path: str, assembly: str) -> Iterator[str]:
    """Give the folders in which a private assembly may lie."""
    own = parent(path)
    settings = _parsed((view.read_text(f"{path}.{OF_A_DLL}.config", MAX_TEXT) or "").encode())
    listed = [text for one in _all(settings, "probing") for text in one.get("privatePath", "").split(";")]
    for below in ("", *listed[:MAX_NAMES]):
        folder = _joined(own, below)
        if folder is not None:
            yield folder
            yield f"{folder}/{assembly}"


def _file_of(view: FileView, folder: str, assembly: str, name: str) -> str | None:
    """Return a file of an assembly that lies in a folder."""
    described = view.find(folder, f"{assembly}.dll")
    text = read_resource(view.source(described), MANIFEST) if described else b""
    if not text:
        text = (view.read_text(f"{folder}/{assembly}.manifest", MAX_TEXT) or "").encode()
    manifest = _parsed(text)
    if any(dll_key(one) == dll_key(name) for one in _named(manifest, "file")):
        return view.find(folder, name)
    return None


def _parsed(text: bytes) -> Element | None:
    """Return a manifest; None if the text is not one, or declares entities, which Windows refuses as well."""
    if not text or b"<!" in text.replace(b"<!--", b""):
        return None
    import xml.etree.ElementTree as ET  # 4 ms, which few wheels need

    try:
        return ET.fromstring(text.strip(b"\0 \r\n\t"))
    except ET.ParseError:
        return None


def _all(root: Element | None, tag: str) -> list[Element]:
    """Return the elements of a name, in whatever namespace."""
    found = root.iter() if root is not None else iter(())
    return [one for one in found if one.tag.rpartition("}")[2] == tag][:MAX_NAMES]


def _named(root: Element | None, *tags: str) -> list[str]:
    """Return the names of the elements below others."""
    found = [root]
    for tag in tags:
        found = [one for above in found for one in _all(above, tag)]
    return [one.get("name", "") for one in found if one is not None and one.get("name")][:MAX_NAMES]


def _joined(folder: str, below: str) -> str | None:
    """Return the folder that a relative path leads to; None if it leads out of the installation."""
    parts = folder.split("/") if folder else []
    for part in below.replace("\\", "/").split("/"):
        if part == ".." and parts:
            parts.pop()
        elif part == "..":
            return None
        elif part not in ("", "."):
            parts.append(part)
    return "/".join(parts)
