"""`nlgauge study raters`: a table with a column per rater."""

from __future__ import annotations

import json
from pathlib import Path

from tests.apps.cli.conftest import Run
from tests.stats.published_ratings import KRIPPENDORFF


def test_alpha_of_a_published_example(run: Run, folder: Path) -> None:
    rows = [["" if rating is None else str(rating) for rating in item] for item in zip(*KRIPPENDORFF, strict=True)]
    lines = ["unit\ta\tb\tc\td", *("\t".join([f"u{number}", *row]) for number, row in enumerate(rows))]
    (folder / "ratings.tsv").write_text("\n".join(lines) + "\n", encoding="utf-8")
    args = ("study", "raters", "ratings.tsv", "--raters", "a", "b", "c", "d", "--scale", "ordinal")
    shown = run(*args)
    assert shown.status == 0
    (line,) = [line for line in shown.out.splitlines() if line.startswith("Krippendorff's alpha")]
    assert line.split()[2] == "0.815"  # Krippendorff (2011)
    record = json.loads(run(*args, "--format", "json").out)
    assert record["items"] == 11
    assert record["measures"][2]["value"] is None  # Fleiss' kappa needs equally many ratings for each item


def test_words_need_an_order(run: Run, folder: Path) -> None:
    (folder / "ratings.csv").write_text("anna,ben\npoor,poor\ngood,fair\nfair,fair\n", encoding="utf-8")
    failed = run("study", "raters", "ratings.csv", "--scale", "ordinal")
    assert failed.status == 2
    assert "their order from lowest to highest" in failed.err
    ordered = run("study", "raters", "ratings.csv", "--scale", "ordinal", "--order", "poor", "fair", "good")
    assert ordered.status == 0
    assert "alpha: ordinal scale" in " ".join(ordered.out.split())
