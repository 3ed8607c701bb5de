"""Sets of options: text and values are checked by one declaration, and unknown names are refused."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import pytest

from nlgauge.core.kinds import Choice, Flag, Float, InputFile, Int, Many, Text
from nlgauge.core.options import OptionSet, option, seed_option
from nlgauge.errors import RecipeError


@dataclass(frozen=True, kw_only=True)
class Cake(OptionSet):
    called: ClassVar[str] = "options of a cake"

    flour: str = option("wheat", Choice("wheat", "rye"), help="kind of flour")
    eggs: int = option(3, Int(1, 12), help="number of eggs")
    sugar: float = option(0.5, Float(above=0, below=1), help="share of sugar")
    fruits: tuple[str, ...] = option((), Many(Choice("apple", "plum")), help="fruits", signed=False)
    iced: bool = option(False, Flag(), help="whether it is iced")
    layers: int = option(1, Int(1), help="layers of icing", needs="iced")
    recipe: str | None = option(None, InputFile(), help="file with the recipe")
    seed: int = seed_option()


def test_text_becomes_a_value_of_the_option() -> None:
    cake = Cake.of({"eggs": "4", "sugar": "0.25", "fruits": ["plum"], "iced": "yes", "recipe": "a.txt"})
    assert (cake.eggs, cake.sugar, cake.fruits, cake.iced, cake.recipe) == (4, 0.25, ("plum",), True, "a.txt")
    assert Cake().recipe is None
    assert Cake.of({"fruits": "plum"}).fruits == ("plum",)


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"egs": 2}, "unknown option 'egs'; options of a cake are: flour, eggs, .*did you mean 'eggs'"),
        ({"flour": "oat"}, "flour must be wheat or rye, got 'oat'"),
        ({"eggs": 13}, "eggs must be a whole number from 1 to 12, got 13"),
        ({"eggs": "many"}, "eggs must be a whole number from 1 to 12, got 'many'"),
        ({"sugar": 0.0}, "sugar must be a number above 0, below 1, got 0.0"),
        ({"sugar": float("nan")}, "sugar must be a number above 0, below 1, got nan"),
        ({"fruits": ["pear"]}, "fruits does not accept 'pear'; choose from apple, plum"),
        ({"iced": "perhaps"}, "iced must be True or False, got 'perhaps'"),
        ({"seed": -1}, "seed must be a whole number from 0, got -1"),
    ],
)
def test_a_wrong_value_is_named_with_what_the_option_takes(values: dict[str, object], message: str) -> None:
    with pytest.raises(RecipeError, match=message):
        Cake.of(values)


def test_with_options_keeps_the_others() -> None:
    cake = Cake(eggs=5).with_options(flour="rye")
    assert (cake.eggs, cake.flour) == (5, "rye")
    with pytest.raises(RecipeError, match="unknown option 'milk'"):
        cake.with_options(milk=1)


def test_signed_options_leave_out_what_has_no_effect() -> None:
    assert list(Cake().signed()) == ["flour", "eggs", "sugar", "iced", "seed"]
    assert Cake(iced=True, layers=2).signed()["layers"] == "2"


def test_defaults_are_checked_like_other_values() -> None:
    @dataclass(frozen=True, kw_only=True)
    class Order(OptionSet):
        guests: tuple[str, ...] = option((), Many(Text("a name"), least=1), help="guests", required=True)
        town: str = option("Bonn", Text("a town", lower=True), help="town")

    with pytest.raises(RecipeError, match="guests must be"):
        Order()
    assert Order(guests=("Ann",)).town == "bonn"
