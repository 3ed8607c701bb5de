"""The data model of a published table: columns that ask a question of a data set, and rows with the printed values.

    column    one language pair (or criterion) of a data set: which judgements, which level, which coefficient
    mean      the unweighted average of columns, as papers print it
    row       a metric: the values in print, and how nlgauge computes them: a recipe, a score released with the data,
              or a key of its experiment; a row with none of these is only shown, and says why

The tables themselves are the TOML files of the folder `papers` (`nlgauge.studies.published.load` reads them). The
kind of a table decides what computes it (`nlgauge.studies.published.reproduce`).

A recipe is that of the published model. Under another model `recipe_for_other_models` stands for it where the recipe
names a layer that only the published model has; in it, `top-3` is the third layer below the last.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from nlgauge.studies.meta.questions import Question

Kind = Literal["agreement", "sensitivity", "hybrids", "features", "regression", "rankings", "robustness", "density"]


@dataclass(frozen=True)
class PublishedModel:
    """A model that a paper used."""

    name: str
    aliases: tuple[str, ...] = ()
    """Other names of its folder or of its place on the hub."""
    published: str = ""

    def matches(self, model: str) -> bool:
        """Whether a path or hub id names this model; by its last part, as nothing else is known of it."""
        last = model.rstrip("/\\").replace("\\", "/").rpartition("/")[2]
        return last in (self.name, *self.aliases)


@dataclass(frozen=True)
class Column:
    """One number of each row; without a question there is no loader for its data, or it is an average of others."""

    label: str
    question: Question | None = None
    langpair: str = "en"
    part: str = ""
    """Of tables on features: a share of pairs (a field of `Separation`); empty for means over hypotheses."""
    setup: Mapping[str, Any] = field(default_factory=dict)
    """Of a simulation: what is varied in this column."""
    over: tuple[str, ...] = ()
    """Columns of which it is the unweighted average."""


#: What a regression prints after the coefficients.
R2 = "R2"


@dataclass(frozen=True)
class FactorGroup:
    """The columns of one data set in a table of regressions: a coefficient per factor, and R2."""

    label: str
    data: str
    langpair: str
    factors: Mapping[str, str]
    """By name in print: the released column; `CLB` is none of them."""
    translations: str = ""
    """File of machine translations, beside the files of the data set."""

    def column(self, factor: str) -> str:
        """The label of a factor's column, or of R2's."""
        return f"{self.label} {factor}"

    @property
    def columns(self) -> tuple[Column, ...]:
        """All of them, R2 last."""
        return tuple(Column(self.column(name), None, self.langpair) for name in (*self.factors, R2))


@dataclass(frozen=True)
class PublishedFrames:
    """The frames of a data set (instances x systems), one per metric, in a table on rankings."""

    label: str
    """As the paper has it."""
    task: str
    instances: int
    systems: int
    metrics: int
    card: str = ""
    """Name of the data set here; empty where its frames are not public."""


@dataclass(frozen=True)
class TableRow:
    """A metric of a table."""

    name: str
    published: Mapping[str, float | str] = field(default_factory=dict)
    """By column; where only an average is known, only the average. Names where a table prints names."""
    recipe: str = ""
    recipe_for_other_models: str = ""
    exceptions: Mapping[str, str] = field(default_factory=dict)
    """Options of the recipe for some language pairs, in the place of its own or added to them."""
    component: str = ""
    released: str = ""
    """A column of scores that came with the data."""
    released_in: Mapping[str, str] = field(default_factory=dict)
    """Data sets in which print has another of their columns, and which."""
    identical_released_column: str = ""
    """A released column that may turn out to hold the same scores."""
    data: str = ""
    """Another data set than the columns'."""
    model: PublishedModel | None = None
    """None: no model is needed."""
    word_vectors: Literal["", "used", "needed"] = ""
    """Whether its recipe takes a file of word vectors: not at all, in the place of others, or not without one."""
    own_model_only: bool = False
    """Whether no other model stands in for it: of a metric under many models, one row is enough for that."""
    absolute: bool = False
    """Whether print has absolute values of this row, in a table that keeps signs."""
    note: str = ""
    """Why it is only shown, or why ours may differ with the same model."""
    key: tuple[str, ...] = ()
    """What the experiment knows the row by, where it is not a metric to be scored."""
    exchanged: bool = False
    """Of rankings: whether print has its values under Mean/BT and Med/BT exchanged (D7)."""
    starred: frozenset[str] = frozenset()
    """Of regressions: columns whose values stand in print with an asterisk, as not significant."""
    without: str = ""
    """Of regressions: a factor that is left out."""
    metric: str = ""
    """Of sensitivity studies: its name in print, where the row's has the measure in it."""
    grid: str = ""
    """Of sensitivity studies: what is varied."""
    statistic: Literal["cv", "rd", "best", "value"] = "cv"
    """Of sensitivity studies (`nlgauge.studies.published.sensitivity`)."""
    measure: str = ""
    """Of sensitivity studies: what print calls the statistic, such as `CV_STOP`."""
    setting: str = ""
    """Of the statistic `value`."""

    @property
    def computed(self) -> bool:
        """Whether nlgauge has a way to compute it."""
        return bool(self.recipe or self.released or self.key)


@dataclass(frozen=True)
class PaperTable:
    """One table or figure of a paper, or what can be shown of it."""

    id: str
    title: str
    source: str
    columns: tuple[Column, ...]
    rows: tuple[TableRow, ...]
    kind: Kind = "agreement"
    experiment: str = ""
    """Which of the experiments of its kind."""
    decimals: int = 3
    """In print."""
    scale: float = 1.0
    """What a coefficient is multiplied with in print."""
    absolute: bool = False
    """Whether print has absolute values: ours keep their sign, and are compared without it."""
    notes: tuple[str, ...] = ()
    unavailable: str = ""
    """Data that no loader reads, and where it is published."""
    default_model: str = "minilm"
    """What stands in for the published model where nobody names one."""
    row_title: str = "metric"
    """What a row is."""
    shown_decimals: int | None = None
    """Of our values, where print has too few to see a difference."""
    cards: tuple[str, ...] = ()
    """Data sets that no column names."""
    groups: tuple[FactorGroup, ...] = ()
    """Of regressions: the columns."""
    frames: tuple[PublishedFrames, ...] = ()
    """Of rankings: all that the paper used; an experiment on drawn scores has none."""
    other_model: PublishedModel | None = None
    """Of sensitivity studies: what the paper scored other languages than English with."""
    idf_corpora: str = ""
    """Of sensitivity studies: the large corpora that idf was counted on, and where they are published."""
    sampled: tuple[Column, ...] = ()
    """Of sensitivity studies: columns of all data sets of the paper, whose texts random corpora are drawn from."""

    @property
    def questions(self) -> tuple[Column, ...]:
        """The columns that are not averages of others."""
        return tuple(column for column in self.columns if not column.over)

    @property
    def data(self) -> tuple[str, ...]:
        """Data sets that it needs, by name; of the frames those that are public."""
        names = [*self.cards, *(group.data for group in self.groups), *(frames.card for frames in self.frames)]
        names += [column.question.data for column in self.questions if column.question is not None]
        return tuple(dict.fromkeys(name for name in (*names, *(row.data for row in self.rows)) if name))

    @property
    def langpairs(self) -> tuple[str, ...]:
        """Language pairs of its columns."""
        return tuple(dict.fromkeys(column.langpair for column in self.questions))

    @property
    def english_pairs(self) -> tuple[str, ...]:
        """Language pairs whose texts are English."""
        return tuple(pair for pair in self.langpairs if pair.rpartition("-")[2] == "en")

    @property
    def models(self) -> tuple[PublishedModel, ...]:
        """Models of its rows."""
        return tuple(dict.fromkeys(row.model for row in self.rows if row.model is not None))

    @property
    def grids(self) -> tuple[str, ...]:
        """What its rows vary, as far as they can be computed."""
        return tuple(dict.fromkeys(row.grid for row in self.rows if row.computed))


def with_options(recipe: str, options: str) -> str:
    """The recipe with these options, in the place of its own of the same names.

    >>> with_options("bleu:case=lower,tokenize=intl", "tokenize=zh")
    'bleu:case=lower,tokenize=zh'
    """
    if not options:
        return recipe
    name, _, own = recipe.partition(":")
    given = {option.partition("=")[0] for option in options.split(",")}
    kept = [option for option in own.split(",") if option and option.partition("=")[0] not in given]
    return f"{name}:{','.join([*kept, options])}"
