"""``wheelfix completion``: scripts that let a shell complete our commands, options and finding codes."""

from __future__ import annotations

import argparse
import sys
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from wheelfix.base.values import dataclass
from wheelfix.cli.commands import COMMANDS, CommaList
from wheelfix.cli.parsers import command_parser
from wheelfix.errors import Exit
from wheelfix.report.document import SCAN_KINDS
from wheelfix.rules.registry import all_rules

if TYPE_CHECKING:
    from collections.abc import Sequence


ASSUMABLE = ("vcredist", "nvidia-driver", "vcredist-12", "vcredist-11", "vcredist-10", "vcredist-9", "conda", "cuda=")
FOLDERS = frozenset({"wheel_dir", "output_dir", "python", "env"})


@dataclass(frozen=True, slots=True)
class Word:
    """An option or a positional argument."""

    names: tuple[str, ...]
    """``-o`` and ``--output``; empty for a positional argument."""
    metavar: str
    """What stands for the value; empty for a flag."""
    help: str
    values: tuple[str, ...] = ()
    """The values it can have, where they are few."""
    kind: str = "text"
    """``flag``, ``text``, ``file`` or ``folder``."""
    repeatable: bool = False
    group: str = ""

    @property
    def long(self) -> str:
        """The long form, without the dashes."""
        return next((name[2:] for name in self.names if name.startswith("--")), "")

    @property
    def short(self) -> str:
        """The short form, without the dash; empty where there is none."""
        return next((name[1:] for name in self.names if not name.startswith("--")), "")


@dataclass(frozen=True, slots=True)
class CommandGrammar:
    """One command."""

    name: str
    summary: str
    description: str
    examples: str
    options: tuple[Word, ...]
    arguments: tuple[Word, ...]
    usage: str


@cache
def read_grammar() -> tuple[CommandGrammar, ...]:
    """Return every command, in the order of the help."""
    return tuple(_command(name) for name in COMMANDS)


def _command(name: str) -> CommandGrammar:
    parser = command_parser(name)
    groups = {id(action): group for group, actions in parser.titled_groups() for action in actions}
    shown = [action for action in parser.actions() if action.help != argparse.SUPPRESS]
    words = [(action, _word(name, action, groups.get(id(action), ""))) for action in shown]
    return CommandGrammar(
        name,
        COMMANDS[name].summary,
        parser.description or "",
        (parser.epilog or "").removeprefix("examples:\n"),
        tuple(word for action, word in words if action.option_strings),
        tuple(word for action, word in words if not action.option_strings),
        parser.shown_usage(),
    )


def _word(command: str, action: argparse.Action, group: str) -> Word:
    flag = action.nargs == 0
    metavar = "" if flag else str(action.metavar or (action.dest.upper().replace("_", "-")))
    values = tuple(map(str, action.choices or ())) or _values(command, action.dest)
    if flag:
        kind = "flag"
    elif action.dest in FOLDERS:
        kind = "folder"
    elif action.type is Path or action.dest in ("paths", "old", "new", "file", "report", "also"):
        kind = "file"
    else:
        kind = "text"
    repeatable = isinstance(action, CommaList) or type(action).__name__ == "_AppendAction"
    text = (action.help or "").replace("%(default)s", str(action.default)).replace("%%", "%")
    return Word(tuple(action.option_strings), metavar, text, values, kind, repeatable, group)


def _values(command: str, dest: str) -> tuple[str, ...]:
    """Return values that the parser does not list, because they may be joined or shortened."""
    if dest in ("select", "ignore") or (command == "explain" and dest == "code"):
        return tuple(word for rule in all_rules() for word in (rule.code, rule.name))
    if dest in ("assume", "no_assume"):
        return ASSUMABLE if dest == "assume" else ASSUMABLE[:2]
    return tuple(f"{kind}=" for kind in SCAN_KINDS) if dest == "report" else ()


def execute(args: argparse.Namespace) -> int:
    """Print the script."""
    sys.stdout.write(render(args.shell))
    return Exit.OK


def render(shell: str) -> str:
    """Return the script for a shell."""

    renderers = {"bash": _bash, "zsh": _zsh, "fish": _fish, "powershell": _powershell}
    return renderers[shell](read_grammar())


def _names(word: Word) -> list[str]:
    return list(word.names)


# ------------------------------------------------------------------------------------------------------------ bash

_BASH = """\
# bash completion of wheelfix
_wheelfix() {
    local cur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD-1]} command=${COMP_WORDS[1]}
    # bash cuts words at '=': what stands before it is what the value is for
    if [[ $cur == '=' ]]; then cur=''; elif [[ $prev == '=' ]]; then prev=${COMP_WORDS[COMP_CWORD-2]}; fi
    COMPREPLY=()
    if [[ $COMP_CWORD -eq 1 ]]; then
        COMPREPLY=($(compgen -W '@commands@' -- "$cur"))
        return
    fi
    case "$command $prev" in
@values@
    esac
    if [[ $cur == -* ]]; then
        case $command in
@options@
        esac
        return
    fi
    case $command in
@arguments@
    esac
    compopt -o filenames 2>/dev/null
    COMPREPLY=($(compgen -f -- "$cur"))
}
complete -F _wheelfix wheelfix
"""


def _bash(commands: Sequence[CommandGrammar]) -> str:
    values, options, arguments = [], [], []
    for command in commands:
        for word in command.options:
            patterns = " | ".join(f"'{command.name} {name}'" for name in word.names)
            if word.values:
                reply = f"COMPREPLY=($(compgen -W '{' '.join(word.values)}' -- \"$cur\"))"
                # A value that ends in '=' goes on: no space behind it.
                go_on = (
                    "[[ ${COMPREPLY-} == *= ]] && compopt -o nospace 2>/dev/null; "
                    if word.values[0][-1:] == "="
                    else ""
                )
                values.append(f"        {patterns}) {reply}; {go_on}return;;")
            elif word.kind in ("file", "folder"):
                flag = "-f" if word.kind == "file" else "-d"
                values.append(
                    f"        {patterns}) compopt -o filenames 2>/dev/null; "
                    f'COMPREPLY=($(compgen {flag} -- "$cur")); return;;'
                )
            elif word.kind == "text":
                values.append(f"        {patterns}) return;;")
        names = " ".join(name for word in command.options for name in _names(word))
        options.append(f"            {command.name}) COMPREPLY=($(compgen -W '{names}' -- \"$cur\"));;")
        listed = [value for word in command.arguments for value in word.values]
        if listed:
            arguments.append(
                f"        {command.name}) COMPREPLY=($(compgen -W '{' '.join(listed)}' -- \"$cur\")); return;;"
            )
    return (
        _BASH.replace("@commands@", " ".join(command.name for command in commands) + " --help --version")
        .replace("@values@", "\n".join(values))
        .replace("@options@", "\n".join(options))
        .replace("@arguments@", "\n".join(arguments))
    )


# ------------------------------------------------------------------------------------------------------------- zsh

_ZSH = """\
#compdef wheelfix
# zsh completion of wheelfix
_wheelfix() {
    local state line
    local -a commands
    commands=(
@commands@
    )
    _arguments -C '--help[show help]' '--version[show the version]' '1: :->command' '*:: :->rest' && return
    case $state in
        command) _describe -t commands command commands;;
        rest)
            case $words[1] in
@cases@
            esac;;
    esac
}
if [[ $funcstack[1] == _wheelfix ]]; then _wheelfix "$@"; else compdef _wheelfix wheelfix; fi
"""


def _zsh(commands: Sequence[CommandGrammar]) -> str:
    listing = [f"        '{command.name}:{_zsh_text(command.summary)}'" for command in commands]
    cases = []
    for command in commands:
        specs = [_zsh_option(word) for word in command.options]
        specs += [f"'*: :{_zsh_action(word)}'" for word in command.arguments[:1]]
        body = " \\\n                    ".join(specs)
        cases.append(f"                {command.name}) _arguments -s \\\n                    {body};;")
    return _ZSH.replace("@commands@", "\n".join(listing)).replace("@cases@", "\n".join(cases))


def _zsh_option(word: Word) -> str:
    star = "*" if word.repeatable else ""
    text = f"[{_zsh_text(word.help)}]"
    value = f":{_zsh_text(word.metavar)}:{_zsh_action(word)}" if word.kind != "flag" else ""
    names = list(word.names)
    if len(names) == 1:
        return f"'{star}{names[0]}{text}{value}'"
    excluded = "" if star else f"({' '.join(names)})"
    return f"'{excluded}{star}'{{{','.join(names)}}}'{text}{value}'"


def _zsh_action(word: Word) -> str:
    if word.values:
        return f"({' '.join(word.values)})"
    return {"file": "_files", "folder": "_files -/"}.get(word.kind, "")


def _zsh_text(text: str) -> str:
    for sign in ("\\", "[", "]", ":"):
        text = text.replace(sign, f"\\{sign}")
    return text.replace("'", "'\\''")


# ------------------------------------------------------------------------------------------------------------ fish


def _fish(commands: Sequence[CommandGrammar]) -> str:
    names = " ".join(command.name for command in commands)
    none = f"not __fish_seen_subcommand_from {names}"
    lines = [
        "# fish completion of wheelfix",
        f"complete -c wheelfix -n '{none}' -f",
        f"complete -c wheelfix -n '{none}' -l help -d 'show help'",
        f"complete -c wheelfix -n '{none}' -l version -d 'show the version'",
    ]
    for command in commands:
        lines.append(f"complete -c wheelfix -n '{none}' -a {command.name} -d {_fish_text(command.summary)}")
    for command in commands:
        chosen = f"-n '__fish_seen_subcommand_from {command.name}'"
        for word in command.options:
            parts = [f"complete -c wheelfix {chosen}"]
            parts += [f"-s {word.short}"] if word.short else []
            parts += [f"-l {word.long}"] if word.long else []
            parts.append(f"-d {_fish_text(word.help)}")
            parts += _fish_value(word)
            lines.append(" ".join(parts))
        for word in command.arguments:
            if word.values:
                lines.append(f"complete -c wheelfix {chosen} -f -a {_fish_text(' '.join(word.values))}")
    return "\n".join(lines) + "\n"


def _fish_value(word: Word) -> list[str]:
    if word.kind == "flag":
        return []
    if word.values:
        return ["-x", f"-a {_fish_text(' '.join(word.values))}"]
    return {"file": ["-r", "-F"], "folder": ["-x", "-a '(__fish_complete_directories)'"]}.get(word.kind, ["-x"])


def _fish_text(text: str) -> str:
    escaped = text.replace("\\", "\\\\").replace("'", "\\'")
    return f"'{escaped}'"


# ------------------------------------------------------------------------------------------------------ PowerShell

_POWERSHELL = """\
# PowerShell completion of wheelfix
Register-ArgumentCompleter -Native -CommandName wheelfix -ScriptBlock {
    param($wordToComplete, $commandAst, $cursorPosition)
    $commands = [ordered]@{
@commands@
    }
    $options = @{
@options@
    }
    $values = @{
@values@
    }
    $words = @($commandAst.CommandElements | ForEach-Object { $_.ToString() })
    if ($wordToComplete -ne '' -and $words.Count -gt 1) { $words = @($words[0..($words.Count - 2)]) }
    if ($words.Count -lt 2) {
        $commands.GetEnumerator() | Where-Object { $_.Key -like "$wordToComplete*" } | ForEach-Object {
            [System.Management.Automation.CompletionResult]::new($_.Key, $_.Key, 'Command', $_.Value)
        }
        return
    }
    $command = $words[1]
    $given = $values["$command $($words[-1])"]
    if (-not $given -and -not $wordToComplete.StartsWith('-')) { $given = $values[$command] }
    if ($given) {
        $given | Where-Object { $_ -like "$wordToComplete*" } | ForEach-Object {
            [System.Management.Automation.CompletionResult]::new($_, $_, 'ParameterValue', $_)
        }
        return
    }
    if ($wordToComplete.StartsWith('-') -and $options[$command]) {
        $options[$command].GetEnumerator() | Where-Object { $_.Key -clike "$wordToComplete*" } | ForEach-Object {
            [System.Management.Automation.CompletionResult]::new($_.Key, $_.Key, 'ParameterName', $_.Value)
        }
    }
}
"""


def _powershell(commands: Sequence[CommandGrammar]) -> str:
    listing = [f"        {_ps(command.name)} = {_ps(command.summary)}" for command in commands]
    options, values = [], []
    for command in commands:
        rows = [f"            {_ps(name)} = {_ps(word.help)}" for word in command.options for name in word.names]
        # A hashtable of PowerShell knows no case, and -V is not -v: an ordered one with a comparer would be needed for
        # clashes, so the parsers have none.
        options.append(f"        {_ps(command.name)} = [ordered]@{{\n" + "\n".join(rows) + "\n        }")
        for word in command.options:
            if word.values:
                values += [f"        {_ps(f'{command.name} {name}')} = {_ps_list(word.values)}" for name in word.names]
        listed = [value for word in command.arguments for value in word.values]
        if listed:
            values.append(f"        {_ps(command.name)} = {_ps_list(listed)}")
    return (
        _POWERSHELL.replace("@commands@", "\n".join(listing))
        .replace("@options@", "\n".join(options))
        .replace("@values@", "\n".join(values))
    )


def _ps(text: str) -> str:
    escaped = text.replace("'", "''")
    return f"'{escaped}'"


def _ps_list(words: Sequence[str]) -> str:
    return f"@({', '.join(_ps(word) for word in words)})"
