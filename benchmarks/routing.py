"""Does routing of layers agree better with people than power means, the mean, or one layer? (MoverScore, Table 6.)

    python -m benchmarks.routing --at DATA --models minilm --scores routing.json

MoverScore v1 with each way to make one vector of the last five layers, and with each of those layers alone; all of a
data set and model in one call, so a text is encoded once. The average over language pairs (WMT) or topics (TAC-2008)
with its 95 % interval, and by how much routing is ahead of each other way, with an interval over resampled segments
or topics, the same ones for both sides. `--scores FILE` keeps scores, so that a second run only counts. Beside it,
how far routed vectors lie from the mean at all. Figures stand in docs/findings.
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
from nlgauge.vectors.points import kde_routing_of_layers

__all__ = ["main"]

Matrix = NDArray[np.float64]

#: Layers of each model, and the one that BERTScore takes (tuned on WMT15).
_LAYERS = {"minilm": (6, 4), "mpnet": (12, 7)}
_LEVELS = {"wmt15": "segment", "wmt17": "segment", "tac2008": "topic"}
_ROUTING = "moverscore:aggregation=kde-routing"
_LEVEL = (2.5, 97.5)
#: Texts that the distance of routed vectors from the mean is computed on.
_TEXTS = 200


class _Compared(NamedTuple):
    """Agreement of each recipe: by language pair (or topic), and the average in every resample."""

    parts: dict[str, Matrix]
    """By language pair; "topics" for an average over topics."""
    observed: Matrix
    """The average over the parts."""
    draws: Matrix
    """resamples x recipes"""


def recipes(model: str, steps: Sequence[int]) -> list[str]:
    """Every way to one vector per token; routing with its step of 1 comes first."""
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
    """Score, resample, print."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.routing", description=__doc__.splitlines()[0])
    parser.add_argument("--at", default=os.environ.get("NLGAUGE_DATA"), help="folder of data sets ($NLGAUGE_DATA)")
    parser.add_argument("--models", nargs="+", choices=list(_LAYERS), default=["minilm"])
    parser.add_argument("--data", nargs="+", choices=list(_LEVELS), default=list(_LEVELS))
    parser.add_argument("--scores", type=Path, metavar="FILE", help="JSON of scores: read where there, else written")
    parser.add_argument("--steps", nargs="*", type=int, default=[10, 100], help="of routing, beside 1 (10 100)")
    parser.add_argument("--topics", type=int, metavar="N", help="only the first N of TAC-2008 (all)")
    parser.add_argument("--draws", type=int, default=2000)
    parser.add_argument("--threads", type=int, default=2)
    options = parser.parse_args(argv)
    if not options.at:
        print("no folder of data sets; nothing was run", file=sys.stderr)
        return 0
    warnings.simplefilter("ignore", NlgaugeWarning)
    kept: dict[str, dict[str, list[float]]] = {}
    if options.scores is not None and options.scores.is_file():
        kept = json.loads(options.scores.read_text(encoding="utf-8"))
    for model in options.models:
        for data in options.data:
            table = _first_topics(load(data, options.at), options.topics if data == "tac2008" else None)
            known = kept.setdefault(f"{data} {model} {len(table)}", {})
            wanted = recipes(model, options.steps)
            missing = [recipe for recipe in wanted if recipe not in known]
            if missing:
                scored = score_judgements(table, missing, model=model, threads=options.threads, progress=True)
                known |= {one.name: one.oriented.tolist() for one in scored.metrics}
                if options.scores is not None:
                    write_atomic(options.scores, json.dumps(kept).encode())
            rows = {name: np.array(known[name]) for name in wanted}
            found = _compared(table, rows, Question(level=_LEVELS[data]), options.draws)
            _report(f"{data}, {model}", wanted, found)
            _distances(table, model, options.steps, options.threads)
    return 0


def _first_topics(table: JudgementTable, count: int | None) -> JudgementTable:
    topics = list(dict.fromkeys(table.segment))[:count]
    return table if count is None else table.take([row for row, own in enumerate(table.segment) if own in topics])


def _compared(table: JudgementTable, rows: Mapping[str, Matrix], question: Question, draws: int) -> _Compared:
    if question.level == "topic":
        return _over_topics(table, rows, question, draws)
    found = {}
    for seed, pair in enumerate(
        table.langpairs
    ):  # another seed each: language pairs have nothing to do with each other
        people = judgements(question, table, pair)
        scores = np.stack([people.scores(given_rows(table, name, values))[0] for name, values in rows.items()])
        found[pair] = bootstrap_correlations(scores, people.human[0], resamples=draws, seed=seed)
    observed = {pair: one.observed for pair, one in found.items()}
    average = np.mean(list(observed.values()), axis=0)
    return _Compared(observed, average, np.mean([one.draws for one in found.values()], axis=0))


def _over_topics(table: JudgementTable, rows: Mapping[str, Matrix], question: Question, draws: int) -> _Compared:
    """Topics are drawn; a topic's agreement is that of its summaries."""
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


def _report(title: str, names: Sequence[str], found: _Compared) -> None:
    print(f"\n{title}: Pearson by {' '.join(found.parts)}; the average, and how far routing (step 1) is ahead")
    for at, name in enumerate(names):
        cells = " ".join(f"{values[at]:6.4f}" for values in found.parts.values())
        low, high = np.percentile(found.draws[:, at], _LEVEL)
        line = f"{name:52} {cells}  {found.observed[at]:.4f} [{low:.4f} {high:.4f}]"
        if at:
            delta = found.observed[0] - found.observed[at]
            low, high = np.percentile(found.draws[:, 0] - found.draws[:, at], _LEVEL)
            ahead = sum(values[0] > values[at] for values in found.parts.values())
            line += f"  {delta:+.4f} [{low:+.4f} {high:+.4f}], higher on {ahead} of {len(found.parts)}"
        print(line, flush=True)


def _distances(table: JudgementTable, model: str, steps: Sequence[int], threads: int) -> None:
    """How far the routed vector of a token is from the mean, and how often a layer lies outside the kernel."""
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
        for step, found in cosines.items():
            found.append((unit_rows(kde_routing_of_layers(layers, step=step)) * unit_rows(mean)).sum(axis=1))
    joined = {step: np.concatenate(found) for step, found in cosines.items()}
    shown = ", ".join(
        f"step {step} {values.mean():.4f} (lowest {values.min():.4f})" for step, values in joined.items()
    )
    share = np.concatenate(outside, axis=1).mean(axis=1)
    print(f"cosine of routed vector and mean, {len(joined[1])} tokens: {shown}")
    print(f"layers outside the kernel at the mean, share of tokens: {' '.join(f'{value:.3f}' for value in share)}")


if __name__ == "__main__":
    sys.exit(main())
