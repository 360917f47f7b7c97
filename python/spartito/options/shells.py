# SPDX-License-Identifier: BSD-3-Clause
"""Generates completion scripts and the man page from the table of commands. The build also runs this module before the extension
modules exist, so it may import only modules of this package.

The scripts run `spartito doctor --formats` to complete formats, so that they stay valid when formats change."""

from __future__ import annotations

from spartito.options.recording import LANGUAGES
from spartito.options.table import COMMANDS, SHELLS, Command, Option, option_text

# kinds of operands that must be one of a few words
WORDS = {"shells": SHELLS, "kernel": ("install", "remove"), "compiler": tuple(LANGUAGES)}
FORMATS = "$(spartito doctor --formats 2>/dev/null)"


def _bash_value(option: Option) -> str:
    if option.choices:
        return f'_spartito_words "{" ".join(option.choices)}"'
    if option.complete == "formats":
        return f'_spartito_words "{FORMATS}"'
    if option.complete:
        return f'compopt -o filenames; COMPREPLY=($(compgen -{"d" if option.complete == "dir" else "f"} -- "$cur"))'
    return "COMPREPLY=()"


def _topics(command: Command) -> str:
    return " ".join(topic.name for topic in command.topics)


def _bash_operands(command: Command) -> str:
    if command.topics:
        return f'compopt -o filenames; COMPREPLY=($(compgen -W "{_topics(command)}" -- "$cur") $(compgen -f -- "$cur"))'
    if command.operands in ("dir", "file"):
        return f'compopt -o filenames; COMPREPLY=($(compgen -{command.operands[0]} -- "$cur"))'
    if command.operands == "program":
        return 'compopt -o filenames; COMPREPLY=($(compgen -c -- "$cur") $(compgen -f -- "$cur"))'
    if command.operands == "pid":
        return 'COMPREPLY=($(compgen -W "$(pgrep python 2>/dev/null)" -- "$cur"))'
    if command.operands in WORDS:
        return f'_spartito_words "{" ".join(WORDS[command.operands])}"'
    return "COMPREPLY=()"


def bash() -> str:
    lines = [
        "# bash completion for spartito",
        '_spartito_words() { COMPREPLY=($(compgen -W "$1" -- "$cur")); }',
        "_spartito() {",
        '    local cur="${COMP_WORDS[COMP_CWORD]}" prev="" command="${COMP_WORDS[1]}" i',
        "    COMPREPLY=()",
        "    if ((COMP_CWORD == 1)); then",
        f'        _spartito_words "{" ".join(v.name for v in COMMANDS)} --help --version"',
        "        return",
        "    fi",
        '    prev="${COMP_WORDS[COMP_CWORD-1]}"',
        '    case "$command" in',
    ]
    for command in COMMANDS:
        lines.append(f"    {command.name})")
        if command.rest:
            lines += [
                "        for ((i = 2; i < COMP_CWORD; i++)); do",
                '            if [[ "${COMP_WORDS[i]}" == -- ]]; then',
                "                if ((i == COMP_CWORD - 1)); then " + _bash_operands(command),
                '                else compopt -o filenames; COMPREPLY=($(compgen -f -- "$cur")); fi',
                "                return",
                "            fi",
                "        done",
            ]
        lines.append('        case "$prev" in')
        for option in command.options:
            if option.kind != "flag":
                lines.append(f"        {'|'.join(option.flags)}) {_bash_value(option)}; return ;;")
        flags = " ".join(f for o in command.options for f in o.flags)
        lines += [
            "        esac",
            f'        if [[ "$cur" == -* ]]; then _spartito_words "{flags}"; else {_bash_operands(command)}; fi ;;',
        ]
    lines += ["    esac", "}", "complete -F _spartito spartito"]
    return "\n".join(lines)


def _zsh_text(text: str) -> str:
    for c in "\\[]:":
        text = text.replace(c, "\\" + c)
    return text.replace("'", "'\\''")


def _zsh_value(option: Option) -> str:
    word = _zsh_text(option.metavar.lower())
    if option.choices:
        return f":{word}:({' '.join(option.choices)})"
    if option.complete == "formats":
        return f":{word}:($(spartito doctor --formats 2>/dev/null))"
    if option.complete:
        return f":{word}:_files" + (" -/" if option.complete == "dir" else "")
    return f":{word}:"


def zsh() -> str:
    operands = {
        "dir": "*:experiment:_files -/",
        "file": "*:experiment:_files",
        "program": "*::command:_normal",
        "pid": "1:process:_pids",
        "shells": f"1:shell:({' '.join(SHELLS)})",
        "kernel": f"1:action:({' '.join(WORDS['kernel'])})",
        "compiler": f"1:compiler:({' '.join(WORDS['compiler'])})",
    }
    lines = ["#compdef spartito", "_spartito() {", "  local -a subcommands", "  subcommands=("]
    lines += [f"    '{v.name}:{_zsh_text(v.summary)}'" for v in COMMANDS]
    lines += [
        "  )",
        "  if ((CURRENT == 2)); then",
        "    _describe command subcommands",
        "    local -a flags=('--help:show the commands' '--version:show the version')",
        "    _describe -o flag flags",
        "    return",
        "  fi",
        "  local subcommand=$words[2]",
        "  shift words; ((CURRENT--))",
        "  case $subcommand in",
    ]
    for command in COMMANDS:
        parts = []
        for option in command.options:
            for flag in option.flags:
                many = "*" if option.kind == "append" else ""
                value = "" if option.kind == "flag" else _zsh_value(option)
                parts.append(f"'{many}{flag}[{_zsh_text(option.help)}]{value}'")
        if command.operands:
            words = f"*:experiment:{{compadd -- {_topics(command)}; _files}}" if command.topics else operands[command.operands]
            parts.append(f"'{words}'")
        lines.append(f"  {command.name}) _arguments -S " + " ".join(parts) + " ;;")
    lines += [
        "  esac",
        "}",
        'if [ "$funcstack[1]" = "_spartito" ]; then _spartito "$@"; else compdef _spartito spartito; fi',
    ]
    return "\n".join(lines)


def _fish_text(text: str) -> str:
    return "'" + text.replace("\\", "\\\\").replace("'", "\\'") + "'"


def fish() -> str:
    lines = ["# fish completion for spartito", "complete -c spartito -f"]
    lines += [f"complete -c spartito -n __fish_use_subcommand -a {v.name} -d {_fish_text(v.summary)}" for v in COMMANDS]
    for flag, what in (("help", "show the commands"), ("version", "show the version")):
        lines.append(f"complete -c spartito -n __fish_use_subcommand -l {flag} -d '{what}'")
    for command in COMMANDS:
        start = f"complete -c spartito -n '__fish_seen_subcommand_from {command.name}'"
        for option in command.options:
            flags = " ".join(f"-l {f[2:]}" if f.startswith("--") else f"-s {f[1:]}" for f in option.flags)
            value = ""
            if option.choices:
                value = f" -x -a {_fish_text(' '.join(option.choices))}"
            elif option.complete == "formats":
                value = " -x -a '(spartito doctor --formats 2>/dev/null)'"
            elif option.complete:
                value = " -r -F" if option.complete == "file" else " -x -a '(__fish_complete_directories)'"
            elif option.kind != "flag":
                value = " -x"
            lines.append(f"{start} {flags}{value} -d {_fish_text(option.help)}")
        words = {
            "dir": "-a '(__fish_complete_directories)'",
            "file": "-F",
            "program": "-a '(__fish_complete_subcommand)'",
            "pid": "-x -a '(__fish_complete_pids)'",
            "shells": "-a " + _fish_text(" ".join(SHELLS)),
            "kernel": "-a " + _fish_text(" ".join(WORDS["kernel"])),
            "compiler": "-a " + _fish_text(" ".join(WORDS["compiler"])),
        }
        if command.operands:
            lines.append(f"{start} {words[command.operands]}")
        lines += [f"{start} -a {topic.name} -d {_fish_text(topic.summary)}" for topic in command.topics]
    return "\n".join(lines)


def _roff(text: str) -> str:
    text = text.replace("\\", "\\e").replace("-", "\\-").replace("…", "\\&...").replace("–", "\\(en")
    return "\n".join("\\&" + line if line.startswith((".", "'")) else line for line in text.split("\n"))


def man(version: str) -> str:
    lines = [
        f'.TH SPARTITO 1 "" "spartito {version}" "User Commands"',
        ".SH NAME",
        "spartito \\- measure Python programs and show where the time goes",
        ".SH SYNOPSIS",
    ]
    for command in COMMANDS:
        lines += [f".B spartito {_roff(command.usage)}", ".br"]
    lines.append(".SH COMMANDS")
    for command in COMMANDS:
        lines += [
            f".SS spartito {command.name}",
            _roff(command.summary[0].upper() + command.summary[1:]) + ".",
            _roff(command.details),
        ]
        for option in command.options:
            lines += [".TP", f".B {_roff(option_text(option))}", _roff(option.help)]
    lines.append(".SH EXAMPLES")
    for command in COMMANDS:
        for example, what in command.examples:
            lines += [".TP", f".B {_roff(example)}", _roff(what)]
    lines += [
        ".SH EXIT STATUS",
        _roff(
            "run: that of the program; 126 and 127 where it cannot be started, 2 for a command line that cannot be "
            "understood. The other commands: 0, 1 where something failed, 2 for a command line that cannot be understood."
        ),
        ".SH FILES",
        ".TP",
        _roff("spartito-SCRIPT-TIME[-JOB]/"),
        _roff("The experiment that `spartito run` makes in the current directory."),
    ]
    return "\n".join(lines)


def script(shell: str) -> str:
    return {"bash": bash, "zsh": zsh, "fish": fish}[shell]()
