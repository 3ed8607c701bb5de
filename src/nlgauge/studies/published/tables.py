"""Values in print, read from the text files of `papers/printed`: a section per table, a line per row.

    [12]
    columns        | cs-en de-en
    SENTBLEU       | .557 .448
    F RoBERTa-Base | .761 -

Names and order are those of the print; `-` is a cell that it leaves empty, `_` in the name of a column a blank, and
`#` begins a comment.

What a published table is: columns that ask a question of a data set, and rows with the printed values.

    column    one language pair (or criterion) of a data set: which judgements, which level, which coefficient
    mean      the unweighted average of columns, as papers print it
    row       a metric: the values in print, and how nlgauge computes them: a recipe, or a score released with
              the data; a row with neither is only shown, and says why

A recipe is that of the published model. Under another model `recipe_for_other_models` stands for it where the recipe
names a layer that only the published model has; in it, `top-3` is the third layer below the last.

What a published sensitivity study is: a table whose cells say how far settings move the agreement with people.

    cv      coefficient of variation over the settings of a grid, in per cent
    rd      relative difference of the second setting to the first, in per cent
    best    the setting with the highest agreement, by its name
    value   the agreement itself, under one setting

Columns and averages are those of any published table; a row is a metric with a grid (`nlgauge.sensitivity.presets`).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from importlib import resources
from typing import Literal

from nlgauge.errors import FileFormatError
from nlgauge.studies.meta.questions import Question

_HEADER = "columns"


@dataclass
class PrintedTable:
    """One table as it stands in print."""

    columns: tuple[str, ...]
    rows: dict[str, Mapping[str, float]] = field(default_factory=dict)
    """Values by row and column, without empty cells."""


@cache
def printed_tables(name: str) -> Mapping[str, PrintedTable]:
    """The tables of one file of `papers/printed`, by number."""
    file = resources.files("nlgauge.studies.published.papers") / "printed" / f"{name}.txt"
    return parse_printed(file.read_text(encoding="utf-8"), where=f"{name}.txt")


def parse_printed(text: str, *, where: str = "text") -> dict[str, PrintedTable]:
    """The tables of a text, by number.

    >>> parse_printed("[1]\\ncolumns | a b\\nBLEU | .5 -")["1"].rows
    {'BLEU': {'a': 0.5}}
    """
    tables: dict[str, PrintedTable] = {}
    number = ""
    for at, line in enumerate(text.splitlines(), start=1):
        content = line.strip()
        if not content or content.startswith("#"):
            continue
        if content.startswith("["):
            number = content.strip("[]")
            continue
        name, bar, values = (part.strip() for part in content.partition("|"))
        if not bar or not number:
            msg = f"{where}, line {at}: expected '[NUMBER]' or 'NAME | VALUES', got {content!r}"
            raise FileFormatError(msg)
        if name == _HEADER:
            tables[number] = PrintedTable(tuple(column.replace("_", " ") for column in values.split()))
            continue
        _add_row(tables, number, name, values, f"{where}, line {at}")
    return tables


def _add_row(tables: Mapping[str, PrintedTable], number: str, name: str, values: str, where: str) -> None:
    if number not in tables:
        msg = f"{where}: table {number} has a row before its line '{_HEADER} | ...'"
        raise FileFormatError(msg)
    table, cells = tables[number], values.split()
    if name in table.rows or len(cells) != len(table.columns):
        why = "a second row of that name" if name in table.rows else f"{len(cells)} values"
        msg = f"{where}: {name!r} of table {number}: {why}; its columns are {', '.join(table.columns)}"
        raise FileFormatError(msg)
    table.rows[name] = {column: float(cell) for column, cell in zip(table.columns, cells, strict=True) if cell != "-"}


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


@dataclass(frozen=True)
class StudyRow(TableRow):
    """A metric and what is varied of it."""

    metric: str = ""
    """Its name in print, without what is measured of it."""
    grid: str = ""
    statistic: Literal["cv", "rd", "best", "value"] = "cv"
    measure: str = ""
    """What print calls the statistic, such as `CV_STOP`."""
    setting: str = ""
    """Of the statistic `value`."""


@dataclass(frozen=True)
class PaperStudy(PaperTable):
    """A published table or figure of a sensitivity study."""

    rows: tuple[StudyRow, ...]
    other_model: PublishedModel | None = None
    """What the paper scored other languages than English with."""
    idf_corpora: str = ""
    """The large corpora that idf was counted on, and where they are published; empty where there are none."""
    sampled: tuple[Column, ...] = ()
    """Columns whose texts random corpora are drawn from: those of all data sets of the paper."""

    @property
    def english_pairs(self) -> tuple[str, ...]:
        """Language pairs whose texts are English."""
        return tuple(pair for pair in self.langpairs if pair.rpartition("-")[2] == "en")

    @property
    def grids(self) -> tuple[str, ...]:
        """What its rows vary, as far as they can be computed."""
        return tuple(dict.fromkeys(row.grid for row in self.rows if row.computed))
