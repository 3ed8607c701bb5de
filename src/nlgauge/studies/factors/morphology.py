"""MOR: similarity of the forms of words, as the cosine of mean word vectors that contain morphology.

    vectors       trained as by fastText on the texts at hand, or read from a file
    lexicon       pairs of words that have the same morphological features, such as "reached" and "combined"
    retrofitting  q_i <- (mean of q_j over the pairs (i, j) + v_i) / 2, ten times (Faruqui et al. 2015, alpha 1,
                  beta 1 / pairs of i); v are the vectors, of unit length
    MOR           cos(mean of q over the words of x, mean of q over the words of y)

Words are lower-cased; those without a vector are left out, and a text with none has no MOR.
"""

from __future__ import annotations

import logging
import math
import os
import random
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from nlgauge.errors import FileFormatError, InputError
from nlgauge.io.packages import require
from nlgauge.io.storage import file_digest, short_digest
from nlgauge.io.tables import read_lines
from nlgauge.stats.numeric import Vector
from nlgauge.vectors.cloud import unit_rows

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
    training = _require_gensim("gensim.models.fasttext").FastText
    logger = logging.getLogger("gensim")
    before = logger.level
    logger.setLevel(logging.ERROR)  # without the advice that it logs on small corpora
    try:
        model = training(lines, seed=seed % 2**32, workers=1, **TRAINING)
    except RuntimeError as error:
        msg = (
            f"no word vectors can be trained on {len(lines)} texts: no word stands {TRAINING['min_count']} times "
            "in them; give word_vectors=FILE instead"
        )
        raise InputError(msg) from error
    finally:
        logger.setLevel(before)
    vectors = {word: np.asarray(model.wv[word], dtype=np.float32) for word in dict.fromkeys(words)}
    if not all(np.isfinite(vector).all() for vector in vectors.values()):
        msg = f"training word vectors on {len(lines)} texts diverged; give word_vectors=FILE, or another seed"
        raise InputError(msg)
    return vectors


def training_label() -> str:
    """Method and version, on which vectors depend."""
    return f"fastText's method, gensim {_require_gensim('gensim').__version__}"


def vectors_of_file(path: str | os.PathLike[str]) -> tuple[str, dict[str, NDArray[np.float32]]]:
    """A file's label with digest, and its vectors by lower-cased word; of two spellings the first counts."""
    from nlgauge.encoders.engines.static import read_vectors  # an engine, loaded where it is asked for

    file = Path(path)
    words, table = read_vectors(file)
    vectors: dict[str, NDArray[np.float32]] = {}
    for word, vector in zip(words, table, strict=True):
        vectors.setdefault(word.lower(), vector)
    return f"{file.name}[{short_digest(file_digest(file))}]", vectors


def _require_gensim(name: str) -> Any:
    return require(name, "spacy", instead="give word_vectors=FILE")


WordPair: TypeAlias = tuple[str, str]
#: A word with its morphological features, such as Number: Plur.
FeaturedWord: TypeAlias = tuple[str, Mapping[str, str]]
WordVectors: TypeAlias = Mapping[str, NDArray[np.floating]]

#: Words among which the partner of a word is looked for, and the seed they are drawn by, as released.
_SAMPLE, _SEED = 5000, 42
_SWEEPS = 10


def read_lexicon(path: str | os.PathLike[str]) -> list[WordPair]:
    """The pairs of a lexicon: a word and its partner a line, or its partners, with blanks between."""
    pairs: list[WordPair] = []
    for number, line in enumerate(read_lines(path), start=1):
        first, *partners = line.lower().split() or [""]
        if not partners:
            msg = f"{os.fspath(path)}, line {number}: expected a word and its partner, blank between, got {line!r}"
            raise FileFormatError(msg)
        pairs += [(first, partner) for partner in partners]
    return pairs


def build_lexicon(words: Iterable[FeaturedWord], *, partners: Iterable[FeaturedWord] | None = None) -> list[WordPair]:
    """Pairs of words with the same features: each word with the first of a random sample that fits.

    `partners` are words of another language, for a lexicon across languages; by default the words themselves. A word
    without features has no partner; that it is foreign is no feature.

    >>> past = {"Tense": "Past"}
    >>> build_lexicon([("reached", past), ("combined", past), ("cats", {"Number": "Plur"})])
    [('reached', 'combined'), ('combined', 'reached')]
    """
    own = _by_features(words)
    others = own if partners is None else _by_features(partners)
    fitting: dict[frozenset[tuple[str, str]], dict[str, None]] = {}
    for word, features in random.Random(_SEED).sample(others, min(_SAMPLE, len(others))):
        fitting.setdefault(features, {})[word] = None
    pairs: dict[WordPair, None] = {}
    for word, features in own:
        partner = next((other for other in fitting.get(features, ()) if other != word), None)
        if partner is not None:
            pairs[word, partner] = None
    return list(pairs)


def _by_features(words: Iterable[FeaturedWord]) -> list[tuple[str, frozenset[tuple[str, str]]]]:
    counted = (
        (word.lower(), frozenset(item for item in features.items() if item[0] != "Foreign"))
        for word, features in words
    )
    return [(word, features) for word, features in counted if features]


def retrofit(vectors: WordVectors, lexicon: Iterable[WordPair]) -> dict[str, Vector]:
    """Vectors of unit length, drawn towards those of their partners; words without a pair stay.

    >>> import numpy as np
    >>> moved = retrofit({"a": np.array([1.0, 0.0]), "b": np.array([0.0, 2.0])}, [("a", "b")])
    >>> moved["a"].tolist(), moved["b"].tolist()
    ([0.5, 0.5], [0.0, 1.0])
    """
    words = list(vectors)
    number = {word: at for at, word in enumerate(words)}
    table = np.array([vectors[word] for word in words], dtype=np.float64)
    table = unit_rows(table, pairwise=True)
    partners: dict[int, dict[int, None]] = {}
    for word, partner in lexicon:
        if word in number and partner in number and word != partner:
            partners.setdefault(number[word], {})[number[partner]] = None
    places = [(at, np.fromiter(to, dtype=np.intp)) for at, to in partners.items()]
    moved = table.copy()
    for _ in range(_SWEEPS):
        for at, to in places:
            moved[at] = (moved[to].mean(axis=0) + table[at]) / 2
    return {word: moved[at] for word, at in number.items()}


def morphological_similarity(first: Sequence[str], second: Sequence[str], vectors: Mapping[str, Vector]) -> float:
    """MOR of two texts' words; nan where a text has no word with a vector."""
    known = [[vectors[word] for word in map(str.lower, words) if word in vectors] for words in (first, second)]
    if not all(known):
        return math.nan
    one, other = (np.mean(of_text, axis=0) for of_text in known)
    lengths = float(np.linalg.norm(one)) * float(np.linalg.norm(other))
    return float(one @ other) / lengths if lengths else math.nan
