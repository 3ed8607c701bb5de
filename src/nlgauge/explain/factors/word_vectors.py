"""Vectors of words: trained as by fastText on the texts at hand, or read from a file."""

from __future__ import annotations

import logging
import os
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from nlgauge.errors import InputError, MissingExtraError
from nlgauge.files.digests import file_digest, short_digest

__all__ = ["TRAINING", "train_vectors", "training_label", "vectors_of_file"]

#: As released; what is not named there is fastText's default. Its own package is not used: with one thread, which
#: equal vectors need, it fills a tenth of the first vectors and takes the rest from memory as found.
TRAINING = {
    "epochs": 10,
    "alpha": 0.2,  # the learning rate, which falls to (almost) 0
    "min_alpha": 1e-6,
    "sg": 1,  # skip-grams
    "vector_size": 100,
    "window": 5,
    "min_count": 5,  # rarer words have their vectors from their letters
    "min_n": 3,
    "max_n": 6,
    "bucket": 2_000_000,
    "sample": 1e-4,
    "negative": 5,
    "ns_exponent": 0.5,
    "batch_words": 1000,  # the learning rate falls after so many
}
#: fastText ends every line with it.
_END = "</s>"


def train_vectors(texts: Iterable[str], words: Sequence[str], *, seed: int = 12345) -> dict[str, NDArray[np.float32]]:
    """Vectors of the words, by fastText's method on the texts as they stand; rare words have them from their letters.

    One thread, so that equal texts and seeds give equal vectors on a machine.
    """
    lines = [[*text.split(), _END] for text in texts if text.strip()]
    if not lines:
        msg = "word vectors are trained on texts, and all of these are empty"
        raise InputError(msg)
    training = _gensim().models.fasttext.FastText
    with _quiet("gensim"):
        try:
            model = training(lines, seed=seed % 2**32, workers=1, **TRAINING)
        except RuntimeError as error:
            msg = (
                f"no word vectors can be trained on {len(lines)} texts: no word stands {TRAINING['min_count']} times "
                "in them; give word_vectors=FILE instead"
            )
            raise InputError(msg) from error
    found = {word: np.asarray(model.wv[word], dtype=np.float32) for word in dict.fromkeys(words)}
    if not all(np.isfinite(vector).all() for vector in found.values()):
        msg = f"training word vectors on {len(lines)} texts diverged; give word_vectors=FILE, or another seed"
        raise InputError(msg)
    return found


def training_label() -> str:
    """Method and version, on which vectors depend."""
    return f"fastText's method, gensim {_gensim().__version__}"


def vectors_of_file(path: str | os.PathLike[str]) -> tuple[str, dict[str, NDArray[np.float32]]]:
    """A file's label with digest, and its vectors by lower-cased word; of two spellings the first counts."""
    from nlgauge.encoders.engines.static import read_vectors  # an engine, loaded where it is asked for

    file = Path(path)
    words, table = read_vectors(file)
    found: dict[str, NDArray[np.float32]] = {}
    for word, vector in zip(words, table, strict=True):
        found.setdefault(word.lower(), vector)
    return f"{file.name}[{short_digest(file_digest(file))}]", found


def _gensim() -> Any:
    try:
        import gensim
        import gensim.models.fasttext
    except ImportError as error:
        msg = "training word vectors needs gensim: pip install 'nlgauge[explain]'; or give word_vectors=FILE"
        raise MissingExtraError(msg) from error
    return gensim


@contextmanager
def _quiet(name: str) -> Iterator[None]:
    """Without the advice that a library logs on small corpora."""
    logger = logging.getLogger(name)
    before = logger.level
    logger.setLevel(logging.ERROR)
    try:
        yield
    finally:
        logger.setLevel(before)
