"""Rescaling by a shipped, a custom and a missing baseline."""

from __future__ import annotations

from pathlib import Path

import pytest

import nlgauge
from nlgauge.encoders.load import load_encoder
from nlgauge.metrics.parts.baseline import Baseline

HYP = ["The ferry was called off because of the storm."]
REFS = ["A storm stopped the ferry.", "The ferry was cancelled because of the storm.", "Ferry, storm."]


@pytest.mark.parametrize("model", ["minilm", "mpnet"])
def test_rescaling_subtracts_the_shipped_baseline(model: str) -> None:
    encoder = load_encoder(model)
    baseline = Baseline.shipped(encoder, "en")
    assert sorted(baseline.rows) == list(range(encoder.layers + 1)), "all layers are in the file"
    raw = nlgauge.score(HYP, [REFS[0]], model=model)
    rescaled = nlgauge.score(HYP, [REFS[0]], model=model, rescale=True)
    layer = int(raw.signature.recipe["layer"])
    for name, base in zip(("precision", "recall", "f1"), baseline.row(layer), strict=True):
        assert rescaled.segments[name][0] == pytest.approx((raw.segments[name][0] - base) / (1 - base), abs=1e-12)
    assert rescaled.signature.recipe["rescale"] == f"shipped-en[{baseline.digest[:12]}]"


@pytest.mark.parametrize("model", ["minilm", "mpnet"])
def test_shipped_baseline_equals_score_of_random_pairs(model: str) -> None:
    """Unrelated sentences land near 0 after rescaling, related ones well above."""
    unrelated = [
        "The ferry was cancelled because of the storm.",
        "Prices rose faster than wages last year.",
        "Nobody expected the smaller team to win.",
        "The bakery on the corner sells rye bread.",
    ]
    score = nlgauge.score(unrelated, [*unrelated[1:], unrelated[0]], model=model, rescale=True)
    assert abs(score.mean) < 0.25
    assert nlgauge.score(HYP, [REFS[1]], model=model, rescale=True).mean > 0.5


#: Two pairs of unrelated sentences, and one that means the same.
UNRELATED = {
    "de": (
        ["Die Fähre fiel wegen des Sturms aus.", "Die Preise stiegen im letzten Jahr."],
        "Wegen Sturm fiel die Fähre aus.",
    ),
    "ru": (["Паром отменили из-за шторма.", "Цены выросли в прошлом году."], "Из-за шторма паром отменили."),
    "tr": (
        ["Fırtına nedeniyle feribot iptal edildi.", "Geçen yıl fiyatlar arttı."],
        "Feribot fırtına nedeniyle iptal.",
    ),
    "zh": (["由于暴风雨，渡轮被取消了。", "去年物价上涨了。"], "因为暴风雨，渡轮取消了。"),
    "en": (["The ferry was cancelled.", "Prices rose last year."], "They cancelled the ferry."),
}


@pytest.mark.parametrize("language", UNRELATED)
def test_muse_has_a_baseline_for_each_language(language: str) -> None:
    (first, second), paraphrase = UNRELATED[language]
    baseline = Baseline.shipped(load_encoder("muse"), language)
    options = {"metric": "bertscore", "model": "muse", "lang": language}
    raw = nlgauge.score([first], [second], **options)
    rescaled = nlgauge.score([first, paraphrase], [second, first], rescale=True, **options)
    (_, _, base), signed = baseline.row(0), rescaled.signature.recipe["rescale"]
    assert rescaled.f1[0] == pytest.approx((raw.f1[0] - base) / (1 - base), abs=1e-12)
    assert signed == f"shipped-{language}[{baseline.digest[:12]}]"
    assert rescaled.f1[0] < 0.2 < 0.4 < rescaled.f1[1]


def test_a_model_with_several_baselines_needs_a_language() -> None:
    with pytest.raises(nlgauge.errors.BaselineError, match="de, en, ru, tr, zh; choose one with lang="):
        nlgauge.score(HYP, REFS[:1], model="muse", rescale=True)


def test_an_empty_side_is_zero_before_rescaling() -> None:
    with pytest.warns(nlgauge.errors.EmptyTextWarning, match="segment"):
        score = nlgauge.score([""], ["A storm."], rescale=True)
    base = Baseline.shipped(load_encoder("minilm"), "en").row(4)
    assert score.f1[0] == pytest.approx(-base[2] / (1 - base[2]))
    assert score.counts["empty"] == 1


@pytest.mark.filterwarnings("ignore::nlgauge.errors.LanguageWarning")
def test_missing_baseline_is_an_error() -> None:
    with pytest.raises(nlgauge.errors.BaselineError, match="build baseline"):
        nlgauge.score(HYP, REFS[:1], rescale=True, metric="bertscore:lang=de,model=minilm")


def test_a_baseline_of_another_language_is_refused(tmp_path: Path) -> None:
    shipped = Baseline.shipped(load_encoder("minilm"), "en")
    path = tmp_path / "de.tsv"
    path.write_text(Baseline({**shipped.header, "language": "de"}, shipped.rows).text(), encoding="utf-8")
    assert nlgauge.score(HYP, REFS[:1], rescale=path).mean < 1
    with pytest.raises(nlgauge.errors.BaselineError, match="language 'de'"):
        nlgauge.score(HYP, REFS[:1], metric="bertscore:model=minilm", rescale=path, lang="en")
