"""Explanations as text."""

from __future__ import annotations

import pytest

from nlgauge.studies.explain.pairs import explain_pair
from nlgauge.testing import hash_encoder


def text(hyp: str, ref: str, *, colour: bool = False, metric: str = "bertscore:layer=0", **options: object) -> str:
    with hash_encoder(layers=0) as model:
        result = explain_pair(hyp, ref, metric=metric, model=model, **options)  # type: ignore[arg-type]
    return result.render(colour=colour)


def test_repeated_words_are_numbered() -> None:
    lines = text("the cat the dog", "the cat").splitlines()
    assert [line.split()[0] for line in lines if line.startswith(("the/", "cat ", "dog "))][:4] == [
        "the/1",
        "cat",
        "the/2",
        "dog",
    ]


def test_the_table_says_what_the_words_sum_to() -> None:
    out = text("the cat", "the dog")
    assert "part of precision" in out
    assert "precision: the values of the words sum to" in out
    sampled = text("the cat", "the dog", shapley=True)
    assert "shapley f1: the values of the words sum to" in sampled
    assert "the score minus the score of an empty text" in sampled


def test_side_by_side_has_a_column_for_each_kind_of_alignment() -> None:
    head = next(line for line in text("the cat", "the dog", beside=True).splitlines() if "best match" in line)
    assert head.index("best match") < head.index("moves to (share)")


def test_colours_grade_matches_and_removed_words_step_back() -> None:
    out = text("the cat !", "the dog", metric="moverscore:idf=none", colour=True)
    line = next(line for line in out.splitlines() if line.startswith("hypothesis:"))
    assert "\x1b[32mthe\x1b[0m" in line
    assert "\x1b[31mcat\x1b[0m" in line
    assert "\x1b[2m!\x1b[0m" in line


def test_control_characters_do_not_reach_the_terminal() -> None:
    out = explain_pair("cat\x1b[31m", "the cat").render()
    assert "\x1b" not in out


@pytest.mark.parametrize("metric", ["bleu", "chrf"])
def test_a_metric_without_an_alignment_has_its_shapley_values(metric: str) -> None:
    out = explain_pair("the cat sat", "a cat sat", metric=metric).render()
    assert f"shapley {metric}" in out
    assert f"note: {metric} does not align words" in out
    assert "\nreference\n---" not in out  # its words have no numbers


def test_special_tokens_are_explained_where_they_stand() -> None:
    out = explain_pair("...", "A cat", metric="moverscore").render()
    assert "[special] 100%" in out
    assert "[special]: a special token such as [CLS]\n" in out
