"""`nlgauge explain factors` and `nlgauge explain corpus`: tables in, tables out, flags that would not be read."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest


@pytest.fixture
def scored(folder: Path) -> str:
    rng = np.random.default_rng(8)
    x, y = rng.normal(size=(2, 40))
    rows = zip(x + 0.2 * y + 0.1 * rng.normal(size=40), x, y, strict=True)
    (folder / "scored.tsv").write_text(
        "comet\tlex\tsem\n" + "".join("\t".join(map(str, row)) + "\n" for row in rows), encoding="utf-8"
    )
    return "scored.tsv"


TABLE = ("explain", "factors", "--table", "scored.tsv", "--metric-column", "comet")


def test_factors_of_a_table(run, scored):
    out = run(*TABLE, "--factor", "lex", "sem").out
    assert " ".join(out.splitlines()[1].split()) == "metric R2 factor coefficient low high error p partial R2 VIF"
    assert out.splitlines()[3].split()[0] == "comet"
    assert "rows: 40 of 40" in out
    plain = json.loads(run(*TABLE, "--factor", "lex", "sem", "--format", "json").out)
    assert [effect["factor"] for effect in plain["surrogates"][0]["effects"]] == ["lex", "sem"]
    lines = run(*TABLE, "--factor", "lex", "sem", "--format", "tsv").out.splitlines()
    assert [line.split("\t")[2] for line in lines] == ["factor", "lex", "sem"]
    assert r"\begin{tabular}{lrrr}" in run(*TABLE, "--factor", "lex", "sem", "--format", "latex").out


def test_figures(run, scored, folder):
    run(*TABLE, "--factor", "lex", "--plot", "one.png", "--plot-fit", "two.svg")
    assert (folder / "one.png").stat().st_size > 1000
    assert (folder / "two.svg").stat().st_size > 1000


@pytest.mark.parametrize(
    ("words", "status", "said"),
    [
        (("explain", "factors"), 2, "needs either --data NAME or --table FILE"),
        ((*TABLE, "--data", "sts", "--factor", "lex"), 2, "needs either"),
        (TABLE, 2, "--metric-column NAME ... and --factor NAME"),
        ((*TABLE, "--factor", "lex", "--metric", "bleu"), 2, "--metric works only with metrics that are computed"),
        ((*TABLE, "--factor", "lex", "--lexicon", "x"), 2, "--lexicon works only with --data NAME"),
        ((*TABLE, "--factor", "lex", "--idf", "refs"), 2, "--idf works only with metrics that are computed"),
        (
            ("explain", "factors", "--data", "sts", "--metric-column", "x"),
            2,
            "--metric-column works only with --table",
        ),
        ((*TABLE, "--factor", "length"), 1, "column 'length'"),
        ((*TABLE, "--factor", "lex", "--level", "2"), 2, "--level must be a number above 0, below 1, got '2'"),
        (
            ("explain", "factors", "--data", "sts", "--factor", "lex", "--lexicon", "x"),
            2,
            "--lexicon is only used by factor MOR",
        ),
        (("explain", "corpus", "a.txt", "--refs", "ref.txt", "--annotator", "nosuch"), 2, "unknown annotator"),
        (("explain", "corpus"), 2, "needs texts"),
        (("explain", "corpus", "a.txt", "--data", "sts"), 2, "needs texts (HYP"),
        (("explain", "corpus", "--data", "sts", "--refs", "ref.txt"), 2, "--refs works only with texts in files"),
        (
            ("explain", "corpus", "a.txt", "--refs", "ref.txt", "--limit", "3"),
            2,
            "--limit works only with --data NAME",
        ),
        (("explain", "corpus", "a.txt", "b.txt", "--refs", "ref.txt"), 2, "takes one system, got 2"),
        (("explain", "corpus", "a.txt", "--refs", "ref.txt", "--metric", "bleu", "chrf"), 2, "must be one value"),
    ],
)
def test_unused_flags_are_refused(refused, scored, words, status, said):
    assert said in refused(status, *words)


def test_corpus_sums_contributions_by_part_of_speech(run):
    out = run("explain", "corpus", "a.txt", "--refs", "ref.txt", "-q").out
    assert "contributions of words of the hypothesis to precision (linear)" in out
    assert "same word" in out
    plain = json.loads(run("explain", "corpus", "a.txt", "--refs", "ref.txt", "-q", "--format", "json").out)
    assert plain["texts"] == 6
    markdown = run("explain", "corpus", "a.txt", "--refs", "ref.txt", "-q", "--format", "markdown").out
    assert (
        "| by | group | words | of words | share | low | high | mean |\n|---|---|--:|--:|--:|--:|--:|--:|\n"
        in markdown
    )
    assert {"NOUN", "VERB"} <= {part["group"] for part in plain["parts_of_speech"]}


def test_released_scores_of_a_data_set(run, data_folder: Path):
    plain = json.loads(
        run(
            "explain", "factors", "--data", "factors-sts", "--at", str(data_folder), "--released", "bertscore",
            "--factor", "SEM", "syn", "lex", "mor", "--format", "json", "--resamples", "100",
        ).out
    )  # fmt: skip
    result = [round(effect["coefficient"], 4) for effect in plain["surrogates"][0]["effects"]]
    assert result == [0.1239, 0.116, 0.6791, 0.0613]
