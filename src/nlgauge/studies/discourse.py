"""Discourse features of documents, compared with those of their references (`nlgauge.discourse`).

Features are those of the DiscoScore paper, section 5 and Table 9:

    freq              mentions per focus, for foci with more than one mention (FREQ)
    conn-u, conn-w    average of all entries of the adjacency matrix, unweighted and weighted (CONN)
    lc, rc            share of repeated nouns, and their mentions per noun, as released
    sentences, foci   number of sentences and foci
    repeated          foci with more than one mention ("good foci" in the paper)

A focus is a noun; with word vectors, features of foci are also computed for entities (`freq-entity`, ...). The
discriminativeness of a feature R measures how well it separates hypotheses from references:

    D = |{(hyp, ref): R(ref) < R(hyp)}| / N        Eq. 4 of the paper

The paper's Table 11 reverses it: its "D > 0" is the share of pairs with R(ref) > R(hyp) (D6.10). Results have both
shares. As in that table, pairs of equal texts are excluded.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, ClassVar, Literal, NamedTuple, TypeAlias, get_args

import numpy as np
from numpy.typing import NDArray

from nlgauge._version import __version__
from nlgauge.core.annotation import AnnotatedTextMetric
from nlgauge.core.corpus import Corpus, References, TextNames, make_corpus
from nlgauge.core.kinds import Float, InputFile
from nlgauge.core.notes import naming_documents, warn_about_note
from nlgauge.core.options import OptionSet, option
from nlgauge.core.result import Result
from nlgauge.core.signature import Signature
from nlgauge.encoders.engines.static import WordVectors, load_word_vectors
from nlgauge.encoders.run_context import current_run
from nlgauge.errors import RecipeError, TooLongError
from nlgauge.io.numbers import format_count
from nlgauge.io.table import LINE, Cell, Table
from nlgauge.metrics.cohesion import connectivity, count_devices
from nlgauge.metrics.parts.foci import NO_NOUN, Foci, find_foci
from nlgauge.text.annotation import AnnotatedText, Annotator
from nlgauge.text.annotators import load_annotator

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from nlgauge.core.keywords import DiscourseKeywords

#: Features without word vectors.
FEATURES = ("freq", "conn-u", "conn-w", "lc", "rc", "sentences", "foci", "repeated")

#: Additional features with word vectors.
ENTITY_FEATURES = ("freq-entity", "conn-u-entity", "conn-w-entity")


def focus_frequency(foci: Foci) -> float:
    """Mean number of mentions of repeated foci (FREQ); 0 without any.

    >>> focus_frequency({"cat": (0, 0, 2), "mat": (1,), "dog": (0, 1)})
    2.5
    """
    counts = [len(mentions) for mentions in foci.values() if len(mentions) > 1]
    return sum(counts) / len(counts) if counts else 0.0


def text_features(
    text: AnnotatedText, *, vectors: WordVectors | None = None, threshold: float = 0.8
) -> dict[str, float]:
    """Compute all features of a text; without nouns they are 0, except the number of sentences."""
    count = len(text.sentences)

    def of_foci(foci: Foci, suffix: str = "") -> dict[str, float]:
        return {
            f"freq{suffix}": focus_frequency(foci),
            f"conn-u{suffix}": connectivity(foci, count),
            f"conn-w{suffix}": connectivity(foci, count, weighted=True),
        }

    try:
        nouns, repeats = find_foci(text), count_devices(text)
        features = of_foci(nouns) | {
            "lc": repeats.cohesion,
            "rc": repeats.repetition,
            "sentences": float(count),
            "foci": float(len(nouns)),
            "repeated": float(repeats.lemmas),
        }
        if vectors is not None:
            features |= of_foci(find_foci(text, vectors, threshold), "-entity")
    except TooLongError as error:
        error.document = text.text
        raise
    return features


class Separation(NamedTuple):
    """Shares of pairs in which the hypothesis or the reference has more of a feature."""

    hypothesis_higher: float
    """D of Eq. 4; "D < 0" of Table 11."""
    equal: float
    reference_higher: float
    """"D > 0" of Table 11."""
    pairs: int
    identical: int = 0
    """Pairs of equal texts, which are excluded."""


def separate(pairs: Iterable[tuple[float, float]], *, identical: int = 0) -> Separation | None:
    """Compute shares over pairs (value of the hypothesis, value of the reference); None without pairs.

    >>> separate([(2, 1), (3, 1), (0, 1), (1, 1)])
    Separation(hypothesis_higher=0.5, equal=0.25, reference_higher=0.25, pairs=4, identical=0)
    """
    values = list(pairs)
    if not values:
        return None
    count = len(values)
    higher = sum(ours > theirs for ours, theirs in values)
    lower = sum(ours < theirs for ours, theirs in values)
    return Separation(higher / count, (count - higher - lower) / count, lower / count, count, identical)


#: Names of the texts in messages.
_DOCUMENTS = TextNames("document")

#: Number of documents to annotate between checks for cancellation.
_AT_ONCE = 64


_NOTE = (
    "D: share of pairs of a hypothesis and a reference with more of the feature in the hypothesis (Eq. 4 of the "
    "DiscoScore paper). Its Table 11 counts the other way round, as in the last column (D6.10). Pairs of equal texts "
    "are left out."
)


@dataclass(frozen=True, kw_only=True)
class DiscourseOptions(OptionSet):
    """Options for annotation and entities."""

    called: ClassVar[str] = "options of discourse features"

    annotator: str = AnnotatedTextMetric.same_option("annotator")
    sentences: str = AnnotatedTextMetric.same_option("sentences")
    vectors: str | None = option(
        None, InputFile("a file of word vectors"), help="word vectors (GloVe, word2vec), for features of entities"
    )
    threshold: float = option(
        0.8, Float(-1, 1), help="minimum cosine of word vectors for nouns of one entity", needs="vectors"
    )


class DocumentValues(NamedTuple):
    """A feature of a system's documents."""

    mean: float
    separation: Separation | None
    """None without references, or if all pairs have equal texts."""
    documents: NDArray[np.float64]
    """One value per document."""


class SystemFeatures(NamedTuple):
    """Features of a system's documents."""

    features: Mapping[str, DocumentValues]
    no_noun: tuple[int, ...]
    """Documents without a noun."""


class ReferenceValues(NamedTuple):
    """A feature of the references."""

    mean: float
    """Mean over documents of the mean over their references."""
    documents: tuple[NDArray[np.float64], ...]
    """Values of the references of each document."""


@dataclass(frozen=True, eq=False, repr=False)
class Discourse(Result):
    """Discourse features of systems' documents and of their references."""

    format = "nlgauge-discourse-1"
    further = ("segments",)
    line = LINE

    settings: Signature
    """Annotator, rules and versions, in one line."""
    systems: Mapping[str, SystemFeatures]
    references: Mapping[str, ReferenceValues] | None = None
    """By feature; None without references."""
    references_without_noun: tuple[int, ...] = ()
    """Documents with a reference without a noun."""

    def __repr__(self) -> str:
        size = f"{len(self.systems)} systems x {len(self)} documents"
        return (
            f"<Discourse: {len(self.features)} features, {size}{'' if self.references is None else ', references'}>"
        )

    def __len__(self) -> int:
        return len(next(iter(self._first.values())).documents)

    @property
    def _first(self) -> Mapping[str, DocumentValues]:
        return next(iter(self.systems.values())).features

    @property
    def features(self) -> tuple[str, ...]:
        """Names of the features."""
        return tuple(self._first)

    @property
    def separations(self) -> dict[str, dict[str, Separation]]:
        """Separations by system and feature, if any."""
        return {
            system: {
                name: row.separation for name, row in system_features.features.items() if row.separation is not None
            }
            for system, system_features in self.systems.items()
        }

    def mean(self, system: str, feature: str) -> float:
        """Mean of a feature over the documents of a system."""
        return self.systems[system].features[feature].mean

    def reference_mean(self, feature: str) -> float | None:
        """Mean over documents of the mean over their references; None without references."""
        return None if self.references is None else self.references[feature].mean

    def tables(self, form: str = "text") -> list[Table]:
        """Build a table with a row per system and feature; `segments` has a row per document."""
        if form == "segments":
            return [self.document_table()]
        has_references = self.references is not None
        columns = [
            "system",
            "feature",
            "mean",
            *(["references", "D", "equal", "ref higher"] if has_references else []),
        ]
        rows: list[list[Cell]] = []
        for system, system_features in self.systems.items():
            for feature, values in system_features.features.items():
                row: list[Cell] = [system, feature, values.mean]
                if has_references:
                    row += [self.reference_mean(feature), *(values.separation or (None,) * 3)[:3]]
                rows.append(row)
        lacking = {name or "hyps": system_features.no_noun for name, system_features in self.systems.items()}
        lacking["references"] = self.references_without_noun
        without = [
            f"{name}: {format_count(len(documents), 'document')} without a noun"
            for name, documents in lacking.items()
            if documents
        ]
        return [
            Table(columns, rows, notes=[*([_NOTE] if has_references else []), *without, f"settings: {self.settings}"])
        ]

    def document_table(self) -> Table:
        """Build a table with a row per document and reference, with all features."""
        rows: list[list[Cell]] = []
        for system, system_features in self.systems.items():
            columns = [row.documents.tolist() for row in system_features.features.values()]
            rows += [
                [system, document, "hypothesis", *values]
                for document, values in enumerate(zip(*columns, strict=True))
            ]
        for document in range(0 if self.references is None else len(self)):
            columns = [row.documents[document].tolist() for row in (self.references or {}).values()]
            rows += [["", document, f"reference {n}", *values] for n, values in enumerate(zip(*columns, strict=True))]
        return Table(["system", "document", "text", *self.features], rows)

    def figure(self, *, kind: FigureKind = "shares") -> Any:
        """Draw a figure of `nlgauge.studies.discourse_figures`: shares of pairs, pairs, or distributions."""
        from nlgauge.studies.discourse_figures import draw_discourse

        return draw_discourse(self, kind)


#: Figures of discourse features: shares of pairs by system, each hypothesis against each of its references or against
#: their mean, and values of all hypotheses and references.
FigureKind: TypeAlias = Literal["shares", "scatter", "scatter-means", "distribution"]


def check_discourse_figure(*, references: bool, kind: FigureKind = "shares") -> None:
    """Raise RecipeError for an unknown figure or one that would be empty, before documents are annotated."""
    if kind not in get_args(FigureKind):
        msg = f"kind must be {', '.join(get_args(FigureKind))}, got {kind!r}"
        raise RecipeError(msg)
    if not references and kind != "distribution":
        msg = "a figure needs references (refs=)"
        raise RecipeError(msg)


def discourse(
    systems: Mapping[str, Iterable[str]] | Iterable[str],
    refs: References | None = None,
    *,
    ref_streams: Iterable[Iterable[str]] | None = None,
    **options: Unpack[DiscourseKeywords],
) -> Discourse:
    """Compute discourse features of documents and of their references, if any.

    `systems` maps a system's name to its documents; a plain list is one system. Options are `DiscourseOptions`:
    `annotator` and `sentences` have the same meaning as in metrics on documents. With a file of word `vectors`,
    features of foci are also computed for entities: groups of nouns with a cosine above `threshold`.
    """
    opts = DiscourseOptions.of(dict(options))
    texts_of = systems if isinstance(systems, Mapping) else {"": systems}
    corpus = replace(make_corpus(texts_of, refs, ref_streams=ref_streams, alone=True), names=_DOCUMENTS)
    tagger = load_annotator(opts.annotator, sentences=opts.sentences)
    words = None if opts.vectors is None else load_word_vectors(opts.vectors)
    with naming_documents(corpus):
        features_of_text = _features_of_texts(corpus, tagger, words, opts.threshold)
    names = FEATURES if words is None else (*FEATURES, *ENTITY_FEATURES)
    measured = {
        system: _system_features(texts, corpus, features_of_text, names) for system, texts in corpus.systems.items()
    }
    references_without_noun = tuple(
        document
        for document, group in enumerate(corpus.references)
        if any(not features_of_text[text]["foci"] for text in group)
    )
    all_documents = (
        document
        for documents in (*(features.no_noun for features in measured.values()), references_without_noun)
        for document in documents
    )
    warn_about_note(NO_NOUN, all_documents, NO_NOUN.message.format(metric="each feature of nouns"), _DOCUMENTS)
    references = None
    if any(corpus.references):
        references = {name: _reference_values(corpus, features_of_text, name) for name in names}
    labels = {"annotator": tagger.label} | ({} if words is None else {"vectors": words.label})
    settings = Signature("discourse", opts.signed() | labels | {"nlgauge": __version__})
    return Discourse(settings, measured, references, references_without_noun)


def _system_features(
    texts: Sequence[str], corpus: Corpus, features: Mapping[str, Mapping[str, float]], names: Sequence[str]
) -> SystemFeatures:
    """Compute features of a system's documents, and compare them with those of references, except equal texts."""
    pairs = [(text, reference) for text, group in zip(texts, corpus.references, strict=True) for reference in group]
    unequal = [(text, reference) for text, reference in pairs if text.strip() != reference.strip()]
    rows = {}
    for name in names:
        values = np.array([features[text][name] for text in texts])
        compared = ((features[text][name], features[reference][name]) for text, reference in unequal)
        separation = separate(compared, identical=len(pairs) - len(unequal))
        rows[name] = DocumentValues(float(values.mean()), separation, values)
    return SystemFeatures(rows, tuple(number for number, text in enumerate(texts) if not features[text]["foci"]))


def _reference_values(corpus: Corpus, features: Mapping[str, Mapping[str, float]], name: str) -> ReferenceValues:
    values = tuple(np.array([features[text][name] for text in group]) for group in corpus.references)
    return ReferenceValues(float(np.mean([group.mean() for group in values])), values)


def _features_of_texts(
    corpus: Corpus, tagger: Annotator, vectors: WordVectors | None, threshold: float
) -> dict[str, dict[str, float]]:
    """Compute features by text; each distinct text is annotated once."""
    outputs = (text for texts in corpus.systems.values() for text in texts)
    texts = list(dict.fromkeys([*outputs, *(text for group in corpus.references for text in group)]))
    features_of = {}
    for start in range(0, len(texts), _AT_ONCE):
        current_run().check()
        part = texts[start : start + _AT_ONCE]
        for text, annotated in zip(part, tagger.annotate(part), strict=True):
            features_of[text] = text_features(annotated, vectors=vectors, threshold=threshold)
    return features_of
