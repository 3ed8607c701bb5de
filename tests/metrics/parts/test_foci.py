"""Foci and the graph of sentences, on documents small enough to check by hand."""

from __future__ import annotations

from typing import ClassVar

import numpy as np
import pytest
from tests.annotated_texts import annotated

from nlgauge.errors import TooLongError
from nlgauge.metrics.parts.foci import adjacency, focus_sentences, merge_entities, noun_sentences
from nlgauge.text.annotation import AnnotatedText

THREE = annotated("Cats=cat:N saw:V Mats=mat:N | it sat:V | the cat=Cat:N met:V a cat:P")


def test_mentions_are_counted_by_lemma_in_lower_case_and_by_sentence() -> None:
    assert noun_sentences(THREE) == {"cat": (0, 2, 2), "mat": (0,)}


def test_a_text_without_nouns_has_no_focus() -> None:
    assert noun_sentences(annotated("it sat:V")) == {}
    assert noun_sentences(AnnotatedText("", ())) == {}


def test_adjacency_depends_on_shared_foci_and_distance() -> None:
    # Two nouns, three sentences: cat in 0 and 2, mat in 0, 1 and 2. Pairs (0,1) and (1,2) share mat, (0,2) both.
    foci = {"cat": (0, 2, 2), "mat": (0, 1, 2)}
    assert adjacency(foci, 3, weighted=False).tolist() == [[0, 1, 0.5], [0, 0, 1], [0, 0, 0]]
    assert adjacency(foci, 3, weighted=True).tolist() == [[0, 1, 1.0], [0, 0, 1], [0, 0, 0]]


def test_focus_of_one_sentence_adds_no_edge() -> None:
    assert not adjacency({"cat": (1, 1, 1)}, 2, weighted=True).any()
    assert adjacency({}, 0, weighted=False).shape == (0, 0)
    assert adjacency({"cat": (0,)}, 1, weighted=False).tolist() == [[0]]


def test_a_thousand_sentences_that_share_a_noun() -> None:
    graph = adjacency({"cat": range(1000)}, 1000, weighted=False)
    # The sum over i < j of 1/(j-i): (n - d) pairs at each distance d.
    assert graph.sum() == pytest.approx(sum((1000 - d) / d for d in range(1, 1000)))


class TestEntities:
    VECTORS: ClassVar = {
        "car": np.array([1.0, 0.0], dtype=np.float32),
        "bus": np.array([1.0, 0.5], dtype=np.float32),  # cosine .894 with car, .894 with truck
        "truck": np.array([1.0, 4 / 3], dtype=np.float32),  # cosine .6 with car
        "sky": np.array([-1.0, 0.0], dtype=np.float32),
    }

    def merged(self, lemmas: list[str], threshold: float) -> dict[str, tuple[str, ...]]:
        return merge_entities(lemmas, self.VECTORS.get, threshold)

    def test_chain_of_similar_words_is_one_entity(self) -> None:
        group = ("bus", "car", "truck")
        assert self.merged(["truck", "car", "bus", "sky"], 0.8) == {
            "truck": group,
            "car": group,
            "bus": group,
            "sky": ("sky",),
        }
        assert self.merged(["truck", "car"], 0.8) == {"truck": ("truck",), "car": ("car",)}

    def test_the_threshold_itself_is_not_above_it(self) -> None:
        same = {"a": np.array([1.0, 0.0], dtype=np.float32), "b": np.array([2.0, 0.0], dtype=np.float32)}
        assert merge_entities("ab", same.get, 1.0)["a"] == ("a",)
        assert merge_entities("ab", same.get, 0.999)["a"] == ("a", "b")

    def test_words_without_a_vector_stay_alone(self) -> None:
        assert self.merged(["it", "that"], -1) == {"it": ("it",), "that": ("that",)}

    def test_many_words_are_merged_block_by_block(self) -> None:
        # 1,200 words in two directions: two entities, whatever the blocks.
        table = {f"w{n}": np.array([n % 2, 1 - n % 2], dtype=np.float32) for n in range(1200)}
        groups = set(merge_entities(table, table.get, 0.5).values())
        assert sorted(len(group) for group in groups) == [600, 600]

    def test_dash_in_word_does_not_change_entity(self) -> None:
        # Joined by "-", as in the released code, both would be called "being-well".
        assert merge_entities(["being-well"], {}.get, 0.5)["being-well"] == ("being-well",)
        near = {"being": np.array([1.0], dtype=np.float32), "well": np.array([1.0], dtype=np.float32)}
        assert merge_entities(near, near.get, 0.5)["being"] == ("being", "well")

    def test_sentences_of_an_entity_are_those_of_its_members(self) -> None:
        entities = self.merged(["car", "bus", "sky"], 0.8)
        nouns = {"car": (0, 2), "sky": (1,), "bus": (1, 1)}
        assert focus_sentences(nouns, entities) == {("bus", "car"): (0, 1, 1, 2), ("sky",): (1,)}


def test_a_graph_that_does_not_fit_in_memory_is_refused() -> None:
    with pytest.raises(TooLongError, match="a graph of sentences of 20000 x 20000 points"):
        adjacency({"cat": (0, 1)}, 20_000, weighted=False)
