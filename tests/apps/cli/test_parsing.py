"""What all commands share: whole flags, hyphens, one set of options, short usage errors, help that fits a screen."""

from __future__ import annotations

import argparse
from collections.abc import Iterator

import pytest
from tests.apps.cli.conftest import Refusal, Run

from nlgauge.apps.cli import _parser_for, build_parser, main
from nlgauge.apps.cli.parsing import CommandParser

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


def test_an_abbreviation_that_used_to_work_is_refused(run: Run) -> None:
    result = run("reproduce", "list", "--form", "json")
    assert (result.status, result.out) == (2, "")
    assert "did you mean '--format'?" in result.err


@pytest.mark.parametrize("command", ["score", "meta", "sensitivity"])
def test_commands_that_score_take_the_same_options(command: str) -> None:
    (parser,) = [one for one in PARSERS if one.prog == f"nlgauge {command}"]
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
    assert {"--long", "--empty", "--format", "--output", "--width", "--quiet", "-f", "-o", "-w", "-m", "-q"} <= flags


@pytest.mark.parametrize("command", ["reproduce", "tune-layer"])
def test_other_commands_that_score_print_alike(command: str) -> None:
    (parser,) = [one for one in PARSERS if one.prog == f"nlgauge {command}"]
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


@pytest.mark.parametrize(("command", "most"), [("score", 40), ("compare", 61), ("meta", 50), ("sensitivity", 50)])
def test_help_fits_a_screen(run: Run, monkeypatch: pytest.MonkeyPatch, command: str, most: int) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    result = run(command, "--help")
    assert result.status == 0
    assert len(result.out.splitlines()) <= most
    assert "examples:" in result.out
    assert "other options of a metric: -m NAME:option=value" in result.out
    assert "--multiref" not in result.out
    assert "--model" in result.out


def test_what_help_hides_is_shown_on_request_and_taken(run: Run) -> None:
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
    "command", [SCORE, ("meta", "--data", "custom"), ("sensitivity", "a.txt", "--refs", "r.txt")]
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
def test_an_option_of_a_metric_that_is_no_flag_is_refused_with_its_spelling(
    run: Run, command: tuple[str, ...], words: tuple[str, ...], spelling: str
) -> None:
    result = run(*command, *words)
    assert (result.status, result.out) == (2, "")
    assert result.err.endswith(f"; an option of a metric is written {spelling}\n")


def test_a_usage_error_is_a_line_of_usage_and_the_error(run: Run) -> None:
    result = run(*SCORE, "--width", "x")
    assert result.status == 2
    usage, error = result.err.splitlines()
    assert usage == "usage: nlgauge score HYP ... --refs REF ... [options]"
    assert error == "nlgauge score: error: argument -w/--width: invalid int value: 'x'"


@pytest.mark.parametrize(
    ("command", "usage", "hint"),
    [
        ((*SCORE, "--segmets"), "usage: nlgauge score ", "did you mean '--segments'?"),
        (("idf", "build", "a.txt", "-o", "x", "--quite"), "usage: nlgauge idf build ", "did you mean '--quiet'?"),
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
    assert "--refs took 'ref.txt' and 'a.txt'; put the systems first: nlgauge score a.txt --refs ref.txt" in says


@pytest.mark.parametrize("command", ["score", "sensitivity"])
def test_systems_behind_the_metrics_are_found(refused: Refusal, command: str) -> None:
    says = refused(2, command, "--refs", "ref.txt", "-m", "bertscore", "a.txt")
    assert f"--metric took 'a.txt', which is a file; put the systems first: nlgauge {command} a.txt" in says


@pytest.mark.parametrize("command", [[], ["models"], ["signature"]])
def test_without_a_command_the_commands_are_named(command: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert main(command) == 2
    message = capsys.readouterr().err.splitlines()[-1]
    assert "is missing, one of" in message
    assert {"score", "pull", "diff"} & set(message.replace(",", "").replace(";", "").split())


def test_the_list_of_commands_says_what_each_command_says_of_itself() -> None:
    """`nlgauge --help` is made from a table, so that it need not load the commands."""

    def told(parser: argparse.ArgumentParser) -> list[tuple[str, str | None]]:
        (actions,) = [one for one in parser._actions if isinstance(one, argparse._SubParsersAction)]
        return [(one.dest, one.help) for one in actions._choices_actions]

    assert told(_parser_for(["--help"])) == told(build_parser())
    assert _parser_for(["--help"]).format_help() == build_parser().format_help()
    assert _parser_for(["score"]).format_usage() == build_parser().format_usage()
