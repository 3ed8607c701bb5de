"""Where results go: to a file alike in all commands, never over an input, and refused before the work."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from sacrebleu.metrics import BLEU
from tests.apps.cli.conftest import REFERENCE, SYSTEM_A, Refusal, Run, write_lines

SCORE = ("score", "a.txt", "--refs", "ref.txt", "-m", "chrf")


@pytest.mark.parametrize("form", ["text", "json", "tsv", "latex", "markdown"])
def test_score_writes_the_same_bytes_to_a_file(run: Run, folder: Path, form: str) -> None:
    shown = run(*SCORE, "-f", form)
    assert run(*SCORE, "-f", form, "-o", "out")[:2] == (0, "")
    assert (folder / "out").read_text(encoding="utf-8") == shown.out


def test_meta_and_sensitivity_write_to_a_file(run: Run, folder: Path) -> None:
    rows = ["hypothesis\treference\tscore", "a b c\ta b d\t1", "a b\tc d e\t2", "x y z\tx y z\t3", "e f\tf g\t1"]
    (folder / "own.tsv").write_text("\n".join(rows) + "\n", encoding="utf-8")
    meta = ("study", "meta", "--data", "custom", "--at", "own.tsv", "-m", "chrf", "--resamples", "100", "-q")
    study = (
        "study",
        "sensitivity",
        "a.txt",
        "b.txt",
        "--refs",
        "ref.txt",
        "--preset",
        "punctuation",
        "-m",
        "moverscore",
        "-q",
    )
    for command in (meta, study):
        shown = run(*command)
        assert shown.status == 0, shown.err
        assert run(*command, "-o", "out") == (0, "", "")
        assert (folder / "out").read_text(encoding="utf-8") == shown.out


@pytest.mark.parametrize(
    "command",
    [
        ("build", "idf", "a.txt", "-o", "a.txt"),
        ("build", "idf", "ref.txt", "a.txt", "-o", "./a.txt"),
        ("normalise", "a.txt", "--rules", "remove-punctuation", "-o", "a.txt"),
        ("build", "baseline", "--corpus", "a.txt", "-o", "a.txt"),
        ("align", "fit", "--parallel", "a.txt", "ref.txt", "--model", "minilm", "-o", "a.txt"),
        ("align", "fit", "--parallel", "ref.txt", "b.txt", "-o", "x.npz", "--alignments", "a.txt",
         "--save-alignments", "a.txt"),
        ("align", "fit", "--unsupervised", "ref.txt", "a.txt", "--model", "minilm", "-o", "a.txt"),
        ("align", "fit", "--parallel", "a.txt", "ref.txt", "--method", "flow", "-o", "x.npz", "--curves", "a.txt"),
        ("align", "fit", "--parallel", "a.txt", "ref.txt", "--method", "flow", "-o", "x.npz", "--state", "a.txt"),
        ("build", "means", "--texts", "en=a.txt", "de=ref.txt", "--model", "minilm", "-o", "a.txt"),
        ("build", "bounds", "a.txt", "--refs", "ref.txt", "-o", "a.txt"),
        ("score", "a.txt", "--refs", "ref.txt", "-o", "a.txt"),
        ("score", "b.txt", "--refs", "ref.txt", "--idf", "a.txt", "-o", "a.txt"),
        ("score", "b.txt", "--refs", "ref.txt", "-m", "bertscore:idf=a.txt", "-o", "a.txt"),
        ("study", "sensitivity", "a.txt", "--refs", "ref.txt", "--preset", "idf", "-o", "a.txt"),
        ("explain", "factors", "--data", "sts", "--factor", "MOR", "--lexicon", "a.txt", "-o", "a.txt"),
        ("explain", "factors", "--data", "sts", "--factor", "MOR", "--word-vectors", "a.txt", "-o", "a.txt"),
        ("explain", "factors", "--data", "sts", "--factor", "LEX", "--translations", "a.txt", "-o", "a.txt"),
        ("explain", "factors", "--data", "sts", "--factor", "SYN", "--parser", "a.txt", "-o", "a.txt"),
        ("study", "stress", "b.txt", "--annotator", "a.txt", "-o", "a.txt"),
    ],
    ids=lambda command: " ".join(command[:2]),
)  # fmt: skip
def test_an_output_that_is_an_input_is_refused(refused: Refusal, folder: Path, command: tuple[str, ...]) -> None:
    before = (folder / "a.txt").read_bytes()
    assert "is an input of this command" in refused(1, *command)
    assert (folder / "a.txt").read_bytes() == before


def test_a_link_to_an_input_and_a_column_of_one_are_refused(refused: Refusal, folder: Path) -> None:
    (folder / "link.txt").symlink_to("a.txt")
    assert "is an input" in refused(1, *SCORE, "-o", "link.txt")
    (folder / "t.tsv").write_text("hyp\tref\na\ta\n", encoding="utf-8")
    assert "is an input" in refused(1, "score", "t.tsv:hyp", "--refs", "t.tsv:ref", "-m", "chrf", "-o", "t.tsv")


UNWRITABLE = [
    (*SCORE, "-o"),
    ("align", "fit", "--parallel", "a.txt", "ref.txt", "--model", "minilm", "-o"),
    ("build", "means", "--texts", "en=a.txt", "de=ref.txt", "--model", "minilm", "-o"),
    ("align", "fit", "--parallel", "a.txt", "ref.txt", "--method", "flow", "-o", "x.npz", "--curves"),
    ("align", "fit", "--parallel", "a.txt", "ref.txt", "--method", "flow", "-o", "x.npz", "--state"),
    ("align", "fit", "--unsupervised", "a.txt", "ref.txt", "-o"),
    ("build", "bounds", "a.txt", "--refs", "ref.txt", "-o"),
    ("build", "baseline", "--corpus", "a.txt", "--pairs", "4", "-o"),
    ("study", "sensitivity", "a.txt", "--refs", "ref.txt", "--preset", "punctuation", "--plot"),
    ("study", "reproduce", "figure2", "--plot"),
]


@pytest.mark.parametrize("command", UNWRITABLE, ids=lambda command: " ".join(command[:2]))
def test_a_missing_folder_is_named_before_the_work(refused: Refusal, folder: Path, command: tuple[str, ...]) -> None:
    """Without texts, so that whatever begins to work complains of those first."""
    for name in ("a.txt", "ref.txt"):
        (folder / name).unlink()
    says = refused(1, *command, "nowhere/x.png")
    assert "cannot write 'nowhere/x.png': the folder 'nowhere' does not exist" in says


@pytest.mark.skipif(os.geteuid() == 0, reason="nothing is read-only for root")
@pytest.mark.parametrize("command", UNWRITABLE, ids=lambda command: " ".join(command[:2]))
def test_a_read_only_folder_is_named_before_the_work(
    refused: Refusal, folder: Path, command: tuple[str, ...]
) -> None:
    (folder / "closed").mkdir(mode=0o500)
    assert "cannot write 'closed/x.png': the folder 'closed' is read-only" in refused(1, *command, "closed/x.png")


def test_unwritable_folder_is_named_as_given(refused: Refusal, monkeypatch: pytest.MonkeyPatch) -> None:
    """A check by the system's own word, so that it holds for root too."""
    monkeypatch.setattr("nlgauge.apps.cli.common.os.access", lambda *_: False)
    assert "cannot write 'x.tsv': the folder '.' is read-only" in refused(1, *SCORE, "-o", "x.tsv")


def test_bleu_has_the_interval_that_sacrebleu_has(run: Run, folder: Path) -> None:
    """It resamples the same segments under its seed, 12345; our percentiles lie a little further out (1.6 %)."""
    outputs = [f"{text} Number {number}." for number in range(20) for text in SYSTEM_A]
    references = [f"{text} Number {number}." for number in range(20) for text in REFERENCE]
    write_lines(folder / "long.txt", outputs)
    write_lines(folder / "long-ref.txt", references)
    command = ("score", "long.txt", "--refs", "long-ref.txt", "-m", "bleu", "--confidence")
    (record,) = run(*command, "-f", "json").scores
    theirs = BLEU().corpus_score(outputs, [references], n_bootstrap=1000)
    interval = record["interval"]
    assert record["score"] == pytest.approx(theirs.score)
    assert (interval["high"] - interval["low"]) / 2 == pytest.approx(theirs._ci, rel=0.05)
    text = run(*command).out
    assert "bleu 95% low" in text
    assert "bootstrap: 95 % of 1000 resamples, seed 12345" in text
    (row,) = run(*command, "-f", "tsv").rows
    assert float(row["low"]) == pytest.approx(interval["low"], abs=1e-4)


def test_intervals_over_documents(run: Run, refused: Refusal, folder: Path) -> None:
    write_lines(folder / "docs.txt", ["x", "x", "y", "y", "z", "z"])
    command = ("score", "a.txt", "--refs", "ref.txt", "-m", "rouge1", "bleu", "--confidence")
    for plain, clustered in zip(
        run(*command, "-f", "json").scores,
        run(*command, "--document-ids", "docs.txt", "-f", "json").scores,
        strict=True,
    ):
        assert (plain["interval"]["n"], clustered["interval"]["n"]) == (6, 3)
        assert clustered["interval"]["clustered"]
    assert "3 documents" in run(*command, "--document-ids", "docs.txt").out
    write_lines(folder / "few.txt", ["x"])
    assert "'few.txt' has 1 line, but needs a document id for each of 6 segments" in refused(
        1, *command, "--document-ids", "few.txt"
    )
    assert "--document-ids works only with --confidence" in refused(2, *command[:-1], "--document-ids", "docs.txt")


def test_output_with_gz_suffix_is_refused(refused: Refusal, folder: Path) -> None:
    """`-o x.json.gz` would be a text table under that name, which nothing reads."""
    assert "cannot write 'x.json.gz': results are not compressed" in refused(2, *SCORE, "-o", "x.json.gz")
    assert not (folder / "x.json.gz").exists()


def test_report_with_the_suffix_of_another_format_is_refused(refused: Refusal, folder: Path) -> None:
    command = ["compare", "a=hyp.txt", "b=hyp.txt", "--refs", "ref.txt", "-m", "chrf", "--report", "r.pdf"]
    assert "cannot write 'r.pdf': a report is an HTML page; use a name such as report.html" in refused(2, *command)
    assert not (folder / "r.pdf").exists()


@pytest.mark.parametrize("name", ["out.xlsx", "out.PDF", "fig.png", "table.docx", "scores.parquet"])
def test_output_with_the_suffix_of_a_binary_format_is_refused(refused: Refusal, folder: Path, name: str) -> None:
    message = refused(2, *SCORE, "-o", name)
    assert f"cannot write {name!r}: results are text, not {Path(name).suffix.lower()}; use a name such as" in message
    assert "--format" in message
    assert not (folder / name).exists()


@pytest.mark.parametrize(
    ("form", "name", "other"), [("latex", "o.json", "json"), ("csv", "o.tsv", "tsv"), ("json", "o.MD", "markdown")]
)
def test_output_with_the_suffix_of_another_format_is_refused(
    refused: Refusal, folder: Path, form: str, name: str, other: str
) -> None:
    said = refused(2, *SCORE, "-f", form, "-o", name)
    assert f"{name!r} is a name for {other}, and --format is {form}; use another name, or --format {other}" in said
    assert not (folder / name).exists()


def test_a_command_without_formats_writes_to_any_name(run: Run, folder: Path) -> None:
    assert run("build", "bounds", "a.txt", "--source", "ref.txt", "-o", "bounds.json", "-q").status == 0
    assert (folder / "bounds.json").exists()


@pytest.mark.parametrize("place", ["hyps", "refs"])
def test_a_saved_run_is_not_read_as_texts(run: Run, refused: Refusal, place: str) -> None:
    assert run(*SCORE, "-o", "run.json").status == 0
    names = ("run.json", "ref.txt") if place == "hyps" else ("a.txt", "run.json")
    message = refused(1, "score", names[0], "--refs", names[1], "-m", "chrf")
    assert "'run.json' is a saved run, not texts; to compare saved runs, use: nlgauge compare run.json" in message
