"""Figures of explanations, of factors of metrics, and of discourse features.

`plot_flow` is drawn after Figure 1 of the MoverScore paper: the hypothesis above, the other text below, and a line
per link, the wider the more weight it carries and the darker the worse it matches. `plot_heat_map` has a row per word
of the hypothesis and a column per word of the other text; links are framed.
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from nlgauge.errors import InputError, NlgaugeWarning, RecipeError
from nlgauge.io.canvas import (
    COLOURS,
    WIDEST,
    SeriesStyle,
    finish_figure,
    legend_entries,
    new_panels,
    panel_grid,
    save_figure,
    series_styles,
    shorten,
)

if TYPE_CHECKING:
    from nlgauge.studies.discourse import Discourse
    from nlgauge.studies.explain.explanation import Explanation, Link, Word
    from nlgauge.studies.factors.surrogate import FactorStudy, Surrogate

#: Words of a text in one figure; more cannot be read.
_MOST_WORDS = 60

#: Share of a panel's width that a letter takes, measured at font size 10 on a figure of this width in inches.
_LETTER = 0.085
_GAP = 0.16

_TITLES = {"flow": "transport (soft)", "forward": "greedy matches (hard)"}


def plot_flow(found: Explanation, path: Path, *, title: str = "") -> None:
    """Two lines of words with links between them; hard and soft alignment one above the other, given both.

    The title is the metric with its score, unless another one says more.
    """
    _check(found)
    panels = [links for links in (found.links, found.beside) if links]
    places = [_positions(words) for words in (found.hypothesis_words, found.reference_words)]
    width = max(4.0, *(ends[-1] for _, ends in places)) + 0.4
    figure, axes = new_panels(len(panels), 1, width=width, height=1.9)
    for axis, links in zip(axes, panels, strict=True):
        _draw_links(axis, found, links, places, width)
    about = "hypothesis above; wider: more weight; orange: beyond half of the worst match; grey words do not count"
    figure.supxlabel(about, fontsize=7, color="#555555", x=0.01, ha="left")
    _save(figure, found, path, title=title)


def plot_heat_map(found: Explanation, path: Path) -> None:
    """Similarity, or cost, of every word to every word of the other text, links framed."""
    _check(found)
    matrix = found.matrix()
    if matrix is None:
        msg = f"{found.metric} kept no similarities of this pair, so there is nothing to draw"
        raise InputError(msg)
    greedy = any(link.kind == "forward" for link in found.links)
    rows, columns = found.hypothesis_words, found.reference_words
    width, height = 2.2 + 0.34 * len(columns), 1.6 + 0.28 * len(rows)
    figure, (axis,) = new_panels(1, 1, width=max(width, 4.0), height=max(height, 2.5))
    image = axis.imshow(matrix, cmap="Blues" if greedy else "Oranges", aspect="auto")
    axis.grid(visible=False)
    axis.set_xticks(range(len(columns)), [_spelt(word) for word in columns], rotation=45, ha="right", fontsize=8)
    axis.set_yticks(range(len(rows)), [_spelt(word) for word in rows], fontsize=8)
    axis.set_xlabel(found.against, fontsize=8)
    axis.set_ylabel("hypothesis", fontsize=8)
    for link in found.links:
        if link.hypothesis is not None and link.reference is not None:
            _frame(axis, link)
    figure.colorbar(image, ax=axis, label="cosine similarity" if greedy else "cost", shrink=0.8)
    about = f"framed: best matches (dotted: of the {found.against})" if greedy else "framed: where mass moves"
    figure.supxlabel(about, fontsize=7, color="#555555", x=0.01, ha="left")
    _save(figure, found, path)


def _check(found: Explanation) -> None:
    if not found.links:
        msg = f"{found.metric} has no alignment of this pair, so there is nothing to draw"
        raise InputError(msg)
    longest = max(len(found.hypothesis_words), len(found.reference_words))
    if longest > _MOST_WORDS:
        msg = f"a figure of an alignment takes at most {_MOST_WORDS} words per text, got {longest}"
        raise InputError(msg)


def _positions(words: Sequence[Word]) -> tuple[list[float], list[float]]:
    """Middle and end of each word on a line, in inches."""
    middles, ends, at = [], [], 0.3
    for word in words:
        size = _LETTER * max(1, len(word.text))
        middles.append(at + size / 2)
        at += size + _GAP
        ends.append(at)
    return middles, ends or [at]


def _draw_links(
    axis: Any,
    found: Explanation,
    links: Sequence[Link],
    places: Sequence[tuple[list[float], list[float]]],
    width: float,
) -> None:
    axis.set_axis_off()
    axis.set_xlim(0, width)
    axis.set_ylim(-0.25, 1.25)
    shown = [link for link in links if link.kind in _TITLES and None not in (link.hypothesis, link.reference)]
    back = [link for link in links if link.kind == "backward" and None not in (link.hypothesis, link.reference)]
    drawn = [*((link, "-") for link in shown), *((link, ":") for link in back)]
    worst = max([_error(link) for link, _ in drawn] + [1e-9])
    heaviest = max([link.weight for link, _ in drawn] + [1e-9])
    for link, style in drawn:
        share = _error(link) / worst
        axis.plot(
            (places[0][0][link.hypothesis or 0], places[1][0][link.reference or 0]),
            (0.86, 0.14),
            color=COLOURS[5] if share > 0.5 else COLOURS[0],
            alpha=0.4 + 0.6 * share,
            linewidth=0.6 + 2.6 * link.weight / heaviest,
            linestyle=style,
            solid_capstyle="round",
        )
    for (middles, _), words, y in ((places[0], found.hypothesis_words, 1.0), (places[1], found.reference_words, 0.0)):
        for middle, word in zip(middles, words, strict=True):
            colour = "#999999" if word.removed else "#111111"
            axis.text(middle, y, _spelt(word), ha="center", va="center", fontsize=9, color=colour)
    kind = "flow" if any(link.kind == "flow" for link in links) else "forward"
    dotted = "" if kind == "flow" else f"; dotted: matches of the {found.against}"
    axis.set_title(f"{_TITLES[kind]}{dotted}", loc="left", fontsize=8, color="#555555")


def _save(figure: Any, found: Explanation, path: Path, *, title: str = "") -> None:
    """Write the figure; letters that its font does not have are drawn as boxes, with one warning of ours."""
    title = title or f"{found.metric}: {found.main} {found.score:.3f}"
    figure.suptitle(title, fontsize=10, x=0.01, ha="left")
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        save_figure(figure, path)
    if any("missing from" in str(one.message) for one in caught):
        msg = "the font of figures lacks letters of these texts, which are drawn as boxes; --format json has them all"
        warnings.warn(msg, NlgaugeWarning, stacklevel=3)


def _frame(axis: Any, link: Link) -> None:
    from matplotlib.patches import Rectangle

    style = {"flow": "-", "forward": "-", "backward": ":"}[link.kind]
    place = (link.reference or 0) - 0.5, (link.hypothesis or 0) - 0.5
    axis.add_patch(Rectangle(place, 1, 1, fill=False, edgecolor="#111111", linewidth=1.1, linestyle=style))


def _error(link: Link) -> float:
    value = 1 - link.similarity if link.similarity is not None else link.cost
    return float(np.clip(value or 0.0, 0.0, None))


def _spelt(word: Word) -> str:
    """A word that matplotlib does not take for a formula."""
    return word.text.replace("$", r"\$")


#: Inches for a metric in a panel, and for what stands around them.
_ROW, _FRAME = 0.3, 0.9
#: Points of a panel; more make a blot.
_MOST_POINTS = 2000


def plot_factors(study: FactorStudy, path: Path) -> None:
    """Coefficients with their intervals: a panel per factor, a line per metric, so that metrics are compared."""
    names = list(study.factors)
    rows, columns = panel_grid(len(names), most_columns=4)
    height = _FRAME + _ROW * len(study.surrogates)
    figure, panels = new_panels(rows, columns, width=min(WIDEST, 2.6 * columns + 1.6), height=height)
    ends = [end for one in study.surrogates for effect in one.effects for end in (effect.low, effect.high)]
    low, high = min(0.0, *ends) - 0.05, max(0.0, *ends) + 0.05
    styles = series_styles(one.metric for one in study.surrogates)
    for number, (axes, name) in enumerate(zip(panels, names, strict=False)):
        for at, one in enumerate(study.surrogates):
            if name not in one.factors:
                continue
            effect, style = one.effect(name), styles[one.metric]
            axes.plot([effect.low, effect.high], [at, at], color=style.colour, linewidth=1.6)
            axes.plot([effect.coefficient], [at], marker=style.mark, markersize=5, color=style.colour)
        axes.axvline(0, color="#888888", linewidth=0.8)
        axes.set_xlim(low, high)
        axes.set_ylim(len(study.surrogates) - 0.5, -0.5)
        labels = [_label(one) if number % columns == 0 else "" for one in study.surrogates]
        axes.set_yticks(range(len(labels)), labels, fontsize=8)
        for text in axes.get_yticklabels():
            text.set_parse_math(False)  # a "$" in a name is a "$"
        axes.set_title(shorten(name), fontsize=9)
        axes.tick_params(axis="x", labelsize=8)
        axes.grid(axis="y", visible=False)
        axes.grid(axis="x", color="#dddddd", linewidth=0.8)
    for axes in panels[len(names) :]:
        axes.set_visible(False)
    caption = (
        f"Coefficients of standardised columns; lines: {100 * study.intervals.level:.10g} % intervals. In brackets: "
        f"R2, what the factors explain of the metric together. {study.surrogates[0].rows} pairs."
    )
    finish_figure(figure, title=f"{study.data}: what metrics look at", caption=caption)
    save_figure(figure, path)


def plot_surrogates(study: FactorStudy, path: Path) -> None:
    """Each metric beside what its surrogate says instead, a point per pair."""
    count = len(study.surrogates)
    rows, columns = panel_grid(count, most_columns=3)
    figure, panels = new_panels(rows, columns, width=min(WIDEST, 3.2 * columns), height=3.0)
    chosen = _shown(study.surrogates[0].rows)
    for axes, one in zip(panels, study.surrogates, strict=False):
        _scatter(axes, one, chosen)
    for axes in panels[count:]:
        axes.set_visible(False)
    some = f" of {study.surrogates[0].rows}" if len(chosen) < study.surrogates[0].rows else ""
    caption = (
        f"A point per pair ({len(chosen)}{some} are drawn), in standard deviations; the line is where metric and "
        f"surrogate agree. Factors: {', '.join(study.factors)}."
    )
    finish_figure(figure, title=f"{study.data}: metrics beside their surrogates", caption=caption)
    save_figure(figure, path)


def _scatter(axes: Any, one: Surrogate, chosen: Any) -> None:
    axes.plot(
        one.fitted[chosen],
        one.observed[chosen],
        linestyle="none",
        marker="o",
        markersize=2.5,
        alpha=0.35,
        color=COLOURS[0],
        markeredgewidth=0,
    )
    both = np.concatenate([one.fitted[chosen], one.observed[chosen]])
    ends = [float(both.min()), float(both.max())]
    axes.plot(ends, ends, color=COLOURS[5], linewidth=1.2)
    axes.set_title(_label(one), fontsize=9).set_parse_math(False)
    axes.set_xlabel("surrogate", fontsize=8)
    axes.set_ylabel("metric", fontsize=8)
    axes.tick_params(labelsize=8)


def _shown(rows: int) -> Any:
    """Rows that are drawn: all, or evenly spread ones."""
    return np.linspace(0, rows - 1, min(rows, _MOST_POINTS)).astype(np.intp)


def _label(one: Surrogate) -> str:
    return f"{shorten(one.metric, 26)} ({one.r2:.2f})"


#: Features that are plain counts say little about coherence, and are left to the table.
_LEFT_OUT = ("sentences", "foci", "repeated")

_SHARES = {
    "hypothesis_higher": SeriesStyle(COLOURS[5], "", "o", "white"),
    "equal": SeriesStyle("#d0d0d0", "", "s", "white"),
    "reference_higher": SeriesStyle(COLOURS[0], "", "^", "white"),
}
_NAMES = ("more in the hypothesis (D)", "equal", "more in the reference")


def check_discourse_plot(*, references: bool) -> None:
    """Refuse a figure that would be empty, before documents are annotated."""
    if not references:
        msg = "a figure shows hypotheses beside references, and none were given; give them (refs=, --refs)"
        raise RecipeError(msg)


def plot_discourse(found: Discourse, path: Path) -> None:
    """Shares of pairs in which hypothesis or reference has more of a feature."""
    check_discourse_plot(references=found.references is not None)
    features = [name for name in found.features if name not in _LEFT_OUT]
    rows, columns = panel_grid(len(features), most_columns=3)
    height = 0.7 + 0.26 * len(found.systems)
    figure, places = new_panels(rows, columns, width=WIDEST, height=max(1.5, height))
    for number, (place, feature) in enumerate(zip(places, features, strict=False)):
        _draw(place, found, feature, names=number % columns == 0)
    for place in places[len(features) :]:
        place.set_visible(False)
    finish_figure(
        figure,
        title="Which has more of a feature, the hypothesis or the reference?",
        caption="A bar is all pairs of a system's documents with their references, but for pairs of equal texts. The "
        f"dashed line is at half of them. {found.settings}",
        legend=(legend_entries(_SHARES, kind="bar"), list(_NAMES)),
    )
    save_figure(figure, path)


def _draw(place: Any, found: Discourse, feature: str, *, names: bool) -> None:
    systems = [name for name in found.systems if feature in found.separations[name]]
    left = [0.0] * len(systems)
    at = list(range(len(systems)))[::-1]  # the first system on top
    for share, style in _SHARES.items():
        widths = [100 * getattr(found.separations[name][feature], share) for name in systems]
        place.barh(at, widths, left=left, color=style.colour, edgecolor=style.edge, height=0.75)
        left = [start + width for start, width in zip(left, widths, strict=True)]
    place.axvline(50, color="#333333", linewidth=0.8, linestyle="--")
    place.grid(visible=False)
    place.set_xlim(0, 100)
    place.set_yticks(at, [shorten(name or "hyps", 22) if names else "" for name in systems], fontsize=8)
    place.tick_params(axis="x", labelsize=8)
    place.set_xlabel("% of pairs", fontsize=8)
    place.set_title(feature, loc="left", fontsize=9)
