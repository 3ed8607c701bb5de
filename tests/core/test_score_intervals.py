"""What a metric returns: intervals that mean something, and how a result shows in a notebook."""

from __future__ import annotations

import numpy as np
import pytest

from nlgauge.core.score import Score
from nlgauge.core.signature import Signature
from nlgauge.errors import InputError, RecipeError


def score(*values: float, system: str | None = "<a>") -> Score:
    return Score("chrf", system, {"chrf": np.array(values)}, "chrf", True, Signature("chrf", {}), {})


def test_one_segment_has_no_interval() -> None:
    with pytest.raises(
        InputError,
        match="a confidence interval needs at least 2 segments, and this score of chrf has 1; score more segments",
    ):
        score(0.5).interval()


@pytest.mark.parametrize("resamples", [0, 1, 99])
def test_few_resamples_are_refused(resamples: int) -> None:
    with pytest.raises(RecipeError, match=f"resamples must be at least 100 for an interval, got {resamples}"):
        score(0.5, 0.7, 0.9).interval(resamples=resamples)


def test_the_interval_of_the_fewest_resamples_holds_the_mean() -> None:
    result = score(0.1, 0.7, 0.9, 0.4).interval(resamples=100)
    assert result.low < result.mean < result.high


def test_documents_are_drawn_instead_of_segments() -> None:
    result = score(0.1, 0.7, 0.9, 0.4).interval(documents=["a", "a", "b", "b"])
    assert (result.n, result.clustered) == (2, True)
    with pytest.raises(InputError, match="at least 2 documents, got 1"):
        score(0.1, 0.7).interval(documents=["a", "a"])


def test_a_notebook_shows_a_table() -> None:
    shown = score(0.5, 0.75)._repr_html_()
    assert (
        "<caption>chrf</caption><thead><tr><th>system</th><th>chrf</th></tr></thead><tbody><tr><td>&lt;a&gt;</td><td>0.6250</td>"
        in shown
    )
    assert "signature: chrf" in shown
    assert "<th>system</th>" not in score(0.5, system=None)._repr_html_()
