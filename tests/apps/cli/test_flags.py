"""Flags from declared options, and what all commands share: whole flags, hyphens, short errors, help that fits."""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from dataclasses import dataclass

import pytest
from tests.apps.cli.conftest import Refusal, Run

from nlgauge.apps.cli import build_parser, parser_for
from nlgauge.apps.cli.flags import CommandParser, Flags, add_flags, given_options, read_options, refuse_flags
from nlgauge.core.kinds import Choice, Flag, Int, Many, OutputFile, Text, TextColumn
from nlgauge.core.options import OptionSet, option
from nlgauge.errors import RecipeError


@dataclass(frozen=True, kw_only=True)
class Paint(OptionSet):
    colour: str = option("red", Choice("red", "blue"), help="colour of the wall")
    coats: int = option(2, Int(1), help="number of coats", hidden=True)
    report: str | None = option(None, OutputFile(), help="report file")
    title: str | None = option(None, Choice("a", "b"), help="report title", needs="report")
    matt: bool = option(False, Flag(), help="matt paint")


def parsed(*words: str) -> argparse.Namespace:
    parser = CommandParser(prog="paint")
    add_flags(parser, Flags(Paint, "paint"))
    args: argparse.Namespace = parser.parse_args(words)
    return args


def test_help_has_values_and_defaults_and_hides_what_few_need() -> None:
    parser = CommandParser(prog="paint")
    add_flags(parser, Flags(Paint, "paint"))
    text = parser.format_help()
    assert "--colour NAME" in text
    assert "colour of the wall: red, blue (default: red)" in " ".join(text.split())
    assert "--coats" not in text


def test_values_are_those_of_the_library() -> None:
    assert read_options(parsed("--coats", "3", "--matt"), Paint) == Paint(coats=3, matt=True)
    assert read_options(parsed(), Paint) == Paint()


def test_messages_name_the_flag() -> None:
    with pytest.raises(RecipeError, match=r"^--coats must be a whole number from 1, got '0'$"):
        read_options(parsed("--coats", "0"), Paint)
    with pytest.raises(RecipeError, match=r"^--title works only with --report FILE, which was not given$"):
        read_options(parsed("--title", "a"), Paint)


def test_a_flag_of_the_same_name_is_not_an_option() -> None:
    parser = CommandParser(prog="paint")
    add_flags(parser, Flags(Paint, only=["colour"]))
    parser.add_argument("--coats", help="clothes to wear")
    assert read_options(parser.parse_args(["--coats", "wool"]), Paint) == Paint()


@dataclass(frozen=True, kw_only=True)
class Walls(OptionSet):
    walls: tuple[str, ...] = option((), Many(TextColumn(), least=1), help="walls", positional=True, metavar="WALL")
    corners: tuple[str, ...] = option((), Many(Text("a corner"), least=2, most=2), help="ends", metavar="FROM TO")
    shift: tuple[str, ...] = option((), Many(Text("a day"), again=True), help="days")


def test_positional_values_pairs_and_repeated_flags() -> None:
    parser = CommandParser(prog="paint")
    add_flags(parser, Flags(Walls))
    args = parser.parse_args(["a", "b", "--corners", "x", "y", "--shift", "mon", "--shift", "tue", "wed"])
    assert read_options(args, Walls) == Walls(walls=("a", "b"), corners=("x", "y"), shift=("mon", "tue", "wed"))
    assert "paint WALL ... [options]" in parser.format_usage()
    assert "--corners FROM TO" in parser.format_help()


def test_a_command_changes_a_default_and_refuses_a_flag() -> None:
    parser = CommandParser(prog="paint")
    add_flags(parser, Flags(Paint, change={"coats": {"default": 3, "hidden": False}}))
    assert "(default: 3)" in parser.format_help()
    args = parser.parse_args(["--colour", "blue"])
    assert (args.coats, args.matt, given_options(args, Paint)) == (3, False, {"colour": "blue"})
    with pytest.raises(RecipeError, match=r"^--colour is not for walls$"):
        refuse_flags(args, ["matt", "colour"], "is not for walls")


# All commands


SCORE = ("score", "a.txt", "--refs", "ref.txt")


def all_parsers(parser: CommandParser) -> Iterator[CommandParser]:
    yield parser
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            for child in dict.fromkeys(action.choices.values()):
                yield from all_parsers(child)


PARSERS = list(all_parsers(build_parser()))


@pytest.mark.parametrize("parser", PARSERS, ids=[parser.prog for parser in PARSERS])
def test_no_parser_takes_abbreviated_flags(parser: argparse.ArgumentParser) -> None:
    assert not parser.allow_abbrev


@pytest.mark.parametrize("parser", PARSERS, ids=[parser.prog for parser in PARSERS])
def test_every_flag_is_spelt_with_hyphens(parser: argparse.ArgumentParser) -> None:
    """But for old spellings, which have a successor."""
    for flag, action in parser._option_string_actions.items():
        assert "_" not in flag or getattr(action, "new", "") == flag.replace("_", "-")


@pytest.mark.parametrize("parser", PARSERS, ids=[parser.prog for parser in PARSERS])
def test_every_help_can_be_printed(parser: argparse.ArgumentParser) -> None:
    assert parser.format_help().startswith(f"usage: {parser.prog}")


def test_abbreviated_flag_is_refused(run: Run) -> None:
    result = run("study", "reproduce", "list", "--form", "json")
    assert (result.status, result.out) == (2, "")
    assert "did you mean '--format'?" in result.err


@pytest.mark.parametrize("command", ["score", "study meta", "study sensitivity"])
def test_commands_that_score_take_the_same_options(command: str) -> None:
    (parser,) = [item for item in PARSERS if item.prog == f"nlgauge {command}"]
    flags = set(parser._option_string_actions)
    assert {"--model", "--layer", "--idf", "--lang"} <= flags
    assert not {"--rescale", "--multiref", "--src-lang", "--max-tokens"} & flags
    assert {
        "--precision",
        "--metric",
        "--engine",
        "--threads",
        "--device",
        "--batch-tokens",
        "--cache",
        "--cache-size",
    } <= flags
    assert {
        "--long",
        "--empty",
        "--format",
        "--output",
        "--decimals",
        "--quiet",
        "-f",
        "-o",
        "-d",
        "-m",
        "-q",
    } <= flags


@pytest.mark.parametrize("command", ["study reproduce", "study tune-layer"])
def test_commands_that_score_share_output_flags(command: str) -> None:
    (parser,) = [item for item in PARSERS if item.prog == f"nlgauge {command}"]
    assert {
        "--model",
        "--engine",
        "--precision",
        "--cache",
        "--long",
        "--empty",
        "-f",
        "--format",
        "-o",
        "--output",
    } <= set(parser._option_string_actions)


@pytest.mark.parametrize(
    ("command", "most"), [("score", 45), ("compare", 73), ("study meta", 57), ("study sensitivity", 55)]
)
def test_help_fits_a_screen(run: Run, monkeypatch: pytest.MonkeyPatch, command: str, most: int) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    result = run(*command.split(), "--help")
    assert result.status == 0
    assert len(result.out.splitlines()) <= most
    assert "examples:" in result.out
    assert "metric options: -m NAME:option=value" in result.out
    assert "--multiref" not in result.out
    assert "--model" in result.out


def test_hidden_flags_are_shown_by_help_all_and_accepted(run: Run) -> None:
    result = run("score", "--help-all")
    assert result.status == 0
    for flag in ("--unit", "--device", "--cache-size", "--alignments", "--confidence-level", "--long"):
        assert flag in result.out
    assert "--cache_size" not in result.out
    assert run(*SCORE, "--batch-tokens", "64", "--long", "error", "-q").status == 0


def test_a_flag_with_an_underscore_is_refused_with_a_hint(run: Run) -> None:
    result = run(*SCORE, "--batch_tokens", "64")
    assert (result.status, "did you mean '--batch-tokens'?" in result.err) == (2, True)


@pytest.mark.parametrize(
    "command", [SCORE, ("study", "meta", "--data", "custom"), ("study", "sensitivity", "a.txt", "--refs", "r.txt")]
)
@pytest.mark.parametrize(
    ("words", "spelling"),
    [
        (("--rescale", "base.tsv"), "-m bertscore:rescale=base.tsv"),
        (("--rescale=yes", "-m", "chrf", "bertscore:idf=refs"), "-m bertscore:idf=refs,rescale=yes"),
        (("--max-tokens", "40", "-m", "moverscore"), "-m moverscore:max_tokens=40"),
        (("--chars", "4", "-m", "bleu"), "-m chrf:chars=4"),
        (("--multiref",), "-m bertscore:multiref=VALUE"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, tuple) else "",
)
def test_metric_option_given_as_flag_is_refused_with_its_spelling(
    run: Run, command: tuple[str, ...], words: tuple[str, ...], spelling: str
) -> None:
    result = run(*command, *words)
    assert (result.status, result.out) == (2, "")
    assert result.err.endswith(f"; an option of a metric is written {spelling}\n")


def test_alpha_of_a_score_is_its_confidence_level(run: Run) -> None:
    assert run(*SCORE, "--alpha", "2").err.endswith("unknown option '--alpha'; did you mean '--confidence-level'?\n")
    assert run(*SCORE, "-m", "meteor", "--alpha", "2").err.endswith("is written -m meteor:alpha=2\n")


def test_a_usage_error_is_a_line_of_usage_and_the_error(run: Run) -> None:
    result = run(*SCORE, "--decimals")
    assert result.status == 2
    usage, error = result.err.splitlines()
    assert usage == "usage: nlgauge score HYP ... --refs REF ... [options]"
    assert error == "nlgauge score: error: -d/--decimals needs one value"


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ((*SCORE, "--refrences", "x.txt"), "unknown option '--refrences'; did you mean '--refs'?"),
        ((*SCORE, "--sources", "x.txt"), "unknown option '--sources'; did you mean '--source'?"),
        ((*SCORE, "--zzz"), "unknown option '--zzz'; see 'nlgauge score --help'"),
        (("--versoin",), "unknown option '--versoin'; did you mean '--version'?"),
        ((*SCORE, "ref.txt"), "the reference file 'ref.txt' is given twice"),
        ((*SCORE, "--confidence", "0.95"), "--confidence takes no value, got '0.95'; remove the value"),
        ((*SCORE, "--quiet", "b.txt"), "--quiet takes no value, got 'b.txt'; files come first, right after"),
        (("list", "chrf"), "unexpected argument 'chrf'"),
        (("signature", "diff", "chrf|words:2"), "needs 2 arguments: SIGNATURE SIGNATURE"),
    ],
)
def test_arguments_that_a_command_does_not_take_are_named(run: Run, words: tuple[str, ...], message: str) -> None:
    result = run(*words)
    assert (result.status, result.out) == (2, "")
    assert f"error: {message}" in result.err


@pytest.mark.parametrize(
    ("command", "usage", "hint"),
    [
        ((*SCORE, "--segmets"), "usage: nlgauge score ", "did you mean '--segments'?"),
        (("build", "idf", "a.txt", "-o", "x", "--quite"), "usage: nlgauge build idf ", "did you mean '--quiet'?"),
        (("score", "a.txt", "--threads", "1", "b.txt"), "usage: nlgauge score ", "files come first"),
    ],
)
def test_an_unknown_argument_shows_the_usage_of_its_command(
    run: Run, command: tuple[str, ...], usage: str, hint: str
) -> None:
    result = run(*command)
    assert result.status == 2
    assert result.err.startswith(usage)
    assert result.err.count("\n") == 2
    assert hint in result.err


def test_systems_behind_the_references_are_found(refused: Refusal) -> None:
    says = refused(2, "score", "--refs", "ref.txt", "a.txt")
    assert "--refs took 'ref.txt' and 'a.txt', because it takes every file after it" in says
    assert "put the systems first: nlgauge score a.txt --refs ref.txt" in says


@pytest.mark.parametrize("command", ["score", "study sensitivity"])
def test_systems_behind_the_metrics_are_found(refused: Refusal, command: str) -> None:
    says = refused(2, *command.split(), "--refs", "ref.txt", "-m", "bertscore", "a.txt")
    assert f"--metric took 'a.txt', which is a file; put the systems first: nlgauge {command} a.txt" in says


@pytest.mark.parametrize("command", [[], ["study"], ["build"], ["models"], ["signature"]], ids=" ".join)
def test_a_command_that_only_has_sub_commands_prints_its_help(run: Run, command: list[str]) -> None:
    result = run(*command)
    assert (result.status, result.err) == (0, "")
    assert result.out == run(*command, "--help").out
    assert result.out.startswith(" ".join(["usage: nlgauge", *command]))


def test_the_list_of_commands_has_a_line_for_each_and_fits_a_screen(run: Run) -> None:
    lines = run("--help").out.splitlines()
    assert len(lines) <= 45
    assert max(map(len, lines)) <= 80
    leaves = {parser.prog for parser in PARSERS if parser._subparsers is None}
    for prog in sorted(leaves):
        words = prog.split()[1:]
        line = " ".join(words if words[0] in {"study", "build"} else words[:1])
        assert sum(item.startswith(f"  {line}  ") for item in lines) == 1, prog


@pytest.mark.parametrize(
    ("command", "hint"),
    [
        ("scor", "did you mean 'nlgauge score'?"),
        ("metas", "did you mean 'nlgauge study meta'?"),
        ("meta --data wmt17", "did you mean 'nlgauge study meta'?"),
        ("idf build a.txt", "did you mean 'nlgauge build idf'?"),
        ("study mta", "did you mean 'nlgauge study meta'?"),
        ("models pul", "did you mean 'nlgauge models pull'?"),
        ("nosuch", "see 'nlgauge --help'"),
    ],
)
def test_an_unknown_command_is_refused_with_the_nearest_one(run: Run, command: str, hint: str) -> None:
    result = run(*command.split())
    assert (result.status, result.out) == (2, "")
    assert "error: unknown command " in result.err
    assert result.err.endswith(f"; {hint}\n")


def test_the_list_of_commands_does_not_depend_on_what_was_loaded() -> None:
    assert parser_for(["--help"]).format_help() == build_parser().format_help()
