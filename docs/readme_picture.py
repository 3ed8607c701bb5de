"""Picture of the README: `python -m docs.make_figures --only readme`.

Left: five systems of newstest2017 ru-en (first 300 segments) with 95 % intervals of BERTScore, and which of them are
significantly worse than the best. Right: the words of a hypothesis, linked to the words that they match.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

SEGMENTS = 300
SYSTEMS = ("NRC", "afrl-mitll-opennmt", "uedin-nmt", "jhu-pbmt", "online-F")
HYPOTHESIS = "The museum keeps the picture in a windowless room."
REFERENCE = "The museum keeps the painting in a room without windows."

#: Fonts are large because many readers see the picture at half its size.
FONT = 19
TITLE = 23
BLUE, GREY, ORANGE = "#1f5fa8", "#8a8f98", "#d9660a"

#: Links below this cosine are drawn as weak matches.
WEAK = 0.75


def draw(path: Path, data: str) -> None:
    """which system is better, and which words match"""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    figure = Figure(figsize=(16, 5.4), facecolor="white")
    FigureCanvasAgg(figure)
    draw_systems(figure.add_axes((0.165, 0.15, 0.29, 0.66)), Path(data))
    draw_words(figure.add_axes((0.5, 0.02, 0.49, 0.79)))
    figure.savefig(path, dpi=100)


def draw_systems(axes: Any, data: Path) -> None:
    """Mean and interval of each system; hollow circles are significantly worse than the best."""
    import nlgauge

    outputs = {name: read_lines(data / "wmt17/system-outputs/ru-en", f"*.{name}.*") for name in SYSTEMS}
    references = read_lines(data / "wmt17/references", "newstest2017-ruen-ref.en")
    comparison = nlgauge.compare_systems(nlgauge.score_systems(outputs, references, "bertscore"))
    (bertscore,) = comparison.metrics
    for y, row in enumerate(bertscore.systems):
        colour = GREY if row.worse_than_best else BLUE
        axes.plot((row.interval.low, row.interval.high), (y, y), color=colour, linewidth=4, solid_capstyle="round")
        face = "white" if row.worse_than_best else colour
        axes.plot(row.score, y, "o", color=colour, markerfacecolor=face, markersize=15, markeredgewidth=3)
    axes.set_yticks(range(len(bertscore.systems)), [row.system for row in bertscore.systems], fontsize=FONT)
    axes.set_ylim(len(bertscore.systems) - 0.5, -0.5)
    axes.tick_params(axis="x", labelsize=FONT)
    axes.tick_params(axis="y", length=0)
    axes.locator_params(axis="x", nbins=5)
    axes.grid(axis="x", color="#e4e6ea")
    axes.set_axisbelow(True)
    for side in ("top", "right", "left"):
        axes.spines[side].set_visible(False)
    figure = axes.figure
    figure.text(0.012, 0.915, "Which system is better?", fontsize=TITLE, fontweight="bold")
    figure.text(0.012, 0.84, "BERTScore, 95 % intervals; hollow: significantly worse", fontsize=FONT, color="#444")


def draw_words(axes: Any) -> None:
    """Words of the hypothesis above those of the reference, each linked to its best match."""
    import nlgauge

    explanation = nlgauge.explain_pair(HYPOTHESIS, REFERENCE, metric="bertscore")
    similarity = explanation.word_matrix()
    words, others = ([word.text for word in view.words] for view in explanation.views)
    axes.set_axis_off()
    axes.set_xlim(0, 1)
    axes.set_ylim(0, 1)
    top, bottom = place_words(axes, words, 0.78), place_words(axes, others, 0.18)
    for i, row in enumerate(similarity):
        j = int(row.argmax())
        weak = row[j] < WEAK
        axes.plot((top[i], bottom[j]), (0.70, 0.27), color=ORANGE if weak else BLUE, linewidth=3.5, alpha=0.85)
        if weak:
            axes.text(
                *((top[i] + bottom[j]) / 2, 0.485, f"{row[j]:.2f}"),
                fontsize=FONT,
                color=ORANGE,
                ha="center",
                va="center",
                bbox={"facecolor": "white", "edgecolor": "none", "pad": 3},
            )
    figure = axes.figure
    figure.text(0.5, 0.915, "Why did a segment lose points?", fontsize=TITLE, fontweight="bold")
    figure.text(0.5, 0.84, "Each word and its best match; orange: weak matches", fontsize=FONT, color="#444")


def place_words(axes: Any, words: list[str], y: float) -> list[float]:
    """Write words in a row over the full width, and return the middle of each."""
    renderer = axes.figure.canvas.get_renderer()
    to_axes = axes.transData.inverted()
    texts = [axes.text(0, y, word, fontsize=FONT, ha="center", va="center") for word in words]
    widths = []
    for text in texts:
        box = text.get_window_extent(renderer).transformed(to_axes)
        widths.append(box.width)
    gap = (1 - sum(widths)) / max(1, len(words) - 1)
    middles, left = [], 0.0
    for text, width in zip(texts, widths, strict=True):
        text.set_x(left + width / 2)
        middles.append(left + width / 2)
        left += width + gap
    return middles


def read_lines(folder: Path, pattern: str) -> list[str]:
    """The first segments of the file of a folder that matches the pattern."""
    (path,) = folder.glob(pattern)
    return path.read_text(encoding="utf-8").splitlines()[:SEGMENTS]
