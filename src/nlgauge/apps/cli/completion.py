"""`nlgauge completion`: a script that completes commands, flags and their values in the shell.

The script is made from the parsers themselves, so that it knows what they know, and has the names of metrics, models,
data sets and published tables. Flags complete behind a dash, and file names where no value is known.
"""

from __future__ import annotations

import argparse
import shlex
from collections.abc import Iterator
from dataclasses import dataclass

from nlgauge.apps.cli.flags import Command, CommandParser, Flags, is_shown
from nlgauge.core.kinds import Choice
from nlgauge.core.options import OptionSet, option


@dataclass(frozen=True, kw_only=True)
class CompletionOptions(OptionSet):
    """The shell that completes."""

    shell: str = option("", Choice("bash", "zsh"), help="shell", positional=True, required=True, metavar="SHELL")


_SCRIPT = """\
{first}_nlgauge_flags() {{
    case "$1" in
{flags}
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
        if [[ "$word" == -* ]]; then flag="$word"
        elif [[ -n "$(_nlgauge_flags "$place $word")" ]]; then place="$place $word"; fi
    done
    if [[ "$current" == -* ]]; then
        known="$(_nlgauge_flags "$place")"
    else
        known="$(_nlgauge_values "$place $before")"
        known="${{known:-$(_nlgauge_values "$place $flag +")}}"
        if [[ -z "$known" && "$before" != -* ]]; then known="$(_nlgauge_values "$place .")"; fi
    fi
    COMPREPLY=( $(compgen -W "$known" -- "$current") )
}}
complete -o bashdefault -o default -F _nlgauge nlgauge
"""


def _run(args: argparse.Namespace) -> int:
    print(completion_script(args.shell), end="")
    return 0


COMMANDS = {
    "completion": Command(
        run=_run,
        flags=(Flags(CompletionOptions),),
        description="Print a script that completes commands, flags and their values.",
        examples="""\
  source <(nlgauge completion bash)       in ~/.bashrc, for every new shell
  source <(nlgauge completion zsh)        in ~/.zshrc, after compinit
""",
    )
}


def completion_script(shell: str) -> str:
    """The script for a shell, from all commands and their flags."""
    from nlgauge.apps.cli import build_parser  # it imports this module

    flags, values = [], []
    for place, parser in _places("nlgauge", build_parser()):
        # Short flags are soon typed.
        long = [flag for action in parser._actions if is_shown(action) for flag in action.option_strings]
        shown = [flag for flag in long if flag.startswith("--")]
        flags.append(f"        {shlex.quote(place)}) echo {shlex.quote(' '.join(shown))} ;;")
        for action in parser._actions:
            known = getattr(action, "option", None)
            if choices := action.choices or (known.kind.completions() if known else ()):
                # A dot stands for no flag before the value.
                before = [f"{place} {flag}" for flag in action.option_strings or ["."]]
                if action.option_strings and action.nargs in {"+", "*"}:  # a value after another
                    before += [f"{flag} +" for flag in before]
                named = "|".join(map(shlex.quote, before))
                values.append(f"        {named}) echo {shlex.quote(' '.join(map(str, choices)))} ;;")
    first = "autoload -U +X bashcompinit && bashcompinit\n" if shell == "zsh" else ""
    return _SCRIPT.format(first=first, flags="\n".join(flags), values="\n".join(values))


def _places(name: str, parser: CommandParser) -> Iterator[tuple[str, CommandParser]]:
    """Every command with the words that lead to it, and all of its flags."""
    yield name, parser
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            for word, command in action.choices.items():
                yield from _places(f"{name} {word}", command)
