"""Texts over a model's limit, read in windows: for every metric of vectors, and every way to ask for a score."""

from __future__ import annotations

import itertools
import resource
import sys
import warnings
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

import nlgauge
from nlgauge.core.registry import parse_metric
from nlgauge.core.score import Score
from nlgauge.core.vector_metric import VectorMetric
from nlgauge.errors import RecipeError, SignatureError, TooLongError, TruncationWarning, WindowsWarning
from nlgauge.testing import WORDS, hash_encoder

pytestmark = pytest.mark.filterwarnings(
    "ignore::nlgauge.errors.WindowsWarning", "ignore::nlgauge.errors.UnknownWordWarning"
)

#: Every metric of vectors; sentence vectors of a model without files are tested beside the encoders.
RECIPES = (
    "bertscore:layer=2",
    "bertscore:layer=1,idf=refs,stopwords=spacy-en",
    "moverscore",
    "moverscore:n=2,idf=none",
    "moverscore:profile=web,solver=relaxed",
    "smd",
    "baryscore",
    "sentsim:combine=bertscore+wmd+wmdo+smd,against=refs,layer=2",
    "xmoverscore:against=refs",
)

BERTSCORE = "bertscore:layer=2"

RNG = np.random.default_rng(15)


def words(count: int) -> str:
    return " ".join(RNG.choice(WORDS, count))


HYPS = [words(50), "the cat sat on the mat .", words(19), words(70)]
REFS = [words(60), "a cat sat on a mat .", words(10), words(40)]


@pytest.fixture(scope="module", autouse=True)
def encoders() -> Iterator[None]:
    """One that reads 20 tokens, and one that reads everything; both look one token back."""
    with hash_encoder("short", limit=20), hash_encoder("endless", limit=100_000):
        yield


def scored(recipe: str, model: str = "short", **options: object) -> Score:
    return nlgauge.score(HYPS, REFS, metric=recipe, model=model, **options)


def same(one: Score, other: Score) -> bool:
    return all(np.array_equal(values, other.segments[name]) for name, values in one.segments.items())


@pytest.mark.parametrize("recipe", RECIPES)
def test_windows_score_as_model_without_limit(recipe: str) -> None:
    score = scored(recipe, long="windows")
    assert same(score, scored(recipe, "endless"))
    assert score.notes.get("windows", ()) == (0, 2, 3)
    assert score.notes.get("truncated", ()) == ()
    fields = score.signature.recipe
    assert (fields["window"], fields["stride"], fields["maxlen"]) == ("20", "9", "20")
    assert score.signature.run["windows"] == "3"


@pytest.mark.parametrize("recipe", RECIPES)
def test_short_text_has_same_bits_with_windows(recipe: str) -> None:
    fits, refs = [words(15), "a dog", words(18)], [words(16), "the dog", words(9)]
    plain = nlgauge.score(fits, refs, metric=recipe, model="short")
    score = nlgauge.score(fits, refs, metric=recipe, model="short", long="windows")
    assert same(score, plain)
    assert "windows" not in score.signature.run
    assert score.signature.recipe["window"] == "20", "the signature depends on the recipe, and on no text"
    assert "window" not in plain.signature.recipe


@pytest.mark.parametrize("recipe", RECIPES)
def test_bits_do_not_depend_on_neighbours_order_batches_or_threads(recipe: str) -> None:
    score = scored(recipe, long="windows")
    assert same(score, scored(recipe, long="windows", batch_tokens=1, threads=1))
    backwards = nlgauge.score(HYPS[::-1], REFS[::-1], metric=recipe, model="short", long="windows")
    assert all(np.array_equal(values, backwards.segments[name][::-1]) for name, values in score.segments.items())
    made = parse_metric(recipe, model="short")
    if isinstance(made, VectorMetric) and not made.counts_idf and not made.whole_corpus:
        alone = nlgauge.score(HYPS[3:], REFS[3:], metric=recipe, model="short", long="windows")
        assert all(values[3] == alone.segments[name][0] for name, values in score.segments.items())


@pytest.mark.parametrize("recipe", RECIPES)
def test_signature_reproduces_score(recipe: str) -> None:
    score = scored(f"{recipe}{',' if ':' in recipe else ':'}window=14,stride=5")
    with warnings.catch_warnings():
        warnings.simplefilter("error", TruncationWarning)
        again = nlgauge.score(HYPS, REFS, metric=str(score.signature))
    assert same(score, again)
    assert str(again.signature) == str(score.signature)
    assert (score.signature.recipe["window"], score.signature.recipe["stride"]) == ("14", "5")


def test_long_windows_applies_to_recipes_without_window() -> None:
    first, second = nlgauge.score_systems(
        {"a": HYPS},
        REFS,
        metric=["bertscore:window=9,stride=7", "bertscore"],
        model="short",
        layer=2,
        long="windows",
    )
    assert first.signature.recipe["window"] == "9"
    assert second.signature.recipe["window"] == "20"
    assert not same(first, second), "the first token of a window has no neighbour"


def test_long_error_accepts_recipes_with_window() -> None:
    assert same(scored(f"{BERTSCORE},window=20", long="error"), scored(BERTSCORE, long="windows"))
    with pytest.raises(TooLongError, match=r"the hypothesis has 52 tokens, over the limit of 20; .*long='windows'"):
        scored(BERTSCORE, long="error")


def test_max_tokens_is_the_default_window() -> None:
    result = scored(f"{BERTSCORE},max_tokens=12", long="windows").signature.recipe
    assert (result["max_tokens"], result["window"], result["stride"]) == ("12", "12", "5")
    with pytest.raises(RecipeError, match="window must be 3 to 12"):
        scored(f"{BERTSCORE},max_tokens=12,window=13")


def test_truncation_stays_the_default_with_its_count() -> None:
    with pytest.warns(TruncationWarning, match=r"3 segments \(index 0, 2, 3\): truncated to the model's limit of 20"):
        score = scored(BERTSCORE)
    assert score.notes.get("truncated", ()) == (0, 2, 3)
    assert score.notes.get("windows", ()) == ()


def test_truncation_warning_names_windows() -> None:
    """Two texts that differ only beyond the limit get the same score; the warning says how to tell them apart."""
    start = words(40)
    texts = [f"{start} {words(30)}"], [f"{start} {words(30)}"]
    with pytest.warns(TruncationWarning, match=r"; use long='windows' to score whole texts$"):
        cut = nlgauge.score(*texts, metric=BERTSCORE, model="short")
    assert cut.system_score == pytest.approx(1, abs=1e-6)
    assert nlgauge.score(*texts, metric=BERTSCORE, model="short", long="windows").system_score < 0.99


def test_windows_are_warned_of_with_their_segments() -> None:
    says = r"3 segments \(index 0, 2, 3\): longer than 20 tokens, read in windows of 20 tokens with a stride of 9"
    with pytest.warns(WindowsWarning, match=says):
        scored(BERTSCORE, long="windows")


@pytest.mark.parametrize(
    ("recipe", "says"),
    [
        (
            "bertscore:window=0",
            "option 'window' of bertscore must be a whole number from 1, 'none' or 'model', got 0",
        ),
        ("bertscore:window=half", "window must be"),
        ("bertscore:layer=2,window=21", "window must be 3 to 20 for model 'short'"),
        ("bertscore:layer=2,window=2", "window must be 3 to 20"),
        ("bertscore:layer=2,window=10,stride=9", "stride must be 1 to 8"),
        ("bertscore:window=10,stride=0", "option 'stride' of bertscore must be a whole number from 1 or 'half'"),
        ("bertscore:stride=9", "stride=9 has no effect without windows"),
        ("sentsim:stride=9,against=refs", "stride=9 has no effect without windows"),
        ("xmoverscore:stride=9,against=refs", "stride=9 has no effect without windows"),
        ("moverscore:aggregation=last,stride=9", "stride=9 has no effect without windows"),
    ],
)
def test_invalid_windows_are_refused(recipe: str, says: str) -> None:
    with pytest.raises(RecipeError, match=says):
        scored(recipe)


def test_long_accepts_three_values() -> None:
    with pytest.raises(RecipeError, match="long must be one of truncate, error, windows, got 'window'"):
        scored("bertscore", long="window")


def test_windows_conflict_with_a_signature_that_truncates() -> None:
    with pytest.warns(TruncationWarning):
        cut = str(scored(BERTSCORE).signature)
    with pytest.raises(SignatureError, match="long='windows' conflicts with the signature"):
        nlgauge.score(HYPS, REFS, metric=cut, long="windows")


def test_a_model_without_a_limit_reads_texts_whole() -> None:
    """Nothing is to be done there, and an explicit window is obeyed."""
    score = nlgauge.score(["Le chat dort."], ["Le chien dort."], metric="bertscore", model="muse", long="windows")
    plain = nlgauge.score(["Le chat dort."], ["Le chien dort."], metric="bertscore", model="muse")
    assert same(score, plain)
    assert score.signature.recipe["window"] == "model"
    text = "Le chat dort sur le tapis rouge. " * 20
    whole = nlgauge.score([text], ["Le chien dort."], metric="bertscore", model="muse")
    cut = nlgauge.score([text], ["Le chien dort."], metric="bertscore:window=30", model="muse")
    assert cut.f1 == pytest.approx(whole.f1, abs=1e-6), "a token's vector has seen four pieces on either side"
    assert cut.notes.get("windows", ()) == (0,)


def test_word_vectors_are_the_same_in_windows(tmp_path: Path) -> None:
    path = tmp_path / "words.txt"
    rng = np.random.default_rng(0)
    path.write_text("".join(f"{word} {' '.join(map(str, rng.normal(size=4).round(3)))}\n" for word in WORDS))
    result = [nlgauge.score(HYPS, REFS, metric=f"moverscore:window={w}", model=str(path)) for w in ("none", "50")]
    assert same(*result)


def test_idf_counts_all_of_a_text() -> None:
    """`rain` stands beyond the limit of the only reference that has it."""
    refs = ["the cat sat " * 30 + "rain", "the cat sat", "a dog ran"]
    hyps = ["rain", "cat", "dog"]
    whole = nlgauge.score(hyps, refs, metric=f"{BERTSCORE},idf=refs", model="endless")
    score = nlgauge.score(hyps, refs, metric=f"{BERTSCORE},idf=refs", model="short", long="windows")
    assert same(score, whole)
    assert score.signature.recipe["idf"] == whole.signature.recipe["idf"]


@pytest.mark.parametrize("recipe", ["bertscore:layer=2", "moverscore:idf=none", "xmoverscore:against=refs"])
def test_matrix_and_rank_with_windows(recipe: str) -> None:
    table = nlgauge.matrix(HYPS, REFS, recipe, model="short", long="windows")
    scores = scored(recipe, long="windows")
    assert np.array_equal(np.diagonal(table.scores), scores.segments[scores.main])
    assert table.signature.recipe["window"] == "20"
    assert table.counts["windows"] > 0
    ranked = nlgauge.rank([HYPS], metric=recipe, model="short", long="windows")
    assert ranked.signature.recipe["window"] == "20"


def test_explanations_find_words_far_beyond_the_limit() -> None:
    hyp, ref = "the cat sat " * 40 + "ferry", "a dog ran " * 50 + "ferry storm"
    explanation = nlgauge.explain_pair(hyp, ref, metric=BERTSCORE, model="short", long="windows", shapley=False)
    last = explanation.hypothesis.words[-1]
    assert (last.text, hyp[last.start : last.end]) == ("ferry", "ferry")
    linked = [explanation.reference.words[link.reference] for link in explanation.links if link.hypothesis == 120]
    assert [ref[word.start : word.end] for word in linked][:1] == ["ferry"]
    assert "hypothesis: 123 tokens were encoded in 13 windows" in explanation.notes


def test_checkpoint_key_contains_windows(tmp_path: Path) -> None:
    from nlgauge.core.compare import Checkpoint, compare_with_checkpoint
    from nlgauge.core.corpus import make_corpus
    from nlgauge.core.prepare import prepare
    from nlgauge.core.run_options import RunOptions

    checkpoint = Checkpoint(tmp_path / "state")
    corpus = make_corpus({"": HYPS}, REFS)
    recipe = parse_metric(BERTSCORE, model="short")
    for count, options in enumerate([RunOptions(long="windows"), RunOptions(), RunOptions(long="windows")], start=1):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", TruncationWarning)
            prepared = prepare([recipe], corpus, options)
        compare_with_checkpoint(prepared, prepared.segments, checkpoint)
        assert len(checkpoint) == min(count, 2)


def five_thousand(seed: int, count: int = 5000) -> str:
    rng = np.random.default_rng(seed)
    spelt = [
        "the",
        "ferry",
        "unputdownable",
        "was",
        "cancelled",
        ",",
        "naïvely",
        "because",
        "of",
        "storms",
        "and",
        "nobody",
        "wrote",
        "letters",
        ".",
    ]
    return " ".join(rng.choice(spelt, count))


def test_five_thousand_words_are_read_whole_in_bounded_memory() -> None:
    """A word at the very end counts, and two such texts take no gigabyte."""
    hyp, ref = five_thousand(1), f"{five_thousand(2)} photosynthesis"
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    score = nlgauge.score([hyp, "photosynthesis"], [ref, ref], metric="bertscore:layer=1", long="windows")
    grown = (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) * (1 if sys.platform == "darwin" else 1024)
    assert score.notes.get("truncated", ()) == ()
    assert score.notes.get("windows", ()) == (0, 1)
    assert score.segments["precision"][1] > 0.7, "the last word of the reference is this one"
    assert grown < 1e9


@pytest.mark.slow
@pytest.mark.parametrize("recipe", ["bertscore:layer=1", "moverscore:solver=relaxed,idf=none", "smd:idf=none"])
def test_twenty_thousand_words_score(recipe: str) -> None:
    hyp, ref = (" ".join(itertools.islice(itertools.cycle(WORDS[shift:]), 20_000)) for shift in (0, 5))
    with hash_encoder("thin", layers=1, width=8) as model:
        score = nlgauge.score([hyp], [ref], metric=recipe, model=model, long="windows")
    assert np.isfinite(score.system_score)


def test_transport_too_large_for_memory_is_refused_by_name() -> None:
    hyp, ref = (" ".join(itertools.islice(itertools.cycle(WORDS[shift:]), 20_000)) for shift in (0, 5))
    with hash_encoder("thin", layers=1, width=8) as model:
        says = r"segment 1: transport of \d+ x \d+ points needs a matrix of \d\.\d GB.*solver=relaxed"
        with pytest.raises(TooLongError, match=says):
            nlgauge.score(["a", hyp], ["a", ref], metric="moverscore:idf=none", model=model, long="windows")
        with pytest.raises(TooLongError, match=r"segment 0: a barycentre of 20002 x 20002 points"):
            nlgauge.score([hyp], [ref], metric="baryscore:idf=none", model=model, long="windows")
        with pytest.raises(TooLongError, match=r"an alignment of 20002 x 20002 points"):
            nlgauge.score([hyp], [ref], metric="bertscore:layer=1", model=model, long="windows", alignments=True)


@pytest.mark.parametrize("recipe", ["moverscore:idf=none", "baryscore:idf=none", "xmoverscore:against=refs"])
def test_relaxed_is_below_and_sinkhorn_above_exact_cost(recipe: str) -> None:
    """All three are similarities, or all distances, of the cost, so the exact score lies between the two."""
    result = {
        solver: nlgauge.score(HYPS, REFS, metric=f"{recipe},solver={solver}", model="endless")
        for solver in ("exact", "relaxed", "sinkhorn-0.2")
    }
    exact, low, high = (score.segments[score.main] for score in result.values())
    sign = -1 if result["exact"].higher_is_better else 1
    assert (sign * low <= sign * exact + 1e-12).all()
    assert (sign * exact <= sign * high + 1e-12).all()
    assert "solver" not in result["exact"].signature.recipe, "as usual"
    assert result["sinkhorn-0.2"].signature.recipe["solver"] == "sinkhorn-0.2"
    assert result["relaxed"].signature.recipe["profile"].endswith("*")
    again = nlgauge.score(HYPS, REFS, metric=str(result["relaxed"].signature))
    assert same(again, result["relaxed"])


def test_solvers_apply_to_parts_of_sentsim() -> None:
    recipe = "sentsim:combine=wmd+wmdo,layer=1,against=refs"
    exact, low = (
        nlgauge.score(HYPS, REFS, metric=f"{recipe},solver={solver}", model="endless")
        for solver in ("exact", "relaxed")
    )
    assert (low.segments["wmd"] <= exact.segments["wmd"]).all()
    assert (low.segments["wmd"] < exact.segments["wmd"]).any()
    soft = nlgauge.score(HYPS, REFS, metric=f"{recipe},solver=sinkhorn-0.5", model="endless")
    assert (soft.segments["wmd"] >= exact.segments["wmd"]).all()
    with pytest.raises(
        RecipeError, match=r"solver='relaxed' has no effect with combine=bertscore \(only with wmd or wmdo\)"
    ):
        parse_metric("sentsim:combine=bertscore,solver=relaxed")


def test_relaxed_bound_does_not_depend_on_block_size(monkeypatch: pytest.MonkeyPatch) -> None:
    recipe = "moverscore:idf=none,n=2,solver=relaxed"
    whole = nlgauge.score(HYPS, REFS, metric=recipe, model="endless")
    monkeypatch.setattr("nlgauge.metrics.parts.transport._BLOCK_ENTRIES", 100)
    parts = nlgauge.score(HYPS, REFS, metric=recipe, model="endless")
    assert parts.segments["score"] == pytest.approx(whole.segments["score"], abs=1e-12)


@pytest.mark.parametrize(
    ("recipe", "says"),
    [
        ("moverscore:solver=fast", "'solver' of moverscore must be exact, relaxed, or sinkhorn-R .*got 'fast'"),
        ("moverscore:solver=sinkhorn-0", "'solver' of .* must be exact"),
        ("smd:solver=relaxed", "'solver' of .* must be exact"),
        ("xmoverscore:profile=head,solver=relaxed", "trim=0.3 needs the exact flow"),
        ("xmoverscore:unit=sentence,solver=relaxed", "solver='relaxed' has no effect with unit=sentence"),
    ],
)
def test_invalid_solvers_are_refused(recipe: str, says: str) -> None:
    with pytest.raises(RecipeError, match=says):
        parse_metric(recipe)


def test_a_pair_that_is_too_long_is_named_among_many(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("nlgauge.vectors.transport.MOST_COSTS", 300)
    with pytest.raises(TooLongError, match=r"a\[\d\] and b\[\d\]: transport of \d+ x 62 points"):
        nlgauge.matrix(HYPS[:2], REFS[:2], "moverscore:idf=none,subwords=all,punctuation=keep", model="endless")
