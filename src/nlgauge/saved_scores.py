"""Scores in a file, complete enough to be compared, tabled or resampled again without scoring.

{"format": "nlgauge-scores/1", "nlgauge": VERSION,
 "texts": {"references": DIGEST, "sources": DIGEST},       what the systems were compared with, where it is known
 "scores": [...],                                          each as `Score.to_dict()` has it, segments included
 "digest": SHA-256 of texts and scores}
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any, ClassVar

from nlgauge._version import __version__
from nlgauge.errors import InputError, SignatureError
from nlgauge.files.digests import text_digest
from nlgauge.files.frozen import ContentError, FrozenTable
from nlgauge.files.json_text import json_text
from nlgauge.scores import Score, ScoreList

__all__ = ["SavedScores", "digests_of_texts", "load_scores", "save_scores"]


@dataclass(frozen=True, eq=False, repr=False)
class SavedScores(FrozenTable):
    """Scores of one run, and digests of what the systems were compared with."""

    scores: tuple[Score, ...]
    texts: Mapping[str, str] = field(default_factory=dict)
    """Digest of the references and of the sources."""

    FORMAT: ClassVar[str] = "nlgauge-scores/1"
    KIND: ClassVar[str] = "file of saved scores"
    COMMAND: ClassVar[str] = "nlgauge score HYP --refs REF"

    def __post_init__(self) -> None:
        object.__setattr__(self, "scores", tuple(self.scores))
        if not self.scores:
            msg = "a file of saved scores needs at least one score, got none"
            raise InputError(msg)

    def __repr__(self) -> str:
        metrics = dict.fromkeys(score.metric for score in self.scores)
        return f"<SavedScores: {len(self.scores)} of {', '.join(metrics)}, {len(self.scores[0])} segments>"

    @cached_property
    def records(self) -> list[dict[str, Any]]:
        """The scores as plain values, segments included."""
        return [score.to_dict() for score in self.scores]

    @property
    def digest(self) -> str:
        signed = {"texts": dict(self.texts), "scores": self.records}
        return text_digest(json.dumps(signed, sort_keys=True, separators=(",", ":")))

    def content(self) -> dict[str, Any]:
        return {
            "nlgauge": __version__,
            "texts": dict(self.texts),
            "scores": self.records,
        }

    @classmethod
    def from_content(cls, content: Mapping[str, Any]) -> SavedScores:
        records, texts = content["scores"], content["texts"]
        if not isinstance(records, list) or not records or not isinstance(texts, dict):
            msg = "expected a list of at least one score, and an object of digests of texts"
            raise ContentError(msg)
        scores: list[Score] = []
        for number, record in enumerate(records):
            try:
                scores.append(Score.from_dict(record))
            except (InputError, SignatureError) as error:
                msg = f"score {number}: {error}"
                raise ContentError(msg) from error
            except (KeyError, TypeError, ValueError, AttributeError) as error:
                msg = f"score {number} is not as nlgauge writes one ({error!r})"
                raise ContentError(msg) from error
        return cls(tuple(scores), texts)

    def text(self) -> str:
        """The file's content, a line per segment."""
        return json_text({"format": self.FORMAT} | self.content() | {"digest": self.digest})


def save_scores(
    path: str | os.PathLike[str],
    scores: Sequence[Score] | Score,
    *,
    references: Sequence[str | Sequence[str]] | None = None,
    sources: Sequence[str] | None = None,
) -> None:
    """Write scores to a file that `load_scores` and `nlgauge compare` read.

    References and sources are kept as digests only: runs on different test sets are then not taken for one.
    """
    several = (scores,) if isinstance(scores, Score) else tuple(scores)
    SavedScores(several, digests_of_texts(references, sources)).save(Path(path))


def load_scores(path: str | os.PathLike[str]) -> list[Score]:
    """The scores in a file that `save_scores` or `nlgauge score -o FILE.json` wrote, bit for bit."""
    return ScoreList(SavedScores.load(Path(path)).scores)


def digests_of_texts(
    references: Sequence[str | Sequence[str]] | None, sources: Sequence[str] | None
) -> dict[str, str]:
    """What the systems were compared with, as digests."""
    found: dict[str, str] = {}
    if references is not None:
        groups = [[group] if isinstance(group, str) else list(group) for group in references]
        found["references"] = text_digest(json.dumps(groups))
    if sources is not None:
        found["sources"] = text_digest(json.dumps(list(sources)))
    return found
