"""Figures of discourse features: what is drawn, from pairs worked out by hand."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from tests.annotated_texts import text_of, write_conllu

import nlgauge
from nlgauge.errors import RecipeError
from nlgauge.studies.discourse import Discourse
from nlgauge.studies.discourse_figures import all_values, draw_discourse, feature_pairs

#: FREQ 2.5, 2 and 0.
A = "cat:N dog:N . | cat:N cat:N bird:N . | dog:N ."
B = "cat:N . | cat:N ."
C = "sun:N . | sea:N ."


@pytest.fixture
def result(tmp_path: Path) -> Discourse:
    """Two systems, two documents, the first of which has two references."""
    annotator = write_conllu(tmp_path / "parses.conllu", A, B, C)
    systems = {"x": [text_of(A), text_of(C)], "y": [text_of(B), text_of(B)]}
    refs = [[text_of(B), text_of(C)], [text_of(A)]]
    return nlgauge.discourse(systems, refs, annotator=annotator, sentences="annotator")


def test_pairs_with_each_reference_and_with_their_mean(result: Discourse) -> None:
    each = feature_pairs(result, "freq")
    assert list(zip(each.hypotheses, each.references, strict=True)) == [
        *((2.5, 2), (2.5, 0), (0, 2.5)),  # x
        *((2, 2), (2, 0), (2, 2.5)),  # y
    ]
    assert each.separation[:3] == pytest.approx((3 / 6, 1 / 6, 2 / 6))
    means = feature_pairs(result, "freq", means=True)
    assert list(zip(means.hypotheses, means.references, strict=True)) == [(2.5, 1), (0, 2.5), (2, 1), (2, 2.5)]
    assert means.separation[:3] == (0.5, 0, 0.5)
    sides = {side: sorted(values.tolist()) for side, values in all_values(result, "freq").items()}
    assert sides == {"hypotheses": [0, 2, 2, 2.5], "references": [0, 2, 2.5]}


def test_scatter_has_a_mark_per_place_with_the_area_of_its_pairs(result: Discourse) -> None:
    figure = draw_discourse(result, "scatter", features=["freq"])
    (axes,) = figure.axes
    assert axes.get_title(loc="left") == "freq: 50 % below, 17 % on, 33 % above"
    below, on, above = axes.collections
    # Places are within half a step (2.5 / 60) of the values.
    assert np.asarray(below.get_offsets()) == pytest.approx(np.array([(2, 0), (2.5, 0), (2.5, 2)]), abs=0.021)
    assert np.asarray(on.get_offsets()) == pytest.approx(np.array([(2, 2)]), abs=0.021)
    assert np.asarray(above.get_offsets()) == pytest.approx(np.array([(0, 2.5), (2, 2.5)]), abs=0.021)
    assert axes.get_xlim() == axes.get_ylim()
    assert axes.get_ylabel() == "reference"
    means = draw_discourse(result, "scatter-means", features=["freq"]).axes[0]
    assert means.get_ylabel() == "mean of the references"
    assert means.get_title(loc="left").startswith("freq: 50 % below, 0 % on")


def test_distribution_has_shares_of_both_sides(result: Discourse) -> None:
    (axes,) = draw_discourse(result, "distribution", features=["freq"]).axes
    outlines = [patch for patch in axes.patches if not patch.get_fill()]
    hypotheses, references = (patch.get_data().values for patch in outlines)
    assert sorted(share for share in hypotheses if share) == [25, 25, 50]
    assert sorted(share for share in references if share) == pytest.approx([100 / 3] * 3)


@pytest.mark.parametrize("kind", ["shares", "scatter", "scatter-means", "distribution"])
def test_a_panel_for_each_feature_but_plain_counts(result: Discourse, kind: str) -> None:
    axes = [axes for axes in result.figure(kind=kind).axes if axes.get_visible()]  # type: ignore[arg-type]
    assert [axes.get_title(loc="left").partition(":")[0] for axes in axes] == ["freq", "conn-u", "conn-w", "lc", "rc"]


def test_only_a_distribution_can_do_without_references(tmp_path: Path) -> None:
    annotator = write_conllu(tmp_path / "parses.conllu", A, B)
    alone = nlgauge.discourse([text_of(A), text_of(B)], annotator=annotator, sentences="annotator")
    assert len(alone.figure(kind="distribution").axes[0].patches) == 2
    with pytest.raises(RecipeError, match="needs references"):
        alone.figure(kind="scatter")
    with pytest.raises(RecipeError, match="kind must be shares, scatter, scatter-means, distribution, got 'pie'"):
        alone.figure(kind="pie")  # type: ignore[arg-type]
