"""What a metric returns: named per-segment arrays, their means, and the signature that says how."""

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
    """Something that had to be decided about a text, or that happened to it."""

    name: str
    meaning: str
    """What its count in a signature means."""
    message: str
    """What a warning says; `{metric}` stands for the name of the metric."""
    reason: str = ""
    """What the explanation of a pair says."""
    warning: type[NlgaugeWarning] | None = None
    """None: it is counted, and no reason for a warning."""


#: Notes that any metric may have.
COMMON_NOTES = (
    Note(
        "truncated",
        "segments in which a text was cut at the limit",
        "texts were truncated",
        warning=TruncationWarning,
    ),
    Note(
        "empty",
        "segments in which a side had no token",
        "empty texts",
        "a text is empty, so there is nothing to align",
        EmptyTextWarning,
    ),
    Note(
        "zero_weight",
        "segments in which idf, or the removal of tokens, left a text without weight",
        "idf, or the removal of tokens, left texts without weight",
        "idf gave a text no weight, so all its tokens weigh the same",
        ZeroWeightWarning,
    ),
    Note(
        "unconverged",
        "segments in which an iteration stopped before it converged",
        "Sinkhorn did not converge",
        "Sinkhorn did not converge, so the score is approximate",
        ConvergenceWarning,
    ),
    Note(
        "unknown",
        "in the recipe: what a text of nothing but unknown tokens gets (zero, or score: as it is); "
        "in the run: segments with tokens that the model does not know",
        "words without a vector were left out",
        "a text holds nothing but tokens unknown to the model",
        UnknownWordWarning,
    ),
    Note(
        "windows",
        "segments in which a text was read in windows",
        "texts were read in windows",
        warning=WindowsWarning,
    ),
)

#: All notes by name, in the order in which they are shown.
NOTES: dict[str, Note] = {note.name: note for note in COMMON_NOTES}
declare_fields({note.name: note.meaning for note in COMMON_NOTES})


def declare_note(note: Note) -> Note:
    """Add a note that a metric may have."""
    declare_fields({note.name: note.meaning})
    return NOTES.setdefault(note.name, note)


#: Notes that are counted even where there is none.
_ALWAYS_COUNTED = ("truncated", "empty", "zero_weight")


def count_notes(notes: SegmentNotes) -> dict[str, int]:
    """How many segments each note names; most are counted only where there is one."""
    return dict.fromkeys(_ALWAYS_COUNTED, 0) | {name: len(segments) for name, segments in notes.items()}


def join_notes(notes: Iterable[SegmentNotes]) -> SegmentNotes:
    """What is noted in one of them or more."""
    joined: dict[str, set[int]] = {}
    for own in notes:
        for name, segments in own.items():
            joined.setdefault(name, set()).update(segments)
    return order_notes({name: sorted(segments) for name, segments in joined.items()})


def order_notes(notes: Mapping[str, Iterable[int]]) -> SegmentNotes:
    """The notes that name a segment, in one order."""
    return {name: segments for name in {**NOTES, **notes} if (segments := tuple(notes.get(name, ())))}


@dataclass(frozen=True, repr=False, eq=False)
class Origin:
    """What a score was computed from, for those who want to look at a segment again."""

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
    """The JSON of a score: a row per segment, where `Score` has an array per component."""

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
    is signed, so its arrays cannot be changed; copy one to work on it.
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
    """Scores of the whole system by component, where they are no means over segments (BLEU counts them all)."""
    distances: tuple[str, ...] = ()
    """Components that are better when they are lower, beside a main component that is not one of them."""
    statistics: CorpusCounts | None = None
    """Counts behind the score of the whole system, where `corpus` has one: segments can be resampled by them."""
    origin: Origin | None = None
    """The texts and the recipe; not in files and pickles, which would hold every text once per metric."""

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

        It is what the metric computes on the whole corpus, where it does so (BLEU, chrF), and else the mean over
        segments. It is `"score"` in `to_dict` and in JSON.
        """
        return self.system_scores[self.main]

    @property
    def mean(self) -> float:
        """Mean of the main component over segments; for BLEU and chrF that is not the system's score."""
        return self.means[self.main]

    @property
    def means(self) -> dict[str, float]:
        """Mean of every component over segments."""
        return {name: float(values.mean()) for name, values in self.segments.items()}

    @property
    def system_scores(self) -> dict[str, float]:
        """What stands for the system: of every component the score of the whole corpus, or else the mean."""
        return self.means | dict(self.corpus)

    @property
    def counts(self) -> dict[str, int]:
        """Number of segments by kind of note, such as truncated, empty or left without weight."""
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
        """Interval of a component's mean, or of the score of the whole system (BLEU, chrF).

        It is a seeded bootstrap, or Student's t for fewer than 30 segments. `documents` names the document of each
        segment; what is drawn (and counted) is whole documents then.
        """
        if component is not None and component not in self.segments:
            msg = f"{self.metric} has no component {component!r}; it has {list(self.segments)}"
            raise InputError(msg)
        name = component or self.main
        if not self.has_interval(name):
            msg = (
                f"{name} of {self.metric} is computed on the whole corpus, so the interval of a mean does not fit "
                "it, and the counts to resample are not with this score; score the texts again"
            )
            raise InputError(msg)
        if len(self) < 2:
            msg = f"an interval needs at least 2 segments, got {len(self)} of {self.metric}"
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
        """Whether a component can be resampled: it is a mean, or the counts behind the corpus score are here."""
        name = component or self.main
        return name not in self.corpus or (name == self.main and self.statistics is not None)

    def explain(self, segment: int, **options: Unpack[SegmentKeywords]) -> Any:
        """The `Explanation` of a segment (from 0); options are those of `nlgauge.explain_pair`."""
        study = importlib.import_module(
            "nlgauge.studies.explain.pairs"
        )  # a later layer, loaded where it is asked for
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
        """Everything as plain Python values; the same input gives the same JSON bytes."""
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
        """A result from what `to_dict` made of it, segments included; JSON between the two changes nothing.

        >>> score = Score.from_dict({"system": None, "metric": "chrf", "main": "score", "higher_is_better": True,
        ...     "signature": "chrf|nlgauge:0.2.0", "segments": [{"segment": 0, "score": 50.0}]})
        >>> score.system_score
        50.0
        """
        if not isinstance(record, Mapping):
            msg = f"expected the dict of a score, as Score.to_dict() gives it, got {type(record).__name__}"
            raise InputError(msg)
        if record.get("format", cls.format) != cls.format:  # a score in a table has none of its own
            msg = f"the format of a Score must be {cls.format!r}, got {record['format']!r}"
            raise FileFormatError(msg)
        try:
            return _from_record(cls, record)
        except KeyError as error:
            name = error.args[0]
            fix = " (to_dict(segments=True) has them)" if name == "segments" else ""
            msg = f"the dict of a score needs {name!r}, which is missing{fix}"
            raise InputError(msg) from error

    @classmethod
    def merge(cls, scores: Sequence[Score]) -> Score:
        """One score of scores of one recipe and system on different segments, in the order given.

        It is what scoring all segments in one call gives, bit for bit. What would not be is refused: scores that look
        at their own corpus (`idf=refs`, SentSim's ranges over the corpus) unless that was the same one.

        >>> import nlgauge
        >>> cats, dogs = (nlgauge.score([text], [text]) for text in ("A cat sat.", "A dog ran."))
        >>> len(nlgauge.Score.merge([cats, dogs]))
        2
        """
        from nlgauge.core.score_table import merge_scores

        return merge_scores(scores)

    def tables(self, form: str = "text") -> list[Table]:
        """The score of the system, by component; `ScoreTable.tables` has more options."""
        return self._alone().tables(form)

    def flat_columns(self) -> dict[str, Any]:
        """A row per segment."""
        return self._alone().flat_columns()

    def _alone(self) -> ScoreTable:
        from nlgauge.core.score_table import ScoreTable

        return ScoreTable((self,))

    def __repr__(self) -> str:
        means = ", ".join(f"{name}={value:.4f}" for name, value in self.system_scores.items())
        system = f" {self.system}" if self.system is not None else ""
        count = len(self)
        segments = f"{count} segment{'s' * (count != 1)}"
        return f"<{self.metric}{system}: {means} over {segments} | {format_signature(self.signature)}>"


def _from_record(kind: type[Score], record: Mapping[str, Any]) -> Score:
    rows = record["segments"]
    if not rows:
        msg = "the dict of a score needs at least one segment, got none"
        raise InputError(msg)
    names = [name for name in rows[0] if name not in {"segment", "best_reference", "alignment"}]
    if record["main"] not in names:
        msg = f"the dict of a score has no component {record['main']!r} (main); it has {names}"
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
        statistics=_counts(record["statistics"]) if "statistics" in record else None,
    )


def _counts(record: Mapping[str, Any]) -> CorpusCounts:
    from nlgauge.stats.corpus_counts import CorpusCounts

    return CorpusCounts.from_dict(record)
