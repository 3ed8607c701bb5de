"""Vectors of words: trained by fastText on the texts at hand, or read from a file."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from nlgauge.errors import InputError, MissingExtraError
from nlgauge.files.digests import file_digest, short_digest

__all__ = ["TRAINING", "train_vectors", "vectors_of_file"]

#: As released; what is not here is fastText's default (skip-grams, 100 dimensions, words from 5 mentions on, letters
#: of 3 to 6).
TRAINING = {"epoch": 10, "lr": 0.2}


def train_vectors(texts: Iterable[str], words: Sequence[str], *, seed: int = 12345) -> dict[str, NDArray[np.float32]]:
    """Vectors of the words, by fastText on the texts as they stand; rare words have theirs from their letters.

    One thread, so that equal texts and seeds give equal vectors on a machine.
    """
    lines = [" ".join(text.split()) for text in texts if text.strip()]
    if not lines:
        msg = "word vectors are trained on texts, and all of these are empty"
        raise InputError(msg)
    training = _fasttext()
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "texts.txt"
        file.write_bytes(("\n".join(lines) + "\n").encode())
        # Its function for this takes no seed, only its table of defaults does.
        given = {"input": str(file), "thread": 1, "seed": seed % 2**31, "verbose": 0, **TRAINING}
        options = training._build_args(training.unsupervised_default | given, set())
        model = training._FastText(args=options)
        try:
            training.fasttext.train(model.f, options)
        except (RuntimeError, ValueError) as error:  # no word stands five times
            msg = f"fastText cannot train on {len(lines)} texts ({error}); give word_vectors=FILE instead"
            raise InputError(msg) from error
    return {word: np.asarray(model.get_word_vector(word), dtype=np.float32) for word in dict.fromkeys(words)}


def vectors_of_file(path: str | os.PathLike[str]) -> tuple[str, dict[str, NDArray[np.float32]]]:
    """A file's label with digest, and its vectors by lower-cased word; of two spellings the first counts."""
    from nlgauge.encoders.engines.static import read_vectors  # an engine, loaded where it is asked for

    file = Path(path)
    words, table = read_vectors(file)
    found: dict[str, NDArray[np.float32]] = {}
    for word, vector in zip(words, table, strict=True):
        found.setdefault(word.lower(), vector)
    return f"{file.name}[{short_digest(file_digest(file))}]", found


def _fasttext() -> Any:
    try:
        from fasttext import FastText
    except ImportError as error:
        msg = "training word vectors needs fastText: pip install 'nlgauge[explain]'; or give word_vectors=FILE"
        raise MissingExtraError(msg) from error
    return FastText
