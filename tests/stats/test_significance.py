"""Tests between two correlations."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from nlgauge.errors import InputError
from nlgauge.stats.correlation import correlate
from nlgauge.stats.paired_tests import bonferroni, holm, williams


def test_williams_of_given_correlations() -> None:
    # The formula worked out apart from nlgauge, for (.65, .55, .3, n = 50).
    result = williams(0.65, 0.55, 0.3, 50)
    assert result.t == pytest.approx(0.81608, abs=5e-6)
    assert result.p_value == pytest.approx(0.20929, abs=5e-6)
    assert result.df == 47


def test_williams_on_released_wmt15_scores(data_folder: Path) -> None:
    # BERTScore F1 beside BLEU on WMT15 de-en: r = .722091 and .536782, between them .748106, t = 8.3514.
    path = data_folder / "wmt15" / "15_de-en_formated.json"
    if not path.is_file():
        pytest.skip("NLGAUGE_DATA has no wmt15/15_de-en_formated.json")
    scores = [item["system"]["wmt15"]["scores"] for item in json.loads(path.read_text(encoding="utf-8")).values()]
    human, bert, bleu = (
        np.array([np.ravel(row[name])[0] for row in scores], dtype=float)
        for name in ("human", "bert_score_f1", "bleu")
    )
    first, second, between = (correlate(a, b).value for a, b in ((bert, human), (bleu, human), (bert, bleu)))
    assert (first, second, between) == pytest.approx((0.722091, 0.536782, 0.748106), abs=1e-6)
    result = williams(first, second, between, len(human))
    assert result.t == pytest.approx(8.3514, abs=1e-4)
    assert result.p_value == pytest.approx(3.4e-16, rel=0.02)


def test_williams_is_one_sided() -> None:
    up, down = williams(0.6, 0.5, 0.7, 80), williams(0.5, 0.6, 0.7, 80)
    assert up.t == pytest.approx(-down.t)
    assert up.p_value + down.p_value == pytest.approx(1)
    assert williams(0.5, 0.5, 1.0, 10).p_value == 0.5


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((1.2, 0.5, 0.3, 50), "first must be"),
        ((0.5, float("nan"), 0.3, 50), "second must be"),
        ((0.5, 0.4, 0.3, 3), "at least 4"),
        ((0.99, -0.99, 0.9, 50), "contradict each other"),
    ],
)
def test_williams_refuses_invalid_input(arguments: tuple[float, float, float, int], message: str) -> None:
    with pytest.raises(InputError, match=message):
        williams(*arguments)


def test_corrections_by_hand() -> None:
    p_values = [0.01, 0.04, 0.03, 0.005]
    assert bonferroni(p_values) == pytest.approx([0.04, 0.16, 0.12, 0.02])
    # Sorted .005 .01 .03 .04 times 4 3 2 1 = .02 .03 .06 .04, made monotone: .02 .03 .06 .06
    # (R: p.adjust(c(.01, .04, .03, .005), "holm")).
    assert holm(p_values) == pytest.approx([0.03, 0.06, 0.06, 0.02])
    assert holm([0.9, 0.8]).max() == 1
    with pytest.raises(InputError, match=r"1\.5 at index 1"):
        holm([0.1, 1.5])
