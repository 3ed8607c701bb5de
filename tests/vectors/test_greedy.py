"""Greedy matching is a transport of its own kind."""

from __future__ import annotations

import numpy as np
import pytest
from tests.samples import HYPS, REFS

from nlgauge.encoders.base import encode_texts
from nlgauge.encoders.load import load_encoder
from nlgauge.encoders.run_context import one_blas_thread, run_context
from nlgauge.vectors import greedy as module
from nlgauge.vectors.cloud import unit_rows
from nlgauge.vectors.greedy import (
    greedy_match,
    greedy_match_points,
    greedy_scores,
    greedy_values,
)


def test_bertscore_recall_is_a_quasi_transport() -> None:
    """Proposition 1 of MoverScore: with F_ij = 1/M at the best match j of reference token i, and
    C_ij = (M / Z) idf(y_i) x_j.y_i there, <C, F> is BERTScore's recall, for any M."""
    encoder = load_encoder("minilm")
    rng = np.random.default_rng(0)
    for hyp, ref in zip(HYPS, REFS, strict=True):
        x, y = (
            unit_rows(text.layers[4])
            for text in encode_texts(encoder, encoder.tokenizer.encode([hyp, ref]), (4,), batch_tokens=512)
        )
        idf = rng.random(len(y))
        recall = greedy_match(x @ y.T, np.ones(len(x)), idf).recall
        for mass in (len(y), len(x), 7):
            similarity = (y @ x.T).astype(np.float64)
            flow = np.zeros_like(similarity)
            flow[np.arange(len(y)), similarity.argmax(axis=1)] = 1 / mass
            cost = mass / idf.sum() * idf[:, None] * similarity
            assert (cost * flow).sum() == pytest.approx(recall, abs=1e-6)


def test_many_clouds_against_many_have_the_bits_of_each_pair_alone() -> None:
    rng = np.random.default_rng(1)

    def clouds(count: int) -> list[tuple[np.ndarray, np.ndarray]]:
        sizes = rng.integers(1, 40, size=count).tolist()
        return [(unit_rows(rng.normal(size=(size, 384)).astype(np.float32)), rng.random(size)) for size in sizes]

    rows, columns = clouds(30), clouds(40)
    with one_blas_thread:
        together = greedy_scores(rows, columns)
        alone = [[greedy_match(x @ y.T, u, v)[:3] for y, v in columns] for x, u in rows]
    assert np.array_equal(together, np.array(alone))


def test_clouds_at_right_angles_have_an_f_of_zero() -> None:
    x, y = np.eye(2, dtype=np.float32)[:1], np.eye(2, dtype=np.float32)[1:]
    assert greedy_scores([(x, np.ones(1))], [(y, np.ones(1))]).tolist() == [[[0.0, 0.0, 0.0]]]


@pytest.mark.parametrize("at_once", [1, 7, 40, 10**6])
def test_large_clouds_are_matched_in_parts(at_once: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Vectors of small whole numbers, so that every order of adding them up gives the same bits, and many ties."""
    rng = np.random.default_rng(4)
    x, y = (rng.integers(-2, 3, (size, 5)).astype(np.float32) for size in (11, 9))
    u, v = rng.random(11), rng.random(9)
    expected = greedy_match(x @ y.T, u, v)
    monkeypatch.setattr(module, "_AT_ONCE", at_once)
    result = greedy_match_points(x, y, u, v)
    assert all(np.array_equal(first, other) for first, other in zip(result, expected, strict=True))
    table = greedy_scores([(x, u), (x[:4], u[:4])], [(y, v), (y, v), (y[:2], v[:2])])
    assert table[0, 1].tolist() == [expected.precision, expected.recall, expected.f1]


@pytest.mark.parametrize("threads", [1, 3])
def test_blocks_of_large_clouds_give_the_bits_of_one_piece(threads: int, monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(5)
    x, y = (unit_rows(rng.normal(size=(size, 16)).astype(np.float32)) for size in (37, 23))
    u, v = rng.random(37), rng.random(23)
    expected = greedy_match(x @ y.T, u, v)[:3]
    assert greedy_values(x, y, u, v) == expected
    monkeypatch.setattr(module, "_AT_ONCE", 1)
    monkeypatch.setattr(module, "_BLOCK", (8, 5))
    calls: list[int] = []
    with one_blas_thread, run_context(threads=threads, check=lambda: calls.append(1)):
        result = greedy_values(x, y, u, v)
        alone = greedy_values(x, x, u, u)
    assert result == pytest.approx(expected, abs=1e-7), "a block is another product, whose last bits may differ"
    assert alone == pytest.approx((1, 1, 1), abs=1e-6)
    assert len(calls) == 2 * 5, "once for each of the blocks of 8 rows"
    with one_blas_thread, run_context(threads=1):
        assert greedy_values(x, y, u, v) == result, "threads move no bit"


@pytest.mark.parametrize("threads", [1, 2])
def test_a_long_match_can_be_ended_between_two_blocks(threads: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_AT_ONCE", 1)
    monkeypatch.setattr(module, "_BLOCK", (1, 1))
    x = np.eye(4, dtype=np.float32)

    def stop() -> None:
        raise KeyboardInterrupt

    with run_context(threads=threads, check=stop), pytest.raises(KeyboardInterrupt):
        greedy_values(x, x, np.ones(4), np.ones(4))
