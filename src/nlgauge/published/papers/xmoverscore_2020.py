"""Table 1 of XMoverScore: WMT17 without references, segment level.

Rows without a re-mapping and without a language model can be computed with any multilingual model. The others need
files fitted for each language pair (`nlgauge align fit`), and are only shown; `examples/crosslingual.py` fits them
for the embedded model.
"""

from __future__ import annotations

from nlgauge.meta.question import Question
from nlgauge.published.papers.shared import TO_ENGLISH_17
from nlgauge.published.table import PaperTable, PublishedModel, TableRow, language_columns, row_values
from nlgauge.recipes.defaults import MULTILINGUAL

__all__ = ["XMOVERSCORE_TABLES"]

_SOURCE = (
    "Zhao, Glavas, Peyrard, Gao, West, Eger 2020, On the Limitations of Cross-lingual Encoders as Exposed by "
    "Reference-Free Machine Translation Evaluation (ACL), aclanthology.org/2020.acl-main.151, {}"
)
_MBERT = PublishedModel(
    "bert-base-multilingual-cased",
    ("google-bert/bert-base-multilingual-cased",),
    published="huggingface.co/google-bert/bert-base-multilingual-cased",
)
_LASER = PublishedModel("LASER", published="github.com/facebookresearch/LASER")
_FITTED = "only shown: needs re-mappings fitted for each language pair (nlgauge align fit) and their transforms="
_TUNED = "only shown: needs re-mappings, and the language model of the paper (GPT)"

_COLUMNS = language_columns(Question("wmt17"), TO_ENGLISH_17)
_COMPUTED = {
    "SentBLEU (references)": TableRow("", recipe="bleu"),
    "chrF++ (references)": TableRow("", recipe="chrf", note="chrF++ counts words too; this is chrF"),
    "MOVER-1 + M-BERT": TableRow("", recipe="xmoverscore:n=1", model=_MBERT),
    "COSINE + LASER": TableRow("", recipe="xmoverscore:unit=sentence", model=_LASER),
}
_PRINTED = """\
SentBLEU (references)       | 43.5 43.2 57.1 39.3 48.4 53.8 51.2 48.1
chrF++ (references)         | 52.3 53.4 67.8 52.0 58.8 61.4 59.3 57.9
MOVER-1 + M-BERT            | 22.7 37.1 34.8 26.0 26.7 42.5 48.2 34.0
COSINE + LASER              | 32.6 40.2 41.4 48.3 36.3 42.3 46.7 41.1
COSINE + CLP(LASER)         | 33.4 40.5 42.0 48.6 36.0 44.7 42.2 41.1
COSINE + UMD(LASER)         | 36.6 28.1 45.5 48.5 31.3 46.2 49.4 40.8
MOVER-1 + RCSLS             | 18.9 26.4 31.9 33.1 25.7 31.1 34.3 28.8
MOVER-1 + CLP(M-BERT)       | 33.4 38.6 50.8 48.0 33.9 51.6 53.2 44.2
MOVER-2 + CLP(M-BERT)       | 33.7 38.8 52.2 50.3 35.4 51.0 53.3 45.0
MOVER-1 + UMD(M-BERT)       | 22.3 38.1 34.5 30.5 31.2 43.5 48.6 35.5
MOVER-2 + UMD(M-BERT)       | 23.1 38.9 37.1 34.7 33.0 44.8 48.9 37.2
COSINE + CLP(LASER) + LM    | 48.8 46.7 63.2 66.2 51.0 54.6 48.6 54.2
COSINE + UMD(LASER) + LM    | 49.4 46.2 64.7 66.4 51.1 56.0 52.8 55.2
MOVER-2 + CLP(M-BERT) + LM  | 46.5 46.4 63.3 63.8 47.6 55.5 53.5 53.8
MOVER-2 + UMD(M-BERT) + LM  | 41.8 46.8 60.4 59.8 46.1 53.8 52.4 51.6
"""


def _row(line: str) -> TableRow:
    name, _, values = line.partition("|")
    name = name.strip()
    known = _COMPUTED.get(name, TableRow("", note=_TUNED if "LM" in name else _FITTED))
    return TableRow(name, row_values(_COLUMNS, values), recipe=known.recipe, model=known.model, note=known.note)


_TABLE1 = PaperTable(
    "xmoverscore-table1",
    "WMT17 to English, source and translation, segment level, Pearson x 100",
    _SOURCE.format("Table 1"),
    _COLUMNS,
    tuple(_row(line) for line in _PRINTED.splitlines()),
    decimals=1,
    scale=100,
    notes=(
        f"the model {MULTILINGUAL!r} was not trained on cs, fi and lv",
        "published on Moses-detokenised and truecased translations; the demo set has 435 rows of lv-en (D8.12)",
    ),
    default_model=MULTILINGUAL,
)

XMOVERSCORE_TABLES = (_TABLE1,)
