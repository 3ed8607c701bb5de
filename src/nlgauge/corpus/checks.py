"""Checks of what is given to be scored, before anything is computed."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sized
from typing import Any

from nlgauge.corpus.texts import Corpus, References
from nlgauge.errors import InputError
from nlgauge.text.tokenizer import check_encodable

__all__ = ["checked_list", "checked_texts", "make_corpus"]


def make_corpus(
    systems: Mapping[str, Iterable[str]],
    refs: References | None,
    *,
    ref_streams: Iterable[Iterable[str]] | None = None,
    sources: Iterable[str] | None = None,
    alone: bool = False,
) -> Corpus:
    """Check and gather. Every complaint names the item's index, what was expected, and what came.

    `alone`: hypotheses need nothing to be compared with.
    """
    if refs is not None and ref_streams is not None:
        msg = "give the references either per segment (refs=) or as streams (ref_streams=), one of the two"
        raise InputError(msg)
    if refs is None and ref_streams is None and sources is None and not alone:
        msg = "there is nothing to compare with: give references (refs=, or ref_streams=) or sources (sources=)"
        raise InputError(msg)
    if not isinstance(systems, Mapping) or not systems:
        got = repr(systems) if isinstance(systems, Sized) and not len(systems) else f"a {type(systems).__name__}"
        hint = "; a frame has a method for it: to_dict('list')" if hasattr(systems, "to_dict") else ""
        msg = f"there is no system to score: expected a dict from each system's name to its texts, got {got}{hint}"
        raise InputError(msg)
    for name in systems:
        if not isinstance(name, str) or (len(systems) > 1 and not name):
            msg = f"a system's name is a string that is not empty, got {name!r}"
            raise InputError(msg)
    checked = {name: checked_texts(texts, _hypotheses_name(name)) for name, texts in systems.items()}
    first = next(iter(checked))
    count = len(checked[first])
    for name, texts in checked.items():
        if len(texts) != count:
            msg = f"{_hypotheses_name(name)}: {len(texts)} segments, but {_hypotheses_name(first)} has {count}"
            raise InputError(msg)
    if count == 0:
        msg = f"{_hypotheses_name(first)}: the list is empty, so there is nothing to score"
        raise InputError(msg)
    references: list[tuple[str, ...]] = [()] * count
    if refs is not None:
        references = _per_segment(refs, count)
    elif ref_streams is not None:
        references = _from_streams(ref_streams, count)
    originals = None if sources is None else checked_texts(sources, "sources")
    if originals is not None and len(originals) != count:
        msg = f"sources: {len(originals)} segments for {count} hypotheses; there must be one per hypothesis"
        raise InputError(msg)
    return Corpus(checked, references, sources=originals)


def _hypotheses_name(system: str) -> str:
    return f"system {system!r}" if system else "hyps"


def checked_texts(texts: Iterable[str], what: str) -> list[str]:
    """A list of strings; `what` is what errors call it."""
    items = checked_list(texts, what, "a list of strings")
    for index, item in enumerate(items):
        _check_text(item, f"{what}[{index}]")
    return items


def _check_text(item: object, what: str) -> None:
    if not isinstance(item, str):
        msg = f"{what}: expected a string, got {item!r} ({type(item).__name__}); use '' for an empty text"
        raise InputError(msg)
    check_encodable(item, what)


def _per_segment(refs: References, count: int) -> list[tuple[str, ...]]:
    groups = checked_list(refs, "refs", "a list with an entry per segment")
    if len(groups) != count:
        msg = f"refs: {len(groups)} entries for {count} hypotheses; there must be one per hypothesis"
        if groups and all(_is_list_of(group, count) for group in groups):
            msg += (
                f"; each entry holds {count} texts, so these look like reference streams: pass them as ref_streams="
            )
        raise InputError(msg)
    result = []
    for index, group in enumerate(groups):
        if isinstance(group, str):
            _check_text(group, f"refs[{index}]")
            texts = [group]
        elif group is None or isinstance(group, float):  # None, or the NaN of a missing value
            msg = f"refs[{index}]: expected a string or a list of strings, got {group!r}; use '' for an empty text"
            raise InputError(msg)
        else:
            texts = checked_texts(group, f"refs[{index}]")
        if not texts:
            msg = f"refs[{index}]: the list is empty; a segment needs at least one reference"
            raise InputError(msg)
        result.append(tuple(texts))
    return result


def _from_streams(streams: Iterable[Iterable[str]], count: int) -> list[tuple[str, ...]]:
    listed = checked_list(streams, "ref_streams", "a list of lists of strings")
    if not listed:
        msg = "ref_streams: the list is empty; give at least one stream"
        raise InputError(msg)
    if all(isinstance(stream, str) for stream in listed):
        msg = "ref_streams: expected a list of streams, got a list of strings"
        if len(listed) == count:
            msg += f"; there is one for each of the {count} hypotheses: pass them as refs="
        raise InputError(msg)
    texts = [checked_texts(stream, f"ref_streams[{number}]") for number, stream in enumerate(listed)]
    for number, stream in enumerate(texts):
        if len(stream) != count:
            msg = f"ref_streams[{number}]: {len(stream)} segments for {count} hypotheses"
            if len(texts) == count:
                msg += f"; there are {count} lists, so these look like references per segment: pass them as refs="
            raise InputError(msg)
    return list(zip(*texts, strict=True))


def checked_list(items: Iterable[Any], what: str, expected: str) -> list[Any]:
    """A list of what can be listed. Of a dict or a frame that would be the keys, which nobody means."""
    if isinstance(items, str | bytes):
        msg = f"{what}: expected {expected}, got a bare string {items[:40]!r}; wrap it: [text]"
        raise InputError(msg)
    if isinstance(items, Mapping) or hasattr(items, "columns"):
        kind = type(items).__name__
        msg = f"{what}: expected {expected}, got a {kind} with keys {list(items)[:5]}; pass one of its columns"
        raise InputError(msg)
    if isinstance(items, set | frozenset):
        msg = f"{what}: expected {expected}, got a set, which has no order"
        raise InputError(msg)
    try:
        return list(items)
    except TypeError as error:
        msg = f"{what}: expected {expected}, got {items!r}"
        raise InputError(msg) from error


def _is_list_of(group: object, count: int) -> bool:
    return isinstance(group, Sized) and not isinstance(group, str | bytes) and len(group) == count
