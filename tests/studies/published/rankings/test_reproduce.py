"""Tables on rankings, recomputed on small frames: values, what is missing, and why they differ."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.studies.published.rankings.small_frames import METRICS, write_frames

from nlgauge.errors import RecipeError
from nlgauge.studies.paired_evaluation import Grid, RankingOptions
from nlgauge.studies.paired_measures import by_size, disagreements
from nlgauge.studies.published.load import PAPER_TABLES
from nlgauge.studies.published.rankings import RankingRun, compute_rankings
from nlgauge.studies.published.reproduce import Request, reproduce
from nlgauge.studies.published.runs import Reproduction


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("frames")
    write_frames(place, instances=60)
    return place


def ours(result: Reproduction, row: str) -> list[float | str | None]:
    (actual,) = [item for item in result.rows if item.name == row]
    return [cell.ours for cell in actual.cells.values()]


def test_table_4_is_the_average_over_the_frames_at_hand(folder: Path) -> None:
    result = reproduce(PAPER_TABLES["bt-table4"], at=folder)
    sets = RankingRun(Request(table=PAPER_TABLES["bt-table4"], at=str(folder))).find_frames()
    expected = disagreements(sets, ("mean", "median", "BT", "Elo", "TrueSkill"), RankingOptions())
    assert ours(result, "mean vs BT") == pytest.approx(expected["mean", "BT"] * 100)
    assert ours(result, "Elo vs TrueSkill") == pytest.approx(expected["Elo", "TrueSkill"] * 100)
    assert {row.reason for row in result.rows} == {f"{2 * len(METRICS)} of 296 setups"}
    text = result.render()
    assert "missing: data set tac08-scores: not found in" in text
    assert "missing: 231 setups have no scores in the published repository: CNN/DM, MSCOCO, WMT17 (lv-en" in text
    assert "ours: 16 of 296 setups (TC, PC)" in text


def test_options_change_the_values_and_are_named(folder: Path) -> None:
    actual = {}
    for name, options in (
        ("second", RankingOptions()),
        ("reversed", RankingOptions(reverse=True)),
        ("half", RankingOptions(ties="half")),
        ("half, reversed", RankingOptions(ties="half", reverse=True)),
    ):
        result = reproduce(PAPER_TABLES["bt-table1"], at=folder, rankings=options)
        actual[name] = ours(result, "mean vs BT")[0]
        assert any("non-default options" in note for note in result.notes) == (name != "second")
        assert result.to_dict()["options"]["ties"] == options.ties
    assert actual["second"] != actual["reversed"], "the later column is another one"
    assert actual["half"] == pytest.approx(actual["half, reversed"]), "half a win has no order"
    assert actual["half"] != actual["second"]


def test_data_limits_the_frames(folder: Path) -> None:
    result = reproduce(PAPER_TABLES["bt-table1"], at=folder, data="personachat-scores")
    assert result.rows[0].reason == "8 of 296 setups"
    assert not any("tac08" in what for what in result.missing)


def test_table_3_with_draws_and_with_all_rows(folder: Path) -> None:
    drawn = reproduce(PAPER_TABLES["bt-table3"], at=folder)
    reasons = {row.name: row.reason for row in drawn.rows}
    assert reasons["TC BLEU"].endswith("of 9 within two standard errors")
    assert reasons["WMT17 BLEU"].startswith("its frames are not public: ours are scores of the outputs")
    assert reasons["TAC08 ROUGE-WE"] == "the paper has Mean/BT and Med/BT exchanged (D7)"
    assert ours(drawn, "TAC08 BLEU") == [None] * 9
    full = reproduce(PAPER_TABLES["bt-table3"], at=folder, rankings=RankingOptions(full=True), rows="TC BLEU")
    assert [row.reason for row in full.rows] == ["all rows"]
    assert ours(full, "TC BLEU")[0] != ours(drawn, "TC BLEU")[0]


def test_figures_4_and_6_and_ties(folder: Path, tmp_path: Path) -> None:
    four = reproduce(PAPER_TABLES["bt-figure4"], at=folder, rankings=RankingOptions(full=True))
    assert ours(four, "metric METEOR") == [None] * 3
    assert ours(four, "task Summarisation") == [None] * 3
    assert all(isinstance(value, float) for value in ours(four, "task Dialogue"))
    four.save_figure(tmp_path / "four.png")
    assert (tmp_path / "four.png").read_bytes().startswith(b"\x89PNG")
    six = reproduce(PAPER_TABLES["bt-figure6"], at=folder, rankings=RankingOptions(full=True))
    assert "ours: 128 pairs of systems, on TC, PC" in six.notes
    ties = reproduce(PAPER_TABLES["bt-ties"], at=folder)
    comparisons, exact, *_ = ours(ties, "PC")
    assert comparisons == 8 * 60 * 6
    assert isinstance(exact, int)
    assert exact > 0
    assert ours(ties, "TAC08")[0] is None


def test_figure_4c_uses_only_frames_with_enough_rows(folder: Path, tmp_path: Path) -> None:
    result = reproduce(PAPER_TABLES["bt-figure4c"], at=folder, rankings=RankingOptions(draws=3))
    reasons = {row.name: row.reason for row in result.rows}
    assert reasons["size 50"] == "on TC, PC"
    assert ours(result, "size 50") == ours(result, "dialogue 50")
    assert ours(result, "size 10") != ours(result, "size 50")
    assert (reasons["size 100"], ours(result, "size 100")) == ("no frame with 100 rows", [None] * 3)
    result.save_figure(tmp_path / "sizes.png")
    # A sample of all rows is the frame itself.
    sets = RankingRun(Request(table=PAPER_TABLES["bt-table1"], at=str(folder))).find_frames()
    (whole, full) = by_size(sets, 60, RankingOptions(draws=1)), disagreements(sets, ("mean", "BT"), RankingOptions())
    assert whole["mean", "BT"] == pytest.approx(full["mean", "BT"])
    with pytest.raises(RecipeError, match="full=True has no effect on bt-figure4c"):
        reproduce(PAPER_TABLES["bt-figure4c"], at=folder, rankings=RankingOptions(full=True))


def test_experiments_on_drawn_scores_need_no_data(tmp_path: Path) -> None:
    two = reproduce(PAPER_TABLES["bt-figure2"])
    first, other = ours(two, "three types, S as 1 2 3"), ours(two, "three types, S as 2 3 1")
    assert first[:4] == pytest.approx(other[:4]), "mean and median cannot tell them apart"
    assert first[4] > 0.5 > other[4]  # type: ignore[operator]
    two.save_figure(tmp_path / "two.svg")
    grid = Grid(types=(1, 3), outliers=(0.0, 0.01), systems=(2, 5), instances=(10, 30), repeats=3)
    three = compute_rankings(Request(table=PAPER_TABLES["bt-figure3"]), grid=grid)
    assert "ours: 48 setups, design coded, seed 12345" in three.notes
    assert all(isinstance(value, float) for value in ours(three, "(c) outliers 0.01"))
    assert ours(three, "(h) systems 50") == [None] * 6
    three.save_figure(tmp_path / "three.svg")
    assert (tmp_path / "two.svg").stat().st_size > 10_000
    assert (tmp_path / "three.svg").stat().st_size > 10_000


def test_options_of_other_tables_are_errors(folder: Path) -> None:
    with pytest.raises(RecipeError, match="bt-table1 is a table on rankings of systems; leave out --model"):
        reproduce(PAPER_TABLES["bt-table1"], at=folder, model="minilm")
    with pytest.raises(RecipeError, match="is not a table on rankings; leave out the options of rankings"):
        reproduce(PAPER_TABLES["repro-table3"], at=folder, rankings=RankingOptions(full=True))
    with pytest.raises(RecipeError, match="bt-table1 has no figure"):
        reproduce(PAPER_TABLES["bt-table1"], at=folder).save_figure(folder / "no.png")


def test_the_shared_task_table_lists_missing_inputs() -> None:
    result = reproduce(PAPER_TABLES["bt-table11.1"])
    assert [cell.published for cell in result.rows[2].cells.values()] == [38, 20, 23, 14]
    assert "submitted to the shared task are not public" in result.rows[2].reason
    assert any(what.startswith("data set eval4nlp: no data folder set") for what in result.missing)


@pytest.mark.filterwarnings("ignore::nlgauge.errors.LanguageWarning")  # minilm is faster than a multilingual model
def test_explanation_methods_are_ranked_as_systems(data_folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("nlgauge.studies.published.explanations.TEXTS", 5)
    monkeypatch.setattr("nlgauge.studies.published.explanations.NEIGHBOURS", 8)
    rows = ("bertscore match", "bertscore lime", "sbert shapley")
    result = reproduce(PAPER_TABLES["bt-figure11.1"], at=data_folder, model="minilm", rows=rows)
    assert not result.missing
    assert [row.name for row in result.rows] == list(rows)
    strengths = [row.cells["target recall@K BT"].ours for row in result.rows]
    assert all(0 <= strength <= 1 for strength in strengths)
    assert any("11 systems" in note for note in result.notes)
    with pytest.raises(RecipeError, match="is a table on explanation methods; leave out the options of rankings"):
        reproduce(PAPER_TABLES["bt-figure11.1"], rankings=RankingOptions(full=True))
    none = reproduce(PAPER_TABLES["bt-table11.1"], at=data_folder, model="none")
    assert any("such as muse" in what for what in none.missing)
