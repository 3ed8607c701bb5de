"""Files and models named by options: how they are loaded, and their digest in a signature.

    idf=corpus.idf     -> idf:file[1f0c2e5a9b77]          stopwords=spacy-en -> stopwords:spacy-en[7cc4e04e0b0d]
    sentence=muse      -> sentence:muse[90b7d4d2b0d5]     transforms=clp.npz -> transforms:clp[ab12cd34ef56]

A signature has the digest of a file. To reproduce a score, its path must be given again.

Models of whole texts (sentence vectors, fluency by a language model) process the distinct texts of a window at once.
Their results are stored with the encoded tokens of a text.
"""

from __future__ import annotations

import re
from abc import abstractmethod
from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

from nlgauge.core.kinds import Kind, as_text, joined_by_or
from nlgauge.core.options import option
from nlgauge.core.run_options import RunOptions
from nlgauge.core.tokens import TextView, TokenizedCorpus, idf_tables
from nlgauge.encoders.base import vectors_digest
from nlgauge.io.storage import short_digest
from nlgauge.text.windows import Reading
from nlgauge.text.words import load_stopwords
from nlgauge.vectors.cloud import unit_rows
from nlgauge.vectors.remap import Side
from nlgauge.vectors.transforms import FIXED_NORMS, POSITION_NORM, Transforms, load_transforms

if TYPE_CHECKING:
    from nlgauge.core.vector_metric import VectorMetric, WindowTexts
    from nlgauge.encoders.language_model import LanguageModel
    from nlgauge.encoders.sentences import SentenceEncoder

__all__ = [
    "IdfChoice",
    "LanguageModelName",
    "LoadContext",
    "Loaded",
    "Resource",
    "SentenceModelName",
    "StopwordList",
    "TransformFiles",
    "idf_option",
]


@dataclass(frozen=True, eq=False)
class LoadContext:
    """The context in which the files and models of a recipe are loaded."""

    metric: VectorMetric[Any]
    corpus: TokenizedCorpus
    layers: tuple[int, ...]
    options: RunOptions


class Loaded(NamedTuple):
    """The loaded value of an option, and its label in a signature."""

    label: str
    content: Any
    engine: str = ""
    """For a model, its engine with the version; `NAME_engine` in the signature."""


class Resource(Kind):
    """A file or a model, or a word for one."""

    has_engine: ClassVar[bool] = False
    """Whether it is a model that runs in an engine."""

    def __init__(self, *words: str, file: str = "") -> None:
        self.words = words
        self.file = file
        """Description of the accepted files, and the command that makes one."""

    @property
    def values(self) -> str:
        """The accepted words and files."""
        return joined_by_or([*self.words, *([self.file] if self.file else [])])

    def check(self, value: Any) -> str:
        """A word or a path."""
        text = as_text(value)
        if not text or (not self.file and text not in self.words):
            raise ValueError
        return text

    def read(self, name: str, text: str) -> dict[str, str]:
        """The value without the digest; `file` if the signature has only a file's digest."""
        return {name: text.partition("[")[0]}

    @abstractmethod
    def load(self, value: str, context: LoadContext) -> Loaded:
        """Load the value and check that it fits the run."""


class IdfChoice(Resource):
    """The idf tables that weight tokens."""

    def load(self, value: str, context: LoadContext) -> Loaded:
        """Count the tables on the corpus, or read them."""
        tables = idf_tables(value, context.corpus)
        return Loaded(tables.label, tables)


def idf_option(default: Any) -> Any:
    """The option for idf weights of tokens."""
    kind = IdfChoice("none", "refs", "both", file="a file made by 'nlgauge build idf'")
    return option(
        default,
        kind,
        help="idf weights of tokens; none: equal weights; both: each side by its own counts",
    )


class StopwordList(Resource):
    """A list of words to drop."""

    def __init__(self) -> None:
        names = ("nltk153-en", "nltk179-en", "goto456-zh", "alir3z4-LANG")
        super().__init__("none", "spacy-LANG", "iso-LANG", "nltk-LANG", *names, file="a file of words")

    def load(self, value: str, context: LoadContext) -> Loaded:
        """The words."""
        words = load_stopwords(value)
        return Loaded(words.label, words)


class SentenceModelName(Resource):
    """A model of sentence vectors; default: the model of the tokens."""

    has_engine: ClassVar[bool] = True

    def __init__(self) -> None:
        super().__init__(file="a model of sentence vectors")

    def check(self, value: Any) -> str:
        """A name, or nothing."""
        return as_text(value)

    def load(self, value: str, context: LoadContext) -> Loaded:
        """The model."""
        from nlgauge.encoders.sentences import load_sentence_encoder

        windows = context.corpus.windows
        # As resolved for the signature, so the recipe read from the signature is the same.
        reading = context.metric.reading if windows is None else Reading(windows.size, windows.stride)
        model = load_sentence_encoder(value or context.metric.model, **context.options.loading, reading=reading)
        return Loaded(f"{model.name}[{short_digest(model.digest)}]", model, model.engine)


class LanguageModelName(Resource):
    """A causal language model."""

    has_engine: ClassVar[bool] = True

    def __init__(self) -> None:
        super().__init__("none", file="a language model by name or folder, or a .gguf file")

    def load(self, value: str, context: LoadContext) -> Loaded:
        """The model, or None."""
        if value == "none":
            return Loaded("none", None)
        from nlgauge.encoders.language_model import load_language_model

        loading = {name: value for name, value in context.options.loading.items() if name != "engine"}
        model = load_language_model(value, **loading)
        return Loaded(f"{model.name}[{short_digest(model.digest)}]", model, model.engine)


class TransformFiles(Resource):
    """Transforms of vectors before comparison."""

    def __init__(self) -> None:
        super().__init__(
            "none", *FIXED_NORMS, f"{POSITION_NORM}-N", file="files made by 'nlgauge align', joined by +"
        )

    def load(self, value: str, context: LoadContext) -> Loaded:
        """The transforms between the languages of the recipe, checked against the model; or None."""
        metric = context.metric
        source = metric.src_lang if metric.against == "source" else None
        transforms = load_transforms(value, source=source, target=metric.lang or "en")
        if transforms is None:
            return Loaded("none", None)
        encoder = context.corpus.encoder
        if context.layers:  # a recipe without token vectors has its own check
            transforms.check(vectors_digest(encoder), layers=context.layers, width=encoder.hidden_size)
        return Loaded(transforms.label, transforms)

    def read(self, name: str, text: str) -> dict[str, str]:
        """`file`, and for language means their languages: `centre[ab12,de>en]`."""
        if "[" not in text:
            return {name: text}
        languages = re.search(r",([^\]]*)\]", text)
        if languages is None:
            return {name: "file"}
        source, _, target = languages[1].rpartition(">")
        return {name: "file", "src_lang": source, "lang": target}


def encode_sentences(
    texts: WindowTexts, sentences: SentenceEncoder, *, against: str = "refs", transforms: Transforms | None = None
) -> None:
    """Compute a unit vector for every text of a window."""
    other: Side = "source" if against == "source" else "target"
    sides: list[tuple[Sequence[str], Side]] = [(texts.hypotheses, "target"), (texts.references, other)]
    for chosen, side in sides:
        key = _vector_key(sentences, side, transforms)
        new = [text for text in chosen if key not in texts.encoded[text].text_features]
        if not new:
            continue
        vectors = sentences.encode(new)
        if transforms is not None:
            vectors = transforms.move(vectors, side)
        for text, unit in zip(new, unit_rows(vectors), strict=True):
            texts.encoded[text].text_features[key] = unit


def sentence_vector(
    text: TextView, sentences: SentenceEncoder, transforms: Transforms | None = None
) -> NDArray[np.float32]:
    """The unit vector computed by `encode_sentences`; the zero vector for an empty text."""
    side: Side = "source" if text.role.kind == "source" else "target"
    vector: NDArray[np.float32] = text.features[_vector_key(sentences, side, transforms)]
    return vector


def _vector_key(sentences: SentenceEncoder, side: Side, transforms: Transforms | None) -> Hashable:
    # Without transforms, a text has the same vector on both sides.
    return ("sentence", sentences.digest, *((side, transforms.digest) if transforms is not None else ()))


def score_fluency(
    texts: WindowTexts, model: LanguageModel, *, length_normalised_twice: bool, whole: bool = False
) -> None:
    """Score every hypothesis of a window with the language model; `whole` refuses texts that it would cut."""
    from nlgauge.encoders.language_model import twice_normalised

    key = _fluency_key(model, length_normalised_twice)
    new = [text for text in texts.hypotheses if key not in texts.encoded[text].text_features]
    if not new:
        return
    if whole:
        model.refuse_long(new)
    scores = model.score(new)
    values = twice_normalised(scores) if length_normalised_twice else scores.log_likelihood
    for text, value in zip(new, values, strict=True):
        texts.encoded[text].text_features[key] = float(value)


def fluency(text: TextView, model: LanguageModel | None, *, length_normalised_twice: bool) -> float:
    """The fluency computed by `score_fluency`; 0 without a model, and for references and sources."""
    if model is None or text.role.kind != "hypothesis":
        return 0.0
    value: float = text.features[_fluency_key(model, length_normalised_twice)]
    return value


def _fluency_key(model: LanguageModel, twice: bool) -> Hashable:
    return ("fluency", model.digest, twice)
