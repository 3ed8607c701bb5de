"""The public data sets as they are: counts, and correlations of scores that were released with them.

All figures are published ones (the papers' tables, or counts of the data sets' descriptions); none needs a model.
"""

from __future__ import annotations

import math
import warnings
from pathlib import Path

import numpy as np
import pytest
from scipy.stats import kendalltau, pearsonr, spearmanr

import nlgauge
from nlgauge.data.cards import DATA_CARDS, check, load, recognise
from nlgauge.data.judgements import UNKNOWN_SYSTEM, JudgementTable
from nlgauge.errors import DataWarning
from nlgauge.stats.correlation import roc_auc

TO_ENGLISH = ("cs-en", "de-en", "fi-en", "lv-en", "ru-en", "tr-en", "zh-en")


@pytest.fixture
def here(data_folder: Path) -> Path:
    """Skips where a folder is set but does not hold these data sets."""
    if not (data_folder / "wmt17").is_dir():
        pytest.skip("NLGAUGE_DATA does not hold the public data sets")
    return data_folder


@pytest.fixture(scope="module")
def wmt15(data_folder: Path) -> JudgementTable:
    """Read once; a second's work."""
    if not (data_folder / "wmt15").is_dir():
        pytest.skip("NLGAUGE_DATA does not hold wmt15")
    return load("wmt15", data_folder)


def truncated(value: float) -> float:
    return math.floor(abs(value) * 1000) / 1000


@pytest.mark.parametrize("name", [name for name, card in DATA_CARDS.items() if card.files])
def test_data_sets_are_complete_with_known_checksums(here: Path, name: str) -> None:
    if name not in recognise(here):
        pytest.skip(f"NLGAUGE_DATA does not hold {name}")
    result = check(name, here)
    assert result.problem is None
    assert {entry.state for entry in result.files} == {"same"}
    assert {entry.langpair: entry.found for entry in result.rows} == DATA_CARDS[name].rows
    assert result.complete


# Reproducibility study, Table 3, rows "Reported": BERT-F, Mover, Mover+ on cs, de, fi, ru (printed truncated).
@pytest.mark.parametrize(
    ("column", "reported"),
    [
        ("bert_score_f1", (0.743, 0.722, 0.747, 0.740)),
        ("bert-base-uncased_idf", (0.688, 0.718, 0.700, 0.686)),
        ("mover_score", (0.710, 0.711, 0.722, 0.673)),
    ],
)
def test_released_wmt15_scores_give_the_reported_rows(
    wmt15: JudgementTable, column: str, reported: tuple[float, float, float, float]
) -> None:
    table = wmt15
    assert table.langpairs == ("cs-en", "de-en", "fi-en", "ru-en")
    for langpair, figure in zip(table.langpairs, reported, strict=True):
        part = table.where(langpair=langpair)
        assert truncated(pearsonr(part.gold(), part.released[column])[0]) == figure


def test_the_mover_plus_scores_of_wmt15_are_those_with_uniform_weights(wmt15: JudgementTable) -> None:
    table = wmt15
    uniform = table.released["bert-base-uncased_mover_score_uniforme"]
    np.testing.assert_array_equal(table.released["mover_score"], uniform)
    assert not np.array_equal(uniform, table.released["bert-base-uncased_idf"])


def test_wmt15_figures_of_the_other_coefficients(wmt15: JudgementTable) -> None:
    # De-en, BERTScore F1: computed from the released scores, without nlgauge.
    part = wmt15.where(langpair="de-en")
    scores = part.released["bert_score_f1"]
    assert pearsonr(part.gold(), scores)[0] == pytest.approx(0.722091, abs=5e-7)
    assert spearmanr(part.gold(), scores)[0] == pytest.approx(0.707049, abs=5e-7)
    assert kendalltau(part.gold(), scores)[0] == pytest.approx(0.528883, abs=5e-7)
    assert not any(text.endswith("\n") for text in part.hypothesis)
    assert part.systems == (UNKNOWN_SYSTEM,)


def test_sentbleu_on_the_wmt17_testset(here: Path) -> None:
    # Computed from the released scores, without nlgauge.
    expected = (0.4350, 0.4325, 0.5712, 0.4043, 0.4842, 0.5384, 0.5117)
    table = load("wmt17-testset", here)
    for langpair, figure in zip(TO_ENGLISH, expected, strict=True):
        part = table.where(langpair=langpair)
        assert len(part) == (435 if langpair == "lv-en" else 560)
        assert pearsonr(part.gold(), part.released["sentBLEU"])[0] == pytest.approx(figure, abs=5e-5)
    assert table.hypothesis[0] == "and the wilderness will not be there ."


def test_wmt17_official_rows(here: Path) -> None:
    table = load("wmt17", here)
    assert table.langpairs == TO_ENGLISH
    assert {pair: table.langpair.count(pair) for pair in TO_ENGLISH} == dict.fromkeys(TO_ENGLISH, 560)
    # 155 rows of the file name several systems with one output: no name is joined here.
    assert not any("+" in system for system in table.systems)
    assert "tilde-nc-nmt-smt-hybrid.5050" in table.systems
    assert table.notes == ("no system outputs for en-ru, en-zh, only scores in DA-seglevel.csv",)
    assert not any(" ." in text or "&apos;" in text for text in table.hypothesis[:560])
    assert len(table.system_scores["zh-en"]) == 16


def test_wmt17_testset_sources_equal_those_of_the_package_except_for_spreadsheet_quotes(here: Path) -> None:
    package = load("wmt17", here, langpairs="de-en", detokenise=False)
    as_it_stands = load("wmt17-testset", here, langpairs="de-en")
    testset = load("wmt17-testset", here, langpairs="de-en", unquote=True)
    # Human scores agree as multisets, and rows with one score must have one source.
    np.testing.assert_allclose(np.sort(testset.gold()), np.sort(package.gold()), atol=1e-12)
    assert package.source is not None
    assert testset.source is not None
    assert sorted(testset.source) == sorted(package.source)
    assert sum(left != right for left, right in zip(testset.source, as_it_stands.source or (), strict=True)) == 84
    assert as_it_stands.notes == ("84 sources have spreadsheet quotes (kept; unquote=True removes them)",)
    assert testset.hypothesis == as_it_stands.hypothesis
    assert sorted(testset.hypothesis) == sorted(text.strip() for text in package.hypothesis)


def test_wmt17_whole_system_files_for_idf(here: Path) -> None:
    table = load("wmt17", here, langpairs="cs-en")
    documents = table.documents("cs-en", "online-A.0")
    assert [len(documents.hypotheses), len(documents.references), len(documents.sources or ())] == [3005] * 3
    part = table.where(system="online-A.0")
    for segment, hypothesis, references in zip(part.segment, part.hypothesis, part.references, strict=True):
        assert documents.hypotheses[int(segment) - 1] == hypothesis
        assert documents.references[int(segment) - 1] == references


def test_wmt18_has_every_line_and_the_official_scores_of_149_systems(here: Path) -> None:
    table = load("wmt18", here)
    assert sum(map(len, table.system_scores.values())) == 149
    for langpair in table.langpairs:
        part = table.where(langpair=langpair)
        assert set(part.systems) == set(table.system_scores[langpair])
    # The one file with "\r\n" ends: no line keeps its "\r".
    gtcom = table.where(langpair="en-zh", system="GTCOM-Primary.5762")
    assert len(gtcom) == 3981
    assert not any("\r" in text for text in gtcom.hypothesis)
    assert table.notes == ()


# Computed from the files, without nlgauge.
@pytest.mark.parametrize(
    ("langpair", "model", "mean"),
    [
        ("en-de", 0.2084, 0.9544),
        ("en-zh", 0.2570, 0.9483),
        ("ru-en", 0.5363, 0.9839),
        ("ro-en", 0.6470, 0.9983),
        ("et-en", 0.4865, 0.9969),
        ("ne-en", 0.4826, 0.9972),
        ("si-en", 0.4006, 0.9901),
    ],
)
def test_mlqe_gold_is_z_mean_and_not_the_model_score(here: Path, langpair: str, model: float, mean: float) -> None:
    table = load("mlqe-pe", here, langpairs=langpair)
    assert table.default_criterion == "z_mean"
    assert set(table.references) == {()}
    with pytest.warns(DataWarning, match="log-likelihood of the translation model, not a human score"):
        scores = table.gold("model_scores")
    assert pearsonr(table.gold(), scores)[0] == pytest.approx(model, abs=5e-5)
    assert pearsonr(table.gold(), table.gold("mean"))[0] == pytest.approx(mean, abs=5e-5)


def test_tac_peers_and_topics(here: Path) -> None:
    # 62 summaries per topic (D5.9), 58 of systems; 168 have at most one sentence.
    table = load("tac2008", here)
    assert len(table.topics) == 48
    assert {table.topic.count(topic) for topic in table.topics} == {62}  # type: ignore[union-attr]
    assert {len(references) for references in table.references} == {4}
    assert table.human_systems == frozenset("ABCDEFGH")
    people = [system in table.human_systems for system in table.system]
    assert sum(people) == 48 * 4
    np.testing.assert_array_equal(np.isnan(table.gold("pyr_mod_score")), people)
    assert not np.isnan(table.gold("responsiveness")).any()
    without = load("tac2008", here, humans=False)
    assert len(without) == 48 * 58
    assert without.segment == table.without_humans().segment
    assert len(load("tac2008", here, min_sentences=2)) == 2976 - 168
    # A peer written by a person is one of the topic's own references.
    row = people.index(True)
    assert table.hypothesis[row] in table.references[row]


def test_data_to_text(here: Path) -> None:
    # 202 and 398 meaning representations (MoverScore, section 4.3).
    assert len(load("bagel", here).topics) == 202
    table = load("sfhotel", here)
    assert len(table.topics) == 398
    assert table.criteria == ("informativeness", "naturalness", "quality")
    assert all(low == 1 and high == 6 for low, high in ((v.min(), v.max()) for v in table.human.values()))


def test_summarisation(here: Path) -> None:
    table = load("summeval", here)
    assert (len(table.topics), len(table.systems)) == (100, 16)
    assert {len(references) for references in table.references} == {11}
    table = load("newsroom", here)
    assert (len(table.topics), len(table.systems)) == (60, 7)


def test_multi30k_counts_translations_that_are_file_names(here: Path) -> None:
    # 3,484 and 2,520 rows in all.
    with pytest.warns(DataWarning, match="en-de: 236 translations are names of image files"):
        table = load("multi30k", here)
    assert not any(text.endswith(".jpg") for text in table.hypothesis)
    with pytest.warns(DataWarning, match="kept"):
        everything = load("multi30k", here, keep_file_names=True)
    assert [everything.langpair.count(pair) for pair in ("en-de", "en-fr")] == [3484, 2520]
    assert sum(text.endswith(".jpg") for text in everything.hypothesis) == len(everything) - len(table) == 236 + 255


def test_paws_wiki_has_the_published_size_and_balance(here: Path) -> None:
    # The README of the data set: PAWS-Wiki, labelled (final), test: 8,000 pairs, 44.2 % paraphrases.
    table = load("paws-wiki", here)
    assert (len(table), round(100 * table.gold().mean(), 1)) == (8000, 44.2)
    # AUC of the first 1,600 pairs, computed before by hand from a custom table.
    part = table.take(range(1600))
    for metric, auc in {"bleu": 0.688, "chrf": 0.662}.items():
        values = nlgauge.score(part.hypothesis, [group[0] for group in part.references], metric).segments[metric]
        assert round(roc_auc(values, part.gold()), 3) == auc


def test_paws_columns_have_the_right_names(here: Path) -> None:
    # Share of paraphrases scored over lookalikes (D14), which tells the columns apart.
    shares = {
        "bertscore": 0.450,
        "laser": 0.653,
        "muse": 0.253,
        "moverscore": 0.323,
        "sbert": 0.453,
        "sbert_wk": 0.323,
        "labse": 0.367,
        "msbert": 0.473,
        "bleurt": 0.547,
    }
    table = load("paws", here)
    paraphrase = table.gold() == 1
    assert table.topic is not None
    for metric, share in shares.items():
        scores = table.released[metric]
        b = dict(zip(np.array(table.topic)[paraphrase], scores[paraphrase], strict=True))
        c = dict(zip(np.array(table.topic)[~paraphrase], scores[~paraphrase], strict=True))
        assert len(b) == len(c) == 300
        assert np.mean([b[topic] > c[topic] for topic in b]) == pytest.approx(share, abs=5e-4)


def test_sts(here: Path) -> None:
    table = load("sts", here)
    assert (table.hypothesis[0], table.references[0]) == ("A plane is taking off.", ("An air plane is taking off.",))
    assert (table.gold().min(), table.gold().max()) == (0.0, 5.0)


def test_every_data_set_of_the_folder_is_recognised(here: Path) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        names = recognise(here)
    assert {"wmt15", "wmt17", "wmt17-testset", "wmt18", "tac2008", "mlqe-pe", "bagel", "paws"} <= set(names)
    assert "wmt19" not in names


def test_one_reference_of_the_mqm_data_is_rated_worse_than_every_system(here: Path) -> None:
    """Mean penalties, added up outside of nlgauge from the lines of the file (weights 5, 1 and .1 over 529)."""
    if not (here / "mqm").is_dir():
        pytest.skip("NLGAUGE_DATA does not hold mqm")
    table = load("mqm-ted", here, references="refB", humans=True)
    mean = {system: float(-table.where(system=system).gold().mean()) for system in table.systems}
    assert len(mean) == 14
    assert round(mean.pop("ref"), 3) == 5.515
    assert (round(min(mean.values()), 3), round(max(mean.values()), 3)) == (1.651, 2.989)
    other = load("mqm-ted", here, references="ref", humans=True)
    assert round(float(-other.where(system="refB").gold().mean()), 3) == 0.415
    # 5,269 spans of translations in all, 82 of them of refB; one of them is never closed
    assert sum(len(errors) for errors in table.hypothesis_errors or ()) == 5269 - 82
