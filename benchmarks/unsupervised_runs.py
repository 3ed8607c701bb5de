"""Test the thresholds of unsupervised alignment on spaces that did not set them.

    python -m benchmarks.unsupervised_runs --at DATA [--only NAME ...] [--seed 3] [--runs 2]

Data: newstests (WMT17, WMT18) encoded with muse, minilm and mpnet. Vocabularies are first rotated to their own
principal directions, because two languages may share a space. P@1 is by CSLS among the 1,500 most frequent words. The
gold dictionary contains equal words, words that occur in the same pairs of lines (Dice), or without pairs of lines,
mutual neighbours before the rotation. Controls have no correct alignment: other words, or a scrambled target. A run
takes about a minute on one processor.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Sequence
from functools import cache, partial
from pathlib import Path
from typing import NamedTuple

import numpy as np

from benchmarks.word_maps import Rows, dictionary, hits
from nlgauge.encoders.load import load_encoder
from nlgauge.studies.alignment.unsupervised import LEAST_AGREEMENT, LEAST_GAIN, learn_alignment
from nlgauge.studies.alignment.vocabulary import vocabulary_of_texts
from nlgauge.studies.alignment.word_spaces import csls_pairs
from nlgauge.vectors.cloud import unit_rows
from nlgauge.vectors.remap import fit_remapping, principal_directions

#: Number of aligned words per side, as in a fit; smallest P@1 of a good run.
_WORDS, _GOOD = 1500, 0.5


class Side(NamedTuple):
    """Words with their vectors, most frequent first."""

    words: list[str]
    rows: Rows


class Condition(NamedTuple):
    """Two sides, and the rows of linked words (empty: no links)."""

    source: Side
    target: Side
    gold: list[tuple[int, int]]


class Files:
    """Newstests by short names, with cached vocabularies."""

    def __init__(self, folder: Path) -> None:
        self._at = folder
        self.side = cache(self._side)

    def path(self, name: str) -> Path:
        """Path of a newstest; `18 deen src.de` is the source of WMT18 de-en."""
        year, pair, kind = name.split()
        folder = "source" if kind.startswith("src") else "references"
        return self._at / f"wmt{year}" / folder / f"newstest20{year}-{pair}-{kind}"

    def _side(self, model: str, layer: int, *names: str) -> Side:
        texts = [
            line for name in names for line in self.path(name).read_text("utf-8-sig").split("\n") if line.strip()
        ]
        vocabulary = vocabulary_of_texts(load_encoder(model, threads=1), list(dict.fromkeys(texts)), layer=layer)
        return Side(list(vocabulary.words[:_WORDS]), vocabulary.vectors[:_WORDS])

    def languages(self, source: Sequence[str], target: Sequence[str], pairs: str) -> Condition:
        """Two languages in muse; gold from the lines of `pairs` and their translations, or neighbours in muse."""
        left, right = self.side("muse", 0, *source), self.side("muse", 0, *target)
        if pairs:
            names = [str(self.path(name)) for name in pairs.split(",")]
            return Condition(left, right, dictionary(left.words, right.words, names))
        centred = (side.rows - side.rows.mean(axis=0) for side in (left, right))
        links, _ = csls_pairs(*(unit_rows(rows, pairwise=True) for rows in centred))
        return Condition(left, right, list(zip(links.source.tolist(), links.target.tolist(), strict=True)))

    def spaces(self, source: tuple[str, int, str], target: tuple[str, int, str]) -> Condition:
        """English in two layers or models; each word is linked to itself."""
        sides = [self.side(model, layer, *names.split(",")) for model, layer, names in (source, target)]
        return Condition(sides[0], sides[1], dictionary(sides[0].words, sides[1].words, None))

    def models(self, source: tuple[str, ...], target: tuple[str, ...], pairs: str) -> Condition:
        """One language in muse and English in minilm."""
        left, right = self.side("muse", 0, *source), self.side("minilm", 6, *target)
        return Condition(
            left, right, dictionary(left.words, right.words, [str(self.path(name)) for name in pairs.split(",")])
        )

    def halves(self, model: str, layer: int, other: int, *names: str) -> Condition:
        """Even and odd words of a text: no word has a counterpart."""
        sides = [self.side(model, number, *names) for number in (layer, other)]
        parts = [Side(side.words[start::2], side.rows[start::2]) for start, side in enumerate(sides)]
        return Condition(parts[0], parts[1], [])

    def scrambled(self, source: str, target: str) -> Condition:
        """A target whose principal directions are permuted independently."""
        left, right = self.side("muse", 0, source), self.side("muse", 0, target)
        along = (right.rows - right.rows.mean(axis=0)) @ principal_directions(
            right.rows, count=right.rows.shape[1]
        ).astype(np.float32)
        mixed = np.random.default_rng(99).permuted(along, axis=0).astype(np.float32)
        return Condition(left, Side(right.words, mixed), [])


def conditions(files: Files) -> dict[str, Callable[[], Condition]]:
    """Conditions by name: lines of one year, or English lines of test sets with other sources."""
    english = "18 deen ref.en"
    more = ("17 csen ref.en", "18 fien ref.en")
    both = partial(files.languages)
    builders: dict[str, Callable[[], Condition]] = {
        "muse de - en, 2018, both sides of pairs": partial(
            both, ["18 deen src.de"], [english], "18 deen src.de,18 deen ref.en"
        ),
        "muse ru - en, 2018, others": partial(both, ["18 ruen src.ru"], [english], "18 ruen src.ru,18 ruen ref.en"),
        "muse tr - en, 2018, others": partial(both, ["18 tren src.tr"], [english], "18 tren src.tr,18 tren ref.en"),
        "muse zh - en, 2018, others": partial(both, ["18 zhen src.zh"], [english], ""),
        "muse de - ru, 2018, others": partial(both, ["18 deen src.de"], ["18 ruen src.ru"], ""),
        "muse ru - en, both years, others": partial(
            both, ["17 ruen src.ru", "18 ruen src.ru"], more, "18 ruen src.ru,18 ruen ref.en"
        ),
        "muse tr - en, both years, others": partial(
            both, ["17 tren src.tr", "18 tren src.tr"], more, "18 tren src.tr,18 tren ref.en"
        ),
        "minilm 6 - minilm 5, same": partial(files.spaces, ("minilm", 6, english), ("minilm", 5, english)),
        "minilm 6 - minilm 3, others": partial(files.spaces, ("minilm", 6, english), ("minilm", 3, "18 fien ref.en")),
        "mpnet 12 - mpnet 8, same": partial(files.spaces, ("mpnet", 12, english), ("mpnet", 8, english)),
        "mpnet 12 - minilm 6, same": partial(files.spaces, ("mpnet", 12, english), ("minilm", 6, english)),
        "mpnet 12 - minilm 6, more lines, others": partial(
            files.spaces,
            ("mpnet", 12, "17 csen ref.en,17 lven ref.en,17 tren ref.en"),
            ("minilm", 6, "18 deen ref.en,18 fien ref.en,18 ruen ref.en"),
        ),
        "muse ru - minilm 6 en": partial(
            files.models, ("18 ruen src.ru",), (english,), "18 ruen src.ru,18 ruen ref.en"
        ),
        "control: muse en, other words": partial(files.halves, "muse", 0, 0, english, *more),
        "control: minilm 6 - 5, other words": partial(files.halves, "minilm", 6, 5, english, *more),
        "control: muse de - scrambled en": partial(files.scrambled, "18 deen src.de", english),
    }
    return builders


def turned(condition: Condition) -> tuple[Rows, Rows]:
    """Rotate both sides to their own principal directions, at the smaller width."""
    width = min(side.rows.shape[1] for side in condition[:2])
    sides = [
        ((side.rows - side.rows.mean(axis=0)) @ principal_directions(side.rows, count=width)).astype(np.float32)
        for side in condition[:2]
    ]
    return sides[0], sides[1]


def judge(name: str, condition: Condition, *, seed: int, runs: int) -> list[tuple[bool, bool]]:
    """Print a row per seed, and return whether each run is good and whether it is accepted."""
    x, z = turned(condition)
    if min(len(x), len(z)) < x.shape[1]:
        print(f"{name}\t-\t{len(x)} and {len(z)} frequent words do not span {x.shape[1]} dimensions", flush=True)
        return []
    verdicts = []
    alignment = learn_alignment(x, z, restarts=runs, seed=seed)
    for attempt in alignment.attempts:
        rotation = fit_remapping(x[attempt.pairs.source], z[attempt.pairs.target], method="centred")
        right = hits(rotation.apply(x), z, condition.gold).mean() if condition.gold else 0.0
        gain = (attempt.criterion - alignment.chance) / (1 - alignment.chance)
        accepted = gain >= LEAST_GAIN and attempt.agreement >= LEAST_AGREEMENT and len(attempt.pairs) >= x.shape[1]
        numbers = (right, attempt.criterion, alignment.chance, gain, attempt.agreement)
        shown = [f"{number:.3f}" for number in numbers]
        if not condition.gold:
            shown[0] = "-"
        sizes = [f"{len(x)}", f"{len(z)}", f"{len(condition.gold)}", f"{len(attempt.pairs)}"]
        print("\t".join([name, f"{attempt.seed}", *shown, *sizes, "accepted" if accepted else "refused"]), flush=True)
        verdicts.append((bool(right >= _GOOD), accepted))
    return verdicts


def main() -> int:
    """Print a row per run, and the errors of the thresholds."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--at", type=Path, required=True, metavar="DATA")
    parser.add_argument(
        "--only", nargs="+", metavar="NAME", help="run conditions whose name contains one of these (default: all)"
    )
    parser.add_argument("--seed", type=int, default=3, help="random seed of the first run (default: 3)")
    parser.add_argument("--runs", type=int, default=2, help="runs per condition (default: 2)")
    args = parser.parse_args()
    columns = ["P@1", "criterion", "by-chance", "gain", "agreement", "source", "target", "gold", "pairs", "verdict"]
    print("\t".join(["vectors", "seed", *columns]), flush=True)
    verdicts: list[tuple[bool, bool]] = []
    for name, make in conditions(Files(args.at)).items():
        if not args.only or any(part in name for part in args.only):
            verdicts += judge(name, make(), seed=args.seed, runs=args.runs)
    good = [accepted for is_good, accepted in verdicts if is_good]
    bad = [accepted for is_good, accepted in verdicts if not is_good]
    print(f"{len(good)} good runs (P@1 >= {_GOOD}), {len(good) - sum(good)} of them rejected")
    print(f"{len(bad)} other runs, {sum(bad)} of them accepted")
    return 0


if __name__ == "__main__":
    sys.exit(main())
