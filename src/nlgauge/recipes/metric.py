"""What a metric is: a frozen recipe, and represent / compare / finish.

    represent(text)          -> anything        once per distinct text of a window: a cloud, a vector
    compare(two of them)     -> components      plain numbers, and the alignment where it is asked for
    finish(all components)   -> segment scores  joins references, rescales

The engine calls them; a metric of vectors never loops over a corpus itself. What needs the whole corpus (idf) or a
file or a second model is named by an option, loaded before the first text is encoded, and in the metric's `State`. A
lexical metric has no vectors and no model: it scores texts as they stand (`TextMetric`).
"""

from __future__ import annotations

import inspect
import textwrap
from abc import ABC, ABCMeta, abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import Field, dataclass, field, fields
from typing import TYPE_CHECKING, Any, ClassVar, Generic, NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from nlgauge.clouds.alignments import Alignment, Flow
from nlgauge.corpus.idf_tables import COUNTED, IdfTables
from nlgauge.corpus.texts import References
from nlgauge.corpus.tokens import TokenizedCorpus
from nlgauge.corpus.views import TextView
from nlgauge.encoders import EncodedText, Encoder
from nlgauge.errors import RecipeError
from nlgauge.names import did_you_mean
from nlgauge.recipes.defaults import MULTILINGUAL, model_for_language
from nlgauge.recipes.kinds import Choice, Text, Whole
from nlgauge.recipes.options import BY_PROFILE, Former, Option, option, option_of, renamed
from nlgauge.recipes.resources import LoadContext, Loaded, Resource, TransformFiles
from nlgauge.recipes.run_options import RunOptions
from nlgauge.recipes.signature import declare_field
from nlgauge.text.languages import language_code
from nlgauge.transforms.base import Transforms

if TYPE_CHECKING:
    from typing_extensions import Self

    from nlgauge.scores import Score

__all__ = [
    "Comparison",
    "EncodingSpec",
    "Metric",
    "Pair",
    "State",
    "SystemResult",
    "TextMetric",
    "VectorMetric",
    "WindowTexts",
]

Representation = TypeVar("Representation")


class Pair(NamedTuple):
    """A hypothesis against one reference."""

    values: Sequence[float]
    """One per component."""
    alignment: Alignment | Flow | None = None
    converged: bool = True


@dataclass(frozen=True, eq=False)
class Comparison:
    """One hypothesis against each of its references."""

    values: NDArray[np.float64]
    """A row per reference, a column per component."""
    alignments: tuple[Alignment | Flow | None, ...] | None = None
    """One per reference where they were asked for; None where a side is empty."""
    zero_weight: bool = False
    unconverged: bool = False


@dataclass(frozen=True, eq=False)
class SystemResult:
    """A system's scores: an array per component, and which reference was best."""

    segments: Mapping[str, NDArray[np.float64]]
    best_reference: NDArray[np.int64] | None = None
    corpus: Mapping[str, float] = field(default_factory=dict)
    """Scores of the whole system, where those are no means over segments."""
    run: Mapping[str, str] = field(default_factory=dict)
    """What the run part of the signature must say of it."""


class _RecipeType(ABCMeta):
    """Lets a recipe be made under earlier names of its options, and remembers what was given."""

    def __call__(cls, **given: Any) -> Any:
        """Make a recipe."""
        now = cls.known_options(given)  # type: ignore[attr-defined]  # every class of this type is a Metric
        made = super().__call__(**now)
        object.__setattr__(made, "_given", now)
        return made

    @property
    def __signature__(cls) -> inspect.Signature:
        """The options, which `__call__` above would hide from `help()` and editors."""
        made = inspect.signature(cls.__init__)  # type: ignore[misc]  # of the class, not of an instance
        return made.replace(parameters=list(made.parameters.values())[1:])


@dataclass(frozen=True, kw_only=True)
class Metric(ABC, metaclass=_RecipeType):
    """A recipe. Its fields are its options, and all of them are in the signature once resolved."""

    name: ClassVar[str]
    components: ClassVar[tuple[str, ...]]
    main: ClassVar[str]
    higher_is_better: ClassVar[bool] = True
    citation: ClassVar[str] = ""
    distances: ClassVar[frozenset[str]] = frozenset()
    """Components that are better when they are lower, beside a main component that is not one of them."""
    whole_corpus: ClassVar[bool] = False
    """Whether the score of a pair depends on the other pairs of the run."""
    derived_fields: ClassVar[tuple[str, ...]] = ()
    """Fields of the signature that are no options, such as the version of a package."""

    def __init_subclass__(cls, **rest: Any) -> None:
        super().__init_subclass__(**rest)
        for name, entry in vars(cls).items():
            about = getattr(entry, "metadata", {}).get("option")
            if about is not None and about.signed:
                declare_field(name, short=about.short, meaning=about.help)
        if "__doc__" in vars(cls) and cls.__doc__:
            cls.__doc__ += _options_in_words(cls)

    @classmethod
    def options(cls) -> dict[str, Option]:
        """What can be chosen, by name: a metric's own options first, then those that it shares with others."""
        known = {entry.name: option_of(entry) for entry in fields(cls)}
        names = [name for base in cls.__mro__ for name in vars(base).get("__annotations__", ())]
        order = dict.fromkeys(["profile", *names])
        return {name: about for name in order if (about := known.get(name)) is not None}

    @classmethod
    def known_options(cls, given: Mapping[str, Any]) -> dict[str, Any]:
        """Options under today's names; one that the metric does not have is an error."""
        options = cls.options()
        now = renamed(given, options, where=f"metric {cls.name!r}")
        for name in now:
            if name not in options:
                hint = did_you_mean(name, options)
                msg = f"metric {cls.name!r} has no option {name!r}{hint}; it has: {', '.join(options)}"
                raise RecipeError(msg)
        return now

    @classmethod
    def from_options(cls, given: Mapping[str, Any]) -> Self:
        """A recipe from option values; text is parsed, as the command line needs it."""
        options = cls.options()
        return cls(**{name: options[name].parse(value) for name, value in cls.known_options(given).items()})

    def with_options(self, **changes: Any) -> Self:
        """The same recipe with other values; what follows from a profile follows again."""
        given: dict[str, Any] = self.__dict__["_given"]
        return type(self).from_options(given | self.known_options(changes))

    def __post_init__(self) -> None:
        options = self.options()
        for name, about in options.items():
            value = getattr(self, name)
            if value is not BY_PROFILE:
                object.__setattr__(self, name, about.check(value))
        chosen = {name: getattr(self, name) for name in options}
        self.resolve()
        for name, reason in self.unused.items():
            if chosen[name] != about_default(options[name]):
                msg = f"{name}={chosen[name]!r} {reason}; leave it out"
                raise RecipeError(msg)
        self.check()

    @property
    def unused(self) -> Mapping[str, str]:
        """Options that mean nothing in this recipe, with the reason; they are refused, and not in the signature."""
        return {}

    def resolve(self) -> None:
        """Fill in what is left to something else, such as a profile."""
        return

    def check(self) -> None:
        """Refuse options that do not go together."""
        return

    def own_fields(self, resolved: Mapping[str, str]) -> dict[str, str]:
        """The options as fields of a signature, in order; `resolved` has those that a run decides."""
        described = {}
        for name, about in self.options().items():
            if not about.signed or name in self.unused:
                continue
            text = resolved[name] if name in resolved else about.kind.show(getattr(self, name))
            if about.optional and text == about.kind.show(about.default):
                continue
            described[name] = text
        return described | {name: resolved[name] for name in self.further_fields() if name in resolved}

    @classmethod
    def further_fields(cls) -> tuple[str, ...]:
        """Fields of the signature that are no options: engines of further models, and what a metric derives."""
        models = [name for name, about in cls.options().items() if getattr(about.kind, "has_engine", False)]
        derived = [name for name in cls.derived_fields if name != "layers" or "layer" not in cls.options()]
        return (*(f"{name}_engine" for name in models), *derived)

    @classmethod
    def options_from_signature(cls, recipe: Mapping[str, str]) -> dict[str, str]:
        """The options behind the recipe part of a signature."""
        found: dict[str, str] = {}
        for name, about in cls.options().items():
            if about.signed and name in recipe:
                found = about.kind.read(name, recipe[name]) | found
        return found

    def score(
        self,
        hyps: Iterable[str],
        refs: References | None = None,
        *,
        ref_streams: Iterable[Iterable[str]] | None = None,
        sources: Iterable[str] | None = None,
        **run: Any,
    ) -> Score:
        """Score one system; see `nlgauge.score` for the options of a run."""
        from nlgauge.corpus.checks import make_corpus
        from nlgauge.engine.run import run_metrics

        corpus = make_corpus({"": hyps}, refs, ref_streams=ref_streams, sources=sources)
        return run_metrics([self], corpus, RunOptions.of(run))[0]


def _options_in_words(cls: type[Metric]) -> str:
    """What each option means, for `help()`; own ones first. The class is about to become a dataclass."""
    own = {name: vars(cls).get(name) for name in vars(cls).get("__annotations__", ())}
    entries = own | {name: own.get(name, entry) for name, entry in getattr(cls, "__dataclass_fields__", {}).items()}
    found = [(name, option_of(entry)) for name, entry in entries.items() if isinstance(entry, Field)]
    lines = [f"{name}: {about.help}\n    {about.values}" for name, about in found if about is not None]
    return textwrap.indent("\n\nOptions:\n" + textwrap.indent("\n".join(lines), "    "), "    ") if lines else ""


def about_default(about: Option) -> Any:
    """An option's default as a recipe keeps it."""
    return about.default if about.default is BY_PROFILE else about.check(about.default)


class EncodingSpec(NamedTuple):
    """A model, and what is done to a text before it; metrics that agree on it share tokens and vectors."""

    model: str
    lowercase: str
    max_tokens: int | None


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

    def __getitem__(self, option: str) -> Any:
        """What the option stands for."""
        return self.loaded[option].content

    @property
    def idf(self) -> IdfTables:
        """Tables of token weights."""
        found: IdfTables = self["idf"] if "idf" in self.loaded else IdfTables()
        return found

    @property
    def transforms(self) -> Transforms | None:
        """What is done to token vectors."""
        found: Transforms | None = self["transforms"]
        return found


@dataclass(frozen=True, kw_only=True)
class VectorMetric(Metric, Generic[Representation]):
    """A metric that compares what an encoder made of the texts."""

    published_idf: ClassVar[str] = "none"
    """What the published evaluation counts idf on: refs, both or none."""
    empty_value: ClassVar[float | None] = 0.0
    """Every component of a pair one side of which has no token; None: `compare` is given None for such a text."""
    derived_fields: ClassVar[tuple[str, ...]] = ("layers",)

    model: str = option(
        "",
        Text("minilm, mpnet, muse, a folder, a file of word vectors, or a Hugging Face id", empty=True),
        help="encoder of tokens",
        signed=False,
        unset="by language, minilm for English; muse against a source",
    )
    lang: str = option(
        "",
        Text("a language code such as en", empty=True),
        help="language of the texts: chooses model and baseline where they are not named",
        signed=False,
        unset="English",
    )
    against: str = option("refs", Choice("refs", "source"), help="what a text is compared with", signed=False)
    src_lang: str = option(
        "",
        Text("a language code such as de", empty=True, lower=True),
        help="language of the sources, where transforms need it",
        signed=False,
        unset="not said",
    )
    lowercase: str = option(
        "no",
        Choice("no", "yes"),
        help="put all texts in lower case before they are read",
        short="lc",
        optional=True,
        in_profile=False,
        formerly=Former("casing", {"keep": "no", "lower": "yes"}),
    )
    max_tokens: int | None = option(
        None,
        Whole(1, word="model"),
        help="longest text in tokens, below the model's own limit",
        short="mt",
        optional=True,
        in_profile=False,
        formerly="cut",
    )
    unknown: str = option(
        "error",
        Choice("error", "zero", "score"),
        help="what a text of nothing but tokens unknown to the model gets: score is as it is",
        short="uk",
        optional=True,
        in_profile=False,
    )
    transforms: str = option(
        "none",
        TransformFiles(),
        help="what is done to token vectors before they are compared",
        short="tf",
        optional=True,
        in_profile=False,
        formerly="steps",
    )

    def resolve(self) -> None:
        """The model that the language, or the source, asks for."""
        object.__setattr__(self, "lang", language_code(self.lang) if self.lang else "")
        if not self.model:
            chosen = MULTILINGUAL if self.against == "source" else model_for_language(self.lang or "en")
            object.__setattr__(self, "model", chosen)

    @property
    def encoding(self) -> EncodingSpec:
        """How texts become tokens and vectors."""
        return EncodingSpec(self.model, self.lowercase, self.max_tokens)

    @property
    def idf_choice(self) -> str:
        """Where idf comes from: none, refs, both or a file."""
        return getattr(self, "idf", "none") if "idf" not in self.unused else "none"

    @property
    def counts_idf(self) -> bool:
        """Whether idf is counted on the texts at hand, for which whole files may have to be read."""
        return self.idf_choice in COUNTED

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
        return State(corpus.encoder, layers, loaded)

    def describe(self, state: State) -> dict[str, str]:
        """The metric's own fields of the signature, resolved."""
        resolved = {name: loaded.label for name, loaded in state.loaded.items()}
        resolved |= {f"{name}_engine": loaded.engine for name, loaded in state.loaded.items() if loaded.engine}
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

    def finish(self, comparisons: Mapping[str, Sequence[Comparison]], state: State) -> dict[str, SystemResult]:
        """Segment scores of every system; by default the mean over references."""
        return {system: self.joined(found) for system, found in comparisons.items()}

    def joined(self, comparisons: Sequence[Comparison], *, rule: str = "mean") -> SystemResult:
        """Components of each segment, its references averaged or the best of them (by the main component)."""
        pick = np.argmax if self.higher_is_better else np.argmin
        main = self.components.index(self.main)
        best = np.array([int(pick(found.values[:, main])) for found in comparisons], dtype=np.int64)
        if rule == "best":
            table = np.array([found.values[row] for found, row in zip(comparisons, best, strict=True)])
        else:
            table = np.array([found.values.mean(axis=0) for found in comparisons])
        return SystemResult({name: table[:, column].copy() for column, name in enumerate(self.components)}, best)


@dataclass(frozen=True, kw_only=True)
class TextMetric(Metric):
    """A metric that looks at the texts themselves, through a package of its own."""

    @abstractmethod
    def score_texts(self, hypotheses: Sequence[str], references: Sequence[Sequence[str]]) -> SystemResult:
        """Scores of one system."""

    def describe_texts(self) -> dict[str, str]:
        """The metric's own fields of the signature, with the version of its package."""
        return self.own_fields(self.versions())

    def versions(self) -> dict[str, str]:
        """Packages that compute the score, with their versions."""
        return {}
