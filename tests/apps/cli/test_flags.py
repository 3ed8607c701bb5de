"""Flags from declared options: help, values, and flags that need another one."""

from __future__ import annotations

import argparse
from dataclasses import dataclass

import pytest

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
    with pytest.raises(RecipeError, match=r"^--title belongs to --report FILE, which was not given$"):
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
