"""Annotations of texts one by one: a text that the annotator refuses costs no other its annotation."""

from __future__ import annotations

from collections.abc import Sequence

from nlgauge.annotate.annotated import AnnotatedText, Annotator
from nlgauge.errors import InputError

__all__ = ["annotate_each"]


def annotate_each(annotator: Annotator, texts: Sequence[str]) -> dict[str, AnnotatedText | None]:
    """By distinct text; None for one that the annotator refuses."""
    distinct = list(dict.fromkeys(texts))
    try:
        return dict(zip(distinct, annotator.annotate(distinct), strict=True))
    except InputError:
        return {text: _one(annotator, text) for text in distinct}


def _one(annotator: Annotator, text: str) -> AnnotatedText | None:
    try:
        return annotator.annotate([text])[0]
    except InputError:
        return None
