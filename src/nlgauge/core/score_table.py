"""Scores of several systems and metrics: result of `nlgauge.score_systems`, saved file, table.

Scores in a file can be compared, printed or resampled without scoring again:

    {"format": "nlgauge-scores-1", "nlgauge": VERSION,
     "texts": {"references": DIGEST, "sources": DIGEST},       of the texts, if they are known
     "scores": [...],                                          each as in `Score.to_dict()`, with segments
     "digest": SHA-256 of texts and scores}
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, TypedDict, overload

import numpy as np
from numpy.typing import ArrayLike

from nlgauge._version import __version__
from nlgauge.core.metric import TextMetric
from nlgauge.core.notes import run_fields
from nlgauge.core.registry import metric_title, recipe_from_signature, table_decimals
from nlgauge.core.result import Result
from nlgauge.core.score import Score, ScoreRecord, SegmentNotes, count_notes, join_notes
from nlgauge.core.score_layout import (
    Confidence,
    check_scores,
    components_of,
    interval_of,
    metric_titles,
    score_tables,
    system_column,
)
from nlgauge.core.signature import Signature
from nlgauge.errors import FileFormatError, InputError, SignatureError
from nlgauge.io.numbers import format_count
from nlgauge.io.paper_table import HasPaperTable, MetricScores, PaperKeywords, PaperTable, paper_table
from nlgauge.io.storage import ContentError, FrozenTable, json_text, text_digest
from nlgauge.io.table import Table

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from nlgauge.stats.corpus_counts import CorpusCounts

    _ListOfScores = Sequence[Score]
else:
    # polars reads any Sequence element by element, before it tries the Arrow interface. So the table has the methods
    # of a Sequence, and is one for type checkers only.
    class _ListOfScores:
        index, count, __iter__ = Sequence.index, Sequence.count, Sequence.__iter__
        __contains__, __reversed__ = Sequence.__contains__, Sequence.__reversed__


class _TableRecord(TypedDict):
    texts: dict[str, str]
    scores: list[ScoreRecord]


class ScoreTableRecord(_TableRecord, total=False):
    """The JSON of a table of scores, and of a file of them."""

    digest: str
    citations: dict[str, str]


@dataclass(frozen=True, repr=False, eq=False)
class ScoreTable(Result, HasPaperTable, FrozenTable, _ListOfScores):
    """Scores of several systems and metrics, which can be read like a list of `Score`.

    pandas (`to_frame`), polars, DuckDB and pyarrow read it as a table with a row per metric, system and segment.

    >>> import nlgauge
    >>> scores = nlgauge.score_systems({"a": ["A cat."], "b": ["A dog."]}, ["A cat."], metric="chrf")
    >>> [(score.system, score.system_score) for score in scores][0], scores[1].system
    (('a', 100.0), 'b')
    """

    format = "nlgauge-scores-1"
    further = ("segments",)
    record = ScoreTableRecord

    scores: tuple[Score, ...]
    texts: Mapping[str, str] = field(default_factory=dict)
    """Digests of the references and of the sources (`digests_of_texts`), if they are known."""

    FORMAT: ClassVar[str] = "nlgauge-scores-1"
    KIND: ClassVar[str] = "file of saved scores"
    COMMAND: ClassVar[str] = "nlgauge score HYP --refs REF"

    def __post_init__(self) -> None:
        object.__setattr__(self, "scores", tuple(self.scores))

    @classmethod
    def from_numbers(
        cls,
        metric: str,
        systems: Mapping[str, ArrayLike],
        *,
        higher_is_better: bool = True,
        signature: Signature | None = None,
    ) -> ScoreTable:
        """Make a table of numbers computed elsewhere: a number per segment for each system, under one metric.

        >>> ScoreTable.from_numbers("wer", {"old": [0.5, 0.75], "new": [0.25, 0.5]}, higher_is_better=False)[1].mean
        0.375
        """
        from nlgauge.stats.numeric import vector  # imported here because other tables do not need it

        if not isinstance(systems, Mapping) or not systems:
            msg = f"scores of {metric!r} must map at least one system to its scores, got {systems!r}"
            raise InputError(msg)
        signature = signature or Signature(metric, {})
        scores = []
        for name, values in systems.items():
            segments = {"score": vector(values, f"scores of {metric!r}, system {name!r}").copy()}
            scores.append(Score(metric, str(name), segments, "score", higher_is_better, signature, {}))
        return cls(tuple(scores))

    def __len__(self) -> int:
        return len(self.scores)

    @overload
    def __getitem__(self, index: int) -> Score: ...

    @overload
    def __getitem__(self, index: slice) -> ScoreTable: ...

    def __getitem__(self, index: int | slice) -> Score | ScoreTable:
        return replace(self, scores=self.scores[index]) if isinstance(index, slice) else self.scores[index]

    def __repr__(self) -> str:
        metrics = dict.fromkeys(score.metric for score in self.scores)
        segments = f", {len(self.scores[0])} segments" if self.scores else ""
        return f"<ScoreTable: {len(self)} of {', '.join(metrics) or 'no metric'}{segments}>"

    def tables(
        self,
        form: str = "text",
        *,
        segments: bool = False,
        confidence: Confidence | None = None,
    ) -> list[Table]:
        """A table per metric with a row per system; one table in TSV, CSV and LaTeX.

        `segments` adds tables of segments, `confidence` adds intervals.
        """
        if form == "segments":
            form, segments = "tsv", True
        if form != "html":  # a notebook also shows scores that are not numbers
            check_scores(self.scores, form, segments=segments, confidence=confidence)
        return score_tables(self.scores, form, segments=segments, confidence=confidence)

    def paper_table(self, **options: Unpack[PaperKeywords]) -> PaperTable:
        """Systems and metrics for a paper, without marks: a higher score alone is not a finding (`compare_systems`).

        `to_latex`, `to_markdown` and `to_html` write it; `options` are those of `PaperKeywords`.
        """
        titles = metric_titles(self.scores)
        systems = list(dict.fromkeys(score.system for score in self.scores))
        metrics = []
        for title in dict.fromkeys(titles.values()):
            scores = {score.system: score for score in self.scores if titles[id(score)] == title}
            first = next(iter(scores.values()))
            values = [None if system not in scores else scores[system].system_score for system in systems]
            name = metric_title(title, str(first.signature))
            short = Signature(first.metric, first.signature.recipe).short()
            metrics.append(MetricScores(name, first.higher_is_better, values, table_decimals(first.metric), short))
        segments = " and ".join(dict.fromkeys(format_count(len(score), "segment") for score in self.scores))
        return paper_table([system or "" for system in systems], metrics, segments, **options)

    def render(
        self,
        form: str = "text",
        *,
        decimals: int | None = None,
        segments: bool = False,
        confidence: Confidence | None = None,
        citations: Mapping[str, str] | None = None,
    ) -> str:
        """The scores as one text that ends with a newline; options are those of `tables`.

        `decimals` does not apply to JSON, which has full numbers. `citations` (BibTeX by metric) are written in text,
        Markdown and JSON only. `nlgauge.load_scores` reads JSON with segments.
        """
        if form == "json":
            check_scores(self.scores, form, segments=segments, confidence=confidence)
            content = {"format": self.format, "nlgauge": __version__}
            content |= self.to_dict(segments=segments, confidence=confidence)
            content |= {"digest": self.digest} if segments else {}
            return json_text(content | ({} if citations is None else {"citations": dict(citations)}))
        width = self.decimals if decimals is None else decimals
        tables = self.tables(form, segments=segments, confidence=confidence)
        blocks = [table.write("tsv" if form in self.further else form, width=width) for table in tables]
        if form in ("text", "markdown"):
            before, after = ("```bibtex\n", "```\n") if form == "markdown" else ("", "")
            blocks += [f"{before}% {name}\n{entry.strip()}\n{after}" for name, entry in (citations or {}).items()]
        return "\n".join(blocks)

    def flat_columns(self) -> dict[str, Any]:
        """A row per metric, system and segment; missing components are nan (null in Arrow)."""
        titles = metric_titles(self.scores)
        columns: dict[str, Any] = {
            "metric": [titles[id(score)] for score in self for _ in range(len(score))],
            "segment": [segment for score in self for segment in range(len(score))],
        }
        if system_column(self.scores):
            columns = {"system": [score.system for score in self for _ in range(len(score))], **columns}
        for name in components_of(self.scores):
            columns[name] = np.concatenate([score.segments.get(name, np.full(len(score), np.nan)) for score in self])
        if any(score.best_reference is not None for score in self):
            columns["best_reference"] = [
                number
                for score in self
                for number in ([None] * len(score) if score.best_reference is None else score.best_reference.tolist())
            ]
        return columns

    def metadata(self) -> dict[str, str]:
        """Format and version, and the signatures in the order of the scores."""
        return super().metadata() | {"signatures": json.dumps([str(score.signature) for score in self])}

    def to_dict(self, *, segments: bool = True, confidence: Confidence | None = None) -> dict[str, Any]:
        """Plain values, ready for JSON; `from_dict` needs `segments`."""
        records = [_record(score, segments, confidence) for score in self.scores]
        return {"format": self.format, "texts": dict(self.texts), "scores": records}

    @classmethod
    def from_dict(cls, record: Mapping[str, Any]) -> ScoreTable:
        """Make a table of the dict that `to_dict` returns."""
        name = record.get("format") if isinstance(record, Mapping) else None
        if name != cls.format:
            msg = f"the format of a ScoreTable must be {cls.format!r}, got {name!r}"
            raise FileFormatError(msg)
        try:
            return cls.from_content(record)
        except (ContentError, KeyError) as error:
            msg = f"expected a dict of ScoreTable.to_dict(): {error}"
            raise InputError(msg) from error

    @property
    def digest(self) -> str:
        record = self.to_dict()
        del record["format"]
        for score in record["scores"]:
            del score["short_signature"]  # it follows from the signature, and older files lack it
        return text_digest(json.dumps(record, sort_keys=True, separators=(",", ":")))

    def content(self) -> dict[str, Any]:
        return {"nlgauge": __version__} | self.to_dict()

    @classmethod
    def from_content(cls, content: Mapping[str, Any]) -> ScoreTable:
        texts, records = content["texts"], content["scores"]
        if not isinstance(records, list) or not records or not isinstance(texts, dict):
            msg = "'scores' must be a list with at least one score, and 'texts' an object of digests"
            raise ContentError(msg)
        return cls(tuple(_read_score(number, record) for number, record in enumerate(records)), texts)

    def text(self) -> str:
        """The content of a file, with a line per segment."""
        return self.render("json", segments=True)


def _record(score: Score, segments: bool, confidence: Confidence | None) -> dict[str, Any]:
    """A score in the JSON of a table, without the format, which the table has."""
    record = score.to_dict(segments=segments)
    del record["format"]
    if confidence is None:
        return record
    rows = {"segments": record.pop("segments")} if segments else {}  # at the end because it is long
    interval = interval_of(score, confidence)
    if isinstance(interval, str):
        return record | {"interval": None, "no_interval": interval} | rows
    return record | {"interval": {"component": score.main, **interval._asdict()}} | rows


def _read_score(number: int, record: Mapping[str, Any]) -> Score:
    try:
        return Score.from_dict(record)
    except (InputError, SignatureError) as error:
        msg = f"score {number}: {error}"
        raise ContentError(msg) from error
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        msg = f"score {number} is not a score written by nlgauge ({error!r})"
        raise ContentError(msg) from error


def save_scores(
    path: str | os.PathLike[str],
    scores: Sequence[Score] | Score,
    *,
    references: Sequence[str | Sequence[str]] | None = None,
    sources: Sequence[str] | None = None,
) -> None:
    """Write scores to a file that `load_scores` and `nlgauge compare` read.

    The file has digests of references and sources, so that runs on different test sets are not mixed up.
    """
    several = (scores,) if isinstance(scores, Score) else tuple(scores)
    texts = dict(scores.texts) if isinstance(scores, ScoreTable) else {}
    ScoreTable(several, texts | digests_of_texts(references, sources)).save(Path(path))


def load_scores(path: str | os.PathLike[str]) -> ScoreTable:
    """Load a file written by `save_scores` or `nlgauge score -o FILE.json`; the numbers are the same bit for bit."""
    return ScoreTable.load(Path(path))


def digests_of_texts(
    references: Sequence[str | Sequence[str]] | None, sources: Sequence[str] | None
) -> dict[str, str]:
    """Digests of the texts that systems are compared with."""
    digests: dict[str, str] = {}
    if references is not None:
        groups = [[group] if isinstance(group, str) else list(group) for group in references]
        digests["references"] = text_digest(json.dumps(groups))
    if sources is not None:
        digests["sources"] = text_digest(json.dumps(list(sources)))
    return digests


def merge_scores(scores: Sequence[Score]) -> Score:
    """Merge scores of one recipe and system on different segments, in this order."""
    scores = list(scores)
    if not scores:
        msg = "Score.merge needs at least one score, got none"
        raise InputError(msg)
    for number, score in enumerate(scores):
        if not isinstance(score, Score):
            msg = f"scores[{number}]: expected a Score, got {type(score).__name__}"
            raise InputError(msg)
    first = scores[0]
    for number, score in enumerate(scores[1:], start=1):
        _check_mergeable(first, score, number)
    notes = _merge_notes(scores)
    best, alignments, counts = (
        _field_of_all(scores, name) for name in ("best_reference", "alignments", "statistics")
    )
    statistics = None
    if counts is not None:
        statistics = replace(counts[0], counts=np.concatenate([part.counts for part in counts]))
    return replace(
        first,
        segments={name: np.concatenate([score.segments[name] for score in scores]) for name in first.segments},
        signature=_merge_signatures(scores, notes),
        notes=notes,
        best_reference=None if best is None else np.concatenate(best),
        alignments=None if alignments is None else tuple(chain(*alignments)),
        corpus=_merge_corpus(first, statistics),
        statistics=statistics,
        origin=None,
    )


def _field_of_all(scores: Sequence[Score], name: str) -> list[Any] | None:
    """A field of each score, or None if a score lacks it."""
    values = [getattr(score, name) for score in scores]
    return None if any(value is None for value in values) else values


def _check_mergeable(first: Score, other: Score, number: int) -> None:
    if first.system != other.system:
        msg = f"scores[{number}] is of system {other.system!r}, scores[0] of {first.system!r}; merge each system"
        raise InputError(msg)
    counts = {**first.notes, **other.notes, **count_notes({})}
    differing = [
        difference
        for difference in first.signature.difference(other.signature)
        if (
            difference.part == "recipe"
            and (difference.field != "refs" or "source" in {difference.left, difference.right})
        )
        or (difference.part == "run" and difference.key not in counts and difference.key != "errors")
    ]
    if differing or set(first.segments) != set(other.segments):
        fields = "; ".join(f"{d.key}: {d.left} and {d.right}" for d in differing) or "other components"
        msg = (
            f"cannot merge: scores[0] and scores[{number}] have different recipes ({fields}); score them with one "
            "recipe, and with frozen tables if it depends on the corpus (idf=FILE, bounds=FILE)"
        )
        raise InputError(msg)


def _merge_notes(scores: Sequence[Score]) -> SegmentNotes:
    """The notes of all scores, with the new numbers of the segments."""
    starts = np.cumsum([0, *(len(score) for score in scores)]).tolist()
    moved = [
        {name: tuple(segment + start for segment in segments) for name, segments in score.notes.items()}
        for start, score in zip(starts, scores, strict=False)
    ]
    return join_notes(moved)


def _merge_signatures(scores: Sequence[Score], notes: SegmentNotes) -> Signature:
    first = scores[0].signature
    counts = {score.signature.recipe.get("refs") for score in scores}
    recipe = dict(first.recipe) | ({"refs": "var"} if len(counts) > 1 else {})
    run = run_fields(notes) | {key: text for key, text in first.run.items() if key not in count_notes(notes)}
    left_out = sum(int(score.signature.run.get("errors", "0")) for score in scores)
    return Signature(first.metric, recipe, run | ({"errors": str(left_out)} if left_out else {}))


def _merge_corpus(first: Score, statistics: CorpusCounts | None) -> Mapping[str, float]:
    """The corpus scores, from the counts of all segments."""
    if not first.corpus:
        return {}
    metric = first.origin.metric if first.origin is not None else recipe_from_signature(first.signature)
    if statistics is None or not isinstance(metric, TextMetric):
        msg = (
            f"cannot merge: {first.metric} is computed on the whole corpus, and the counts of segments are missing; "
            "score the texts in one call"
        )
        raise InputError(msg)
    return metric.corpus_scores(statistics)
