"""`nlgauge score`: what goes in, what comes out, and with which status."""

from __future__ import annotations

import errno
import gzip
import importlib.util
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import pytest
from tests.apps.cli.conftest import (
    REFERENCE,
    SECOND_REFERENCE,
    SYSTEM_A,
    SYSTEM_B,
    Refusal,
    Run,
    offline,
    write_lines,
)

import nlgauge
from nlgauge.core.kinds import Int
from nlgauge.core.options import option
from nlgauge.core.registry import METRICS
from nlgauge.io.store.resolve import resolve
from nlgauge.metrics.bertscore import BERTScore

Process = Callable[..., subprocess.CompletedProcess[str]]

JSON = ("--format", "json", "--segments", "--quiet")
LONG = "word " * 600


def f1_of(record: dict[str, Any]) -> list[float]:
    return [row["f1"] for row in record["segments"]]


def f1_from_python(hyps: list[str], refs: list[Any], **options: Any) -> list[float]:
    values: list[float] = nlgauge.score(hyps, refs, **options).f1.tolist()
    return values


# --- inputs --------------------------------------------------------------------------------------------


def test_several_systems_get_the_scores_that_python_gives(run: Run) -> None:
    result = run("score", "a.txt", "b.txt", "--refs", "ref.txt", "--metric", "bertscore", *JSON)
    assert (result.status, result.err) == (0, "")
    first, second = result.scores
    assert [first["system"], second["system"]] == ["a", "b"]
    assert f1_of(first) == f1_from_python(SYSTEM_A, REFERENCE)
    assert f1_of(second) == f1_from_python(SYSTEM_B, REFERENCE)
    assert first["score"] == np.mean(f1_of(first)) > second["score"]


def test_several_reference_files_are_several_references_of_each_segment(run: Run) -> None:
    (record,) = run("score", "a.txt", "--refs", "ref.txt", "ref2.txt", *JSON).scores
    assert f1_of(record) == nlgauge.score(SYSTEM_A, ref_streams=[REFERENCE, SECOND_REFERENCE]).f1.tolist()
    assert "|refs:2|" in record["signature"]
    assert {row["best_reference"] for row in record["segments"]} == {0, 1}


def test_columns_of_a_tsv_file(run: Run, folder: Path) -> None:
    rows = ["id\tmy system\treference"]
    rows += [f"{n}\t{hyp}\t{ref}" for n, (hyp, ref) in enumerate(zip(SYSTEM_A, REFERENCE, strict=True), start=1)]
    write_lines(folder / "out.tsv", rows)
    (record,) = run("score", "out.tsv:my system", "--refs", "out.tsv:reference", *JSON).scores
    assert f1_of(record) == f1_from_python(SYSTEM_A, REFERENCE)
    assert record["system"] == "out:my system"


def test_keys_of_a_jsonl_file_with_lists_of_references(run: Run, folder: Path) -> None:
    pairs = zip(REFERENCE, SECOND_REFERENCE, strict=True)
    references = [[ref, other] if number % 2 else ref for number, (ref, other) in enumerate(pairs)]
    write_lines(
        folder / "out.jsonl",
        [json.dumps({"hyp": hyp, "refs": refs}) for hyp, refs in zip(SYSTEM_A, references, strict=True)],
    )
    (record,) = run("score", "out.jsonl:hyp", "--refs", "out.jsonl:refs", *JSON).scores
    assert f1_of(record) == f1_from_python(SYSTEM_A, references)
    assert "|refs:var|" in record["signature"]


def test_gzipped_files(run: Run, folder: Path) -> None:
    (folder / "a.txt.gz").write_bytes(gzip.compress((folder / "a.txt").read_bytes()))
    table = "".join(f"{ref}\n" for ref in ["ref", *REFERENCE])
    (folder / "ref.tsv.gz").write_bytes(gzip.compress(table.encode()))
    (record,) = run("score", "a.txt.gz", "--refs", "ref.tsv.gz:ref", *JSON).scores
    assert f1_of(record) == f1_from_python(SYSTEM_A, REFERENCE)


def test_a_system_from_standard_input(run: Run, folder: Path) -> None:
    piped = (folder / "a.txt").read_bytes()
    (record,) = run("score", "-", "--refs", "ref.txt", *JSON, stdin=piped).scores
    assert f1_of(record) == f1_from_python(SYSTEM_A, REFERENCE)
    assert record["system"] == "stdin"


def test_references_from_standard_input(run: Run, folder: Path) -> None:
    (record,) = run("score", "a.txt", "--refs", "-", *JSON, stdin=(folder / "ref.txt").read_bytes()).scores
    assert f1_of(record) == f1_from_python(SYSTEM_A, REFERENCE)


PIPED_TSV = "".join(f"{h}\t{r}\n" for h, r in zip(["hyp", *SYSTEM_A], ["ref", *REFERENCE], strict=True)).encode()
PIPED_JSONL = b"".join(
    json.dumps({"hyp": h, "ref": [r]}).encode() + b"\n" for h, r in zip(SYSTEM_A, REFERENCE, strict=True)
)


@pytest.mark.parametrize(("form", "piped"), [("tsv", PIPED_TSV), ("jsonl", PIPED_JSONL)])
def test_hypotheses_and_references_from_one_pipe(run: Run, form: str, piped: bytes) -> None:
    result = run("score", "-:hyp", "--refs", "-:ref", "--input-format", form, *JSON, stdin=piped)
    assert result.status == 0, result.err
    assert f1_of(result.scores[0]) == f1_from_python(SYSTEM_A, REFERENCE)


@pytest.mark.parametrize(("form", "piped"), [("tsv", PIPED_TSV), ("jsonl", PIPED_JSONL)])
def test_one_pipe_in_the_spelling_that_argparse_always_takes(run: Run, form: str, piped: bytes) -> None:
    result = run("score", "--refs=-:ref", "--input-format", form, *JSON, "--", "-:hyp", stdin=piped)
    assert result.status == 0, result.err
    assert f1_of(result.scores[0]) == f1_from_python(SYSTEM_A, REFERENCE)


def test_plain_standard_input_cannot_be_both_sides(refused: Refusal) -> None:
    message = refused(1, "score", "-", "--refs", "-", stdin=b"one\n")
    assert "only once" in message
    assert "-:hyp" in message


def test_input_format_overrides_the_suffix(run: Run, folder: Path) -> None:
    (folder / "table.dat").write_bytes(PIPED_TSV)
    (record,) = run("score", "table.dat:hyp", "--refs", "table.dat:ref", "--input-format", "tsv", *JSON).scores
    assert f1_of(record) == f1_from_python(SYSTEM_A, REFERENCE)


def test_systems_of_one_file_name_keep_their_folders(run: Run, folder: Path) -> None:
    for number, lines in (("1", SYSTEM_A), ("2", SYSTEM_B)):
        (folder / number).mkdir()
        write_lines(folder / number / "out.txt", lines)
    records = run("score", "1/out.txt", "2/out.txt", "--refs", "ref.txt", *JSON).scores
    assert [record["system"] for record in records] == ["1/out", "2/out"]


# --- options of a metric, of the model, of the run -----------------------------------------------------


def test_systems_can_be_named(run: Run) -> None:
    result = run("score", "new=a.txt", "b.txt", "--refs", "ref.txt", "--metric", "chrf", *JSON)
    assert [record["system"] for record in result.scores] == ["new", "b"]


def test_verbose_prints_files_and_seconds_per_stage(run: Run) -> None:
    result = run("score", "a.txt", "--refs", "ref.txt", "--metric", "chrf", "--verbose")
    lines = result.err.splitlines()
    assert lines[:2] == ["nlgauge: read 6 segments from a.txt", "nlgauge: read 6 segments from ref.txt"]
    assert [line.partition(": ")[2].rpartition(": ")[0] for line in lines[2:]] == ["scoring chrf", "total"]
    assert run("score", "a.txt", "--refs", "ref.txt", "--metric", "chrf").err == ""


def test_verbose_and_quiet_exclude_each_other(refused: Refusal) -> None:
    message = refused(2, "score", "a.txt", "--refs", "ref.txt", "--metric", "chrf", "-q", "-v")
    assert "--verbose cannot be combined with --quiet" in message


def test_progress_without_a_terminal_is_a_plain_line(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("nlgauge.io.progress.INTERVAL", 0.0)
    command = ("score", "a.txt", "--refs", "ref.txt", "--metric", "chrf")
    assert run(*command).err.endswith("nlgauge: scoring chrf 6 of 6 segments (100 %), about 0 s left\n")
    assert run(*command, "--quiet").err == ""


def test_metrics_joined_by_a_comma_are_refused_with_the_right_spelling(refused: Refusal) -> None:
    message = refused(2, "score", "a.txt", "--refs", "ref.txt", "-m", "bertscore,bleu")
    assert "separate metrics by spaces: -m bertscore bleu" in message


def test_a_misspelt_file_is_suggested(refused: Refusal) -> None:
    assert "did you mean 'ref.txt'?" in refused(1, "score", "a.txt", "--refs", "reff.txt")


def test_a_misspelt_choice_is_suggested(refused: Refusal) -> None:
    assert "got 'jsn'; did you mean 'json'?" in refused(2, "score", "a.txt", "--refs", "ref.txt", "-f", "jsn")


def test_an_option_reads_the_same_in_the_metric_and_as_a_flag(run: Run) -> None:
    inside = run("score", "a.txt", "--refs", "ref.txt", "--metric", "bertscore:layer=5,idf=refs", *JSON)
    flags = run(
        "score", "a.txt", "--refs", "ref.txt", "--metric", "bertscore", "--layer", "5", "--idf", "refs", *JSON
    )
    assert inside.out == flags.out
    assert "|layer:5|idf:refs[" in inside.scores[0]["signature"]
    assert f1_of(inside.scores[0]) == f1_from_python(SYSTEM_A, REFERENCE, layer=5, idf="refs")


def test_a_flag_yields_to_the_option_in_a_metric(run: Run) -> None:
    result = run(
        "score", "a.txt", "--refs", "ref.txt", "--metric", "bertscore:layer=2", "bertscore", "--layer", "3", *JSON
    )
    own, shared = result.scores
    assert "|layer:2|" in own["signature"]
    assert "|layer:3|" in shared["signature"]
    assert f1_of(own) == f1_from_python(SYSTEM_A, REFERENCE, layer=2)
    assert f1_of(shared) == f1_from_python(SYSTEM_A, REFERENCE, layer=3)


@pytest.fixture
def second_metric(monkeypatch: pytest.MonkeyPatch) -> None:
    """A metric with an option of its own, which BERTScore does not have."""

    @dataclass(frozen=True, kw_only=True)
    class Sharpened(nlgauge.metrics.BERTScore):
        name: ClassVar[str] = "sharpened"
        power: int = option(1, Int(1), help="a power")

    monkeypatch.setitem(METRICS._all, "sharpened", Sharpened)


@pytest.mark.usefixtures("second_metric")
def test_each_metric_has_its_own_options(run: Run) -> None:
    result = run("score", "a.txt", "--refs", "ref.txt", "--metric", "bertscore", "sharpened:power=3", *JSON)
    assert result.status == 0, result.err
    plain, sharpened = (record["signature"] for record in result.scores)
    assert "power" not in plain
    assert "|power:3|" in sharpened


def test_a_flag_applies_to_the_metrics_that_know_it(run: Run) -> None:
    result = run("score", "a.txt", "--refs", "ref.txt", "--metric", "bertscore", "chrf", "--layer", "3", *JSON)
    assert result.status == 0, result.err
    neural, lexical = (record["signature"] for record in result.scores)
    assert "|layer:3|" in neural
    assert "layer" not in lexical


def test_a_flag_that_no_metric_of_the_call_knows_is_refused(refused: Refusal) -> None:
    message = refused(2, "score", "a.txt", "--refs", "ref.txt", "--metric", "chrf", "--layer", "3")
    assert "'layer'" in message
    assert "chrf has no option 'layer'; leave it out ('nlgauge show chrf' lists the options)" in message


@pytest.mark.usefixtures("second_metric")
def test_an_option_of_another_metric_is_refused(refused: Refusal) -> None:
    message = refused(2, "score", "a.txt", "--refs", "ref.txt", "--metric", "bertscore:power=3")
    assert "'power'" in message
    assert "bertscore" in message
    assert "see 'nlgauge show bertscore'" in message


@pytest.fixture
def model_copy(folder: Path) -> Path:
    """minilm's files in a folder of another name."""
    source = resolve("minilm").path
    target = folder / "my-model"
    target.mkdir()
    for name in ("config.json", "tokenizer.json", "tokenizer_config.json", "model.safetensors"):
        try:
            os.link((source / name).resolve(), target / name)
        except OSError:
            shutil.copy(source / name, target / name)
    return target


@pytest.mark.usefixtures("model_copy")
def test_a_model_by_its_folder(run: Run) -> None:
    (by_path,) = run("score", "a.txt", "--refs", "ref.txt", "--model", "./my-model", "--layer", "4", *JSON).scores
    (by_name,) = run("score", "a.txt", "--refs", "ref.txt", *JSON).scores
    assert f1_of(by_path) == f1_of(by_name)
    assert by_path["signature"] == by_name["signature"].replace("|model:minilm|", "|model:my-model|")


@pytest.mark.usefixtures("model_copy")
def test_a_model_without_a_tuned_layer_asks_for_one(refused: Refusal) -> None:
    path = Path("my-model/config.json")
    config = json.loads(path.read_text(encoding="utf-8")) | {"layer_norm_eps": 1e-5}
    path.unlink()  # it may be a link to the model's own
    path.write_text(json.dumps(config), encoding="utf-8")
    message = refused(2, "score", "a.txt", "--refs", "ref.txt", "--model", "./my-model")
    assert "'my-model'" in message
    assert "0 to 6 with --layer" in message


@pytest.mark.usefixtures("model_copy")
def test_a_copy_of_a_known_model_has_its_tuned_layer(run: Run) -> None:
    (copy,) = run("score", "a.txt", "--refs", "ref.txt", "--model", "./my-model", *JSON).scores
    (by_name,) = run("score", "a.txt", "--refs", "ref.txt", "--model", "minilm", *JSON).scores
    # Not the whole output: the digest at its end covers the signature, and with it the model's name.
    short = [record.pop("short_signature").partition("|h:")[0] for record in (copy, by_name)]
    assert short == ["bertscore|my-model-L4|nlgauge:0.2", "bertscore|minilm-L4|nlgauge:0.2"]
    assert copy == json.loads(json.dumps(by_name).replace("model:minilm", "model:my-model"))


def test_a_model_by_its_hub_id(run: Run) -> None:
    by_id = run("score", "a.txt", "--refs", "ref.txt", "--model", "sentence-transformers/all-MiniLM-L6-v2", *JSON)
    by_name = run("score", "a.txt", "--refs", "ref.txt", "--model", "minilm", *JSON)
    assert by_id.out == by_name.out


def test_english_is_scored_with_the_embedded_model(run: Run) -> None:
    english = run("score", "a.txt", "--refs", "ref.txt", "--lang", "en", *JSON)
    assert english.out == run("score", "a.txt", "--refs", "ref.txt", *JSON).out


@pytest.mark.parametrize("options", [["--lang", "de"], ["--metric", "bertscore:lang=de"]], ids=" ".join)
def test_another_language_takes_another_model(
    refused: Refusal, monkeypatch: pytest.MonkeyPatch, options: list[str]
) -> None:
    offline(monkeypatch)
    message = refused(1, "score", "a.txt", "--refs", "ref.txt", *options)
    assert "'bert-base-multilingual-cased'" in message


def test_model_flag_wins_over_language(run: Run) -> None:
    (record,) = run("score", "a.txt", "--refs", "ref.txt", "--lang", "de", "--model", "minilm", *JSON).scores
    assert f1_of(record) == f1_from_python(SYSTEM_A, REFERENCE)


def test_the_engine_is_in_the_signature(run: Run) -> None:
    (record,) = run("score", "a.txt", "--refs", "ref.txt", "--engine", "onnx", *JSON).scores
    assert "|engine:onnxruntime-" in record["signature"]


@pytest.mark.skipif(importlib.util.find_spec("torch") is not None, reason="torch is installed")
def test_a_missing_engine_comes_with_the_pip_command(refused: Refusal) -> None:
    assert "pip install 'nlgauge[torch]'" in refused(1, "score", "a.txt", "--refs", "ref.txt", "--engine", "torch")


def test_a_precision_that_the_engine_does_not_have_is_refused(run: Run, refused: Refusal) -> None:
    command = ("score", "a.txt", "--refs", "ref.txt")
    assert run(*command, "--precision", "fp32", *JSON).out == run(*command, *JSON).out
    message = refused(2, *command, "--engine", "onnx", "--precision", "bf16")
    assert "engine 'onnx' supports fp32, int8, not 'bf16'" in message


@pytest.mark.parametrize("option", [("--threads", "1"), ("--threads", "2"), ("--batch-tokens", "1")])
def test_threads_and_batches_do_not_change_a_bit(run: Run, option: tuple[str, str]) -> None:
    command = ("score", "a.txt", "b.txt", "--refs", "ref.txt", "ref2.txt", *JSON)
    assert run(*command, *option).out == run(*command).out


# --- output --------------------------------------------------------------------------------------------


def test_text_has_a_row_per_system_and_the_signature(run: Run) -> None:
    result = run("score", "a.txt", "b.txt", "--refs", "ref.txt")
    lines = result.out.splitlines()
    assert result.err == ""
    assert lines[0] == "bertscore"
    assert lines[1].split() == ["system", "precision", "recall", "f1"]
    means = nlgauge.score(SYSTEM_A, REFERENCE).means
    assert lines[3].split() == ["a", *(f"{means[name]:.4f}" for name in ("precision", "recall", "f1"))]
    assert lines[4].split()[0] == "b"
    assert lines[5] == f"signature: {nlgauge.score(SYSTEM_A, REFERENCE).signature.short()}"


@pytest.mark.parametrize("format_", ["text", "tsv", "latex"])
@pytest.mark.parametrize("width", [0, 2, 8])
def test_decimals_sets_the_number_of_decimals(run: Run, format_: str, width: int) -> None:
    result = run("score", "a.txt", "--refs", "ref.txt", "--format", format_, "--decimals", str(width))
    expected = f"{nlgauge.score(SYSTEM_A, REFERENCE).mean:.{width}f}"
    assert expected in result.out.replace("\t", " ").split()


@pytest.mark.parametrize("format_", ["text", "tsv", "latex"])
def test_tables_print_short_signatures_unless_full_ones_are_asked_for(run: Run, format_: str) -> None:
    command = ("score", "a.txt", "--refs", "ref.txt", "--format", format_)
    short = nlgauge.score(SYSTEM_A, REFERENCE).signature.short()
    full = str(nlgauge.score(SYSTEM_A, REFERENCE).signature)
    printed = run(*command).out
    assert (short in printed, full in printed) == (format_ != "tsv", format_ == "tsv")
    printed = run(*command, "--signature", "full").out
    assert (short in printed, full in printed) == (False, True)


def test_json_keeps_full_numbers_and_whole_signatures(run: Run) -> None:
    (record,) = run("score", "a.txt", "--refs", "ref.txt", "--format", "json", "--decimals", "1").scores
    expected = nlgauge.score(SYSTEM_A, REFERENCE)
    assert record["means"] == expected.means
    assert record["signature"] == str(expected.signature)
    assert "segments" not in record


def test_the_same_command_twice_gives_the_same_bytes(process: Process) -> None:
    command = ("score", "a.txt", "b.txt", "--refs", "ref.txt", "ref2.txt", "--idf", "refs", "--confidence", *JSON)
    first = process(*command, environment={"PYTHONHASHSEED": "1"})
    second = process(*command, environment={"PYTHONHASHSEED": "2"})
    assert (first.returncode, first.stderr) == (0, "")
    assert first.stdout == second.stdout
    assert len(json.loads(first.stdout)["scores"]) == 2


def test_tsv_has_one_row_per_score(run: Run) -> None:
    result = run("score", "a.txt", "b.txt", "--refs", "ref.txt", "--format", "tsv")
    columns = ["system", "metric", "better", "precision", "recall", "f1", "signature"]
    assert [list(row) for row in result.rows] == [columns] * 2
    assert [row["system"] for row in result.rows] == ["a", "b"]
    assert float(result.rows[0]["f1"]) == pytest.approx(nlgauge.score(SYSTEM_A, REFERENCE).mean, abs=5e-5)


def test_tsv_of_segments_has_one_row_per_segment(run: Run) -> None:
    rows = run(
        "score", "a.txt", "b.txt", "--refs", "ref.txt", "--format", "tsv", "--segments", "--decimals", "6"
    ).rows
    assert [(row["system"], row["segment"]) for row in rows] == [
        (system, str(n)) for system in ("a", "b") for n in range(6)
    ]
    expected = f1_from_python(SYSTEM_A, REFERENCE) + f1_from_python(SYSTEM_B, REFERENCE)
    assert [float(row["f1"]) for row in rows] == pytest.approx(expected, abs=5e-7)


def test_text_of_segments(run: Run) -> None:
    lines = run("score", "a.txt", "--refs", "ref.txt", "--segments").out.splitlines()
    assert lines[0] == "bertscore, by segment"
    values = f1_from_python(SYSTEM_A, REFERENCE)
    for number, line in enumerate(lines[3:9]):
        assert f"{values[number]:.4f}" in line.split()


def test_latex_is_a_tabular_with_the_signature_as_a_comment(run: Run, folder: Path) -> None:
    write_lines(folder / "my_system.txt", SYSTEM_A)
    lines = run("score", "my_system.txt", "--refs", "ref.txt", "--format", "latex").out.splitlines()
    assert lines[0].startswith(r"\begin{tabular}")
    assert r"\end{tabular}" in lines
    assert any(line.startswith(r"my\_system & 0.") for line in lines)
    assert lines[-1] == f"% signature: {nlgauge.score(SYSTEM_A, REFERENCE).signature.short()}"


def interval(run: Run, *options: str, system: str = "a.txt", refs: str = "ref.txt") -> dict[str, Any]:
    (record,) = run("score", system, "--refs", refs, "--format", "json", "--confidence", *options).scores
    result: dict[str, Any] = record["interval"]
    return result


@pytest.fixture
def many(folder: Path) -> dict[str, str]:
    """Enough segments for a bootstrap."""
    write_lines(folder / "many.txt", SYSTEM_A * 6)
    write_lines(folder / "many-ref.txt", REFERENCE * 6)
    return {"system": "many.txt", "refs": "many-ref.txt"}


def test_the_interval_is_seeded(run: Run, many: dict[str, str]) -> None:
    first = interval(run, **many)
    assert interval(run, **many) == first
    other = interval(run, "--seed", "1", **many)
    assert (other["low"], other["high"]) != (first["low"], first["high"])
    assert other["mean"] == first["mean"] == pytest.approx(nlgauge.score(SYSTEM_A, REFERENCE).mean)
    assert first["low"] < first["mean"] < first["high"]
    assert (first["method"], first["n"]) == ("bootstrap", 36)


def test_the_interval_is_as_asked(run: Run, many: dict[str, str]) -> None:
    wide, narrow = interval(run, **many), interval(run, "--confidence-level", "0.5", "--resamples", "200", **many)
    assert (narrow["level"], narrow["resamples"], narrow["seed"]) == (0.5, 200, 12345)
    assert wide["low"] < narrow["low"] < narrow["high"] < wide["high"]


def test_the_interval_of_few_segments_draws_nothing(run: Run) -> None:
    result = interval(run)
    assert (result["method"], result["n"], result["resamples"]) == ("t", 6, 0)
    assert (result["low"], result["high"]) == (interval(run, "--seed", "1")["low"], result["high"])


def test_the_interval_in_text_and_tsv(run: Run) -> None:
    bounds = interval(run)
    text = run("score", "a.txt", "--refs", "ref.txt", "--confidence").out
    assert f"{bounds['low']:.4f}" in text
    assert f"{bounds['high']:.4f}" in text
    assert "\nStudent's t interval, 95 %, 6 segments" in text
    (row,) = run("score", "a.txt", "--refs", "ref.txt", "--confidence", "--format", "tsv").rows
    assert (row["low"], row["high"]) == (f"{bounds['low']:.4f}", f"{bounds['high']:.4f}")


def test_citation_alone_needs_no_texts_and_no_model(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("NLGAUGE_CACHE", str(tmp_path / "nothing"))
    monkeypatch.setenv("NLGAUGE_OFFLINE", "1")
    result = run("score", "--metric", "bertscore", "--citation")
    assert (result.status, result.err) == (0, "")
    assert result.out == nlgauge.metrics.BERTScore.citation + "\n"
    assert result.out.startswith("@inproceedings{zhang2020bertscore,")


def test_citation_beside_scores(run: Run) -> None:
    command = ("score", "a.txt", "--refs", "ref.txt", "--citation", "--format")
    assert nlgauge.metrics.BERTScore.citation in run(*command, "text").out
    assert json.loads(run(*command, "json").out)["citations"] == {"bertscore": nlgauge.metrics.BERTScore.citation}
    tsv = run(*command, "tsv")
    assert len(tsv.rows) == 1
    assert nlgauge.metrics.BERTScore.citation in tsv.err


def test_quiet_silences_warnings(run: Run, folder: Path) -> None:
    write_lines(folder / "gaps.txt", [*SYSTEM_A[:3], "", LONG, ""])
    command = ("score", "gaps.txt", "--refs", "ref.txt", "--format", "json")
    loud, quiet = run(*command), run(*command, "--quiet")
    assert loud.status == quiet.status == 0
    assert loud.out == quiet.out
    assert quiet.err == ""
    truncated, empty = loud.err.splitlines()
    assert truncated.startswith("nlgauge: warning: 1 segment (line 5): ")
    assert "512" in truncated
    assert truncated.endswith("use --long windows to score whole texts")
    assert empty.startswith("nlgauge: warning: 2 segments (lines 4, 6): ")
    (record,) = loud.scores
    assert record["counts"] == {"truncated": 1, "empty": 2, "zero_weight": 0}
    assert record["noted_segments"] == {"truncated": [4], "empty": [3, 5]}
    assert record["signature"].endswith("||truncated:1|empty:2")


def test_alignments_say_which_token_took_which(run: Run, folder: Path) -> None:
    write_lines(folder / "short.txt", ["the cat sat", "a dog"])
    (record,) = run("score", "short.txt", "--refs", "short.txt", *JSON, "--alignments").scores
    alignment = record["segments"][0]["alignment"]
    assert alignment["hypothesis_tokens"] == ["[CLS]", "the", "cat", "sat", "[SEP]"]
    assert alignment["hypothesis_match"] == alignment["reference_match"] == [0, 1, 2, 3, 4]
    assert alignment["hypothesis_similarity"] == pytest.approx([1] * 5, abs=1e-6)
    assert alignment["hypothesis_weight"] == [0, 1, 1, 1, 0]
    assert len(record["segments"][1]["alignment"]["reference_tokens"]) == 4


def test_alignments_belong_to_the_best_reference_and_do_not_move_scores(run: Run) -> None:
    command = ("score", "a.txt", "--refs", "ref.txt", "ref2.txt", *JSON)
    (aligned,) = run(*command, "--alignments").scores
    (plain,) = run(*command).scores
    assert f1_of(aligned) == f1_of(plain)
    for row in aligned["segments"]:
        alignment = row["alignment"]
        assert alignment["reference_index"] == row["best_reference"]
        weights = np.array(alignment["hypothesis_weight"])
        precision = weights @ np.array(alignment["hypothesis_similarity"]) / weights.sum()
        assert precision == pytest.approx(row["precision"], abs=1e-6)


# --- status 1: the work failed -------------------------------------------------------------------------


def test_files_of_unequal_length(refused: Refusal, folder: Path) -> None:
    write_lines(folder / "five.txt", SYSTEM_A[:5])
    for command in (
        ("five.txt", "--refs", "ref.txt"),
        ("a.txt", "five.txt", "--refs", "ref.txt"),
        ("a.txt", "--refs", "ref.txt", "five.txt"),
    ):
        message = refused(1, "score", *command)
        assert "'five.txt' has 5" in message
        assert re.search("'(a|ref).txt' has 6", message)


@pytest.mark.parametrize(
    "command", [("nothing.txt", "--refs", "ref.txt"), ("a.txt", "--refs", "ref.txt", "nothing.txt")]
)
def test_a_missing_file_is_named(refused: Refusal, command: tuple[str, ...]) -> None:
    assert "'nothing.txt'" in refused(1, "score", *command)


def test_an_empty_file_is_named(refused: Refusal, folder: Path) -> None:
    (folder / "void.txt").write_bytes(b"")
    assert "void.txt" in refused(1, "score", "a.txt", "--refs", "void.txt")


def test_a_column_that_is_not_there(refused: Refusal, folder: Path) -> None:
    (folder / "out.tsv").write_bytes(PIPED_TSV)
    message = refused(1, "score", "out.tsv:hypo", "--refs", "out.tsv:ref")
    assert "'hypo'" in message
    assert "['hyp', 'ref']" in message


def test_both_sides_empty(refused: Refusal, run: Run, folder: Path) -> None:
    write_lines(folder / "gap.txt", [*SYSTEM_A[:2], " ", *SYSTEM_A[3:]])
    write_lines(folder / "gap-ref.txt", [*REFERENCE[:2], "", *REFERENCE[3:]])
    message = refused(1, "score", "gap.txt", "--refs", "gap-ref.txt")
    assert "'gap', line 3" in message
    assert "--empty zero" in message
    (record,) = run("score", "gap.txt", "--refs", "gap-ref.txt", "--empty", "zero", *JSON).scores
    assert f1_of(record)[2] == 0
    assert record["counts"]["empty"] == 1


def test_a_text_over_the_limit(refused: Refusal, run: Run, folder: Path) -> None:
    write_lines(folder / "long.txt", [*SYSTEM_A[:5], LONG])
    message = refused(1, "score", "a.txt", "long.txt", "--refs", "ref.txt", "--long", "error")
    assert "'long', line 6" in message
    assert "602" in message
    assert "512" in message
    assert run("score", "a.txt", "--refs", "ref.txt", "--long", "error").status == 0


def test_a_text_over_the_limit_in_windows(run: Run, folder: Path) -> None:
    write_lines(folder / "long.txt", [*SYSTEM_A[:5], LONG])
    result = run("score", "long.txt", "--refs", "ref.txt", "--long", "windows", "--format", "json", "--segments")
    (record,) = result.scores
    assert (
        "1 segment (line 6): longer than 512 tokens, read in windows of 512 tokens with a stride of 255" in result.err
    )
    assert "|window:512|stride:255|" in record["signature"]
    assert record["counts"] == {"truncated": 0, "empty": 0, "zero_weight": 0, "windows": 1}
    (cut,) = run("score", "long.txt", "--refs", "ref.txt", *JSON).scores
    assert f1_of(record)[:5] == f1_of(cut)[:5]
    assert f1_of(record)[5] != f1_of(cut)[5]
    metric = ("-m", "bertscore:window=512,stride=255")
    (again,) = run("score", "long.txt", "--refs", "ref.txt", *metric, *JSON).scores
    assert again == record


def test_a_model_that_is_not_here(refused: Refusal, monkeypatch: pytest.MonkeyPatch) -> None:
    offline(monkeypatch)
    message = refused(1, "score", "a.txt", "--refs", "ref.txt", "--model", "nobody/nothing")
    assert "'nobody/nothing'" in message
    assert "NLGAUGE_OFFLINE" in message
    assert "nlgauge models pull nobody/nothing" in message


def test_the_embedded_model_before_it_was_pulled(
    refused: Refusal, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    offline(monkeypatch)
    monkeypatch.setenv("NLGAUGE_CACHE", str(tmp_path / "empty"))
    assert "nlgauge models pull minilm" in refused(1, "score", "a.txt", "--refs", "ref.txt")


def test_rescaling_without_a_baseline_names_the_command_that_builds_one(refused: Refusal) -> None:
    flags = ("--model", "minilm", "--lang", "fi", "-m", "bertscore:rescale=yes", "-q")
    message = refused(1, "score", "a.txt", "--refs", "ref.txt", *flags)
    assert "'minilm'" in message
    assert "'fi'" in message
    assert "nlgauge build baseline --corpus" in message


# --- status 2: the command was wrong -------------------------------------------------------------------


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        (["--metric", "blue"], ["'blue'", "did you mean 'bleu'? See 'nlgauge list'"]),
        (["--metric", "bertscore:temperature=1"], ["'temperature'", "see 'nlgauge show bertscore'"]),
        (["--metric", "bertscore:layer"], ["'layer'", "option=value"]),
        (["--metric", "bertscore:layer=4,layer=5"], ["'layer'", "twice"]),
        (["--layer", "four"], ["--layer must be", "'four'"]),
        (["--layer=-1"], ["layer", "-1"]),
        (["--layer", "7"], ["--layer must be 0 to 6", "got 7"]),
        (["--metric", "bertscore:multiref=worst"], ["'worst'", "best-f"]),
        (["--idf", ""], ["--idf is empty"]),
        (["--threads", "0"], ["threads", "0"]),
        (["--batch-tokens", "0"], ["--batch-tokens", "0"]),
        (["--decimals", "-1"], ["--decimals", "-1"]),
        (
            ["--confidence", "--confidence-level", "95"],
            ["--confidence-level must be a number above 0, below 1", "95"],
        ),
        (["--confidence", "--resamples", "0"], ["resamples", "0"]),
        (["--confidence", "--seed", "-1"], ["seed", "-1"]),
        (["--alignments"], ["--alignments works only with --segments"]),
        (["--alignments", "--segments"], ["--segments --format json"]),
        (["--alignments", "--format", "json"], ["--alignments works only with --segments"]),
        (["--segments", "--format", "latex"], ["LaTeX", "segments"]),
        (["--segments", "--format", "tsv", "--confidence"], ["confidence", "segments"]),
    ],
    ids=" ".join,
)
def test_a_wrong_option_is_named_with_what_it_takes(
    refused: Refusal, options: list[str], expected: list[str]
) -> None:
    message = refused(2, "score", "a.txt", "--refs", "ref.txt", *options)
    for part in expected:
        assert part in message


def test_missing_references(refused: Refusal) -> None:
    assert "--refs" in refused(2, "score", "a.txt")


def test_missing_systems(refused: Refusal) -> None:
    assert "HYP" in refused(2, "score", "--refs", "ref.txt")


def test_a_system_given_twice(refused: Refusal) -> None:
    assert "'a.txt'" in refused(2, "score", "a.txt", "a.txt", "--refs", "ref.txt")


@pytest.mark.parametrize(
    "command",
    [
        ["scores"],
        ["score", "a.txt", "--refs"],
        ["score", "a.txt", "--refs", "ref.txt", "--temperature", "3"],
        ["score", "a.txt", "--refs", "ref.txt", "--engine", "tpu"],
        ["score", "a.txt", "--refs", "ref.txt", "--format", "xml"],
        ["score", "a.txt", "--refs", "ref.txt", "--threads", "two"],
        ["score", "a.txt", "--refs", "ref.txt", "--long", "cut"],
        ["score", "a.txt", "--refs", "ref.txt", "--empty", "one"],
    ],
    ids=" ".join,
)
def test_what_the_parser_refuses(run: Run, command: list[str]) -> None:
    result = run(*command)
    assert (result.status, result.out) == (2, "")
    assert "error: " in result.err.splitlines()[-1]
    assert any(part in result.err for part in command[-2:])


def test_unprintable_format_is_refused_before_scoring(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    def work(*_: object, **__: object) -> None:
        pytest.fail("hours of work before the command was found wrong")

    monkeypatch.setattr("nlgauge.core.scoring.run_metrics", work)
    assert run("score", "a.txt", "--refs", "ref.txt", "--segments", "--format", "latex").status == 2
    assert run("score", "a.txt", "--refs", "ref.txt", "--segments", "--format", "tsv", "--confidence").status == 2


# --- a process of its own ------------------------------------------------------------------------------


def test_results_go_to_stdout_and_messages_to_stderr(process: Process, folder: Path) -> None:
    write_lines(folder / "gap.txt", [*SYSTEM_A[:5], ""])
    result = process("score", "-", "--refs", "ref.txt", "--format", "tsv", input=(folder / "gap.txt").read_text())
    assert result.returncode == 0
    header, row = (line.split("\t") for line in result.stdout.splitlines())
    assert dict(zip(header, row, strict=True))["system"] == "stdin"
    assert result.stderr.splitlines() == [
        "nlgauge: warning: 1 segment (line 6): empty hypothesis or reference, scored 0"
    ]


@pytest.mark.heavy
def test_a_reader_that_leaves_early_is_no_failure(folder: Path) -> None:
    write_lines(folder / "many.txt", SYSTEM_A * 100)
    write_lines(folder / "many-ref.txt", REFERENCE * 100)
    command = f"'{sys.executable}' -m nlgauge score many.txt --refs many-ref.txt --format tsv --segments"
    piped = f"{{ {command}; echo status $? >&2; }} | head -1"
    result = subprocess.run(
        piped, shell=True, cwd=folder, capture_output=True, encoding="utf-8", timeout=300, check=False
    )
    assert result.stdout.startswith("system\tmetric\tbetter\tsegment\t")
    assert result.stdout.count("\n") == 1
    assert result.stderr == "status 0\n"


def test_a_reader_that_was_never_there_is_no_failure(process: Process) -> None:
    read, write = os.pipe()
    os.close(read)
    try:
        result = process("score", "--citation", stdout=write)
    finally:
        os.close(write)
    assert (result.returncode, result.stderr) == (0, "")


@pytest.mark.heavy
@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="needs a named pipe")
def test_an_interrupt_ends_with_130_and_one_line(folder: Path) -> None:
    os.mkfifo(folder / "slow.txt")
    child = subprocess.Popen(
        [sys.executable, "-m", "nlgauge", "score", "slow.txt", "--refs", "ref.txt"],
        cwd=folder,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        encoding="utf-8",
        # A shell that starts the tests in the background has them ignore Ctrl-C, and children inherit that.
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
    )
    try:
        pipe = open_when_read(folder / "slow.txt")  # from here on the child waits for a text
        out, err = interrupt(child)
        os.close(pipe)
    finally:
        child.kill()
        child.communicate()
    assert (child.returncode, out, err) == (130, "", "nlgauge: interrupted\n")


def interrupt(child: subprocess.Popen[str]) -> tuple[str, str]:
    """Ctrl-C until it is heard: a signal that comes just before a read starts does not end that read."""
    for _ in range(10):
        child.send_signal(signal.SIGINT)
        try:
            return child.communicate(timeout=20)
        except subprocess.TimeoutExpired:
            continue
    pytest.fail("the command does not react to an interrupt")


def open_when_read(fifo: Path) -> int:
    """Open a named pipe for writing as soon as somebody reads from it."""
    deadline = time.monotonic() + 300
    while True:
        try:
            return os.open(fifo, os.O_WRONLY | os.O_NONBLOCK)
        except OSError as error:
            if error.errno != errno.ENXIO or time.monotonic() > deadline:
                raise
            time.sleep(0.02)


HEAVY = (
    "torch",
    "transformers",
    "onnxruntime",
    "onnx",
    "safetensors",
    "huggingface_hub",
    "pandas",
    "scipy",
    "matplotlib",
)
#: Rooms that a command does without.
OTHER_ROOMS = (
    "nlgauge.studies.meta",
    "nlgauge.data",
    "nlgauge.studies.sensitivity",
    "nlgauge.studies.published",
)


@pytest.mark.heavy
@pytest.mark.parametrize(
    "command",
    [["score", "--help"], ["score", "--citation"], ["signature", "show", "bertscore|layer:4"]],
    ids=" ".join,
)
def test_help_and_errors_do_not_load_the_engine(command: list[str], folder: Path) -> None:
    code = (
        "import sys\n"
        "from nlgauge.apps.cli import main\n"
        "try:\n    main(sys.argv[1:])\nexcept SystemExit:\n    pass\n"
        f"print([name for name in {(*HEAVY, *OTHER_ROOMS)!r} if name in sys.modules], file=sys.stderr)\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, *command], cwd=folder, capture_output=True, encoding="utf-8", check=True
    )
    assert done.stdout
    assert done.stderr == "[]\n"


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="no /dev/full here")
def test_full_disk_is_an_error_message(process: Process) -> None:
    with open("/dev/full", "w") as full:
        result = process("score", "--citation", stdout=full)
    assert result.returncode == 1
    assert "Traceback" not in result.stderr
    assert result.stderr.startswith("nlgauge: error: ")


@pytest.mark.heavy
def test_closed_standard_input_is_an_error_message(folder: Path) -> None:
    result = subprocess.run(
        f"'{sys.executable}' -m nlgauge score - --refs ref.txt <&-",
        shell=True,
        cwd=folder,
        capture_output=True,
        encoding="utf-8",
        timeout=300,
        check=False,
    )
    assert result.returncode == 1
    assert "Traceback" not in result.stderr
    assert result.stderr.startswith("nlgauge: error: ")


def test_output_is_utf8_under_any_locale(process: Process, folder: Path) -> None:
    write_lines(folder / "日本.txt", SYSTEM_A)
    result = process("score", "日本.txt", "--refs", "ref.txt", environment={"PYTHONIOENCODING": "ascii"})
    assert "Traceback" not in result.stderr
    assert result.returncode == 0
    assert f"{nlgauge.score(SYSTEM_A, REFERENCE).mean:.4f}" in result.stdout


@pytest.mark.parametrize("option", [["--seed", "7"], ["--resamples", "500"], ["--confidence-level", "0.5"]])
def test_an_option_of_confidence_without_it_is_refused(refused: Refusal, option: list[str]) -> None:
    message = refused(2, "score", "hyp.txt", "--refs", "ref.txt", *option)
    assert f"{option[0]} works only with --confidence" in message


def test_options_are_not_abbreviated(run: Run) -> None:
    result = run("score", "hyp.txt", "--refs", "ref.txt", "--lay", "6")
    assert result.status == 2
    assert "--lay" in result.err


# --- texts, languages and models that are not known ----------------------------------------------------


def test_texts_of_unknown_tokens_are_refused_without_an_option(run: Run, folder: Path) -> None:
    write_lines(folder / "thai.txt", ["รถไฟมาสาย ยี่สิบนาที เพราะพายุ"])
    write_lines(folder / "other.txt", ["แมวนอนอยู่ บนโซฟา ในห้อง"])
    command = ("score", "thai.txt", "--refs", "other.txt")
    refused = run(*command)
    assert (refused.status, refused.out) == (1, "")
    assert "score these pairs 0 (-m NAME:unknown=zero) or normally (-m NAME:unknown=score)" in refused.err
    (record,) = run(*command, "-m", "bertscore:unknown=zero", *JSON).scores
    assert record["score"] == 0
    assert record["noted_segments"] == {"unknown": [0]}
    assert run(*command, "-m", "bertscore:unknown=perhaps").status == 2


@pytest.mark.parametrize("option", ["--lang", "--model"])
def test_an_unset_variable_of_the_shell_is_not_the_default(refused: Refusal, option: str) -> None:
    message = refused(2, "score", "a.txt", "--refs", "ref.txt", option, "")
    assert f"{option.removeprefix('--')} is empty" in message


def test_language_names_are_not_language_codes(refused: Refusal) -> None:
    assert "'English'" in refused(2, "score", "a.txt", "--refs", "ref.txt", "--lang", "English")


@pytest.mark.parametrize("command", ["score", "compare"])
def test_a_recipe_is_made_once_between_the_command_line_and_the_score(
    command: str, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    layers = []

    def count(recipe: BERTScore) -> None:
        layers.append(recipe.layer)

    monkeypatch.setattr(BERTScore, "check", count)
    result = run(command, "a.txt", "b.txt", "--refs", "ref.txt", "-m", "bertscore", "--layer", "4")
    assert result.status == 0
    assert layers == [4]


def test_segments_of_a_column_keep_their_number(run: Run, folder: Path) -> None:
    """Rows of a table are not lines: a quoted cell may have several."""
    write_lines(folder / "gap.tsv", ["hyp\tref", "a cat\ta cat", "\ta dog"])
    result = run("score", "gap.tsv:hyp", "--refs", "gap.tsv:ref", "-m", "chrf")
    assert result.err.startswith("nlgauge: warning: 1 segment (index 1): empty hypothesis or reference")


@pytest.mark.parametrize(
    ("metric", "needed"), [("bleu", "references (--refs REF);"), ("bertscore", "references (--refs REF) or a source")]
)
def test_missing_texts_are_those_that_the_metric_can_use(refused: Refusal, metric: str, needed: str) -> None:
    assert f"nlgauge score needs {needed}" in refused(2, "score", "a.txt", "-m", metric)
