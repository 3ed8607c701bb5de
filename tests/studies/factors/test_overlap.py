"""BLEU-1 beside sacrebleu's counting and the released scores."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pytest

from nlgauge.data.cards import load
from nlgauge.studies.factors.columns import FactorMaker, FactorOptions, bleu1, lexical_overlap

PAIRS = [
    ("the cat sat on the mat", "the the the cat"),
    ("a b c d e", "a b"),
    ("a b", "a b c d e"),
    ("a b", "a b"),
    ("a b c", "x y z"),
]


@pytest.mark.parametrize(("reference", "hypothesis"), PAIRS)
def test_as_nltk_has_it(reference, hypothesis):
    """`sentence_bleu` with weights (1, 0), which the released code calls."""
    nltk = pytest.importorskip("nltk.translate.bleu_score")
    theirs = nltk.sentence_bleu([reference.split()], hypothesis.split(), weights=(1.0,))
    assert bleu1(reference.split(), hypothesis.split()) == pytest.approx(theirs, abs=1e-12)


def test_the_first_released_pairs_of_sts():
    """out_sts_mono.tsv, column bleu."""
    plane = lexical_overlap("A plane is taking off.", ["An air plane is taking off."])
    assert plane == pytest.approx(0.714286, abs=1e-6)
    flute = lexical_overlap("A man is playing a large flute.", ["A man is playing a flute."])
    assert flute == pytest.approx(0.866878, abs=1e-6)


def test_case_counts_and_the_nearest_of_several_references_is_taken():
    assert lexical_overlap("A cat", ["a CAT"]) == 0
    assert lexical_overlap("A cat", ["a CAT", "A cat"]) == 1


def test_an_empty_text_has_none():
    assert math.isnan(lexical_overlap("", ["A cat"]))
    assert math.isnan(lexical_overlap("A cat", [" "]))


@pytest.mark.parametrize(("name", "least"), [("factors-wmt", 0.98), ("factors-sts", 0.965)])
def test_released_lex_of_english(data_folder: Path, name: str, least: float):
    table = load(name, data_folder)
    ours = FactorMaker(table, FactorOptions()).column("LEX")
    assert np.mean(np.abs(ours - table.released["lex"]) < 1e-6) >= least


@pytest.mark.parametrize(
    ("name", "pair", "file", "least"),
    [
        ("factors-wmt-sources", "de-en", "wmt_de", 0.99),
        ("factors-wmt-sources", "zh-en", "wmt_zh", 0.99),
        ("factors-sts-translated", "de-en", "sts_de", 0.975),
        ("factors-sts-translated", "zh-en", "sts_zh", 0.975),
        ("factors-mlqe", "en-de", "mlqe_de", 0.99),
        ("factors-mlqe", "en-zh", "mlqe_zh", 0.99),
    ],
)
def test_released_lex_across_languages(data_folder: Path, name: str, pair: str, file: str, least: float):
    table = load(name, data_folder, langpairs=pair)
    translations = str(data_folder / "explain" / "translated" / f"{file}.json")
    ours = FactorMaker(table, FactorOptions(translations=translations)).column("LEX")
    assert np.mean(np.abs(ours - table.released["lex"]) < 1e-6) >= least
