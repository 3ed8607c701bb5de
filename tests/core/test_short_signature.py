"""The short signature: at most 70 characters, and the way back to the full one."""

from __future__ import annotations

import hashlib
import json
import warnings
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.metrics.test_contracts import ALONE, ROUNDING_DECIDES, scored

import nlgauge
from nlgauge.core import short_signature
from nlgauge.core.short_signature import MAX_LENGTH, format_signature, is_short, shorten, shorten_text, signature_form
from nlgauge.core.signature import Signature
from nlgauge.errors import RecipeError, SignatureError
from nlgauge.io import signature_index
from nlgauge.studies.compare.comparison import CompareSettings

BERTSCORE = (
    "bertscore|layer:4|idf:none|multiref:best-f|rescale:no|refs:1|model:minilm|weights:53aa51172d14"
    "|tokenizer:be50c3628f2b|config:f90758c9ccb5|maxlen:512|engine:onnxruntime-1.31.1-fp32|nlgauge:0.2.0|sig:1"
)
HASH = hashlib.sha256(BERTSCORE.encode()).hexdigest()

HYPS, REFS = ["A cat sat.", "It rains."], ["The cat sat.", "Rain falls."]


def short_of(old: str, new: str) -> str:
    """The short form of the signature above with a change, without its hash."""
    return shorten(Signature.parse(BERTSCORE.replace(old, new))).rpartition("|h:")[0]


# --- the line --------------------------------------------------------------------------------------------


def test_defaults_and_digests_are_dropped() -> None:
    assert shorten(Signature.parse(BERTSCORE)) == f"bertscore|minilm-L4|nlgauge:0.2|h:{HASH[:8]}"
    assert shorten(Signature.parse(f"{BERTSCORE}||truncated:3|empty:1")) == shorten(Signature.parse(BERTSCORE))


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        ("idf:none", "idf:refs[32b4ea72aebb]", "bertscore|minilm-L4|idf:refs|nlgauge:0.2"),
        ("rescale:no", "rescale:shipped-en[32b4ea72aebb]", "bertscore|minilm-L4|rescale:shipped-en|nlgauge:0.2"),
        ("refs:1", "refs:3", "bertscore|minilm-L4|refs:3|nlgauge:0.2"),
        ("refs:1", "refs:source", "bertscore|minilm-L4|refs:source|nlgauge:0.2"),
        ("-fp32", "-int8@3f0a51c2d9e8.onnx.avx512", "bertscore|minilm-L4|precision:int8|nlgauge:0.2"),
        ("onnxruntime-1.31.1-fp32", "torch-2.1-fp32-cuda", "bertscore|minilm-L4|engine:torch|nlgauge:0.2"),
        ("model:minilm", "model:me/roberta-large", "bertscore|roberta-large-L4|nlgauge:0.2"),
        ("nlgauge:0.2.0", "nlgauge:1.10.3.dev4", "bertscore|minilm-L4|nlgauge:1.10"),
    ],
)  # fmt: skip
def test_what_is_not_usual_is_shown(old: str, new: str, expected: str) -> None:
    assert short_of(old, new) == expected


def test_options_that_do_not_fit_are_folded_into_the_hash() -> None:
    line = short_of("idf:none|multiref:best-f|rescale:no", "idf:both[ab]|multiref:mean|rescale:file[ab]")
    assert line == "bertscore|minilm-L4|idf:both|multiref:mean|nlgauge:0.2"


@pytest.mark.parametrize(
    ("metric", "expected"),
    [
        ("chrf", "chrf|sacrebleu:2.6|nlgauge:0.2"),
        ("chrf:words=2", "chrf|words:2|sacrebleu:2.6|nlgauge:0.2"),
        ("moverscore", "moverscore|minilm-L2-6|nlgauge:0.2"),
        ("moverscore:profile=v2", "moverscore|minilm-L6|profile:v2|nlgauge:0.2"),
        ("moverscore:profile=v2,n=2", "moverscore|minilm-L6|profile:v2|n:2|nlgauge:0.2"),
    ],
)
def test_short_form_of_a_score(metric: str, expected: str) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", nlgauge.errors.NlgaugeWarning)
        score = nlgauge.score(HYPS, REFS, metric=metric)
    line, _, digits = score.signature.short().rpartition("|h:")
    assert (line, digits) == (expected, hashlib.sha256(score.signature.recipe_part.encode()).hexdigest()[:8])


def test_signatures_of_studies_and_other_tools_are_shortened_too() -> None:
    line = shorten_text(CompareSettings().signature())
    assert line.startswith("compare|test:bootstrap|correction:holm|nlgauge:0.2|h:")
    assert shorten_text("comet|scores:0123456789ab|better:higher").startswith("comet|better:higher|h:")
    assert [shorten_text(text) for text in ("", "released", "sentinel:chrf|words:2")] == [
        *("", "released", "sentinel:chrf|words:2")
    ]


def test_no_recipe_of_the_contracts_has_a_longer_short_form() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", nlgauge.errors.NlgaugeWarning)
        scores = scored(HYPS * 3, REFS * 3, [*ALONE, *ROUNDING_DECIDES])
    lines = {metric: score.signature.short() for metric, score in scores.items()}
    assert {metric: line for metric, line in lines.items() if len(line) > MAX_LENGTH} == {}
    assert all(is_short(line) for line in lines.values())
    assert len(set(lines.values())) == len(lines)


_names = st.text(st.characters(exclude_categories=("Cs",)), min_size=1, max_size=90)
_fields = st.dictionaries(
    st.sampled_from(["model", "layer", "layers", "members", "idf", "nlgauge", "engine", "refs", "profile", "odd"]),
    _names,
)


@given(metric=st.one_of(_names, st.sampled_from(["bertscore", "learned"])), recipe=_fields, digits=st.integers(8, 64))
def test_short_form_of_any_signature_fits(metric: str, recipe: dict[str, str], digits: int) -> None:
    signature = Signature(metric, recipe)
    line = shorten(signature, digits=digits)
    assert len(line) <= MAX_LENGTH
    assert line == shorten(signature, digits=digits)
    assert is_short(line)
    assert line.endswith(f"|h:{hashlib.sha256(signature.recipe_part.encode()).hexdigest()[:digits]}")


# --- printing ----------------------------------------------------------------------------------------------


def test_tables_print_the_short_form_and_json_has_both() -> None:
    score = nlgauge.score(HYPS, REFS, metric="chrf")
    short, full = score.signature.short(), str(score.signature)
    assert short in repr(score)
    assert all(short in score.render(form) for form in ("text", "latex", "html"))
    assert not any(full in score.render(form) for form in ("text", "latex", "markdown", "html"))
    assert full in score.render("tsv")
    record = score.to_dict()
    assert (record["signature"], record["short_signature"]) == (full, short)
    with nlgauge.signature_form("full"):
        assert full in score.render("text")
        assert full in repr(score)
        assert score.to_dict() == record
        with signature_form("short"):
            assert format_signature(full) == short
    assert format_signature(full) == short
    with pytest.raises(RecipeError, match="must be 'short' or 'full', got 'long'"), signature_form("long"):  # type: ignore[arg-type]
        pass


def test_records_with_a_signature_have_its_short_form_next_to_it() -> None:
    scores = nlgauge.score_systems({"a": HYPS * 3, "b": REFS * 3}, REFS * 3, metric="chrf")
    result = nlgauge.compare_systems(scores)
    record = result.to_dict()
    assert record["short_signature"] == shorten_text(result.signature)
    assert record["metrics"][0]["short_signature"] == shorten_text(result.metrics[0].signature)
    keys = list(record)
    assert keys.index("short_signature") == keys.index("signature") + 1
    assert type(result).from_dict(result.to_dict()).signature == result.signature


def test_saved_scores_without_short_signatures_are_read(tmp_path: Path) -> None:
    path = tmp_path / "run.json"
    table = nlgauge.score_systems({"a": HYPS}, REFS, metric="chrf")
    table.save(path)
    record = json.loads(path.read_text(encoding="utf-8"))
    del record["scores"][0]["short_signature"]
    path.write_text(json.dumps(record), encoding="utf-8")
    assert nlgauge.load_scores(path).digest == table.digest


# --- the way back ------------------------------------------------------------------------------------------


@pytest.mark.usefixtures("own_cache")
def test_a_short_form_is_found_in_the_index() -> None:
    signature = Signature.parse(BERTSCORE)
    with pytest.raises(SignatureError, match=rf"^unknown signature h:{HASH[:8]}: not produced on this machine \("):
        Signature.find(f"h:{HASH[:8]}")
    line = signature.short()
    assert Signature.find(line) == Signature.find(f" h:{HASH[:8]}") == Signature.find(f"h:{HASH}") == signature


@pytest.mark.usefixtures("own_cache")
def test_a_short_form_is_found_in_result_files(tmp_path: Path) -> None:
    run, table, page = tmp_path / "run.json", tmp_path / "table.tsv", tmp_path / "page.md"
    run.write_text(json.dumps({"scores": [{"signature": f"{BERTSCORE}||empty:2"}]}), encoding="utf-8")
    table.write_text(f"system\tsignature\na\t{BERTSCORE}||empty:0\n", encoding="utf-8")
    page.write_text(f"BERTScore (`{BERTSCORE}`).\n", encoding="utf-8")
    digits = f"h:{HASH[:8]}"
    assert Signature.find(digits, [run]).run == {"empty": "2"}
    assert Signature.find(digits, [table]).run == {"empty": "0"}
    assert Signature.find(digits, [str(page), table]).recipe == Signature.parse(BERTSCORE).recipe
    with pytest.raises(SignatureError, match=r"h:00000000: not in '.*run\.json', and not produced on"):
        Signature.find("h:00000000", [run])
    with pytest.raises(nlgauge.errors.InputError, match=r"cannot read '.*missing\.json': No such file"):
        Signature.find(digits, [tmp_path / "missing.json"])


@pytest.mark.usefixtures("own_cache")
def test_collision_lengthens_the_hash_and_short_ones_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    digests = {"chrf|words:1": "3f9c21ab77" + "0" * 54, "chrf|words:2": "3f9c21ab7" + "1" * 55}
    for module in (signature_index, short_signature):
        monkeypatch.setattr(module, "recipe_digest", digests.__getitem__)
    first, second = map(Signature.parse, digests)
    assert first.short() == "chrf|words:1|h:3f9c21ab"  # the only one so far
    assert second.short() == "chrf|words:2|h:3f9c21ab71"
    message = r"^h:3f9c21ab is ambiguous: 2 signatures start with it; use one of h:3f9c21ab77, h:3f9c21ab71$"
    with pytest.raises(SignatureError, match=message):
        Signature.find("h:3f9c21ab")
    assert Signature.find("h:3f9c21ab77") == first
    assert Signature.find("h:3f9c21ab71") == second


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("h:3f9c", r"^h:3f9c is too short: give at least 8 digits$"),
        ("bertscore", r"^'bertscore' is not a short signature: expected h: and hexadecimal digits"),
        ("h:3f9c21ag", "is not a short signature"),
    ],
)
def test_find_refuses_what_is_not_a_short_signature(text: str, message: str) -> None:
    with pytest.raises(SignatureError, match=message):
        Signature.find(text)


def test_parse_refuses_a_short_signature() -> None:
    with pytest.raises(SignatureError, match=r"is a short signature: Signature\.find\(\) and"):
        Signature.parse(f"bertscore|minilm-L4|nlgauge:0.2|h:{HASH[:8]}")


def test_a_short_signature_is_a_metric() -> None:
    score = nlgauge.score(HYPS, REFS, metric="chrf:words=2")
    again = nlgauge.score(HYPS, REFS, metric=score.signature.short())
    assert str(again.signature) == str(score.signature)
    with pytest.raises(SignatureError, match=r"nlgauge signature show h:00000000 --run FILE\.json"):
        nlgauge.score(HYPS, REFS, metric="chrf|words:2|h:00000000")


def test_a_short_signature_whose_text_contradicts_its_hash_is_refused() -> None:
    signature = Signature.parse("chrf|chars:6|words:2|beta:2|refs:1|nlgauge:0.2.0|sig:1")
    name, _, digits = signature.short().rpartition("|")
    assert Signature.find(f"{name}|{digits}") == Signature.find(digits) == signature
    for other in (name.replace("chrf", "bleu"), name.replace("0.2", "0.9"), name.replace("words:2", "words:1")):
        with pytest.raises(SignatureError, match=f"{digits} belongs to '.*', not to '.*'; correct that part"):
            Signature.find(f"{other}|{digits}")
