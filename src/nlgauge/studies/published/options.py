"""What the reproduction of a table can be given: inputs of sensitivity studies, options of rankings, and the rest."""

from __future__ import annotations

import os
from collections.abc import Iterable
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Literal, TypeAlias

from nlgauge.core.run_options import RunOptions
from nlgauge.errors import RecipeError
from nlgauge.studies.published.tables import PaperTable

Names: TypeAlias = str | Iterable[str] | None

#: Options that an experiment on rankings has a use of.
_TIED = ("ties", "tie_tolerance", "reverse")
_DRAWN = (*_TIED, "full", "draws", "seed")
_USED: dict[str, tuple[str, ...]] = {
    "disagreement": (*_TIED, "full"),  # all rows are what it takes
    "by-data": _DRAWN,
    "by-metric": _DRAWN,
    "tests": _DRAWN,
    "simulation": ("seed", "design"),
    "pairing": ("seed",),
    "ties": (),
}


@dataclass(frozen=True, kw_only=True)
class StudyInputs:
    """What the reproduction of a sensitivity study can be given."""

    state: str | os.PathLike[str] | None = None
    """File that keeps what is finished, so that an interrupted run goes on."""
    idf_corpora: tuple[str, ...] = ()
    """Text files, a document per line, to count idf on."""
    stopwords: tuple[str, ...] = ()
    """Files of English stop words, for the list in print that is not shipped."""
    ddof: int = 1
    """Of the CV: 1 divides by n - 1, 0 by n."""


def with_corpora(study: PaperTable, inputs: StudyInputs) -> PaperTable:
    """With a row for each corpus given; inputs that a study has no use for are refused."""
    if inputs.stopwords and "stopwords" not in study.grids:
        msg = f"{study.id} does not vary stop words; leave out --stopwords {inputs.stopwords[0]!r}"
        raise RecipeError(msg)
    if not inputs.idf_corpora:
        return study
    if not study.idf_corpora:
        msg = f"{study.id} counts idf on no large corpus; leave out --idf-corpus {inputs.idf_corpora[0]!r}"
        raise RecipeError(msg)
    # Their own corpora stand in print too; those of them that are only shown stay as they are.
    rows = [replace(row, grid="idf-large") for row in study.rows]
    rows += [
        replace(rows[0], name=Path(path).name, published={}, setting=f"corpus:{path}") for path in inputs.idf_corpora
    ]
    if len({row.name for row in rows}) < len(rows):
        msg = f"corpora for idf need file names of their own, got {', '.join(inputs.idf_corpora)}"
        raise RecipeError(msg)
    return replace(study, rows=tuple(rows))


@dataclass(frozen=True, kw_only=True)
class RankingOptions:
    """How a table on rankings is run; the defaults are the paper's."""

    ties: Literal["second", "drop", "half"] = "second"
    """Whose win a tie is in Bradley-Terry: the later column's, nobody's, half of each (D1)."""
    tie_tolerance: float = 0.0
    """Scores are tied where they differ by at most this, relative to the larger; 0 takes each bit as it stands."""
    reverse: bool = False
    """Systems in reverse order: what depends on the order of columns shows."""
    full: bool = False
    """All rows of a frame where the paper draws a part of them."""
    draws: int | None = None
    """Random parts of the rows; None for the paper's number of them."""
    seed: int = 12345
    design: Literal["coded", "appendix"] = "coded"
    """The simulation as the released code has it, or as appendix A.2 says (D3)."""

    def check_used(self, table: PaperTable) -> None:
        """Refuse an option that would change nothing of a table."""
        used = _USED[table.experiment]
        for name, value in asdict(self).items():
            if value != getattr(type(self), name) and name not in used:
                takes = f"it takes {', '.join(used)}" if used else "it takes none"
                msg = f"{table.id} has no use of {name}={value}; {takes}"
                raise RecipeError(msg)

    def __post_init__(self) -> None:
        for name, allowed in (("ties", ("second", "drop", "half")), ("design", ("coded", "appendix"))):
            if getattr(self, name) not in allowed:
                msg = f"{name} must be one of {', '.join(allowed)}, got {getattr(self, name)!r}"
                raise RecipeError(msg)
        if not 0 <= self.tie_tolerance < 1:
            msg = f"tie_tolerance is relative to the scores, at least 0 and below 1, got {self.tie_tolerance!r}"
            raise RecipeError(msg)
        if self.draws is not None and (self.draws < 1 or self.full):
            what = "all rows are taken once; leave out full or draws" if self.full else "draws must be at least 1"
            msg = f"{what}, got draws={self.draws!r}"
            raise RecipeError(msg)
        if self.seed < 0:
            msg = f"seed must be 0 or more, got {self.seed!r}"
            raise RecipeError(msg)


@dataclass(frozen=True, kw_only=True)
class Request:
    """A table with the rows that are asked for, and what it is computed with (`reproduce` explains the fields)."""

    table: PaperTable
    at: str | os.PathLike[str] | None = None
    model: str | None = None
    layer: int | None = None
    langpairs: Names = None
    data: Names = None
    levels: Names = None
    vectors: str | None = None
    study: StudyInputs = field(default_factory=StudyInputs)
    rankings: RankingOptions = field(default_factory=RankingOptions)
    run: RunOptions = field(default_factory=RunOptions)

    @property
    def model_name(self) -> str:
        """The model that is asked for, or the one that stands in for the published one."""
        return self.model or self.table.default_model
