"""Base classes of metrics, and their results for a pair, for a segment and for a system.

A metric is a frozen recipe whose fields are its options. A metric of vectors (`core/vector_metric.py`) compares what
an encoder made of the texts. A `TextMetric` has no vectors and no model: it scores texts as they are.

A `Profile` is one consistent set of choices where a paper and its released codes disagree. It has a value for some
options, and fixes conventions that no option changes. A recipe takes from it what was not chosen; what was chosen
otherwise shows as a star: `v1*`.
"""

from __future__ import annotations

import inspect
import textwrap
from abc import ABC, ABCMeta, abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from functools import cache
from importlib.metadata import packages_distributions, version
from types import MappingProxyType, SimpleNamespace
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

from nlgauge.core.corpus import References
from nlgauge.core.kinds import Choice
from nlgauge.core.options import BY_PROFILE, Option, option, options_of
from nlgauge.core.run_options import RunOptions
from nlgauge.core.score import Note, SegmentNotes
from nlgauge.core.signature import PACKAGE, RUNNER_FIELDS, declare_fields
from nlgauge.errors import RecipeError, did_you_mean
from nlgauge.vectors.cloud import Alignment, Flow

if TYPE_CHECKING:
    from typing_extensions import Self, Unpack

    from nlgauge.core.keywords import RunKeywords
    from nlgauge.core.score import Score
    from nlgauge.stats.corpus_counts import CorpusCounts


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
    statistics: CorpusCounts | None = None
    """Behind the main component of `corpus`, for those who resample segments."""
    notes: SegmentNotes = field(default_factory=dict)
    """Segments that a note of the metric names."""
    run: Mapping[str, str] = field(default_factory=dict)
    """What the run part of the signature must say of it."""


#: Keywords of the scoring functions and options of a run, which are no options of a metric, and attributes that the
#: engine reads of every metric.
_RESERVED = {entry.name for entry in fields(RunOptions)} | {
    *("hyps", "metric", "metrics", "ref_streams", "refs", "sources"),
    *("base_metrics", "group", "profiles", "published"),
}


class Profile(SimpleNamespace):
    """Values of options by name, and conventions that no option changes."""


class ProfileName(Choice):
    """Names of profiles; a signature marks a changed one by a star."""

    def read(self, name: str, text: str) -> dict[str, str]:
        """Without the star."""
        return {name: text.removesuffix("*")}


def profile_option(default: str, profiles: Mapping[str, Profile]) -> Any:
    """The option that names one of the profiles."""
    return option(default, ProfileName(*profiles), help="set of choices where paper and code disagree")


@cache
def _package_of(module: str) -> str:
    """Name and version of the installed package that a metric of others comes with; empty for those of nlgauge."""
    root = module.partition(".")[0]
    found = [] if root == "nlgauge" else packages_distributions().get(root, [])
    return f"{found[0]}-{version(found[0])}" if found else ""


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
    notes: ClassVar[tuple[Note, ...]] = ()
    """What may be noted of a segment under this metric, besides what any metric may note (`declare_note`)."""
    profiles: ClassVar[Mapping[str, Profile]] = {}
    """By name, for a metric with the option `profile`; an option that a profile does not mention is as usual."""
    leading_option: ClassVar[str] = ""
    """The option that may be given without its name, right after the colon of `name:value`."""
    _options: ClassVar[tuple[Mapping[str, Any], Mapping[str, Option]]]
    """What `options` answers, with the fields of the dataclass that it was made from."""
    _option_lines: ClassVar[dict[str, str]] = {}
    """What `help()` says of each option."""

    def __init_subclass__(cls, **rest: Any) -> None:
        super().__init_subclass__(**rest)
        signed: dict[str, str] = {}
        own = dict.fromkeys(vars(cls).get("__annotations__", ()), "")
        for name, entry in vars(cls).items():
            about = getattr(entry, "metadata", {}).get("option")
            if about is None:
                continue
            own[name] = f"{name}: {about.help}\n    {about.kind.values}"
            if name in _RESERVED or (about.signed and name in (*RUNNER_FIELDS, PACKAGE)):
                msg = f"an option of {cls.__name__} cannot be called {name!r}, which has a meaning for every metric"
                raise RecipeError(msg)
            if about.signed:
                signed[name] = about.help
        declare_fields(signed)
        inherited: dict[str, str] = {}
        for base in reversed(cls.__mro__[1:]):
            inherited |= vars(base).get("_option_lines", {})
        cls._option_lines = inherited | own
        lines = [line for line in (own | inherited | own).values() if line]
        if lines and vars(cls).get("__doc__"):
            options = textwrap.indent("\n".join(lines), "    ")
            cls.__doc__ = f"{cls.__doc__}" + textwrap.indent(f"\n\nOptions:\n{options}", "    ")

    @classmethod
    def options(cls) -> Mapping[str, Option]:
        """What can be chosen, by name: a metric's own options first, then those that it shares with others."""
        # Each class keeps its own. One that was asked before it became a dataclass has other fields since.
        if "_options" not in vars(cls) or cls._options[0] is not cls.__dataclass_fields__:
            cls._options = (cls.__dataclass_fields__, MappingProxyType(_options_of(cls)))
        return cls._options[1]

    @classmethod
    def same_option(cls, name: str, **changes: Any) -> Any:
        """An option of this metric as a field of another one, with changes such as another default."""
        about = replace(cls.options()[name], **changes)
        return field(default=about.default, metadata={"option": about})

    @classmethod
    def known_options(cls, given: Mapping[str, Any]) -> dict[str, Any]:
        """The options as they are; one that the metric does not have is an error."""
        options = cls.options()
        for name in given:
            if name not in options:
                hint = did_you_mean(name, options, see=f"nlgauge show {cls.name}")
                msg = f"metric {cls.name!r} has no option {name!r}{hint}"
                raise RecipeError(msg)
        return dict(given)

    @classmethod
    def from_options(cls, given: Mapping[str, Any]) -> Self:
        """A recipe from option values; text is parsed, as the command line needs it."""
        options = cls.options()
        return cls(**{name: options[name].parse(value) for name, value in cls.known_options(given).items()})

    @property
    def given(self) -> Mapping[str, Any]:
        """The options that were set when the recipe was made; the others are defaults, or follow from these."""
        found: dict[str, Any] = self.__dict__["_given"]
        return found

    def with_options(self, **changes: Any) -> Self:
        """The same recipe with other values; what follows from a profile follows again."""
        return type(self).from_options(dict(self.given) | self.known_options(changes))

    def __post_init__(self) -> None:
        options = self.options()
        for name, about in options.items():
            value = getattr(self, name)
            if value is not BY_PROFILE:
                object.__setattr__(self, name, about.check(value))
        chosen = {name: getattr(self, name) for name in options}
        for name, value in chosen.items():
            if value is BY_PROFILE:
                object.__setattr__(self, name, getattr(self.published, name))
        self.resolve()
        for name, reason in self.unused.items():
            if chosen[name] != options[name].default:
                msg = f"{name}={chosen[name]!r} {reason}; leave it out"
                raise RecipeError(msg)
        self.check()

    @property
    def group(self) -> int:
        """Segments, one after the other, whose vectors are made together; 1: each by itself."""
        return 1

    @property
    def base_metrics(self) -> tuple[Metric, ...]:
        """Metrics that compare texts for this one: itself, unless it joins the scores of others."""
        return (self,)

    @property
    def unused(self) -> Mapping[str, str]:
        """Options that mean nothing in this recipe, with the reason; they are refused, and not in the signature."""
        return {}

    def resolve(self) -> None:
        """Fill in defaults that depend on other options."""
        return

    @property
    def published(self) -> Any:
        """What the profile says."""
        return self.profiles[getattr(self, "profile")]  # noqa: B009 - an option of every metric with profiles

    @property
    def deviates(self) -> bool:
        """Whether an option is not as the profile has it."""
        return any(
            getattr(self, name) != getattr(self.published, name, about.default)
            for name, about in self.options().items()
            if about.signed and about.in_profile and name != "profile" and name not in self.unused
        )

    def check(self) -> None:
        """Refuse options that do not go together."""
        return

    def own_fields(self, resolved: Mapping[str, str]) -> dict[str, str]:
        """The options as fields of a signature, in order; `resolved` has those that a run decides."""
        described, unused = {}, self.unused
        for name, about in self.options().items():
            if not about.signed or name in unused:
                continue
            text = resolved[name] if name in resolved else about.kind.show(getattr(self, name))
            if about.optional and text == about.kind.show(about.default):
                continue
            described[name] = text
        if self.profiles and self.deviates:
            described["profile"] += "*"
        further = {name: resolved[name] for name in self.further_fields() if name in resolved}
        package = _package_of(type(self).__module__)
        return described | further | ({PACKAGE: package} if package else {})

    @classmethod
    def further_fields(cls) -> tuple[str, ...]:
        """Fields of the signature that are no options: engines of further models, and what a metric derives."""
        models = [name for name, about in cls.options().items() if getattr(about.kind, "has_engine", False)]
        derived = [name for name in cls.derived_fields if name != "layers" or "layer" not in cls.options()]
        return (*(f"{name}_engine" for name in models), *derived, PACKAGE)

    @classmethod
    def options_from_signature(cls, recipe: Mapping[str, str]) -> dict[str, str]:
        """The options behind the recipe part of a signature."""
        found: dict[str, str] = {}
        for name, about in cls.options().items():
            if about.signed and name in recipe:
                found = about.kind.read(name, recipe[name]) | found
        return found

    def describe_note(self, note: Note) -> str:
        """What a warning says of segments with a note under this recipe."""
        return note.message.replace("{metric}", self.name)

    def joined(self, comparisons: Sequence[Comparison], *, rule: str = "mean") -> SystemResult:
        """Components of each segment: the mean over its references, the best of each component (`best-each`), or all
        of the reference with the best main component.
        """
        pick = np.argmax if self.higher_is_better else np.argmin
        main = self.components.index(self.main)
        best = np.array([int(pick(found.values[:, main])) for found in comparisons], dtype=np.int64)
        if rule == "mean":
            table = np.array([found.values.mean(axis=0) for found in comparisons])
        elif rule == "best-each":
            table = np.array([found.values.max(axis=0) for found in comparisons])
        else:
            table = np.array([found.values[row] for found, row in zip(comparisons, best, strict=True)])
        return SystemResult({name: table[:, column].copy() for column, name in enumerate(self.components)}, best)

    def score(
        self,
        hyps: Iterable[str],
        refs: References | None = None,
        *,
        ref_streams: Iterable[Iterable[str]] | None = None,
        sources: Iterable[str] | None = None,
        **run: Unpack[RunKeywords],
    ) -> Score:
        """Score one system; see `nlgauge.score` for the options of a run."""
        from nlgauge.core.corpus import make_corpus
        from nlgauge.core.pipeline import run_metrics

        corpus = make_corpus({"": hyps}, refs, ref_streams=ref_streams, sources=sources, alone=looks_alone([self]))
        return run_metrics([self], corpus, RunOptions.of(run))[0]


def _options_of(cls: type[Metric]) -> dict[str, Option]:
    known = options_of(fields(cls))
    names = [name for base in cls.__mro__ for name in vars(base).get("__annotations__", ())]
    return {name: known[name] for name in dict.fromkeys(["profile", *names, *known]) if name in known}


def base_metrics(recipes: Iterable[Metric]) -> list[Metric]:
    """Metrics that compare texts for the recipes, in order."""
    return [metric for recipe in recipes for metric in recipe.base_metrics]


def looks_alone(metrics: Iterable[Metric]) -> bool:
    """Whether all of them look at hypotheses by themselves, so that nothing to compare with is needed."""
    return all(getattr(metric, "against", "refs") == "nothing" for metric in metrics)


@dataclass(frozen=True, kw_only=True)
class TextMetric(Metric):
    """A metric that looks at the texts themselves, through a package of its own."""

    against: ClassVar[str] = "refs"
    """What a hypothesis is compared with: `refs`, or `nothing` where it is looked at by itself."""

    @abstractmethod
    def score_texts(self, hypotheses: Sequence[str], references: Sequence[Sequence[str]]) -> SystemResult:
        """Scores of one system."""

    def language_problem(self, references: Sequence[Sequence[str]]) -> str:
        """Why scores mean little in the language of these references; empty where nothing is wrong."""
        return ""

    def corpus_scores(self, statistics: CorpusCounts) -> Mapping[str, float]:
        """Scores of a whole corpus from the counts of its segments, where they are no means over segments."""
        msg = (
            f"{self.name} keeps counts of segments and has no corpus_scores() that makes a score of them, so that "
            "parts of a corpus cannot be merged; define it, or score the texts in one call"
        )
        raise RecipeError(msg)

    def describe_texts(self) -> dict[str, str]:
        """The metric's own fields of the signature, with the version of its package."""
        return self.own_fields(self.versions())

    def versions(self) -> dict[str, str]:
        """Packages that compute the score, with their versions."""
        return {}
