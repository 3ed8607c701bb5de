"""Tables 9 to 15 and Figures 1 and 2 of the reproducibility study: its section 5 and appendix, on preprocessing.

Only values that could be checked are given. How Tables 12, 14 and 15 and the figures are laid out in print is not at
hand either; their notes say what is shown here instead.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any, Literal, NamedTuple

from nlgauge.meta.question import Question
from nlgauge.published.papers.chen_2022 import (
    BERT_F1,
    MOVER_1,
    NONE_AT_HAND,
    SOME_AT_HAND,
    SOURCE,
    TO_ENGLISH_18,
)
from nlgauge.published.papers.shared import BERT_MNLI, TO_ENGLISH_17
from nlgauge.published.study import PaperStudy, StudyRow
from nlgauge.published.table import Column, Mean, PublishedModel, TableRow, language_columns

__all__ = ["REPRODUCIBILITY_STUDIES"]

_MULTILINGUAL = PublishedModel(
    "bert-base-multilingual-uncased", published="huggingface.co/google-bert/bert-base-multilingual-uncased"
)
_LARGE_CORPORA = (
    "large corpora to count idf on: WiLI (zenodo.org/records/841984), prefixes of Wikipedia from 1e5 to 1e7 lines "
    "(dumps.wikimedia.org), IMDB (ai.stanford.edu/~amaas/data/sentiment), WikiText-2 and Wiki40b "
    "(huggingface.co/datasets: Salesforce/wikitext, google/wiki40b)"
)

#: English targets, and the others of the study, by year; WMT17 judged segments of two of those only.
_TO_ENGLISH = {
    "17": TO_ENGLISH_17,
    "18": TO_ENGLISH_18,
    "19": ("de-en", "fi-en", "gu-en", "kk-en", "lt-en", "ru-en", "zh-en"),
}
_FROM_ENGLISH = {
    "17": ("en-cs", "en-de", "en-fi", "en-ru", "en-tr", "en-zh"),
    "18": ("en-cs", "en-de", "en-fi", "en-ru", "en-tr", "en-zh"),
    "19": ("en-cs", "en-de", "en-fi", "en-ru", "en-zh"),
}
_JUDGED_SEGMENTS = {"17": ("en-ru", "en-zh")}


class _Measure(NamedTuple):
    """What is varied, and what is said of it."""

    name: str
    grid: str
    statistic: Literal["cv", "rd", "best"]


_CV_STOP = _Measure("CV_STOP", "stopwords", "cv")
_RD_IDF = _Measure("RD(dis,ori)", "idf", "rd")
_CV_IDF = _Measure("CV_IDF", "idf-random", "cv")
_CV_SUB = _Measure("CV_SUB", "subwords", "cv")
_RD_PUNCTUATION = _Measure("RD(dis,pr)", "punctuation", "rd")
_BEST_STOP = _Measure("best", "stopwords", "best")
_BEST_CELL = _Measure("best", "subwords-x-punctuation", "best")

_MOVER_1 = replace(MOVER_1, model=BERT_MNLI)
_MOVER_2 = replace(_MOVER_1, name="Mover-2", recipe="moverscore:profile=v1,n=2")
_THREE = (_MOVER_1, _MOVER_2, BERT_F1)


def _question(year: str, level: str) -> Question:
    data = f"wmt{year}"
    if level == "seg":
        return Question(data, "segment", "pearson" if year == "17" else "darr")
    return Question(data, "system", "pearson", options=(("level", "system"),))


def _wmt(*levels: str, years: Iterable[str] = ("17", "18", "19"), averages: bool = True) -> tuple[Column | Mean, ...]:
    """Columns of each level and year; averages are over English targets, of a data set and of a level."""
    found: list[Column | Mean] = []
    for level in levels:
        english: list[Column | Mean] = []
        others = []
        for year in years:
            question, prefix = _question(year, level), f"{year} {level} "
            english += language_columns(question, _TO_ENGLISH[year], prefix=prefix)
            pairs = _JUDGED_SEGMENTS.get(year, _FROM_ENGLISH[year]) if level == "seg" else _FROM_ENGLISH[year]
            others += [Column(f"{prefix}{pair}", question, pair) for pair in pairs]
        single = [column for column in english if isinstance(column, Column)]
        found += english if averages else single
        if averages:
            found.append(Mean(f"{level} avg", tuple(column.label for column in single)))
        found += others
    return tuple(found)


def _tac(*coefficients: tuple[str, str]) -> tuple[Column, ...]:
    return tuple(
        Column(
            f"TAC{year} {short} {letter}",
            Question(f"tac20{year}", "topic", coefficient, criterion, (("humans", False),)),
        )
        for year in ("08", "09")
        for short, criterion in (("resp", "responsiveness"), ("pyr", "pyr_score"))
        for letter, coefficient in coefficients
    )


def _rows(
    metrics: Iterable[TableRow], *measures: _Measure, published: Mapping[str, Mapping[str, float]] | None = None
) -> tuple[StudyRow, ...]:
    """A row per measure and metric; the measure is in its name where there are several."""
    return tuple(
        _row(
            metric,
            name=f"{metric.name} {measure.name}" if len(measures) > 1 else metric.name,
            published=(published or {}).get(metric.name, {}),
            grid=measure.grid,
            statistic=measure.statistic,
            measure=measure.name,
        )
        for measure in measures
        for metric in metrics
    )


def _row(metric: TableRow, **fields: Any) -> StudyRow:
    return StudyRow(**{**vars(metric), "metric": metric.name, **fields})


def _joined(rows: tuple[StudyRow, ...]) -> tuple[StudyRow, ...]:
    """BERTScore beside several references takes their mean, as MoverScore always does."""
    return tuple(
        replace(
            row,
            recipe=f"{row.recipe},multiref=mean",
            recipe_for_other_models=f"{row.recipe_for_other_models},multiref=mean",
        )
        if row.recipe.startswith("bertscore")
        else row
        for row in rows
    )


_CV = "CV in per cent over the settings; whether print divides by n or n - 1 is not said: n - 1 here, n with --ddof 0"
_RD = "RD in per cent: dis is without idf (or with punctuation kept), beside ori (or pr, punctuation removed)"
_LISTS = (
    "lists in print for English: MoverScore's (153 words), NLTK (179), spaCy (326); here stopwords-iso stands for "
    "the first unless --stopwords FILE gives it"
)
_RANDOM = "random corpora: 2,000 segments each, drawn from all pairs of the data set with the same target language"
_AVERAGE = "what the averages in print run over is not at hand; ours: WMT17, 18 and 19 to English"
_PEERS = "TAC without the human peers; agreement within a topic, averaged over topics"
_LAYOUT = "what print shows in it is not at hand; here: {}"
_FIRST_OF_EQUALS = "best: the highest agreement on this very data, the first of equals"
_CELLS = "a cell is sub-words + punctuation; drop-ascii is print's PR"


def _study(
    number: str, title: str, columns: tuple[Column | Mean, ...], rows: tuple[StudyRow, ...], **more: Any
) -> PaperStudy:
    kind = "Figure" if number.startswith("figure") else "Table"
    source = SOURCE.format(f"{kind} {number.removeprefix(kind.lower())}")
    decimals = more.pop("decimals", 2)
    return PaperStudy(
        f"repro-{number}", title, source, columns, rows, decimals=decimals, other_model=_MULTILINGUAL, **more
    )


_R = ("r", "pearson")
_COEFFICIENTS = (_R, ("rho", "spearman"), ("tau", "kendall"))

REPRODUCIBILITY_STUDIES = (
    _study(
        "table9",
        "WMT17-19: CV_STOP, how far lists of stop words move the agreement with people",
        _wmt("seg", "sys"),
        _rows(
            _THREE,
            _CV_STOP,
            published={
                "Mover-1": {"seg avg": 1.87, "sys avg": 0.25},
                "Mover-2": {"seg avg": 2.04, "sys avg": 0.17},
                "BERT-F1": {"seg avg": 7.72, "sys avg": 0.30},
            },
        ),
        notes=(_CV, _LISTS, _AVERAGE, SOME_AT_HAND),
    ),
    _study(
        "table10",
        "WMT17-19: the best list of stop words of each language pair",
        _wmt("seg", "sys", averages=False),
        _rows(_THREE, _BEST_STOP),
        notes=(_FIRST_OF_EQUALS, _LISTS, NONE_AT_HAND),
    ),
    _study(
        "table11",
        "WMT17-19: CV_IDF, how far the corpus that idf is counted on moves the agreement with people",
        _wmt("seg", "sys"),
        _rows(
            _THREE,
            _CV_IDF,
            published={
                "Mover-1": {"seg avg": 1.12},
                "Mover-2": {"seg avg": 1.94},
                "BERT-F1": {"seg avg": 0.31},
            },
        ),
        notes=(_CV, _RANDOM, _AVERAGE, SOME_AT_HAND),
    ),
    _study(
        "table12",
        "TAC 2008 and 2009: stop words and idf, per criterion and coefficient",
        _tac(*_COEFFICIENTS),
        _joined(_rows(_THREE, _CV_STOP, _RD_IDF, _CV_IDF)),
        notes=(
            _LAYOUT.format("the grids of Tables 9 and 11, and idf switched off"),
            _CV,
            _RD,
            _PEERS,
            _LISTS,
            _RANDOM,
            NONE_AT_HAND,
        ),
    ),
    _study(
        "table13",
        "WMT18-19 to English, segment level: idf counted on large corpora, the agreement itself",
        tuple(column for column in _wmt("seg") if not column.label.startswith(("17 seg en-", "seg avg"))),
        (
            _row(
                _MOVER_1,
                name="ORI",
                published={"18 seg avg": 0.355, "19 seg avg": 0.333},
                grid="idf",
                statistic="value",
                measure="agreement",
                setting="original",
            ),
        ),
        decimals=3,
        idf_corpora=_LARGE_CORPORA,
        notes=(
            "ten large corpora in print: .347 to .351 on WMT18, .320 to .324 on WMT19, but not which has which",
            "--idf-corpus FILE ... adds a row for each corpus; a document is a line",
            "WMT17 (Pearson) is not in print; it is what can be had where the rankings of WMT18 and 19 are missing",
        ),
    ),
    _study(
        "table14",
        "WMT17-19, segment level: the best of sub-words x punctuation",
        _wmt("seg", averages=False),
        _rows((_MOVER_1,), _BEST_CELL),
        notes=(_LAYOUT.format("segments (systems and TAC: repro-table15)"), _CELLS, _FIRST_OF_EQUALS, NONE_AT_HAND),
    ),
    _study(
        "table15",
        "WMT17-19, system level, and TAC: the best of sub-words x punctuation",
        (*_wmt("sys", averages=False), *_tac(*_COEFFICIENTS)),
        _rows((_MOVER_1,), _BEST_CELL),
        notes=(
            _LAYOUT.format("systems and TAC (segments: repro-table14)"),
            _CELLS,
            _FIRST_OF_EQUALS,
            _PEERS,
            NONE_AT_HAND,
        ),
    ),
    _study(
        "figure1",
        "stop words and idf: CV_STOP, RD(dis,ori), CV_IDF",
        (*_wmt("seg", "sys"), *_tac(_R)),
        _joined(_rows(_THREE, _CV_STOP, _RD_IDF, _CV_IDF)),
        notes=(
            _LAYOUT.format("what is measured of all three metrics"),
            _CV,
            _RD,
            _LISTS,
            _RANDOM,
            _PEERS,
            NONE_AT_HAND,
        ),
    ),
    _study(
        "figure2",
        "sub-words and punctuation: CV_SUB, RD(dis,pr)",
        (*_wmt("seg", "sys"), *_tac(_R)),
        _rows((_MOVER_1,), _CV_SUB, _RD_PUNCTUATION),
        notes=(_LAYOUT.format("what is measured of MoverScore-1 only"), _CV, _RD, _PEERS, NONE_AT_HAND),
    ),
)
