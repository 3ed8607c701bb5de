"""Figures of the DiscoScore paper: statistics worked out by hand on made summaries, and on public data."""

from __future__ import annotations

import json
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.stats import pearsonr
from tests.annotated_texts import text_of, write_conllu

from nlgauge.errors import InputError, RecipeError
from nlgauge.studies.discourse import discourse
from nlgauge.studies.published import released
from nlgauge.studies.published.load import PAPER_TABLES
from nlgauge.studies.published.reproduce import reproduce
from nlgauge.studies.published.runs import Reproduction

#: FREQ 2.5, 2, 0 and 3; CONN-u of the last is 1/4.
A = "cat:N dog:N . | cat:N cat:N bird:N . | dog:N ."
B = "cat:N . | cat:N ."
C = "sun:N . | sea:N ."
D = "sun:N sun:N . | sun:N ."
SYSTEMS = ["M8", "M9", "M10", "M11", "M12", "M13", "M14", "M15", "M17", "M20", "M22", "M23"]
#: The first three systems have the texts A, B and C, the others D; all have the references B and C.
TEXTS = dict(zip(SYSTEMS, [A, B, C, *[D] * 9], strict=True))


def rating(criterion: str, system: str) -> float:
    number = SYSTEMS.index(system)
    return {"coherence": number, "fluency": -number, "relevance": number**2, "consistency": number % 2}[criterion]


@pytest.fixture
def summeval(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A file like SummEval's, with the annotation of its texts."""
    rows = []
    for system, short in TEXTS.items():
        human = {name: rating(name, system) for name in ("coherence", "fluency", "relevance", "consistency")}
        rows.append(
            {
                "doc": "one",
                "system": system,
                "source": "",
                "references": [text_of(B), text_of(C)],
                "hypothesis": text_of(short),
                "human": human,
            }
        )
    (tmp_path / "summeval.jsonl").write_text("".join(f"{json.dumps(row)}\n" for row in rows), encoding="utf-8")
    annotator = write_conllu(tmp_path / "parses.conllu", A, B, C, D)
    monkeypatch.setattr(released, "discourse", partial(discourse, annotator=annotator, sentences="annotator"))
    return tmp_path


def ours(result: Reproduction, row: str, column: str) -> Any:
    (cells,) = (item.cells for item in result.rows if item.name == row)
    return cells[column].ours


def test_ranges_and_shares_of_the_scatter(summeval: Path) -> None:
    result = reproduce(PAPER_TABLES["disco-figure2"], at=summeval)
    both = {row.name: [row.cells[label].ours for label in ("SummEval mean", "SummEval each")] for row in result.rows}
    # The references have 2 and 0, and 1 on average; hypotheses 2.5, 2, 0 and nine times 3.
    assert both["FREQ(hyp), lowest"] == [0, 0]
    assert both["FREQ(hyp), highest"] == [3, 3]
    assert both["FREQ(ref), lowest"] == [1, 0]
    assert both["FREQ(ref), highest"] == [1, 2]
    # Against the mean, C alone is above; against each, B equals B and C equals C, and C is above B.
    assert both["below the line, %"] == pytest.approx([100 * 11 / 12, 100 * 21 / 24])
    assert both["on the line, %"] == pytest.approx([0, 100 * 2 / 24])
    assert both["above the line, %"] == pytest.approx([100 / 12, 100 / 24])
    assert [row.reason for row in result.rows][1] == "published: range of the axis"
    below, each = (axes.get_title(loc="left") for axes in result.figure().axes)
    assert (below, each) == ("freq: 92 % below, 0 % on, 8 % above", "freq: 88 % below, 8 % on, 4 % above")


def test_quantiles_of_the_distribution(summeval: Path) -> None:
    result = reproduce(PAPER_TABLES["disco-figure6"], at=summeval)
    values = [2.5, 2, 0, *[3] * 9]
    quantiles = [
        ours(result, "Frequency (NN)", f"hyp {name}") for name in ("lowest", "q1", "median", "q3", "highest")
    ]
    assert quantiles == pytest.approx(np.quantile(values, [0, 0.25, 0.5, 0.75, 1]))
    assert ours(result, "Frequency (NN)", "hyp mean") == pytest.approx(np.mean(values))
    assert ours(result, "Frequency (NN)", "ref mean") == 1
    (entity,) = (row for row in result.rows if row.name == "Frequency (Entity)")
    assert entity.reason == "needs word vectors (--vectors FILE)"
    assert [axes.get_title(loc="left") for axes in result.figure().axes] == ["freq", "conn-u", "conn-w"]


def test_aspects_correlate_over_systems(summeval: Path) -> None:
    result = reproduce(PAPER_TABLES["disco-figure3"], at=summeval)
    for criterion in ("fluency", "relevance", "consistency"):
        x, y = ([rating(name, system) for system in SYSTEMS] for name in ("coherence", criterion))
        assert ours(result, criterion, "SummEval") == pytest.approx(pearsonr(x, y)[0])
    assert ours(result, "informativeness", "NeR18") is None
    assert any(text.startswith("data set newsroom: not found") for text in result.missing)
    assert len(result.figure().axes[0].patches) == 3


def test_discriminativeness_next_to_published_results(summeval: Path) -> None:
    result = reproduce(PAPER_TABLES["disco-figure4"], at=summeval, model="none")
    assert ours(result, "DS-Focus (NN)", "D each") == pytest.approx(100 * 21 / 24)
    assert ours(result, "DS-Focus (NN)", "D mean") == pytest.approx(100 * 11 / 12)
    assert ours(result, "DS-Focus (Entity)", "D each") is None
    assert ours(result, "DS-Focus (NN)", "average") is None
    rows = ("DS-Focus (NN)", "DS-Sent-U (NN)", "DS-Sent-W (NN)")
    d = [ours(result, row, "D each") for row in rows]
    expected = pearsonr(d, [75.00, 56.82, 58.33])[0]
    notes = [note for note in result.notes if note.startswith("Pearson")]
    # With means all three features have the same D, so there is no correlation.
    assert notes == [f"Pearson of 'D each' and the average, published results: {expected:.2f} (3 metrics)"]
    assert len(result.figure().axes) == 2


@pytest.mark.heavy
def test_results_of_metrics_are_those_of_table_1(summeval: Path) -> None:
    rows = ["DS-Focus (NN)"]
    figure = reproduce(PAPER_TABLES["disco-figure4"], at=summeval, rows=rows, model="minilm")
    table = reproduce(PAPER_TABLES["disco-table1"], at=summeval, rows=rows, model="minilm")
    for label in table.columns:
        assert figure.rows[0].cells[label] == table.rows[0].cells[label]
    assert figure.rows[0].cells["D each"].ours is not None


def test_missing_data_and_other_options() -> None:
    result = reproduce(PAPER_TABLES["disco-figure2"])
    assert result.missing[0].startswith("data set summeval: no data folder set (--at PATH)")
    assert result.rows[1].cells["SummEval mean"].published == 6
    with pytest.raises(InputError, match="nothing to draw"):
        result.figure()
    with pytest.raises(RecipeError, match="disco-figure3 is a figure on discourse; leave out --levels"):
        reproduce(PAPER_TABLES["disco-figure3"], levels="system")
    again = Reproduction.from_dict(json.loads(result.render("json")))
    assert again.columns == result.columns


def test_coherence_and_other_aspects_of_public_data(data_folder: Path) -> None:
    result = reproduce(PAPER_TABLES["disco-figure3"], at=data_folder)
    for column, file, names in (
        ("SummEval", "summeval.jsonl", ("fluency", "relevance", "consistency")),
        ("NeR18", "newsroom.jsonl", ("fluency", "relevance", "informativeness")),
    ):
        rows = [json.loads(line) for line in (data_folder / "summ" / file).read_text(encoding="utf-8").splitlines()]
        ratings: dict[str, list[dict[str, float]]] = {}
        for row in rows:
            if column == "NeR18" or row["system"] in SYSTEMS:
                ratings.setdefault(row["system"], []).append(row["human"])
        for name in names:
            x, y = ([np.mean([one[key] for one in own]) for own in ratings.values()] for key in ("coherence", name))
            assert ours(result, name, column) == pytest.approx(pearsonr(x, y)[0])
    # "Coherence (mostly) strongly correlates with the other rating aspects."
    assert min(ours(result, name, "NeR18") for name in ("fluency", "relevance", "informativeness")) > 0.9
    assert ours(result, "consistency", "SummEval") < 0.5
