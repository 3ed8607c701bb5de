"""What a table is reproduced with: model, data, inputs of sensitivity studies, options of rankings."""

from __future__ import annotations

import os
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TypeAlias

from nlgauge.core.run_options import RunOptions
from nlgauge.errors import RecipeError
from nlgauge.studies.paired_evaluation.options import RankingOptions
from nlgauge.studies.published.tables import PaperTable

Names: TypeAlias = str | Iterable[str] | None


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
