"""Loaders of summaries and of text generated from data: REALSumm, TAC, BAGEL, SFHOTEL, SummEval and Newsroom.

REALSumm: 100 CNN/DailyMail articles, 14 abstractive and 11 extractive systems, judged by lightweight pyramids.

The published scores (`scores_dicts/abs.pkl` and `ext.pkl`) are pickles, and reading a pickle runs what it holds. So
they are turned into JSONL once, by whoever trusts them (docs/data.md), and read here as that: an article per line,

    {"doc_id": 0, "ref_summ": "<t> ... </t>",
     "system_summaries": {"bart_out.txt": {"system_summary": "<t> ... </t> <t> ... </t>",
                                           "scores": {"litepyramid_recall": 0.5, "rouge_1_f_score": 0.4, ...}}}}

Sentences stand between tags, sometimes with an outer pair around all; here they are the lines of a text. Systems of
the two files may share a name, so it is preceded by the file's: `abs/bart_out.txt`.

TAC update summarisation as JSON, as MoverScore's repository has it (D5.9).

    topic -> {references: [{id, text}, ...], annotations: [{summ_id, text, responsiveness, pyr_score, ...}, ...]}

A text is a list of sentences, joined here by a blank. The four reference writers stand among the annotated
peers too (`summ_id` is a letter): correlations are far higher with them than without, so they are kept,
marked as `human_systems`, and can be left out. People have no `pyr_mod_score`.

BAGEL, SFHOTEL, SummEval and Newsroom as JSONL.

    {"id" | "doc", "system"?, "source", "hypothesis", "references": [...], "human": {criterion: score, ...}}

Text to text (SummEval, Newsroom): `doc` is the segment and the topic. Data to text (BAGEL, SFHOTEL): `source` is
a meaning representation, many of which stand behind several utterances, so it is the topic; the system that
wrote an utterance is not told.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from pathlib import Path

from nlgauge.data.judgements import UNKNOWN_SYSTEM, JudgementTable, select_known
from nlgauge.data.loaders.common import TableBuilder, need_file
from nlgauge.errors import RecipeError
from nlgauge.io.tables import Row, read_json, read_jsonl, row_of

_GOLD = "litepyramid_recall"
_KINDS = ("abs", "ext")
_TAGS = re.compile(r"\s*</?t>\s*")

#: The scoring code of the repository stores F, P and R of BERTScore under these names, in this order.
_MISNAMED = ("bert_precision_score", "bert_recall_score", "bert_f_score")


def load_realsumm(
    path: Path,
    *,
    systems: str | Iterable[str] | None = None,
    langpairs: str | Iterable[str] | None = None,
) -> JudgementTable:
    """The folder with `abs.jsonl` and `ext.jsonl`; `systems` names one of the two (abs, ext), by default both."""
    select_known(langpairs, ["en"], "realsumm: language")
    build = TableBuilder()
    for kind in select_known(systems, _KINDS, "realsumm: systems"):
        name = str(need_file(path, f"{kind}.jsonl"))
        for row in read_jsonl(name):
            article = row.label("doc_id")
            reference = _lines(row.text("ref_summ"))
            summaries = row.inner("system_summaries")
            for system in summaries.values:
                summary = summaries.inner(system)
                scores = summary.inner("scores")
                build.add(
                    row,
                    segment=article,
                    system=f"{kind}/{system}",
                    langpair="en",
                    topic=article,
                    hypothesis=_lines(summary.text("system_summary")),
                    references=(reference,),
                    human={_GOLD: scores.number(_GOLD)},
                    released={metric: scores.number(metric) for metric in scores.values if metric != _GOLD},
                )
    released = "a released score under a wrong name: the three of BERTScore are F, precision and recall in this order"
    return build.table("realsumm", default_criterion=_GOLD, caveats=dict.fromkeys(_MISNAMED, released))


def _lines(tagged: str) -> str:
    """The sentences between tags, a line each.

    >>> _lines("<t> <t> One . </t> <t> Two . </t> </t>")
    'One .\\nTwo .'
    """
    return "\n".join(part for part in _TAGS.split(tagged) if part)


_CRITERIA = ("pyr_score", "pyr_mod_score", "responsiveness")


def load_tac(
    path: Path,
    *,
    file: str = "tac.08.mds.gen.resp-pyr",
    humans: bool = True,
    min_sentences: int = 0,
    langpairs: str | Iterable[str] | None = None,
) -> JudgementTable:
    """One file of topics; the segment of a row is its topic.

    `humans=False` leaves out the peers that people wrote. `min_sentences=2` leaves out summaries of at most one
    sentence, as the released MoverScore script does.
    """
    select_known(langpairs, ["en"], "TAC: language")
    if min_sentences < 0:
        msg = f"min_sentences must be 0 or more, got {min_sentences!r}"
        raise RecipeError(msg)
    path = need_file(path, file)
    build = TableBuilder()
    people: set[str] = set()
    short = 0
    for topic, item in read_json(path).items():
        row = row_of(item, str(path), f"topic {topic!r}")
        references = tuple(_text(reference) for reference in _objects(row, "references"))
        for peer in _objects(row, "annotations"):
            system = peer.label("summ_id")
            if system.isalpha():
                people.add(system)
                if not humans:
                    continue
            if len(_sentences(peer)) < min_sentences:
                short += 1
                continue
            build.add(
                peer,
                segment=topic,
                system=system,
                langpair="en",
                topic=topic,
                hypothesis=_text(peer),
                references=references,
                human={name: peer.number(name) for name in _CRITERIA if name in peer.values},
            )
    notes = [f"{len(people)} of the systems are people ({', '.join(sorted(people))}), who wrote the references"]
    if not humans:
        notes = ["the peers that people wrote are left out"]
    if short:
        notes.append(f"{short} summaries of fewer than {min_sentences} sentences are left out")
    return build.table(
        "tac",
        default_criterion="pyr_score",
        human_systems=frozenset(people if humans else ()),
        notes=tuple(notes),
    )


def _objects(row: Row, column: str) -> list[Row]:
    value = row.value(column)
    if not isinstance(value, list) or not value:
        row.refuse(column, "a non-empty list")
    return [row_of(item, row.file, f"{row.where}, {column!r}[{index}]") for index, item in enumerate(value)]


def _sentences(row: Row) -> list[str]:
    value = row.value("text")
    if not isinstance(value, list) or not all(isinstance(sentence, str) for sentence in value):
        row.refuse("text", "a list of sentences")
    return value


def _text(row: Row) -> str:
    # An empty list is an empty summary, which some peers did hand in.
    return " ".join(row.texts("text")) if _sentences(row) else ""


def load_judged_jsonl(
    path: Path,
    *,
    file: str,
    criteria: tuple[str, ...],
    systems: str | Iterable[str] | None = None,
    langpairs: str | Iterable[str] | None = None,
) -> JudgementTable:
    """One such file; every line must have all `criteria`, of which the first is the default gold.

    `systems` keeps the rows of some: the DiscoScore paper leaves out the extractive ones of SummEval.
    """
    select_known(langpairs, ["en"], f"{file}: language")
    name = str(need_file(path, file))
    build = TableBuilder()
    for row in read_jsonl(name):
        document = "doc" in row.values
        human = row.inner("human")
        segment = row.label("doc" if document else "id")
        build.add(
            row,
            segment=segment,
            system=row.label("system") if document else UNKNOWN_SYSTEM,
            langpair="en",
            topic=segment if document else row.text("source"),
            source=row.text("source"),
            hypothesis=row.text("hypothesis"),
            references=row.texts("references"),
            human={criterion: human.number(criterion) for criterion in criteria},
        )
    table = build.table(file, default_criterion=criteria[0])
    return table if systems is None else table.where(system=systems)
