"""`nlgauge completion`: a script that completes commands, flags and their values in the shell.

The script is made from the parsers themselves, so that it knows what they know. File names complete where no word of
the command fits.
"""

from __future__ import annotations

import argparse
import shlex
from collections.abc import Iterator
from typing import Any

from nlgauge.cli.parsing import is_shown
from nlgauge.registry import METRICS

__all__ = ["add_commands", "completion_script"]

SHELLS = ("bash", "zsh")

_EXAMPLES = """\
examples:
  source <(nlgauge completion bash)       in ~/.bashrc, for every new shell
  source <(nlgauge completion zsh)        in ~/.zshrc, after compinit
"""

_SCRIPT = """\
{first}_nlgauge_words() {{
    case "$1" in
{words}
    esac
}}
_nlgauge_values() {{
    case "$1" in
{values}
    esac
}}
_nlgauge() {{
    local current="${{COMP_WORDS[COMP_CWORD]}}" before="${{COMP_WORDS[COMP_CWORD-1]}}"
    local place="nlgauge" flag="" word known
    for word in "${{COMP_WORDS[@]:1:$((COMP_CWORD - 1))}}"; do
        known=" $(_nlgauge_words "$place") "
        if [[ "$word" == -* ]]; then flag="$word"; elif [[ "$known" == *" $word "* ]]; then place="$place $word"; fi
    done
    known=""
    if [[ "$current" != -* ]]; then
        known="$(_nlgauge_values "$place $before")"
        known="${{known:-$(_nlgauge_values "$place $flag +")}}"
    fi
    COMPREPLY=( $(compgen -W "${{known:-$(_nlgauge_words "$place")}}" -- "$current") )
}}
complete -o bashdefault -o default -F _nlgauge nlgauge
"""


def add_commands(commands: Any) -> None:
    """Add the command to the parser."""
    parser = commands.add_parser(
        "completion",
        help="print a script for the shell that completes commands and flags",
        description="Print a script that completes commands, flags and their values.",
        epilog=_EXAMPLES,
    )
    parser.add_argument("shell", choices=SHELLS, help="the shell it is for")
    parser.set_defaults(run=_run)


def _run(args: argparse.Namespace) -> int:
    print(completion_script(args.shell), end="")
    return 0


def completion_script(shell: str) -> str:
    """The script for a shell, from all commands and their flags."""
    from nlgauge.cli import build_parser  # it imports this module

    words, values = [], []
    for place, parser in _places("nlgauge", build_parser()):
        known = [word for action in parser._actions if is_shown(action) for word in _words(action)]
        words.append(f"        {shlex.quote(place)}) echo {shlex.quote(' '.join(known))} ;;")
        for action in parser._actions:
            choices = METRICS if action.dest == "metric" else action.choices
            if action.option_strings and choices:
                flags = [f"{place} {flag}" for flag in action.option_strings]
                if action.nargs in {"+", "*"}:  # a value after another
                    flags += [f"{flag} +" for flag in flags]
                named = "|".join(map(shlex.quote, flags))
                values.append(f"        {named}) echo {shlex.quote(' '.join(map(str, choices)))} ;;")
    first = "autoload -U +X bashcompinit && bashcompinit\n" if shell == "zsh" else ""
    return _SCRIPT.format(first=first, words="\n".join(words), values="\n".join(values))


def _places(name: str, parser: argparse.ArgumentParser) -> Iterator[tuple[str, argparse.ArgumentParser]]:
    """Every command with the words that lead to it."""
    yield name, parser
    for word, command in _commands(parser).items():
        yield from _places(f"{name} {word}", command)


def _commands(parser: argparse.ArgumentParser) -> dict[str, argparse.ArgumentParser]:
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            return dict(action.choices)
    return {}


def _words(action: argparse.Action) -> list[str]:
    """Commands, values of an argument, or the long spellings of a flag: short ones are soon typed."""
    if not action.option_strings:
        return [str(choice) for choice in action.choices or ()]
    return [flag for flag in action.option_strings if flag.startswith("--")]
