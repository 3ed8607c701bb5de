"""`nlgauge explain`: one pair in words, and error scores beside marked errors."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from tests.apps.cli.conftest import Refusal, Run

import nlgauge

PAIR = ("explain", "pair", "--hyp-text", "A cat sat on it.", "--ref-text", "The cat sat on a mat.")


def test_a_pair_is_explained_in_words(run: Run) -> None:
    result = run(*PAIR, "--metric", "moverscore")
    assert result.status == 0
    actual = nlgauge.explain_pair("A cat sat on it.", "The cat sat on a mat.", metric="moverscore")
    assert result.out.startswith(actual.sentence + "\n\nhypothesis: A cat sat on it (.)\n")
    assert "note: idf gave a text no weight" in result.out
    assert "\x1b[" not in result.out
    assert result.err == f"signature: {actual.signature.short()}\n"


def test_json_is_the_plain_form_of_the_explanation(run: Run) -> None:
    result = run(*PAIR, "--format", "json", "--leave-one-out", "--side-by-side", "--shapley", "--component", "recall")
    record = json.loads(result.out)
    actual = nlgauge.explain_pair(
        "A cat sat on it.",
        "The cat sat on a mat.",
        leave_one_out=True,
        beside=True,
        shapley=True,
        component="recall",
    )
    assert record == {"nlgauge": nlgauge.__version__, **json.loads(json.dumps(actual.to_dict()))}
    assert result.err == ""


def test_source_can_replace_the_reference(run: Run) -> None:
    result = run(
        *("explain", "pair", "--hyp-text", "Eine Katze.", "--source-text", "A cat."),
        *("--metric", "bertscore:against=source", "--threads", "1", "-q"),
    )
    assert "\nsource:     A cat .\n" in result.out


@pytest.mark.parametrize("kind", ["flow", "heat-map"])
def test_a_figure_is_written(run: Run, folder: Path, kind: str) -> None:
    result = run(*PAIR, "--plot", "pair.svg", "--plot-kind", kind, "-q")
    assert result.status == 0
    assert (folder / "pair.svg").read_bytes().startswith(b"<?xml")


def test_unexplainable_metrics_are_refused(refused: Refusal) -> None:
    assert "does not align words of this pair" in refused_after_output(refused)
    assert "--metric must be one value" in refused(2, *PAIR, "--metric", "bleu", "chrf")
    assert "--ref-text TEXT or --source-text TEXT" in refused(2, *PAIR[:4])
    assert "empty" in refused(1, *PAIR[:3], "", "--ref-text", "")


@pytest.mark.parametrize(
    ("flags", "message"),
    [
        (("--plot-kind", "flow"), "--plot-kind works only with --plot FILE"),
        (("--samples", "30"), "--samples works only with --shapley"),
        (("--samples", "30", "--leave-one-out"), "--samples works only with --shapley"),
        (("--seed", "1"), "--seed works only with --shapley"),
        (("--component", "recall"), "--component works only with --shapley, --leave-one-out or --lime"),
        (("--side", "reference"), "--side works only with --shapley, --leave-one-out or --lime"),
        (("--side", "source", "--shapley"), "bertscore compares with the reference; use --side reference"),
        (("--source-text", "Eine Katze."), "--source-text is not used: bertscore compares with references; leave it"),
        (("--source-text", "Eine Katze.", "-m", "chrf"), "--source-text is not used: chrf"),
        (
            ("--source-text", "Katze", "-m", "lc"),
            "--source-text is not used: lc reads the hypothesis alone; leave it out",
        ),
        (
            ("-m", "bertscore:against=source", "--source-text", "Katze"),
            "--ref-text is not used: bertscore compares with the source; leave it out, or use -m bertscore:against=",
        ),
    ],
)
def test_unused_flag_is_refused(refused: Refusal, flags: tuple[str, ...], message: str) -> None:
    assert message in refused(2, *PAIR, *flags)


def test_unused_source_text_names_the_metric_option(refused: Refusal) -> None:
    output = refused(2, *PAIR[:4], "--source-text", "Eine Katze.")
    assert "give --ref-text TEXT instead, or use -m bertscore:against=source" in output
    source = ("--source-text", "Katze", "-m", "bertscore:against=source", "--side", "reference", "--shapley")
    assert "bertscore compares with the source; use --side source" in refused(2, *PAIR[:4], *source)


def test_samples_is_allowed_where_shapley_is_the_default(run: Run) -> None:
    result = run(*PAIR, "--metric", "chrf", "--samples", "3", "--seed", "1", "--side", "reference")
    assert result.status == 0
    assert "shapley chrf" in result.out


def refused_after_output(refused: Refusal) -> str:
    """A figure of a metric without an alignment."""
    return refused(1, *PAIR, "--metric", "bleu", "--plot", "pair.png", "-o", "out.txt", "-q")


def test_colours_on_a_terminal_unless_switched_off(monkeypatch: pytest.MonkeyPatch) -> None:
    import io

    from nlgauge.apps.cli.explain import wants_colour

    class Terminal(io.StringIO):
        def isatty(self) -> bool:
            return True

    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.delenv("NO_COLOR", raising=False)
    assert wants_colour(Terminal())
    assert not wants_colour(io.StringIO())
    monkeypatch.setenv("TERM", "dumb")
    assert not wants_colour(Terminal())
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv("NO_COLOR", "1")
    assert not wants_colour(Terminal())


def test_scores_of_a_file_are_evaluated_against_tags_of_a_file(run: Run, folder: Path) -> None:
    (folder / "tags").write_text("0 1 0\n0 0\n1 0\n", encoding="utf-8")
    (folder / "scores.jsonl").write_text('{"s": [3, 1, 2]}\n{"s": [1, 1]}\n{"s": [1, 2]}\n', encoding="utf-8")
    files = ("explain", "evaluate", "--gold", "tags", "--scores", "scores.jsonl:s")
    result = run(*files, "--lower-is-error", "-f", "tsv")
    assert result.rows == [
        {"scores": "scores.jsonl:s", "AUC": "1.000", "AP": "1.000", "recall@K": "1.000", "texts": "2", "skipped": "1"}
    ]
    record = json.loads(run(*files, "-f", "json").out)
    assert record["results"][0]["auc"] == 0.0


def mqm(folder: Path) -> None:
    columns = "system doc doc_id seg_id rater source target category severity"
    rows = [
        ("a", "A <v>black</v> cat sat.", "Accuracy/Addition", "Major"),
        ("refB", "A cat sat.", "No-error", "No-error"),
    ]
    lines = [f"{name}\td\t1\t1\tr\tx\t{text}\t{kind}\t{severity}" for name, text, kind, severity in rows]
    text = "\n".join(["\t".join(columns.split()), *lines]) + "\n"
    (folder / "mqm_ted_zhen.tsv").write_text(text, encoding="utf-8")


def test_explanations_of_metrics_are_evaluated_on_a_data_set(run: Run, folder: Path) -> None:
    mqm(folder)
    data = ("explain", "evaluate", "--data", "mqm-ted", "--at", ".", "--words", "words")
    result = run(*data, "--metric", "bertscore", "moverscore", "-f", "tsv", "-q")
    assert [row["scores"] for row in result.rows] == ["bertscore", "moverscore"]
    assert [row["langpair"] for row in result.rows] == ["zh-en"] * 2
    assert result.rows[0]["AUC"] == "1.000"


def test_missing_arguments_of_evaluate_are_named(refused: Refusal, folder: Path) -> None:
    mqm(folder)
    (folder / "tags").write_text("0 1 0\n", encoding="utf-8")
    assert "needs either --gold FILE or --data NAME" in refused(2, "explain", "evaluate")
    assert "needs --scores FILE" in refused(2, "explain", "evaluate", "--gold", "tags")
    assert "language pair 'de-en' does not exist" in refused(
        2, "explain", "evaluate", "--data", "mqm-ted", "--at", ".", "--langpairs", "de-en"
    )


@pytest.mark.parametrize(
    ("flags", "message"),
    [
        (
            ("--gold", "tags", "--scores", "scores", "--metric", "bleu"),
            "--metric works only with scores that are computed",
        ),
        (
            ("--gold", "tags", "--scores", "scores", "--layer", "2"),
            "--layer works only with scores that are computed",
        ),
        (("--gold", "tags", "--scores", "scores", "--method", "match"), "--method works only with scores that are"),
        (("--gold", "tags", "--scores", "scores", "--limit", "2"), "--limit works only with --data NAME"),
        (("--data", "mqm-ted", "--lower-is-error"), "--lower-is-error works only with --scores FILE"),
        (("--data", "mqm-ted", "--samples", "9"), "--samples works only with --method shapley"),
        (
            ("--data", "mqm-ted", "--component", "f1"),
            "--component works only with --method leave-one-out, shapley or lime",
        ),
        (("--data", "mqm-ted", "--method", "shapley", "--pieces", "max"), "--pieces works only with --method match"),
        (
            ("--data", "mqm-ted", "--at", ".", "--side", "source"),
            "bertscore does not use the source (--side source); use -m bertscore:against=source",
        ),
    ],
)
def test_evaluate_refuses_unused_flags(refused: Refusal, folder: Path, flags: tuple[str, ...], message: str) -> None:
    mqm(folder)
    (folder / "tags").write_text("0 1 0\n", encoding="utf-8")
    (folder / "scores").write_text("1 2 3\n", encoding="utf-8")
    assert message in refused(2, "explain", "evaluate", *flags)


def test_an_input_is_not_replaced(refused: Refusal, folder: Path) -> None:
    (folder / "tags").write_text("0 1 0\n", encoding="utf-8")
    (folder / "scores").write_text("1 2 3\n", encoding="utf-8")
    files = ("explain", "evaluate", "--gold", "tags", "--scores", "scores")
    for name in ("tags", "scores"):
        assert "would be replaced" in refused(1, *files, "-o", name)


def test_every_pair_of_two_files_is_explained(run: Run) -> None:
    result = run("explain", "pairs", "a.txt", "--refs", "ref.txt", "--metric", "bertscore", "--format", "json", "-q")
    assert result.status == 0
    explained = json.loads(result.out)["explanations"]
    assert [len(explained), explained[0]["metric"]] == [6, "bertscore"]
    assert run("explain", "pairs", "a.txt", "b.txt", "--refs", "ref.txt").status == 2
