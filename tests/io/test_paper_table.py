"""Tables for papers: marks, decimals, captions, and that LaTeX sets them without an overfull box."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

from nlgauge.errors import RecipeError
from nlgauge.io.paper_table import PaperCell, PaperColumn, PaperTable, paper_scores

SIGNATURES = ["bertscore|minilm-L4|nlgauge:0.2|h:3f9c21ab", "chrf|words:2|a_b#1%|nlgauge:0.2"]
CELLS = [PaperCell("90.6", best=True), PaperCell("90.1", level=True), PaperCell("85.8")]
TABLE = PaperTable(
    ["new_a", "new_b", "base"],
    [PaperColumn("BERTScore", True, CELLS), PaperColumn("BaryScore", False, [PaperCell("-0.5")] * 3)],
    "Scores of 3 systems on 500 segments.",
    "paired bootstrap, p < 0.05, Holm-corrected for 3 pairs",
    SIGNATURES,
)
TEN = [
    "uedin-nmt",
    "online-A",
    "KIT",
    "SYSTRAN",
    "RWTH-nmt-ensemble",
    "online-B",
    "LIUM-NMT",
    "C-3MA",
    "TALP_UPC",
    "jhu",
]
TITLES = ["BERTScore", "MoverScore", "XMoverScore", "ROUGE-L", "BLEU", "chrF++"]


def table_of(systems: list[str], titles: list[str]) -> PaperTable:
    cells = [PaperCell(f"0.{900 - i}", best=not i, level=0 < i < 3) for i in range(len(systems))]
    columns = [PaperColumn(title, title != "MoverScore", cells) for title in titles]
    return PaperTable(systems, columns, "Scores on WMT17.", TABLE.marks, SIGNATURES[:1] * len(titles))


def test_latex_marks_the_best_and_its_equals() -> None:
    latex = TABLE.to_latex()
    assert r"System & BERTScore & BaryScore $\downarrow$ \\" in latex
    assert r"new\_a & \textbf{90.6}\phantom{$^{\dagger}$} & $-$0.5 \\" in latex
    assert r"new\_b & 90.1$^{\dagger}$ & $-$0.5 \\" in latex
    assert r"$\dagger$: not significantly different from the best (paired bootstrap, $p < 0.05$, Holm" in latex
    assert r"\texttt{bertscore\textbar{}\allowbreak{}minilm-L4\textbar{}" in latex
    assert r"a\_b\#1\%" in latex


def test_markdown_has_signatures_as_code_outside_of_the_table() -> None:
    markdown = TABLE.to_markdown()
    assert "| System | BERTScore | BaryScore ↓ |\n|---|--:|--:|\n| new\\_a | **90.6** | -0.5 |" in markdown
    assert "| new\\_b | 90.1† | -0.5 |" in markdown
    assert f"Signatures: `{SIGNATURES[0]}`, `{SIGNATURES[1]}`." in markdown


def test_html_and_text() -> None:
    assert '<tr><th scope="row">new_b</th><td>90.1<sup>†</sup></td><td>-0.5</td></tr>' in TABLE.to_html()
    assert TABLE.to_text().splitlines()[2].split() == ["new_a", "**90.6**", "-0.5"]
    with pytest.raises(RecipeError, match="written as text, latex, markdown, html, got 'tsv'"):
        TABLE.write("tsv")


def test_scores_times_100_only_where_they_fit() -> None:
    assert paper_scores([0.9123, -0.2], percent=True, decimals=None, default=3) == (["91.2", "-20.0"], True)
    assert paper_scores([34.21], percent=True, decimals=None, default=1) == (["34.2"], False)
    assert paper_scores([0.9123], percent=False, decimals=None, default=3) == (["0.912"], False)
    assert paper_scores([0.9123], percent=False, decimals=4, default=3) == (["0.9123"], False)
    assert paper_scores([84.123], percent=True, decimals=None, default=None) == (["84.1"], False)


@pytest.mark.parametrize(("systems", "titles", "environment"), [(3, 2, "table"), (10, 4, "table*")])
def test_wide_tables_span_both_columns(systems: int, titles: int, environment: str) -> None:
    assert rf"\begin{{{environment}}}" in table_of(TEN[:systems], TITLES[:titles]).to_latex()


@pytest.mark.slow
@pytest.mark.skipif(shutil.which("pdflatex") is None, reason="pdflatex is not installed (make latex-tools)")
def test_latex_sets_tables_without_an_overfull_box(tmp_path: Path) -> None:
    """In two columns of 219 points, as in the style of ACL."""
    tables = [table_of(TEN[:2], TITLES[:1]), table_of(TEN[:3], TITLES[:2]), table_of(TEN, TITLES[:3]), TABLE]
    tables += [table_of(TEN, TITLES[:4]), table_of(TEN, TITLES), table_of([f"system_{'x-' * 20}"], TITLES)]
    document = [
        r"\documentclass[11pt,twocolumn]{article}",
        r"\usepackage[a4paper,margin=2.5cm,columnsep=0.6cm]{geometry}",
        r"\usepackage{booktabs}",
        r"\begin{document}",
        *(table.to_latex() for table in tables),
        r"\typeout{column: \the\columnwidth}",
        r"\end{document}",
    ]
    (tmp_path / "paper.tex").write_text("\n".join(document), encoding="utf-8")
    command = ["pdflatex", "-interaction=nonstopmode", "-halt-on-error", "paper.tex"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, check=False, timeout=120)
    log = (tmp_path / "paper.log").read_text(encoding="utf-8", errors="replace")
    assert done.returncode == 0, log[-2000:]
    assert "column: 219.0" in log
    assert "Overfull" not in log
