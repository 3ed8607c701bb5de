"""Metrics next to metrics: matrices, good and bad outputs, disagreements in rank, figures and the report."""

from __future__ import annotations

import json
import re
from pathlib import Path

import numpy as np
import pytest
from scipy.stats import kendalltau, pearsonr, rankdata, spearmanr
from tests.extras import LazyModule

from nlgauge.data.judgements import JudgementTable
from nlgauge.errors import InputError, RecipeError
from nlgauge.report.relations import relations_page
from nlgauge.stats.correlation import roc_auc
from nlgauge.studies.meta.between import MetricRelations, quality_groups, relate_metrics
from nlgauge.studies.meta.row_scores import ScoredJudgements, given_rows

matplotlib = LazyModule("matplotlib")

SYSTEMS, SEGMENTS = 3, 20
RNG = np.random.default_rng(6)
HUMAN = RNG.normal(size=(2, SYSTEMS, SEGMENTS))
CLOSE, FAR = HUMAN + 0.4 * RNG.normal(size=HUMAN.shape), RNG.normal(size=HUMAN.shape)
PAIRS = ("de-en", "zh-en")


def scored(human: np.ndarray = HUMAN, *, langpairs: int = 2) -> ScoredJudgements:
    rows = [(p, s, t) for p in range(langpairs) for s in range(SYSTEMS) for t in range(SEGMENTS)]
    table = JudgementTable(
        name="made",
        segment=tuple(str(t) for _, _, t in rows),
        system=tuple(f"s{s}" for _, s, _ in rows),
        langpair=tuple(PAIRS[p] for p, _, _ in rows),
        hypothesis=tuple(f"output {p} {s} {t}" for p, s, t in rows),
        references=tuple((f"reference {t}",) for _, _, t in rows),
        human={"da": human[:langpairs].ravel()},
        default_criterion="da",
    )
    distance = given_rows(table, "far", -FAR[:langpairs].ravel(), higher_is_better=False)
    return ScoredJudgements(table, (given_rows(table, "close", CLOSE[:langpairs].ravel()), distance))


@pytest.mark.parametrize(
    ("kind", "coefficient"), [("pearson", pearsonr), ("spearman", spearmanr), ("kendall", kendalltau)]
)
def test_matrix_is_that_of_scipy(kind: str, coefficient: object) -> None:
    result = relate_metrics(scored(), agreement=(kind,))
    matrix = result.matrix("de-en")
    lists = [values[0].ravel() for values in (HUMAN, CLOSE, FAR)]
    assert matrix.names == ("human", "close", "far")
    for i, first in enumerate(lists):
        for j, second in enumerate(lists):
            expected = coefficient(first, second).statistic  # type: ignore[operator]
            assert matrix.values[i, j] == pytest.approx(expected), "a distance is negated"
    average = result.matrix()
    assert average.langpair == "average"
    assert average.values == pytest.approx((matrix.values + result.matrix("zh-en").values) / 2)


def test_levels() -> None:
    topic = relate_metrics(scored(), level="topic").matrix("de-en").values[0, 1]
    within = [pearsonr(h, c).statistic for h, c in zip(HUMAN[0].T, CLOSE[0].T, strict=True)]
    assert topic == pytest.approx(np.mean(within))
    system = relate_metrics(scored(), level="system", agreement=("kendall",))
    assert system.matrix("de-en").values[0, 1] == pytest.approx(
        kendalltau(HUMAN[0].mean(axis=1), CLOSE[0].mean(axis=1)).statistic
    )
    assert system.points[0].systems == ("s0", "s1", "s2")


def test_good_and_bad_outputs() -> None:
    result = relate_metrics(scored(), quality=0.2)
    row = next(row for row in result.separations if (row.langpair, row.metric) == ("de-en", "close"))
    human, close = HUMAN[0].ravel(), CLOSE[0].ravel()
    order = np.argsort(human)
    bad, good = close[order[:12]], close[order[-12:]]  # a fifth of 60
    assert (row.size, row.bad, row.good) == (12, pytest.approx(bad.mean()), pytest.approx(good.mean()))
    assert row.effect == pytest.approx((good.mean() - bad.mean()) / np.sqrt((bad.var() + good.var()) / 2))
    assert row.auc == roc_auc(np.concatenate([bad, good]), np.repeat([0, 1], 12))
    groups = quality_groups(np.array([0.0, 0, 0, 1, 2, 2]), 0.25)
    assert groups is not None
    assert [mask.sum() for mask in groups] == [3, 2], "equal human scores stay together"
    assert quality_groups(np.ones(4), 0.25) is None
    assert "too few different values" in relate_metrics(scored(np.ones_like(HUMAN))).notes[0]


def test_disagreements_have_the_largest_differences_of_rank() -> None:
    result = relate_metrics(scored(), pair=("close", "far"), most=2)
    close, far = (rankdata(-values[0].ravel()) for values in (CLOSE, FAR))
    entries = [entry for entry in result.disagreements if entry.langpair == "de-en"]
    assert [(entry.higher, entry.lower) for entry in entries] == [("close", "far")] * 2 + [("far", "close")] * 2
    differences = np.sort(far - close)
    assert [entry.difference for entry in entries[:2]] == differences[::-1][:2].tolist()
    assert [entry.difference for entry in entries[2:]] == (-differences[:2]).tolist()
    place = int(np.argmax(far - close))
    assert entries[0].hypothesis == f"output 0 {place // SEGMENTS} {place % SEGMENTS}"
    assert entries[0].ranks["human"] == rankdata(-HUMAN[0].ravel())[place]
    with_human = relate_metrics(scored(), most=1).disagreements
    assert {frozenset((entry.higher, entry.lower)) for entry in with_human} == {
        frozenset(("close", "human")),
        frozenset(("far", "human")),
    }


def test_every_format_and_json_and_back() -> None:
    result = relate_metrics(scored(), agreement=("pearson", "kendall"), most=1)
    text = result.render("text")
    assert "made, average: Kendall's tau-b of scores, 2 language pairs" in text
    assert "largest differences of rank between close and human" in text
    back = MetricRelations.from_dict(json.loads(result.render("json")))
    assert back.render("text") == text
    for show, header, lines in (
        ("matrix", "data\tlangpair\tagreement\tfirst\tsecond\tvalue\tcount", 3 * 2 * 9),
        ("scatter", "langpair\tsystem\tsegment\thuman\tclose\tfar", 120),
        ("distribution", "langpair\tmetric\tn\tbad\tgood\teffect\tauc", 4),
        ("disagreements", "langpair\tbetter by\tworse by\tsegment\tsystem\trank better", 8),
    ):
        written = relate_metrics(scored(), agreement=("pearson", "kendall"), most=1, show=show).render("tsv")
        assert written.startswith(header)
        assert written.count("\n") == lines + 1


def test_unknown_names_and_metrics_are_refused() -> None:
    with pytest.raises(RecipeError, match="pair names 'clos'; did you mean 'close'"):
        relate_metrics(scored(), pair=("clos", "human"))
    with pytest.raises(RecipeError, match="two different names"):
        relate_metrics(scored(), pair=("close", "close"))
    with pytest.raises(RecipeError, match="agreement"):
        relate_metrics(scored(), agreement=("auc",))
    made = scored()
    called = given_rows(made.table, "human", FAR.ravel())
    with pytest.raises(InputError, match="rename it"):
        relate_metrics(ScoredJudgements(made.table, (called,)))
    gap = CLOSE.copy()
    gap[0, 0, 0] = np.nan
    part = relate_metrics(ScoredJudgements(made.table, (given_rows(made.table, "gap", gap.ravel()),)))
    assert part.notes == ("de-en: gap left out: 1 judged output without a score",)
    assert part.points[0].scores.keys() == {"human"}


@pytest.mark.heavy
def test_figures_show_all_panels_and_values() -> None:
    assert matplotlib
    result = relate_metrics(scored(), agreement=("kendall",))
    matrix = result.figure("matrix")
    assert [axes.get_title(loc="left") for axes in matrix.axes] == [
        "de-en, kendall", "zh-en, kendall", "average, kendall",
    ]  # fmt: skip
    shown = [text.get_text().replace("\u2212", "-") for text in matrix.axes[0].texts]
    assert [float(text) for text in shown] == [round(value, 2) for value in result.matrix("de-en").values.ravel()]
    scatter = result.figure("scatter")
    assert len(scatter.axes) == 4, "a row per language pair"
    points = np.concatenate([part.get_offsets() for part in scatter.axes[0].collections])
    assert len(points) == SYSTEMS * SEGMENTS
    assert sorted(points[:, 0]) == pytest.approx(sorted(HUMAN[0].ravel())), "human scores are on the x axis"
    distribution = result.figure("distribution")
    heights = [patch.get_height() for patch in distribution.axes[0].patches]
    assert sum(heights) == pytest.approx(200), "100 % of either group"
    with pytest.raises(RecipeError, match="no figure of 'bars'"):
        result.figure("bars")


@pytest.mark.heavy
def test_report_is_one_file_without_script(tmp_path: Path) -> None:
    assert matplotlib
    page = relations_page(relate_metrics(scored(langpairs=1), most=1), title="<Relations>")
    assert page.count("data:image/png;base64,") == 3
    assert "<title>&lt;Relations&gt;</title>" in page
    assert "<script" not in page
    assert not re.search(r"(src|href)=\"(?!data:)", page)
    assert "output 0 " in page
