"""Exact and hidden ties are told apart, and a policy decides whose they are."""

from __future__ import annotations

from fnmatch import fnmatchcase

import numpy as np
import pytest
from tests.studies.compare.made_scores import scores_of

from nlgauge.studies.paired_evaluation import FrameSet
from nlgauge.studies.paired_measures import POLICIES, count_ties, mean_against_bt
from nlgauge.studies.published.load import PAPER_TABLES


def test_ties_that_hide_in_last_bits() -> None:
    frame = scores_of("rouge", ("a", "b", "c"), np.array([[0.3, 0.1 + 0.2, 0.3], [0.5, 0.5, 0.4]]))
    # Six comparisons: a = c and a = b exactly, a and b, b and c but for the last bit.
    assert count_ties([frame]) == (6, 2, 2)


def test_policies_decide_who_wins() -> None:
    """a wins once and ties four times: the mean prefers it, and so does BT unless ties are the later column's."""
    values = np.array([[0.9, 0.1], *([[0.5, 0.5]] * 4)])
    sets = [FrameSet("TC", "Dialogue", {"ROUGE_2": scores_of("rouge", ("a", "b"), values)})]
    result = {policy: mean_against_bt(sets, policy)["TC", "ROUGE_2"] for policy in POLICIES}
    assert result["second"] == pytest.approx(1)
    assert {name for name, share in result.items() if share == 0} == set(POLICIES) - {"second", "second 1e-9"}


@pytest.mark.parametrize(
    ("label", "metric", "groups"),
    [
        ("TAC08", "ROUGE_WE_1", {"all frames", "TAC, ROUGE and ROUGE-WE", "TAC08"}),
        ("TAC11", "BLEU", {"all frames", "TAC, other metrics", "TAC11"}),
        ("PC", "ROUGE_2", {"all frames", "dialogue", "PC"}),
    ],
)
def test_which_frames_a_row_looks_at(label: str, metric: str, groups: set[str]) -> None:
    rows = PAPER_TABLES["bt-ties"].rows
    assert {row.name for row in rows if all(map(fnmatchcase, (label, metric), row.key))} == groups
