"""Figures of surrogates: every metric and factor is on them."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from nlgauge.io.canvas import save_figure
from nlgauge.studies.factors.surrogate import fit_surrogates


def test_names_and_captions_are_on_them(tmp_path: Path):
    rng = np.random.default_rng(1)
    lex, syn = rng.normal(size=(2, 50))
    metrics = {f"metric$ {index}": lex + index * syn + rng.normal(size=50) for index in range(5)}
    study = fit_surrogates(metrics, {"LEX": lex, "SYN": syn}, own={"CLB": dict.fromkeys(metrics, syn**2)}, data="d")
    study.save_figure(tmp_path / "one.svg")
    drawn = (tmp_path / "one.svg").read_text(encoding="utf-8")
    for text in ("LEX", "SYN", "CLB", "metric$ 4", "95 % intervals", "50 pairs"):
        assert f"{text}" in drawn
    save_figure(study.fit_figure(), tmp_path / "two.svg")
    drawn = (tmp_path / "two.svg").read_text(encoding="utf-8")
    assert drawn.count("<!-- metric$") == 10
    assert "Factors: LEX, SYN, CLB" in drawn
    for name in ("one.png", "again.png"):
        study.save_figure(tmp_path / name)
    assert (tmp_path / "again.png").read_bytes() == (tmp_path / "one.png").read_bytes()
