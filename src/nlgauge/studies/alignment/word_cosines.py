"""How well vectors tell translated words from other words, and where the languages are (Zhao et al. 2021).

    matched     cosine of linked words of parallel texts
    random      cosine of a linked word with another word of the translation, to which it is not linked
    separation  probability that a matched pair has a higher cosine than a random one: .5 is chance, 1 complete

Figure 2 of the paper has histograms of 500 pairs of each kind, before and after re-mapping and normalisation.
Figure 8 is a plane with the mean vector of each language. The paper uses t-SNE, whose picture of few points depends
on perplexity and seed; here are the first two principal axes, in which distances keep their meaning.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.stats import rankdata

from nlgauge.encoders.base import vectors_digest
from nlgauge.errors import InputError, RecipeError
from nlgauge.io.canvas import COLOURS, WIDEST, finish_figure, new_panels, panel_grid, shorten
from nlgauge.stats.correlation import correlate
from nlgauge.studies.alignment.evaluation import held_out_words
from nlgauge.studies.alignment.from_texts import check_layer
from nlgauge.studies.alignment.word_spaces import AlignmentInputs, CentroidChange, LanguageCentroids
from nlgauge.text.typology import Typology
from nlgauge.vectors.cloud import unit_rows
from nlgauge.vectors.transforms import load_transforms

#: Number of pairs of words in the paper.
PAIRS = 500

_BINS = np.linspace(-1.0, 1.0, 51)


@dataclass(frozen=True, eq=False)
class PairCosines:
    """Cosines of matched and of random pairs under transforms."""

    name: str
    """The transforms, or `none`."""
    matched: NDArray[np.float64]
    random: NDArray[np.float64]

    @property
    def separation(self) -> float:
        """Probability that a matched pair is above a random one; ties count half.

        >>> PairCosines("none", np.array([0.9, 0.5]), np.array([0.5, 0.1])).separation
        0.875
        """
        ranks = rankdata(np.concatenate([self.matched, self.random]))[: len(self.matched)]
        least = len(self.matched) * (len(self.matched) + 1) / 2
        return float((ranks.sum() - least) / (len(self.matched) * len(self.random)))


def word_pair_cosines(
    inputs: AlignmentInputs,
    transforms: Sequence[str] = (),
    *,
    languages: tuple[str, str] = ("", "en"),
    pairs: int = PAIRS,
    seed: int = 12345,
) -> list[PairCosines]:
    """Compute cosines of the same pairs of words for unchanged vectors and under each of the transforms."""
    check_layer(inputs.encoder, inputs.layer)
    words = held_out_words(inputs)
    known = None if words.gold else dict(zip(words.numbers, words.links, strict=True))
    sizes = [len(rows) for rows in words.target]
    matched, random = draw_pairs([sorted(set(links)) for links in words.links], sizes, pairs=pairs, seed=seed)
    results = [PairCosines("none", _cosines(words, matched), _cosines(words, random))]
    for name in dict.fromkeys(transforms):
        loaded = load_transforms(name, source=languages[0], target=languages[1])
        if loaded is not None:
            encoder = inputs.encoder
            loaded.check(vectors_digest(encoder), layers=(inputs.layer,), width=encoder.hidden_size)
            moved = held_out_words(replace(inputs, transforms=loaded, known_links=known))
            results.append(PairCosines(name, _cosines(moved, matched), _cosines(moved, random)))
    return results


_Drawn = NDArray[np.int64]


def draw_pairs(
    links: Sequence[Sequence[tuple[int, int]]], sizes: Sequence[int], *, pairs: int, seed: int
) -> tuple[_Drawn, _Drawn]:
    """Draw linked words, and for each another target word of the same text that the source word is not linked to.

    Rows are text, source word, target word. `sizes`: number of target words of each text. All pairs are taken where
    there are not more than `pairs`.
    """
    chance = np.random.default_rng(seed)
    candidates = []
    for n, (own, size) in enumerate(zip(links, sizes, strict=True)):
        for i, j in own:
            others = sorted(set(range(size)) - {target for source, target in own if source == i})
            if others:
                candidates.append((n, i, j, others))
    if not candidates:
        msg = "no text has both a linked word and another word; provide longer texts"
        raise InputError(msg)
    chosen = sorted(chance.permutation(len(candidates))[:pairs].tolist())
    matched = [candidates[k][:3] for k in chosen]
    random = [(n, i, int(chance.choice(others))) for n, i, _, others in (candidates[k] for k in chosen)]
    return np.array(matched), np.array(random)


def _cosines(words: Any, pairs: _Drawn) -> NDArray[np.float64]:
    x, z = (
        unit_rows(np.stack([side[n][place] for n, place in pairs[:, [0, column]].tolist()]), pairwise=True)
        for side, column in ((words.source, 1), (words.target, 2))
    )
    cosines: NDArray[np.float64] = (x.astype(np.float64) * z).sum(axis=1)
    return cosines


def draw_cosines(results: Sequence[PairCosines]) -> Any:
    """Draw a panel of two histograms for each row (Figure 2 of the paper)."""
    rows, columns = panel_grid(len(results), most_columns=3)
    figure, panels = new_panels(rows, columns, width=min(WIDEST, 3.6 * columns), height=2.6)
    for axes, result in zip(panels, results, strict=False):
        for name, cosines, colour in (("random", result.random, COLOURS[1]), ("matched", result.matched, COLOURS[0])):
            share = np.full(len(cosines), 1 / len(cosines))
            axes.hist(cosines, bins=_BINS, weights=share, alpha=0.65, color=colour, label=name)
        name = "unchanged vectors" if result.name == "none" else shorten(result.name)
        axes.set_title(f"{name}: separation {result.separation:.2f}", loc="left", fontsize=8)
        axes.set_xlabel("cosine", fontsize=8)
        axes.tick_params(labelsize=7)
    for axes in panels[len(results) :]:
        axes.set_visible(False)
    handles, labels = panels[0].get_legend_handles_labels()
    finish_figure(
        figure,
        title="cosines of matched and random pairs of words",
        caption=f"{len(results[0].matched)} pairs of each kind. Separation: probability that a matched pair has the "
        "higher cosine.",
        legend=(handles[::-1], [f"{label} pairs" for label in labels[::-1]]),
    )
    return figure


def plane_of(distance: NDArray[np.float64]) -> NDArray[np.float64]:
    """Place points in a plane by their distances: the first two principal axes (classical scaling; Torgerson 1952).

    The sign of an axis makes its largest entry positive. Distances of points in a plane are kept:

    >>> plane_of(np.array([[0.0, 3.0, 4.0], [3.0, 0.0, 5.0], [4.0, 5.0, 0.0]])).shape
    (3, 2)
    """
    count = len(distance)
    centring = np.eye(count) - 1 / count
    values, axes = np.linalg.eigh(-0.5 * centring @ distance**2 @ centring)
    place = axes[:, ::-1][:, :2] * np.sqrt(np.clip(values[::-1][:2], 0, None))
    place = np.pad(place, ((0, 0), (0, 2 - place.shape[1])))
    largest = place[np.abs(place).argmax(axis=0), [0, 1]]
    plane: NDArray[np.float64] = place * np.where(largest < 0, -1.0, 1.0)
    return plane


def _label_offsets(plane: NDArray[np.float64]) -> list[tuple[float, float]]:
    """Offsets in points from each point to its label, so that labels cover neither each other nor a point."""
    half = 110.0  # points from the middle of a panel to its edge
    points = list(half * plane)
    taken = list(points)
    offsets = []
    for point in points:
        options = [
            (radius * np.cos(angle), radius * np.sin(angle))
            for radius in (11.0, 20.0, 30.0)
            for angle in np.arange(8) * np.pi / 4
        ]
        room = [
            min((float(np.hypot(*(point + option - other))) for other in taken if other is not point), default=99.0)
            for option in options
        ]
        # The nearest place with enough room for a label, or else the one with most.
        best = next((i for i, space in enumerate(room) if space > 13), int(np.argmax(room)))
        offsets.append(options[best])
        taken.append(point + options[best])
    return offsets


class TypologyCorrelation(NamedTuple):
    """Correlations of the cosines of mean vectors with the similarity of languages (Table 5 of the paper)."""

    pairs: int
    kendall: float
    pearson: float
    spearman: float


def check_pairs(languages: Sequence[str], pivot: str = "") -> list[tuple[int, int]]:
    """The pairs of languages, all or those with the pivot; raises InputError for fewer than three."""
    if pivot and pivot not in languages:
        msg = f"the pivot must be one of {', '.join(languages)}, got {pivot!r}"
        raise RecipeError(msg)
    pairs = [
        pair for pair in combinations(range(len(languages)), 2) if not pivot or pivot in {languages[i] for i in pair}
    ]
    if len(pairs) < 3:
        msg = f"a correlation needs at least three pairs of languages, got {len(pairs)}; add languages"
        raise InputError(msg)
    return pairs


def correlate_with_typology(
    centroids: LanguageCentroids, typology: Typology, *, pivot: str = ""
) -> TypologyCorrelation:
    """Correlate the cosines of mean vectors with the similarity of languages by their features."""
    names = centroids.languages
    pairs = check_pairs(names, pivot)
    cosines = [float(centroids.cosine[pair]) for pair in pairs]
    features = [typology.similarity(names[i], names[j]) for i, j in pairs]
    numbers = (correlate(cosines, features, kind=kind).value for kind in ("kendall", "pearson", "spearman"))
    return TypologyCorrelation(len(pairs), *numbers)


def draw_centroids(change: CentroidChange, *, transforms: str = "none") -> Any:
    """Draw the mean vector of each language, before and after transforms (Figure 8 of the paper)."""
    states = [("unchanged vectors", change.before)]
    if transforms != "none":
        states.append((shorten(transforms), change.after))
    figure, panels = new_panels(1, len(states), width=4.2 * len(states), height=3.8)
    planes = [plane_of(state.relative) for _, state in states]
    reach = 1.25 * max(float(np.abs(plane).max()) for plane in planes) or 1.0
    for axes, (title, state), plane in zip(panels, states, planes, strict=True):
        axes.scatter(*plane.T, color=COLOURS[0], s=28)
        for language, point, offset in zip(state.languages, plane, _label_offsets(plane / reach), strict=True):
            line = {"arrowstyle": "-", "color": "#999999", "linewidth": 0.6}
            middle = {"ha": "center", "va": "center", "fontsize": 8}
            axes.annotate(language, point, offset, textcoords="offset points", arrowprops=line, **middle)
        axes.set_xlim(-reach, reach)
        axes.set_ylim(-reach, reach)
        axes.set_aspect("equal")
        axes.grid(visible=True, color="#dddddd", linewidth=0.8)
        axes.set_title(title, loc="left", fontsize=9)
        axes.tick_params(labelsize=7)
    finish_figure(
        figure,
        title="mean vectors of languages",
        caption="First two principal axes. Unit: root mean square distance of a vector to the mean of its language.",
    )
    return figure
