"""Annotations of many texts: one that the annotator refuses costs no other its annotation."""

from __future__ import annotations

from collections.abc import Sequence

from nlgauge.annotate.annotated import AnnotatedText, Annotator
from nlgauge.errors import InputError

__all__ = ["annotate_each"]


def annotate_each(annotator: Annotator, texts: Sequence[str]) -> dict[str, AnnotatedText | None]:
    """By distinct text; None for one that the annotator refuses. Where it refuses all of them, it says why."""
    distinct = list(dict.fromkeys(texts))
    found = dict(zip(distinct, _annotations(annotator, distinct), strict=True))
    if distinct and all(one is None for one in found.values()):
        annotator.annotate(distinct[:1])
    return found


def _annotations(annotator: Annotator, texts: Sequence[str]) -> list[AnnotatedText | None]:
    """In one go, because annotators work in batches; what holds a refused text is halved until that stands alone."""
    try:
        return list(annotator.annotate(texts))
    except InputError:
        if len(texts) < 2:
            return [None] * len(texts)
        middle = len(texts) // 2
        return [*_annotations(annotator, texts[:middle]), *_annotations(annotator, texts[middle:])]
