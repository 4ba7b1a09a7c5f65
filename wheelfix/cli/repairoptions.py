"""The options of ``repair``, which ``ci`` has as well, and what they ask for."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from wheelfix.cli.common import (
    CommaList,
    add_allow_missing,
    check_folder,
    check_target_folder,
    limits,
    refuse_contradiction,
    root_options,
    target_words,
)
from wheelfix.cli.parser import only_typed
from wheelfix.cli.remote import remote_options
from wheelfix.errors import UsageError

if TYPE_CHECKING:
    import argparse

    from wheelfix.base.options import Renaming, RepairOptions
    from wheelfix.cli.parser import Parser


def add_policy_options(parser: Parser) -> None:
    """Add the options that say what is vendored, dropped and refused."""
    group = parser.add_argument_group("what is added and removed")
    group.add_argument(
        "--include", metavar="NAME", action=CommaList, default=[], help="vendor this DLL and what it needs"
    )
    group.add_argument("--exclude", metavar="GLOB", action=CommaList, default=[], help="never vendor DLLs of this name")
    group.add_argument("--drop", metavar="GLOB", action=CommaList, default=[], help="remove these members")
    group.add_argument(
        "--drop-test-artifacts", action="store_true", help="remove what only BUILD_TEST=1 builds (aoti_custom_ops, ...)"
    )
    group.add_argument(
        "--clean", action="store_true",
        help="move, replace or remove DLLs that are in the wrong place, duplicated or for another machine",
    )  # fmt: skip
    group.add_argument(
        "--companions", choices=("required", "all", "none"), default="required",
        help="DLLs that are loaded by name at run time: what is required (default), all, none",
    )  # fmt: skip
    group.add_argument("--with-vcredist", action="store_true", help="also vendor the Visual C++ runtime")
    add_allow_missing(group)
    group.add_argument(
        "--accept-missing", metavar="FILE", action=CommaList, default=[],
        help="remove the row of this file from RECORD, which lists it although the wheel does not have it; a path or "
        "a pattern",
    )  # fmt: skip
    group.add_argument(
        "--dest", metavar="FOLDER", help="folder for new DLLs (default: beside the file that needs them)"
    )
    group.add_argument(
        "--layout", choices=("auto", "beside", "libs"), default="auto",
        help="beside: own names, next to the files that need them; libs: renamed, in <name>.libs, by delvewheel; "
        "auto: libs for DLLs of no known vendor in ordinary extension packages",
    )  # fmt: skip
    _add_renaming_options(parser)
    group.add_argument(
        "--gpu", metavar="CARD", help="prefer vendor DLLs with code for this card: sm_35, 3.5, K40c, 'RTX 5070'"
    )
    group.add_argument("--require-signed", action="store_true", help="take only DLLs whose signature is trusted")


def _add_renaming_options(parser: Parser) -> None:
    group = parser.add_argument_group("renamed DLLs (layout libs), as delvewheel names these options")
    group.add_argument(
        "--no-mangle", metavar="GLOB", action=CommaList, default=[], help="DLLs of this name keep it in <name>.libs"
    )
    group.add_argument("--no-mangle-all", action="store_true", help="all DLLs in <name>.libs keep their names")
    group.add_argument(
        "--namespace-pkg", metavar="PKG", action=CommaList, default=[],
        help="this is a namespace package (dots separate parts), which gets no __init__.py",
    )  # fmt: skip
    group.add_argument(
        "--custom-patch", action="store_true",
        help="put the code that finds the DLLs where the package has the comment '# delvewheel: patch'",
    )  # fmt: skip
    group.add_argument(
        "-L", "--lib-sdir", metavar="SUFFIX", default=".libs", help="end of the folder's name (default .libs)"
    )


def add_writing_options(parser: Parser) -> None:
    """Add the options that say how the new wheel is written."""
    group = parser.add_argument_group("how it is written")
    group.add_argument("--build-tag", metavar="TAG", help="give the wheel this build number; begins with a digit")
    group.add_argument(
        "--compression",
        metavar="LEVEL",
        default="auto",
        help="0 to 9, or store, for new members (default: 5, or 6 with zlib)",
    )
    group.add_argument(
        "--compressor",
        choices=("auto", "mixed", "zlib-ng", "zlib"),
        default="auto",
        help="what compresses new members; mixed is zlib-ng, with libdeflate for data that compress badly",
    )
    group.add_argument(
        "--recompress", action="store_true", help="also compress the members that are stored without compression"
    )
    only_typed(
        group.add_argument(
            "--trust-record",
            action="store_true",
            help="trust RECORD instead of checking every byte; a locked wheel is then identified by its directory "
            "(faster)",
        )
    )
    group.add_argument("--no-sbom", dest="sbom", action="store_false", help="leave out the bill of materials")
    group.add_argument(
        "--sbom", dest="sbom", action="store_true", help="list what was vendored in a CycloneDX file (default)"
    )


def repair_options(args: argparse.Namespace) -> RepairOptions:
    """Return what the command line asks for, checked."""
    from wheelfix.base.options import RepairOptions, ScanOptions, all_cores
    from wheelfix.streams.codec import Compressor

    refuse_contradiction(args.assume, args.no_assume)
    _refuse(args)
    check_folder(args.python, "--python")
    check_folder(args.env, "--env")
    check_target_folder(args.wheel_dir, "--wheel-dir")
    Compressor.choose(args.compressor, args.compression)
    if args.gpu is not None:
        from wheelfix.roots.card import card_arch

        card_arch(args.gpu)
    scan = ScanOptions(
        assume=tuple(args.assume),
        no_assume=tuple(args.no_assume),
        targets=target_words(args),
        python=args.python,
        jobs=args.jobs or all_cores(),
        gpu=args.gpu,
        roots=root_options(args),
        limits=limits(args),
        remote=remote_options(args),
    )
    return RepairOptions(
        wheel_dir=None if args.in_place else args.wheel_dir or Path("wheelhouse"),
        include=tuple(args.include),
        exclude=tuple(args.exclude),
        drop=tuple(args.drop),
        drop_test_artifacts=args.drop_test_artifacts,
        clean=args.clean,
        companions=args.companions,
        with_vcredist=args.with_vcredist,
        dest=args.dest,
        layout=args.layout,
        renaming=_renaming(args),
        allow_missing=tuple(args.allow_missing),
        accept_missing=tuple(args.accept_missing),
        build_tag=args.build_tag,
        compression=args.compression,
        compressor=None if args.compressor == "auto" else args.compressor,
        recompress=args.recompress,
        trust_record=args.trust_record,
        sbom=args.sbom,
        require_signed=args.require_signed,
        seal=args.lock is not None,
        scan=scan,
    )


def _renaming(args: argparse.Namespace) -> Renaming:
    """Return what delvewheel is asked for; UsageError if that makes no sense."""
    from wheelfix.base.options import Renaming

    renaming = Renaming(
        namespace_pkgs=tuple(args.namespace_pkg),
        no_mangle=tuple(args.no_mangle),
        no_mangle_all=args.no_mangle_all,
        custom_patch=args.custom_patch,
        lib_sdir=args.lib_sdir,
    )
    if renaming.faults:
        raise UsageError(renaming.faults[0])
    others = (("--layout beside", args.layout == "beside"), ("--dest", args.dest), ("--env", args.env))
    for option, given in others:
        if renaming.asked and given:
            raise UsageError(
                f"{renaming.asked[0]} and {option} contradict each other",
                because="it is about DLLs in a folder for renamed DLLs",
            )
    return renaming


def _refuse(args: argparse.Namespace) -> None:
    """Refuse options that contradict each other."""
    rules = (
        (args.in_place and args.wheel_dir, "--in-place and --wheel-dir", "one of them says where the wheel goes"),
        (args.dry_run and args.locked, "--dry-run and --locked", "a lock is a plan already; print the file"),
        (args.locked and args.lock, "--lock and --locked", "one writes a plan, the other reads it"),
        (args.locked and args.paths, "--locked and a PATH", "the plan names its wheels"),
        (args.layout == "libs" and args.dest, "--layout libs and --dest", "libs has a folder of its own"),
        (args.package and not args.env, "--package without --env", "--package names what is installed there"),
        (args.undo and not args.env, "--undo without --env", "a wheel is never changed, so nothing is undone"),
        (args.env and args.paths, "--env and a PATH", "repair either wheels or an installed package"),
        (args.env and not args.package, "--env without --package", "say which distribution to repair"),
        (args.env and args.layout == "libs", "--env and --layout libs", "an installed package is not patched"),
        (args.env and args.recompress, "--env and --recompress", "an installed package is not an archive"),
        (args.env and args.build_tag, "--env and --build-tag", "an installed package has no file name"),
    )
    for broken, what, because in rules:
        if broken:
            raise UsageError(f"{what} contradict each other" if " and " in what else what, because=because)
    if not (args.paths or args.locked or args.env):
        raise UsageError("nothing to repair", hint="name a wheel, or --locked FILE, or --env PREFIX --package NAME")
