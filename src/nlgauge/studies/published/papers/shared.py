"""Models, columns and data that several papers share."""

from __future__ import annotations

from nlgauge.studies.meta.questions import Question
from nlgauge.studies.published.tables import Column, PublishedModel

BERT_BASE = PublishedModel("bert-base-uncased", published="huggingface.co/google-bert/bert-base-uncased")
BERT_MNLI = PublishedModel(
    "MNLI_BERT",
    ("MNLI-BERT", "mnli_bert"),
    "github.com/AIPHES/emnlp19-moverscore, release 0.6, MNLI_BERT.zip (BERT-base fine-tuned on MNLI)",
)
TO_ENGLISH_17 = ("cs-en", "de-en", "fi-en", "lv-en", "ru-en", "tr-en", "zh-en")

MSCOCO = (
    "outputs of the 12 systems of the 2015 MSCOCO captioning challenge with their human scores M1 and M2: "
    "cocodataset.org; no copy with the outputs is known"
)
D2T_COLUMNS = tuple(
    Column(f"{data} {short}", Question(data, "segment", "spearman", criterion))
    for data in ("bagel", "sfhotel")
    for short, criterion in (("inf", "informativeness"), ("nat", "naturalness"), ("qual", "quality"))
)
