"""What a study had to decide about texts: one warning of each kind, which names pairs, segments and settings."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import fields

from nlgauge.errors import (
    ConvergenceWarning,
    EmptyTextWarning,
    NlgaugeWarning,
    NoFocusWarning,
    NoNounWarning,
    TruncationWarning,
    UnknownWordWarning,
    WindowsWarning,
    ZeroWeightWarning,
    user_stacklevel,
)
from nlgauge.scores import SegmentNotes
from nlgauge.sensitivity.scores import StudyScores

__all__ = ["warn_about_segments"]

_KINDS: dict[str, tuple[type[NlgaugeWarning], str]] = {
    "truncated": (TruncationWarning, "texts were truncated"),
    "windows": (WindowsWarning, "texts were read in windows"),
    "empty": (EmptyTextWarning, "empty texts"),
    "zero_weight": (ZeroWeightWarning, "idf, or the removal of tokens, left texts without weight"),
    "unconverged": (ConvergenceWarning, "Sinkhorn did not converge"),
    "no_noun": (NoNounWarning, "texts without a noun were scored 0"),
    "no_focus": (NoFocusWarning, "texts share no focus with any of their references"),
    "unknown": (UnknownWordWarning, "words without a vector were left out"),
}

#: What is usual in some texts, and no reason for a warning.
_COUNTED_ONLY = ("no_ties",)

#: Segments, settings and groups of them that are named before "..." stands for the rest.
_MOST_SEGMENTS = 10
_MOST_SETTINGS = 4
_MOST_GROUPS = 8


def warn_about_segments(scores: StudyScores) -> None:
    """Warn of every kind of note that a segment has under some setting."""
    for field in fields(SegmentNotes):
        if field.name in _COUNTED_ONLY:
            continue
        category, what = _KINDS.get(field.name, (NlgaugeWarning, field.name.replace("_", " ")))
        groups = _groups(scores, field.name)
        if groups:
            parts = [_part(scores, *group, labels) for group, labels in list(groups.items())[:_MOST_GROUPS]]
            warnings.warn(f"{what}: {'; '.join(_first(parts, len(groups)))}", category, stacklevel=user_stacklevel())


def _groups(scores: StudyScores, kind: str) -> dict[tuple[str, tuple[str, ...]], list[str]]:
    """Settings by language pair and the names of the segments that have the note."""
    groups: dict[tuple[str, tuple[str, ...]], list[str]] = {}
    for (metric, setting), found in scores.found.items():
        segments: dict[str, dict[str, None]] = {}
        for one in found:
            rows = sorted(int(one.rows[index]) for index in getattr(one.score.notes, kind))
            segments.setdefault(one.langpair, {}).update(dict.fromkeys(scores.table.segment[row] for row in rows))
        label = f"{metric}, {' x '.join(setting.fields)} {setting.label}"
        for langpair, names in segments.items():
            if names:
                groups.setdefault((langpair, tuple(names)), []).append(label)
    return groups


def _part(scores: StudyScores, langpair: str, segments: Sequence[str], labels: Sequence[str]) -> str:
    many = "s" * (len(segments) > 1)
    named = ", ".join(_first(segments[:_MOST_SEGMENTS], len(segments)))
    settings = (
        "all settings"
        if len(labels) == len(scores.found)
        else "; ".join(_first(labels[:_MOST_SETTINGS], len(labels)))
    )
    return f"{langpair}, {len(segments)} segment{many} ({named}) under {settings}"


def _first(shown: Sequence[str], count: int) -> list[str]:
    return [*shown, "..."] if len(shown) < count else list(shown)
