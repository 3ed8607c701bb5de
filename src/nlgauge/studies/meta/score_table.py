"""Scores of the rows of a judgement table, with idf counted as the data set's protocol has it.

Metrics that count idf look at whole files. Which texts those are depends on the data:

    whole files at hand (`wmt17`)       each system's file, and its references                    `files`
    every system on the same segments   each system's outputs, and the references                 `grid`
    anything else                       all rows of a language pair together                      `pooled`
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from nlgauge.core.annotation import check_annotated_languages
from nlgauge.core.composite import CompositeMetric, leaves
from nlgauge.core.corpus import Corpus, make_corpus
from nlgauge.core.metric import Metric, TextMetric
from nlgauge.core.notes import warn_about_languages
from nlgauge.core.pipeline import run_metrics
from nlgauge.core.run_options import RunOptions
from nlgauge.core.score import Score
from nlgauge.core.scoring import AnyMetric, Metrics, chosen_metrics, metric_text, recipes_and_run
from nlgauge.core.vector_metric import VectorMetric
from nlgauge.data.judgements import JudgementTable
from nlgauge.encoders.run_context import run_context
from nlgauge.errors import InputError, MissingExtraError, ModelError, NlgaugeError, RecipeError
from nlgauge.stats.correlation import Undefined
from nlgauge.studies.meta.metric_values import MetricValues, ScoredJudgements
from nlgauge.studies.meta.sentinels import sentinel_rows
from nlgauge.text.languages import LANGUAGE_CODES

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from nlgauge.core.keywords import ScoreKeywords

IdfTexts: TypeAlias = Literal["files", "grid", "pooled"]


def score_table(
    table: JudgementTable,
    metric: Metrics,
    *,
    run: RunOptions | None = None,
    undefined: Undefined = "raise",
    **options: Unpack[ScoreKeywords],
) -> ScoredJudgements:
    """Score every row of a table; options are those of `nlgauge.score`, and `run` those of the run in one object.

    A text is encoded once per language pair and window for all metrics. A metric given as text is called by
    that text in the result (`bertscore:layer=4`). With `undefined="nan"` a metric that cannot be computed for a
    language pair has nan there, and the reason in `MetricValues.failed`; the other scores stay.
    """
    metrics = chosen_metrics(metric)
    recipes, given = recipes_and_run(metrics, options)
    running = RunOptions.of(given) if run is None else replace(run, **given)
    names = _names(metrics)
    _check_compared(table, recipes)
    warn_about_languages(leaves(recipes), named_by_data=_languages(table, recipes))
    values = [{name: np.full(len(table), np.nan) for name in recipe.components} for recipe in recipes]
    signatures: list[dict[str, str]] = [{} for _ in recipes]
    corpus: list[dict[tuple[str, str], float]] = [{} for _ in recipes]
    failed: list[dict[str, NlgaugeError]] = [{} for _ in recipes]
    # What looks at the texts only counts no idf, and its corpus scores are those of whole systems.
    plain = [at for at, recipe in enumerate(recipes) if isinstance(recipe, TextMetric)]
    # What scales over a corpus scales over a language pair, as published. What counts no idf needs no whole files,
    # unless it can share the encoding of what does.
    clouds = {at: recipe for at, recipe in enumerate(recipes) if isinstance(recipe, VectorMetric)}
    counting = {recipe.encoding for recipe in clouds.values() if recipe.counts_idf}
    pooled = [at for at, recipe in clouds.items() if recipe.whole_corpus or recipe.encoding not in counting]
    encoded = [at for at in clouds if at not in pooled]
    # What joins the scores of others runs with the members that count idf, if it has any.
    for at, recipe in enumerate(recipes):
        if isinstance(recipe, CompositeMetric):
            counts = any(isinstance(one, VectorMetric) and one.counts_idf for one in recipe.recipes)
            (encoded if counts else pooled).append(at)
    for number, langpair in enumerate(table.langpairs, start=1):
        # Texts first, because a package that is missing shows there before anything is encoded.
        for chosen, corpora in ((plain, system_corpora), (pooled, pooled_corpora), (encoded, table_corpora)):
            left = _left(chosen, langpair, failed)
            try:
                parts = list(corpora(table, langpair)) if left else []
            except NlgaugeError as error:
                if undefined != "nan":
                    raise
                parts = []
                for at in left:
                    failed[at][langpair] = error
            for place, (part, rows) in enumerate(parts, start=1):
                with run_context(stage=_stage(number, len(table.langpairs), place, len(parts))):
                    for index, scores in _scored(recipes, left, part, running, undefined, langpair):
                        if isinstance(scores, NlgaugeError):
                            failed[index].setdefault(langpair, scores)
                            continue
                        for system, score in zip(part.systems, scores, strict=True):
                            for name, found in score.segments.items():
                                values[index][name][rows[system]] = found
                            signatures[index].setdefault(langpair, score.signature.recipe_part)
                            if score.main in score.corpus:
                                corpus[index][langpair, system] = score.corpus[score.main]
                left = [at for at in left if langpair not in failed[at]]
        _forget_failed(table, langpair, values, failed)
    return ScoredJudgements(
        table,
        tuple(
            MetricValues(
                name,
                values[at][recipe.main],
                recipe.higher_is_better,
                components=values[at],
                distances=recipe.distances,
                signatures=signatures[at],
                corpus=corpus[at],
                failed=failed[at],
            )
            for at, (name, recipe) in enumerate(zip(names, recipes, strict=True))
        ),
    )


def _scored(
    recipes: Sequence[Metric],
    chosen: Sequence[int],
    part: Corpus,
    run: RunOptions,
    undefined: Undefined,
    langpair: str,
) -> Iterator[tuple[int, list[Score] | NlgaugeError]]:
    """Scores of the systems by each chosen metric, in one go; one that fails alone is told apart from the others."""
    if not chosen:
        return
    asked = [recipes[at] for at in chosen]
    # A table of one's own may have any name in the place of its languages.
    source, target = (code if code in LANGUAGE_CODES else "" for code in langpair.rpartition("-")[::2])
    try:
        check_annotated_languages(leaves(asked), source=source, target=target)
        scores = run_metrics(asked, part, run)
    except NlgaugeError as error:
        if undefined != "nan":
            raise
        if len(chosen) == 1:
            yield chosen[0], error
            return
        for at in chosen:
            yield from _scored(recipes, [at], part, run, undefined, langpair)
    else:
        count = len(part.systems)
        yield from ((at, scores[number * count : (number + 1) * count]) for number, at in enumerate(chosen))


def _left(chosen: Sequence[int], langpair: str, failed: Sequence[dict[str, NlgaugeError]]) -> list[int]:
    """Metrics still to be tried: one that lacked a model or a package for earlier texts lacks it for these, too."""
    left = []
    for at in chosen:
        lacking = [error for error in failed[at].values() if isinstance(error, ModelError | MissingExtraError)]
        if lacking:
            failed[at][langpair] = lacking[0]
        else:
            left.append(at)
    return left


def _forget_failed(
    table: JudgementTable,
    langpair: str,
    values: Sequence[Mapping[str, NDArray[np.float64]]],
    failed: Sequence[Mapping[str, NlgaugeError]],
) -> None:
    """Leave no scores of some systems where those of others could not be computed."""
    rows = [at for at, pair in enumerate(table.langpair) if pair == langpair]
    for own, errors in zip(values, failed, strict=True):
        if langpair in errors:
            for components in own.values():
                components[rows] = np.nan


def _stage(pair: int, pairs: int, part: int, parts: int) -> str:
    """Where the scoring stands: the bars below it start anew for every part.

    >>> _stage(3, 7, 1, 1)
    'pair 3 of 7'
    """
    counted = (("pair", pair, pairs), ("system", part, parts))
    return ", ".join(f"{what} {at} of {total}" for what, at, total in counted if total > 1)


def _languages(table: JudgementTable, recipes: Iterable[Metric]) -> list[str]:
    """Languages of the texts that are compared; those of sources only where a metric looks at them."""
    pairs = [pair.split("-") for pair in table.langpairs]
    sources = any(isinstance(recipe, VectorMetric) and recipe.against == "source" for recipe in leaves(recipes))
    return [code for pair in pairs for code in (pair if sources else pair[-1:])]


def released_rows(table: JudgementTable, name: str) -> MetricValues:
    """Scores that came with the data, as rows beside ours; a distance if the table says that it is one."""
    if name not in table.released:
        msg = f"{table.name} has no released score {name!r}; it has {', '.join(table.released) or 'none'}"
        raise RecipeError(msg)
    signatures = dict.fromkeys(table.langpairs, "released")
    return MetricValues(name, table.released[name], name not in table.distances, signatures=signatures)


def sentinels_of(table: JudgementTable, *, seed: int = 12345) -> tuple[MetricValues, ...]:
    """Rows that no metric should lose to: length, chance, and (where there are sources) copying."""
    sources = None if table.source is None else list(table.source)
    made = sentinel_rows([list(table.hypothesis)], sources, seed=seed)
    return tuple(
        replace(one, values=one.values[0], signatures=dict.fromkeys(table.langpairs, one.signature or one.name))
        for one in made
    )


def _check_compared(table: JudgementTable, recipes: Sequence[Metric]) -> None:
    """Refuse what compares with texts that the table does not have."""
    for recipe in leaves(recipes):
        against = getattr(recipe, "against", "refs")
        if against == "refs" and not all(table.references):
            other = f"; {recipe.name}:against=source compares with the source" * ("against" in recipe.options())
            msg = f"{recipe.name} compares with references, and {table.name} has none{other}"
            raise InputError(msg)
        if against == "source" and table.source is None:
            msg = f"{recipe.name} compares with the source, and {table.name} has none"
            raise InputError(msg)


def _names(metrics: Sequence[AnyMetric]) -> list[str]:
    names = [metric_text(metric) for metric in metrics]
    return [
        name if names.count(name) == 1 else f"{name} #{names[: at + 1].count(name)}" for at, name in enumerate(names)
    ]


def table_corpora(table: JudgementTable, langpair: str) -> Iterator[tuple[Corpus, Mapping[str, NDArray[np.intp]]]]:
    """What to score in one go, with the rows of the table that each system's segments are."""
    by_system = _by_system(table, langpair)
    kind = idf_texts(table, by_system)
    if kind == "files":
        for system, rows in by_system.items():
            documents = table.documents(langpair, system)
            references = [text for group in documents.references for text in group]
            whole = {system: list(documents.hypotheses), None: references}
            yield replace(_corpus(table, {system: rows}), idf_documents=whole), _arrays({system: rows})
    elif kind == "grid":
        yield _corpus(table, by_system), _arrays(by_system)
    else:
        yield from pooled_corpora(table, langpair)


def pooled_corpora(table: JudgementTable, langpair: str) -> Iterator[tuple[Corpus, Mapping[str, NDArray[np.intp]]]]:
    """All rows of a language pair together, whichever systems they are of.

    A segment that several systems wrote about stands in several rows; for idf its references are documents once.
    """
    rows = [at for at, pair in enumerate(table.langpair) if pair == langpair]
    corpus = _corpus(table, {langpair: rows})
    distinct = dict.fromkeys((table.segment[at], text) for at in rows for text in table.references[at])
    if len(distinct) < sum(len(table.references[at]) for at in rows):
        documents = {langpair: corpus.systems[langpair], None: [text for _, text in distinct]}
        corpus = replace(corpus, idf_documents=documents)
    yield corpus, _arrays({langpair: rows})


def system_corpora(table: JudgementTable, langpair: str) -> Iterator[tuple[Corpus, Mapping[str, NDArray[np.intp]]]]:
    """Each system's rows on their own."""
    for system, rows in _by_system(table, langpair).items():
        yield _corpus(table, {system: rows}), _arrays({system: rows})


def _by_system(table: JudgementTable, langpair: str) -> dict[str, list[int]]:
    found: dict[str, list[int]] = {}
    for at, pair in enumerate(table.langpair):
        if pair == langpair:
            found.setdefault(table.system[at], []).append(at)
    return found


def idf_texts(table: JudgementTable, by_system: Mapping[str, Sequence[int]]) -> IdfTexts:
    """Which texts idf is counted on for these rows."""
    if table.files is not None:
        return "files"
    if len(by_system) < 2:
        return "pooled"
    shapes = {tuple((table.segment[at], table.references[at]) for at in rows) for rows in by_system.values()}
    return "grid" if len(shapes) == 1 else "pooled"


def _corpus(table: JudgementTable, by_system: Mapping[str, Sequence[int]]) -> Corpus:
    """The texts of these rows; every system's rows are of the same segments."""
    rows = next(iter(by_system.values()))
    systems = {system: [table.hypothesis[at] for at in own] for system, own in by_system.items()}
    sources = None if table.source is None else [table.source[at] for at in rows]
    refs = [table.references[at] for at in rows]
    if sources is not None and not any(refs):
        return make_corpus(systems, None, sources=sources)
    for at, group in zip(rows, refs, strict=True):
        if not group:
            msg = f"{table.name}: segment {table.segment[at]!r} has no reference; a metric of this call needs one"
            raise InputError(msg)
    return make_corpus(systems, refs, sources=sources)


def _arrays(rows: Mapping[str, Sequence[int]]) -> dict[str, NDArray[np.intp]]:
    return {name: np.array(own, dtype=np.intp) for name, own in rows.items()}
