"""Base class of metrics that compare vectors, and the default model and layer of each language and model.

    represent(text)          -> anything        once per distinct text of a window: a cloud, a vector
    compare(two of them)     -> components      plain numbers, and the alignment where it is asked for
    finish(all components)   -> segment scores  joins references, rescales

The engine calls these three; a metric never loops over a corpus itself. What needs the whole corpus (idf), a file or
a second model is named by an option, loaded before the first text is encoded, and in the metric's `State`.
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
from nlgauge.encoders.load import stated_name
from nlgauge.errors import ModelNotFoundError, RecipeError
from nlgauge.io.store.catalog import CARDS, card_of_digest
from nlgauge.io.store.fetch import pull_advice
from nlgauge.text.languages import MULTILINGUAL, language_code
from nlgauge.text.windows import CUT, MODEL_WINDOW, NO_WINDOWS, Reading, Windows
from nlgauge.vectors.transforms import Transforms, group_of

if TYPE_CHECKING:
    from typing_extensions import Self


#: The model's number of layers and the best of them, by its name: Table 8 of the BERTScore paper (Zhang et al. 2020,
#: appendix B), all twelve rows. Tuned there on WMT16, for Chinese on en-zh of WMT17; layer 0 are the embeddings.
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

#: Layer of models that the paper does not have. The two embedded ones: best average Pearson of F without idf on the
#: four language pairs of WMT15 (`nlgauge study tune-layer --model NAME --data wmt15`: .699 and .762). The others: the
#: table `model2layers` of bert-score 0.3.13, tuned by its authors on WMT16 (the Turkish one on WMT18).
LAYERS = {
    "minilm": 4,
    "mpnet": 7,
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

#: Scripts that a model was trained on, by its name. Models that are not here are judged by their unknown tokens.
COVERED_SCRIPTS = {
    "minilm": frozenset({"Latin"}),
    "mpnet": frozenset({"Latin"}),
    MULTILINGUAL: frozenset({"Arabic", "Cyrillic", "Han", "Hangul", "Hiragana", "Katakana", "Latin", "Thai"}),
}


def default_layer(encoder: Encoder) -> int:
    """The tuned layer of a model, or an error that says how to choose one.

    A model is known by its digest, by its name or that of its folder, or by the name in its config.json.
    """
    if encoder.layers == 0:  # word vectors
        return 0
    name = encoder.model
    card = card_of_digest(encoder.digest)  # the same files under another name are the same model
    if card is not None and card.name in LAYERS:
        return LAYERS[card.name]
    stated = stated_name(encoder)
    for known in (name, name.rpartition("/")[2], stated, stated.rpartition("/")[2]):
        if known in LAYERS:
            return LAYERS[known]
        total, layer = PAPER_LAYERS.get(known, (None, 0))
        if total == encoder.layers:  # a model cut short is another one
            return layer
    msg = f"there is no default layer for model {name!r}; choose one of 0 to {encoder.layers} with layer="
    raise RecipeError(msg)


def chosen_layer(layer: int | None, encoder: Encoder) -> int:
    """The layer asked for, or the model's default; a layer that the model does not have is an error."""
    chosen = default_layer(encoder) if layer is None else layer
    if chosen > encoder.layers:
        msg = f"layer must be 0 to {encoder.layers} for model {encoder.model!r}, got {chosen}"
        raise RecipeError(msg)
    return chosen


def model_for_language(language: str) -> str:
    """The model that scores a language by default: by this table alone, never by what is installed."""
    code = language_code(language)
    return LANGUAGE_MODELS.get(code) or LANGUAGE_MODELS.get(code.partition("-")[0], OTHER_LANGUAGES)


def with_reason(error: ModelNotFoundError, model: str, languages: Iterable[str]) -> ModelNotFoundError:
    """The same error, which also says that a language chose the model, and what is there offline."""
    for language in dict.fromkeys(languages):
        if language and model_for_language(language) == model:
            reason = f"lang={language!r} selects model {model!r}"
            if not CARDS[MULTILINGUAL].knows_language(language):
                return ModelNotFoundError(f"{reason}: {error}")
            fix = f"{pull_advice(model)}, or use --model {MULTILINGUAL}, which supports this language"
            why = error.__cause__ or "not downloaded"
            return ModelNotFoundError(f"{reason}, which is not available: {why}. {fix}")
    return error


def offer_multilingual(scripts: Iterable[str], *, model: str) -> str:
    """What covers the scripts that this model does not, as a clause of a message."""
    foreign = [one for one in scripts if one not in COVERED_SCRIPTS.get(model, ())]
    covered = [] if model == MULTILINGUAL else [one for one in foreign if one in COVERED_SCRIPTS[MULTILINGUAL]]
    if not covered:
        return "take a model that was trained on the language (--model)"
    languages = ", ".join(CARDS[MULTILINGUAL].languages)
    return f"model {MULTILINGUAL!r} covers {' and '.join(covered)} (--model {MULTILINGUAL}: {languages})"


Representation = TypeVar("Representation")
Made = TypeVar("Made")


class EncodingSpec(NamedTuple):
    """A model, and what is done to a text before it; metrics that agree on it share tokens and vectors."""

    model: str
    lowercase: str
    max_tokens: int | None
    reading: Reading = CUT
    """Whether texts over the limit are cut, or read in windows."""
    prefix_space: str = "auto"
    """Whether a byte-level BPE reads a text with a space before it."""


class WindowTexts(NamedTuple):
    """The distinct texts of a window, for what looks at all of them at once."""

    encoded: Mapping[str, EncodedText]
    hypotheses: Sequence[str]
    references: Sequence[str]
    """Or sources."""


@dataclass(frozen=True, eq=False)
class State:
    """What a run fixed for a recipe before the first text: layers, files, models, idf tables."""

    encoder: Encoder
    layers: tuple[int, ...]
    loaded: Mapping[str, Loaded]
    windows: Windows | None = None
    """How texts over the model's limit are read; None: they are cut."""
    _made: dict[Hashable, Any] = field(default_factory=dict, init=False, repr=False)

    def __getitem__(self, option: str) -> Any:
        """What the option stands for."""
        return self.loaded[option].content

    def derived(self, key: Hashable, make: Callable[[], Made]) -> Made:
        """What a recipe derives from the state: made once, and gone when the run is over."""
        if key not in self._made:
            self._made[key] = make()
        made: Made = self._made[key]
        return made

    @cached_property
    def idf(self) -> IdfTables:
        """Tables of token weights."""
        tables: IdfTables = self["idf"] if "idf" in self.loaded else IdfTables()
        return tables

    @cached_property
    def transforms(self) -> Transforms | None:
        """What is done to token vectors."""
        transforms: Transforms | None = self["transforms"] if "transforms" in self.loaded else None
        return transforms


def _text_option(default: Any, kind: Kind, about: str) -> Any:
    """An option about how texts are read: no matter of profiles, and in a signature where it is not as usual."""
    return option(default, kind, help=about, optional=True, in_profile=False)


@dataclass(frozen=True, kw_only=True)
class VectorMetric(Metric, Generic[Representation]):
    """A metric that compares what an encoder made of the texts."""

    empty_value: ClassVar[float | None] = 0.0
    """Every component of a pair one side of which has no token; None: `compare` is given None for such a text."""
    derived_fields: ClassVar[tuple[str, ...]] = ("layers",)

    model: str = option(
        "",
        Text("minilm, mpnet, muse, a folder, a file of word vectors, or a Hugging Face id", empty=True),
        help="encoder of tokens",
        signed=False,
        unset="by language",
    )
    lang: str = option(
        "",
        Text("a language code such as en", empty=True),
        help="language of the texts: chooses model and baseline where they are not named",
        signed=False,
        unset="en",
    )
    against: str = option("refs", Choice("refs", "source"), help="what a text is compared with", signed=False)
    src_lang: str = option(
        "",
        Text("a language code such as de", empty=True, lower=True),
        help="language of the sources, where transforms or an annotator need it",
        signed=False,
        unset="none",
    )
    lowercase: str = _text_option("no", Choice("no", "yes"), "put all texts in lower case before they are read")
    max_tokens: int | None = _text_option(
        None, Int(1, word="model"), "longest text in tokens, below the model's own limit"
    )
    window: int | str = _text_option(
        NO_WINDOWS,
        Int(1, also=[NO_WINDOWS, MODEL_WINDOW]),
        "texts longer than so many tokens are read in overlapping windows of that size; model: its limit",
    )
    stride: int | None = _text_option(
        None,
        Int(1, word="half"),
        "tokens of a text from one window to the next; half: half of those in a window",
    )
    prefix_space: str = _text_option(
        "auto",
        Choice("auto", "yes", "no"),
        "space before each text, for byte-level BPE tokenizers; auto: yes for RoBERTa and GPT-2",
    )
    unknown: str = _text_option(
        "error",
        Choice("error", "zero", "score"),
        "what a text of nothing but tokens unknown to the model gets: score is as it is",
    )
    transforms: str = _text_option("none", TransformFiles(), "what is done to token vectors before they are compared")

    def resolve(self) -> None:
        """The model that the language, or the source, asks for."""
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
        """A stride belongs to windows."""
        reason = "is the step of windows, and the recipe has none (window=)"
        return {"stride": reason} if self.window == NO_WINDOWS else {}

    @property
    def reading(self) -> Reading:
        """What happens to texts over the limit."""
        return Reading(self.window, self.stride)

    def in_windows(self) -> Self:
        """The same recipe with windows of the model's limit, unless it has windows already."""
        return self if self.reading != CUT else self.with_options(window=MODEL_WINDOW)

    @property
    def published_idf(self) -> str:
        """What the published evaluation counts idf on: refs, both or none."""
        return str(getattr(self.published, "idf", "none")) if self.profiles else "none"

    @property
    def idf_choice(self) -> str:
        """Where idf comes from: none, refs, both or a file."""
        return getattr(self, "idf", "none") if "idf" not in self.unused else "none"

    @property
    def counts_idf(self) -> bool:
        """Whether idf is counted on the texts at hand, for which whole files may have to be read."""
        return self.idf_choice in COUNTED

    @cached_property
    def group(self) -> int:
        """Segments, one after the other, whose vectors are made together; 1: each by itself."""
        return group_of(self.transforms)

    @property
    def tells_systems_apart(self) -> bool:
        """Whether a text is represented differently for different systems: by the idf of each system's own texts."""
        return self.idf_choice == "both"

    @abstractmethod
    def layers(self, encoder: Encoder) -> tuple[int, ...]:
        """Layers whose vectors the metric needs."""

    def reads_with(self, encoder: Encoder) -> bool:
        """Whether a score depends on the tokens of this model: not where only another one reads the texts."""
        return bool(self.layers(encoder)) or getattr(self, "sentence", "") in ("", self.model)

    def prepare(self, corpus: TokenizedCorpus, options: RunOptions) -> State:
        """Load what the options name, before anything is encoded."""
        layers = self.layers(corpus.encoder)
        context = LoadContext(self, corpus, layers, options)
        loaded = {
            name: about.kind.load(getattr(self, name), context)
            for name, about in self.options().items()
            if isinstance(about.kind, Resource) and name not in self.unused
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
        """Refuse files that were made for another recipe, told by the fields of its signature."""
        return

    def run_text_models(self, texts: WindowTexts, state: State) -> None:
        """Look at all texts of a window before they are represented, such as with a model of whole sentences.

        What is found goes to `EncodedText.text_features`, from where `represent` takes it.
        """
        return

    @abstractmethod
    def represent(self, text: TextView, state: State) -> Representation | None:
        """A text in the form that `compare` takes; None where nothing of it is left."""

    @abstractmethod
    def compare(self, x: Representation, y: Representation, state: State, *, align: bool) -> Pair:
        """Components of hypothesis x against reference y, and the alignment where it is asked for."""

    def compare_block(
        self, xs: Sequence[Representation], ys: Sequence[Representation], state: State
    ) -> NDArray[np.float64] | None:
        """Components (len(xs), len(ys), components) of every x against every y, with the bits of `compare`.

        For metrics that have a faster way than pair by pair; None: there is none. No x is the same array as a y, and
        several threads may ask at once.
        """
        return None

    def finish_pairs(self, values: NDArray[np.float64], state: State) -> SystemResult:
        """Scores of pairs that have nothing to do with each other, a row of components each: `finish` of each."""
        alone = [Comparison(values[row : row + 1]) for row in range(len(values))]
        return self.finish({"": alone}, state)[""]

    def finish(self, comparisons: Mapping[str, Sequence[Comparison]], state: State) -> dict[str, SystemResult]:
        """Segment scores of every system: the mean over references, or by the rule of the option `multiref`."""
        rule = getattr(self, "multiref", "mean")
        return {system: self.joined(pairs, rule=rule) for system, pairs in comparisons.items()}
