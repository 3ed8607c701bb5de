"""Ranking with pruning: fewer pairs, the same winner, and the rule in result and signature."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

import nlgauge
from nlgauge.core.pruning import Elimination
from nlgauge.core.rank import Ranking

#: A sentence, its variants in one word, which are nearer to it than to each other, and sentences that cannot win.
CENTRE = "A storm closed the old harbour on Monday morning"
WORDS = ("evening", "slowly", "northern")
NEAR = [CENTRE.replace(word, other) for word in CENTRE.split()[1:] if len(word) > 2 for other in WORDS]
FAR = [
    f"{who} likes {what} and {what}." for who in ("Anna", "Tom", "She") for what in ("tea", "chess", "snow", "jam")
]
CANDIDATES = [[*NEAR, CENTRE, *FAR], [*FAR[:4], CENTRE, *NEAR[::2], *FAR[4:]]]


def rank_both(metric: str, candidates: list[list[str]] = CANDIDATES, **options: Any) -> tuple[Ranking, Ranking]:
    """The exact ranking, and that with pruning."""
    exact = nlgauge.rank(candidates, metric=metric)
    return exact, nlgauge.rank(candidates, metric=metric, prune=True, **options)


@pytest.mark.parametrize("metric", ["chrf", "bertscore", "moverscore:profile=paper,idf=none,model=minilm"])
def test_pruning_finds_the_winner_with_fewer_pairs(metric: str) -> None:
    exact, pruned = rank_both(metric)
    assert pruned.chosen == exact.chosen == [CENTRE, CENTRE]
    assert exact.pruning is None
    assert pruned.pruning is not None
    assert pruned.pruning.all_pairs == sum(len(group) * (len(group) - 1) for group in CANDIDATES)
    assert pruned.pruning.pairs < 0.95 * pruned.pruning.all_pairs
    for group, counts, whole, part in zip(
        CANDIDATES, pruned.pruning.references, exact.utilities, pruned.utilities, strict=True
    ):
        all_seen = [count == len(group) - 1 for count in counts]
        # A candidate that has seen every other has its exact utility, to the last bit.
        assert np.array_equal(part[all_seen], whole[all_seen])
        assert min(counts) < len(group) - 1
    assert sum(map(sum, pruned.pruning.references)) == pruned.pruning.pairs


def test_eight_candidates_or_fewer_are_ranked_exactly() -> None:
    exact, pruned = rank_both("bertscore", [NEAR[:8], FAR[:3], ["It rains."]])
    assert pruned.orders == exact.orders
    for first, second in zip(exact.utilities, pruned.utilities, strict=True):
        assert np.array_equal(first, second, equal_nan=True)


def test_pruning_depends_neither_on_other_segments_nor_on_the_order_of_candidates() -> None:
    _, together = rank_both("chrf")
    backward = nlgauge.rank([group[::-1] for group in CANDIDATES[::-1]], metric="chrf", prune=True)
    for first, other in zip(together.utilities, backward.utilities[::-1], strict=True):
        assert np.array_equal(first, other[::-1])
    assert together.pruning is not None
    assert backward.pruning is not None
    assert together.pruning.pairs == backward.pruning.pairs


def test_the_seed_chooses_the_references() -> None:
    _, first = rank_both("chrf")
    _, again = rank_both("chrf", seed=12345)
    _, other = rank_both("chrf", seed=1)
    assert again.to_dict() == first.to_dict()
    assert other.to_dict()["segments"] != first.to_dict()["segments"]


def test_equal_candidates_are_compared_once() -> None:
    twins = [*NEAR, NEAR[3], NEAR[3]]
    exact, pruned = rank_both("chrf", [twins])
    assert pruned.best == exact.best
    utilities = pruned.utilities[0]
    assert utilities[3] == utilities[-1] == utilities[-2]
    order = pruned.orders[0]
    assert order.index(len(twins) - 2) == order.index(3) + 1


def test_rule_seed_and_pairs_are_in_result_and_signature() -> None:
    _, pruned = rank_both("chrf", seed=7)
    assert pruned.pruning is not None
    run = pruned.signature.run
    assert (run["prune"], run["seed"]) == ("bootstrap-0.9995-from-8-to-16", "7")
    assert run["scored"] == f"{pruned.pruning.pairs}of{pruned.pruning.all_pairs}"
    record = json.loads(pruned.render("json"))
    assert record["pruning"]["seed"] == 7
    assert Ranking.from_dict(pruned.to_dict()).to_dict() == pruned.to_dict()
    table = pruned.render("tsv").splitlines()
    assert table[0].split("\t")[-3:] == ["utility", "references", "signature"]
    exact = nlgauge.rank(CANDIDATES, metric="chrf")
    assert "pruning" not in exact.to_dict()
    assert "prune" not in exact.signature.run


def test_notes_count_only_pairs_that_were_scored() -> None:
    with pytest.warns(nlgauge.errors.EmptyTextWarning):
        exact, pruned = rank_both("chrf", [[*CANDIDATES[0], ""]])
    assert exact.counts["empty"] == 2 * len(CANDIDATES[0])
    assert 0 < pruned.counts["empty"] < exact.counts["empty"]


def test_pruning_refuses_what_it_cannot_rank() -> None:
    with pytest.raises(nlgauge.errors.RecipeError, match="prune= works only without refs= and sources="):
        nlgauge.rank([["A cat.", "A dog."]], ["A cat."], metric="chrf", prune=True)


def test_a_candidate_is_dropped_when_it_wins_few_resamples() -> None:
    """By hand: a candidate that is ahead by 5 on one of 8 references and behind by 1 on the others is ahead in
    resamples that have this reference twice, which are .26 of them; one that is behind on all of them never is."""
    texts = [f"text {number}" for number in range(20)]

    def scores_of(rows: list[int], columns: list[int]) -> NDArray[np.float64]:
        scores = np.zeros((len(rows), len(columns)))
        lucky = columns[0]
        for row, candidate in enumerate(rows):
            for column, reference in enumerate(columns):
                if candidate >= 18:
                    scores[row, column] = 5.0 if candidate == 18 and reference == lucky else -1.0
                if candidate == reference:
                    scores[row, column] = np.nan
        return scores

    race = Elimination(texts, seed=1, sign=1)
    rounds = race.rounds()
    rows, columns = next(rounds)
    assert (len(rows), len(columns)) == (20, 8)
    race.add(rows, columns, scores_of(rows, columns))
    rows, columns = next(rounds)
    assert len(columns) == 8
    assert 18 in rows
    assert 19 not in rows
    assert set(range(18)) <= set(rows)
