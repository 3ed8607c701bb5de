"""Words of the Penn Treebank beside NLTK's word tokenizer, whose rules they follow."""

from __future__ import annotations

from pathlib import Path

import pytest

from nlgauge.data.cards import load
from nlgauge.text.words import treebank_words

TEXTS = [
    "They're good, aren't they? I can't, won't and shan't.",
    'He said: "It is (almost) 3.5 km, or 1,000 yards; we\'ll see."',
    "The dogs' owner -- a U.S. citizen -- paid $3.88 & left...",
    "'Tis the 'best' of O'Brien's <books> [sic]!",
    "I'm gonna cannot wanna gotta gimme lemme.",
    "“Curly”, ‘single’ and «angular» quotes — and dashes – too.",
    "Is it 5:30, a:b, or 10%? @home #1 *star*",
    "``Old style'' quotes and She'd've.",
    "",
    "   ",
    "A plane is taking off.",
]


@pytest.mark.parametrize("text", TEXTS)
def test_words_equal_those_of_nltk(text):
    nltk = pytest.importorskip("nltk.tokenize")
    assert treebank_words(text) == nltk.NLTKWordTokenizer().tokenize(text)


def test_of_37057_released_sentences_three_differ(data_folder: Path):
    tokenizer = pytest.importorskip("nltk.tokenize").NLTKWordTokenizer()
    tables = [load(name, data_folder) for name in ("factors-wmt", "factors-sts")]
    texts = [
        text
        for table in tables
        for row in zip(table.hypothesis, table.references, strict=True)
        for text in (row[0], *row[1])
    ]
    for name, pair in (
        ("factors-wmt-sources", "de-en"),
        ("factors-sts-translated", "de-en"),
        ("factors-mlqe", "en-de"),
    ):
        table = load(name, data_folder, langpairs=pair)
        texts += table.hypothesis if pair == "de-en" else table.source or ()
    assert len(texts) == 37_057
    assert sum(treebank_words(text) != tokenizer.tokenize(text) for text in texts) == 3


def test_contractions_are_split():
    assert treebank_words("I cannot.") == ["I", "can", "not", "."]
    assert treebank_words("the cats' tails") == ["the", "cats", "'", "tails"]
