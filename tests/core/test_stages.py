"""Prepare, compare, finish: separate calls over any ranges give the same scores as one call."""

from __future__ import annotations

import gc
import json
import pickle
import warnings
import weakref
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np
import pytest
from tests.core.corpora import small_corpus
from tests.metrics.test_contracts import resolved

import nlgauge
import nlgauge.testing
from nlgauge.core import engine
from nlgauge.core import score as score_module
from nlgauge.core.compare import Comparisons, compare, planned_encodings
from nlgauge.core.metric import Comparison, SystemResult, TextMetric
from nlgauge.core.pipeline import finish, run_metrics
from nlgauge.core.prepare import Prepared, prepare
from nlgauge.core.registry import METRICS, parse_metric
from nlgauge.core.run_options import RunOptions
from nlgauge.core.score import Note, Score
from nlgauge.encoders.base import EncodedText
from nlgauge.encoders.engines.graph_engines import OnnxEncoder
from nlgauge.encoders.run_context import run_context
from nlgauge.errors import FileFormatError, InputError, NlgaugeWarning, TruncationWarning
from nlgauge.metrics.bertscore import BERTScore
from nlgauge.metrics.sentsim import SentSim

#: Every registered metric, and what depends on more than a pair.
RECIPES = [
    *(name for name in METRICS if name not in ("lexical-graph", "rouge-we", "ibm1")),
    "lexical-graph:vectors=VECTORS",  # which has none of its own
    "rouge-we:vectors=VECTORS",
    "ibm1:lexicon=LEXICON",
    "bertscore:idf=both",
    "bertscore:idf=refs,layer=2,lowercase=yes",
    "moverscore:n=2,max_tokens=8",
    "sentsim:combine=all,against=refs,model=minilm",
    "xmoverscore:transforms=position-norm",
    "xmoverscore:unit=sentence",
]

OPTIONS = RunOptions()

pytestmark = [
    pytest.mark.filterwarnings(f"ignore::nlgauge.errors.{name}")
    for name in ("TruncationWarning", "NoFocusWarning", "NoNounWarning")
]


def as_bytes(scores: list[Score]) -> str:
    return json.dumps([score.to_dict() for score in scores])


def needs_missing_extra(recipe: str) -> bool:
    """Whether a recipe cannot be scored here, which one test of all recipes must not fail for."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", nlgauge.errors.NlgaugeWarning)
            run_metrics([parse_metric(resolved(recipe))], small_corpus(), RunOptions())
    except pytest.skip.Exception as skipped:
        if "needs the extra" not in str(skipped):
            raise
        return True
    return False


@pytest.fixture(scope="module")
def recipes() -> list[Any]:
    return [parse_metric(resolved(recipe)) for recipe in RECIPES if not needs_missing_extra(recipe)]


@pytest.fixture(scope="module")
def prepared(recipes: list[Any]) -> Prepared:
    return prepare(recipes, small_corpus(), RunOptions(alignments=True), warn=False)


@pytest.fixture(scope="module")
def together(prepared: Prepared) -> Comparisons:
    return compare(prepared)


def cut(count: int, size: int) -> list[range]:
    return [range(start, min(start + size, count)) for start in range(0, count, size)]


def test_stages_give_same_scores_as_one_call(recipes: list[Any], prepared: Prepared, together: Comparisons) -> None:
    scores = finish(prepared, together)
    assert as_bytes(scores) == as_bytes(run_metrics(recipes, small_corpus(), RunOptions(alignments=True)))
    left_out = {recipe.partition(":")[0] for recipe in RECIPES} - {recipe.name for recipe in recipes}
    assert {score.metric for score in scores} == set(METRICS) - left_out
    assert all(needs_missing_extra(name) for name in left_out)


@pytest.mark.parametrize(("size", "backwards"), [(1, True), (7, False), (7, True)])
def test_ranges_of_any_size_in_any_order_give_the_same_bytes(
    prepared: Prepared, together: Comparisons, size: int, backwards: bool
) -> None:
    ranges = cut(len(prepared), size)
    parts = [compare(prepared, part) for part in (reversed(ranges) if backwards else ranges)]
    assert as_bytes(finish(prepared, Comparisons.join(parts))) == as_bytes(finish(prepared, together))


def test_comparisons_survive_json_without_alignments(prepared: Prepared, together: Comparisons) -> None:
    without = Comparisons.from_dict(json.loads(json.dumps(together.to_dict())))
    for lean, full in zip(finish(prepared, without), finish(prepared, together), strict=True):
        assert str(lean.signature) == str(full.signature)
        assert all(np.array_equal(lean.segments[name], full.segments[name]) for name in full.segments)
        assert lean.alignments == (None if full.alignments is None else (None,) * len(full.alignments))


def test_a_record_of_something_else_is_refused() -> None:
    with pytest.raises(FileFormatError, match="nlgauge-comparisons/1"):
        Comparisons.from_dict({"format": "nlgauge-idf/1"})
    with pytest.raises(FileFormatError, match="'recipe'"):
        Comparisons.from_dict({"format": "nlgauge-comparisons/1", "metrics": [{"number": 0}]})


def test_one_metric_at_a_time(prepared: Prepared, together: Comparisons) -> None:
    parts = [compare(prepared, only=[number]) for number in prepared.compared]
    assert all(len(part.by_metric) == 1 for part in parts)
    assert as_bytes(finish(prepared, Comparisons.join(parts))) == as_bytes(finish(prepared, together))


def test_ranges_can_be_compared_by_several_threads() -> None:
    recipes = ["bertscore", "moverscore:n=2", "sentsim", "xmoverscore:transforms=position-norm"]
    ready = prepare([parse_metric(recipe) for recipe in recipes], small_corpus(), OPTIONS)
    with ThreadPoolExecutor(3) as pool:
        parts = list(pool.map(lambda part: compare(ready, part), cut(len(ready), 3)))
    assert as_bytes(finish(ready, Comparisons.join(parts))) == as_bytes(finish(ready, compare(ready)))


def test_preparing_encodes_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object) -> None:
        raise AssertionError("encoded")

    monkeypatch.setattr(OnnxEncoder, "encode", refuse)
    monkeypatch.setattr(SentSim, "run_text_models", refuse)
    prepare([BERTScore(idf="both"), SentSim(against="refs", model="minilm")], small_corpus(), OPTIONS)


def test_a_recipe_is_described_once_however_many_systems(monkeypatch: pytest.MonkeyPatch) -> None:
    calls = []
    original = BERTScore.describe

    def counting(self: BERTScore, state: Any) -> dict[str, str]:
        calls.append(self)
        return original(self, state)

    monkeypatch.setattr(BERTScore, "describe", counting)
    scores = run_metrics([BERTScore()], small_corpus(), OPTIONS)
    assert len(scores) == 2
    assert len(calls) == 1


def test_every_signature_is_checked_before_anything_is_encoded(monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[tuple[int, str]] = []

    def encode(*_: object) -> Iterator[None]:
        raise AssertionError(f"encoded after {len(seen)} signatures")

    monkeypatch.setattr(OnnxEncoder, "encode", encode)
    recipes = [BERTScore(), BERTScore(lowercase="yes"), parse_metric("bleu")]
    with pytest.raises(AssertionError, match="after 3"):
        run_metrics(
            recipes, small_corpus(), OPTIONS, check_signature=lambda number, got: seen.append((number, got.metric))
        )
    assert sorted(seen) == [(0, "bertscore"), (1, "bertscore"), (2, "bleu")]


def test_missing_or_foreign_comparisons_are_refused(prepared: Prepared) -> None:
    first = prepare([BERTScore()], small_corpus(), OPTIONS)
    with pytest.raises(InputError, match="system 'terse', segment 2 is missing in the comparisons"):
        finish(first, compare(first, range(2)))
    with pytest.raises(InputError, match="do not include metric 0"):
        finish(first, Comparisons({}, {}))
    other = prepare([BERTScore(layer=2)], small_corpus(), OPTIONS)
    with pytest.raises(InputError, match="expected 'bertscore"):
        finish(first, compare(other))
    with pytest.raises(InputError, match="cannot join comparisons: metric 0 is"):
        Comparisons.join([compare(first, range(2)), compare(other, range(2, 4))])
    for wrong in (range(11), range(-1, 3), range(0, 4, 2), range(4, 2)):
        with pytest.raises(InputError, match="within 0 to 10"):
            compare(prepared, wrong)


def test_join_refuses_different_results_for_a_segment() -> None:
    first = Comparisons({0: "m|"}, {0: {"a": {0: Comparison(np.array([[0.5]]))}}})
    other = Comparisons({0: "m|"}, {0: {"a": {0: Comparison(np.array([[0.25]]))}}})
    assert Comparisons.join([first, first]).by_metric[0]["a"].keys() == {0}
    with pytest.raises(InputError, match="different results for segment 0 of metric 0"):
        Comparisons.join([first, other])


def test_several_references_and_an_empty_range() -> None:
    corpus = small_corpus(references=3)
    first = prepare([BERTScore(multiref="best-each"), parse_metric("moverscore")], corpus, OPTIONS)
    parts = [compare(first, range(4, 10)), compare(first, range(4, 4)), compare(first, range(4))]
    assert as_bytes(finish(first, Comparisons.join(parts))) == as_bytes(finish(first, compare(first)))


def test_warnings_can_be_left_to_the_caller() -> None:
    recipe = parse_metric("moverscore:max_tokens=6")
    with pytest.warns(TruncationWarning):
        prepare([recipe], small_corpus(), OPTIONS)
    silent = prepare([recipe], small_corpus(), OPTIONS, warn=False)
    assert finish(silent, compare(silent), warn=False)[0].counts["truncated"] == 10


@pytest.mark.parametrize(
    "metric", ["bertscore:layer=1", "moverscore", "sentsim:combine=wmd+wmdo,against=refs,layer=1"]
)
def test_texts_of_a_run_are_freed(metric: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without the help of the garbage collector, so that a window's vectors are gone before the next one starts."""
    kept: list[weakref.ref[EncodedText]] = []
    original = engine.encode_texts

    def counting(*given: Any, **options: Any) -> list[EncodedText]:
        result = original(*given, **options)
        kept.extend(weakref.ref(text) for text in result)
        return result

    monkeypatch.setattr(engine, "encode_texts", counting)
    gc.collect()
    gc.disable()
    try:
        with nlgauge.testing.hash_encoder() as model:
            nlgauge.score(["a cat sat", "the dog ran"], ["the cat slept", "a dog ran"], metric=metric, model=model)
        assert len(kept) == 4
        assert [ref for ref in kept if ref() is not None] == []
    finally:
        gc.enable()


def test_a_score_of_the_whole_corpus_is_kept_for_metrics_of_vectors() -> None:
    class Int(BERTScore):
        def finish(self, comparisons: Any, state: Any) -> dict[str, SystemResult]:
            return {
                system: replace(result, corpus={"f1": 0.25}, run={"seen": "1"})
                for system, result in super().finish(comparisons, state).items()
            }

    score = Int().score(["a cat"], ["the cat"])
    assert score.system_score == 0.25
    assert score.signature.run["seen"] == "1"


def test_planned_encodings_match_encoded_texts() -> None:
    recipes = [parse_metric(text) for text in ("bertscore:layer=2", "moverscore", "bertscore:lowercase=yes")]
    prepared = prepare(recipes, small_corpus(10), OPTIONS)
    planned = {
        (id(encoder), layers, text.ids.astype(np.int64).tobytes())
        for encoder, layers, texts in planned_encodings(prepared)
        for text in texts
        if not text.empty
    }
    seen = set()

    class Noting:
        def encoder(self, key: Any, load: Any) -> Any:
            return load()

        def encode(self, encoder: Any, ids: Any, layers: Any) -> Any:
            seen.update((id(encoder), layers, row.tobytes()) for row in ids)
            return encoder.encode(ids, layers)

    with run_context(encoder_pool=Noting()):
        compare(prepared)
    assert seen == planned


def test_metric_declares_its_notes(monkeypatch: pytest.MonkeyPatch) -> None:
    note = Note("shouted", "segments in capitals", "{metric} does not hear capitals", warning=NlgaugeWarning)
    monkeypatch.setitem(score_module.NOTES, note.name, note)

    @dataclass(frozen=True, kw_only=True)
    class Calm(TextMetric):
        name: ClassVar[str] = "calm"
        components: ClassVar[tuple[str, ...]] = ("score",)
        main: ClassVar[str] = "score"
        notes: ClassVar[tuple[Note, ...]] = (note,)

        def score_texts(self, hypotheses: Sequence[str], references: Sequence[Sequence[str]]) -> SystemResult:
            loud = tuple(segment for segment, text in enumerate(hypotheses) if text.isupper())
            return SystemResult({"score": np.zeros(len(hypotheses))}, notes={"shouted": loud})

    with pytest.warns(NlgaugeWarning, match=r"1 segment \(index 1\): calm does not hear capitals"):
        score = Calm().score(["a", "B"], ["a", "b"])
    assert score.notes == {"shouted": (1,)}
    assert score.counts == {"truncated": 0, "empty": 0, "zero_weight": 0, "shouted": 1}
    assert score.signature.run["shouted"] == "1"
    assert Score.from_dict(score.to_dict()).notes == score.notes
    with pytest.warns(NlgaugeWarning, match=r"1 pair \(a\[1\] and b\[0\]\): calm does not hear capitals"):
        matrix = nlgauge.matrix(["a", "B"], ["a"], Calm())
    assert matrix.counts["shouted"] == 1


def test_recipes_that_were_used_and_pickled_score_the_same(recipes: list[Any]) -> None:
    used = [*recipes, parse_metric("smd:profile=web"), parse_metric("moverscore:profile=paper")]
    before = as_bytes(run_metrics(used, small_corpus(), OPTIONS))
    assert as_bytes(run_metrics(pickle.loads(pickle.dumps(used)), small_corpus(), OPTIONS)) == before
