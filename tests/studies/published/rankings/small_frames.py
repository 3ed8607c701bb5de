"""Small frames of two data sets, as the published ones lie on disk."""

from __future__ import annotations

from pathlib import Path

import numpy as np

METRICS = ("BLEU", "ROUGE_1", "ROUGE_2", "ROUGE_L", "ROUGE_WE_1", "ROUGE_WE_2", "MoverScore", "BERTScore")


def write_frames(folder: Path, *, instances: int = 20) -> None:
    """Five systems on TopicalChat and four on PersonaChat; scores are tenths, so that many tie."""
    rng = np.random.default_rng(7)
    for name, systems in (("tc", 5), ("pc", 4)):
        place = folder / "dialogue" / "Dialogue" / name
        place.mkdir(parents=True)
        for metric in METRICS:
            values = np.round(rng.normal(np.linspace(0.4, 0.6, systems), 0.2, (instances, systems)), 1)
            lines = [",".join(f"M{index}" for index in range(systems))]
            lines += [",".join(map(repr, row)) for row in values.tolist()]
            (place / f"{metric}.csv").write_text("\n".join(lines) + "\n", encoding="utf-8")
