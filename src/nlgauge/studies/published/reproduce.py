"""Recompute a published table from what is here: data under a folder, and one model.

Every cell says what is published and what we get; a row says why the two differ. What cannot be computed (a data
set that is not here, a model, a metric) is listed with where it is published, and the printed values stay.

`KINDS` has one function per kind of experiment; a new kind is a line there, and a function that takes a `Request`.

Experiments on rankings and sensitivity studies have a figure. That of a study has bars: a panel per statistic, a
group per column, a bar per metric.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

from nlgauge.core.kinds import Folder, InputFile, Int, Many, OutputFile, Text
from nlgauge.core.options import OptionSet, option
from nlgauge.core.run_options import RunOptions
from nlgauge.data.judgements import select_known
from nlgauge.errors import InputError, RecipeError
from nlgauge.io.canvas import (
    WIDEST,
    finish_figure,
    legend_entries,
    new_panels,
    series_styles,
)
from nlgauge.studies.bars import Bar, BarPanel, draw_bar_panels
from nlgauge.studies.paired_evaluation import RankingOptions
from nlgauge.studies.published.runs import Reproduction
from nlgauge.studies.published.tables import PaperTable

if TYPE_CHECKING:
    from nlgauge.studies.published.runs import ReproducedRow, Reproduction


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
    "features": _Kind("released.compute_features", "a table on features of texts", ("rankings", *_NO_TEXTS)),
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


_TITLES = {
    "a": "one type, no outliers",
    "b": "one type, no outliers",
    "c": "one type",
    "d": "no outliers",
}
_MARKS = "os^"
_BARS = "Bars: what was computed here, without intervals; values in print are in the table."


def _draw_simulation(result: Reproduction, table: PaperTable) -> Any:
    """A panel for each of Figure 3: Kendall's tau with the strengths, with 95 % intervals."""
    from nlgauge.studies.paired_evaluation import PANELS

    figure, axes = new_panels(2, 4, width=WIDEST, height=2.6)
    keys = {row.name: row.key for row in table.rows}
    styles = series_styles(("mean", "median", "BT"))
    for place, (letter, panel) in zip(axes, PANELS.items(), strict=True):
        rows = [row for row in result.rows if keys[row.name][0] == letter and row.has_ours]
        levels = [keys[row.name][1] for row in rows]
        for number, (name, style) in enumerate(styles.items()):
            # Side by side, or intervals would cover each other.
            at = [step + 0.12 * (number - 1) for step in range(len(rows))]
            heights, errors = ([_ours(row, label) for row in rows] for label in (name, f"± {name}"))
            place.errorbar(at, heights, errors, color=style.colour, marker=_MARKS[number], markersize=4)
        place.set_xticks(range(len(levels)), levels, fontsize=8)
        place.tick_params(axis="y", labelsize=8)
        place.set_ylim(0, 1.05)
        place.set_xlabel(panel.axis, fontsize=8)
        place.set_title(f"({letter}) {_TITLES.get(letter, 'all setups')}", loc="left", fontsize=9)
    for place in (axes[0], axes[4]):
        place.set_ylabel("Kendall's tau", fontsize=8)
    marked = {name: style._replace(mark=mark) for (name, style), mark in zip(styles.items(), _MARKS, strict=True)}
    finish_figure(
        figure,
        title=f"{result.id}: {result.title}",
        caption=f"Design: {result.options['design']}. Vertical lines: 95 % intervals of the mean over setups.",
        legend=(legend_entries(marked, kind="mark"), list(marked)),
    )
    return figure


def _draw_pairings(result: Reproduction, table: PaperTable) -> Any:
    """The same scores in six pairings: instances by the scores of S and B."""
    from nlgauge.studies.paired_measures import THREE_TYPES, draw_pairings

    pairings = draw_pairings(THREE_TYPES, RankingOptions(**result.options))
    figure, axes = new_panels(2, 3, width=9.5, height=3.0)
    styles = series_styles(("S is better", "B is better"))
    marked = {name: style._replace(mark=mark) for (name, style), mark in zip(styles.items(), _MARKS, strict=False)}
    for place, one in zip(axes, pairings, strict=True):
        ahead = one.scores[:, 0] > one.scores[:, 1]
        low, high = one.scores.min(), one.scores.max()
        for style, chosen in zip(marked.values(), (ahead, ~ahead), strict=True):
            place.scatter(*one.scores[chosen].T, s=9, color=style.colour, marker=style.mark)
        place.plot((low, high), (low, high), "--", color="#999999", linewidth=0.8)
        place.set_title(f"S as {' '.join(map(str, one.order))}: S wins {one.wins:.0%}", loc="left", fontsize=9)
        place.set_xlabel("score of S", fontsize=8)
        place.set_ylabel("score of B", fontsize=8)
        place.tick_params(labelsize=8)
    finish_figure(
        figure,
        title=f"{result.id}: the same scores of S and of B in every panel, paired in other ways",
        caption="A point is an instance. S as 2 3 1: its second type of instances meets B's first, and so on. "
        "Dashed: equal scores.",
        legend=(legend_entries(marked, kind="mark"), list(marked)),
    )
    return figure


def _draw_disagreement(result: Reproduction, table: PaperTable) -> Any:
    """Bars of Figure 4, as far as its frames are here: a panel of metrics and one of tasks."""
    panels: dict[str, dict[str, dict[str, Bar]]] = {}
    for row in (row for row in result.rows if row.has_ours):
        kind, _, name = row.name.partition(" ")
        bars = {label: Bar(ours) for label in result.columns if (ours := _ours(row, label)) is not None}
        panels.setdefault(f"per {kind}", {})[name] = bars
    charts = [BarPanel(title, "share of pairs", groups) for title, groups in panels.items()]
    return draw_bar_panels(charts, series_styles(result.columns), title=f"{result.id}: {result.title}", caption=_BARS)


def _ours(row: ReproducedRow, column: str) -> float | None:
    ours = row.cells[column].ours
    return ours if isinstance(ours, float) else None


_OF_RANKINGS = {"simulation": _draw_simulation, "pairing": _draw_pairings, "by-metric": _draw_disagreement}


def check_plotted(table: PaperTable) -> None:
    """Refuse what has no figure before the work is done."""
    if table.kind == "sensitivity":
        plotted = all(row.statistic != "best" for row in table.rows)
    else:
        plotted = table.kind == "rankings" and table.experiment in _OF_RANKINGS
    if not plotted:
        known = "sensitivity studies whose cells are numbers, bt-figure2, bt-figure3 and bt-figure4"
        msg = f"{table.id} has no figure; these have one: {known}"
        raise RecipeError(msg)


def draw_reproduction(result: Reproduction) -> Any:
    """The figure of a table that has one."""
    if result.table is None:
        msg = f"{result.id} was read from JSON, which has no figure; reproduce it again to draw one"
        raise InputError(msg)
    check_plotted(result.table)
    return _OF_RANKINGS.get(result.table.experiment, _draw_study)(result, result.table)


def _draw_study(result: Reproduction, table: PaperTable) -> Any:
    """Bars of what was computed; values in print are not drawn."""
    declared = {row.name: row for row in table.rows}
    columns = [column for column in result.columns if any(_ours(row, column) is not None for row in result.rows)]
    panels: dict[str, dict[str, dict[str, Bar]]] = {}
    labels = []
    for row in result.rows:
        if not row.has_ours:
            continue
        known = declared[row.name]
        label = row.name if known.statistic == "value" else known.metric or row.name
        labels.append(label)
        groups = panels.setdefault(known.measure, {column: {} for column in columns})
        for column in columns:
            if (ours := _ours(row, column)) is not None:
                groups[column][label] = Bar(ours)
    if not panels:
        msg = f"nothing of {result.id} was computed, so there is nothing to draw; see what is missing"
        raise InputError(msg)
    charts = [BarPanel(name, "agreement" if name == "agreement" else "%", groups) for name, groups in panels.items()]
    title = f"{result.id} with {result.model}: {result.title}"
    return draw_bar_panels(charts, series_styles(labels), title=title, caption=_BARS, height=2.8)
