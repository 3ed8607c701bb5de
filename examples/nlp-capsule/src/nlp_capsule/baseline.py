"""Bag-of-words baseline: tf-idf and one logistic regression per label.

w(t, x) = (1 + ln tf) (1 + ln((1 + N) / (1 + df)))       per word t of text x, the vector scaled to length 1
min over W, b of  sum_x sum_j  log(1 + exp(-y_xj (W_j . x + b_j)))  +  penalty / 2 ||W||^2
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import optimize, sparse

from nlgauge.errors import InputError, RecipeError

__all__ = ["BagOfWords", "tfidf_cosine"]


def tfidf(
    texts: NDArray[np.int64], words: int, idf: NDArray[np.float64] | None = None
) -> tuple[Any, NDArray[np.float64]]:
    """Sparse matrix (texts, words) with rows of length 1, and the idf; padding is not a word."""
    rows, columns = np.nonzero(texts)
    counts = sparse.csr_matrix((np.ones(len(rows)), (rows, texts[rows, columns])), shape=(len(texts), words))
    if idf is None:
        documents = np.asarray((counts > 0).sum(axis=0)).ravel()
        idf = 1 + np.log((1 + len(texts)) / (1 + documents))
    counts.data = 1 + np.log(counts.data)
    weighted = counts @ sparse.diags(idf)
    long = np.sqrt(np.asarray(weighted.multiply(weighted).sum(axis=1)).ravel())
    return sparse.diags(1 / np.maximum(long, 1e-12)) @ weighted, idf


@dataclass(frozen=True, eq=False)
class BagOfWords:
    """A fitted baseline."""

    weights: NDArray[np.float64]
    """(words, labels)"""
    bias: NDArray[np.float64]
    idf: NDArray[np.float64]

    @classmethod
    def fit(
        cls,
        texts: NDArray[np.int64],
        owned: Sequence[Collection[int]],
        *,
        words: int,
        labels: int,
        penalty: float = 1.0,
        iterations: int = 60,
    ) -> BagOfWords:
        """Fit by L-BFGS; texts are rows of word numbers, 0 for padding."""
        if len(texts) != len(owned) or not len(texts):
            msg = f"as many texts as sets of labels are needed, at least one; got {len(texts)} and {len(owned)}"
            raise InputError(msg)
        if not penalty > 0:
            msg = f"penalty must be above 0, got {penalty!r}"
            raise RecipeError(msg)
        x, idf = tfidf(texts, words)
        sign = -np.ones((len(texts), labels))
        for row, own in zip(sign, owned, strict=True):
            row[list(own)] = 1

        def objective(flat: NDArray[np.float64]) -> tuple[float, NDArray[np.float64]]:
            table = flat.reshape(words + 1, labels)
            margins = sign * (x @ table[:-1] + table[-1])
            value = np.logaddexp(0, -margins).sum() + penalty / 2 * (table[:-1] ** 2).sum()
            slope = -sign / (1 + np.exp(np.clip(margins, -500, 500)))
            gradient = np.vstack([x.T @ slope + penalty * table[:-1], slope.sum(axis=0)])
            return float(value), gradient.ravel()

        start = np.zeros((words + 1) * labels)
        solution = optimize.minimize(objective, start, jac=True, method="L-BFGS-B", options={"maxiter": iterations})
        table = solution.x.reshape(words + 1, labels)
        return cls(table[:-1], table[-1], idf)

    def scores(self, texts: NDArray[np.int64]) -> NDArray[np.float64]:
        """(texts, labels), higher for likelier ones."""
        x, _ = tfidf(texts, len(self.weights), self.idf)
        scores: NDArray[np.float64] = x @ self.weights + self.bias
        return scores


def tfidf_cosine(
    questions: NDArray[np.int64], answers: NDArray[np.int64], *, words: int, idf: NDArray[np.float64]
) -> NDArray[np.float64]:
    """(questions, answers): the cosine of their tf-idf vectors."""
    x, _ = tfidf(questions, words, idf)
    y, _ = tfidf(answers, words, idf)
    cosines: NDArray[np.float64] = (x @ y.T).toarray()
    return cosines
