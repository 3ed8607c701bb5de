"""Summaries judged for factual correctness: QAGS and the sentence pairs of Falke et al.

QAGS (Wang, Cho, Lewis 2020): a summary per line, each sentence judged by three workers.

    mturk_cnndm.jsonl, mturk_xsum.jsonl
    {"article": "...", "summary_sentences": [{"sentence": "...", "responses": [{"worker_id": 0, "response": "yes"}]}]}

`correctness` is the share of sentences that most workers call correct, as in the paper; `yes` is the share of yes
among all responses.

Rank2019 (Falke et al. 2019): a sentence of an article with a correct and an incorrect summary sentence.

    val_sentence_pairs.json     [{"article_id", "article_sent", "correct_sent", "incorrect_sent", ...}, ...]

`correctness` is 1 or 0. The sentences of a pair are outputs of the systems `correct` and `incorrect`, so Kendall's
tau at level `topic` is 2 a - 1, where a is the share of pairs that a metric orders correctly (without ties).

Neither has reference summaries: the article (sentence) is the source and the reference.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterable
from pathlib import Path

from nlgauge.data.judgements import JudgementTable, select_known
from nlgauge.data.loaders import TableBuilder, language_files, need_file
from nlgauge.errors import FileFormatError
from nlgauge.io.tables import as_row, read_bytes, read_jsonl, whole_text

_ANSWERS = {"yes": 1, "no": 0}


def load_qags(
    path: Path, *, systems: str | Iterable[str] | None = None, langpairs: str | Iterable[str] | None = None
) -> JudgementTable:
    """Load the judged summaries; a system is the one of CNN/DailyMail (`cnndm`) or of XSum (`xsum`)."""
    select_known(langpairs, ["en"], "QAGS: language")
    if path.is_file():
        files = {path.stem.removeprefix("mturk_"): path}
    else:
        files = language_files(path, "mturk_*.jsonl", r"mturk_(\w+)\.jsonl", None)
    build = TableBuilder()
    for system in select_known(systems, list(files), "QAGS: system"):
        for number, row in enumerate(read_jsonl(files[system]), start=1):
            article = row.text("article")
            sentences, answers = [], []
            parts = row.value("summary_sentences")
            if not isinstance(parts, list) or not parts:
                row.refuse("summary_sentences", "a list of sentences")
            for part in parts:
                inner = as_row(part, row.file, row.where)
                sentences.append(inner.text("sentence"))
                responses = inner.value("responses")
                words = [response.get("response") for response in responses] if isinstance(responses, list) else []
                if not words or any(word not in _ANSWERS for word in words):
                    inner.refuse("responses", "responses 'yes' or 'no'")
                answers.append([_ANSWERS[word] for word in words])
            given = [answer for group in answers for answer in group]
            build.add(
                row,
                segment=str(number),
                system=system,
                langpair="en",
                topic=f"{system} {number}",
                source=article,
                hypothesis=" ".join(sentences),
                references=(article,),
                human={
                    "correctness": sum(2 * sum(group) > len(group) for group in answers) / len(answers),
                    "yes": sum(given) / len(given),
                },
            )
    return build.table("qags", default_criterion="correctness")


def load_sentence_pairs(path: Path, *, langpairs: str | Iterable[str] | None = None) -> JudgementTable:
    """Load the pairs of a correct and an incorrect sentence."""
    select_known(langpairs, ["en"], "Rank2019: language")
    name = os.fspath(need_file(path, "val_sentence_pairs.json"))
    try:
        pairs = json.loads(whole_text(read_bytes(name), name))
    except json.JSONDecodeError as error:
        msg = f"{name}: broken JSON ({error})"
        raise FileFormatError(msg) from error
    if not isinstance(pairs, list):
        msg = f"{name}: expected a list of sentence pairs"
        raise FileFormatError(msg)
    build = TableBuilder()
    for number, pair in enumerate(pairs, start=1):
        row = as_row(pair, name, f"pair {number}")
        article = row.text("article_sent")
        for kind, gold in (("correct", 1.0), ("incorrect", 0.0)):
            build.add(
                row,
                segment=str(number),
                system=kind,
                langpair="en",
                source=article,
                hypothesis=row.text(f"{kind}_sent"),
                references=(article,),
                human={"correctness": gold},
            )
    return build.table("rank2019", default_criterion="correctness")
