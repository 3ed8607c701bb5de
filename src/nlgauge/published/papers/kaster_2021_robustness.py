"""Tables 6 and 13 of *Global Explainability of BERT-Based Evaluation Metrics*: triples that fool, and ensembles.

Values in print are those of the paper as chapter 12 of W. Zhao's dissertation (TU Darmstadt) has it. Its Figure 3
shows distributions of the scores of triples and prints no number; `explain-figure3` has the shares behind it.
"""

from __future__ import annotations

from nlgauge.published.papers.kaster_2021 import FACTOR_SOURCE, RELEASED_METRICS
from nlgauge.published.robustness.table import RobustnessRow, RobustnessTable
from nlgauge.published.table import Column, Mean, row_values

__all__ = ["ROBUSTNESS_TABLES"]

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
