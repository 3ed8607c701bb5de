"""LC, RC and sentence graphs: how strongly repeated words connect the sentences of a hypothesis.

What it computes
----------------

    lc              share of nouns that are mentioned more than once
    rc              mentions of these nouns, per noun
    entity-graph    sum over sentences i < j that share a noun of 1/(j-i), divided by the number of sentences
    lexical-graph   the same for sentences with nouns of similar word vectors

All read the hypothesis only.

Worked example
--------------

The hypothesis has the nouns cat (twice) and dog: LC is 1 of 2 nouns, RC 2 mentions for 2 nouns. Its two sentences
share the cat, which makes an edge of weight 1 for two sentences.

    >>> from nlgauge.testing import toy_scores
    >>> text = "cat:N ran . | cat:N dog:N ran ."
    >>> [toy_scores(metric, text, text, tagged=True) for metric in ("lc", "rc", "entity-graph")]
    [{'lc': [0.5]}, {'rc': [1.0]}, {'connectivity': [0.5]}]

Profiles and deviations
-----------------------

Profile `released` is the code released with DiscoScore, `paper` follows the papers (D6.8, D6.9). The authors expect
higher scores for better texts. On SummEval, texts with higher scores are worse (D6.16).

Relations
---------

- `lexical-chain` compares the repetitions of the hypothesis with those of the reference.
- On SummEval, Kendall's tau with human scores (average over aspects, systems) is -.46 for LC, -.49 for RC and -.22
  for `entity-graph`; printed, as absolute values: .51, .52 and .22. See docs/findings.

Citation
--------

LC and RC: Wong and Kit, "Extending Machine Translation Evaluation Metrics with Lexical Cohesion to Document Level",
EMNLP-CoNLL 2012. Entity graph: Guinaudeau and Strube, "Graph-based Local Coherence Modeling", ACL 2013. Lexical
graph: Mesgar and Strube, "Lexical Coherence Graph Modeling Using Word Embeddings", NAACL 2016.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar, NamedTuple

from nlgauge.core.annotation import AnnotatedTextMetric
from nlgauge.core.kinds import Choice, Float
from nlgauge.core.metric import Profile, SystemResult, profile_option
from nlgauge.core.options import BY_PROFILE, option
from nlgauge.core.score import Note
from nlgauge.encoders.engines.static import WordVectors, load_word_vectors
from nlgauge.errors import RecipeError
from nlgauge.metrics.parts import cite
from nlgauge.metrics.parts.foci import (
    NO_NOUN,
    NO_TIES,
    Foci,
    WordVectorFile,
    adjacency,
    find_foci,
    noun_sentences,
    score_each,
)
from nlgauge.text.annotation import AnnotatedText

_PROFILES = {
    "released": Profile(devices="nouns", average="sentences"),
    "paper": Profile(devices="content", average="entries"),
}

_CONTENT = ("NOUN", "PROPN", "VERB", "ADJ", "ADV")
_NO_WORDS = ("PUNCT", "SYM", "SPACE")


class Devices(NamedTuple):
    """Counts of the lexical cohesion devices (repeated words) of a text, and of all its words."""

    lemmas: int
    of_lemmas: int
    mentions: int
    of_mentions: int

    @property
    def cohesion(self) -> float:
        """LC; 0 if there are no words to count."""
        return self.lemmas / self.of_lemmas if self.of_lemmas else 0.0

    @property
    def repetition(self) -> float:
        """RC; 0 if there are no words to count."""
        return self.mentions / self.of_mentions if self.of_mentions else 0.0


def count_devices(text: AnnotatedText, words: str = "nouns") -> Devices:
    """Count repeated nouns out of all nouns (released), or repeated content words out of all words (paper, D6.9)."""
    if words == "nouns":
        counts = Counter({lemma: len(mentions) for lemma, mentions in noun_sentences(text).items()})
        repeated = [count for count in counts.values() if count > 1]
        return Devices(len(repeated), len(counts), sum(repeated), len(counts))
    every = [word for sentence in text.sentences for word in sentence.words if word.upos not in _NO_WORDS]
    content = Counter(word.lemma.lower() for word in every if word.upos in _CONTENT)
    repeated = [count for count in content.values() if count > 1]
    return Devices(len(repeated), len({word.lemma.lower() for word in every}), sum(repeated), len(every))


def connectivity(foci: Foci, sentences: int, *, weighted: bool = False, average: str = "entries") -> float:
    """Average of the adjacency matrix of the sentences (CONN); 0 for a text without sentences.

    >>> connectivity({"cat": (0, 2), "mat": (1, 2)}, 3), connectivity({"cat": (0, 2)}, 3, average="sentences")
    (0.16666666666666666, 0.16666666666666666)
    """
    if not sentences:
        return 0.0
    total = adjacency(foci, sentences, weighted=weighted).sum()
    return float(total / (sentences if average == "sentences" else sentences**2))


@dataclass(frozen=True, kw_only=True)
class LC(AnnotatedTextMetric):
    """Lexical cohesion: share of the nouns of a text that are repeated."""

    name: ClassVar[str] = "lc"
    title: ClassVar[str] = "LC"
    components: ClassVar[tuple[str, ...]] = ("lc",)
    main: ClassVar[str] = "lc"
    against: ClassVar[str] = "nothing"
    notes: ClassVar[tuple[Note, ...]] = (NO_NOUN, NO_TIES)
    profiles: ClassVar[Mapping[str, Profile]] = _PROFILES
    citation: ClassVar[str] = cite("wong-kit-2012-extending")

    profile: str = profile_option("released", _PROFILES)
    devices: str = option(
        BY_PROFILE,
        Choice("nouns", "content"),
        help="words to count; nouns: out of all nouns, by lemma; content: content words out of all words",
    )

    def score_texts(self, hypotheses: Sequence[str], references: Sequence[Sequence[str]]) -> SystemResult:
        def lc(text: AnnotatedText) -> float | None:
            counts = count_devices(text, self.devices)
            return counts.cohesion if counts.of_lemmas else None

        return score_each(self, hypotheses, lc)


@dataclass(frozen=True, kw_only=True)
class RC(AnnotatedTextMetric):
    """Repetition: mentions of repeated nouns per noun."""

    name: ClassVar[str] = "rc"
    title: ClassVar[str] = "RC"
    components: ClassVar[tuple[str, ...]] = ("rc",)
    main: ClassVar[str] = "rc"
    against: ClassVar[str] = "nothing"
    notes: ClassVar[tuple[Note, ...]] = LC.notes
    profiles: ClassVar[Mapping[str, Profile]] = _PROFILES
    citation: ClassVar[str] = LC.citation

    profile: str = profile_option("released", _PROFILES)
    devices: str = LC.same_option("devices")

    def score_texts(self, hypotheses: Sequence[str], references: Sequence[Sequence[str]]) -> SystemResult:
        def rc(text: AnnotatedText) -> float | None:
            counts = count_devices(text, self.devices)
            return counts.repetition if counts.of_lemmas else None

        return score_each(self, hypotheses, rc)


@dataclass(frozen=True, kw_only=True)
class EntityGraph(AnnotatedTextMetric):
    """Coherence as a graph of sentences linked by shared nouns; closer sentences count more."""

    name: ClassVar[str] = "entity-graph"
    title: ClassVar[str] = "Entity Graph"
    components: ClassVar[tuple[str, ...]] = ("connectivity",)
    main: ClassVar[str] = "connectivity"
    against: ClassVar[str] = "nothing"
    notes: ClassVar[tuple[Note, ...]] = LC.notes
    profiles: ClassVar[Mapping[str, Profile]] = _PROFILES
    citation: ClassVar[str] = cite("guinaudeau-strube-2013-graph")

    profile: str = profile_option("released", _PROFILES)
    average: str = option(
        BY_PROFILE,
        Choice("sentences", "entries"),
        help="divisor of the sum over the graph: number of sentences, or of matrix entries",
    )

    def score_texts(self, hypotheses: Sequence[str], references: Sequence[Sequence[str]]) -> SystemResult:
        def conn(text: AnnotatedText) -> float | None:
            foci = find_foci(text)
            return connectivity(foci, len(text.sentences), average=self.average) if foci else None

        return score_each(self, hypotheses, conn, of_ties=True)


@dataclass(frozen=True, kw_only=True)
class LexicalGraph(AnnotatedTextMetric):
    """Coherence as a graph of sentences linked by nouns with similar word vectors."""

    name: ClassVar[str] = "lexical-graph"
    title: ClassVar[str] = "Lexical Graph"
    components: ClassVar[tuple[str, ...]] = EntityGraph.components
    main: ClassVar[str] = EntityGraph.main
    against: ClassVar[str] = "nothing"
    notes: ClassVar[tuple[Note, ...]] = LC.notes
    profiles: ClassVar[Mapping[str, Profile]] = _PROFILES
    citation: ClassVar[str] = cite("mesgar-strube-2016-lexical")

    profile: str = profile_option("released", _PROFILES)
    vectors: str = option(
        "none",
        WordVectorFile("none"),
        help="word vectors used to find entities (required)",
        in_profile=False,
        required=True,
    )
    threshold: float = option(0.7, Float(-1, 1), help="cosine above which two nouns belong to one entity")
    average: str = EntityGraph.same_option("average")

    @property
    def word_vectors(self) -> WordVectors:
        """The word vectors of the file, which is read once."""
        if self.vectors == "none":
            msg = "lexical-graph needs word vectors; set lexical-graph:vectors=FILE"
            raise RecipeError(msg)
        return load_word_vectors(self.vectors)

    def score_texts(self, hypotheses: Sequence[str], references: Sequence[Sequence[str]]) -> SystemResult:
        def conn(text: AnnotatedText) -> float | None:
            foci = find_foci(text, self.word_vectors, self.threshold)
            return connectivity(foci, len(text.sentences), average=self.average) if foci else None

        return score_each(self, hypotheses, conn, of_ties=True)

    def versions(self) -> dict[str, str]:
        return super().versions() | {"vectors": self.word_vectors.label}
