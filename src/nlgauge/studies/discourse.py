"""Discourse features of documents, compared with those of their references (`nlgauge.discourse`).

Features are those of the DiscoScore paper, section 5 and Table 9:

    freq              mentions per focus, of foci that are mentioned more than once (FREQ)
    conn-u, conn-w    average of all entries of the adjacency matrix, unweighted and weighted (CONN)
    lc, rc            share of nouns that come again, and their mentions per noun, as released
    sentences, foci   how many there are
    repeated          foci that are mentioned more than once ("good foci" in print)

A focus is a noun; with word vectors, each feature of foci is also there for entities (`freq-entity`, ...). How well a
feature R tells hypotheses from references is its discriminativeness:

    D = |{(hyp, ref): R(ref) < R(hyp)}| / N        Eq. 4 of the paper

The paper's Table 11 reverses it: its "D > 0" is the share of pairs with R(ref) > R(hyp) (D6.10). Both shares are
given, by what they count. As in that table, pairs of equal texts are left out.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

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
from nlgauge.io.canvas import (
    COLOURS,
    WIDEST,
    SeriesStyle,
    finish_figure,
    legend_entries,
    new_panels,
    panel_grid,
    shorten,
)
from nlgauge.io.table import LINE, Cell, Table, counted
from nlgauge.metrics.cohesion import connectivity, devices
from nlgauge.metrics.parts.foci import NO_NOUN, Foci, foci_of
from nlgauge.text.annotation import AnnotatedText, Annotator
from nlgauge.text.annotators import load_annotator

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from nlgauge.core.keywords import DiscourseKeywords

#: Without word vectors.
FEATURES = ("freq", "conn-u", "conn-w", "lc", "rc", "sentences", "foci", "repeated")

#: With word vectors, after these.
ENTITY_FEATURES = ("freq-entity", "conn-u-entity", "conn-w-entity")


def focus_frequency(foci: Foci) -> float:
    """How often foci are mentioned that come again (FREQ); 0 where none does.

    >>> focus_frequency({"cat": (0, 0, 2), "mat": (1,), "dog": (0, 1)})
    2.5
    """
    again = [len(mentions) for mentions in foci.values() if len(mentions) > 1]
    return sum(again) / len(again) if again else 0.0


def text_features(
    text: AnnotatedText, *, vectors: WordVectors | None = None, threshold: float = 0.8
) -> dict[str, float]:
    """All features of a text; those of a text without a noun are 0 but for its sentences."""
    count = len(text.sentences)

    def of_foci(foci: Foci, suffix: str = "") -> dict[str, float]:
        return {
            f"freq{suffix}": focus_frequency(foci),
            f"conn-u{suffix}": connectivity(foci, count),
            f"conn-w{suffix}": connectivity(foci, count, weighted=True),
        }

    try:
        nouns, repeats = foci_of(text), devices(text)
        features = of_foci(nouns) | {
            "lc": repeats.cohesion,
            "rc": repeats.repetition,
            "sentences": float(count),
            "foci": float(len(nouns)),
            "repeated": float(repeats.lemmas),
        }
        if vectors is not None:
            features |= of_foci(foci_of(text, vectors, threshold), "-entity")
    except TooLongError as error:
        error.document = text.text
        raise
    return features


class Separation(NamedTuple):
    """Shares of pairs of a hypothesis and a reference, by which of the two has more of a feature."""

    hypothesis_higher: float
    """D of Eq. 4; "D < 0" of Table 11."""
    equal: float
    reference_higher: float
    """"D > 0" of Table 11."""
    pairs: int
    identical: int = 0
    """Pairs of equal texts, which are left out."""


def separate(pairs: Iterable[tuple[float, float]], *, identical: int = 0) -> Separation | None:
    """The shares over pairs of a feature's values, the hypothesis first; None where there is no pair.

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


#: What messages call the texts.
_DOCUMENTS = TextNames("document")

#: Documents that are annotated before whoever watches may have a look.
_AT_ONCE = 64


_NOTE = (
    "D: share of pairs of a hypothesis and a reference with more of the feature in the hypothesis (Eq. 4 of the "
    "DiscoScore paper). Its Table 11 counts the other way round, as in the last column (D6.10). Pairs of equal texts "
    "are left out."
)


@dataclass(frozen=True, kw_only=True)
class DiscourseOptions(OptionSet):
    """How texts are annotated, and which nouns are one entity."""

    called: ClassVar[str] = "options of discourse features"

    annotator: str = AnnotatedTextMetric.same_option("annotator")
    sentences: str = AnnotatedTextMetric.same_option("sentences")
    vectors: str | None = option(
        None, InputFile("a file of word vectors"), help="word vectors (GloVe, word2vec): features of entities too"
    )
    threshold: float = option(
        0.8, Float(-1, 1), help="nouns whose word vectors have a cosine above it are one entity", needs="vectors"
    )


class DocumentValues(NamedTuple):
    """A feature of a system's documents."""

    mean: float
    separation: Separation | None
    """None without references, or where all pairs are of equal texts."""
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
    """The mean over documents of the mean over their references."""
    documents: tuple[NDArray[np.float64], ...]
    """For each document, the values of its references."""


@dataclass(frozen=True, eq=False, repr=False)
class Discourse(Result):
    """Features of the documents of systems, beside those of their references."""

    format = "nlgauge-discourse-1"
    further = ("segments",)
    line = LINE

    settings: Signature
    """Annotator, rules and versions behind the numbers, in one line."""
    systems: Mapping[str, SystemFeatures]
    references: Mapping[str, ReferenceValues] | None = None
    """By feature; None without references."""
    references_without_noun: tuple[int, ...] = ()
    """Documents with a reference that has none."""

    def __repr__(self) -> str:
        beside = "" if self.references is None else " beside references"
        return (
            f"<Discourse: {len(self.features)} features, {len(self.systems)} systems x {len(self)} documents{beside}>"
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
        """By system and feature, where there are any."""
        return {
            system: {name: row.separation for name, row in own.features.items() if row.separation is not None}
            for system, own in self.systems.items()
        }

    def mean(self, system: str, feature: str) -> float:
        """The mean of a feature over the documents of a system."""
        return self.systems[system].features[feature].mean

    def reference_mean(self, feature: str) -> float | None:
        """The mean over documents of the mean over their references; None without references."""
        return None if self.references is None else self.references[feature].mean

    def tables(self, form: str = "text") -> list[Table]:
        """A row per system and feature; `segments` has a row per document."""
        if form == "segments":
            return [self.document_table()]
        beside = self.references is not None
        columns = ["system", "feature", "mean", *(["references", "D", "equal", "ref higher"] if beside else [])]
        rows: list[list[Cell]] = []
        for system, own in self.systems.items():
            for feature, values in own.features.items():
                row: list[Cell] = [system, feature, values.mean]
                if beside:
                    row += [self.reference_mean(feature), *(values.separation or (None,) * 3)[:3]]
                rows.append(row)
        lacking = {name or "hyps": own.no_noun for name, own in self.systems.items()}
        lacking["references"] = self.references_without_noun
        without = [f"{name}: {counted(len(at), 'document')} without a noun" for name, at in lacking.items() if at]
        return [Table(columns, rows, notes=[*([_NOTE] if beside else []), *without, f"settings: {self.settings}"])]

    def document_table(self) -> Table:
        """A row per document and reference, with all features."""
        rows: list[list[Cell]] = []
        for system, own in self.systems.items():
            columns = [row.documents.tolist() for row in own.features.values()]
            rows += [[system, at, "hypothesis", *values] for at, values in enumerate(zip(*columns, strict=True))]
        for at in range(0 if self.references is None else len(self)):
            columns = [row.documents[at].tolist() for row in (self.references or {}).values()]
            rows += [["", at, f"reference {n}", *values] for n, values in enumerate(zip(*columns, strict=True))]
        return Table(["system", "document", "text", *self.features], rows)

    def figure(self) -> Any:
        """Shares of pairs in which hypothesis or reference has more of a feature."""
        return _draw_discourse(self)


def check_discourse_figure(*, references: bool) -> None:
    """Refuse a figure that would be empty, before documents are annotated."""
    if not references:
        msg = "a figure shows hypotheses beside references, and none were given; give them (refs=, --refs)"
        raise RecipeError(msg)


def discourse(
    systems: Mapping[str, Iterable[str]] | Iterable[str],
    refs: References | None = None,
    *,
    ref_streams: Iterable[Iterable[str]] | None = None,
    **options: Unpack[DiscourseKeywords],
) -> Discourse:
    """Discourse features of documents, beside those of their references where there are any.

    `systems` maps a system's name to its documents; a plain list is one system. Options are `DiscourseOptions`:
    `annotator` and `sentences` are those of metrics on documents. With a file of word `vectors`, features of foci are
    also there for entities: nouns whose cosine is above the `threshold`.
    """
    own = DiscourseOptions.of(dict(options))
    named = systems if isinstance(systems, Mapping) else {"": systems}
    corpus = replace(make_corpus(named, refs, ref_streams=ref_streams, alone=True), names=_DOCUMENTS)
    tagger = load_annotator(own.annotator, sentences=own.sentences)
    words = None if own.vectors is None else load_word_vectors(own.vectors)
    with naming_documents(corpus):
        found = _features_of_texts(corpus, tagger, words, own.threshold)
    names = FEATURES if words is None else (*FEATURES, *ENTITY_FEATURES)
    measured = {system: _system(texts, corpus, found, names) for system, texts in corpus.systems.items()}
    beside_no_noun = tuple(
        at for at, group in enumerate(corpus.references) if any(not found[text]["foci"] for text in group)
    )
    noted = (at for places in (*(one.no_noun for one in measured.values()), beside_no_noun) for at in places)
    warn_about_note(NO_NOUN, noted, NO_NOUN.message.format(metric="each feature of nouns"), _DOCUMENTS)
    references = None
    if any(corpus.references):
        references = {name: _reference_values(corpus, found, name) for name in names}
    labels = {"annotator": tagger.label} | ({} if words is None else {"vectors": words.label})
    settings = Signature("discourse", own.signed() | labels | {"nlgauge": __version__})
    return Discourse(settings, measured, references, beside_no_noun)


def _system(
    texts: Sequence[str], corpus: Corpus, features: Mapping[str, Mapping[str, float]], names: Sequence[str]
) -> SystemFeatures:
    """Features of a system's documents, next to those of its references, but for pairs of equal texts."""
    pairs = [(text, other) for text, group in zip(texts, corpus.references, strict=True) for other in group]
    unequal = [(text, other) for text, other in pairs if text.strip() != other.strip()]
    rows = {}
    for name in names:
        values = np.array([features[text][name] for text in texts])
        compared = ((features[text][name], features[other][name]) for text, other in unequal)
        separation = separate(compared, identical=len(pairs) - len(unequal))
        rows[name] = DocumentValues(float(values.mean()), separation, values)
    return SystemFeatures(rows, tuple(number for number, text in enumerate(texts) if not features[text]["foci"]))


def _reference_values(corpus: Corpus, features: Mapping[str, Mapping[str, float]], name: str) -> ReferenceValues:
    values = tuple(np.array([features[text][name] for text in group]) for group in corpus.references)
    return ReferenceValues(float(np.mean([group.mean() for group in values])), values)


def _features_of_texts(
    corpus: Corpus, tagger: Annotator, vectors: WordVectors | None, threshold: float
) -> dict[str, dict[str, float]]:
    """By text; each distinct one is annotated once."""
    outputs = (text for texts in corpus.systems.values() for text in texts)
    texts = list(dict.fromkeys([*outputs, *(text for group in corpus.references for text in group)]))
    found = {}
    for start in range(0, len(texts), _AT_ONCE):
        current_run().check()
        part = texts[start : start + _AT_ONCE]
        for text, one in zip(part, tagger.annotate(part), strict=True):
            found[text] = text_features(one, vectors=vectors, threshold=threshold)
    return found


#: Features that are plain counts say little about coherence, and are left to the table.
_LEFT_OUT = ("sentences", "foci", "repeated")

_SHARES = {
    "hypothesis_higher": SeriesStyle(COLOURS[5], "", "o", "white"),
    "equal": SeriesStyle("#d0d0d0", "", "s", "white"),
    "reference_higher": SeriesStyle(COLOURS[0], "", "^", "white"),
}
_NAMES = ("more in the hypothesis (D)", "equal", "more in the reference")


def _draw_discourse(found: Discourse) -> Any:
    """Shares of pairs in which hypothesis or reference has more of a feature."""
    check_discourse_figure(references=found.references is not None)
    features = [name for name in found.features if name not in _LEFT_OUT]
    rows, columns = panel_grid(len(features), most_columns=3)
    height = 0.7 + 0.26 * len(found.systems)
    figure, places = new_panels(rows, columns, width=WIDEST, height=max(1.5, height))
    for number, (place, feature) in enumerate(zip(places, features, strict=False)):
        _draw(place, found, feature, names=number % columns == 0)
    for place in places[len(features) :]:
        place.set_visible(False)
    finish_figure(
        figure,
        title="Which has more of a feature, the hypothesis or the reference?",
        caption="A bar is all pairs of a system's documents with their references, but for pairs of equal texts. The "
        f"dashed line is at half of them. {found.settings}",
        legend=(legend_entries(_SHARES, kind="bar"), list(_NAMES)),
    )
    return figure


def _draw(place: Any, found: Discourse, feature: str, *, names: bool) -> None:
    separations = {name: own[feature] for name, own in found.separations.items() if feature in own}
    systems = list(separations)
    left = [0.0] * len(systems)
    at = list(range(len(systems)))[::-1]  # the first system on top
    for share, style in _SHARES.items():
        widths = [100 * getattr(row, share) for row in separations.values()]
        place.barh(at, widths, left=left, color=style.colour, edgecolor=style.edge, height=0.75)
        left = [start + width for start, width in zip(left, widths, strict=True)]
    place.axvline(50, color="#333333", linewidth=0.8, linestyle="--")
    place.grid(visible=False)
    place.set_xlim(0, 100)
    place.set_yticks(at, [shorten(name or "hyps", 22) if names else "" for name in systems], fontsize=8)
    place.tick_params(axis="x", labelsize=8)
    place.set_xlabel("% of pairs", fontsize=8)
    place.set_title(feature, loc="left", fontsize=9)
