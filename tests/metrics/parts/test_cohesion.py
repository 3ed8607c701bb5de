"""Cohesion of a single text, computed by hand."""

from __future__ import annotations

import numpy as np
import pytest
from tests.annotated_texts import annotated

from nlgauge.metrics.cohesion import Devices, connectivity, count_devices
from nlgauge.metrics.parts.foci import find_foci
from nlgauge.studies.discourse import focus_frequency

#: Three sentences; cat in 1 and 2 (twice in 2), dog in 1 and 3, bird once. 4 + 5 + 3 words without full stops.
TEXT = annotated("the cat:N see:V dogs=dog:N . | Cat:P and cat:N and bird:N . | a dog:N see:V .")


def test_devices_by_nouns_as_released() -> None:
    # D6.9: cat (3 mentions) and dog (2) come again, of the three nouns cat, dog, bird.
    counts = count_devices(TEXT)
    assert counts == Devices(lemmas=2, of_lemmas=3, mentions=5, of_mentions=3)
    assert counts.cohesion == pytest.approx(2 / 3)
    assert counts.repetition == pytest.approx(5 / 3), "as released, it can exceed 1"


def test_devices_by_words_as_in_the_paper() -> None:
    # D6.9: cat, dog and see (2) come again, 7 occurrences; the lemmas are the, cat, see, dog, and, bird, a; 12 words.
    counts = count_devices(TEXT, "content")
    assert counts == Devices(lemmas=3, of_lemmas=7, mentions=7, of_mentions=12)
    assert counts.cohesion == pytest.approx(3 / 7)
    assert counts.repetition == pytest.approx(7 / 12)


def test_connectivity_of_entries_and_of_sentences() -> None:
    # Sentences 1-2 share cat (distance 1), 1-3 share dog (distance 2): 1 + 1/2, by 9 entries or 3 sentences (D6.8).
    foci = find_foci(TEXT)
    assert connectivity(foci, 3) == pytest.approx(1.5 / 9)
    assert connectivity(foci, 3, average="sentences") == pytest.approx(0.5)


def test_connectivity_counts_shared_foci_where_weighted() -> None:
    # Both sentences have cat and dog: a = 2.
    two = annotated("cat:N dog:N | dog:N cat:N")
    assert connectivity(find_foci(two), 2) == pytest.approx(1 / 4)
    assert connectivity(find_foci(two), 2, weighted=True) == pytest.approx(2 / 4)


def test_entities_connect_sentences_without_common_noun() -> None:
    table = {"cat": np.float32([1, 0]), "kitten": np.float32([1, 0.2]), "sky": np.float32([0, 1])}
    text = annotated("cat:N | kitten:N | sky:N")
    assert connectivity(find_foci(text), 3) == 0
    assert connectivity(find_foci(text, table.get, 0.7), 3) == pytest.approx(1 / 9)


def test_frequency_ignores_nouns_mentioned_once() -> None:
    # cat 3 and dog 2 mentions: 5 / 2; bird is left out.
    assert focus_frequency(find_foci(TEXT)) == 2.5
    assert focus_frequency(find_foci(annotated("cat:N bird:N"))) == 0


@pytest.mark.parametrize("text", ["", "it rain:V .", "."])
def test_a_text_without_a_noun_has_values(text: str) -> None:
    # The released code divides by zero here.
    result = annotated(text)
    assert count_devices(result).cohesion == count_devices(result).repetition == 0
    assert connectivity(find_foci(result), len(result.sentences)) == focus_frequency(find_foci(result)) == 0
