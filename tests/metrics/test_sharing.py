"""Recipes of a run share vectors and distances, with the same bits as separate runs."""

from __future__ import annotations

import gc
import itertools
import weakref
from pathlib import Path

import numpy as np
import pytest

import nlgauge
from nlgauge.encoders.engines.graph_engines import OnnxEncoder
from nlgauge.metrics.bertscore import BERTScore
from nlgauge.metrics.moverscore import MoverScore
from nlgauge.studies.meta.score_judgements import score_judgements
from nlgauge.studies.sensitivity.measure import systems_table
from nlgauge.vectors.cloud import TokenPoints

HYPS = [
    "The cat sat on the mat.",
    "Unbelievably, a dog barked at the postman all morning!",
    "He bought bread, milk and three apples.",
    "of the",
    "The antidisestablishmentarian train to Llanfairpwll leaves at noon.",
]
REFS = [
    "The cat was sitting on the mat.",
    "All morning the dog barked at the mailman.",
    "He bought three apples, some bread and milk.",
    "The end of it.",
    "At noon, the train to Llanfairpwll leaves.",
]


@pytest.mark.filterwarnings("ignore::nlgauge.errors.ZeroWeightWarning")
def test_bits_do_not_depend_on_other_settings(tmp_path: Path) -> None:
    stop = tmp_path / "stop.txt"
    stop.write_text("the\nof\na\n", encoding="utf-8")
    recipes: list[MoverScore | BERTScore] = [
        MoverScore(stopwords=words, idf=idf, subwords=pieces, punctuation=marks)
        for words, idf, pieces, marks in itertools.product(
            ("none", str(stop)), ("both", "none"), ("first", "all", "average"), ("drop-ascii", "keep")
        )
    ]
    recipes += [
        MoverScore(n=2, subwords="average"),
        MoverScore(n=2),
        MoverScore(profile="v2"),
        MoverScore(profile="paper"),
        MoverScore(aggregation="layer-3"),
        BERTScore(),
        BERTScore(layer=4, stopwords=str(stop)),
        BERTScore(layer=4, idf="refs"),
    ]
    together = nlgauge.score_systems({"a": HYPS, "b": REFS}, REFS, metric=recipes)
    alone = [
        item for recipe in recipes for item in nlgauge.score_systems({"a": HYPS, "b": REFS}, REFS, metric=[recipe])
    ]
    for both, single in zip(together, alone, strict=True):
        assert str(both.signature) == str(single.signature)
        for name in both.segments:
            assert both.segments[name].tolist() == single.segments[name].tolist()
    assert len({tuple(score.segments[score.main]) for score in together}) > len(recipes), "the settings differ"


def test_distances_are_computed_once(monkeypatch: pytest.MonkeyPatch) -> None:
    calls = []
    original = TokenPoints.distances

    def counting(self: TokenPoints, other: TokenPoints, *, squared: bool) -> np.ndarray:
        calls.append((self, other, squared) in seen)
        seen.add((self, other, squared))
        return original(self, other, squared=squared)

    seen: set[tuple[TokenPoints, TokenPoints, bool]] = set()
    monkeypatch.setattr(TokenPoints, "distances", counting)
    recipes = [MoverScore(idf=idf, punctuation=marks) for idf in ("both", "none") for marks in ("drop-ascii", "keep")]
    nlgauge.score_systems({"": HYPS}, REFS, metric=recipes)
    assert len(seen) == len(HYPS)
    assert calls.count(True) == 3 * len(HYPS)


def test_pair_of_equal_texts_is_freed() -> None:
    points = TokenPoints(np.ones((2, 3), dtype=np.float32))
    assert points.distances(points, squared=True).tolist() == [[0, 0], [0, 0]]
    alive = weakref.ref(points)
    gc.disable()
    try:
        del points
        assert alive() is None, "only the collector could free it"
    finally:
        gc.enable()


def test_a_table_is_encoded_once_for_recipes_with_idf_and_without(monkeypatch: pytest.MonkeyPatch) -> None:
    table = systems_table({"a": HYPS, "b": HYPS[::-1]}, REFS)
    read: list[int] = []
    original = OnnxEncoder.encode

    def counting(self: OnnxEncoder, ids: np.ndarray, layers: tuple[int, ...]) -> list[np.ndarray]:
        read.append(len(ids))
        return original(self, ids, layers)

    monkeypatch.setattr(OnnxEncoder, "encode", counting)
    scored = score_judgements(table, ["bertscore:idf=refs", "bertscore", "moverscore"])
    assert sum(read) == len(set(HYPS) | set(REFS))
    monkeypatch.undo()
    alone = score_judgements(table, ["bertscore"]).metrics[0]
    assert np.array_equal(scored.metrics[1].values, alone.values)
