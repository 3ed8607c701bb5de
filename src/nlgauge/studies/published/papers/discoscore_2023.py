"""Tables 1 to 12 of the DiscoScore paper: metrics beside people's ratings of summaries and translated documents."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from nlgauge.studies.meta.questions import Question
from nlgauge.studies.published.features import FeatureColumn, FeatureRow, FeatureTable
from nlgauge.studies.published.papers.shared import BERT_BASE
from nlgauge.studies.published.tables import Column, Mean, PaperTable, PublishedModel, TableRow, row_values

_SOURCE = (
    "Zhao, Strube, Eger 2023, DiscoScore (EACL), aclanthology.org/2023.eacl-main.278, {}; "
    "code: github.com/AIPHES/DiscoScore"
)

_DRIVE = "github.com/AIPHES/DiscoScore names a Google Drive folder"
_CONPONO = PublishedModel("Conpono", ("conpono",), f"{_DRIVE} (BERT-base trained on the order of sentences)")
_BERT_NLI = PublishedModel("BERT-NLI", ("bert-nli", "BERT_NLI"), f"{_DRIVE} (BERT-base fine-tuned on NLI)")

#: Systems of SummEval that write summaries of their own; M0, M1, M2 and M5 take sentences from the article (D6.14).
ABSTRACTIVE = ("M8", "M9", "M10", "M11", "M12", "M13", "M14", "M15", "M17", "M20", "M22", "M23")

_SIGNED = (
    "print has absolute values; ours keep their sign (a metric that opposes people is negative, D6.16), and "
    "differences are those of absolute values"
)
_AGAINST = "against people (D6.16); another tagger"
_NO_MODEL_HERE = "no model here"
_ENTITIES = "in print by Dep2Vec"
_ROUGE = "the paper does not name measure and version; recall comes near, F1 does not"
_TAGGER = "another tagger and sentence splitter"
_OTHERS = "models and metrics that are not here: `nlgauge meta --scores FILE` takes the scores of other tools"


def _own(name: str, note: str = _TAGGER) -> dict[str, Any]:
    return {"recipe": name, "note": note}


def _disco(recipe: str, model: PublishedModel, note: str = _TAGGER) -> dict[str, Any]:
    entities = {"word_vectors": "used"} if "focus=entity" in recipe else {}
    return {"recipe": recipe, "model": model, "note": note, **entities}


#: How nlgauge computes a row, by its name in Table 1.
_HOW: Mapping[str, Mapping[str, Any]] = {
    "ROUGE-1": {"recipe": "rouge1:measure=recall", "note": _ROUGE},
    "ROUGE-L": {"recipe": "rougel:measure=recall", "note": _ROUGE},
    "BLEU": {"recipe": "bleu", "note": "of a document by itself; the paper does not give its settings"},
    "BERTScore": {
        "recipe": "bertscore:layer=9",
        "recipe_for_other_models": "bertscore",
        "model": BERT_BASE,
        "note": "the paper does not give its settings; the best reference counts here, as is usual",
    },
    "MoverScore": {
        "recipe": "moverscore",
        "model": BERT_BASE,
        "note": "the paper does not give its settings",
    },
    "RC": _own("rc", _AGAINST),
    "LC": _own("lc", _AGAINST),
    "Entity Graph": _own("entity-graph", _AGAINST),
    "Lexical Graph": {**_own("lexical-graph", _ENTITIES), "word_vectors": "needed"},
    "Lexical Chain": _own("lexical-chain", _AGAINST),
    "frequency only": {
        "recipe": "focus-frequency",
        "note": "not in print: DS-Focus without an encoder",
    },
    "DS-Focus (NN)": _disco("ds-focus", _CONPONO),
    "*DS-Focus (NN)": _disco("ds-focus:min_mentions=2", _CONPONO, "foci of two mentions or more, in either text"),
    "DS-Focus (Entity)": _disco("ds-focus:focus=entity", _CONPONO, _ENTITIES),
    "DS-Focus* (NN)": _disco("ds-focus:measure=f", _CONPONO, "(P + R) / 2 (D6.12)"),
    "DS-Sent-U (NN)": _disco("ds-sent", _BERT_NLI),
    "DS-Sent-U (Entity)": _disco("ds-sent:focus=entity", _BERT_NLI, _ENTITIES),
    "DS-Sent-W (NN)": _disco("ds-sent:adjacency=weighted", _BERT_NLI, "the released code has no -W (D6.6)"),
    "DS-Sent-W (Entity)": _disco(
        "ds-sent:adjacency=weighted,focus=entity", _BERT_NLI, f"{_ENTITIES}; the released code has no -W (D6.6)"
    ),
    "without sentence aggregation": _disco("ds-sent:adjacency=none", _BERT_NLI),
    "greedy align": _disco("ds-sent:match=greedy", _BERT_NLI, "BERTScore's matching, of sentence vectors"),
    "optimal align": _disco("ds-sent:match=optimal", _BERT_NLI, "MoverScore's matching, of sentence vectors"),
}  # fmt: skip


def _how(name: str) -> Mapping[str, Any]:
    if name in _HOW:
        return _HOW[name]
    return {"note": _NO_MODEL_HERE}


def _printed(columns: Sequence[Column | Mean], text: str) -> tuple[TableRow, ...]:
    """Rows from the table in print: a line each, the name before the bar; no values where it is not in print."""
    lines = [line.split("|") for line in text.strip().splitlines()]
    return tuple(
        TableRow(
            name.strip(),
            row_values(columns, values) if values.strip() else {},
            **_how(name.strip()),
        )
        for name, values in lines
    )


def _renamed(rows: Iterable[tuple[str, str, str]], columns: Sequence[Column | Mean]) -> tuple[TableRow, ...]:
    """Rows that print has under another name, with the name of their recipe in Table 1 and their values."""
    return tuple(TableRow(name, row_values(columns, values), **_how(recipe)) for name, recipe, values in rows)


def _aspects(data: str, level: str, aspects: Sequence[str], prefix: str = "") -> tuple[Column, ...]:
    options = (("systems", ABSTRACTIVE),) if data == "summeval" else ()
    return tuple(Column(f"{prefix}{aspect}", Question(data, level, "kendall", aspect, options)) for aspect in aspects)


def _averaged(columns: Sequence[Column], label: str = "average") -> tuple[Column | Mean, ...]:
    return (*columns, Mean(label, tuple(column.label for column in columns)))


_SUMMEVAL = _averaged(_aspects("summeval", "system", ("coherence", "consistency", "fluency", "relevance")))
_NEWSROOM = _averaged(_aspects("newsroom", "system", ("coherence", "fluency", "informativeness", "relevance")))
_SUMMARIES = (
    *_averaged(_aspects("summeval", "topic", ("coherence", "consistency", "fluency", "relevance"), "S "), "SummEval"),
    *_averaged(
        _aspects("newsroom", "topic", ("coherence", "fluency", "informativeness", "relevance"), "N "), "NeR18"
    ),
)

_TABLE1 = _printed(
    _SUMMEVAL,
    """
    ROUGE-1            | 9.09 27.27 18.18 9.09 15.91
    ROUGE-L            | 0.00 36.36 21.21 18.18 18.94
    BERTScore          | 30.30 30.30 51.52 54.55 41.67
    MoverScore         | 36.36 42.42 63.64 60.61 50.76
    SBERT              | 3.03 33.33 30.30 27.27 23.48
    BLEURT             | 45.45 51.52 72.73 63.64 58.33
    BARTScore          | 60.61 36.36 45.45 48.48 47.73
    PRISM              | 51.52 39.39 72.73 69.70 58.33
    S3-pyr             | 18.18 24.24 9.09 6.06 14.39
    RC                 | 45.45 51.52 54.55 57.58 52.27
    LC                 | 51.52 45.45 48.48 57.58 50.76
    Entity Graph       | 42.42 12.12 15.15 18.18 21.97
    Lexical Graph      | 48.48 6.06 15.15 18.18 21.97
    Lexical Chain      | 42.42 6.06 9.09 18.18 18.94
    frequency only     |
    DS-Focus (NN)      | 75.76 63.64 78.79 81.82 75.00
    DS-Focus (Entity)  | 69.70 57.58 72.73 75.76 68.94
    DS-Sent-U (NN)     | 48.48 54.55 63.64 60.61 56.82
    DS-Sent-U (Entity) | 54.55 60.61 75.76 66.67 64.39
    DS-Sent-W (NN)     | 51.52 51.52 66.67 63.64 58.33
    DS-Sent-W (Entity) | 51.52 57.58 66.67 63.64 59.85
    """,
)

_AVERAGE = "- - - - "
_TABLE2 = tuple(
    TableRow(f"{metric} + {model.name}", row_values(_SUMMEVAL, _AVERAGE + value), **{**_how(metric), "model": model})
    for metric, values in (("DS-Focus (NN)", "71.97 70.45 75.00"), ("DS-Sent-U (NN)", "35.61 56.82 23.48"))
    for model, value in zip((BERT_BASE, _BERT_NLI, _CONPONO), values.split(), strict=True)
)
_TABLE3 = _printed(
    _SUMMEVAL,
    f"""
    DS-Sent-U (NN)               | {_AVERAGE} 56.82
    without sentence aggregation | {_AVERAGE} 46.21
    """,
)
_TABLE4 = (
    *_printed(_SUMMEVAL, f"greedy align  | {_AVERAGE} 21.97\noptimal align | {_AVERAGE} 26.52"),
    *_renamed([("mean-max-min-sum", "DS-Sent-U (NN)", f"{_AVERAGE} 56.82")], _SUMMEVAL),
)
_TABLE5 = _printed(
    _SUMMARIES,
    """
    BARTScore      | - - - - 14.13 - - - - 24.78
    PRISM          | - - - - 14.92 - - - - 18.89
    frequency only |
    DS-Focus (NN)  | - - - - 10.81 - - - - 10.42
    DS-Sent-U (NN) | - - - - 15.71 - - - - 3.81
    """,
)


def _wmt20(level: str, agreement: str, criterion: str) -> Question:
    """Of WMT20 in the layout of mt-metrics-eval, without texts of more than 512 word pieces (appendix A.2)."""
    options = (("gold", criterion), ("longest", 512), ("metrics", False), ("unit", "document"))
    return Question("mt-metrics-eval", level, agreement, criterion, options)


_MQM = tuple(
    Column(f"{level} {label}", _wmt20(level, agreement, label.lower()), "zh-en")
    for level, agreement in (("system", "pearson"), ("document", "kendall"))
    for label in ("MQM", "pSQM")
)
_TABLE6 = _printed(
    _MQM,
    """
    BARTScore      | 45.57 55.50 34.90 28.96
    *DS-Focus (NN) | 42.12 40.89 19.10 9.98
    DS-Sent-U (NN) | 70.77 69.74 19.98 14.49
    """,
)

_TABLE7 = _printed(
    _NEWSROOM,
    """
    BARTScore      | 42.58 42.58 23.80 33.33 35.57
    PRISM          | 51.52 42.58 42.86 52.38 47.33
    frequency only |
    DS-Focus (NN)  | 61.90 61.90 42.86 52.38 54.76
    DS-Focus* (NN) | 80.95 80.95 100.00 90.47 88.09
    DS-Sent-U (NN) | 14.29 14.29 14.29 23.81 16.67
    """,
)

_TABLE8 = (
    *_printed(
        _SUMMEVAL,
        """
    BARTScore (max)      | 78.79 48.48 63.64 72.73 65.91
    BARTScore (original) | 60.61 36.36 45.45 48.48 47.73
    """,
    ),
    *_renamed(
        [
            ("FocusDiff (NN)", "DS-Focus (NN)", "75.76 63.64 78.79 81.82 75.00"),
            ("FocusDiff (Entity)", "DS-Focus (Entity)", "69.70 57.58 72.73 75.76 68.94"),
            ("SentGraph-u (NN)", "DS-Sent-U (NN)", "48.48 54.55 63.64 60.61 56.82"),
            ("SentGraph-u (Entity)", "DS-Sent-U (Entity)", "54.55 60.61 75.76 66.67 64.39"),
        ],
        _SUMMEVAL,
    ),
)
_TABLE10 = _printed(
    _SUMMEVAL,
    """
    RC                   | 45.45 51.52 54.55 57.58 52.27
    BARTScore (max)      | 78.79 48.48 63.64 72.73 65.91
    BARTScore (max) + RC | 66.67 54.55 69.70 78.79 67.42
    DS-Focus (NN)        | 75.76 63.64 78.79 81.82 75.00
    """,
)

_PAIRS = ("cs-en", "de-en", "ja-en", "ru-en")

#: Direct assessment as it was given: what mt-metrics-eval holds documents of WMT20 against.
_ADEQUACY = "wmt-raw"


def _langpair(label: str) -> str:
    return label if label in _PAIRS else "en"


_DATA = {
    "SummEval": Question("summeval", options=(("systems", ABSTRACTIVE),)),
    "NeR18": Question("newsroom"),
    **dict.fromkeys(_PAIRS, _wmt20("document", "kendall", _ADEQUACY)),
}
_STATISTICS = tuple(FeatureColumn(label, question, _langpair(label)) for label, question in _DATA.items())
_TABLE9 = tuple(
    FeatureRow(name, row_values(_STATISTICS, values), feature=feature)
    for feature, name, values in (
        ("references", "references", "11 1 1 1 1 1"),
        ("systems", "systems", "12 7 13 14 11 13"),
        ("documents", "hypotheses per system", "100 60 102 118 80 91"),
        ("sentences", "sentences per hypothesis", "3.13 1.90 15.21 13.84 11.29 9.46"),
        ("foci", "foci per hypothesis", "15.18 12.85 62.01 56.68 57.09 44.99"),
        ("repeated", "good foci per hypothesis", "2.47 2.56 13.16 13.37 15.07 9.95"),
        ("with-repeated", "hypotheses with good foci, %", "80.50 43.80 100 98.60 100 100"),
    )
)

#: In print: D > 0, D = 0, D < 0, where D > 0 is R(ref) > R(hyp), the opposite of Eq. 4 (D6.10).
_PARTS = {"D>0": "reference_higher", "D=0": "equal", "D<0": "hypothesis_higher"}
_SHARES = tuple(
    FeatureColumn(f"{label} {sign}", question, _langpair(label), part=part)
    for label, question in _DATA.items()
    for sign, part in _PARTS.items()
)
_UNPRINTED = "- - - - - - "
_FEATURES = {"freq": "Frequency", "conn-u": "Connectivity-u", "conn-w": "Connectivity-w"}
_TABLE11 = tuple(
    FeatureRow(
        f"{_FEATURES[feature.removesuffix('-entity')]} ({'Entity' if feature.endswith('-entity') else 'NN'})",
        row_values(_SHARES, _UNPRINTED + values),
        feature=feature,
        word_vectors="needed" if feature.endswith("-entity") else "",
    )
    for feature, values in (
        ("freq", "74.18 2.00 23.82 57.38 9.65 32.97 53.04 2.63 44.33 52.77 7.31 39.92"),
        ("freq-entity", "76.17 1.76 22.07 59.74 8.38 31.88 52.38 1.48 46.14 53.61 7.31 39.08"),
        ("conn-u", "78.05 0.35 21.60 63.11 8.29 28.60 59.61 5.25 35.14 52.04 10.03 37.93"),
        ("conn-u-entity", "79.46 0.35 20.19 62.02 8.20 29.78 59.44 5.09 35.47 52.87 9.40 37.72"),
        ("conn-w", "77.93 0.24 21.83 64.85 4.64 30.51 59.12 0.49 40.39 59.98 5.12 34.90"),
        ("conn-w-entity", "80.40 0.23 19.37 63.48 4.73 31.79 60.76 0.33 38.91 60.82 4.60 34.58"),
    )
)

_WMT20 = _averaged(tuple(Column(pair, _wmt20("document", "kendall", _ADEQUACY), pair) for pair in _PAIRS))
_DOCUMENTS = _printed(
    _WMT20,
    """
    BLEU               | 7.44 57.52 41.48 10.74 29.30
    BERTScore          | 10.82 60.38 46.95 13.08 32.81
    MoverScore         | 15.40 61.69 42.12 13.78 33.25
    BARTScore          | 10.82 60.26 46.30 14.95 33.09
    PRISM              | 8.64 58.83 32.48 15.42 28.84
    SBERT              | 13.20 55.26 33.44 10.04 27.99
    BLEURT             | 12.01 58.83 37.94 18.22 31.75
    S3-pyr             | 6.25 58.83 42.44 13.78 30.33
    S3-resp            | 5.85 58.59 47.26 14.71 31.61
    RC                 | 5.85 7.19 8.68 9.34 7.77
    LC                 | 9.23 1.72 3.53 6.07 5.14
    Entity Graph       | 5.06 43.24 3.53 10.51 15.59
    Lexical Graph      | 2.28 43.60 5.14 13.55 16.15
    Lexical Chain      | 21.54 35.15 15.11 16.12 21.99
    DS-Focus (NN)      | 7.64 33.13 19.29 2.57 15.66
    DS-Focus (Entity)  | 6.45 33.73 19.94 1.64 15.44
    DS-Sent-U (NN)     | 7.64 57.16 39.22 18.22 30.56
    DS-Sent-U (Entity) | 7.65 57.17 39.23 18.22 30.57
    DS-Sent-W (NN)     | 7.65 57.18 39.22 18.21 30.57
    DS-Sent-W (Entity) | 7.65 57.17 39.23 18.22 30.57
    """,
)
# Which way cohesion runs is known of SummEval only.
_TABLE12 = tuple(replace(row, note=_TAGGER) if row.note == _AGAINST else row for row in _DOCUMENTS)

_WMT20_FOLDER = (
    "WMT20 documents are read from the folder `wmt20` of mt-metrics-eval (--at FOLDER, or one that holds it); "
    "those with a text of more than 512 word pieces are left out"
)
_WMT20_UNTRIED = "the folder was not at hand when this was written: run on hand-made ones only"
_ADEQUACY_NOTE = f"adequacy is the folder's {_ADEQUACY!r}, the mean over segments where documents have no score"


def _table(
    number: int, title: str, columns: Sequence[Column | Mean], rows: tuple[TableRow, ...], **more: Any
) -> PaperTable:
    usual: dict[str, Any] = {"decimals": 2, "scale": 100.0, "absolute": True, "notes": (_SIGNED, _OTHERS)}
    source = _SOURCE.format(f"Table {number}")
    return PaperTable(f"disco-table{number}", title, source, tuple(columns), rows, **usual | more)


_SYSTEMS = "SummEval, 12 abstractive systems, system level, Kendall"
_ONE_PAIR = "of 12 systems one pair that changes places moves tau by 3.03"
DISCOSCORE_TABLES: tuple[PaperTable, ...] = (
    _table(1, _SYSTEMS, _SUMMEVAL, _TABLE1, notes=(_SIGNED, _OTHERS, _ONE_PAIR)),
    _table(2, f"encoders of DiscoScore: {_SYSTEMS}", _SUMMEVAL, _TABLE2),
    _table(3, f"DS-Sent without the graph: {_SYSTEMS}", _SUMMEVAL, _TABLE3),
    _table(4, f"how two sets of sentence vectors are compared: {_SYSTEMS}", _SUMMEVAL, _TABLE4),
    _table(5, "summary level, mean over articles of Kendall over systems", _SUMMARIES, _TABLE5),
    _table(
        6,
        "WMT20 zh-en: MQM and pSQM, Pearson of systems and Kendall of documents",
        _MQM,
        _TABLE6,
        notes=(_SIGNED, _WMT20_FOLDER, _WMT20_UNTRIED, "a system's rating is the mean of its documents'"),
    ),
    _table(
        7,
        "Newsroom, 7 systems, system level, Kendall",
        _NEWSROOM,
        _TABLE7,
        notes=(
            "print correlates the distance itself, so that DS-Focus is positive there; ours is turned round and "
            "negative: it runs against people on Newsroom (D6.4); differences are those of absolute values",
            _OTHERS,
            "42.58 and 51.52 cannot come from 7 systems, where tau is an odd multiple of 4.76 without ties (D6.11)",
        ),
    ),
    _table(8, f"several references: {_SYSTEMS}", _SUMMEVAL, _TABLE8),
    FeatureTable(
        "disco-table9",
        "what the data is like",
        _SOURCE.format("Table 9"),
        _STATISTICS,
        _TABLE9,
        decimals=2,
        row_title="statistic",
        notes=("foci are nouns; a good one is mentioned more than once", _WMT20_FOLDER, _WMT20_UNTRIED),
    ),
    _table(10, f"BARTScore and RC together: {_SYSTEMS}", _SUMMEVAL, _TABLE10),
    FeatureTable(
        "disco-table11",
        "discourse features, % of pairs by who has more of them",
        _SOURCE.format("Table 11"),
        _SHARES,
        _TABLE11,
        decimals=2,
        scale=100.0,
        row_title="feature",
        notes=(
            "D>0: more in the reference, the opposite of Eq. 4 (D6.10)",
            "SummEval and NeR18 are not in print",
            "entities are nouns whose word vectors (--vectors FILE) have a cosine above .8",
            _WMT20_FOLDER,
            _WMT20_UNTRIED,
        ),
    ),
    _table(
        12,
        "WMT20, document level, Kendall with adequacy",
        _WMT20,
        _TABLE12,
        notes=(_SIGNED, _OTHERS, _WMT20_FOLDER, _WMT20_UNTRIED, _ADEQUACY_NOTE),
    ),
)
