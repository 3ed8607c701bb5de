"""Options of metrics that read annotated texts: annotator and sentence splitting.

    annotator=spacy-en       -> annotator:spacy-en[en_core_web_sm-3.8.0,d4717f8c608a]|annotator_engine:spacy-3.8.18
    annotator=parses.conllu  -> annotator:conllu[5be1c7a0d2f3]
    sentences=lines          -> sentences:lines

A metric of texts derives from `AnnotatedTextMetric`. A metric of vectors declares the options
`AnnotatedTextMetric.same_option("annotator")` and `("sentences")`. It annotates the texts of a window in
`run_text_models`, with the loaded annotator `state["annotator"]`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from nlgauge.core.kinds import Choice
from nlgauge.core.metric import Metric, TextMetric
from nlgauge.core.options import option
from nlgauge.core.resources import LoadContext, Loaded, Resource
from nlgauge.core.vector_metric import VectorMetric
from nlgauge.errors import RecipeError
from nlgauge.io.store.catalog import CARDS
from nlgauge.text.annotators import ANNOTATORS, SENTENCE_RULES, LoadedAnnotator, load_annotator
from nlgauge.text.tokenizer import base_language


class AnnotatorName(Resource):
    """The annotator of texts."""

    has_engine: ClassVar[bool] = True

    def __init__(self) -> None:
        super().__init__(*ANNOTATORS, file="CoNLL-U files joined by +, or a folder with a spaCy model")

    def read(self, name: str, text: str) -> dict[str, str]:
        """The name of a known annotator; `file` for a file or folder, of which a signature has only the digest."""
        annotator = text.partition("[")[0]
        return {name: annotator if annotator in self.words else "file"}

    def load(self, value: str, context: LoadContext) -> Loaded:
        """The annotator, shared by the metrics of a run; it must support the language of both texts."""
        annotator = load_annotator(value, sentences=getattr(context.metric, "sentences", "rules"))
        if annotator.language:
            check_annotator(context.metric, value, (annotator.language,))
        return Loaded(annotator.label, annotator, annotator.engine)


def check_annotated_languages(metrics: Sequence[Metric], *, target: str = "", source: str = "") -> None:
    """Refuse named annotators that do not support the language of the texts, before anything is loaded.

    `target` and `source` are languages given by the data. If one recipe of a call sets `lang=`, it is the language
    of the texts for all metrics, including those without that option.
    """
    named = [metric.lang for metric in metrics if isinstance(metric, VectorMetric) and metric.lang]
    for metric in metrics:
        option_ = metric.options().get("annotator")
        value = getattr(metric, "annotator", "")
        if option_ is not None and isinstance(option_.kind, AnnotatorName) and value in CARDS:
            languages = CARDS[value].languages
            check_annotator(metric, value, languages, targets=[*filter(None, [target]), *named], source=source)


def check_annotator(
    metric: Metric, annotator: str, languages: Sequence[str], *, targets: Sequence[str] = (), source: str = ""
) -> None:
    """Refuse an annotator of these languages if the texts are in another one, or the sources may be."""
    reads = f"annotator {annotator!r} reads {', '.join(languages)}"
    conllu = "use CoNLL-U annotations, such as annotator=parses.conllu (written by UDPipe or Stanza)"
    for language in (getattr(metric, "lang", ""), *targets):
        if language and base_language(language) not in languages:
            msg = f"{metric.name}: {reads}, but the texts are {language!r}; {conllu}"
            raise RecipeError(msg)
    if getattr(metric, "against", "refs") != "source":
        return
    language = getattr(metric, "src_lang", "") or source
    if not language:
        msg = (
            f"{metric.name}: {reads}, but the language of the sources is not set; "
            f"set src_lang={languages[0]} if that is their language, otherwise {conllu}"
        )
        raise RecipeError(msg)
    if base_language(language) not in languages:
        msg = f"{metric.name}: {reads}, but the sources are {language!r}; {conllu}"
        raise RecipeError(msg)


@dataclass(frozen=True, kw_only=True)
class AnnotatedTextMetric(TextMetric):
    """A metric without a model that reads annotated texts."""

    annotator: str = option(
        "spacy-en",
        AnnotatorName(),
        help="tagger and lemmatizer",
        in_profile=False,
    )
    sentences: str = option(
        "rules",
        Choice(*SENTENCE_RULES),
        help="sentence splitting: by rules, at line ends, or by the annotator",
        in_profile=False,
    )

    @property
    def annotation(self) -> LoadedAnnotator:
        """The loaded annotator; metrics of one process share its annotations."""
        return load_annotator(self.annotator, sentences=self.sentences)

    def versions(self) -> dict[str, str]:
        """The annotator with its digest, and the version of the package that runs it."""
        annotator = self.annotation
        return {"annotator": annotator.label} | ({"annotator_engine": annotator.engine} if annotator.engine else {})
