"""`nlgauge compare`: what goes in, what comes out, with which status, and what is refused."""

from __future__ import annotations

import json
import os
import random
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from tests.apps.cli.conftest import Refusal, Result, Run, write_lines
from tests.report.report_samples import unpacked

import nlgauge

WORDS = ["the", "a", "cat", "dog", "sat", "ran", "on", "under", "mat", "tree", "big", "old", "and", "never"]
EXAMPLES = Path(__file__).parents[3] / "examples"
CHRF = ("--refs", "refs.txt", "-m", "chrf", "-q")
COUNT = 40


def spoilt(lines: list[str], rate: float, seed: int) -> list[str]:
    rng = random.Random(seed)
    return [" ".join("x" if rng.random() < rate else word for word in line.split()) for line in lines]


@pytest.fixture(autouse=True)
def _systems(folder: Path) -> None:
    """base.txt and same.txt are alike good, worse.txt is worse than both."""
    rng = random.Random(1)
    references = [" ".join(rng.choices(WORDS, k=rng.randint(5, 12))) for _ in range(COUNT)]
    write_lines(folder / "refs.txt", references)
    for name, rate, seed in (("base", 0.2, 2), ("same", 0.2, 3), ("worse", 0.5, 4)):
        write_lines(folder / f"{name}.txt", spoilt(references, rate, seed))
    write_lines(folder / "docs.txt", [f"d{index // 4}" for index in range(COUNT)])


def found(result: Result) -> dict[str, Any]:
    assert result.status == 0, result.err
    record: dict[str, Any] = json.loads(result.out)
    return record


def ranked(record: dict[str, Any], metric: int = 0) -> list[str]:
    return [row["system"] for row in record["metrics"][metric]["systems"]]


# --- texts ---------------------------------------------------------------------------------------------


def test_texts_are_scored_and_compared_as_python_does(run: Run, folder: Path) -> None:
    files = ("worse.txt", "base.txt", "same.txt")
    record = found(run("compare", *files, *CHRF, "-f", "json"))
    texts = {name.removesuffix(".txt"): (folder / name).read_text().splitlines() for name in files}
    scores = nlgauge.score_systems(texts, (folder / "refs.txt").read_text().splitlines(), metric="chrf")
    expected = nlgauge.compare_systems(scores).to_dict() | {"format": "nlgauge-comparison-report-1"}
    assert {name: record[name] for name in expected} == json.loads(json.dumps(expected))
    assert ranked(record)[-1] == "worse"
    assert record["metrics"][0]["systems"][-1]["cluster"] == 2


@pytest.mark.parametrize("form", ["text", "markdown", "latex"])
def test_tables_for_people(run: Run, form: str) -> None:
    command = ("compare", "base.txt", "same.txt", "worse.txt", *CHRF[:-2], "chrf", "bleu", "-f", form, "-q")
    result = run(*command, "--all")
    assert (result.status, result.err) == (0, "")
    assert "chrf: 40 instances" in result.out
    assert "paired bootstrap, p" in result.out
    assert "Holm-corrected for 3 pairs" in result.out
    assert "compare|test:bootstrap|" in result.out
    assert result.out.count("the row beats the column") == 2
    stars = {"text": "*", "markdown": "**", "latex": r"\textbf{"}[form]
    assert stars in result.out


def test_default_output_is_one_table_that_fits_80_columns(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    metrics = ("chrf", "bleu", "bertscore")
    result = run("compare", "base.txt", "same.txt", "worse.txt", "--refs", "refs.txt", "-m", *metrics, "-q")
    lines = result.out.splitlines()
    assert all(len(line) <= 80 for line in lines)
    (header,) = (line for line in lines if line.startswith("system "))
    assert header.split()[1:4] == ["chrF", "95", "%"]
    assert "BERTScore" in header
    rows = lines[lines.index(header) + 2 :][:3]
    assert [row.split()[0] for row in rows][2] == "worse"
    assert rows[2].count("*") == 3
    assert "*: significantly worse than the best system (paired bootstrap, p < 0.05," in lines
    assert "not shown at this width: 95 % interval" in result.out
    assert "rankings" not in result.out
    assert "bleu|sacrebleu" in lines[-2]


def test_ten_systems_and_three_metrics_print_at_most_60_lines(
    run: Run, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    references = (folder / "refs.txt").read_text().splitlines()
    names = [f"wmt17.system-with-a-long-name-{index}.txt" for index in range(10)]
    for index, name in enumerate(names):
        write_lines(folder / name, spoilt(references, 0.05 * index, index))
    result = run("compare", *names, "--refs", "refs.txt", "-m", "chrf", "bleu", "rouge1", "-q")
    assert result.status == 0
    assert len(result.out.splitlines()) <= 60
    assert all(len(line) <= 80 for line in result.out.splitlines())
    assert "Holm-corrected for 45 pairs" in " ".join(result.out.split())
    assert "some names are shortened" not in result.out, "intervals go first"


def test_table_for_a_paper(run: Run, refused: Refusal) -> None:
    command = ("compare", "base=base.txt", "worse=worse.txt", *CHRF[:-1], "rouge1", "-q", "--table", "paper")
    latex = run(*command, "-f", "latex", "--percent").out
    assert r"System & chrF & ROUGE-1 \\" in latex
    assert r"\begin{table}[t]" in latex
    assert "ROUGE-1 times 100" in latex
    markdown = run(*command, "-f", "markdown").out
    assert "| System | chrF | ROUGE-1 |" in markdown
    assert "| base | **" in markdown
    assert "(paired bootstrap, p &lt; 0.05)" in markdown
    assert run(*command, "-f", "html").out.startswith("<table>\n<caption>Scores of 2 systems on 40 segments.")
    assert run(*command).out.startswith("System")
    assert "--table paper supports text, latex, markdown, html, not tsv" in refused(2, *command, "-f", "tsv")
    assert "--all prints all tables, and --table paper one" in refused(2, *command, "--all")
    assert "--percent works only with --table" in refused(2, *command[:-2], "--percent")
    assert "add --table paper" in refused(2, *command[:-1], "pairs", "-f", "tsv", "--percent")
    assert "--all adds tables to text" in refused(2, *command[:-2], "--all", "-f", "json")


def test_markdown_folds_legend_and_signatures(run: Run) -> None:
    text = run("compare", "base.txt", "worse.txt", *CHRF, "-f", "markdown").out
    assert text.count("<details><summary>Legend and signatures</summary>") == text.count("</details>") == 1
    folded = text.split("<details>")[1]
    assert "\n- `chrf|sacrebleu:" in folded
    assert r"\|" not in text


def test_tsv_holds_one_table(run: Run) -> None:
    command = ("compare", "base.txt", "same.txt", "worse.txt", *CHRF, "-f", "tsv")
    ranking = run(*command).rows
    assert [row["rank"] for row in ranking] == ["1", "2", "3"]
    assert {row["signature"].partition("|")[0] for row in ranking} == {"chrf"}
    pairs = run(*command, "--table", "pairs").rows
    assert len(pairs) == 3
    assert {"p", "p Holm", "p t", "p wilcoxon", "p sign", "better"} <= set(pairs[0])
    assert run(*command, "--table", "wins").rows[0]["share"]
    assert run(*command, "--table", "disagreements").rows[0]["ranking"] == "chrf mean"


def test_systems_can_be_named(run: Run, folder: Path) -> None:
    (folder / "x").mkdir()
    (folder / "y").mkdir()
    for target, origin in (("x", "base"), ("y", "worse")):
        (folder / target / "out.txt").write_text((folder / f"{origin}.txt").read_text())
    assert ranked(found(run("compare", "x/out.txt", "y/out.txt", *CHRF, "-f", "json"))) == ["x/out", "y/out"]
    assert ranked(found(run("compare", "new=x/out.txt", "old=y/out.txt", *CHRF, "-f", "json"))) == ["new", "old"]


def test_settings_are_flags(run: Run) -> None:
    command = ("compare", "base.txt", "worse.txt", *CHRF, "-f", "json")
    flags = ("--test", "randomisation", "--ties", "drop", "--alpha", "0.01", "--correction", "none", "--seed", "7")
    more = ("--ranking", "bt", "--level", "0.9", "--resamples", "200", "--permutations", "500", "--ratings")
    settings = found(run(*command, *flags, *more, "--tie-tolerance", "0", "--smallest-difference", "1.5"))["settings"]
    expected = {
        "test": "randomisation", "ties": "drop", "alpha": 0.01, "correction": "none", "seed": 7, "ranking": "bt",
        "level": 0.9, "resamples": 200, "permutations": 500, "ratings": True, "tie_tolerance": 0.0,
        "smallest_difference": 1.5,
    }  # fmt: skip
    assert {name: settings[name] for name in expected} == expected


def test_orders_of_games_can_be_shuffled(run: Run) -> None:
    command = ("compare", "base.txt", "worse.txt", *CHRF, "-f", "json", "--ratings")
    plain, shuffled = (found(run(*command, *more)) for more in ((), ("--shuffles", "5")))
    assert shuffled["settings"]["shuffles"] == 5
    assert "|shuffles:5|" in shuffled["signature"]
    assert plain["metrics"][0]["systems"][0]["elo"] != shuffled["metrics"][0]["systems"][0]["elo"]


def test_notes_name_only_tests_that_are_shown(run: Run) -> None:
    command = ("compare", "base.txt", "worse.txt", *CHRF)
    assert "sign: of segment scores" not in run(*command).out
    text = run(*command, "--test", "t", "--all").out
    assert "\neffect, t: of segment scores, not of the corpus score" in text
    assert "t, wilcoxon, sign: of segment scores" in run(*command, "-f", "json").out


def test_documents_are_resampled_whole(run: Run) -> None:
    command = ("compare", "base.txt", "worse.txt", *CHRF, "-f", "json")
    (metric,) = found(run(*command, "--document-ids", "docs.txt"))["metrics"]
    assert (metric["n"], metric["documents"]) == (COUNT, 10)
    assert "40 segments of 10 documents" in run(*command[:-2], "--document-ids", "docs.txt").out


def test_a_text_that_looks_like_html_is_shown_as_it_is(run: Run, folder: Path) -> None:
    name = "<b>a|b</b>.txt"
    (folder / "<b>a|b<").mkdir()
    (folder / "<b>a|b<" / "b>.txt").write_text((folder / "base.txt").read_text())
    system = f"{name.replace('</b>', '')}=<b>a|b</b>.txt"
    text = run("compare", system, "worse.txt", *CHRF, "-f", "markdown").out
    assert "&lt;b&gt;a\\|b" in text
    assert "<b>" not in text


# --- saved runs ----------------------------------------------------------------------------------------


def save(run: Run, name: str, *more: str, metric: str = "chrf") -> str:
    result = run("score", f"{name}.txt", "--refs", "refs.txt", "-m", metric, "-q", "-o", f"{name}.json", *more)
    assert (result.status, result.out) == (0, "")
    return f"{name}.json"


def test_saved_runs_compare_as_their_texts_do(run: Run) -> None:
    files = [save(run, name) for name in ("base", "worse")]
    saved = found(run("compare", *files, "-f", "json"))
    assert saved == found(run("compare", "base.txt", "worse.txt", *CHRF, "-f", "json"))
    assert ranked(found(run("compare", "x=base.json", "y=worse.json", "-f", "json"))) == ["x", "y"]


def test_some_metrics_of_saved_runs(run: Run, refused: Refusal) -> None:
    for name in ("base", "worse"):
        command = ("score", f"{name}.txt", "--refs", "refs.txt", "-m", "chrf", "bleu", "-q", "-o", f"{name}.json")
        assert run(*command).status == 0
    both = found(run("compare", "base.json", "worse.json", "-f", "json"))
    assert [metric["metric"] for metric in both["metrics"]] == ["chrf", "bleu"]
    first = found(run("compare", "base.json", "worse.json", "-m", "bleu", "-f", "json"))
    assert first["metrics"] == both["metrics"][1:]
    message = refused(2, "compare", "base.json", "worse.json", "-m", "ter")
    assert "'base.json' has no scores of metric 'ter'; it has chrf, bleu" in message
    message = refused(2, "compare", "base.json", "worse.json", "--layer", "3")
    assert "--layer is for texts, and no texts are scored" in message


def test_a_saved_run_is_read_back_by_python(run: Run, folder: Path) -> None:
    (score,) = nlgauge.load_scores(save(run, "base"))
    assert score.statistics is not None
    assert score.system == "base"
    result = run("score", "base.txt", "--refs", "refs.txt", "-m", "chrf", "-q", "-f", "json", "--segments")
    (folder / "piped.json").write_text(result.out)
    assert nlgauge.load_scores("piped.json")[0].to_dict() == score.to_dict()
    assert run("score", "base.txt", "--refs", "refs.txt", "-m", "chrf", "-f", "text", "-o", "t.json").status == 0
    assert (folder / "t.json").read_text().startswith("chrf\n")


def test_runs_that_do_not_compare(run: Run, refused: Refusal, folder: Path) -> None:
    save(run, "base")
    save(run, "worse", metric="chrf:words=2")
    message = refused(2, "compare", "base.json", "worse.json")
    assert "chrf of 'base' and of 'worse' do not compare" in message
    assert "words 0 and 2" in message
    write_lines(folder / "refs.txt", [f"{line} x" for line in (folder / "refs.txt").read_text().splitlines()])
    save(run, "same")
    assert "were scored against different references" in refused(1, "compare", "base.json", "same.json")


def test_runs_of_other_versions_need_a_flag(run: Run, refused: Refusal, folder: Path) -> None:
    save(run, "base")
    (score,) = nlgauge.load_scores("base.json")
    record = score.to_dict() | {
        "system": "old.txt",
        "signature": str(score.signature).replace("nlgauge:0", "nlgauge:9"),
    }
    nlgauge.save_scores(folder / "old.json", nlgauge.Score.from_dict(record))
    assert "only versions differ: continue with" in refused(2, "compare", "base.json", "old.json")
    result = run("compare", "base.json", "old.json", "--other-versions")
    assert result.status == 0
    assert "different versions: nlgauge 0" in result.err


def test_a_changed_run_is_refused(run: Run, refused: Refusal, folder: Path) -> None:
    path = folder / save(run, "base")
    save(run, "worse")
    path.write_text(path.read_text().replace('"segment": 3, "chrf": ', '"segment": 3, "chrf": 1'))
    assert "its digest does not match its numbers" in refused(1, "compare", "base.json", "worse.json")


# --- scores of other tools ------------------------------------------------------------------------------


def wide(folder: Path, name: str = "comet.tsv", systems: str = "base worse", **change: str) -> str:
    rng = random.Random(5)
    names = systems.split()
    rows = [
        [str(index), *(f"{rng.random() + 0.5 * (name == 'base'):.3f}" for name in names)] for index in range(COUNT)
    ]
    lines = ["\t".join(row) for row in [["id", *names], *rows]]
    for old, new in change.items():
        lines[int(old.removeprefix("line"))] = new
    write_lines(folder / name, lines)
    return name


def test_scores_of_other_tools_are_compared_with_ours(run: Run, folder: Path) -> None:
    command = ("compare", "base.txt", "worse.txt", *CHRF, "--scores", wide(folder), "-f", "json")
    record = found(run(*command))
    assert [metric["metric"] for metric in record["metrics"]] == ["chrf", "comet"]
    assert ranked(record, 1) == ["base", "worse"]
    assert record["metrics"][1]["signature"].startswith("comet|scores:")
    turned = found(run(*command, "--lower-is-better", "comet"))
    assert ranked(turned, 1) == ["worse", "base"]
    turned_text = run(*command[:-2], "--lower-is-better", "comet").out
    assert "The metrics disagree on the best system: base (chrF); worse (comet)." in turned_text
    assert "rankings that disagree" in run(*command[:-2], "--lower-is-better", "comet", "--all").out


def test_scores_alone_are_enough(run: Run, folder: Path) -> None:
    record = found(run("compare", "--scores", wide(folder), f"bleurt={wide(folder, 'x.tsv')}", "-f", "json"))
    assert [metric["metric"] for metric in record["metrics"]] == ["comet", "bleurt"]
    chosen = found(run("compare", "--scores", "comet.tsv:worse", "-f", "json"))
    assert ranked(chosen) == ["worse"]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"line3": "2\tnan\t0.5"}, "line 4, column 'base': expected a number, got \"nan\""),
        ({"line3": "2\t\t0.5"}, "line 4, column 'base': expected a number, got \"\""),
        ({"line3": "1\t0.5\t0.5"}, "second score of segment '1' of 'base'"),
        ({"line3": "2\t0.5"}, "line 4: expected 3 tab-separated fields"),
        ({"line0": "id\tbase\tbase"}, "column 'base': 2 columns have this name"),
    ],
)
def test_scores_that_do_not_align_are_refused(
    refused: Refusal, folder: Path, change: dict[str, str], message: str
) -> None:
    assert message in refused(1, "compare", "--scores", wide(folder, **change))


def test_scores_that_do_not_fit_the_texts_are_refused(refused: Refusal, folder: Path) -> None:
    texts = ("compare", "base.txt", "same.txt", *CHRF, "--scores")
    assert "has scores of 'base', 'worse', but none of system 'same'" in refused(1, *texts, wide(folder))
    write_lines(folder / "few.tsv", ["base\tsame", "0.5\t0.6"])
    assert "few.tsv has scores of 1 segments under few, but there are 40" in refused(1, *texts, "few.tsv")
    write_lines(folder / "long.csv", ["system,id,score", "base,1,.5", "same,1,.6", "same,2,.7"])
    assert "long of 'base' lacks segment '2'" in refused(1, *texts, "long.csv")


def test_verdicts_give_bradley_terry_strengths(run: Run, refused: Refusal, folder: Path) -> None:
    rows = [f"{index},x,y,{'x' if index % 4 else 'y'}" for index in range(24)] + [
        f"{index},y,x,y" for index in range(6)
    ]
    write_lines(folder / "judge.csv", ["id,first,second,winner", *rows])
    (record,) = found(run("compare", "--scores", "judge.csv", "-f", "json"))["verdicts"]
    assert [(row["system"], row["wins"]) for row in record["systems"]] == [("x", 18), ("y", 12)]
    assert record["position"]["swapped"] == 6
    text = run("compare", "--scores", "judge.csv").out
    assert text.startswith("judge: 30 verdicts on 24 instances\n")
    assert "\nverdicts: judge|scores:" in text
    assert "position: 24 verdicts for the output shown first (80% of those decided), 6 for the second" in text
    assert run("compare", "--scores", "judge.csv", "-f", "tsv").rows[0]["metric"].startswith("judge|scores:")
    beside = found(run("compare", "base.txt", "worse.txt", *CHRF, "--scores", "judge.csv", "-f", "json"))
    assert {"metrics", "verdicts"} <= set(beside)
    assert "verdicts have none" in refused(2, "compare", "--scores", "judge.csv", "--gate")


# --- runs ----------------------------------------------------------------------------------------------


def test_several_runs_of_a_system(run: Run, refused: Refusal, folder: Path) -> None:
    references = (folder / "refs.txt").read_text().splitlines()
    files = []
    for name, rate in (("big", 0.2), ("small", 0.4)):
        for seed in range(4):
            write_lines(folder / f"{name}{seed}.txt", spoilt(references, rate, seed))
            files.append(f"{name}={name}{seed}.txt")
    write_lines(folder / "budget.tsv", ["system\tGPU hours", "big\t12", "small\t3"])
    command = ("compare", *files, *CHRF, "--runs", "--budget", "budget.tsv")
    (record,) = found(run(*command, "-f", "json"))["runs"]
    assert [(row["system"], row["runs"], row["budget"]) for row in record["systems"]] == [
        ("big", 4, {"GPU hours": "12"}),
        ("small", 4, {"GPU hours": "3"}),
    ]
    assert record["pairs"][0]["better"] == "big"
    text = run(*command).out
    assert "different GPU hours: big 12, small 3" in text
    assert run(*command, "-f", "tsv", "--table", "pairs").rows[0]["better"] == "big"
    assert "system 'big' is given twice; use --runs if the files are runs" in refused(
        2, *command[: 1 + len(files)], *CHRF
    )
    says = refused(2, "compare", "base.txt", "worse.txt", *CHRF, "--runs")
    assert "--runs needs NAME=FILE for every file" in says
    for flags in (("--gate",), ("--test", "t"), ("--document-ids", "docs.txt")):
        assert f"{flags[0]} is about segments, and --runs compares" in refused(2, *command, *flags)
    assert "--plot draws runs at equal budget; add --best-of runs" in refused(2, *command, "--plot", "x.png")


def test_budget_is_shown_next_to_the_ranking(run: Run, refused: Refusal, folder: Path) -> None:
    write_lines(folder / "budget.csv", ["system,parameters", "base,110M"])
    command = ("compare", "base.txt", "worse.txt", *CHRF, "--budget", "budget.csv")
    assert run(*command, "-f", "tsv").rows[0]["parameters"] == "110M"
    assert found(run(*command, "-f", "json"))["budgets"] == {"base": {"parameters": "110M"}}
    write_lines(folder / "budget.csv", ["system,parameters", "other,110M"])
    assert "line 2, column 'system': unknown system 'other'" in refused(1, *command)
    write_lines(folder / "budget.csv", ["system,parameters", "base,1", "base,2"])
    assert "line 3, column 'system': duplicate budget of 'base'" in refused(1, *command)


# --- gate ----------------------------------------------------------------------------------------------


def test_gate_fails_for_a_worse_system(run: Run) -> None:
    result = run("compare", "base.txt", "worse.txt", *CHRF, "--gate")
    assert result.status == 3
    assert result.err.count("\n") == 1
    assert result.err.startswith("nlgauge: gate failed: worse is significantly worse than base: chrf -")
    assert result.out.startswith("gate failed: worse is significantly worse")
    assert run("compare", "base.txt", "worse.txt", *CHRF, "--gate", "-f", "markdown").out.startswith(
        "**gate failed**"
    )
    record = json.loads(run("compare", "base.txt", "worse.txt", *CHRF, "--gate", "-f", "json").out)
    assert (record["gate"]["result"], record["gate"]["base"]) == ("failed", "base")


def test_gate_passes_for_the_others(run: Run) -> None:
    for files in (("base.txt", "same.txt"), ("worse.txt", "base.txt")):
        result = run("compare", *files, *CHRF, "--gate", "--strict")
        assert (result.status, result.err) == (0, "")
        assert result.out.startswith("gate passed: no significant drop (this test set can detect a drop of ")
    record = found(run("compare", "base.txt", "same.txt", *CHRF, "--gate", "-f", "json"))
    assert record["gate"]["result"] == "passed"
    talking = run("compare", "base.txt", "same.txt", *CHRF[:-1], "--gate")
    assert "nlgauge: gate passed: no significant drop (" in talking.err


@pytest.mark.parametrize("more", [(), ("chrf",), ("moverscore",)])
def test_another_metric_does_not_make_the_gate_pass(
    run: Run, folder: Path, monkeypatch: pytest.MonkeyPatch, more: tuple[str, ...]
) -> None:
    """The examples: bertscore alone has p = .044, which a correction for two metrics would lift above .05."""
    monkeypatch.chdir(EXAMPLES)
    command = ("compare", "base=system-a.txt", "new=system-b.txt", "--refs", "reference.txt", "--gate", "-q")
    result = run(*command, "-m", "bertscore", *more)
    assert result.status == 3
    first, *rest = result.out.splitlines()
    assert first.startswith("gate failed: new is significantly worse than base: bertscore -0.04859")
    assert any(line.startswith("base is significantly better than new (BERTScore)") for line in rest)
    assert "gate passed" not in result.out + result.err


def test_gate_is_undecided_with_too_few_segments(run: Run, refused: Refusal, folder: Path) -> None:
    for name in ("base", "worse", "refs"):
        lines = (folder / f"{name}.txt").read_text().splitlines()
        write_lines(folder / f"few-{name}.txt", lines[:4])
    command = ("compare", "few-base.txt", "few-worse.txt", "--refs", "few-refs.txt", "-m", "chrf", "-q", "--gate")
    sentence = "gate undecided: 4 segments are too few to decide, at least 10 are needed"
    for flags, status in (((), 0), (("--strict",), 4)):
        result = run(*command, *flags)
        assert result.status == status
        assert result.out.startswith(f"{sentence}\n")
        assert result.err == f"nlgauge: {sentence}\n", "also with --quiet: nothing was decided"
    record = json.loads(run(*command, "-f", "json").out)
    assert record["gate"]["result"] == "undecided"
    assert "--strict works only with --gate" in refused(2, *command[:-1], "--strict")


def test_a_terminal_shows_the_sentence_of_the_gate_once(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    command = ("compare", "base.txt", "worse.txt", *CHRF, "--gate")
    monkeypatch.setattr("nlgauge.apps.cli.gate.sys.stdout.isatty", lambda: True)
    shown = run(*command)
    assert (shown.status, shown.err) == (3, "")
    assert shown.out.count("gate failed") == 1
    assert run(*command, "-f", "json").err.startswith("nlgauge: gate failed")


def test_gate_thresholds_systems_and_metric_can_be_set(run: Run, refused: Refusal, folder: Path) -> None:
    command = ("compare", "base.txt", "worse.txt", *CHRF, "--gate")
    assert run(*command, "--smallest-difference", "90").status == 0
    assert run(*command, "--alpha", "1e-9").status == 0
    three = ("compare", "worse.txt", "same.txt", "base.txt", *CHRF, "--gate")
    assert run(*three, "--base", "base", "--new", "worse").status == 3
    assert "--gate takes two of the 3 systems" in refused(2, *three)
    assert "unknown system 'q'; systems: 'worse'" in refused(2, *three, "--base", "base", "--new", "q")
    both = (*command, "--scores", wide(folder), "--lower-is-better", "comet")
    assert run(*both, "--gate-metric", "comet").status == 0
    assert run(*both, "--gate-metric", "chrf").status == 3
    assert "--base and --new are both 'base'" in refused(2, *command, "--new", "base")
    assert "--gate needs two systems, got 1" in refused(2, "compare", "base.txt", *CHRF, "--gate")
    assert "--base works only with --gate" in refused(2, "compare", "base.txt", "worse.txt", *CHRF, "--base", "x")


# --- figures and reports --------------------------------------------------------------------------------


def test_a_figure_and_a_report(run: Run, refused: Refusal, folder: Path) -> None:
    command = ("compare", "base.txt", "worse.txt", *CHRF)
    result = run(*command, "--plot", "out.png", "--report", "out.html", "--title", "Two <systems>")
    assert (result.status, result.err) == (0, "")
    assert (folder / "out.png").stat().st_size > 5000
    page = (folder / "out.html").read_text()
    assert "Two &lt;systems&gt;" in page
    assert "<bdi>base</bdi>" in page
    assert "the file name must end in .png" in refused(2, *command, "--plot", "out.gif")
    assert "the folder 'nowhere' does not exist" in refused(1, *command, "--report", "nowhere/out.html")
    assert "'base.txt' is an input of this command" in refused(1, *command, "--report", "base.txt")


def test_a_report_without_alignments(run: Run, folder: Path) -> None:
    for metric in ("chrf", "bertscore"):
        command = ("compare", "base.txt", "worse.txt", "--refs", "refs.txt", "-m", metric, "-q", "--gate")
        result = run(*command, "--report", "out.html", "--report-alignments", "0")
        assert result.status == 3, "the gate failed, whatever becomes of the report"
        page = (folder / "out.html").read_text()
        assert "gate failed: worse is significantly worse than base" in page
        assert unpacked(page)["explained"] == []


def test_gate_stays_failed_when_the_report_cannot_be_written(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: object, **__: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("nlgauge.report.document.write_report", full)
    command = ("compare", "base.txt", "worse.txt", *CHRF, "--report", "out.html")
    result = run(*command, "--gate")
    assert result.status == 3
    assert result.err.startswith(
        "nlgauge: error: cannot write 'out.html': No space left on device\nnlgauge: gate failed"
    )
    assert run(*command, "--gate", "--smallest-difference", "90").status == 1
    assert run(*command).status == 1


def test_gate_stays_failed_when_the_reader_went_away(
    process: Callable[..., subprocess.CompletedProcess[str]],
) -> None:
    """As in `nlgauge compare ... --gate | head` with pipefail."""
    for files, status in (("base.txt worse.txt", 3), ("worse.txt base.txt", 0)):
        reader, writer = os.pipe()
        os.close(reader)
        assert process("compare", *files.split(), *CHRF, "--gate", stdout=writer).returncode == status
        os.close(writer)


def test_a_report_has_verdicts_and_budgets_too(run: Run, folder: Path) -> None:
    write_lines(
        folder / "judge.csv", ["id,first,second,winner", *(f"{index},x,y,x" for index in range(5)), "9,y,x,y"]
    )
    write_lines(folder / "cost.csv", ["system,GPU hours", "base,12", "worse,3"])
    command = ("compare", "base.txt", "worse.txt", *CHRF, "--report", "out.html", "--scores", "judge.csv")
    assert run(*command, "--budget", "cost.csv").status == 0
    page = (folder / "out.html").read_text()
    assert "<h3>judge: 6 verdicts on 6 instances</h3>" in page
    assert "<h3>budgets</h3>" in page
    assert "<td><bdi>base</bdi></td><td><bdi>12</bdi></td>" in page


def test_a_report_of_saved_runs_needs_no_texts(run: Run, folder: Path) -> None:
    files = [save(run, name) for name in ("base", "worse")]
    assert run("compare", *files, "--report", "out.html").status == 0
    assert "chrf" in (folder / "out.html").read_text()


# --- bad input -----------------------------------------------------------------------------------------


def test_systems_of_unequal_length(refused: Refusal, folder: Path) -> None:
    write_lines(folder / "short.txt", ["one line"])
    message = refused(1, "compare", "base.txt", "short.txt", *CHRF)
    assert "'short.txt' has 1 segment, but 'base.txt' has 40" in message


def test_one_system_has_a_score_and_no_pairs(run: Run) -> None:
    result = run("compare", "base.txt", *CHRF)
    assert result.status == 0
    assert "there is no other system to compare it with" in result.out
    assert ", pairs\n" not in run("compare", "base.txt", *CHRF, "--all").out


@pytest.mark.parametrize("count", [1, 2, 3])
def test_a_few_segments_have_no_interval_and_no_star(run: Run, folder: Path, count: int) -> None:
    for name in ("base", "worse", "refs"):
        lines = (folder / f"{name}.txt").read_text().splitlines()
        write_lines(folder / f"few-{name}.txt", lines[:count])
    command = ("compare", "few-base.txt", "few-worse.txt", "--refs", "few-refs.txt", "-m", "chrf", "-q")
    (metric,) = found(run(*command, "-f", "json"))["metrics"]
    assert metric["n"] == count
    assert all(row["interval"] is None and row["bt_interval"] is None for row in metric["systems"])
    assert not metric["pairs"][0]["significant"]
    text = run(*command).out
    segments = "1 segment" if count == 1 else f"{count} segments"
    reason = "too few. Intervals need at least 4; below 10 no difference is called significant"
    assert f"{segments}: {reason}" in " ".join(text.split())
    assert run(*command, "--gate").status == 0


def test_identical_systems_tie(run: Run, folder: Path) -> None:
    (folder / "copy.txt").write_text((folder / "base.txt").read_text())
    result = run("compare", "base.txt", "copy.txt", *CHRF)
    assert result.status == 0
    assert "No significant difference between base and copy" in result.out
    assert "all systems tie on every instance" in run("compare", "base.txt", "copy.txt", *CHRF, "--all").out
    assert "base, copy have the same score on every instance" in result.out
    assert "can detect" not in result.out
    assert run("compare", "base.txt", "copy.txt", *CHRF, "--gate").status == 0


def test_duplicate_names_are_refused(refused: Refusal) -> None:
    assert "the file 'base.txt' is given twice" in refused(2, "compare", "base.txt", "base.txt", *CHRF)
    assert "system 'a' is given twice" in refused(2, "compare", "a=base.txt", "a=worse.txt", *CHRF)
    twice = refused(2, "compare", "a=base.txt", "b=base.txt", *CHRF)
    assert "the file 'base.txt' is given twice; give each system a file of its own" in twice
    metrics = ("compare", "base.txt", "worse.txt", "--refs", "refs.txt", "-q", "-m", "chrf")
    assert "--metric: 'chrf' is given twice; leave one out" in refused(2, *metrics, "chrf")
    assert "--metric: 'chrf:words=0' is the same recipe as 'chrf'" in refused(2, *metrics, "chrf:words=0")
    assert "two systems are called 'worse'" in refused(2, "compare", "worse=base.txt", "worse.txt", *CHRF)


@pytest.mark.parametrize(
    ("words", "status", "message"),
    [
        ("compare", 2, "needs systems (HYP ...) or scores (--scores FILE)"),
        ("compare base.txt worse.txt", 2, "needs references (--refs REF) or a source"),
        ("compare --refs refs.txt base.txt", 2, "put the systems first: nlgauge compare SYSTEM ... --refs REF ..."),
        (
            "compare --scores none.tsv base.txt --refs refs.txt",
            2,
            "--scores took 'none.tsv' and 'base.txt'; put texts first",
        ),
        ("compare base.json worse.txt --refs refs.txt", 2, "compare saved runs or text files, not both"),
        ("compare base.json --refs refs.txt", 2, "saved runs are not scored again; leave out --refs"),
        ("compare none.json", 1, "does not exist; make one with 'nlgauge score"),
        ("compare base.txt worse.txt --refs refs.txt -m nothing", 2, "nothing"),
        (
            "compare base.txt worse.txt --refs refs.txt -m chrf --alpha 2",
            2,
            "--alpha must be a number above 0, below 1",
        ),
        (
            "compare base.txt worse.txt --refs refs.txt -m chrf --tie-tolerance nan",
            2,
            "--tie-tolerance must be a number from 0",
        ),
        (
            "compare base.txt worse.txt --refs refs.txt -m chrf --permutations 3",
            2,
            "--permutations must be a whole number from 100",
        ),
        (
            "compare base.txt worse.txt --refs refs.txt -m chrf --resamples 3",
            2,
            "--resamples must be a whole number from 100",
        ),
        (
            "compare base.txt worse.txt --refs refs.txt -m chrf --table pairs",
            2,
            "--table is a table of --format tsv",
        ),
        ("compare --scores none.tsv -m chrf", 2, "--metric is for texts, and no texts are scored"),
        ("compare --scores none.tsv --refs refs.txt", 2, "--refs is for texts, and no texts are scored"),
        ("compare --scores none.tsv --source refs.txt", 2, "--source is for texts, and no texts"),
        ("compare --scores none.tsv --runs", 2, "--runs takes several files of a system (NAME=FILE ...)"),
        ("compare --scores base.json", 1, "without --scores: nlgauge compare base.json OTHER.json"),
        ("compare base.json --title Mine", 2, "--title works only with --report FILE, which was not given"),
        ("compare base.json --report-alignments 3", 2, "--report-alignments works only with --report"),
        ("compare base.json --shuffles 3", 2, "--shuffles works only with --ratings, which was not given"),
        ("compare base.json --ratings --shuffles -1", 2, "--shuffles must be a whole number from 0, got '-1'"),
        ("compare base.json -o x.html --report x.html", 2, "-o and --report both write 'x.html'"),
        ("compare base.json -o x.html --report ./x.html", 2, "-o and --report both write './x.html'"),
        ("compare --scores none.tsv", 1, "no such file: 'none.tsv'"),
        ("compare --scores base.txt", 1, "scores are read from .tsv, .csv, .jsonl and .json files"),
        (
            "compare base.txt worse.txt --refs refs.txt -m chrf --lower-is-better x",
            2,
            "works only with --scores FILE",
        ),
        (
            "compare base.txt worse.txt --refs refs.txt -m chrf -q --document-ids short.txt",
            1,
            "has 1 line, but needs a document id",
        ),
        ("compare base.txt worse.txt --refs refs.txt -m chrf -q --document-ids blank.txt", 1, "empty document id"),
    ],
)
def test_invalid_commands_are_refused(
    run: Run, refused: Refusal, folder: Path, words: str, status: int, message: str
) -> None:
    save(run, "base")
    write_lines(folder / "short.txt", ["d1"])
    write_lines(folder / "blank.txt", ["d1", " "])
    assert message in refused(status, *words.split())


def test_files_that_do_not_fit_are_found_before_texts_are_scored(refused: Refusal, folder: Path) -> None:
    """A model that is not there would be missed as soon as scoring begins."""
    texts = ("compare", "base.txt", "same.txt", "--refs", "refs.txt", "--model", "nowhere/model", "-q")
    write_lines(folder / "short.txt", ["d1"])
    assert "has 1 line, but needs a document id" in refused(1, *texts, "--document-ids", "short.txt")
    assert "but none of system 'same'" in refused(1, *texts, "--scores", wide(folder))
    write_lines(folder / "cost.csv", ["system,hours", "other,1"])
    assert "unknown system 'other'" in refused(1, *texts, "--budget", "cost.csv")
    assert "unknown system 'q'" in refused(2, *texts, "--gate", "--new", "q")


def test_files_of_the_wrong_shape(refused: Refusal, run: Run, folder: Path) -> None:
    wide(folder)
    assert "--score-columns does not accept 'system'; each value must be KEY=COLUMN" in refused(
        2, "compare", "--scores", "comet.tsv", "--score-columns", "system"
    )
    save(run, "base")
    assert "this is a result of nlgauge" in refused(1, "compare", "--scores", "base.json")
    assert "the run 'base.json' is given twice" in refused(2, "compare", "base.json", "base.json")
    (folder / "two.json").write_text(
        run("score", "base.txt", "worse.txt", "--refs", "refs.txt", "-m", "chrf", "-f", "json", "--segments").out
    )
    assert "'two.json' holds 2 systems, so it cannot be called 'x'" in refused(
        2, "compare", "x=two.json", "base.json"
    )


def test_gate_that_cannot_run_is_reported_in_json(run: Run, folder: Path) -> None:
    result = run("compare", "a.txt", "missing.txt", "--refs", "ref.txt", "--gate", "--format", "json")
    assert result.status == 1
    record = json.loads(result.out)["gate"]
    assert record["result"] == "not-run"
    assert "missing.txt" in record["sentence"]
    assert "missing.txt" in result.err


def test_one_segment_is_not_tested(run: Run) -> None:
    for name, text in (("one", "a cat sat"), ("other", "a dog ran"), ("reference", "a cat sat")):
        Path(f"{name}.txt").write_text(f"{text}\n", encoding="utf-8")
    result = run("compare", "one.txt", "other.txt", "--refs", "reference.txt", "-m", "chrf")
    assert "it was not tested, because there is only 1 segment." in " ".join(result.out.split())


def test_runs_without_a_common_metric_are_refused_with_the_metrics(run: Run, refused: Refusal) -> None:
    for name, metric in (("one", "chrf"), ("other", "bleu")):
        Path(f"{name}.txt").write_text("a cat sat on the mat\nit rains today\n", encoding="utf-8")
        run("score", f"{name}.txt", "--refs", f"{name}.txt", "-m", metric, "-o", f"{name}.json")
    message = refused(1, "compare", "one.json", "other.json")
    assert "no metric in common, so score them all with 'bleu' or 'chrf'" in message
