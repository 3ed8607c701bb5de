"""Annotator and sentence rule as options of recipes: one place, for metrics of vectors and of texts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

import numpy as np
import pytest

import nlgauge
from nlgauge.apps.service.policy import Policy
from nlgauge.core.annotation import AnnotatedTextMetric
from nlgauge.core.metric import SystemResult
from nlgauge.core.signature import Signature
from nlgauge.core.tokens import TextView
from nlgauge.core.vector_metric import State, WindowTexts
from nlgauge.errors import RecipeError
from nlgauge.metrics.bertscore import BERTScore
from nlgauge.text.annotators import load_annotator
from nlgauge.vectors.cloud import Cloud

HYPS = ["The cats sat. A dog barked.", "He left."]
REFS = ["Cats were sitting. Dogs barked.", "He went."]

CAT = "1\tGatti\tgatto\tNOUN\t_\t_\t0\troot\t_\tSpaceAfter=No\n2\t!\t!\tPUNCT\t_\t_\t1\tpunct\t_\t_\n\n"


@dataclass(frozen=True, kw_only=True)
class Nouns(AnnotatedTextMetric):
    """Number of nouns per sentence."""

    name: ClassVar[str] = "test-nouns"
    components: ClassVar[tuple[str, ...]] = ("nouns",)
    main: ClassVar[str] = "nouns"

    def score_texts(self, hypotheses: Sequence[str], references: Sequence[Sequence[str]]) -> SystemResult:
        self.annotation.annotate([text for group in references for text in group])
        result = self.annotation.annotate(hypotheses)
        return SystemResult({"nouns": np.array([len(list(item.nouns())) / len(item.sentences) for item in result])})


@dataclass(frozen=True, kw_only=True)
class AnnotatedBERTScore(BERTScore):
    """BERTScore that looks at annotations on the way."""

    name: ClassVar[str] = "test-annotated"
    annotator: str = AnnotatedTextMetric.same_option("annotator")
    sentences: str = AnnotatedTextMetric.same_option("sentences")

    def run_text_models(self, texts: WindowTexts, state: State) -> None:
        for text, result in zip(texts.encoded, state["annotator"].annotate(list(texts.encoded)), strict=True):
            texts.encoded[text].text_features["nouns"] = [word.lemma for _, word in result.nouns()]

    def represent(self, text: TextView, state: State) -> Cloud | None:
        assert isinstance(text.encoded.text_features["nouns"], list)
        return super().represent(text, state)


@pytest.fixture
def parses(tmp_path: Path) -> str:
    path = tmp_path / "parses.conllu"
    path.write_text(CAT, encoding="utf-8")
    return str(path)


def test_a_metric_of_texts_signs_its_annotator() -> None:
    score = Nouns(sentences="lines").score(HYPS, REFS)
    assert score.segments["nouns"].tolist() == [2.0, 0.0]
    recipe = score.signature.recipe
    assert recipe["annotator"] == load_annotator("spacy-en").label
    assert recipe["annotator_engine"] == load_annotator("spacy-en").engine
    assert recipe["sentences"] == "lines"
    assert Nouns.options_from_signature(recipe) == {"annotator": "spacy-en", "sentences": "lines"}
    assert Nouns().score(HYPS, REFS).segments["nouns"].tolist() == [1.0, 0.0]


def test_metric_of_vectors_has_annotator_in_its_state() -> None:
    recipe = AnnotatedBERTScore().score(HYPS, REFS).signature.recipe
    assert recipe["annotator"] == load_annotator("spacy-en").label
    assert recipe["annotator_engine"].startswith("spacy-")
    assert recipe["sentences"] == "rules"
    assert "annotator_engine" in AnnotatedBERTScore.further_fields()


def test_annotation_file_is_signed_by_its_digest(parses: str) -> None:
    recipe = Nouns(annotator=parses).score(["Gatti!"], ["Gatti!"]).signature.recipe
    assert recipe["annotator"] == load_annotator(parses).label
    assert "annotator_engine" not in recipe
    assert Nouns.options_from_signature(recipe)["annotator"] == "file"


def test_metrics_of_one_process_annotate_a_text_once() -> None:
    texts = ["A text of its own. It has two sentences.", "Another one of its own."]
    before = load_annotator("spacy-en").annotated
    Nouns().score(texts, texts)
    AnnotatedBERTScore().score(texts, texts)
    assert load_annotator("spacy-en").annotated == before + 2


@pytest.mark.filterwarnings("ignore::nlgauge.errors.LanguageWarning")
def test_other_language_is_refused_with_hint_at_conllu() -> None:
    with pytest.raises(RecipeError, match=r"'spacy-en' reads en, but the texts are 'de'; use CoNLL-U annotations"):
        AnnotatedBERTScore(lang="de", model="minilm").score(["Hallo"], ["Hallo"])


GERMAN = ["Die Katzen sassen. Ein Hund bellte.", "Er ging."]


@pytest.mark.parametrize("metric", ["ds-focus", "ds-sent", "discoscore"])
def test_sources_of_unknown_language_are_refused(metric: str) -> None:
    with pytest.raises(RecipeError, match=r"language of the sources is not set; set src_lang=en .*parses\.conllu"):
        nlgauge.score(HYPS, sources=GERMAN, metric=metric, against="source")
    with pytest.raises(RecipeError, match=r"'spacy-en' reads en, but the sources are 'de'; use CoNLL-U annotations"):
        nlgauge.score(HYPS, sources=GERMAN, metric=metric, against="source", src_lang="de")
    with pytest.raises(RecipeError, match="language of the sources is not set"):
        nlgauge.matrix(HYPS, GERMAN, metric=f"{metric}:against=source")


def test_english_sources_score_as_references_and_replay_from_signature() -> None:
    score = nlgauge.score(HYPS, sources=REFS, metric="ds-sent:against=source,src_lang=en,model=minilm")
    as_references = nlgauge.score(HYPS, REFS, metric="ds-sent:model=minilm")
    np.testing.assert_array_equal(score.segments["score"], as_references.segments["score"])
    again = nlgauge.score(HYPS, sources=REFS, metric=str(score.signature))
    np.testing.assert_array_equal(again.segments["score"], score.segments["score"])


def test_lang_of_one_metric_applies_to_metrics_of_texts() -> None:
    with pytest.raises(RecipeError, match="lc: annotator 'spacy-en' reads en, but the texts are 'de'"):
        nlgauge.score_systems({"a": GERMAN}, GERMAN, metric=["lc", "bertscore:model=muse"], lang="de")


def test_explain_corpus_refuses_english_annotator_for_foreign_sources() -> None:
    with pytest.raises(RecipeError, match="bertscore: annotator 'spacy-en' reads en, but the sources are 'de'"):
        nlgauge.explain_corpus(HYPS, sources=GERMAN, metric="bertscore:against=source,model=muse", src_lang="de")


def test_spacy_folder_of_another_language_is_refused(tmp_path: Path) -> None:
    import spacy

    spacy.blank("de").to_disk(tmp_path / "de_blank")
    recipe = AnnotatedBERTScore(annotator=str(tmp_path / "de_blank"), lang="en", model="minilm")
    with pytest.raises(RecipeError, match=r"de_blank' reads de, but the texts are 'en'"):
        recipe.score(HYPS, REFS)


@pytest.mark.model
def test_request_may_name_installed_annotators_but_no_files(parses: str) -> None:
    Policy().check(Nouns())
    with pytest.raises(Exception, match="the service reads no files"):
        Policy().check(Nouns(annotator=parses))
    with pytest.raises(Exception, match="does not offer model 'spacy-en'"):
        Policy(["minilm"]).check(Nouns())


def test_other_package_version_reproduces_with_a_warning() -> None:
    from nlgauge.core.scoring import _check_reproduced

    signature = Nouns().score(HYPS, REFS).signature
    older = Signature(signature.metric, dict(signature.recipe) | {"annotator_engine": "spacy-3.8.1"})
    with pytest.warns(UserWarning, match="annotator_engine spacy-3.8.1"):
        _check_reproduced(older, signature, ())
