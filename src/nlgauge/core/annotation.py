"""Options of metrics that read annotated texts: the annotator, and where sentences end.

    annotator=spacy-en       -> annotator:spacy-en[en_core_web_sm-3.8.0,d4717f8c608a]|annotator_engine:spacy-3.8.18
    annotator=parses.conllu  -> annotator:conllu[5be1c7a0d2f3]
    sentences=lines          -> sentences:lines

A metric of texts is an `AnnotatedTextMetric`. A metric of vectors has `AnnotatedTextMetric.same_option("annotator")`
and `("sentences")`, and finds the loaded annotator in its state, `state["annotator"]`; `run_text_models` hands it the
texts of a window.
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
    """Who annotates texts."""

    has_engine: ClassVar[bool] = True

    def __init__(self) -> None:
        super().__init__(*ANNOTATORS, file="CoNLL-U files joined by +, or a folder with a spaCy model")

    def read(self, name: str, text: str) -> dict[str, str]:
        """A known annotator by its name; a file or a folder is known by its digest."""
        known = text.partition("[")[0]
        return {name: known if known in self.words else "file"}

    def load(self, value: str, context: LoadContext) -> Loaded:
        """The annotator, which metrics of one run share; it must read the language of both texts."""
        made = load_annotator(value, sentences=getattr(context.metric, "sentences", "rules"))
        if made.language:
            check_annotator(context.metric, value, (made.language,))
        return Loaded(made.label, made, made.engine)


def check_annotated_languages(metrics: Sequence[Metric], *, target: str = "", source: str = "") -> None:
    """Refuse annotators known by name that do not read the texts, before anything is loaded.

    `target` and `source` are languages that the data names. A language that one recipe of a call names (`lang=`) is
    that of the texts, also for metrics without that option.
    """
    named = [metric.lang for metric in metrics if isinstance(metric, VectorMetric) and metric.lang]
    for metric in metrics:
        about = metric.options().get("annotator")
        value = getattr(metric, "annotator", "")
        if about is not None and isinstance(about.kind, AnnotatorName) and value in CARDS:
            known = CARDS[value].languages
            check_annotator(metric, value, known, targets=[*filter(None, [target]), *named], source=source)


def check_annotator(
    metric: Metric, annotator: str, known: Sequence[str], *, targets: Sequence[str] = (), source: str = ""
) -> None:
    """Refuse an annotator of these languages where the texts, or the sources, are not known to be of one of them."""
    reads = f"annotator {annotator!r} reads {', '.join(known)}"
    conllu = "use CoNLL-U annotations, such as annotator=parses.conllu (written by UDPipe or Stanza)"
    for language in (getattr(metric, "lang", ""), *targets):
        if language and base_language(language) not in known:
            msg = f"{metric.name}: {reads}, but the texts are {language!r}; {conllu}"
            raise RecipeError(msg)
    if getattr(metric, "against", "refs") != "source":
        return
    language = getattr(metric, "src_lang", "") or source
    if not language:
        msg = (
            f"{metric.name}: {reads}, but the language of the sources is not set; "
            f"set src_lang={known[0]} if that is their language, otherwise {conllu}"
        )
        raise RecipeError(msg)
    if base_language(language) not in known:
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
        """The annotator, loaded; metrics of one process share what it has annotated."""
        return load_annotator(self.annotator, sentences=self.sentences)

    def versions(self) -> dict[str, str]:
        """Who annotates, with its digest, and the version of the package that runs it."""
        made = self.annotation
        return {"annotator": made.label} | ({"annotator_engine": made.engine} if made.engine else {})
