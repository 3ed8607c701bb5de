"""The rule that stops a comparison, on paired differences whose decision can be worked out."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from nlgauge.errors import InputError, RecipeError
from nlgauge.stats.anytime import ConfidenceSequence
from nlgauge.studies.compare.stopping import Order, StopRule, decide, judge

NOISE = np.random.default_rng(3).normal(size=1000)
EQUAL = NOISE - NOISE.mean()


def test_clear_difference_stops_at_the_first_look_with_the_interval_of_the_sequence() -> None:
    decision = decide(EQUAL + 2, StopRule())
    assert (decision.outcome, decision.decided_by, decision.segments) == ("better", "sequence", 50)
    used = (EQUAL + 2)[Order(1000, StopRule()).segments[:50]]
    # A fifth of alpha: the rest is for the test on all segments.
    sequence = ConfidenceSequence(alpha=0.01)
    width = float(sequence.half_width(50, used.var(ddof=1)))
    assert (decision.difference, decision.low, decision.high) == pytest.approx(
        (used.mean(), used.mean() - width, used.mean() + width)
    )
    assert decision.p_value is None
    assert decide(-EQUAL - 2, StopRule()).outcome == "worse"


def test_no_difference_uses_all_segments_and_the_t_test_decides() -> None:
    decision = decide(EQUAL, StopRule())
    assert (decision.outcome, decision.decided_by, decision.segments) == ("undecided", "nothing", 1000)
    assert decision.p_value == pytest.approx(1.0)
    # p = .041: below .05, but the test has four fifths of alpha; .0399 is below them.
    error = NOISE.std(ddof=1) / 1000**0.5
    for p_value, outcome in ((0.041, "undecided"), (0.0399, "better")):
        shift = stats.t.isf(p_value / 2, 999) * error
        decision = decide(EQUAL + shift, StopRule())
        assert decision.p_value == pytest.approx(p_value)
        assert (decision.outcome, decision.segments) == (outcome, 1000)
        assert (decision.low > 0) == (outcome == "better")


def test_without_a_look_before_the_end_the_test_has_all_of_alpha() -> None:
    few = NOISE[:40] - NOISE[:40].mean()
    shift = stats.t.isf(0.049 / 2, 39) * few.std(ddof=1) / 40**0.5
    assert decide(few + shift, StopRule()).outcome == "better"
    assert decide(few + shift, StopRule(), pairs=2).outcome == "undecided"


def test_fewer_than_ten_segments_never_decide() -> None:
    decision = decide(NOISE[:9] * 1e-6 + 1, StopRule())
    assert (decision.outcome, decision.segments) == ("undecided", 9)
    single = decide([1.0], StopRule())
    assert (single.outcome, single.low, single.p_value) == ("undecided", -np.inf, None)


def test_margin_finds_equivalence_early() -> None:
    # Noise of deviation 1: after 200 segments the half width is about .27, so a margin of 1 is reached well before.
    decision = decide(EQUAL, StopRule(margin=1.0))
    assert (decision.outcome, decision.decided_by) == ("equivalent", "sequence")
    assert decision.segments < 200
    assert decision.low > -1
    assert decision.high < 1


@pytest.mark.parametrize(
    ("low", "high", "outcome"),
    [
        (-0.5, 0.5, "undecided"),
        (-0.05, 0.5, "not-worse"),
        (-0.5, -0.2, "worse"),
        (-0.09, -0.01, "not-worse"),
        (-0.1, 0.5, "undecided"),
    ],
)
def test_not_worse_needs_the_lower_end_above_minus_the_margin(low: float, high: float, outcome: str) -> None:
    assert judge(low, high, StopRule(goal="not-worse", margin=0.1)) == outcome


def test_fewest_segments_are_used_before_a_decision() -> None:
    assert decide(EQUAL + 2, StopRule(min_segments=210)).segments == 212
    short = decide(EQUAL[:100] + 2, StopRule(min_segments=101))
    assert (short.outcome, short.segments) == ("undecided", 100)


def test_documents_are_drawn_whole_and_counted() -> None:
    # 100 documents of 1 to 4 segments.
    documents = [f"d{n}" for n in range(100) for _ in range(n % 4 + 1)]
    differences = NOISE[: len(documents)] + 2
    order = Order(len(documents), StopRule(), documents)
    assert sorted(order.segments) == list(range(250))
    for unit in order.units:
        assert len({documents[segment] for segment in unit}) == 1
    decision = decide(differences, StopRule(), documents=documents)
    assert (decision.outcome, decision.units) == ("better", 50)
    assert decision.segments == sum(len(unit) for unit in order.units[:50])
    assert decision.difference == pytest.approx(differences[order.segments[: decision.segments]].mean())


def test_looks_grow_and_end_with_all_segments() -> None:
    # 50 and steps of 10 up to 100; then a tenth, rounded down; 372 + 37 is more than 400.
    tenths = [110, 121, 133, 146, 160, 176, 193, 212, 233, 256, 281, 309, 339, 372]
    assert list(Order(400, StopRule()).looks()) == [*range(50, 101, 10), *tenths, 400]


def test_order_depends_on_the_seed_only() -> None:
    first = Order(300, StopRule(seed=1)).segments
    assert first == Order(300, StopRule(seed=1, alpha=0.01, margin=2.0)).segments
    assert first != Order(300, StopRule(seed=2)).segments
    assert sorted(first) == list(range(300))


def test_pairs_share_alpha() -> None:
    one, many = (decide(EQUAL + 2, StopRule(), pairs=pairs) for pairs in (1, 45))
    assert many.high - many.low > one.high - one.low


def test_false_alarms_of_the_whole_procedure_stay_within_alpha() -> None:
    draws = np.random.default_rng(5)
    alarms = sum(decide(draws.normal(size=400), StopRule()).outcome != "undecided" for _ in range(1000))
    # 1,000 draws: a rate of .05 gives more than 68 in less than one of 100 cases (binomial).
    assert alarms <= 68


def test_rule_is_signed_and_checked() -> None:
    signature = StopRule(margin=0.5, seed=7).signature(pairs=3, unit="document", documents="abc")
    for field in ("margin:0.5", "seed:7", "pairs:3", "unit:document", "documents:abc", "final_share:0.8", "step:10"):
        assert f"|{field}" in signature
    with pytest.raises(RecipeError, match="goal 'not-worse' needs margin"):
        StopRule(goal="not-worse")
    with pytest.raises(RecipeError, match="margin must be a number above 0, got -1"):
        StopRule(margin=-1.0)
    with pytest.raises(InputError, match="decide needs finite values"):
        decide([1.0, float("nan")], StopRule())
