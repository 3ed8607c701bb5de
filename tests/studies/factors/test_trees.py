"""Tree edit distance beside apted and the two examples of the paper; trees without punctuation."""

from __future__ import annotations

import math
import random
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from nlgauge.data.cards import load
from nlgauge.errors import InputError
from nlgauge.studies.factors.columns import FactorMaker, FactorOptions
from nlgauge.studies.factors.similarity import syntactic_similarity, tree_edit_distance, word_tree
from nlgauge.text.annotation import AnnotatedSentence, AnnotatedText, AnnotatedWord


def annotated(*sentences: list[tuple[str, int]]) -> AnnotatedText:
    made = [
        AnnotatedSentence(0, 0, tuple(AnnotatedWord(0, 0, form, form, "X", head=head) for form, head in words))
        for words in sentences
    ]
    return AnnotatedText(" ".join(form for words in sentences for form, _ in words), tuple(made))


def random_tree(size: int, rng: random.Random) -> list[int]:
    order = rng.sample(range(1, size + 1), size)
    heads = [0] * size
    for place, word in enumerate(order[1:], start=1):
        heads[word - 1] = rng.choice(order[max(0, place - 5) : place])
    return heads


def nested(heads: list[int], node: int) -> tuple[int, list[Any]]:
    return node, [nested(heads, index) for index, head in enumerate(heads, start=1) if head == node]


def test_as_apted_has_it():
    apted = pytest.importorskip("apted")

    class Structure(apted.Config):
        """Labels do not count."""

        def rename(self, one, other):
            return 0

        def children(self, node):
            return node[1]

    rng = random.Random(4)
    for _ in range(120):
        one, other = (random_tree(rng.randint(1, 14), rng) for _ in range(2))
        trees = [nested(heads, heads.index(0) + 1) for heads in (one, other)]
        assert tree_edit_distance(one, other) == apted.APTED(*trees, Structure()).compute_edit_distance()


def test_figure_1_two_leaves_removed_of_six_nodes():
    """Figure 1 of Kaster et al.: trees of 6 and 4 nodes, distance 2, score 1 - 2 / 10."""
    six, four = [2, 0, 5, 5, 2, 5], [2, 0, 2, 3]
    assert tree_edit_distance(six, four) == 2
    assert syntactic_similarity(six, four) == 0.8


def test_figure_2_two_operations_on_five_nodes():
    """Figure 2: trees of 5 and 5 nodes, distance 2, score 1 - 2 / 10."""
    first, other = [0, 1, 1, 1, 1], [0, 1, 2, 1, 1]
    assert tree_edit_distance(first, other) == 2
    assert syntactic_similarity(first, other) == 0.8


def test_words_do_not_count_and_order_does():
    assert tree_edit_distance([2, 0, 2], [2, 0, 2]) == 0
    # A node with two children to the left, and its mirror image.
    assert tree_edit_distance([2, 3, 0, 3], [2, 0, 2, 3]) == 2


def test_tree_edit_distance_is_a_metric():
    rng = random.Random(9)
    for _ in range(30):
        a, b, c = (random_tree(rng.randint(1, 9), rng) for _ in range(3))
        assert tree_edit_distance(a, a) == 0
        assert tree_edit_distance(a, b) == tree_edit_distance(b, a)
        assert tree_edit_distance(a, c) <= tree_edit_distance(a, b) + tree_edit_distance(b, c)
        assert abs(len(a) - len(b)) <= tree_edit_distance(a, b) < len(a) + len(b)


def test_a_deep_tree_is_no_trouble():
    chain = list(range(400))
    assert tree_edit_distance(chain, chain[:390]) == 10


def test_punctuation_is_taken_out_and_what_hangs_on_it_goes_up():
    assert word_tree(annotated([("A", 2), ("-", 3), ("cat", 0), (".", 3)])) == (2, 0)
    # Where punctuation is the root, its first word is.
    assert word_tree(annotated([("-", 0), ("cat", 1), ("dog", 1)])) == (0, 1)


def test_further_sentences_hang_on_the_first_root():
    assert word_tree(annotated([("Cats", 2), ("sleep", 0)], [("Dogs", 2), ("bark", 0)])) == (2, 0, 4, 2)


def test_no_word_no_value():
    assert word_tree(annotated([("...", 0)])) == ()
    assert math.isnan(syntactic_similarity((), (0,)))


def test_invalid_trees_are_errors():
    with pytest.raises(InputError, match="one root"):
        tree_edit_distance([0, 0], [0])
    with pytest.raises(InputError, match="not a tree"):
        tree_edit_distance([0, 3, 2], [0])
    with pytest.raises(InputError, match="trees=True"):
        word_tree(annotated([("cat", -1)]))


@pytest.mark.slow
def test_released_syn(data_folder: Path):
    """Another parser is another factor; these shares are ours (spaCy), measured once, rounded down."""
    for name, rows, correlation, equal in (("factors-sts", 600, 0.85, 0.88), ("factors-wmt", 200, 0.6, 0.3)):
        table = load(name, data_folder).take(range(rows))
        ours = FactorMaker(table, FactorOptions()).column("SYN")
        theirs = table.released["syn"]
        assert np.corrcoef(ours, theirs)[0, 1] > correlation
        assert np.mean(np.abs(ours - theirs) < 1e-9) > equal
