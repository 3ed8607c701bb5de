"""ROUGE-W, ROUGE-SU and ROUGE-WE: examples of the papers, numbers of other packages and by hand."""

from __future__ import annotations

import csv
from pathlib import Path

import numpy as np
import pytest
from tests.metrics.test_meteor import HYPS, REFS

import nlgauge
from nlgauge.data import load
from nlgauge.metrics.rouge import skip_pairs

VECTORS = "kids 1 0 0\nchildren 0.9 0.1 0\nbig 0 1 0\nlarge 0.1 1 0\nlion 0 0 1\ncar 0 0.6 0.8\nauto 0 0.5 0.9\n"


def test_example_of_lin_2004() -> None:
    """Section 4: against [A B C D E F G], [A B C D H I K] has .571 and [A H B K C I D] has .286, with k^2."""
    for text, expected in (("a b c d h i k", 0.571), ("a h b k c i d", 0.286)):
        assert nlgauge.score([text], ["a b c d e f g"], "rougew:weight=2").f1[0] == pytest.approx(expected, abs=5e-4)
    assert nlgauge.score(HYPS, REFS, "rougew:weight=1").f1.tolist() == pytest.approx(
        nlgauge.score(HYPS, REFS, "rougel").f1.tolist()
    )


def test_precision_of_rouge_w_is_that_of_rouge_metric() -> None:
    """PyRouge(rouge_w=True, rouge_w_weight=1.2) of rouge-metric 1.0.1. As in ROUGE-1.5.5, its recall has the weight
    of lengths twice, and neighbours in the reference are a run even where the output separates them.
    """
    expected = [[0.593504, 0.428795], [0.38611, 0.285714]]
    for text, group, values in zip(HYPS, REFS, expected, strict=False):
        scores = [nlgauge.score([text], [reference], "rougew:stemmer=no").precision[0] for reference in group]
        assert scores == pytest.approx(values, abs=1e-6)


@pytest.mark.parametrize(("row", "recalls"), [(0, [0.485714, 0.5]), (1, [0.5, 0.166667]), (2, [0.166667, 0.44])])
def test_skip_pairs_are_those_of_rouge_metric(row: int, recalls: list[float]) -> None:
    """Recall of ROUGE-S4, PyRouge(rouge_s=True, skip_gap=4) of rouge-metric 1.0.1."""

    def pairs(text: str) -> dict[tuple[str, ...], int]:
        return {unit: count for unit, count in skip_pairs(text.split(), 4).items() if len(unit) == 2}

    for reference, expected in zip(REFS[row], recalls, strict=True):
        output, target = pairs(HYPS[row]), pairs(reference)
        common = sum(min(count, output.get(unit, 0)) for unit, count in target.items())
        assert common / sum(target.values()) == pytest.approx(expected, abs=1e-6)


def test_rouge_su_by_hand() -> None:
    """Lin 2004, section 5: "police killed the gunman" and "police kill the gunman" share three pairs of six."""
    pair = ["police kill the gunman"], ["police killed the gunman"]
    score = nlgauge.score(*pair, "rougesu:stemmer=no")
    assert score.recall[0] == (3 + 3) / (4 + 6)
    assert nlgauge.score(*pair, "rougesu").f1[0] == 1
    adjacent = nlgauge.score(*pair, "rougesu:stemmer=no,gap=0")
    assert adjacent.recall[0] == (3 + 1) / (4 + 3), 'only "the gunman" is left'
    assert nlgauge.metrics.RougeSU.title_of(adjacent.signature.recipe) == "ROUGE-SU0"


@pytest.fixture
def vectors(tmp_path: Path) -> str:
    path = tmp_path / "vectors.txt"
    path.write_text(VECTORS, encoding="utf-8")
    return str(path)


def test_rouge_we_by_hand(vectors: str) -> None:
    """ "kids"-"children" (cosine .994) and "big"-"large" (.995) match, "own"-"own" has no vectors but is equal,
    "lion"-"car" has .8, and "zebra" matches nothing: 4 of 5 words, and 4 of 4.
    """
    texts = ["kids own big lion zebra"], ["children own large car"]
    score = nlgauge.score(*texts, f"rouge-we:vectors={vectors},threshold=.79")
    assert (score.precision[0], score.recall[0]) == (4 / 5, 1.0)
    strict = nlgauge.score(*texts, f"rouge-we:vectors={vectors},threshold=.9")
    assert strict.recall[0] == 3 / 4
    soft = nlgauge.score(*texts, f"rouge-we:vectors={vectors},matches=cosine,threshold=.9,measure=recall")
    cosines = 0.9 / np.hypot(0.9, 0.1) + 1 / np.hypot(0.1, 1) + 1
    assert soft.system_score == pytest.approx(cosines / 4)


def test_a_word_of_the_reference_matches_once(vectors: str) -> None:
    score = nlgauge.score(["kids children kids"], ["children car"], f"rouge-we:vectors={vectors}")
    assert score.precision[0] == 1 / 3


def test_pairs_of_words_by_sum_and_by_product(vectors: str) -> None:
    """Sums of "kids big" and "children large" have the cosine .9945. Products are (0, 0, 0) and (.09, .1, 0)."""
    texts = ["kids big"], ["children large"]
    assert nlgauge.score(*texts, f"rouge-we:vectors={vectors},order=2").f1[0] == 1
    assert nlgauge.score(*texts, f"rouge-we:vectors={vectors},order=2,compose=product").f1[0] == 0


def test_matches_of_references_are_added(vectors: str) -> None:
    texts = ["kids own"], [["children own", "zebra zebra zebra zebra"]]
    pooled, mean, best = (
        nlgauge.score(*texts, f"rouge-we:vectors={vectors},multiref={rule}").recall[0]
        for rule in ("pool", "mean", "best")
    )
    assert (pooled, mean, best) == (2 / 6, 1 / 2, 1.0)


def test_it_needs_vectors_and_signs_them(vectors: str) -> None:
    with pytest.raises(nlgauge.errors.RecipeError, match="vectors=FILE"):
        nlgauge.score(["a"], ["a"], "rouge-we")
    signature = nlgauge.score(["a"], ["a"], f"rouge-we:vectors={vectors}").signature
    assert signature.recipe["vectors"].startswith("file[")
    assert nlgauge.metrics.RougeWE.title_of(signature.recipe) == "ROUGE-WE-1"


def test_released_scores_of_tac_2008_correlate(data_folder: Path, vectors: str) -> None:
    """The released ROUGE-WE-1 has other vectors. Without any match by vectors, the scores of 480 summaries have a
    correlation of .95 with them.
    """
    table = load("tac2008", data_folder, humans=False)
    topics, systems = list(dict.fromkeys(table.segment))[:10], list(table.systems)
    rows = [row for row, topic in enumerate(table.segment) if topic in topics and int(table.system[row]) < 48]
    chosen = table.take(rows)
    score = nlgauge.score(list(chosen.hypothesis), list(chosen.references), f"rouge-we:vectors={vectors}")
    with (data_folder / "compare/tac/TAC/08/ROUGE_WE_1.csv").open(encoding="utf-8") as lines:
        released = [[float(value) for value in line] for line in list(csv.reader(lines))[1:]]
    expected = [
        released[topics.index(topic)][systems.index(system)]
        for topic, system in zip(chosen.segment, chosen.system, strict=True)
    ]
    assert np.corrcoef(score.f1, expected)[0, 1] > 0.9
