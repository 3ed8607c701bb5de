"""`nlgauge build idf` and `nlgauge build baseline`, and scores that use their files."""

from __future__ import annotations

import gzip
import json
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.apps.cli.conftest import REFERENCE, SYSTEM_A, SYSTEM_B, Refusal, Run, check_schema, write_lines

import nlgauge
from nlgauge.apps.cli import main
from nlgauge.metrics.parts.baseline import Baseline

JSON = ("--format", "json", "--segments", "--quiet")
SCORE = ("score", "a.txt", "--refs", "ref.txt")
RESCALED = ("--metric", "bertscore:rescale=base.tsv")
COMPONENTS = ("precision", "recall", "f1")


def segments(run: Run, *command: str) -> list[dict[str, Any]]:
    result = run(*command, *JSON)
    assert result.status == 0, result.err
    rows: list[dict[str, Any]] = result.scores[0]["segments"]
    return rows


def values(rows: list[dict[str, Any]], component: str = "f1") -> list[float]:
    return [row[component] for row in rows]


# --- idf -----------------------------------------------------------------------------------------------


@pytest.fixture
def idf(run: Run) -> str:
    """An idf file of the references."""
    assert run("build", "idf", "ref.txt", "-o", "idf.json", "--quiet") == (0, "", "")
    check_schema("idf.json")
    return "idf.json"


def test_the_file_of_the_references_scores_as_the_references(run: Run, idf: str) -> None:
    assert values(segments(run, *SCORE, "--idf", idf)) == values(segments(run, *SCORE, "--idf", "refs"))
    assert values(segments(run, *SCORE, "--idf", idf)) != values(segments(run, *SCORE))


def test_idf_digest_is_printed_and_signed(run: Run) -> None:
    result = run("build", "idf", "ref.txt", "-o", "idf.json")
    assert (result.status, result.out) == (0, "")
    assert "6 documents" in result.err
    digest = result.err.split()[-1]
    (record,) = run(*SCORE, "--idf", "idf.json", *JSON).scores
    assert f"|idf:file[{digest}]|" in record["signature"]


def test_with_a_file_a_pair_does_not_depend_on_its_neighbours(run: Run, folder: Path, idf: str) -> None:
    write_lines(folder / "one.txt", SYSTEM_A[1:3])
    write_lines(folder / "one-ref.txt", REFERENCE[1:3])
    alone = ("score", "one.txt", "--refs", "one-ref.txt", "--idf")
    assert values(segments(run, *alone, idf)) == values(segments(run, *SCORE, "--idf", idf))[1:3]
    assert values(segments(run, *alone, "refs")) != values(segments(run, *SCORE, "--idf", "refs"))[1:3]


def test_the_digest_is_of_the_documents_not_of_their_file(run: Run, folder: Path) -> None:
    text = (folder / "ref.txt").read_bytes()
    (folder / "ref.txt.gz").write_bytes(gzip.compress(text))
    write_lines(folder / "ref.tsv", ["n\tref", *(f"{n}\t{ref}" for n, ref in enumerate(REFERENCE))])
    write_lines(folder / "ref.jsonl", [json.dumps({"ref": ref}) for ref in REFERENCE])
    write_lines(folder / "first.txt", REFERENCE[:2])
    write_lines(folder / "rest.txt", REFERENCE[2:])
    digests = set()
    for corpus in (["ref.txt"], ["ref.txt.gz"], ["ref.tsv:ref"], ["ref.jsonl:ref"], ["-"], ["rest.txt", "first.txt"]):
        result = run("build", "idf", *corpus, "-o", "idf.json", stdin=text)
        assert result.status == 0, result.err
        digests.add(result.err.split()[-1])
    assert len(digests) == 1
    assert run("build", "idf", "a.txt", "-o", "idf.json").err.split()[-1] not in digests


def test_an_idf_file_of_another_tokenizer_is_refused(run: Run, refused: Refusal) -> None:
    assert run("build", "idf", "ref.txt", "--model", "mpnet", "-o", "mpnet.json", "--quiet").status == 0
    message = refused(1, *SCORE, "--idf", "mpnet.json")
    assert "'mpnet.json'" in message
    assert "tokenizer" in message
    assert "--model" in message


def test_a_missing_idf_file_comes_with_the_command(run: Run) -> None:
    result = run(*SCORE, "--idf", "nothing.json")
    assert (result.status, result.out) == (1, "")
    assert re.fullmatch(r"nlgauge: error: .*'nothing.json'.*nlgauge build idf CORPUS -o nothing.json'\n", result.err)


@pytest.mark.parametrize(
    ("damage", "value"),
    [
        ("format", "other/1"),
        ("documents", None),
        ("documents", "many"),
        ("documents", -5),
        ("documents", 0),
        ("documents", 2),
        ("frequency", None),
        ("frequency", [1, 2]),
        ("frequency", {"word": 1}),
        ("frequency", {"99999999": 1}),
        ("frequency", {"-1": 1}),
        ("frequency", {"7": -3}),
        ("vocabulary", -1),
        ("vocabulary", 10),
    ],
)
def test_a_damaged_idf_file_is_refused(refused: Refusal, folder: Path, idf: str, damage: str, value: object) -> None:
    record = json.loads((folder / idf).read_text())
    record[damage] = value
    (folder / idf).write_text(json.dumps(record))
    assert f"'{idf}'" in refused(1, *SCORE, "--idf", idf)


def test_an_idf_file_with_a_vocabulary_too_small_for_the_model_is_refused(
    refused: Refusal, folder: Path, idf: str
) -> None:
    record = json.loads((folder / idf).read_text())
    (folder / idf).write_text(json.dumps(record | {"vocabulary": 10, "frequency": {}}))
    assert f"'{idf}'" in refused(1, *SCORE, "--idf", idf)


@pytest.mark.parametrize("content", [b"", b"\xff\xfe", b"[]", b"{", b'"text"', b"The cat sat.\n"])
def test_a_file_that_is_no_idf_file_is_refused(refused: Refusal, folder: Path, content: bytes) -> None:
    (folder / "idf.json").write_bytes(content)
    assert "'idf.json'" in refused(1, *SCORE, "--idf", "idf.json")


def test_idf_of_a_missing_corpus(refused: Refusal) -> None:
    assert "'nothing.txt'" in refused(1, "build", "idf", "nothing.txt", "-o", "idf.json")


def test_idf_into_a_missing_folder(refused: Refusal, folder: Path) -> None:
    assert "'no/idf.json'" in refused(1, "build", "idf", "ref.txt", "-o", "no/idf.json")
    assert not [name for name in folder.iterdir() if ".part" in name.name]


def test_idf_into_a_folder(refused: Refusal) -> None:
    assert "'.'" in refused(1, "build", "idf", "ref.txt", "-o", ".")


def test_idf_needs_an_output(run: Run) -> None:
    result = run("build", "idf", "ref.txt")
    assert (result.status, result.out) == (2, "")
    assert "--output" in result.err


# --- baseline ------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def built_baseline(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    """A baseline of a few sentences, built once."""
    folder = tmp_path_factory.mktemp("baseline")
    write_lines(folder / "ref.txt", REFERENCE)
    write_lines(folder / "b.txt", SYSTEM_B)
    corpus = [str(folder / "ref.txt"), str(folder / "b.txt")]
    assert main(["build", "baseline", "--corpus", *corpus, "--pairs", "30", "-o", f"{folder}/out", "--quiet"]) == 0
    return (folder / "out").read_bytes()


@pytest.fixture
def baseline(built_baseline: bytes, folder: Path) -> Path:
    """The baseline as base.tsv in the current folder."""
    (folder / "base.tsv").write_bytes(built_baseline)
    return folder / "base.tsv"


def rows_of(path: Path) -> dict[int, list[float]]:
    lines = [line.split("\t") for line in path.read_text().splitlines() if not line.startswith("#")]
    assert lines[0] == ["layer", *COMPONENTS]
    return {int(layer): [float(cell) for cell in cells] for layer, *cells in lines[1:]}


def with_rows(path: Path, rows: dict[int, tuple[float, float, float] | None]) -> None:
    """The baseline with other rows, as if it had been built with them."""
    made = Baseline.load(path)
    kept = {layer: row for layer, row in ({**made.rows, **rows}).items() if row is not None}
    path.write_text(Baseline(made.header, kept).text(), encoding="utf-8")


def test_a_baseline_has_every_layer_and_says_how_it_was_made(baseline: Path) -> None:
    rows = rows_of(baseline)
    assert list(rows) == list(range(7))
    assert all(0 < value < 1 for row in rows.values() for value in row)
    header = dict(line[2:].split(": ", 1) for line in baseline.read_text().splitlines() if ": " in line)
    assert header["model"] == "minilm"
    assert header["language"] == "en"
    assert header["corpus"] == "ref.txt, b.txt"
    assert header["pairs"].startswith("30 random pairs of 12 distinct sentences")


def test_a_baseline_is_the_mean_of_pairs_of_different_sentences(run: Run, folder: Path) -> None:
    first, second = "The cat sat on the mat.", "Prices rose again in March, the bank said."
    write_lines(folder / "two.txt", [first, second, first, first, f" {second} "])
    assert run("build", "baseline", "--corpus", "two.txt", "--pairs", "8", "-o", "base.tsv", "--quiet").status == 0
    rows = rows_of(folder / "base.tsv")
    for layer in (0, 4, 6):
        pair = nlgauge.score([first, second], [second, first], layer=layer)
        assert rows[layer] == pytest.approx([pair.means[name] for name in COMPONENTS], abs=1e-6)


@pytest.mark.parametrize("layer", [4, 6])
def test_rescaling_is_s_minus_b_over_one_minus_b(run: Run, baseline: Path, layer: int) -> None:
    raw = segments(run, *SCORE, "--layer", str(layer))
    rescaled = segments(run, *SCORE, "--layer", str(layer), *RESCALED)
    for component, base in zip(COMPONENTS, rows_of(baseline)[layer], strict=True):
        expected = (np.array(values(raw, component)) - base) / (1 - base)
        assert values(rescaled, component) == pytest.approx(expected, abs=1e-12)


def test_an_empty_text_scores_0_before_rescaling(run: Run, folder: Path, baseline: Path) -> None:
    write_lines(folder / "gap.txt", [*SYSTEM_A[:5], ""])
    rescaled = segments(run, "score", "gap.txt", "--refs", "ref.txt", *RESCALED)
    base = rows_of(baseline)[4][2]
    assert rescaled[5]["f1"] == pytest.approx(-base / (1 - base), abs=1e-12)


def test_baseline_digest_is_printed_and_signed(run: Run) -> None:
    result = run("build", "baseline", "--corpus", "ref.txt", "--pairs", "6", "-o", "base.tsv")
    assert (result.status, result.out) == (0, "")
    assert "7 layers" in result.err
    digest = result.err.split()[-1]
    (record,) = run(*SCORE, *RESCALED, *JSON).scores
    assert f"|rescale:file[{digest}]|" in record["signature"]


def test_a_rescaled_signature_gives_the_same_bytes_with_its_file(run: Run, refused: Refusal, baseline: Path) -> None:
    first = run(*SCORE, *RESCALED, *JSON)
    signature = first.scores[0]["signature"]
    assert "rescale=PATH" in refused(2, *SCORE, "--metric", signature)
    assert run(*SCORE, "--metric", signature, f"rescale={baseline}", *JSON).out == first.out
    with_rows(baseline, {4: (0.1, 0.1, 0.1)})
    assert "rescale: asked file[" in refused(2, *SCORE, "--metric", signature, "rescale=base.tsv")


def test_a_baseline_is_seeded(run: Run, folder: Path, baseline: Path) -> None:
    command = ("build", "baseline", "--corpus", "ref.txt", "b.txt", "--pairs", "30", "--quiet", "-o")
    assert run(*command, "again.tsv").status == 0
    assert (folder / "again.tsv").read_bytes() == baseline.read_bytes()
    assert run(*command, "other.tsv", "--seed", "1").status == 0
    assert rows_of(folder / "other.tsv") != rows_of(baseline)


def test_a_baseline_to_standard_output(run: Run, baseline: Path) -> None:
    result = run("build", "baseline", "--corpus", "ref.txt", "b.txt", "--pairs", "30", "-o", "-")
    assert result.status == 0
    assert result.out == baseline.read_text()


@pytest.mark.usefixtures("baseline")
def test_a_baseline_of_another_model_is_refused(refused: Refusal) -> None:
    message = refused(1, *SCORE, *RESCALED, "--model", "mpnet")
    assert "'base.tsv'" in message
    assert "'minilm'" in message
    assert "'mpnet'" in message
    assert "nlgauge build baseline" in message


def test_a_baseline_without_the_layer_is_refused(refused: Refusal, baseline: Path) -> None:
    with_rows(baseline, {4: None})
    message = refused(1, *SCORE, *RESCALED)
    assert "layer 4" in message
    assert "[0, 1, 2, 3, 5, 6]" in message


@pytest.mark.parametrize(
    "row",
    ["4 .5 .5", "4 .5 .5 .5 .5", "4 .5 x .5", "four .5 .5 .5", " ", "4 nan .5 .5", "4 inf .5 .5", "4 1.0 1.0 1.0"],
)
def test_a_damaged_baseline_is_refused(refused: Refusal, baseline: Path, row: str) -> None:
    baseline.write_text(re.sub(r"(?m)^4\t.*", row.replace(" ", "\\t"), baseline.read_text()))
    assert "'base.tsv'" in refused(1, *SCORE, *RESCALED)


@pytest.mark.parametrize("content", [b"", b"\xff", b"The cat sat.\n", b"# nlgauge baseline 1\n"])
def test_a_file_that_is_no_baseline_is_refused(refused: Refusal, folder: Path, content: bytes) -> None:
    (folder / "base.tsv").write_bytes(content)
    assert "'base.tsv'" in refused(1, *SCORE, *RESCALED)


def test_a_missing_baseline_comes_with_the_command(refused: Refusal) -> None:
    message = refused(1, *SCORE, "-m", "bertscore:rescale=nothing.tsv")
    assert "nlgauge build baseline --corpus SENTENCES -o nothing.tsv" in message


def test_a_baseline_needs_two_sentences(refused: Refusal, folder: Path) -> None:
    write_lines(folder / "one.txt", ["The same.", "", " The same. "])
    message = refused(1, "build", "baseline", "--corpus", "one.txt", "-o", "base.tsv")
    assert "at least 2 different sentences, got 1" in message
    assert not (folder / "base.tsv").exists()


@pytest.mark.parametrize(("option", "value"), [("pairs", "0"), ("pairs", "-5"), ("seed", "-1")])
def test_numbers_that_a_baseline_cannot_use(refused: Refusal, option: str, value: str) -> None:
    command = ("build", "baseline", "--corpus", "ref.txt", "-o", "base.tsv", f"--{option}={value}")
    message = refused(2, *command)
    assert option in message
    assert value in message


def test_sentences_without_a_token_are_no_sentences(run: Run, folder: Path) -> None:
    write_lines(folder / "odd.txt", [*SYSTEM_B, "\u200b", "\x01"])
    for corpus, output in (("b.txt", "plain.tsv"), ("odd.txt", "odd.tsv")):
        result = run("build", "baseline", "--corpus", corpus, "--pairs", "24", "-o", output, "--quiet")
        assert result.status == 0, result.err
    assert rows_of(folder / "odd.tsv") == rows_of(folder / "plain.tsv")


def test_a_note_of_two_lines_does_not_break_the_file(run: Run) -> None:
    command = ("build", "baseline", "--corpus", "ref.txt", "--pairs", "6", "-o", "base.tsv", "--quiet")
    result = run(*command, "--note", "two\nlines")
    assert result.status == 0, result.err
    assert run(*SCORE, *RESCALED).status == 0


def test_a_baseline_into_a_missing_folder(refused: Refusal) -> None:
    command = ("build", "baseline", "--corpus", "ref.txt", "--pairs", "6", "--quiet", "-o")
    assert "'no/base.tsv'" in refused(1, *command, "no/base.tsv")
    assert "'.'" in refused(1, *command, ".")


def test_a_baseline_is_named_by_language_and_model(run: Run, folder: Path) -> None:
    result = run("build", "baseline", "--corpus", "ref.txt", "--pairs", "2")
    assert result.status == 0
    assert (folder / "en.minilm.tsv").is_file()
    assert "en.minilm.tsv" in result.err


def test_idf_counts_what_it_cuts(run: Run, folder: Path) -> None:
    (folder / "long.txt").write_text("short\n" + "bread " * 700 + "\n")
    result = run("build", "idf", "long.txt", "-o", "long.idf")
    assert "1 documents (the first is line 2) were truncated to 512 tokens" in result.err


def test_few_sentences_and_blank_lines_are_warned_of(run: Run, folder: Path) -> None:
    write_lines(folder / "blank.txt", [""] * 12)
    counted = run("build", "idf", "blank.txt", "-o", "idf.json")
    assert counted.status == 0
    assert "warning: 12 of 12 documents have no tokens" in counted.err
    made = run("build", "baseline", "--corpus", "ref.txt", "--pairs", "6", "-o", "base.tsv")
    assert made.status == 0
    assert "warning: a baseline from 6 sentences and 6 pairs is imprecise" in made.err


def test_a_file_without_a_digest_is_refused(refused: Refusal, folder: Path, idf: str) -> None:
    record = json.loads((folder / idf).read_text())
    del record["digest"]
    (folder / idf).write_text(json.dumps(record))
    assert "idf file 'idf.json' is damaged: 'digest' is missing" in refused(1, *SCORE, "--idf", idf)


def test_a_text_file_is_not_an_idf_file(refused: Refusal) -> None:
    message = refused(1, *SCORE, "--idf", "a.txt")
    assert "'a.txt' is not an idf file" in message
    assert "line 1 column 1" not in message


def test_idf_refuses_a_device_that_it_cannot_use(refused: Refusal) -> None:
    assert "the device is 'mean'" in refused(2, "build", "idf", "a.txt", "-o", "idf.json", "--device", "mean")
    assert "threads must be" in refused(2, "build", "idf", "a.txt", "-o", "idf.json", "--threads", "0").replace(
        "--", ""
    )
