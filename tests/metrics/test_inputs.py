"""Invalid and unusual inputs: an error with the item and the remedy, or a defined score and a count."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest
from tests.extras import LazyModule

import nlgauge
from nlgauge.errors import (
    EmptyPairError,
    EmptyTextWarning,
    InputError,
    RecipeError,
    TooLongError,
    TruncationWarning,
    ZeroWeightWarning,
)

pd = LazyModule("pandas")

CAT, DOG, BIRD = "The cat sat on the mat.", "A dog barked all night.", "Two birds sang."


def says(*parts: str) -> str:
    """A pattern for messages that hold all parts, in this order."""
    return ".*".join(map(re.escape, parts))


# --- texts of the wrong kind ---------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("given", "message"),
    [
        pytest.param({"hyps": CAT, "refs": [CAT]}, says("hyps", "bare string", "The cat", "[text]"), id="hyps"),
        pytest.param({"hyps": b"cat", "refs": [CAT]}, says("hyps", "b'cat'", "[text]"), id="hyps bytes"),
        pytest.param({"hyps": [CAT], "refs": CAT}, says("refs", "bare string", "The cat", "[text]"), id="refs"),
        pytest.param({"hyps": [CAT, DOG], "refs": [CAT, b"x"]}, says("refs[1]", "b'x'"), id="ref bytes"),
        pytest.param({"hyps": [CAT], "ref_streams": CAT}, says("ref_streams", "The cat"), id="ref_streams"),
        pytest.param(
            {"hyps": [CAT], "ref_streams": [[CAT], CAT]}, says("ref_streams[1]", "bare string", "[text]"), id="stream"
        ),
        pytest.param(
            {"hyps": [CAT, DOG], "ref_streams": [CAT]},
            says("ref_streams", "one list of texts per reference file"),
            id="strings",
        ),
    ],
)
def test_a_bare_string_is_not_a_list_of_letters(given: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError, match=message):
        nlgauge.score(**given)


@pytest.mark.parametrize("item", [None, float("nan"), np.nan, 3], ids=repr)
def test_a_missing_text_is_named_by_its_place(item: Any) -> None:
    for given, place in (
        ({"hyps": [CAT, item, DOG], "refs": [CAT, DOG, DOG]}, "hyps[1]"),
        ({"hyps": [CAT, DOG], "refs": [CAT, item]}, "refs[1]"),
        ({"hyps": [CAT, DOG], "refs": [CAT, [DOG, item]]}, "refs[1][1]"),
        ({"hyps": [CAT, DOG], "ref_streams": [[CAT, DOG], [CAT, item]]}, "ref_streams[1][1]"),
        ({"hyps": [CAT], "ref_streams": [[CAT], item]}, "ref_streams[1]"),
    ):
        with pytest.raises(InputError, match=says(place, repr(item))):
            nlgauge.score(**given)


def test_error_of_missing_text_contains_remedy() -> None:
    with pytest.raises(InputError, match=says("hyps[0]", "use '' for an empty text")):
        nlgauge.score([None], [CAT])  # type: ignore[list-item]


def test_a_missing_value_of_pandas_is_named_by_its_place() -> None:
    test_a_missing_text_is_named_by_its_place(pd.NA)
    for kind in (object, "string"):
        with pytest.raises(InputError, match=says("hyps[1]")):
            nlgauge.score(pd.Series([CAT, None], dtype=kind), [CAT, DOG])


def test_a_missing_text_names_the_system() -> None:
    with pytest.raises(InputError, match=says("system 'b'[1]", "None")):
        nlgauge.score_systems({"a": [CAT, DOG], "b": [CAT, None]}, [CAT, DOG])  # type: ignore[list-item]


@pytest.mark.parametrize(
    ("given", "place"),
    [
        ({"hyps": [CAT, "half \ud83d"], "refs": [CAT, DOG]}, "hyps[1]"),
        ({"hyps": [CAT, DOG], "refs": [CAT, "half \ud83d"]}, "refs[1]"),
        ({"hyps": [CAT, DOG], "refs": [CAT, [DOG, "half \ud83d"]]}, "refs[1][1]"),
        ({"hyps": [CAT, DOG], "ref_streams": [[CAT, "half \ud83d"]]}, "ref_streams[0][1]"),
    ],
)
def test_half_a_surrogate_pair_is_named_by_its_place(given: dict[str, Any], place: str) -> None:
    with pytest.raises(InputError, match=says(place, r"'\ud83d', at index 5")):
        nlgauge.score(**given)


@pytest.mark.parametrize("given", [None, 3, 2.5, np.array(CAT)], ids=repr)
def test_hypotheses_that_are_not_a_list_are_refused(given: Any) -> None:
    with pytest.raises(InputError, match="hyps"):
        nlgauge.score(given, [CAT])
    if given is not None:
        with pytest.raises(InputError, match="refs"):
            nlgauge.score([CAT], given)


def test_streams_that_are_not_a_list_are_refused() -> None:
    with pytest.raises(InputError, match=says("ref_streams", "3")):
        nlgauge.score([CAT], ref_streams=3)  # type: ignore[arg-type]


def test_unnamed_systems_are_refused() -> None:
    with pytest.raises(InputError, match="system"):
        nlgauge.score_systems([[CAT], [DOG]], [CAT])  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "given",
    [
        pytest.param({"hyps": {"one": CAT, "two": DOG}, "refs": [CAT, DOG]}, id="hyps dict"),
        pytest.param({"hyps": [CAT, DOG], "refs": {"one": CAT, "two": DOG}}, id="refs dict"),
    ],
)
def test_keys_are_not_scored_as_texts(given: dict[str, Any]) -> None:
    with pytest.raises(InputError):
        nlgauge.score(**given)


def test_names_of_columns_are_not_scored_as_texts() -> None:
    with pytest.raises(InputError):
        nlgauge.score(pd.DataFrame({"a": [CAT], "b": [DOG]}), [CAT, DOG])
    with pytest.raises(InputError):
        nlgauge.score([CAT, DOG], pd.DataFrame({"a": [CAT, DOG], "b": [CAT, DOG]}))


# --- lists of the wrong length or layout ---------------------------------------------------------------


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"hyps": [CAT, DOG], "refs": [CAT]}, says("refs", "1", "2")),
        ({"hyps": [CAT], "refs": [CAT, DOG]}, says("refs", "2", "1")),
        ({"hyps": [CAT, DOG, BIRD], "ref_streams": [[CAT, DOG, BIRD], [CAT]]}, says("ref_streams[1]", "1", "3")),
    ],
)
def test_unequal_numbers_of_hypotheses_and_references_are_refused(given: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError, match=message):
        nlgauge.score(**given)


def test_systems_of_unequal_length_are_refused() -> None:
    with pytest.raises(InputError, match=says("system 'b'", "1", "system 'a'", "2")):
        nlgauge.score_systems({"a": [CAT, DOG], "b": [CAT]}, [CAT, DOG])


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"hyps": [], "refs": []}, says("hyps", "empty")),
        ({"hyps": [], "refs": [CAT]}, says("hyps", "empty")),
        ({"hyps": [CAT], "refs": []}, says("refs", "0", "1")),
        ({"hyps": [CAT], "ref_streams": []}, says("ref_streams", "empty")),
        ({"hyps": [CAT], "ref_streams": [[]]}, says("ref_streams[0]", "0", "1")),
        ({"hyps": [CAT, DOG], "refs": [CAT, []]}, says("refs[1]", "at least one reference")),
    ],
)
def test_empty_lists_are_refused(given: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError, match=message):
        nlgauge.score(**given)


def test_empty_dict_of_systems_is_refused() -> None:
    with pytest.raises(InputError, match=r"systems must be a dict .*got an empty dict"):
        nlgauge.score_systems({}, [CAT])


STREAMS = [[CAT, DOG, BIRD], [BIRD, CAT, DOG]]


@pytest.mark.parametrize(
    "streams", [STREAMS, tuple(map(tuple, STREAMS)), np.array(STREAMS)], ids=["lists", "tuples", "numpy"]
)
def test_error_of_streams_passed_as_references_names_ref_streams(streams: Any) -> None:
    with pytest.raises(InputError, match="ref_streams="):
        nlgauge.score([CAT, DOG, BIRD], streams)


def test_error_of_references_passed_as_streams_names_refs() -> None:
    with pytest.raises(InputError, match="refs="):
        nlgauge.score([CAT, DOG, BIRD], ref_streams=[[CAT, DOG], [DOG], [BIRD, CAT]])
    with pytest.raises(InputError, match="refs="):
        nlgauge.score([CAT, DOG, BIRD], ref_streams=[CAT, DOG, BIRD])


def test_refs_and_ref_streams_together_are_refused() -> None:
    with pytest.raises(InputError, match=says("refs", "ref_streams")):
        nlgauge.score([CAT], refs=[CAT], ref_streams=[[CAT]])


def test_a_score_needs_references_or_sources() -> None:
    with pytest.raises(InputError, match=says("references (refs=)", "sources (sources=)")):
        nlgauge.score([CAT])


# --- options -------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"temperature": 1}, says("'temperature'", "nlgauge show bertscore")),
        ({"metric": "blue"}, says("'blue'", "did you mean 'bleu'", "nlgauge list")),
        ({"metric": "rouge"}, says("did you mean 'rouge1', 'rouge2'")),
        ({"metric": "BLEURT"}, says("BLEURT is not part of nlgauge", "nlgauge compare --scores FILE")),
        ({"metric": ""}, says("''", "nlgauge list")),
        ({"metric": nlgauge.metrics.BERTScore}, says("BERTScore", "nlgauge list")),
        ({"metric": "bertscore:temperature=1"}, says("'temperature'", "nlgauge show bertscore")),
        ({"metric": "bertscore:layer=4,layer=5"}, says("'layer'", "twice")),
        ({"metric": "bertscore|layer"}, says("'layer'")),
        ({"layer": -1}, says("layer", "-1")),
        ({"layer": 7}, says("layer must be 0 to 6", "'minilm'", "7")),
        ({"layer": True}, says("layer", "True")),
        ({"layer": "four"}, says("layer must be", "'four'")),
        ({"multiref": "worst"}, says("best-f", "'worst'")),
        ({"idf": True}, says("option 'idf' of bertscore must be", "refs", "True")),
        ({"idf": ""}, says("option 'idf' of bertscore must be", "refs", "''")),
        ({"rescale": None}, says("option 'rescale' of bertscore must be", "yes", "None")),
        ({"batch_tokens": 0}, says("batch_tokens", "from 1", "0")),
        ({"batch_tokens": -4}, says("batch_tokens", "from 1", "-4")),
        ({"threads": 0}, says("threads", "from 1", "0")),
        ({"engine": "tpu"}, says("'tpu'", "onnx, openvino, torch")),
        ({"long": "cut"}, says("long", "truncate, error", "'cut'")),
        ({"empty": "one"}, says("empty", "error or zero", "'one'")),
        ({"metric": nlgauge.metrics.BERTScore(), "layer": 4}, says("layer", "BERTScore(")),
        ({"metric": nlgauge.metrics.BERTScore(), "lang": "en"}, says("lang", "BERTScore(")),
    ],
)
def test_invalid_option_is_refused_with_accepted_values(options: dict[str, Any], message: str) -> None:
    with pytest.raises(RecipeError, match=message):
        nlgauge.score([CAT], [CAT], **options)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("layer", 4.5),
        ("layer", float("nan")),
        ("layer", [4]),
        ("batch_tokens", "eight"),
        ("batch_tokens", None),
        ("threads", "two"),
        ("threads", 1.5),
        ("model", 3),
        ("lang", 3),
    ],
)
def test_value_of_wrong_type_is_refused(name: str, value: Any) -> None:
    with pytest.raises(nlgauge.errors.NlgaugeError, match=says(name, repr(value))):
        nlgauge.score([CAT], [CAT], **{name: value})


def test_a_layer_has_one_spelling_in_a_signature() -> None:
    for spelling in ("3", np.int64(3)):
        assert nlgauge.score([CAT], [DOG], layer=spelling).signature.recipe["layer"] == "3"


def test_a_layer_that_is_a_float_is_refused_or_that_layer() -> None:
    """But never `layer:3.0`, which would look like another recipe."""
    try:
        result = nlgauge.score([CAT], [DOG], layer=3.0)
    except RecipeError:
        return
    assert result.signature.recipe["layer"] == "3"


def test_call_without_metric_is_refused() -> None:
    with pytest.raises(RecipeError, match="no metric was given; 'nlgauge list' shows all metrics"):
        nlgauge.score_systems({"a": [CAT]}, [CAT], metric=[])


def test_metric_options_are_not_run_options() -> None:
    with pytest.raises(RecipeError, match=says("'layer'", "batch_tokens")):
        nlgauge.metrics.BERTScore().score([CAT], [CAT], layer=4)


# --- empty texts ---------------------------------------------------------------------------------------

BLANK = ["", " ", "\n\t", "\u3000", "\u2028", "\u200b", "\x00", "\x01\x02", "\ufeff", "\xad", "\ufffd"]


@pytest.mark.parametrize("blank", BLANK, ids=repr)
def test_one_empty_side_scores_0_and_is_counted(blank: str) -> None:
    for hyps, refs in (([CAT, blank, DOG], [CAT, BIRD, DOG]), ([CAT, BIRD, DOG], [CAT, blank, DOG])):
        with pytest.warns(EmptyTextWarning, match=says("1 segment (index 1)")):
            result = nlgauge.score(hyps, refs)
        for component in ("precision", "recall", "f1"):
            assert result.segments[component] == pytest.approx([1, 0, 1], abs=1e-6)
        assert result.counts["empty"] == 1
        assert result.notes.get("empty", ()) == (1,)
        assert result.signature.run["empty"] == "1"


@pytest.mark.parametrize("blank", BLANK, ids=repr)
def test_two_empty_sides_have_no_score(blank: str) -> None:
    with pytest.raises(EmptyPairError, match=says("segment 1", "both empty", "empty='zero'")):
        nlgauge.score([CAT, blank], [CAT, ""])


def test_two_empty_sides_score_0_on_request() -> None:
    with pytest.warns(EmptyTextWarning, match=says("1 segment (index 1)")):
        result = nlgauge.score([CAT, ""], [CAT, " "], empty="zero")
    assert result.f1 == pytest.approx([1, 0], abs=1e-6)
    assert result.counts["empty"] == 1


def test_an_empty_pair_names_its_system() -> None:
    with pytest.raises(EmptyPairError, match=says("'b'", "segment 0")):
        nlgauge.score_systems({"a": [CAT], "b": [""]}, [""], empty="error")


def test_many_empty_texts_are_counted_and_the_first_are_named() -> None:
    count = 25
    with pytest.warns(EmptyTextWarning, match=says("25 segments (index 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, ...)")):
        result = nlgauge.score([""] * count, [CAT] * count)
    assert result.notes.get("empty", ()) == tuple(range(count))


def test_one_empty_reference_among_several() -> None:
    with pytest.warns(EmptyTextWarning):
        best = nlgauge.score([CAT], [["", DOG]])
    alone = nlgauge.score([CAT], [DOG])
    assert best.f1[0] == alone.f1[0] > 0
    assert best.best_reference is not None
    assert best.best_reference[0] == 1
    assert best.counts["empty"] == 1
    with pytest.warns(EmptyTextWarning):
        mean = nlgauge.score([CAT], [["", DOG]], multiref="mean")
    assert mean.f1[0] == pytest.approx(alone.f1[0] / 2)


def test_an_empty_hypothesis_against_an_empty_and_a_full_reference_is_0() -> None:
    with pytest.warns(EmptyTextWarning):
        assert nlgauge.score([""], [["", DOG]]).f1[0] == 0


def test_references_that_are_all_empty_score_0() -> None:
    with pytest.warns(EmptyTextWarning):
        assert nlgauge.score([CAT], [["", " "]]).f1[0] == 0


def test_an_empty_text_is_aligned_with_nothing() -> None:
    with pytest.warns(EmptyTextWarning):
        result = nlgauge.score(["", CAT], [CAT, CAT], alignments=True)
    assert result.alignments is not None
    nothing, full = result.alignments
    assert nothing is None
    assert full is not None
    assert len(full.hypothesis_match) == len(full.hypothesis_tokens)


def test_empty_text_does_not_change_other_scores() -> None:
    with pytest.warns(EmptyTextWarning):
        with_gap = nlgauge.score([CAT, "", DOG], [DOG, CAT, BIRD])
    assert with_gap.f1[[0, 2]].tolist() == nlgauge.score([CAT, DOG], [DOG, BIRD]).f1.tolist()


# --- long texts ----------------------------------------------------------------------------------------


def words(count: int) -> str:
    return " ".join(["word"] * count)


def test_a_text_of_exactly_the_limit_is_read_whole() -> None:
    result = nlgauge.score([words(510)], [words(510)])  # and two special tokens: 512
    assert result.counts["truncated"] == 0


def test_long_texts_are_counted_with_their_places() -> None:
    with pytest.warns(TruncationWarning, match=says("2 segments (index 1, 2)", "512")):
        result = nlgauge.score([CAT, words(511), CAT], [CAT, CAT, words(900)])
    assert result.notes.get("truncated", ()) == (1, 2)
    assert result.counts["truncated"] == 2
    assert result.signature.run["truncated"] == "2"
    assert np.isfinite(result.f1).all()


def test_truncated_text_scores_as_its_beginning() -> None:
    with pytest.warns(TruncationWarning):
        cut = nlgauge.score([words(700)], [CAT])
    assert cut.f1.tolist() == nlgauge.score([words(510)], [CAT]).f1.tolist()


def test_a_long_text_is_refused_on_request() -> None:
    with pytest.raises(TooLongError, match=says("segment 1", "hypothesis", "602", "512", "long='truncate'")):
        nlgauge.score([CAT, words(600)], [CAT, CAT], long="error")
    with pytest.raises(TooLongError, match=says("segment 0", "reference 1", "602", "512")):
        nlgauge.score([CAT], [[CAT, words(600)]], long="error")
    with pytest.raises(TooLongError, match=says("'b'", "segment 0")):
        nlgauge.score_systems({"a": [CAT], "b": [words(600)]}, [CAT], long="error")


# --- idf that weighs nothing ---------------------------------------------------------------------------


def test_idf_of_one_document_falls_back_to_equal_weights() -> None:
    with pytest.warns(ZeroWeightWarning, match=says("1 segment (index 0)")):
        result = nlgauge.score([CAT], [CAT], idf="refs")
    assert result.f1 == pytest.approx([1], abs=1e-6)
    assert result.counts["zero_weight"] == 1
    assert result.signature.run["zero_weight"] == "1"


def test_idf_of_equal_documents_is_finite() -> None:
    with pytest.warns(ZeroWeightWarning, match=says("2 segments (index 0, 1)")):
        result = nlgauge.score([DOG, BIRD], [CAT, CAT], idf="refs")
    for values in result.segments.values():
        assert np.isfinite(values).all()
    plain = nlgauge.score([DOG, BIRD], [CAT, CAT])
    assert result.recall == pytest.approx(plain.recall, abs=1e-12)  # the references have no weight of their own


def test_a_text_with_weight_is_not_counted() -> None:
    result = nlgauge.score([CAT, DOG], [DOG, CAT], idf="refs")
    assert result.counts["zero_weight"] == 0
    assert "zero_weight" not in result.signature.run
