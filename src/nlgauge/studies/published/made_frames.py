"""Frames made from the outputs of WMT17 and WMT18, for tables on rankings whose own frames are not public.

The paper's scores were not published, but the outputs that it scored were: with the same language pairs, systems and
segments (appendix A.3) a metric of the paper gives a frame. It is the same frame only up to the implementation of the
metric: the paper names no versions, and its BERTScore and MoverScore use another model than the default here.

Frames are saved runs, as `nlgauge score SYSTEM ... --refs REF -o wmt17.de-en.NAME.json` writes them. A folder may
hold several per language pair; those that are missing are computed if their metrics are named, and saved there.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from nlgauge.core.registry import metric_class, metric_name
from nlgauge.core.run_options import RunOptions
from nlgauge.core.score import Score
from nlgauge.core.score_table import ScoreTable
from nlgauge.core.scoring import score_systems
from nlgauge.data.loaders.wmt import WmtPackage
from nlgauge.errors import InputError
from nlgauge.metrics.rouge_we import RougeWE
from nlgauge.studies.compare.system_scores import SystemScores
from nlgauge.studies.paired_evaluation import FRAME_METRICS
from nlgauge.studies.published.tables import PublishedFrames

#: Years of WMT whose outputs have a loader.
YEARS = ("WMT17", "WMT18")


def is_wmt(frames: PublishedFrames) -> bool:
    """Whether frames can be made from outputs that have a loader."""
    return frames.label.partition(" ")[0] in YEARS


def read_frames(folder: str | Path, frames: PublishedFrames) -> dict[str, SystemScores]:
    """Read the frames of a data set from saved runs, by the paper's name of the metric."""
    card, langpair = _place(frames)
    made: dict[str, SystemScores] = {}
    for path in sorted(Path(folder).glob(f"{card}.{langpair}*.json")):
        by_metric: dict[str, list[Score]] = {}
        for score in ScoreTable.load(path).scores:
            name = paper_name(score)
            if name is not None:
                by_metric.setdefault(name, []).append(score)
        for name, scores in by_metric.items():
            if name in made:
                msg = f"{path.name}: two runs of {frames.label} have scores of {name}; keep one of them"
                raise InputError(msg)
            made[name] = SystemScores(ScoreTable(tuple(scores)), name)
    for name, table in made.items():
        if table.k != frames.systems:
            msg = f"{frames.label}, {name}: expected {frames.systems} systems, as in the paper, got {table.k}"
            raise InputError(msg)
    return made


def make_frames(
    path: Path,
    frames: PublishedFrames,
    metrics: Sequence[str],
    *,
    run: RunOptions | None = None,
    save: str | Path | None = None,
    vectors: str | None = None,
) -> dict[str, SystemScores]:
    """Score the outputs of a language pair in a package of WMT; `save` is a folder for the runs.

    ROUGE-WE needs a file of word vectors.
    """
    card, langpair = _place(frames)
    package = WmtPackage(path, 2000 + int(card.removeprefix("wmt")))
    names = package.outputs.get(langpair, {})
    if len(names) != frames.systems:
        msg = f"{frames.label}: expected the outputs of {frames.systems} systems, as in the paper, got {len(names)}"
        raise InputError(msg)
    documents = {name: package.documents(langpair, name) for name in names}
    references = next(iter(documents.values())).references
    systems = {name: document.hypotheses for name, document in documents.items()}
    usual = RunOptions()
    options = {} if run is None else {name: getattr(run, name) for name in RunOptions.options()}
    changed = {name: value for name, value in options.items() if value != getattr(usual, name)}
    made = {}
    for metric in metrics:  # a file each, so that a run that was interrupted goes on with the next metric
        recipe = FRAME_METRICS[metric]
        if metric_class(metric_name(recipe)) is RougeWE:
            if vectors is None:
                msg = f"{metric} needs word vectors; pass them with vectors="
                raise InputError(msg)
            recipe += f",vectors={vectors}"
        scores = score_systems(systems, references, recipe, **changed)
        if save is not None:
            scores.save(Path(save) / f"{card}.{langpair}.{metric}.json")
        made[metric] = SystemScores(scores, metric)
    return made


def paper_name(score: Score) -> str | None:
    """The paper's name of a metric, by metric and options; None for a metric that is not in the paper."""
    fields: Mapping[str, str] = score.signature.recipe
    for name, recipe in FRAME_METRICS.items():
        metric, _, options = recipe.partition(":")
        wanted = dict(option.split("=") for option in options.split(",") if option)
        if score.signature.metric == metric and all(fields.get(key) == value for key, value in wanted.items()):
            return name
    return None


def _place(frames: PublishedFrames) -> tuple[str, str]:
    """Name of the data set and the language pair."""
    year, _, langpair = frames.label.partition(" ")
    return year.lower(), langpair


def wanted_metrics(asked: Iterable[str], used: Iterable[str] | None, made: Iterable[str]) -> list[str]:
    """Metrics to score: those that are asked for, used by the table (None: all), and not made yet."""
    return [name for name in asked if (used is None or name in used) and name not in made]
