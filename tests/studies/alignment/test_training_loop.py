"""Epochs of any fit, with a training that only counts: what is kept, when it ends, and where it goes on."""

from __future__ import annotations

import math
import warnings
from typing import Any

import numpy as np
import pytest

from nlgauge.errors import ConvergenceWarning, InputError, RecipeError
from nlgauge.studies.alignment.training_loop import FitRun, FlowOptions, Trained, criterion, split_pairs, train
from nlgauge.vectors.remap import Origin


class Counting:
    """Its criterion after each epoch is read off a list."""

    torch: Any = None

    def __init__(self, *criteria: float) -> None:
        self.criteria, self.done, self.best, self.restored, self.rounds = criteria, 0, -1, -1, 0

    def criterion(self) -> float:
        return self.criteria[self.done]

    def begin_round(self) -> None:
        self.rounds += 1

    def epoch(self) -> float:
        self.done += 1
        return 0.0 if math.isfinite(self.criteria[self.done]) else math.nan

    def keep_best(self, *, new: bool) -> None:
        self.best = self.done if new else self.best

    def restore_best(self) -> None:
        self.restored = self.best

    def state(self) -> dict[str, Any]:
        return {"done": self.done}

    def restore(self, state: dict[str, Any]) -> None:
        self.done = state["done"]


def run(training: Counting, **options: Any) -> Trained:
    return train(training, FlowOptions(**options), FitRun(), method="flow", inputs=())


def test_the_best_state_is_kept_and_patience_ends_the_fit() -> None:
    training = Counting(0.1, 0.3, 0.2, 0.25, 0.9)
    trained = run(training, epochs=9, patience=2)
    assert (trained.best, trained.ended, len(trained.curve), training.restored) == (1, "patience", 4, 1)


def test_without_a_criterion_the_last_of_all_epochs_is_kept() -> None:
    training = Counting(0.9, 0.3, 0.8, 0.2)
    trained = run(training, epochs=3, patience=1, validation="none")
    assert (trained.best, trained.ended, training.restored) == (3, "epochs", 3)
    assert run(Counting(0.9, 0.3, math.nan, 0.2), epochs=1, validation="none").best == 1


def test_muse_criterion_counts_words_without_a_mutual_neighbour() -> None:
    """Two of three words lie at the first target; by hand the cosines are 1, .8 and 1."""
    moved = np.array([[1.0, 0.0, 0.0], [0.8, 0.0, 0.6], [0.0, 1.0, 0.0]], np.float32)
    target = np.array([[1.0, 0.0, 0.0], [0.0, 1.0, 0.0]], np.float32)
    assert criterion("frequent", moved, target) == pytest.approx((1 + 0.8 + 1) / 3)
    assert criterion("semantic", moved, target) == pytest.approx(1.0)
    assert criterion("none", moved, target) == 0
    assert criterion("none", moved * np.nan, target) == -math.inf
    with pytest.raises(RecipeError, match="'frequent' needs words in order of frequency"):
        FlowOptions(validation="frequent").check_method("flow")


def test_a_start_that_nothing_beats_is_kept() -> None:
    training = Counting(0.9, 0.3, 0.2)
    assert run(training, epochs=2)[1:] == (0, "epochs")
    assert training.restored == 0


def test_rounds_begin_anew() -> None:
    training = Counting(0.1, 0.2, 0.3, 0.4, 0.5)
    trained = run(training, epochs=2, rounds=2)
    assert ([point.round for point in trained.curve], training.rounds) == ([0, 1, 1, 2, 2], 2)


def test_a_round_that_ended_early_does_not_end_the_fit() -> None:
    """Two epochs of waiting end the first round; the second runs to its end, from epoch 6."""
    training = Counting(0.5, 0.4, 0.3, 0.6, 0.7, 0.8, 0.9, 1.0)
    trained = run(training, epochs=5, rounds=2, patience=2)
    assert [point.epoch for point in trained.curve] == [0, 1, 2, 6, 7, 8, 9, 10]
    assert (trained.ended, trained.best) == ("epochs", 10)
    assert FitRun().origin_of("flow", 9, trained, 0).note == "epoch 10 of 10, seed 0, ended: epochs"


def test_divergence_ends_with_the_last_good_state() -> None:
    training = Counting(0.1, 0.2, math.nan)
    with pytest.warns(ConvergenceWarning, match="diverged in epoch 2.*the result is that of epoch 1"):
        trained = run(training, epochs=5)
    assert (trained.ended, training.restored) == ("diverged", 1)
    assert (
        FitRun(Origin(note="a, b")).origin_of("flow", 9, trained, 4).note
        == "a, b; epoch 1 of 1, seed 4, ended: diverged"
    )


def test_vectors_that_are_all_alike_are_refused() -> None:
    with warnings.catch_warnings(), pytest.raises(InputError, match="not finite at the start"):
        run(Counting(math.nan), epochs=1)


def test_a_tenth_is_kept_apart_and_no_more_than_two_thousand() -> None:
    kept, apart = split_pairs(50, 1)
    assert (len(kept), len(apart)) == (45, 5)
    assert sorted(np.concatenate([kept, apart])) == list(range(50))
    assert len(split_pairs(90_000, 0)[1]) == 2000
