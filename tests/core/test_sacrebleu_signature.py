"""Signatures of sacreBLEU are refused with the same metric of nlgauge; the signatures are made by sacreBLEU."""

from __future__ import annotations

import pytest
from sacrebleu.metrics import BLEU, CHRF, TER

import nlgauge
from nlgauge.errors import SignatureError

HYPS, REFS = ["The cat sat on the mat."], ["A cat sat on a mat."]


@pytest.mark.parametrize("short", [False, True])
@pytest.mark.parametrize(
    ("metric", "recipe"),
    [
        (BLEU(), "bleu:case=mixed,tokenize=13a,smooth=exp"),
        (BLEU(lowercase=True, tokenize="char", smooth_method="floor"), "bleu:case=lower,tokenize=char,smooth=floor"),
        (CHRF(word_order=2), "chrf:chars=6,words=2"),
        (TER(normalized=True), "ter:case=lower,normalized=yes,punctuation=yes,asian=no"),
    ],
    ids=["bleu", "bleu with options", "chrf", "ter"],
)
def test_the_recipe_has_the_same_score(metric: BLEU | CHRF | TER, recipe: str, short: bool) -> None:
    expected = metric.corpus_score(HYPS, [REFS]).score
    text = metric.get_signature().format(short=short)
    with pytest.raises(SignatureError, match=f"signature of sacreBLEU; use -m {recipe}$"):
        nlgauge.score(HYPS, REFS, text)
    with pytest.raises(SignatureError, match=f"use -m {recipe}$"):
        nlgauge.Signature.parse(f"{recipe[:4].rstrip(':')}|{text}")
    score = nlgauge.score(HYPS, REFS, recipe).system_score
    assert score == pytest.approx(expected, abs=1e-6)


def test_settings_without_an_option_are_named() -> None:
    text = "chrF3|nrefs:1|case:lc|eff:yes|nc:6|nw:0|space:yes|version:2.6.0"
    with pytest.raises(
        SignatureError, match=r"chrf:chars=6,words=0,beta=3, which has no setting for case:lc, space:yes"
    ):
        nlgauge.Signature.parse(text)
    with pytest.raises(SignatureError, match=r"no setting for smooth:floor\[0.05\]"):
        nlgauge.Signature.parse("BLEU|nrefs:1|case:mixed|eff:no|tok:13a|smooth:floor[0.05]|version:2.6.0")
