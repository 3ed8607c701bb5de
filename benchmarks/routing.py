"""Compare routing of layers with power means, the mean and single layers (MoverScore, Table 6).

    python -m benchmarks.routing --at DATA --models minilm --scores routing.json

MoverScore v1 with each aggregation of the last five layers and with each single layer; one call per data set and
model encodes each text once. Prints the average correlation with human judgements over language pairs (WMT) or topics
(TAC-2008) with its 95 % interval, and the lead of routing over each other method with a paired interval over
resampled segments or topics. Also prints how much routed vectors differ from the mean. `--scores FILE` stores scores
for later runs. Results: docs/findings.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import warnings
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from nlgauge.data.cards import load
from nlgauge.data.judgements import JudgementTable
from nlgauge.encoders.load import load_encoder
from nlgauge.errors import NlgaugeWarning
from nlgauge.io.storage import write_atomic
from nlgauge.stats.correlation import bootstrap_correlations, correlate_rows
from nlgauge.studies.meta.questions import Question, judgements
from nlgauge.studies.meta.row_scores import given_rows
from nlgauge.studies.meta.score_judgements import score_judgements
from nlgauge.vectors.cloud import unit_rows
from nlgauge.vectors.points import Routing, kde_routing_of_layers

__all__ = ["main"]

Matrix = NDArray[np.float64]

#: Layers of each model, and the layer of BERTScore (tuned on WMT15).
_LAYERS = {"minilm": (6, 4), "mpnet": (12, 7)}
_LEVELS = {"wmt15": "segment", "wmt17": "segment", "tac2008": "topic"}
_ROUTING = "moverscore:aggregation=kde-routing"
_LEVEL = (2.5, 97.5)
#: Number of texts for the distance of routed vectors from the mean.
_TEXTS = 200


class _Compared(NamedTuple):
    """Correlations of each recipe: by language pair (or topic), and the average in every resample."""

    parts: dict[str, Matrix]
    """Correlations by language pair, or under "topics" their average over topics."""
    observed: Matrix
    """Average over the parts."""
    draws: Matrix
    """resamples x recipes"""


def recipes(model: str, steps: Sequence[int]) -> list[str]:
    """Recipes of all aggregations; routing with step 1 is first."""
    top, tuned = _LAYERS[model]
    layers = sorted({tuned, *range(top - 4, top + 1)})
    return [
        _ROUTING,
        *(f"{_ROUTING},routing_step={step}" for step in steps),
        "moverscore",
        "moverscore:exponents=1",
        *(f"moverscore:aggregation=layer-{layer}" for layer in layers),
    ]


def main(argv: Sequence[str] | None = None) -> int:
    """Score, resample and print the tables."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.routing", description=__doc__.splitlines()[0])
    parser.add_argument(
        "--at", default=os.environ.get("NLGAUGE_DATA"), help="folder of data sets (default: $NLGAUGE_DATA)"
    )
    parser.add_argument("--models", nargs="+", choices=list(_LAYERS), default=["minilm"])
    parser.add_argument("--data", nargs="+", choices=list(_LEVELS), default=list(_LEVELS))
    parser.add_argument(
        "--scores", type=Path, metavar="FILE", help="JSON file of scores: read if it exists, else written"
    )
    parser.add_argument(
        "--steps",
        nargs="*",
        type=int,
        default=[10, 100],
        help="further steps of routing in addition to 1 (default: 10 100)",
    )
    parser.add_argument("--topics", type=int, metavar="N", help="use the first N topics of TAC-2008 (default: all)")
    parser.add_argument("--draws", type=int, default=2000)
    parser.add_argument("--threads", type=int, default=2)
    options = parser.parse_args(argv)
    if not options.at:
        print("folder of data sets is not set: use --at FOLDER or NLGAUGE_DATA", file=sys.stderr)
        return 0
    warnings.simplefilter("ignore", NlgaugeWarning)
    cache: dict[str, dict[str, list[float]]] = {}
    if options.scores is not None and options.scores.is_file():
        cache = json.loads(options.scores.read_text(encoding="utf-8"))
    for model in options.models:
        for data in options.data:
            table = _first_topics(load(data, options.at), options.topics if data == "tac2008" else None)
            cached = cache.setdefault(f"{data} {model} {len(table)}", {})
            names = recipes(model, options.steps)
            missing = [recipe for recipe in names if recipe not in cached]
            if missing:
                scored = score_judgements(table, missing, model=model, threads=options.threads, progress=True)
                cached |= {metric.name: metric.oriented.tolist() for metric in scored.metrics}
                if options.scores is not None:
                    write_atomic(options.scores, json.dumps(cache).encode())
            rows = {name: np.array(cached[name]) for name in names}
            comparison = _compared(table, rows, Question(level=_LEVELS[data]), options.draws)
            _report(f"{data}, {model}", names, comparison)
            _distances(table, model, options.steps, options.threads)
    return 0


def _first_topics(table: JudgementTable, count: int | None) -> JudgementTable:
    topics = list(dict.fromkeys(table.segment))[:count]
    return table if count is None else table.take([row for row, own in enumerate(table.segment) if own in topics])


def _compared(table: JudgementTable, rows: Mapping[str, Matrix], question: Question, draws: int) -> _Compared:
    if question.level == "topic":
        return _over_topics(table, rows, question, draws)
    results = {}
    for seed, pair in enumerate(table.langpairs):  # a separate seed each, because language pairs are independent
        people = judgements(question, table, pair)
        scores = np.stack([people.scores(given_rows(table, name, values))[0] for name, values in rows.items()])
        results[pair] = bootstrap_correlations(scores, people.human[0], resamples=draws, seed=seed)
    observed = {pair: result.observed for pair, result in results.items()}
    average = np.mean(list(observed.values()), axis=0)
    return _Compared(observed, average, np.mean([result.draws for result in results.values()], axis=0))


def _over_topics(table: JudgementTable, rows: Mapping[str, Matrix], question: Question, draws: int) -> _Compared:
    """Resample topics; the correlation of a topic is that of its summaries."""
    people = judgements(question, table, table.langpairs[0])
    grids = [people.scores(given_rows(table, name, values)) for name, values in rows.items()]
    by_topic = []
    for topic, gold in enumerate(people.human.T):
        judged = ~np.isnan(gold)
        by_topic.append(
            correlate_rows(np.stack([grid[judged, topic] for grid in grids]), gold[judged], kind="pearson")
        )
    values = np.array(by_topic)
    chosen = np.random.default_rng(0).integers(0, len(values), (draws, len(values)))
    return _Compared({"topics": values.mean(axis=0)}, values.mean(axis=0), values[chosen].mean(axis=1))


def _report(title: str, names: Sequence[str], comparison: _Compared) -> None:
    print(f"\n{title}: Pearson by {' '.join(comparison.parts)}; average, and lead of routing (step 1)")
    for i, name in enumerate(names):
        cells = " ".join(f"{values[i]:6.4f}" for values in comparison.parts.values())
        low, high = np.percentile(comparison.draws[:, i], _LEVEL)
        line = f"{name:52} {cells}  {comparison.observed[i]:.4f} [{low:.4f} {high:.4f}]"
        if i:
            delta = comparison.observed[0] - comparison.observed[i]
            low, high = np.percentile(comparison.draws[:, 0] - comparison.draws[:, i], _LEVEL)
            ahead = sum(values[0] > values[i] for values in comparison.parts.values())
            line += f"  {delta:+.4f} [{low:+.4f} {high:+.4f}], higher on {ahead} of {len(comparison.parts)}"
        print(line, flush=True)


def _distances(table: JudgementTable, model: str, steps: Sequence[int], threads: int) -> None:
    """Print the distance of routed vectors from the mean, and how often a layer is outside the kernel."""
    encoder = load_encoder(model, threads=threads)
    top = _LAYERS[model][0]
    texts = list(dict.fromkeys(table.hypothesis))[:_TEXTS]
    cosines: dict[int, list[Matrix]] = {1: [], **{step: [] for step in steps}}
    outside = []
    for tokens in encoder.tokenizer.encode(texts):
        ids = np.asarray(tokens.ids, dtype=np.int64)[None, :]
        layers = [unit_rows(layer[0]) for layer in encoder.encode(ids, tuple(range(top - 4, top + 1)))]
        mean = np.mean(layers, axis=0)
        outside.append(np.square(np.stack(layers) - mean).sum(axis=2) >= 1)
        for step, cosine_values in cosines.items():
            cosine_values.append(
                (unit_rows(kde_routing_of_layers(layers, Routing(step))) * unit_rows(mean)).sum(axis=1)
            )
    joined = {step: np.concatenate(cosine_values) for step, cosine_values in cosines.items()}
    shown = ", ".join(
        f"step {step} {values.mean():.4f} (lowest {values.min():.4f})" for step, values in joined.items()
    )
    share = np.concatenate(outside, axis=1).mean(axis=1)
    print(f"cosine of routed vector and mean, {len(joined[1])} tokens: {shown}")
    print(f"layers outside the kernel at the mean, share of tokens: {' '.join(f'{value:.3f}' for value in share)}")


if __name__ == "__main__":
    sys.exit(main())
