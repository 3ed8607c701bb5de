"""Parts of the rows are drawn as published, and all rows give what the whole frames give."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from tests.studies.published.rankings.small_frames import METRICS, write_frames

from nlgauge.studies.paired_evaluation import FrameSet, RankingOptions
from nlgauge.studies.paired_measures import PAIRS, by_data, by_metric, by_task, disagreements, draw_rows
from nlgauge.studies.published.load import PAPER_TABLES
from nlgauge.studies.published.rankings import RankingRun
from nlgauge.studies.published.reproduce import Request


@pytest.fixture
def sets(tmp_path: Path) -> list[FrameSet]:
    write_frames(tmp_path)
    return RankingRun(Request(table=PAPER_TABLES["bt-table1"], at=str(tmp_path))).find_frames()


@pytest.mark.parametrize(("n", "least", "size"), [(48, 1, 10), (44, 1, 9), (60, 1, 12), (44, 30, 30), (20, 30, 20)])
def test_a_fifth_of_the_rows_without_replacement(n: int, least: int, size: int) -> None:
    drawn = draw_rows(np.random.default_rng(1), n, repeats=7, least=least)
    assert drawn.shape == (7, size)
    assert all(len(set(rows)) == size and set(rows) <= set(range(n)) for rows in drawn.tolist())


def test_all_rows_give_what_the_frames_give(sets: list[FrameSet]) -> None:
    options = RankingOptions(full=True)
    for data_set in sets:
        whole = disagreements(
            [FrameSet(data_set.label, data_set.task, {"BLEU": data_set.frames["BLEU"]})],
            ("mean", "median", "BT"),
            options,
        )
        part = by_data(data_set, ("BLEU",), options)
        assert part["mean", "BT"].values == pytest.approx(whole["mean", "BT"])
        assert part["mean", "median"].values == pytest.approx(whole["mean", "median"])
        assert part["mean", "BT"].errors.tolist() == [0, 0, 0]


def test_a_family_is_the_mean_of_its_metrics(sets: list[FrameSet]) -> None:
    options = RankingOptions(full=True)
    (rouge,) = (row.key[1:] for row in PAPER_TABLES["bt-table3"].rows if row.name == "TAC08 ROUGE")
    assert rouge == ("ROUGE_1", "ROUGE_2", "ROUGE_L")
    single = [by_data(sets[0], (name,), options) for name in rouge]
    family = by_data(sets[0], rouge, options)
    for pair in PAIRS:
        assert family[pair].values == pytest.approx(np.mean([item[pair].values for item in single], axis=0))


def test_draws_depend_on_the_seed_alone(sets: list[FrameSet]) -> None:
    first, again, other = (by_data(sets[0], ("ROUGE_1",), RankingOptions(seed=seed)) for seed in (1, 1, 2))
    assert first["mean", "BT"].values.tolist() == again["mean", "BT"].values.tolist()
    assert first["mean", "BT"].values.tolist() != other["mean", "BT"].values.tolist()
    assert first["mean", "BT"].errors[0] > 0


def test_shares_of_thirty_draws_are_thirtieths(sets: list[FrameSet]) -> None:
    result = by_data(sets[0], ("MoverScore",), RankingOptions())
    for pair in PAIRS:
        assert result[pair].values[1:] * 30 == pytest.approx(np.round(result[pair].values[1:] * 30))


def test_metrics_and_tasks_average_over_data_sets(sets: list[FrameSet]) -> None:
    options = RankingOptions(full=True)
    single = [by_data(data_set, ("BERTScore",), options)["mean", "BT"].values for data_set in sets]
    assert by_metric(sets, "BERTScore", options)["mean", "BT"] == pytest.approx(np.mean(single, axis=0))
    assert by_metric(sets, "METEOR", options) == {}
    whole = [by_data(data_set, METRICS, options)["median", "BT"].values for data_set in sets]
    assert by_task(sets, options)["median", "BT"] == pytest.approx(np.mean(whole, axis=0))
    drawn = by_task(sets, RankingOptions(draws=4))
    assert 0 < drawn["mean", "BT"][0] < 1
