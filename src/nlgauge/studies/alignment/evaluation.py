"""Evaluate maps and normalisations between two languages on held-out texts, at one or several layers.

    induction   P@1 of linked words by cosine and CSLS: whether the nearest linked word of the other language is the
                translation. Words are occurrences in context, not types (contextual lexicon induction).
    retrieval   P@1 of texts: whether the nearest text of the other language is the translation; a text is the mean of
                its words
    alignment   F1 of mutual nearest words within a pair of texts against gold links
    correlation Pearson's r of XMoverScore under the map with human scores of translations

Links come from annotators, from the word aligner, or are mutual nearest neighbours before any map, which favour
unchanged vectors. F1 needs given links.

`evaluate_alignment` compares unchanged vectors, maps and normalisations: a curve over the layers of a model (Zhao et
al. 2021, Figures 6 and 7) or over sizes of the parallel text (Zhao et al. 2020, Figure 4).
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from nlgauge.core.metric import Metric
from nlgauge.core.scoring import score_systems
from nlgauge.encoders.base import vectors_digest
from nlgauge.errors import InputError, RecipeError
from nlgauge.io.canvas import finish_figure, legend_entries, new_panels, series_styles, shorten
from nlgauge.metrics.xmoverscore import XMoverScore
from nlgauge.stats.correlation import correlate
from nlgauge.studies.alignment.from_texts import check_enough, check_layer, moments_of_texts, words_of_texts
from nlgauge.studies.alignment.word_aligner import Links
from nlgauge.studies.alignment.word_spaces import (
    AlignmentInputs,
    Pairs,
    induction_precision,
    linked_texts,
    mutual_nearest,
)
from nlgauge.vectors.cloud import unit_rows
from nlgauge.vectors.remap import fit_remapping
from nlgauge.vectors.transforms import (
    FIXED_NORMS,
    NORM_MODES,
    FittedTransform,
    FixedNorm,
    LanguageMeans,
    load_map,
    load_transforms,
)

#: Maximum number of links for lexicon induction, in text order.
_MOST_LINKS = 3000

#: Names of the two sides in files of means that exist only during an evaluation; en is the target of every recipe.
_SIDES = ("source", "en")

Rows = NDArray[np.float32]


class HeldOut(NamedTuple):
    """Words of parallel texts and their links."""

    source: tuple[Rows, ...]
    """A row per word, of each pair of texts."""
    target: tuple[Rows, ...]
    links: tuple[Links, ...]
    gold: bool
    """Whether the links were given."""
    left_out: int
    """Pairs of texts that are empty, too long, or whose words the tokenizer does not separate."""
    numbers: tuple[int, ...] = ()
    """Numbers of the pairs of texts."""


class MapQuality(NamedTuple):
    """Shares between 0 and 1; NaN if undefined."""

    induction_cosine: float
    induction_csls: float
    retrieval: float
    alignment_f1: float
    links: int
    """Number of links in lexicon induction."""
    texts: int


def held_out_words(inputs: AlignmentInputs) -> HeldOut:
    """Encode held-out texts once, for any number of maps."""
    inputs.check_links()
    usable = list(linked_texts(inputs))
    if len(usable) < 2:
        msg = f"{len(usable)} of {len(inputs.source)} pairs of texts have words to compare; provide at least two"
        raise InputError(msg)
    numbers, links, source, target = zip(*usable, strict=True)
    if not any(links):
        msg = "no words are linked; provide links between translated words"
        raise InputError(msg)
    return HeldOut(source, target, links, inputs.alignments is not None, len(inputs.source) - len(usable), numbers)


def evaluate_map(words: HeldOut, transform: FittedTransform | None) -> MapQuality:
    """Evaluate a map (None: unchanged vectors) on held-out words."""
    source, target = list(words.source), list(words.target)
    if transform is not None:
        source = [transform.apply(rows, side="source") for rows in source]
        target = [transform.apply(rows, side="target") for rows in target]
    x, z = (
        unit_rows(
            np.concatenate(
                [rows[[link[place] for link in links]] for rows, links in zip(side, words.links, strict=True)]
            ),
            pairwise=True,
        )
        for place, side in ((0, source), (1, target))
    )
    x, z = x[:_MOST_LINKS], z[:_MOST_LINKS]
    by_cosine, by_csls = (induction_precision(x, z, Pairs.of_rows(len(x)), by=by) for by in ("cosine", "csls"))
    means = [unit_rows(np.stack([rows.mean(axis=0) for rows in side]), pairwise=True) for side in (source, target)]
    retrieved = induction_precision(means[0], means[1], Pairs.of_rows(len(source)), by="cosine")
    f1 = float("nan")
    if words.gold:
        f1 = link_f1([mutual_nearest(a, b) for a, b in zip(source, target, strict=True)], words.links)
    return MapQuality(by_cosine, by_csls, retrieved, f1, len(x), len(source))


def link_f1(found: Sequence[Links], gold: Sequence[Links]) -> float:
    """F1 over all links of all texts.

    >>> link_f1([((0, 0), (1, 1))], [((0, 0), (1, 2), (2, 2))])
    0.4
    """
    right = sum(len(set(ours) & set(theirs)) for ours, theirs in zip(found, gold, strict=True))
    return 2 * right / max(sum(map(len, found)) + sum(len(set(links)) for links in gold), 1)


class Rated(NamedTuple):
    """Translations with human scores."""

    sources: Sequence[str]
    hyps: Sequence[str]
    human: Sequence[float]

    def check(self) -> None:
        """Raise an error for translations that cannot be correlated with human scores."""
        if not len(self.sources) == len(self.hyps) == len(self.human):
            counts = f"{len(self.sources)}, {len(self.hyps)} and {len(self.human)}"
            msg = f"expected as many sources, outputs and scores, got {counts}"
            raise InputError(msg)
        if len(self.human) < 3 or not np.isfinite(self.human).all():
            msg = "a correlation needs at least three finite human scores"
            raise InputError(msg)

    def correlations(self, steps: Sequence[tuple[int, str, str]], *, model: str, **options: Any) -> list[float]:
        """Pearson's r with XMoverScore without a language model, for each layer, its transforms and source language.

        The chapter's RFEval omits the language model, so the result depends on vectors only. Texts are encoded once.
        """
        recipes: list[Metric] = [
            XMoverScore(lm="none", transforms=chosen, aggregation=f"layer-{layer}", model=model, src_lang=language)
            for layer, chosen, language in steps
        ]
        scores = score_systems({"": list(self.hyps)}, sources=list(self.sources), metric=recipes, **options)
        return [correlate(score.segments[score.main], self.human).value for score in scores]


@dataclass(frozen=True, kw_only=True)
class Compared:
    """What is compared with unchanged vectors, at each layer."""

    maps: Sequence[tuple[str, Path]] = ()
    """Name and file of fitted maps."""
    norms: Sequence[str] = ()
    """Normalisations: of `FIXED_NORMS`, `position-norm-N`, `centre` or `standardise`."""
    fit_on: AlignmentInputs | None = None
    """Other parallel texts, for the methods and for `centre` and `standardise`."""
    methods: Sequence[str] = ()
    """Methods of `fit_remapping`."""
    sizes: Sequence[int] = ()
    """Numbers of pairs of texts to fit the methods on; none for all."""
    layers: Sequence[int] = ()
    """Layers; none for that of the held-out texts."""

    def check(self) -> None:
        """Refuse what cannot be combined."""
        if len(self.layers) > 1 and (self.maps or self.sizes):
            what = "a map is fitted on" if self.maps else "sizes are compared at"
            msg = f"{what} one layer, got {len(self.layers)}; give one layer, or leave out the other option"
            raise RecipeError(msg)
        for name in self.norms:
            check_norm(name)
            if name in NORM_MODES and self.fit_on is None:
                msg = f"the means of {name!r} are fitted on other texts; provide parallel texts to fit on"
                raise RecipeError(msg)
        if self.sizes and self.fit_on is not None and max(self.sizes) > len(self.fit_on.source):
            msg = (
                f"the largest size is {max(self.sizes)}, but only {len(self.fit_on.source)} pairs of texts are given"
            )
            raise RecipeError(msg)


def check_norm(name: str) -> str:
    """Return the name of a normalisation, or raise RecipeError."""
    if name not in NORM_MODES and FixedNorm.parse(name) is None:
        msg = f"unknown normalisation {name!r}; choose from {', '.join((*FIXED_NORMS, *NORM_MODES))}"
        raise RecipeError(msg)
    return name


@dataclass(frozen=True)
class EvaluatedMap:
    """A row of the evaluation."""

    name: str
    layer: int
    size: int | None
    """Pairs of texts that the map was fitted on, where several sizes are compared."""
    quality: MapQuality
    correlation: float
    """Pearson's r of XMoverScore; NaN without human scores."""

    @property
    def label(self) -> str:
        """The name, with the size."""
        return self.name if self.size is None else f"{self.name}, {self.size} pairs"

    def values(self) -> dict[str, float]:
        """The measures by name; NaN if undefined."""
        quality = self.quality
        shares = (quality.induction_cosine, quality.induction_csls, quality.retrieval, quality.alignment_f1)
        return dict(zip(MEASURES, (*shares, self.correlation), strict=True))


MEASURES = ("induction cosine", "induction CSLS", "retrieval", "alignment F1", "XMoverScore r")


def evaluate_alignment(
    inputs: AlignmentInputs,
    compared: Compared,
    *,
    folder: Path,
    rated: Rated | None = None,
    run: dict[str, Any] | None = None,
) -> tuple[list[EvaluatedMap], HeldOut]:
    """Evaluate unchanged vectors, maps and normalisations; fitted files are written to `folder`.

    Returns the rows and the words of the last layer. `run`: options of `nlgauge.score` for the correlation.
    """
    compared.check()
    if rated is not None:
        rated.check()
    rows: list[tuple[str, int, int | None, str, MapQuality]] = []
    known = None
    for layer in compared.layers or (inputs.layer,):
        check_layer(inputs.encoder, layer)
        here = replace(inputs, layer=layer, known_links=known)
        words = held_out_words(here)
        if not (words.gold or inputs.nearest):
            known = dict(zip(words.numbers, words.links, strict=True))
        for name, size, path in (("none", None, None), *_named_maps(compared, layer, folder)):
            map_ = None if path is None else _load_map(path, here)
            rows.append((name, layer, size, "none" if path is None else str(path), evaluate_map(words, map_)))
        own = replace(here, known_links=None if words.gold else dict(zip(words.numbers, words.links, strict=True)))
        for name in dict.fromkeys(compared.norms):
            step = str(_fit_means(name, compared, layer, folder)) if name in NORM_MODES else name
            transforms = load_transforms(step, source=_SIDES[0], target=_SIDES[1])
            moved = held_out_words(replace(own, transforms=transforms))
            rows.append((name, layer, None, step, evaluate_map(moved, None)))
    correlations = [math.nan] * len(rows)
    if rated is not None:
        steps = [(layer, step, _SIDES[0] if name in NORM_MODES else "") for name, layer, _, step, _ in rows]
        correlations = rated.correlations(steps, model=inputs.encoder.model, **(run or {}))
    results = [
        EvaluatedMap(name, layer, size, quality, r)
        for (name, layer, size, _, quality), r in zip(rows, correlations, strict=True)
    ]
    return results, words


def _named_maps(compared: Compared, layer: int, folder: Path) -> Iterable[tuple[str, int | None, Path]]:
    """Name, size and file of the given maps and of those that are fitted at this layer."""
    for name, path in compared.maps:
        yield name, None, path
    texts = compared.fit_on
    if texts is None:
        return
    methods = dict.fromkeys(compared.methods)
    for size in dict.fromkeys(compared.sizes) or [len(texts.source)] if methods else ():
        part = replace(texts, layer=layer, source=texts.source[:size], target=texts.target[:size])
        if texts.alignments is not None and len(texts.alignments) >= size:
            part = replace(part, alignments=texts.alignments[:size])
        words = words_of_texts(part)
        for method in methods:
            check_enough(len(words.source), texts.encoder.hidden_size, method)
            path = folder / f"{method}-{layer}-{size}.npz"
            fit_remapping(words.source, words.target, method=method, origin=words.origin).save(path)
            yield method, size if compared.sizes else None, path


def _fit_means(mode: str, compared: Compared, layer: int, folder: Path) -> Path:
    assert compared.fit_on is not None
    texts = compared.fit_on
    sides = dict(zip(_SIDES, (texts.source, texts.target), strict=True))
    moments = moments_of_texts(texts.encoder, sides, layer=layer, batch_tokens=texts.batch_tokens)
    path = folder / f"{mode}-{layer}.npz"
    LanguageMeans(moments, mode, vectors_digest(texts.encoder), layer).save(path)
    return path


def _load_map(path: Path, inputs: AlignmentInputs) -> FittedTransform:
    loaded = load_map(path)
    encoder = inputs.encoder
    loaded.check_model(vectors_digest(encoder), layer=inputs.layer, width=encoder.hidden_size)
    return loaded


#: What the figure shows, if it is defined, and the titles.
_DRAWN = {
    "XMoverScore r": "XMoverScore, Pearson's r",
    "induction CSLS": "words found (P@1 by CSLS)",
    "retrieval": "texts found (P@1)",
}


def draw_evaluation(rows: Sequence[EvaluatedMap]) -> Any:
    """Draw curves over layers, or over sizes of the parallel text, or else a mark for each row."""
    by_size = any(row.size is not None for row in rows)

    def place(row: EvaluatedMap) -> int | None:
        return row.size if by_size else row.layer

    measures = [name for name in _DRAWN if not all(math.isnan(row.values()[name]) for row in rows)]
    figure, panels = new_panels(1, len(measures), width=3.6 * len(measures), height=3.0)
    styles = series_styles(row.name for row in rows)
    ends = sorted({place(row) or 0 for row in rows if place(row) is not None})
    for axes, measure in zip(panels, measures, strict=True):
        for name, style in styles.items():
            own = [row for row in rows if row.name == name]
            heights = [row.values()[measure] for row in own]
            if by_size and own[0].size is None:
                for height in heights:
                    axes.axhline(height, color=style.colour, linestyle="--", linewidth=1.2)
            else:
                axes.plot([place(row) for row in own], heights, color=style.colour, marker=style.mark, markersize=4)
        axes.set_title(_DRAWN[measure], loc="left", fontsize=9)
        axes.set_xlabel("pairs of texts" if by_size else "layer", fontsize=8)
        axes.set_xticks(ends)
        axes.tick_params(labelsize=8)
    fitted = "Dashed: without a fit of that size." if by_size else "none: unchanged vectors."
    links = f"{rows[0].quality.links} linked words of {rows[0].quality.texts} pairs of texts."
    finish_figure(
        figure,
        title="agreement by size of the parallel text" if by_size else "agreement by layer",
        caption=f"{links} {fitted}",
        legend=(legend_entries(styles, kind="mark"), [shorten(name) for name in styles]),
    )
    return figure
