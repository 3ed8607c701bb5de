"""Recompute a published table from a folder of data sets and one model.

Every cell has the published and the recomputed value; every row has the reason for differences. Missing inputs (a
data set, a model, a metric) are listed with their source, and the published values stay.

`KINDS` has one function per kind of experiment; a new kind is a line there and a function with a `Request`.

Experiments on rankings and sensitivity studies have a figure. The figure of a study has a panel per statistic, a
group of bars per column and a bar per metric.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple, TypeAlias

from nlgauge.core.kinds import Flag, Folder, InputFile, Int, Many, OutputFile, Text
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
from nlgauge.studies.published.layers import draw_published_layers
from nlgauge.studies.published.runs import Reproduction
from nlgauge.studies.published.tables import PaperTable

if TYPE_CHECKING:
    from nlgauge.studies.meta.row_scores import RowScores
    from nlgauge.studies.published.runs import ReproducedRow, Reproduction


@dataclass(frozen=True, kw_only=True)
class StudyInputs(OptionSet):
    """Inputs of a reproduced sensitivity study."""

    called: ClassVar[str] = "inputs of a sensitivity study"

    state: str | None = option(
        None, OutputFile(), help="file with finished results, used to resume an interrupted run"
    )
    idf_corpus: tuple[str, ...] = option(
        (), Many(InputFile()), help="text files to count idf on, one document per line"
    )
    stopwords: tuple[str, ...] = option(
        (), Many(InputFile()), help="files with the published English stop words, which are not included"
    )
    ddof: int = option(1, Int(0, 1), help="delta degrees of freedom of the coefficient of variation")


@dataclass(frozen=True, kw_only=True)
class ReproduceOptions(OptionSet):
    """Part of a table to compute, and inputs."""

    called: ClassVar[str] = "options of a reproduction"

    at: str | None = option(None, Folder(), help="folder of the data sets")
    model: str | None = option(
        None,
        Text("the name of a model"),
        help="model name, folder or hub id; 'none' computes only values without a model",
        unset="minilm; muse for cross-lingual tables",
    )
    layer: int | None = option(
        None, Int(0), help="layer of BERTScore, unless the model is that of the paper", unset="tuned per model"
    )
    rows: tuple[str, ...] | None = option(None, Many(Text("a row")), help="only these rows, by name")
    langpairs: tuple[str, ...] | None = option(
        None, Many(Text("a language pair")), help="only these language pairs, such as cs-en"
    )
    data: tuple[str, ...] | None = option(None, Many(Text("a data set")), help="only these data sets, such as wmt17")
    levels: tuple[str, ...] | None = option(
        None, Many(Text("a level")), help="only columns of these levels: segment, document, topic or system"
    )
    vectors: str | None = option(
        None,
        InputFile(),
        help="word vectors (GloVe, word2vec, Dep2Vec), needed by rows such as W2V, YiSi-1 and ROUGE-WE",
    )
    lm: str | None = option(
        None,
        Text("a language model"),
        help="language model for the rows XMoverScore + LM, such as smollm2",
        unset="published values only",
    )
    intervals: bool = option(
        False, Flag(), help="print 95 % intervals of the values and of their averages, from resampled segments"
    )


#: Scores by slice of a data set, recipe and model.
KnownScores: TypeAlias = dict[tuple[Any, ...], "RowScores"]


@dataclass(frozen=True, kw_only=True)
class Request(ReproduceOptions):
    """A table with selected rows, and its inputs."""

    table: PaperTable
    study: StudyInputs = field(default_factory=StudyInputs)
    rankings: RankingOptions = field(default_factory=RankingOptions)
    run: RunOptions = field(default_factory=RunOptions)
    skip_broken: bool = False
    """Whether broken files are listed as missing, as for all tables at once."""
    known_scores: KnownScores = field(default_factory=dict)
    """Scores of earlier tables; those of this table are added."""

    @property
    def model_name(self) -> str:
        """The selected model, or the table's default."""
        return self.model or self.table.default_model


class _Kind(NamedTuple):
    """A kind of experiment."""

    function: str
    """Function as `module.function` in this package; imported late because dependencies differ."""
    description: str = ""
    refused: tuple[str, ...] = ()
    """Options that its tables do not accept."""


_NO_TEXTS = ("model", "layer", "langpairs", "levels", "study", "intervals")
KINDS: Mapping[str, _Kind] = {
    "agreement": _Kind("agreement.compute_agreement", refused=("rankings", "study")),
    "between": _Kind("between.compute_between", "a table on several metrics", ("rankings", "study", "intervals")),
    "hybrids": _Kind("agreement.compute_agreement", "a table on hybrid systems", ("rankings", "study", "intervals")),
    "sensitivity": _Kind("sensitivity.compute_study", "a sensitivity study", ("rankings", "intervals")),
    "features": _Kind("released.compute_features", "a table on features of texts", ("rankings", *_NO_TEXTS)),
    "regression": _Kind(
        "released.compute_regression", "a table of regressions", ("rankings", "layer", "levels", "study", "intervals")
    ),
    "robustness": _Kind("released.compute_robustness", "a table of released scores", ("rankings", *_NO_TEXTS)),
    "rankings": _Kind("rankings.compute_rankings", "a table on rankings of systems", _NO_TEXTS),
    "explanations": _Kind(
        "explanations.compute_explanations",
        "a table on explanation methods",
        ("rankings", "study", "layer", "langpairs", "levels"),
    ),
    "layers": _Kind("layers.compute_layers", "a table of layers", ("rankings", "layer", "levels", "study")),
    "density": _Kind("density.compute_density", "a simulation of languages", ("data", *_NO_TEXTS)),
    "examples": _Kind("examples.compute_examples", "a table of examples", ("rankings", "data", "levels", "study")),
    "discourse": _Kind(
        "discourse.compute_figure", "a figure on discourse", ("rankings", "langpairs", "levels", "study")
    ),
}


def reproduce(
    table: PaperTable,
    *,
    study: StudyInputs | None = None,
    rankings: RankingOptions | None = None,
    run: RunOptions | None = None,
    skip_broken: bool = False,
    known_scores: KnownScores | None = None,
    **options: Any,
) -> Reproduction:
    """Recompute a table, with published and recomputed values.

    Options are those of `ReproduceOptions` (part of the table, inputs) and of a run (`RunOptions`: engine, threads,
    ...), the latter also as one object (`run`). `study` has inputs of a sensitivity study, `rankings` the options of
    a table on rankings (which accepts no models, layers, language pairs and levels). The default model is `minilm`,
    or `muse` across languages. With `model="none"` only lexical metrics and released scores are computed. With
    `skip_broken` a broken file is listed as missing; otherwise it is an error. `known_scores` keeps scores for more
    tables with the same run options.

    A study scores only English texts unless `langpairs` names other pairs, for a model that supports them.
    """
    part_options = {name: value for name, value in options.items() if name in ReproduceOptions.options()}
    run_options = {name: value for name, value in options.items() if name not in part_options}
    request = Request(
        table=table,
        study=study or StudyInputs(),
        rankings=rankings or RankingOptions(),
        run=RunOptions.of(run_options) if run is None else replace(run, **run_options),
        skip_broken=skip_broken,
        known_scores={} if known_scores is None else known_scores,
        **part_options,
    )
    kind = KINDS[table.kind]
    _check_word_vectors(request)
    _check_accepted(request, kind)
    table = _with_corpora(table, request.study)
    names = select_known(request.rows, [row.name for row in table.rows], f"{table.id}: row")
    module, _, function = kind.function.rpartition(".")
    compute = getattr(import_module(f"{__package__}.{module}"), function)
    result: Reproduction = compute(
        replace(request, table=replace(table, rows=tuple(row for row in table.rows if row.name in names)))
    )
    return result


def _check_word_vectors(request: Request) -> None:
    """Raise RecipeError for word vectors that the table does not use, or whose path cannot be part of a recipe."""
    if request.vectors is None:
        return
    if not any(row.word_vectors for row in request.table.rows):
        msg = f"no row of {request.table.id} uses word vectors; leave out --vectors"
        raise RecipeError(msg)
    if "," in request.vectors:
        msg = (
            f"the path of word vectors {request.vectors!r} contains a comma, which separates options in a recipe; "
            "rename the file"
        )
        raise RecipeError(msg)


def _check_accepted(request: Request, kind: _Kind) -> None:
    """Raise RecipeError for options that this kind of table does not accept."""
    for name in kind.refused:
        value = getattr(request, name)
        if value is False or value in (None, StudyInputs(), RankingOptions()):
            continue
        descriptions = {
            "study": "the options of sensitivity studies",
            "rankings": "the options of rankings (--frames, --score, --ties, ...)",
        }
        described, left_out = kind.description or "not a table on rankings", descriptions.get(name, f"--{name}")
        if name == "study" and not kind.description:
            described, left_out = "not a sensitivity study", "--state, --idf-corpus, --stopwords and --ddof"
        msg = f"{request.table.id} is {described}; leave out {left_out}"
        raise RecipeError(msg)


def _with_corpora(study: PaperTable, inputs: StudyInputs) -> PaperTable:
    """Add a row for each given corpus; inputs that the study does not use are an error."""
    if inputs.stopwords and "stopwords" not in study.grids:
        msg = f"{study.id} does not vary stop words; omit --stopwords {inputs.stopwords[0]!r}"
        raise RecipeError(msg)
    if not inputs.idf_corpus:
        return study
    if not study.idf_corpora:
        msg = f"{study.id} does not count idf on a large corpus; omit --idf-corpus {inputs.idf_corpus[0]!r}"
        raise RecipeError(msg)
    # Corpora of the paper stay as rows with published values.
    rows = [replace(row, grid="idf-large") for row in study.rows]
    rows += [
        replace(rows[0], name=Path(path).name, published={}, setting=f"corpus:{path}") for path in inputs.idf_corpus
    ]
    if len({row.name for row in rows}) < len(rows):
        msg = f"corpora for idf need different file names, got {', '.join(inputs.idf_corpus)}"
        raise RecipeError(msg)
    return replace(study, rows=tuple(rows))


_TITLES = {
    "a": "one type, no outliers",
    "b": "one type, no outliers",
    "c": "one type",
    "d": "no outliers",
}
_MARKS = "os^"
_BARS = "Bars: recomputed values without intervals; the table has the published values."


def _draw_simulation(result: Reproduction, table: PaperTable) -> Any:
    """Draw the panels of Figure 3: Kendall's tau with the strengths, with 95 % intervals."""
    from nlgauge.studies.paired_evaluation import PANELS

    figure, axes = new_panels(2, 4, width=WIDEST, height=2.6)
    keys = {row.name: row.key for row in table.rows}
    styles = series_styles(("mean", "median", "BT"))
    for ax, (letter, panel) in zip(axes, PANELS.items(), strict=True):
        rows = [row for row in result.rows if keys[row.name][0] == letter and row.has_ours]
        levels = [keys[row.name][1] for row in rows]
        for number, (name, style) in enumerate(styles.items()):
            # Shifted sideways so that intervals do not overlap.
            positions = [step + 0.12 * (number - 1) for step in range(len(rows))]
            heights, errors = ([_ours(row, label) for row in rows] for label in (name, f"± {name}"))
            ax.errorbar(positions, heights, errors, color=style.colour, marker=_MARKS[number], markersize=4)
        ax.set_xticks(range(len(levels)), levels, fontsize=8)
        ax.tick_params(axis="y", labelsize=8)
        ax.set_ylim(0, 1.05)
        ax.set_xlabel(panel.axis, fontsize=8)
        ax.set_title(f"({letter}) {_TITLES.get(letter, 'all setups')}", loc="left", fontsize=9)
    for ax in (axes[0], axes[4]):
        ax.set_ylabel("Kendall's tau", fontsize=8)
    marked = {name: style._replace(mark=mark) for (name, style), mark in zip(styles.items(), _MARKS, strict=True)}
    finish_figure(
        figure,
        title=f"{result.id}: {result.title}",
        caption=f"Design: {result.options['design']}. Vertical lines: 95 % intervals of the mean over setups.",
        legend=(legend_entries(marked, kind="mark"), list(marked)),
    )
    return figure


def _draw_pairings(result: Reproduction, table: PaperTable) -> Any:
    """Draw the same scores in six pairings: instances by the scores of S and B."""
    from nlgauge.studies.paired_measures import THREE_TYPES, draw_pairings

    pairings = draw_pairings(THREE_TYPES, RankingOptions(**result.options))
    figure, axes = new_panels(2, 3, width=9.5, height=3.0)
    styles = series_styles(("S is better", "B is better"))
    marked = {name: style._replace(mark=mark) for (name, style), mark in zip(styles.items(), _MARKS, strict=False)}
    for ax, pairing in zip(axes, pairings, strict=True):
        ahead = pairing.scores[:, 0] > pairing.scores[:, 1]
        low, high = pairing.scores.min(), pairing.scores.max()
        for style, chosen in zip(marked.values(), (ahead, ~ahead), strict=True):
            ax.scatter(*pairing.scores[chosen].T, s=9, color=style.colour, marker=style.mark)
        ax.plot((low, high), (low, high), "--", color="#999999", linewidth=0.8)
        ax.set_title(f"S as {' '.join(map(str, pairing.order))}: S wins {pairing.wins:.0%}", loc="left", fontsize=9)
        ax.set_xlabel("score of S", fontsize=8)
        ax.set_ylabel("score of B", fontsize=8)
        ax.tick_params(labelsize=8)
    finish_figure(
        figure,
        title=f"{result.id}: the same scores of S and B, with another pairing in each panel",
        caption="Each point is an instance. S as 2 3 1: its second type of instances is paired with B's first, etc. "
        "Dashed line: equal scores.",
        legend=(legend_entries(marked, kind="mark"), list(marked)),
    )
    return figure


def _draw_disagreement(result: Reproduction, table: PaperTable) -> Any:
    """Draw the bars of Figure 4 for available frames: a panel of metrics, of tasks, or of numbers of rows."""
    panels: dict[str, dict[str, dict[str, Bar]]] = {}
    for row in (row for row in result.rows if row.has_ours):
        kind, _, name = row.name.partition(" ")
        bars = {label: Bar(ours) for label in result.columns if (ours := _ours(row, label)) is not None}
        task = "all tasks" if kind == "size" else kind
        panels.setdefault(f"{task}, by number of rows" if name.isdigit() else f"per {kind}", {})[name] = bars
    charts = [BarPanel(title, "share of pairs", groups) for title, groups in panels.items()]
    return draw_bar_panels(charts, series_styles(result.columns), title=f"{result.id}: {result.title}", caption=_BARS)


def _ours(row: ReproducedRow, column: str) -> float | None:
    ours = row.cells[column].ours
    return ours if isinstance(ours, float) else None


_OF_RANKINGS = {
    "simulation": _draw_simulation,
    "pairing": _draw_pairings,
    "by-metric": _draw_disagreement,
    "by-size": _draw_disagreement,
    "by-layer": draw_published_layers,
}


def check_plotted(table: PaperTable) -> None:
    """Raise RecipeError for a table without a figure, before it is computed."""
    if table.kind == "sensitivity":
        plotted = any(row.statistic != "best" for row in table.rows)
    else:
        plotted = table.kind in ("between", "density", "discourse") or (
            table.kind in ("rankings", "layers") and table.experiment in _OF_RANKINGS
        )
    if not plotted:
        plottable = "numeric sensitivity studies and most tables named after a figure, such as bt-figure3"
        msg = f"{table.id} has no figure; available for {plottable}"
        raise RecipeError(msg)


def draw_reproduction(result: Reproduction) -> Any:
    """Draw the figure of a table."""
    if result.table is None:
        msg = f"{result.id} was read from JSON, which does not contain a figure; reproduce it again to draw one"
        raise InputError(msg)
    check_plotted(result.table)
    if result.drawing is not None:
        return result.drawing()
    return _OF_RANKINGS.get(result.table.experiment, _draw_study)(result, result.table)


def _draw_study(result: Reproduction, table: PaperTable) -> Any:
    """Draw bars of recomputed values."""
    declared = {row.name: row for row in table.rows}
    columns = [column for column in result.columns if any(_ours(row, column) is not None for row in result.rows)]
    panels: dict[str, dict[str, dict[str, Bar]]] = {}
    labels = []
    for row in result.rows:
        if not row.has_ours:
            continue
        declared_row = declared[row.name]
        label = row.name if declared_row.statistic == "value" else declared_row.metric or row.name
        labels.append(label)
        groups = panels.setdefault(declared_row.measure, {column: {} for column in columns})
        for column in columns:
            if (ours := _ours(row, column)) is not None:
                groups[column][label] = Bar(ours)
    if not panels:
        msg = f"nothing to draw: no value of {result.id} was computed; its table lists the missing inputs"
        raise InputError(msg)
    charts = [BarPanel(name, "agreement" if name == "agreement" else "%", groups) for name, groups in panels.items()]
    title = f"{result.id} with {result.model}: {result.title}"
    return draw_bar_panels(charts, series_styles(labels), title=title, caption=_BARS, height=2.8)
