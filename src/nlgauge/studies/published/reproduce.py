"""Recompute a published table from what is here: data under a folder, and one model.

Every cell says what is published and what we get; a row says why the two differ. What cannot be computed (a data
set that is not here, a model, a metric) is listed with where it is published, and the printed values stay.

`KINDS` has one function per kind of experiment; a new kind is a line there, and a function that takes a `Request`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from importlib import import_module
from pathlib import Path
from typing import Any, ClassVar, NamedTuple

from nlgauge.core.kinds import Folder, InputFile, Int, Many, OutputFile, Text
from nlgauge.core.options import OptionSet, option
from nlgauge.core.run_options import RunOptions
from nlgauge.data.judgements import select_known
from nlgauge.errors import RecipeError
from nlgauge.studies.paired_evaluation.options import RankingOptions
from nlgauge.studies.published.runs import Reproduction
from nlgauge.studies.published.tables import PaperTable


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


class _Kind(NamedTuple):
    """A kind of experiment."""

    function: str
    """As `module.function` in this package; imported when it is run, as some need what others do not."""
    description: str = ""
    refused: tuple[str, ...] = ()
    """What its tables have no use of."""


_NO_TEXTS = ("model", "layer", "langpairs", "levels", "study")
KINDS: Mapping[str, _Kind] = {
    "agreement": _Kind("agreement.compute_agreement", refused=("rankings", "study")),
    "hybrids": _Kind("agreement.compute_agreement", refused=("rankings", "study")),
    "sensitivity": _Kind("sensitivity.compute_study", refused=("rankings",)),
    "features": _Kind("features.compute_features", "a table on features of texts", ("rankings", *_NO_TEXTS)),
    "regression": _Kind(
        "released.compute_regression", "a table of regressions", ("rankings", "layer", "levels", "study")
    ),
    "robustness": _Kind("released.compute_robustness", "a table of released scores", ("rankings", *_NO_TEXTS)),
    "rankings": _Kind("rankings.compute_rankings", "a table on rankings of systems", _NO_TEXTS),
    "density": _Kind("rankings.compute_density", "a simulation of languages", ("data", *_NO_TEXTS)),
}


def reproduce(
    table: PaperTable,
    *,
    study: StudyInputs | None = None,
    rankings: RankingOptions | None = None,
    run: RunOptions | None = None,
    **options: Any,
) -> Reproduction:
    """The table with our values beside the published ones.

    Options are those of `ReproduceOptions` (which part of the table, and with what) and of a run (`RunOptions`:
    engine, threads, ...), the latter also in one object (`run`). `study` is what a sensitivity study can be given,
    `rankings` how a table on rankings is run (which has no use of models, layers, language pairs and levels). Without
    a model the table's own stand-in is taken: `minilm`, or `muse` across languages. With `model="none"` only lexical
    metrics and released scores are computed.

    A study scores English texts only; `langpairs` names others, for a model that reads them.
    """
    own = {name: value for name, value in options.items() if name in ReproduceOptions.options()}
    rest = {name: value for name, value in options.items() if name not in own}
    request = Request(
        table=table,
        study=study or StudyInputs(),
        rankings=rankings or RankingOptions(),
        run=RunOptions.of(rest) if run is None else replace(run, **rest),
        **own,
    )
    kind = KINDS[table.kind]
    _check_word_vectors(request)
    _refuse_unused(request, kind)
    table = _with_corpora(table, request.study)
    names = select_known(request.rows, [row.name for row in table.rows], f"{table.id}: row")
    module, _, function = kind.function.rpartition(".")
    compute = getattr(import_module(f"{__package__}.{module}"), function)
    result: Reproduction = compute(
        replace(request, table=replace(table, rows=tuple(row for row in table.rows if row.name in names)))
    )
    return result


def _check_word_vectors(request: Request) -> None:
    """Refuse a file that the table has no use of, or that a recipe cannot name."""
    if request.vectors is None:
        return
    if not any(row.word_vectors for row in request.table.rows):
        msg = f"no row of {request.table.id} reads word vectors; leave out vectors"
        raise RecipeError(msg)
    if "," in request.vectors:
        msg = (
            f"the file of word vectors {request.vectors!r} has a comma in its path, where a recipe ends an option; "
            "rename it"
        )
        raise RecipeError(msg)


def _refuse_unused(request: Request, kind: _Kind) -> None:
    """Refuse what a table of its kind has no use of."""
    for name in kind.refused:
        if getattr(request, name) in (None, StudyInputs(), RankingOptions()):
            continue
        what = {"study": "options of sensitivity studies", "rankings": "options of rankings (ties, full, ...)"}
        described, left_out = kind.description or "no table on rankings", what.get(name, name)
        if name == "study" and not kind.description:
            described, left_out = "not a sensitivity study", "the state, idf corpora, stop words and ddof"
        msg = f"{request.table.id} is {described}; leave out {left_out}"
        raise RecipeError(msg)


def _with_corpora(study: PaperTable, inputs: StudyInputs) -> PaperTable:
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
