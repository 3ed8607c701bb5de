"""Saved runs side by side: names of systems, and what must not be compared."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from nlgauge.core.score import Score
from nlgauge.core.score_table import ScoreTable
from nlgauge.core.signature import Signature
from nlgauge.errors import InputError, NlgaugeWarning, SignatureError
from nlgauge.studies.compare.system_scores import join_runs


def made(system: str | None, metric: str = "chrf", *, run: Any = None, **fields: str) -> Score:
    recipe = {"words": "0", "engine": "onnx-1.2-fp32", "nlgauge": "0.2.0"} | fields
    values = {metric: np.linspace(0, 1, 3)}
    return Score(metric, system, values, metric, True, Signature(metric, recipe, run or {}), {})


def saved(*scores: Score, **texts: str) -> ScoreTable:
    return ScoreTable(scores, texts)


def named(scores: ScoreTable) -> list[tuple[str, str | None]]:
    return [(score.metric, score.system) for score in scores]


def test_systems_keep_their_names_where_those_differ() -> None:
    joined = join_runs({"one.json": saved(made("a"), made("b")), "two.json": saved(made("c"))})
    assert named(joined) == [("chrf", "a"), ("chrf", "b"), ("chrf", "c")]


def test_a_second_metric_of_the_same_systems_is_no_clash() -> None:
    joined = join_runs({"one.json": saved(made("a")), "two.json": saved(made("a", "ter"))})
    assert named(joined) == [("chrf", "a"), ("ter", "a")]


def test_systems_of_one_name_are_called_by_their_file() -> None:
    runs = {"x/base.json": saved(made("out.txt")), "x/new.json": saved(made("out.txt"), made("out.txt", "ter"))}
    assert named(join_runs(runs)) == [("chrf", "base"), ("chrf", "new"), ("ter", "new")]
    runs = {"base.json": saved(made("out.txt")), "more.json": saved(made("out.txt"), made("b.txt"))}
    assert [name for _, name in named(join_runs(runs))] == ["base", "more: out.txt", "more: b.txt"]


def test_files_of_one_name_keep_their_folders_and_systems_without_one_get_it() -> None:
    runs = {"x/run.json": saved(made(None)), "y/run.json": saved(made(None))}
    assert [name for _, name in named(join_runs(runs))] == ["x/run.json", "y/run.json"]


def test_another_recipe_is_refused_with_what_differs() -> None:
    runs = {"one.json": saved(made("a")), "two.json": saved(made("b", words="2"))}
    with pytest.raises(SignatureError, match=r"of 'a' and of 'b' do not compare.*words 0 and 2; score the systems"):
        join_runs(runs)
    with pytest.raises(SignatureError, match="words 0 and 2"):
        join_runs(runs, other_versions=True)


def test_two_recipes_that_all_systems_have_are_two_metrics() -> None:
    both = [made(name, words=words) for words in ("0", "2") for name in ("a", "b")]
    assert len(join_runs({"one.json": saved(*both)})) == 4


def test_runs_of_other_versions_need_a_flag() -> None:
    runs = {"one.json": saved(made("a")), "two.json": saved(made("b", nlgauge="0.3.0", engine="onnx-1.3-fp32"))}
    with pytest.raises(SignatureError, match=r"only versions differ: continue with .*--other-versions"):
        join_runs(runs)
    with pytest.warns(NlgaugeWarning, match=r"versions: engine onnx-1.2-fp32 and onnx-1.3-fp32; nlgauge 0.2"):
        joined = join_runs(runs, other_versions=True)
    assert len({score.signature.recipe_part for score in joined}) == 1


def test_another_precision_is_no_version() -> None:
    runs = {"one.json": saved(made("a")), "two.json": saved(made("b", engine="onnx-1.2-int8"))}
    with pytest.raises(SignatureError, match=r"engine onnx-1.2-fp32 and onnx-1.2-int8; score the systems"):
        join_runs(runs, other_versions=True)


def test_scores_that_were_scaled_over_their_own_run_do_not_compare() -> None:
    runs = {"one.json": saved(made("a", run={"range": "12"})), "two.json": saved(made("b", run={"range": "34"}))}
    with pytest.raises(SignatureError, match="range 12 and 34"):
        join_runs(runs)
    runs = {name: saved(made(name, run={"range": "12", "empty": name})) for name in ("a", "b")}
    assert len(join_runs(runs)) == 2


def test_other_references_are_refused() -> None:
    first, two = saved(made("a"), references="1" * 64), saved(made("b"), references="2" * 64)
    with pytest.raises(InputError, match=r"'one.json' and 'two.json' were .* different references \(sha256 1"):
        join_runs({"one.json": first, "two.json": two})
    unknown = replace(two, texts={})
    assert len(join_runs({"one.json": first, "two.json": unknown})) == 2
