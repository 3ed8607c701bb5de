"""Similarities of form: SYN compares the dependency trees of two texts, MOR the morphology of their words.

    SYN = 1 - TED(x, y) / (|x| + |y|)        |x|: words of x

TED is the tree edit distance: the minimum number of words to insert or delete until the trees are the same. Labels
are ignored, but the order of words counts (Zhang and Shasha 1989, renaming at cost 0). Punctuation is removed from
the trees first: words that depend on it are attached to its head. Sentences after the first depend on the root of the
first. Trees are lists of heads: the number of the word that each word depends on, from 1, and 0 for the root.

MOR is the cosine of mean word vectors that contain morphology:

    vectors       trained by fastText's method on the texts, or read from a file
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

#: As released; other parameters are fastText's defaults. The fasttext package is not used: with one thread, which
#: reproducible vectors need, it initialises only a tenth of the vectors.
TRAINING = {
    "epochs": 10,
    "alpha": 0.2,  # the learning rate, which falls to (almost) 0
    "min_alpha": 1e-6,
    "sg": 1,  # skip-grams
    "vector_size": 100,
    "window": 5,
    "min_count": 5,  # vectors of rarer words come from their character n-grams
    "min_n": 3,
    "max_n": 6,
    "bucket": 2_000_000,
    "sample": 1e-4,
    "negative": 5,
    "ns_exponent": 0.5,
    "batch_words": 1000,  # words after which the learning rate falls
}
#: fastText ends every line with it.
_END = "</s>"


def train_vectors(texts: Iterable[str], words: Sequence[str], *, seed: int = 12345) -> dict[str, NDArray[np.float32]]:
    """Train word vectors by fastText's method; vectors of rare words come from their character n-grams.

    Training uses one thread: equal texts and seeds then give equal vectors on the same machine.
    """
    lines = [[*text.split(), _END] for text in texts if text.strip()]
    if not lines:
        msg = "cannot train word vectors: all texts are empty"
        raise InputError(msg)
    training = _require_gensim("gensim.models.fasttext").FastText
    logger = logging.getLogger("gensim")
    before = logger.level
    logger.setLevel(logging.ERROR)  # hides warnings about small corpora
    try:
        model = training(lines, seed=seed % 2**32, workers=1, **TRAINING)
    except RuntimeError as error:
        msg = (
            f"cannot train word vectors on {len(lines)} texts: no word occurs {TRAINING['min_count']} times; "
            "give word_vectors=FILE instead"
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
    """Training method with version, which vectors depend on."""
    return f"fastText's method, gensim {_require_gensim('gensim').__version__}"


def vectors_of_file(path: str | os.PathLike[str]) -> tuple[str, dict[str, NDArray[np.float32]]]:
    """Read word vectors by lower-cased word (the first spelling wins), and label the file with its digest."""
    from nlgauge.encoders.engines.static import read_vectors  # lazy: imports a backend

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

#: Number of candidates for the partner of a word, and the seed to draw them, as released.
_SAMPLE, _SEED = 5000, 42
_SWEEPS = 10


def read_lexicon(path: str | os.PathLike[str]) -> list[WordPair]:
    """Read word pairs from a file; each line has a word and its partners, separated by spaces."""
    pairs: list[WordPair] = []
    for number, line in enumerate(read_lines(path), start=1):
        first, *partners = line.lower().split() or [""]
        if not partners:
            msg = f"{os.fspath(path)}, line {number}: expected two words with a space between, got {line!r}"
            raise FileFormatError(msg)
        pairs += [(first, partner) for partner in partners]
    return pairs


def build_lexicon(words: Iterable[FeaturedWord], *, partners: Iterable[FeaturedWord] | None = None) -> list[WordPair]:
    """Pair each word with the first word of a random sample that has the same features.

    `partners` are words of another language, for a lexicon across languages; by default the words themselves. A word
    without features has no partner; the feature Foreign is ignored.

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
    """Normalise vectors, then move them towards those of their partners; words without a pair do not move.

    >>> import numpy as np
    >>> moved = retrofit({"a": np.array([1.0, 0.0]), "b": np.array([0.0, 2.0])}, [("a", "b")])
    >>> moved["a"].tolist(), moved["b"].tolist()
    ([0.5, 0.5], [0.0, 1.0])
    """
    words = list(vectors)
    number = {word: i for i, word in enumerate(words)}
    table = np.array([vectors[word] for word in words], dtype=np.float64)
    table = unit_rows(table, pairwise=True)
    partners: dict[int, dict[int, None]] = {}
    for word, partner in lexicon:
        if word in number and partner in number and word != partner:
            partners.setdefault(number[word], {})[number[partner]] = None
    neighbours = [(i, np.fromiter(others, dtype=np.intp)) for i, others in partners.items()]
    moved = table.copy()
    for _ in range(_SWEEPS):
        for i, others in neighbours:
            moved[i] = (moved[others].mean(axis=0) + table[i]) / 2
    return {word: moved[i] for word, i in number.items()}


def morphological_similarity(first: Sequence[str], second: Sequence[str], vectors: Mapping[str, Vector]) -> float:
    """MOR of the words of two texts; nan if a text has no word with a vector."""
    by_text = [[vectors[word] for word in map(str.lower, words) if word in vectors] for words in (first, second)]
    if not all(by_text):
        return math.nan
    left, right = (np.mean(rows, axis=0) for rows in by_text)
    lengths = float(np.linalg.norm(left)) * float(np.linalg.norm(right))
    return float(left @ right) / lengths if lengths else math.nan


def word_tree(text: AnnotatedText) -> tuple[int, ...]:
    """Dependency tree of the words of a text, without punctuation; empty for a text without words.

    >>> from nlgauge.text.annotation import AnnotatedSentence, AnnotatedWord
    >>> words = [("Cats", 2), ("sleep", 0), (".", 2)]
    >>> annotated = [AnnotatedWord(0, 0, form, form, "X", head=head) for form, head in words]
    >>> word_tree(AnnotatedText("Cats sleep.", (AnnotatedSentence(0, 11, tuple(annotated)),)))
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
    words = [i for i, form in enumerate(forms, start=1) if not all(map(is_punctuation, form))]
    numbers = {word: number for number, word in enumerate(words, start=1)}
    tree = [numbers.get(_governor(word, heads, numbers), 0) for word in words]
    root = next((number for number, head in enumerate(tree, start=1) if head == 0), 0)
    return tuple(root if head == 0 and number != root else head for number, head in enumerate(tree, start=1))


def _governor(word: int, heads: Sequence[int], numbers: dict[int, int]) -> int:
    """Nearest ancestor that has a number, which punctuation has not; 0 if there is none."""
    above = heads[word - 1]
    while above and above not in numbers:
        above = heads[above - 1]
    return above


def syntactic_similarity(first: Sequence[int], second: Sequence[int]) -> float:
    """SYN of two trees; nan if one has no word.

    >>> syntactic_similarity([2, 0, 5, 5, 2, 2], [2, 0, 2, 2])
    0.8
    """
    if not first or not second:
        return math.nan
    return 1 - tree_edit_distance(first, second) / (len(first) + len(second))


def tree_edit_distance(first: Sequence[int], second: Sequence[int]) -> int:
    """Minimum number of words to insert or delete until two trees are the same."""
    left, right = _leftmost(first), _leftmost(second)
    distances = [[0] * len(right) for _ in left]
    """Distances between the subtrees of all pairs of nodes."""
    for left_root in _key_roots(left):
        for right_root in _key_roots(right):
            _fill_distances(left, right, left_root, right_root, distances)
    return distances[-1][-1]


def _fill_distances(
    left: list[int], right: list[int], left_root: int, right_root: int, distances: list[list[int]]
) -> None:
    """Compute the distances of all prefixes of two subtrees; fill in those of complete subtrees.

    `i` and `j` are numbers of nodes in post-order. Rows and columns are one further: 0 is the empty forest.
    """
    left_start, right_start = left[left_root], right[right_root]
    width = right_root - right_start + 2
    rows = [list(range(width))]
    for i in range(left_start, left_root + 1):
        above, row = rows[-1], [i - left_start + 1]
        before = rows[left[i] - left_start]
        is_tree = left[i] == left_start
        subtree = distances[i]
        for j in range(right_start, right_root + 1):
            column = j - right_start + 1
            least = min(above[column], row[-1]) + 1
            if is_tree and right[j] == right_start:
                least = min(least, above[column - 1])
                subtree[j] = least
            else:
                least = min(least, before[right[j] - right_start] + subtree[j])
            row.append(least)
        rows.append(row)


def _leftmost(heads: Sequence[int]) -> list[int]:
    """Number of the leftmost leaf below each node, in post-order."""
    children: list[list[int]] = [[] for _ in range(len(heads) + 1)]
    for word, head in enumerate(heads, start=1):
        children[head].append(word)
    if len(children[0]) != 1:
        msg = f"a tree must have one root (head 0), got {len(children[0])} in {list(heads)!r}"
        raise InputError(msg)
    leaves: list[int] = []
    # (node, None) before its children are numbered; then (node, number of its leftmost leaf).
    stack: list[tuple[int, int | None]] = [(children[0][0], None)]
    while stack:
        node, leaf = stack.pop()
        if leaf is None:
            stack.append((node, len(leaves)))
            stack += [(child, None) for child in reversed(children[node])]
        else:
            leaves.append(leaf)
    if len(leaves) != len(heads):
        msg = f"the heads {list(heads)!r} are not a tree: they contain a cycle"
        raise InputError(msg)
    return leaves


def _key_roots(leftmost: Sequence[int]) -> list[int]:
    """Highest node for each leftmost leaf, in post-order."""
    highest = {leaf: node for node, leaf in enumerate(leftmost)}
    return sorted(highest.values())
