"""An option says all there is to know about it once, and everything follows."""

from __future__ import annotations

import inspect
import pickle
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import pytest

import nlgauge
from nlgauge.core.kinds import Choice, Float, Int, Kind, NameList, NumberList, Pattern, Text
from nlgauge.core.metric import Metric, SystemResult, TextMetric
from nlgauge.core.options import BY_PROFILE, Option, option
from nlgauge.core.registry import METRICS, parse_metric
from nlgauge.errors import RecipeError


@pytest.mark.parametrize(
    ("kind", "text", "value"),
    [
        (Choice("a", "b"), "a", "a"),
        (Choice("yes", "no"), True, "yes"),
        (Pattern(r"layer-\d+", "layer-N"), "layer-4", "layer-4"),
        (Text("a name"), Path("x/y"), str(Path("x/y"))),
        (Int(0, word="default"), "default", None),
        (Int(1, also=["sentence"]), "sentence", "sentence"),
        (Int(1), np.int64(3), 3),
        (Float(0, 1), ".25", 0.25),
        (NameList("a", "b"), "all", "a+b"),
        (NumberList(finite=False), "-inf+1+inf", "-inf+1+inf"),
        (NumberList(word="equal"), "equal", "equal"),
    ],
)
def test_a_kind_reads_its_values(kind: Kind, text: object, value: object) -> None:
    result = kind.check(kind.parse(text) if isinstance(text, str) else text)
    assert result == value
    assert type(result) is type(value)


@pytest.mark.parametrize(
    ("kind", "bad"),
    [
        (Choice("a", "b"), "c"),
        (Choice("a"), 1),
        (Pattern(r"layer-\d+", "layer-N"), "layer-x"),
        (Text("a name"), ""),
        (Text("a name"), 3),
        (Int(1), 0),
        (Int(1), True),
        (Int(1), 1.5),
        (Int(0), None),
        (Float(0, 1), 1.0),
        (Float(), float("nan")),
        (NameList("a", "b"), "a+a"),
        (NameList("a", "b"), "c"),
        (NumberList(), "1+inf"),
        (NumberList(word="equal"), "1+x"),
    ],
)
def test_kinds_refuse_other_values(kind: Kind, bad: object) -> None:
    with pytest.raises((ValueError, TypeError)):
        kind.check(bad)


def test_a_message_names_option_values_and_value() -> None:
    with pytest.raises(
        RecipeError, match=r"^option 'multiref' of bertscore must be one of best-f, best-each, mean, got 'worst'$"
    ):
        nlgauge.metrics.BERTScore(multiref="worst")
    with pytest.raises(
        RecipeError, match=r"^option 'distance_as' of sentsim must be one-minus or negative, got 'b'$"
    ):
        nlgauge.metrics.SentSim(distance_as="b")
    with pytest.raises(
        RecipeError,
        match=r"^option 'trim' of xmoverscore must be a number .* or 'profile' for the profile's, got 2$",
    ):
        nlgauge.metrics.XMoverScore(trim=2)


@pytest.mark.parametrize("metric", METRICS)
def test_every_option_can_be_read_from_what_a_signature_says_of_its_default(metric: str) -> None:
    recipe = METRICS[metric]()
    for name, about in recipe.options().items():
        value = getattr(recipe, name)
        assert value is not BY_PROFILE
        assert about.help
        assert about.values
        if about.signed and value not in (None, ""):
            assert about.check(about.kind.read(name, about.kind.show(value))[name]) == value


@pytest.mark.parametrize("metric", METRICS)
def test_recipes_can_be_pickled_and_copied(metric: str) -> None:
    recipe = METRICS[metric]()
    again = pickle.loads(pickle.dumps(recipe))
    assert again == recipe
    assert again.with_options() == recipe


def test_unused_options_in_a_recipe_are_refused() -> None:
    with pytest.raises(
        RecipeError, match=r"exponents='1\+2' has no effect with aggregation=last \(only with aggregation=pmeans\)"
    ):
        nlgauge.metrics.MoverScore(aggregation="last", exponents="1+2")


def test_another_profile_brings_its_own_choices() -> None:
    recipe = parse_metric("moverscore:profile=v1,idf=none")
    other = recipe.with_options(profile="paper")
    assert (other.subwords, other.punctuation, other.idf) == ("all", "keep", "none")
    assert nlgauge.metrics.MoverScore() == nlgauge.metrics.MoverScore(idf="both", subwords="first")


@pytest.mark.parametrize("metric", METRICS.values(), ids=METRICS)
def test_help_says_what_each_option_means(metric: type[Metric]) -> None:
    text = inspect.getdoc(metric) or ""
    for name, about in metric.options().items():
        assert f"    {name}: {about.help}\n        {about.values}" in text
        assert name in inspect.signature(metric).parameters


def test_the_default_of_a_language_is_a_language() -> None:
    defaults = {name: about.default_text for name, about in METRICS["bertscore"].options().items()}
    assert (defaults["model"], defaults["lang"], defaults["src_lang"]) == ("by language", "en", "none")


@pytest.mark.parametrize("value", [0.1, 0.3, 0.12345671, 0.30000001, 1e-9])
def test_a_number_is_signed_to_its_last_digit(value: float) -> None:
    kind = Float()
    assert kind.parse(kind.show(value)) == value


@pytest.mark.parametrize("name", ["weights", "engine", "long", "refs", "package", "group", "base_metrics"])
def test_a_name_with_a_meaning_for_every_metric_is_refused(name: str) -> None:
    with pytest.raises(RecipeError, match=f"cannot have an option '{name}'"):
        type("Mine", (nlgauge.plugin.TextMetric,), {name: nlgauge.plugin.option("a", Choice("a", "b"), help="mine")})


def test_transforms_that_would_do_nothing_are_refused() -> None:
    with pytest.raises(RecipeError, match="transforms='position-norm' has no effect"):
        nlgauge.metrics.SentSim(combine="sss", transforms="position-norm")


@dataclass(frozen=True, kw_only=True)
class _Base(TextMetric):
    """A metric of another package, with one option."""

    name: ClassVar[str] = "options-base"
    components: ClassVar[tuple[str, ...]] = ("score",)
    main: ClassVar[str] = "score"

    first: str = option("a", Choice("a", "b"), help="the first", signed=False)

    def score_texts(self, hypotheses: Sequence[str], references: Sequence[Sequence[str]]) -> SystemResult:
        return SystemResult({"score": np.zeros(len(hypotheses))})


def test_options_of_a_class_are_made_once_and_cannot_be_changed() -> None:
    for metric in (*METRICS.values(), _Base):
        assert metric.options() is metric.options()
        with pytest.raises(TypeError):
            metric.options()["first"] = None  # type: ignore[index]


def test_two_runs_make_no_option_again(monkeypatch: pytest.MonkeyPatch) -> None:
    nlgauge.score(["a cat"], ["the cat"], metric="bertscore")
    made: list[str] = []
    keep = Option.__init__

    def count(self: Option, name: str, *args: Any, **rest: Any) -> None:
        made.append(name)
        keep(self, name, *args, **rest)

    monkeypatch.setattr(Option, "__init__", count)
    nlgauge.score(["a cat"], ["the cat"], metric="bertscore")
    nlgauge.metrics.BERTScore(layer=4).with_options(idf="refs")
    assert made == []


def test_a_subclass_has_options_of_its_own_also_where_it_is_asked_before_it_is_a_dataclass() -> None:
    assert list(_Base.options()) == ["first"]

    class Derived(_Base):
        first: str = option("b", Choice("a", "b"), help="the first", signed=False)
        second: str = option("x", Choice("x", "y"), help="the second", signed=False)

    assert list(Derived.options()) == ["first"]
    made = dataclass(frozen=True, kw_only=True)(Derived)
    assert {name: about.default for name, about in made.options().items()} == {"first": "b", "second": "x"}
    assert made(second="y").given == {"second": "y"}
    assert _Base.options()["first"].default == "a"
