"""Scores of the rows of a judgement table: which texts idf is counted on."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from nlgauge.data.cards import load
from nlgauge.data.judgements import JudgementTable
from nlgauge.errors import InputError, LanguageWarning, RecipeError
from nlgauge.studies.meta.row_scores import ScoredJudgements, given_rows
from nlgauge.studies.meta.score_judgements import (
    LayerAgreement,
    LayerTuning,
    pooled_corpora,
    score_judgements,
    table_corpora,
    tune_layer,
)


def people_and_systems() -> JudgementTable:
    """Two systems on two topics, and a person on one of them: no grid."""
    return JudgementTable(
        name="small",
        segment=("1", "2", "1", "2", "1"),
        system=("a", "a", "b", "b", "P"),
        langpair=("en",) * 5,
        hypothesis=("h1", "h2", "h3", "h4", "h5"),
        references=(("r", "s"), ("r", "t"), ("r", "s"), ("r", "t"), ("r", "s")),
        human={},
        default_criterion=None,
    )


def test_a_reference_is_one_document_of_idf_however_many_systems_it_is_for() -> None:
    ((corpus, rows),) = table_corpora(people_and_systems(), "en")
    assert corpus.idf_documents[None] == ["r", "s", "r", "t"]
    assert list(corpus.idf_documents["en"]) == ["h1", "h2", "h3", "h4", "h5"]
    assert len(corpus) == 5
    assert rows["en"].tolist() == [0, 1, 2, 3, 4]


def test_references_of_distinct_segments_stay_as_they_are() -> None:
    table = people_and_systems().where(system="a")
    ((corpus, _),) = pooled_corpora(table, "en")
    assert not corpus.idf_documents


def test_tac_has_as_many_documents_as_references_with_people_among_the_peers(data_folder: Path) -> None:
    if not (data_folder / "tac2008").is_dir():
        pytest.skip("no TAC 2008 here")
    ((corpus, _),) = table_corpora(load("tac2008", data_folder), "en")
    assert len(corpus) == 2976
    assert len(corpus.idf_documents[None]) == 48 * 4  # not 2976 * 4


def test_scores_are_available_by_metric_row_and_system() -> None:
    table = people_and_systems()
    scored = ScoredJudgements(table, (given_rows(table, "d", [1.0, 2.0, 3.0, 4.0, 5.0], higher_is_better=False),))
    assert scored["d"].oriented.tolist() == [-1, -2, -3, -4, -5]
    assert scored.oriented["d"].tolist() == [-1, -2, -3, -4, -5]
    assert repr(scored) == "<ScoredJudgements small: 5 rows x d>"
    assert repr(table) == "<JudgementTable small: 5 rows, 3 systems, en; no human scores of segments>"
    with pytest.raises(RecipeError, match="no scores of 'e'; it has those of d"):
        scored["e"]
    with pytest.raises(InputError, match="each of the 5 rows of small"):
        given_rows(table, "d", [1.0])
    with pytest.raises(InputError, match="each of the 5 rows of small"):
        ScoredJudgements(table, (given_rows(table.take([0]), "d", [1.0]),))
    with pytest.raises(InputError, match="two metrics are called 'd'"):
        ScoredJudgements(table, (*scored.metrics, *scored.metrics))


def test_only_languages_of_texts_that_are_compared_are_warned_about(recwarn: pytest.WarningsRecorder) -> None:
    table = replace(people_and_systems(), langpair=("cs-en",) * 5, source=("s",) * 5)
    score_judgements(table, ["bertscore"], model="muse")
    assert not [item for item in recwarn if item.category is LanguageWarning]
    with pytest.warns(LanguageWarning, match="'cs'"):
        score_judgements(table, ["bertscore:against=source"], model="muse")


def test_a_table_without_references_is_named() -> None:
    table = replace(people_and_systems(), references=((),) * len(people_and_systems()))
    with pytest.raises(InputError, match=r"bertscore needs references, and \S+ has none; .*source"):
        score_judgements(table, ["bertscore"])
    with pytest.raises(InputError, match=r"chrf needs references, and \S+ has none$"):
        score_judgements(table, ["chrf"])


def test_layer_tuning_needs_references() -> None:
    table = replace(people_and_systems(), references=((),) * 5, human={"h": range(5)}, default_criterion="h")
    with pytest.raises(InputError, match="layer tuning needs references, and small has none"):
        tune_layer(table)


def test_figure_of_layers_has_every_value(tmp_path: Path) -> None:
    pytest.importorskip("matplotlib", reason="needs the extra plot: pip install 'nlgauge[plot]'")
    layers = tuple(
        LayerAgreement(layer, average, {"cs-en": average - 0.1, "de-en": average + 0.1})
        for layer, average in enumerate([0.5, 0.7, 0.6])
    )
    tuning = LayerTuning("tiny", "made", "pearson", 1, layers)
    (axes,) = tuning.figure().axes
    drawn = {line.get_label(): line for line in axes.lines}
    assert len(drawn) == 4, "two language pairs, the average, and the best layer"
    lines = [list(map(float, line.get_ydata())) for line in axes.lines[:3]]
    assert lines[2] == [0.5, 0.7, 0.6]
    assert list(axes.lines[3].get_xdata()) == [1, 1]
    tuning.save_figure(tmp_path / "layers.svg")
    assert (tmp_path / "layers.svg").stat().st_size > 1000
