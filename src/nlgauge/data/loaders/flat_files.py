"""Loaders of flat files: sentence pairs, a user's own table, factor scores and frames of metric scores.

Pairs of English sentences without a system: STS-B, and triples with a paraphrase and a lookalike.

    sts_en.tsv        score, first, second                     no header; score 0 to 5
    out_paws.tsv      label, A, B or C, nine metric scores     no header, quoted as CSV; label 1: a paraphrase, 0: not
    out_freitag.tsv   the same; C is A with its nouns in another order

Each A is in two lines, with its paraphrase B and with its lookalike C, so A is the topic.
The metric columns are those of the linguistic-factor study, without its unused one (D13; their
order is confirmed by the shares of B over C that the study's scores give).

A user's own judgements: a TSV or CSV file with a header, or JSONL, with columns named by the user.

Pairs of sentences with linguistic factors and metric scores, as released by the linguistic-factor study.

    out_wmt_mono.tsv    hypothesis, reference, then columns of numbers         no header; tabs, quoted as CSV
    out_wmt_de.tsv      foreign sentence, English sentence, then columns

Columns are those of the study (Kaster, Zhao, Eger 2021; its metrics: D12 and D13):

    sem         human score                         mor          cosine of mean retrofitted word vectors
    syn         1 - tree edit distance / nodes      lex          BLEU-1; of a foreign sentence its translation
    lex_words   the same, translated word by word   fasttext     not used in the study

Scores of metrics without the texts: a CSV per metric, a line per instance, a column per system.

    M0,M1,M2
    0.37777777777777777,0.39047619047619053,0.4368932038834952

The tables behind *Better than Average* (Peyrard, Zhao, Eger, West 2021) are pickles of such frames; each is read
from a CSV with all digits, because a rounded copy has ties that the scores do not have. Human scores of the same
outputs (the pyramid scores of TAC) are one more frame. Higher is better for all scores: JS is negated.
"""

from __future__ import annotations

import ast
import math
import re
from collections.abc import Collection, Iterable, Sequence
from pathlib import Path

from nlgauge.data.judgements import UNKNOWN_SYSTEM, JudgementTable, select_known
from nlgauge.data.loaders import FOLDER_ADVICE, TableBuilder, need_file, quote_notes
from nlgauge.errors import FileFormatError, InputError, RecipeError
from nlgauge.io.tables import (
    Row,
    check_header,
    is_spreadsheet_quoted,
    parse_table,
    read_bytes,
    read_csv,
    read_tsv,
    remove_quotes,
    suffix_format,
)

_ENGLISH = (
    "sem", "syn", "mor", "lex", "fasttext", "bertscore", "laser", "muse", "moverscore", "sbert", "sbert_wk", "labse",
    "msbert", "bleurt",
)  # fmt: skip
_GERMAN = ("sem", "syn", "mor", "lex_words", "lex", "fasttext", "laser", "muse", "xmoverscore", "labse", "msbert")
#: Chinese and English words have no morphological features in common, so there is no MOR.
_CHINESE = tuple(name for name in _GERMAN if name != "mor")

_COLUMNS = {"mono": _ENGLISH, "de": _GERMAN, "zh": _CHINESE}
_PAWS_METRICS = _ENGLISH[_ENGLISH.index("bertscore") :]


def load_sts(
    path: Path, *, file: str = "sts_en.tsv", unquote: bool = False, langpairs: str | Iterable[str] | None = None
) -> JudgementTable:
    """STS-B: the first sentence is the hypothesis, the second the reference; a segment's id is its line, from 1.

    `unquote=True` removes spreadsheet quotes around sentences.
    """
    select_known(langpairs, ["en"], "STS: language")
    name = str(need_file(path, file))
    build = TableBuilder()
    quoted = 0
    rows = read_tsv(name, columns=("score", "first", "second"))
    for line, row in enumerate(rows, start=1):
        sentences = [row.text("first"), row.text("second")]
        quoted += sum(map(is_spreadsheet_quoted, sentences))
        first, second = map(remove_quotes, sentences) if unquote else sentences
        build.add(
            row,
            segment=str(line),
            langpair="en",
            hypothesis=first,
            references=(second,),
            human={"similarity": row.number("score")},
        )
    notes = quote_notes(quoted, "sentences", unquote=unquote)
    return build.table("sts", default_criterion="similarity", notes=notes)


def load_paws(
    path: Path, *, file: str = "out_paws.tsv", langpairs: str | Iterable[str] | None = None
) -> JudgementTable:
    """Load PAWS or triples in its format: A is the reference, B or C the hypothesis; gold is `paraphrase`, 1 or 0."""
    select_known(langpairs, ["en"], "PAWS: language")
    name = str(need_file(path, file))
    build = TableBuilder()
    rows = read_csv(name, columns=("label", "first", "second", *_PAWS_METRICS), separator="\t")
    for line, row in enumerate(rows, start=1):
        build.add(
            row,
            segment=str(line),
            langpair="en",
            topic=row.text("first"),
            hypothesis=row.text("second"),
            references=(row.text("first"),),
            human={"paraphrase": float(row.integer("label", low=0, high=1))},
            released={metric: row.number(metric) for metric in _PAWS_METRICS},
        )
    return build.table(Path(file).stem.removeprefix("out_"), default_criterion="paraphrase")


#: Columns of labelled pairs, each with its names in PAWS and in QQP.
_PAIR_COLUMNS = (("sentence1", "question1"), ("sentence2", "question2"), ("label", "is_duplicate"))


def load_labelled_pairs(
    path: Path, *, file: str, name: str = "", unquote: bool = False, langpairs: str | Iterable[str] | None = None
) -> JudgementTable:
    """Load labelled pairs of sentences in the layout of PAWS or QQP; gold is `paraphrase`, 1 or 0.

    The first sentence is the reference, the second the hypothesis; a segment's id is that of the file. PAWS-QQP is
    generated with sentences like `b'...'`, which become their text. `unquote=True` reads the file as CSV between
    tabs, for copies of QQP with quotes around texts.
    """
    select_known(langpairs, ["en"], "labelled pairs: language")
    place = need_file(path, file)
    rows = list(read_csv(place, separator="\t") if unquote else read_tsv(place))
    columns = list(rows[0].values) if rows else []
    chosen = [next((name for name in names if name in columns), names[0]) for names in _PAIR_COLUMNS]
    check_header(columns, ["id", *chosen], str(place))
    first, second, label = chosen
    build = TableBuilder()
    literals = 0
    for row in rows:
        sentences = [row.text(first), row.text(second)]
        texts = [_text_of_literal(text) for text in sentences]
        literals += texts != sentences
        build.add(
            row,
            segment=row.label("id"),
            langpair="en",
            hypothesis=texts[1],
            references=(texts[0],),
            human={"paraphrase": float(row.integer(label, low=0, high=1))},
        )
    notes = (f"{literals} pairs with sentences like b'...', which were decoded",) if literals else ()
    return build.table(name or place.stem, default_criterion="paraphrase", notes=notes)


def _text_of_literal(text: str) -> str:
    r"""Decode a Python byte string; return other texts unchanged.

    >>> _text_of_literal(r"b'a caf\xc3\xa9'"), _text_of_literal("b or c")
    ('a café', 'b or c')
    """
    if not re.fullmatch(r"b(['\"]).*\1", text, re.DOTALL):
        return text
    try:
        literal = ast.literal_eval(text)
        return literal.decode("utf-8") if isinstance(literal, bytes) else text
    except (SyntaxError, ValueError):
        return text


def load_custom(
    path: Path,
    *,
    hypothesis: str = "hypothesis",
    references: str | Sequence[str] = "reference",
    human: str | Sequence[str] = "score",
    gold: str | None = None,
    released: str | Sequence[str] = (),
    distances: str | Sequence[str] = (),
    source: str | None = None,
    segment: str | None = None,
    system: str | None = None,
    topic: str | None = None,
    document: str | None = None,
    langpair: str | None = None,
    langpairs: str | Iterable[str] | None = None,
    name: str | None = None,
) -> JudgementTable:
    """Load a user's own file; every option names one or more columns (keys in JSONL).

    By default outputs are in column `hypothesis`, references in `reference` and human scores in `score`. Without
    `segment` the id is the row number, from 1; without `langpair` the language is "und" (not determined). `distances`
    names the columns of `released` for which lower is better. Gold is the first of `human` unless `gold` names
    another. A missing score (an empty cell, null) is NaN; any other text that is not a number is an error.
    `references=()` (or an empty name) is for data without references; a JSONL key may contain a list of them.
    """
    file = str(path)
    form = suffix_format(file)
    if form == "text":
        problem = "is a folder" if path.is_dir() else "has an unknown extension"
        msg = f"your own data needs a .tsv, .csv or .jsonl file (also .gz), such as --at FILE; {file} {problem}"
        raise InputError(msg)
    reference_columns, criteria, metrics = (_as_names(value) for value in (references, human, released))
    if not criteria:
        msg = f"{file}: name at least one column of human scores (human=...)"
        raise RecipeError(msg)
    single = {"hypothesis": hypothesis, "source": source, "segment": segment, "system": system}
    single |= {"topic": topic, "document": document, "langpair": langpair}
    several = {"references": reference_columns, "human": criteria, "released": metrics}
    chosen = [(option, column) for option, column in single.items() if column is not None]
    chosen += [(option, column) for option, columns in several.items() for column in columns]
    header, rows = parse_table(read_bytes(file), file, form)
    _check_columns(chosen, header, f"{file}, line 1")
    if form != "jsonl":
        check_header(header, [column for _, column in chosen], file)
    build = TableBuilder()
    for number, row in enumerate(rows, start=1):
        _check_columns(chosen, row.values, row.location())
        build.add(
            row,
            segment=str(number) if segment is None else row.label(segment),
            system=UNKNOWN_SYSTEM if system is None else row.label(system),
            langpair="und" if langpair is None else row.label(langpair),
            source=None if source is None else row.text(source),
            topic=None if topic is None else row.label(topic),
            document=None if document is None else row.label(document),
            hypothesis=row.text(hypothesis),
            references=tuple(text for column in reference_columns for text in row.texts(column)),
            human={column: _read_score(row, column) for column in criteria},
            released={column: _read_score(row, column) for column in metrics},
        )
    (default,) = select_known(criteria[0] if gold is None else gold, criteria, f"{file}: gold criterion")
    table = build.table(name or path.name, default_criterion=default, distances=frozenset(_as_names(distances)))
    return table if langpairs is None else table.where(langpair=langpairs)


#: Contents of a column by its option, for messages.
_CONTENTS = {
    "hypothesis": " with outputs",
    "references": " with references",
    "human": " with human ratings",
    "released": " with metric scores",
    "source": " with sources",
}


def _check_columns(chosen: Iterable[tuple[str, str]], columns: Collection[str], location: str) -> None:
    for option, column in chosen:
        if column not in columns:
            msg = (
                f"{location}: no column {column!r}{_CONTENTS.get(option, '')}; the columns are "
                f"{', '.join(map(repr, columns))}; name it with --set {option}=COLUMN (Python: {option}='COLUMN')"
            )
            raise FileFormatError(msg)


def _as_names(value: str | Sequence[str]) -> tuple[str, ...]:
    if isinstance(value, str):
        return (value,) if value else ()
    return tuple(value)


def _read_score(row: Row, column: str) -> float:
    return math.nan if row.value(column) in ("", None) else row.number(column)


def load_factor_scores(
    path: Path, *, files: str, across: str = "", langpairs: str | Iterable[str] | None = None
) -> JudgementTable:
    """Load the files of a data set (`wmt`, `sts`, `mlqe`); a segment's id is its line, from 1.

    `across` is empty for English pairs. Across languages it is the position of English, `en-` or `-en`, and sentences
    are compared with sources.
    """
    kinds = {"en": "mono"}
    if across:
        kinds = {(f"{name}-en" if across == "-en" else f"en-{name}"): name for name in ("de", "zh")}
    langpairs_found = [
        pair for pair, kind in kinds.items() if path.is_dir() or path.name == f"out_{files}_{kind}.tsv"
    ]
    build = TableBuilder()
    for pair in select_known(langpairs, langpairs_found, f"out_{files}: language pair"):
        kind = kinds[pair]
        name = str(need_file(path, f"out_{files}_{kind}.tsv"))
        columns = _COLUMNS[kind]
        rows = read_csv(name, columns=("first", "second", *columns), separator="\t")
        for line, row in enumerate(rows, start=1):
            first, second = row.text("first"), row.text("second")
            hypothesis, compared = (second, first) if across == "-en" else (first, second)
            build.add(
                row,
                segment=str(line),
                langpair=pair,
                hypothesis=hypothesis,
                references=() if across else (compared,),
                source=compared if across else None,
                human={"sem": row.number("sem")},
                released={column: row.number(column) for column in columns[1:]},
            )
    return build.table(f"out_{files}", default_criterion="sem")


def load_score_frames(
    path: Path, *, folder: str, human: str = "", langpairs: str | Iterable[str] | None = None
) -> JudgementTable:
    """Load the frames of a folder as released scores; `human` is the file of pyramid scores, if any.

    Rows have no texts, so these scores are all there is to analyse. A segment id is a line number.
    """
    select_known(langpairs, ["en"], "score frames: language")
    files = sorted((path / folder).glob("*.csv"))
    if not files:
        msg = f"{path}: no file named like '{folder}/ROUGE_1.csv'; {FOLDER_ADVICE}"
        raise InputError(msg)
    frames = {file.stem: list(read_tsv(file, separator=",")) for file in files}
    gold = list(read_tsv(need_file(path, human), separator=",")) if human else None
    first, lines = next(iter(frames.items()))
    for name, rows in [*frames.items(), *([("human scores", gold)] if gold else [])]:
        _check_parallel(name, rows, first, lines)
    build = TableBuilder()
    for number, line in enumerate(lines):
        for system in line.values:
            build.add(
                line,
                segment=str(number),
                system=system,
                langpair="en",
                hypothesis="",
                human={"pyramid": gold[number].number(system)} if gold else None,
                released={name: frame[number].number(system) for name, frame in frames.items()},
            )
    return build.table(
        "score frames",
        default_criterion="pyramid" if gold else None,
        notes=("scores only: the data does not contain the texts",),
    )


def _check_parallel(name: str, frame: Sequence[Row], first: str, lines: Sequence[Row]) -> None:
    """Check that all frames have the lines and columns of the first: they score the same outputs."""
    path, need = frame[0].file, "all frames need the same lines and columns"
    if len(frame) != len(lines):
        msg = f"{path}: {name} has {len(frame)} lines, but {first} has {len(lines)}; {need}"
        raise FileFormatError(msg)
    systems, expected = list(frame[0].values), list(lines[0].values)
    if systems != expected:
        msg = f"{path}: {name} has the systems {systems}, but {first} has {expected}; {need}"
        raise FileFormatError(msg)
