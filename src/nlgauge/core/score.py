"""Scores of one system under one metric: arrays per segment, system scores, notes and the signature."""

from __future__ import annotations

import importlib
from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias, TypedDict

import numpy as np
from numpy.typing import NDArray

from nlgauge.core.result import ComponentsResult, from_plain, read_only
from nlgauge.core.short_signature import format_signature
from nlgauge.core.signature import Signature, declare_fields
from nlgauge.errors import (
    ConvergenceWarning,
    EmptyTextWarning,
    FileFormatError,
    InputError,
    NlgaugeWarning,
    RecipeError,
    TruncationWarning,
    UnknownWordWarning,
    WindowsWarning,
    ZeroWeightWarning,
)
from nlgauge.io.table import Table
from nlgauge.vectors.cloud import Alignment, Flow

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from nlgauge.core.corpus import Corpus
    from nlgauge.core.keywords import SegmentKeywords
    from nlgauge.core.metric import Metric
    from nlgauge.core.run_options import RunOptions
    from nlgauge.core.score_table import ScoreTable
    from nlgauge.stats.corpus_counts import CorpusCounts
    from nlgauge.stats.resampling import Interval


#: Indices (from 0) of the segments where something had to be decided, by the name of the note.
SegmentNotes: TypeAlias = Mapping[str, tuple[int, ...]]


class Note(NamedTuple):
    """A kind of note about a segment, such as `truncated` or `empty`."""

    name: str
    meaning: str
    """The meaning of its count in a signature."""
    message: str
    """The text of the warning; `{metric}` stands for the name of the metric."""
    reason: str = ""
    """The text in the explanation of a pair."""
    warning: type[NlgaugeWarning] | None = None
    """None: it is counted without a warning."""


#: Notes of all metrics.
COMMON_NOTES = (
    Note(
        "truncated",
        "segments with a truncated text",
        "texts were truncated",
        warning=TruncationWarning,
    ),
    Note(
        "empty",
        "segments with an empty hypothesis or reference",
        "empty texts",
        "a text is empty, so nothing can be aligned",
        EmptyTextWarning,
    ),
    Note(
        "zero_weight",
        "segments with a text that idf or token filters left without weight",
        "no word is left after stop words and idf; all tokens count equally",
        "idf gave a text no weight, so all its tokens weigh the same",
        ZeroWeightWarning,
    ),
    Note(
        "unconverged",
        "segments whose Sinkhorn iteration did not converge",
        "Sinkhorn did not converge",
        "Sinkhorn did not converge, so the score is approximate",
        ConvergenceWarning,
    ),
    Note(
        "unknown",
        "in the recipe: treatment of texts with unknown tokens only (zero or score); "
        "in the run: segments with tokens unknown to the model",
        "words without a vector were left out",
        "a text has unknown tokens only",
        UnknownWordWarning,
    ),
    Note(
        "windows",
        "segments with a text that was read in windows",
        "texts were read in windows",
        warning=WindowsWarning,
    ),
)

#: All notes by name, in the order of display.
NOTES: dict[str, Note] = {note.name: note for note in COMMON_NOTES}
declare_fields({note.name: note.meaning for note in COMMON_NOTES})


def declare_note(note: Note) -> Note:
    """Register a note of a metric."""
    declare_fields({note.name: note.meaning})
    return NOTES.setdefault(note.name, note)


#: Notes whose count is given even if it is 0.
_ALWAYS_COUNTED = ("truncated", "empty", "zero_weight")


def count_notes(notes: SegmentNotes) -> dict[str, int]:
    """Count segments by note; most notes are left out if their count is 0."""
    return dict.fromkeys(_ALWAYS_COUNTED, 0) | {name: len(segments) for name, segments in notes.items()}


def describe_count(name: str, count: int) -> str:
    """The number of segments with a note, in words.

    >>> describe_count("empty", 1)
    '1 segment with an empty hypothesis or reference'
    """
    if name == "errors":
        return f"{count} row{'s' if count > 1 else ''} that could not be scored"
    if name == "pairs":
        return f"parts scaled to their minimum and maximum over these {count} pairs; not comparable with other runs"
    if name not in NOTES:
        return f"{name} {count}"
    meaning = NOTES[name].meaning.rpartition("in the run: ")[2]
    return f"{count} {meaning if count > 1 else meaning.replace('segments', 'segment', 1)}"


def join_notes(notes: Iterable[SegmentNotes]) -> SegmentNotes:
    """Join notes: a segment has the notes that it has in any of them."""
    joined: dict[str, set[int]] = {}
    for mapping in notes:
        for name, segments in mapping.items():
            joined.setdefault(name, set()).update(segments)
    return order_notes({name: sorted(segments) for name, segments in joined.items()})


def order_notes(notes: Mapping[str, Iterable[int]]) -> SegmentNotes:
    """Sort notes by the order of display, and leave out those without a segment."""
    return {name: segments for name in {**NOTES, **notes} if (segments := tuple(notes.get(name, ())))}


@dataclass(frozen=True, repr=False, eq=False)
class Origin:
    """The texts, recipe and options behind a score, for explanations of its segments."""

    metric: Metric
    corpus: Corpus
    options: RunOptions


class _ShortSignature(TypedDict, total=False):
    short_signature: str
    """Missing in older files."""


class SystemRecord(_ShortSignature):
    """The system in the JSON of a score, or of a summary of parts."""

    system: str | None
    metric: str
    score: float
    main: str
    higher_is_better: bool
    means: dict[str, float]
    signature: str
    counts: dict[str, int]


class _ScoreRecord(SystemRecord):
    noted_segments: dict[str, list[int]]


class ScoreRecord(_ScoreRecord, total=False):
    """The JSON of a score, with a row per segment; `Score` has an array per component."""

    distances: list[str]
    corpus: dict[str, float]
    interval: dict[str, Any] | None
    no_interval: str
    statistics: dict[str, Any]
    segments: list[dict[str, float | dict[str, Any] | None]]


@dataclass(frozen=True, repr=False, eq=False)
class Score(ComponentsResult):
    """Scores of one system under one metric.

    The number to report is `system_score`, for every metric. `segments` maps a component's name to one value per
    segment; each is an attribute too (`score.f1`). `main` names the component that stands for the metric. A result
    has a signature, so its arrays are read-only; copy an array to change it.
    """

    format = "nlgauge-score-1"
    record = ScoreRecord
    components_in = "segments"
    mappings = ("segments", "notes", "corpus")

    metric: str
    system: str | None
    segments: Mapping[str, NDArray[np.float64]]
    main: str
    higher_is_better: bool
    signature: Signature
    notes: SegmentNotes
    best_reference: NDArray[np.int64] | None = None
    alignments: tuple[Alignment | Flow | None, ...] | None = None
    corpus: Mapping[str, float] = field(default_factory=dict)
    """System scores by component that are not means over segments (BLEU, chrF)."""
    distances: tuple[str, ...] = ()
    """Components for which lower is better, if for the main one higher is better."""
    statistics: CorpusCounts | None = None
    """Counts per segment behind the scores in `corpus`, needed to resample segments."""
    origin: Origin | None = None
    """The texts and the recipe; not in files and pickles, which would repeat the texts for every metric."""

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.best_reference is not None:
            object.__setattr__(self, "best_reference", read_only(self.best_reference))

    def __getstate__(self) -> dict[str, Any]:
        return super().__getstate__() | {"origin": None}

    def __len__(self) -> int:
        return len(self.segments[self.main])

    @property
    def system_score(self) -> float:
        """The number to report: the system's score of the main component.

        For BLEU and chrF it is computed on the whole corpus, for other metrics it is the mean over segments. Its key
        in `to_dict` and in JSON is `"score"`.
        """
        return self.system_scores[self.main]

    @property
    def mean(self) -> float:
        """Mean of the main component over segments; for BLEU and chrF that is not the system score."""
        return self.means[self.main]

    @property
    def means(self) -> dict[str, float]:
        """Mean of every component over segments."""
        return {name: float(values.mean()) for name, values in self.segments.items()}

    @property
    def system_scores(self) -> dict[str, float]:
        """System score of every component: the corpus score if there is one, else the mean."""
        return self.means | dict(self.corpus)

    @property
    def counts(self) -> dict[str, int]:
        """Number of segments by note, such as truncated or empty."""
        return count_notes(self.notes)

    def interval(
        self,
        component: str | None = None,
        *,
        documents: Sequence[Hashable] | None = None,
        level: float = 0.95,
        resamples: int = 1000,
        seed: int = 12345,
    ) -> Interval:
        """Confidence interval of a component's mean, or of the corpus score (BLEU, chrF).

        It is a seeded bootstrap, or Student's t for fewer than 30 segments. With `documents`, the document of each
        segment, whole documents are drawn and counted.
        """
        if component is not None and component not in self.segments:
            msg = f"{self.metric} has no component {component!r}; components: {', '.join(self.segments)}"
            raise InputError(msg)
        name = component or self.main
        if not self.has_interval(name):
            msg = (
                f"{name} of {self.metric} is computed on the whole corpus, and the counts to resample are missing; "
                "score the texts again"
            )
            raise InputError(msg)
        if len(self) < 2:
            msg = (
                f"a confidence interval needs at least 2 segments, and this score of {self.metric} has {len(self)}; "
                "score more segments, or omit the interval"
            )
            raise InputError(msg)
        from nlgauge.stats.corpus_counts import bootstrap_corpus_score
        from nlgauge.stats.numeric import LEAST_RESAMPLES
        from nlgauge.stats.resampling import bootstrap_mean

        if resamples < LEAST_RESAMPLES:
            msg = f"resamples must be at least {LEAST_RESAMPLES} for an interval, got {resamples!r}"
            raise RecipeError(msg)
        options: dict[str, Any] = {"clusters": documents, "level": level, "resamples": resamples, "seed": seed}
        if name in self.corpus and self.statistics is not None:
            return bootstrap_corpus_score(self.statistics, **options)
        return bootstrap_mean(self.segments[name], **options)

    def has_interval(self, component: str | None = None) -> bool:
        """Whether a component can be resampled: it is a mean, or its counts are available."""
        name = component or self.main
        return name not in self.corpus or (name == self.main and self.statistics is not None)

    def explain(self, segment: int, **options: Unpack[SegmentKeywords]) -> Any:
        """Explain a segment (from 0); options are those of `nlgauge.explain_pair`."""
        study = importlib.import_module("nlgauge.studies.explain.pairs")  # a later layer, so it is imported here
        return study.explain_segments(self, [segment], **options)[0]

    def rows(self) -> Iterator[dict[str, Any]]:
        """One plain record per segment."""
        for index in range(len(self)):
            row: dict[str, Any] = {"segment": index}
            row |= {name: float(values[index]) for name, values in self.segments.items()}
            if self.best_reference is not None:
                row["best_reference"] = int(self.best_reference[index])
            if self.alignments is not None:
                alignment = self.alignments[index]
                row["alignment"] = None if alignment is None else alignment.to_dict()
            yield row

    def to_dict(self, *, segments: bool = True) -> dict[str, Any]:
        """Plain Python values, ready for JSON; the same input gives the same bytes."""
        record: dict[str, Any] = {
            "format": self.format,
            "system": self.system,
            "metric": self.metric,
            "score": self.system_score,
            "main": self.main,
            "higher_is_better": self.higher_is_better,
            **({"distances": list(self.distances)} if self.distances else {}),
            "means": self.means,
            **({"corpus": dict(self.corpus)} if self.corpus else {}),
            "signature": str(self.signature),
            "short_signature": self.signature.short(),
            "counts": self.counts,
            "noted_segments": {name: list(segments) for name, segments in self.notes.items()},
        }
        if segments and self.statistics is not None:
            record["statistics"] = self.statistics.to_dict()
        if segments:
            record["segments"] = list(self.rows())
        return record

    @classmethod
    def from_dict(cls, record: Mapping[str, Any]) -> Score:
        """Make a score of the dict that `to_dict` returns, segments included.

        >>> score = Score.from_dict({"system": None, "metric": "chrf", "main": "score", "higher_is_better": True,
        ...     "signature": "chrf|nlgauge:0.2.0", "segments": [{"segment": 0, "score": 50.0}]})
        >>> score.system_score
        50.0
        """
        if not isinstance(record, Mapping):
            msg = f"expected a dict of Score.to_dict(), got {type(record).__name__}"
            raise InputError(msg)
        if record.get("format", cls.format) != cls.format:  # a score in a table has no format
            msg = f"the format of a Score must be {cls.format!r}, got {record['format']!r}"
            raise FileFormatError(msg)
        try:
            return _make_score(cls, record)
        except KeyError as error:
            name = error.args[0]
            fix = "; use to_dict(segments=True)" if name == "segments" else ""
            msg = f"the dict of a score has no {name!r}{fix}"
            raise InputError(msg) from error

    @classmethod
    def merge(cls, scores: Sequence[Score]) -> Score:
        """Merge scores of one recipe and system on different segments, in this order.

        The result is the same as scoring all segments in one call, bit for bit. Scores that depend on their corpus
        (`idf=refs`, SentSim with `bounds=corpus`) are refused unless that was the same corpus.

        >>> import nlgauge
        >>> cats, dogs = (nlgauge.score([text], [text]) for text in ("A cat sat.", "A dog ran."))
        >>> len(nlgauge.Score.merge([cats, dogs]))
        2
        """
        from nlgauge.core.score_table import merge_scores

        return merge_scores(scores)

    def tables(self, form: str = "text") -> list[Table]:
        """The system scores as a table; `ScoreTable.tables` has more options."""
        return self._as_table().tables(form)

    def flat_columns(self) -> dict[str, Any]:
        """A row per segment."""
        return self._as_table().flat_columns()

    def _as_table(self) -> ScoreTable:
        from nlgauge.core.score_table import ScoreTable

        return ScoreTable((self,))

    def __repr__(self) -> str:
        means = ", ".join(f"{name}={value:.4f}" for name, value in self.system_scores.items())
        system = f" {self.system}" if self.system is not None else ""
        count = len(self)
        segments = f"{count} segment{'s' * (count != 1)}"
        return f"<{self.metric}{system}: {means} over {segments} | {format_signature(self.signature)}>"


def _make_score(kind: type[Score], record: Mapping[str, Any]) -> Score:
    rows = record["segments"]
    if not rows:
        msg = "the dict of a score has no segments"
        raise InputError(msg)
    names = [name for name in rows[0] if name not in {"segment", "best_reference", "alignment"}]
    if record["main"] not in names:
        msg = f"the dict of a score has no component {record['main']!r} (main); components: {', '.join(names)}"
        raise InputError(msg)
    best = [row["best_reference"] for row in rows] if "best_reference" in rows[0] else None
    matches = None
    if "alignment" in rows[0]:
        matches = tuple(
            match and from_plain(Flow if "flow" in match else Alignment, match)
            for match in (row["alignment"] for row in rows)
        )
    return kind(
        metric=record["metric"],
        system=record["system"],
        segments={name: np.array([row[name] for row in rows], dtype=np.float64) for name in names},
        main=record["main"],
        higher_is_better=record["higher_is_better"],
        signature=Signature.parse(record["signature"]),
        notes=order_notes(record.get("noted_segments", {})),
        best_reference=None if best is None else np.array(best, dtype=np.int64),
        alignments=matches,
        corpus=record.get("corpus", {}),
        distances=tuple(record.get("distances", ())),
        statistics=_read_counts(record["statistics"]) if "statistics" in record else None,
    )


def _read_counts(record: Mapping[str, Any]) -> CorpusCounts:
    from nlgauge.stats.corpus_counts import CorpusCounts

    return CorpusCounts.from_dict(record)
