"""Means and variances of languages, and how far languages sit from each other."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from nlgauge.errors import FileFormatError, InputError, RecipeError
from nlgauge.studies.alignment.word_spaces import centroid_change, language_centroids
from nlgauge.vectors.transforms import FixedNorm, LanguageMeans, LanguageMoments, group_of, position_norm


def languages(seed: int = 0) -> dict[str, NDArray[np.float32]]:
    rng = np.random.default_rng(seed)
    return {
        language: (rng.normal(size=6) * 5 + rng.uniform(0.5, 3) * rng.normal(size=(count, 6))).astype(np.float32)
        for language, count in (("de", 40), ("en", 70), ("zh", 25))
    }


@given(st.integers(0, 2**32 - 1), st.sampled_from(["centre", "standardise"]))
@settings(max_examples=25, deadline=None)
def test_language_means_become_equal(seed: int, mode: str) -> None:
    vectors = languages(seed)
    norm = LanguageMeans.fit({language: [rows] for language, rows in vectors.items()}, mode=mode)
    after = {language: norm.apply(rows, language) for language, rows in vectors.items()}
    for rows in after.values():
        np.testing.assert_allclose(rows.mean(axis=0, dtype=np.float64), 0, atol=1e-5)
        if mode == "standardise":
            np.testing.assert_allclose(rows.std(axis=0, dtype=np.float64), 1, atol=1e-4)
    change = centroid_change(vectors, after)
    assert change.after.relative.sum() < 1e-4 * change.before.relative.sum()


def test_the_portions_of_a_corpus_do_not_matter() -> None:
    rows = np.random.default_rng(1).normal(loc=1e4, size=(50, 3))
    whole = LanguageMoments.of([rows])
    parts = LanguageMoments.of([rows[:1], rows[1:20], rows[20:20], rows[20:]])
    assert parts.count == whole.count == 50
    np.testing.assert_allclose(parts.mean, rows.mean(axis=0), rtol=1e-12)
    np.testing.assert_allclose(parts.variance, rows.var(axis=0), rtol=1e-9)


def test_a_file_gives_the_same_bits_and_digest(tmp_path: Path) -> None:
    vectors = languages()
    norm = LanguageMeans.fit(
        {key: [rows] for key, rows in vectors.items()}, mode="standardise", weights="ab", layer=4
    )
    norm.save(tmp_path / "norm.npz")
    loaded = LanguageMeans.load(tmp_path / "norm.npz")
    assert loaded.digest == norm.digest
    assert loaded.apply(vectors["de"], "de").tobytes() == norm.apply(vectors["de"], "de").tobytes()
    loaded.check_model("ab", layer=4)
    with pytest.raises(InputError, match="layer 4"):
        loaded.check_model("ab", layer=5)
    (tmp_path / "norm.npz").write_bytes(b"x")
    with pytest.raises(FileFormatError, match="is not a file of language means"):
        LanguageMeans.load(tmp_path / "norm.npz")
    assert norm.digest != LanguageMeans(norm.moments, "centre", "ab", 4).digest


def test_language_means_refuse_invalid_input() -> None:
    norm = LanguageMeans.fit({"de": [np.ones((2, 3))]})
    with pytest.raises(InputError, match="language 'fi'; languages are: de"):
        norm.apply(np.ones((2, 3)), "fi")
    with pytest.raises(InputError, match="width 3"):
        norm.apply(np.ones((2, 4)), "de")
    with pytest.raises(InputError, match="got none"):
        LanguageMeans.fit({"de": []})
    with pytest.raises(RecipeError, match="centre, standardise, got 'z'"):
        LanguageMeans.fit({"de": [np.ones((2, 3))]}, mode="z")


def test_the_published_scope_counts_padding_as_vectors() -> None:
    """By hand: one entry; texts of two and one positions; position 1 holds 4 and the zero of padding."""
    batch = [np.array([[1.0], [4.0]]), np.array([[3.0]])]
    first, second = position_norm(batch)
    np.testing.assert_allclose(first[:, 0], [-1.0, 1.0], atol=1e-6)  # mean 2 and deviation 1; mean 2 and deviation 2
    np.testing.assert_allclose(second[:, 0], [1.0], atol=1e-6)
    (alone,) = position_norm(batch[:1])
    assert not alone.any()  # a batch of one is all zeros, as published
    assert position_norm([]) == []


def test_layer_and_sequence_normalisation_by_hand() -> None:
    """Layer normalisation (Ba, Kiros, Hinton 2016, Eq. 3) is over a row; in print over the positions of a text."""
    text = np.array([[1.0, 3.0, 5.0, 7.0], [2.0, 2.0, 2.0, 6.0]], dtype=np.float32)
    # Row 1: mean 4, variance 5; row 2: mean 3, variance 3.
    by_row = [np.array([-3.0, -1.0, 1.0, 3.0]) / 5**0.5, np.array([-1.0, -1.0, -1.0, 3.0]) / 3**0.5]
    layer, sequence = (FixedNorm(name) for name in ("layer-norm", "sequence-norm"))
    np.testing.assert_allclose(layer.apply_together([text])[0], by_row, atol=1e-6)
    np.testing.assert_allclose(layer.apply(text), by_row, atol=1e-6)
    # Columns: means 1.5, 2.5, 3.5, 6.5 and deviations .5, .5, 1.5, .5.
    by_column = [[-1.0, 1.0, 1.0, 1.0], [1.0, -1.0, -1.0, -1.0]]
    np.testing.assert_allclose(sequence.apply_together([text])[0], by_column, atol=1e-6)
    alone, together = layer.apply_together([text]), layer.apply_together([text, 9 * text])
    assert alone[0].tobytes() == together[0].tobytes()  # independent of the batch, unlike position-norm
    with pytest.raises(RecipeError, match="sequence-norm needs the positions of tokens"):
        sequence.apply(text)


def test_the_batch_of_the_published_normalisation() -> None:
    assert [group_of(f"position-norm{size}") for size in ("", "-2", "-32")] == [8, 2, 32]
    assert group_of("a.npz+layer-norm") == 1
    assert [FixedNorm("position-norm", size).label for size in (8, 32)] == ["position-norm", "position-norm-32"]
    assert FixedNorm.parse("position-norm-x") is None
    for choice, reason in (
        ("position-norm-1", "would make all vectors zero"),
        ("position-norm-2+position-norm", "2 and 8 texts"),
    ):
        with pytest.raises(RecipeError, match=reason):
            group_of(choice)


def test_centroids_by_hand() -> None:
    result = language_centroids({"de": [[1.0, 0.0], [3.0, 0.0]], "en": [[0.0, 2.0], [0.0, 4.0]], "fr": [[0.0, 3.0]]})
    # Means (2, 0), (0, 3), (0, 3); squared distances to them 1, 1 and 0, so a spread of sqrt(2/3).
    root = 13**0.5
    np.testing.assert_allclose(result.distance, [[0, root, root], [root, 0, 0], [root, 0, 0]], atol=1e-12)
    np.testing.assert_allclose(result.cosine, [[1, 0, 0], [0, 1, 1], [0, 1, 1]], atol=1e-12)
    assert result.spread == pytest.approx((2 / 3) ** 0.5)
    np.testing.assert_allclose(result.relative, result.distance / (2 / 3) ** 0.5)
    assert result.counts == (2, 2, 1)


def test_shrinking_all_vectors_brings_no_language_nearer() -> None:
    vectors = languages(3)
    change = centroid_change(vectors, {key: rows / 10 for key, rows in vectors.items()})
    np.testing.assert_allclose(change.after.relative, change.before.relative)


def test_centroids_refuse_other_models_and_widths() -> None:
    with pytest.raises(InputError, match="at least two, got de"):
        language_centroids({"de": [[1.0]]})
    with pytest.raises(InputError, match="one width"):
        language_centroids({"de": [[1.0]], "en": [[1.0, 2.0]]})
    with pytest.raises(InputError, match="same languages"):
        centroid_change({"de": [[1.0]], "en": [[1.0]]}, {"en": [[1.0]], "de": [[1.0]]})
