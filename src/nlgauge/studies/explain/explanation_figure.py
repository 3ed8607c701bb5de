"""Figures of an explanation.

The flow is drawn after Figure 1 of the MoverScore paper: the hypothesis above, the other text below, and a line per
link, the wider the more weight it carries and the darker the worse it matches. The heat map has a row per word of the
hypothesis and a column per word of the other text; links are framed.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from nlgauge.errors import InputError
from nlgauge.io.canvas import COLOURS, new_panels
from nlgauge.studies.explain.explanation import Explanation, Link, Word

#: Words of a text in one figure; more cannot be read.
_MOST_WORDS = 60

#: Share of a panel's width that a letter takes, measured at font size 10 on a figure of this width in inches.
_LETTER = 0.085
_GAP = 0.16

_TITLES = {"flow": "transport (soft)", "forward": "greedy matches (hard)"}


def draw_flow(found: Explanation, *, title: str = "") -> Any:
    """Two lines of words with links between them; hard and soft alignment one above the other, given both."""
    _check(found)
    panels = [links for links in (found.links, found.beside) if links]
    places = [_positions(words) for words in (found.hypothesis.words, found.reference.words)]
    width = max(4.0, *(ends[-1] for _, ends in places)) + 0.4
    figure, axes = new_panels(len(panels), 1, width=width, height=1.9)
    for axis, links in zip(axes, panels, strict=True):
        _draw_links(axis, found, links, places, width)
    about = "hypothesis above; wider: more weight; orange: beyond half of the worst match; grey words do not count"
    figure.supxlabel(about, fontsize=7, color="#555555", x=0.01, ha="left")
    return _titled(figure, found, title)


def draw_heat_map(found: Explanation, *, title: str = "") -> Any:
    """Similarity, or cost, of every word to every word of the other text, links framed."""
    _check(found)
    matrix = found.matrix()
    if matrix is None:
        msg = f"{found.metric} kept no similarities of this pair, so there is nothing to draw"
        raise InputError(msg)
    greedy = any(link.kind == "forward" for link in found.links)
    rows, columns = found.hypothesis.words, found.reference.words
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
    return _titled(figure, found, title)


def _check(found: Explanation) -> None:
    if not found.links:
        msg = f"{found.metric} has no alignment of this pair, so there is nothing to draw"
        raise InputError(msg)
    longest = max(len(found.hypothesis.words), len(found.reference.words))
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
    for (middles, _), words, y in ((places[0], found.hypothesis.words, 1.0), (places[1], found.reference.words, 0.0)):
        for middle, word in zip(middles, words, strict=True):
            colour = "#999999" if word.removed else "#111111"
            axis.text(middle, y, _spelt(word), ha="center", va="center", fontsize=9, color=colour)
    kind = "flow" if any(link.kind == "flow" for link in links) else "forward"
    dotted = "" if kind == "flow" else f"; dotted: matches of the {found.against}"
    axis.set_title(f"{_TITLES[kind]}{dotted}", loc="left", fontsize=8, color="#555555")


def _titled(figure: Any, found: Explanation, title: str) -> Any:
    title = title or f"{found.metric}: {found.main} {found.score:.3f}"
    figure.suptitle(title, fontsize=10, x=0.01, ha="left")
    return figure


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
