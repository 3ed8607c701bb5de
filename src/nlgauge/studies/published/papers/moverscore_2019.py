"""Tables 1 to 6 of the MoverScore paper, with the rows that its appendix adds to them (its Tables 7 to 9)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from nlgauge.studies.meta.questions import Question
from nlgauge.studies.published.papers.shared import BERT_BASE, BERT_MNLI, D2T_COLUMNS, MSCOCO, TO_ENGLISH_17
from nlgauge.studies.published.tables import (
    Column,
    Mean,
    PaperTable,
    PublishedModel,
    TableRow,
    language_columns,
    row_values,
)

_SOURCE = (
    "Zhao, Peyrard, Liu, Gao, Meyer, Eger 2019, MoverScore (EMNLP), aclanthology.org/D19-1053, {}; "
    "code: github.com/AIPHES/emnlp19-moverscore"
)

_SUPERVISED = "only shown: trained on human scores, and not part of nlgauge"
_OTHER = "only shown: not part of nlgauge"
_W2V = "only shown: word2vec of an unnamed version; `nlgauge meta --model VECTORS` scores with any word vectors"
_ELMO = "only shown: no engine reads ELMo"
_ROUTING = "constants of the routing are not published (D5.11)"
_MOVER = "profile v1 is the released code; the paper's formulas differ (D5.1 to D5.4)"


def _bert(recipe: str, model: PublishedModel = BERT_BASE, note: str = _MOVER) -> dict[str, Any]:
    return {"recipe": recipe, "model": model, "note": note}


def _layer(number: int) -> dict[str, Any]:
    recipe = "moverscore:profile=v1,n=1,aggregation=layer-"
    return _bert(f"{recipe}{number}") | {"recipe_for_other_models": f"{recipe}top-{12 - number}"}


def _hard(component: str) -> dict[str, Any]:
    # Proposition 1 of the paper: hard alignment is BERTScore.
    how = _bert("bertscore:layer=9,idf=refs", note="whether the hard alignment dropped punctuation is not said")
    return how | {"recipe_for_other_models": "bertscore:idf=refs", "component": component}


def _rouge(name: str) -> dict[str, Any]:
    note = "rouge-score stems by Porter, the authors by Snowball; within .004 of print on TAC 2008, .006 on TAC 2009"
    return {"recipe": f"{name}:stemmer=yes,multiref=mean,measure=recall", "note": note}


_BERTSCORE = {
    "recipe": "bertscore:layer=9,idf=refs",
    "recipe_for_other_models": "bertscore:idf=refs",
    "model": BERT_BASE,
    "note": "the paper does not give BERTScore's settings",
}

#: How nlgauge computes a row, by its name in print.
_HOW: Mapping[str, Mapping[str, Any]] = {
    "RUSE": {"note": _SUPERVISED},
    "BLEND": {"note": _SUPERVISED},
    "S3-full": {"note": _SUPERVISED},
    "S3-best": {"note": _SUPERVISED},
    "LEIC": {"note": _SUPERVISED},
    "SENTBLEU": {
        "released": "sentBLEU",
        "data": "wmt17-testset",
        "note": "released scores of wmt17-testset, which has 435 of the 560 rows of lv-en (D8.12)",
    },
    "CHRF++": {"recipe": "chrf:words=2", "note": "sacrebleu on detokenised text; in print, a run of the shared task"},
    "BLEU-4": {"recipe": "bleu", "note": "smoothing and joining of references are not given in the paper"},
    "ROUGE-1": _rouge("rouge1"),
    "ROUGE-2": _rouge("rouge2"),
    "ROUGE-L": _rouge("rougel") | {"note": "settings of ROUGE-L are not given in the paper"},
    "BERTSCORE-F1": _BERTSCORE,
    "WMD-1 + BERT + ROUTING": _bert("moverscore:profile=v1,n=1,aggregation=kde-routing", note=_ROUTING),
    "WMD-1 + BERT + MNLI + ROUTING": _bert("moverscore:profile=v1,n=1,aggregation=kde-routing", BERT_MNLI, _ROUTING),
    "WMD-2 + BERT + MNLI + ROUTING": _bert("moverscore:profile=v1,n=2,aggregation=kde-routing", BERT_MNLI, _ROUTING),
    "WMD-1 + BERT + PMEANS": _bert("moverscore:profile=v1,n=1"),
    "WMD-1 + BERT + MNLI + PMEANS": _bert("moverscore:profile=v1,n=1", BERT_MNLI),
    "WMD-2 + BERT + MNLI + PMEANS": _bert("moverscore:profile=v1,n=2", BERT_MNLI),
    "SMD + BERT + PMEANS": _bert("smd:profile=v1"),
    "SMD + BERT + MNLI + PMEANS": _bert("smd:profile=v1", BERT_MNLI),
    **{f"WMD-1 + BERT + LAYER {number}": _layer(number) for number in range(8, 13)},
    "HMD-F1 + BERT": _hard(""),
    "HMD-RECALL + BERT": _hard("recall"),
    "HMD-PREC + BERT": _hard("precision"),
    "WMD-UNIGRAM + BERT": _layer(9),
    "WMD-BIGRAM + BERT": {key: value.replace("n=1", "n=2") if isinstance(value, str) else value
                          for key, value in _layer(9).items()},
}  # fmt: skip


def _how(name: str) -> Mapping[str, Any]:
    if name in _HOW:
        return _HOW[name]
    return {"note": _W2V if "W2V" in name else _ELMO if "ELMO" in name else _OTHER}


def _printed(columns: Sequence[Column | Mean], text: str) -> tuple[TableRow, ...]:
    """Rows from the table in print: a line each, the name before the bar."""
    lines = [line.split("|") for line in text.strip().splitlines()]
    return tuple(TableRow(name.strip(), row_values(columns, values), **_how(name.strip())) for name, values in lines)


def _without_subword_removal(rows: tuple[TableRow, ...]) -> tuple[TableRow, ...]:
    """fi-en and lv-en were run with all sub-words (D5.5)."""
    exceptions = dict.fromkeys(("fi-en", "lv-en"), "subwords=all")
    return tuple(
        replace(row, exceptions=exceptions) if row.recipe.startswith(("moverscore", "smd")) else row for row in rows
    )


def _mean_of_references(rows: tuple[TableRow, ...]) -> tuple[TableRow, ...]:
    """BERTScore beside several references, which the paper joins by their mean."""
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


_WMT17 = language_columns(Question("wmt17"), TO_ENGLISH_17)
_TABLE1 = _printed(
    _WMT17,
    """
    BLEND                         | .594 .571 .733 .594 .622 .671 .661 .635
    RUSE                          | .624 .644 .750 .697 .673 .716 .691 .685
    SENTBLEU                      | .435 .432 .571 .393 .484 .538 .512 .481
    CHRF++                        | .523 .534 .678 .520 .588 .614 .593 .579
    METEOR++                      | .552 .538 .720 .563 .627 .626 .646 .610
    BERTSCORE-F1                  | .670 .686 .820 .710 .729 .714 .704 .719
    WMD-1 + W2V                   | .392 .463 .558 .463 .456 .485 .481 .471
    WMD-1 + BERT + ROUTING        | .658 .689 .823 .712 .733 .730 .718 .723
    WMD-1 + BERT + MNLI + ROUTING | .665 .705 .834 .744 .735 .752 .736 .739
    WMD-2 + BERT + MNLI + ROUTING | .676 .706 .831 .743 .734 .755 .732 .740
    WMD-1 + BERT + PMEANS         | .662 .687 .823 .714 .735 .734 .719 .725
    WMD-1 + BERT + MNLI + PMEANS  | .670 .708 .835 .746 .738 .762 .744 .743
    WMD-2 + BERT + MNLI + PMEANS  | .679 .710 .832 .745 .736 .763 .740 .743
    SMD + W2V                     | .438 .505 .540 .442 .514 .456 .494 .484
    SMD + ELMO + PMEANS           | .569 .558 .732 .525 .581 .620 .584 .595
    SMD + BERT + PMEANS           | .607 .623 .770 .639 .667 .641 .619 .652
    SMD + BERT + MNLI + PMEANS    | .616 .643 .785 .660 .664 .668 .633 .667
    WMD-1 + ELMO + PMEANS         | .579 .588 .753 .559 .617 .679 .645 .631
    """,
)


def _tac_columns(*, humans: bool) -> tuple[Column, ...]:
    return tuple(
        Column(
            f"{year} {short} {letter}",
            Question(f"tac20{year}", "topic", coefficient, criterion, (("humans", humans),)),
        )
        for year in ("08", "09")
        for short, criterion in (("resp", "responsiveness"), ("pyr", "pyr_score"))
        for letter, coefficient in (("r", "pearson"), ("rho", "spearman"))
    )


_TAC = _tac_columns(humans=True)
_TABLE2 = _mean_of_references(
    _printed(
        _TAC,
        """
    S3-full                       | .696 .558 .753 .652 .731 .552 .838 .724
    S3-best                       | .715 .595 .754 .652 .738 .595 .842 .731
    TF*IDF-1                      | .176 .224 .183 .237 .187 .222 .242 .284
    TF*IDF-2                      | .047 .154 .049 .182 .047 .167 .097 .233
    ROUGE-1                       | .703 .578 .747 .632 .704 .565 .808 .692
    ROUGE-2                       | .695 .572 .718 .635 .727 .583 .803 .694
    ROUGE-1-WE                    | .571 .450 .579 .458 .586 .437 .653 .516
    ROUGE-2-WE                    | .566 .397 .556 .388 .607 .413 .671 .481
    ROUGE-L                       | .681 .520 .702 .568 .730 .563 .779 .652
    FRAME-1                       | .658 .508 .686 .529 .678 .527 .762 .628
    FRAME-2                       | .676 .519 .691 .556 .715 .555 .781 .648
    BERTSCORE-F1                  | .724 .594 .750 .649 .739 .580 .823 .703
    WMD-1 + W2V                   | .669 .559 .665 .611 .698 .520 .740 .647
    WMD-1 + BERT + ROUTING        | .729 .601 .763 .675 .740 .580 .831 .700
    WMD-1 + BERT + MNLI + ROUTING | .734 .609 .768 .686 .747 .589 .837 .711
    WMD-2 + BERT + MNLI + ROUTING | .731 .593 .755 .666 .753 .583 .827 .698
    WMD-1 + BERT + PMEANS         | .729 .595 .755 .660 .742 .581 .825 .690
    WMD-1 + BERT + MNLI + PMEANS  | .736 .604 .760 .672 .754 .594 .831 .701
    WMD-2 + BERT + MNLI + PMEANS  | .734 .601 .752 .663 .753 .586 .825 .694
    SMD + W2V                     | .583 .469 .603 .488 .577 .465 .670 .560
    SMD + ELMO + PMEANS           | .631 .472 .631 .499 .663 .498 .726 .568
    SMD + BERT + PMEANS           | .658 .530 .664 .550 .670 .518 .731 .580
    SMD + BERT + MNLI + PMEANS    | .662 .525 .666 .552 .667 .506 .723 .563
    WMD-1 + ELMO + PMEANS         | .707 .554 .726 .601 .736 .553 .813 .672
    """,
    )
)
_TAC_NOTES = (
    "the released script drops summaries of at most one sentence and 153 stop words; the rows of ROUGE fit only "
    "without the former, and the list is not shipped: nlgauge meta takes stopwords=FILE",
    "for Spearman of WMD-1 + W2V on TAC 2008, Table 2 prints .549 and .588, Table 8 .559 and .611 (D5.12)",
)

#: On BAGEL and SFHOTEL F and the best reference are nearer to print than recall and the mean of the references.
_ROUGE_L = TableRow(
    "ROUGE-L",
    recipe="rougel:stemmer=yes,multiref=best,measure=f1",
    note="settings of ROUGE-L are not given in the paper; F and the best reference are nearest to print",
)


def _with_rouge_l(rows: tuple[TableRow, ...]) -> tuple[TableRow, ...]:
    return tuple(replace(_ROUGE_L, published=row.published) if row.name == _ROUGE_L.name else row for row in rows)


_TABLE3 = _mean_of_references(
    _printed(
        D2T_COLUMNS,
        """
    BLEU-1                        | .225 .141 .113 .107 .175 .069
    BLEU-2                        | .211 .152 .115 .097 .174 .071
    BLEU-3                        | .191 .150 .109 .089 .161 .070
    BLEU-4                        | .175 .141 .101 .084 .104 .056
    ROUGE-L                       | .202 .134 .111 .092 .147 .062
    NIST                          | .207 .089 .056 .072 .125 .061
    CIDER                         | .205 .162 .119 .095 .155 .052
    METEOR                        | .251 .127 .116 .111 .148 .082
    BERTSCORE-F1                  | .267 .210 .178 .163 .193 .118
    WMD-1 + W2V                   | .222 .079 .123 .074 .095 .021
    WMD-1 + BERT + ROUTING        | .294 .209 .156 .208 .256 .178
    WMD-1 + BERT + MNLI + ROUTING | .278 .180 .144 .211 .252 .175
    WMD-2 + BERT + MNLI + ROUTING | .279 .182 .147 .204 .252 .172
    WMD-1 + BERT + PMEANS         | .298 .212 .163 .203 .261 .182
    WMD-1 + BERT + MNLI + PMEANS  | .285 .195 .158 .207 .270 .183
    WMD-2 + BERT + MNLI + PMEANS  | .284 .194 .156 .204 .270 .182
    SMD + W2V                     | .024 .074 .078 .022 .025 .011
    SMD + ELMO + PMEANS           | .251 .171 .147 .130 .176 .096
    SMD + BERT + PMEANS           | .290 .163 .121 .192 .223 .134
    SMD + BERT + MNLI + PMEANS    | .280 .149 .120 .205 .239 .147
    WMD-1 + ELMO + PMEANS         | .261 .163 .148 .147 .215 .136
    """,
    )
)

_MSCOCO = (Column("M1", None), Column("M2", None))
_TABLE4 = _printed(
    _MSCOCO,
    """
    LEIC                      | .939 .949
    METEOR                    | .606 .594
    SPICE                     | .759 .750
    BERTSCORE-RECALL          | .809 .749
    SMD + W2V                 | .683 .668
    SMD + ELMO + PMEANS       | .709 .712
    SMD + BERT + PMEANS       | .723 .747
    SMD + BERT + MNLI + PMEANS | .789 .784
    WMD-1 + W2V               | .728 .764
    WMD-1 + ELMO + PMEANS     | .753 .775
    WMD-1 + BERT + PMEANS     | .780 .790
    WMD-1 + BERT + MNLI + PMEANS | .813 .810
    WMD-2 + BERT + MNLI + PMEANS | .812 .808
    """,
)

_WMT17_FOUR = tuple(column for column in _WMT17 if column.label in TO_ENGLISH_17[:4])
_TABLE5 = _printed(
    _WMT17_FOUR,
    """
    RUSE               | .624 .644 .750 .697
    HMD-F1 + BERT      | .655 .681 .821 .712
    HMD-RECALL + BERT  | .651 .658 .788 .681
    HMD-PREC + BERT    | .624 .669 .817 .707
    WMD-UNIGRAM + BERT | .651 .686 .823 .710
    WMD-BIGRAM + BERT  | .665 .688 .821 .712
    """,
)

_WMT17_ALL = tuple(column for column in _WMT17 if isinstance(column, Column))
_TABLE6 = _printed(
    _WMT17_ALL,
    """
    WMD-1 + BERT + LAYER 8  | .6361 .6755 .8134 .7033 .7273 .7233 .7175
    WMD-1 + BERT + LAYER 9  | .6510 .6865 .8240 .7107 .7291 .7357 .7195
    WMD-1 + BERT + LAYER 10 | .6605 .6948 .8231 .7158 .7363 .7317 .7168
    WMD-1 + BERT + LAYER 11 | .6695 .6845 .8192 .7048 .7315 .7276 .7058
    WMD-1 + BERT + LAYER 12 | .6677 .6825 .8194 .7188 .7326 .7291 .7064
    WMD-1 + BERT + ROUTING  | .6618 .6897 .8225 .7122 .7334 .7301 .7182
    WMD-1 + BERT + PMEANS   | .6623 .6873 .8234 .7139 .7350 .7339 .7192
    """,
)
_LAYERS_ELSEWHERE = "a layer stands for the one at the same distance from the last in a model of another depth"

MOVERSCORE_TABLES = (
    PaperTable(
        "moverscore-table1",
        "WMT17 to English, segment level, Pearson",
        _SOURCE.format("Tables 1 and 7"),
        _WMT17,
        _without_subword_removal(_TABLE1),
        notes=(
            "idf from all references and from each system's whole file; fi-en and lv-en with all sub-words (D5.5)",
        ),
    ),
    PaperTable(
        "moverscore-table2",
        "TAC 2008 and 2009, summary level: mean over topics of Pearson and Spearman",
        _SOURCE.format("Tables 2 and 8"),
        _TAC,
        _TABLE2,
        notes=("the four writers of a topic's references are among the peers, as in print (D5.9)", *_TAC_NOTES),
    ),
    PaperTable(
        "moverscore-table2-systems",
        "as moverscore-table2, but without the human peers, as the paper's text has it (D5.9)",
        _SOURCE.format("Tables 2 and 8"),
        _tac_columns(humans=False),
        tuple(replace(row, published={}) for row in _TABLE2 if row.recipe),
        notes=("no values in print: the printed ones include the human peers", *_TAC_NOTES[:1]),
    ),
    PaperTable(
        "moverscore-table3",
        "BAGEL and SFHOTEL, utterance level, Spearman",
        _SOURCE.format("Tables 3 and 9"),
        D2T_COLUMNS,
        _with_rouge_l(_TABLE3),
        notes=("how several references are joined is not in the paper; but for ROUGE-L their mean is taken",),
    ),
    PaperTable(
        "moverscore-table4",
        "MSCOCO captions, system level, Pearson",
        _SOURCE.format("Table 4"),
        _MSCOCO,
        _TABLE4,
        unavailable=MSCOCO,
    ),
    PaperTable(
        "moverscore-table5",
        "hard and soft alignment at layer 9 of BERT: WMT17, segment level, Pearson",
        _SOURCE.format("Table 5"),
        _WMT17_FOUR,
        _without_subword_removal(_TABLE5),
        notes=("hard alignment is BERTScore (the paper's Proposition 1)", _LAYERS_ELSEWHERE),
    ),
    PaperTable(
        "moverscore-table6",
        "single layers and their aggregation: WMT17, segment level, Pearson",
        _SOURCE.format("Table 6"),
        _WMT17_ALL,
        _without_subword_removal(_TABLE6),
        decimals=4,
        notes=(_LAYERS_ELSEWHERE,),
    ),
)
