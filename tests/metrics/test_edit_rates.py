"""Error rates and NIST: numbers of published tools, of papers and by hand; direction; system scores from counts."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest
import sacrebleu
from hypothesis import given
from hypothesis import strategies as st
from nltk.translate.nist_score import corpus_nist

import nlgauge
from nlgauge.core.score import Score
from nlgauge.data.loaders.wmt import load_wmt_package
from nlgauge.errors import EmptyTextWarning, TooLongError
from nlgauge.metrics.edit_rates import covering_edits
from nlgauge.metrics.parts.edits import levenshtein, levenshtein_of_all

HYPS = ["The ferry was cancelled in the storm.", "Bread is good.", "nobody wrote letters"]
REFS = ["The ferry was called off because of the storm.", "The bread is the best.", "She wrote letters."]
RATES = ["wer", "per", "cder", "ter", "eed", "character"]

words = st.lists(st.sampled_from("abcd"), max_size=9)


@given(words, words)
def test_levenshtein_distance_is_that_of_the_table(first: list[str], second: list[str]) -> None:
    row = list(range(len(second) + 1))
    for i, word in enumerate(first, start=1):
        above, row = row, [i]
        for j, other in enumerate(second, start=1):
            row.append(min(above[j] + 1, row[-1] + 1, above[j - 1] + (word != other)))
    assert levenshtein(first, second) == row[-1]


@given(st.lists(st.permutations("aabcd ").map("".join), max_size=5), st.text("abcde ", max_size=9))
def test_distances_of_several_texts_are_those_of_each(texts: list[str], target: str) -> None:
    assert levenshtein_of_all(texts, target) == [levenshtein(text, target) for text in texts]


def test_distances_of_more_texts_than_fit_in_a_block() -> None:
    texts = ["".join(rotated) for i in range(99) for rotated in [("abc" * 300)[i:] + ("abc" * 300)[:i]]]
    assert levenshtein_of_all(texts, "cab" * 299) == [levenshtein(text, "cab" * 299) for text in texts]


def test_character_refuses_documents() -> None:
    text = " ".join(map(str, range(600)))
    with pytest.raises(TooLongError, match=r"segment 2 of character has 600 and 600 words, .* split the texts"):
        nlgauge.score(["a", text], ["a", text], "character")


@given(words, words)
def test_cder_is_that_of_the_table_of_leusch_et_al(output: list[str], reference: list[str]) -> None:
    """Equation of section 3: a row per word of the reference, and a jump from the cheapest place of each row."""
    row = [0] + [1] * len(output)
    for word in reference:
        costs = [row[0] + 1]
        for i, other in enumerate(output, start=1):
            costs.append(min(costs[-1] + 1, row[i] + 1, row[i - 1] + (word != other)))
        row = [min(cost, min(costs) + 1) for cost in costs]
    assert covering_edits(output, reference) == row[-1]


@pytest.mark.parametrize(("metric", "rate"), [("wer", 80.0), ("per", 40.0), ("cder", 80.0)])
def test_rates_of_a_pair_by_hand(metric: str, rate: float) -> None:
    """Of 5 words, WER substitutes b, a and x and inserts e; PER lacks d and e.

    CDER inserts "a", matches "b", and substitutes the rest of the output by "c d e".
    """
    assert nlgauge.score(["b a c x"], ["a b c d e"], f"{metric}:tokenize=none").system_score == rate


def test_system_score_is_the_ratio_of_sums() -> None:
    score = nlgauge.score(["a b", "c"], ["a x", "c d e f"], "wer:tokenize=none")
    assert score.wer.tolist() == [50.0, 75.0]
    assert score.system_score == pytest.approx(100 * 4 / 6)


def test_per_sums_lengths_before_it_compares_them() -> None:
    """As Moses' scorer does, which computed the tables of WMT: words too many make up for words that lack."""
    score = nlgauge.score(["a b c", "d"], ["a b", "d e"], "per:tokenize=none")
    assert score.per.tolist() == [50.0, 50.0]
    assert score.system_score == 25.0


def test_words_are_those_of_moses_in_lower_case() -> None:
    """Moses keeps "U.S." and "3.5", and splits the comma and the last full stop."""
    assert nlgauge.score(["the U.S. paid 3.5 , again ."], ["The U.S. paid 3.5, again."], "wer").system_score == 0
    assert nlgauge.score(["the end ."], ["The end."], "wer:case=mixed").system_score == pytest.approx(100 / 3)
    assert nlgauge.metrics.WER(lang="cs").tokenize == "moses-cs"
    assert nlgauge.metrics.WER(lang="zh").tokenize == "zh"
    with pytest.raises(nlgauge.errors.RecipeError, match="ISO 639"):
        nlgauge.metrics.WER(tokenize="moses-english")


def test_chinese_references_without_a_language_are_reported() -> None:
    with pytest.warns(nlgauge.errors.LanguageWarning, match="wer:tokenize=zh"):
        nlgauge.score(["火车因为暴风雨晚点了二十分钟。"], ["火车因为暴风雨晚点二十分钟。"], "wer")


@pytest.mark.parametrize("recipe", ["ter", "ter:case=mixed,normalized=yes", "ter:punctuation=no,asian=yes"])
def test_ter_equals_sacrebleu(recipe: str) -> None:
    engine = sacrebleu.TER(
        normalized="normalized=yes" in recipe,
        no_punct="punctuation=no" in recipe,
        asian_support="asian=yes" in recipe,
        case_sensitive="case=mixed" in recipe,
    )
    score = nlgauge.score(HYPS, REFS, recipe)
    assert score.system_score == pytest.approx(engine.corpus_score(HYPS, [REFS]).score, abs=1e-12)
    expected = [engine.sentence_score(h, [r]).score for h, r in zip(HYPS, REFS, strict=True)]
    np.testing.assert_array_equal(score.ter, expected)


def test_ter_of_several_references_has_their_mean_length() -> None:
    streams = [REFS, ["A storm stopped it.", "Bread is good, they say.", "Nobody wrote."]]
    score = nlgauge.score(HYPS, ref_streams=streams, metric="ter")
    assert score.system_score == pytest.approx(sacrebleu.corpus_ter(HYPS, streams).score, abs=1e-12)
    again = Score.from_dict(score.to_dict(segments=True))
    assert again.statistics is not None
    assert again.statistics.whole == score.system_score, "a length of 6.5 words stays what it is"


def test_ter_refuses_an_option_without_effect() -> None:
    with pytest.raises(nlgauge.errors.RecipeError, match="asian='yes' has no effect without normalized=yes"):
        nlgauge.metrics.TER(asian="yes")


def test_eed_equals_the_value_printed_in_the_documentation_of_torchmetrics() -> None:
    hyps, refs = (
        ["this is the prediction", "here is an other sample"],
        ["this is the reference", "here is another one"],
    )
    assert nlgauge.score(hyps, refs, "eed").system_score == pytest.approx(30.78, abs=0.005)


@pytest.mark.parametrize(
    ("hyp", "ref", "expected"),
    [
        ("sat a cat", "a cat sat", 100 * 2 / 9),  # one shift of words of 1 and 3 characters
        ("a cat", "a cut", 100 * 1 / 5),  # one substitution
        ("good red house", "red houses good", 100 * (4 + 1) / 14),  # a shift of "good", and an "s"
        ("", "a cat", 100.0),
    ],
)
@pytest.mark.filterwarnings("ignore::nlgauge.errors.EmptyTextWarning")
def test_character_edits_by_hand(hyp: str, ref: str, expected: float) -> None:
    assert nlgauge.score([hyp], [ref], "character").system_score == pytest.approx(expected)


def test_nist_equals_nltk() -> None:
    """NLTK and mteval differ for several references only."""
    expected = corpus_nist([[ref.split()] for ref in REFS], [hyp.split() for hyp in HYPS], 3)
    assert nlgauge.score(HYPS, REFS, "nist:tokenize=none,case=mixed,order=3").system_score == pytest.approx(expected)


def test_nist_merges_the_counts_of_references() -> None:
    """Each word has 3 bits, as one of 8. Both words of the output match, in different references."""
    score = nlgauge.score(["a b"], [["a c d e", "f b g h"]], "nist:tokenize=none,order=1")
    length = np.exp(-np.log(2) * (np.log(2 / 4) / np.log(1.5)) ** 2)
    assert score.system_score == pytest.approx(3.0 * length)


def test_nist_signs_its_references_and_is_not_merged() -> None:
    first, second = (nlgauge.score(HYPS[:n], REFS[:n], "nist") for n in (2, 3))
    assert first.signature.run["information"] != second.signature.run["information"]
    with pytest.raises(nlgauge.errors.InputError, match="cannot merge"):
        Score.merge([first, second])


@pytest.mark.parametrize("metric", RATES)
def test_lower_is_better_and_the_best_reference_counts(metric: str) -> None:
    single = [nlgauge.score(HYPS[:1], [ref], metric) for ref in (REFS[0], HYPS[0])]
    assert not single[0].higher_is_better
    assert single[1].system_score < single[0].system_score
    if metric != "ter":
        both = nlgauge.score(HYPS[:1], [[REFS[0], HYPS[0]]], metric)
        assert both.system_score == single[1].system_score
        assert both.best_reference is not None
        assert both.best_reference.tolist() == [1]


@pytest.mark.parametrize("metric", [*RATES, "nist"])
def test_comparison_prefers_the_system_with_fewer_errors(metric: str) -> None:
    refs = [f"{text} {number}" for number in range(12) for text in REFS]
    systems = {"good": [text.replace("the", "a") for text in refs], "bad": [text[::-1] for text in refs]}
    (table,) = nlgauge.compare(systems, refs, metric=metric, resamples=200).comparison.metrics
    assert table.winner == "good"


@pytest.mark.parametrize("metric", RATES)
def test_empty_texts_have_all_errors(metric: str) -> None:
    with pytest.warns(nlgauge.errors.EmptyTextWarning):
        score = nlgauge.score(["", "Bread."], ["Bread.", ""], metric=metric)
    # EED by hand: the two spaces of the output match, 7 of the 9 characters of " Bread . " are inserted. The place
    # after the first space is visited 8 times, the start never, the end once: v = 8.
    expected = 100 * (7 + 0.3 * 8) / (9 + 0.3 * 8) if metric == "eed" else 100.0
    assert score.segments[metric][0] == pytest.approx(expected, abs=1e-9)
    assert np.isfinite(score.segments[metric]).all()


@pytest.mark.parametrize(
    ("recipe", "title"), [("wer", "WER"), ("character", "CharacTER"), ("bleu:order=2", "BLEU-2")]
)
def test_names_in_tables_for_papers(recipe: str, title: str) -> None:
    signature = nlgauge.score(HYPS, REFS, recipe).signature
    metric = nlgauge.metrics.BLEU if recipe.startswith("bleu") else getattr(nlgauge.metrics, title)
    assert metric.title_of(signature.recipe) == title


def agreement(wmt18: Path, langpair: str, metrics: Sequence[str]) -> list[float]:
    """Pearson's r of system scores and official human scores of WMT18."""
    table = load_wmt_package(wmt18, year=2018, level="system", langpairs=[langpair])
    documents = {system: table.documents(langpair, system) for system in table.system_scores[langpair]}
    gold = list(table.system_scores[langpair].values())
    hyps = {system: document.hypotheses for system, document in documents.items()}
    references = next(iter(documents.values())).references
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", nlgauge.errors.NlgaugeWarning)
        scores = nlgauge.score_systems(hyps, references, list(metrics))
    by_metric = [[score.system_score for score in scores if score.metric == metric] for metric in metrics]
    return [float(np.corrcoef(values, gold)[0, 1]) for values in by_metric]


@pytest.mark.slow
def test_correlations_of_wmt18_are_those_of_the_paper(data_folder: Path) -> None:
    """BERTScore's Table 19, cs-en: WER .951, PER .970, CDER .972, NIST .954; absolute values in print."""
    wer, per, cder, nist = agreement(data_folder / "wmt18", "cs-en", ["wer", "per", "cder", "nist"])
    assert (round(-wer, 3), round(-per, 3), round(nist, 3)) == (0.951, 0.970, 0.954)
    assert -cder == pytest.approx(0.972, abs=0.0015)


@pytest.mark.parametrize(
    ("metric", "outcome", "score"),
    [*((name, "scored 100", 100.0) for name in ("wer", "per", "cder", "ter", "character")), ("js", "ln 2", 0.6931)],
)
def test_warning_of_an_empty_text_has_the_score_of_a_distance(metric: str, outcome: str, score: float) -> None:
    with pytest.warns(EmptyTextWarning, match=outcome):
        scored = nlgauge.score([""], ["a cat"], metric)
    assert scored.system_score == pytest.approx(score, abs=1e-4)
