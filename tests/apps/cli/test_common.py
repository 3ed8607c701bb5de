"""What is refused before the work, with the same words and status in all commands; messages speak of flags."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.apps.cli.conftest import SYSTEM_A, Refusal, Run, write_lines

SCORE = ("score", "a.txt", "--refs", "ref.txt")
META = ("study", "meta", "--data", "custom", "--at", "own.tsv")
STUDY = ("study", "sensitivity", "a.txt", "b.txt", "--refs", "ref.txt", "--preset", "punctuation")


@pytest.mark.parametrize("command", [SCORE, META, STUDY], ids=lambda command: command[0])
@pytest.mark.parametrize(
    ("option", "says"),
    [
        (("--decimals", "99"), "--decimals must be a whole number from 0 to 17, got '99'"),
        (("--resamples", "0"), "--resamples must be "),
        (("--seed", "-1"), "--seed must be "),
        (("--model", ""), "--model is empty"),
        (("--lang", ""), "--lang is empty"),
        (("--cache-size", "3"), "--cache-size works only with --cache FOLDER"),
        (("--cache", "c", "--cache-size", "nan"), "--cache-size must be a number of gigabytes above 0"),
        (("--cache", "c", "--cache-size", "-1"), "--cache-size must be a number of gigabytes above 0"),
        (
            ("--metric", "bertscore:layer=4", "--layer", "5"),
            "layer is 4 in 'bertscore:layer=4', but 5",
        ),
        (("--metric", "bertscore:src_lang=de"), "uses src_lang only with against=source"),
        (
            ("--metric", "bertscore:rescale=true"),
            "option 'rescale' of bertscore must be no, yes or a file made by 'nlgauge build baseline'",
        ),
        (("--metric", "bertscor"), "did you mean 'bertscore'?"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, tuple) else "",
)
def test_a_wrong_value_is_refused_alike(
    refused: Refusal, command: tuple[str, ...], option: tuple[str, ...], says: str
) -> None:
    assert says in refused(2, *command, *option)


def test_other_commands_refuse_empty_names_too(refused: Refusal) -> None:
    assert "--lang is empty" in refused(2, "normalise", "a.txt", "--rules", "remove-punctuation", "--lang", "")
    assert "--model is empty" in refused(2, "build", "idf", "a.txt", "-o", "x.idf", "--model", "")


def test_a_flag_that_one_of_two_metrics_sets_itself_is_used_by_the_other(run: Run) -> None:
    result = run(*SCORE, "--metric", "bertscore:layer=2", "bertscore", "--layer", "3", "-q")
    assert result.status == 0
    assert "layer:2" in result.out
    assert "layer:3" in result.out


def test_unused_source_is_warned_of(run: Run) -> None:
    result = run(*SCORE, "--source", "b.txt", "--metric", "bleu")
    assert result.status == 0
    assert "nlgauge: warning: --source is not used: bleu compares with references" in result.err
    assert "--source" not in run(*SCORE, "--source", "b.txt", "--metric", "bleu", "-q").err


def test_sari_takes_source_and_references(run: Run, refused: Refusal) -> None:
    assert not run(*SCORE, "--source", "b.txt", "--metric", "sari").err.count("not used")
    assert "sari needs the source texts as well as references; pass them with --source" in refused(
        1, *SCORE, "--metric", "sari"
    )
    pair = ("explain", "pair", "--hyp-text", "A cat.", "--ref-text", "A cat.", "--metric", "sari")
    assert "give --ref-text TEXT and --source-text TEXT" in refused(2, *pair)
    assert "sari is 100.000" in run(*pair, "--source-text", "A big cat.").out


@pytest.mark.parametrize("option", [("--levels", "segment"), ("--agreement", "kendall"), ("--criterion", "x")])
def test_options_about_judgements_are_refused_without_data(refused: Refusal, option: tuple[str, str]) -> None:
    assert f"{option[0]} works only with --data NAME" in refused(2, *STUDY, *option)


def test_an_option_of_a_data_set_is_given_once(refused: Refusal) -> None:
    assert "option 'human' is given twice" in refused(2, *META, "--set", "human=a", "human=b")


def test_a_study_takes_model_and_layer_as_score_does(run: Run) -> None:
    result = run(*STUDY, "--metric", "moverscore:aggregation=layer-3", "--model", "minilm", "-q", "-f", "json")
    assert result.status == 0, result.err
    assert "moverscore:aggregation=layer-3,model=minilm" in result.out
    assert "|aggregation:layer-3|" in result.out


def test_a_flag_that_no_metric_of_a_study_knows_is_refused(refused: Refusal, folder: Path) -> None:
    assert "moverscore has no option 'layer'" in refused(2, *STUDY, "--metric", "moverscore", "--layer", "4")
    (folder / "mine.toml").write_text('metric = ["moverscore"]\n[[sweep]]\nstopwords = ["none", "iso-en"]\n')
    own = ("study", "sensitivity", "a.txt", "b.txt", "--refs", "ref.txt", "--study", "mine.toml", "--layer", "4")
    assert "--layer is not an option of moverscore" in refused(2, *own)


def test_a_study_takes_no_signature(refused: Refusal) -> None:
    assert "got the signature 'bertscore|layer:4'" in refused(2, *STUDY, "--metric", "bertscore|layer:4")


def test_a_metric_in_capitals_is_the_same_metric(run: Run) -> None:
    assert run(*SCORE, "-m", "BLEU").out == run(*SCORE, "-m", "bleu").out


def test_a_pasted_signature_line_is_a_signature(run: Run) -> None:
    first = run(*SCORE, "-m", "chrf")
    (line,) = [line for line in first.out.splitlines() if line.startswith("signature: ")]
    assert run(*SCORE, "-m", line).out == first.out


def test_text_given_as_idf_file_names_the_command_that_builds_one(refused: Refusal) -> None:
    assert "'a.txt' is not an idf file" in refused(1, *SCORE, "--idf", "a.txt")


def test_messages_name_flags_instead_of_keywords(refused: Refusal, folder: Path) -> None:
    write_lines(folder / "gap.txt", [*SYSTEM_A[:5], ""])
    assert "(--empty zero)" in refused(1, "score", "gap.txt", "--refs", "gap.txt")
    write_lines(folder / "long.txt", [*SYSTEM_A[:5], "word " * 600])
    assert "(--long truncate)" in refused(1, "score", "long.txt", "--refs", "ref.txt", "--long", "error")
    assert "--threads must" in refused(2, *SCORE, "--threads", "0")
