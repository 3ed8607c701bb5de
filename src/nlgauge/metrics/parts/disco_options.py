"""Options of DS-Focus, DS-Sent and DiscoScore, and what the three have in common: annotation, entities, layer."""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

from nlgauge.core.annotation import annotator_option, sentences_option
from nlgauge.core.kinds import Choice, Float, Int, NameList
from nlgauge.core.options import BY_PROFILE, option
from nlgauge.core.profiles import Profile, ProfiledMetric
from nlgauge.core.resources import LoadContext, Loaded, Resource
from nlgauge.core.tokens import TextView
from nlgauge.core.vector_metric import Representation, State, WindowTexts
from nlgauge.encoders.base import Encoder
from nlgauge.encoders.engines.static import InputVectors, WordVectors, load_word_vectors
from nlgauge.errors import RecipeError
from nlgauge.metrics.parts.citations import cite
from nlgauge.metrics.parts.foci import MENTIONS, TokenPlaces, merge_entities, noun_sentences
from nlgauge.text.annotation import AnnotatedText

#: What DS-Focus is by the released code, by the paper, and as it may be better.
FOCUS_PROFILES = {
    "released": Profile(
        threshold=0.8, mentions="surface", subwords="last", lengths="unit", distance="squared",
        unmatched="ignored",
    ),
    "paper": Profile(
        threshold=0.8, mentions="lemma", subwords="average", lengths="own", distance="norm",
        unmatched="ignored",
    ),
    "corrected": Profile(
        threshold=0.8, mentions="lemma", subwords="average", lengths="unit", distance="norm",
        unmatched="origin",
    ),
}  # fmt: skip

#: The same of DS-Sent. Threshold of the paper: that of its summaries; for translation it is 0.5 (D6.5).
SENT_PROFILES = {
    "released": Profile(
        threshold=0.5, start_token="first-sentence", sentence_lengths="unit", single_reference="twice"
    ),
    "paper": Profile(threshold=0.8, start_token="left-out", sentence_lengths="own", single_reference="graph"),
    "corrected": Profile(threshold=0.8, start_token="left-out", sentence_lengths="own", single_reference="graph"),
}

CITATION = cite("zhao-etal-2023-discoscore")


class FocusVectors(Resource):
    """Vectors of nouns by themselves, by which they are joined to entities."""

    def __init__(self) -> None:
        super().__init__("layer-0", file="a file of word vectors (GloVe, word2vec, Dep2Vec)")

    def load(self, value: str, context: LoadContext) -> Loaded:
        """The table, or the encoder's own layer 0."""
        encoder = context.corpus.encoder
        found = InputVectors(encoder) if value == "layer-0" else load_word_vectors(value)
        return Loaded(found.label, found)


def threshold_option(*, short: str = "th", of: str = "") -> Any:
    """The option that says which nouns are one entity."""
    return option(
        BY_PROFILE,
        Float(-1, 1),
        help=f"nouns whose word vectors have a cosine above it are one entity{of}",
        short=short,
    )


@dataclass(frozen=True, kw_only=True)
class DiscoMetric(ProfiledMetric[Representation]):
    """A metric of a document's foci."""

    empty_value: ClassVar[float | None] = None
    published_idf: ClassVar[str] = "none"
    citation: ClassVar[str] = CITATION

    focus: str = option(
        "nn",
        Choice("nn", "entity"),
        help="what a focus is: a noun, or nouns whose word vectors are close",
        short="fo",
        in_profile=False,
    )
    vectors: str = option(
        "layer-0",
        FocusVectors(),
        help="word vectors that make entities; layer-0: the encoder's own",
        short="ve",
        in_profile=False,
    )
    annotator: str = annotator_option()
    sentences: str = sentences_option()
    layer: int | None = option(
        None,
        Int(0, word="two-thirds"),
        help="layer whose vectors are compared; two-thirds: layer 8 of 12, as published",
        short="l",
        in_profile=False,
    )

    @property
    def unused(self) -> Mapping[str, str]:
        """Word vectors belong to entities."""
        found = dict(super().unused)
        if self.focus != "entity":
            reason = f"belongs to focus=entity, and the focus is {self.focus}"
            found |= {name: reason for name in ("threshold", "sent_threshold", "vectors") if hasattr(self, name)}
        return found

    def layers(self, encoder: Encoder) -> tuple[int, ...]:
        if self.layer is None:
            return (round(encoder.layers * 2 / 3),)
        if self.layer > encoder.layers:
            msg = f"layer must be 0 to {encoder.layers} for model {encoder.model!r}, got {self.layer}"
            raise RecipeError(msg)
        return (self.layer,)

    def run_text_models(self, texts: WindowTexts, state: State) -> None:
        """Annotate the texts of the window, each once for all recipes that read them alike."""
        key, annotator = self.annotation_key(state), state["annotator"]
        new = [
            text
            for text in dict.fromkeys([*texts.hypotheses, *texts.references])
            if key not in texts.encoded[text].text_features
        ]
        for text, found in zip(new, annotator.annotate(new), strict=True):
            texts.encoded[text].text_features[key] = found
        if self.focus == "entity" and isinstance(state["vectors"], InputVectors):
            annotated = (texts.encoded[text].text_features[key] for text in (*texts.hypotheses, *texts.references))
            state["vectors"].add({lemma for one in annotated for lemma in noun_sentences(one)})

    def annotation_key(self, state: State) -> Hashable:
        """What an annotation depends on beside the text."""
        return ("annotation", state["annotator"].label, self.sentences)

    def annotated(self, text: TextView, state: State) -> AnnotatedText:
        """What the annotator said of a text."""
        found: AnnotatedText = text.features[self.annotation_key(state)]
        return found

    def places(self, text: TextView) -> TokenPlaces:
        """Where the text's tokens stand, found once for all recipes."""
        return text.encoded.derived("token places", lambda: TokenPlaces.of(text.tokens))

    def entities(
        self, text: TextView, lemmas: tuple[str, ...], threshold: float, state: State
    ) -> Mapping[str, tuple[str, ...]]:
        """The focus of each lemma of a text, found once for all recipes that agree on it."""
        if self.focus == "nn":
            return {lemma: (lemma,) for lemma in lemmas}
        vectors: WordVectors | InputVectors = state["vectors"]
        key = ("entities", lemmas, vectors.label, threshold)
        return text.encoded.derived(key, lambda: merge_entities(lemmas, vectors, threshold))


def mentions_option() -> Any:
    """The option that says what counts as a mention."""
    return option(
        BY_PROFILE,
        Choice(*MENTIONS),
        help="what counts as a mention: a noun, by its lemma, or a word spelt as one of the text's lemmas of nouns",
        short="mn",
    )


def distance_option() -> Any:
    """The option that says what is added up over foci."""
    return option(BY_PROFILE, Choice("norm", "squared"), help="distance between the vectors of a focus", short="di")


def unmatched_option() -> Any:
    """The option that says what becomes of a focus that one side lacks."""
    return option(
        BY_PROFILE,
        Choice("ignored", "origin"),
        help="a focus that one side lacks: ignored, or at the origin there",
        short="um",
    )


def min_mentions_option() -> Any:
    """The option that leaves out what is mentioned seldom."""
    return option(1, Int(1), help="mentions in a text from which on a focus counts", short="mm", in_profile=False)


def measure_option() -> Any:
    """The option that says what the sum over foci is divided by."""
    return option(
        "precision",
        Choice("precision", "recall", "f"),
        help="what stands for the metric",
        short="me",
        in_profile=False,
    )


@dataclass(frozen=True, kw_only=True)
class FocusOptions(DiscoMetric[Representation]):
    """How mentions become vectors of foci, and what is measured between them."""

    mentions: str = mentions_option()
    subwords: str = option(BY_PROFILE, Choice("last", "average"), help="pieces of a word that are kept", short="sw")
    lengths: str = option(
        BY_PROFILE, Choice("unit", "own"), help="whether the vector of a mention is scaled to length 1", short="vl"
    )
    distance: str = distance_option()
    unmatched: str = unmatched_option()
    min_mentions: int = min_mentions_option()
    measure: str = measure_option()


@dataclass(frozen=True, kw_only=True)
class SentOptions(DiscoMetric[Representation]):
    """How sentences become a graph, and how two graphs are compared."""

    adjacency: str = option(
        "unweighted",
        Choice("unweighted", "weighted", "none"),
        help="weight between sentences that share a focus: DS-Sent-U, DS-Sent-W (by how many foci), or no graph",
        short="ad",
        in_profile=False,
    )
    match: str = option(
        "statistics",
        Choice("statistics", "greedy", "optimal"),
        help="how two sets of sentences are compared: by statistics of each, by greedy or by optimal alignment",
        short="ma",
        in_profile=False,
    )
    statistics: str = option(
        "mean+max+min+sum",
        NameList("mean", "max", "min", "sum"),
        help="what is taken over the sentences of a text",
        short="sx",
        in_profile=False,
    )
    start_token: str = option(
        BY_PROFILE,
        Choice("first-sentence", "left-out"),
        help="whether the token before a text ([CLS]) belongs to its first sentence",
        short="sk",
    )
    sentence_lengths: str = option(
        BY_PROFILE, Choice("unit", "own"), help="whether the vector of a sentence is scaled to length 1", short="sl"
    )
    single_reference: str = option(
        BY_PROFILE,
        Choice("twice", "graph"),
        help="a reference of one sentence: mean of cosines with it, counted twice, or a graph as any other",
        short="sgr",
    )

    @property
    def unused(self) -> Mapping[str, str]:
        """What belongs to graphs that are compared by statistics."""
        if self.match == "statistics":
            return super().unused
        reason = f"belongs to match=statistics, and sentences are compared by match={self.match}"
        return {**super().unused, "statistics": reason, "single_reference": reason, "sentence_lengths": reason}
