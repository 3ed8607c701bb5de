"""All three stages of a run in one call."""

from __future__ import annotations

from collections.abc import Sequence

from nlgauge.corpus.texts import Corpus
from nlgauge.engine.compare import compare
from nlgauge.engine.estimate import say_if_long
from nlgauge.engine.finish import finish
from nlgauge.engine.notes import SEGMENTS, TextNames
from nlgauge.engine.prepare import SignatureCheck, prepare
from nlgauge.recipes.metric import Metric
from nlgauge.recipes.run_options import RunOptions
from nlgauge.scores import Score

__all__ = ["run_metrics"]


def run_metrics(
    metrics: Sequence[Metric],
    corpus: Corpus,
    options: RunOptions,
    *,
    check_signature: SignatureCheck | None = None,
    names: TextNames = SEGMENTS,
) -> list[Score]:
    """Scores of every metric for every system, metric by metric in the order given.

    `check_signature` is shown each metric's number and resolved recipe before anything is encoded; it may raise.
    `names` is how messages call segments.
    """
    prepared = prepare(metrics, corpus, options, check_signature=check_signature, names=names)
    say_if_long(prepared)
    return finish(prepared, compare(prepared), names=names)
