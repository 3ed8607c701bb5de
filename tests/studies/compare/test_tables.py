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
from nlgauge.studies.compare.systems import compare_systems
from nlgauge.studies.compare.tables import metric_verdict, plain
from nlgauge.studies.compare.verdicts import Verdict, compare_verdicts


def made(count: int, *, instances: int = 12, step: float = 1.0) -> SystemComparison:
    rng = np.random.default_rng(1)
    noise = rng.normal(size=(count, instances))
    scores: Mapping[str, Sequence[float]] = {f"s{at}": (noise[at] - step * at).tolist() for at in range(count)}
    return compare_systems({"chrf": scores}, resamples=100, permutations=1000)


def test_what_a_mark_means_is_said() -> None:
    text = made(3, instances=30, step=3).render()
    header, first = text.split("chrf, pairs\n")[1].splitlines()[0::2][:2]
    assert header.split()[:3] == ["first", "second", "difference"]
    assert "*" in first
    assert "with a star, or bold: paired bootstrap, p < 0.05, corrected for all pairs by Holm" in text
    assert "rankings agree" in text


@pytest.mark.parametrize("form", ["text", "markdown"])
def test_the_verdict_comes_first_and_the_legend_once(form: Literal["text", "markdown"]) -> None:
    rng = np.random.default_rng(1)
    scores = {name: (rng.normal(size=40) + shift).tolist() for name, shift in (("a", 3.0), ("b", 0.0), ("c", -3.0))}
    found = compare_systems({"chrf": scores, "bleu": scores}, resamples=100, permutations=1000)
    said = found.render(form)
    assert said.startswith("By chrf, a comes first of 3 systems (")
    assert said.index("Both metrics put a first.") < said.index("chrf: 40 instances")
    for words in (
        "cluster: rank clusters as in WMT; every system of a cluster is significantly better",
        "difference: above 0",
        "effect: Cohen's d",
        "low, high: bootstrap",
    ):
        assert said.count(words) == 1, words
        assert said.index(words) > said.index("bleu, share of instances")
    assert said.count("intervals are not corrected for the number of pairs, stars are") == 1
    assert said.count("% outliers") == 2


def test_the_diagnostics_are_a_line() -> None:
    values = {"a": [1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 100.0], "b": [1.0, 2.0, 2.0, 4.0, 5.0, 5.0, 7.0, 8.0]}
    text = compare_systems({"m": values}).render()
    # 1 of 16 scores; 5 of 8 instances tie; (2 / sqrt 2 + 92 / sqrt 2) / 8 between systems.
    assert "scores: 6.25 % outliers, 62.5 % of comparisons tie; standard deviation 8.31 between systems" in text


def test_a_small_p_value_is_never_0() -> None:
    values = {"a": [1.0 + at % 7 for at in range(60)], "b": [at % 7 + at % 3 / 10 for at in range(60)]}
    found = compare_systems({"m": values}, test="t")
    (pair,) = found.metrics[0].pairs
    assert pair.p_value is not None
    assert pair.p_value < 1e-6
    assert "0.0000" not in found.render().split("m, pairs")[1].split("low, high")[0].split("losses")[1]
    assert "  <0.0001  <0.0001  " in found.render()
    assert "| &lt;0.0001 |" in found.render("markdown")
    assert "& $<$0.0001 &" in found.render("latex")
    header, row = (line.split("\t") for line in found.render("pairs").splitlines())
    assert float(row[header.index("p")]) == pytest.approx(pair.p_value, rel=0.01)


def test_only_so_many_pairs_are_shown_and_files_have_all() -> None:
    found = made(21)
    text = found.render()
    assert "200 of 210 pairs; all of them: --format tsv --table pairs, or json" in text
    assert "21 systems; --format tsv --table wins, or json" in text
    assert len(found.render("pairs").splitlines()) == 211
    assert len(found.render("wins").splitlines()) == 21 * 20 + 1
    assert len(json.loads(found.render("json"))["metrics"][0]["pairs"]) == 210


def test_a_correction_that_was_not_made_is_not_shown() -> None:
    values = {"a": [1.0, 2.0, 3.0, 5.0], "b": [1.0, 1.0, 4.0, 4.5]}
    comparison = compare_systems({"chrf": values}, correction="none", smallest_difference=0.5, ratings=True)
    text = comparison.render()
    assert "p Holm" not in text
    assert "p < 0.05, not corrected, difference at least 0.5" in text
    assert "Elo" in text


def test_rankings_that_disagree_are_told_and_others_not() -> None:
    up, down = [1.0, 2.0, 3.0, 4.0], [0.0, 1.0, 2.0, 3.0]
    scores = {"chrf": {"a": up, "b": down}, "ter": {"a": down, "b": up}, "bleu": {"a": up, "b": down}}
    text = compare_systems(scores).render()
    table = text.split("rankings that disagree\n")[1].split("share of pairs:")[0]
    assert "chrf mean  ter mean" in table
    assert "bleu" in table
    assert "chrf BT" not in table
    assert "all rankings agree" not in text


def test_names_are_escaped_in_markdown_and_latex() -> None:
    comparison = compare_systems({"m|1": {"<b>": [1.0, 2.0, 3.0], "a_b": [2.0, 2.0, 2.0]}})
    markdown = comparison.render("markdown")
    assert "&lt;b&gt;" in markdown
    assert "m\\|1" in markdown
    latex = comparison.render("latex")
    assert r"a\_b" in latex
    assert latex.count(r"\begin{tabular}") == latex.count(r"\end{tabular}") == 2
    outside = [line for line in latex.splitlines() if line.startswith(("comparison", "all rankings"))]
    assert not outside


def test_verdicts_and_runs_have_tables_of_their_own() -> None:
    verdicts = compare_verdicts([Verdict(str(at), "a", "b", "first" if at % 3 else "tie") for at in range(12)])
    runs = compare_runs({"a": [0.71, 0.73, 0.72, 0.74], "b": [0.61, 0.66, 0.63, 0.62]}, metric="chrf")
    found = ComparisonReport((), (), CompareSettings(), "", verdicts=(verdicts,), runs=(runs,))
    text = found.render()
    assert "judge: 12 verdicts on 12 instances" in text
    assert "position: 8 verdicts for the output shown first (100% of those decided), 0 for the second" in text
    assert "chrf, over runs" in text
    assert "P(first better): that a run of the first system beats a run of the second" in text
    record = json.loads(found.render("json"))
    assert [len(record[name]) for name in ("metrics", "verdicts", "runs")] == [0, 1, 1]


def test_what_cannot_be_rendered() -> None:
    with pytest.raises(InputError, match="no comparison was made"):
        ComparisonReport((), (), CompareSettings(), "")
    with pytest.raises(RecipeError, match=r"format must be one of text, json, tsv, csv, latex, .*, got 'x'"):
        made(2).render("x")


def test_all_formats_tell_one_story_of_clusters() -> None:
    """best does not beat unsure, so that no line separates them: in words, tables, JSON and the HTML report."""
    scores = [uneven()]
    found = compare_systems(scores, permutations=1000)
    text = found.render()
    assert "It is better than 2 of the other 3" in text
    assert "no difference is shown from unsure." in text
    ranking = text.split("m: 200 instances\n")[1].split("\n\n")[0].splitlines()
    assert [row.split()[-1] for row in ranking[2:6]] == ["1", "1", "1", "2"]
    rows = [row.split("\t") for row in found.render("tsv").splitlines()]
    assert [row[rows[0].index("cluster")] for row in rows[1:]] == ["1", "1", "1", "2"]
    (metric,) = json.loads(found.render("json"))["metrics"]
    assert [row["cluster"] for row in metric["systems"]] == [1, 1, 1, 2]
    assert [row["worse_than_best"] for row in metric["systems"]] == [False, True, False, True]
    page = html_report(found, scores=scores)
    for table in ("ranking", "matrix"):
        body = re.findall(rf'<table class="{table}">.*?<tbody>(.*?)</tbody>', page, re.S)[0]
        starts = ['class="starts"' in row for row in re.findall(r"<tr.*?>", body)]
        assert starts == [False, False, False, True], table
    assert "every system above it is significantly better than every system below it" in page


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
    found = compare_systems(nlgauge.score_systems(systems, references)).metric()
    level = ["uedin-nmt", "online-A", "KIT", "SYSTRAN", "online-B"]
    assert found.pair("uedin-nmt", "online-B").p_adjusted == pytest.approx(0.1833, abs=5e-5)
    assert [row.system for row in found.systems if not row.worse_than_best] == level
    first = [row.system for row in found.systems if row.cluster == 1]
    assert first == [*level[:4], "RWTH-nmt-ensemble", "online-B"]
    assert {row.cluster for row in found.systems} == {1, 2}
    assert plain(metric_verdict(found, CompareSettings())).endswith(
        "It is better than 5 of the other 9 (p < 0.05 after Holm's correction over 45 pairs); "
        "no difference is shown from online-A, KIT, SYSTRAN and online-B."
    )
