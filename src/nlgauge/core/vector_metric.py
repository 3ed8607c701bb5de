"""Base class of metrics that compare vectors, and default models (by language) and layers (by model).

    represent(text)          -> anything        once per distinct text of a window: a cloud, a vector
    compare(two of them)     -> components      plain numbers, and the alignment if requested
    finish(all components)   -> segment scores  joins references, rescales

The engine calls these three; a metric never loops over a corpus itself. Data from the whole corpus (idf), from a file
or from a second model is named by an option. It is loaded into the metric's `State` before the first text is encoded.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar, Generic, NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from nlgauge.core.kinds import Choice, Int, Kind, Text
from nlgauge.core.metric import Comparison, Metric, Pair, SystemResult
from nlgauge.core.options import option
from nlgauge.core.resources import LoadContext, Loaded, Resource, TransformFiles
from nlgauge.core.run_options import RunOptions
from nlgauge.core.tokens import COUNTED, IdfTables, TextView, TokenizedCorpus
from nlgauge.encoders.base import EncodedText, Encoder
from nlgauge.encoders.load import configured_name
from nlgauge.errors import ModelNotFoundError, RecipeError
from nlgauge.io.store.catalog import CARDS, card_of_digest
from nlgauge.io.store.fetch import pull_advice
from nlgauge.text.languages import MULTILINGUAL, language_code
from nlgauge.text.windows import CUT, MODEL_WINDOW, NO_WINDOWS, Reading, Windows
from nlgauge.vectors.transforms import Transforms, group_of

if TYPE_CHECKING:
    from typing_extensions import Self


#: Number of layers and best layer by model: Table 8 of the BERTScore paper (Zhang et al. 2020, appendix B), all
#: twelve rows. Tuned there on WMT16, for Chinese on en-zh of WMT17; layer 0 is the embeddings.
PAPER_LAYERS = {
    "bert-base-uncased": (12, 9),
    "bert-large-uncased": (24, 18),
    "bert-base-cased-finetuned-mrpc": (12, 9),
    "bert-base-multilingual-cased": (12, 9),
    "bert-base-chinese": (12, 8),
    "roberta-base": (12, 10),
    "roberta-large": (24, 17),
    "roberta-large-mnli": (24, 19),
    "xlnet-base-cased": (12, 5),
    "xlnet-large-cased": (24, 7),
    "xlm-mlm-en-2048": (12, 7),
    "xlm-mlm-100-1280": (16, 11),
}

#: Layer of models that the paper does not have. The first four: best average Pearson of F without idf on the four
#: language pairs of WMT15 (`nlgauge study tune-layer --model NAME --data wmt15`: .699, .762, .735, .757). The others:
#: the table `model2layers` of bert-score 0.3.13, tuned by its authors on WMT16 (the Turkish one on WMT18).
LAYERS = {
    "minilm": 4,
    "mpnet": 7,
    "gte-small": 7,
    "e5-small": 8,
    "distilbert-base-uncased": 5,
    "xlm-roberta-base": 9,
    "xlm-roberta-large": 17,
    "allenai/scibert_scivocab_uncased": 8,
    "dbmdz/bert-base-turkish-cased": 10,
    "microsoft/deberta-xlarge-mnli": 40,
}

#: Model by language. English is served offline; the others are bert-score's table, from the hub.
LANGUAGE_MODELS = {
    "en": "minilm",
    "en-sci": "allenai/scibert_scivocab_uncased",
    "tr": "dbmdz/bert-base-turkish-cased",
    "zh": "bert-base-chinese",
}

OTHER_LANGUAGES = "bert-base-multilingual-cased"

#: Scripts that a model was trained on. Models not listed here are judged by their unknown tokens.
COVERED_SCRIPTS = {
    "minilm": frozenset({"Latin"}),
    "mpnet": frozenset({"Latin"}),
    "gte-small": frozenset({"Latin"}),
    "e5-small": frozenset({"Latin"}),
    MULTILINGUAL: frozenset({"Arabic", "Cyrillic", "Han", "Hangul", "Hiragana", "Katakana", "Latin", "Thai"}),
}


def default_layer(encoder: Encoder) -> int:
    """The tuned layer of a model, or an error if there is none.

    A model is identified by its digest, by its name or its folder's name, or by the name in its config.json.
    """
    if encoder.layers == 0:  # word vectors
        return 0
    name = encoder.model
    card = card_of_digest(encoder.digest)  # the name may differ
    if card is not None and card.name in LAYERS:
        return LAYERS[card.name]
    stated = configured_name(encoder)
    for candidate in (name, name.rpartition("/")[2], stated, stated.rpartition("/")[2]):
        if candidate in LAYERS:
            return LAYERS[candidate]
        total, layer = PAPER_LAYERS.get(candidate, (None, 0))
        if total == encoder.layers:  # a truncated model has another best layer
            return layer
    msg = f"model {name!r} has no default layer; choose one from 0 to {encoder.layers} with layer="
    raise RecipeError(msg)


def resolve_layer(layer: int | None, encoder: Encoder) -> int:
    """The chosen layer, or the model's default; an error if the model has no such layer."""
    chosen = default_layer(encoder) if layer is None else layer
    if chosen > encoder.layers:
        most = f"0 to {encoder.layers}" if encoder.layers else "0, the only one,"
        msg = f"layer must be {most} for model {encoder.model!r}, got {chosen}"
        raise RecipeError(msg)
    return chosen


def model_for_language(language: str) -> str:
    """The default model of a language; it never depends on what is installed."""
    code = language_code(language)
    return LANGUAGE_MODELS.get(code) or LANGUAGE_MODELS.get(code.partition("-")[0], OTHER_LANGUAGES)


def name_selecting_language(error: ModelNotFoundError, model: str, languages: Iterable[str]) -> ModelNotFoundError:
    """The error with the language that selected the model, and with an offline alternative."""
    for language in dict.fromkeys(languages):
        if language and model_for_language(language) == model:
            reason = f"lang={language!r} selects model {model!r}"
            if not CARDS[MULTILINGUAL].knows_language(language):
                return ModelNotFoundError(f"{reason}: {error}")
            fix = f"{pull_advice(model)}, or use model={MULTILINGUAL!r}, which supports this language"
            why = error.__cause__ or "not downloaded"
            return ModelNotFoundError(f"{reason}, which is not available: {why}. {fix}")
    return error


def offer_multilingual(scripts: Iterable[str], *, model: str) -> str:
    """Suggest a model for scripts that this model does not cover, as a clause of a message."""
    foreign = [script for script in scripts if script not in COVERED_SCRIPTS.get(model, ())]
    covered = (
        [] if model == MULTILINGUAL else [script for script in foreign if script in COVERED_SCRIPTS[MULTILINGUAL]]
    )
    if not covered:
        return "use a model trained on the language (model=)"
    scripts_of_model = " and ".join(covered)
    return f"use model={MULTILINGUAL!r}, which supports {scripts_of_model} ('nlgauge models list' has its languages)"


Representation = TypeVar("Representation")
Value = TypeVar("Value")


class EncodingSpec(NamedTuple):
    """A model and its input settings; metrics with equal specs share tokens and vectors."""

    model: str
    lowercase: str
    max_tokens: int | None
    reading: Reading = CUT
    """Whether texts over the limit are cut or read in windows."""
    prefix_space: str = "auto"
    """Whether a byte-level BPE reads a space before each text."""


class WindowTexts(NamedTuple):
    """The distinct texts of a window, for models that read all of them at once."""

    encoded: Mapping[str, EncodedText]
    hypotheses: Sequence[str]
    references: Sequence[str]
    """Or sources."""


@dataclass(frozen=True, eq=False)
class State:
    """The data of a recipe that is loaded before the first text: layers, files, models, idf tables."""

    encoder: Encoder
    layers: tuple[int, ...]
    loaded: Mapping[str, Loaded]
    windows: Windows | None = None
    """How texts over the model's limit are read; None: they are cut."""
    _cache: dict[Hashable, Any] = field(default_factory=dict, init=False, repr=False)

    def __getitem__(self, option: str) -> Any:
        """The loaded value of an option."""
        return self.loaded[option].content

    def derived(self, key: Hashable, make: Callable[[], Value]) -> Value:
        """A value that a recipe derives from the state, computed once per run."""
        if key not in self._cache:
            self._cache[key] = make()
        value: Value = self._cache[key]
        return value

    @cached_property
    def idf(self) -> IdfTables:
        """Tables of token weights."""
        tables: IdfTables = self["idf"] if "idf" in self.loaded else IdfTables()
        return tables

    @cached_property
    def transforms(self) -> Transforms | None:
        """The transforms of token vectors."""
        transforms: Transforms | None = self["transforms"] if "transforms" in self.loaded else None
        return transforms


def _text_option(default: Any, kind: Kind, text: str) -> Any:
    """An option for reading texts: independent of profiles, and in a signature only if not the default."""
    return option(default, kind, help=text, optional=True, in_profile=False)


@dataclass(frozen=True, kw_only=True)
class VectorMetric(Metric, Generic[Representation]):
    """A metric that compares the token vectors of an encoder."""

    empty_value: ClassVar[float | None] = 0.0
    """The value of every component if a side has no tokens; None: `compare` gets None for such a text."""
    derived_fields: ClassVar[tuple[str, ...]] = ("layers",)

    def describe_empty(self) -> str:
        return "treated as a zero vector" if self.empty_value is None else super().describe_empty()

    model: str = option(
        "",
        Text("minilm, mpnet, muse, a folder, a file of word vectors, or a Hugging Face id", empty=True),
        help="embedding model",
        signed=False,
        unset="by language",
    )
    lang: str = option(
        "",
        Text("a language code such as en", empty=True),
        help="language of the texts; selects the default model and baseline",
        signed=False,
        unset="en",
    )
    against: str = option("refs", Choice("refs", "source"), help="texts to compare with", signed=False)
    src_lang: str = option(
        "",
        Text("a language code such as de", empty=True, lower=True),
        help="language of the sources, for transforms and annotators",
        signed=False,
        unset="none",
    )
    lowercase: str = _text_option("no", Choice("no", "yes"), "convert all texts to lower case first")
    max_tokens: int | None = _text_option(
        None, Int(1, word="model"), "longest text in tokens, if below the model's limit"
    )
    window: int | str = _text_option(
        NO_WINDOWS,
        Int(1, also=[NO_WINDOWS, MODEL_WINDOW]),
        "read texts longer than this in overlapping windows of this many tokens; model: the model's limit",
    )
    stride: int | None = _text_option(
        None,
        Int(1, word="half"),
        "tokens from one window to the next; half: half a window",
    )
    prefix_space: str = _text_option(
        "auto",
        Choice("auto", "yes", "no"),
        "whether byte-level BPE tokenizers read a space before each text; auto: yes for RoBERTa and GPT-2",
    )
    unknown: str = _text_option(
        "error",
        Choice("error", "zero", "score"),
        "treatment of texts made only of tokens unknown to the model: error, score 0, or score normally",
    )
    transforms: str = _text_option("none", TransformFiles(), "transforms of token vectors before comparison")

    def resolve(self) -> None:
        """Set the default model for the language or the source."""
        object.__setattr__(self, "lang", language_code(self.lang) if self.lang else "")
        if not self.model:
            chosen = MULTILINGUAL if self.against == "source" else model_for_language(self.lang or "en")
            object.__setattr__(self, "model", chosen)

    @property
    def encoding(self) -> EncodingSpec:
        """How texts become tokens and vectors."""
        return EncodingSpec(self.model, self.lowercase, self.max_tokens, self.reading, self.prefix_space)

    @property
    def unused(self) -> Mapping[str, str]:
        """A stride has an effect with windows only."""
        reason = "has no effect without windows (window=)"
        return {"stride": reason} if self.window == NO_WINDOWS else {}

    @property
    def reading(self) -> Reading:
        """How texts over the limit are read."""
        return Reading(self.window, self.stride)

    def in_windows(self) -> Self:
        """The recipe with windows of the model's limit, unless it already has windows."""
        return self if self.reading != CUT else self.with_options(window=MODEL_WINDOW)

    @property
    def published_idf(self) -> str:
        """The idf of the published evaluation: refs, both or none."""
        return str(getattr(self.published, "idf", "none")) if self.profiles else "none"

    @property
    def idf_choice(self) -> str:
        """The idf in effect: none, refs, both or a file."""
        return getattr(self, "idf", "none") if "idf" not in self.unused else "none"

    @property
    def counts_idf(self) -> bool:
        """Whether idf is counted on the scored texts."""
        return self.idf_choice in COUNTED

    @cached_property
    def group(self) -> int:
        """Number of consecutive segments whose vectors are transformed together."""
        return group_of(self.transforms)

    @property
    def per_system_idf(self) -> bool:
        """Whether each system has its own idf table, so a text is represented differently for different systems."""
        return self.idf_choice == "both"

    @abstractmethod
    def layers(self, encoder: Encoder) -> tuple[int, ...]:
        """Layers whose vectors the metric needs."""

    def uses_tokens_of(self, encoder: Encoder) -> bool:
        """Whether scores depend on the tokens of this model, not only on those of another model."""
        return bool(self.layers(encoder)) or getattr(self, "sentence", "") in ("", self.model)

    def prepare(self, corpus: TokenizedCorpus, options: RunOptions) -> State:
        """Load the files and models of the options, before anything is encoded."""
        layers = self.layers(corpus.encoder)
        context = LoadContext(self, corpus, layers, options)
        loaded = {
            name: opt.kind.load(getattr(self, name), context)
            for name, opt in self.options().items()
            if isinstance(opt.kind, Resource) and name not in self.unused
        }
        return State(corpus.encoder, layers, loaded, corpus.windows)

    def describe(self, state: State) -> dict[str, str]:
        """The metric's own fields of the signature, resolved."""
        resolved = {name: loaded.label for name, loaded in state.loaded.items()}
        resolved |= {f"{name}_engine": loaded.engine for name, loaded in state.loaded.items() if loaded.engine}
        tokenizer = state.encoder.tokenizer.with_prefix_space(self.prefix_space, model=state.encoder.model)
        resolved["prefix_space"] = tokenizer.signed_prefix_space
        if state.windows is not None:
            resolved |= {"window": str(state.windows.size), "stride": str(state.windows.stride)}
        if "layer" in self.options():
            resolved["layer"] = str(state.layers[0]) if state.layers else "none"
        elif state.layers:
            ends = sorted({state.layers[0], state.layers[-1]})
            resolved["layers"] = "-".join(map(str, ends))
        return self.own_fields(resolved)

    def check_recipe(self, recipe: Mapping[str, str], state: State) -> None:
        """Refuse files that were made for another recipe; `recipe` has the fields of the signature."""
        return

    def run_text_models(self, texts: WindowTexts, state: State) -> None:
        """Run further models, such as a sentence encoder, on all texts of a window before they are represented.

        Results are stored in `EncodedText.text_features`, where `represent` reads them.
        """
        return

    @abstractmethod
    def represent(self, text: TextView, state: State) -> Representation | None:
        """The representation of a text for `compare`; None if no token is left."""

    @abstractmethod
    def compare(self, x: Representation, y: Representation, state: State, *, align: bool) -> Pair:
        """Components of hypothesis x against reference y, and with `align` the alignment."""

    def compare_block(
        self, xs: Sequence[Representation], ys: Sequence[Representation], state: State
    ) -> NDArray[np.float64] | None:
        """Components (len(xs), len(ys), components) of every x against every y, with the bits of `compare`.

        Override it if there is a faster way than pair by pair; None means that there is none. No x is the same array
        as a y. Several threads may call it at the same time.
        """
        return None

    def finish_pairs(self, values: NDArray[np.float64], state: State) -> SystemResult:
        """Scores of independent pairs, a row of components each: `finish` of each pair."""
        comparisons = [Comparison(values[row : row + 1]) for row in range(len(values))]
        return self.finish({"": comparisons}, state)[""]

    def finish(self, comparisons: Mapping[str, Sequence[Comparison]], state: State) -> dict[str, SystemResult]:
        """Segment scores of every system; references are joined by the option `multiref`, or averaged."""
        rule = getattr(self, "multiref", "mean")
        return {system: self.joined(pairs, rule=rule) for system, pairs in comparisons.items()}
