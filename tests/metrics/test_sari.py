"""SARI: published numbers, and its need for sources next to references."""

from __future__ import annotations

import pytest

import nlgauge
from nlgauge.errors import InputError, RecipeError

#: The example of the script of Xu et al. (github.com/cocoxu/simplification, SARI.py).
SOURCE = "About 95 species are currently accepted ."
REFS = [
    "About 95 species are currently known .",
    "About 95 species are now accepted .",
    "95 species are now accepted .",
]
OUTPUTS = [
    "About 95 you now get in .",
    "About 95 species are now agreed .",
    "About 95 species are currently agreed .",
]


def sari(output: str, refs: list[str], source: str = SOURCE, recipe: str = "sari") -> nlgauge.Score:
    return nlgauge.score([output], [refs], recipe, sources=[source])


def test_released_variant_has_the_scores_of_the_authors() -> None:
    """Written down in EASSE's tests/test_sari.py for the script of the authors."""
    scores = [sari(output, REFS, recipe="sari:variant=released,tokenize=none").system_score for output in OUTPUTS]
    assert scores == pytest.approx([26.82782411698074, 58.89995423074248, 50.71608864657479])


def test_default_has_the_scores_of_evaluate() -> None:
    """The example on the metric card of `sari`, its parts as in flexeval, and that of `wiki_split`."""
    score = sari(
        "About 95 you now get in.",
        [text.replace(" .", ".") for text in REFS],
        SOURCE.replace(" .", "."),
    )
    assert score.system_score == pytest.approx(26.953601953601954)
    parts = {name: values[0] for name, values in score.segments.items() if name != "sari"}
    assert parts == pytest.approx({"keep": 22.527472527472525, "delete": 50.0, "add": 8.333333333333333})
    assert sari(OUTPUTS[0], REFS[:1]).system_score == pytest.approx(21.805555555555557)


def test_what_is_neither_wanted_nor_done_is_right_in_the_default_only() -> None:
    assert sari("a cat", ["a cat"], "a cat").system_score == pytest.approx(100)
    # By hand: nothing to delete or add is 0, and there are no n-grams of 3 and 4 words: (1 + 1 + 0 + 0) / 4 / 3.
    assert sari("a cat", ["a cat"], "a cat", "sari:variant=released").system_score == pytest.approx(100 / 6)


def test_system_score_is_the_mean_and_follows_the_source() -> None:
    score = nlgauge.score(OUTPUTS[:2], [REFS, REFS], "sari", sources=[SOURCE, OUTPUTS[1]])
    assert score.system_score == pytest.approx(score.sari.mean())
    assert score.sari[1] != pytest.approx(sari(OUTPUTS[1], REFS).system_score)


def test_signature_reproduces_the_score() -> None:
    score = sari(OUTPUTS[0], REFS, recipe="sari:variant=released,order=2")
    again = sari(OUTPUTS[0], REFS, recipe=str(score.signature))
    assert again.system_score == score.system_score
    assert again.signature == score.signature


def test_missing_sources_are_refused() -> None:
    with pytest.raises(InputError, match="needs the source texts as well as references; pass them with sources="):
        nlgauge.score(OUTPUTS[:1], [REFS], "sari")
    with pytest.raises(InputError, match="sari needs references"):
        nlgauge.score(OUTPUTS[:1], None, "sari", sources=[SOURCE])
    with pytest.raises(RecipeError, match="its source and its references at once"):
        nlgauge.matrix(OUTPUTS, REFS, "sari")


def test_candidates_are_ranked_by_references_and_sources() -> None:
    ranking = nlgauge.rank([OUTPUTS], [REFS], "sari", sources=[SOURCE])
    assert ranking.orders == [[1, 2, 0]]


def test_words_of_a_simplification_are_explained() -> None:
    explanation = sari(OUTPUTS[1], REFS).explain(0, shapley=True)
    assert explanation.scores["sari"] == pytest.approx(61.709656084656075)
    assert sum(explanation.attributions[0].values) == pytest.approx(explanation.attributions[0].total)
