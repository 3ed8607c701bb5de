"""`nlgauge signature show|diff`, and a signature as the metric of a new run."""

from __future__ import annotations

import json
import warnings
from pathlib import Path

import pytest
from tests.apps.cli.conftest import Refusal, Run

import nlgauge
from nlgauge.core import registry
from nlgauge.core.signature import MEANINGS, BertScoreHash

JSON = ("--format", "json", "--segments", "--quiet")
SCORE = ("score", "a.txt", "--refs", "ref.txt")
HASH = "roberta-large_L17_no-idf_version=0.3.12(hug_trans=4.30.2)-rescaled_fast-tokenizer"


@pytest.fixture
def signature(run: Run) -> str:
    """Of a run with every option away from its default."""
    (record,) = run(
        *SCORE, "ref2.txt", "--layer", "3", "--idf", "refs", "-m", "bertscore:multiref=mean", *JSON
    ).scores
    text: str = record["signature"]
    return text


# --- show ----------------------------------------------------------------------------------------------


def test_show_explains_each_field(run: Run, signature: str) -> None:
    result = run("signature", "show", signature)
    assert (result.status, result.err) == (0, "")
    parsed = nlgauge.Signature.parse(signature)
    rows = [line.split(maxsplit=3) for line in result.out.split("\n\n")[0].splitlines()[2:]]
    shown = {(part, field): (value, meaning) for part, field, value, meaning in rows}
    own = {name: option.help for name, option in nlgauge.metrics.BERTScore.options().items()}
    assert shown == {
        ("recipe", "metric"): ("bertscore", MEANINGS["metric"]),
        **{("recipe", key): (value, own.get(key) or MEANINGS[key]) for key, value in parsed.recipe.items()},
        **{("run", key): (value, MEANINGS[key]) for key, value in parsed.run.items()},
    }
    assert shown["recipe", "layer"][0] == "3"
    assert result.out.endswith(f"\nfull: {parsed}\nshort: {parsed.short()}\n")


def test_show_reads_the_hash_of_bert_score(run: Run) -> None:
    result = run("signature", "show", HASH)
    assert result.status == 0
    shown = {line.split()[0]: line.split()[1] for line in result.out.splitlines()[2:10]}
    assert shown == {
        "model": "roberta-large",
        "layer": "17",
        "idf": "no",
        "rescaled": "shipped",
        "tokenizer": "fast",
        "prefix_space": "no",
        "version": "0.3.12",
        "transformers": "4.30.2",
    }
    options = "layer=17,idf=none,multiref=best-each,rescale=yes,prefix_space=no"
    assert f"--metric bertscore:{options} --model roberta-large" in result.out
    assert "digest of the weights" in result.out


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("roberta-large_L17_idf_version=0.3.13(hug_trans=4.35.0)", ["layer=17", "idf=refs", "rescale=no"]),
        (
            "microsoft/deberta_L2-base_L9_no-idf_version=0.3.9(hug_trans=4.2.1)-custom-rescaled",
            ["layer=9", "idf=none", "rescale=FILE", "--model microsoft/deberta_L2-base"],
        ),
    ],
)
def test_show_reads_other_hashes_of_bert_score(run: Run, text: str, expected: list[str]) -> None:
    (recipe,) = [
        line
        for line in run("signature", "show", text).out.splitlines()
        if line.startswith("same settings in nlgauge")
    ]
    for part in expected:
        assert part in recipe


@pytest.mark.parametrize(
    ("model", "transformers", "fast", "expected"),
    [
        ("roberta-large", "3.5.1", "", "yes"),
        ("roberta-large", "4.48.3", "", "yes"),
        ("roberta-large", "4.48.3", "_fast-tokenizer", "no"),
        ("distilroberta-base", "5.0.0", "", "no"),
        # SentencePiece and WordPiece: a space makes no difference.
        ("xlm-roberta-base", "5.0.0", "", ""),
        ("google/bigbird-roberta-base", "5.0.0", "", ""),
        ("bert-base-uncased", "5.0.0", "_fast-tokenizer", ""),
    ],
)
def test_bert_score_hash_shows_the_prefix_space(model: str, transformers: str, fast: str, expected: str) -> None:
    read = BertScoreHash.parse(f"{model}_L5_no-idf_version=0.3.13(hug_trans={transformers}){fast}")
    assert read.prefix_space == expected
    assert ("prefix_space=no" in read.recipe()) == (expected == "no")


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", "SIGNATURE is empty"),
        ("bertscore|layer", "'layer'"),
        ("bertscore|layer:4|layer:5", "'layer'"),
        ("layer:4|bertscore", "layer:4"),
        ("bertscore|layer:4||empty", "'empty'"),
    ],
)
def test_show_refuses_invalid_signatures(refused: Refusal, text: str, expected: str) -> None:
    assert expected in refused(2, "signature", "show", text)


def test_show_refuses_a_word(refused: Refusal) -> None:
    assert "'hello'" in refused(2, "signature", "show", "hello")


# --- short signatures ----------------------------------------------------------------------------------


def test_show_and_diff_find_a_short_signature_that_was_printed(run: Run, signature: str) -> None:
    short = nlgauge.Signature.parse(signature).short()
    digits = short.rpartition("|")[2]
    recipe = signature.partition("||")[0]
    for text in (short, digits, f"signature of a.txt: {short}"):
        assert run("signature", "show", text).out == run("signature", "show", recipe).out
    assert run("signature", "diff", digits, recipe).status == 0
    result = run("signature", "diff", recipe.replace("|layer:3|", "|layer:4|"), short)
    assert [line.split() for line in result.out.splitlines()[2:]] == [["recipe", "layer", "4", "3"]]


def test_show_finds_a_short_signature_in_a_result_file(
    run: Run, refused: Refusal, signature: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    digits = nlgauge.Signature.parse(signature).short().rpartition("|")[2]
    Path("run.json").write_text(json.dumps({"scores": [{"signature": signature}]}), encoding="utf-8")
    monkeypatch.setenv("NLGAUGE_CACHE", str(tmp_path / "empty"))
    assert f"full: {signature}\n" in run("signature", "show", digits, "--run", "run.json").out
    assert run("signature", "diff", digits, signature, "--run", "run.json").out == ""
    message = refused(2, "signature", "show", digits.replace("h:", "h:00"), "--run", "run.json")
    assert (
        f"not in 'run.json', and not produced on this machine (index: '{tmp_path / 'empty' / 'signatures'}')"
        in message
    )
    (tmp_path / "table.tsv").write_text("system\tscore\n", encoding="utf-8")
    assert f"{str(tmp_path / 'table.tsv')!r} contains no signature" in refused(
        1, "signature", "show", digits, "--run", str(tmp_path / "table.tsv")
    )
    assert message.endswith("; try another result file, or ask the authors for the full signature\n")


def test_show_explains_the_signature_of_a_study(run: Run) -> None:
    line = run("compare", "a.txt", "b.txt", "--refs", "ref.txt", "-m", "chrf", "--all").out.splitlines()[-1]
    result = run("signature", "show", line.rpartition("|")[2])
    assert result.status == 0
    assert "full: compare|test:bootstrap|" in result.out


def test_a_short_signature_is_a_metric(run: Run, signature: str) -> None:
    first = run(*SCORE, "ref2.txt", "--metric", signature, *JSON)
    for text in (first.scores[0]["short_signature"], first.scores[0]["short_signature"].rpartition("|")[2]):
        assert run(*SCORE, "ref2.txt", "--metric", text, *JSON).out == first.out


# --- diff ----------------------------------------------------------------------------------------------


def test_equal_signatures(run: Run, signature: str) -> None:
    result = run("signature", "diff", signature, signature)
    assert (result.status, result.out) == (0, "")
    assert "the same" in result.err


def test_recipes_that_differ(run: Run, signature: str) -> None:
    result = run("signature", "diff", signature, signature.replace("|layer:3|", "|layer:4|"))
    assert result.status == 1
    assert [line.split() for line in result.out.splitlines()[2:]] == [["recipe", "layer", "3", "4"]]
    assert "not comparable" in result.err


def test_runs_that_differ_are_shown_but_comparable(run: Run, signature: str) -> None:
    result = run("signature", "diff", signature, signature.replace("|empty:0", "|empty:7"))
    assert result.status == 0
    assert [line.split() for line in result.out.splitlines()[2:]] == [["run", "empty", "0", "7"]]


def test_a_field_that_one_side_lacks(run: Run, signature: str) -> None:
    shorter = signature.replace("|layer:3|", "|")
    assert run("signature", "diff", signature, shorter).out.splitlines()[-1].split() == [
        "recipe", "layer", "3", "(absent)"
    ]  # fmt: skip
    assert run("signature", "diff", shorter, signature).status == 1


def test_another_metric_is_another_recipe(run: Run, signature: str) -> None:
    result = run("signature", "diff", signature, signature.replace("bertscore|", "otherscore|", 1))
    assert result.status == 1
    assert result.out.splitlines()[-1].split() == ["recipe", "metric", "bertscore", "otherscore"]


def test_diff_refuses_words(refused: Refusal, signature: str) -> None:
    assert "'x' is not a signature; expected METRIC|key:value|..." in refused(2, "signature", "diff", "x", "y")
    assert "'y' is not a signature" in refused(2, "signature", "diff", signature, "y")


def test_diff_refuses_invalid_signatures(refused: Refusal, signature: str) -> None:
    assert "'layer'" in refused(2, "signature", "diff", signature, "bertscore|layer")


# --- a signature as the metric -------------------------------------------------------------------------


@pytest.mark.parametrize(
    "options",
    [
        [],
        ["--layer", "2", "--metric", "bertscore:multiref=mean"],
        ["--idf", "refs", "--metric", "bertscore:multiref=best-each"],
        ["--metric", "bertscore:layer=0,idf=refs"],
        ["--metric", "bertscore:rescale=yes"],
    ],
    ids=" ".join,
)
def test_a_signature_gives_the_same_bytes_again(run: Run, options: list[str]) -> None:
    first = run(*SCORE, "ref2.txt", *options, *JSON)
    again = run(*SCORE, "ref2.txt", "--metric", first.scores[0]["signature"], *JSON)
    assert (again.status, again.err) == (0, "")
    assert again.out == first.out


def test_the_recipe_part_alone_is_enough(run: Run, signature: str) -> None:
    command = (*SCORE, "ref2.txt", *JSON, "--metric")
    assert run(*command, signature.partition("||")[0]).out == run(*command, signature).out


@pytest.mark.parametrize("key", ["weights", "tokenizer", "idf"])
def test_an_altered_digest_is_refused(refused: Refusal, signature: str, key: str) -> None:
    value = nlgauge.Signature.parse(signature).recipe[key]
    other = value.replace(value[-3], "0" if value[-3] != "0" else "1")
    message = refused(2, *SCORE, "ref2.txt", "--metric", signature.replace(value, other))
    assert key in message
    assert other in message
    assert value in message


def test_an_option_cannot_change_a_signature(refused: Refusal, signature: str) -> None:
    message = refused(2, *SCORE, "ref2.txt", "--metric", signature, "--layer", "5")
    assert "layer: asked 3, got 5" in message


def test_idf_of_other_references_is_another_score(refused: Refusal, signature: str) -> None:
    assert "idf: asked refs[" in refused(2, *SCORE, "a.txt", "--metric", signature)


def test_another_version_is_scored_with_a_warning(run: Run, signature: str) -> None:
    older = signature.replace(f"|nlgauge:{nlgauge.__version__}", "|nlgauge:0.0.1")
    command = (*SCORE, "ref2.txt", "--format", "json", "--metric")
    result = run(*command, older)
    assert result.status == 0
    assert result.out == run(*command, signature).out
    assert result.err.startswith("nlgauge: warning: ")
    assert "nlgauge 0.0.1" in result.err


def test_a_signature_with_an_idf_file_needs_the_file(run: Run, refused: Refusal, folder: Path) -> None:
    assert run("build", "idf", "ref.txt", "-o", "idf.json", "--quiet").status == 0
    first = run(*SCORE, "--idf", "idf.json", *JSON)
    text = first.scores[0]["signature"]
    message = refused(2, *SCORE, "--metric", text)
    assert "--idf PATH" in message
    (folder / "idf.json").rename(folder / "moved.json")
    assert run(*SCORE, "--metric", text, "--idf", "moved.json", *JSON).out == first.out
    assert run("build", "idf", "a.txt", "-o", "other.json", "--quiet").status == 0
    assert "idf: asked file[" in refused(2, *SCORE, "--metric", text, "--idf", "other.json")


def test_a_signature_of_an_unknown_metric(refused: Refusal) -> None:
    assert "'otherscore'" in refused(2, *SCORE, "--metric", "otherscore|layer:4")


def test_fields_that_a_signature_lacks_keep_their_defaults(run: Run) -> None:
    result = run(*SCORE, "--metric", "bertscore|layer:3", *JSON)
    assert result.status == 0, result.err
    assert result.out == run(*SCORE, "--layer", "3", *JSON).out


# --- what was refused, or taken, without reason --------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("foo|layer:4", "unknown metric 'foo'"),
        ("bertscore|lyer:4", "no field 'lyer'"),
        ("bertscore|layer:4||emty:0", "did you mean 'empty'?"),
    ],
)
def test_show_refuses_unknown_fields(refused: Refusal, text: str, expected: str) -> None:
    assert expected in refused(2, "signature", "show", text)


def test_show_takes_the_line_that_score_prints(run: Run) -> None:
    line = run(*SCORE, "-m", "chrf").out.splitlines()[-1]
    assert line.startswith("signature: chrf|")
    assert run("signature", "show", line).out == run("signature", "show", line.removeprefix("signature: ")).out


@pytest.mark.parametrize(
    ("old", "new"), [("|nlgauge:", "|nlgauge:9"), ("|engine:onnxruntime-", "|engine:onnxruntime-9")]
)
def test_show_treats_other_versions_as_the_same_recipe(run: Run, signature: str, old: str, new: str) -> None:
    result = run("signature", "diff", signature, signature.replace(old, new))
    assert result.status == 0
    assert "the recipes differ only in versions: the scores are comparable" in result.err
    assert run("signature", "diff", signature, signature.replace(old, new).replace("layer:3", "layer:2")).status == 1


def test_the_first_commands_of_the_signature_page_run_as_typed(run: Run) -> None:
    page = (Path(__file__).parents[3] / "docs" / "signature.md").read_text(encoding="utf-8")
    lines = [line.split("'") for line in page.splitlines() if line.startswith("    nlgauge signature ")]
    assert [run("signature", "show", parts[1]).status for parts in lines if "show" in parts[0]] == [0]
    assert [run("signature", "diff", parts[1], parts[3]).status for parts in lines if "diff" in parts[0]] == [1]


@pytest.mark.parametrize(
    ("key", "old", "new"), [("nlgauge", "0.2.0", "0.3.0"), ("sacrebleu", "2.6.0", "2.5.0"), ("sig", "1", "1")]
)
def test_versions_alone_do_not_make_another_recipe(run: Run, key: str, old: str, new: str) -> None:
    left = "bleu|case:mixed|tokenize:13a|smooth:exp|sacrebleu:2.6.0|refs:1|nlgauge:0.2.0|sig:1"
    assert run("signature", "diff", left, left.replace(f"{key}:{old}", f"{key}:{new}")).status == 0


def test_show_refuses_a_value_that_no_recipe_has(refused: Refusal) -> None:
    assert "option 'layer' of bertscore must be" in refused(2, "signature", "show", "bertscore|layer:x")
    assert "option 'multiref' of bertscore must be" in refused(
        2, "signature", "show", "bertscore|layer:4|multiref:maybe"
    )


def test_show_takes_files_by_their_digest(run: Run) -> None:
    assert run("signature", "show", "bertscore|layer:4|idf:file[fee223c807ed]").status == 0


def test_diff_of_a_partial_signature_names_the_fields_of_only_one(run: Run, signature: str) -> None:
    part = signature.partition("||")[0].replace("|config:f90758c9ccb5", "")
    result = run("signature", "diff", signature, part)
    assert result.status == 1
    assert "the shared fields are equal, but only the left signature gives config" in result.err


def test_a_warning_is_printed_once(run: Run, signature: str, monkeypatch: pytest.MonkeyPatch) -> None:
    read = registry.check_signature_fields

    def warn(parsed: nlgauge.Signature) -> object:
        for _ in range(2):
            warnings.warn("a field is odd", nlgauge.errors.NlgaugeWarning, stacklevel=1)
        return read(parsed)

    monkeypatch.setattr(registry, "check_signature_fields", warn)
    result = run(*SCORE, "--metric", signature)
    assert result.err.count("a field is odd") == 1


@pytest.mark.parametrize("other", ["bf16", "int8@3f0a51c2d9e8"])
def test_diff_of_different_precisions_is_not_comparable(run: Run, signature: str, other: str) -> None:
    result = run("signature", "diff", signature, signature.replace("-fp32", f"-{other}"))
    assert result.status == 1
    assert result.err == f"scores of different precision do not compare: engine fp32 and {other}\n"
