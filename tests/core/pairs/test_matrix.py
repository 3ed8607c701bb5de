"""All pairs of two lists: the numbers of `nlgauge.score`, each text encoded once, in bounded memory."""

from __future__ import annotations

import pickle
import re
import warnings
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.core.pairs.conftest import CountingEncoder, texts
from tests.metrics.test_contracts import ALONE, resolved
from tests.samples import HYPS, REFS

import nlgauge
from nlgauge.core import engine
from nlgauge.core.engine import encode_windows
from nlgauge.core.registry import built_in_metrics
from nlgauge.core.vector_metric import WindowTexts
from nlgauge.metrics.bertscore import BERTScore
from nlgauge.testing import WORDS, hash_encoder

quick = settings(max_examples=20, deadline=None, suppress_health_check=list(HealthCheck))

lists = st.lists(texts, min_size=1, max_size=7)

#: Recipes that look at a pair only, all under an encoder of tests.
RECIPES = [
    "bertscore:layer=1",
    "bertscore:layer=2,lowercase=yes",
    "moverscore:idf=none,exponents=1",
    "moverscore:profile=paper,idf=none,n=2",
    "baryscore:idf=none",
    "smd:idf=none",
    "xmoverscore:profile=paper,idf=none,against=refs,lm=none",
]


def expanded(a: list[str], b: list[str], metric: str, **options: Any) -> nlgauge.Score:
    """All pairs in one list."""
    return nlgauge.score([x for x in a for _ in b], [y for _ in a for y in b], metric=metric, **options)


def same_as_score(result: nlgauge.ScoreMatrix, score: nlgauge.Score) -> None:
    assert set(result.components) == set(score.segments)
    for name, values in score.segments.items():
        assert np.array_equal(values.reshape(result.shape), result.components[name], equal_nan=True), name


@pytest.mark.heavy
@pytest.mark.parametrize("recipe", RECIPES)
@quick
@given(lists, lists, st.booleans())
def test_a_matrix_has_the_bits_and_the_signature_of_score_on_all_pairs(
    recipe: str, a: list[str], b: list[str], small: bool
) -> None:
    with hash_encoder(layers=6) as model, warnings.catch_warnings(), pytest.MonkeyPatch.context() as patch:
        warnings.simplefilter("ignore", nlgauge.errors.NlgaugeWarning)
        if small:  # a tile of a text or two
            patch.setattr("nlgauge.core.engine._WINDOW_BYTES", 1024)
            patch.setattr(engine, "_TOKEN_PAIRS", 64)
        matrix = nlgauge.matrix(a, b, recipe, model=model)
        score = expanded(a, b, recipe, model=model)
    same_as_score(matrix, score)
    assert str(matrix.signature) == str(score.signature)
    assert matrix.counts == score.counts


@pytest.mark.parametrize("recipe", ["bertscore", "bertscore:rescale=yes,stopwords=iso-en", "bleu", "chrf", "rougel"])
def test_a_matrix_has_the_bits_of_a_pair_scored_alone(recipe: str) -> None:
    matrix = nlgauge.matrix(HYPS, REFS, recipe)
    for i in (0, len(HYPS) - 1):
        for j in (0, 1, len(REFS) - 1):
            alone = nlgauge.score([HYPS[i]], [REFS[j]], metric=recipe)
            for name, values in alone.segments.items():
                assert matrix.components[name][i, j] == values[0], (name, i, j)


def test_matrix_of_one_list_has_equal_texts_on_diagonal() -> None:
    matrix = nlgauge.matrix(HYPS)
    assert matrix.shape == (len(HYPS), len(HYPS))
    alone = nlgauge.score(HYPS, HYPS)
    assert np.array_equal(matrix.f1.diagonal(), alone.f1)
    assert np.allclose(matrix.precision, matrix.recall.T, atol=1e-6)


@pytest.mark.parametrize("idf", ["refs", "both"])
def test_idf_is_counted_on_each_text_once_as_score_counts_it(idf: str) -> None:
    matrix = nlgauge.matrix(HYPS, REFS, f"bertscore:idf={idf}")
    score = nlgauge.score(HYPS, REFS, metric=f"bertscore:idf={idf}")
    assert np.array_equal(matrix.f1.diagonal(), score.f1)
    assert matrix.signature.recipe == score.signature.recipe
    assert matrix.signature.run.get("idf_hyps") == score.signature.run.get("idf_hyps")


@pytest.mark.parametrize("threads", [1, 2])
def test_bits_do_not_depend_on_threads_tiles_or_neighbours(monkeypatch: pytest.MonkeyPatch, threads: int) -> None:
    a, b = HYPS * 9, REFS * 9  # enough pairs for two threads
    whole = nlgauge.matrix(a, b, threads=threads).scores
    backward = nlgauge.matrix(a[::-1], b[::-1], threads=threads).scores
    monkeypatch.setattr(engine, "_TOKEN_PAIRS", 5000)
    monkeypatch.setattr("nlgauge.core.engine._WINDOW_BYTES", 2**18)
    cut = nlgauge.matrix(a, b, threads=threads, batch_tokens=64).scores
    assert np.array_equal(whole, backward[::-1, ::-1])
    assert np.array_equal(whole, cut)
    assert np.array_equal(whole[: len(HYPS), : len(REFS)], nlgauge.matrix(HYPS, REFS).scores)


def test_each_text_is_encoded_once_with_any_memory(counted: CountingEncoder, monkeypatch: pytest.MonkeyPatch) -> None:
    a = [" ".join(WORDS[index : index + 1 + index % 7]) for index in range(30)]
    b = [" ".join(WORDS[index : index + 2 + index % 5]) for index in range(20, 45)]
    whole = nlgauge.matrix(a, b, "moverscore:idf=none", model="counted", unknown="score")
    monkeypatch.setattr("nlgauge.core.engine._WINDOW_BYTES", 20_000)  # several windows
    counted.seen.clear()
    cut = nlgauge.matrix(a, b, "moverscore:idf=none", model="counted", unknown="score")
    assert set(counted.seen.values()) == {1}
    assert len(counted.seen) == len({*a, *b})
    assert np.array_equal(whole.scores, cut.scores)


def test_a_window_holds_no_more_than_its_tokens(counted: CountingEncoder, monkeypatch: pytest.MonkeyPatch) -> None:
    a = [f"the {word}" for word in WORDS[1:40]]
    monkeypatch.setattr("nlgauge.core.engine._WINDOW_BYTES", 4 * counted.hidden_size * 40)  # tokens
    loaded: list[int] = []

    def watched(*args: Any, **options: Any) -> Any:
        for window in encode_windows(*args, **options):
            loaded.append(sum(len(item.tokens) for item in window.values()))
            yield window

    monkeypatch.setattr(engine, "encode_windows", watched)
    nlgauge.matrix(a, a[::-1], "bertscore:layer=1", model="counted")
    assert len(loaded) > 10
    assert max(loaded) <= 40


def test_results_of_second_model_are_kept_for_later_windows(
    counted: CountingEncoder, monkeypatch: pytest.MonkeyPatch
) -> None:
    new: list[str] = []

    def read(self: BERTScore, texts: WindowTexts, state: Any) -> None:
        for text, encoded in texts.encoded.items():
            if "read" not in encoded.text_features:
                new.append(text)
                encoded.text_features["read"] = True

    monkeypatch.setattr(BERTScore, "run_text_models", read)
    monkeypatch.setattr("nlgauge.core.engine._WINDOW_BYTES", 4 * counted.hidden_size * 40)  # tokens
    a = [f"the {word}" for word in WORDS[1:40]]
    nlgauge.matrix(a, a[::-1], "bertscore:layer=1", model="counted")
    assert sorted(new) == sorted(a)


def test_metric_that_scales_over_corpus_is_refused_with_remedy() -> None:
    with pytest.raises(nlgauge.errors.RecipeError, match=r"sentsim scales .* bounds=FILE"):
        nlgauge.matrix(HYPS, REFS, "sentsim:against=refs,model=minilm")


@pytest.mark.heavy
@pytest.mark.filterwarnings("ignore::nlgauge.errors.NlgaugeWarning")
@pytest.mark.parametrize("recipe", [recipe for recipe in ALONE if recipe != "sari"])  # needs sources and references
def test_every_metric_gives_a_matrix_of_the_scores_of_pairs(recipe: str) -> None:
    a = ["A cat sat on the mat.", "Nobody wrote letters, because of the storm!", "", "東京 🙂"]
    b = ["The cat sat.", a[1], "The storm stopped twenty windowless ferries in the night."]
    metric = resolved(recipe)
    of_texts = issubclass(built_in_metrics()[recipe.partition(":")[0]], nlgauge.plugin.TextMetric)
    options = {} if of_texts else {"unknown": "score"}
    matrix = nlgauge.matrix(a, b, metric, **options)
    listed = [x for x in a for _ in b], [y for _ in a for y in b]
    score = nlgauge.score(*listed, sources=listed[1], metric=metric, **options)
    same_as_score(matrix, score)
    assert str(matrix.signature) == str(score.signature)


def test_vectors_that_depend_on_neighbours_are_refused() -> None:
    with pytest.raises(nlgauge.errors.RecipeError, match="needs neighbouring segments"):
        nlgauge.matrix(HYPS, REFS, "bertscore:transforms=position-norm")


def test_metric_of_sources_uses_second_list_as_sources() -> None:
    recipe = "xmoverscore:model=minilm,lm=none"
    matrix = nlgauge.matrix(HYPS, REFS, recipe)
    pair = nlgauge.score([HYPS[1]], sources=[REFS[0]], metric=recipe)
    assert matrix.scores[1, 0] == pair.system_score
    assert matrix.signature.recipe["refs"] == "source"
    with pytest.raises(nlgauge.errors.InputError, match="needs the source texts"):
        nlgauge.matrix(HYPS, metric=recipe)


def test_two_empty_texts_are_refused_by_name_or_score_zero() -> None:
    with pytest.raises(nlgauge.errors.EmptyPairError, match=r"a\[1\] and b\[0\] are both empty.*empty='zero'"):
        nlgauge.matrix(["A cat.", ""], ["", "A dog."])
    with pytest.warns(nlgauge.errors.EmptyTextWarning, match=r"2 texts \(a\[1\], b\[0\]\)"):
        matrix = nlgauge.matrix(["A cat.", ""], ["", "A dog."], empty="zero")
    assert matrix.f1.tolist() == [[0.0, matrix.f1[0, 1]], [0.0, 0.0]]
    assert matrix.f1[0, 1] > 0
    assert matrix.counts["empty"] == 3
    assert matrix.signature.run["empty"] == "3"
    assert (matrix.hypothesis_notes["empty"], matrix.reference_notes["empty"]) == ((1,), (0,))


def test_truncation_is_warned_of_once_per_text_and_counted_by_pairs() -> None:
    long = "word " * 600
    with pytest.warns(nlgauge.errors.TruncationWarning) as caught:
        matrix = nlgauge.matrix([long, "A cat.", "A dog."], ["The cat.", "The dog."])
    assert len(caught) == 1
    assert str(caught[0].message).startswith("1 text (a[0]): truncated to the model's limit")
    assert matrix.counts["truncated"] == 2
    with pytest.raises(nlgauge.errors.TooLongError, match=r"b\[1\] has 602 tokens, over the limit of 512"):
        nlgauge.matrix(["A cat."], ["The cat.", long], long="error")


@pytest.mark.filterwarnings("ignore::nlgauge.errors.LanguageWarning")
def test_texts_of_unknown_tokens_are_refused_by_name_or_score_zero(counted: CountingEncoder) -> None:
    a, b = ["xyzzy", "the cat"], ["plugh", "xyzzy", "a cat"]
    with pytest.raises(
        nlgauge.errors.UnknownTextError, match=r"a\[0\]; b\[0\]; b\[1\]: all tokens of a text are unknown"
    ):
        nlgauge.matrix(a, b, "bertscore:layer=1", model="counted")
    for recipe in ("bertscore:layer=1,unknown=zero", "moverscore:idf=none,unknown=zero"):
        with pytest.warns(nlgauge.errors.UnknownWordWarning):
            matrix = nlgauge.matrix(a, b, recipe, model="counted")
        with pytest.warns(nlgauge.errors.UnknownWordWarning):
            same_as_score(matrix, expanded(a, b, recipe, model="counted"))


def test_texts_without_weight_are_warned_of_by_name_and_counted_by_pairs() -> None:
    recipe, a, b = "bertscore:stopwords=iso-en", ["of the", "A cat sat."], ["The cat sat.", "It is", "Rain fell."]
    with pytest.warns(nlgauge.errors.ZeroWeightWarning, match=r"2 texts \(a\[0\], b\[1\]\): idf or a stop-word list"):
        matrix = nlgauge.matrix(a, b, recipe)
    with pytest.warns(nlgauge.errors.ZeroWeightWarning, match="4 segments"):
        score = expanded(a, b, recipe)
    same_as_score(matrix, score)
    assert matrix.counts["zero_weight"] == 4
    assert str(matrix.signature) == str(score.signature)


@pytest.mark.parametrize("metric", ["lc", "rc", "entity-graph", "lexical-chain"])
def test_texts_without_a_noun_are_warned_of_by_name_and_counted_by_pairs(metric: str) -> None:
    pairs = ["a[1] and b[0]", "a[1] and b[1]"]
    if metric == "lexical-chain":  # it looks at references too, and b[1] has no noun either
        pairs.insert(0, "a[0] and b[1]")
    with pytest.warns(nlgauge.errors.NoNounWarning, match=re.escape(f"{len(pairs)} pairs ({', '.join(pairs)})")):
        matrix = nlgauge.matrix(["The cat saw a cat.", "It ran."], ["A cat sat.", "They sat."], metric)
    assert matrix.counts["no_noun"] == len(pairs)
    assert matrix.signature.run["no_noun"] == str(len(pairs))
    assert matrix.scores[1].tolist() == [0, 0]


def test_numpy_conversion_and_repr() -> None:
    matrix = nlgauge.matrix(HYPS[:2], REFS[:3], metric="moverscore:profile=paper,idf=none,model=minilm")
    assert np.asarray(matrix) is matrix.scores
    assert np.array(matrix, dtype=np.float32).dtype == np.float32
    assert (matrix.metric, matrix.main, matrix.higher_is_better) == ("moverscore", "score", False)
    assert len(matrix) == 2
    with pytest.raises(ValueError, match="read-only"):
        matrix.scores[0, 0] = 1
    with pytest.raises(AttributeError, match="has no component 'f1'"):
        _ = matrix.f1
    again = pickle.loads(pickle.dumps(matrix))
    assert np.array_equal(again.scores, matrix.scores)
    assert repr(again) == repr(matrix)


def test_signature_reproduces_matrix() -> None:
    first = nlgauge.matrix(HYPS, REFS, "bertscore:layer=3")
    again = nlgauge.matrix(HYPS, REFS, str(first.signature))
    assert np.array_equal(first.scores, again.scores)


@pytest.mark.parametrize(
    ("a", "b", "options", "message"),
    [
        ([], None, {}, "a: the list is empty"),
        (["x"], [], {}, "b: the list is empty"),
        ("text", None, {}, "a: expected a list of strings, got a bare string"),
        (["x"], [None], {}, r"b\[0\]: expected a string, got None"),
        (["x"], ["y"], {"alignments": True}, "without alignments"),
        (["x"], ["y"], {"metric": ["bleu", "chrf"]}, r"matrix\(\) accepts one metric, got 2"),
        (["x"], ["y"], {"layers": 3}, "unknown keyword 'layers' for"),
    ],
)
def test_invalid_arguments_are_refused(a: Any, b: Any, options: dict[str, Any], message: str) -> None:
    with pytest.raises(nlgauge.errors.NlgaugeError, match=message):
        nlgauge.matrix(a, b, **options)


def test_a_notebook_shows_the_first_rows_and_columns() -> None:
    matrix = nlgauge.matrix(["a cat"] * 25, ["a cat", "a dog"], metric="chrf")
    shown = matrix._repr_html_()
    assert "<tr><td>0</td><td>100.0000</td>" in shown
    assert shown.count("<tr>") == 1 + 20
    assert "25 x 2" in shown
