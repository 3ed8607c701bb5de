"""Maps between the words of two languages in context: fitted to newstest 2018, tested on newstest 2017.

    python -m benchmarks.context_maps --at DATA --sweep                 # options of the flow, on halves of 2018
    python -m benchmarks.context_maps --at DATA --langs de ru tr zh --seeds 3
    python -m benchmarks.context_maps --at DATA --encoders              # mpnet 12 -> minilm 6, English: exact gold

Word links come from IBM model 1, trained on both newstests in both directions, where both directions agree; the
encoder is not used. With `--encoders` a word's counterpart is itself, and the wider space is first reduced to the
width of the other. Lexicon induction: P@1 by CSLS among 3,000 words in context, with an interval over words and the
difference from the centred rotation over the same words. For languages also Pearson's r of XMoverScore (without
language model) with human judgements of WMT17, and the difference from no map over the same resampled segments.
Networks need nlgauge[torch]. Results: docs/findings.
"""

from __future__ import annotations

import argparse
import itertools
import os
import sys
import tempfile
import time
import warnings
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

import nlgauge
from nlgauge.data.cards import load
from nlgauge.encoders.base import Encoder
from nlgauge.encoders.load import load_encoder
from nlgauge.errors import NlgaugeWarning
from nlgauge.stats.correlation import bootstrap_correlations
from nlgauge.stats.resampling import bootstrap_mean
from nlgauge.studies.alignment.adversarial_fit import fit_gan_flow
from nlgauge.studies.alignment.flow_fit import fit_fcnn, fit_flow
from nlgauge.studies.alignment.from_texts import origin_of
from nlgauge.studies.alignment.training_loop import FitRun, FlowOptions
from nlgauge.studies.alignment.word_aligner import Links
from nlgauge.studies.alignment.word_spaces import (
    AlignmentInputs,
    ModelLayer,
    Pairs,
    csls,
    same_width,
    texts_as_words,
)
from nlgauge.vectors.remap import Origin, fit_remapping

Rows = NDArray[np.float32]

#: Number of test words and of training pairs, drawn at random.
_ASKED, _LEARNED = 3000, 20_000
#: Without pairs: words per side, and pairs for the first rotation.
_ALONE, _GUESSED = 5000, 1000
_ROUNDS_OF_IBM, _LEAST_PROBABLE = 6, 0.1
#: Hidden width of the flows: four times the default, to rule out too small a network.
_HIDDEN = 128
#: The twelve settings of a sweep.
_GRID = {"learning_rate": (1e-3, 3e-4, 1e-4), "likelihood": (0.0, 0.1), "couplings": (2, 4)}
_LINEAR = {"rotation (CLP)": "clp", "centred rotation": "centred", "UMD": "umd", "least squares": "lsq"}


class Words(NamedTuple):
    """Vectors of linked words, row by row."""

    source: Rows
    target: Rows

    def narrowed(self, learned: Words) -> Words:
        """Reduce both sides to the smaller width, along the principal directions of the training pairs."""
        steps = same_width(*learned)[2]
        sides = {"source": self.source, "target": self.target}
        return Words(**sides | {side: step.apply(sides[side]) for side, step in steps.items()})

    def some(self, most: int, seed: int) -> Words:
        chosen = np.random.default_rng(seed).permutation(len(self.source))[:most]
        return Words(self.source[chosen], self.target[chosen])


def newstest(data: Path, year: int, lang: str) -> tuple[list[str], list[str]]:
    """Read sources and their translations."""
    folder = data / f"wmt{year % 100}"
    names = (
        f"source/newstest{year}-{lang}en-src.{lang}",
        f"references/newstest{year}-{lang}en-ref.en",
    )
    sides = [(folder / name).read_text(encoding="utf-8").rstrip("\n").split("\n") for name in names]
    return sides[0], sides[1]


def words_of(encoder: Encoder, texts: Sequence[str]) -> list[list[str]]:
    """Split each text into words like the tokenizer, in the order of `texts_as_words`."""
    words = []
    for text, tokens in zip(texts, encoder.tokenizer.encode(list(texts)), strict=True):
        spans = [(int(first), int(first + size)) for first, size in zip(*tokens.word_pieces, strict=True)]
        words.append(
            [
                text[tokens.offsets[first][0] : tokens.offsets[after - 1][1]].casefold()
                for first, after in spans
                if not tokens.is_special[first]
            ]
        )
    return words


def ibm_links(source: list[list[str]], target: list[list[str]]) -> list[Links]:
    """Links of IBM model 1 that both directions share."""
    forth, back = _best_sources(source, target), _best_sources(target, source)
    return [
        tuple((i, j) for j, i in enumerate(left) if i >= 0 and right[i] == j)
        for left, right in zip(forth, back, strict=True)
    ]


def _best_sources(source: list[list[str]], target: list[list[str]]) -> list[list[int]]:
    """For each target word, the position of its most probable source word, or -1."""
    ids: tuple[dict[str, int], dict[str, int]] = ({"": 0}, {})
    cells: list[tuple[NDArray[np.int64], NDArray[np.int64]]] = []
    for left, right in zip(source, target, strict=True):
        e = np.array([0, *(ids[0].setdefault(word, len(ids[0])) for word in left)])
        f = np.array([ids[1].setdefault(word, len(ids[1])) for word in right], dtype=np.int64)
        cells.append((np.tile(e, len(f)), np.repeat(f, len(e))))
    e_all, f_all = (np.concatenate([pair[side] for pair in cells]) for side in (0, 1))
    # A cell is a pair of words in a pair of texts; each target word distributes one unit over all source words.
    sizes = [len(words) + 1 for words in source]
    units = np.repeat(
        np.arange(sum(map(len, target))), [size for size, words in zip(sizes, target, strict=True) for _ in words]
    )
    kinds, kind = np.unique(e_all * np.int64(len(ids[1])) + f_all, return_inverse=True)
    uniform = kinds // len(ids[1])
    table = np.ones(len(kinds))
    for _ in range(_ROUNDS_OF_IBM):
        mass = table[kind]
        mass /= np.bincount(units, weights=mass)[units]
        counts = np.bincount(kind, weights=mass, minlength=len(kinds))
        table = counts / np.bincount(uniform, weights=counts)[uniform]
    sources, start = [], 0
    for size, words in zip(sizes, target, strict=True):
        block = table[kind[start : start + size * len(words)]].reshape(len(words), size)
        start += size * len(words)
        best = block.argmax(axis=1) if len(words) else np.empty(0, dtype=np.int64)
        sources.append([int(i) - 1 if block[j, i] >= _LEAST_PROBABLE else -1 for j, i in enumerate(best)])
    return sources


def words_of_languages(data: Path, lang: str, encoder: Encoder) -> dict[int, Words]:
    """Vectors of linked words in the newstests of two years."""
    texts = {year: newstest(data, year, lang) for year in (2017, 2018)}
    spelt = {year: [words_of(encoder, side) for side in sides] for year, sides in texts.items()}
    links = ibm_links(*(spelt[2017][side] + spelt[2018][side] for side in (0, 1)))
    linked = {2017: links[: len(texts[2017][0])], 2018: links[len(texts[2017][0]) :]}
    by_year = {}
    for year, (source, target) in texts.items():
        rows: tuple[list[Rows], list[Rows]] = ([], [])
        for n, x, z in texts_as_words(AlignmentInputs(encoder, source, target, 0), by_blanks=False):
            # Skip texts for which the tokenizer counts words differently.
            if linked[year][n] and (len(x), len(z)) == tuple(len(side[n]) for side in spelt[year]):
                for side, vectors in enumerate((x, z)):
                    rows[side].append(vectors[[link[side] for link in linked[year][n]]])
        by_year[year] = Words(np.concatenate(rows[0]), np.concatenate(rows[1]))
    return by_year


def words_of_encoders(data: Path) -> dict[int, Words]:
    """Vectors of the same words under two English models."""
    encoder, other = load_encoder("mpnet", threads=1), ModelLayer(load_encoder("minilm", threads=1), 6)
    by_year = {}
    for year in (2017, 2018):
        texts = newstest(data, year, "de")[1][:1500]
        vectors = [
            (x, z)
            for _, x, z in texts_as_words(AlignmentInputs(encoder, texts, texts, 12, other), by_blanks=True)
            if len(x) == len(z)
        ]
        by_year[year] = Words(*(np.concatenate([pair[side] for pair in vectors]) for side in (0, 1)))
    return by_year


def hits(transform: Any, test: Words) -> NDArray[np.float64]:
    """1 for each test word whose nearest neighbour by CSLS is its counterpart."""
    moved = test.source if transform is None else transform.apply(test.source, side="source")
    target = test.target if transform is None else transform.apply(test.target, side="target")
    x, z = (rows / np.maximum(np.linalg.norm(rows, axis=1, keepdims=True), 1e-9) for rows in (moved, target))
    similarity = csls((x @ z.T).astype(np.float32))
    return np.array(similarity.argmax(axis=1) == np.arange(len(x)), dtype=np.float64)


def maps(learned: Words, options: FlowOptions, seeds: int, origin: Origin) -> Iterator[tuple[str, list[Any]]]:
    """Each method with its maps, one per seed if it uses seeds."""
    for name, method in _LINEAR.items():
        yield name, [fit_remapping(*learned, method=method, origin=origin)]
    networks = FlowOptions(hidden=512, epochs=20)
    yield (
        "FCNN",
        [fit_fcnn(*learned, options=replace(networks, seed=s), run=FitRun(origin)).map for s in range(seeds)],
    )
    yield (
        "Real-NVP",
        [fit_flow(*learned, options=replace(options, seed=s), run=FitRun(origin)).map for s in range(seeds)],
    )
    # Without pairs: both sides are shuffled, and some pairs serve for the first rotation only.
    few = learned.some(_ALONE, 3)
    order = np.random.default_rng(0).permutation(len(few.source))
    places = np.argsort(order)[:_GUESSED]
    guess = Pairs(np.arange(_GUESSED), places)
    start = Words(few.source[:_GUESSED], few.target[:_GUESSED])
    yield f"centred rotation of {_GUESSED} pairs", [fit_remapping(*start, method="centred", origin=origin)]
    gan = FlowOptions(hidden=_HIDDEN, learning_rate=5e-5, constraint="cross-correlation", rounds=2, epochs=3)
    yield (
        "GAN-Real-NVP from this rotation",
        [fit_gan_flow(few.source, few.target[order], guess, options=gan, run=FitRun(origin)).map],
    )


def agreement(data: Path, lang: str, transforms: Sequence[Any]) -> list[str]:
    """Correlation of XMoverScore with human judgements, without and with each map, and their differences."""
    table = load("wmt17", data, langpairs=[f"{lang}-en"])
    human = table.human[table.default_criterion or ""]
    judged = np.flatnonzero(~np.isnan(human))
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        for number, transform in enumerate([None, *transforms]):
            name = "none"
            if transform is not None:
                name = str(Path(folder) / f"{number}.npz")
                transform.save(Path(name))
            scores = nlgauge.score(
                [table.hypothesis[row] for row in judged],
                sources=[(table.source or ())[row] for row in judged],
                metric="xmoverscore",
                lm="none",
                transforms=name,
                threads=1,
            )
            rows.append(scores.segments[scores.main])
    drawn = bootstrap_correlations(np.stack(rows), human[judged], resamples=2000)
    cells = [f"{drawn.observed[0]:.3f}"]
    for number in range(1, len(rows)):
        low, high = np.percentile(drawn.draws[:, number] - drawn.draws[:, 0], (2.5, 97.5))
        gain = drawn.observed[number] - drawn.observed[0]
        cells.append(f"{drawn.observed[number]:.3f} ({gain:+.3f}, {low:+.3f} to {high:+.3f})")
    return cells


def report(title: str, words: dict[int, Words], options: FlowOptions, args: argparse.Namespace, lang: str) -> None:
    """Print a row per method as soon as it is computed."""
    learned, test = words[2018].some(_LEARNED, 1), words[2017].some(_ASKED, 2)
    learned, test = learned.narrowed(learned), test.narrowed(learned)
    sizes = f"{len(learned.source)} of {len(words[2018].source)} training pairs, {len(test.source)} test words"
    print(f"\n{title}: {sizes}", flush=True)
    origin = Origin()
    if lang:
        origin = origin_of(load_encoder("muse", threads=1), 0, None, Origin(source=lang, target="en"))
    base: NDArray[np.float64] | None = None
    maps_of_method: dict[str, Any] = {}
    if lang:
        _row("no map", [hits(None, test)], None, 0.0)
    for name, fitted in timed(maps(learned, options, args.seeds, origin)):
        precisions = [hits(transform, test) for transform in fitted[0]]
        base = precisions[0] if name == "centred rotation" or base is None else base
        _row(name, precisions, base, fitted[1])
        maps_of_method[name] = fitted[0][0]
    if lang:
        for name, cell in zip(
            ("no map", *maps_of_method), agreement(args.at, lang, list(maps_of_method.values())), strict=True
        ):
            print(f"XMoverScore, {name}\t{cell}", flush=True)


def timed(items: Iterator[tuple[str, list[Any]]]) -> Iterator[tuple[str, tuple[list[Any], float]]]:
    """Add the CPU time of each item."""
    while True:
        began = time.process_time()
        try:
            name, item = next(items)
        except StopIteration:
            return
        yield name, (item, time.process_time() - began)


def _row(name: str, precisions: list[NDArray[np.float64]], base: NDArray[np.float64] | None, seconds: float) -> None:
    mean = np.mean(precisions, axis=0)
    cells = ["{:.3f} ({:.3f} to {:.3f})".format(*bootstrap_mean(mean)[:3])]
    if base is not None:
        cells.append("{:+.3f} ({:+.3f} to {:+.3f})".format(*bootstrap_mean(mean - base)[:3]))
    seeds = " ".join(f"{values.mean():.3f}" for values in precisions)
    print("\t".join([name, *cells, f"by seed {seeds}", f"{seconds:.0f} s"]), flush=True)


def sweep(words: Words) -> None:
    """Compare options of the flow, fitted to one half of the pairs and tested on the other."""
    half = len(words.source) // 2
    learned = Words(words.source[:half], words.target[:half]).some(_LEARNED // 2, 1)
    test = Words(words.source[half:], words.target[half:]).some(_ASKED, 2)
    print(f"\nsweep: {len(learned.source)} training pairs, {len(test.source)} test words")
    for name, method in _LINEAR.items():
        print(f"{name}\t{hits(fit_remapping(*learned, method=method), test).mean():.3f}", flush=True)
    for values in itertools.product(*_GRID.values()):
        settings: dict[str, Any] = dict(zip(_GRID, values, strict=True))
        fit = fit_flow(*learned, options=FlowOptions(hidden=_HIDDEN, **settings))
        print(f"{settings}\t{hits(fit.map, test).mean():.3f}\tbest epoch {fit.best}", flush=True)


def main(argv: Sequence[str] | None = None) -> int:
    """Print a table per pair of spaces."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument(
        "--at", type=Path, default=os.environ.get("NLGAUGE_DATA"), help="folder of data sets (default: $NLGAUGE_DATA)"
    )
    parser.add_argument("--langs", nargs="*", default=[], help="languages to map to English, under muse")
    parser.add_argument("--encoders", action="store_true", help="also map mpnet layer 12 to minilm layer 6, English")
    parser.add_argument("--sweep", action="store_true", help="German only")
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--learning-rate", type=float, default=FlowOptions.learning_rate)
    parser.add_argument("--likelihood", type=float, default=FlowOptions.likelihood)
    parser.add_argument("--couplings", type=int, default=FlowOptions.couplings)
    args = parser.parse_args(argv)
    if args.at is None:
        print("folder of data sets is not set: use --at FOLDER or NLGAUGE_DATA", file=sys.stderr)
        return 0
    warnings.simplefilter("ignore", NlgaugeWarning)
    options = FlowOptions(
        hidden=_HIDDEN, learning_rate=args.learning_rate, likelihood=args.likelihood, couplings=args.couplings
    )
    muse = load_encoder("muse", threads=1) if args.langs or args.sweep else None
    if args.sweep and muse is not None:
        sweep(words_of_languages(args.at, "de", muse)[2018])
    for lang in args.langs:
        if muse is not None:
            report(f"muse {lang} - en", words_of_languages(args.at, lang, muse), options, args, lang)
    if args.encoders:
        report("mpnet 12 - minilm 6, English", words_of_encoders(args.at), options, args, "")
    return 0


if __name__ == "__main__":
    sys.exit(main())
