"""Figures of discourse features: the kinds of Figures 2 and 6 of the DiscoScore paper, and shares of pairs.

    shares          by system, the share of pairs in which the hypothesis or the reference has more of a feature
    scatter         a mark per pair of a hypothesis and a reference, at both values of a feature
    scatter-means   the same, with the mean of a document's references
    distribution    share of hypotheses and of references by the value of a feature

Features of a text are mostly the same few numbers, so a mark's area is the number of pairs at one place. Several
references bring the mean closer to the middle than any of them is, so `scatter-means` shows a narrower range of
references than `scatter`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from nlgauge.io.canvas import (
    COLOURS,
    WIDEST,
    SeriesStyle,
    finish_figure,
    legend_entries,
    new_panels,
    panel_grid,
    shorten,
    ticks,
)
from nlgauge.studies.discourse import Discourse, Separation, check_discourse_figure

if TYPE_CHECKING:
    from nlgauge.studies.discourse import FigureKind

#: Plain counts are only in the table because they carry little information about coherence.
_LEFT_OUT = ("sentences", "foci", "repeated")

_SHARES = {
    "hypothesis_higher": SeriesStyle(COLOURS[5], "", "o", "white"),
    "equal": SeriesStyle("#d0d0d0", "", "s", "white"),
    "reference_higher": SeriesStyle(COLOURS[0], "", "^", "white"),
}
#: In scatter plots, where light grey would not be seen.
_MARKS = _SHARES | {"equal": SeriesStyle("#808080", "", "s", "white")}
_NAMES = ("more in the hypothesis (D)", "equal", "more in the reference")
_SIDES = {
    "hypotheses": SeriesStyle(COLOURS[5], "", "o", COLOURS[5]),
    "references": SeriesStyle(COLOURS[0], "////", "^", COLOURS[0]),
}

#: Places along each axis of a scatter plot, and bins of a distribution.
_PLACES, _BINS = 60, 24
#: Areas of marks in points squared: of one pair, and of the place with most pairs.
_SMALLEST, _LARGEST = 5.0, 130.0


class FeaturePairs(NamedTuple):
    """Values of a feature, a pair of a hypothesis and references per entry."""

    hypotheses: NDArray[np.float64]
    references: NDArray[np.float64]

    @property
    def separation(self) -> Separation:
        """Shares of pairs, those of equal texts included."""
        x, y = self.hypotheses, self.references
        return Separation(float((x > y).mean()), float((x == y).mean()), float((x < y).mean()), len(x))


def feature_pairs(result: Discourse, feature: str, *, means: bool = False) -> FeaturePairs:
    """Pair each hypothesis with each of its references, or with their mean."""
    assert result.references is not None
    groups = result.references[feature].documents
    if means:
        groups = tuple(np.array([group.mean()]) for group in groups)
    hypotheses, references = [], []
    for system in result.systems.values():
        for value, group in zip(system.features[feature].documents, groups, strict=True):
            hypotheses.append(np.full(len(group), value))
            references.append(group)
    return FeaturePairs(np.concatenate(hypotheses), np.concatenate(references))


def all_values(result: Discourse, feature: str) -> dict[str, NDArray[np.float64]]:
    """Values of all hypotheses, and of all references if there are any."""
    values = {"hypotheses": [system.features[feature].documents for system in result.systems.values()]}
    if result.references is not None:
        values["references"] = list(result.references[feature].documents)
    return {side: np.concatenate(arrays) for side, arrays in values.items()}


def draw_discourse(
    result: Discourse, kind: FigureKind = "shares", *, features: Sequence[str] = (), title: str = ""
) -> Any:
    """Draw a figure with a panel per feature; default: all features but plain counts."""
    check_discourse_figure(references=result.references is not None, kind=kind)
    chosen = list(features) or [name for name in result.features if name not in _LEFT_OUT]
    if kind == "shares":
        return _draw_shares(result, chosen)
    if kind == "distribution":
        return _draw_distributions(result, chosen, title or "Discourse features of hypotheses and references")
    panels = [(feature, kind == "scatter-means") for feature in chosen]
    return draw_scatters(result, panels, title or "Discourse features of hypotheses against their references")


def _draw_shares(result: Discourse, features: Sequence[str]) -> Any:
    """Draw the shares of pairs in which hypothesis or reference has more of a feature."""
    rows, columns = panel_grid(len(features), most_columns=3)
    height = 0.7 + 0.26 * len(result.systems)
    figure, axes = new_panels(rows, columns, width=WIDEST, height=max(1.5, height))
    for number, (ax, feature) in enumerate(zip(axes, features, strict=False)):
        _draw_panel(ax, result, feature, names=number % columns == 0)
    _hide(axes[len(features) :])
    finish_figure(
        figure,
        title="Which has more of a feature, the hypothesis or the reference?",
        caption="Each bar is all pairs of a system's documents with their references, except pairs of equal texts. "
        f"Dashed line: half of the pairs. {result.settings}",
        legend=(legend_entries(_SHARES, kind="bar"), list(_NAMES)),
    )
    return figure


def _draw_panel(ax: Any, result: Discourse, feature: str, *, names: bool) -> None:
    separations = {
        name: separation_of[feature] for name, separation_of in result.separations.items() if feature in separation_of
    }
    systems = list(separations)
    left = [0.0] * len(systems)
    positions = list(range(len(systems)))[::-1]  # the first system on top
    for share, style in _SHARES.items():
        widths = [100 * getattr(row, share) for row in separations.values()]
        ax.barh(positions, widths, left=left, color=style.colour, edgecolor=style.edge, height=0.75)
        left = [start + width for start, width in zip(left, widths, strict=True)]
    ax.axvline(50, color="#333333", linewidth=0.8, linestyle="--")
    ax.grid(visible=False)
    ax.set_xlim(0, 100)
    ax.set_yticks(positions, [shorten(name or "hyps", 22) if names else "" for name in systems], fontsize=8)
    ax.tick_params(axis="x", labelsize=8)
    ax.set_xlabel("% of pairs", fontsize=8)
    ax.set_title(feature, loc="left", fontsize=9)


def draw_scatters(result: Discourse, panels: Sequence[tuple[str, bool]], title: str) -> Any:
    """Draw a panel for each feature, against each reference or (True) against the mean of the references."""
    rows, columns = panel_grid(len(panels), most_columns=3)
    figure, axes = new_panels(rows, columns, width=3.7 * columns, height=3.5)
    for ax, (feature, means) in zip(axes, panels, strict=False):
        _draw_scatter(ax, feature_pairs(result, feature, means=means), feature, means=means)
    _hide(axes[len(panels) :])
    finish_figure(
        figure,
        title=title,
        caption="The area of a mark is the number of pairs at that place. Dashed line: equal values. Percentages: "
        f"share of pairs, those of equal texts included. {result.settings}",
        legend=(legend_entries(_MARKS, kind="mark"), list(_NAMES)),
    )
    return figure


def _draw_scatter(ax: Any, pairs: FeaturePairs, feature: str, *, means: bool) -> None:
    x, y = pairs
    # One scale on both axes, so that the range of references can be compared with that of hypotheses.
    low, high = float(min(x.min(), y.min())), float(max(x.max(), y.max()))
    step = (high - low or 1.0) / _PLACES
    # The side of the line is that of the pair, not that of its place.
    signs = np.sign(x - y)
    places, counts = np.unique(
        np.stack([np.round((x - low) / step), np.round((y - low) / step), signs]), axis=1, return_counts=True
    )
    areas = _SMALLEST + (_LARGEST - _SMALLEST) * (counts - 1) / max(1, counts.max() - 1)
    for sign, style in zip((1, 0, -1), _MARKS.values(), strict=True):
        chosen = places[2] == sign
        ax.scatter(
            low + step * places[0, chosen],
            low + step * places[1, chosen],
            s=areas[chosen],
            color=style.colour,
            marker=style.mark,
            alpha=0.6,
            linewidths=0,
        )
    room = 0.05 * (high - low or 1.0)
    ax.plot((low - room, high + room), (low - room, high + room), "--", color="#333333", linewidth=0.8)
    ax.set_xlim(low - room, high + room)
    ax.set_ylim(low - room, high + room)
    ax.set_aspect("equal")
    ax.set_xticks(ticks(low, high))
    ax.set_yticks(ticks(low, high))
    higher, equal, lower = (100 * share for share in pairs.separation[:3])
    ax.set_title(f"{feature}: {higher:.0f} % below, {equal:.0f} % on, {lower:.0f} % above", loc="left", fontsize=9)
    ax.set_xlabel("hypothesis", fontsize=8)
    ax.set_ylabel("mean of the references" if means else "reference", fontsize=8)
    ax.tick_params(labelsize=8)


def _draw_distributions(result: Discourse, features: Sequence[str], title: str) -> Any:
    rows, columns = panel_grid(len(features), most_columns=3)
    figure, axes = new_panels(rows, columns, width=3.7 * columns, height=2.6)
    for number, (ax, feature) in enumerate(zip(axes, features, strict=False)):
        sides = all_values(result, feature)
        every = np.concatenate(list(sides.values()))
        low, high = float(every.min()), float(every.max())
        edges = np.linspace(low, high if high > low else low + 1, _BINS + 1)
        for side, values in sides.items():
            style = _SIDES[side]
            shares = 100 * np.histogram(values, edges)[0] / len(values)
            ax.stairs(shares, edges, fill=True, color=style.colour, alpha=0.25)
            ax.stairs(shares, edges, color=style.colour, linewidth=1.2)
            ax.axvline(values.mean(), color=style.colour, linewidth=1.0, linestyle="--")
        ax.set_title(feature, loc="left", fontsize=9)
        ax.tick_params(labelsize=8)
        if number % columns == 0:
            ax.set_ylabel("% of texts", fontsize=8)
    _hide(axes[len(features) :])
    shown = {side: style for side, style in _SIDES.items() if side == "hypotheses" or result.references is not None}
    finish_figure(
        figure,
        title=title,
        caption=f"Share of texts by the value of a feature; dashed lines: means. {result.settings}",
        legend=(
            legend_entries({side: style._replace(hatch="") for side, style in shown.items()}, kind="bar"),
            list(shown),
        ),
    )
    return figure


def _hide(axes: Sequence[Any]) -> None:
    for ax in axes:
        ax.set_visible(False)
