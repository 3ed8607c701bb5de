"""How long a request will take at least, estimated before it starts.

Nearly all metrics take milliseconds for a pair of texts. Entropic transport (`baryscore:measures=SD_R`,
`solver=sinkhorn-R`) with a small regularisation R does not: it runs up to 10,000 iterations on a matrix with a cell
for each pair of tokens, and takes minutes for two texts of 500 words. Exact transport of texts that are read in
windows takes many seconds. Both are estimated from the numbers of tokens; all else counts as nothing.
"""

from __future__ import annotations

from nlgauge.engine.prepare import Prepared, PreparedMetric
from nlgauge.metrics.baryscore import BaryScore
from nlgauge.metrics.parts.transport_metric import TransportMetric
from nlgauge.transport.sinkhorn import MOST_ITERATIONS
from nlgauge.transport.solvers import RELAXED, SINKHORN, regularisation

__all__ = ["estimated_seconds"]

#: Seconds for a cell of the matrix. Measured on one core of a common server: an iteration of entropic transport on
#: logarithms (17 s for 10,000 on 125 x 125 tokens, 72 s on 250 x 250), and exact transport (2.6 s for 3,000 x 3,000).
_SECONDS_PER_ITERATION = 1.1e-7
_SECONDS_EXACT = 3e-7

#: Iterations for regularisation 1; in inverse proportion to it. 400 words took 2,200 for 0.01, and all for 0.001.
_ITERATIONS = 20.0

#: From this regularisation on the plain iteration does, which takes a moment.
_HARMLESS = 0.05


def estimated_seconds(prepared: Prepared) -> float:
    """Seconds of computing that a run will take at least, on a machine such as the one that was measured."""
    return sum(
        _cells(metric) * _seconds_per_cell(metric.metric)
        for group in prepared.groups
        for metric in group.metrics.values()
        if isinstance(metric.metric, TransportMetric)
    )


def _seconds_per_cell(metric: TransportMetric) -> float:
    if isinstance(metric, BaryScore):
        if metric.profile == "released":  # the plain iteration only
            return _SECONDS_EXACT
        names = [float(name.removeprefix("SD_")) for name in metric.components if name != "W"]
        return sum(map(_entropic, names)) + ("W" in metric.components) * _of_solver(metric.solver)
    return _of_solver(metric.solver)


def _of_solver(solver: str) -> float:
    if solver == RELAXED:
        return 0.0
    return _entropic(regularisation(solver)) if solver.startswith(SINKHORN) else _SECONDS_EXACT


def _entropic(strength: float) -> float:
    if strength >= _HARMLESS:
        return 0.0
    return _SECONDS_PER_ITERATION * min(MOST_ITERATIONS, _ITERATIONS / strength)


def _cells(prepared: PreparedMetric) -> int:
    """Pairs of tokens, over all pairs of texts."""
    corpus, tokens = prepared.corpus, prepared.tokenized.tokens
    return sum(
        len(tokens[text]) * sum(len(tokens[reference]) for reference in references)
        for texts in corpus.systems.values()
        for text, references in zip(texts, corpus.references, strict=True)
    )
