"""Every table and figure of the papers behind nlgauge, with the entry that carries it, or why none does.

The papers are those of BERTScore, MoverScore, SentSim and the reproducibility study, and W. Zhao's dissertation,
whose chapters are papers too; chapter 5 is the MoverScore paper again.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import NamedTuple


class PrintedItem(NamedTuple):
    """A table or figure of a paper."""

    paper: str
    name: str
    """Its number in print: `Table 3`."""
    entries: tuple[str, ...] = ()
    """Ids of `nlgauge reproduce`."""
    reason: str = ""
    """Why there is no entry."""
    part: str = ""
    """What of it the entries have, where that is not all."""

    @property
    def title(self) -> str:
        """Paper, number, and the part that is carried."""
        return f"{self.paper}, {self.name}" + (f" ({self.part})" if self.part else "")


_EXAMPLES = "examples or definitions: no result"
_COUNTS = "counts of the data: no result"
_OUT_OF_SCOPE = "outside the scope of nlgauge"
_CLASSIFIES = f"classification and search: {_OUT_OF_SCOPE} (a classifier: examples/nlp-capsule)"
_TRANSFER = "needs multilingual models that are fine-tuned, which are not to be had, and data of 18 languages"
_MAPS = (
    "needs mBERT and XLM-R, maps fitted on 20,000 parallel sentences of each of six languages, and the tasks CBLI, "
    "Align and Tatoeba"
)
_OUTPUTS = "the translations are not to be had"
_NO_NUMBERS = "a figure without numbers in the text at hand"
_NOT_YET = "its data is public, but no command of nlgauge makes it"
_DRAWING = "an illustration: no result"
_MATCHES = f"{_DRAWING}; `nlgauge explain pair --plot` draws such a figure of any pair"
_PRINT_ONLY = "values in print only: nlgauge has no loader for the data"
#: Entries that nobody can compute, whatever data they have.
_WITHOUT_LOADER = ("bertscore-table5", "bertscore-table10", "bertscore-table29", "moverscore-table4", "repro-table8")


_TWO_COMMANDS = "`nlgauge score --segments` computes such scores with another model (docs/published-tables.md)"


def _items(paper: str, prefix: str, numbers: Iterable[int]) -> list[PrintedItem]:
    entries = {number: f"{prefix}-table{number}" for number in numbers}
    return [
        PrintedItem(paper, f"Table {number}", (entry,), part=_PRINT_ONLY if entry in _WITHOUT_LOADER else "")
        for number, entry in entries.items()
    ]


def _left_out(paper: str, reasons: Mapping[str, str]) -> list[PrintedItem]:
    return [PrintedItem(paper, name, reason=reason) for name, reason in reasons.items()]


def _figures(paper: str, prefix: str, numbers: Iterable[int]) -> list[PrintedItem]:
    return [PrintedItem(paper, f"Figure {number}", (f"{prefix}-figure{number}",)) for number in numbers]


_BERTSCORE = "BERTScore"
_MOVER, _MOVER_AGAIN = "MoverScore", "dissertation, chapter 5"
_REPRO = "reproducibility study"
_SENTSIM = "SentSim"
_CHAPTER = "dissertation, chapter {}"


def _mover(paper: str) -> list[PrintedItem]:
    """Tables 7 to 9 repeat Tables 1 to 3 with more rows, and are carried with these."""
    found = _items(paper, "moverscore", range(1, 7))
    found[1] = found[1]._replace(entries=("moverscore-table2", "moverscore-table2-systems"))
    found += [PrintedItem(paper, f"Table {n}", (f"moverscore-table{n - 6}",)) for n in (7, 8, 9)]
    return found + _left_out(
        paper,
        {
            "Figure 1": _MATCHES,
            "Figure 2": f"scores of good and bad outputs on WMT17, {_NO_NUMBERS}; {_NOT_YET}",
            "Figure 3": f"correlations between metrics on WMT17, {_NO_NUMBERS}; {_NOT_YET}",
            "Figure 4": f"{_NO_NUMBERS}; needs encoders fine-tuned on MNLI, QNLI and QQP, which are not to be had",
        },
    )


INVENTORY: tuple[PrintedItem, ...] = (
    *_items(_BERTSCORE, "bertscore", (*range(1, 7), 9, 10, *range(12, 31))),
    *_left_out(
        _BERTSCORE,
        {
            "Table 7": "20 pairs of WMT16 de-en with their ranks by people, BERTScore and BLEU; " + _NOT_YET,
            "Table 8": "the best layers: recipes of the other entries; `nlgauge tune-layer` finds them on any data",
            "Table 11": f"scores of systems, no agreement with people; {_OUTPUTS}",
            "Figures 1 to 2": _MATCHES,
            "Figure 3": f"{_NO_NUMBERS}; `nlgauge tune-layer` computes such curves on any data",
        },
    ),
    *_mover(_MOVER),
    *_items(_REPRO, "repro", range(1, 16)),
    *_figures(_REPRO, "repro", (1, 2, 3, 5, 6, 8, 9)),
    PrintedItem(
        _REPRO,
        "Figure 4",
        ("repro-table10",),
        part="segments by BERTScore and MoverScore-1; not systems, TAC and MoverScore-2",
    ),
    *_left_out(
        _REPRO,
        {
            "Figure 7": f"{_NO_NUMBERS}; its RD(dis,ori) is repro-figure5. `nlgauge sensitivity --preset idf` has "
            "the agreement under each random corpus, but not their RD",
            "Figures 10 to 12": "not in the text at hand",
        },
    ),
    *_items(_SENTSIM, "sentsim", (2, 3, 4, 5, 7, 8, 9, 10)),
    *_left_out(
        _SENTSIM,
        {
            "Table 1": f"12 scores of four sentences, and a claim on them; {_TWO_COMMANDS}",
            "Table 6": f"24 scores of eight sentences; {_TWO_COMMANDS}",
            "Figures 1 to 2": f"scores beside judgements of WMT17, {_NO_NUMBERS}; {_NOT_YET}",
            "Figures 3 to 4": f"layers, {_NO_NUMBERS}; `nlgauge sensitivity --preset layers "
            "--metric sentsim:combine=wmd,against=refs` computes such a curve",
            "Figures 5 to 7": f"{_NO_NUMBERS}; bars of Tables 5, 3 and 4",
        },
    ),
    *_left_out(_CHAPTER.format(2), {f"Table 2.{number}": _EXAMPLES for number in range(1, 6)}),
    *_mover(_MOVER_AGAIN),
    *_items(_CHAPTER.format(6), "disco", range(1, 13)),
    *_left_out(
        _CHAPTER.format(6),
        {
            "Figure 1": _EXAMPLES,
            "Figures 2 to 4": f"{_NO_NUMBERS}; {_NOT_YET}",
            "Figure 5": _EXAMPLES,
            "Figure 6": f"{_NO_NUMBERS}; `nlgauge discourse --plot` draws such a figure",
            "Figure 7": f"{_NO_NUMBERS}; {_NOT_YET}",
        },
    ),
    *_left_out(
        _CHAPTER.format(7),
        {
            "Table 1": _COUNTS,
            "Table 2": _CLASSIFIES,
            "Table 3": _CLASSIFIES,
            "Table 4": _CLASSIFIES,
            "Table 5": _COUNTS,
            "Table 6": _CLASSIFIES,
            "Figures 1 to 4": _DRAWING,
            "Figure 5": _CLASSIFIES,
        },
    ),
    *_items(_CHAPTER.format(8), "xmoverscore", (1, 4, 5, 6, 7, 8)),
    *_left_out(
        _CHAPTER.format(8),
        {
            "Table 2": _EXAMPLES,
            "Table 3": "needs word-by-word translations of an online translator, which are not to be had",
            "Figures 1 to 2": f"{_NO_NUMBERS}; averages of Tables 1 and 5, and of Table 8",
            "Figures 3 to 4": f"{_NO_NUMBERS}; {_NOT_YET}",
        },
    ),
    *_left_out(
        _CHAPTER.format(9),
        {
            "Table 1": _COUNTS,
            "Table 2": _TRANSFER,
            "Table 3": _TRANSFER,
            "Table 4": _TRANSFER,
            "Table 5": "similarity of languages: " + _OUT_OF_SCOPE,
            "Figures 1 to 9": _NO_NUMBERS,
        },
    ),
    *_left_out(
        _CHAPTER.format(10),
        {
            "Table 1": _MAPS,
            "Table 2": _MAPS,
            "Table 3": "XNLI, a classification: " + _OUT_OF_SCOPE,
            "Table 4": f"Table 2 by language, broken in the text at hand: {_MAPS}",
            "Figure 1": _DRAWING,
            "Figure 2": _NO_NUMBERS,
            "Figure 4": _NO_NUMBERS,
        },
    ),
    PrintedItem(_CHAPTER.format(10), "Figure 3", ("density-simulation",)),
    *_items(_CHAPTER.format(11), "bt", (1, 3, 4)),
    *_figures(_CHAPTER.format(11), "bt", (2, 3, 6)),
    PrintedItem(_CHAPTER.format(11), "Figure 4", ("bt-figure4",), part="(a) and (b); not (c), sizes of test sets"),
    PrintedItem(
        _CHAPTER.format(11),
        "Table 11.1",
        ("bt-table11.1",),
        part="values in print only: the submissions to the shared task are not public",
    ),
    PrintedItem(_CHAPTER.format(11), "Table 2", ("bt-figure2",)),
    *_left_out(
        _CHAPTER.format(11),
        {
            "Figure 1": _EXAMPLES,
            "Figure 5": f"{_NO_NUMBERS}; `nlgauge compare` makes such a matrix of any scores",
            "Figure 11.1": f"{_NO_NUMBERS}; the submissions to the shared task are not public",
        },
    ),
    PrintedItem(_CHAPTER.format(11), "not in print: ties", ("bt-ties",)),
    *_items(_CHAPTER.format(12), "explain", (3, 4, 5, 6, 10, 11, 12, 13)),
    *_figures(_CHAPTER.format(12), "explain", (3,)),
    *_left_out(
        _CHAPTER.format(12),
        {
            "Table 1": _EXAMPLES,
            "Table 2": _EXAMPLES,
            "Table 7": _EXAMPLES,
            "Table 8": _COUNTS,
            "Table 9": _EXAMPLES,
            "Figures 1 to 2": _EXAMPLES,
        },
    ),
)
