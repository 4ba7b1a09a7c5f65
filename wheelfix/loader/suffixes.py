"""Suffixes of files that are PE images, and of those that are not."""

from __future__ import annotations

PE_SUFFIXES = (".dll", ".pyd", ".exe")
PLAIN_SUFFIXES = frozenset(
    """
    .py .pyi .pyc .pyx .pxd .pxi .h .hh .hpp .hxx .cuh .cu .c .cc .cpp .cxx .inl .inc .f .f90 .lib .a .o .obj .exp .pdb
    .txt .md .rst .json .yaml .yml .toml .cfg .ini .in .csv .tsv .xml .html .htm .css .js .mjs .ts .map .svg .png .jpg
    .jpeg .gif .ico .ttf .otf .woff .woff2 .npy .npz .pkl .gz .zip .bz2 .xz .whl .cmake .pc .bat .cmd .ps1 .sh .qm .qml
    .ui .jinja .j2 .ipynb .typed .metal .proto .po .mo .tmpl .tpl .license .def .h5 .nc .mat .wav .pem
    """.split()
)
"""Suffixes of files that are never PE images in practice; other files are judged by their content."""
MOST_FILES = (".h", ".py", ".pyi", ".hpp", ".cuh")
"""The plain suffixes that most files of a large wheel have."""
