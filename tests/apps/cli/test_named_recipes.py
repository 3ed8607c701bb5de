"""`--recipe NAME` instead of a metric."""

from __future__ import annotations

import pytest
from tests.apps.cli.conftest import REFERENCE, SYSTEM_A, Refusal, Run

import nlgauge
from nlgauge.apps.cli.common import NAMED_RECIPES
from nlgauge.core.registry import parse_metric


def test_a_recipe_is_its_metric(run: Run) -> None:
    (score,) = run("score", "a.txt", "--refs", "ref.txt", "--recipe", "fast", "-f", "json").scores
    assert score["signature"] == str(nlgauge.score(SYSTEM_A, REFERENCE).signature)


def test_bert_score_is_what_most_papers_mean() -> None:
    """Default of bert-score 0.3.13 for English: roberta-large, layer 17, no idf, no rescaling."""
    metric = parse_metric(NAMED_RECIPES["bert-score"])
    names = ("model", "layer", "idf", "rescale", "prefix_space")
    assert [getattr(metric, name) for name in names] == ["roberta-large", 17, "none", "no", "yes"]


@pytest.mark.parametrize("words", [("-m", "chrf"), ("--model", "mpnet"), ("--layer", "4")])
def test_a_recipe_excludes_other_options_of_the_metric(refused: Refusal, words: tuple[str, ...]) -> None:
    message = refused(2, "score", "a.txt", "--refs", "ref.txt", "--recipe", "accurate", *words)
    assert "--recipe cannot be combined with --" in message
    assert "leave one out (accurate is -m bertscore:model=mpnet" in message
