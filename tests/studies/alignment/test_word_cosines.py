"""Cosines of matched and random pairs of words, and the plane of languages, with values worked out by hand."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from scipy.stats import mannwhitneyu

from nlgauge.encoders.load import load_encoder
from nlgauge.errors import InputError
from nlgauge.io.canvas import save_figure
from nlgauge.studies.alignment.word_cosines import (
    PairCosines,
    draw_centroids,
    draw_cosines,
    draw_pairs,
    plane_of,
    word_pair_cosines,
)
from nlgauge.studies.alignment.word_spaces import AlignmentInputs, centroid_change


@pytest.fixture
def planted(tmp_path: Path) -> AlignmentInputs:
    """Words l0 to l3 and their translations r0 to r3: unit vectors, with a constant added to each r."""
    shift = np.array([0.0, 0.0, 0.0, 0.0, 9.0])
    rows = [(f"{mark}{n}", np.eye(5)[n] + (shift if mark == "r" else 0)) for mark in "lr" for n in range(4)]
    lines = (" ".join([name, *(f"{value:.4f}" for value in row)]) for name, row in rows)
    (tmp_path / "both.vec").write_text("\n".join(lines) + "\n", encoding="utf-8")
    encoder = load_encoder(str(tmp_path / "both.vec"))
    texts = [" ".join(f"{mark}{n}" for n in range(4)) for mark in "lr"]
    links = [((0, 0), (1, 1), (2, 2), (3, 3))] * 2
    return AlignmentInputs(encoder, [texts[0]] * 2, [texts[1]] * 2, 0, alignments=links)


def test_cosines_of_planted_words(planted: AlignmentInputs) -> None:
    """cos(e_n, e_n + 9 e_5) = 1 / sqrt(82), and 0 for another word; without the mean of each text, 1 and -1/3."""
    plain, normed = word_pair_cosines(planted, ["sequence-norm"], pairs=99)
    assert (plain.name, normed.name) == ("none", "sequence-norm")
    assert len(plain.matched) == len(plain.random) == 8
    np.testing.assert_allclose(plain.matched, 82**-0.5, atol=1e-6)
    np.testing.assert_allclose(plain.random, 0, atol=1e-6)
    np.testing.assert_allclose(normed.matched, 1, atol=1e-5)
    np.testing.assert_allclose(normed.random, -1 / 3, atol=1e-5)
    assert plain.separation == normed.separation == 1
    assert len(word_pair_cosines(planted, pairs=3)[0].random) == 3


def test_random_words_are_of_the_same_text_and_not_linked() -> None:
    links = [[(0, 0), (0, 2), (1, 1)], [(0, 0)], [(2, 1)]]
    matched, random = draw_pairs(links, [3, 1, 4], pairs=50, seed=1)
    assert matched.tolist() == [[0, 0, 0], [0, 0, 2], [0, 1, 1], [2, 2, 1]], "text 1 has no other word"
    assert random[:, :2].tolist() == matched[:, :2].tolist()
    assert random[0, 2] == random[1, 2] == 1, "word 0 is linked to words 0 and 2"
    assert random[2, 2] in {0, 2}
    assert random[3, 2] in {0, 2, 3}
    with pytest.raises(InputError, match="provide longer texts"):
        draw_pairs([[(0, 0)]], [1], pairs=5, seed=1)


def test_separation_is_the_statistic_of_mann_and_whitney() -> None:
    chance = np.random.default_rng(0)
    matched, random = chance.normal(0.5, 1, 40).round(1), chance.normal(0, 1, 40).round(1)
    expected = mannwhitneyu(matched, random).statistic / 40**2
    assert PairCosines("none", matched, random).separation == pytest.approx(expected)


def test_the_plane_keeps_the_distances_of_points_in_a_plane() -> None:
    points = np.random.default_rng(2).normal(size=(6, 2))
    distance = np.linalg.norm(points[:, None] - points[None, :], axis=2)
    placed = plane_of(distance)
    np.testing.assert_allclose(np.linalg.norm(placed[:, None] - placed[None, :], axis=2), distance, atol=1e-9)
    np.testing.assert_allclose(placed.mean(axis=0), 0, atol=1e-9)
    two = plane_of(np.array([[0.0, 4.0], [4.0, 0.0]]))
    np.testing.assert_allclose(np.abs(two), [[2, 0], [2, 0]], atol=1e-6)


def test_figures_have_all_panels_and_languages(planted: AlignmentInputs, tmp_path: Path) -> None:
    save_figure(draw_cosines(word_pair_cosines(planted, ["layer-norm"])), tmp_path / "cosines.svg")
    drawn = (tmp_path / "cosines.svg").read_text(encoding="utf-8")
    assert all(text in drawn for text in ("unchanged vectors: separation", "layer-norm: separation", "random pairs"))
    vectors = {code: np.random.default_rng(n).normal(size=(5, 3)) for n, code in enumerate(("de", "en", "fi"))}
    save_figure(draw_centroids(centroid_change(vectors, vectors), transforms="a.npz"), tmp_path / "plane.svg")
    drawn = (tmp_path / "plane.svg").read_text(encoding="utf-8")
    assert all(f"<!-- {text} -->" in drawn for text in ("de", "en", "fi", "a.npz"))
