"""Tables 3, 4, 5, 10, 11 and 12 of *Global Explainability of BERT-Based Evaluation Metrics*: factors of metrics.

Values in print are those of the paper as chapter 12 of W. Zhao's dissertation (TU Darmstadt) has it. A star after a
value is the print's mark for "not significant" (D10). Tables 5 and 11 have the factor CLB, the metric's own score of
a source beside its machine translation, for which no scores were released.

Tables 6 and 13 of *Global Explainability of BERT-Based Evaluation Metrics*: triples that fool, and ensembles.

Values in print are those of the paper as chapter 12 of W. Zhao's dissertation (TU Darmstadt) has it. Its Figure 3
shows distributions of the scores of triples and prints no number; `explain-figure3` has the shares behind it.
"""

from __future__ import annotations

from nlgauge.studies.published.factors import R2, FactorColumns, FactorRow, FactorTable
from nlgauge.studies.published.robustness import RobustnessRow, RobustnessTable
from nlgauge.studies.published.tables import Column, Mean, PublishedModel, row_values

FACTOR_SOURCE = (
    "Kaster, Zhao, Eger 2021, Global Explainability of BERT-Based Evaluation Metrics by Disentangling along "
    "Linguistic Factors (EMNLP), aclanthology.org/2021.emnlp-main.701, {}; scores: github.com/SteffenEger/"
    "global-explainability-metrics"
)

_ALL = {"SEM": "sem", "SYN": "syn", "LEX": "lex", "MOR": "mor"}
#: No features of Chinese words match those of English ones.
_CHINESE = {"SEM": "sem", "SYN": "syn", "LEX": "lex"}
_CLB = {"CLB": ""}

RELEASED_METRICS = {
    "MoverScore": "moverscore",
    "BERTScore": "bertscore",
    "LASER": "laser",
    "SBERT": "sbert",
    "SBERT-WK": "sbert_wk",
    "LaBSE": "labse",
    "mSBERT": "msbert",
    "BLEURT": "bleurt",
    "mUSE": "muse",
    "XMoverScore": "xmoverscore",
}

#: Cells that are not the truncated coefficient of the released scores.
_EXCEPTIONS = {
    ("explain-table10", "XMoverScore"): "WMT SYN and LEX are rounded in print",
    ("explain-table12", "LaBSE"): "de MOR is .5231 in the released scores",
}

_TABLE_3 = """\
MoverScore | .28 .15 .64 -.06 .76   | .30 .24 .45 .04 .61
BERTScore  | .27 .16 .61 -.01* .74  | .12 .11 .67 .06 .69
LASER      | .19 .04 .33 .32 .53    | .55 .05 .28 .09 .63
SBERT      | .37 -.02* .22 .22 .42  | .73 -.03 .14 -.06 .60
SBERT-WK   | .30 -.02 .32 .33 .58   | .26 .04 .31 .30 .55
LaBSE      | .31 .00* .36 .22 .53   | .60 .07 .27 .06 .67
mSBERT     | .41 -.05 .24 .18 .43   | .93 -.02 .04 .00* .91
BLEURT     | .48 .07 .30 .05 .57    | .62 .08 .19 .03* .58
mUSE       | .27 -.03 .39 .19 .49   | .76 .00* .22 -.11 .68
"""
_TABLE_4 = """\
XMoverScore | .37 -.08* .40 .39 | .09 -.12 .46 .24
LASER       | .29 -.03* .38 .30 | .59 .02* .27 .51
mUSE        | .34 .01* .35 .33  | .72 .02* .12 .59
LaBSE       | .47 -.05* .17 .30 | .63 .08 .26 .56
mSBERT      | .42 -.04* .25 .31 | .87 -.01* .05 .80
"""
_TABLE_5 = """\
XMoverScore | .18 .10 .18 .59 .68  | .08 .16 .36 .48 .53
LASER       | .18 -.02* .32 .34 .43 | .56 .03* .28 .17 .55
mUSE        | .26 .00* .25 .30 .40 | .72 .02* .12 .14 .61
LaBSE       | .37 -.05* .14 .30 .40 | .63 .09 .25 .10 .58
mSBERT      | .35 -.04* .16 .31 .40 | .87 -.01* .05* .07 .81
"""
_TABLE_10 = """\
XMoverScore | .37 -.07* .33 -.01* .31 | .08 -.02* .51 .03 .30
LASER       | .21 -.08 .31 .31 .29    | .54 .00* .28 .15 .54
mUSE        | .19 -.00* .40 .08 .25   | .71 .00* .09 .07 .6
LaBSE       | .30 -.03* .26 .07 .21   | .60 .05 .29 .04 .60
mSBERT      | .39 -.06* .22 .05* .26  | .89 -.02 .05 .02 .84
"""
_TABLE_11 = """\
XMoverScore | .14 .08 .16 -.03* .63 .61  | .09 .25 .43 -.09 .40 .54
LASER       | .11 -.03* .28 .19 .40 .46  | .51 .01* .32 .12 .11 .58
mUSE        | .19 .02* .28 .03* .35 .34  | .70 .02* .12 .05* .11 .61
LaBSE       | .29 .00* .14 .00* .45 .38  | .59 .06 .30 .02* .12 .62
mSBERT      | .36 -.02* .09 .02* .36 .36 | .88 -.02* .05* .02* .03* .85
"""
_TABLE_12 = """\
XMoverScore | .16 .05* .33 .16 .20 | .14 .04* .35 .15
LASER       | .12 .08 .30 .46 .41  | .06* .03* .35 .14
mUSE        | .12 .12 .25 .43 .35  | .12 .05* .42 .21
LaBSE       | .10 .08 .23 .51 .41  | .16 .04* .43 .23
mSBERT      | .14 .06* .21 .33 .22 | .24 .00* .31 .17
"""

_WMT = FactorColumns("WMT", "factors-wmt", "en", _ALL)
_STS = FactorColumns("STS", "factors-sts", "en", _ALL)


def _across(label: str, card: str, langpair: str, *, clb: bool = False) -> FactorColumns:
    foreign = langpair.replace("-en", "").replace("en-", "")
    factors = (_CHINESE if foreign == "zh" else _ALL) | (_CLB if clb else {})
    data = {"factors-wmt-sources": "wmt", "factors-sts-translated": "sts", "factors-mlqe": "mlqe"}[card]
    return FactorColumns(label, card, langpair, factors, f"translated/{data}_{foreign}.json" if clb else "")


def _both(langpair: str, *, clb: bool = False) -> tuple[FactorColumns, ...]:
    return (
        _across("WMT", "factors-wmt-sources", langpair, clb=clb),
        _across("STS", "factors-sts-translated", langpair, clb=clb),
    )


def _row(table: str, line: str, groups: tuple[FactorColumns, ...]) -> FactorRow:
    name, *parts = (part.strip() for part in line.split("|"))
    published: dict[str, float] = {}
    starred: set[str] = set()
    for group, values in zip(groups, parts, strict=True):
        for factor, text in zip((*group.factors, R2), values.split(), strict=True):
            published[group.column(factor)] = float(text.rstrip("*"))
            if text.endswith("*"):
                starred.add(group.column(factor))
    if any("CLB" in group.factors for group in groups):
        return FactorRow(
            name, published, starred=frozenset(starred), note="only shown: no scores for CLB were released"
        )
    note = _EXCEPTIONS.get((table, name), "")
    return FactorRow(name, published, released=RELEASED_METRICS[name], starred=frozenset(starred), note=note)


#: Metrics of nlgauge whose scores of translations can be had, in the place of the two that they are nearest to, with
#: the models of those: the study's mUSE is a distilled one (D13).
_OURS = {
    "xmoverscore": ("xmoverscore:n=1", PublishedModel("bert-base-multilingual-cased")),
    "sentence cosine": ("xmoverscore:unit=sentence", PublishedModel("distiluse-base-multilingual-cased")),
}


def _own_rows() -> list[FactorRow]:
    return [
        FactorRow(f"ours: {name}{' without CLB' if without else ''}", recipe=recipe, model=model, without=without)
        for name, (recipe, model) in _OURS.items()
        for without in ("CLB", "")
    ]


def _table(number: int, title: str, printed: str, groups: tuple[FactorColumns, ...]) -> FactorTable:
    name = f"explain-table{number}"
    across = groups[0].langpair != "en"
    clb = any("CLB" in group.factors for group in groups)
    return FactorTable(
        name,
        f"{title}: coefficients of linguistic factors, all columns standardised, and R2",
        FACTOR_SOURCE.format(f"Table {number}"),
        tuple(column for group in groups for column in group.columns),
        (*(_row(name, line, groups) for line in printed.splitlines()), *(_own_rows() if clb else ())),
        decimals=2,
        shown_decimals=4,
        notes=(
            "print is truncated to two decimals, R2 after rounding to three",
            "what the released metrics are: D12 and D13; LEX: D11",
            *(
                ["across languages the factors are the released ones, LEX with sentences translated"]
                if across
                else []
            ),
        ),
        default_model="muse" if clb else "none",
        groups=groups,
    )


FACTOR_TABLES = (
    _table(3, "metrics that read a reference, WMT and STS", _TABLE_3, (_WMT, _STS)),
    _table(4, "metrics that read a source, Chinese-English", _TABLE_4, _both("zh-en")),
    _table(5, "metrics that read a source, Chinese-English, with CLB", _TABLE_5, _both("zh-en", clb=True)),
    _table(10, "metrics that read a source, German-English", _TABLE_10, _both("de-en")),
    _table(11, "metrics that read a source, German-English, with CLB", _TABLE_11, _both("de-en", clb=True)),
    _table(
        12,
        "metrics that read a source, MLQE-PE from English to German and Chinese",
        _TABLE_12,
        (_across("de", "factors-mlqe", "en-de"), _across("zh", "factors-mlqe", "en-zh")),
    ),
)


_TRIPLES = {"Freitag et al. 2020": "freitag", "PAWS": "paws"}

_OVERLAP_COLUMNS = tuple(Column(label, None) for label in ("Lex(A,B)", "Lex(A,C)", "triples"))
_TABLE_6 = {"Freitag et al. 2020": (0.49, 0.99, 1452), "PAWS": (0.84, 0.94, 100)}

_WIN_COLUMNS = tuple(
    Column(f"{name} {what}", None)
    for name in ("Freitag", "PAWS")
    for what in ("B wins", "low", "high", "m(A,B)", "m(A,C)")
)
_FIGURE_3 = ("MoverScore", "BERTScore", "LASER", "SBERT", "SBERT-WK", "LaBSE", "mSBERT", "BLEURT", "mUSE")

_PAIRS = ("cs-en", "de-en", "fi-en", "lv-en", "ru-en", "tr-en", "zh-en")
_GAIN_COLUMNS: tuple[Column | Mean, ...] = (*(Column(pair, None, pair) for pair in _PAIRS), Mean("avg", _PAIRS))
_TABLE_13 = {
    "factors-wmt": """\
BERTScore + mSBERT   | 8 15 7 7 11 2 4 8
SBERT + MoverScore   | 3 10 1 11 6 -1 1 4
SBERT + LASER        | 6 6 0 2 5 3 10 5
SBERT + mUSE         | 5 10 4 2 8 4 2 5
""",
    "factors-wmt-sources": """\
XMoverScore + mSBERT | 9 19 11 12 18 13 12 13
XMoverScore + LaBSE  | 8 14 5 10 17 9 17 11
mSBERT + LASER       | 8 9 -2 1 3 0 12 4
LaBSE + LASER        | 7 15 -4 2 1 -2 4 3
XMoverScore + LASER  | 0 7 -5 2 4 1 13 3
mSBERT + LaBSE       | 3 7 -11 -6 -7 -6 2 -3
""",
}


def _gain_rows() -> tuple[RobustnessRow, ...]:
    found = []
    for card, lines in _TABLE_13.items():
        for line in lines.splitlines():
            name, _, values = line.partition("|")
            members = tuple(RELEASED_METRICS[one] for one in name.strip().split(" + "))
            note = "released scores against sources: de-en and zh-en only" if "sources" in card else ""
            found.append(
                RobustnessRow(name.strip(), row_values(_GAIN_COLUMNS, values), key=members, card=card, note=note)
            )
    return tuple(found)


ROBUSTNESS_TABLES = (
    RobustnessTable(
        "explain-table6",
        "triples that try to fool metrics: overlap of A with its paraphrase B and its lookalike C",
        FACTOR_SOURCE.format("Table 6"),
        _OVERLAP_COLUMNS,
        tuple(
            RobustnessRow(
                name,
                dict(zip((column.label for column in _OVERLAP_COLUMNS), _TABLE_6[name], strict=True)),
                key=(card,),
                card=card,
                note="print speaks of 100 triples, and its overlaps are those of the 300 (D14)"
                if card == "paws"
                else "",
            )
            for name, card in _TRIPLES.items()
        ),
        decimals=2,
        row_title="triples",
        shown_decimals=3,
        notes=("overlap: BLEU-1 with case, A in the place of the hypothesis, words as NLTK has them",),
        experiment="overlap",
        cards=tuple(_TRIPLES.values()),
    ),
    RobustnessTable(
        "explain-figure3",
        "share of triples whose paraphrase B scores above the lookalike C, with 95 % intervals, and mean scores",
        FACTOR_SOURCE.format("Figure 3 (distributions, without numbers)"),
        _WIN_COLUMNS,
        tuple(RobustnessRow(name, key=(RELEASED_METRICS[name],)) for name in _FIGURE_3),
        notes=(
            "the text says that metrics tend to prefer B on PAWS; all but LASER and BLEURT prefer C more often (D14)",
            "'nlgauge stress --triples freitag --metric ...' has the metrics of nlgauge on the same triples",
        ),
        experiment="wins",
        cards=tuple(_TRIPLES.values()),
    ),
    RobustnessTable(
        "explain-table13",
        "gain of two metrics' average over the better of the two: Pearson with people on WMT17 segments, per cent",
        FACTOR_SOURCE.format("Table 13"),
        _GAIN_COLUMNS,
        _gain_rows(),
        decimals=0,
        scale=100,
        row_title="ensemble",
        shown_decimals=1,
        notes=(
            "scores are standardised over all rows at hand first, as the released code does (D15)",
            "the released rows of WMT17 are those of wmt17-testset with the same output and human score",
        ),
        experiment="gains",
        cards=("wmt17-testset", "factors-wmt", "factors-wmt-sources"),
    ),
)
