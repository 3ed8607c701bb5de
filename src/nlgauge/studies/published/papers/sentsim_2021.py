"""Tables of SentSim, and Table 4 of the reproducibility study, which corrects its Table 5.

On MLQE-PE the published evaluation took `model_scores`, the translation model's log-likelihood of its own output, for
the human score (D22). Both targets stand side by side: the columns of the language pairs are correlations with people
(`z_mean`), those called `wrong` with the log-likelihood. Tables 1 and 6 have scores of single sentences and are
not carried; docs/published-tables.md has the command for them.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from nlgauge.core.vector_metric import MULTILINGUAL
from nlgauge.studies.meta.questions import Question
from nlgauge.studies.published.tables import (
    Column,
    Mean,
    PaperTable,
    PublishedModel,
    TableRow,
    language_columns,
    printed_tables,
)

_SOURCE = (
    "Song, Zhao, Specia 2021, SentSim: Crosslingual Semantic Evaluation of Machine Translation (NAACL), "
    "aclanthology.org/2021.naacl-main.252, {}"
)
_PRINTED = printed_tables("sentsim_2021")


def _hub(name: str) -> PublishedModel:
    return PublishedModel(name, published=f"huggingface.co/FacebookAI/{name}")


_XLMR, _ROBERTA, _ROBERTA_BASE = _hub("xlm-roberta-base"), _hub("roberta-large"), _hub("roberta-base")

#: The published models of sentence vectors.
_SENTENCES = {
    _XLMR: "sentence-transformers/xlm-r-bert-base-nli-stsb-mean-tokens",
    _ROBERTA: "sentence-transformers/roberta-large-nli-stsb-mean-tokens",
    _ROBERTA_BASE: "sentence-transformers/roberta-base-nli-stsb-mean-tokens",
}

_READ_BY_MUSE = ("en-de", "en-zh", "ru-en")
_MUSE = (
    f"the model {MULTILINGUAL!r} was not trained on cs, et, fi, lv, ne, ro, si: it gives those little more than noise"
)

_PARTS = {"WMD": "wmd", "BERTScore": "bertscore", "SSS": "sss", "SMD": "smd"}
_OTHER = "only shown: not part of nlgauge"
_PLAIN_BLEU = (
    "settings of BLEU are not given in the paper; no smoothing, and words split at blanks, are nearest to print"
)
_WMDO = "only shown: nlgauge matches words for it by the flow or by equality, not by METEOR"


def _row(name: str, published: Mapping[str, float], *, model: PublishedModel, against: str) -> TableRow:
    """A row in print; a part alone is shown as it is before scaling."""
    combine = "+".join(_PARTS.get(part, "") for part in name.split(" + "))
    if name == "BLEU" and against == "refs":
        return TableRow(name, published, recipe="bleu:smooth=none,tokenize=none", note=_PLAIN_BLEU)
    if "" in combine.split("+"):
        return TableRow(name, published, note=_WMDO if name.startswith("WMD o") else _OTHER)
    recipe = f"sentsim:combine={combine},against={against}"
    sentence = f",sentence={_SENTENCES[model]}" if "sss" in combine else ""
    return TableRow(
        name,
        published,
        recipe=recipe + sentence,
        recipe_for_other_models=recipe,
        component=_PARTS.get(name, ""),
        model=model,
    )


def _rows(
    published: Mapping[str, Mapping[str, float]], *, model: PublishedModel = _XLMR, against: str = "source"
) -> tuple[TableRow, ...]:
    return tuple(_row(name, values, model=model, against=against) for name, values in published.items())


_WRONG = "wrong "
_LIKELIHOOD = TableRow(
    "model_scores",
    released="model_scores",
    note="the log-likelihood that stood in for the human score; beside itself it has 1",
)
_TARGETS = (
    "columns called 'wrong' are correlations with model_scores, a log-likelihood, not with people (D22)",
    f"'avg of 3' is that of {', '.join(_READ_BY_MUSE)}, whose languages {MULTILINGUAL!r} knows",
    _MUSE,
)


def _mlqe_columns(order: tuple[str, ...]) -> tuple[Column | Mean, ...]:
    return (
        *language_columns(Question("mlqe-pe"), order),
        *language_columns(Question("mlqe-pe", criterion="model_scores"), order, prefix=_WRONG),
        Mean("avg of 3", _READ_BY_MUSE),
        Mean(f"{_WRONG}avg of 3", tuple(_WRONG + langpair for langpair in _READ_BY_MUSE)),
    )


def mlqe_table(
    id_: str,
    title: str,
    source: str,
    published: Mapping[str, Mapping[str, float]],
    *,
    shown: Mapping[str, Mapping[str, float]] | None = None,
    order: tuple[str, ...] = ("en-de", "en-zh", "ru-en", "ro-en", "et-en", "ne-en", "si-en"),
    per_cent: bool = True,
) -> PaperTable:
    """A table of MLQE-PE with both targets; `shown` are rows that are only shown, `order` that of the print."""
    return PaperTable(
        id_,
        title,
        source,
        _mlqe_columns(order),
        (*_rows(published), *(TableRow(name, values, note=_OTHER) for name, values in (shown or {}).items()),
         _LIKELIHOOD),
        decimals=2 if per_cent else 3,
        scale=100 if per_cent else 1,
        notes=_TARGETS,
        default_model=MULTILINGUAL,
    )  # fmt: skip


def _wrong(table: str, names: tuple[str, ...]) -> dict[str, dict[str, float]]:
    """Rows whose printed values are correlations with the log-likelihood."""
    rows = _PRINTED[table].rows
    return {name: {_WRONG + column: value for column, value in rows[name].items()} for name in names}


def _multi30k() -> PaperTable:
    """Table 2: source and translation on the left, reference and translation on the right."""
    rows = []
    for name, values in _PRINTED["2"].rows.items():
        left = {column: value for column, value in values.items() if not column.startswith("REF")}
        right = {column.removeprefix("REF "): value for column, value in values.items() if column.startswith("REF")}
        rows += [_row(name, left, model=_XLMR, against="source")] if left else []
        rows.append(replace(_row(name, right, model=_XLMR, against="refs"), name=f"{name}, REF-MT"))
    return PaperTable(
        "sentsim-table2",
        "Multi30k, source or reference and translation, Pearson",
        _SOURCE.format("Table 2"),
        language_columns(Question("multi30k"), ("en-de", "en-fr")),
        tuple(rows),
        notes=(
            "the printed source column is that of the first release (distance_as=negative, French entities cleaned); "
            "the later code gives .499 and .450 (D23)",
            "translations that are names of image files are left out here",
        ),
        default_model=MULTILINGUAL,
    )


_SEVEN = ("de-en", "zh-en", "fi-en", "lv-en", "ru-en", "cs-en", "tr-en")
_FOUR = ("de-en", "zh-en", "ru-en", "tr-en")
_NINE = ("de-en", "zh-en", "fi-en", "lv-en", "ru-en", "cs-en", "en-ru", "en-zh", "tr-en")


def _across(number: int, what: str) -> PaperTable:
    """WMT17, source and translation: nine pairs in print, seven here."""
    columns: tuple[Column | Mean, ...] = tuple(
        # The package to English has no texts of the other two.
        Column(pair, Question("wmt17") if pair.endswith("-en") else None, pair)
        for pair in _NINE
    )
    published = {
        name: {**values, "avg of 7": round(sum(values[pair] for pair in _SEVEN) / 7, 3)}
        for name, values in _PRINTED[str(number)].rows.items()
    }
    return PaperTable(
        f"sentsim-table{number}",
        f"WMT17, source and translation, segment level, Pearson{what}",
        _SOURCE.format(f"Table {number}"),
        (*columns, Mean("avg", _NINE), Mean("avg of 7", _SEVEN), Mean("avg of 4", _FOUR)),
        _rows(published),
        notes=(
            "'avg' is that of nine pairs, of which en-ru and en-zh are not part of the package; 'avg of 7' is that "
            "of the others, its published values computed from the printed ones",
            f"'avg of 4' is that of the pairs whose languages {MULTILINGUAL!r} knows",
            _MUSE,
        ),
        default_model=MULTILINGUAL,
    )


def _within(number: int, what: str, model: PublishedModel) -> PaperTable:
    """WMT17, reference and translation."""
    return PaperTable(
        f"sentsim-table{number}",
        f"WMT17 to English, reference and translation, segment level, Pearson{what}",
        _SOURCE.format(f"Table {number}"),
        language_columns(Question("wmt17"), _SEVEN),
        _rows(_PRINTED[str(number)].rows, model=model, against="refs"),
    )


def _quality(number: int, what: str, shown: tuple[str, ...] = ()) -> PaperTable:
    """MLQE-PE: what is computed was printed beside the wrong target; what is shown, beside people."""
    rows = _PRINTED[str(number)].rows
    return mlqe_table(
        f"sentsim-table{number}",
        f"MLQE-PE (WMT20), source and translation, Pearson with people, and with what was taken for them{what}",
        _SOURCE.format(f"Table {number}"),
        _wrong(str(number), tuple(name for name in rows if name not in shown)),
        shown={name: rows[name] for name in shown},
        order=("ne-en", "en-de", "et-en", "en-zh", "ro-en", "si-en", "ru-en"),
        per_cent=False,
    )


_WITH_SMD = ": the distance of mean vectors (SMD)"
SENTSIM_TABLES = (
    _multi30k(),
    _across(3, ""),
    _within(4, "", _ROBERTA),
    _quality(5, "", ("Leaderboard baseline", "D-TP", "D-Lex-Sim")),
    _within(7, ", a smaller model", _ROBERTA_BASE),
    _across(8, _WITH_SMD),
    _within(9, _WITH_SMD, _ROBERTA),
    _quality(10, _WITH_SMD),
)
