"""Documents out of segments: texts of one document are joined, an end of line between them.

So a document knows its segments (`sentences=lines`). The segments of a document stand next to each other: an id that
comes back later is refused, because two documents that share an id would become one without a word.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import overload

from nlgauge.errors import InputError

__all__ = ["document_rows", "join_document", "join_documents"]


def document_rows(document_ids: Sequence[str]) -> dict[str, range]:
    """By document the numbers of its segments, in order; a document in two pieces is an error.

    >>> document_rows(["a", "a", "b"])
    {'a': range(0, 2), 'b': range(2, 3)}
    """
    found: dict[str, range] = {}
    for row, name in enumerate(document_ids):
        if name not in found:
            found[name] = range(row, row + 1)
        elif found[name].stop == row:
            found[name] = range(found[name].start, row + 1)
        else:
            stops = found[name].stop
            msg = (
                f"document {name!r} is in two pieces: it ends with segment {stops - 1} and goes on in segment {row}; "
                "segments of a document must stand next to each other, and documents need ids of their own"
            )
            raise InputError(msg)
    return found


def join_document(texts: Iterable[str]) -> str:
    """The text of a document; one of nothing but blanks is empty."""
    joined = "\n".join(texts)
    return joined if joined.strip() else ""


@overload
def join_documents(  # type: ignore[overload-overlap]  # a text is a sequence of texts to a type checker
    texts: Sequence[str], document_ids: Sequence[str]
) -> list[str]: ...
@overload
def join_documents(texts: Sequence[Sequence[str]], document_ids: Sequence[str]) -> list[tuple[str, ...]]: ...
def join_documents(
    texts: Sequence[str] | Sequence[Sequence[str]], document_ids: Sequence[str]
) -> list[str] | list[tuple[str, ...]]:
    r"""Documents from segments, in the order of their first segments.

    Args:
        texts: A text per segment, or the references of each: then reference 1 of a document is made of the first
            references of its segments, and so on.
        document_ids: The document of each segment; segments of one stand next to each other.

    Hypotheses, references and sources are joined alike, and then scored as any texts are.

    >>> join_documents(["One.", "Two.", "Three."], ["a", "a", "b"])
    ['One.\nTwo.', 'Three.']
    >>> join_documents([["One.", "1."], ["Two.", "2."]], ["a", "a"])
    [('One.\nTwo.', '1.\n2.')]
    """
    if len(texts) != len(document_ids):
        fewer, more = sorted([len(texts), len(document_ids)])
        last = f", in document {document_ids[fewer - 1]!r}" if 0 < fewer <= len(document_ids) else ""
        msg = (
            f"{len(texts)} segments, but document ids for {len(document_ids)}: one side ends after {fewer}{last}, "
            f"and the other has {more - fewer} more"
        )
        raise InputError(msg)
    parts = {name: [texts[row] for row in rows] for name, rows in document_rows(document_ids).items()}
    if all(isinstance(text, str) for text in texts):
        return [join_document(own) for own in parts.values()]  # type: ignore[arg-type]  # strings, as was just seen
    return [_joined_groups(name, own) for name, own in parts.items()]


def _joined_groups(name: str, groups: Sequence[str | Sequence[str]]) -> tuple[str, ...]:
    listed = [(group,) if isinstance(group, str) else tuple(group) for group in groups]
    counts = {len(group) for group in listed}
    if len(counts) > 1:
        msg = (
            f"document {name!r}: its segments have {min(counts)} to {max(counts)} references, "
            "and documents are joined reference by reference; give each segment as many"
        )
        raise InputError(msg)
    return tuple(join_document(stream) for stream in zip(*listed, strict=True))
