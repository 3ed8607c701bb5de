"""Ranking of candidates: against each other, against references, against sources."""

from __future__ import annotations

import json
import math

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.core.pairs.conftest import CountingEncoder, texts

import nlgauge
from nlgauge.testing import hash_encoder

quick = settings(max_examples=20, deadline=None, suppress_health_check=list(HealthCheck))
segments = st.lists(st.lists(texts, min_size=1, max_size=5), min_size=1, max_size=6)

RECIPE = "bertscore:layer=1"
FERRY = [
    "The ferry was cancelled because of the storm.",
    "Because of the storm the ferry was cancelled.",
    "The ferry was called off because of a storm.",
    "I like cheese.",
]


@pytest.mark.heavy
@quick
@given(segments, st.sampled_from([RECIPE, "moverscore:profile=paper,idf=none,n=1"]), st.booleans())
def test_a_utility_is_the_mean_score_against_the_other_candidates(
    candidates: list[list[str]], recipe: str, small: bool
) -> None:
    with hash_encoder(layers=6) as model, pytest.MonkeyPatch.context() as patch:
        if small:
            patch.setattr("nlgauge.core.engine._WINDOW_BYTES", 2048)
        ranking = nlgauge.rank(candidates, metric=recipe, model=model)
        for group, utilities in zip(candidates, ranking.utilities, strict=True):
            if len(group) == 1:
                assert np.isnan(utilities).all()
                continue
            scores = nlgauge.matrix(group, metric=recipe, model=model).scores
            for index in range(len(group)):
                others = np.delete(scores[index], index)
                assert utilities[index] == math.fsum(others) / len(others)


@quick
@given(segments)
def test_a_ranking_depends_neither_on_other_segments_nor_on_the_order_of_candidates(
    candidates: list[list[str]],
) -> None:
    with hash_encoder() as model:
        together = nlgauge.rank(candidates, metric=RECIPE, model=model)
        backward = nlgauge.rank([group[::-1] for group in candidates[::-1]], metric=RECIPE, model=model)
        alone = nlgauge.rank(candidates[:1], metric=RECIPE, model=model)
    assert np.array_equal(alone.utilities[0], together.utilities[0], equal_nan=True)
    for first, other in zip(together.utilities, backward.utilities[::-1], strict=True):
        assert np.array_equal(first, other[::-1], equal_nan=True)


def test_the_candidate_that_is_nearest_to_all_others_is_chosen() -> None:
    ranking = nlgauge.rank([FERRY, ["It rains."]])
    assert ranking.against == "candidates"
    assert ranking.orders[0][-1] == 3
    assert ranking.best[1] == 0
    assert ranking.chosen == [FERRY[ranking.best[0]], "It rains."]


def test_a_distance_is_best_when_it_is_lowest() -> None:
    ranking = nlgauge.rank([FERRY], metric="moverscore:profile=paper,idf=none,model=minilm")
    assert ranking.higher_is_better is False
    utilities = ranking.utilities[0]
    assert ranking.best == [int(utilities.argmin())]
    assert ranking.orders[0] == sorted(range(4), key=lambda at: utilities[at])
    assert ranking.orders[0][-1] == 3


def test_first_of_equal_candidates_wins_and_is_reference_of_the_other() -> None:
    ranking = nlgauge.rank([["I like cheese.", "A cat sat.", "Rain fell.", "A cat sat."]])
    utilities = ranking.utilities[0]
    assert utilities[1] == utilities[3]
    assert ranking.orders[0][:2] == [1, 3]
    itself = nlgauge.score(["A cat sat."], ["A cat sat."]).system_score
    others = nlgauge.matrix(["A cat sat."], ["I like cheese.", "Rain fell."]).scores[0]
    assert utilities[1] == math.fsum([*others, itself]) / 3


def test_rank_by_references() -> None:
    candidates = [FERRY, ["Rain.", "It rains."]]
    references = [["A storm stopped the ferry.", "The ferry was called off because of a storm."], "It rains."]
    ranking = nlgauge.rank(candidates, references, metric="bertscore:idf=refs")
    assert ranking.against == "references"
    assert ranking.chosen == [FERRY[2], "It rains."]
    # The idf is that of the references, each once.
    score = nlgauge.score([FERRY[1], "Rain."], references, metric="bertscore:idf=refs")
    assert [ranking.utilities[0][1], ranking.utilities[1][0]] == score.f1.tolist()
    assert ranking.signature.recipe == score.signature.recipe


def test_rank_by_sources() -> None:
    recipe = "xmoverscore:model=minilm,lm=none"
    ranking = nlgauge.rank([FERRY], sources=["The ferry was called off because of a storm."], metric=recipe)
    assert (ranking.against, ranking.best) == ("sources", [2])
    with pytest.raises(nlgauge.errors.RecipeError, match=r"idf='both' cannot be counted on the sources"):
        nlgauge.rank([FERRY], sources=["x"], metric="moverscore:against=source,model=minilm,idf=both")
    with pytest.raises(
        nlgauge.errors.InputError, match=r"xmoverscore compares with the source texts; pass them with sources="
    ):
        nlgauge.rank([FERRY], metric=recipe)


def test_each_text_is_encoded_once_for_all_segments(
    counted: CountingEncoder, monkeypatch: pytest.MonkeyPatch
) -> None:
    candidates = [["the cat", f"the {word}", "a dog ran"] for word in ("bird", "sofa", "man", "book", "tree", "rain")]
    whole = nlgauge.rank(candidates, metric=RECIPE, model="counted")
    monkeypatch.setattr("nlgauge.core.engine._WINDOW_BYTES", 1024)
    counted.seen.clear()
    cut = nlgauge.rank(candidates, metric=RECIPE, model="counted")
    assert set(counted.seen.values()) == {1}
    assert np.array_equal(np.stack(whole.utilities), np.stack(cut.utilities))


def test_rank_with_lexical_metric() -> None:
    ranking = nlgauge.rank([FERRY], metric="chrf")
    assert ranking.orders[0][-1] == 3
    assert ranking.signature.recipe["refs"] == "1"


def test_warnings_name_candidates() -> None:
    with pytest.warns(nlgauge.errors.EmptyTextWarning, match=r"1 text \(candidates\[1\]\[0\]\)"):
        ranking = nlgauge.rank([["A cat."], ["", "A dog.", "The dog."]])
    assert ranking.counts["empty"] == 4  # two pairs in each direction
    assert ranking.best[1] != 0
    with pytest.raises(
        nlgauge.errors.EmptyPairError, match=r"candidates\[0\]\[0\] and candidates\[0\]\[2\] are both empty"
    ):
        nlgauge.rank([["", "A cat.", ""]])
    with pytest.raises(
        nlgauge.errors.EmptyPairError, match=r"candidates\[1\]\[1\]: hypothesis and reference are both"
    ):
        nlgauge.rank([["A cat."], ["A dog.", ""]], ["A cat.", ""])


def test_json_of_ranking_has_no_nan() -> None:
    ranking = nlgauge.rank([FERRY, ["It rains."]])
    record = json.loads(json.dumps(ranking.to_dict(), allow_nan=False))
    assert record["segments"][1] == {
        "segment": 1,
        "best": 0,
        "chosen": "It rains.",
        "order": [0],
        "utilities": [None],
    }
    assert record["segments"][0]["utilities"] == ranking.utilities[0].tolist()
    assert record["signature"] == str(ranking.signature)
    assert repr(ranking).startswith("<bertscore: best of 2 segments against candidates | bertscore|")


@pytest.mark.parametrize(
    ("candidates", "options", "message"),
    [
        ([], {}, "candidates: the list is empty"),
        (["a text"], {}, r"candidates\[0\]: expected a list of strings, got a bare string"),
        ([["x"], []], {}, r"candidates\[1\]: the list is empty; a segment needs at least one candidate"),
        ([["x", "y"]], {"refs": ["a", "b"]}, "refs: 2 entries for 1 segment; pass one per segment"),
        ([["x", "y"]], {"metric": "sentsim:against=refs,model=minilm"}, r"bounds=FILE"),
        ([["x", "y"]], {"alignments": True}, "without alignments"),
    ],
)
def test_invalid_arguments_are_refused(candidates: object, options: dict[str, object], message: str) -> None:
    with pytest.raises(nlgauge.errors.NlgaugeError, match=message):
        nlgauge.rank(candidates, **options)  # type: ignore[arg-type]


def test_notebook_shows_chosen_candidates() -> None:
    ranking = nlgauge.rank([["a <cat>", "a dog"], ["rain"]], [["a <cat>"], ["rain"]], metric="chrf")
    shown = ranking._repr_html_()
    assert "<td>0</td><td>a &lt;cat&gt;</td><td><b>100.0000</b></td>" in shown
    assert f"signature: {ranking.signature.short()}".replace("<", "&lt;") in shown
