"""Criteria and tasks over epochs: maps of a folder, correlations against numpy, and the maps that a fit writes."""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from nlgauge.encoders.load import load_encoder
from nlgauge.errors import FileFormatError, InputError
from nlgauge.studies.alignment.epoch_tasks import (
    EpochFolder,
    EpochRow,
    EpochTasks,
    evaluate_epochs,
    interval_shares,
)
from nlgauge.studies.alignment.evaluation import (
    Compared,
    EvaluatedMap,
    HeldOut,
    Rated,
    evaluate_alignment,
    evaluate_map,
)
from nlgauge.studies.alignment.training_loop import FitRun, FlowOptions, Observation
from nlgauge.studies.alignment.word_spaces import AlignmentInputs
from nlgauge.vectors.remap import Operation, Origin, Remapping

WIDTH = 6
CHANCE = np.random.default_rng(0)
TURN = np.linalg.qr(CHANCE.normal(size=(WIDTH, WIDTH)))[0]


def held_out() -> HeldOut:
    """Words of ten texts, and the same words turned."""
    source = tuple(CHANCE.normal(size=(5, WIDTH)).astype(np.float32) for _ in range(10))
    target = tuple((rows @ TURN).astype(np.float32) for rows in source)
    return HeldOut(source, target, tuple(tuple((n, n) for n in range(5)) for _ in source), gold=True, left_out=0)


def blend(share: float) -> Remapping:
    """A map that is the right rotation to this share, and otherwise leaves vectors as they are."""
    matrix: NDArray[np.float64] = share * TURN + (1 - share) * np.eye(WIDTH)
    return Remapping((Operation("linear", matrix),), Origin(method="blend"))


def pearson(left: Sequence[float], right: Sequence[float]) -> float:
    return float(np.asarray(np.corrcoef(left, right))[0, 1])


def test_each_epoch_has_the_tasks_of_its_map() -> None:
    words, shares = held_out(), (0.0, 0.2, 0.4, 0.8, 1.0)
    criteria = {epoch: {"semantic": share, "structural": -share} for epoch, share in enumerate(shares)}
    rows = [EvaluatedMap(str(share), 0, None, evaluate_map(words, blend(share)), math.nan) for share in shares]
    result = EpochTasks.of("blend", criteria, rows)
    assert (result.method, [row.epoch for row in result.epochs]) == ("blend", [0, 1, 2, 3, 4])
    quality = rows[2].quality
    expected = {
        "induction": quality.induction_csls,
        "retrieval": quality.retrieval,
        "alignment": quality.alignment_f1,
    }
    assert result.epochs[2].tasks == expected  # no human scores, no correlation with them
    assert set(result.epochs[4].tasks.values()) == {1.0}
    # Over epochs 1 to 4; epoch 0 is the start.
    found = {(pair.left, pair.right): pair.pearson for pair in (*result.task_pairs, *result.criteria_with_tasks)}
    series = [[row.tasks[task] for row in result.epochs[1:]] for task in ("induction", "alignment")]
    assert found["induction", "alignment"] == pytest.approx(pearson(*series))
    assert found["semantic", "induction"] == pytest.approx(pearson(shares[1:], series[0]))
    assert found["structural", "induction"] == pytest.approx(-found["semantic", "induction"])
    assert EpochTasks.from_dict(result.to_dict()) == result


def test_maps_of_a_folder_are_those_of_an_evaluation(tmp_path: Path) -> None:
    encoder = load_encoder("minilm")
    turn = np.linalg.qr(np.random.default_rng(0).normal(size=(384, 384)))[0]
    folder = EpochFolder(tmp_path / "maps")
    for epoch, share in enumerate((0.0, 0.5, 1.0)):
        blended = Remapping((Operation("linear", (1 - share) * np.eye(384) + share * turn),), Origin(method="blend"))
        folder(Observation(epoch, blended, {"semantic": share, "structural": 0.0}))
    links = [((1, 1), (5, 6)), ((1, 1),), ((0, 0),)]
    left = ["The cat sat on the mat.", "A dog barked.", "It rained."]
    right = ["A cat was sitting on a mat.", "The dog was barking.", "There was rain."]
    inputs = AlignmentInputs(encoder, left, right, layer=2, alignments=links)
    rated = Rated(left, right, [1.0, 2.0, 0.0])
    result = evaluate_epochs(tmp_path / "maps", inputs, rated=rated)
    assert result.method == "blend"
    rows, _ = evaluate_alignment(
        inputs, Compared(maps=[("last", tmp_path / "maps" / "epoch-002.npz")]), folder=tmp_path, rated=rated
    )
    assert list(result.epochs[2].tasks.values()) == list(rows[1].values().values())[1:]
    assert result.epochs[0].tasks != result.epochs[2].tasks
    # Epoch 0 of another fit starts the folder again.
    folder(Observation(0, blended, {"semantic": 0.0, "structural": 0.0}))
    assert [path.name for path in (tmp_path / "maps").glob("*.npz")] == ["epoch-000.npz"]
    assert list(folder.criteria()) == [0]


def test_intervals_of_table_1_and_constant_series() -> None:
    """Chapter 10, Table 1: [-1, 0], (0, .4] and (.4, 1]; a constant series has no correlation."""
    assert interval_shares([-1.0, 0.0, 0.4, 0.5, math.nan]) == (0.5, 0.25, 0.25)
    rows = tuple(EpochRow(n, {"semantic": n / 10}, {"a": n / 5, "b": -n / 5, "c": 0.3}) for n in range(5))
    result = EpochTasks("flow", rows)
    assert [round(pair.pearson, 6) for pair in result.task_pairs[:1]] == [-1]
    assert all(math.isnan(pair.pearson) for pair in result.task_pairs[1:])
    assert result.interval_shares == (1, 0, 0)
    assert [pair.pearson for pair in result.criteria_with_tasks][:2] == pytest.approx([1, -1])
    assert "(0.4, 1]" in result.render("text")
    assert all(math.isnan(pair.pearson) for pair in EpochTasks("flow", rows[:3]).task_pairs)  # two epochs


def test_figure_has_curves_and_correlations() -> None:
    pytest.importorskip("matplotlib")
    rows = tuple(EpochRow(n, {"semantic": n / 10}, {"a": n / 5, "b": -n / 5}) for n in range(5))
    curves, bars = EpochTasks("flow", rows).figure().axes
    assert len(curves.lines) == 3
    assert all(tick == int(tick) for tick in curves.get_xticks())
    labels = [text.get_text() for text in bars.get_yticklabels()]
    assert labels == ["a with b", "semantic with a", "semantic with b"]
    assert [round(bar.get_width(), 6) for bar in bars.patches] == [-1, 1, -1]


def test_folder_without_criteria_is_refused(tmp_path: Path) -> None:
    inputs = AlignmentInputs(load_encoder("minilm"), ["a"], ["b"], layer=2)
    with pytest.raises(FileFormatError, match="write it with 'align fit --epoch-maps'"):
        evaluate_epochs(tmp_path, inputs)
    (tmp_path / "criteria.json").write_text("[1]")
    with pytest.raises(FileFormatError, match="has no criteria of a fit"):
        evaluate_epochs(tmp_path, inputs)
    (tmp_path / "criteria.json").write_text("{}")
    with pytest.raises(InputError, match="contains no epoch"):
        evaluate_epochs(tmp_path, inputs)


@pytest.mark.torch
@pytest.mark.parametrize("method", ["flow", "fcnn", "adversarial"])
def test_fit_shows_the_map_of_each_epoch(method: str) -> None:
    """Without a criterion the last of them is the result."""
    pytest.importorskip("torch", reason="the extra 'torch' is not installed")
    from nlgauge.studies.alignment.adversarial_fit import fit_adversarial
    from nlgauge.studies.alignment.flow_fit import fit_fcnn, fit_flow

    fits: dict[str, Any] = {"flow": fit_flow, "fcnn": fit_fcnn, "adversarial": fit_adversarial}
    source = CHANCE.normal(size=(200, WIDTH))
    seen: list[Observation] = []
    options = FlowOptions(epochs=2, batch=64, validation="none", learning_rate=1e-2)
    fitted = fits[method](source, source @ TURN, options=options, run=FitRun(observe=seen.append))
    assert [observation.epoch for observation in seen] == [0, 1, 2]
    maps: list[Any] = [observation.map for observation in seen]
    moved = [map_.apply(source, side="source") for map_ in maps]
    np.testing.assert_array_equal(moved[2], fitted.map.apply(source, side="source"))
    assert not np.allclose(moved[0], moved[1])
    assert seen[1].map.origin.note == "epoch 1"
    assert set(seen[0].criteria) == {"semantic", "structural"}
    json.dumps(seen[0].criteria)
