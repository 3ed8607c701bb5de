"""Tables 1, 3, 4, 11.1 and Figures 2, 3, 4, 6 of *Better than Average*: mean, median, Bradley-Terry, Elo, TrueSkill.

Values in print are those of the paper as chapter 11 of W. Zhao's dissertation (TU Darmstadt) has it; Table 11.1
stands only there. Figure 4 has bars without numbers: its values are read off the figure in the released notebook,
to .01.
"""

from __future__ import annotations

import itertools

from nlgauge.studies.published.rankings.frames import MEASURES, MECHANISMS, PublishedFrames, RankingRow, RankingTable
from nlgauge.studies.published.rankings.measures import (
    FIVE_TYPES,
    GROUPS,
    HIDDEN,
    PAIRS,
    POLICIES,
    TESTS,
    THREE_TYPES,
)
from nlgauge.studies.published.rankings.simulation import GRID, PANELS
from nlgauge.studies.published.tables import Column, PaperTable, TableRow

_SOURCE = (
    "Peyrard, Zhao, Eger, West 2021, Better than Average: Paired Evaluation of NLP Systems (ACL), "
    "aclanthology.org/2021.acl-long.179, {}; code: github.com/epfl-dlab/BT-eval"
)
_NOT_PUBLIC = "only shown: its frames are not public"


def _wmt(year: int, metrics: int, listed: str) -> list[PublishedFrames]:
    """Frames of a year of WMT, from "pair instances systems, ..."."""
    parts = [one.split() for one in listed.split(",")]
    return [
        PublishedFrames(f"WMT{year} {pair}-en", "MT", int(instances), int(systems), metrics)
        for pair, instances, systems in parts
    ]


#: All frames of the paper (appendix A.3); those with a card are public.
_FRAMES = (
    PublishedFrames("TAC08", "Summarisation", 48, 58, 13, "tac08-scores"),
    PublishedFrames("TAC09", "Summarisation", 44, 55, 13, "tac09-scores"),
    PublishedFrames("TAC11", "Summarisation", 44, 50, 13, "tac11-scores"),
    PublishedFrames("TC", "Dialogue", 60, 5, 13, "topicalchat-scores"),
    PublishedFrames("PC", "Dialogue", 60, 4, 13, "personachat-scores"),
    PublishedFrames("CNN/DM", "Summarisation", 11_432, 12, 13),
    PublishedFrames("MSCOCO", "Captioning", 40_504, 12, 7),
    *_wmt(17, 11, "lv 2001 9, de 3004 11, ru 3001 9, tr 3007 10, zh 2001 16"),
    *_wmt(18, 13, "de 2998 16, et 2000 14, fi 3000 9, ru 3000 8, zh 3981 14"),
    # zh-en is printed as a second ru-en (D9).
    *_wmt(19, 13, "de 2000 16, fi 1996 12, gu 1016 12, kk 1000 11, lt 1000 11, ru 2000 14, zh 2000 15"),
)
#: Frames in print: what the values of Tables 1 and 4 are averages over.
SETUPS = 296

_TIES = "a tie is a win of the later column, as in the released code; --ties and --tie-tolerance change it (D1)"
_ORDER = "Elo and TrueSkill depend on the order of systems and rows (D5); a tie is a loss of Elo's first (D2)"


def _columns(*labels: str) -> tuple[Column, ...]:
    return tuple(Column(label, None) for label in labels)


def _printed(columns: tuple[Column, ...], values: str) -> dict[str, float]:
    """Printed values by column; whole numbers stay whole, so that they are shown as they are printed."""
    texts = zip(columns, values.split(), strict=True)
    return {
        column.label: int(text) if text.isdigit() else float(text) for column, text in texts if text not in ("-",)
    }


# Tables 1 and 4. The first three rows of Table 4 are Table 1.
_MEASURES = _columns(*(("disagree" if name == "disagree" else f"other {name}") for name in MEASURES))
_TABLE_4 = {
    ("mean", "median"): "4 18 30",
    ("mean", "BT"): "9 40 49",
    ("median", "BT"): "9 41 55",
    ("mean", "Elo"): "20 55 84",
    ("median", "Elo"): "19 56 84",
    ("mean", "TrueSkill"): "18 44 76",
    ("median", "TrueSkill"): "17 46 79",
    ("BT", "Elo"): "16 38 75",
    ("BT", "TrueSkill"): "18 53 72",
    ("Elo", "TrueSkill"): "18 45 71",
}


def _table4(number: int, mechanisms: tuple[str, ...]) -> RankingTable:
    wanted = [pair for pair in _TABLE_4 if set(pair) <= set(mechanisms)]
    return RankingTable(
        f"bt-table{number}",
        "how far rankings of systems disagree: pairs in another order, another winner, another top 3, per cent",
        _SOURCE.format(f"Table {number}"),
        _MEASURES,
        tuple(
            RankingRow(f"{one} vs {other}", _printed(_MEASURES, _TABLE_4[one, other]), key=(one, other))
            for one, other in wanted
        ),
        decimals=0,
        scale=100,
        row_title="rankings",
        shown_decimals=2,
        notes=(_TIES, *([_ORDER] if "Elo" in mechanisms else [])),
        experiment="disagreement",
        frames=_FRAMES,
    )


# Table 3. Metrics of a family are averaged.
FAMILIES = {
    "BLEU": ("BLEU",),
    "ROUGE": ("ROUGE_1", "ROUGE_2", "ROUGE_L"),
    "ROUGE-WE": ("ROUGE_WE_1", "ROUGE_WE_2"),
    "MoverScore": ("MoverScore",),
    "BERTScore": ("BERTScore",),
}
_SHORT = {"mean": "Mean", "median": "Med", "BT": "BT"}
_TABLE_3_COLUMNS = _columns(
    *(
        f"{'' if measure == 'disagree' else f'{measure} '}{_SHORT[one]}/{_SHORT[other]}"
        for measure in MEASURES
        for one, other in PAIRS
    )
)
#: As in print: a line per data set and measure, three columns (Mean/BT, Med/BT, Mean/Med) per family.
_TABLE_3 = """\
TAC08  | .09 .13 .15 .07 .13 .14 .12 .06 .13 .05 .11 .12 .05 .11 .12
TAC08  | .43 .73 .47 .33 .52 .47 .58 .20 .47 .10 .50 .47 .13 .17 .27
TAC08  | .73 .77 .77 .61 .80 .81 .87 .65 .80 .43 .73 .70 .60 .93 .87
TAC09  | .08 .13 .13 .08 .16 .16 .07 .15 .16 .06 .14 .13 .06 .12 .12
TAC09  | .00 .00 .00 .00 .00 .00 .00 .00 .00 .00 .00 .00 .00 .00 .00
TAC09  | .70 .70 .70 .63 .87 .82 .48 .73 .75 .33 .70 .70 .43 .73 .67
TAC11  | .07 .12 .12 .06 .13 .12 .05 .13 .12 .04 .11 .10 .04 .11 .10
TAC11  | .37 .67 .50 .42 .64 .61 .33 .67 .65 .40 .63 .63 .27 .73 .63
TAC11  | .73 .87 .83 .58 .88 .87 .60 .93 .92 .57 .87 .80 .43 .87 .83
CNN/DM | .14 .17 .12 .08 .07 .02 .06 .05 .02 .07 .06 .08 .08 .08 .04
CNN/DM | .53 .80 .83 .00 .00 .00 .00 .00 .00 .00 .00 .00 .00 .00 .00
CNN/DM | .97 .97 .90 .73 .49 .24 .90 .42 .48 .00 .00 .00 .90 .90 .06
WMT17  | .07 .08 .05 .07 .07 .04 .07 .08 .04 .03 .04 .03 .03 .04 .03
WMT17  | .17 .19 .14 .28 .42 .23 .35 .40 .19 .22 .15 .24 .15 .22 .24
WMT17  | .43 .57 .40 .56 .63 .29 .57 .67 .40 .26 .37 .37 .23 .27 .33
WMT18  | .09 .09 .03 .11 .11 .04 .12 .12 .04 .06 .06 .04 .06 .06 .03
WMT18  | .67 .63 .24 .55 .65 .26 .61 .67 .66 .47 .49 .18 .43 .47 .31
WMT18  | .77 .74 .25 .56 .69 .39 .66 .77 .40 .57 .58 .33 .57 .58 .19
WMT19  | .07 .08 .04 .10 .11 .04 .11 .11 .05 .05 .04 .05 .04 .04 .05
WMT19  | .32 .36 .25 .44 .45 .18 .46 .48 .16 .32 .25 .33 .31 .17 .35
WMT19  | .54 .42 .30 .48 .54 .30 .51 .54 .33 .54 .41 .46 .39 .26 .39
TC     | .26 .22 .34 .24 .19 .24 .27 .28 .22 .28 .19 .29 .18 .24 .20
TC     | .53 .43 .66 .52 .46 .40 .53 .63 .45 .63 .33 .53 .30 .40 .27
TC     | .57 .60 .63 .57 .56 .60 .62 .55 .47 .63 .60 .60 .53 .57 .57
PC     | .28 .24 .32 .25 .23 .22 .21 .22 .22 .12 .20 .19 .13 .12 .13
PC     | .50 .50 .63 .42 .53 .43 .28 .33 .30 .33 .47 .50 .30 .37 .43
PC     | .33 .33 .43 .42 .60 .55 .37 .72 .63 .23 .30 .27 .27 .20 .07
MSCOCO | .20 .18 .12 .18 .14 .03 - - - - - - - - -
MSCOCO | 1.0 1.0 .00 .03 .03 .00 - - - - - - - - -
MSCOCO | 1.0 1.0 .17 1.0 1.0 .47 - - - - - - - - -
"""
_EXCHANGED = "print has Mean/BT and Med/BT exchanged (D7)"


def _table3_rows() -> tuple[RankingRow, ...]:
    """A row per data set and family, all measures in it: 15 columns would be too wide to read."""
    public = {one.label for one in _FRAMES if one.card}
    printed: dict[tuple[str, str], list[str]] = {}
    for line in _TABLE_3.splitlines():
        label, _, values = line.partition("|")
        for at, family in enumerate(FAMILIES):
            printed.setdefault((label.strip(), family), []).extend(values.split()[3 * at : 3 * at + 3])
    rows = []
    for (label, family), texts in printed.items():
        if set(texts) == {"-"}:
            continue
        exchanged = (label, family) == ("TAC08", "ROUGE-WE")
        note = _EXCHANGED if exchanged else "" if label in public else _NOT_PUBLIC
        rows.append(
            RankingRow(
                f"{label} {family}",
                _printed(_TABLE_3_COLUMNS, " ".join(texts)),
                key=(label, family) if label in public else (),
                note=note,
                exchanged=exchanged,
            )
        )
    return tuple(rows)


_TABLE3 = RankingTable(
    "bt-table3",
    "how far rankings disagree per data set and metric, on random fifths of the rows",
    _SOURCE.format("Table 3"),
    _TABLE_3_COLUMNS,
    _table3_rows(),
    decimals=2,
    row_title="data",
    notes=(
        "columns: pairs of systems in another order, then another winner (SotA), another top 3; shares",
        "print is of 30 random fifths of the rows, though the paper does not say so (D7); --full takes all rows",
        "ROUGE is the mean of ROUGE-1, -2 and -L, ROUGE-WE of -1 and -2",
        _TIES,
    ),
    experiment="by-data",
    frames=_FRAMES,
)

# Figure 4, (a) and (b).
_FIGURE_4_COLUMNS = _columns(*(f"{_SHORT[one]}/{_SHORT[other]}" for one, other in PAIRS))
_FIGURE_4 = """\
BLEU-1       |            | .23 .27 .06
BLEU-2       |            | .22 .19 .04
BLEU-3       |            | .21 .21 .05
METEOR       |            | .18 .17 .11
CIDEr        |            | .15 .13 .11
ROUGE-WE-2   | ROUGE_WE_2 | .12 .11 .06
ROUGE-WE-1   | ROUGE_WE_1 | .11 .11 .07
ROUGE-1      | ROUGE_1    | .11 .13 .07
ROUGE-2      | ROUGE_2    | .12 .11 .06
S3-resp      | S3_resp    | .08 .09 .07
chrF++       | Chrfpp     | .06 .07 .06
MoverScore   | MoverScore | .06 .07 .07
BERTScore    | BERTScore  | .05 .07 .06
BLEU         | BLEU       | - - -
ROUGE-L      | ROUGE_L    | - - -
JS-1         | JS_1       | - - -
JS-2         | JS_2       | - - -
S3-pyr       | S3_pyr     | - - -
Dialogue     | Dialogue      | .25 .21 .22
Captioning   |               | .20 .19 .08
Summarisation | Summarisation | .07 .13 .12
MT           |               | .10 .10 .04
"""


def _figure4_rows() -> tuple[RankingRow, ...]:
    tasks = {one.task for one in _FRAMES}
    rows = []
    for line in _FIGURE_4.splitlines():
        name, known, values = (part.strip() for part in line.split("|"))
        kind = "task" if name in tasks else "metric"
        key = (kind, known) if known else ()
        rows.append(
            RankingRow(
                f"{kind} {name}", _printed(_FIGURE_4_COLUMNS, values), key=key, note="" if key else _NOT_PUBLIC
            )
        )
    return tuple(rows)


_FIGURE4 = RankingTable(
    "bt-figure4",
    "share of pairs of systems that rankings order differently, per metric and per task",
    _SOURCE.format("Figure 4(a, b)"),
    _FIGURE_4_COLUMNS,
    _figure4_rows(),
    decimals=2,
    row_title="of",
    notes=(
        "print is read off the figure, to .01; its bars have a random number of up to .01 in them besides (D7)",
        "metrics: 20 random parts of at least 30 rows; tasks: 20 random fifths of a random data set",
        "--full takes all rows",
        _TIES,
    ),
    experiment="by-metric",
    frames=_FRAMES,
)

# Figure 6.
_FIGURE_6_COLUMNS = _columns(*TESTS)
_FIGURE_6 = {
    "t": ".42 .50 .74 .94 -",
    "Mood": ".98 .21 .89 .98 -",
    "sign": ".89 .55 .35 .90 -",
    "Wilcoxon": ".96 .51 .76 .41 -",
    "sign, ties out": "- - - - -",
}
_FIGURE6 = RankingTable(
    "bt-figure6",
    "share of pairs of systems that a test (column) finds different, of those that the row's test does",
    _SOURCE.format("Figure 6"),
    _FIGURE_6_COLUMNS,
    tuple(RankingRow(name, _printed(_FIGURE_6_COLUMNS, values), key=(name,)) for name, values in _FIGURE_6.items()),
    decimals=2,
    row_title="test",
    notes=(
        "diagonal: the share of all pairs that a test finds different (p < .05)",
        "print: 1,000 random fifths of the rows of a random frame, pairs pooled; --full: all rows of all frames",
        "ties count in the sign test's n, as in the released code (D4); without them in the last row and column",
    ),
    experiment="tests",
    frames=_FRAMES,
)

# Ties, which the paper does not speak of.
_TIES_TABLE = RankingTable(
    "bt-ties",
    "ties in the frames, and what their treatment does to mean against Bradley-Terry (Table 1), per cent",
    _SOURCE.format("not in print"),
    _columns("comparisons", "exact ties", "hidden ties", "hidden %", *POLICIES),
    tuple(RankingRow(name, key=(name,)) for name in GROUPS),
    decimals=2,
    scale=100,
    row_title="frames",
    notes=(
        f"hidden: not equal, but within {HIDDEN:g} of the larger score; their share of all ties is hidden %",
        "then pairs that mean and BT order differently, where a tie is a win of the later column (second, and with "
        "columns reversed), of nobody (drop) or half a win of both (half); 1e-9: hidden ties are ties (D1)",
    ),
    experiment="ties",
    frames=_FRAMES,
)

# Figure 3: curves without numbers.
_SIMULATED = ("mean", "median", "BT")


def _simulation_rows() -> tuple[RankingRow, ...]:
    rows = [RankingRow("all setups", key=("all",))]
    for letter, panel in PANELS.items():
        for level in getattr(GRID, panel.axis):
            rows.append(RankingRow(f"({letter}) {panel.axis} {level}", key=(letter, str(level))))
    return tuple(rows)


_FIGURE3 = RankingTable(
    "bt-figure3",
    f"simulation: Kendall's tau between strengths and rankings, {len(GRID):,} setups",
    _SOURCE.format("Figure 3"),
    _columns(*_SIMULATED, *(f"± {name}" for name in _SIMULATED)),
    _simulation_rows(),
    decimals=3,
    row_title="setups",
    notes=(
        "print has curves without numbers",
        "±: half of a 95 % interval (1.96 standard errors); the released figure draws twice that (D3)",
        "a, b: one type, no outliers; c: one type; d: no outliers; e to h: all setups",
    ),
    experiment="simulation",
)

# Figure 2 and Table 2.
_FIGURE2 = RankingTable(
    "bt-figure2",
    "the same scores of S and B in other pairings: mean and median stay, who wins on most instances does not",
    _SOURCE.format("Figure 2, Table 2 and appendix A.1"),
    _columns("mean S", "mean B", "median S", "median B", "S wins", "BT S", "BT B"),
    (
        *(
            RankingRow(f"three types, S as {' '.join(map(str, order))}", key=(THREE_TYPES.name, *map(str, order)))
            for order in itertools.permutations((1, 2, 3))
        ),
        *(
            RankingRow(f"five types, {which}", key=(FIVE_TYPES.name, which))
            for which in ("as in Table 2", "most wins of S", "fewest wins of S")
        ),
    ),
    decimals=3,
    row_title="pairing",
    notes=(
        "print has a figure without numbers; scores are drawn, 50 per type",
        "three types: what the released notebook draws from (deviation 3); five types: Table 2 (deviation 1)",
    ),
    experiment="pairing",
)

# Table 11.1 of the dissertation.
_PAIRS_11 = _columns("de-zh", "ro-en", "et-en", "ru-de")
_TABLE_11 = {
    "source.ap-scores": "9 14 7 3",
    "source.auc-scores": "3 7 9 0",
    "source.rec-topk-scores": "38 20 23 14",
    "target.ap-scores": "4 10 2 2",
    "target.auc-scores": "2 8 4 0",
    "target.rec-topk-scores": "31 19 13 13",
}
_TABLE11 = PaperTable(
    "bt-table11.1",
    "Eval4NLP 2021: pairs of systems that mean and Bradley-Terry order differently, per cent",
    "Zhao, dissertation (TU Darmstadt), chapter 11, Table 11.1",
    _PAIRS_11,
    tuple(TableRow(name, _printed(_PAIRS_11, values)) for name, values in _TABLE_11.items()),
    decimals=0,
    row_title="score",
    unavailable=(
        "word-level explanations that teams handed in to the shared task: not public; texts, gold tags and the "
        "organisers' own explanations are at github.com/eval4nlp/SharedTask2021"
    ),
)

RANKING_TABLES = (
    _table4(1, MECHANISMS[:3]),
    _FIGURE2,
    _FIGURE3,
    _TABLE3,
    _table4(4, MECHANISMS),
    _FIGURE4,
    _FIGURE6,
    _TIES_TABLE,
    _TABLE11,
)
