"""Similarities of two texts whatever their meaning: SYN of their dependency trees, MOR of the forms of their words.

    SYN = 1 - TED(x, y) / (|x| + |y|)        |x|: words of x

TED is the least number of words to insert or delete until the trees are the same; labels of words cost nothing, but
the order of words counts (Zhang and Shasha 1989, renaming at cost 0). Punctuation is taken out of the trees first:
words that depend on it go to its head. Sentences after the first depend on the root of the first. Trees are lists of
heads: the number of the word that each word depends on, from 1, and 0 for the root.

MOR is the cosine of mean word vectors that contain morphology:

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
from nlgauge.text.annotation import AnnotatedText
from nlgauge.text.tokenizer import is_punctuation
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


def word_tree(text: AnnotatedText) -> tuple[int, ...]:
    """The tree of a text's words, without punctuation; empty where there is no word.

    >>> from nlgauge.text.annotation import AnnotatedSentence, AnnotatedWord
    >>> words = [("Cats", 2), ("sleep", 0), (".", 2)]
    >>> found = [AnnotatedWord(0, 0, form, form, "X", head=head) for form, head in words]
    >>> word_tree(AnnotatedText("Cats sleep.", (AnnotatedSentence(0, 11, tuple(found)),)))
    (2, 0)
    """
    forms: list[str] = []
    heads: list[int] = []
    for sentence in text.sentences:
        first = len(forms)
        for word in sentence.words:
            if word.head < 0:
                msg = f"the annotation of {text.text[:60]!r} has no trees; load the annotator with trees=True"
                raise InputError(msg)
            forms.append(word.form)
            heads.append(word.head + first if word.head else 0)
    kept = [at for at, form in enumerate(forms, start=1) if not all(map(is_punctuation, form))]
    numbers = {at: number for number, at in enumerate(kept, start=1)}
    found = [numbers.get(_governor(at, heads, numbers), 0) for at in kept]
    root = next((number for number, head in enumerate(found, start=1) if head == 0), 0)
    return tuple(root if head == 0 and number != root else head for number, head in enumerate(found, start=1))


def _governor(word: int, heads: Sequence[int], kept: dict[int, int]) -> int:
    """The next word above that is kept; 0 where there is none."""
    above = heads[word - 1]
    while above and above not in kept:
        above = heads[above - 1]
    return above


def syntactic_similarity(first: Sequence[int], second: Sequence[int]) -> float:
    """SYN of two trees; nan where one has no word.

    >>> syntactic_similarity([2, 0, 5, 5, 2, 2], [2, 0, 2, 2])
    0.8
    """
    if not first or not second:
        return math.nan
    return 1 - tree_edit_distance(first, second) / (len(first) + len(second))


def tree_edit_distance(first: Sequence[int], second: Sequence[int]) -> int:
    """Words to insert or delete until two trees are the same."""
    one, other = _leftmost(first), _leftmost(second)
    whole = [[0] * len(other) for _ in one]
    """Distances of the subtrees of all pairs of nodes."""
    for last in _key_roots(one):
        for other_last in _key_roots(other):
            _forests(one, other, last, other_last, whole)
    return whole[-1][-1]


def _forests(one: list[int], other: list[int], last: int, other_last: int, whole: list[list[int]]) -> None:
    """Distances of all prefixes of two subtrees; those of whole subtrees are kept.

    `at` and `to` are numbers of nodes in post-order, and rows and columns stand one further: 0 is the empty forest.
    """
    start, other_start = one[last], other[other_last]
    width = other_last - other_start + 2
    rows = [list(range(width))]
    for at in range(start, last + 1):
        above, row = rows[-1], [at - start + 1]
        before = rows[one[at] - start]
        is_tree = one[at] == start
        found = whole[at]
        for to in range(other_start, other_last + 1):
            column = to - other_start + 1
            least = min(above[column], row[-1]) + 1
            if is_tree and other[to] == other_start:
                least = min(least, above[column - 1])
                found[to] = least
            else:
                least = min(least, before[other[to] - other_start] + found[to])
            row.append(least)
        rows.append(row)


def _leftmost(heads: Sequence[int]) -> list[int]:
    """Of each node in post-order, the number of the leftmost leaf below it."""
    children: list[list[int]] = [[] for _ in range(len(heads) + 1)]
    for word, head in enumerate(heads, start=1):
        children[head].append(word)
    if len(children[0]) != 1:
        msg = f"a tree has one root (head 0), got {len(children[0])} in {list(heads)!r}"
        raise InputError(msg)
    found: list[int] = []
    # (node, None) before its children are numbered; then (node, the number of its leftmost leaf).
    waiting: list[tuple[int, int | None]] = [(children[0][0], None)]
    while waiting:
        node, leaf = waiting.pop()
        if leaf is None:
            waiting.append((node, len(found)))
            waiting += [(child, None) for child in reversed(children[node])]
        else:
            found.append(leaf)
    if len(found) != len(heads):
        msg = f"the heads {list(heads)!r} are no tree: some words depend on themselves by way of others"
        raise InputError(msg)
    return found


def _key_roots(leftmost: Sequence[int]) -> list[int]:
    """Of all nodes with the same leftmost leaf the highest, in post-order."""
    highest = {leaf: node for node, leaf in enumerate(leftmost)}
    return sorted(highest.values())
