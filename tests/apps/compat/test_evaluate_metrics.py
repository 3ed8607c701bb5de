"""Metrics of `evaluate` under its own keys and options, beside direct calls of the packages that compute them.

Expected numbers of BLEU and chrF are those in the descriptions of evaluate's own metrics (metrics/bleu/bleu.py,
metrics/sacrebleu/sacrebleu.py and metrics/chrf/chrf.py of huggingface/evaluate 0.4).
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import sacrebleu
from rouge_score import rouge_scorer, scoring

import nlgauge
from nlgauge.apps.compat import evaluate

CANDS = ["The cat sat on the mat.", "Rain is expected in the north tomorrow.", "Nobody knew."]
REFS = [
    ["A cat sat upon a mat.", "The cat sat on a mat."],
    ["The north expects rain.", "Rain is expected tomorrow in the north."],
    ["No one knew the answer.", "Nobody knew that."],
]
STREAMS = [list(stream) for stream in zip(*REFS, strict=True)]

KENOBI = ["hello there general kenobi", "foo bar foobar"]
BOOKSHOP = [
    "The relationship between cats and dogs is not exactly friendly.",
    "a good bookshop is just a genteel black hole that knows how to read.",
]
BOOKSHOP_REFS = [
    ["The relationship between dogs and cats is not exactly friendly."],
    ["A good bookshop is just a genteel Black Hole that knows how to read."],
]


def computed(name: str, cands: Any = CANDS, refs: Any = REFS, **options: Any) -> dict[str, Any]:
    return evaluate.load(name).compute(predictions=cands, references=refs, **options)


# sacrebleu


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"lowercase": True, "tokenize": "char"},
        {"smooth_method": "floor", "smooth_value": 0.5},
        {"use_effective_order": True, "force": True},
    ],
    ids=str,
)
def test_sacrebleu_is_that_of_the_package(options: dict[str, Any]) -> None:
    result = computed("sacrebleu", **options)
    direct = sacrebleu.corpus_bleu(CANDS, STREAMS, **options)
    assert list(result) == ["score", "counts", "totals", "precisions", "bp", "sys_len", "ref_len", "hashcode"]
    for key in list(result)[:-1]:
        assert result[key] == getattr(direct, key)
    json.dumps(result)


def test_sacrebleu_of_evaluates_own_example() -> None:
    refs = [["hello there general kenobi", "hello there !"], ["goodbye ankh morpork", "ankh morpork"]]
    result = computed("sacrebleu", [KENOBI[0], "on our way to ankh morpork"], refs)
    assert round(result["score"], 1) == 39.8


# bleu


def test_bleu_of_evaluates_own_example() -> None:
    result = computed("bleu", KENOBI, [["hello there general kenobi", "hello there!"], ["foo bar foobar"]])
    assert result.pop("hashcode").startswith(
        "evaluate-bleu|tokenizer:13a|order:4|smooth:none|brevity:shortest|refs:var|"
    )
    assert result == {
        "bleu": 1.0,
        "precisions": [1.0, 1.0, 1.0, 1.0],
        "brevity_penalty": 1.0,
        "length_ratio": pytest.approx(7 / 6),  # the shorter reference counts: 3 words of "hello there!"
        "translation_length": 7,
        "reference_length": 6,
    }


def test_bleu_of_one_reference_is_that_of_sacrebleu_without_smoothing() -> None:
    cands = [*CANDS[:2], "No one knew the answer to it."]
    result = computed("bleu", cands, STREAMS[1])
    direct = sacrebleu.corpus_bleu(cands, [STREAMS[1]], smooth_method="none")
    assert 0 < result["bleu"] == pytest.approx(direct.score / 100, rel=1e-12)
    assert result["precisions"] == pytest.approx([value / 100 for value in direct.precisions], rel=1e-12)
    assert result["brevity_penalty"] == pytest.approx(direct.bp, rel=1e-12)
    assert (result["translation_length"], result["reference_length"]) == (direct.sys_len, direct.ref_len)


def test_bleu_smoothed_and_cut_to_two_words_by_hand() -> None:
    # "a b c d" beside "a b x": 2 of 4 words match, 1 of 3 pairs; with one added (2+1)/(4+1) and (1+1)/(3+1).
    result = computed("bleu", ["a b c d"], ["a b x"], max_order=2, smooth=True)
    assert result["precisions"] == [0.6, 0.5]
    assert result["bleu"] == pytest.approx(math.sqrt(0.3))
    # Shorter than the reference: exp(1 - 4/3).
    short = computed("bleu", ["a b x"], ["a b c d"], max_order=1)
    assert short["bleu"] == pytest.approx(2 / 3 * math.exp(1 - 4 / 3))
    # Nothing in common, and nothing at all, are 0.
    assert computed("bleu", ["a"], ["b"])["bleu"] == computed("bleu", [""], ["b"])["bleu"] == 0


def test_bleu_takes_a_tokenizer() -> None:
    result = computed("bleu", ["a-b"], ["a-c"], tokenizer=lambda text: text.split("-"), max_order=1)
    assert (result["bleu"], result["translation_length"]) == (0.5, 2)
    assert "|tokenizer:own|" in result["hashcode"]


# chrf


@pytest.mark.parametrize(
    ("options", "score"),
    [
        ({}, 84.642149),
        ({"word_order": 2}, 82.872637),
        ({"word_order": 2, "lowercase": True}, 92.128531),
    ],
    ids=str,
)
def test_chrf_of_evaluates_own_examples(options: dict[str, Any], score: float) -> None:
    result = computed("chrf", BOOKSHOP, BOOKSHOP_REFS, **options)
    assert list(result) == ["score", "char_order", "word_order", "beta", "hashcode"]
    assert result["score"] == pytest.approx(score, abs=1e-6)
    assert (result["char_order"], result["word_order"], result["beta"]) == (6, options.get("word_order", 0), 2)


@pytest.mark.parametrize(
    "options", [{"whitespace": True}, {"eps_smoothing": True}, {"char_order": 4, "beta": 1}], ids=str
)
def test_chrf_is_that_of_the_package(options: dict[str, Any]) -> None:
    assert computed("chrf", **options)["score"] == sacrebleu.CHRF(**options).corpus_score(CANDS, STREAMS).score


# rouge


@pytest.mark.parametrize("stemmer", [False, True])
def test_rouge_of_segments_is_that_of_the_package(stemmer: bool) -> None:
    cands = ["The cats sat.\nIt rained all day.", "Nobody knows."]
    refs = [["It rained.\nThe cats sat.", "A dog ran."], ["Nobody knew.", "Who knows?"]]
    result = computed("rouge", cands, refs, use_aggregator=False, use_stemmer=stemmer)
    kinds = ["rouge1", "rouge2", "rougeL", "rougeLsum"]
    assert list(result) == [*kinds, "hashcode"]
    scorer = rouge_scorer.RougeScorer(kinds, use_stemmer=stemmer)
    direct = [scorer.score_multi(group, cand) for cand, group in zip(cands, refs, strict=True)]
    for kind in kinds:
        assert result[kind] == [item[kind].fmeasure for item in direct]
    assert result["rougeL"] != result["rougeLsum"]


def test_rouge_of_the_corpus_is_the_packages_aggregate_under_a_seed() -> None:
    scorer = rouge_scorer.RougeScorer(["rouge1", "rougeL"])

    def direct(seed: int) -> dict[str, float]:
        aggregator = scoring.BootstrapAggregator()
        for cand, ref in zip(CANDS, STREAMS[0], strict=True):
            aggregator.add_scores(scorer.score(ref, cand))
        before = np.random.get_state()
        np.random.seed(seed)  # as evaluate does around a metric that was loaded with seed=
        result = aggregator.aggregate()
        np.random.set_state(before)
        return {kind: float(value.mid.fmeasure) for kind, value in result.items()}

    for seed in (12345, 7):
        more = {} if seed == 12345 else {"seed": seed}
        rouge = evaluate.load("rouge", rouge_types=["rouge1", "rougeL"], **more)
        state = np.random.get_state()[1].copy()
        result = rouge.compute(predictions=CANDS, references=STREAMS[0])
        assert (np.random.get_state()[1] == state).all()  # numbers that others draw stay as they were
        assert f"|aggregator:bootstrap-median|seed:{seed}|" in result.pop("hashcode")
        assert result == direct(seed)


def test_rouge_takes_a_tokenizer() -> None:
    result = computed("rouge", ["a-b"], ["a-c"], rouge_types=["rouge1"], tokenizer=lambda text: text.split("-"))
    assert result["rouge1"] == 0.5


# what they have in common


@pytest.mark.parametrize(
    ("name", "options"),
    [
        ("sacrebleu", {}),
        ("sacrebleu", {"lowercase": True, "tokenize": "intl", "smooth_method": "add-k"}),
        ("chrf", {"word_order": 2, "beta": 3}),
    ],
)
@pytest.mark.parametrize("refs", [REFS, STREAMS[0], [REFS[0], REFS[1][:1], REFS[2]]], ids=["two", "one", "unequal"])
def test_the_hash_code_is_a_signature_that_gives_the_score_again(
    name: str, options: dict[str, Any], refs: Any
) -> None:
    result = computed(name, CANDS, refs, **options)
    again = nlgauge.score(CANDS, refs, metric=result["hashcode"])
    assert again.system_score == result["score"]
    assert str(again.signature) == result["hashcode"]


@pytest.mark.parametrize(
    ("name", "options"),
    [("sacrebleu", {"smooth_value": 0.5, "smooth_method": "floor"}), ("chrf", {"whitespace": True})],
)
def test_hashcode_of_settings_without_a_recipe_lists_them(name: str, options: dict[str, Any]) -> None:
    code = computed(name, **options)["hashcode"]
    assert code.startswith(f"evaluate-{name}|")
    assert {"smooth:floor[0.50]", "space:yes"} & set(code.split("|"))
    with pytest.raises(nlgauge.errors.NlgaugeError):
        nlgauge.score(CANDS, REFS, metric=code)


@pytest.mark.parametrize("name", ["sacrebleu", "bleu", "chrf", "rouge"])
def test_texts_in_parts_and_from_generators_are_one_corpus(name: str) -> None:
    metric = evaluate.load(f"evaluate-metric/{name}")
    metric.add(prediction=CANDS[0], reference=REFS[0])
    metric.add_batch(predictions=(text for text in CANDS[1:]), references=(tuple(group) for group in REFS[1:]))
    assert metric.compute() == computed(name)


@pytest.mark.parametrize(
    ("name", "options", "said"),
    [
        (
            "chrf",
            {"word_ordr": 2},
            "no option 'word_ordr'; did you mean 'word_order'\\?; its options are char_order, ",
        ),
        ("bleu", {"smooth": "exp"}, "smooth must be True or False, got 'exp'"),
        ("bleu", {"tokenizer": "13a"}, "tokenizer must be a function"),
        ("bleu", {"max_order": 0}, "max_order must be a whole number from 1, got 0"),
        ("sacrebleu", {"smooth_method": "flor"}, "smooth_method must be one of exp, .*did you mean 'floor'"),
        ("sacrebleu", {"tokenize": "13b"}, "tokenize must be one of None, "),
        ("chrf", {"beta": 0}, "beta must be a number above 0"),
        ("rouge", {"rouge_types": ["rougeW"]}, "rouge_types must be among rouge1, .* got 'rougeW'"),
        ("rouge", {"rouge_types": "rouge1"}, "rouge_types: expected a list"),
    ],
)
def test_error_names_a_wrong_option(name: str, options: dict[str, Any], said: str) -> None:
    with pytest.raises(nlgauge.errors.NlgaugeError, match=said):
        computed(name, **options)


def test_an_unknown_option_is_an_error_when_the_metric_is_loaded() -> None:
    with pytest.raises(
        nlgauge.errors.RecipeError, match="sacrebleu of evaluate has no option 'lower_case'; did you mean"
    ):
        evaluate.load("sacrebleu", lower_case=True)
    assert evaluate.load("chrf", word_order=2, seed=1).compute(predictions=["a"], references=["a"])["word_order"] == 2


# combine


def test_combined_metrics_put_their_names_before_keys_they_share() -> None:
    both = evaluate.combine(["sacrebleu", "chrf"])
    both.add(prediction=CANDS[0], reference=REFS[0])
    both.add_batch(predictions=iter(CANDS[1:]), references=iter(REFS[1:]))
    result = both.compute()
    bleu, chrf = computed("sacrebleu"), computed("chrf")
    assert (result["sacrebleu_score"], result["chrf_score"]) == (bleu["score"], chrf["score"])
    assert (result["counts"], result["char_order"]) == (bleu["counts"], 6)
    assert (result["sacrebleu_hashcode"], result["chrf_hashcode"]) == (bleu["hashcode"], chrf["hashcode"])


def test_combined_metrics_can_be_named() -> None:
    plus = evaluate.load("chrf", word_order=2)
    named = evaluate.combine({"plain": "chrf", "plus": plus}, force_prefix=True)
    result = named.compute(predictions=iter(CANDS), references=iter(REFS))
    assert (result["plain_word_order"], result["plus_word_order"]) == (0, 2)
    twice = evaluate.combine(["chrf", "chrf"]).compute(predictions=CANDS, references=REFS)
    assert twice["chrf_0_score"] == twice["chrf_1_score"] == result["plain_score"]


@pytest.mark.parametrize(
    ("call", "said"),
    [
        (lambda: evaluate.combine([]), "needs a list of metrics"),
        (lambda: evaluate.combine("chrf"), "needs a list of metrics"),
        (
            lambda: evaluate.combine(["chrf"]).compute(predictions=["a"], references=["a"], beta=1),
            "load\\(NAME, beta=",
        ),
        (lambda: evaluate.combine(["chrf"]).compute(predictions="a", references=["a"]), "got a bare string 'a'"),
    ],
)
def test_combine_errors(call: Callable[[], Any], said: str) -> None:
    with pytest.raises(nlgauge.errors.NlgaugeError, match=said):
        call()
