"""Every result of a public function shows itself in a notebook: a table, well formed, with all text escaped."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Iterator
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.annotated_texts import annotated, conllu
from tests.apps.cli.conftest import REFERENCE, SYSTEM_A, SYSTEM_B
from tests.learned_files import rated

import nlgauge
from nlgauge import data
from nlgauge.apps import cluster as distributed
from nlgauge.apps.cluster.driver import Estimate
from nlgauge.studies import compare, learned, meta, stress
from nlgauge.studies.explain.corpus import evaluate_errors
from nlgauge.studies.published.load import find_paper_table
from nlgauge.studies.published.reproduce import reproduce
from nlgauge.studies.sensitivity.measure import run_study, systems_table
from nlgauge.studies.sensitivity.study import Study, Sweep

#: A name that would be an element if it were not escaped.
NAME = "<u>&new"
SYSTEMS = {NAME: SYSTEM_A, "base": SYSTEM_B}

#: Public functions whose result is a text, a recipe, a file or nothing.
NO_RESULTS = {
    "join_documents": "texts",
    "recipe_from_signature": "a recipe",
    "release_models": "nothing",
    "save_scores": "a file",
    "signature_form": "a context manager",
    "write_report": "a file",
}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp("notebooks")
    nlgauge.save_scores(made / "s.json", nlgauge.score_systems(SYSTEMS, REFERENCE, metric=["chrf"]))
    (made / "d.conllu").write_text(conllu("cat:N dog:N . | cat:N ."), encoding="utf-8")
    rng = np.random.default_rng(3)
    rows = "".join(f"{a}\t{b}\n" for a, b in rng.normal(size=(40, 2)))
    (made / "columns.tsv").write_text(f"comet\tlex\n{rows}", encoding="utf-8")
    lines = [f"{hyp}\t{ref}\t{index}" for index, (hyp, ref) in enumerate(zip(SYSTEM_A, REFERENCE, strict=True))]
    (made / "judged.tsv").write_text("\n".join(["hypothesis\treference\tscore", *lines]) + "\n", encoding="utf-8")
    (made / "pairs.tsv").write_text("\n".join(["hyp\tref\tx", *lines]) + "\n", encoding="utf-8")
    return made


def judged() -> data.JudgementTable:
    return systems_table(SYSTEMS, [(text,) for text in REFERENCE], lang="en")


def own_table(folder: Path) -> data.JudgementTable:
    return data.load("custom", folder / "judged.tsv")


def scored(folder: Path) -> meta.ScoredJudgements:
    return meta.score_judgements(own_table(folder), ["chrf", "rouge1"])


def several_runs() -> compare.RunComparison:
    runs = [
        compare.SystemRuns(name, np.array([1.0, 2.0, 3.0, index])) for index, name in enumerate((NAME, "base"), 4)
    ]
    return compare.compare_runs(runs, metric="chrf")


def parts(folder: Path) -> distributed.Run:
    columns = {"hyp": "hyp", "ref": "ref"}
    return distributed.score(folder / "pairs.tsv", folder / "parts", columns=columns, metric="chrf", progress=False)


def merged(folder: Path) -> distributed.Merged:
    parts(folder)
    return distributed.merge(folder / "parts")


def document(text: str) -> str:
    return annotated(text).text


#: By function of `nlgauge`, then by what other public modules and commands give.
RESULTS: dict[str, Callable[[Path], Any]] = {
    "score": lambda _: nlgauge.score(SYSTEM_A, REFERENCE, metric="chrf"),
    "score_systems": lambda _: nlgauge.score_systems(SYSTEMS, REFERENCE, metric=["chrf", "rouge1"]),
    "load_scores": lambda folder: nlgauge.load_scores(folder / "s.json"),
    "matrix": lambda _: nlgauge.matrix(SYSTEM_A, REFERENCE, metric="chrf"),
    "rank": lambda _: nlgauge.rank([[NAME, "a cat", "the cat"]], metric="chrf"),
    "compare": lambda _: nlgauge.compare(SYSTEMS, REFERENCE, metric="chrf"),
    "compare_systems": lambda folder: nlgauge.compare_systems(nlgauge.load_scores(folder / "s.json")),
    "discourse": lambda folder: nlgauge.discourse(
        {NAME: [document("cat:N dog:N . | cat:N .")]},
        [[document("cat:N dog:N . | cat:N .")]],
        annotator=str(folder / "d.conllu"),
        sentences="annotator",
    ),
    "explain_pair": lambda _: nlgauge.explain_pair(f"A cat {NAME}", "The cat.", metric="bertscore"),
    "explain_pairs": lambda _: nlgauge.explain_pairs(["A cat", NAME], ["The cat.", "new"], metric="bertscore"),
    "explain_corpus": lambda _: nlgauge.explain_corpus(SYSTEM_A[:2], REFERENCE[:2], metric="bertscore"),
    "explain_columns": lambda folder: nlgauge.studies.factors.explain_columns(
        folder / "columns.tsv", ["comet"], ["lex"]
    ),
    "explain_factors": lambda folder: nlgauge.explain_factors(own_table(folder), ["chrf"], factors=["LEX"]),
    "fit_surrogates": lambda _: nlgauge.studies.factors.fit_surrogates(
        {NAME: np.arange(40.0) ** 2}, {"length": np.arange(40.0)}, data="mine"
    ),
    "Alignment": lambda _: nlgauge.score(["A cat"], ["The cat"], alignments=True).alignments[0],
    "Flow": lambda _: nlgauge.score(["A cat"], ["The cat"], metric="moverscore", alignments=True).alignments[0],
    "Surrogate": lambda folder: nlgauge.studies.factors.explain_columns(
        folder / "columns.tsv", ["comet"], ["lex"]
    ).surrogates[0],
    "JudgementTable": lambda _: judged(),
    "data.check": lambda folder: data.check("custom", folder / "judged.tsv"),
    "ScoredJudgements": scored,
    "AgreementTable": lambda folder: meta.evaluate(scored(folder)),
    "LayerTuning": lambda _: meta.LayerTuning(
        "minilm",
        NAME,
        "pearson",
        0,
        (meta.LayerAgreement(0, 0.5, {"de-en": 0.5}), meta.LayerAgreement(1, 0.25, {"de-en": 0.25})),
    ),
    "SystemScores": lambda _: nlgauge.SystemScores(
        nlgauge.ScoreTable.from_numbers("comet", {NAME: [0.5, 0.75], "base": [0.25, 0.5]})
    ),
    "gate": lambda folder: compare.gate(
        nlgauge.compare_systems(nlgauge.load_scores(folder / "s.json")), base="base", new=NAME
    ),
    "compare_runs": lambda _: several_runs(),
    "compare_verdicts": lambda _: compare.compare_verdicts(
        [compare.Verdict(str(index), NAME, "base", "first") for index in range(12)]
    ),
    "stress": lambda _: stress.stress(SYSTEM_A, metric="chrf", perturbations=["typo"], name=NAME),
    "score_triples": lambda _: stress.score_triples(
        stress.Triples(NAME, (stress.Triple("a cat sat", "a kitten sat", "sat cat a"),) * 3), ["chrf"]
    ),
    "learn_metric": lambda folder: learned.learn_metric(rated(folder), ["eed", "character"]),
    "Sensitivity": lambda _: run_study(Study(["bertscore"], [Sweep({"multiref": ["best-f", "mean"]})]), judged()),
    "Reproduction": lambda folder: reproduce(find_paper_table("moverscore-table3"), at=str(folder), model="none"),
    "evaluate_errors": lambda _: evaluate_errors([[0, 1]], [[0.1, 0.9]]),
    "distributed.score": parts,
    "distributed.merge": merged,
    "distributed.dry_run": lambda _: distributed.Prediction(
        *(10, 10, 1, 5, 0, 100.0, 1.0, 0.5, 0.05), (Estimate(1, 2.0, 0.5, 0.1),)
    ),
}


class Checker(HTMLParser):
    """Elements that are opened are closed in order, and none has a name that we did not give it."""

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.seen: set[str] = set()

    def handle_starttag(self, tag: str, attrs: Any) -> None:
        self.open.append(tag)
        self.seen.add(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag


def public_functions() -> Iterator[str]:
    for name in nlgauge.__all__:
        if inspect.isfunction(getattr(nlgauge, name)):
            yield name


def test_no_public_function_is_left_out() -> None:
    assert set(public_functions()) == (set(RESULTS) | set(NO_RESULTS)) & set(public_functions())
    assert not set(RESULTS) & set(NO_RESULTS)


@pytest.mark.filterwarnings("ignore::nlgauge.errors.NlgaugeWarning")
@pytest.mark.parametrize("name", RESULTS)
def test_a_result_is_a_table(folder: Path, name: str) -> None:
    shown = RESULTS[name](folder)._repr_html_()
    checker = Checker()
    checker.feed(shown)
    assert checker.open == []
    assert "table" in checker.seen or "svg" in checker.seen
    assert "u" not in checker.seen, "texts and names are escaped"
    assert "<td>nan</td>" not in shown


def test_prices_are_no_formulas() -> None:
    """MathJax, which notebooks have, typesets what stands between two dollars of one run of text."""
    shown = nlgauge.rank([["It costs $5 or $6.", r"Write \(a\)."]], metric="chrf")._repr_html_()
    left_alone = '<span class="tex2jax_ignore mathjax_ignore">'
    assert f"{left_alone}$</span>" in shown
    rest = re.sub(rf"{left_alone}.</span>", "", shown)
    assert "$" not in rest
    assert "\\" not in rest
    assert nlgauge.explain_pair("It costs $5.", "It is $6.")._repr_html_().count(left_alone) >= 2


def test_systems_under_one_metric_share_a_table_and_a_signature() -> None:
    result = nlgauge.score_systems(SYSTEMS, REFERENCE, metric=["chrf", "rouge1"])
    shown = result._repr_html_()
    assert shown.count("<table>") == shown.count("signature: ") == 2
    assert shown.count("<td>base</td>") == 2
    assert f"<td>{result[0].system_score:.4f}</td>" in shown
