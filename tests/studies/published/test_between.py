"""Figures of metrics next to each other, on data that this test makes, without a model."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from scipy.stats import pearsonr

import nlgauge
from nlgauge.studies.meta.between import HUMAN
from nlgauge.studies.meta.questions import Question
from nlgauge.studies.published.load import PAPER_TABLES
from nlgauge.studies.published.reproduce import check_plotted, reproduce
from nlgauge.studies.published.runs import Reproduction
from nlgauge.studies.published.tables import Column, PaperTable, TableRow

#: Outputs and references, of which BLEU ranks the first best, then by how many words are shared; human scores.
TEXTS = (
    ("One two three four five six seven.", "One two three four five six seven.", -0.5),
    ("His car was still in the driveway.", "His car was still running in the driveway.", 0.1),
    ("At the moment the men predominate among the staff.", "Currently the majority of staff are men.", 0.9),
    ("You got nothing, but could keep the clothes.", "They got nothing, but were allowed to keep the clothes.", 0.2),
)


@pytest.fixture
def wmt16(tmp_path: Path) -> Path:
    items = {
        str(number): {
            "references_sentences": [f"{reference}\n"],
            "system": {"wmt16": {"generated_sentence": f"{output}\n", "scores": {"human": human}}},
        }
        for number, (output, reference, human) in enumerate(TEXTS)
    }
    (tmp_path / "16_de-en_formated.json").write_text(json.dumps(items))
    return tmp_path


def ours(result: Reproduction, row: str, column: str) -> object:
    (chosen,) = (entry for entry in result.rows if entry.name == row)
    return chosen.cells[column].ours


def test_ranks_of_the_outputs_in_print(wmt16: Path) -> None:
    result = reproduce(PAPER_TABLES["bertscore-table7"], at=str(wmt16), model="none")
    assert (ours(result, "15", "de-en human"), ours(result, "16", "de-en human")) == (3.0, 1.0)
    assert (ours(result, "15", "de-en BLEU"), ours(result, "16", "de-en BLEU")) == (2.0, 4.0)
    (row,) = (entry for entry in result.rows if entry.name == "16")
    assert [row.cells[f"de-en {name}"].published for name in ("human", "F", "BLEU")] == [77, 525, 553]
    assert row.cells["de-en F"].ours is None, "no model"
    assert any("pair 1: no output starts with 'At the same time, Kingfisher" in text for text in result.missing)


def made(experiment: str, labels: list[str]) -> PaperTable:
    columns = [Column(f"de-en {label}", Question("wmt16"), "de-en") for label in labels]
    columns.append(Column("fr-en human", Question("wmt16"), "fr-en"))
    rows = (TableRow("BLEU", recipe="bleu"), TableRow("chrF", recipe="chrf"))
    return PaperTable("small", "a figure", "", tuple(columns), rows, kind="between", experiment=experiment)


def test_matrix_scatter_and_distribution(wmt16: Path) -> None:
    matrix = reproduce(made("matrix", ["human", "BLEU", "chrF"]), at=str(wmt16))
    outputs, references, human = ([entry[part] for entry in TEXTS] for part in range(3))
    chrf = nlgauge.score(outputs, references, "chrf").chrf
    bleu = nlgauge.score(outputs, references, "bleu").bleu
    assert ours(matrix, "chrF", "de-en human") == pytest.approx(pearsonr(chrf, human).statistic)
    assert ours(matrix, "chrF", "de-en BLEU") == ours(matrix, "BLEU", "de-en chrF")
    assert "fr-en human" not in matrix.columns, "no data"
    assert any("fr-en" in text for text in matrix.missing)
    scatter = reproduce(made("scatter", ["human"]), at=str(wmt16))
    assert ours(scatter, "chrF", "de-en human") == ours(matrix, "chrF", "de-en human")
    spread = reproduce(made("distribution", ["bad", "good"]), at=str(wmt16))
    order = np.argsort(human)
    assert ours(spread, "BLEU", "de-en bad") == pytest.approx(bleu[order[0]])
    assert ours(spread, "BLEU", "de-en good") == pytest.approx(bleu[order[-1]])
    back = Reproduction.from_dict(json.loads(matrix.render("json")))
    assert back.rows == matrix.rows


def test_every_entry_of_this_kind_has_a_figure_and_parts_of_known_metrics() -> None:
    tables = [table for table in PAPER_TABLES.values() if table.kind == "between"]
    assert {table.experiment for table in tables} == {"matrix", "distribution", "scatter", "ranks"}
    for table in tables:
        check_plotted(table)
        if table.experiment == "matrix":
            names = {HUMAN, *(row.name for row in table.rows)}
            assert {column.label.partition(" ")[2] for column in table.columns} <= names
