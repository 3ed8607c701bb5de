"""What a table is reproduced with: model, data, inputs of sensitivity studies, options of rankings."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import ClassVar, TypeAlias

from nlgauge.core.kinds import Folder, InputFile, Int, Many, OutputFile, Text
from nlgauge.core.options import OptionSet, option
from nlgauge.core.run_options import RunOptions
from nlgauge.errors import RecipeError
from nlgauge.studies.paired_evaluation.options import RankingOptions
from nlgauge.studies.published.tables import PaperTable

Names: TypeAlias = str | Iterable[str] | None


@dataclass(frozen=True, kw_only=True)
class StudyInputs(OptionSet):
    """What the reproduction of a sensitivity study can be given."""

    called: ClassVar[str] = "inputs of a sensitivity study"

    state: str | None = option(
        None, OutputFile(), help="file that keeps what is finished, so that an interrupted run goes on"
    )
    idf_corpus: tuple[str, ...] = option(
        (), Many(InputFile()), help="text files, a document per line, to count idf on"
    )
    stopwords: tuple[str, ...] = option(
        (), Many(InputFile()), help="files of English stop words, for the list in print that is not shipped"
    )
    ddof: int = option(1, Int(0, 1), help="degrees of freedom that the coefficient of variation takes off")


def with_corpora(study: PaperTable, inputs: StudyInputs) -> PaperTable:
    """With a row for each corpus given; inputs that a study has no use for are refused."""
    if inputs.stopwords and "stopwords" not in study.grids:
        msg = f"{study.id} does not vary stop words; leave out --stopwords {inputs.stopwords[0]!r}"
        raise RecipeError(msg)
    if not inputs.idf_corpus:
        return study
    if not study.idf_corpora:
        msg = f"{study.id} counts idf on no large corpus; leave out --idf-corpus {inputs.idf_corpus[0]!r}"
        raise RecipeError(msg)
    # Their own corpora stand in print too; those of them that are only shown stay as they are.
    rows = [replace(row, grid="idf-large") for row in study.rows]
    rows += [
        replace(rows[0], name=Path(path).name, published={}, setting=f"corpus:{path}") for path in inputs.idf_corpus
    ]
    if len({row.name for row in rows}) < len(rows):
        msg = f"corpora for idf need file names of their own, got {', '.join(inputs.idf_corpus)}"
        raise RecipeError(msg)
    return replace(study, rows=tuple(rows))


@dataclass(frozen=True, kw_only=True)
class ReproduceOptions(OptionSet):
    """Which part of a table is computed, and with what."""

    called: ClassVar[str] = "options of a reproduction"

    at: str | None = option(None, Folder(), help="folder with the data sets")
    model: str | None = option(
        None,
        Text("the name of a model"),
        help="name, folder or hub id; 'none' computes only what needs no model",
        unset="minilm; across languages muse",
    )
    layer: int | None = option(
        None, Int(0), help="layer of BERTScore in another model than the published one", unset="tuned per model"
    )
    rows: tuple[str, ...] | None = option(
        None, Many(Text("a row")), help="only these rows, by their names in the table"
    )
    langpairs: tuple[str, ...] | None = option(
        None, Many(Text("a language pair")), help="only these language pairs, such as cs-en"
    )
    data: tuple[str, ...] | None = option(
        None, Many(Text("a data set")), help="only columns, or frames, of these data sets, such as wmt17"
    )
    levels: tuple[str, ...] | None = option(
        None, Many(Text("a level")), help="only columns of segment, document, topic or system level"
    )
    vectors: str | None = option(
        None,
        InputFile(),
        help="word vectors (GloVe, word2vec, Dep2Vec) for rows on entities: disco-table1, 8, 11, 12",
    )


@dataclass(frozen=True, kw_only=True)
class Request(ReproduceOptions):
    """A table with the rows that are asked for, and what it is computed with."""

    table: PaperTable
    study: StudyInputs = field(default_factory=StudyInputs)
    rankings: RankingOptions = field(default_factory=RankingOptions)
    run: RunOptions = field(default_factory=RunOptions)

    @property
    def model_name(self) -> str:
        """The model that is asked for, or the one that stands in for the published one."""
        return self.model or self.table.default_model
