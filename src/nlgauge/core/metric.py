"""Base classes of metrics, and their results for a pair, a segment and a system.

A metric is a frozen recipe whose fields are its options. A metric of vectors (`core/vector_metric.py`) compares token
vectors from an encoder. A `TextMetric` has no vectors and no model: it scores the texts themselves.

A `Profile` is one consistent set of choices where a paper and its released code disagree. It sets defaults for some
options, and fixes conventions that no option changes. A profile with a changed option is shown with a star: `v1*`.
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
    """One value per component."""
    alignment: Alignment | Flow | None = None
    converged: bool = True


@dataclass(frozen=True, eq=False)
class Comparison:
    """One hypothesis against each of its references."""

    values: NDArray[np.float64]
    """A row per reference, a column per component."""
    alignments: tuple[Alignment | Flow | None, ...] | None = None
    """One per reference, if requested; None for an empty side."""
    zero_weight: bool = False
    unconverged: bool = False


@dataclass(frozen=True, eq=False)
class SystemResult:
    """A system's scores: an array per component, and the best reference of each segment."""

    segments: Mapping[str, NDArray[np.float64]]
    best_reference: NDArray[np.int64] | None = None
    corpus: Mapping[str, float] = field(default_factory=dict)
    """Scores of the whole system, if they are not means over segments."""
    statistics: CorpusCounts | None = None
    """The counts of the main component of `corpus`, for resampling segments."""
    notes: SegmentNotes = field(default_factory=dict)
    """Segments by note of the metric."""
    run: Mapping[str, str] = field(default_factory=dict)
    """Fields for the run part of the signature."""


#: Names that an option of a metric cannot have: keywords of the scoring functions, options of a run, and attributes
#: that the engine reads of every metric.
_RESERVED = {entry.name for entry in fields(RunOptions)} | {
    *("hyps", "metric", "metrics", "ref_streams", "refs", "sources"),
    *("base_metrics", "group", "profiles", "published"),
}


class Profile(SimpleNamespace):
    """Defaults of options by name, and conventions that no option changes."""


class ProfileName(Choice):
    """The name of a profile; a signature marks a changed profile with a star."""

    def read(self, name: str, text: str) -> dict[str, str]:
        """Without the star."""
        return {name: text.removesuffix("*")}


def profile_option(default: str, profiles: Mapping[str, Profile]) -> Any:
    """The option to choose a profile."""
    return option(default, ProfileName(*profiles), help="published variant, where paper and code disagree")


@cache
def _package_of(module: str) -> str:
    """Name and version of the package that a metric comes from; empty for the metrics of nlgauge."""
    root = module.partition(".")[0]
    packages = [] if root == "nlgauge" else packages_distributions().get(root, [])
    return f"{packages[0]}-{version(packages[0])}" if packages else ""


class _RecipeType(ABCMeta):
    """Refuses unknown options of a recipe, and remembers the options that were set."""

    def __call__(cls, **given: Any) -> Any:
        """Make a recipe."""
        options = cls.known_options(given)  # type: ignore[attr-defined]  # every class of this type is a Metric
        recipe = super().__call__(**options)
        object.__setattr__(recipe, "_given", options)
        return recipe

    @property
    def __signature__(cls) -> inspect.Signature:
        """The options, which `__call__` above would hide from `help()` and editors."""
        signature = inspect.signature(cls.__init__)  # type: ignore[misc]  # of the class, not of an instance
        return signature.replace(parameters=list(signature.parameters.values())[1:])


@dataclass(frozen=True, kw_only=True)
class Metric(ABC, metaclass=_RecipeType):
    """A recipe. Its fields are its options; the signature contains their resolved values."""

    name: ClassVar[str]
    title: ClassVar[str] = ""
    """The name as papers print it, such as BERTScore; empty: `name`."""
    table_decimals: ClassVar[int] = 3
    """Decimals of system scores in a table for a paper."""
    components: ClassVar[tuple[str, ...]]
    main: ClassVar[str]
    higher_is_better: ClassVar[bool] = True
    citation: ClassVar[str] = ""
    distances: ClassVar[frozenset[str]] = frozenset()
    """Components for which lower is better, if the main component is not a distance."""
    whole_corpus: ClassVar[bool] = False
    """Whether the score of a pair depends on the other pairs of the run."""
    derived_fields: ClassVar[tuple[str, ...]] = ()
    """Fields of the signature that are not options, such as the version of a package."""
    notes: ClassVar[tuple[Note, ...]] = ()
    """Notes of this metric, besides the notes of any metric (`declare_note`)."""
    profiles: ClassVar[Mapping[str, Profile]] = {}
    """Profiles by name, for a metric with the option `profile`. Options that a profile omits keep their default."""
    leading_option: ClassVar[str] = ""
    """The option whose name can be omitted: `name:value`."""
    _options: ClassVar[tuple[Mapping[str, Any], Mapping[str, Option]]]
    """The result of `options`, with the dataclass fields that it was made from."""
    _option_lines: ClassVar[dict[str, str]] = {}
    """The lines of `help()` about each option."""

    def __init_subclass__(cls, **rest: Any) -> None:
        super().__init_subclass__(**rest)
        signed: dict[str, str] = {}
        own = dict.fromkeys(vars(cls).get("__annotations__", ()), "")
        for name, entry in vars(cls).items():
            opt = getattr(entry, "metadata", {}).get("option")
            if opt is None:
                continue
            own[name] = _option_line(name, opt)
            if name in _RESERVED or (opt.signed and name in (*RUNNER_FIELDS, PACKAGE)):
                msg = f"{cls.__name__} cannot have an option {name!r}: the name is reserved; choose another one"
                raise RecipeError(msg)
            if opt.signed:
                signed[name] = opt.help
        declare_fields(signed)
        inherited: dict[str, str] = {}
        for base in reversed(cls.__mro__[1:]):
            inherited |= vars(base).get("_option_lines") or _option_lines(base)
        cls._option_lines = inherited | own
        lines = [line for line in (own | inherited | own).values() if line]
        if lines and vars(cls).get("__doc__"):
            options = textwrap.indent("\n".join(lines), "    ")
            cls.__doc__ = f"{cls.__doc__}" + textwrap.indent(f"\n\nOptions:\n{options}", "    ")

    @classmethod
    def title_of(cls, recipe: Mapping[str, str]) -> str:
        """The name as papers print it, of a recipe by the fields of its signature."""
        return cls.title or cls.name

    @classmethod
    def options(cls) -> Mapping[str, Option]:
        """The options by name: a metric's own options first, then shared ones."""
        # Cached per class; the fields change when the class becomes a dataclass.
        if "_options" not in vars(cls) or cls._options[0] is not cls.__dataclass_fields__:
            cls._options = (cls.__dataclass_fields__, MappingProxyType(_order_options(cls)))
        return cls._options[1]

    @classmethod
    def same_option(cls, name: str, **changes: Any) -> Any:
        """An option of this metric as a field of another metric, with changes such as another default."""
        opt = replace(cls.options()[name], **changes)
        return field(default=opt.default, metadata={"option": opt})

    @classmethod
    def known_options(cls, given: Mapping[str, Any]) -> dict[str, Any]:
        """Check that the metric has these options."""
        options = cls.options()
        for name in given:
            if name not in options:
                hint = did_you_mean(name, options, see=f"nlgauge show {cls.name}")
                msg = f"metric {cls.name!r} has no option {name!r}{hint}"
                raise RecipeError(msg)
        return dict(given)

    @classmethod
    def from_options(cls, given: Mapping[str, Any]) -> Self:
        """Make a recipe from option values; text values are parsed, as on the command line."""
        options = cls.options()
        return cls(**{name: options[name].parse(value) for name, value in cls.known_options(given).items()})

    @property
    def given(self) -> Mapping[str, Any]:
        """The options that were set explicitly; the others have defaults or depend on these."""
        given: dict[str, Any] = self.__dict__["_given"]
        return given

    def with_options(self, **changes: Any) -> Self:
        """The recipe with other values; dependent options are resolved again."""
        return type(self).from_options(dict(self.given) | self.known_options(changes))

    def __post_init__(self) -> None:
        options = self.options()
        for name, opt in options.items():
            value = getattr(self, name)
            if value is not BY_PROFILE:
                object.__setattr__(self, name, opt.check(value, metric=self.name))
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
        """Number of consecutive segments whose vectors are computed together."""
        return 1

    @property
    def base_metrics(self) -> tuple[Metric, ...]:
        """The metrics that compare texts: the members of a composite, else the metric itself."""
        return (self,)

    @property
    def unused(self) -> Mapping[str, str]:
        """Options without effect in this recipe, with the reason; they are refused, and not in the signature."""
        return {}

    def resolve(self) -> None:
        """Fill in defaults that depend on other options."""
        return

    @property
    def published(self) -> Any:
        """The chosen profile."""
        return self.profiles[getattr(self, "profile")]  # noqa: B009 - an option of every metric with profiles

    @property
    def deviates(self) -> bool:
        """Whether an option differs from the profile."""
        return any(
            getattr(self, name) != getattr(self.published, name, opt.default)
            for name, opt in self.options().items()
            if opt.signed and opt.in_profile and name != "profile" and name not in self.unused
        )

    def check(self) -> None:
        """Refuse incompatible options."""
        return

    def own_fields(self, resolved: Mapping[str, str]) -> dict[str, str]:
        """The options as fields of a signature, in order; `resolved` has the values that depend on the run."""
        described, unused = {}, self.unused
        for name, opt in self.options().items():
            if not opt.signed or name in unused:
                continue
            text = resolved[name] if name in resolved else opt.kind.show(getattr(self, name))
            if opt.optional and text == opt.kind.show(opt.default):
                continue
            described[name] = text
        if self.profiles and self.deviates:
            described["profile"] += "*"
        further = {name: resolved[name] for name in self.further_fields() if name in resolved}
        package = _package_of(type(self).__module__)
        return described | further | ({PACKAGE: package} if package else {})

    @classmethod
    def further_fields(cls) -> tuple[str, ...]:
        """Fields of the signature that are not options: engines of further models, and `derived_fields`."""
        models = [name for name, opt in cls.options().items() if getattr(opt.kind, "has_engine", False)]
        derived = [name for name in cls.derived_fields if name != "layers" or "layer" not in cls.options()]
        return (*(f"{name}_engine" for name in models), *derived, PACKAGE)

    @classmethod
    def options_from_signature(cls, recipe: Mapping[str, str]) -> dict[str, str]:
        """Read the options from the recipe part of a signature."""
        options: dict[str, str] = {}
        for name, opt in cls.options().items():
            if opt.signed and name in recipe:
                options = opt.kind.read(name, recipe[name]) | options
        return options

    def describe_empty(self) -> str:
        """How a segment with an empty text is scored, as the end of a warning; empty if another warning has it."""
        return "scored 0"

    def describe_dependence(self) -> tuple[str, str]:
        """Why the score of a pair depends on the other pairs, and the remedy; for metrics with `whole_corpus`."""
        if "bounds" in self.options():
            reason = f"{self.name} scales its parts over the whole corpus, by their lowest and highest value"
            return reason, "fix the range with bounds=FILE, made by 'nlgauge build bounds'"
        fix = "idf=none" if "idf" in self.options() else "another metric"
        return f"scores by {self.name} depend on the other pairs of the corpus", f"use {fix}"

    def describe_note(self, note: Note) -> str:
        """The message of a warning about a note under this recipe."""
        return note.message.replace("{metric}", self.name)

    def joined(self, comparisons: Sequence[Comparison], *, rule: str = "mean") -> SystemResult:
        """Join the references of each segment: take the mean, the best value of each component (`best-each`), or all
        components of the reference with the best main component (any other rule).
        """
        pick = np.argmax if self.higher_is_better else np.argmin
        main = self.components.index(self.main)
        best = np.array([int(pick(comparison.values[:, main])) for comparison in comparisons], dtype=np.int64)
        if rule == "mean":
            table = np.array([comparison.values.mean(axis=0) for comparison in comparisons])
        elif rule == "best-each":
            table = np.array([comparison.values.max(axis=0) for comparison in comparisons])
        else:
            table = np.array([comparison.values[row] for comparison, row in zip(comparisons, best, strict=True)])
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

        corpus = make_corpus(
            {"": hyps}, refs, ref_streams=ref_streams, sources=sources, alone=needs_no_reference([self])
        )
        return run_metrics([self], corpus, RunOptions.of(run))[0]


def _option_line(name: str, opt: Option) -> str:
    return f"{name}: {opt.help}\n    {opt.kind.values}"


def _option_lines(base: type) -> dict[str, str]:
    """Lines on the options of a class that is not a metric, but has options that metrics share."""
    fields_of_base = vars(base).get("__dataclass_fields__", {})
    return {name: _option_line(name, opt) for name, opt in options_of(fields_of_base.values()).items()}


def _order_options(cls: type[Metric]) -> dict[str, Option]:
    """The options of a metric: `profile` first, then its own, then those of its base classes."""
    options = options_of(fields(cls))
    names = [name for base in cls.__mro__ for name in vars(base).get("__annotations__", ())]
    return {name: options[name] for name in dict.fromkeys(["profile", *names, *options]) if name in options}


def base_metrics(recipes: Iterable[Metric]) -> list[Metric]:
    """The metrics that compare texts for these recipes, in order."""
    return [metric for recipe in recipes for metric in recipe.base_metrics]


def reads_sources(metrics: Iterable[Metric]) -> bool:
    """Whether one of them compares with sources, alone or next to references."""
    return any(
        getattr(metric, "against", "refs") == "source" or getattr(metric, "needs_sources", False)
        for recipe in metrics
        for metric in recipe.base_metrics
    )


def can_read_sources(metrics: Iterable[Metric]) -> bool:
    """Whether one of them compares with sources, or has an option to do so."""
    recipes = list(metrics)
    return reads_sources(recipes) or any(
        "against" in metric.options() for recipe in recipes for metric in recipe.base_metrics
    )


def needs_no_reference(metrics: Iterable[Metric]) -> bool:
    """Whether all of them read the hypotheses only, so neither references nor sources are needed."""
    return all(getattr(metric, "against", "refs") == "nothing" for metric in metrics)


@dataclass(frozen=True, kw_only=True)
class TextMetric(Metric):
    """A metric that scores the texts themselves, usually through another package."""

    against: ClassVar[str] = "refs"
    """What hypotheses are compared with: `refs`, `source` (given as the only reference) or `nothing`."""
    needs_sources: ClassVar[bool] = False
    """Whether the metric compares with the sources as well; then `score_texts` gets them as the keyword `sources`."""

    @abstractmethod
    def score_texts(self, hypotheses: Sequence[str], references: Sequence[Sequence[str]]) -> SystemResult:
        """Scores of one system."""

    def score_system(
        self, hypotheses: Sequence[str], references: Sequence[Sequence[str]], sources: Sequence[str] | None
    ) -> SystemResult:
        """Scores of one system, with its sources if the metric needs them."""
        more: dict[str, Any] = {"sources": sources} if self.needs_sources else {}
        return self.score_texts(hypotheses, references, **more)

    def language_problem(self, references: Sequence[Sequence[str]]) -> str:
        """A warning if the scores are unreliable in the language of these references; else empty."""
        return ""

    def corpus_scores(self, statistics: CorpusCounts) -> Mapping[str, float]:
        """Scores of a whole corpus from the counts of its segments, if they are not means over segments."""
        msg = (
            f"cannot merge parts of a corpus: {self.name} counts per segment but does not define corpus_scores(); "
            "define it, or score the texts in one call"
        )
        raise RecipeError(msg)

    def describe_texts(self) -> dict[str, str]:
        """The metric's own fields of the signature, with the version of its package."""
        return self.own_fields(self.versions())

    def versions(self) -> dict[str, str]:
        """Packages that compute the score, with their versions."""
        return {}
