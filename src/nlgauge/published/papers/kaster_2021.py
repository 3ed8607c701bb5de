"""Tables 3, 4, 5, 10, 11 and 12 of *Global Explainability of BERT-Based Evaluation Metrics*: factors of metrics.

Values in print are those of the paper as chapter 12 of W. Zhao's dissertation (TU Darmstadt) has it. A star after a
value is the print's mark for "not significant" (D10). Tables 5 and 11 have the factor CLB, the metric's own score of
a source beside its machine translation, for which no scores were released.
"""

from __future__ import annotations

from nlgauge.published.factors.table import R2, FactorColumns, FactorRow, FactorTable
from nlgauge.published.table import PublishedModel

__all__ = ["FACTOR_SOURCE", "FACTOR_TABLES", "RELEASED_METRICS"]

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
