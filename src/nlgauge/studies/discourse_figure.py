"""Figure of discourse features: hypotheses next to their references."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from nlgauge.io.canvas import (
    COLOURS,
    WIDEST,
    SeriesStyle,
    finish_figure,
    legend_entries,
    new_panels,
    panel_grid,
    shorten,
)
from nlgauge.studies.discourse import check_discourse_figure

if TYPE_CHECKING:
    from nlgauge.studies.discourse import Discourse

#: Features that are plain counts say little about coherence, and are left to the table.
_LEFT_OUT = ("sentences", "foci", "repeated")

_SHARES = {
    "hypothesis_higher": SeriesStyle(COLOURS[5], "", "o", "white"),
    "equal": SeriesStyle("#d0d0d0", "", "s", "white"),
    "reference_higher": SeriesStyle(COLOURS[0], "", "^", "white"),
}
_NAMES = ("more in the hypothesis (D)", "equal", "more in the reference")


def draw_discourse(found: Discourse) -> Any:
    """Shares of pairs in which hypothesis or reference has more of a feature."""
    check_discourse_figure(references=found.references is not None)
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
    return figure


def _draw(place: Any, found: Discourse, feature: str, *, names: bool) -> None:
    separations = {name: own[feature] for name, own in found.separations.items() if feature in own}
    systems = list(separations)
    left = [0.0] * len(systems)
    at = list(range(len(systems)))[::-1]  # the first system on top
    for share, style in _SHARES.items():
        widths = [100 * getattr(row, share) for row in separations.values()]
        place.barh(at, widths, left=left, color=style.colour, edgecolor=style.edge, height=0.75)
        left = [start + width for start, width in zip(left, widths, strict=True)]
    place.axvline(50, color="#333333", linewidth=0.8, linestyle="--")
    place.grid(visible=False)
    place.set_xlim(0, 100)
    place.set_yticks(at, [shorten(name or "hyps", 22) if names else "" for name in systems], fontsize=8)
    place.tick_params(axis="x", labelsize=8)
    place.set_xlabel("% of pairs", fontsize=8)
    place.set_title(feature, loc="left", fontsize=9)
