"""Options of a run: a value of a senseless type is refused by name, and never by an error of Python's own."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import nlgauge
from nlgauge.core.run_options import RunOptions

ODD: list[Any] = [[], {}, 3.5, np.array([1, 2]), object(), b"x"]


@pytest.mark.parametrize(
    "name", ["engine", "precision", "device", "long", "empty", "alignments", "progress", "cache"]
)
@pytest.mark.parametrize("value", ODD, ids=lambda value: type(value).__name__)
def test_a_value_of_another_type_is_refused_by_name(name: str, value: Any) -> None:
    with pytest.raises(nlgauge.errors.RecipeError, match=f"^{name} must be .*, got "):
        nlgauge.score(["a"], ["b"], metric="chrf", **{name: value})


@pytest.mark.parametrize("value", [*ODD[:2], *ODD[3:], True, 0, -1, float("nan"), float("inf"), "x"])
def test_the_size_of_a_cache_is_a_number_above_0(value: Any) -> None:
    with pytest.raises(nlgauge.errors.RecipeError, match=r"^cache_size must be a number of gigabytes above 0, got "):
        RunOptions(cache_size=value)


def test_numpys_truth_values_are_taken() -> None:
    assert RunOptions(progress=np.bool_(False), cache_size=np.float64(2)).cache_size == 2  # type: ignore[arg-type]


@pytest.mark.parametrize("name", ["model", "lang"])
def test_arrays_are_no_names(name: str) -> None:
    with pytest.raises(nlgauge.errors.RecipeError, match=f"^option {name!r} of bertscore must be "):
        nlgauge.score(["a"], ["b"], **{name: np.array([1, 2])})


@pytest.mark.parametrize("model", ["a" * 100_000, "owner/" + "b" * 300])
def test_a_model_with_an_endless_name_is_refused(model: str) -> None:
    with pytest.raises(
        nlgauge.errors.RecipeError, match=f"model must be .*, got {len(model)} characters: '{model[:20]}"
    ):
        nlgauge.score(["a"], ["b"], model=model)


@pytest.mark.parametrize("option", ["idf", "stopwords"])
def test_a_null_character_in_a_path_is_refused(option: str) -> None:
    with pytest.raises(nlgauge.errors.InputError, match=r"cannot read|cannot be read"):
        nlgauge.score(["a"], ["b"], metric="moverscore", **{option: "a\0b"})
