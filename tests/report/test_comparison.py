"""Comparisons as people and programs read them: what is shown, what is cut, what a mark means."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Literal

import numpy as np
import pytest

from nlgauge.compare import compare_systems
from nlgauge.compare.runs import compare_runs
from nlgauge.compare.verdicts import Verdict, compare_verdicts
from nlgauge.errors import InputError, RecipeError
from nlgauge.report.comparison import Compared, render_comparison


def made(count: int, *, instances: int = 12, step: float = 1.0) -> Compared:
    rng = np.random.default_rng(1)
    noise = rng.normal(size=(count, instances))
    scores: Mapping[str, Sequence[float]] = {f"s{at}": (noise[at] - step * at).tolist() for at in range(count)}
    return Compared(compare_systems({"chrf": scores}, resamples=100, permutations=1000))


def test_what_a_mark_means_is_said() -> None:
    text = render_comparison(made(3, instances=30, step=3))
    header, first = text.split("chrf, pairs\n")[1].splitlines()[0::2][:2]
    assert header.split()[:3] == ["first", "second", "difference"]
    assert "*" in first
    assert "with a star, or bold: paired bootstrap, p < 0.05, corrected for all pairs by Holm" in text
    assert "rankings agree" in text


@pytest.mark.parametrize("form", ["text", "markdown"])
def test_the_verdict_comes_first_and_the_legend_once(form: Literal["text", "markdown"]) -> None:
    rng = np.random.default_rng(1)
    scores = {name: (rng.normal(size=40) + shift).tolist() for name, shift in (("a", 3.0), ("b", 0.0), ("c", -3.0))}
    found = Compared(compare_systems({"chrf": scores, "bleu": scores}, resamples=100, permutations=1000))
    said = render_comparison(found, format=form)
    assert said.startswith("By chrf, a comes first of 3 systems (")
    assert said.index("Both metrics put a first.") < said.index("chrf: 40 instances")
    for words in ("cluster: systems that", "difference: above 0", "effect: Cohen's d", "low, high: bootstrap"):
        assert said.count(words) == 1, words
        assert said.index(words) > said.index("bleu, share of instances")
    assert said.count("intervals are not corrected for the number of pairs, stars are") == 1
    assert said.count("% outliers") == 2


def test_the_diagnostics_are_a_line() -> None:
    values = {"a": [1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 100.0], "b": [1.0, 2.0, 2.0, 4.0, 5.0, 5.0, 7.0, 8.0]}
    text = render_comparison(Compared(compare_systems({"m": values})))
    # 1 of 16 scores; 5 of 8 instances tie; (2 / sqrt 2 + 92 / sqrt 2) / 8 between systems.
    assert "scores: 6.25 % outliers, 62.5 % of comparisons tie; standard deviation 8.31 between systems" in text


def test_a_small_p_value_is_never_0() -> None:
    values = {"a": [1.0 + at % 7 for at in range(60)], "b": [at % 7 + at % 3 / 10 for at in range(60)]}
    found = Compared(compare_systems({"m": values}, test="t"))
    (pair,) = found.comparison.metrics[0].pairs if found.comparison else ()
    assert pair.p_value is not None
    assert pair.p_value < 1e-6
    assert "0.0000" not in render_comparison(found).split("m, pairs")[1].split("low, high")[0].split("losses")[1]
    assert "  <0.0001  <0.0001  " in render_comparison(found)
    assert "| &lt;0.0001 |" in render_comparison(found, format="markdown")
    assert "& $<$0.0001 &" in render_comparison(found, format="latex")
    header, row = (line.split("\t") for line in render_comparison(found, format="tsv", table="pairs").splitlines())
    assert float(row[header.index("p")]) == pytest.approx(pair.p_value, rel=0.01)


def test_only_so_many_pairs_are_shown_and_files_have_all() -> None:
    found = made(21)
    text = render_comparison(found)
    assert "200 of 210 pairs; all of them: --format tsv --table pairs, or json" in text
    assert "21 systems; --format tsv --table wins, or json" in text
    assert len(render_comparison(found, format="tsv", table="pairs").splitlines()) == 211
    assert len(render_comparison(found, format="tsv", table="wins").splitlines()) == 21 * 20 + 1
    assert len(json.loads(render_comparison(found, format="json"))["metrics"][0]["pairs"]) == 210


def test_a_correction_that_was_not_made_is_not_shown() -> None:
    values = {"a": [1.0, 2.0, 3.0, 5.0], "b": [1.0, 1.0, 4.0, 4.5]}
    comparison = compare_systems({"chrf": values}, correction="none", smallest_difference=0.5, ratings=True)
    text = render_comparison(Compared(comparison))
    assert "p Holm" not in text
    assert "p < 0.05, not corrected, difference at least 0.5" in text
    assert "Elo" in text


def test_rankings_that_disagree_are_told_and_others_not() -> None:
    up, down = [1.0, 2.0, 3.0, 4.0], [0.0, 1.0, 2.0, 3.0]
    scores = {"chrf": {"a": up, "b": down}, "ter": {"a": down, "b": up}, "bleu": {"a": up, "b": down}}
    text = render_comparison(Compared(compare_systems(scores)))
    table = text.split("rankings that disagree\n")[1].split("share of pairs:")[0]
    assert "chrf mean  ter mean" in table
    assert "bleu" in table
    assert "chrf BT" not in table
    assert "all rankings agree" not in text


def test_names_are_escaped_in_markdown_and_latex() -> None:
    comparison = compare_systems({"m|1": {"<b>": [1.0, 2.0, 3.0], "a_b": [2.0, 2.0, 2.0]}})
    markdown = render_comparison(Compared(comparison), format="markdown")
    assert "&lt;b&gt;" in markdown
    assert "m\\|1" in markdown
    latex = render_comparison(Compared(comparison), format="latex")
    assert r"a\_b" in latex
    assert latex.count(r"\begin{tabular}") == latex.count(r"\end{tabular}") == 2
    outside = [line for line in latex.splitlines() if line.startswith(("comparison", "all rankings"))]
    assert not outside


def test_verdicts_and_runs_have_tables_of_their_own() -> None:
    verdicts = compare_verdicts([Verdict(str(at), "a", "b", "first" if at % 3 else "tie") for at in range(12)])
    runs = compare_runs({"a": [0.71, 0.73, 0.72, 0.74], "b": [0.61, 0.66, 0.63, 0.62]}, metric="chrf")
    found = Compared(verdicts=[("judge", verdicts)], runs=[runs])
    text = render_comparison(found)
    assert "judge: 12 verdicts on 12 instances" in text
    assert "position: 8 verdicts for the output shown first (100% of those decided), 0 for the second" in text
    assert "chrf, over runs" in text
    assert "P(first better): that a run of the first system beats a run of the second" in text
    record = json.loads(render_comparison(found, format="json"))
    assert list(record) == ["nlgauge", "verdicts", "runs"]


def test_what_cannot_be_rendered() -> None:
    with pytest.raises(InputError, match="no comparison was made"):
        render_comparison(Compared())
    with pytest.raises(RecipeError, match="format must be one of text, json, tsv, latex, markdown, got 'html'"):
        render_comparison(made(2), format="html")  # type: ignore[arg-type]
    with pytest.raises(RecipeError, match="table must be one of ranking, pairs, wins, disagreements, got 'x'"):
        render_comparison(made(2), format="tsv", table="x")  # type: ignore[arg-type]
