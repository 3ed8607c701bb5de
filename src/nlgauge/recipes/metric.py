"""What a metric is: a frozen recipe, and prepare / represent / compare / finish.

    prepare(corpus)          -> state           idf tables, baselines; what needs the whole corpus
    represent(text)          -> cloud           once per distinct text of a window
    compare(pair)            -> components      plain numbers against each reference, and the alignment
    finish(all components)   -> segment scores  joins references, rescales

The runner calls them; a metric of clouds never loops over a corpus itself. A lexical metric has no clouds and no
model: it scores texts as they stand (`TextMetric`).
"""

from __future__ import annotations

import os
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, fields
from typing import TYPE_CHECKING, Any, ClassVar, Generic, NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from nlgauge.clouds.alignments import Alignment, Flow
from nlgauge.corpus.texts import References
from nlgauge.corpus.tokens import TokenizedCorpus
from nlgauge.encoders import EncodedText, Encoder
from nlgauge.errors import RecipeError
from nlgauge.recipes.defaults import MULTILINGUAL, model_for_language
from nlgauge.recipes.run_options import RunOptions
from nlgauge.text.languages import language_code
from nlgauge.transforms.base import VectorSteps, load_steps

if TYPE_CHECKING:
    from typing_extensions import Self

    from nlgauge.scores import Score

__all__ = [
    "CloudMetric",
    "Comparison",
    "Finished",
    "Metric",
    "Reading",
    "TextMetric",
    "WindowTexts",
    "number_or",
    "option",
]

State = TypeVar("State")
Form = TypeVar("Form")


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
class Finished:
    """A system's scores: an array per component, and which reference was best."""

    segments: Mapping[str, NDArray[np.float64]]
    best_reference: NDArray[np.int64] | None = None
    corpus: Mapping[str, float] = field(default_factory=dict)
    """Scores of the whole system, where those are no means over segments."""
    run: Mapping[str, str] = field(default_factory=dict)
    """What the run part of the signature must say of it."""


def number_or(word: str, kind: Callable[[str], Any]) -> Callable[[str], Any]:
    """Reads a number, or None for the word that leaves the choice to the model or the profile."""
    return lambda text: None if text == word else kind(text)


def option(default: Any, *, parse: Callable[[str], Any], help: str) -> Any:  # noqa: A002 - as argparse has it
    """A field of a recipe that can be set from text: `bertscore:layer=4`, `--layer 4`."""
    return field(default=default, metadata={"parse": parse, "help": help})


@dataclass(frozen=True, kw_only=True)
class Metric(ABC):
    """A recipe. Its fields are its options, and all of them are in the signature once resolved."""

    name: ClassVar[str]
    components: ClassVar[tuple[str, ...]]
    main: ClassVar[str]
    higher_is_better: ClassVar[bool]
    citation: ClassVar[str]
    signature_fields: ClassVar[tuple[str, ...]]
    """Keys of `describe`, in order."""
    distances: ClassVar[frozenset[str]] = frozenset()
    """Components that are better when they are lower, beside a main component that is not one of them."""
    whole_corpus: ClassVar[bool] = False
    """Whether the score of a pair depends on the other pairs of the run."""

    @classmethod
    @abstractmethod
    def options_from_signature(cls, recipe: Mapping[str, str]) -> dict[str, str]:
        """The options behind the recipe part of a signature: `describe` backwards."""

    @classmethod
    def options(cls) -> dict[str, Any]:
        """Dataclass fields by name, in order."""
        return {f.name: f for f in fields(cls)}

    @classmethod
    def from_options(cls, given: Mapping[str, Any]) -> Self:
        """A recipe from option values; text is parsed, as the command line needs it."""
        known = cls.options()
        values = {}
        for name, value in given.items():
            if name not in known:
                msg = f"metric {cls.name!r} has no option {name!r}; it has: {', '.join(known)}"
                raise RecipeError(msg)
            try:
                values[name] = known[name].metadata["parse"](value) if isinstance(value, str) else value
            except ValueError as error:
                msg = f"option {name!r} of {cls.name!r} does not take {value!r}: {known[name].metadata['help']}"
                raise RecipeError(msg) from error
        return cls(**values)

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


class Reading(NamedTuple):
    """A model, and what is done to a text before it."""

    model: str
    casing: str
    cut: int | None


class WindowTexts(NamedTuple):
    """The distinct texts of a window, for what looks at all of them at once."""

    encoded: Mapping[str, EncodedText]
    hypotheses: Sequence[str]
    others: Sequence[str]
    """References, or sources."""


@dataclass(frozen=True, kw_only=True)
class CloudMetric(Metric, Generic[State, Form]):
    """A metric that compares what an encoder made of the texts."""

    model: str = option(
        "", parse=str, help="minilm, mpnet, a folder, or a Hugging Face id; default: by language, minilm for English"
    )
    lang: str = option("", parse=str, help="language of the texts: chooses model and baseline if they are not named")
    against: str = option("refs", parse=str, help="what a text is compared with: refs, or source (then model: muse)")
    src_lang: str = option("", parse=str, help="language of the sources, where steps need it")
    casing: str = option("keep", parse=str, help="keep, or lower (all texts in lower case)")
    cut: int | None = option(
        None, parse=number_or("model", int), help="longest text in tokens, or 'model' for the model's"
    )
    unknown: str = option(
        "error", parse=str, help="text of nothing but tokens unknown to the model: error, zero, score"
    )
    steps: str = option(
        "none", parse=str, help="what is done to token vectors, joined by +: files of 'nlgauge align', position-norm"
    )

    def __post_init__(self) -> None:
        for name in self.options():
            if isinstance(getattr(self, name), os.PathLike):
                object.__setattr__(self, name, os.fspath(getattr(self, name)))
        for name in ("model", "lang", "src_lang", "steps"):
            if not isinstance(getattr(self, name), str):
                self._refuse(name)
        allowed = {"against": ("refs", "source"), "casing": ("keep", "lower"), "unknown": ("error", "zero", "score")}
        for name, values in allowed.items():
            if getattr(self, name) not in values:
                self._refuse(name)
        if self.cut is not None and (not isinstance(self.cut, int) or self.cut < 1):
            self._refuse("cut")
        object.__setattr__(self, "lang", language_code(self.lang) if self.lang else "")
        object.__setattr__(self, "src_lang", self.src_lang.lower())
        object.__setattr__(self, "steps", self.steps or "none")
        if not self.model:
            across = self.against == "source"
            object.__setattr__(self, "model", MULTILINGUAL if across else model_for_language(self.lang or "en"))

    def _refuse(self, name: str) -> None:
        msg = f"{self.name} does not take {name}={getattr(self, name)!r}: {self.options()[name].metadata['help']}"
        raise RecipeError(msg)

    @property
    def published_idf(self) -> str:
        """What the published evaluation counts idf on: refs, both or none."""
        return "none"

    @property
    def counts_idf(self) -> bool:
        """Whether idf is counted on the texts at hand, for which whole files may have to be read."""
        return False

    @property
    def reading(self) -> Reading:
        """How texts become tokens and vectors; metrics that agree on it share them."""
        return Reading(self.model, self.casing, self.cut)

    @abstractmethod
    def layers(self, encoder: Encoder) -> tuple[int, ...]:
        """Layers whose vectors the metric needs."""

    def reads_with(self, encoder: Encoder) -> bool:
        """Whether a score depends on the tokens of this model: not where only another one reads the texts."""
        return bool(self.layers(encoder)) or getattr(self, "sentence", "") in ("", self.model)

    def load_steps(self) -> VectorSteps | None:
        """What is done to the vectors, read from its files; texts without a language are English."""
        source = self.src_lang if self.against == "source" else None
        return load_steps(self.steps, source=source, target=self.lang or "en")

    def check_steps(self, steps: VectorSteps, encoder: Encoder) -> None:
        """Refuse steps that do not fit the vectors they are to work on."""
        steps.check(encoder.weights_digest, layers=self.layers(encoder), width=encoder.hidden_size)

    @abstractmethod
    def prepare(self, corpus: TokenizedCorpus, options: RunOptions) -> State:
        """What needs the whole corpus, frozen; and second models, loaded with the options of the run."""

    def check_recipe(self, recipe: Mapping[str, str], state: State) -> None:
        """Refuse what does not fit the resolved recipe, in the words of its signature."""
        return

    def side(self, system: str | None) -> str:
        """Names the tables that a system's texts (None: references) are represented with.

        Texts of one side share one form. Most metrics know only one side.
        """
        return ""

    def read(self, texts: WindowTexts, state: State) -> None:
        """Look at all texts of a window before they are represented, such as with a second model.

        What is found goes to `EncodedText.facts`, from where `represent` takes it.
        """
        return

    @abstractmethod
    def represent(self, text: EncodedText, state: State, side: str) -> Form:
        """A text in the form that `compare` takes."""

    @abstractmethod
    def compare(self, hypothesis: Form, references: Sequence[Form], state: State, *, align: bool) -> Comparison:
        """Components against each reference, and the alignments where they are asked for."""

    @abstractmethod
    def finish(self, comparisons: Sequence[Comparison], state: State) -> Finished:
        """Segment scores of one system."""

    def finish_all(self, comparisons: Mapping[str, Sequence[Comparison]], state: State) -> dict[str, Finished]:
        """Segment scores of all systems of a run; each on its own, unless a metric says otherwise."""
        return {system: self.finish(found, state) for system, found in comparisons.items()}

    @abstractmethod
    def describe(self, state: State) -> dict[str, str]:
        """The metric's own fields of the signature, resolved."""

    def describe_run(self, state: State, system: str) -> dict[str, str]:
        """What belongs to one system's run only, for the run part of its signature."""
        return {}


@dataclass(frozen=True, kw_only=True)
class TextMetric(Metric):
    """A metric that looks at the texts themselves, through a package of its own."""

    @abstractmethod
    def score_texts(self, hypotheses: Sequence[str], references: Sequence[Sequence[str]]) -> Finished:
        """Scores of one system."""

    @abstractmethod
    def describe_texts(self) -> dict[str, str]:
        """The metric's own fields of the signature, with the version of the package."""

    @classmethod
    def options_from_signature(cls, recipe: Mapping[str, str]) -> dict[str, str]:
        return {key: value for key, value in recipe.items() if key in cls.options()}
