"""LC, RC and graphs of sentences: how much of a hypothesis holds together by words that come again.

    lc              share of nouns that are mentioned more than once (Wong and Kit 2012)
    rc              mentions of these per noun
    entity-graph    how far common nouns tie sentences together (Guinaudeau and Strube 2013)
    lexical-graph   the same by nouns of like word vectors (Mesgar and Strube 2016)

All look at the hypothesis alone. Their authors mean more to be better; on SummEval more goes with worse (D6.16).
Profile `released` is the code that came with DiscoScore, `paper` what the paper says of it (D6.8, D6.9).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

from nlgauge.annotate import AnnotatedText
from nlgauge.encoders.word_vectors import WordVectors, load_word_vectors
from nlgauge.errors import RecipeError
from nlgauge.metrics.parts.cohesion import Devices, Foci, connectivity, devices, foci_of
from nlgauge.metrics.parts.hypothesis_metric import HypothesisMetric
from nlgauge.recipes.kinds import Choice, Number
from nlgauge.recipes.options import BY_PROFILE, option
from nlgauge.recipes.profile import Profile, ProfiledTextMetric, profile_option
from nlgauge.recipes.resources import LoadContext, Loaded, Resource

__all__ = ["LC", "RC", "EntityGraph", "LexicalGraph"]


class WordVectorFile(Resource):
    """A file of word vectors; a metric without an encoder has no others."""

    def __init__(self) -> None:
        super().__init__("none", file="a file of word vectors (GloVe, word2vec, Dep2Vec)")

    def load(self, value: str, context: LoadContext) -> Loaded:
        """The table."""
        found = load_word_vectors(value)
        return Loaded(found.label, found)


_PROFILES = {
    "released": Profile(devices="nouns", average="sentences"),
    "paper": Profile(devices="content", average="entries"),
}


@dataclass(frozen=True, kw_only=True)
class _Cohesion(HypothesisMetric, ProfiledTextMetric):
    """What the four share."""

    profiles: ClassVar[Mapping[str, Any]] = _PROFILES

    profile: str = profile_option("released", _PROFILES)


@dataclass(frozen=True, kw_only=True)
class _Repetition(_Cohesion):
    """Words that come again, as part of all words of their kind."""

    citation: ClassVar[str] = """\
@inproceedings{wong-kit-2012-extending,
  title     = {Extending Machine Translation Evaluation Metrics with Lexical Cohesion to Document Level},
  author    = {Wong, Billy T. M. and Kit, Chunyu},
  booktitle = {Proceedings of EMNLP-CoNLL},
  year      = {2012},
  url       = {https://aclanthology.org/D12-1097}
}"""

    devices: str = option(
        BY_PROFILE,
        Choice("nouns", "content"),
        help="what is counted: nouns of all nouns, by lemma, or content words of all words (D6.9)",
        short="dv",
    )

    def counted(self, text: AnnotatedText) -> Devices | None:
        """What comes again; None where there is nothing to count."""
        found = devices(text, "nouns" if self.devices == "nouns" else "content")
        return found if found.of_lemmas else None


class LC(_Repetition):
    """Lexical cohesion: how many of the words that a text uses come again."""

    name: ClassVar[str] = "lc"
    components: ClassVar[tuple[str, ...]] = ("lc",)
    main: ClassVar[str] = "lc"

    def measure(self, text: AnnotatedText) -> float | None:
        found = self.counted(text)
        return None if found is None else found.cohesion


class RC(_Repetition):
    """Repetition: how often those words are mentioned."""

    name: ClassVar[str] = "rc"
    components: ClassVar[tuple[str, ...]] = ("rc",)
    main: ClassVar[str] = "rc"

    def measure(self, text: AnnotatedText) -> float | None:
        found = self.counted(text)
        return None if found is None else found.repetition


@dataclass(frozen=True, kw_only=True)
class EntityGraph(_Cohesion):
    """The graph of sentences that share a noun: the nearer they stand, the more."""

    name: ClassVar[str] = "entity-graph"
    of_ties: ClassVar[bool] = True
    components: ClassVar[tuple[str, ...]] = ("connectivity",)
    main: ClassVar[str] = "connectivity"
    citation: ClassVar[str] = """\
@inproceedings{guinaudeau-strube-2013-graph,
  title     = {Graph-based Local Coherence Modeling},
  author    = {Guinaudeau, Camille and Strube, Michael},
  booktitle = {Proceedings of the 51st Annual Meeting of the Association for Computational Linguistics},
  year      = {2013},
  url       = {https://aclanthology.org/P13-1010}
}"""

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
        average = "sentences" if self.average == "sentences" else "entries"
        return connectivity(foci, len(text.sentences), average=average) if foci else None  # type: ignore[arg-type]


@dataclass(frozen=True, kw_only=True)
class LexicalGraph(EntityGraph):
    """The graph of sentences that share an entity: nouns of like word vectors."""

    name: ClassVar[str] = "lexical-graph"
    citation: ClassVar[str] = """\
@inproceedings{mesgar-strube-2016-lexical,
  title     = {Lexical Coherence Graph Modeling Using Word Embeddings},
  author    = {Mesgar, Mohsen and Strube, Michael},
  booktitle = {Proceedings of NAACL-HLT},
  year      = {2016},
  url       = {https://aclanthology.org/N16-1167}
}"""

    vectors: str = option(
        "none",
        WordVectorFile(),
        help="word vectors that make entities; they must be named",
        short="ve",
        in_profile=False,
        required=True,
    )
    threshold: float = option(0.7, Number(-1, 1), help="cosine above which two nouns are one entity", short="th")

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
