"""Imports many packages in one process, each from a folder of its own: ``python import_many.py CHILD LIST RESULT``.

The list has lines of a folder and a module, separated by a tab. What each import ended with is described as
``wheelfix try`` does, by its own ``child.py``. The packages share no DLL names; PATH and loaded modules are put back.
"""

# mypy: ignore-errors
# ruff: noqa: PTH120, PTH123

import os
import sys


def main(child, listing, result_file):
    sys.path.insert(0, os.path.dirname(child))
    import child as how

    found = []
    path, paths = os.environ.get("PATH", ""), list(sys.path)
    with open(listing, encoding="utf-8") as file:
        rows = [line.rstrip("\n").split("\t") for line in file]
    for folder, module in rows:
        sys.path[:] = [*paths, folder]
        os.environ["PATH"] = path
        answer = {"module": module, "outcome": "imported"}
        try:
            __import__(module)
        except BaseException as error:
            answer["outcome"] = "raised"
            answer["errors"] = [how.described(one) for one in how.chain_of(error)]
        found.append(answer)
    with open(result_file, "w", encoding="ascii") as file:
        file.write(ascii(found))
    sys.stdout.flush()
    os._exit(0)


main(*sys.argv[1:])
