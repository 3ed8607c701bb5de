"""Figures: drawn without a display, the same bytes twice, refused before the work where the name says no format."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from nlgauge.compare.order import Flip
from nlgauge.errors import MissingExtraError, RecipeError
from nlgauge.meta.evaluation import AgreementTable, Cell
from nlgauge.plots import check_figure, plot_agreement, plot_ranks, plot_variation
from nlgauge.sensitivity.results import Ranking, Sensitivity, SettingEffect


def agreement(agreement: str = "pearson") -> AgreementTable:
    cells = {
        "bertscore": {"cs-en": Cell(0.6, 0.5, 0.7, unbeaten=True), "de-en": Cell(0.5)},
        "sentinel-length": {"cs-en": Cell(-0.1, -0.2, 0.0), "de-en": Cell(float("nan"), note="constant")},
    }
    return AgreementTable("made", "human", "segment", agreement, ("cs-en", "de-en"), cells, {})


@pytest.mark.parametrize(("suffix", "head"), [(".png", b"\x89PNG"), (".svg", b"<?xml"), (".pdf", b"%PDF")])
def test_a_figure_is_written_in_the_format_of_its_name(tmp_path: Path, suffix: str, head: bytes) -> None:
    path = tmp_path / f"figure{suffix}"
    plot_agreement(agreement(), path)
    assert path.read_bytes().startswith(head)


def test_the_same_table_gives_the_same_bytes(tmp_path: Path) -> None:
    for name in ("a.png", "b.png"):
        plot_agreement(agreement(), tmp_path / name)
    assert (tmp_path / "a.png").read_bytes() == (tmp_path / "b.png").read_bytes()


@pytest.mark.parametrize("name", ["figure", "figure.gif"])
def test_a_name_without_a_format_is_refused(name: str) -> None:
    with pytest.raises(RecipeError, match=r"\.png"):
        check_figure(Path(name))


def study() -> Sensitivity:
    effects = (
        SettingEffect("moverscore", "stopwords", "segment", ("none", "iso", "file"), {"cs-en": (0.6, 0.5, 0.55)}),
        SettingEffect("bertscore", "stopwords", "segment", ("none", "iso", "file"), {"cs-en": (0.7, None, 0.6)}),
        SettingEffect("moverscore", "idf", "score", ("original", "none"), {"a.txt": (0.5, 0.6), "b.txt": (0.4, 0.5)}),
    )
    flip = Flip("a", "b", "iso", 0.1, -0.1, 0.01, 0.02, significant=True)
    ranking = Ranking(
        "moverscore", "stopwords", "en", ("none", "iso"), {"a": (0.5, 0.3), "b": (0.4, 0.4)}, (1.0, -1.0), (flip,)
    )
    return Sensitivity("made", "all", "pearson", (), effects, (ranking,))


def test_the_figures_of_a_study(tmp_path: Path) -> None:
    for number, draw in enumerate((plot_variation, plot_ranks)):
        first, second = tmp_path / f"{number}.png", tmp_path / f"{number}-again.png"
        draw(study(), first)
        draw(study(), second)
        assert first.read_bytes().startswith(b"\x89PNG")
        assert first.read_bytes() == second.read_bytes()


def test_a_missing_matplotlib_is_named_before_the_work(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with pytest.raises(MissingExtraError, match=r"nlgauge\[plot\]"):
        check_figure(Path("figure.png"))
