"""Figures: drawn without a display, the same bytes twice, refused before the work where the name says no format."""

from __future__ import annotations

import math
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from nlgauge.errors import InputError, MissingExtraError, RecipeError
from nlgauge.io.canvas import (
    WIDEST,
    check_figure,
    finish_figure,
    legend_entries,
    new_panels,
    series_styles,
)
from nlgauge.studies.bars import Bar, BarPanel, draw_bar_panels
from nlgauge.studies.compare.rankings import Flip
from nlgauge.studies.meta.evaluation import Agreements, AgreementTable, MetricAgreement
from nlgauge.studies.meta.questions import AgreementCell
from nlgauge.studies.sensitivity.results import Sensitivity, SettingEffect, SettingRanking


def rows_of(cells: dict[str, dict[str, AgreementCell]]) -> tuple[MetricAgreement, ...]:
    return tuple(MetricAgreement(name, row) for name, row in cells.items())


def agreement(agreement: str = "pearson") -> AgreementTable:
    cells = {
        "bertscore": {"cs-en": AgreementCell(0.6, 0.5, 0.7, unbeaten=True), "de-en": AgreementCell(0.5)},
        "sentinel-length": {
            "cs-en": AgreementCell(-0.1, -0.2, 0.0),
            "de-en": AgreementCell(float("nan"), note="constant"),
        },
    }
    return AgreementTable("made", "human", "segment", agreement, ("cs-en", "de-en"), rows_of(cells))


@pytest.mark.parametrize(("suffix", "head"), [(".png", b"\x89PNG"), (".svg", b"<?xml"), (".pdf", b"%PDF")])
def test_a_figure_is_written_in_the_format_of_its_name(tmp_path: Path, suffix: str, head: bytes) -> None:
    path = tmp_path / f"figure{suffix}"
    agreement().save_figure(path)
    assert path.read_bytes().startswith(head)


def test_the_same_table_gives_the_same_bytes(tmp_path: Path) -> None:
    for name in ("a.png", "b.png"):
        agreement().save_figure(tmp_path / name)
    assert (tmp_path / "a.png").read_bytes() == (tmp_path / "b.png").read_bytes()


@pytest.mark.parametrize("name", ["figure", "figure.gif"])
def test_a_name_without_a_format_is_refused(name: str) -> None:
    with pytest.raises(RecipeError, match=r"\.png"):
        check_figure(Path(name))


def study() -> Sensitivity:
    effects = (
        SettingEffect.of("moverscore", "stopwords", "segment", ("none", "iso", "file"), {"cs-en": (0.6, 0.5, 0.55)}),
        SettingEffect.of("bertscore", "stopwords", "segment", ("none", "iso", "file"), {"cs-en": (0.7, None, 0.6)}),
        SettingEffect.of(
            "moverscore", "idf", "score", ("original", "none"), {"a.txt": (0.5, 0.6), "b.txt": (0.4, 0.5)}
        ),
    )
    flip = Flip("a", "b", "iso", 0.1, -0.1, 0.01, 0.02, significant=True)
    ranking = SettingRanking(
        "moverscore", "stopwords", "en", ("none", "iso"), {"a": (0.5, 0.3), "b": (0.4, 0.4)}, (1.0, -1.0), (flip,)
    )
    return Sensitivity("made", "all", "pearson", (), effects, (ranking,))


def test_the_figures_of_a_study(tmp_path: Path) -> None:
    for folder in ("first", "again"):
        (tmp_path / folder).mkdir()
        study().save_figure(tmp_path / folder / "s.png")
    for name in ("s.png", "s-ranks.png"):
        content = (tmp_path / "first" / name).read_bytes()
        assert content.startswith(b"\x89PNG")
        assert content == (tmp_path / "again" / name).read_bytes()


def test_each_agreement_has_its_own_figure(tmp_path: Path) -> None:
    Agreements((agreement(), agreement("kendall"))).save_figure(str(tmp_path / "a.svg"))
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a-kendall.svg", "a.svg"]


def test_a_missing_matplotlib_is_named_before_the_work(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with pytest.raises(MissingExtraError, match=r"nlgauge\[plot\]"):
        check_figure(Path("figure.png"))


# --- many metrics, many panels, long names -------------------------------------------------------------

METRICS = [f"metric-with-a-long-name:n={number}" for number in range(13)]
SENTINELS = ["sentinel-length", "sentinel-random", "sentinel-copy"]
SYSTEMS = [f"transformer-big-with-back-translation-and-an-ensemble-of-run-{number:02d}.txt" for number in range(14)]


def large_table() -> AgreementTable:
    pairs = tuple(f"{code}-en" for code in ("cs", "de", "fi", "ja", "lv", "ru", "tr", "zh"))
    cells = {
        name: {
            pair: AgreementCell(0.7 - 0.05 * number, 0.5 - 0.05 * number, 0.8 - 0.05 * number, number == 0)
            for pair in pairs
        }
        for number, name in enumerate([*METRICS, *SENTINELS])
    }
    notes = ("zh-en: 3 judged outputs, too few for an interval or significance test (minimum: 10)",)
    return AgreementTable("a data set", "human", "segment", "kendall", pairs, rows_of(cells), notes)


def large_study() -> Sensitivity:
    settings = ("original", "without punctuation", "lower case, contractions normalised")
    effects = tuple(
        SettingEffect.of(metric, "punctuation", "score", settings, dict.fromkeys(SYSTEMS, (0.5, 0.6, 0.5)))
        for metric in METRICS[:3]
    )
    scores = {name: (0.5 + 0.01 * index, 0.6, 0.6 - 0.01 * index) for index, name in enumerate(SYSTEMS)}
    flip = Flip(SYSTEMS[1], SYSTEMS[0], settings[2], 0.1, -0.1, 0.01, 0.02, significant=True)
    rankings = tuple(
        SettingRanking(metric, "punctuation", "en", settings, scores, (1.0, 0.5, -1.0), (flip,) * (number % 2))
        for number, metric in enumerate(METRICS)
    )
    return Sensitivity("files", "punctuation", None, (), effects, rankings)


def texts_of(axes: Any) -> list[Any]:
    """What is written in and around a panel; ticks beyond its ends are not drawn."""
    texts = [axes.title, axes._left_title, axes._right_title, axes.xaxis.label, axes.yaxis.label, *axes.texts]
    for axis, (low, high) in ((axes.xaxis, axes.get_xlim()), (axes.yaxis, axes.get_ylim())):
        texts += [tick.label1 for tick in axis.get_major_ticks() if low <= tick.get_loc() <= high]
    return texts


def texts_outside(figure: Any) -> list[str]:
    """What of the text would be cut off."""
    figure.draw_without_rendering()
    renderer = figure.canvas.get_renderer()
    width, height = figure.canvas.get_width_height()
    texts = [*figure.texts, *(text for legend in figure.legends for text in legend.get_texts())]
    texts += [text for axes in figure.axes if axes.get_visible() for text in texts_of(axes)]
    boxes = {text: text.get_window_extent(renderer) for text in texts if text.get_text().strip()}
    return [
        text.get_text()
        for text, box in boxes.items()
        if box.x0 < -1 or box.y0 < -1 or box.x1 > width + 1 or box.y1 > height + 1
    ]


def shown_texts(figure: Any) -> str:
    legends = [text.get_text() for legend in figure.legends for text in legend.get_texts()]
    return "\n".join([*(text.get_text() for text in figure.texts), *legends])


@pytest.mark.parametrize(
    "draw",
    [large_table().figure, large_study().figure, large_study().rank_figure],
    ids=["agreement", "variation", "ranks"],
)
def test_nothing_is_cut_off_and_the_figure_fits_a_page(draw: Callable[[], Any]) -> None:
    figure = draw()
    width, height = figure.get_size_inches()
    assert width <= WIDEST
    assert height <= 2 * width
    assert texts_outside(figure) == []


def test_bars_of_sixteen_metrics_look_different_and_the_caption_explains_them() -> None:
    figure = large_table().figure()
    (legend,) = figure.legends
    looks = {(patch.get_facecolor(), patch.get_hatch()) for patch in legend.get_patches()}
    assert len(looks) == len(legend.get_texts()) == 16
    caption = shown_texts(figure).replace("-\n", "-").replace("\n", " ")
    for word in ("Bars: Kendall", "whiskers: 95 % interval", "*: no other metric is significantly better"):
        assert word in caption
    assert "zh-en: 3 judged outputs" in caption
    assert len(figure.axes) == 3  # rows of three groups: eight pairs and their average
    assert len({axes.get_ylim() for axes in figure.axes}) == 1


def test_styles_never_repeat_and_use_eight_colours() -> None:
    styles = series_styles([f"m{number}" for number in range(80)], muted=[])
    assert len(set(styles.values())) == 80
    assert len({style.colour for style in styles.values()}) == 8
    greys = series_styles(SENTINELS, muted=SENTINELS)
    assert len(set(greys.values())) == 3
    assert not {style.colour for style in greys.values()} & {style.colour for style in styles.values()}


def test_bars_are_centred_over_their_name() -> None:
    groups = {"one": {"a": Bar(1.0), "b": Bar(2.0), "c": Bar(math.nan)}, "two": {"c": Bar(1.0)}, "three": {}}
    figure = draw_bar_panels([BarPanel("t", "y", groups)], series_styles("abc"), title="t", caption="c")
    bars = figure.axes[0].patches
    middles = [bar.get_x() + bar.get_width() / 2 for bar in bars]
    assert (middles[0] + middles[1]) / 2 == pytest.approx(0)
    assert middles[2] == pytest.approx(1)
    assert figure.axes[0].get_xlim() == (-0.5, 2.5)
    assert [text.get_text() for text in figure.axes[0].texts] == ["no value"]


def test_hundreds_of_groups_are_cut_with_a_word() -> None:
    groups = {f"system {number}": {name: Bar(1.0) for name in METRICS} for number in range(200)}
    figure = draw_bar_panels([BarPanel("t", "y", groups)], series_styles(METRICS), title="t", caption="c")
    assert len(figure.axes) == 24
    assert figure.get_size_inches()[1] < 45
    assert "the first 24 of 67 rows" in shown_texts(figure)


def test_only_rankings_that_flip_are_shown() -> None:
    some = large_study().rank_figure()
    steady = large_study().rankings[0]
    none = Sensitivity("files", "punctuation", None, (), (), (steady,)).rank_figure()
    titles = [axes.get_title(loc="left") for axes in some.axes if axes.get_visible()]
    assert len(titles) == 6
    assert all(title.endswith("1 flip") for title in titles)
    assert "Not shown: 7 of 13 rankings" in shown_texts(some)
    assert "No two systems swap ranks" in shown_texts(none)


@pytest.mark.parametrize("draw", [Sensitivity.figure, Sensitivity.rank_figure])
def test_a_study_without_anything_to_draw_is_refused(draw: Callable[[Sensitivity], Any]) -> None:
    with pytest.raises(InputError, match="nothing to draw"):
        draw(Sensitivity("files", "punctuation", None, (), (), ()))


def test_a_dollar_in_a_name_is_a_dollar(tmp_path: Path) -> None:
    figure, (axes,) = new_panels(1, 1, width=4, height=2)
    styles = series_styles(["a$b", "$x^{"])
    axes.plot([0, 1], [0, 1])
    finish_figure(
        figure, title="$\\frac{", caption="a $ b", legend=(legend_entries(styles, kind="mark"), list(styles))
    )
    figure.savefig(tmp_path / "x.png")
    assert texts_outside(figure) == []


def test_variation_of_all_sweeps_is_on_one_scale_and_missing_values_are_named() -> None:
    settings = ("original", "changed")
    effects = [
        SettingEffect.of("a", "punctuation", "score", settings, {"s": (0.5, 0.6), "t": (0.5, 0.5)}),
        SettingEffect.of("b", "punctuation", "score", settings, {"s": (0.5, 0.7)}),
        SettingEffect.of("a", "subwords", "score", settings, {"s": (0.5, None)}),
    ]
    figure = Sensitivity("files", "all", None, (), tuple(effects), ()).figure()
    (axes,) = figure.axes
    assert [label.get_text() for label in axes.get_yticklabels()] == ["punctuation", "subwords"]
    assert [text.get_text().strip() for text in axes.texts] == ["a: no value", "b: does not have this setting"]
    means = [line.get_xdata()[0] for line in axes.lines if line.get_markersize() == 8]
    assert means == [pytest.approx((effects[0].groups["s"].cv or 0) / 2), pytest.approx(effects[1].groups["s"].cv)]
