"""Comparisons as people and programs read them: what is shown, what is cut, what a mark means."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Literal

import numpy as np
import pytest
from tests.studies.compare.made_scores import uneven

import nlgauge
from nlgauge.errors import InputError, RecipeError
from nlgauge.report.document import html_report
from nlgauge.studies.compare.comparison import CompareSettings, SystemComparison
from nlgauge.studies.compare.repeated_runs import compare_runs
from nlgauge.studies.compare.report import ComparisonReport
from nlgauge.studies.compare.sentences import metric_verdict, plain
from nlgauge.studies.compare.systems import compare_systems
from nlgauge.studies.compare.verdicts import Verdict, compare_verdicts


def made(count: int, *, instances: int = 12, step: float = 1.0) -> SystemComparison:
    rng = np.random.default_rng(1)
    noise = rng.normal(size=(count, instances))
    scores: Mapping[str, Sequence[float]] = {
        f"s{index}": (noise[index] - step * index).tolist() for index in range(count)
    }
    return compare_systems({"chrf": scores}, resamples=100, permutations=1000)


def test_legend_names_the_test_behind_a_star() -> None:
    text = made(3, instances=30, step=3).render(all_tables=True)
    header, first = text.split("chrf, pairs\n")[1].splitlines()[0::2][:2]
    assert header.split()[:3] == ["first", "second", "difference"]
    assert "*" in first
    assert "star, or bold: paired bootstrap, p < 0.05, Holm-corrected for 3 pairs" in text
    assert "rankings agree" in text


@pytest.mark.parametrize("form", ["text", "markdown"])
def test_verdict_comes_first_and_legend_once(form: Literal["text", "markdown"]) -> None:
    rng = np.random.default_rng(1)
    scores = {name: (rng.normal(size=40) + shift).tolist() for name, shift in (("a", 3.0), ("b", 0.0), ("c", -3.0))}
    result = compare_systems({"chrf": scores, "bleu": scores}, resamples=100, permutations=1000)
    message = result.render(form, all_tables=True)
    assert message.startswith("a has the best chrF of 3 systems (")
    assert message.index("Both metrics rank a first.") < message.index("chrf: 40 instances")
    for words in (
        "cluster: rank clusters as in WMT; every system of a cluster is significantly better",
        "difference: above 0",
        "effect: Cohen's d",
        "low, high: bootstrap",
    ):
        assert message.count(words) == 1, words
        assert message.index(words) > message.index("bleu, share of instances")
    assert message.count("Stars are Holm-corrected, intervals are not") == 1
    assert message.count("% outliers") == 2


def test_diagnostics_are_one_line() -> None:
    values = {"a": [1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 100.0], "b": [1.0, 2.0, 2.0, 4.0, 5.0, 5.0, 7.0, 8.0]}
    text = compare_systems({"m": values}).render(all_tables=True)
    # 1 of 16 scores; 5 of 8 instances tie; (2 / sqrt 2 + 92 / sqrt 2) / 8 between systems.
    assert "scores: 6.25 % outliers, 62.5 % of comparisons tie; standard deviation 8.31 between systems" in text


def test_a_small_p_value_is_never_0() -> None:
    values = {"a": [1.0 + index % 7 for index in range(60)], "b": [index % 7 + index % 3 / 10 for index in range(60)]}
    result = compare_systems({"m": values}, test="t")
    (pair,) = result.metrics[0].pairs
    assert pair.p_value is not None
    assert pair.p_value < 1e-6
    assert (
        "0.0000" not in result.render(all_tables=True).split("m, pairs")[1].split("low, high")[0].split("losses")[1]
    )
    assert "  <0.0001  <0.0001  " in result.render(all_tables=True)
    assert "| &lt;0.0001 |" in result.render("markdown", all_tables=True)
    assert "& $<$0.0001 &" in result.render("latex", all_tables=True)
    header, row = (line.split("\t") for line in result.render("pairs").splitlines())
    assert float(row[header.index("p")]) == pytest.approx(pair.p_value, rel=0.01)


def test_200_pairs_are_shown_and_files_have_all() -> None:
    result = made(21)
    text = result.render(all_tables=True)
    assert "200 of 210 pairs; all of them: --format tsv --table pairs, or json" in text
    assert "21 systems; --format tsv --table wins, or json" in text
    assert len(result.render("pairs").splitlines()) == 211
    assert len(result.render("wins").splitlines()) == 21 * 20 + 1
    assert len(json.loads(result.render("json"))["metrics"][0]["pairs"]) == 210


def test_no_holm_column_without_correction() -> None:
    values = {"a": [1.0, 2.0, 3.0, 5.0], "b": [1.0, 1.0, 4.0, 4.5]}
    comparison = compare_systems({"chrf": values}, correction="none", smallest_difference=0.5, ratings=True)
    text = comparison.render(all_tables=True)
    assert "p Holm" not in text
    assert "p < 0.05, difference at least 0.5" in text
    assert "Elo" in text


def test_only_rankings_that_disagree_are_shown() -> None:
    up, down = [1.0, 2.0, 3.0, 4.0], [0.0, 1.0, 2.0, 3.0]
    scores = {"chrf": {"a": up, "b": down}, "ter": {"a": down, "b": up}, "bleu": {"a": up, "b": down}}
    text = compare_systems(scores).render(all_tables=True)
    table = text.split("rankings that disagree\n")[1].split("share of pairs:")[0]
    assert "chrf mean  ter mean" in table
    assert "bleu" in table
    assert "chrf BT" not in table
    assert "all rankings agree" not in text


def test_names_are_escaped_in_markdown_and_latex() -> None:
    comparison = compare_systems({"m|1": {"<b>": [1.0, 2.0, 3.0], "a_b": [2.0, 2.0, 2.0]}})
    markdown = comparison.render("markdown", all_tables=True)
    assert "&lt;b&gt;" in markdown
    assert "m\\|1" in markdown
    latex = comparison.render("latex", all_tables=True)
    assert r"a\_b" in latex
    assert latex.count(r"\begin{tabular}") == latex.count(r"\end{tabular}") == 3
    outside = [line for line in latex.splitlines() if line.startswith(("comparison", "all rankings"))]
    assert not outside


def test_verdicts_and_runs_have_tables() -> None:
    verdicts = compare_verdicts(
        [Verdict(str(index), "a", "b", "first" if index % 3 else "tie") for index in range(12)]
    )
    runs = compare_runs({"a": [0.71, 0.73, 0.72, 0.74], "b": [0.61, 0.66, 0.63, 0.62]}, metric="chrf")
    result = ComparisonReport((), (), CompareSettings(), "", verdicts=(verdicts,), runs=(runs,))
    text = result.render()
    assert "judge: 12 verdicts on 12 instances" in text
    assert "position: 8 verdicts for the output shown first (100% of those decided), 0 for the second" in text
    assert "chrf, over runs" in text
    assert "P(first better): probability that a run of the first system beats a run of the second" in text
    record = json.loads(result.render("json"))
    assert [len(record[name]) for name in ("metrics", "verdicts", "runs")] == [0, 1, 1]


def test_empty_report_and_unknown_format_are_refused() -> None:
    with pytest.raises(InputError, match="nothing to report: no comparison by"):
        ComparisonReport((), (), CompareSettings(), "")
    with pytest.raises(RecipeError, match=r"format must be one of text, json, tsv, csv, latex, .*, got 'x'"):
        made(2).render("x")


def test_all_formats_tell_one_story_of_clusters() -> None:
    """best does not beat unsure, so that no line separates them: in words, tables, JSON and the HTML report."""
    scores = [uneven()]
    result = compare_systems(scores, permutations=1000)
    text = result.render(all_tables=True)
    assert "; no significant difference from unsure; significantly better than " in text
    ranking = text.split("m: 200 instances\n")[1].split("\n\n")[0].splitlines()
    assert [row.split()[-1] for row in ranking[2:6]] == ["1", "1", "1", "2"]
    rows = [row.split("\t") for row in result.render("tsv").splitlines()]
    assert [row[rows[0].index("cluster")] for row in rows[1:]] == ["1", "1", "1", "2"]
    (metric,) = json.loads(result.render("json"))["metrics"]
    assert [row["cluster"] for row in metric["systems"]] == [1, 1, 1, 2]
    assert [row["worse_than_best"] for row in metric["systems"]] == [False, True, False, True]
    page = html_report(result, scores=scores)
    for table in ("ranking", "matrix"):
        body = re.findall(rf'<table class="{table}">.*?<tbody>(.*?)</tbody>', page, re.S)[0]
        starts = ['class="starts"' in row for row in re.findall(r"<tr.*?>", body)]
        assert starts == [False, False, False, True], table
    assert "every system above it is significantly better than every system below it" in page


def test_table_for_a_paper_marks_what_is_not_significantly_different() -> None:
    """unsure is not significantly worse than the best system, the other two are."""
    comparison = compare_systems([uneven()], permutations=1000)
    assert [row.worse_than_best for row in comparison.metric().systems] == [False, True, False, True]
    rows = comparison.to_markdown().splitlines()[2:6]
    assert ["**" in row for row in rows] == [True, False, False, False]
    assert ["†" in row for row in rows] == [False, False, True, False]
    assert comparison.to_latex(label="tab:x", caption="Mine.").count(r"$^{\dagger}$ \\") == 1
    assert r"\label{tab:x}" in comparison.to_latex(label="tab:x")
    assert "Mine. Best in bold" in comparison.to_html(caption="Mine.")
    assert "†" not in made(1).to_latex() + made(1).to_markdown()


def test_scores_without_a_comparison_have_a_paper_table_without_marks() -> None:
    texts = {"a": ["The cat sat.", "It rained."], "b": ["A cat sits.", "It is rain."]}
    scores = nlgauge.score_systems(texts, ["The cat sat.", "It rained."], metric=["chrf", "chrf:words=2", "rouge1"])
    table = scores.to_markdown(percent=True)
    assert table.startswith("| System | chrF (words:0) | chrF++ (words:2) | ROUGE-1 |")
    assert "| a | 100.0 | 100.0 | 100.0 |" in table
    assert "**" not in table
    assert scores.to_latex(decimals=2).count("100.00") == 2


def test_compact_table_warns_of_what_limits_the_verdict() -> None:
    text = made(2, instances=6).render()
    assert "6 segments: below 10 no difference is called significant" in text
    assert "Bradley-Terry strengths can be too narrow" not in text
    assert made(2, instances=6).metric().warnings == made(2, instances=6).metric().notes[:1]


def test_ten_systems_of_wmt17_tell_one_story(data_folder: Path, tmp_path: Path) -> None:
    """German-English, 500 segments, all systems but online-F.

    uedin-nmt is significantly better than RWTH's system and not than online-B, which ranks below it. So the two are
    in one cluster, online-B is filled in the figure, and the words name it among those from which no difference is
    shown.
    """
    folder = data_folder / "wmt17"

    def read(path: Path) -> list[str]:
        return path.read_text(encoding="utf-8").split("\n")[:500]

    systems = {path.name.split(".")[1]: read(path) for path in sorted((folder / "system-outputs/de-en").iterdir())}
    del systems["online-F"]
    references = read(folder / "references/newstest2017-deen-ref.en")
    result = compare_systems(nlgauge.score_systems(systems, references)).metric()
    level = ["uedin-nmt", "online-A", "KIT", "SYSTRAN", "online-B"]
    assert result.pair("uedin-nmt", "online-B").p_adjusted == pytest.approx(0.1833, abs=5e-5)
    assert [row.system for row in result.systems if not row.worse_than_best] == level
    first = [row.system for row in result.systems if row.cluster == 1]
    assert first == [*level[:4], "RWTH-nmt-ensemble", "online-B"]
    assert {row.cluster for row in result.systems} == {1, 2}
    assert plain(metric_verdict(result, CompareSettings())).endswith(
        "; no significant difference from online-A, KIT, SYSTRAN and online-B; significantly better than "
        "RWTH-nmt-ensemble, online-G, LIUM-NMT, TALP-UPC and C-3MA (p < 0.05, Holm-corrected for 45 pairs)."
    )
