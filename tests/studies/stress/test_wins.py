"""How often a paraphrase wins over a lookalike."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

import nlgauge
from nlgauge.core.signature import Signature
from nlgauge.errors import InputError, RecipeError
from nlgauge.studies.stress.triples import (
    DrawOptions,
    Triple,
    Triples,
    TripleStudy,
    TripleWins,
    released_wins,
    score_triples,
)

TRIPLES = Triples(
    "mine",
    (
        Triple("the cat saw the dog", "a kitten noticed a hound", "the dog saw the cat"),
        Triple("it rained all day", "rain fell from dawn to dusk", "it rained all night"),
        Triple("a child read the book", "a child read the book", "nobody wrote a letter"),
    ),
)


def test_tie_is_not_a_win() -> None:
    first = TripleWins("m", np.array([0.5, 0.7, 0.2, 0.9]), np.array([0.5, 0.6, 0.3, 0.1]))
    assert (first.share, first.ties) == (0.5, 0.25)
    turned = TripleWins("m", first.paraphrase, first.lookalike, higher_is_better=False)
    assert (turned.share, turned.ties) == (0.25, 0.25)
    constant = TripleWins("m", np.ones(2), np.ones(2))
    assert (constant.share, constant.ties, constant.effect) == (0.0, 1.0, 0.0)


def test_metrics_score_b_and_c_against_a() -> None:
    study = score_triples(TRIPLES, ["chrf", "rouge1"])
    b, c = (
        nlgauge.score(
            [triple[index] for triple in TRIPLES.triples],
            [triple.anchor for triple in TRIPLES.triples],
            metric="chrf",
        )
        for index in (1, 2)
    )
    first, second = study.metrics
    assert np.array_equal(first.paraphrase, b.segments["chrf"])
    assert np.array_equal(first.lookalike, c.segments["chrf"])
    assert first.share == second.share == pytest.approx(1 / 3)
    assert first.signature == b.signature.recipe_part
    assert str(study.signature).startswith("triples|texts:mine[3,")


def test_the_signature_is_read_back_whatever_the_triples_are_called() -> None:
    study = released_wins(Triples("a|b %.tsv", TRIPLES.triples), [])
    assert Signature.parse(str(study.signature)) == study.signature
    assert study.signature.recipe["texts"].startswith("a|b %.tsv[3,")


def test_options_of_intervals_are_checked() -> None:
    with pytest.raises(RecipeError, match="level must be a number above 0, below 1, got 2"):
        released_wins(TRIPLES, [], level=2)
    assert score_triples(TRIPLES, ["chrf"], seed=4).signature.recipe["seed"] == "4"


def test_one_triple_has_no_interval() -> None:
    study = score_triples(Triples("one", TRIPLES.triples[:1]), ["chrf"])
    assert study.metrics[0].interval is None
    assert json.loads(study.render("json"))["metrics"][0]["interval"] is None
    assert "chrf" in study.render()


def test_unknown_released_scores_are_an_error() -> None:
    with pytest.raises(InputError, match="mine has no released scores of 'bleurt'; it has none"):
        released_wins(TRIPLES, ["bleurt"])


@pytest.mark.heavy
@pytest.mark.parametrize("form", ["text", "tsv", "latex", "markdown", "json"])
def test_every_format(form: str) -> None:
    result = score_triples(TRIPLES, ["chrf"]).render(form)
    assert "chrf" in result
    if form == "text":
        assert "signature: triples|texts:mine|" in result


def test_the_distributions_are_drawn(tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    study = score_triples(TRIPLES, ["chrf", "rouge1"])
    flat = TripleWins("flat", np.ones(3), np.ones(3))
    TripleStudy.of(TRIPLES, [*study.metrics, flat], DrawOptions()).save_figure(tmp_path / "t.svg")
    text = (tmp_path / "t.svg").read_text(encoding="utf-8")
    assert text.startswith("<?xml")
