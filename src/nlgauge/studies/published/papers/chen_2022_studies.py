"""Tables 9 to 15 and figures of the reproducibility study: its section 5 and appendix, on preprocessing.

Figures print no numbers, and Table 15 is a picture in the text at hand: of these only ours can be shown.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any, Literal, NamedTuple

from nlgauge.studies.meta.questions import Question
from nlgauge.studies.published.papers.chen_2022 import BERT_F1, MOVER_1, PRINTED, SOURCE, TO_ENGLISH_18
from nlgauge.studies.published.papers.shared import BERT_MNLI, TO_ENGLISH_17
from nlgauge.studies.published.tables import (
    Column,
    Mean,
    PaperStudy,
    PublishedModel,
    StudyRow,
    TableRow,
    language_columns,
)

_MULTILINGUAL = PublishedModel(
    "bert-base-multilingual-uncased", published="huggingface.co/google-bert/bert-base-multilingual-uncased"
)
_LARGE_CORPORA = (
    "large corpora to count idf on: WiLI (zenodo.org/records/841984), prefixes of Wikipedia from 1e5 to 1e7 lines "
    "(dumps.wikimedia.org), IMDB (ai.stanford.edu/~amaas/data/sentiment), WikiText-2 and Wiki40b "
    "(huggingface.co/datasets: Salesforce/wikitext, google/wiki40b)"
)

#: English targets, and the others of the study in the order of Table 14, by year.
_TO_ENGLISH = {
    "17": TO_ENGLISH_17,
    "18": TO_ENGLISH_18,
    "19": ("de-en", "fi-en", "gu-en", "kk-en", "lt-en", "ru-en", "zh-en"),
}
_FROM_ENGLISH = {
    "17": ("en-de", "en-zh", "en-ru", "en-fi", "en-tr", "en-cs"),
    "18": ("en-de", "en-zh", "en-ru", "en-fi", "en-tr", "en-cs"),
    "19": ("en-de", "en-zh", "en-ru", "en-fi"),
}
#: WMT17 has direct assessment of segments to English and of these two, rankings of the others.
_ASSESSED_FROM_ENGLISH = ("en-ru", "en-zh")


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


def _question(year: str, level: str, langpair: str) -> Question:
    data = f"wmt{year}"
    if level == "seg":
        assessed = year == "17" and (langpair.endswith("-en") or langpair in _ASSESSED_FROM_ENGLISH)
        return Question(data, "segment", "pearson" if assessed else "darr")
    return Question(data, "system", "pearson", options=(("level", "system"),))


def _english(level: str, year: str) -> tuple[Column | Mean, ...]:
    """Columns to English and their average, which print calls x-en."""
    return language_columns(_question(year, level, "x-en"), _TO_ENGLISH[year], prefix=f"{year} {level} ")


def _others(level: str, year: str) -> tuple[Column, ...]:
    return tuple(Column(f"{year} {level} {pair}", _question(year, level, pair), pair) for pair in _FROM_ENGLISH[year])


def _wmt(*levels: str, years: Iterable[str] = ("17", "18", "19"), others: bool = True) -> tuple[Column | Mean, ...]:
    """Columns of each level and year; averages are over English targets of a data set, and over data sets."""
    found: list[Column | Mean] = []
    for level in levels:
        for year in years:
            found += _english(level, year)
        found.append(Mean(f"{level} avg", tuple(f"{year} {level} avg" for year in years)))
        if others:
            found += [column for year in years for column in _others(level, year)]
    return tuple(found)


def _tac(*coefficients: tuple[str, str]) -> tuple[Column, ...]:
    """Criteria, years and coefficients in the order of Table 12; human peers stay in, as in the released script."""
    return tuple(
        Column(
            f"TAC{year} {short} {letter}",
            Question(f"tac20{year}", "topic", coefficient, criterion, (("humans", True),)),
        )
        for short, criterion in (("pyr", "pyr_score"), ("resp", "responsiveness"))
        for year in ("08", "09")
        for letter, coefficient in coefficients
    )


def _rows(
    metrics: Iterable[TableRow],
    *measures: _Measure,
    published: Mapping[str, Mapping[str, float | str]] | None = None,
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


def _large() -> tuple[StudyRow, ...]:
    """Table 13: idf as published, and counted on ten large corpora, which have to be given."""
    what: dict[str, Any] = {"grid": "idf", "statistic": "value", "measure": "agreement", "setting": "original"}
    rows = {}
    for name, values in PRINTED["13"].rows.items():
        metric = _MOVER_1 if name == "ORI" else TableRow("", note="only shown: --idf-corpus FILE ... adds a corpus")
        rows[name] = _row(metric, name=name, published=values, **what)
    return tuple(rows.values())


#: Table 10: sizes of the lists in print, 0 without one.
_NONE, _TURKISH = "none", {"17": "504 words (iso)", "18": "551 words (spaCy)"}


def _best_lists(*, finnish_19: str) -> dict[str, str]:
    others = {column.label: _NONE for year in _FROM_ENGLISH for column in _others("seg", year)}
    turkish = {f"{year} seg en-tr": words for year, words in _TURKISH.items()}
    return {f"{year} seg avg": _NONE for year in _TO_ENGLISH} | others | turkish | {"19 seg en-fi": finnish_19}


#: Table 14: where two cells are ticked in the text at hand, both.
_BEST_CELLS = {
    "17 seg en-de": "average + keep",
    "17 seg en-zh": "all + keep",
    "17 seg en-ru": "all + drop-ascii",
    "17 seg en-fi": "all + keep",
    "17 seg en-tr": "all + keep",
    "17 seg en-cs": "all + keep",
    "18 seg en-de": "first + keep",
    "18 seg en-zh": "average + keep",
    "18 seg en-ru": "all + keep",
    "18 seg en-fi": "average + keep / all + drop-ascii",
    "18 seg en-tr": "first + drop-ascii / all + drop-ascii",
    "18 seg en-cs": "first + drop-ascii / all + drop-ascii",
    "19 seg en-de": "first + drop-ascii",
    "19 seg en-zh": "first + drop-ascii",
    "19 seg en-ru": "first + drop-ascii",
    "19 seg en-fi": "average + keep / first + drop-ascii",
}

_CV = "CV in per cent over the settings; whether print divides by n or n - 1 is not said: n - 1 here, n with --ddof 0"
_RD = "RD in per cent: dis is without idf (or with punctuation kept), beside ori (or pr, punctuation removed)"
_LISTS = (
    "lists in print for English: MoverScore's (153 words), NLTK (179), spaCy (326); here stopwords-iso stands for "
    "the first unless --stopwords FILE gives it"
)
_RANDOM = (
    "random corpora: 2,000 segments each, drawn from the texts of a language in all data sets of the study that are "
    "here (WMT17 to 19, TAC 2008 and 2009), whichever are asked for"
)
_AVERAGE = "averages are over the language pairs to English of a data set, then over the three data sets"
_PEERS = "TAC with the human peers, as in the released script; agreement within a topic, averaged over topics"
_NO_NUMBERS = "print has no numbers; ours stand alone"
_FIRST_OF_EQUALS = "best: the highest agreement on this very data, the first of equals"
_CELLS = "a cell is sub-words + punctuation; drop-ascii is print's PR"
_X_EN = "'avg' is print's x-en"


def _study(
    number: str, title: str, columns: tuple[Column | Mean, ...], rows: tuple[StudyRow, ...], **more: Any
) -> PaperStudy:
    kind = "Figure" if number.startswith("figure") else "Table"
    source = SOURCE.format(f"{kind} {number.removeprefix(kind.lower())}")
    decimals = more.pop("decimals", 2)
    return PaperStudy(
        f"repro-{number}",
        title,
        source,
        columns,
        rows,
        decimals=decimals,
        other_model=_MULTILINGUAL,
        sampled=_SAMPLED,
        **more,
    )


_R = ("r", "pearson")
_COEFFICIENTS = (_R, ("rho", "spearman"), ("tau", "kendall"))

#: What random corpora are drawn from: judged segments of WMT17, all outputs of WMT18 and 19, and summaries.
_SAMPLED = tuple(
    column
    for column in (*_wmt("seg", years=("17",)), *_wmt("sys", years=("18", "19")), *_tac(_R))
    if isinstance(column, Column)
)


def _figure(number: int, title: str, level: str, *measures: _Measure) -> PaperStudy:
    """Figures 1, 2, 8 and 9: MoverScore-1 at one level of WMT17 to 19."""
    notes = (_NO_NUMBERS, _X_EN, _CV if measures[0].statistic == "cv" else _RD)
    lists = (_LISTS, _RANDOM) if _CV_STOP in measures else ()
    return _study(f"figure{number}", title, _wmt(level), _rows((_MOVER_1,), *measures), notes=(*notes, *lists))


def _summaries(number: int, title: str, measure: _Measure) -> PaperStudy:
    """Figures 3 and 6: three metrics on TAC."""
    notes = (_NO_NUMBERS, _CV if measure.statistic == "cv" else _RD, _PEERS)
    lists = (_LISTS,) if measure == _CV_STOP else ()
    rows = _joined(_rows(_THREE, measure))
    return _study(f"figure{number}", title, _tac(*_COEFFICIENTS), rows, notes=(*notes, *lists))


def _printed(number: int) -> Mapping[str, Mapping[str, float | str]]:
    return PRINTED[str(number)].rows


_STUDIES = (
    _study(
        "table9",
        "WMT17-19 to English: CV_STOP, how far lists of stop words move the agreement with people",
        _wmt("seg", "sys", others=False),
        _rows(_THREE, _CV_STOP, published=_printed(9)),
        notes=(_CV, _LISTS, _AVERAGE),
    ),
    _study(
        "table10",
        "WMT17-19, segment level: the best list of stop words of each target language",
        _wmt("seg"),
        _rows(
            (BERT_F1, _MOVER_1),
            _BEST_STOP,
            published={
                "BERT-F1": _best_lists(finnish_19=_NONE),
                "Mover-1": _best_lists(finnish_19="229 words (kaggle)"),
            },
        ),
        notes=(
            "print has a line per language and a column per metric and year; English ('avg') is the list that is "
            "best on the average of the pairs, and its pairs one by one are not in print",
            _FIRST_OF_EQUALS,
            _LISTS,
        ),
    ),
    _study(
        "table11",
        "WMT17-19 to English: CV_IDF, how far the corpus that idf is counted on moves the agreement with people",
        _wmt("seg", "sys", others=False),
        _rows(_THREE, _CV_IDF, published=_printed(11)),
        notes=(_CV, _RANDOM, _AVERAGE),
    ),
    _study(
        "table12",
        "TAC 2008 and 2009: CV_IDF per criterion and coefficient",
        _tac(*_COEFFICIENTS),
        _joined(_rows(_THREE, _CV_IDF, published=_printed(12))),
        notes=(_CV, _PEERS, _RANDOM),
    ),
    _study(
        "table13",
        "WMT18-19 to English, segment level: idf counted on large corpora, the agreement itself",
        tuple(column for column in _wmt("seg", others=False) if column.label != "seg avg"),
        _large(),
        decimals=3,
        idf_corpora=_LARGE_CORPORA,
        notes=(
            "--idf-corpus FILE ... adds a row for each corpus; a document is a line",
            "WMT17 (Pearson) is not in print; it is what can be had where the rankings of WMT18 and 19 are missing",
        ),
    ),
    _study(
        "table14",
        "WMT17-19 from English, segment level: the best of sub-words x punctuation",
        tuple(column for year in _FROM_ENGLISH for column in _others("seg", year)),
        _rows((_MOVER_1,), _BEST_CELL, published={"Mover-1": _BEST_CELLS}),
        notes=(
            "print has a line per cell and ticks the best; four columns have two ticks",
            "the text says that the default (first + drop-ascii) is best in 2 of 16 cases; the table ticks it in 6",
            _CELLS,
            _FIRST_OF_EQUALS,
        ),
    ),
    _study(
        "table15",
        "WMT17-19 to English, and TAC: the best of sub-words x punctuation",
        (*_wmt("seg", "sys", others=False), *_tac(*_COEFFICIENTS)),
        _rows((_MOVER_1,), _BEST_CELL),
        notes=("a picture in the text at hand: no values in print", _CELLS, _FIRST_OF_EQUALS, _PEERS),
    ),
)
_FIGURES = (
    _figure(1, "segment level: CV_STOP, CV_IDF, CV_SUB of MoverScore-1", "seg", _CV_STOP, _CV_IDF, _CV_SUB),
    _figure(2, "segment level: RD(dis,ori), RD(dis,pr) of MoverScore-1", "seg", _RD_IDF, _RD_PUNCTUATION),
    _summaries(3, "TAC 2008 and 2009: CV_STOP", _CV_STOP),
    _study(
        "figure5",
        "WMT17-19 to English, segments and systems: RD(dis,ori)",
        _wmt("seg", "sys", others=False),
        _rows(_THREE, _RD_IDF),
        notes=(_NO_NUMBERS, _RD),
    ),
    _summaries(6, "TAC 2008 and 2009: RD(dis,ori)", _RD_IDF),
    _figure(8, "system level: CV_STOP, CV_IDF, CV_SUB of MoverScore-1", "sys", _CV_STOP, _CV_IDF, _CV_SUB),
    _figure(9, "system level: RD(dis,ori), RD(dis,pr) of MoverScore-1", "sys", _RD_IDF, _RD_PUNCTUATION),
)
REPRODUCIBILITY_STUDIES = (*_STUDIES, *_FIGURES)
