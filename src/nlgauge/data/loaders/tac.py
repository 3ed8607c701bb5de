"""TAC update summarisation as JSON, as MoverScore's repository has it (D5.9).

    topic -> {references: [{id, text}, ...], annotations: [{summ_id, text, responsiveness, pyr_score, ...}, ...]}

A text is a list of sentences, joined here by a blank. The four reference writers stand among the annotated
peers too (`summ_id` is a letter): correlations are far higher with them than without, so they are kept,
marked as `human_systems`, and can be left out. People have no `pyr_mod_score`.
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from nlgauge.data.loaders.builder import TableBuilder
from nlgauge.data.loaders.folders import need_file
from nlgauge.data.table import JudgementTable, select_known
from nlgauge.errors import RecipeError
from nlgauge.files.records import Row, json_document, row_of

__all__ = ["load_tac"]

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
    for topic, item in json_document(path).items():
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
