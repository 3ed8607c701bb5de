"""What a package with a metric tests: its equation, and the promises that every metric keeps."""

from __future__ import annotations

import pytest
from nlgauge_centroid import Centroid

import nlgauge
import nlgauge.testing


@pytest.mark.parametrize("contract", nlgauge.testing.CONTRACTS)
@pytest.mark.parametrize("weigh", ["equal", "squared-length"])
def test_it_keeps_the_promises_of_every_metric(contract: str, weigh: str) -> None:
    with nlgauge.testing.hash_encoder() as model:
        nlgauge.testing.CONTRACTS[contract](Centroid(model=model, layer=1, weigh=weigh))


def test_one_word_beside_itself_is_one() -> None:
    with nlgauge.testing.hash_encoder() as model:
        assert Centroid(model=model).score(["rain"], ["rain"]).system_score == pytest.approx(1)
