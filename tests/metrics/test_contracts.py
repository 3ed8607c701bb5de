"""The contracts that every metric keeps, on corpora of at least ten texts of unequal length."""

from __future__ import annotations

import json
import math
import random
import tempfile
import warnings
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from tests.strategies import any_text, corpora, texts

import nlgauge
from nlgauge.core import engine as windows_module
from nlgauge.core.registry import METRICS, built_in_metrics
from nlgauge.core.vector_metric import VectorMetric
from nlgauge.metrics.parts.scales import Bounds
from nlgauge.studies.alignment.lexicon import train_lexicon

#: The texts hold an emoji that the models do not know, on purpose: the contracts hold for such texts too.
pytestmark = [
    pytest.mark.filterwarnings("ignore::nlgauge.errors.UnknownWordWarning"),
    pytest.mark.filterwarnings("ignore::nlgauge.errors.LanguageWarning"),
    pytest.mark.filterwarnings("ignore::nlgauge.errors.NoFocusWarning"),
    pytest.mark.filterwarnings("ignore::nlgauge.errors.ExtrapolationWarning"),
    pytest.mark.filterwarnings("ignore::nlgauge.errors.NoNounWarning"),
]

quick = settings(max_examples=8, deadline=None, suppress_health_check=list(HealthCheck))

#: Recipes whose scores look at a pair only. idf of the corpus at hand is the declared exception, below.
ALONE = [
    "bertscore",
    "bertscore:layer=6,multiref=mean",
    "bertscore:layer=0",
    "bertscore:rescale=yes",
    "moverscore:idf=none",
    "moverscore:profile=v2,idf=none",
    "moverscore:profile=paper,idf=none,n=2",
    "moverscore:idf=none,aggregation=barycentre",
    "smd:idf=none",
    "smd:profile=web",
    "baryscore:idf=none",
    "sentsim:combine=sss+bertscore+wmd+smd,bounds=FROZEN",
    "sentsim:combine=sss+wmdo,wmdo_matches=words,against=refs,bounds=FROZEN",
    "xmoverscore",
    "xmoverscore:profile=head,trim=0",
    "xmoverscore:profile=paper,idf=none",
    "xmoverscore:unit=sentence",
    "learned",
    "bleu",
    "chrf",
    "rouge1",
    "rouge2",
    "rougel",
    "rougew",
    "rougesu",
    "rouge-we:vectors=VECTORS",
    "meteor",
    "yisi0:idf=none",
    "yisi1:idf=none",
    "yisi1:idf=none,n=3",
    "lexical-graph:vectors=VECTORS",
    "ibm1:lexicon=LEXICON",
]

#: Metrics whose scores depend on the corpus by their definition.
OF_THE_CORPUS = {name for name, metric in built_in_metrics().items() if metric.whole_corpus is True}

# Every other metric that is registered, as it is without options: a new one keeps the contracts without being listed.
ALONE += [
    name for name in built_in_metrics() if name not in OF_THE_CORPUS | {recipe.partition(":")[0] for recipe in ALONE}
]

#: Exempt from the first contract: the published defect that the profile reproduces makes rounding decide. On one
#: machine, in one process, it is as repeatable as the others; only that is not promised.
ROUNDING_DECIDES = ["baryscore:profile=released"]

#: Metrics without the best-score property by their definition, with the reason.
NOT_BEST_ON_IDENTITY: dict[str, str] = {
    "rouge1": "its words are of the letters a to z and digits; a text of others has none, and scores 0",
    "rouge2": "a text of one word has no pair of words, and scores 0",
    "rougel": "as rouge1",
    "rougew": "as rouge1",
    "rougesu": "as rouge1",
    "rouge-we:vectors=VECTORS": "as rouge1",
    "meteor": "a chunk costs 1/2 (1 / matches)^3, also for equal texts",
    "eed": "no character of the reference leads to the place before the output, which counts as not visited",
    "js": "as rouge1, and scores ln 2",
    "lc": "it looks at the hypothesis alone",
    "rc": "as lc",
    "entity-graph": "as lc",
    "lexical-graph:vectors=VECTORS": "as lc",
    "lexical-chain": "a text without a noun in several sentences has no chain, and scores 0",
    "sentsim:combine=sss+wmdo,wmdo_matches=words,against=refs,bounds=FROZEN": "fewer words, larger chunks",
    "ibm1:lexicon=LEXICON": "a text is no translation of itself",
    "learned": "a weight can be negative, and the score is on the scale of human ratings",
}

#: Highest score of similarities whose highest is not 1.
HIGHEST = {
    "smd:profile=web": 0.0,  # minus a distance (D5.8)
    "xmoverscore:profile=paper,idf=none": 0.0,  # minus a distance (D8.14)
    "bleu": 100.0,
    "chrf": 100.0,
    "sari": 100.0,
} | {metric: math.e for metric in ALONE if metric.startswith("sentsim")}


@cache
def resolved(metric: str) -> str:
    """The recipe with a file of vectors, or bounds of a corpus that holds equal texts, where it asks for them."""
    if "VECTORS" in metric:
        path = Path(tempfile.mkdtemp(prefix="nlgauge-vectors-")) / "vectors.txt"
        path.write_text("cat 1 0\nferry 0.9 0.1\nrain 0 1\n", encoding="utf-8")
        return metric.replace("VECTORS", str(path))
    if "LEXICON" in metric:
        path = Path(tempfile.mkdtemp(prefix="nlgauge-lexicon-")) / "lexicon.npz"
        train_lexicon(["die fähre", "der regen", "die katze"], ["the ferry", "the rain", "the cat"]).save(path)
        return metric.replace("LEXICON", str(path))
    if "FROZEN" not in metric:
        return metric
    texts = ["The ferry was cancelled.", "Nobody wrote a letter to the baker."]
    free = metric.replace("bounds=FROZEN", "bounds=corpus")
    score = nlgauge.score(texts, [texts[0], "Rain fell all night."], sources=[texts[0], "Regen fiel."], metric=free)
    path = Path(tempfile.mkdtemp(prefix="nlgauge-bounds-")) / "bounds.json"
    Bounds.of_scores([score]).save(path)
    return metric.replace("FROZEN", str(path))


def scored(
    hyps: list[str], others: list[str], recipes: Sequence[str] = ALONE, **run: object
) -> dict[str, nlgauge.Score]:
    """The scores of all recipes, made in one call, so that each text is encoded once and each model loaded once.

    Each text stands beside its partner, which is its reference and its source.
    """
    metrics = [resolved(metric) for metric in recipes]
    options = dict(run)
    if any(issubclass(METRICS[metric.partition(":")[0]], VectorMetric) for metric in recipes):
        options = {"unknown": "score"} | options  # a text of nothing but unknown tokens is scored like any other
    scores = nlgauge.score_systems({"": hyps}, others, sources=others, metric=metrics, **options)
    return dict(zip(recipes, scores, strict=True))


def by_pair(
    pairs: list[tuple[str, str]], recipes: Sequence[str] = ALONE, **run: object
) -> dict[str, NDArray[np.float64]]:
    """All components of each pair, by recipe."""
    result = scored([h for h, _ in pairs], [r for _, r in pairs], recipes, **run)
    return {metric: np.array(list(score.segments.values())).T for metric, score in result.items()}


def same_bits(one: dict[str, NDArray[np.float64]], other: dict[str, NDArray[np.float64]]) -> None:
    moved = [metric for metric in one if not np.array_equal(one[metric], other[metric])]
    assert one.keys() == other.keys()
    assert not moved, f"these recipes moved: {moved}"


def test_every_metric_is_under_contract() -> None:
    assert {metric.partition(":")[0] for metric in ALONE} | OF_THE_CORPUS == set(built_in_metrics())
    assert {"cider", "nist", "tfidf"} == OF_THE_CORPUS


@quick
@given(pairs=corpora, seed=st.integers(0, 1000))
def test_a_score_does_not_depend_on_order_or_neighbours(pairs: list[tuple[str, str]], seed: int) -> None:
    together = by_pair(pairs)
    order = list(range(len(pairs)))
    random.Random(seed).shuffle(order)
    same_bits(by_pair([pairs[index] for index in order]), {metric: rows[order] for metric, rows in together.items()})
    index = seed % len(pairs)
    same_bits(by_pair([pairs[index]]), {metric: rows[index : index + 1] for metric, rows in together.items()})


@pytest.mark.heavy
@quick
@given(pairs=corpora, budget=st.integers(1, 300))
def test_a_score_does_not_depend_on_the_batch(pairs: list[tuple[str, str]], budget: int) -> None:
    same_bits(by_pair(pairs, batch_tokens=budget), by_pair(pairs))


def test_a_score_does_not_depend_on_threads(thirty_pairs: dict[str, Any]) -> None:
    """Threads outermost: a model is loaded anew for another number of them."""
    pairs = [(pair["hyp"], pair["ref"]) for pair in thirty_pairs["pairs"]]
    first, two, three = (by_pair(pairs, threads=threads) for threads in (1, 2, 3))
    same_bits(two, first)
    same_bits(three, first)


def test_a_score_does_not_depend_on_the_other_recipes(thirty_pairs: dict[str, Any]) -> None:
    """The contracts above score all recipes in one call; each alone gets the same bits."""
    pairs = [(pair["hyp"], pair["ref"]) for pair in thirty_pairs["pairs"][:12]]
    together = by_pair(pairs)
    same_bits({metric: by_pair(pairs, [metric])[metric] for metric in ALONE}, together)


@pytest.mark.filterwarnings("ignore::nlgauge.errors.ZeroWeightWarning")  # a corpus of equal texts may come
@quick
@given(pairs=corpora)
def test_a_score_does_not_depend_on_windows(pairs: list[tuple[str, str]]) -> None:
    whole = by_pair(pairs, ["bertscore:idf=refs"])
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(windows_module, "_WINDOW_BYTES", 40 * 384 * 4)  # a window of about 40 tokens
        same_bits(by_pair(pairs, ["bertscore:idf=refs"]), whole)


def test_a_score_does_not_depend_on_the_other_systems() -> None:
    refs = ["The ferry was cancelled.", "Nobody came."]
    systems = {"a": ["A ferry was called off.", "No one came."], "b": ["The storm.", "Nobody came."]}
    together = nlgauge.score_systems(systems, refs)
    for score, texts_ in zip(together, systems.values(), strict=True):
        assert np.array_equal(score.f1, nlgauge.score(texts_, refs).f1)


@pytest.mark.filterwarnings("ignore::nlgauge.errors.ZeroWeightWarning")  # a corpus of equal texts may come
@quick
@given(pairs=corpora)
def test_same_input_same_bytes(pairs: list[tuple[str, str]]) -> None:
    hyps, refs = [h for h, _ in pairs], [r for _, r in pairs]
    first, second = (json.dumps(nlgauge.score(hyps, refs, idf="refs", unknown="score").to_dict()) for _ in range(2))
    assert first == second


@pytest.mark.heavy
@quick
@given(text=texts, other=texts)
def test_identical_texts_get_the_best_score(text: str, other: str) -> None:
    recipes = [metric for metric in ALONE if metric not in NOT_BEST_ON_IDENTITY]
    for metric, score in scored([text, other], [text, text], recipes).items():
        sign = 1 if score.higher_is_better else -1
        values = score.segments[score.main]
        best = HIGHEST.get(metric, 1.0) if score.higher_is_better else 0.0
        assert values[0] == pytest.approx(best, abs=1e-4), metric
        assert sign * values[0] >= sign * values[1] - 1e-6, metric


#: Recipes for texts of any kind, with what looks at the corpus among them.
ANY_TEXT = [
    "bertscore:idf=refs",
    "moverscore",
    "smd",
    "baryscore",
    "chrf",
    "wer",
    "per",
    "cder",
    "ter",
    "eed",
    "character",
    "nist",
    "js:order=2",
    "tfidf",
    "sentsim:combine=all,bounds=FROZEN",
    "xmoverscore:profile=head",
    "xmoverscore:profile=paper",
    "xmoverscore:unit=sentence",
    "learned",
    "ibm1:lexicon=LEXICON",
    *ROUNDING_DECIDES,
]


@pytest.mark.heavy
@quick
@given(
    pairs=st.lists(st.tuples(any_text, any_text), min_size=1, max_size=6), unknown=st.sampled_from(["zero", "score"])
)
def test_any_text_has_a_finite_score(pairs: list[tuple[str, str]], unknown: str) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", nlgauge.errors.NlgaugeWarning)
        result = by_pair(pairs, ANY_TEXT, empty="zero", unknown=unknown)
    assert [metric for metric, values in result.items() if not np.isfinite(values).all()] == []


def test_idf_of_the_corpus_is_in_the_signature_and_can_be_frozen(tmp_path: Path) -> None:
    """The declared exception: with idf=refs a score depends on its neighbours, and the digest says so."""
    hyps = ["A ferry was cancelled in the storm.", "The bread was good.", "Nobody wrote letters."]
    refs = ["The ferry was cancelled because of the storm.", "The bread is the best.", "She wrote letters."]
    alone = nlgauge.score(hyps[:2], refs[:2], idf="refs")
    together = nlgauge.score(hyps, refs, idf="refs")
    assert not np.array_equal(alone.f1, together.f1[:2])
    assert alone.signature.recipe["idf"] != together.signature.recipe["idf"]

    from nlgauge.encoders.load import load_encoder
    from nlgauge.text.idf import IdfTable

    tokenizer = load_encoder("minilm").tokenizer
    table = IdfTable.build(
        tokenizer.encode(refs), vocabulary_size=tokenizer.vocabulary_size, tokenizer=tokenizer.digest
    )
    table.save(tmp_path / "idf.json")
    frozen = nlgauge.score(hyps[:2], refs[:2], idf=str(tmp_path / "idf.json"))
    assert np.array_equal(frozen.f1, together.f1[:2])
    assert frozen.signature.recipe["idf"] == together.signature.recipe["idf"].replace("refs", "file")


def test_scores_are_symmetric_in_the_way_the_definition_says() -> None:
    """P(x, y) = R(y, x), so F is symmetric: what a user of torchmetrics found broken."""
    a = ["The ferry was cancelled.", "Two of three.", "A long sentence about bread and wages in the town."]
    b = ["A storm stopped the ferry.", "Two out of the three witnesses.", "Bread."]
    there, back = nlgauge.score(a, b), nlgauge.score(b, a)
    np.testing.assert_allclose(there.precision, back.recall, atol=1e-7)
    np.testing.assert_allclose(there.f1, back.f1, atol=1e-7)
