"""The drop-in for bert-score without torch: arguments, returns and refusals (numbers: tests/parity)."""

from __future__ import annotations

import inspect
import math
from collections import defaultdict
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.encoders.byte_level_models import write_roberta

import nlgauge
from nlgauge.apps.compat.bert_score import BERTScorer, idf_of_dictionary, layers_of_models, model_of_language, score
from nlgauge.encoders.load import load_encoder
from nlgauge.io.store.resolve import resolve
from nlgauge.metrics.parts.baseline import Baseline

CANDS = ["The cat sat on the mat.", "Rain is expected in the north tomorrow.", "Nobody knew."]
REFS = [
    ["A cat sat upon a mat.", "The cat lay there."],
    ["The north expects rain."],
    ["No one knew the answer.", "Who?"],
]

#: Signature of bert_score.score 0.3.13, and of the constructor of BERTScorer.
ARGUMENTS = (
    "cands refs model_type num_layers verbose idf device batch_size nthreads all_layers lang return_hash "
    "rescale_with_baseline baseline_path use_fast_tokenizer"
)
CONSTRUCTOR = (
    "self model_type num_layers batch_size nthreads all_layers idf idf_sents device lang rescale_with_baseline "
    "baseline_path use_fast_tokenizer"
)


def test_arguments_come_in_the_order_of_the_package() -> None:
    assert list(inspect.signature(score).parameters) == ARGUMENTS.split()
    assert list(inspect.signature(BERTScorer.__init__).parameters) == CONSTRUCTOR.split()


def test_the_numbers_are_those_of_the_recipe_and_the_hash_is_its_signature() -> None:
    parts, signature = score(CANDS, REFS, model_type="minilm", num_layers=4, return_hash=True)
    expected = nlgauge.score(CANDS, REFS, layer=4, multiref="best-each", unknown="score")
    for part, name in zip(parts, ("precision", "recall", "f1"), strict=True):
        np.testing.assert_array_equal(np.asarray(part), expected.segments[name].astype(np.float32))
    assert signature == str(expected.signature)
    again = nlgauge.score(CANDS, REFS, metric=signature)
    np.testing.assert_array_equal(again.f1, expected.f1)


def test_one_reference_each_may_come_as_texts() -> None:
    refs = [group[0] for group in REFS]
    np.testing.assert_array_equal(
        np.asarray(score(CANDS, refs, "minilm")[2]), np.asarray(score(CANDS, [[ref] for ref in refs], "minilm")[2])
    )


def test_all_layers_have_a_row_each() -> None:
    (p, _, f), signature = score(CANDS, REFS, "minilm", 3, all_layers=True, return_hash=True)
    assert p.shape == (7, 3)
    for layer in (0, 3, 6):
        np.testing.assert_allclose(
            np.asarray(f)[layer], np.asarray(score(CANDS, REFS, "minilm", layer)[2]), atol=1e-6
        )
    assert "|layer:3|" in signature


def test_a_local_folder_needs_no_layer_where_its_weights_are_known() -> None:
    folder = str(resolve("minilm").path)
    np.testing.assert_array_equal(
        np.asarray(score(CANDS, REFS, model_type=folder)[2]), np.asarray(score(CANDS, REFS, "minilm", 4)[2])
    )


def test_a_scorer_counts_idf_on_its_own_sentences() -> None:
    sentences = ["The cat sat.", "Rain fell.", "The north is cold."]
    scorer = BERTScorer(model_type="minilm", idf=True, idf_sents=sentences)
    (_, _, f), signature = scorer.score(CANDS, REFS, return_hash=True)
    assert "|idf:file[" in signature
    assert scorer.hash == signature
    assert scorer.num_layers == 4
    # The same table as the dictionary that bert-score would make of these sentences.
    tokenizer = load_encoder("minilm").tokenizer
    ids = [set(tokens.ids.tolist()) for tokens in tokenizer.encode(sentences)]
    weights: defaultdict[int, float] = defaultdict(lambda: math.log(4))
    weights.update(
        {i: math.log(4 / (sum(i in token_id for token_id in ids) + 1)) for token_id in ids for i in token_id}
    )
    (_, _, by_dictionary), other = score(CANDS, REFS, "minilm", idf=weights, return_hash=True)
    np.testing.assert_array_equal(np.asarray(by_dictionary), np.asarray(f))
    assert other == signature


def test_the_hash_is_available_before_the_first_call() -> None:
    scorer = BERTScorer(model_type="minilm", num_layers=2)
    assert scorer.hash.startswith("bertscore|")
    assert f"hash={scorer.hash}" in repr(scorer)


def test_rescaling_takes_the_shipped_baseline_or_one_of_bert_score(tmp_path: Path) -> None:
    raw = np.asarray(score(CANDS, REFS, "minilm", 4)[2])
    shipped = score(CANDS, REFS, "minilm", lang="en", rescale_with_baseline=True)[2]
    expected = nlgauge.score(CANDS, REFS, layer=4, multiref="best-each", rescale="yes", lang="en", unknown="score")
    np.testing.assert_array_equal(np.asarray(shipped), expected.f1.astype(np.float32))
    path = tmp_path / "baseline.csv"
    path.write_text("LAYER,P,R,F\n" + "".join(f"{layer},.1,.2,.25\n" for layer in range(7)), encoding="utf-8")
    own = score(CANDS, REFS, "minilm", 4, lang="en", rescale_with_baseline=True, baseline_path=path)[2]
    np.testing.assert_allclose(np.asarray(own), (raw - 0.25) / 0.75, atol=1e-6)  # (s - b) / (1 - b)


@pytest.mark.filterwarnings("ignore::nlgauge.errors.LanguageWarning")
def test_a_missing_baseline_is_built_as_the_message_says_and_given_by_its_path(tmp_path: Path) -> None:
    with pytest.raises(nlgauge.errors.BaselineError, match=r"'nlgauge build baseline .* and pass baseline_path=FILE"):
        score(CANDS, REFS, "minilm", lang="de", rescale_with_baseline=True)
    raw = np.asarray(score(CANDS, REFS, "minilm", 4)[2])
    encoder = load_encoder("minilm")
    header = {"model": "minilm", "language": "de", "weights": encoder.digest}
    built = Baseline(header, dict.fromkeys(range(7), (0.1, 0.2, 0.25)))
    (tmp_path / "de.tsv").write_text(built.text(), encoding="utf-8")
    options = {"lang": "de", "rescale_with_baseline": True, "baseline_path": tmp_path / "de.tsv"}
    result = score(CANDS, REFS, "minilm", 4, **options)[2]
    np.testing.assert_allclose(np.asarray(result), (raw - 0.25) / 0.75, atol=1e-6)


def test_error_for_a_missing_default_model_names_available_ones(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("NLGAUGE_OFFLINE", "1")
    monkeypatch.setenv("NLGAUGE_CACHE", str(tmp_path))
    monkeypatch.setenv("HF_HOME", str(tmp_path))
    with pytest.raises(
        nlgauge.errors.ModelNotFoundError, match=r"lang='en' selects roberta-large; .* such as 'minilm'"
    ):
        score(CANDS, REFS, lang="en")
    with pytest.raises(nlgauge.errors.ModelNotFoundError) as caught:
        score(CANDS, REFS, model_type="roberta-large")
    assert "lang=" not in str(caught.value)


def test_an_empty_candidate_scores_0() -> None:
    with pytest.warns(nlgauge.errors.EmptyTextWarning):
        p, r, f = score(["", "A cat."], ["A cat.", "A cat."], "minilm")
    assert [float(part[0]) for part in (p, r, f)] == [0, 0, 0]


def test_models_and_layers_are_those_of_the_package() -> None:
    assert model_of_language("en") == "roberta-large"
    assert model_of_language("de") == "bert-base-multilingual-cased"
    assert layers_of_models()["roberta-large"] == 17


def test_usage_errors(tmp_path: Path) -> None:
    with pytest.raises(nlgauge.errors.RecipeError, match="choose a model with model_type= or lang="):
        score(CANDS, REFS)
    with pytest.raises(nlgauge.errors.InputError, match="got 3 and 2"):
        score(CANDS, REFS[:2], "minilm")
    with pytest.raises(nlgauge.errors.RecipeError, match="needs lang="):
        score(CANDS, REFS, "minilm", rescale_with_baseline=True)
    with pytest.raises(nlgauge.errors.RecipeError, match="set idf_sents="):
        BERTScorer(model_type="minilm", idf=True).score(CANDS, REFS)
    (tmp_path / "other.csv").write_text("a,b\n", encoding="utf-8")
    with pytest.raises(nlgauge.errors.FileFormatError, match="LAYER,P,R,F"):
        score(CANDS, REFS, "minilm", lang="en", rescale_with_baseline=True, baseline_path=tmp_path / "other.csv")
    with pytest.raises(nlgauge.errors.BaselineError, match="cannot read baseline file"):
        score(CANDS, REFS, "minilm", lang="en", rescale_with_baseline=True, baseline_path=tmp_path / "none.csv")
    with pytest.raises(nlgauge.errors.InputError, match="get_idf_dict"):
        idf_of_dictionary({7: 0.5}, load_encoder("minilm").tokenizer)
    with pytest.raises(nlgauge.errors.InputError, match=r"idf\[7\]"):
        idf_of_dictionary(defaultdict(lambda: math.log(4), {7: 0.123}), load_encoder("minilm").tokenizer)


@pytest.mark.parametrize(
    ("cands", "refs", "said"),
    [
        ("A cat.", ["A cat."], "cands: expected a list of strings, got a bare string"),
        (["a", "b"], "ab", "refs: expected a list .* got a bare string 'ab'"),
        (["a", None], ["a", "b"], r"cands\[1\]: expected a string, got None"),
        (["a"], [None], r"refs\[0\]: expected a text or a list of texts, got None"),
        (["a"], [[]], r"refs\[0\]: the list is empty"),
        (None, ["a"], "cands: expected a list of strings, got None"),
        ([], [], "cands: the list is empty"),
        (["a", "b", "c"], [["a", "b", "c"]], "got 3 and 1; each entry of refs has 3 texts"),
    ],
)
def test_input_errors_name_the_argument(cands: object, refs: object, said: str) -> None:
    for call in (lambda: score(cands, refs, "minilm"), lambda: BERTScorer("minilm").score(cands, refs)):
        with pytest.raises(nlgauge.errors.InputError, match=said):
            call()
    with pytest.raises(nlgauge.errors.InputError, match="sents: expected a list of strings"):
        BERTScorer("minilm", idf=True, idf_sents="A cat.")


def test_generators_and_references_of_unequal_number() -> None:
    groups = [REFS[0], REFS[1], "No one knew."]
    result = score((text for text in CANDS), (group for group in groups), "minilm")
    expected = score(CANDS, [[item] if isinstance(item, str) else item for item in groups], "minilm")
    for first, other in zip(result, expected, strict=True):
        np.testing.assert_array_equal(np.asarray(first), np.asarray(other))


@pytest.mark.parametrize(
    ("call", "options"),
    [("slow", {}), ("slow-idf", {"idf": True}), ("fast", {"use_fast_tokenizer": True})],
)
@pytest.mark.usefixtures("own_cache")
@pytest.mark.filterwarnings("ignore::nlgauge.errors.LanguageWarning")
def test_roberta_is_read_as_by_bert_score_with_transformers_4(
    roberta_space: dict[str, Any], tmp_path: Path, call: str, options: dict[str, Any]
) -> None:
    folder = str(write_roberta(tmp_path / "roberta"))
    cands, refs = map(list, zip(*roberta_space["pairs"], strict=True))
    parts = score(cands, refs, model_type=folder, num_layers=roberta_space["layer"], **options)
    np.testing.assert_allclose(
        np.array([np.asarray(part) for part in parts]), roberta_space["scores"][call], atol=1e-5
    )
    table = {"idf": True, "idf_sents": refs} if "idf" in options else options
    scorer = BERTScorer(model_type=folder, num_layers=roberta_space["layer"], **table)
    for part, expected in zip(scorer.score(cands, refs), parts, strict=True):
        np.testing.assert_allclose(np.asarray(part), np.asarray(expected), atol=1e-7)
    assert f"prefix_space:{'no' if call == 'fast' else 'yes'}" in scorer.hash
