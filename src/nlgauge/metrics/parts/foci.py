"""Foci of a text, their mentions, and the graph of sentences that share them
(Zhao, Strube, Eger, "DiscoScore: Evaluating Text Generation with BERT and Discourse Coherence", EACL 2023).

A *focus* is a noun, identified by its lemma, or an entity: a set of nouns with similar word vectors. Its *mentions*
are found in the text and mapped to the model's tokens. Sentences that share a focus are connected; closer sentences
have a larger weight:

    A_ij = 1 / (j - i)   unweighted        A_ij = a / (j - i)   weighted, a foci shared        for i < j, else 0

`DiscoMetric` is the base of DS-Focus, DS-Sent and DiscoScore: annotation, entities, layer.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from nlgauge.core.annotation import AnnotatedTextMetric
from nlgauge.core.kinds import Choice, Float, Int
from nlgauge.core.metric import SystemResult
from nlgauge.core.options import BY_PROFILE, option
from nlgauge.core.resources import LoadContext, Loaded, Resource
from nlgauge.core.run_options import report_progress
from nlgauge.core.score import Note, declare_note
from nlgauge.core.tokens import TextView
from nlgauge.core.vector_metric import Representation, State, VectorMetric, WindowTexts, resolve_layer
from nlgauge.encoders.base import Encoder
from nlgauge.encoders.engines.static import InputVectors, WordVectors, load_word_vectors
from nlgauge.errors import NoFocusWarning, NoNounWarning, TooLongError
from nlgauge.metrics.parts import cite
from nlgauge.text.annotation import AnnotatedText
from nlgauge.text.tokenizer import Tokens
from nlgauge.vectors.cloud import ORIGIN, Flow, PointSpans, unit_rows
from nlgauge.vectors.transport import check_size, squared_distances

#: Notes of noun-based metrics.
NO_NOUN = declare_note(
    Note(
        "no_noun",
        "segments with a text without nouns, scored 0 by noun-based metrics",
        "a text has no nouns; {metric} is 0 there",
        "a text has no nouns, so noun-based metrics give 0",
        NoNounWarning,
    )
)
NO_FOCUS = declare_note(
    Note(
        "no_focus",
        "segments without a focus common with a reference",
        "the hypothesis shares no focus with any reference",
        "the texts share no focus",
        NoFocusWarning,
    )
)
NO_TIES = declare_note(
    Note(  # usual in short texts, so there is no warning
        "no_ties",
        "segments with a text in which no two sentences share a focus",
        "a text has no two sentences that share a focus",
        "a text has no two sentences that share a focus",
    )
)


def describe_no_focus(unmatched: str) -> str:
    """The warning about segments without a common focus, by the option `unmatched`."""
    what = (
        "the distance is 0 there, the best value"
        if unmatched == "ignored"
        else "each focus is compared with a zero vector"
    )
    return f"{NO_FOCUS.message}; {what} (unmatched={unmatched})"


#: How mentions are identified: by the lemma that the annotator gave to a noun, or by their spelling (D6.2).
MENTIONS = ("lemma", "surface")

#: Sentence numbers of the mentions of each focus (a lemma, or the lemmas of an entity).
Foci: TypeAlias = Mapping[Any, Sequence[int]]

#: A focus is identified by the lemmas of its nouns.
Entity: TypeAlias = tuple[str, ...]

#: Rows of the cosine matrix computed at once, so memory does not grow with the square of the number of words.
_BLOCK = 512


class Mention(NamedTuple):
    """A noun at its place in a text."""

    lemma: str
    """In lower case."""
    sentence: int
    start: int
    end: int
    """Offset after its last character."""


def find_mentions(text: AnnotatedText, rule: str) -> list[Mention]:
    """The mentions of a text's nouns, in order.

    `surface` is the released code's rule: a run of characters between blanks is a mention if it is spelt like the
    lemma of a noun of the text. It misses plurals and words before a comma, and includes verbs spelt like a noun.
    """
    if rule == "lemma":
        return [
            Mention(word.lemma.lower(), sentence, word.start, word.end)
            for sentence, word in text.nouns()
            if word.end > word.start
        ]
    lemmas = {word.lemma.lower() for _, word in text.nouns()}
    starts = [sentence.start for sentence in text.sentences]
    return [
        Mention(word, max(bisect_right(starts, match.start()) - 1, 0), match.start(), match.end())
        for match in re.finditer(r"\S+", text.text)
        if (word := match[0].lower()) in lemmas
    ]


@dataclass(frozen=True, eq=False)
class TokenOffsets:
    """Character offsets of the tokens of a text, in order, without special tokens."""

    rows: NDArray[np.intp]
    """Indices of these tokens among all tokens."""
    starts: NDArray[np.int32]
    ends: NDArray[np.int32]

    @classmethod
    def of(cls, tokens: Tokens) -> TokenOffsets:
        """The offsets of all tokens that cover a character."""
        offsets = tokens.offsets
        rows = np.flatnonzero(~tokens.is_special & (offsets[:, 1] > offsets[:, 0]))
        return cls(rows, offsets[rows, 0], offsets[rows, 1])

    def spans_of(self, mentions: Sequence[Mention]) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
        """For each mention the index in `rows` of its first token, and the index after its last.

        Both are equal if a mention has no token: it was cut off, or it is not in the table of word vectors.
        """
        spans = np.array([(mention.start, mention.end) for mention in mentions], dtype=np.int32).reshape(-1, 2)
        first = np.searchsorted(self.ends, spans[:, 0], side="right")
        stop = np.searchsorted(self.starts, spans[:, 1], side="left")
        return first, np.maximum(first, stop)

    def sentences_in(self, text: AnnotatedText) -> NDArray[np.intp]:
        """The number of each token's sentence: the last one that starts before the token ends."""
        starts = np.array([sentence.start for sentence in text.sentences], dtype=np.int32)
        return np.maximum(np.searchsorted(starts, self.ends - 1, side="right") - 1, 0)


def find_token_offsets(text: TextView) -> TokenOffsets:
    """The token offsets of a text, for `TextView.once`."""
    return TokenOffsets.of(text.tokens)


def sum_runs(vectors: NDArray[np.float32], first: NDArray[np.intp], stop: NDArray[np.intp]) -> NDArray[np.float32]:
    """Sum the rows of each run; no run is empty.

    >>> sum_runs(np.eye(3, dtype=np.float32), np.array([0, 1]), np.array([2, 3])).tolist()
    [[1.0, 1.0, 0.0], [0.0, 1.0, 1.0]]
    """
    if not len(first):
        return np.zeros((0, vectors.shape[1]), dtype=np.float32)
    sizes = stop - first
    begins = np.cumsum(sizes) - sizes
    rows = np.arange(int(sizes.sum())) - np.repeat(begins - first, sizes)
    sums: NDArray[np.float32] = np.add.reduceat(vectors[rows], begins, axis=0)
    return sums


@dataclass(frozen=True, eq=False)
class FocusTable:
    """The foci of a text, with one row each."""

    rows: Mapping[Entity, int]
    vectors: NDArray[np.float32]
    mentions: Sequence[Mention]
    focus_of: NDArray[np.intp]
    """The row of each mention."""

    def __len__(self) -> int:
        return len(self.rows)

    def common(self, other: FocusTable) -> NDArray[np.intp]:
        """Rows of the common foci in both tables; an entity matches only an entity of the same nouns."""
        rows = [(row, other.rows[entity]) for entity, row in self.rows.items() if entity in other.rows]
        return np.array(rows, dtype=np.intp).reshape(-1, 2).T

    def labels(self) -> tuple[str, ...]:
        """The foci as text."""
        return tuple(" / ".join(entity) for entity in self.rows)

    def spans(self) -> tuple[PointSpans, ...]:
        """Character spans of the mentions of each focus."""
        spans: list[list[tuple[int, int]]] = [[] for _ in self.rows]
        for row, mention in zip(self.focus_of.tolist(), self.mentions, strict=True):
            spans[row].append((mention.start, mention.end))
        return tuple(map(tuple, spans))

    def flow(self, other: FocusTable, *, squared: bool, origin: bool) -> Flow | None:
        """The matched foci as a flow, each with an equal share; None if nothing was matched.

        With `origin`, a focus of one side only moves to an extra point without a span.
        """
        rows, columns = self.common(other)
        if not len(rows) and not (origin and (len(self) or len(other))):
            return None
        x, y = (np.pad(side.vectors.astype(np.float64), ((0, origin), (0, 0))) for side in (self, other))
        flow, parts = np.zeros((len(x), len(y))), len(self)
        flow[rows, columns] = 1
        if origin:
            rows_only, columns_only = (
                np.setdiff1d(np.arange(len(side)), common) for side, common in ((self, rows), (other, columns))
            )
            flow[rows_only, -1] = flow[-1, columns_only] = 1
            parts = len(rows) + len(rows_only) + len(columns_only)
        flow /= parts
        cost = squared_distances(x, y)
        return Flow(
            reference_index=0,
            hypothesis_tokens=self.labels() + (ORIGIN,) * origin,
            reference_tokens=other.labels() + (ORIGIN,) * origin,
            hypothesis_weight=flow.sum(axis=1),
            reference_weight=flow.sum(axis=0),
            flow=flow,
            cost=cost if squared else np.sqrt(cost),
            hypothesis_spans=self.spans() + ((),) * origin,
            reference_spans=other.spans() + ((),) * origin,
        )


def noun_sentences(text: AnnotatedText) -> dict[str, tuple[int, ...]]:
    """Sentence number of each mention of each noun, by lemma in lower case, in order of first mention."""
    sentences: dict[str, list[int]] = {}
    for sentence, word in text.nouns():
        sentences.setdefault(word.lemma.lower(), []).append(sentence)
    return {lemma: tuple(numbers) for lemma, numbers in sentences.items()}


def merge_entities(
    lemmas: Iterable[str], vectors: Callable[[str], NDArray[np.float32] | None], threshold: float
) -> dict[str, tuple[str, ...]]:
    """The entity of each lemma: the sorted lemmas connected to it by cosines above the threshold, also indirectly.

    A lemma without a vector is an entity by itself. Entities are tuples, because the released code's separator "-"
    can be part of a lemma ("well-being").

    >>> vectors = {"car": np.float32([1, 0]), "bus": np.float32([1, 0.1]), "sky": np.float32([0, 1])}
    >>> merge_entities(["car", "sky", "bus", "it"], vectors.get, 0.8)
    {'car': ('bus', 'car'), 'sky': ('sky',), 'bus': ('bus', 'car'), 'it': ('it',)}
    """
    names = list(dict.fromkeys(lemmas))
    entities: dict[str, tuple[str, ...]] = {name: (name,) for name in names}
    table = {name: vector for name in names if (vector := vectors(name)) is not None}
    if len(table) < 2:
        return entities
    from scipy.sparse import csr_array, vstack
    from scipy.sparse.csgraph import connected_components

    with_vectors, unit = list(table), unit_rows(np.stack(list(table.values())))
    blocks = (unit[start : start + _BLOCK] @ unit.T > threshold for start in range(0, len(with_vectors), _BLOCK))
    _, labels = connected_components(vstack([csr_array(block) for block in blocks]), directed=False)
    members: dict[int, list[str]] = {}
    for name, label in zip(with_vectors, labels.tolist(), strict=True):
        members.setdefault(label, []).append(name)
    for group in members.values():
        entities |= dict.fromkeys(group, tuple(sorted(group)))
    return entities


def focus_sentences(
    nouns: Mapping[str, Sequence[int]], entities: Mapping[str, tuple[str, ...]]
) -> dict[tuple[str, ...], tuple[int, ...]]:
    """Sentence number of each mention of each entity, that is, of all its members, in order.

    >>> focus_sentences({"car": (0, 2), "bus": (1,)}, {"car": ("bus", "car"), "bus": ("bus", "car")})
    {('bus', 'car'): (0, 1, 2)}
    """
    sentences: dict[tuple[str, ...], list[int]] = {}
    for lemma, numbers in nouns.items():
        sentences.setdefault(entities[lemma], []).extend(numbers)
    return {entity: tuple(sorted(numbers)) for entity, numbers in sentences.items()}


def find_foci(
    text: AnnotatedText,
    vectors: Callable[[str], NDArray[np.float32] | None] | None = None,
    threshold: float = 0.8,
) -> Foci:
    """The nouns of a text, or with word vectors its entities."""
    nouns = noun_sentences(text)
    return nouns if vectors is None else focus_sentences(nouns, merge_entities(nouns, vectors, threshold))


def adjacency(foci_sentences: Foci, sentences: int, *, weighted: bool) -> NDArray[np.float64]:
    """The adjacency matrix of the sentences; 0 on and below the diagonal.

    >>> adjacency({"cat": (0, 0, 2), "mat": (0, 1, 2)}, 3, weighted=False)
    array([[0. , 1. , 0.5],
           [0. , 0. , 1. ],
           [0. , 0. , 0. ]])
    >>> adjacency({"cat": (0, 0, 2), "mat": (0, 1, 2)}, 3, weighted=True)[0]
    array([0., 1., 1.])
    """
    check_size(sentences, sentences, what="a graph of sentences", instead="split the document")
    shared: NDArray[np.float64] = np.zeros((sentences, sentences))
    for numbers in foci_sentences.values():
        distinct = sorted(set(numbers))
        if len(distinct) > 1:
            shared[np.ix_(distinct, distinct)] += 1
    shared = np.triu(shared, k=1)
    if not weighted:
        shared = np.minimum(shared, 1)
    index = np.arange(sentences)
    shared /= np.maximum(index[None, :] - index[:, None], 1)
    return shared


def score_each(
    metric: AnnotatedTextMetric,
    hypotheses: Sequence[str],
    measure: Callable[[AnnotatedText], float | None],
    *,
    of_ties: bool = False,
) -> SystemResult:
    """Score each hypothesis with `measure`; None, for a text with nothing to measure, counts as 0.

    `of_ties`: a measure of 0 means that no two sentences share a focus.
    """
    values = []
    for text in report_progress(metric.annotation.annotate(hypotheses)):
        try:
            values.append(measure(text))
        except TooLongError as error:
            error.document = text.text
            raise
    return SystemResult(
        {metric.main: np.array([0.0 if value is None else value for value in values])},
        notes={
            NO_NOUN.name: tuple(i for i, value in enumerate(values) if value is None),
            NO_TIES.name: tuple(i for i, value in enumerate(values) if of_ties and not value),
        },
    )


class WordVectorFile(Resource):
    """Word vectors that join nouns to entities; `word` is the choice other than a file."""

    def __init__(self, word: str) -> None:
        super().__init__(word, file="a file of word vectors (GloVe, word2vec, Dep2Vec)")

    def load(self, value: str, context: LoadContext) -> Loaded:
        """The table of the file, or layer 0 of the encoder."""
        vectors = InputVectors(context.corpus.encoder) if value == "layer-0" else load_word_vectors(value)
        return Loaded(vectors.label, vectors)


def threshold_option(*, of: str = "") -> Any:
    """The option for the cosine above which nouns are one entity."""
    return option(
        BY_PROFILE,
        Float(-1, 1),
        help=f"cosine above which two nouns belong to one entity{of}",
    )


def focus_option() -> Any:
    """The option for the kind of focus."""
    return option(
        "nn",
        Choice("nn", "entity"),
        help="what a focus is; nn: a noun; entity: nouns with similar word vectors",
        in_profile=False,
    )


def vectors_option() -> Any:
    """The option for the word vectors of entities."""
    return option(
        "layer-0",
        WordVectorFile("layer-0"),
        help="word vectors used to find entities; layer-0: the encoder's own",
        in_profile=False,
    )


def layer_option() -> Any:
    """The option for the layer of DS-Focus and DS-Sent."""
    return option(
        None,
        Int(0, word="two-thirds"),
        help="model layer; two-thirds: layer 8 of 12, as published",
        in_profile=False,
    )


@dataclass(frozen=True, kw_only=True)
class DiscoMetric(VectorMetric[Representation]):
    """A metric of a document's foci."""

    empty_value: ClassVar[float | None] = None

    def describe_empty(self) -> str:
        return ""  # a note has it: a text without foci

    citation: ClassVar[str] = cite("zhao-etal-2023-discoscore")

    if TYPE_CHECKING:  # options of each of the metrics
        focus: str
        vectors: str
        annotator: str
        sentences: str
        layer: int | None

    @property
    def unused(self) -> Mapping[str, str]:
        """Word vectors and thresholds apply to entities only."""
        if self.focus == "entity":
            return super().unused
        names = [name for name in ("threshold", "sent_threshold", "vectors") if name in self.options()]
        reason = f"has no effect with focus={self.focus} (only with focus=entity)"
        return dict(super().unused) | dict.fromkeys(names, reason)

    def layers(self, encoder: Encoder) -> tuple[int, ...]:
        if self.layer is None:
            return (round(encoder.layers * 2 / 3),)
        return (resolve_layer(self.layer, encoder),)

    def run_text_models(self, texts: WindowTexts, state: State) -> None:
        """Annotate the texts of the window, each once for all recipes with the same annotator and sentence rule."""
        key, annotator = self.annotation_key(state), state["annotator"]
        new = [
            text
            for text in dict.fromkeys([*texts.hypotheses, *texts.references])
            if key not in texts.encoded[text].text_features
        ]
        for text, annotation in zip(new, annotator.annotate(new), strict=True):
            texts.encoded[text].text_features[key] = annotation
        if self.focus == "entity" and isinstance(state["vectors"], InputVectors):
            annotated = (texts.encoded[text].text_features[key] for text in (*texts.hypotheses, *texts.references))
            state["vectors"].add({lemma for annotation in annotated for lemma in noun_sentences(annotation)})

    def annotation_key(self, state: State) -> Hashable:
        """What an annotation depends on besides the text; its key in `TextView.features`."""
        return ("annotation", state["annotator"].label, self.sentences)

    def entities(
        self, text: TextView, lemmas: tuple[str, ...], threshold: float, state: State
    ) -> Mapping[str, Entity]:
        """The focus of each lemma of a text, computed once for all recipes with equal settings."""
        if self.focus == "nn":
            return {lemma: (lemma,) for lemma in lemmas}
        vectors: WordVectors | InputVectors = state["vectors"]
        key = ("entities", lemmas, vectors.label, threshold)
        return text.encoded.derived(key, lambda: merge_entities(lemmas, vectors, threshold))
