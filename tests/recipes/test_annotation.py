"""Annotator and sentence rule as options of recipes: one place, for metrics of vectors and of texts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

import numpy as np
import pytest

from nlgauge.annotate import load_annotator
from nlgauge.clouds.cloud import Cloud
from nlgauge.corpus.views import TextView
from nlgauge.errors import RecipeError
from nlgauge.metrics.bertscore import BERTScore
from nlgauge.recipes.annotation import AnnotatedTextMetric, annotator_option, sentences_option
from nlgauge.recipes.results import SystemResult
from nlgauge.recipes.signature import Signature
from nlgauge.recipes.vector_metric import State, WindowTexts
from nlgauge.service.policy import Policy

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
        found = self.annotation.annotate(hypotheses)
        return SystemResult({"nouns": np.array([len(list(one.nouns())) / len(one.sentences) for one in found])})


@dataclass(frozen=True, kw_only=True)
class AnnotatedBERTScore(BERTScore):
    """BERTScore that looks at annotations on the way."""

    name: ClassVar[str] = "test-annotated"
    annotator: str = annotator_option()
    sentences: str = sentences_option()

    def run_text_models(self, texts: WindowTexts, state: State) -> None:
        for text, found in zip(texts.encoded, state["annotator"].annotate(list(texts.encoded)), strict=True):
            texts.encoded[text].text_features["nouns"] = [word.lemma for _, word in found.nouns()]

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


def test_a_metric_of_vectors_finds_it_in_its_state() -> None:
    recipe = AnnotatedBERTScore().score(HYPS, REFS).signature.recipe
    assert recipe["annotator"] == load_annotator("spacy-en").label
    assert recipe["annotator_engine"].startswith("spacy-")
    assert recipe["sentences"] == "rules"
    assert "annotator_engine" in AnnotatedBERTScore.further_fields()


def test_a_file_is_known_by_its_digest(parses: str) -> None:
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


def test_another_language_is_pointed_to_conllu() -> None:
    with pytest.raises(RecipeError, match=r"'spacy-en' knows en, and the texts are 'de'; name CoNLL-U files"):
        AnnotatedBERTScore(lang="de", model="minilm").score(["Hallo"], ["Hallo"])


def test_a_request_names_annotators_that_are_here_and_no_files(parses: str) -> None:
    Policy().check(Nouns())
    with pytest.raises(Exception, match="not on offer"):
        Policy().check(Nouns(annotator=parses))
    with pytest.raises(Exception, match="'spacy-en' is not on offer"):
        Policy(["minilm"]).check(Nouns())


def test_another_version_of_the_package_is_not_another_recipe() -> None:
    from nlgauge.scoring import _check_reproduced

    signature = Nouns().score(HYPS, REFS).signature
    older = Signature(signature.metric, dict(signature.recipe) | {"annotator_engine": "spacy-3.8.1"})
    with pytest.warns(UserWarning, match="annotator_engine: asked spacy-3.8.1"):
        _check_reproduced(older, signature, ())
