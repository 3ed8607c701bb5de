"""Loaders of single data sets in their released form: summaries, data-to-text, and quality of translations.

REALSumm: 100 CNN/DailyMail articles, 14 abstractive and 11 extractive systems, judged by lightweight pyramids.

The published scores (`scores_dicts/abs.pkl` and `ext.pkl`) are pickles, and reading a pickle can run code. Users who
trust the files convert them to JSONL once (docs/data.md); the loader reads that, an article per line:

    {"doc_id": 0, "ref_summ": "<t> ... </t>",
     "system_summaries": {"bart_out.txt": {"system_summary": "<t> ... </t> <t> ... </t>",
                                           "scores": {"litepyramid_recall": 0.5, "rouge_1_f_score": 0.4, ...}}}}

Sentences are between tags, sometimes with an outer pair around all; here each is a line of the text. Systems of the
two files may have the same name, so the name of the file comes first: `abs/bart_out.txt`.

TAC update summarisation as JSON, from MoverScore's repository (D5.9).

    topic -> {references: [{id, text}, ...], annotations: [{summ_id, text, responsiveness, pyr_score, ...}, ...]}

A text is a list of sentences, joined here by a space. The four reference writers are among the annotated peers
(`summ_id` is a letter). Correlations are far higher with them than without, so they are kept, marked as
`human_systems`, and can be dropped. They have no `pyr_mod_score`.

BAGEL, SFHOTEL, SummEval and Newsroom as JSONL.

    {"id" | "doc", "system"?, "source", "hypothesis", "references": [...], "human": {criterion: score, ...}}

Text to text (SummEval, Newsroom): `doc` is the segment and the topic. Data to text (BAGEL, SFHOTEL): `source` is
a meaning representation, often shared by several utterances, so it is the topic; the data does not name the system
that wrote an utterance.

MLQE-PE: direct assessments of machine translation without references, one tar.gz per language pair.

    {pair}-test.tar.gz with {pair}/test20.{pair}.df.short.tsv
        index|segid original translation scores mean z_scores z_mean model_scores, no quoting
    and {pair}/test20.doc_ids, one per row

Gold is `z_mean`, the mean of the raters' standardised scores. `model_scores` is the log-likelihood of the output
under the translation model. It was once used as gold by mistake (D22), so it loads as a released score and raises a
warning when used as gold.

Multi30k 2018: translations of image captions into German and French with standardised human scores.

    MMTsourcedict.json                  image -> English caption
    MMTgolddict_{de|fr}.json            image -> reference
    MMTtranslationdict_{de|fr}.json     image -> [[translation, z-score], ...]

Some translations are the name of the image file (`30167206992_a67e763356.jpg`). Such rows have a human score but no
text; they are dropped by default, with their number in a warning and a note.

Eval4NLP 2021: translations with wrong words marked, and the corresponding words of the source.

    ro-en-dev.tar.gz
        dev.src, dev.mt                 sources and translations, tokenised, a sentence per line
        dev.src-tags, dev.tgt-tags      0 or 1 per word: 1 is an error
        dev.da                          direct assessment of the sentence
"""

from __future__ import annotations

import re
import warnings
from collections.abc import Iterable
from pathlib import Path

from nlgauge.data.judgements import UNKNOWN_SYSTEM, ErrorSpan, JudgementTable, select_known
from nlgauge.data.loaders import TableBuilder, archive_members, language_files, need_file
from nlgauge.errors import DataWarning, FileFormatError, RecipeError
from nlgauge.io.tables import Record, Row, as_row, read_json, read_jsonl, read_tsv, split_lines, unequal_lines
from nlgauge.text.words import split_words

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
    """Load the folder with `abs.jsonl` and `ext.jsonl`; `systems` selects one of the two (abs, ext)."""
    select_known(langpairs, ["en"], "realsumm: language")
    build = TableBuilder()
    for kind in select_known(systems, _KINDS, "realsumm: kind of system"):
        name = str(need_file(path, f"{kind}.jsonl"))
        for row in read_jsonl(name):
            article = row.label("doc_id")
            reference = _split_sentences(row.text("ref_summ"))
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
                    hypothesis=_split_sentences(summary.text("system_summary")),
                    references=(reference,),
                    human={_GOLD: scores.number(_GOLD)},
                    released={metric: scores.number(metric) for metric in scores.values if metric != _GOLD},
                )
    caveat = "a mislabelled released score: the three columns of BERTScore are F, precision and recall in this order"
    return build.table("realsumm", default_criterion=_GOLD, caveats=dict.fromkeys(_MISNAMED, caveat))


def _split_sentences(tagged: str) -> str:
    """Put each sentence between tags on a line.

    >>> _split_sentences("<t> <t> One . </t> <t> Two . </t> </t>")
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
    """Load a file of topics; the segment of a row is its topic.

    `humans=False` drops the peers written by people. `min_sentences=2` drops summaries of at most one sentence, like
    the released MoverScore script.
    """
    select_known(langpairs, ["en"], "TAC: language")
    if min_sentences < 0:
        msg = f"min_sentences must be 0 or more, got {min_sentences!r}"
        raise RecipeError(msg)
    path = need_file(path, file)
    build = TableBuilder()
    writers: set[str] = set()
    short = 0
    for topic, item in read_json(path).items():
        row = as_row(item, str(path), f"topic {topic!r}")
        references = tuple(_read_text(reference) for reference in _read_objects(row, "references"))
        for peer in _read_objects(row, "annotations"):
            system = peer.label("summ_id")
            if system.isalpha():
                writers.add(system)
                if not humans:
                    continue
            if len(_read_sentences(peer)) < min_sentences:
                short += 1
                continue
            build.add(
                peer,
                segment=topic,
                system=system,
                langpair="en",
                topic=topic,
                hypothesis=_read_text(peer),
                references=references,
                human={name: peer.number(name) for name in _CRITERIA if name in peer.values},
            )
    notes = [f"{len(writers)} of the systems are the people who wrote the references ({', '.join(sorted(writers))})"]
    if not humans:
        notes = ["peers written by people are dropped"]
    if short:
        notes.append(f"{short} summaries of fewer than {min_sentences} sentences are dropped")
    return build.table(
        "tac",
        default_criterion="pyr_score",
        human_systems=frozenset(writers if humans else ()),
        notes=tuple(notes),
    )


def _read_objects(row: Row, column: str) -> list[Row]:
    value = row.value(column)
    if not isinstance(value, list) or not value:
        row.refuse(column, "a non-empty list")
    return [as_row(item, row.file, f"{row.where}, {column!r}[{index}]") for index, item in enumerate(value)]


def _read_sentences(row: Row) -> list[str]:
    value = row.value("text")
    if not isinstance(value, list) or not all(isinstance(sentence, str) for sentence in value):
        row.refuse("text", "a list of sentences")
    return value


def _read_text(row: Row) -> str:
    # An empty list is an empty summary, which some peers submitted.
    return " ".join(row.texts("text")) if _read_sentences(row) else ""


def load_judged_jsonl(
    path: Path,
    *,
    file: str,
    criteria: tuple[str, ...],
    systems: str | Iterable[str] | None = None,
    langpairs: str | Iterable[str] | None = None,
) -> JudgementTable:
    """Load a JSONL file; every line has all `criteria`, and the first criterion is the default gold.

    `systems` selects systems: the DiscoScore paper drops the extractive ones of SummEval.
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


_COLUMNS = ("original", "translation", "mean", "z_mean", "model_scores")
_CAVEAT = "a log-likelihood of the translation model, not a human score"


def load_mlqe(path: Path, *, langpairs: str | Iterable[str] | None = None) -> JudgementTable:
    """Load the archives `{pair}-test.tar.gz` of a folder, with the document of each segment."""
    build = TableBuilder()
    files = language_files(path, "*-test.tar.gz", r"([a-z]{2}-[a-z]{2})-test\.tar\.gz", langpairs)
    for langpair, file in files.items():
        table_name = f"test20.{langpair.replace('-', '')}.df.short.tsv"
        (name, data), (ids_name, ids) = archive_members(file, table_name, "test20.doc_ids")
        rows = list(read_tsv(name, data=data, needed=_COLUMNS))
        _, *documents = split_lines(ids, ids_name)  # the first line is a header
        if len(documents) != len(rows):
            raise unequal_lines(ids_name, len(documents) + 1, name, len(rows) + 1)
        for row, document in zip(rows, documents, strict=True):
            build.add(
                row,
                segment=row.label("index" if "index" in row.values else "segid"),
                langpair=langpair,
                source=row.text("original"),
                hypothesis=row.text("translation"),
                document=document,
                human={"z_mean": row.number("z_mean"), "mean": row.number("mean")},
                released={"model_scores": row.number("model_scores")},
            )
    return build.table("mlqe-pe", default_criterion="z_mean", caveats={"model_scores": _CAVEAT})


_FILE_NAME = re.compile(r"\S+\.(jpe?g|png)", re.IGNORECASE)


def load_multi30k(
    path: Path, *, keep_file_names: bool = False, langpairs: str | Iterable[str] | None = None
) -> JudgementTable:
    """Load the files of a folder; a segment is `IMAGE#N`, the N-th translation of the image, its topic the image.

    `keep_file_names=True` keeps rows whose translation is the name of a file, as in published figures.
    """
    name = r"MMTtranslationdict_([a-z]{2})\.json"
    files = language_files(path, "MMTtranslationdict_*.json", name, langpairs, pair=r"en-\1")
    sources = read_json(need_file(path, "MMTsourcedict.json"))
    build = TableBuilder()
    notes: list[str] = []
    for langpair, file in files.items():
        gold = read_json(need_file(path, f"MMTgolddict_{langpair[-2:]}.json"))
        file_names = _add_language(build, file, langpair, sources, gold, keep=keep_file_names)
        if file_names:
            treatment = "kept" if keep_file_names else "dropped"
            notes.append(f"{langpair}: {file_names} translations are names of image files, not text; {treatment}")
    if notes:
        warnings.warn("multi30k: " + "; ".join(notes), DataWarning, stacklevel=2)
    return build.table("multi30k", default_criterion="z_score", notes=tuple(notes))


def _add_language(
    build: TableBuilder, path: Path, langpair: str, sources: Record, gold: Record, *, keep: bool
) -> int:
    file_names = 0
    for image, judged in read_json(path).items():
        row = Row(str(path), f"item {image!r}", {"translations": judged, "source": sources.get(image)})
        if image not in sources or image not in gold:
            msg = f"{row.location()}: the image has no {'source' if image not in sources else 'reference'}"
            raise FileFormatError(msg)
        if not isinstance(judged, list):
            row.refuse("translations", "a list of [translation, score]")
        reference = Row(str(path), row.where, {"reference": gold[image]}).text("reference")
        for index, pair in enumerate(judged):
            if not isinstance(pair, list) or len(pair) != 2:
                row.refuse("translations", "a list of [translation, score]")
            cells = Row(str(path), f"{row.where}[{index}]", {"translation": pair[0], "score": pair[1]})
            text = cells.text("translation")
            if _FILE_NAME.fullmatch(text):
                file_names += 1
                if not keep:
                    continue
            build.add(
                cells,
                segment=f"{image}#{index}",
                langpair=langpair,
                topic=image,
                source=row.text("source"),
                hypothesis=text,
                references=(reference,),
                human={"z_score": cells.number("score")},
            )
    return file_names


_SPLITS = ("dev", "test21")
_FILES = ("src", "mt", "src-tags", "tgt-tags", "da")


def load_eval4nlp(path: Path, *, split: str = "", langpairs: str | Iterable[str] | None = None) -> JudgementTable:
    """Load the archives `{pair}-{split}.tar.gz` of a folder; the errors are spans of words.

    `split` is dev or test21; it is required if a language pair has both.
    """
    if split not in ("", *_SPLITS):
        msg = f"split must be one of {', '.join(_SPLITS)}, got {split!r}"
        raise RecipeError(msg)
    name = rf"([a-z]{{2}}-[a-z]{{2}})-(?:{split or '|'.join(_SPLITS)})\.tar\.gz"
    for langpair in language_files(path, "*.tar.gz", name, None):
        if not split and all((path / f"{langpair}-{known_split}.tar.gz").is_file() for known_split in _SPLITS):
            msg = f"{path}: {langpair} has both {' and '.join(_SPLITS)}; choose one, such as split={_SPLITS[0]}"
            raise RecipeError(msg)
    build = TableBuilder()
    for langpair, file in language_files(path, "*.tar.gz", name, langpairs).items():
        _add_tagged_archive(build, file, langpair)
    return build.table("eval4nlp", default_criterion="da")


def _add_tagged_archive(build: TableBuilder, path: Path, langpair: str) -> None:
    split = path.name.removesuffix(".tar.gz").rpartition("-")[2]
    members = archive_members(path, *(f"{split}.{kind}" for kind in _FILES))
    columns = {kind: split_lines(data, name) for kind, (name, data) in zip(_FILES, members, strict=True)}
    for kind, (name, _) in zip(_FILES, members, strict=True):
        if len(columns[kind]) != len(columns["src"]):
            raise unequal_lines(name, len(columns[kind]), members[0][0], len(columns["src"]))
    for number, values in enumerate(zip(*columns.values(), strict=True), start=1):
        row = Row(f"{path}", f"line {number}", dict(zip(_FILES, values, strict=True)))
        build.add(
            row,
            segment=str(number),
            langpair=langpair,
            source=row.text("src"),
            hypothesis=row.text("mt"),
            hypothesis_errors=_read_errors(row, "mt", "tgt-tags"),
            source_errors=_read_errors(row, "src", "src-tags"),
            human={"da": row.number("da")},
        )


def _read_errors(row: Row, text: str, tags: str) -> tuple[ErrorSpan, ...]:
    words, marks = split_words(row.text(text), "blanks"), row.text(tags).split()
    if len(words) != len(marks) or not set(marks) <= {"0", "1"}:
        expected = f"expected 0 or 1 for each of the {len(words)} words of {text!r}"
        msg = f"{row.location(tags)}: {expected}, got {len(marks)} tags"
        raise FileFormatError(msg)
    return tuple(ErrorSpan(word.start, word.end) for word, mark in zip(words, marks, strict=True) if mark == "1")
