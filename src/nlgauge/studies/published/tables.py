"""Data model of a published table: columns with a question on a data set, and rows with the published values.

    column    one language pair (or criterion) of a data set: judgements, level and coefficient
    mean      unweighted average of columns, as in papers
    row       a metric: the published values, and how nlgauge computes them: a recipe, a score released with the data,
              or a key of its experiment; a row with none of these has published values only, with a reason

The tables are in TOML files in the folder `papers` (read by `nlgauge.studies.published.load`). The kind of a table
selects the function that computes it (`nlgauge.studies.published.reproduce`).

A recipe is for the published model. `recipe_for_other_models` replaces it for another model if the recipe names a
layer that only the published model has; there `top-3` is the third layer below the last.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from nlgauge.studies.meta.questions import Question

Kind = Literal[
    "agreement",
    "between",
    "sensitivity",
    "hybrids",
    "features",
    "regression",
    "rankings",
    "robustness",
    "layers",
    "density",
    "explanations",
    "examples",
    "discourse",
]


@dataclass(frozen=True)
class PublishedModel:
    """A model used in a paper."""

    name: str
    aliases: tuple[str, ...] = ()
    """Other names of its folder or its repository on the hub."""
    published: str = ""

    def matches(self, model: str) -> bool:
        """Whether the last part of a path or hub id is the name of this model."""
        last = model.rstrip("/\\").replace("\\", "/").rpartition("/")[2]
        return last in (self.name, *self.aliases)


@dataclass(frozen=True)
class Column:
    """A column; without a question its data cannot be loaded, or it is an average of others."""

    label: str
    question: Question | None = None
    langpair: str = "en"
    part: str = ""
    """In tables on features: a share of pairs (a field of `Separation`); empty for means over hypotheses."""
    setup: Mapping[str, Any] = field(default_factory=dict)
    """In simulations: the setup of this column."""
    over: tuple[str, ...] = ()
    """Columns whose unweighted average it is."""


#: Label of the coefficient of determination.
R2 = "R2"


@dataclass(frozen=True)
class FactorGroup:
    """Columns of one data set in a table of regressions: a coefficient per factor, and R2."""

    label: str
    data: str
    langpair: str
    factors: Mapping[str, str]
    """Released column by published name; `CLB` was not released."""
    translations: str = ""
    """File of machine translations, in the folder of the data set."""

    def column(self, factor: str) -> str:
        """Label of the column of a factor or of R2."""
        return f"{self.label} {factor}"

    @property
    def columns(self) -> tuple[Column, ...]:
        """All columns, R2 last."""
        return tuple(Column(self.column(name), None, self.langpair) for name in (*self.factors, R2))


@dataclass(frozen=True)
class PublishedFrames:
    """Frames of a data set (instances x systems), one per metric, in a table on rankings."""

    label: str
    """Name in the paper."""
    task: str
    instances: int
    systems: int
    metrics: int
    card: str = ""
    """Name of the data set in nlgauge; empty if its frames are not public."""


@dataclass(frozen=True)
class TableRow:
    """A row of a table, usually a metric."""

    name: str
    published: Mapping[str, float | str] = field(default_factory=dict)
    """By column; only the average if the paper has nothing else. Names in tables of names."""
    recipe: str = ""
    recipe_for_other_models: str = ""
    exceptions: Mapping[str, str] = field(default_factory=dict)
    """Options for some language pairs, which replace or extend those of the recipe."""
    component: str = ""
    released: str = ""
    """Column of released scores."""
    released_in: Mapping[str, str] = field(default_factory=dict)
    """Data sets for which the paper uses another released column."""
    identical_released_column: str = ""
    """A released column that may contain the same scores."""
    data: str = ""
    """Data set, if it differs from that of the columns."""
    model: PublishedModel | None = None
    """None: no model is needed."""
    word_vectors: Literal["", "used", "needed", "model"] = ""
    """Whether its recipe uses a file of word vectors: not at all, optionally, always, or as its model."""
    remapping: str = ""
    """Re-mapping of the source vectors (a method of `align fit`), fitted for each language pair."""
    lm: bool = False
    """Whether the recipe needs a language model, which a run names."""
    own_model_only: bool = False
    """Whether the row is computed with its own model only; of a metric with many models, one row is enough."""
    absolute: bool = False
    """Whether the paper has absolute values in this row, in a table with signs."""
    note: str = ""
    """Why the row has published values only, or why ours can differ with the same model."""
    key: tuple[str, ...] = ()
    """Key of the row in its experiment, if it is not a metric to score."""
    exchanged: bool = False
    """In rankings: whether Mean/BT and Med/BT are exchanged in the paper (D7)."""
    starred: frozenset[str] = frozenset()
    """In regressions: columns with an asterisk in the paper, for not significant."""
    without: str = ""
    """In regressions: an omitted factor."""
    metric: str = ""
    """In sensitivity studies: name of the metric, if the row's name contains the measure."""
    grid: str = ""
    """In sensitivity studies: the varied grid."""
    statistic: Literal["cv", "rd", "best", "value", "share"] = "cv"
    """In sensitivity studies: the statistic (`nlgauge.studies.published.sensitivity`)."""
    measure: str = ""
    """In sensitivity studies: name of the statistic in the paper, such as `CV_STOP`."""
    setting: str = ""
    """Setting of the statistics `value` and `share`, and of `rd` if it is not the second one; `random` is the mean of
    the random corpora, `MoverScore` its list of stop words or the one in its place."""
    base: str = ""
    """Setting that `rd` compares with; the first one by default."""

    @property
    def level(self) -> str:
        """Vectors that a re-mapping is fitted to: of words or of sentences."""
        return "sentence" if "unit=sentence" in self.recipe else "word"

    @property
    def computed(self) -> bool:
        """Whether nlgauge can compute the row."""
        return bool(self.recipe or self.released or self.key)


@dataclass(frozen=True)
class Example:
    """A sentence scored in a paper, with its reference or its source."""

    hypothesis: str
    reference: str = ""
    source: str = ""


@dataclass(frozen=True)
class Claim:
    """What a paper says about a row: its values in some columns are all higher than in others."""

    row: str
    higher: tuple[str, ...]
    lower: tuple[str, ...]


@dataclass(frozen=True)
class PaperTable:
    """A table or figure of a paper, or a part of it."""

    id: str
    title: str
    source: str
    columns: tuple[Column, ...]
    rows: tuple[TableRow, ...]
    kind: Kind = "agreement"
    experiment: str = ""
    """Experiment within its kind."""
    decimals: int = 3
    """Decimals in the paper."""
    scale: float = 1.0
    """Factor of coefficients in the paper."""
    absolute: bool = False
    """Whether the paper has absolute values; ours have signs and are compared without."""
    notes: tuple[str, ...] = ()
    reason: str = ""
    """Why every row can differ from print, such as other human scores."""
    test: Literal["", "williams", "bootstrap"] = ""
    """Test by which the paper bolds rows that no other row outperforms; empty if it does not test."""
    unavailable: str = ""
    """Data without a loader, and its source."""
    default_model: str = "minilm"
    """Default model."""
    row_title: str = "metric"
    """Title of the column of row names."""
    shown_decimals: int | None = None
    """Decimals of our values, if the paper has too few to see a difference."""
    cards: tuple[str, ...] = ()
    """Data sets not named by a column."""
    groups: tuple[FactorGroup, ...] = ()
    """In regressions: groups of columns."""
    frames: tuple[PublishedFrames, ...] = ()
    """In rankings: all frames of the paper; none for experiments on drawn scores."""
    other_model: PublishedModel | None = None
    """In sensitivity studies: the paper's model for languages other than English."""
    idf_corpora: str = ""
    """In sensitivity studies: large corpora for idf, and their source."""
    examples: Mapping[str, Example] = field(default_factory=dict)
    """In tables of examples: the sentence of each column."""
    claims: tuple[Claim, ...] = ()
    """In tables of examples: what the paper says about them."""
    sampled: tuple[Column, ...] = ()
    """In sensitivity studies: columns of all data sets of the paper; random corpora are drawn from their texts."""

    @property
    def questions(self) -> tuple[Column, ...]:
        """Columns that are not averages."""
        return tuple(column for column in self.columns if not column.over)

    @property
    def data(self) -> tuple[str, ...]:
        """Names of required data sets; of frames only public ones."""
        names = [*self.cards, *(group.data for group in self.groups), *(frames.card for frames in self.frames)]
        names += [column.question.data for column in self.questions if column.question is not None]
        return tuple(dict.fromkeys(name for name in (*names, *(row.data for row in self.rows)) if name))

    @property
    def langpairs(self) -> tuple[str, ...]:
        """Language pairs of its columns."""
        return tuple(dict.fromkeys(column.langpair for column in self.questions))

    @property
    def english_pairs(self) -> tuple[str, ...]:
        """Language pairs with English texts."""
        return tuple(pair for pair in self.langpairs if pair.rpartition("-")[2] == "en")

    @property
    def models(self) -> tuple[PublishedModel, ...]:
        """Models of its rows."""
        return tuple(dict.fromkeys(row.model for row in self.rows if row.model is not None))

    @property
    def grids(self) -> tuple[str, ...]:
        """Grids of rows that nlgauge can compute."""
        return tuple(dict.fromkeys(row.grid for row in self.rows if row.computed))


def with_options(recipe: str, options: str) -> str:
    """Set options of a recipe, replacing options with the same name.

    >>> with_options("bleu:case=lower,tokenize=intl", "tokenize=zh")
    'bleu:case=lower,tokenize=zh'
    """
    if not options:
        return recipe
    name, _, existing = recipe.partition(":")
    replaced = {option.partition("=")[0] for option in options.split(",")}
    remaining = [option for option in existing.split(",") if option and option.partition("=")[0] not in replaced]
    return f"{name}:{','.join([*remaining, options])}"
