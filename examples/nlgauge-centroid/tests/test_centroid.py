"""Tests of a package with a metric: its equation, and the contract of all metrics."""

from __future__ import annotations

import pytest
from nlgauge_centroid import Centroid

import nlgauge
import nlgauge.testing


@pytest.mark.parametrize("contract", nlgauge.testing.CONTRACTS)
@pytest.mark.parametrize("weigh", ["equal", "squared-length"])
def test_centroid_keeps_the_contract_of_metrics(contract: str, weigh: str) -> None:
    with nlgauge.testing.hash_encoder() as model:
        nlgauge.testing.CONTRACTS[contract](Centroid(model=model, layer=1, weigh=weigh))


def test_score_of_a_word_with_itself_is_one() -> None:
    with nlgauge.testing.hash_encoder() as model:
        assert Centroid(model=model).score(["rain"], ["rain"]).system_score == pytest.approx(1)
