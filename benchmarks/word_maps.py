"""Maps between the frequent words of two spaces, fitted to half of a dictionary and tested on the other half.

    python -m benchmarks.word_maps --source muse:0:de.txt --target muse:0:en.txt --parallel src.de ref.en
    python -m benchmarks.word_maps --source mpnet:12:a.txt --target minilm:6:b.txt

The dictionary contains equal words (two encoders of one language), or with `--parallel` words that occur in the same
pairs of lines (Dice of at least .5, at least three times). Both spaces are first rotated to their own principal
directions, because two languages may share a space. Prints P@1 by CSLS with an interval over words, and the
difference from the centred rotation over the same words. Networks need nlgauge[torch].
"""

from __future__ import annotations

import argparse
import re
from collections import Counter
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from nlgauge.encoders.load import load_encoder
from nlgauge.stats.resampling import bootstrap_mean
from nlgauge.studies.alignment.adversarial_fit import fit_gan_flow
from nlgauge.studies.alignment.flow_fit import fit_fcnn, fit_flow
from nlgauge.studies.alignment.training_loop import FlowOptions
from nlgauge.studies.alignment.vocabulary import vocabulary_of_texts
from nlgauge.studies.alignment.word_spaces import Pairs, csls
from nlgauge.vectors.cloud import unit_rows
from nlgauge.vectors.remap import fit_remapping, principal_directions

Rows = NDArray[np.float32]
Apply = Callable[[Rows], Rows]
_LEAST_DICE, _FEWEST_TOGETHER, _SEEDS = 0.5, 3, 3


def vocabulary(spec: str) -> tuple[list[str], Rows]:
    """Words and vectors of MODEL:LAYER:FILE; FILE holds texts, or arrays (w, and l with the layer)."""
    model, layer, name = spec.split(":", 2)
    if name.endswith(".npz"):
        with np.load(name) as file:
            return list(file["w"]), file[f"l{layer}"]
    texts = [line for line in Path(name).read_text(encoding="utf-8").split("\n") if line.strip()]
    words = vocabulary_of_texts(load_encoder(model), texts, layer=int(layer))
    return list(words.words), words.vectors


def dictionary(source: list[str], target: list[str], parallel: list[str] | None) -> list[tuple[int, int]]:
    """Rows of linked words."""
    places = {word: row for row, word in enumerate(target)}
    if parallel is None:
        return [(row, places[word]) for row, word in enumerate(source) if word in places]
    own, own_other, both = Counter[str](), Counter[str](), Counter[tuple[str, str]]()
    shared = set(source)
    sides = [Path(name).read_text(encoding="utf-8").split("\n") for name in parallel]
    for left, right in zip(*sides, strict=True):
        a, b = (set(re.findall(r"\w+", line.casefold())) for line in (left, right))
        own.update(a & shared)
        own_other.update(b & set(places))
        both.update((x, y) for x in a & shared for y in b & set(places))
    rows = {word: row for row, word in enumerate(source)}
    best: dict[int, tuple[float, int]] = {}
    for (x, y), count in both.items():
        dice = 2 * count / (own[x] + own_other[y])
        if count >= _FEWEST_TOGETHER and dice >= _LEAST_DICE:
            best[rows[x]] = max(best.get(rows[x], (0.0, 0)), (dice, places[y]))
    return sorted((row, column) for row, (_, column) in best.items())


def hits(moved: Rows, target: Rows, test: list[tuple[int, int]]) -> NDArray[np.float64]:
    """1 for each test word whose nearest neighbour by CSLS among all target words is its counterpart."""
    x, z = (unit_rows(rows - rows.mean(axis=0), pairwise=True) for rows in (moved, target))
    similarity = csls(x @ z.T)
    return np.array([similarity[row].argmax() == column for row, column in test], dtype=np.float64)


def methods(x: Rows, z: Rows, learned: list[tuple[int, int]]) -> dict[str, Callable[[int], Apply]]:
    """Methods by name: each fits a map from a seed."""
    rows, columns = (np.array(side) for side in zip(*learned, strict=True))
    left, right = x[rows], z[columns]

    def linear(name: str, seed: int) -> Apply:
        del seed
        return fit_remapping(left, right, method=name).apply

    def network(fit: Callable[..., Any], options: dict[str, Any], seed: int) -> Apply:
        apply: Apply = fit(left, right, options=FlowOptions(seed=seed, **options)).map.apply
        return apply

    def gan(seed: int) -> Apply:
        options = FlowOptions(learning_rate=5e-5, constraint="cross-correlation", rounds=3, epochs=5, seed=seed)
        return fit_gan_flow(x, z, Pairs(rows, columns), options=options).map.apply

    fits: dict[str, Callable[[int], Apply]] = {
        name: partial(linear, method)
        for name, method in (
            ("rotation", "clp"),
            ("centred rotation", "centred"),
            ("umd", "umd"),
            ("clp-umd", "clp-umd"),
        )
    }
    fits["least squares"] = partial(linear, "lsq")
    fits["fcnn"] = partial(network, fit_fcnn, {"hidden": 512, "epochs": 60, "batch": 64})
    fits["flow"] = partial(network, fit_flow, {"batch": 64, "hidden": 128})
    fits["flow, slow"] = partial(network, fit_flow, {"batch": 64, "hidden": 128, "learning_rate": 1e-4})
    fits["flow, default size"] = partial(network, fit_flow, {"batch": 64})
    return fits | {"gan-flow": gan}


def main() -> None:
    """Print a row per method."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--source", required=True, metavar="MODEL:LAYER:FILE")
    parser.add_argument("--target", required=True, metavar="MODEL:LAYER:FILE")
    parser.add_argument("--parallel", nargs=2, metavar=("SOURCE", "TARGET"))
    parser.add_argument("--methods", nargs="+", metavar="NAME", help="(all)")
    parser.add_argument("--seeds", type=int, default=_SEEDS)
    args = parser.parse_args()
    (source, x), (target, z) = (vocabulary(spec) for spec in (args.source, args.target))
    width = min(x.shape[1], z.shape[1])
    x, z = (
        ((rows - rows.mean(axis=0)) @ principal_directions(rows, count=width)).astype(np.float32) for rows in (x, z)
    )
    gold = dictionary(source, target, args.parallel)
    learned, test = gold[::2], gold[1::2]
    print(f"{len(learned)} training words, {len(test)} test words, among {len(target)}; width {width}")
    print("map\tP@1\tlow\thigh\tdifference\tlow\thigh")
    fits = methods(x, z, learned)
    base = hits(fits["centred rotation"](0)(x), z, test)
    for name in args.methods or fits:
        seeds = args.seeds if name.startswith(("fcnn", "flow", "gan-flow")) else 1
        precisions = np.mean([hits(fits[name](seed)(x), z, test) for seed in range(seeds)], axis=0)
        numbers = [*bootstrap_mean(precisions)[:3], *bootstrap_mean(precisions - base)[:3]]
        print("\t".join([name, *(f"{number:.3f}" for number in numbers)]), flush=True)


if __name__ == "__main__":
    main()
