"""What a published table is: columns that ask a question of a data set, and rows with the printed values.

    column    one language pair (or criterion) of a data set: which judgements, which level, which coefficient
    mean      the unweighted average of columns, as papers print it
    row       a metric: the values in print, and how nlgauge computes them: a recipe, or a score released with
              the data; a row with neither is only shown, and says why

A recipe is that of the published model. Under another model `recipe_for_other_models` stands for it where the recipe
names a layer that only the published model has; in it, `top-3` is the third layer below the last.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal

from nlgauge.meta.question import Question

__all__ = [
    "Column",
    "Mean",
    "PaperTable",
    "PublishedModel",
    "TableRow",
    "language_columns",
    "row_values",
    "with_options",
]


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
    """One number of each row; without a question there is no loader for its data."""

    label: str
    question: Question | None
    langpair: str = "en"


@dataclass(frozen=True)
class Mean:
    """The unweighted average of columns."""

    label: str
    over: tuple[str, ...]


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

    @property
    def computed(self) -> bool:
        """Whether nlgauge has a way to compute it."""
        return bool(self.recipe or self.released)


@dataclass(frozen=True)
class PaperTable:
    """One table of a paper, or what can be shown of it."""

    id: str
    title: str
    source: str
    columns: tuple[Column | Mean, ...]
    rows: tuple[TableRow, ...]
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

    @property
    def width(self) -> int:
        """Decimals of our values."""
        return self.decimals if self.shown_decimals is None else self.shown_decimals

    @property
    def questions(self) -> tuple[Column, ...]:
        """The columns that ask something."""
        return tuple(column for column in self.columns if isinstance(column, Column))

    @property
    def data(self) -> tuple[str, ...]:
        """Data sets that it needs, by name."""
        named = [column.question.data for column in self.questions if column.question is not None]
        return tuple(dict.fromkeys([*named, *(row.data for row in self.rows if row.data)]))

    @property
    def langpairs(self) -> tuple[str, ...]:
        """Language pairs of its columns."""
        return tuple(dict.fromkeys(column.langpair for column in self.questions))

    @property
    def models(self) -> tuple[PublishedModel, ...]:
        """Models of its rows."""
        return tuple(dict.fromkeys(row.model for row in self.rows if row.model is not None))

    @property
    def takes_word_vectors(self) -> bool:
        """Whether a row of it does."""
        return any(row.word_vectors for row in self.rows)


def language_columns(question: Question, langpairs: Iterable[str], *, prefix: str = "") -> tuple[Column | Mean, ...]:
    """A column for each language pair, and their average."""
    columns = tuple(Column(f"{prefix}{langpair}", question, langpair) for langpair in langpairs)
    return (*columns, Mean(f"{prefix}avg", tuple(column.label for column in columns)))


def row_values(columns: Sequence[Column | Mean], values: str) -> dict[str, float]:
    """The values of a row in print, in the order of the columns; `-` for one that is not known.

    >>> row_values([Column("cs-en", None), Column("de-en", None)], ".435 -")
    {'cs-en': 0.435}
    """
    return {column.label: float(value) for column, value in zip(columns, values.split(), strict=True) if value != "-"}


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
