"""LC, RC and graphs of sentences: how much of a hypothesis is held together by repeated words.

What it computes
----------------

    lc              share of nouns that are mentioned more than once
    rc              mentions of these per noun
    entity-graph    sum over sentences i < j that share a noun of 1/(j-i), divided by the number of sentences
    lexical-graph   the same for sentences with nouns of similar word vectors

All look at the hypothesis alone.

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

Profile `released` is the code that came with DiscoScore, `paper` what the papers describe (D6.8, D6.9). The authors
expect higher scores for better texts. On SummEval higher scores go with worse texts (D6.16).

Relations
---------

- `lexical-chain` compares the repetitions of the hypothesis with those of the reference.
- On SummEval, Kendall's tau with human scores (average over aspects, systems) is -.46 for LC, -.49 for RC and -.22
  for `entity-graph`; printed, as absolute values: .51, .52 and .22. See docs/findings.md.

Citation
--------

LC and RC: Wong and Kit, "Extending Machine Translation Evaluation Metrics with Lexical Cohesion to Document Level",
EMNLP-CoNLL 2012. Entity graph: Guinaudeau and Strube, "Graph-based Local Coherence Modeling", ACL 2013. Lexical
graph: Mesgar and Strube, "Lexical Coherence Graph Modeling Using Word Embeddings", NAACL 2016.
"""

from __future__ import annotations

from abc import abstractmethod
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from nlgauge.core.annotation import AnnotatedTextMetric
from nlgauge.core.kinds import Choice, Float
from nlgauge.core.metric import SystemResult
from nlgauge.core.options import BY_PROFILE, option
from nlgauge.core.profiles import Profile, Profiled, profile_option
from nlgauge.core.run_options import ticked
from nlgauge.core.score import Note
from nlgauge.encoders.engines.static import WordVectors, load_word_vectors
from nlgauge.errors import RecipeError, TooLongError
from nlgauge.metrics.parts.citations import cite
from nlgauge.metrics.parts.foci import (
    NO_NOUN,
    NO_TIES,
    WordVectorFile,
    adjacency,
    focus_sentences,
    merge_entities,
    noun_sentences,
)
from nlgauge.text.annotation import AnnotatedText

#: Mentions of each focus (a lemma, or the lemmas of an entity), by the number of their sentence.
Foci: TypeAlias = Mapping[Any, Sequence[int]]

_PROFILES = {
    "released": Profile(devices="nouns", average="sentences"),
    "paper": Profile(devices="content", average="entries"),
}

_CONTENT = ("NOUN", "PROPN", "VERB", "ADJ", "ADV")
_NO_WORDS = ("PUNCT", "SYM", "SPACE")


class Devices(NamedTuple):
    """Lexical cohesion devices of a text, which are words that come again, and what they are a part of."""

    lemmas: int
    of_lemmas: int
    mentions: int
    of_mentions: int

    @property
    def cohesion(self) -> float:
        """LC; 0 for a text without words to count."""
        return self.lemmas / self.of_lemmas if self.of_lemmas else 0.0

    @property
    def repetition(self) -> float:
        """RC; 0 for a text without words to count."""
        return self.mentions / self.of_mentions if self.of_mentions else 0.0


def devices(text: AnnotatedText, words: str = "nouns") -> Devices:
    """What of a text repeats: nouns of its nouns (released), or content words of all words (paper, D6.9)."""
    if words == "nouns":
        counts = Counter({lemma: len(mentions) for lemma, mentions in noun_sentences(text).items()})
        again = [count for count in counts.values() if count > 1]
        return Devices(len(again), len(counts), sum(again), len(counts))
    every = [word for sentence in text.sentences for word in sentence.words if word.upos not in _NO_WORDS]
    content = Counter(word.lemma.lower() for word in every if word.upos in _CONTENT)
    again = [count for count in content.values() if count > 1]
    return Devices(len(again), len({word.lemma.lower() for word in every}), sum(again), len(every))


def foci_of(
    text: AnnotatedText,
    vectors: Callable[[str], NDArray[np.float32] | None] | None = None,
    threshold: float = 0.8,
) -> Foci:
    """The nouns of a text; with word vectors its entities, which are nouns of like vectors."""
    nouns = noun_sentences(text)
    return nouns if vectors is None else focus_sentences(nouns, merge_entities(nouns, vectors, threshold))


def connectivity(foci: Foci, sentences: int, *, weighted: bool = False, average: str = "entries") -> float:
    """How far foci tie sentences together: the average of the adjacency matrix (CONN); 0 without a sentence.

    >>> connectivity({"cat": (0, 2), "mat": (1, 2)}, 3), connectivity({"cat": (0, 2)}, 3, average="sentences")
    (0.16666666666666666, 0.16666666666666666)
    """
    if not sentences:
        return 0.0
    total = adjacency(foci, sentences, weighted=weighted).sum()
    return float(total / (sentences if average == "sentences" else sentences**2))


def focus_frequency(foci: Foci) -> float:
    """How often foci are mentioned that come again (FREQ); 0 where none does.

    >>> focus_frequency({"cat": (0, 0, 2), "mat": (1,), "dog": (0, 1)})
    2.5
    """
    again = [len(mentions) for mentions in foci.values() if len(mentions) > 1]
    return sum(again) / len(again) if again else 0.0


@dataclass(frozen=True, kw_only=True)
class _Cohesion(Profiled, AnnotatedTextMetric):
    """A metric of a hypothesis by itself; references are not read."""

    against: ClassVar[str] = "nothing"
    notes: ClassVar[tuple[Note, ...]] = (NO_NOUN, NO_TIES)
    profiles: ClassVar[Mapping[str, Any]] = _PROFILES
    of_ties: ClassVar[bool] = False
    """Whether it is 0 where no two sentences share a focus."""

    profile: str = profile_option("released", _PROFILES)

    @abstractmethod
    def measure(self, text: AnnotatedText) -> float | None:
        """The value of a text; None where it has nothing to measure."""

    def score_texts(self, hypotheses: Sequence[str], references: Sequence[Sequence[str]]) -> SystemResult:
        values = []
        for text in ticked(self.annotation.annotate(hypotheses)):
            try:
                values.append(self.measure(text))
            except TooLongError as error:
                error.document = text.text
                raise
        return SystemResult(
            {self.main: np.array([0.0 if value is None else value for value in values])},
            notes={
                NO_NOUN.name: tuple(i for i, value in enumerate(values) if value is None),
                NO_TIES.name: tuple(i for i, value in enumerate(values) if self.of_ties and not value),
            },
        )


@dataclass(frozen=True, kw_only=True)
class _Repetition(_Cohesion):
    """Words that come again, as part of all words of their kind."""

    citation: ClassVar[str] = cite("wong-kit-2012-extending")
    share: ClassVar[str]
    """What comes again, as part of the whole: a property of `Devices`."""

    devices: str = option(
        BY_PROFILE,
        Choice("nouns", "content"),
        help="what is counted: nouns of all nouns, by lemma, or content words of all words (D6.9)",
        short="dv",
    )

    def measure(self, text: AnnotatedText) -> float | None:
        counts = devices(text, self.devices)
        return getattr(counts, self.share) if counts.of_lemmas else None


class LC(_Repetition):
    """Lexical cohesion: how many of the words that a text uses come again."""

    name: ClassVar[str] = "lc"
    components: ClassVar[tuple[str, ...]] = ("lc",)
    main: ClassVar[str] = "lc"
    share: ClassVar[str] = "cohesion"


class RC(_Repetition):
    """Repetition: how often those words are mentioned."""

    name: ClassVar[str] = "rc"
    components: ClassVar[tuple[str, ...]] = ("rc",)
    main: ClassVar[str] = "rc"
    share: ClassVar[str] = "repetition"


@dataclass(frozen=True, kw_only=True)
class EntityGraph(_Cohesion):
    """The graph of sentences that share a noun: the nearer they stand, the more."""

    name: ClassVar[str] = "entity-graph"
    of_ties: ClassVar[bool] = True
    components: ClassVar[tuple[str, ...]] = ("connectivity",)
    main: ClassVar[str] = "connectivity"
    citation: ClassVar[str] = cite("guinaudeau-strube-2013-graph")

    average: str = option(
        BY_PROFILE,
        Choice("sentences", "entries"),
        help="what the sum over the graph is divided by: sentences, or entries of its matrix (D6.8)",
        short="av",
    )

    def foci(self, text: AnnotatedText) -> Foci:
        """What sentences can have in common."""
        return foci_of(text)

    def measure(self, text: AnnotatedText) -> float | None:
        foci = self.foci(text)
        return connectivity(foci, len(text.sentences), average=self.average) if foci else None


@dataclass(frozen=True, kw_only=True)
class LexicalGraph(EntityGraph):
    """The graph of sentences that share an entity: nouns of like word vectors."""

    name: ClassVar[str] = "lexical-graph"
    citation: ClassVar[str] = cite("mesgar-strube-2016-lexical")

    vectors: str = option(
        "none",
        WordVectorFile("none"),
        help="word vectors that make entities; they must be named",
        short="ve",
        in_profile=False,
        required=True,
    )
    threshold: float = option(0.7, Float(-1, 1), help="cosine above which two nouns are one entity", short="th")

    @property
    def word_vectors(self) -> WordVectors:
        """The file, read once."""
        if self.vectors == "none":
            msg = "lexical-graph joins nouns by word vectors, and none were given; name a file of them: vectors=FILE"
            raise RecipeError(msg)
        return load_word_vectors(self.vectors)

    def foci(self, text: AnnotatedText) -> Foci:
        return foci_of(text, self.word_vectors, self.threshold)

    def versions(self) -> dict[str, str]:
        return super().versions() | {"vectors": self.word_vectors.label}
