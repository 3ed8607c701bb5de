"""Check DiscoScore's claims on SummEval and Newsroom (`python -m benchmarks.disco_claims --at DATA`).

Kendall's tau between systems, for each metric and averaged over the four aspects, with 95 % bootstrap intervals over
articles, over systems, and over both; differences from BERTScore with PERM-BOTH over single scores. `--scores FILE`
stores scores for later runs. Results: docs/findings.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import sys
import warnings
from collections.abc import Mapping, Sequence
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.stats import kendalltau

from nlgauge.data.cards import load
from nlgauge.data.judgements import JudgementTable
from nlgauge.errors import NlgaugeWarning
from nlgauge.stats.rank_permutation import permutation_both_of_systems
from nlgauge.studies.meta.score_judgements import score_judgements
from nlgauge.studies.published.load import PAPER_TABLES

__all__ = ["main"]

Matrix = NDArray[np.float64]

_ASPECTS = {
    "summeval": ("coherence", "consistency", "fluency", "relevance"),
    "newsroom": ("coherence", "fluency", "informativeness", "relevance"),
}
_WITHOUT_MODEL = ("rouge1:measure=recall", "rougel:measure=recall", "rougel", "lc", "rc", "entity-graph",
                  "lexical-chain", "focus-frequency")  # fmt: skip
_VECTORS = "vectors="
_LAST = {"minilm": 6, "mpnet": 12}


def recipes(model: str) -> list[str]:
    """All recipes of a model: with the published layer (two thirds) and with the last one."""
    last = f"layer={_LAST[model]}"
    focus = [f"ds-focus{rest}" for rest in ("", ":measure=f", f":{last}", f":measure=f,{last}", ":profile=corrected")]
    sent = [f"ds-sent{rest}" for rest in ("", f":{last}", ":adjacency=weighted", ":adjacency=none", ":match=greedy",
                                          ":match=optimal", ":profile=corrected")]  # fmt: skip
    return ["bertscore", "bertscore:multiref=mean", "moverscore", *focus, *sent]


#: Metrics of entities that use word vectors, without and with a model.
_ENTITIES_WITHOUT_MODEL = ("lexical-graph",)
_ENTITIES = ("ds-focus:focus=entity", "ds-sent:focus=entity", "ds-sent:adjacency=weighted,focus=entity")


def with_vectors(recipe: str, vectors: str) -> str:
    """Add a file of word vectors to a recipe."""
    return f"{recipe}{',' if ':' in recipe else ':'}{_VECTORS}{vectors}"


def _options(data: str) -> dict[str, Any]:
    """Loading options of the paper: only the abstractive systems of SummEval."""
    columns = [*PAPER_TABLES["disco-table1"].questions, *PAPER_TABLES["disco-table7"].questions]
    return next(
        dict(column.question.options) for column in columns if column.question and column.question.data == data
    )


def main(argv: Sequence[str] | None = None) -> int:
    """Score, resample and print the tables."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.disco_claims", description=__doc__)
    parser.add_argument(
        "--at", default=os.environ.get("NLGAUGE_DATA"), help="folder of data sets (default: $NLGAUGE_DATA)"
    )
    parser.add_argument(
        "--models", nargs="*", default=list(_LAST), help="encoders: none, one or both of minilm and mpnet"
    )
    parser.add_argument(
        "--scores", type=Path, metavar="FILE", help="JSON file of scores: read if it exists, else written"
    )
    parser.add_argument("--vectors", metavar="FILE", help="file of word vectors; adds metrics of entities")
    parser.add_argument("--draws", type=int, default=2000)
    options = parser.parse_args(argv)
    if not options.at:
        print("folder of data sets is not set: use --at FOLDER or NLGAUGE_DATA", file=sys.stderr)
        return 0
    warnings.simplefilter("ignore", NlgaugeWarning)
    cache: dict[str, dict[str, list[list[float]]]] = {}
    if options.scores is not None and options.scores.is_file():
        cache = json.loads(options.scores.read_text(encoding="utf-8"))
    for data in _ASPECTS:
        table = load(data, options.at, **_options(data))
        cached = cache.setdefault(data, {})
        for model in ("", *options.models):
            names = recipes(model) if model else list(_WITHOUT_MODEL)
            if options.vectors:
                entities = _ENTITIES if model else _ENTITIES_WITHOUT_MODEL
                names += [with_vectors(recipe, options.vectors) for recipe in entities]
            missing = [recipe for recipe in names if _name(recipe, model) not in cached]
            if missing:
                scored = score_judgements(table, missing, **({"model": model} if model else {}))
                cached |= {
                    _name(metric.name, model): _grid(table, metric.oriented).tolist() for metric in scored.metrics
                }
        human = {aspect: _grid(table, table.gold(aspect)) for aspect in _ASPECTS[data]}
        _report(data, {name: np.array(values) for name, values in cached.items()}, human, options.draws)
    if options.scores is not None:
        options.scores.write_text(json.dumps(cache), encoding="utf-8")
    return 0


def _name(recipe: str, model: str) -> str:
    short = re.sub(rf"[:,]{_VECTORS}.*", "", recipe)  # drop the path
    return f"{short} [{model}]" if model else short


def _grid(table: JudgementTable, values: Matrix) -> Matrix:
    """Arrange values as systems x articles."""
    systems, articles = list(table.systems), list(dict.fromkeys(table.segment))
    grid = np.full((len(systems), len(articles)), np.nan)
    rows = [systems.index(name) for name in table.system]
    grid[rows, [articles.index(name) for name in table.segment]] = values
    return grid


def _taus(x: Matrix, y: Matrix) -> Matrix:
    """Tau-b of many pairs of short lists (draws x systems); nan if all values of a list tie."""
    first, second = (np.sign(values[:, :, None] - values[:, None, :]) for values in (x, y))
    below = np.sqrt((first**2).sum(axis=(1, 2)) * (second**2).sum(axis=(1, 2)))
    with np.errstate(invalid="ignore"):
        return np.asarray((first * second).sum(axis=(1, 2)) / np.where(below, below, np.nan))


def _drawn(
    scores: Matrix, human: Mapping[str, Matrix], draws: int, *, articles: bool, systems: bool, seed: int = 12345
) -> Matrix:
    """Taus of resamples, aspects x draws; every metric uses the same draws of articles and systems."""
    rng = np.random.default_rng(seed)
    count, width = scores.shape
    columns = rng.integers(0, width, (draws, width)) if articles else np.tile(np.arange(width), (draws, 1))
    rows = rng.integers(0, count, (draws, count)) if systems else np.tile(np.arange(count), (draws, 1))
    places = np.arange(draws)[:, None]
    means = scores[:, columns].mean(axis=2).T[places, rows]
    return np.array(
        [_taus(means, judgements[:, columns].mean(axis=2).T[places, rows]) for judgements in human.values()]
    )


def _report(data: str, scores: Mapping[str, Matrix], human: Mapping[str, Matrix], draws: int) -> None:
    count = len(next(iter(human.values())))
    print(f"\n{data}: {count} systems, tau x 100; 95 % intervals of coherence over articles, systems, both")
    print(f"critical |tau| at the 5 % level: {100 * _critical(count):.2f}")
    for name, values in scores.items():
        taus = [100 * kendalltau(values.mean(axis=1), gold.mean(axis=1)).statistic for gold in human.values()]
        shown = [
            _interval(_drawn(values, human, draws, articles=articles, systems=systems)[0])
            for articles, systems in ((True, False), (False, True), (True, True))
        ]
        summary = np.mean([_summary(values, gold) for gold in human.values()])
        row = " ".join(f"{value:7.2f}" for value in (*taus, np.mean(taus)))
        print(f"{name:45} {row}  {'  '.join(shown)}  summary {summary:6.2f}")
    bert = [name for name in scores if name.startswith("bertscore [")]
    for model in bert:
        tag = model.partition(" ")[2]
        for name in (name for name in scores if name != model and (name.endswith(tag) or "[" not in name)):
            _difference(name, model, scores, human, draws)
    for first, second in combinations([name for name in scores if name.startswith("ds-sent")], 2):
        base = first.partition("[")[0].strip()
        if base == "ds-sent" and first.partition("[")[2] == second.partition("[")[2]:
            _difference(first, second, scores, human, draws)


def _difference(name: str, other: str, scores: Mapping[str, Matrix], human: Mapping[str, Matrix], draws: int) -> None:
    """Print the difference in coherence and in the average over aspects, with intervals over systems and articles."""
    both = [_drawn(scores[item], human, draws, articles=True, systems=True) for item in (name, other)]
    coherence, average = both[0][0] - both[1][0], (both[0] - both[1]).mean(axis=0)
    gold = next(iter(human.values())).mean(axis=1)
    test = permutation_both_of_systems(
        [scores[name], scores[other]], gold, kind="kendall", aggregate=lambda table: table.mean(axis=-1)
    )
    delta = [100 * (_tau(scores[name], item) - _tau(scores[other], item)) for item in human.values()]
    p = float(test.p_values[0, 1])
    print(
        f"{name} - {other}: coherence {delta[0]:6.2f} {_interval(coherence)}, PERM-BOTH p {p:.3f}; "
        f"average {np.mean(delta):6.2f} {_interval(average)}"
    )


def _tau(scores: Matrix, gold: Matrix) -> float:
    return float(kendalltau(scores.mean(axis=1), gold.mean(axis=1)).statistic)


def _summary(scores: Matrix, gold: Matrix) -> float:
    """Mean over articles of tau over systems, without constant articles."""
    return float(100 * np.nanmean(_taus(scores.T, gold.T)))


def _interval(values: Matrix) -> str:
    low, high = np.nanpercentile(100 * values, [2.5, 97.5])
    return f"[{low:6.1f} {high:6.1f}]"


def _critical(count: int) -> float:
    """The smallest tau that is significant at 5 %, two-sided and without ties, from the exact distribution."""
    for swaps in range(count * (count - 1) // 2 + 1):
        order = _order_with(count, swaps)
        result = kendalltau(np.arange(count), order, method="exact")
        if result.pvalue >= 0.05:
            return float(kendalltau(np.arange(count), _order_with(count, swaps - 1)).statistic)
    return 1.0


def _order_with(count: int, swaps: int) -> list[int]:
    """An order with a given number of inversions."""
    order: list[int] = []
    for number in range(count):
        shift = min(swaps, len(order))
        swaps -= shift
        order.insert(len(order) - shift, number)
    return order


if __name__ == "__main__":
    sys.exit(main())
