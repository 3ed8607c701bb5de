"""Figures of an explanation."""

from __future__ import annotations

from pathlib import Path
from typing import Literal

import pytest

from nlgauge.errors import InputError, NlgaugeWarning
from nlgauge.io.canvas import save_figure
from nlgauge.studies.explain.explanation import Explanation
from nlgauge.studies.explain.pairs import explain_pair
from nlgauge.testing import hash_encoder

Kind = Literal["flow", "heat-map"]
BOTH = pytest.mark.parametrize("kind", ["flow", "heat-map"])


def explained(hyp: str, ref: str, metric: str) -> Explanation:
    with hash_encoder() as model:
        return explain_pair(hyp, ref, metric=metric, model=model, beside=True, unknown="score")


@BOTH
@pytest.mark.parametrize("metric", ["bertscore:layer=2", "moverscore"])
def test_the_same_explanation_gives_the_same_bytes(tmp_path: Path, kind: Kind, metric: str) -> None:
    result = explained("the cat sat on $it$ , _{", "a small dog ran", metric)
    for name in ("a.png", "b.png"):
        save_figure(result.figure(kind=kind), tmp_path / name)
    first = (tmp_path / "a.png").read_bytes()
    assert first.startswith(b"\x89PNG")
    assert first == (tmp_path / "b.png").read_bytes()


def test_figure_contains_the_words_and_titles(tmp_path: Path) -> None:
    explained("the cat sat", "a dog sat", "moverscore").save_figure(tmp_path / "a.svg")
    drawn = (tmp_path / "a.svg").read_text(encoding="utf-8")
    assert all(f"<!-- {word} -->" in drawn for word in ("the", "cat", "sat", "a", "dog"))
    assert "transport flow" in drawn
    assert "greedy matching" in drawn
    assert "<!-- moverscore: score" in drawn


def test_own_title_replaces_the_metric(tmp_path: Path) -> None:
    figure = explained("the cat sat", "a dog sat", "moverscore").figure(title="sentsim: wmd 0.5")
    save_figure(figure, tmp_path / "a.svg")
    drawn = (tmp_path / "a.svg").read_text(encoding="utf-8")
    assert "<!-- sentsim: wmd 0.5 -->" in drawn
    assert "moverscore" not in drawn


@BOTH
def test_metric_without_alignment_is_refused(kind: Kind) -> None:
    with pytest.raises(InputError, match="bleu does not align words"):
        explain_pair("a cat", "a dog", metric="bleu").figure(kind=kind)


@BOTH
def test_long_text_is_refused(kind: Kind) -> None:
    with pytest.raises(InputError, match="at most 60 words per text, got 61"):
        explained("cat " * 61, "a cat", "bertscore:layer=2").figure(kind=kind)


def test_letters_that_the_font_lacks_are_named(tmp_path: Path) -> None:
    with pytest.warns(NlgaugeWarning, match="lacks letters"):
        explain_pair("我 爱", "I love", model="muse", threads=1).save_figure(tmp_path / "a.png")
