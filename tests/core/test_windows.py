"""Windows: the segments that are in memory together."""

from __future__ import annotations

import pytest
from tests.core.corpora import small_corpus

from nlgauge.core import engine as module
from nlgauge.core.compare import distinct_texts, ranges, whole_groups, windows
from nlgauge.core.prepare import PreparedMetric, prepare
from nlgauge.core.registry import parse_metric
from nlgauge.core.run_options import RunOptions


def prepared(metric: str, count: int = 20) -> list[PreparedMetric]:
    return list(prepare([parse_metric(metric)], small_corpus(count), RunOptions()).compared.values())


@pytest.mark.parametrize("budget", [1, 40, 100, 10**6])
@pytest.mark.parametrize("segments", [range(20), range(3, 17), range(5, 5)])
def test_windows_cover_the_segments(budget: int, segments: range, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_WINDOW_BYTES", budget * 4 * 384)
    metrics = prepared("bertscore")
    result = list(windows(metrics, segments, 1))
    assert [index for window in result for index in window] == list(segments)
    tokens = metrics[0].tokenized.tokens
    for window in result:
        size = sum(len(tokens[text]) for text in distinct_texts(metrics, window))
        assert size <= budget or len(window) == 1


def test_windows_end_at_whole_groups(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_WINDOW_BYTES", 1)
    metrics = prepared("xmoverscore:transforms=position-norm")
    assert list(windows(metrics, range(20), 1)) == [range(8), range(8, 16), range(16, 20)]
    assert list(windows(metrics, range(3, 12), 1)) == [range(3, 8), range(8, 12)]
    assert whole_groups(metrics, range(3, 12)) == range(16)
    assert whole_groups(metrics, range(17, 20)) == range(16, 20)
    metrics += prepared("xmoverscore:transforms=position-norm-3")
    assert whole_groups(metrics, range(3, 12)) == range(20), "24 is the first end of groups of 8 and of 3"


@pytest.mark.parametrize("metric", ["bertscore", "chrf", "xmoverscore:transforms=position-norm"])
@pytest.mark.parametrize("outputs", [1, 9, 1000])
def test_ranges_cover_all_segments_in_whole_groups(metric: str, outputs: int) -> None:
    run = prepare([parse_metric(metric)], small_corpus(20), RunOptions())
    result = list(ranges(run, outputs))
    assert [index for part in result for index in part] == list(range(20))
    batch = 8 if "position-norm" in metric else 1
    assert all(part.start % batch == 0 for part in result)
    systems = len(run.corpus.systems)
    assert all(len(part) <= max(batch, outputs // systems) for part in result)
