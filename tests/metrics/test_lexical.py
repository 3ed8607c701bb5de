"""Lexical baselines: the packages' own numbers behind the interface of the other metrics."""

from __future__ import annotations

import sys
from dataclasses import replace
from importlib.metadata import version

import numpy as np
import pytest
import sacrebleu
from rouge_score import rouge_scorer

import nlgauge

HYPS = ["The ferry was cancelled in the storm.", "Bread is good.", "nobody wrote letters"]
REFS = ["The ferry was called off because of the storm.", "The bread is the best.", "She wrote letters."]


def test_bleu_equals_sacrebleu() -> None:
    score = nlgauge.score(HYPS, REFS, metric="bleu")
    assert score.system_scores["bleu"] == sacrebleu.corpus_bleu(HYPS, [REFS]).score
    expected = [sacrebleu.sentence_bleu(h, [r]).score for h, r in zip(HYPS, REFS, strict=True)]
    np.testing.assert_array_equal(score.bleu, expected)
    assert score.mean != score.system_scores["bleu"], "the mean of sentence BLEU is not corpus BLEU"
    assert score.to_dict()["score"] == score.system_scores["bleu"]


def test_chrf_equals_sacrebleu() -> None:
    for metric, order in (("chrf", 0), ("chrf:words=2", 2)):
        score = nlgauge.score(HYPS, REFS, metric=metric)
        assert score.system_scores["chrf"] == sacrebleu.corpus_chrf(HYPS, [REFS], word_order=order).score


def test_varying_number_of_references() -> None:
    refs = [[REFS[0], "A storm stopped the ferry."], [REFS[1]], [REFS[2]]]
    streams = [REFS, ["A storm stopped the ferry.", None, None]]
    assert (
        nlgauge.score(HYPS, refs, metric="bleu").system_scores["bleu"] == sacrebleu.corpus_bleu(HYPS, streams).score
    )


@pytest.mark.parametrize(("name", "key"), [("rouge1", "rouge1"), ("rouge2", "rouge2"), ("rougel", "rougeL")])
def test_rouge_equals_rouge_score(name: str, key: str) -> None:
    scorer = rouge_scorer.RougeScorer([key], use_stemmer=True)
    score = nlgauge.score(HYPS, REFS, metric=name)
    for index, (hyp, ref) in enumerate(zip(HYPS, REFS, strict=True)):
        expected = scorer.score(ref, hyp)[key]
        result = (score.precision[index], score.recall[index], score.f1[index])
        assert result == (expected.precision, expected.recall, expected.fmeasure)


@pytest.mark.parametrize(("hyp", "ref"), [("!", "?"), ("a text", "?"), ("the the cat", "cat the cat")])
def test_rouge_l_of_unusual_pairs_equals_rouge_score(hyp: str, ref: str) -> None:
    expected = rouge_scorer.RougeScorer(["rougeL"], use_stemmer=True).score(ref, hyp)["rougeL"]
    score = nlgauge.score([hyp], [ref], metric="rougel")
    assert (score.precision[0], score.recall[0], score.f1[0]) == expected


def test_rouge_of_several_references() -> None:
    singles = [nlgauge.score(HYPS[:1], [ref], metric="rouge1:measure=recall").recall[0] for ref in REFS]
    mean = nlgauge.score(HYPS[:1], [REFS], metric="rouge1:measure=recall")
    best = nlgauge.score(HYPS[:1], [REFS], metric="rouge1:measure=recall,multiref=best")
    assert mean.main == "recall"
    assert mean.recall[0] == pytest.approx(np.mean(singles))
    assert best.recall[0] == max(singles)


def test_stemming_and_case_options() -> None:
    words = (["The ferries"], ["the ferry"])
    stemmed, plain = (nlgauge.score(*words, metric=f"rouge1:stemmer={choice}").f1[0] for choice in ("yes", "no"))
    assert (stemmed, plain) == (1.0, 0.5)
    mixed, lower = (nlgauge.score(*words, metric=f"bleu:case={choice}").bleu[0] for choice in ("mixed", "lower"))
    assert lower > mixed


@pytest.mark.parametrize("metric", ["bleu:case=lower,tokenize=intl", "chrf:words=2", "rouge2:measure=recall"])
def test_the_signature_reproduces_the_score(metric: str) -> None:
    first = nlgauge.score(HYPS, REFS, metric=metric)
    again = nlgauge.score(HYPS, REFS, metric=first.signature)
    assert first.signature == again.signature
    np.testing.assert_array_equal(first.segments[first.main], again.segments[first.main])


@pytest.mark.parametrize("metric", ["bleu", "chrf"])
def test_the_interval_of_a_corpus_score_is_that_of_its_counts(metric: str) -> None:
    score = nlgauge.score(HYPS, REFS, metric=metric)
    interval = score.interval()
    assert interval.mean == pytest.approx(score.system_score, abs=1e-9)
    assert interval.low < score.system_score < interval.high


def test_a_corpus_score_without_its_counts_has_no_interval_of_a_mean() -> None:
    result = replace(nlgauge.score(HYPS, REFS, metric="bleu"), statistics=None)
    with pytest.raises(nlgauge.errors.InputError, match=r"whole corpus.*score the texts again"):
        result.interval()


def test_lexical_and_vector_metrics_in_one_call() -> None:
    scores = nlgauge.score_systems({"a": HYPS, "b": REFS}, REFS, metric=["chrf", "bertscore", "bleu"], layer=4)
    assert [(score.metric, score.system) for score in scores] == [
        (metric, system) for metric in ("chrf", "bertscore", "bleu") for system in ("a", "b")
    ]


@pytest.mark.parametrize("metric", ["bleu", "chrf", "rouge1"])
def test_empty_texts(metric: str) -> None:
    with pytest.warns(nlgauge.errors.EmptyTextWarning):
        score = nlgauge.score(["", "Bread."], ["Bread.", "Bread."], metric=metric)
    assert score.segments[score.main][0] == 0
    assert score.counts["empty"] == 1
    with pytest.raises(nlgauge.errors.EmptyPairError, match="segment 0"):
        nlgauge.score([""], [""], metric=metric)


@pytest.mark.parametrize(
    "metric", ["bleu:case=upper", "bleu:tokenize=mine", "rouge1:measure=f2", "rouge1:stemmer=maybe"]
)
def test_invalid_values_are_refused(metric: str) -> None:
    with pytest.raises(nlgauge.errors.RecipeError):
        nlgauge.score(HYPS, REFS, metric=metric)


@pytest.mark.parametrize(
    ("metric", "package"), [("bleu", "sacrebleu"), ("chrf", "sacrebleu"), ("rouge1", "rouge_score")]
)
def test_a_missing_package_is_named_before_anything_is_encoded(
    metric: str, package: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    from nlgauge.core import engine

    def refuse(*_: object, **__: object) -> None:
        raise AssertionError

    monkeypatch.setattr(engine, "encode_texts", refuse)
    monkeypatch.setitem(sys.modules, package, None)
    with pytest.raises(nlgauge.errors.MissingExtraError, match=r"nlgauge\[lexical\]"):
        nlgauge.score_systems({"a": HYPS}, REFS, metric=["bertscore", metric])


@pytest.mark.parametrize(
    ("recipe", "field", "package"),
    [("bleu:tokenize=intl", "tokenize_engine", "regex"), ("rougel:stemmer=yes", "stemmer_engine", "nltk")],
)
def test_package_behind_a_tokenizer_or_stemmer_is_signed(recipe: str, field: str, package: str) -> None:
    signature = nlgauge.score(["The cats sat."], ["A cat sat."], metric=recipe).signature
    assert signature.recipe[field] == f"{package}-{version(package)}"
    assert nlgauge.score(["The cats sat."], ["A cat sat."], metric=str(signature)).signature == signature


@pytest.mark.parametrize("recipe", ["bleu", "bleu:tokenize=char", "rougel:stemmer=no", "chrf"])
def test_package_that_is_not_used_is_not_signed(recipe: str) -> None:
    fields = nlgauge.score(["The cats sat."], ["A cat sat."], metric=recipe).signature.recipe
    assert not {"tokenize_engine", "stemmer_engine"} & set(fields)


CHINESE = ["猫坐在垫子上面睡觉。", "火车因为暴风雨晚点了二十分钟。"]
CHINESE_REFS = ["猫坐在垫子上面。", "火车因为暴风雨晚点二十分钟。"]


def test_bleu_takes_the_tokenizer_of_the_language() -> None:
    """As sacrebleu chooses it for `--language-pair xx-zh`; the tokenizer is in the signature."""
    score = nlgauge.score(CHINESE, CHINESE_REFS, metric="bleu", lang="zh")
    assert score.system_score == sacrebleu.corpus_bleu(CHINESE, [CHINESE_REFS], tokenize="zh").score
    assert score.system_score > 50
    assert score.signature.recipe["tokenize"] == "zh"
    again = nlgauge.score(CHINESE, CHINESE_REFS, metric=score.signature)
    assert (again.system_score, again.signature) == (score.system_score, score.signature)
    assert nlgauge.metrics.BLEU(lang="zh-TW").tokenize == "zh"
    assert nlgauge.metrics.BLEU(lang="ja").tokenize == "ja-mecab"
    assert nlgauge.metrics.BLEU(lang="ko").tokenize == "ko-mecab"
    assert nlgauge.metrics.BLEU(lang="zh", tokenize="char").tokenize == "char", "what is named comes first"
    assert nlgauge.metrics.BLEU(lang="de") != nlgauge.metrics.BLEU(lang="zh")
    assert nlgauge.metrics.BLEU(lang="de").tokenize == nlgauge.metrics.BLEU().tokenize == "13a"


@pytest.mark.parametrize(
    ("references", "says"),
    [
        (CHINESE_REFS, r"look Chinese, but bleu:tokenize=13a .* use lang='zh' \(bleu:tokenize=zh\)$"),
        (["私は猫が好きです。"], r"look Japanese, .* use lang='ja' \(bleu:tokenize=ja-mecab\)"),
        (["나는 고양이를 좋아합니다."], r"look Korean, .* use lang='ko' \(bleu:tokenize=ko-mecab\)"),
    ],
)
def test_bleu_warns_of_texts_that_it_cannot_split(references: list[str], says: str) -> None:
    with pytest.warns(nlgauge.errors.LanguageWarning, match=says):
        score = nlgauge.score(references, references, metric="bleu")
    assert score.signature.recipe["tokenize"] == "13a"
    assert score.system_score == sacrebleu.corpus_bleu(references, [references]).score, "the number is sacrebleu's"


def test_bleu_does_not_warn_of_texts_that_are_cut_into_words() -> None:
    for references, options in (
        (["猫 坐 在 垫子 上面 。", "火车 晚点 了 。"], {}),
        (["The restaurant 北京 was full."], {}),
        (CHINESE_REFS, {"tokenize": "char"}),
        (HYPS, {"lang": "de"}),
    ):
        nlgauge.score(references, references, metric="bleu", **options)  # a warning is an error here


def test_error_of_missing_tokenizer_contains_install_command(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "MeCab", None)
    monkeypatch.delitem(sys.modules, "sacrebleu.tokenizers.tokenizer_ja_mecab", raising=False)
    says = r"'ja-mecab' is not installed; run pip install 'sacrebleu\[ja\]', or use bleu:tokenize=char"
    with pytest.raises(nlgauge.errors.MissingExtraError, match=says):
        nlgauge.score(["私は猫が好きです。"], ["私は猫が好きです。"], metric="bleu", lang="ja")
    with pytest.raises(nlgauge.errors.RecipeError, match="tokenize is empty"):
        nlgauge.score(HYPS, REFS, metric="bleu", tokenize="")
